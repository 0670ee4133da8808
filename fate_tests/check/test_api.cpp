// SPDX-License-Identifier: LGPL-2.1-or-later
// The C API: structures of other versions, usual formats by name, packets that are polled or waited for; decoders too.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../../common/abi.h"
#include "../../common/cudaenc.h"
#include "../../common/host_memory.h"
#include "../../common/pipeline.h"
#include "pictures.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

CudaencFormat gray(int width, int height) { return make_format(width, height, 1, 8, false, CUDAENC_COLOR_GRAY); }

bool has_line(const Log &log, const char *part) {
    return log.lines.size() == 1 && log.lines[0].find(part) != std::string::npos;
}

// ---- structures of other versions ----

// A structure of the library's, and of programs that were built with a header before and behind it.
struct Known {
    size_t struct_size = sizeof(Known);
    int64_t first = 0, second = 7;
};
struct Behind {
    Known known;
    int64_t third = 0;
};
constexpr size_t first_size(const Known *) { return CUDAENC_END_OF(Known, first); }

START_TEST(structures_grow_at_their_ends) {
    Behind callers;
    callers.known = {.struct_size = sizeof callers, .first = 1, .second = 2};
    Known known = read_struct("it", callers.known);
    EXPECT(known.struct_size == sizeof known && known.first == 1 && known.second == 2);
    callers.third = 1;
    try {
        read_struct("it", callers.known);
        ck_abort_msg("an unknown member was taken");
    } catch (const Error &e) {
        EXPECT_EQ(e.code, CUDAENC_ERR_INVALID);
    }
    // A caller that lacks `second` gets the default, and nothing is written behind its end.
    constexpr size_t before = CUDAENC_END_OF(Known, first);
    callers = {.known = {.struct_size = before, .first = 5, .second = 6}, .third = 8};
    known = read_struct("it", callers.known);
    EXPECT(known.first == 5 && known.second == 7);
    write_struct(callers.known, {.first = 3, .second = 4});
    EXPECT(callers.known.struct_size == before);
    EXPECT(callers.known.first == 3 && callers.known.second == 6 && callers.third == 8);
    // What the library does not know becomes 0.
    callers.known.struct_size = sizeof callers;
    write_struct(callers.known, {.first = 9, .second = 10});
    EXPECT(callers.known.first == 9 && callers.known.second == 10 && callers.third == 0);
}
END_TEST

// T as a later header has it.
template <class T>
struct Grown {
    T known;
    uint8_t tail[40] = {};
};

START_TEST(later_configurations_are_taken) {
    Log log;
    Grown<CudaencConfig> later;
    std::memset(static_cast<void *>(&later), 0xEE, sizeof later);
    cudaenc_config_init(&later.known, sizeof later, CUDAENC_CODEC_J2K);
    EXPECT_EQ(later.known.struct_size, sizeof later);
    for (const uint8_t byte : later.tail) EXPECT_EQ(byte, 0);
    CudaencConfig &config = later.known;
    config.format = gray(8, 8);
    config.device = "cpu";
    config.log = Log::print;
    config.log_opaque = &log;
    CudaencSession *session;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
    cudaenc_close(session);
    later.tail[20] = 1;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_ERR_INVALID);
    EXPECT(!session && has_line(log, "the configuration has members that libcudaenc"));
    later.tail[20] = 0;
    // Options grow into their room.
    static_assert(sizeof config.j2k < CUDAENC_OPTIONS_ROOM);
    char *const rooms[] = {config.j2k_room, config.mjpeg_room, config.h264_room};
    for (char *room : rooms) {
        log.lines.clear();
        room[CUDAENC_OPTIONS_ROOM - 1] = 1;
        EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_ERR_INVALID);
        EXPECT(has_line(log, "has members that libcudaenc"));
        room[CUDAENC_OPTIONS_ROOM - 1] = 0;
    }
    // Every refusal is logged where there is a log.
    for (const size_t size :
         {CUDAENC_END_OF(CudaencConfig, log_opaque), CUDAENC_END_OF(CudaencConfig, h264_room) - 8, size_t{1} << 40}) {
        log.lines.clear();
        config.struct_size = size;
        EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_ERR_INVALID);
        EXPECT(has_line(log, "struct_size"));
    }
    EXPECT_EQ(cudaenc_open(&session, nullptr), CUDAENC_ERR_INVALID);
    // A program that knows less of the options.
    CudaencJ2kOptions options;
    std::memset(static_cast<void *>(&options), 0xEE, sizeof options);
    cudaenc_j2k_init(&options, offsetof(CudaencJ2kOptions, tile_height));
    EXPECT_EQ(options.format, -1);
    EXPECT_EQ(options.tile_height, static_cast<int>(0xEEEEEEEE));
}
END_TEST

START_TEST(later_frames_and_packets_are_taken) {
    Random random(1);
    Log log;
    const CudaencConfig config = make_config(gray(20, 10), "cpu", &log);
    Picture picture = make_picture(random, config.format);
    CudaencSession *session;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
    Grown<CudaencFrame> frame{picture.frame()};
    frame.known.struct_size = sizeof frame;
    EXPECT_EQ(cudaenc_submit(session, &frame.known), CUDAENC_OK);
    cudaenc_flush(session);
    Grown<CudaencPacket> packet{};
    packet.known.struct_size = sizeof packet;
    packet.tail[0] = 1;
    EXPECT_EQ(cudaenc_receive(session, &packet.known), CUDAENC_OK);
    EXPECT(packet.known.struct_size == sizeof packet && packet.known.size && !packet.tail[0]);
    EXPECT(std::vector<uint8_t>(packet.known.data, packet.known.data + packet.known.size) ==
           encode(config, picture.frame()));
    cudaenc_buffer_free(packet.known.buffer);
    EXPECT(log.lines.empty());
    frame.tail[39] = 1;
    EXPECT_EQ(cudaenc_submit(session, &frame.known), CUDAENC_ERR_INVALID);
    EXPECT(has_line(log, "the frame has members"));
    log.lines.clear();
    frame.known.struct_size = 0;  // as C has it where it was not set
    EXPECT_EQ(cudaenc_submit(session, &frame.known), CUDAENC_ERR_INVALID);
    EXPECT(has_line(log, "struct_size 0 of the frame"));
    log.lines.clear();
    packet.known.struct_size = 8;
    EXPECT_EQ(cudaenc_receive(session, &packet.known), CUDAENC_ERR_INVALID);
    EXPECT(has_line(log, "struct_size 8 of the packet"));
    cudaenc_close(session);
}
END_TEST

template <class Options>
void check_growth(int (*init)(Options *, size_t), size_t before) {
    Grown<Options> options;
    std::memset(static_cast<void *>(&options), 0xEE, sizeof options);
    init(&options.known, before);
    const auto *bytes = reinterpret_cast<const uint8_t *>(&options);
    for (size_t i = before; i < sizeof options; i++) EXPECT_EQ(bytes[i], 0xEE);
    init(&options.known, sizeof options);
    for (const uint8_t byte : options.tail) EXPECT_EQ(byte, 0);
    Options defaults;
    init(&defaults, sizeof defaults);
    EXPECT(!std::memcmp(static_cast<void *>(&options), static_cast<void *>(&defaults), before));
}

