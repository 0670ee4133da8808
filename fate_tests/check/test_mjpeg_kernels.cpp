// SPDX-License-Identifier: LGPL-2.1-or-later
// JPEG's kernels: every stream is the CPU's, byte for byte.
#include "../../common/mjpeg/mjpeg.h"
#include "../../common/mjpeg/quantise.h"
#include "mjpeg_pictures.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

// Formats that a padding byte a pixel, and more than ten blocks an MCU, make special as well.
CudaencFormat format_of(size_t index, int width, int height) {
    if (index < std::size(jpeg_formats)) return make_jpeg_format(jpeg_formats[index], width, height);
    CudaencFormat format = make_jpeg_format(jpeg_formats[std::size(jpeg_formats) - 1], width, height);
    for (CudaencComponent &k : format.component) k.step = 4;
    return format;
}
constexpr size_t kFormats = std::size(jpeg_formats) + 1;
const char *name_of(size_t index) { return index < std::size(jpeg_formats) ? jpeg_formats[index].name : "rgb0"; }

std::string describe_jpeg(const CudaencConfig &config, const char *format) {
    const CudaencMjpegOptions &o = config.mjpeg;
    return format_string("%s %dx%d, quality %d, matrix %d, trellis %d, huffman %d, restart_interval %d, mct %d on %s",
                         format, config.format.width, config.format.height, o.quality, o.matrix, o.trellis, o.huffman,
                         o.restart_interval, o.mct, config.device);
}

void expect_same(CudaencConfig config, const Picture &picture, const char *device, const char *name) {
    config.device = "cpu";
    const std::vector<uint8_t> expected = encode_jpeg(config, picture.frame());
    config.device = device;
    const std::vector<uint8_t> bytes = encode_jpeg(config, picture.frame());
    size_t at = 0;
    while (at < bytes.size() && at < expected.size() && bytes[at] == expected[at]) at++;
    EXPECT(bytes == expected, "%s: %zu bytes, the CPU has %zu; from byte %zu on they differ",
           describe_jpeg(config, name).c_str(), bytes.size(), expected.size(), at);
}

const char *device_of(int index) { return device_specs[static_cast<size_t>(index)].c_str(); }

START_TEST(quantisers_agree) {
    using namespace cudaenc::mjpeg;
    for (int32_t q = 1; q <= 255; q++) {
        Quantiser quantiser;
        set_divisor(quantiser, 0, q);
        for (int32_t c = -8192; c <= 8192; c++)
            EXPECT(quantise_wide(c, wide_reciprocal_of(q)) == quantise(quantiser, 0, c), "%d by 8 * %d", c, q);
    }
}
END_TEST

START_TEST(sizes) {
    const auto context = open_test_device(_i);  // lives on between the sessions, which begin in less time then
    Random random(1);
    Log log;
    for (int size = 1; size <= 40; size++)
        for (size_t f = 0; f < kFormats; f++) {
            const int other = random.between(1, 40);
            const bool wide = random.one_in(2);
            const CudaencFormat format = format_of(f, wide ? size : other, wide ? other : size);
            Picture picture = make_picture(random, format);
            fill(random, picture, static_cast<Content>(random.below(static_cast<uint32_t>(Content::kinds))));
            CudaencConfig config = make_jpeg_config(format, "", &log);
            config.mjpeg.quality = random.of({1, 50, 90, 100});
            config.mjpeg.huffman = random.between(0, 1);
            config.mjpeg.restart_interval = random.of({0, 0, 1, 2, 3, -1});
            config.mjpeg.matrix = random.between(0, 2);
            config.mjpeg.trellis = random.between(0, 1);
            if (format.color_model == CUDAENC_COLOR_RGB) config.mjpeg.mct = random.between(0, 1);
            expect_same(config, picture, device_of(_i), name_of(f));
        }
}
END_TEST

