// SPDX-License-Identifier: LGPL-2.1-or-later
// Sequences with P pictures on devices: macroblocks, levels and what decoders show are those of the CPU, and so are the
// bytes of streams, for any number of frames in flight, with rate control, levels that make pictures be coded again,
// and errors.
#include "../../common/h264/h264.h"
#include "../../common/h264/sequence_coder.h"
#include "../../cuda_kernels/h264/device_sequence_coder.h"
#include "h264_inputs.h"
#include "h264_reconstructed_picture.h"
#include "h264_regions.h"
#include "h264_stream.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

enum class Motion { none, pan, many, cut, noise, light, fade, kinds };
const char *const motion_names[] = {"none", "pan", "many", "cut", "noise", "light", "fade"};

// Something with edges and texture, moved by quarter samples; picture `number` of a sequence.
int sample_of(Random &random, Motion motion, int number, int c, int x, int y) {
    const auto wave = [](int v, int period) {
        const int t = v & (2 * period - 1);
        return t < period ? t : 2 * period - t;
    };
    int dx = 0, dy = 0, noise = 0, light = 0, seed = 5 + 100 * c;
    if (motion == Motion::pan) dx = 7 * number, dy = -3 * number;
    if (motion == Motion::many) dx = (x / 24 % 5 - 2) * 9 * number, dy = (y / 20 % 3 - 1) * 13 * number;
    if (motion == Motion::cut && number > 2) seed += 400;
    if (motion == Motion::noise) noise = random.between(-90, 90);
    if (motion == Motion::light) light = 9 * number;
    const int x4 = (c ? 8 : 4) * x + dx, y4 = (c ? 8 : 4) * y + dy;
    int v = 40 + wave(x4 + 3 * seed, 128) / 2 + wave(y4 + x4 / 2 + seed, 64) + noise + light;
    if (((x4 >> 6) + (y4 >> 5) * 3 + seed) % 5 == 0) v += 60;
    if (motion == Motion::fade) v = c ? 128 + (v - 128) * (9 - number) / 9 : v * (9 - number) / 9;
    return std::clamp(v, 0, 255);
}

struct Planes {
    int width, height;
    H264Format format;
    std::vector<uint8_t> samples[3];  // of 10 bits in words of 16
    Planes(Random &random, const H264Format &f, int w, int h, Motion motion, int number)
        : width(w), height(h), format(f) {
        for (int c = 0; c < components(); c++)
            for (int y = 0; y < rows(c); y++)
                for (int x = 0; x < columns(c); x++) {
                    // Of chroma that has all columns or rows, the sample of 4:2:0 near it.
                    const int full_x = columns(c) == width ? x : 2 * x, full_y = rows(c) == height ? y : 2 * y;
                    const int sample = c ? sample_of(random, motion, number, c, full_x / 2, full_y / 2)
                                         : sample_of(random, motion, number, c, x, y);
                    if (format.depth == 8) {
                        samples[c].push_back(static_cast<uint8_t>(sample));
                        continue;
                    }
                    const int deep = 4 * sample + random.between(0, 3);
                    samples[c].push_back(static_cast<uint8_t>(deep));
                    samples[c].push_back(static_cast<uint8_t>(deep >> 8));
                }
    }
    int components() const { return format.chroma == ChromaFormat::c400 ? 1 : 3; }
    int columns(int c) const { return c && chroma_blocks(format.chroma) ? (width + 1) / 2 : width; }
    int rows(int c) const { return c && format.chroma == ChromaFormat::c420 ? (height + 1) / 2 : height; }
    int bytes() const { return format.depth > 8 ? 2 : 1; }
    SampleLayout layout(int c, const uint8_t *data) const {
        return {data, columns(c) * bytes(), bytes(), 0, format.depth};
    }
};

// ---- The coder

struct Case {
    H264Format input;
    PictureFormat format;
    Motion motion;
    bool deblock;
    int aq_strength, gop_size, refresh;  // refresh: pictures of an intra refresh; 0: there is none
    std::vector<Planes> pictures;
    std::vector<int> qps;
    std::vector<QpRegions> regions;  // of pictures
    std::vector<FieldReference> references;

