// SPDX-License-Identifier: LGPL-2.1-or-later
// libFuzzer: sessions of the C API. The bytes are a configuration, pictures, and then calls in any order. Codes are
// those that cudaenc.h tells of, an error has a line, packets come in the order of their frames.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "input.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

constexpr int kLongest = 24;             // samples of a side
constexpr int64_t kMostBytes = 1 << 16;  // of a plane
constexpr int kMostCalls = 16;

// Planes as callers have them, and in one of eight formats one number that is anything.
CudaencFormat make_format(Input &in) {
    CudaencFormat f{};
    f.width = in.between(1, kLongest);
    f.height = in.between(1, kLongest);
    f.components = in.between(1, 4);
    const int layout = in.between(0, 2);  // planar, interleaved, chroma interleaved
    f.planes = layout == 1 ? 1 : layout == 2 && f.components >= 3 ? f.components - 1 : f.components;
    const int depth = in.one_in(3) ? in.between(1, 16) : 8, shift = in.one_in(4) ? in.between(0, 16 - depth) : 0;
    const int bytes = depth + shift > 8 ? 2 : 1, across = in.between(0, 2), down = in.between(0, 2);
    f.color_model = static_cast<CudaencColorModel>(in.between(0, 3));
    for (int c = 0; c < f.components; c++) {
        const bool chroma = f.color_model == CUDAENC_COLOR_YUV && (c == 1 || c == 2);
        CudaencComponent &k = f.component[c];
        k = {.plane = c,
             .offset = 0,
             .step = bytes,
             .shift = shift,
             .depth = depth,
             .log2_subsample_x = chroma ? across : 0,
             .log2_subsample_y = chroma ? down : 0};
        if (layout == 1) k.plane = 0, k.offset = c * bytes, k.step = f.components * bytes;
        if (f.planes == f.components - 1 && layout == 2) {
            if (c >= 2) k.plane = c - 1;
            if (c == 1 || c == 2) k.step = 2 * bytes, k.offset = (c - 1) * bytes;
        }
    }
    f.has_alpha = in.one_in(2);
    f.full_range = in.one_in(2);
    f.color_primaries = f.color_transfer = f.color_matrix = 2;
    if (!in.one_in(8)) return f;
    CudaencComponent &k = f.component[in.between(0, 3)];
    int *const numbers[] = {&f.width,        &f.height,     &f.components,       &f.planes,
                            &f.has_alpha,    &f.full_range, &f.color_primaries,  &f.color_transfer,
                            &f.color_matrix, &k.plane,      &k.offset,           &k.step,
                            &k.shift,        &k.depth,      &k.log2_subsample_x, &k.log2_subsample_y};
    if (const size_t i = in.ConsumeIntegralInRange<size_t>(0, std::size(numbers)); i < std::size(numbers)) {
        *numbers[i] = in.any();
    } else {
        const int model = in.any();
        std::memcpy(&f.color_model, &model, sizeof model);
    }
    return f;
}

CudaencConfig make_config(Input &in) {
    const CudaencCodec codecs[] = {CUDAENC_CODEC_J2K, CUDAENC_CODEC_MJPEG, CUDAENC_CODEC_H264};
    CudaencConfig config;
    cudaenc_config_defaults(&config, in.PickValueInArray(codecs));
    config.format = make_format(in);
    switch (config.codec) {
        case CUDAENC_CODEC_J2K:
            in.change(kJ2kOptions, config.j2k);
            break;
        case CUDAENC_CODEC_MJPEG:
            in.change(kMjpegOptions, config.mjpeg);
            break;
        default:
            in.change(kH264Options, config.h264);
            if (in.one_in(8))
                config.h264.keystream = [](void *, uint64_t, uint8_t *bytes, size_t size) {
                    std::memset(bytes, 0xA5, size);
                };
    }
    config.device = "cpu";
    config.async_depth = in.between(0, 4);
    config.threads = 1;
    config.stage_times = in.one_in(4);
    if (in.one_in(32)) config.device_frames = in.any();
    if (in.one_in(32)) config.struct_size = static_cast<size_t>(in.between(0, sizeof config));
    return config;
}

void set_any_codec(Input &in, CudaencConfig &config) {
    const int codec = in.any();
    std::memcpy(&config.codec, &codec, sizeof codec);
}

// Whether a frame has so many packets that it takes longer than a run may.
bool is_long(const CudaencConfig &config) {
    const CudaencFormat &f = config.format;
    const CudaencJ2kOptions &o = config.j2k;
    if (config.codec != CUDAENC_CODEC_J2K) return f.width > 2 * kLongest || f.height > 2 * kLongest;
    const double area = double{1} * f.width * f.height;
    const auto tiles = [](double side, double tile) { return tile > 0 ? std::ceil(side / tile) : 1; };
    const double packets =
        tiles(f.width, o.tile_width) * tiles(f.height, o.tile_height) * (o.levels + 2.) + (o.precincts ? area : 0);
    return area > 4 * kLongest * kLongest || packets * std::max(1, o.layers) * std::max(1, f.components) > 20000;
}

