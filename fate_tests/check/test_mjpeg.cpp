// SPDX-License-Identifier: LGPL-2.1-or-later
// JPEG streams, decoded by the tests' own decoder: their levels are those that the picture's samples give, transformed
// in double precision's company and divided, for all samplings, sizes and options; the same bytes for any number of
// threads and frames in flight; sizes that are met; what is refused. JPEG_FILES=folder in the environment leaves the
// streams of all sizes there, for other decoders.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "../../common/mjpeg/color.h"
#include "../../common/mjpeg/fdct.h"
#include "mjpeg_pictures.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

// Warnings too.
struct AllLines : Log {
    static void print(void *opaque, CudaencLogLevel level, const char *line) {
        if (level <= CUDAENC_LOG_WARNING) static_cast<Log *>(opaque)->lines.push_back(line);
    }
};

// Samples around 0 as they are coded, of one component.
struct Plane {
    int width, height;
    std::vector<int> samples;
    int at(int x, int y) const {
        return samples[static_cast<size_t>(std::min(y, height - 1) * width + std::min(x, width - 1))];
    }
};
std::vector<Plane> planes_of(const Picture &picture, bool to_ycbcr) {
    std::vector<Plane> planes;
    for (int c = 0; c < picture.format.components; c++) {
        Plane plane{picture.columns(c), picture.component_rows(c), {}};
        for (int y = 0; y < plane.height; y++)
            for (int x = 0; x < plane.width; x++) plane.samples.push_back(static_cast<int>(picture.get(c, x, y)) - 128);
        planes.push_back(std::move(plane));
    }
    if (to_ycbcr)
        for (size_t i = 0; i < planes[0].samples.size(); i++)
            mjpeg::rgb_to_ycbcr(planes[0].samples[i], planes[1].samples[i], planes[2].samples[i]);
    return planes;
}

// Every block with samples has the levels that A.3.3 and A.3.4 ask for, of which the trellis may make AC levels 0 or
// one less; blocks without repeat the DC before.
void check_levels(const JpegDecoder &jpeg, const std::vector<Plane> &planes, bool trellis, const std::string &what) {
    EXPECT_EQ(jpeg.components.size(), planes.size());
    for (size_t c = 0; c < planes.size(); c++) {
        const auto &component = jpeg.components[c];
        EXPECT(component.width == planes[c].width && component.height == planes[c].height, "%s: component %zu is %dx%d",
               what.c_str(), c, component.width, component.height);
        const auto &divisors = jpeg.divisors[static_cast<size_t>(component.tq)];
        for (int by = 0; by < component.rows; by++)
            for (int bx = 0; bx < component.columns; bx++) {
                const auto &levels = component.block(bx, by);
                if (8 * bx >= component.width || 8 * by >= component.height) {
                    for (int i = 1; i < 64; i++)
                        EXPECT(levels[static_cast<size_t>(i)] == 0, "%s: a block without samples", what.c_str());
                    continue;
                }
                int32_t block[64], v[8];
                for (int i = 0; i < 64; i++) block[i] = planes[c].at(8 * bx + i % 8, 8 * by + i / 8);
                for (int y = 0; y < 8; y++) {
                    std::copy_n(block + 8 * y, 8, v);
                    mjpeg::fdct<mjpeg::FdctPass::rows>(v);
                    std::copy_n(v, 8, block + 8 * y);
                }
                for (int x = 0; x < 8; x++) {
                    for (int y = 0; y < 8; y++) v[y] = block[8 * y + x];
                    mjpeg::fdct<mjpeg::FdctPass::columns>(v);
                    for (int y = 0; y < 8; y++) block[8 * y + x] = v[y];
                }
                for (size_t i = 0; i < 64; i++) {
                    const int q = divisors[i], magnitude = (std::abs(block[i]) + 4 * q) / (8 * q);
                    const int level = block[i] < 0 ? -levels[i] : levels[i];
                    EXPECT(level == magnitude || (trellis && i && (level == 0 || level == magnitude - 1)),
                           "%s: component %zu, block %d %d, index %zu: %d instead of %d", what.c_str(), c, bx, by, i,
                           levels[i], block[i] < 0 ? -magnitude : magnitude);
                }
            }
    }
}