    Case(Random &random, const H264Format &of, int width, int height, Motion m, int count)
        : input(of),
          format{.width = width,
                 .height = height,
                 .chroma = of.chroma,
                 .bit_depth = of.depth,
                 .slices = random.one_in(2) ? 1 : random.between(1, (height + 15) / 16),
                 .transform_8x8 = !random.one_in(3),
                 .long_level_prefix = true,
                 .pcm_without_zeros = false,
                 .field = of.chroma != ChromaFormat::c444 && random.one_in(3)},
          motion(m),
          deblock(!random.one_in(4)),
          aq_strength(random.one_in(2) ? 0 : random.between(1, 1024)),
          gop_size(random.between(2, 9)),
          refresh(!format.field && random.one_in(2) ? random.between(1, 4) : 0) {
        const int lowest_qp = -qp_bd_offset(of.depth), qp = random.between(lowest_qp, kMaxQp);
        for (int i = 0; i < count; i++) {
            pictures.emplace_back(random, input, width, height, motion, i);
            qps.push_back(random.one_in(8)   ? kMaxQp + random.between(1, kDropSteps)
                          : random.one_in(3) ? random.between(lowest_qp, kMaxQp)
                                             : qp);
            regions.push_back(random_regions(random, format.macroblock_columns(), format.macroblock_rows()));
            references.push_back(field_reference(i % gop_size > 1 ? random.between(1, 2) : 1, i % 2, i % 2));
            if (!format.field) references.back() = {};
        }
    }
    std::string name(size_t picture) const {
        return format_string(
            "%s, %dx%d, %d slices, %s, QP %d, adaptive %d, %d regions, filter %d, 8x8 %d, gop %d, refresh %d, field %d "
            "by "
            "%d, picture %zu",
            input.name, format.width, format.height, format.slices, motion_names[static_cast<int>(motion)],
            qps[picture], aq_strength, regions[picture].count, deblock, format.transform_8x8, gop_size, refresh,
            format.field, references[picture].distance, picture);
    }
    bool predicted(size_t picture) const { return picture % static_cast<size_t>(gop_size) != 0; }
    RefreshColumns columns(size_t picture) const {
        if (!refresh || !predicted(picture)) return {};
        return refresh_columns(static_cast<int>(picture) % refresh, refresh, format.macroblock_columns());
    }
};

std::vector<ReconstructedPicture> code_on_cpu(const Case &c) {
    const PictureFormat &f = c.format;
    ThreadPool pool(1);
    SequenceCoder coder(f, 512, c.deblock);
    std::vector<ReconstructedPicture> all;
    for (size_t i = 0; i < c.pictures.size(); i++) {
        ReconstructedPicture coded(f);
        SampleLayout layouts[3];
        for (int k = 0; k < f.components(); k++) layouts[k] = c.pictures[i].layout(k, c.pictures[i].samples[k].data());
        coder.begin(layouts, pool);
        const PictureQuality quality = {
            .qp = c.qps[i], .effort = kAllTypes, .aq_strength = c.aq_strength, .regions = c.regions[i]};
        coder.encode(layouts, quality, c.predicted(i), pool, coded.macroblocks.data(), coded.levels.data(),
                     c.columns(i), c.references[i]);
        coder.keep(pool);
        coded.copy_rows([&](int k, uint8_t *to, int y, size_t bytes) {
            const Sample *const row = coder.decoded(k).at(0, y).data;
            if (coded.sample_bytes == 1)
                std::copy_n(row, bytes, to);
            else
                std::memcpy(to, row, bytes);
        });
        coded.clear_uncoded();
        all.push_back(std::move(coded));
    }
    return all;
}