START_TEST(options_of_other_versions_have_defaults) {
    check_growth(cudaenc_j2k_init, offsetof(CudaencJ2kOptions, pred));
    check_growth(cudaenc_mjpeg_init, offsetof(CudaencMjpegOptions, huffman));
    check_growth(cudaenc_h264_init, offsetof(CudaencH264Options, effort));
}
END_TEST

START_TEST(later_decoders_are_taken) {
    Random random(3);
    Log log;
    CudaencConfig encoder = make_config(gray(20, 10), "cpu", &log);
    encoder.codec = CUDAENC_CODEC_MJPEG;
    encoder.format.full_range = 1;
    const std::vector<uint8_t> jpeg = encode(encoder, make_picture(random, encoder.format).frame());
    Grown<CudaencDecoderConfig> config;
    std::memset(static_cast<void *>(&config), 0xEE, sizeof config);
    cudaenc_decoder_init(&config.known, sizeof config, CUDAENC_CODEC_MJPEG);
    EXPECT_EQ(config.known.struct_size, sizeof config);
    config.known.device = "cpu";
    config.known.log = Log::print;
    config.known.log_opaque = &log;
    CudaencDecoder *decoder;
    config.tail[39] = 1;
    EXPECT_EQ(cudaenc_decoder_open(&decoder, &config.known), CUDAENC_ERR_INVALID);
    EXPECT(!decoder && has_line(log, "the configuration has members that libcudaenc"));
    log.lines.clear();
    EXPECT_EQ(cudaenc_decoder_open(&decoder, nullptr), CUDAENC_ERR_INVALID);
    EXPECT(!decoder);
    config.known.codec = CUDAENC_CODEC_H264;
    config.tail[39] = 0;
    EXPECT_EQ(cudaenc_decoder_open(&decoder, &config.known), CUDAENC_ERR_INVALID);
    EXPECT(!decoder && has_line(log, "codec 3 is not decoded"));
    log.lines.clear();
    config.known.codec = CUDAENC_CODEC_MJPEG;
    EXPECT_EQ(cudaenc_decoder_open(&decoder, &config.known), CUDAENC_OK);

    Grown<CudaencPictureInfo> info{};
    info.known.struct_size = sizeof info;
    info.tail[0] = 1;
    EXPECT_EQ(cudaenc_decoder_read_header(decoder, jpeg.data(), jpeg.size(), &info.known), CUDAENC_OK);
    EXPECT(info.known.struct_size == sizeof info && info.known.width == 20 && !info.tail[0]);
    EXPECT(!info.known.is_signed[0]);
    CudaencPictureInfo earlier;  // of a program that knows no signed samples
    std::memset(static_cast<void *>(&earlier), 0xEE, sizeof earlier);
    earlier.struct_size = offsetof(CudaencPictureInfo, is_signed);
    EXPECT_EQ(cudaenc_decoder_read_header(decoder, jpeg.data(), jpeg.size(), &earlier), CUDAENC_OK);
    EXPECT(earlier.width == 20 && earlier.is_signed[0] == static_cast<int>(0xEEEEEEEE));
    uint8_t samples[200];
    Grown<CudaencCodedPicture> coded{};
    coded.known.struct_size = sizeof coded;
    coded.known.data = jpeg.data();
    coded.known.size = jpeg.size();
    coded.known.planes[0] = samples;
    coded.known.stride[0] = 20;
    coded.tail[0] = 1;
    EXPECT_EQ(cudaenc_decoder_submit(decoder, &coded.known), CUDAENC_ERR_INVALID);
    EXPECT(has_line(log, "the coded picture has members"));
    coded.tail[0] = 0;
    EXPECT_EQ(cudaenc_decoder_submit(decoder, &coded.known), CUDAENC_OK);
    Grown<CudaencDecodedPicture> decoded{};
    decoded.known.struct_size = sizeof decoded;
    decoded.tail[0] = 1;
    EXPECT_EQ(cudaenc_decoder_wait(decoder, &decoded.known), CUDAENC_OK);
    EXPECT(decoded.known.struct_size == sizeof decoded && !decoded.known.corrupt && !decoded.tail[0]);
    cudaenc_decoder_close(decoder);
    cudaenc_decoder_close(nullptr);
}
END_TEST

// ---- what callers give ----

// A call that is refused, with a line in the log and for cudaenc_last_error().
bool refused(int code, Log &log, const char *part) {
    const bool line = has_line(log, part) && log.lines[0] == cudaenc_last_error();
    log.lines.clear();
    return code == CUDAENC_ERR_INVALID && line;
}
// The same where there is no log.
bool refused(int code, const char *part) {
    return code == CUDAENC_ERR_INVALID && std::string(cudaenc_last_error()).find(part) != std::string::npos;
}
bool told(const char *part) { return refused(CUDAENC_ERR_INVALID, part); }

START_TEST(null_is_refused_by_encoders) {
    Log log;
    const CudaencConfig config = make_config(gray(20, 10), "cpu", &log);
    CudaencSession *session;
    EXPECT(refused(cudaenc_open(nullptr, &config), log, "session NULL is not allowed"));
    EXPECT(refused(cudaenc_open(&session, nullptr), "config NULL is not allowed") && !session);
    EXPECT(refused(cudaenc_config_init(nullptr, sizeof config, CUDAENC_CODEC_J2K), "config NULL"));
    EXPECT(refused(cudaenc_j2k_init(nullptr, sizeof config.j2k), "options NULL"));
    EXPECT(refused(cudaenc_mjpeg_init(nullptr, sizeof config.mjpeg), "options NULL"));
    EXPECT(refused(cudaenc_h264_init(nullptr, sizeof config.h264), "options NULL"));
    CudaencJ2kOptions options;
    EXPECT(refused(cudaenc_j2k_init(&options, size_t{1} << 40), "struct_size 1099511627776 of options"));

    const CudaencFrame frame{};
    CudaencPacket packet;
    CudaencStageTime time;
    size_t size = 1;
    EXPECT(refused(cudaenc_submit(nullptr, &frame), "session NULL is not allowed"));
    EXPECT(refused(cudaenc_receive(nullptr, &packet), "session NULL"));
    EXPECT(refused(cudaenc_poll(nullptr, &packet), "session NULL"));
    EXPECT(refused(cudaenc_wait(nullptr, &packet), "session NULL"));
    EXPECT(refused(cudaenc_flush(nullptr), "session NULL"));
    EXPECT(refused(cudaenc_async_depth(nullptr), "session NULL"));
    EXPECT(refused(cudaenc_stage_times(nullptr, &time, 1), "session NULL"));
    EXPECT(!*cudaenc_device_name(nullptr) && told("session NULL"));
    EXPECT(!*cudaenc_summary(nullptr) && told("session NULL"));
    EXPECT(!cudaenc_extradata(nullptr, &size) && !size && told("session NULL"));
    cudaenc_close(nullptr);
    cudaenc_buffer_free(nullptr);

    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
    EXPECT(refused(cudaenc_submit(session, nullptr), log, "frame NULL is not allowed"));
    EXPECT(refused(cudaenc_receive(session, nullptr), log, "packet NULL is not allowed"));
    EXPECT(refused(cudaenc_poll(session, nullptr), log, "packet NULL"));
    EXPECT(refused(cudaenc_wait(session, nullptr), log, "packet NULL"));
    EXPECT(!cudaenc_extradata(session, nullptr) && refused(CUDAENC_ERR_INVALID, log, "size NULL is not allowed"));
    EXPECT(refused(cudaenc_stage_times(session, nullptr, 1), log, "times NULL is not allowed with capacity 1"));
    EXPECT_EQ(cudaenc_stage_times(session, nullptr, 0), 0);
    cudaenc_close(session);
}
END_TEST