JpegDecoder check_stream(const CudaencConfig &config, const Picture &picture, const std::string &what) {
    const std::vector<uint8_t> bytes = encode_jpeg(config, picture.frame());
    JpegDecoder jpeg(bytes.data(), bytes.size());
    EXPECT(jpeg.width == config.format.width && jpeg.height == config.format.height, "%s: size", what.c_str());
    check_levels(jpeg, planes_of(picture, config.mjpeg.mct), config.mjpeg.trellis, what);
    int64_t restarts = 0;
    for (size_t c = 0; c < (jpeg.scans > 1 ? 3 : 1); c++) {
        const auto &k = jpeg.components[c];
        const bool single = jpeg.scans > 1 || jpeg.components.size() == 1;
        const int64_t across = k.columns / (single ? 1 : k.h), down = k.rows / (single ? 1 : k.v);
        const int64_t interval = config.mjpeg.restart_interval < 0 ? across : config.mjpeg.restart_interval;
        if (interval) restarts += (across * down - 1) / interval;
    }
    EXPECT(jpeg.restarts == restarts, "%s: %d restart markers instead of %lld", what.c_str(), jpeg.restarts,
           static_cast<long long>(restarts));
    return jpeg;
}

constexpr Content contents[] = {Content::smooth, Content::noise, Content::one_bit, Content::board,
                                Content::flat,   Content::black, Content::white,   Content::columns};

// Where the environment says so.
void write_file(const std::string &name, const std::vector<uint8_t> &bytes) {
    const char *folder = std::getenv("JPEG_FILES");
    if (!folder) return;
    std::ofstream file(format_string("%s/%s.jpg", folder, name.c_str()));
    file.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    EXPECT(file.flush(), "%s cannot be written to", folder);
}

// All sizes of 1 to 32 squared, a format each.
START_TEST(sizes) {
    const JpegFormat &of = jpeg_formats[_i];
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int height = 1; height <= 32; height++)
        for (int width = 1; width <= 32; width++) {
            Picture picture = make_picture(random, make_jpeg_format(of, width, height));
            fill(random, picture, random.of(contents));
            picture.upside_down = random.one_in(4);
            Log log;
            CudaencConfig config = make_jpeg_config(picture.format, "cpu", &log);
            const int qualities[] = {1, 50, 90, 100}, intervals[] = {0, -1, 1, 2, 3, 7};
            config.mjpeg.quality = random.of(qualities);
            config.mjpeg.restart_interval = random.of(intervals);
            config.mjpeg.huffman = random.between(0, 1);
            config.mjpeg.mct = of.model == CUDAENC_COLOR_RGB && random.one_in(2);
            config.mjpeg.matrix = random.between(0, 2);
            config.mjpeg.trellis = random.between(0, 1);
            const std::string what = format_string("%dx%d, %s", width, height, describe_jpeg(config).c_str());
            check_stream(config, picture, what);
            write_file(format_string("%s-%04d", of.name, 32 * (height - 1) + width),
                       encode_jpeg(config, picture.frame()));
        }
}
END_TEST

// Sub-samplings without a pixel format of FFmpeg: a warning says so.
START_TEST(samplings_of_the_api_only) {
    struct Sampling {
        int cb_x, cb_y, cr_x, cr_y;
    };
    constexpr Sampling samplings[] = {{0, 2, 0, 2}, {1, 2, 1, 2}, {2, 1, 2, 1},
                                      {2, 2, 2, 2}, {1, 0, 0, 0}, {2, 1, 1, 1}};
    Random random(11);
    for (const Sampling &s : samplings) {
        CudaencFormat format = make_jpeg_format(jpeg_formats[1], 40, 40);
        format.component[1].log2_subsample_x = s.cb_x, format.component[1].log2_subsample_y = s.cb_y;
        format.component[2].log2_subsample_x = s.cr_x, format.component[2].log2_subsample_y = s.cr_y;
        Picture picture = make_picture(random, format, Content::noise);
        AllLines log;
        CudaencConfig config = make_jpeg_config(format, "cpu", &log);
        config.log = AllLines::print;
        const std::string name = format_string("%dx%d-%dx%d", 1 << s.cb_x, 1 << s.cb_y, 1 << s.cr_x, 1 << s.cr_y);
        check_stream(config, picture, name);
        EXPECT(!log.lines.empty() && log.lines[0].find("FFmpeg") == 0, "%s: no warning", name.c_str());
        write_file("sampling-" + name, encode_jpeg(config, picture.frame()));
    }
}
END_TEST