// again: each picture is coded twice.
std::vector<ReconstructedPicture> code_on_device(const std::shared_ptr<Device> &device, const Case &c, bool again) {
    const PictureFormat &f = c.format;
    DeviceSequenceCoder coder(device, f, 512, c.deblock, c.aq_strength);
    SequenceBuffers buffers[2] = {coder.make_buffers(true), coder.make_buffers(false)};
    const SequenceFrame frames[3] = {coder.make_frame(), coder.make_frame(), coder.make_frame()};
    std::vector<ReconstructedPicture> all;
    for (size_t i = 0; i < c.pictures.size(); i++) {
        DeviceArray<uint8_t> samples[3];
        DeviceSequenceCoder::Picture picture{.buffers = &buffers[i % 2],
                                             .own = &frames[i % 3],
                                             .before = {},
                                             .components = {},
                                             .qp = c.qps[i],
                                             .refresh = c.columns(i),
                                             .regions = c.regions[i],
                                             .refers_to = c.references[i]};
        for (size_t k = 0; k < 2 && c.predicted(i) && i > k; k++) picture.before[k] = &frames[(i - 1 - k) % 3];
        for (int k = 0; k < f.components(); k++) {
            samples[k] = upload_now(device, c.pictures[i].samples[k]);
            picture.components[static_cast<size_t>(k)] = c.pictures[i].layout(k, samples[k].data());
        }
        coder.load(nullptr, picture);
        for (int round = 0; round <= again; round++) {
            coder.search(nullptr, picture);
            if (c.predicted(i)) coder.choose_qps(nullptr, picture);
            coder.code(nullptr, picture);
            coder.keep(nullptr, picture);
        }
        ReconstructedPicture coded(f);
        const IntraBuffers &own = picture.buffers->intra;
        device->download(nullptr, coded.macroblocks.data(), own.macroblocks.data(), own.macroblocks.bytes());
        device->download(nullptr, coded.levels.data(), own.levels.data(), own.levels.bytes());
        coded.copy_rows([&](int k, uint8_t *to, int y, size_t bytes) {
            device->download(nullptr, to, picture.own->decoded[k].plane().samples<uint8_t>(0, y), bytes);
        });
        device->synchronize(Device::Stream{});
        coded.clear_uncoded();
        all.push_back(std::move(coded));
    }
    return all;
}

START_TEST(coder) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    const int sizes[][2] = {{16, 16}, {96, 80}, {90, 70}, {16, 130}, {150, 16}, {64, 48}};
    int predicted = 0, intra = 0, skipped = 0;
    for (int round = 0; round < 24; round++) {
        const auto &size = random.of(sizes);
        // Each other one is of 4:2:0 with 8 bits, then of all formats in turn.
        const H264Format &input = h264_inputs[round % 2 ? 0 : round / 2 % 8];
        const Case c(random, input, size[0], size[1], static_cast<Motion>(round % static_cast<int>(Motion::kinds)), 5);
        const std::vector<ReconstructedPicture> expected = code_on_cpu(c),
                                                own = code_on_device(device, c, random.one_in(3));
        for (size_t i = 0; i < own.size(); i++) {
            const std::string what = c.name(i);
            for (size_t m = 0; m < own[i].macroblocks.size(); m++) {
                const Macroblock &a = own[i].macroblocks[m], &b = expected[i].macroblocks[m];
                EXPECT(a.type == b.type, "%s, macroblock %zu: type %d, not %d", what.c_str(), m,
                       static_cast<int>(a.type), static_cast<int>(b.type));
                for (size_t k = m * own[i].levels_each; k < (m + 1) * own[i].levels_each; k++)
                    EXPECT(own[i].levels[k] == expected[i].levels[k], "%s, macroblock %zu, level %zu: %d, not %d",
                           what.c_str(), m, k % own[i].levels_each, own[i].levels[k], expected[i].levels[k]);
                const int parts = a.type < MacroblockType::p16x16 || a.type > MacroblockType::p8x8
                                      ? 0
                                      : parts_of(static_cast<Shape>(static_cast<int>(a.type) -
                                                                    static_cast<int>(MacroblockType::p16x16)));
                for (int k = 0; k < parts; k++)
                    EXPECT(a.mvd[k] == b.mvd[k], "%s, macroblock %zu: another vector", what.c_str(), m);
                EXPECT(a.qp_delta == b.qp_delta, "%s, macroblock %zu: mb_qp_delta %d, not %d", what.c_str(), m,
                       a.qp_delta, b.qp_delta);
                if (!c.predicted(i)) continue;
                predicted++;
                intra += !is_inter(a.type);
                skipped += a.type == MacroblockType::skip;
            }
            for (int k = 0; k < c.format.components(); k++)
                EXPECT(own[i].planes[k] == expected[i].planes[k], "%s: component %d", what.c_str(), k);
        }
    }
    EXPECT(intra > predicted / 50 && skipped > predicted / 20 && intra + skipped < predicted / 10 * 9,
           "%d macroblocks, %d are intra, %d skipped", predicted, intra, skipped);
}
END_TEST