// Pictures of a batch with gaps between rows and pictures; each that fails is named, and the others are there.
START_TEST(batches_are_decoded) {
    constexpr int kWidth = 70, kHeight = 50, kStride = 73, kStep = kStride * kHeight + 11, kCount = 9;
    Random random(6);
    Log log;
    CudaencConfig encoder = make_config(gray(kWidth, kHeight), "cpu", &log);
    encoder.codec = CUDAENC_CODEC_MJPEG;
    encoder.format.full_range = 1;
    std::vector<std::vector<uint8_t>> packets;
    for (int n = 0; n < kCount; n++)
        packets.push_back(encode(encoder, make_picture(random, encoder.format, Content::smooth).frame()));
    const std::vector<std::vector<uint8_t>> whole = packets;
    packets[4].resize(packets[4].size() * 2 / 3);  // corrupt
    packets[2].assign(100, 7);                     // no picture
    encoder.format = gray(kWidth + 1, kHeight);
    encoder.format.full_range = 1;
    packets[6] = encode(encoder, make_picture(random, encoder.format).frame());
    std::vector<std::string> devices = {"cpu"};
    devices.insert(devices.end(), device_specs.begin(), device_specs.end());
    for (const std::string &spec : devices) {
        CudaencDecoderConfig config;
        cudaenc_decoder_defaults(&config, CUDAENC_CODEC_MJPEG);
        config.device = spec.c_str();
        config.async_depth = 3;
        config.threads = 2;
        config.log = Log::print;
        config.log_opaque = &log;
        CudaencDecoder *decoder;
        EXPECT_EQ(cudaenc_decoder_open(&decoder, &config), CUDAENC_OK);
        CudaencPictureInfo info;
        EXPECT_EQ(cudaenc_decoder_read_header(decoder, whole[0].data(), whole[0].size(), &info), CUDAENC_OK);
        std::vector<uint8_t> memory(kStep * kCount, 0xA5);
        const uint8_t *data[kCount];
        size_t sizes[kCount];
        int codes[kCount], corrupt[kCount];
        CudaencCodedBatch batch;
        batch = {.count = kCount,
                 .data = data,
                 .size = sizes,
                 .format = info.format,
                 .is_signed = {},
                 .planes = {memory.data()},
                 .stride = {kStride},
                 .step = {kStep},
                 .cuda_stream = nullptr,
                 .codes = codes,
                 .corrupt = corrupt,
                 .paths = nullptr,
                 .readers = 0,
                 .errors = nullptr};
        const auto take = [&](const std::vector<std::vector<uint8_t>> &from) {
            for (int n = 0; n < kCount; n++) data[n] = from[n].data(), sizes[n] = from[n].size();
        };
        const auto expect_picture = [&](int n) {
            std::vector<uint8_t> plane(kWidth * kHeight);
            CudaencCodedPicture coded;
            coded = {.data = whole[n].data(),
                     .size = whole[n].size(),
                     .planes = {plane.data()},
                     .stride = {kWidth},
                     .cuda_stream = nullptr,
                     .opaque = nullptr};
            CudaencDecodedPicture decoded;
            EXPECT_EQ(cudaenc_decoder_submit(decoder, &coded), CUDAENC_OK);
            EXPECT_EQ(cudaenc_decoder_wait(decoder, &decoded), CUDAENC_OK);
            for (int y = 0; y < kHeight; y++)
                EXPECT(!std::memcmp(plane.data() + y * kWidth, memory.data() + n * kStep + y * kStride, kWidth),
                       "%s: picture %d, row %d", spec.c_str(), n, y);
            for (int y = 0; y < kHeight; y++) EXPECT_EQ(memory[n * kStep + y * kStride + kWidth], 0xA5);
        };
        take(whole);
        EXPECT_EQ(cudaenc_decoder_batch(decoder, &batch), CUDAENC_OK);
        for (int n = 0; n < kCount; n++) {
            EXPECT(codes[n] == CUDAENC_OK && !corrupt[n]);
            expect_picture(n);
        }
        log.lines.clear();
        std::ranges::fill(memory, 0xA5);
        take(packets);
        EXPECT_EQ(cudaenc_decoder_batch(decoder, &batch), CUDAENC_ERR_INVALID);
        EXPECT(std::string(cudaenc_last_error()).starts_with("picture 2: "));
        const auto logged = [&](const char *part) {
            return std::ranges::any_of(log.lines,
                                       [&](const auto &line) { return line.find(part) != std::string::npos; });
        };
        EXPECT(logged("picture 6: 71x50, 1 component of gray, 8 bits") &&
               logged("is not allowed: the batch has 70x50"));
        EXPECT_EQ(log.lines.size(), size_t{2});  // a corrupt picture is a warning
        for (int n = 0; n < kCount; n++) {
            const bool failed = n == 2 || n == 6;
            EXPECT(codes[n] == (failed ? CUDAENC_ERR_INVALID : CUDAENC_OK) && corrupt[n] == (n == 4), "%d", n);
            if (!failed && n != 4) expect_picture(n);
        }
        batch.codes = batch.corrupt = nullptr;
        EXPECT_EQ(cudaenc_decoder_batch(decoder, &batch), CUDAENC_ERR_INVALID);
        log.lines.clear();
        const auto refused_batch = [&](auto change, const char *line) {
            CudaencCodedBatch other = batch;
            change(other);
            EXPECT(refused(cudaenc_decoder_batch(decoder, &other), log, line));
        };
        refused_batch([](CudaencCodedBatch &b) { b.count = -1; }, "count -1 is not allowed");
        refused_batch([](CudaencCodedBatch &b) { b.data = nullptr; }, "data or size NULL");
        refused_batch([](CudaencCodedBatch &b) { b.planes[0] = nullptr; }, "planes[0] is NULL");
        refused_batch([](CudaencCodedBatch &b) { b.step[0] = 69; }, "step 69 of plane 0 is not allowed");
        refused_batch([](CudaencCodedBatch &b) { b.stride[0] = 69; }, "stride 69 of plane 0");
        refused_batch([](CudaencCodedBatch &b) { b.format.components = 5; }, "format of 5 components");
        refused_batch([](CudaencCodedBatch &b) { b.struct_size = 8; }, "struct_size 8 of the batch");
        batch.count = 0;
        EXPECT_EQ(cudaenc_decoder_batch(decoder, &batch), CUDAENC_OK);
        cudaenc_decoder_close(decoder);
    }
}
END_TEST