// Every quality, interval and kind of table, of one size.
START_TEST(options) {
    const JpegFormat &of = jpeg_formats[_i];
    Random random(static_cast<uint64_t>(_i) + 100);
    for (const Content content : {Content::smooth, Content::noise}) {
        Picture picture = make_picture(random, make_jpeg_format(of, 83, 45), content);
        for (const int quality : {1, 50, 90, 100})
            for (const int interval : {0, -1, 1, 4, 65535})
                for (const int huffman : {0, 1}) {
                    Log log;
                    CudaencConfig config = make_jpeg_config(picture.format, "cpu", &log);
                    config.mjpeg.quality = quality;
                    config.mjpeg.restart_interval = interval;
                    config.mjpeg.huffman = huffman;
                    const JpegDecoder jpeg =
                        check_stream(config, picture,
                                     format_string("%s quality %d, restart_interval %d", of.name, quality, interval));
                    EXPECT(jpeg.scans == (of.log2_x + of.log2_y == 4 ? 3 : 1), "%d scans", jpeg.scans);
                    if (quality < 100) continue;
                    // What comes back is what went in, but for rounding.
                    for (int c = 0; c < picture.format.components; c++) {
                        const std::vector<double> samples = jpeg.samples(c);
                        const int width = picture.columns(c);
                        for (size_t i = 0; i < samples.size(); i++) {
                            const double is = picture.get(c, static_cast<int>(i) % width, static_cast<int>(i) / width);
                            EXPECT(std::fabs(samples[i] - is) < 2.2, "%s: sample %zu is %g, was %g", of.name, i,
                                   samples[i], is);
                        }
                    }
                }
    }
}
END_TEST

START_TEST(matrices) {
    Random random(7);
    Picture picture = make_picture(random, make_jpeg_format(jpeg_formats[3], 40, 24), Content::smooth);
    uint16_t luma[64], chroma[64];
    for (int i = 0; i < 64; i++) luma[i] = static_cast<uint16_t>(i + 1), chroma[i] = static_cast<uint16_t>(255 - i);
    Log log;
    CudaencConfig config = make_jpeg_config(picture.format, "cpu", &log);
    config.mjpeg.luma_matrix = luma;
    config.mjpeg.chroma_matrix = chroma;
    config.mjpeg.quality = 50;
    JpegDecoder jpeg = check_stream(config, picture, "matrices");
    for (size_t i = 0; i < 64; i++)
        EXPECT(jpeg.divisors[0][i] == luma[i] && jpeg.divisors[1][i] == chroma[i], "%zu", i);
    config.mjpeg.luma_matrix = nullptr;
    config.mjpeg.quality = 75;
    jpeg = check_stream(config, picture, "chroma matrix");
    EXPECT_EQ(jpeg.divisors[0][0], 8);
    EXPECT_EQ(jpeg.divisors[1][0], 128);
}
END_TEST

