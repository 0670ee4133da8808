// SPDX-License-Identifier: LGPL-2.1-or-later
// H.264's transforms and quantiser: inverse transforms and scaling against the matrices and formulas of 8.5, the
// forward ones as their inverse, macroblocks by vectors against both.
#include <algorithm>
#include <cmath>
#include <vector>

#include "../../common/h264/intra/block_rank_cpu.h"
#include "../../common/h264/intra/transform.h"
#include "h264_decoder.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

template <int N>
void transform_block(int32_t (&c)[N * N], void (&line)(int32_t (&)[N])) {
    for (const bool columns : {false, true})
        for (int i = 0; i < N; i++) {
            int32_t v[N];
            for (int j = 0; j < N; j++) v[j] = c[columns ? N * j + i : N * i + j];
            line(v);
            for (int j = 0; j < N; j++) c[columns ? N * j + i : N * i + j] = v[j];
        }
}

// The rows of a transform's matrix are what it makes of unit vectors; big ones, since some of its shifts drop bits.
template <int N>
void gains(void (&line)(int32_t (&)[N]), double (&squares)[N]) {
    std::fill_n(squares, N, 0);
    for (int i = 0; i < N; i++) {
        int32_t v[N] = {};
        v[i] = 1024;
        line(v);
        for (int j = 0; j < N; j++) squares[j] += v[j] / 1024.0 * v[j] / 1024.0;
    }
}

START_TEST(gains_are_as_said) {
    double g4[4], g8[8];
    gains<4>(forward_transform, g4);
    gains<8>(forward_transform, g8);
    const double odd = 289 / 32.0;
    const double want4[] = {4, 10, 4, 10}, want8[] = {8, odd, 5, odd, 8, odd, 5, odd};
    for (int i = 0; i < 4; i++) EXPECT_EQ(g4[i], want4[i]);
    for (int i = 0; i < 8; i++) EXPECT_EQ(g8[i], want8[i]);
    gains<4>(hadamard_transform, g4);
    for (const double g : g4) EXPECT_EQ(g, 4);
}
END_TEST

// The inverse of 8.5.12.2 and 8.5.13 in exact arithmetic: what their shifts drop is less than one of 64 parts in all.
template <int N>
void inverse_against_matrix(void (&line)(int32_t (&)[N]), const double (&matrix)[N][N]) {
    Random random(N);
    for (int round = 0; round < 2000; round++) {
        int32_t c[N * N];
        const int range = 1 << random.between(0, 13);
        for (int32_t &v : c) v = random.one_in(3) ? random.between(-range, range) : 0;
        double exact[N * N] = {};
        for (int y = 0; y < N; y++)
            for (int x = 0; x < N; x++)
                for (int u = 0; u < N; u++)
                    for (int v = 0; v < N; v++) exact[N * y + x] += matrix[u][y] * c[N * u + v] * matrix[v][x];
        transform_block<N>(c, line);
        for (int i = 0; i < N * N; i++)
            EXPECT(std::fabs(c[i] - exact[i]) <= 4 * N, "%dx%d, sample %d: %d, not %f", N, N, i, c[i], exact[i]);
    }
}

START_TEST(inverse_transforms_are_the_matrices) {
    const double m4[4][4] = {{1, 1, 1, 1}, {1, .5, -.5, -1}, {1, -1, -1, 1}, {.5, -1, 1, -.5}};
    const double m8[8][8] = {{8, 8, 8, 8, 8, 8, 8, 8},     {12, 10, 6, 3, -3, -6, -10, -12},
                             {8, 4, -4, -8, -8, -4, 4, 8}, {10, -3, -12, -6, 6, 12, 3, -10},
                             {8, -8, -8, 8, 8, -8, -8, 8}, {6, -12, 3, 10, -10, -3, 12, -6},
                             {4, -8, 8, -4, -4, 8, -8, 4}, {3, -6, 10, -12, 12, -10, 6, -3}};
    double eighths[8][8];
    for (int i = 0; i < 64; i++) eighths[i / 8][i % 8] = m8[i / 8][i % 8] / 8;
    inverse_against_matrix<4>(inverse_transform, m4);
    inverse_against_matrix<8>(inverse_transform, eighths);
}
END_TEST

START_TEST(chroma_qp_is_table_8_15) {
    const int from_30[] = {29, 30, 31, 32, 32, 33, 34, 34, 35, 35, 36, 36, 37, 37, 37, 38, 38, 38, 39, 39, 39, 39};
    for (int qp = -12; qp <= 51; qp++) EXPECT_EQ(chroma_qp(qp, 10), (qp < 30 ? qp : from_30[qp - 30]) + 12);
    EXPECT_EQ(chroma_qp(51, 8), 39);
    for (int qp = -12; qp <= 51; qp++)
        for (const int offset : {-4, 3, 4})
            EXPECT_EQ(chroma_qp(qp, 10, offset), chroma_qp(std::clamp(qp + offset, -12, 51), 10));
}
END_TEST

