// SPDX-License-Identifier: LGPL-2.1-or-later
// P pictures of H.264: samples between samples by the formulas of 8.4.2.2, the search, and sequences that the tests'
// decoder reads.
#include "../../common/h264/sequence_coder.h"
#include "../../common/h264/syntax/slice_cpu.h"
#include "h264_stream.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

// A picture; samples beyond its edges repeat them.
struct Planes {
    int width, height;  // luma
    ChromaFormat chroma;
    int depth;
    std::vector<uint16_t> samples[3];
    Planes(int w, int h, ChromaFormat f = ChromaFormat::c420, int bit_depth = 8)
        : width(w), height(h), chroma(f), depth(bit_depth) {
        for (int c = 0; c < 3; c++) samples[c].resize(static_cast<size_t>(columns(c) * rows(c)));
    }
    int columns(int c) const { return c && chroma != ChromaFormat::c444 ? (width + 1) / 2 : width; }
    int rows(int c) const { return c && chroma == ChromaFormat::c420 ? (height + 1) / 2 : height; }
    uint16_t &at(int c, int x, int y) { return samples[c][static_cast<size_t>(y * columns(c) + x)]; }
    int clamped(int c, int x, int y) const {
        return samples[c][static_cast<size_t>(std::clamp(y, 0, rows(c) - 1) * columns(c) +
                                              std::clamp(x, 0, columns(c) - 1))];
    }
    SampleLayout layout(int c) const {
        return {reinterpret_cast<const uint8_t *>(samples[c].data()), 2 * columns(c), 2, 0, depth};
    }
};

enum class Motion { none, pan, many, cut, noise, fade, kinds };
const char *const motion_names[] = {"none", "pan", "many", "cut", "noise", "fade"};

// Something with edges and texture, moved by quarter samples.
int scene(int x4, int y4, uint32_t seed) {
    const auto wave = [&](int v, int period) {
        const int t = v & (2 * period - 1);
        return t < period ? t : 2 * period - t;
    };
    const int s = static_cast<int>(seed % 1000);
    int v = 40 + wave(x4 + 3 * s, 128) / 2 + wave(y4 + x4 / 2 + s, 64);
    if (((x4 >> 6) + (y4 >> 5) * 3 + s) % 5 == 0) v += 60;
    return v;
}

Planes picture_of(Random &random, int width, int height, Motion motion, int number,
                  ChromaFormat chroma = ChromaFormat::c420, int depth = 8) {
    Planes p(width, height, chroma, depth);
    uint32_t seed = 5;
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < p.rows(c); y++)
            for (int x = 0; x < p.columns(c); x++) {
                int dx = 0, dy = 0, noise = 0, light = 0;
                if (motion == Motion::pan) dx = 7 * number, dy = -3 * number;
                if (motion == Motion::many) dx = (x / 24 % 5 - 2) * 9 * number, dy = (y / 20 % 3 - 1) * 13 * number;
                if (motion == Motion::cut && number > 2) seed = 400;
                if (motion == Motion::noise) noise = random.between(-90, 90);
                if (motion == Motion::fade) light = 9 * number;
                const int scale_x = 4 * width / p.columns(c), scale_y = 4 * height / p.rows(c);
                const int v =
                    scene(scale_x * x + dx, scale_y * y + dy, seed + static_cast<uint32_t>(100 * c)) + noise + light;
                const int fine = depth > 8 ? random.between(0, 3) : 0;
                p.at(c, x, y) = static_cast<uint16_t>((std::clamp(v, 0, 255) << (depth - 8)) + fine);
            }
    return p;
}

PictureFormat format_of(int width, int height, bool high, int slices = 1, ChromaFormat chroma = ChromaFormat::c420,
                        int depth = 8) {
    return {.width = width,
            .height = height,
            .chroma = chroma,
            .bit_depth = depth,
            .slices = slices,
            .transform_8x8 = high,
            .long_level_prefix = high,
            .pcm_without_zeros = !high};
}

// ---- Samples between samples

int clip(int v) { return std::clamp(v, 0, 255); }