// Names of matrices stand for luma and chroma; quality scales them.
START_TEST(named_matrices) {
    struct Named {
        int matrix, quality, luma_dc, luma_last, chroma_dc, chroma_last;
    };
    constexpr Named all[] = {
        {CUDAENC_MJPEG_MATRIX_ANNEXK, 50, 16, 99, 17, 99}, {CUDAENC_MJPEG_MATRIX_FLAT, 50, 16, 16, 16, 16},
        {CUDAENC_MJPEG_MATRIX_FLAT, 75, 8, 8, 8, 8},       {CUDAENC_MJPEG_MATRIX_FLAT, 10, 80, 80, 80, 80},
        {CUDAENC_MJPEG_MATRIX_MPEG, 50, 8, 83, 8, 83},     {CUDAENC_MJPEG_MATRIX_MPEG, 75, 4, 42, 4, 42},
        {CUDAENC_MJPEG_MATRIX_MPEG, 1, 255, 255, 255, 255}};
    Random random(17);
    Picture picture = make_picture(random, make_jpeg_format(jpeg_formats[3], 40, 24), Content::smooth);
    for (const Named &named : all) {
        Log log;
        CudaencConfig config = make_jpeg_config(picture.format, "cpu", &log);
        config.mjpeg.matrix = named.matrix;
        config.mjpeg.quality = named.quality;
        const JpegDecoder jpeg = check_stream(config, picture, describe_jpeg(config));
        EXPECT(jpeg.divisors[0][0] == named.luma_dc && jpeg.divisors[0][63] == named.luma_last &&
                   jpeg.divisors[1][0] == named.chroma_dc && jpeg.divisors[1][63] == named.chroma_last,
               "%s: %d to %d, %d to %d", describe_jpeg(config).c_str(), jpeg.divisors[0][0], jpeg.divisors[0][63],
               jpeg.divisors[1][0], jpeg.divisors[1][63]);
    }
}
END_TEST

// Bytes without stuffed zeros.
size_t code_bytes(const std::vector<uint8_t> &stream) {
    size_t stuffed = 0;
    for (size_t i = 1; i < stream.size(); i++) stuffed += stream[i - 1] == 0xFF && stream[i] == 0;
    return stream.size() - stuffed;
}

// With Annex K's tables no block takes more bits, and pictures take fewer. Tables that are made afterwards may suit
// what is left less well.
START_TEST(trellis) {
    const JpegFormat &of = jpeg_formats[_i];
    Random random(static_cast<uint64_t>(_i) + 200);
    size_t all[2] = {};
    for (const Content content : contents)
        for (const int quality : {10, 50, 90, 97})
            for (const int huffman : {0, 1}) {
                Picture picture = make_picture(random, make_jpeg_format(of, 96, 64), content);
                Log log;
                CudaencConfig config = make_jpeg_config(picture.format, "cpu", &log);
                config.mjpeg.quality = quality;
                config.mjpeg.huffman = huffman;
                config.mjpeg.matrix = random.between(0, 2);
                const size_t before = code_bytes(encode_jpeg(config, picture.frame()));
                config.mjpeg.trellis = 1;
                check_stream(config, picture, describe_jpeg(config));
                const size_t after = code_bytes(encode_jpeg(config, picture.frame()));
                EXPECT(after <= before + (huffman ? before / 32 : 0), "%s, content %d: %zu bytes instead of %zu",
                       describe_jpeg(config).c_str(), static_cast<int>(content), after, before);
                all[0] += before;
                all[1] += after;
            }
    EXPECT(all[1] < all[0], "%s: %zu bytes instead of %zu", of.name, all[1], all[0]);
}
END_TEST

// A size that can be met is, within 5 %, of noise too; one that cannot is warned of, once.
START_TEST(target_sizes) {
    Random random(18);
    const CudaencFormat format = make_jpeg_format(jpeg_formats[0], 150, 93);
    Picture picture = make_picture(random, format, Content::noise);
    for (const bool optimal : {false, true})
        for (const int bytes : {20, 900, 8000, 12000}) {
            AllLines log;
            const std::vector<std::string> &lines = log.lines;
            CudaencConfig config = make_jpeg_config(format, "cpu", &log);
            config.log = AllLines::print;
            config.mjpeg.frame_bytes = bytes;
            config.mjpeg.huffman = optimal ? CUDAENC_MJPEG_HUFFMAN_OPTIMAL : config.mjpeg.huffman;
            const double got = static_cast<double>(encode_jpeg(config, picture.frame()).size());
            EXPECT(bytes < 8000 || std::abs(got - bytes) <= bytes * 0.05, "%.0f bytes instead of %d", got, bytes);
            const char *told = bytes < 100 ? "is low" : "of its target";
            EXPECT(lines.size() == (bytes < 8000) && (lines.empty() || lines[0].find(told) != std::string::npos),
                   "%d bytes: %zu lines", bytes, lines.size());
        }
}
END_TEST