START_TEST(null_is_refused_by_decoders) {
    Log log;
    CudaencDecoderConfig config;
    cudaenc_decoder_defaults(&config, CUDAENC_CODEC_MJPEG);
    config.device = "cpu";
    config.log = Log::print;
    config.log_opaque = &log;
    CudaencDecoder *decoder;
    EXPECT(refused(cudaenc_decoder_open(nullptr, &config), log, "decoder NULL is not allowed"));
    EXPECT(refused(cudaenc_decoder_open(&decoder, nullptr), "config NULL is not allowed") && !decoder);
    EXPECT(refused(cudaenc_decoder_init(nullptr, sizeof config, CUDAENC_CODEC_MJPEG), "config NULL"));

    const uint8_t data[2]{};
    CudaencPictureInfo info;
    const CudaencCodedPicture coded{};
    CudaencDecodedPicture picture;
    CudaencStageTime time;
    EXPECT(refused(cudaenc_decoder_read_header(nullptr, data, 2, &info), "decoder NULL"));
    EXPECT(refused(cudaenc_decoder_submit(nullptr, &coded), "decoder NULL"));
    EXPECT(refused(cudaenc_decoder_receive(nullptr, &picture), "decoder NULL"));
    EXPECT(refused(cudaenc_decoder_poll(nullptr, &picture), "decoder NULL"));
    EXPECT(refused(cudaenc_decoder_wait(nullptr, &picture), "decoder NULL"));
    EXPECT(refused(cudaenc_decoder_flush(nullptr), "decoder NULL"));
    const CudaencCodedBatch batch{};
    EXPECT(refused(cudaenc_decoder_batch(nullptr, &batch), "decoder NULL"));
    EXPECT(refused(cudaenc_decoder_async_depth(nullptr), "decoder NULL"));
    EXPECT(refused(cudaenc_decoder_stage_times(nullptr, &time, 1), "decoder NULL"));
    EXPECT(!*cudaenc_decoder_device_name(nullptr) && told("decoder NULL"));
    EXPECT(!cudaenc_decoder_picture_size(nullptr, 2) && told("data NULL"));
    cudaenc_decoder_close(nullptr);

    EXPECT_EQ(cudaenc_decoder_open(&decoder, &config), CUDAENC_OK);
    EXPECT(refused(cudaenc_decoder_read_header(decoder, nullptr, 2, &info), log, "data NULL is not allowed"));
    EXPECT(refused(cudaenc_decoder_read_header(decoder, data, 2, nullptr), log, "info NULL is not allowed"));
    EXPECT(refused(cudaenc_decoder_submit(decoder, nullptr), log, "coded NULL is not allowed"));
    EXPECT(refused(cudaenc_decoder_batch(decoder, nullptr), log, "batch NULL is not allowed"));
    CudaencCodedPicture nothing{};
    nothing.size = 100;
    EXPECT(refused(cudaenc_decoder_submit(decoder, &nothing), log, "data NULL of the coded picture"));
    EXPECT(refused(cudaenc_decoder_receive(decoder, nullptr), log, "picture NULL is not allowed"));
    EXPECT(refused(cudaenc_decoder_poll(decoder, nullptr), log, "picture NULL"));
    EXPECT(refused(cudaenc_decoder_wait(decoder, nullptr), log, "picture NULL"));
    EXPECT(refused(cudaenc_decoder_stage_times(decoder, nullptr, 3), log, "times NULL"));
    cudaenc_decoder_close(decoder);
    config.device_frames = 2;
    EXPECT(refused(cudaenc_decoder_open(&decoder, &config), log, "device_frames 2 is not allowed"));
}
END_TEST

START_TEST(null_is_refused_for_formats) {
    CudaencFormat format;
    size_t row_bytes = 1, rows = 1;
    EXPECT(refused(cudaenc_format_by_name(nullptr, "gray", 8, 8), "format NULL is not allowed"));
    EXPECT(refused(cudaenc_format_by_name(&format, nullptr, 8, 8), "name NULL is not allowed"));
    EXPECT(refused(cudaenc_format_by_name(&format, "gray7", 8, 8), "format 'gray7' is not known"));
    EXPECT(refused(cudaenc_format_by_name(&format, "gray", 0, 8), "picture size 0x8 is not allowed"));
    EXPECT(refused(cudaenc_plane_size(nullptr, 0, &row_bytes, &rows), "format NULL") && !row_bytes && !rows);
    format = gray(8, 8);
    EXPECT(refused(cudaenc_plane_size(&format, 0, nullptr, &rows), "row_bytes NULL"));
    EXPECT(refused(cudaenc_plane_size(&format, 0, &row_bytes, nullptr), "rows NULL"));
    EXPECT(refused(cudaenc_plane_size(&format, 1, &row_bytes, &rows), "plane 1 is not allowed"));
    // Each thread has its own last error.
    std::string other = "none";
    std::thread([&] { other = cudaenc_last_error(); }).join();
    EXPECT(other.empty() && told("plane 1"));
}
END_TEST

START_TEST(formats_are_checked_for_all_codecs) {
    const struct {
        int CudaencFormat::*member;
        int value;
        const char *line;
    } cases[] = {{&CudaencFormat::full_range, 7, "full_range 7 is not allowed: it is 0 to 1"},
                 {&CudaencFormat::full_range, -1, "full_range -1"},
                 {&CudaencFormat::has_alpha, 2, "has_alpha 2"},
                 {&CudaencFormat::has_alpha, 1, "has_alpha 1 is not allowed with one component"},
                 {&CudaencFormat::color_primaries, -7, "color_primaries -7 is not allowed: it is 0 to 255"},
                 {&CudaencFormat::color_transfer, 399, "color_transfer 399"},
                 {&CudaencFormat::color_matrix, 256, "color_matrix 256"}};
    for (const CudaencCodec codec : {CUDAENC_CODEC_J2K, CUDAENC_CODEC_MJPEG, CUDAENC_CODEC_H264})
        for (const auto &[member, value, line] : cases) {
            Log log;
            CudaencConfig config = make_config(gray(16, 16), "cpu", &log);
            config.codec = codec;
            config.format.full_range = 1;
            CudaencSession *session;
            EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
            cudaenc_close(session);
            config.format.*member = value;
            EXPECT(refused(cudaenc_open(&session, &config), log, line), "codec %d: %s", codec, line);
            size_t row_bytes, rows;
            EXPECT(refused(cudaenc_plane_size(&config.format, 0, &row_bytes, &rows), line), "%s", line);
        }
    Log log;
    CudaencConfig config = make_config(gray(16, 16), "cpu", &log);
    CudaencSession *session;
    config.device_packets = -1;
    EXPECT(refused(cudaenc_open(&session, &config), log, "device_packets -1 is not allowed: it is 0 to 1"));
    config.device_frames = 3;
    EXPECT(refused(cudaenc_open(&session, &config), log, "device_frames 3 is not allowed: it is 0 to 1"));
}
END_TEST