// Frames whose planes have exactly the bytes that the format reads.
class Pictures {
  public:
    Pictures(Input &in, const CudaencFormat &format) : in_(in), format_(format) {}

    // false: this format would take too much memory.
    bool make(CudaencFrame &frame) {
        frame = {};
        for (int plane = 0; plane < format_.planes; plane++) {
            int64_t row = 1, rows = 1;
            for (int c = 0; c < format_.components; c++) {
                const CudaencComponent &k = format_.component[c];
                if (k.plane != plane) continue;
                const int64_t columns = ((format_.width - 1) >> k.log2_subsample_x) + 1;
                row = std::max(row, k.offset + k.step * (columns - 1) + (k.depth + k.shift > 8 ? 2 : 1));
                rows = std::max<int64_t>(rows, ((format_.height - 1) >> k.log2_subsample_y) + 1);
            }
            int64_t stride = (row + 1) / 2 * 2;
            if (in_.one_in(4)) stride = in_.between(-100, 200);  // rows may overlap
            const int64_t before = std::max<int64_t>(0, -stride * (rows - 1));
            const int64_t bytes = before + std::max<int64_t>(0, stride * (rows - 1)) + row;
            if (bytes > kMostBytes) return false;
            std::vector<uint8_t> &memory = memory_.emplace_back(static_cast<size_t>(bytes));
            uint32_t noise = in_.ConsumeIntegral<uint16_t>();
            for (uint8_t &byte : memory) byte = static_cast<uint8_t>((noise = noise * 1664525 + 1013904223) >> 24);
            if (in_.one_in(2)) std::fill(memory.begin(), memory.end(), in_.ConsumeIntegral<uint8_t>());
            frame.data[plane] = memory.data() + before;
            frame.stride[plane] = stride;
        }
        if (in_.one_in(4)) add_metadata(frame);
        if (in_.one_in(16)) frame.data[in_.between(0, 3)] = nullptr;
        return true;
    }

  private:
    void add_metadata(CudaencFrame &frame) {
        const auto some = [&](const uint8_t *&data, size_t &size) {
            const std::vector<uint8_t> &bytes = in_.bytes(300);
            size = bytes.size();
            data = in_.one_in(8) ? nullptr : bytes.data();
        };
        if (in_.one_in(2)) some(frame.icc_profile, frame.icc_profile_size);
        if (in_.one_in(2)) some(frame.exif, frame.exif_size);
        if (in_.one_in(2)) some(frame.captions, frame.captions_size);
        frame.sample_aspect_num = in_.any();
        frame.sample_aspect_den = in_.any();
        if (in_.one_in(4)) frame.skipped = in_.ConsumeIntegral<uint64_t>();
        frame.key = in_.one_in(8) ? in_.any() : in_.one_in(4);
        if (in_.one_in(2)) {
            timecodes_.push_back({in_.any(), in_.any(), in_.any(), in_.any(), in_.any()});
            frame.timecode = &timecodes_.back();
        }
        if (in_.one_in(2)) {
            CudaencMasteringDisplay &display = displays_.emplace_back();
            in_.ConsumeData(&display, sizeof display);
            frame.mastering_display = &display;
        }
        if (in_.one_in(2)) {
            lights_.push_back({in_.ConsumeIntegral<uint16_t>(), in_.ConsumeIntegral<uint16_t>()});
            frame.content_light = &lights_.back();
        }
        if (in_.one_in(2)) {
            std::vector<CudaencUserData> &list = user_data_.emplace_back(static_cast<size_t>(in_.between(0, 4)));
            for (CudaencUserData &data : list) some(data.data, data.size);
            frame.user_data = list.empty() ? nullptr : list.data();
            frame.user_data_count = in_.one_in(16) ? -1 : static_cast<int>(list.size());
        }
        if (in_.one_in(2)) {
            std::vector<CudaencRegion> &list = regions_.emplace_back(static_cast<size_t>(in_.between(0, 4)));
            for (CudaencRegion &r : list) r = {in_.any(), in_.any(), in_.any(), in_.any(), in_.any(), in_.any()};
            frame.regions = list.empty() ? nullptr : list.data();
            frame.region_count = in_.one_in(16) ? in_.any() : static_cast<int>(list.size());
        }
    }
    Input &in_;
    const CudaencFormat &format_;
    std::deque<std::vector<uint8_t>> memory_;
    std::deque<CudaencTimecode> timecodes_;
    std::deque<CudaencMasteringDisplay> displays_;
    std::deque<CudaencContentLight> lights_;
    std::deque<std::vector<CudaencUserData>> user_data_;
    std::deque<std::vector<CudaencRegion>> regions_;
};

bool is_error(int code) {
    return code == CUDAENC_ERR_INVALID || code == CUDAENC_ERR_MEMORY || code == CUDAENC_ERR_UNSUPPORTED;
}