// A picture's bytes do not depend on threads, nor on what else is in flight.
START_TEST(threads_and_depths) {
    Random random(8);
    for (const JpegFormat &of : jpeg_formats)
        for (const bool target : {false, true}) {
            std::vector<Picture> pictures;
            std::vector<std::vector<uint8_t>> expected;
            Log log;
            CudaencConfig config = make_jpeg_config(make_jpeg_format(of, 150, 93), "cpu", &log);
            config.mjpeg.restart_interval = target ? 0 : random.between(-1, 5);
            config.mjpeg.frame_bytes = target ? 4000 : 0;
            config.mjpeg.trellis = random.between(0, 1);
            for (int i = 0; i < 6; i++) {
                pictures.push_back(make_picture(random, config.format));
                fill(random, pictures.back(), i % 2 ? Content::smooth : Content::noise);
                expected.push_back(encode_jpeg(config, pictures.back().frame()));
            }
            for (const int threads : {1, 2, 5})
                for (const int depth : {1, 3, 8}) {
                    config.threads = threads;
                    config.async_depth = depth;
                    CudaencSession *session;
                    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
                    size_t received = 0;
                    const auto receive = [&] {
                        CudaencPacket packet;
                        const int code = cudaenc_receive(session, &packet);
                        if (code == CUDAENC_OK) {
                            const auto &e = expected[received++ % expected.size()];
                            EXPECT(e.size() == packet.size && std::equal(e.begin(), e.end(), packet.data),
                                   "%s, %d threads, depth %d: packet %zu differs", of.name, threads, depth, received);
                            cudaenc_buffer_free(packet.buffer);
                        }
                        return code;
                    };
                    for (size_t i = 0; i < 2 * pictures.size(); i++) {
                        const CudaencFrame frame = pictures[i % pictures.size()].frame();
                        while (cudaenc_submit(session, &frame) == CUDAENC_AGAIN) EXPECT_EQ(receive(), CUDAENC_OK);
                    }
                    cudaenc_flush(session);
                    while (receive() != CUDAENC_EOF) {
                    }
                    EXPECT_EQ(received, 2 * pictures.size());
                    cudaenc_close(session);
                }
        }
}
END_TEST

// frame_bytes: within 5 % where the divisors can do it.
START_TEST(sizes_are_met) {
    Random random(9);
    double worst = 0;
    for (const int format : {0, 1, 3, 11})
        for (const int huffman : {0, 1})
            for (const Content content : {Content::smooth, Content::noise, Content::one_bit}) {
                Picture picture = make_picture(random, make_jpeg_format(jpeg_formats[format], 320, 200), content);
                Log log;
                CudaencConfig config = make_jpeg_config(picture.format, "cpu", &log);
                config.mjpeg.huffman = huffman;
                config.mjpeg.trellis = random.between(0, 1);
                config.mjpeg.quality = 100;
                const size_t most = encode_jpeg(config, picture.frame()).size();
                config.mjpeg.quality = 1;
                const size_t least = encode_jpeg(config, picture.frame()).size();
                for (int i = 1; i < 8; i++) {
                    config.mjpeg.frame_bytes =
                        static_cast<int64_t>(static_cast<double>(least) *
                                             std::pow(static_cast<double>(most) / static_cast<double>(least), i / 8.0));
                    const std::vector<uint8_t> bytes = encode_jpeg(config, picture.frame());
                    const JpegDecoder jpeg(bytes.data(), bytes.size());
                    check_levels(jpeg, planes_of(picture, false), config.mjpeg.trellis, "frame_bytes");
                    const double off =
                        static_cast<double>(bytes.size()) / static_cast<double>(config.mjpeg.frame_bytes) - 1;
                    worst = std::max(worst, std::fabs(off));
                    EXPECT(std::fabs(off) <= 0.05, "%s, content %d: %zu bytes instead of %lld",
                           jpeg_formats[format].name, static_cast<int>(content), bytes.size(),
                           static_cast<long long>(config.mjpeg.frame_bytes));
                }
                // Out of reach: the nearest.
                config.mjpeg.frame_bytes = 1;
                EXPECT(encode_jpeg(config, picture.frame()).size() == least, "the smallest");
                config.mjpeg.quality_min = 100;
                EXPECT(encode_jpeg(config, picture.frame()).size() == most, "quality_min");
                config.mjpeg.quality_min = 1;
                config.mjpeg.frame_bytes = 1 << 30;
                EXPECT(encode_jpeg(config, picture.frame()).size() == most, "the largest");
            }
    std::printf("frame_bytes: at most %.2f %% off\n", 100 * worst);
}
END_TEST