// ---- Sessions

CudaencFrame frame_of(const Planes &p) {
    CudaencFrame frame{};
    for (int c = 0; c < p.components(); c++)
        frame.data[c] = p.samples[c].data(), frame.stride[c] = p.columns(c) * p.bytes();
    return frame;
}

struct Stream {
    std::vector<std::vector<uint8_t>> packets;
    std::vector<int> qualities;
};

// bad: the frame with this number is refused; -1: none.
Stream encode_all(const CudaencConfig &config, const std::vector<Planes> &pictures, int bad) {
    Stream stream;
    CudaencSession *session;
    const auto log = static_cast<const Log *>(config.log_opaque);
    EXPECT(cudaenc_open(&session, &config) == CUDAENC_OK, "open: %s",
           log->lines.empty() ? "" : log->lines.back().c_str());
    const auto receive = [&] {
        for (;;) {
            CudaencPacket packet;
            const int code = cudaenc_receive(session, &packet);
            if (code == CUDAENC_AGAIN || code == CUDAENC_EOF) return;
            EXPECT(code == CUDAENC_OK, "receive: %d, %s", code, log->lines.empty() ? "" : log->lines.back().c_str());
            stream.packets.emplace_back(packet.data, packet.data + packet.size);
            stream.qualities.push_back(packet.quality);
            cudaenc_buffer_free(packet.buffer);
        }
    };
    for (size_t i = 0; i < pictures.size(); i++) {
        CudaencFrame frame = frame_of(pictures[i]);
        const uint8_t captions[1] = {};
        if (static_cast<int>(i) == bad) frame.captions = captions, frame.captions_size = 1;
        EXPECT_EQ(cudaenc_submit(session, &frame), static_cast<int>(i) == bad ? CUDAENC_ERR_INVALID : CUDAENC_OK);
        receive();
    }
    cudaenc_flush(session);
    receive();
    cudaenc_close(session);
    return stream;
}

// Streams of sequences: constant QPs; those of levels and buffers that some pictures exceed; averages.
enum class Rate { constant, level, capped, average, cbr, kinds };

CudaencConfig config_of(Random &random, const CudaencFormat &format, Rate rate, Log *log) {
    CudaencConfig config = make_h264_config(format, "cpu", log);
    CudaencH264Options &o = config.h264;
    o.effort = 0;
    o.gop_size = random.one_in(2) ? 250 : random.between(2, 5);
    if (random.one_in(2)) o.intra_refresh = random.between(1, o.gop_size - 1) % 5;
    if (!o.intra_refresh && random.one_in(2)) o.lookahead = random.between(1, 6);
    o.deblock = random.between(-1, 1);
    const bool is_420 = format.components == 3 && format.component[1].log2_subsample_y;
    if (is_420 && format.component[0].depth == 8)
        o.profile = random.between(CUDAENC_H264_CONSTRAINED_BASELINE, CUDAENC_H264_HIGH);
    o.aud = random.between(0, 1);
    o.weighted_prediction = o.profile != CUDAENC_H264_CONSTRAINED_BASELINE && random.one_in(2);
    if (random.one_in(2)) o.slices = random.between(1, (format.height + 15) / 16);
    o.rate_control = CUDAENC_H264_CONSTANT_QP;
    o.qp = rate == Rate::level ? random.between(0, 3) : random.between(0, 51);
    if (random.one_in(2)) o.aq = random.between(0, 1024);
    if (rate == Rate::constant || rate == Rate::level) return config;
    o.rate_control = rate == Rate::capped ? CUDAENC_H264_CONSTANT_QUALITY : CUDAENC_H264_BIT_RATE;
    const int64_t bits = random.of({60000, 300000, 1000000});
    if (rate != Rate::capped) o.bit_rate = bits;
    if (rate == Rate::capped) o.max_rate = bits;
    if (rate != Rate::average || random.one_in(2)) o.buffer_size = bits / 10 + 100;
    o.cbr = rate == Rate::cbr;
    return config;
}