// A session from open to close, with its calls in any order.
class Calls {
  public:
    Calls(Input &in, const CudaencConfig &config) : in_(in), config_(config), pictures_(in, config.format) {}
    ~Calls() {
        cudaenc_close(session_);
        for (CudaencBuffer *buffer : held_) cudaenc_buffer_free(buffer);  // after the session, too
    }

    void run() {
        config_.log = in_.one_in(16) ? nullptr : Lines::count;
        config_.log_opaque = &lines_;
        const bool known = config_.struct_size >= offsetof(CudaencConfig, j2k);  // there is a log
        const int code = cudaenc_open(&session_, &config_);
        expect(code == CUDAENC_OK || is_error(code), "the code of open");
        expect((code == CUDAENC_OK) == (session_ != nullptr), "a session or none");
        expect_lines(code != CUDAENC_OK && known);
        if (code != CUDAENC_OK) return;
        expect(*cudaenc_device_name(session_) != 0, "a device's name");
        for (int i = 0; i < kMostCalls && in_.remaining_bytes(); i++) call();
        cudaenc_flush(session_);
        while (receive() != CUDAENC_EOF) {
        }
        expect(expected_.empty(), "every frame has a packet or an error");
    }

  private:
    void expect_lines(bool error) {
        expected_lines_ += error && config_.log;
        expect(lines_.errors == expected_lines_, "a line for each error");
    }
    void call() {
        switch (in_.between(0, 10)) {
            case 0:
            case 1:
            case 2:
            case 3:
                return submit();
            case 4:
            case 5:
                receive();
                return;
            case 6:
                cudaenc_flush(session_);
                return;
            case 7: {
                size_t size = 1;
                const uint8_t *data = cudaenc_extradata(session_, &size);
                expect((data != nullptr) == (size > 0), "extradata and their size");
                return;
            }
            case 8: {
                CudaencStageTime times[4];
                const int capacity = in_.between(-1, 4), stages = cudaenc_stage_times(session_, times, capacity);
                expect((stages > 0) == (config_.stage_times == 1), "stages where they are timed");
                return;
            }
            case 9: {
                const int code =
                    in_.one_in(2)
                        ? cudaenc_set_qp(session_, in_.one_in(4) ? in_.any() : in_.between(0, 51))
                        : cudaenc_set_bit_rate(session_, in_.ConsumeIntegral<int64_t>(), in_.one_in(2) ? 0 : in_.any());
                expect(code == CUDAENC_OK || is_error(code), "the code of a change");
                return expect_lines(code != CUDAENC_OK);
            }
            default:
                if (held_.empty()) return;
                cudaenc_buffer_free(held_.front());
                held_.erase(held_.begin());
        }
    }
    void submit() {
        CudaencFrame frame;
        if (!pictures_.make(frame)) return;
        frame.opaque = reinterpret_cast<void *>(++frames_);
        const int code = cudaenc_submit(session_, &frame);
        if (code == CUDAENC_AGAIN) return expect(!expected_.empty(), "a full ring has frames");
        expect(code == CUDAENC_OK || is_error(code), "the code of submit");
        expect_lines(code != CUDAENC_OK);
        if (code == CUDAENC_OK) expected_.push_back(frame.opaque);
    }
    int receive() {
        CudaencPacket packet;
        const int code = cudaenc_receive(session_, &packet);
        expect(code == CUDAENC_OK || code == CUDAENC_AGAIN || code == CUDAENC_EOF || is_error(code),
               "the code of receive");
        expect_lines(is_error(code));
        expect((code == CUDAENC_OK) == (packet.buffer != nullptr), "a buffer or none");
        if (code == CUDAENC_AGAIN || code == CUDAENC_EOF) return code;
        expect(!expected_.empty() && packet.opaque == expected_.front(), "the oldest frame's packet");
        expected_.erase(expected_.begin());
        if (code != CUDAENC_OK) return code;
        expect(packet.size > 0, "a packet has bytes");
        for (int i = 0; i < CUDAENC_PACKET_PADDING; i++) expect(!packet.data[packet.size + i], "padding is zero");
        held_.push_back(packet.buffer);
        return code;
    }

    Input &in_;
    CudaencConfig config_;
    Pictures pictures_;
    Lines lines_;
    int expected_lines_ = 0;
    CudaencSession *session_ = nullptr;
    size_t frames_ = 0;
    std::vector<void *> expected_;  // frames in flight
    std::vector<CudaencBuffer *> held_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Input in(data, size);
    if (in.one_in(64)) {
        CudaencSession *session;
        expect(cudaenc_open(&session, nullptr) == CUDAENC_ERR_INVALID && !session, "no configuration");
        cudaenc_close(nullptr);
        cudaenc_buffer_free(nullptr);
    }
    CudaencConfig config = make_config(in);
    if (is_long(config)) return 0;
    if (in.one_in(32)) set_any_codec(in, config);
    Calls(in, config).run();
    return 0;
}