struct Refusal {
    const char *what;
    std::function<void(CudaencConfig &)> change;
    std::vector<const char *> parts;  // of the line
};

const uint16_t *broken_matrix() {
    static uint16_t matrix[64];
    std::fill(matrix, matrix + 64, 1);
    matrix[19] = 256;
    return matrix;
}
const std::string long_comment(65534, 'x');

START_TEST(refusals) {
#define SET(expression) [](CudaencConfig &c) { c.expression; }
    const Refusal all[] = {
        {"quality 0", SET(mjpeg.quality = 0), {"quality", " 0 ", "1 to 100"}},
        {"quality 101", SET(mjpeg.quality = 101), {"quality", "101", "1 to 100"}},
        {"quality_min", SET(mjpeg.quality_min = 0), {"quality_min", " 0 ", "1 to 100"}},
        {"quality_max", SET(mjpeg.quality_min = 60; c.mjpeg.quality_max = 50), {"quality_max", " 50 ", "60 to 100"}},
        {"huffman", SET(mjpeg.huffman = 2), {"huffman", " 2 ", "0 to 1"}},
        {"restart_interval", SET(mjpeg.restart_interval = -2), {"restart_interval", "-2", "65535"}},
        {"restart_interval", SET(mjpeg.restart_interval = 65536), {"restart_interval", "65536", "65535"}},
        {"mct 2", SET(mjpeg.mct = 2), {"mct", " 2 ", "0 or 1"}},
        {"mct of YUV", SET(mjpeg.mct = 1), {"mct", "RGB"}},
        {"mct of planes of two sizes",
         SET(mjpeg.mct = 1; c.format.color_model = CUDAENC_COLOR_RGB; c.format.component[2].log2_subsample_y = 1),
         {"mct", "of one size"}},
        {"frame_bytes", SET(mjpeg.frame_bytes = -1), {"frame_bytes", "-1", "0"}},
        {"frame_bytes", SET(mjpeg.frame_bytes = int64_t{1} << 31), {"frame_bytes", "2147483648", "2147483647"}},
        {"luma", SET(mjpeg.luma_matrix = broken_matrix()), {"luma_matrix", "256", "row 2, column 3", "1 to 255"}},
        {"chroma", SET(mjpeg.chroma_matrix = broken_matrix()), {"chroma_matrix", "256", "1 to 255"}},
        {"matrix 3", SET(mjpeg.matrix = 3), {"matrix", " 3 ", "0 to 2"}},
        {"matrix -1", SET(mjpeg.matrix = -1), {"matrix", " -1 ", "0 to 2"}},
        {"matrix twice",
         SET(mjpeg.matrix = 1; static uint16_t ones[64] = {1}; c.mjpeg.luma_matrix = ones),
         {"matrix 1", "luma_matrix", "0"}},
        {"matrix and chroma_matrix",
         SET(mjpeg.matrix = 1; static uint16_t ones[64] = {1}; c.mjpeg.chroma_matrix = ones),
         {"matrix 1", "chroma_matrix", "0"}},
        {"trellis", SET(mjpeg.trellis = 2), {"trellis", " 2 ", "0 or 1"}},
        {"comment", SET(mjpeg.comment = long_comment.c_str()), {"comment", "65534", "65533"}},
        {"width 0", SET(format.width = 0), {"0x", "1 to 65535"}},
        {"height 65536", SET(format.height = 65536), {"65536", "1 to 65535"}},
        {"depth 7", SET(format.component[0].depth = 7), {"depth 7", "it is 8"}},
        {"xyz", SET(format.color_model = CUDAENC_COLOR_XYZ), {"XYZ", "RGB"}},
        {"alpha", SET(format.has_alpha = 1), {"alpha"}},
        {"two components", SET(format.components = 2), {"2 components", "3"}},
        {"sub-sampling by 8", SET(format.component[1].log2_subsample_x = 3), {"2^3", "0 to 2"}},
        {"sub-sampling of rows by 8", SET(format.component[1].log2_subsample_y = 3), {"2^0, 2^3", "0 to 2"}},
        {"no densest in height",
         SET(format.component[0].log2_subsample_y = 1; c.format.component[1].log2_subsample_y = 1;
             c.format.component[2].log2_subsample_y = 1),
         {"densest"}},
        {"no densest",
         SET(format.component[0].log2_subsample_x = 1; c.format.component[1].log2_subsample_x = 1;
             c.format.component[2].log2_subsample_x = 1),
         {"densest"}},
        {"too large", SET(format.width = c.format.height = 26760), {"26760x26760", "2^31"}},
    };
#undef SET
    for (const Refusal &refusal : all) {
        Log log;
        CudaencConfig config = make_jpeg_config(make_jpeg_format(jpeg_formats[1], 64, 48), "cpu", &log);
        refusal.change(config);
        CudaencSession *session;
        const int code = cudaenc_open(&session, &config);
        EXPECT(code == CUDAENC_ERR_INVALID || code == CUDAENC_ERR_UNSUPPORTED, "%s: %d", refusal.what, code);
        EXPECT(!session && log.lines.size() == 1, "%s: %zu lines", refusal.what, log.lines.size());
        for (const char *part : refusal.parts)
            EXPECT(log.lines[0].find(part) != std::string::npos, "%s: '%s' lacks '%s'", refusal.what,
                   log.lines[0].c_str(), part);
    }
}
END_TEST