START_TEST(streams) {
    const auto held = open_test_devices();
    Random random(static_cast<uint64_t>(_i) + 50);
    Log log;
    const Rate rate = static_cast<Rate>(_i % static_cast<int>(Rate::kinds));
    const int sizes[][2] = {{16, 16}, {48, 80}, {90, 70}, {130, 50}, {75, 50}};
    const auto &size = random.of(sizes);
    const H264Format &input = h264_inputs[_i % 2 ? 0 : _i / 2 % 8];
    const CudaencFormat format = make_h264_format(input, size[0], size[1]);
    const Motion motion =
        rate == Rate::level ? Motion::noise : static_cast<Motion>(random.below(static_cast<uint32_t>(Motion::kinds)));
    std::vector<Planes> pictures;
    for (int i = 0; i < 8; i++)
        pictures.emplace_back(random, input, size[0], size[1], rate == Rate::level && i % 3 ? Motion::pan : motion, i);
    CudaencConfig config = config_of(random, format, rate, &log);
    const int bad = random.one_in(3) ? random.between(0, 7) : -1;
    const Stream expected = encode_all(config, pictures, bad);
    const std::string what = describe_h264(config);
    for (const std::string &device : device_specs) {
        if (device == "emu:2" || device == "emu:77") continue;
        for (const int depth : {1, 2, 5}) {
            config.device = device.c_str();
            config.async_depth = depth;
            const Stream own = encode_all(config, pictures, bad);
            EXPECT_EQ(own.packets.size(), expected.packets.size());
            for (size_t i = 0; i < own.packets.size(); i++)
                EXPECT(own.packets[i] == expected.packets[i] && own.qualities[i] == expected.qualities[i],
                       "%s, %s: %s, %d in flight, picture %zu: %zu bytes, QP %d, not %zu, %d",
                       motion_names[static_cast<int>(motion)], what.c_str(), device.c_str(), depth, i,
                       own.packets[i].size(), own.qualities[i], expected.packets[i].size(), expected.qualities[i]);
        }
    }
}
END_TEST

START_TEST(frames_in_device_memory) {
    Random random(3);
    Log log;
    for (const int number : {0, 0, 2, 3, 5}) {
        const H264Format &input = h264_inputs[number];
        const CudaencFormat format = make_h264_format(input, 75, 50);
        std::vector<Planes> pictures;
        for (int i = 0; i < 5; i++) pictures.emplace_back(random, input, 75, 50, Motion::many, i);
        const bool rate = random.one_in(2);
        CudaencConfig config = make_h264_config(format, "cpu", &log);
        config.h264.effort = 0;
        config.h264.gop_size = 4;
        if (rate) config.h264.rate_control = CUDAENC_H264_BIT_RATE, config.h264.bit_rate = 400000;
        const Stream expected = encode_all(config, pictures, -1);
        const auto device = open_test_device(_i);
        std::vector<DeviceArray<uint8_t>> planes;
        std::vector<CudaencFrame> frames;
        for (const Planes &picture : pictures) {
            frames.push_back(frame_of(picture));
            for (int c = 0; c < picture.components(); c++) {
                planes.push_back(upload_now(device, picture.samples[c]));
                frames.back().data[c] = planes.back().data();
            }
        }
        const auto encoder =
            make_device_encoder(make_params(format, config.h264), 5, 1, device, true, /* stage_times */ _i % 2 != 0);
        for (int i = 0; i < 5; i++) encoder->submit(i, frames[static_cast<size_t>(i)]);
        for (int i = 0; i < 5; i++) {
            const PooledBuffer packet = encoder->finish(i);
            EXPECT(std::vector<uint8_t>(packet->data, packet->data + packet->size) ==
                       expected.packets[static_cast<size_t>(i)],
                   "picture %d on %s", i, device->name().c_str());
        }
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 device sequence");
    TCase *c = add_case(suite, "sequence");
    tcase_add_loop_test(c, coder, 0, static_cast<int>(device_specs.size()));
    tcase_add_loop_test(c, streams, 0, 20);
    tcase_add_loop_test(c, frames_in_device_memory, 0, static_cast<int>(device_specs.size()));
    return run_suite(suite);
}