START_TEST(what_frames_bring_is_checked) {
    Random random(4);
    for (const CudaencCodec codec : {CUDAENC_CODEC_J2K, CUDAENC_CODEC_MJPEG, CUDAENC_CODEC_H264}) {
        Log log;
        CudaencConfig config = make_config(gray(16, 16), "cpu", &log);
        config.codec = codec;
        config.format.full_range = 1;
        config.h264.timecodes = 1;
        config.h264.frame_rate_num = 25, config.h264.frame_rate_den = 1;
        CudaencSession *session;
        EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
        const Picture picture = make_picture(random, config.format);
        const CudaencFrame good = picture.frame();
        CudaencFrame frame = good;
        const auto refuses = [&](const char *line) {
            EXPECT(refused(cudaenc_submit(session, &frame), log, line), "codec %d: %s", codec, line);
            frame = good;
        };
        frame.data[0] = nullptr;
        refuses("plane 0 of the frame is missing");
        frame.captions_size = 4;
        refuses("captions NULL is not allowed with captions_size 4");
        frame.icc_profile_size = 200;
        refuses("icc_profile NULL is not allowed with icc_profile_size 200");
        frame.exif_size = frame.xmp_size = 1;
        refuses("exif NULL is not allowed");
        frame.xmp_size = frame.iptc_size = 1;
        refuses("xmp NULL is not allowed");
        frame.iptc_size = 1;
        refuses("iptc NULL is not allowed");
        const uint8_t bytes[96]{};
        frame.xmp = bytes, frame.xmp_size = size_t{1} << 31;
        refuses("xmp_size 2147483648 is not allowed");
        for (const size_t size : {4, 96}) {
            frame.captions = bytes, frame.captions_size = size;
            refuses("captions are 3 bytes each, and at most 31");
        }
        frame.user_data_count = -3;
        refuses("user_data_count -3 is not allowed");
        frame.user_data_count = 1;
        refuses("user_data NULL is not allowed with user_data_count 1");
        for (const CudaencUserData &data : {CudaencUserData{bytes, 15}, {nullptr, 20}}) {
            frame.user_data = &data, frame.user_data_count = 1;
            refuses(data.data ? "user data of 15 bytes is not" : "user data of 20 bytes at NULL is not");
        }
        frame.region_count = CUDAENC_MAX_REGIONS + 1;
        refuses("region_count 17 is not allowed: it is 0 to 16");
        frame.region_count = 1;
        refuses("regions NULL is not allowed with region_count 1");
        const std::pair<CudaencRegion, const char *> regions[] = {
            {{-1, 0, 1, 1, 0, 1}, "region x -1 is not allowed"},
            {{0, -1, 1, 1, 0, 1}, "region y -1 is not allowed"},
            {{0, 0, 0, 1, 0, 1}, "region width 0 is not allowed"},
            {{0, 0, 1, 0, 0, 1}, "region height 0 is not allowed"},
            {{0, 0, 1, 1, 0, 0}, "region offset_den 0 is not allowed"},
            {{0, 0, 1, 1, -3, 2}, "region offset_num -3 is not allowed: it is -2 to 2"}};
        for (const auto &[region, line] : regions) {
            frame.regions = &region, frame.region_count = 1;
            refuses(line);
        }
        for (const CudaencTimecode &timecode : {CudaencTimecode{24, 0, 0, 0, 0},
                                                {0, 60, 0, 0, 0},
                                                {0, 0, -1, 0, 0},
                                                {0, 0, 0, 256, 0},
                                                {0, 0, 0, 0, 2}}) {
            frame.timecode = &timecode;
            refuses("timecode ");
        }
        frame.sample_aspect_num = -1;
        refuses("sample_aspect_num -1 is not allowed");
        frame.sample_aspect_num = 1, frame.sample_aspect_den = -1;
        refuses("sample_aspect_den -1 is not allowed");
        const CudaencTimecode last{23, 59, 59, 24, 0}, after{23, 59, 59, 25, 0};
        frame.timecode = &after;
        if (codec == CUDAENC_CODEC_H264) refuses("timecode frames 25 is not allowed: it is 0 to 24");
        frame.timecode = &last;
        EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_OK);
        cudaenc_close(session);
    }
}
END_TEST

START_TEST(memory_is_checked_before_it_is_taken) {
    std::vector<std::string> devices = device_specs;
    devices.push_back("cpu");
    for (const std::string &spec : devices)
        for (const CudaencCodec codec : {CUDAENC_CODEC_J2K, CUDAENC_CODEC_MJPEG}) {
            Log log;
            CudaencConfig config = make_config(gray(32768, 32768), spec.c_str(), &log);
            config.codec = codec;
            config.format.full_range = 1;
            config.async_depth = 64;
            if (codec == CUDAENC_CODEC_J2K)  // more than any machine of today has
                config.format = make_format(32768, 32768, 3, 16, false, CUDAENC_COLOR_RGB);
            else if (spec.rfind("cuda", 0) == 0 || available_host_memory() >> 37)
                continue;  // the machine may have that much
            CudaencSession *session;
            const auto begin = std::chrono::steady_clock::now();
            const int code = cudaenc_open(&session, &config);
            const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
            EXPECT(code == CUDAENC_ERR_MEMORY && has_line(log, "64 frames in flight of 32768x32768 need "), "%s: %s",
                   spec.c_str(), cudaenc_last_error());
            EXPECT(!session, "%s: a session", spec.c_str());
            // A GPU's context takes seconds of its own beside other programs.
            EXPECT(spec.rfind("cuda", 0) == 0 || seconds.count() < 5, "%s: %.1f s", spec.c_str(), seconds.count());
        }
}
END_TEST

// ---- formats ----