START_TEST(defaults) {
    CudaencConfig config;
    cudaenc_config_defaults(&config, CUDAENC_CODEC_MJPEG);
    const CudaencMjpegOptions &o = config.mjpeg;
    EXPECT(o.quality == 90 && o.quality_min == 1 && o.quality_max == 100 &&
           o.huffman == CUDAENC_MJPEG_HUFFMAN_OPTIMAL && !o.restart_interval && !o.mct);
    EXPECT(!o.luma_matrix && !o.chroma_matrix && !o.frame_bytes && !o.comment);
}
END_TEST

// The longest sides there are.
START_TEST(long_sides) {
    Random random(10);
    const int sizes[][2] = {{65535, 1}, {1, 65535}, {65535, 17}, {17, 65535}};
    for (const auto &size : sizes) {
        Picture picture = make_picture(random, make_jpeg_format(jpeg_formats[3], size[0], size[1]), Content::smooth);
        Log log;
        CudaencConfig config = make_jpeg_config(picture.format, "cpu", &log);
        config.mjpeg.restart_interval = -1;
        check_stream(config, picture, format_string("%dx%d", size[0], size[1]));
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("mjpeg");
    TCase *streams = add_case(suite, "streams");
    const int formats = static_cast<int>(std::size(jpeg_formats));
    tcase_add_loop_test(streams, sizes, 0, formats);
    tcase_add_loop_test(streams, options, 0, formats);
    tcase_add_test(streams, samplings_of_the_api_only);
    tcase_add_test(streams, matrices);
    tcase_add_test(streams, named_matrices);
    tcase_add_loop_test(streams, trellis, 0, formats);
    tcase_add_test(streams, target_sizes);
    tcase_add_test(streams, threads_and_depths);
    tcase_add_test(streams, sizes_are_met);
    tcase_add_test(streams, refusals);
    tcase_add_test(streams, defaults);
    tcase_add_test(streams, long_sides);
    return run_suite(suite);
}