struct Picture16 {
    Sample source[256], prediction[256], reconstruction[256];
};
void fill(Random &random, Picture16 &p, int bit_depth) {
    const int most = (1 << bit_depth) - 1, kind = random.between(0, 3), base = random.between(0, most);
    for (int i = 0; i < 256; i++) {
        const auto noise = [&](int range) {
            return static_cast<Sample>(std::clamp(base + random.between(-range, range), 0, most));
        };
        p.source[i] = kind == 0   ? static_cast<Sample>(random.between(0, most))
                      : kind == 1 ? static_cast<Sample>(random.one_in(2) ? most : 0)
                                  : noise(kind == 2 ? 3 : most / 8);
        p.prediction[i] = kind == 1 ? static_cast<Sample>(most - p.source[i]) : noise(kind == 2 ? 3 : most / 8);
    }
}

// Symmetric, within what ScalingLists allows.
ScalingLists random_lists(Random &random) {
    ScalingLists lists;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j <= i; j++) {
            if (i < 4)
                lists.luma_4x4[4 * i + j] = lists.luma_4x4[4 * j + i] = static_cast<uint8_t>(random.between(6, 255));
            lists.luma_8x8[8 * i + j] = lists.luma_8x8[8 * j + i] = static_cast<uint8_t>(random.between(12, 255));
        }
    return lists;
}

// What block_cpu.h codes: the reconstruction is the decoder's, the distortion is its own; levels invert where QP is
// low.
START_TEST(blocks_decode_to_their_reconstruction) {
    Random random(5);
    for (int round = 0; round < 6000; round++) {
        const int bit_depth = random.one_in(2) ? 8 : 10, qp = random.between(0, 51 + qp_bd_offset(bit_depth));
        const bool weighted = random.one_in(2);
        const ScalingLists lists = random_lists(random);
        const uint8_t *const of_4x4 = weighted ? lists.luma_4x4 : nullptr, *const of_8x8 =
                                                                               weighted ? lists.luma_8x8 : nullptr;
        decoder::Weights weights;
        if (weighted) weights = {{of_4x4, of_4x4 + 16}, {of_8x8, of_8x8 + 64}};
        const Quantiser q = make_quantiser(qp, of_4x4, of_8x8);
        Picture16 p;
        fill(random, p, bit_depth);
        const Rounding rounding{random.between(0, 128), random.between(0, 128), random.between(0, 20)};
        Totals totals = {};
        int16_t levels[17 * 16];
        int32_t residual[256] = {};
        const int kind = random.between(0, 4), size = kind == 0 ? 4 : kind == 1 ? 8 : 16;
        const int width = kind >= 3 ? 8 : size, height = kind == 3 ? 8 : size;
        const ConstBlock source{p.source, 16}, prediction{p.prediction, 16};
        const Block to{p.reconstruction, 16};
        uint32_t distortion;
        if (kind == 0) {
            distortion = code_4x4(source, prediction, q, rounding, bit_depth, levels, to, &totals, 0, 0).distortion;
            decoder::residual_4x4(weights, levels, qp, nullptr, residual, 16);
        } else if (kind == 1) {
            distortion = code_8x8(source, prediction, q, rounding, bit_depth, levels, to, &totals, 0, 0).distortion;
            decoder::residual_8x8(weights, levels, qp, residual, 16);
        } else if (kind == 2) {
            distortion = code_16x16(source, prediction, q, rounding, bit_depth, levels, to, &totals).distortion;
            decoder::residual_16x16(weights, levels, qp, residual);
        } else {
            const Quantiser dc = make_quantiser(qp + (height == 16 ? 3 : 0), of_4x4);
            distortion =
                code_chroma(source, prediction, q, dc, rounding, bit_depth, height, levels, levels + 16, to, &totals)
                    .distortion;
            decoder::residual_chroma(weights, levels, levels + 16, qp, height, residual, 16);
        }
        uint64_t squares = 0;
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                const int i = 16 * y + x, most = (1 << bit_depth) - 1;
                const int r = std::clamp(p.prediction[i] + residual[i], 0, most), d = r - p.source[i];
                EXPECT(p.reconstruction[i] == r, "kind %d, QP' %d, %d bits, (%d, %d): %d, decoded %d", kind, qp,
                       bit_depth, x, y, p.reconstruction[i], r);
                squares += static_cast<uint64_t>(d * d);
                if (rounding.ac == 128 && rounding.dc == 128 && !rounding.bits_per_step && !weighted)
                    EXPECT(d * d <= 1 + (qp > 4) * 1e9, "kind %d, QP' %d: %d for %d", kind, qp, r, p.source[i]);
            }
        EXPECT(distortion == squares, "kind %d: distortion %u, not %llu", kind, distortion,
               static_cast<unsigned long long>(squares));
    }
}
END_TEST