// Several pieces in a row and in an interval, intervals that end within a piece's worth of MCUs.
START_TEST(pieces) {
    const auto context = open_test_device(_i);
    Random random(2);
    Log log;
    for (size_t f = 0; f < kFormats; f++)
        for (const int interval : {0, -1, 1, 7, 16, 45, 100, 65535}) {
            const CudaencFormat format = format_of(f, random.between(300, 420), random.between(20, 90));
            Picture picture = make_picture(random, format);
            fill(random, picture, static_cast<Content>(random.below(static_cast<uint32_t>(Content::kinds))));
            CudaencConfig config = make_jpeg_config(format, "", &log);
            config.mjpeg.quality = random.of({1, 50, 90, 100});
            config.mjpeg.huffman = random.between(0, 1);
            config.mjpeg.restart_interval = interval;
            config.mjpeg.trellis = random.between(0, 1);
            expect_same(config, picture, device_of(_i), name_of(f));
        }
}
END_TEST

// More bits than memory was made for, pieces of several windows, bytes that are 0xFF at every turn.
START_TEST(noise) {
    Random random(3);
    Log log;
    for (const int huffman : {0, 1})
        for (const Content content : {Content::noise, Content::one_bit}) {
            const CudaencFormat format = format_of(content == Content::noise ? 3 : 1, 333, 130);
            Picture picture = make_picture(random, format, content);
            CudaencConfig config = make_jpeg_config(format, "", &log);
            config.mjpeg.quality = 100;
            config.mjpeg.huffman = huffman;
            expect_same(config, picture, device_of(_i), name_of(3));
        }
}
END_TEST

// So many pieces that frames in flight are copied to the host instead of being written there; in one scan and in three.
START_TEST(copies) {
    const auto context = open_test_device(_i);
    Random random(6);
    Log log;
    for (const size_t f : {size_t{0}, size_t{6}}) {
        const CudaencFormat format = format_of(f, 264, 264);
        Picture picture = make_picture(random, format, Content::smooth);
        CudaencConfig config = make_jpeg_config(format, "", &log);
        config.async_depth = 2;
        config.mjpeg.huffman = f != 0;
        config.mjpeg.restart_interval = 1;
        expect_same(config, picture, device_of(_i), name_of(f));
    }
}
END_TEST

// The scale is found by the same steps.
START_TEST(sizes_met) {
    const auto context = open_test_device(_i);
    Random random(5);
    Log log;
    for (const int huffman : {0, 1})
        for (const int64_t bytes : {1, 1500, 6000, 1000000})
            for (const size_t f : {size_t{3}, size_t{6}, size_t{11}}) {
                const CudaencFormat format = format_of(f, 150, 120);
                Picture picture = make_picture(random, format, bytes == 6000 ? Content::noise : Content::smooth);
                CudaencConfig config = make_jpeg_config(format, "", &log);
                config.mjpeg.frame_bytes = bytes;
                config.mjpeg.huffman = huffman;
                config.mjpeg.trellis = random.between(0, 1);
                expect_same(config, picture, device_of(_i), name_of(f));
            }
}
END_TEST

// Levels are chosen alike: of all table kinds and formats, by coefficients up to the largest.
START_TEST(trellis) {
    const auto context = open_test_device(_i);
    Random random(8);
    Log log;
    for (size_t f = 0; f < kFormats; f++)
        for (const int huffman : {0, 1})
            for (const Content content : {Content::smooth, Content::noise, Content::one_bit}) {
                const CudaencFormat format = format_of(f, random.between(60, 120), random.between(60, 120));
                Picture picture = make_picture(random, format, content);
                CudaencConfig config = make_jpeg_config(format, "", &log);
                config.mjpeg.trellis = 1;
                config.mjpeg.quality = random.of({1, 50, 90, 98, 100});
                config.mjpeg.matrix = random.between(0, 2);
                config.mjpeg.huffman = huffman;
                expect_same(config, picture, device_of(_i), name_of(f));
            }
}
END_TEST

