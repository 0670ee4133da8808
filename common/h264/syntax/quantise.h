// SPDX-License-Identifier: LGPL-2.1-or-later
// Quantisation and scaling (H.264, 8.5.8 to 8.5.13); QP' includes QpBdOffset.
#pragma once
#include <cstdint>

#include "../qp.h"
#include "macroblock.h"
#include "tables.h"

namespace cudaenc::h264 {

inline constexpr int kMaxBitDepth = 10;
CUDAENC_HD constexpr int qp_bd_offset(int bit_depth) { return 6 * (bit_depth - 8); }

// QP'c of a luma QP (without QpBdOffset): table 8-15. offset: chroma_qp_index_offset.
constexpr int chroma_qp(int qp, int bit_depth, int offset = 0) {
    const int least = -qp_bd_offset(bit_depth), moved = qp + offset;
    qp = moved < least ? least : moved > kMaxQp ? kMaxQp : moved;
    constexpr uint8_t from_30[] = {29, 30, 31, 32, 32, 33, 34, 34, 35, 35, 36,
                                   36, 37, 37, 37, 38, 38, 38, 39, 39, 39, 39};
    return (qp < 30 ? qp : from_30[qp - 30]) + qp_bd_offset(bit_depth);
}

// normAdjust4x4(m, i, j), (8-315): a level of 1, in 1/64 of a sample.
constexpr int norm_adjust_4x4(int m, int i, int j) {
    constexpr uint8_t v[6][3] = {{10, 16, 13}, {11, 18, 14}, {13, 20, 16}, {14, 23, 18}, {16, 25, 20}, {18, 29, 23}};
    return v[m][i % 2 && j % 2 ? 1 : i % 2 || j % 2 ? 2 : 0];
}

// normAdjust8x8(m, i, j), (8-318).
constexpr int norm_adjust_8x8(int m, int i, int j) {
    constexpr uint8_t v[6][6] = {{20, 18, 32, 19, 25, 24}, {22, 19, 35, 21, 28, 26}, {26, 23, 42, 24, 33, 31},
                                 {28, 25, 45, 26, 35, 33}, {32, 28, 51, 30, 40, 38}, {36, 32, 58, 34, 46, 43}};
    if (i % 4 == 0 && j % 4 == 0) return v[m][0];
    if (i % 2 && j % 2) return v[m][1];
    if (i % 4 == 2 && j % 4 == 2) return v[m][2];
    if (i % 2 || j % 2) return v[m][i % 4 == 2 || j % 4 == 2 ? 5 : 3];
    return v[m][4];
}

// Weights of frequencies (8.5.9), in raster order; 16: none. They are at least 6 of 4x4 and 12 of 8x8 blocks, so that
// products fit 32 bits.
struct ScalingLists {
    uint8_t luma_4x4[16], chroma_4x4[16], luma_8x8[64];
};
// For coders that transpose blocks.
constexpr ScalingLists transposed(const ScalingLists &lists) {
    ScalingLists t{};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            t.luma_4x4[4 * j + i] = lists.luma_4x4[4 * i + j];
            t.chroma_4x4[4 * j + i] = lists.chroma_4x4[4 * i + j];
        }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) t.luma_8x8[8 * j + i] = lists.luma_8x8[8 * i + j];
    return t;
}
inline constexpr uint8_t kDefault4x4Intra[16] = {6, 13, 20, 28, 13, 20, 28, 32, 20, 28, 32, 37, 28, 32, 37, 42};

// A level is (|coefficient| multiplier + rounding) >> shift. Scaling, before the inverse transform:
//   4x4:                  (scale_4x4 level + half) >> scale_shift_4x4, which is 0 with flat lists and 4 with others
//   8x8:                  (scale_8x8 level + 32) >> 6
//   DC of Intra 16x16:    (dc_scale f + 32) >> 6 of the transformed levels f, and so that of 4:2:2 chroma (of QP' + 3)
//   DC of 4:2:0 chroma:   (dc_scale f) >> 5
struct Quantiser {
    alignas(32) int32_t multiplier_4x4[16], scale_4x4[16];
    alignas(32) int32_t multiplier_8x8[64], scale_8x8[64];
    int32_t dc_scale;
    int32_t shift_4x4, shift_8x8;  // chroma DC: shift_4x4 + 1; DC of Intra 16x16: shift_4x4 + 2
    int32_t scale_shift_4x4;
};

// The multipliers invert the scale and the gain of the forward transform. Weights in raster order; nullptr: flat lists.
constexpr Quantiser make_quantiser(int qp, const uint8_t *weights_4x4 = nullptr, const uint8_t *weights_8x8 = nullptr) {
    Quantiser q{};
    const int m = qp % 6, k = qp / 6;
    q.shift_4x4 = 15 + k;
    q.shift_8x8 = 16 + k;
    q.scale_shift_4x4 = weights_4x4 ? 4 : 0;
    q.dc_scale = (weights_4x4 ? weights_4x4[0] : 16) * norm_adjust_4x4(m, 0, 0) << k;
    const auto divide = [](int64_t a, int64_t b) { return static_cast<int32_t>((2 * a + b) / (2 * b)); };
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            const int v = norm_adjust_4x4(m, i, j), gain = (i % 2 ? 5 : 4) * (j % 2 ? 5 : 4);
            const int weight = weights_4x4 ? weights_4x4[4 * i + j] : 1;
            q.scale_4x4[4 * i + j] = weight * v << k;
            q.multiplier_4x4[4 * i + j] = divide(int64_t{16} << (17 + q.scale_shift_4x4), weight * v * gain);
        }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            const int v = norm_adjust_8x8(m, i, j);
            const auto gain = [](int u) -> int64_t { return u % 2 ? 289 : u % 4 ? 160 : 256; };  // in 1/32
            const int weight = weights_8x8 ? weights_8x8[8 * i + j] : 16;
            q.scale_8x8[8 * i + j] = weight * v << k;
            q.multiplier_8x8[8 * i + j] = divide(int64_t{65536} << 22, weight * v * gain(i) * gain(j));
        }
    return q;
}

// Of 16 frequencies in the order of the scan, or of the transposed one, the first 15 - step keep their levels.
constexpr void drop_frequencies(Quantiser &q, int step, bool transposed_scan = false) {
    const auto place = [&](int at, int size) { return transposed_scan ? at % size * size + at / size : at; };
    for (int k = kDropSteps - step; k < 16; k++) q.multiplier_4x4[place(kZigzag4x4[k], 4)] = 0;
    for (int k = 4 * (kDropSteps - step); k < 64; k++) q.multiplier_8x8[place(kZigzag8x8[k], 8)] = 0;
}

}  // namespace cudaenc::h264