// Rounding by a half leaves less than half a step of error in each coefficient.
START_TEST(quantiser_step_is_the_scale) {
    for (int qp = 0; qp <= 66; qp++) {
        const Quantiser q = make_quantiser(qp);
        const double step = 0.625 * std::pow(2.0, qp / 6.0);
        double g4[4], g8[8];
        gains<4>(forward_transform, g4);
        gains<8>(forward_transform, g8);
        for (int i = 0; i < 16; i++) {
            const double unit = std::sqrt(g4[i / 4] * g4[i % 4]) * step;  // the coefficient of level 1
            EXPECT(std::fabs(unit * q.multiplier_4x4[i] / std::exp2(q.shift_4x4) - (1)) < 0.04);
        }
        for (int i = 0; i < 64; i++) {
            const double unit = std::sqrt(g8[i / 8] * g8[i % 8]) * step;
            EXPECT(std::fabs(unit * q.multiplier_8x8[i] / std::exp2(q.shift_8x8) - (1)) < 0.06);
        }
    }
}
END_TEST

// Of whole macroblocks, whose prediction by their neighbours is known here.
START_TEST(satd_is_the_hadamard_sum) {
    Random random(7);
    for (int round = 0; round < 300; round++) {
        const int bit_depth = random.one_in(2) ? 8 : 10;
        Picture16 p;
        fill(random, p, bit_depth);
        const auto satd = [&](int x0, int y0, int n, const auto &prediction) {
            uint32_t sum = 0;
            for (int u = 0; u < n; u++)
                for (int v = 0; v < n; v++) {
                    int c = 0;
                    for (int y = 0; y < n; y++)
                        for (int x = 0; x < n; x++) {
                            const int d = p.source[16 * (y0 + y) + x0 + x] - prediction(x0 + x, y0 + y);
                            c += __builtin_popcount(static_cast<unsigned>((u & y) << 4 | (v & x))) % 2 ? -d : d;
                        }
                    sum += static_cast<uint32_t>(std::abs(c));
                }
            return sum;
        };
        const auto all = [&](int width, int height, const auto &prediction) {
            uint32_t sum = 0;
            for (int y = 0; y < height; y += 4)
                for (int x = 0; x < width; x += 4) sum += satd(x, y, 4, prediction);
            return sum / 2;
        };
        // Neighbours: the first row and column of `prediction`, whose block begins at (1, 1).
        std::vector<Sample> around(40 * 20);
        for (Sample &s : around) s = p.prediction[random.below(256)];
        const Sample *at = &around[41];
        const Available available{true, true, true};
        const auto above = [&](int x, int) { return int{at[x - 40]}; };
        const auto left = [&](int, int y) { return int{at[40 * y - 1]}; };
        MacroblockPredictions predictions;
        uint32_t costs_16x16[k16x16Modes] = {};
        rank_16x16({at, 40}, available, bit_depth, {p.source, 16}, predictions, costs_16x16);
        EXPECT_EQ(costs_16x16[k16x16Vertical], all(16, 16, above));
        EXPECT_EQ(costs_16x16[k16x16Horizontal], all(16, 16, left));
        for (const int height : {8, 16}) {
            uint32_t costs[kChromaModes] = {};
            rank_chroma({at, 40}, available, bit_depth, height, {p.source, 16}, predictions, costs);
            EXPECT_EQ(costs[kChromaVertical], all(8, height, above));
            EXPECT_EQ(costs[kChromaHorizontal], all(8, height, left));
        }
        Predictions<4> four;
        uint32_t costs_4x4[kModes] = {}, costs_8x8[kModes] = {};
        rank_4x4({at, 40}, available, bit_depth, {p.source, 16}, four, costs_4x4);
        Predictions<8> eight;
        rank_8x8({at, 40}, available, bit_depth, {p.source, 16}, eight, costs_8x8);
        for (int mode = 0; mode < kModes; mode++) {
            const auto in_4x4 = [&](int x, int y) { return int{four.of_mode[mode][4 * y + x]}; };
            const auto in_8x8 = [&](int x, int y) { return int{eight.of_mode[mode][8 * y + x]}; };
            EXPECT_EQ(costs_4x4[mode], satd(0, 0, 4, in_4x4) / 2);
            EXPECT_EQ(costs_8x8[mode], satd(0, 0, 8, in_8x8) / 4);
        }
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 transform");
    TCase *c = add_case(suite, "transform");
    tcase_add_test(c, gains_are_as_said);
    tcase_add_test(c, inverse_transforms_are_the_matrices);
    tcase_add_test(c, chroma_qp_is_table_8_15);
    tcase_add_test(c, blocks_decode_to_their_reconstruction);
    tcase_add_test(c, quantiser_step_is_the_scale);
    tcase_add_test(c, satd_is_the_hadamard_sum);
    return run_suite(suite);
}