// Frames in flight, of one slot after the other and again, in order and each with its own metadata.
START_TEST(frames) {
    Random random(4);
    Log log;
    const CudaencFormat format = format_of(7, 130, 70);
    for (const int depth : {1, 2, 5}) {
        CudaencConfig config = make_jpeg_config(format, device_of(_i), &log);
        config.async_depth = depth;
        config.mjpeg.huffman = depth & 1;
        CudaencSession *session;
        EXPECT(cudaenc_open(&session, &config) == CUDAENC_OK, "open");
        std::vector<Picture> pictures;
        for (int i = 0; i < 3 * depth + 1; i++) {
            pictures.push_back(make_picture(random, format));
            fill(random, pictures.back(), i % 3 ? Content::smooth : Content::noise);
        }
        size_t submitted = 0, received = 0;
        const auto receive = [&] {
            CudaencPacket packet;
            if (cudaenc_receive(session, &packet) != CUDAENC_OK) return false;
            CudaencFrame frame = pictures[received].frame();
            frame.sample_aspect_num = static_cast<int>(received) + 1, frame.sample_aspect_den = 3;
            CudaencConfig cpu = config;
            cpu.device = "cpu";
            cpu.async_depth = 1;
            const std::vector<uint8_t> expected = encode_jpeg(cpu, frame);
            EXPECT(std::vector<uint8_t>(packet.data, packet.data + packet.size) == expected, "frame %zu of depth %d",
                   received, depth);
            cudaenc_buffer_free(packet.buffer);
            received++;
            return true;
        };
        while (submitted < pictures.size()) {
            CudaencFrame frame = pictures[submitted].frame();
            frame.sample_aspect_num = static_cast<int>(submitted) + 1, frame.sample_aspect_den = 3;
            if (cudaenc_submit(session, &frame) == CUDAENC_OK)
                submitted++;
            else
                EXPECT(receive(), "receive");
        }
        cudaenc_flush(session);
        while (receive()) continue;
        EXPECT(received == pictures.size(), "%zu packets of %zu", received, pictures.size());
        cudaenc_close(session);
    }
}
END_TEST

// Packets that stay in the device's memory hold the same bytes, also where the first room is too small.
START_TEST(packets_on_device) {
    const auto device = open_test_device(_i);
    const Stream stream(device);
    for (int round = 0; round < 40; round++) {
        Random random(static_cast<uint64_t>(round));
        Log log;
        JpegTexts texts;
        const CudaencFormat format = random_jpeg_format(random, round % 4 ? 60 : 150);
        CudaencConfig config = make_jpeg_config(format, "cpu", &log);
        config.mjpeg = random_jpeg_options(random, format, texts);
        const auto encoder =
            mjpeg::make_device_encoder(mjpeg::make_params(format, config.mjpeg), 2, 0, device, false, false, true);
        Picture picture = make_picture(random, format);
        for (const Content content : {Content::smooth, Content::noise}) {
            fill(random, picture, content);
            const std::vector<uint8_t> expected = encode_jpeg(config, picture.frame());
            encoder->submit(0, picture.frame());
            const PooledBuffer packet = encoder->finish(0);
            std::vector<uint8_t> bytes(packet->size);
            device->download(stream, bytes.data(), packet->data, packet->size);
            device->synchronize(stream);
            EXPECT(bytes == expected, "round %d, %s: %zu bytes, the CPU has %zu", round,
                   describe_jpeg(config, "packets on the device").c_str(), bytes.size(), expected.size());
        }
    }
}
END_TEST

// More than a thousand pieces, with two frames in flight: pieces are joined by a kernel of its own.
START_TEST(many_pieces) {
    const auto device = open_test_device(_i);
    Random random(9);
    Log log;
    const CudaencFormat format = format_of(3, 516, 514);
    for (const int kind : {0, 1, 2, 3}) {
        CudaencConfig config = make_jpeg_config(format, "cpu", &log);
        config.mjpeg.huffman = kind & 1, config.mjpeg.trellis = kind >> 1;
        config.mjpeg.restart_interval = 1;
        const auto encoder =
            mjpeg::make_device_encoder(mjpeg::make_params(format, config.mjpeg), 2, 0, device, false, false, false);
        const Picture pictures[] = {make_picture(random, format), make_picture(random, format)};
        for (int slot = 0; slot < 2; slot++) encoder->submit(slot, pictures[slot].frame());
        for (int slot = 0; slot < 2; slot++) {
            const std::vector<uint8_t> expected = encode_jpeg(config, pictures[slot].frame());
            const PooledBuffer packet = encoder->finish(slot);
            EXPECT(std::equal(expected.begin(), expected.end(), packet->data, packet->data + packet->size),
                   "frame %d, huffman %d, trellis %d: %zu bytes, the CPU has %zu", slot, kind & 1, kind >> 1,
                   packet->size, expected.size());
        }
    }
}
END_TEST