// (8-239) to (8-262), for one sample.
int luma_between(const Planes &p, int x, int y, int fx, int fy) {
    const auto g = [&](int dx, int dy) { return p.clamped(0, x + dx, y + dy); };
    const auto taps = [](auto at) { return at(-2) - 5 * at(-1) + 20 * at(0) + 20 * at(1) - 5 * at(2) + at(3); };
    const auto row = [&](int dy) { return taps([&](int i) { return g(i, dy); }); };
    const auto column = [&](int dx) { return taps([&](int i) { return g(dx, i); }); };
    const int b = clip((row(0) + 16) >> 5), h = clip((column(0) + 16) >> 5), s = clip((row(1) + 16) >> 5);
    const int m = clip((column(1) + 16) >> 5), j = clip((taps(row) + 512) >> 10);
    const auto mean = [](int u, int v) { return (u + v + 1) >> 1; };
    const int values[4][4] = {{g(0, 0), mean(g(0, 0), b), b, mean(b, g(1, 0))},
                              {mean(g(0, 0), h), mean(b, h), mean(b, j), mean(b, m)},
                              {h, mean(h, j), j, mean(j, m)},
                              {mean(h, g(0, 1)), mean(h, s), mean(j, s), mean(s, m)}};
    return values[fy][fx];
}
int chroma_between(const Planes &p, int c, int x, int y, int fx, int fy) {
    const auto g = [&](int dx, int dy) { return p.clamped(c, x + dx, y + dy); };
    return ((8 - fx) * (8 - fy) * g(0, 0) + fx * (8 - fy) * g(1, 0) + (8 - fx) * fy * g(0, 1) + fx * fy * g(1, 1) +
            32) >>
           6;
}

START_TEST(interpolation) {
    Random random(static_cast<uint64_t>(_i));
    ThreadPool pool(2);
    const int columns = random.between(1, 3), rows = random.between(1, 3);
    const Planes p = picture_of(random, 16 * columns, 16 * rows, Motion::noise, 0);
    std::vector<Sample> samples[3];
    ConstBlock blocks[3];
    for (int c = 0; c < 3; c++) {
        samples[c] = p.samples[c];
        blocks[c] = {samples[c].data(), p.columns(c)};
    }
    ReferencePicture reference;
    reference.build(blocks, p.width, p.height, pool);
    for (int i = 0; i < 200; i++) {
        const int x = random.between(0, columns - 1), y = random.between(0, rows - 1);
        const VectorRange range = range_of(x, y, columns, rows, 512);
        Vector v{static_cast<int16_t>(random.between(range.left, range.right)),
                 static_cast<int16_t>(random.between(range.top, range.bottom))};
        if (random.one_in(4)) v.x = static_cast<int16_t>(random.one_in(2) ? range.left : range.right);
        if (random.one_in(4)) v.y = static_cast<int16_t>(random.one_in(2) ? range.top : range.bottom);
        MacroblockSamples predicted;
        predict_luma(reference, 16 * x, 16 * y, v, 16, predicted.luma);
        for (int k = 0; k < 256; k++)
            EXPECT_EQ(predicted.luma[k],
                      luma_between(p, 16 * x + k % 16 + (v.x >> 2), 16 * y + k / 16 + (v.y >> 2), v.x & 3, v.y & 3));
        for (int c = 0; c < 2; c++) {
            predict_chroma(reference, 1 + c, 16 * x, 16 * y, v, 0, 16, predicted.chroma[c]);
            for (int k = 0; k < 64; k++)
                EXPECT_EQ(predicted.chroma[c][k], chroma_between(p, 1 + c, 8 * x + k % 8 + (v.x >> 3),
                                                                 8 * y + k / 8 + (v.y >> 3), v.x & 7, v.y & 7));
        }
    }
}
END_TEST

// ---- The search