START_TEST(formats_have_names) {
    const struct {
        const char *name;
        int planes, depth, shift;
        size_t row_bytes[4], rows[4];  // of 21x11
    } cases[] = {
        {"gray", 1, 8, 0, {21}, {11}},
        {"gray16", 1, 16, 0, {42}, {11}},
        {"rgb24", 1, 8, 0, {63}, {11}},
        {"bgra", 1, 8, 0, {84}, {11}},
        {"rgb48", 1, 16, 0, {126}, {11}},
        {"gbrp12", 3, 12, 0, {42, 42, 42}, {11, 11, 11}},
        {"yuv420p10", 3, 10, 0, {42, 22, 22}, {11, 6, 6}},
        {"yuva422p", 4, 8, 0, {21, 11, 11, 21}, {11, 11, 11, 11}},
        {"nv12", 2, 8, 0, {21, 22}, {11, 6}},
        {"p010", 2, 10, 6, {42, 44}, {11, 6}},
        {"xyz12", 1, 12, 4, {126}, {11}},
    };
    for (const auto &c : cases) {
        CudaencFormat format;
        EXPECT(cudaenc_format_by_name(&format, c.name, 21, 11) == CUDAENC_OK, "%s", c.name);
        EXPECT(
            format.planes == c.planes && format.component[0].depth == c.depth && format.component[0].shift == c.shift,
            "%s", c.name);
        for (int plane = 0; plane < format.planes; plane++) {
            size_t row_bytes, rows;
            EXPECT(cudaenc_plane_size(&format, plane, &row_bytes, &rows) == CUDAENC_OK, "%s", c.name);
            EXPECT(row_bytes == c.row_bytes[plane] && rows == c.rows[plane], "%s: plane %d has %zu x %zu", c.name,
                   plane, row_bytes, rows);
        }
        size_t row_bytes, rows;
        EXPECT(cudaenc_plane_size(&format, format.planes, &row_bytes, &rows) == CUDAENC_ERR_INVALID && !rows, "%s",
               c.name);
    }
    CudaencFormat format;
    for (const char *name : {"", "rgb", "gray11", "yuv420p8", "nv1", "nv120", "p010le", "gbrp10be", "rgb24 "})
        EXPECT(cudaenc_format_by_name(&format, name, 8, 8) == CUDAENC_ERR_INVALID && !format.planes, "'%s'", name);
    EXPECT_EQ(cudaenc_format_by_name(&format, nullptr, 8, 8), CUDAENC_ERR_INVALID);
    constexpr int longest = 1 << 30;
    EXPECT_EQ(cudaenc_format_by_name(&format, "gray", longest, longest), CUDAENC_OK);
    const CudaencFormat zero{};
    for (const auto &[width, height] : {std::pair{0, 8}, {8, 0}, {-1, 8}, {longest + 1, 8}, {8, longest + 1}}) {
        std::memset(static_cast<void *>(&format), 0xEE, sizeof format);
        EXPECT_EQ(cudaenc_format_by_name(&format, "gray", width, height), CUDAENC_ERR_INVALID);
        EXPECT(!std::memcmp(&format, &zero, sizeof zero));
    }
    size_t row_bytes = 1, rows = 1;
    EXPECT_EQ(cudaenc_plane_size(&zero, 0, &row_bytes, &rows), CUDAENC_ERR_INVALID);
    EXPECT(!row_bytes && !rows);
    EXPECT_EQ(cudaenc_format_by_name(&format, "gray", 8, 8), CUDAENC_OK);
    row_bytes = rows = 1;
    EXPECT_EQ(cudaenc_plane_size(&format, -1, &row_bytes, &rows), CUDAENC_ERR_INVALID);
    EXPECT(!row_bytes && !rows);
}
END_TEST

START_TEST(reserved_members_are_zero) {
    Log log;
    CudaencConfig config = make_config(gray(8, 8), "cpu", &log);
    config.format.reserved[6] = 1;
    CudaencSession *session;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_ERR_INVALID);
    EXPECT(has_line(log, "reserved 1 of the format"));
}
END_TEST

START_TEST(strides_are_checked) {
    Random random(1);
    Log log;
    const CudaencConfig config = make_config(gray(20, 10), "cpu", &log);
    Picture picture = make_picture(random, config.format);
    CudaencSession *session;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
    CudaencFrame frame = picture.frame();
    for (const ptrdiff_t stride : {0, 19, -19}) {
        log.lines.clear();
        frame.stride[0] = stride;
        EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_ERR_INVALID);
        EXPECT(has_line(log, "of plane 0 is not allowed: a row has 20 bytes"));
    }
    cudaenc_close(session);
}
END_TEST

// ---- polling and waiting ----

struct FakePipeline {
    using Input = int;
    using Output = int;
    void submit(int, int) {}
    int finish(int slot) { return slot; }
    bool done(int) noexcept { return is_done; }
    int lookahead() const noexcept { return ahead; }
    void flush() noexcept { flushes++; }
    bool is_done = false;
    int ahead = 0, flushes = 0;
};

// Who waits for an output ends what it looks ahead at, if that is not there; who takes what is due does not.
START_TEST(a_wait_ends_the_lookahead) {
    auto pipeline = std::make_unique<FakePipeline>();
    FakePipeline &fake = *pipeline;
    fake.ahead = 1;
    Ring<FakePipeline> ring(std::move(pipeline), 3);
    int output = -1;
    void *opaque;
    for (int i = 0; i < 3; i++) ring.submit(i, nullptr);
    EXPECT_EQ(ring.receive(output, opaque, Receive::when_due), CUDAENC_OK);
    EXPECT_EQ(ring.receive(output, opaque, Receive::when_due), CUDAENC_AGAIN);
    EXPECT_EQ(ring.receive(output, opaque, Receive::now), CUDAENC_OK);
    EXPECT_EQ(fake.flushes, 0);
    EXPECT_EQ(ring.receive(output, opaque, Receive::now), CUDAENC_OK);
    EXPECT_EQ(fake.flushes, 1);
    ring.flush();
    EXPECT_EQ(fake.flushes, 2);
    // Those that a flush has ended wait for nothing that comes later, so who takes them does not end others.
    for (int i = 0; i < 2; i++) {
        ring.submit(i, nullptr);
        if (i == 0) ring.flush();
    }
    fake.ahead = 2;
    EXPECT_EQ(ring.receive(output, opaque, Receive::now), CUDAENC_OK);
    EXPECT_EQ(fake.flushes, 3);
    EXPECT_EQ(ring.receive(output, opaque, Receive::now), CUDAENC_OK);
    EXPECT_EQ(fake.flushes, 4);
}
END_TEST

START_TEST(a_ring_is_received_from_when_asked) {
    auto pipeline = std::make_unique<FakePipeline>();
    bool &is_done = pipeline->is_done;
    Ring<FakePipeline> ring(std::move(pipeline), 3);
    int output = -1;
    void *opaque;
    for (const Receive when : {Receive::when_due, Receive::when_done, Receive::now})
        EXPECT_EQ(ring.receive(output, opaque, when), CUDAENC_AGAIN);
    ring.submit(0, nullptr);
    ring.submit(0, nullptr);
    EXPECT_EQ(ring.receive(output, opaque, Receive::when_due), CUDAENC_AGAIN);
    EXPECT_EQ(ring.receive(output, opaque, Receive::when_done), CUDAENC_AGAIN);
    is_done = true;
    EXPECT_EQ(ring.receive(output, opaque, Receive::when_due), CUDAENC_AGAIN);
    EXPECT_EQ(ring.receive(output, opaque, Receive::when_done), CUDAENC_OK);
    EXPECT_EQ(output, 0);
    is_done = false;
    EXPECT_EQ(ring.receive(output, opaque, Receive::now), CUDAENC_OK);
    EXPECT_EQ(output, 1);
    ring.submit(0, nullptr);
    ring.flush();
    EXPECT_EQ(ring.receive(output, opaque, Receive::when_done), CUDAENC_AGAIN);  // polling never waits
    EXPECT_EQ(ring.receive(output, opaque, Receive::when_due), CUDAENC_OK);
    for (const Receive when : {Receive::when_due, Receive::when_done, Receive::now})
        EXPECT_EQ(ring.receive(output, opaque, when), CUDAENC_EOF);
}
END_TEST