// Both fields of a frame are coded side by side: also where the first room is too small, and where pieces are many.
START_TEST(fields) {
    for (int round = 0; round < 44; round++) {
        Random random(static_cast<uint64_t>(round));
        Log log;
        JpegTexts texts;
        CudaencFormat format = random_jpeg_format(random, round % 4 ? 60 : 150);
        const bool many = round >= 40;
        if (many) format = format_of(3, 516, 516);
        format.height = (format.height + 7) / 8 * 8;
        CudaencConfig config = make_jpeg_config(format, "cpu", &log);
        config.mjpeg = random_jpeg_options(random, format, texts);
        if (many) config.mjpeg.restart_interval = 1, config.mjpeg.huffman = round & 1;
        config.fields = random.between(1, 2);
        config.async_depth = 2;
        CudaencConfig on_device = config;
        on_device.device = device_of(_i);
        CudaencSession *session;
        EXPECT(cudaenc_open(&session, &on_device) == CUDAENC_OK, "open");
        for (const Content content : {Content::smooth, Content::noise, Content::smooth}) {
            Picture picture = make_picture(random, format, content);
            CudaencFrame frame = picture.frame();
            frame.sample_aspect_num = static_cast<int>(content) + 1, frame.sample_aspect_den = 3;
            const std::vector<uint8_t> expected = encode_jpeg(config, frame);
            EXPECT(cudaenc_submit(session, &frame) == CUDAENC_OK, "submit");
            CudaencPacket packet;
            EXPECT(cudaenc_wait(session, &packet) == CUDAENC_OK, "wait");
            EXPECT(std::equal(expected.begin(), expected.end(), packet.data, packet.data + packet.size),
                   "round %d, %s, %s first: %zu bytes, the CPU has %zu", round,
                   describe_jpeg(on_device, "fields").c_str(),
                   config.fields == CUDAENC_TOP_FIELD_FIRST ? "top" : "bottom", packet.size, expected.size());
            cudaenc_buffer_free(packet.buffer);
        }
        cudaenc_close(session);
    }
}
END_TEST

START_TEST(large_pictures) {
    const auto device = open_test_device(_i);
    Random random(7);
    Log log;
    const bool large = benched_on_gpu(device);
    const CudaencFormat format = format_of(3, large ? 3840 : 264, large ? 2160 : 264);
    Picture picture = make_picture(random, format, Content::smooth);
    for (const int kind : {0, 1, 2, 3}) {
        CudaencConfig config = make_jpeg_config(format, "cpu", &log);
        const int huffman = config.mjpeg.huffman = kind & 1, trellis = config.mjpeg.trellis = kind >> 1;
        const std::vector<uint8_t> expected = encode_jpeg(config, picture.frame());
        const auto encoder =
            mjpeg::make_device_encoder(mjpeg::make_params(format, config.mjpeg), 1, 0, device, false, false);
        const std::string what =
            format_string("mjpeg, %s%s", huffman ? "optimal tables" : "tables of Annex K", trellis ? ", trellis" : "");
        bench(what.c_str(), device, 1.5 * format.width * format.height, "samples", [&] {
            encoder->submit(0, picture.frame());
            const PooledBuffer packet = encoder->finish(0);
            EXPECT(std::equal(expected.begin(), expected.end(), packet->data, packet->data + packet->size),
                   "%s: %zu bytes, the CPU has %zu", what.c_str(), packet->size, expected.size());
        });
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("mjpeg_kernels");
    TCase *c = add_case(suite, "same as the CPU");
    tcase_add_test(c, quantisers_agree);
    const int devices = static_cast<int>(device_specs.size());
    tcase_add_loop_test(c, sizes, 0, devices);
    tcase_add_loop_test(c, pieces, 0, devices);
    tcase_add_loop_test(c, noise, 0, devices);
    tcase_add_loop_test(c, copies, 0, devices);
    tcase_add_loop_test(c, sizes_met, 0, devices);
    tcase_add_loop_test(c, trellis, 0, devices);
    tcase_add_loop_test(c, frames, 0, devices);
    tcase_add_loop_test(c, packets_on_device, 0, devices);
    tcase_add_loop_test(c, many_pieces, 0, devices);
    tcase_add_loop_test(c, fields, 0, devices);
    tcase_add_loop_test(c, large_pictures, 0, devices);
    return run_suite(suite);
}