START_TEST(finds_a_shift) {
    Random random(4);
    ThreadPool pool(2);
    const int columns = 12, rows = 9, width = 16 * columns, height = 16 * rows;
    const struct {
        int x, y;
    } shifts[] = {{0, 0}, {3, -2}, {-17, 9}, {40, 22}, {-62, -31}};
    // Smooth noise: a small picture is like a large one, and no two places are alike.
    std::vector<int> coarse(64 * 64);
    for (int &v : coarse) v = random.between(0, 255);
    const auto at = [&](int x, int y) {
        x += 512, y += 512;
        const auto c = [&](int i, int j) { return coarse[static_cast<size_t>((j & 63) * 64 + (i & 63))]; };
        const int i = x / 16, j = y / 16, fx = x % 16, fy = y % 16;
        return ((16 - fx) * (16 - fy) * c(i, j) + fx * (16 - fy) * c(i + 1, j) + (16 - fx) * fy * c(i, j + 1) +
                fx * fy * c(i + 1, j + 1)) /
               256;
    };
    for (const auto &shift : shifts) {
        std::vector<Sample> now(static_cast<size_t>(width * height)), then(now.size());
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                then[static_cast<size_t>(y * width + x)] = static_cast<Sample>(at(x, y));
                now[static_cast<size_t>(y * width + x)] = static_cast<Sample>(at(x + shift.x, y + shift.y));
            }
        SourcePyramid source, before;
        source.build({now.data(), width}, width, height, pool);
        before.build({then.data(), width}, width, height, pool);
        MotionSearch search(columns, rows, 512);
        search.find(source, before, satd_lambda_of(20), pool);
        int right = 0, inside = 0;
        for (int y = 0; y < rows; y++)
            for (int x = 0; x < columns; x++) {
                const int left = 16 * x + shift.x, top = 16 * y + shift.y;
                if (left < 0 || top < 0 || left + 16 > width || top + 16 > height) continue;
                inside++;
                right +=
                    search.found(x, y).whole == Vector{static_cast<int16_t>(shift.x), static_cast<int16_t>(shift.y)};
            }
        EXPECT(right * 4 >= inside * 3, "shift %d, %d: %d of %d macroblocks", shift.x, shift.y, right, inside);
    }
}
END_TEST

// ---- Sequences

struct Coded {
    std::vector<uint8_t> stream;
    std::vector<std::string> checksums;  // of what decoders show
    std::vector<size_t> bytes;           // of slices
};

std::string checksum_of(const PictureFormat &f, const SequenceCoder &coder) {
    Checksum sum;
    for (int c = 0; c < f.components(); c++) {
        const ConstBlock r = coder.decoded(c);
        for (int y = 0; y < f.macroblock_rows() * f.rows(c); y++)
            for (int x = 0; x < f.macroblock_columns() * f.columns(c); x++) sum.add(r.data[y * r.stride + x]);
    }
    return format_string("%016llx", static_cast<unsigned long long>(sum.value));
}

Coded code(Random &random, const PictureFormat &f, Motion motion, const PictureQuality &quality, bool deblock,
           int pictures, int threads, int gop_size) {
    ThreadPool pool(threads);
    ParameterSets sets{};
    sets.profile_idc = f.chroma == ChromaFormat::c444   ? 244
                       : f.chroma == ChromaFormat::c422 ? 122
                       : f.bit_depth > 8                ? 110
                       : f.transform_8x8                ? 100
                                                        : 66;
    sets.level_idc = 51;
    sets.format = f.coded();
    sets.width = f.width;
    sets.height = f.height;
    sets.pic_init_qp = 26 + qp_bd_offset(f.bit_depth);
    sets.max_num_ref_frames = 1;
    Coded coded;
    coded.stream = make_sps(sets);
    const std::vector<uint8_t> pps = make_pps(sets);
    coded.stream.insert(coded.stream.end(), pps.begin(), pps.end());
    SequenceCoder coder(f, 512, deblock);
    std::vector<Slice> in_order;
    for (int s = 0; s < f.slices; s++) in_order.push_back(f.slice(s));
    SliceCoder slices(f.coded(), in_order);
    std::vector<Macroblock> macroblocks(static_cast<size_t>(f.macroblocks()));
    LineVector<int16_t> levels(macroblocks.size() * 16 * static_cast<size_t>(blocks_per_macroblock(f.chroma)));
    for (int i = 0; i < pictures; i++) {
        const Planes p = picture_of(random, f.width, f.height, motion, i, f.chroma, f.bit_depth);
        const SampleLayout layouts[3] = {p.layout(0), p.layout(1), p.layout(2)};
        const bool predicted = i % gop_size != 0;
        coder.begin(layouts, pool);
        coder.encode(layouts, quality, predicted, pool, macroblocks.data(), levels.data());
        SliceHeader header = {.first_macroblock = 0,
                              .idr_pic_id = i / gop_size % 2,
                              .qp_delta = std::min(quality.qp, kMaxQp) - 26,
                              .disable_deblocking_filter_idc = deblock ? 0 : 1};
        if (predicted) {
            header.nal_unit_type = kNalSlice;
            header.nal_ref_idc = 2;
            header.slice_type = SliceType::p;
            header.frame_num = i % gop_size % 16;
        }
        std::vector<SliceHeaderBits> headers;
        for (const Slice &slice : in_order) {
            header.first_macroblock = slice.first;
            headers.push_back(make_slice_header(header));
        }
        const auto bytes = slices.code(pool, {macroblocks.data(), levels.data(), nullptr, predicted}, headers.data());
        const uint64_t counted = coder.bits() / 8;
        const uint64_t slack = 28 + 12 * in_order.size();
        EXPECT(counted <= bytes.size() + slack && counted + bytes.size() / 100 + slack >= bytes.size(),
               "%llu bytes counted, %zu coded", static_cast<unsigned long long>(counted), bytes.size());
        coded.stream.insert(coded.stream.end(), bytes.begin(), bytes.end());
        coded.bytes.push_back(bytes.size());
        coder.keep(pool);
        coded.checksums.push_back(checksum_of(f, coder));
    }
    return coded;
}