START_TEST(packets_are_polled_and_waited_for) {
    std::vector<std::string> devices = device_specs;
    devices.push_back("cpu");
    for (const std::string &spec : devices)
        for (const CudaencCodec codec : {CUDAENC_CODEC_J2K, CUDAENC_CODEC_MJPEG, CUDAENC_CODEC_H264}) {
            const char *device = spec.c_str();
            Random random(7);
            Log log;
            CudaencConfig config = make_config(gray(70, 50), device, &log);
            cudaenc_config_defaults(&config, codec);
            config.format = gray(70, 50);
            config.format.full_range = 1;
            config.device = device;
            config.log = Log::print;
            config.log_opaque = &log;
            config.async_depth = 5;
            std::vector<Picture> pictures;
            std::vector<std::vector<uint8_t>> expected;
            for (int i = 0; i < 5; i++) {
                pictures.push_back(make_picture(random, config.format));
            }
            CudaencSession *session;
            CudaencPacket packet;
            EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
            for (const Picture &picture : pictures) {
                const CudaencFrame frame = picture.frame();
                EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_OK);
            }
            cudaenc_flush(session);
            while (cudaenc_receive(session, &packet) == CUDAENC_OK) {
                expected.emplace_back(packet.data, packet.data + packet.size);
                cudaenc_buffer_free(packet.buffer);
            }
            cudaenc_close(session);
            EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
            const auto expect_packet = [&](size_t i) {
                const std::vector<uint8_t> bytes(packet.data, packet.data + packet.size);
                EXPECT(bytes == expected[i], "%s: packet %zu of codec %d", device, i, codec);
                cudaenc_buffer_free(packet.buffer);
            };
            EXPECT_EQ(cudaenc_poll(session, &packet), CUDAENC_AGAIN);
            EXPECT_EQ(cudaenc_wait(session, &packet), CUDAENC_AGAIN);
            const auto poll = [&](size_t i) {
                int code;
                while ((code = cudaenc_poll(session, &packet)) == CUDAENC_AGAIN) std::this_thread::yield();
                EXPECT(code == CUDAENC_OK, "%s: poll: %d", device, code);
                expect_packet(i);
            };
            for (size_t i = 0; i < 2; i++) {
                const CudaencFrame frame = pictures[i].frame();
                EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_OK);
            }
            poll(0);
            EXPECT_EQ(cudaenc_wait(session, &packet), CUDAENC_OK);
            expect_packet(1);
            for (size_t i = 2; i < 5; i++) {
                const CudaencFrame frame = pictures[i].frame();
                EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_OK);
            }
            poll(2);
            cudaenc_flush(session);
            poll(3);
            EXPECT_EQ(cudaenc_wait(session, &packet), CUDAENC_OK);
            expect_packet(4);
            EXPECT_EQ(cudaenc_poll(session, &packet), CUDAENC_EOF);
            EXPECT_EQ(cudaenc_wait(session, &packet), CUDAENC_EOF);
            cudaenc_close(session);
            EXPECT(log.lines.empty());
        }
}
END_TEST

START_TEST(pictures_are_polled_and_waited_for) {
    Random random(5);
    Log log;
    CudaencConfig encoder = make_config(gray(70, 50), "cpu", &log);
    encoder.codec = CUDAENC_CODEC_MJPEG;
    encoder.format.full_range = 1;
    Picture source = make_picture(random, encoder.format, Content::smooth);
    const std::vector<uint8_t> jpeg = encode(encoder, source.frame());
    std::vector<uint8_t> expected;
    std::vector<std::string> devices = {"cpu"};
    devices.insert(devices.end(), device_specs.begin(), device_specs.end());
    for (const std::string &spec : devices)
        for (const int timed : {0, 1}) {
            CudaencDecoderConfig config;
            cudaenc_decoder_defaults(&config, CUDAENC_CODEC_MJPEG);
            config.device = spec.c_str();
            config.async_depth = 3;
            config.threads = 2;
            config.stage_times = timed;
            CudaencDecoder *decoder;
            EXPECT_EQ(cudaenc_decoder_open(&decoder, &config), CUDAENC_OK);
            EXPECT_EQ(cudaenc_decoder_async_depth(decoder), 3);
            config.async_depth = 0, config.threads = 6;
            CudaencDecoder *usual;
            EXPECT_EQ(cudaenc_decoder_open(&usual, &config), CUDAENC_OK);
            EXPECT_EQ(cudaenc_decoder_async_depth(usual), spec == "cpu" ? 9 : 4);
            cudaenc_decoder_close(usual);
            const std::string name = cudaenc_decoder_device_name(decoder);
            EXPECT(spec == "cpu" ? name == "cpu, 2 threads" : name.starts_with(spec.substr(0, spec.find(':'))),
                   "%s: %s", spec.c_str(), name.c_str());
            CudaencDecodedPicture decoded;
            EXPECT_EQ(cudaenc_decoder_poll(decoder, &decoded), CUDAENC_AGAIN);
            EXPECT_EQ(cudaenc_decoder_wait(decoder, &decoded), CUDAENC_AGAIN);
            std::vector<uint8_t> planes[4];
            const auto submit = [&](std::vector<uint8_t> &plane) {
                plane.assign(70 * 50, 0);
                CudaencCodedPicture coded{};
                coded.struct_size = sizeof coded;
                coded.data = jpeg.data();
                coded.size = jpeg.size();
                coded.planes[0] = plane.data();
                coded.stride[0] = 70;
                coded.opaque = &plane;
                return cudaenc_decoder_submit(decoder, &coded);
            };
            const auto expect_picture = [&](int code, std::vector<uint8_t> &plane) {
                if (expected.empty()) expected = plane;
                EXPECT(code == CUDAENC_OK && decoded.opaque == &plane && plane == expected, "%s: %d", spec.c_str(),
                       code);
            };
            const auto poll = [&](std::vector<uint8_t> &plane) {
                int code;
                while ((code = cudaenc_decoder_poll(decoder, &decoded)) == CUDAENC_AGAIN) std::this_thread::yield();
                expect_picture(code, plane);
            };
            for (int round = 0; round < 2; round++) {  // a flush ends nothing
                for (int i = 0; i < 3; i++) EXPECT_EQ(submit(planes[i]), CUDAENC_OK);
                EXPECT_EQ(submit(planes[3]), CUDAENC_AGAIN);
                poll(planes[0]);
                expect_picture(cudaenc_decoder_wait(decoder, &decoded), planes[1]);
                EXPECT_EQ(cudaenc_decoder_receive(decoder, &decoded), CUDAENC_AGAIN);
                cudaenc_decoder_flush(decoder);
                poll(planes[2]);
                EXPECT_EQ(cudaenc_decoder_poll(decoder, &decoded), CUDAENC_EOF);
                EXPECT_EQ(cudaenc_decoder_wait(decoder, &decoded), CUDAENC_EOF);
            }
            CudaencStageTime times[33];
            times[32].frames = -5;
            const int stages = cudaenc_decoder_stage_times(decoder, times, 32);
            EXPECT(timed ? stages > 0 && stages <= 32 : !stages, "%s: %d stages", spec.c_str(), stages);
            for (int i = 0; i < stages; i++)
                EXPECT(*times[i].name && times[i].milliseconds >= 0 && times[i].frames == 6, "%s: %s, %d frames",
                       spec.c_str(), times[i].name, times[i].frames);
            EXPECT_EQ(cudaenc_decoder_stage_times(decoder, nullptr, 0), stages);
            EXPECT_EQ(times[32].frames, -5);
            cudaenc_decoder_close(decoder);
        }
}
END_TEST

