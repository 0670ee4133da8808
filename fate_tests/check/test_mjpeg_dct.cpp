// SPDX-License-Identifier: LGPL-2.1-or-later
// JPEG's forward DCT and quantiser: against double precision over random blocks as T.83 asks of them, the DC formula,
// every coefficient by every divisor, vectors against the functions that kernels use, colour conversion.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "../../common/mjpeg/block_cpu.h"
#include "../../common/mjpeg/color.h"
#include "../../common/mjpeg/fdct.h"
#include "../../common/mjpeg/params.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::mjpeg;
using namespace cudaenc::testing;

namespace {

void transform(int32_t (&block)[64]) {
    int32_t v[8];
    for (int y = 0; y < 8; y++) {
        for (int x = 0; x < 8; x++) v[x] = block[8 * y + x];
        fdct<FdctPass::rows>(v);
        for (int x = 0; x < 8; x++) block[8 * y + x] = v[x];
    }
    for (int x = 0; x < 8; x++) {
        for (int y = 0; y < 8; y++) v[y] = block[8 * y + x];
        fdct<FdctPass::columns>(v);
        for (int y = 0; y < 8; y++) block[8 * y + x] = v[y];
    }
}

void reference(const int32_t (&block)[64], double (&out)[64]) {
    static double cosine[8][8];
    if (cosine[0][0] == 0)
        for (int u = 0; u < 8; u++)
            for (int x = 0; x < 8; x++)
                cosine[u][x] = (u ? 0.5 : std::sqrt(0.125)) * std::cos((2 * x + 1) * u * 3.14159265358979323846 / 16);
    double rows[64] = {};
    for (int y = 0; y < 8; y++)
        for (int u = 0; u < 8; u++)
            for (int x = 0; x < 8; x++) rows[8 * y + u] += cosine[u][x] * block[8 * y + x];
    for (int v = 0; v < 8; v++)
        for (int u = 0; u < 8; u++) {
            out[8 * v + u] = 0;
            for (int y = 0; y < 8; y++) out[8 * v + u] += cosine[v][y] * rows[8 * y + u];
        }
}

// Random blocks of three ranges and both signs, as IEEE 1180 and T.83 have them, and the extremes.
START_TEST(fdct_accuracy) {
    const int ranges[][2] = {{-128, 127}, {-5, 5}, {-128, -100}, {0, 1}};
    Random random(1);
    double peak = 0, squares = 0, worst_mean = 0, worst_square = 0;
    const int blocks = 10000;
    for (const auto &range : ranges) {
        double sum[64] = {}, square[64] = {};
        for (int b = 0; b < blocks; b++) {
            int32_t block[64];
            const bool extremes = random.one_in(8);
            for (int32_t &s : block) s = extremes ? range[random.one_in(2)] : random.between(range[0], range[1]);
            double exact[64];
            reference(block, exact);
            const int32_t dc = fdct_dc([&] {
                int32_t all = 0;
                for (const int32_t s : block) all += s;
                return all;
            }());
            transform(block);
            EXPECT(block[0] == dc, "DC %d is not %d", block[0], dc);
            for (int i = 0; i < 64; i++) {
                EXPECT(std::abs(block[i]) <= 8192, "coefficient %d: %d", i, block[i]);
                const double error = block[i] / 8.0 - exact[i];
                peak = std::max(peak, std::fabs(error));
                sum[i] += error, square[i] += error * error, squares += error * error;
            }
        }
        for (int i = 0; i < 64; i++) {
            worst_mean = std::max(worst_mean, std::fabs(sum[i]) / blocks);
            worst_square = std::max(worst_square, square[i] / blocks);
        }
    }
    const double mean_square = squares / (64.0 * blocks * 4);
    std::printf(
        "FDCT: peak error %.4f, mean square error %.6f; of one coefficient: mean error %.4f, mean square %.6f\n", peak,
        mean_square, worst_mean, worst_square);
    // In steps of a coefficient, of which T.83 allows an error of one after quantisation: an eighth of a step is the
    // resolution, (1/8)^2 / 12 = 0.0013 its mean square error.
    EXPECT(peak < 0.25 && mean_square < 0.002 && worst_square < 0.004 && worst_mean < 0.02, "the DCT is not accurate");
}
END_TEST

START_TEST(quantiser_is_a_division) {
    for (int divisor = 1; divisor <= 255; divisor++) {
        const Reciprocal r = reciprocal_of(divisor);
        for (int c = -8192; c <= 8192; c++) {
            int32_t level = c;
            quantise(level, r.multiplier, r.bias, r.shift);
            const int magnitude = (std::abs(c) + 4 * divisor) / (8 * divisor);
            EXPECT(level == (c < 0 ? -magnitude : magnitude), "%d / %d is not %d", c, divisor, level);
        }
    }
}
END_TEST

START_TEST(scales_are_libjpegs) {
    CudaencFormat format{};
    format.width = format.height = format.components = format.planes = 1;
    format.component[0] = {0, 0, 1, 0, 8, 0, 0};
    CudaencMjpegOptions options;
    cudaenc_mjpeg_defaults(&options);
    for (options.quality = 1; options.quality <= 100; options.quality++) {
        const Params params = make_params(format, options);
        const Divisors divisors = make_divisors(params, params.scale);
        const int percent = options.quality < 50 ? 5000 / options.quality : 200 - 2 * options.quality;
        for (int table = 0; table < kTables; table++)
            for (int i = 0; i < 64; i++)
                EXPECT(divisors.of[table][i] == std::clamp((kQuantisation[table][i] * percent + 50) / 100, 1, 255),
                       "quality %d, table %d, index %d", options.quality, table, i);
    }
}
END_TEST

START_TEST(vectors_are_the_same) {
    Random random(2);
    for (int round = 0; round < 300; round++) {
        const size_t count = random.below(9) + 1, stride = count * 8 + random.below(5);
        std::vector<int8_t> samples(stride * 8);
        const int range = random.one_in(2) ? 127 : random.between(0, 20);
        for (int8_t &s : samples) s = static_cast<int8_t>(random.between(-range - 1, range));
        std::vector<int16_t> coefficients(count * 64 + 1, 999), levels(count * 64 + 1, 999);
        std::vector<uint64_t> nonzero(count + 1, 999);
        uint8_t divisors[64];
        for (uint8_t &d : divisors) d = static_cast<uint8_t>(random.between(1, random.one_in(2) ? 255 : 12));
        const Quantiser quantiser = make_quantiser(divisors);
        fdct_blocks(samples.data(), static_cast<ptrdiff_t>(stride), count, coefficients.data());
        quantise_blocks(coefficients.data(), count, quantiser, levels.data(), nonzero.data());
        EXPECT(coefficients.back() == 999 && levels.back() == 999 && nonzero.back() == 999, "written beyond the end");
        for (size_t b = 0; b < count; b++) {
            int32_t block[64];
            for (size_t i = 0; i < 64; i++) block[i] = samples[i / 8 * stride + b * 8 + i % 8];
            transform(block);
            for (int i = 0; i < 64; i++) {
                const size_t at = b * 64 + static_cast<size_t>(i);
                EXPECT(coefficients[at] == block[i], "coefficient %d: %d, not %d", i, coefficients[at], block[i]);
                const int level = quantise(quantiser, i, block[i]);
                EXPECT(levels[at] == level, "level %d: %d, not %d", i, levels[at], level);
                EXPECT((nonzero[b] >> zigzag_place(i) & 1) == (level != 0), "whether level %d is 0", i);
            }
        }
    }
}
END_TEST

START_TEST(zigzag_walks_the_diagonals) {
    for (int k = 1; k < 64; k++) {
        const int a = kZigzag[k - 1], b = kZigzag[k], d = a / 8 + a % 8, e = b / 8 + b % 8;
        EXPECT(e == d || e == d + 1, "place %d", k);
        if (e == d) EXPECT((b / 8 - a / 8) == (d & 1 ? 1 : -1), "place %d", k);
    }
    for (int k = 0; k < 64; k++) EXPECT_EQ(zigzag_place(kZigzag[k]), k);
}
END_TEST

// T.871 clause 7: within one of the real numbers, half up but for chroma's largest, which would not fit.
START_TEST(ycbcr_is_rounded) {
    Random random(3);
    for (int round = 0; round < 200000; round++) {
        const int corner = static_cast<int>(random.below(16));
        const auto sample = [&](int bit) {
            return corner < 8 ? (corner >> bit & 1 ? 127 : -128) : random.between(-128, 127);
        };
        int8_t rgb[3] = {static_cast<int8_t>(sample(0)), static_cast<int8_t>(sample(1)),
                         static_cast<int8_t>(sample(2))};
        int32_t y = rgb[0], cb = rgb[1], cr = rgb[2];
        const double r = y + 128, g = cb + 128, b = cr + 128;
        rgb_to_ycbcr(y, cb, cr);
        const double luma = 0.299 * r + 0.587 * g + 0.114 * b;
        EXPECT(std::fabs(y + 128 - luma) <= 0.502, "Y of %g %g %g is %d", r, g, b, y + 128);
        EXPECT(std::fabs(cb - (b - luma) / 1.772) <= 0.502 && std::fabs(cr - (r - luma) / 1.402) <= 0.502,
               "Cb, Cr of %g %g %g are %d %d", r, g, b, cb, cr);
        EXPECT(y >= -128 && y <= 127 && cb >= -128 && cb <= 127 && cr >= -128 && cr <= 127, "out of range");
        rgb_to_ycbcr_rows(rgb, rgb + 1, rgb + 2, 1);
        EXPECT(rgb[0] == y && rgb[1] == cb && rgb[2] == cr, "rows differ");
    }
}
END_TEST

START_TEST(many_blocks) {
    Random random(4);
    const size_t count = 240, rows = 16;  // blocks beside each other; of 8 lines
    std::vector<int8_t> samples(count * rows * 64);
    for (size_t i = 0; i < samples.size(); i++) samples[i] = static_cast<int8_t>(i % 100 + random.below(16));
    std::vector<int16_t> coefficients(samples.size()), levels(samples.size());
    std::vector<uint64_t> nonzero(count * rows);
    uint8_t divisors[64];
    for (uint8_t &d : divisors) d = static_cast<uint8_t>(random.between(2, 20));
    const Quantiser quantiser = make_quantiser(divisors);
    const double blocks = static_cast<double>(count * rows);
    bench("mjpeg: forward DCT", blocks, "blocks", [&] {
        for (size_t y = 0; y < rows; y++)
            fdct_blocks(&samples[y * count * 64], static_cast<ptrdiff_t>(8 * count), count,
                        &coefficients[y * count * 64]);
    });
    bench("mjpeg: quantisation", blocks, "blocks",
          [&] { quantise_blocks(coefficients.data(), count * rows, quantiser, levels.data(), nonzero.data()); });
    for (size_t b = 0; b < count * rows; b++) {
        int32_t block[64];
        for (size_t i = 0; i < 64; i++)
            block[i] = samples[b / count * count * 64 + i / 8 * 8 * count + b % count * 8 + i % 8];
        transform(block);
        for (int i = 0; i < 64; i++)
            EXPECT(levels[b * 64 + static_cast<size_t>(i)] == quantise(quantiser, i, block[i]), "block %zu, level %d",
                   b, i);
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("mjpeg_dct");
    TCase *dct = add_case(suite, "dct");
    tcase_add_test(dct, fdct_accuracy);
    tcase_add_test(dct, quantiser_is_a_division);
    tcase_add_test(dct, scales_are_libjpegs);
    tcase_add_test(dct, vectors_are_the_same);
    tcase_add_test(dct, many_blocks);
    tcase_add_test(dct, zigzag_walks_the_diagonals);
    tcase_add_test(dct, ycbcr_is_rounded);
    return run_suite(suite);
}