START_TEST(sequences) {
    Random random(static_cast<uint64_t>(100 + _i));
    const int sizes[][2] = {{16, 16}, {176, 144}, {90, 70}, {16, 130}, {150, 16}, {64, 48}};
    const auto &size = random.of(sizes);
    const int slices = random.one_in(2) ? 1 : random.between(1, (size[1] + 15) / 16);
    // Then all formats, gray first, of 8 and of 10 bits.
    const int other = _i - 48;
    const ChromaFormat chroma = other < 0 ? ChromaFormat::c420 : static_cast<ChromaFormat>(other % 4);
    const int depth = other < 0 || (other / 4 % 2 == 0 && chroma != ChromaFormat::c420) ? 8 : 10;
    const bool high = !random.one_in(3) || other >= 0;
    const PictureFormat f = format_of(size[0], size[1], high, slices, chroma, depth);
    const Motion motion = static_cast<Motion>(_i % static_cast<int>(Motion::kinds));
    const PictureQuality quality = {
        .qp = random.one_in(5) ? kMaxQp + random.between(1, kDropSteps) : random.between(-qp_bd_offset(depth), 51),
        .effort = kAllTypes,
        .aq_strength = random.one_in(2) ? 0 : random.between(1, 1024)};
    const bool deblock = !random.one_in(4);
    const int gop_size = random.between(2, 20);
    const std::string what = format_string("%dx%d of format %d, %d bits, in %d slices, %s, QP %d, deblock %d, gop %d",
                                           size[0], size[1], static_cast<int>(chroma), depth, slices,
                                           motion_names[static_cast<int>(motion)], quality.qp, deblock, gop_size);
    const uint64_t seed = random.word();
    Random first(seed), second(seed);
    const Coded coded = code(first, f, motion, quality, deblock, 6, 1, gop_size);
    EXPECT(coded.stream == code(second, f, motion, quality, deblock, 6, 3, gop_size).stream, "%s: threads",
           what.c_str());
    try {
        const std::vector<StreamPicture> pictures = decode_stream(coded.stream);
        EXPECT_EQ(pictures.size(), coded.checksums.size());
        for (size_t i = 0; i < pictures.size(); i++)
            EXPECT(pictures[i].checksum(true) == coded.checksums[i], "%s: picture %zu", what.c_str(), i);
    } catch (const std::exception &e) {
        EXPECT(false, "%s: %s", what.c_str(), e.what());
    }
}
END_TEST

// What does not move costs next to nothing, and what moves as a whole costs little.
START_TEST(saves_bytes) {
    Random random(9);
    const PictureFormat f = format_of(176, 144, true);
    const PictureQuality quality = {.qp = 26, .effort = kAllTypes, .aq_strength = 0};
    const Coded still = code(random, f, Motion::none, quality, true, 6, 2, 250);
    EXPECT(still.bytes.back() < 20, "%zu bytes", still.bytes.back());
    const Coded pan = code(random, f, Motion::pan, quality, true, 6, 2, 250);
    EXPECT(3 * pan.bytes.back() < 2 * pan.bytes.front(), "%zu of %zu bytes", pan.bytes.back(), pan.bytes.front());
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 inter");
    TCase *c = add_case(suite, "inter");
    tcase_add_loop_test(c, interpolation, 1, 9);
    tcase_add_test(c, finds_a_shift);
    tcase_add_loop_test(c, sequences, 0, 48 + 48);
    tcase_add_test(c, saves_bytes);
    return run_suite(suite);
}