// Files are packets like others, beside those in memory too. Those that cannot be read fail.
START_TEST(batches_of_files_are_decoded) {
    constexpr int kWidth = 70, kHeight = 50, kPicture = kWidth * kHeight, kCount = 40;
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("cudaenc-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    Random random(7);
    Log log;
    CudaencConfig encoder = make_config(gray(kWidth, kHeight), "cpu", &log);
    encoder.codec = CUDAENC_CODEC_MJPEG;
    encoder.format.full_range = 1;
    std::vector<std::vector<uint8_t>> packets;
    std::vector<std::string> names;
    for (int n = 0; n < kCount; n++) {
        packets.push_back(encode(encoder, make_picture(random, encoder.format, Content::smooth).frame()));
        names.push_back((folder / std::to_string(n)).string());
        std::ofstream(names.back(), std::ios::binary)
            .write(reinterpret_cast<const char *>(packets.back().data()),
                   static_cast<std::streamsize>(packets.back().size()));
    }
    names[7] = folder.string();
    names[14] = (folder / "fifo").string();
    EXPECT_EQ(mkfifo(names[14].c_str(), 0600), 0);
    std::filesystem::remove(names[20]);
    std::ofstream(names[25], std::ios::binary | std::ios::trunc).close();
    std::vector<const char *> paths;
    std::vector<const uint8_t *> data;
    std::vector<size_t> sizes;
    for (size_t n = 0; n < kCount; n++) {
        paths.push_back(n % 9 == 3 ? nullptr : names[n].c_str());
        data.push_back(packets[n].data());
        sizes.push_back(packets[n].size());
    }
    std::vector<uint8_t> expected(kCount * kPicture), memory(expected.size());
    int codes[kCount], corrupt[kCount], errors[kCount];
    CudaencDecoderConfig config;
    cudaenc_decoder_defaults(&config, CUDAENC_CODEC_MJPEG);
    config.device = "cpu";
    config.async_depth = 3;
    config.threads = 2;
    config.log = Log::print;
    config.log_opaque = &log;
    CudaencDecoder *decoder;
    EXPECT_EQ(cudaenc_decoder_open(&decoder, &config), CUDAENC_OK);
    CudaencPictureInfo info;
    EXPECT_EQ(cudaenc_decoder_read_header(decoder, data[0], sizes[0], &info), CUDAENC_OK);
    CudaencCodedBatch batch;
    batch = {.count = kCount,
             .data = data.data(),
             .size = sizes.data(),
             .format = info.format,
             .is_signed = {},
             .planes = {expected.data()},
             .stride = {kWidth},
             .step = {kPicture},
             .cuda_stream = nullptr,
             .codes = codes,
             .corrupt = corrupt,
             .paths = nullptr,
             .readers = 0,
             .errors = errors};
    EXPECT_EQ(cudaenc_decoder_batch(decoder, &batch), CUDAENC_OK);
    for (size_t n = 0; n < kCount; n++)
        if (paths[n]) data[n] = nullptr;
    batch.paths = paths.data();
    batch.planes[0] = memory.data();
    for (const int readers : {0, 1, 3, 64}) {
        std::ranges::fill(memory, 0xA5);
        log.lines.clear();
        batch.readers = readers;
        EXPECT_EQ(cudaenc_decoder_batch(decoder, &batch), CUDAENC_ERR_INVALID);
        EXPECT(std::string(cudaenc_last_error()).starts_with("picture 7: " + names[7] + ": "));
        EXPECT_EQ(log.lines.size(), 4);
        EXPECT(log.lines[1].ends_with("picture 14: " + names[14] + ": not a regular file"));
        for (size_t n = 0; n < kCount; n++) {
            const bool failed = n == 7 || n == 14 || n == 20 || n == 25;
            EXPECT_EQ(codes[n], failed ? CUDAENC_ERR_INVALID : CUDAENC_OK);
            EXPECT_EQ(errors[n], n == 7 ? EISDIR : n == 14 ? ESPIPE : n == 20 ? ENOENT : 0);
            const auto at = static_cast<std::ptrdiff_t>(n * kPicture);
            EXPECT(failed || std::equal(memory.begin() + at, memory.begin() + at + kPicture, expected.begin() + at));
        }
    }
    batch.data = nullptr;
    EXPECT_EQ(cudaenc_decoder_batch(decoder, &batch), CUDAENC_ERR_INVALID);
    EXPECT_EQ(codes[3], CUDAENC_ERR_INVALID);  // neither a path nor data
    EXPECT_EQ(codes[38], CUDAENC_OK);
    log.lines.clear();
    batch.readers = 65;
    EXPECT(refused(cudaenc_decoder_batch(decoder, &batch), log, "readers 65 is not allowed"));
    batch.paths = nullptr;
    EXPECT(refused(cudaenc_decoder_batch(decoder, &batch), log, "without paths"));
    cudaenc_decoder_close(decoder);
    std::filesystem::remove_all(folder);
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("api");
    TCase *versions = add_case(suite, "versions");
    tcase_add_test(versions, structures_grow_at_their_ends);
    tcase_add_test(versions, later_configurations_are_taken);
    tcase_add_test(versions, later_frames_and_packets_are_taken);
    tcase_add_test(versions, options_of_other_versions_have_defaults);
    tcase_add_test(versions, later_decoders_are_taken);
    TCase *given = add_case(suite, "given");
    tcase_add_test(given, null_is_refused_by_encoders);
    tcase_add_test(given, null_is_refused_by_decoders);
    tcase_add_test(given, null_is_refused_for_formats);
    tcase_add_test(given, formats_are_checked_for_all_codecs);
    tcase_add_test(given, what_frames_bring_is_checked);
    tcase_add_test(given, memory_is_checked_before_it_is_taken);
    TCase *formats = add_case(suite, "formats");
    tcase_add_test(formats, formats_have_names);
    tcase_add_test(formats, strides_are_checked);
    tcase_add_test(formats, reserved_members_are_zero);
    TCase *receiving = add_case(suite, "receiving");
    tcase_add_test(receiving, a_ring_is_received_from_when_asked);
    tcase_add_test(receiving, a_wait_ends_the_lookahead);
    tcase_add_test(receiving, packets_are_polled_and_waited_for);
    tcase_add_test(receiving, pictures_are_polled_and_waited_for);
    tcase_add_test(receiving, batches_are_decoded);
    tcase_add_test(receiving, batches_of_files_are_decoded);
    return run_suite(suite);
}
