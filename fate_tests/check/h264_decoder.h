// A decoder of macroblocks, written from the formulas of H.264's clauses 8.3 and 8.5 a sample at a time and from
// nothing of the encoder's: what the encoder's reconstruction has to be. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "../../common/h264/macroblock.h"

namespace cudaenc::testing::decoder {

using h264::ChromaFormat;
using h264::Macroblock;
using h264::MacroblockType;

// ---- 8.5: residuals. Flat scaling lists: weightScale is 16.

inline int level_scale_4x4(int m, int i, int j) {
    const int v[6][3] = {{10, 16, 13}, {11, 18, 14}, {13, 20, 16}, {14, 23, 18}, {16, 25, 20}, {18, 29, 23}};
    if (i % 2 == 0 && j % 2 == 0) return 16 * v[m][0];
    return 16 * (i % 2 == 1 && j % 2 == 1 ? v[m][1] : v[m][2]);
}
inline int level_scale_8x8(int m, int i, int j) {
    const int v[6][6] = {{20, 18, 32, 19, 25, 24}, {22, 19, 35, 21, 28, 26}, {26, 23, 42, 24, 33, 31},
                         {28, 25, 45, 26, 35, 33}, {32, 28, 51, 30, 40, 38}, {36, 32, 58, 34, 46, 43}};
    if (i % 4 == 0 && j % 4 == 0) return 16 * v[m][0];
    if (i % 2 == 1 && j % 2 == 1) return 16 * v[m][1];
    if (i % 4 == 2 && j % 4 == 2) return 16 * v[m][2];
    if ((i % 4 == 0 && j % 2 == 1) || (i % 2 == 1 && j % 4 == 0)) return 16 * v[m][3];
    if ((i % 4 == 0 && j % 4 == 2) || (i % 4 == 2 && j % 4 == 0)) return 16 * v[m][4];
    return 16 * v[m][5];
}

// 8.5.12: `dc`: its place is taken by this, already scaled, or null.
inline void residual_4x4(const int16_t *c, int qp, const int *dc, int32_t *r, int stride) {
    int d[4][4], f[4][4], h[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            const int product = c[4 * i + j] * level_scale_4x4(qp % 6, i, j);
            d[i][j] = qp >= 24 ? product * (1 << (qp / 6 - 4)) : (product + (1 << (3 - qp / 6))) >> (4 - qp / 6);
        }
    if (dc) d[0][0] = *dc;
    for (int i = 0; i < 4; i++) {
        const int e0 = d[i][0] + d[i][2], e1 = d[i][0] - d[i][2];
        const int e2 = (d[i][1] >> 1) - d[i][3], e3 = d[i][1] + (d[i][3] >> 1);
        f[i][0] = e0 + e3, f[i][1] = e1 + e2, f[i][2] = e1 - e2, f[i][3] = e0 - e3;
    }
    for (int j = 0; j < 4; j++) {
        const int g0 = f[0][j] + f[2][j], g1 = f[0][j] - f[2][j];
        const int g2 = (f[1][j] >> 1) - f[3][j], g3 = f[1][j] + (f[3][j] >> 1);
        h[0][j] = g0 + g3, h[1][j] = g1 + g2, h[2][j] = g1 - g2, h[3][j] = g0 - g3;
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) r[i * stride + j] = (h[i][j] + 32) >> 6;
}

// 8.5.13.
inline void residual_8x8(const int16_t *c, int qp, int32_t *r, int stride) {
    int d[8][8];
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            const int product = c[8 * i + j] * level_scale_8x8(qp % 6, i, j);
            d[i][j] = qp >= 36 ? product * (1 << (qp / 6 - 6)) : (product + (1 << (5 - qp / 6))) >> (6 - qp / 6);
        }
    const auto line = [](const int(&in)[8], int(&out)[8]) {
        int a[8], b[8];
        a[0] = in[0] + in[4];
        a[1] = -in[3] + in[5] - in[7] - (in[7] >> 1);
        a[2] = in[0] - in[4];
        a[3] = in[1] + in[7] - in[3] - (in[3] >> 1);
        a[4] = (in[2] >> 1) - in[6];
        a[5] = -in[1] + in[7] + in[5] + (in[5] >> 1);
        a[6] = in[2] + (in[6] >> 1);
        a[7] = in[3] + in[5] + in[1] + (in[1] >> 1);
        b[0] = a[0] + a[6];
        b[1] = a[1] + (a[7] >> 2);
        b[2] = a[2] + a[4];
        b[3] = a[3] + (a[5] >> 2);
        b[4] = a[2] - a[4];
        b[5] = (a[3] >> 2) - a[5];
        b[6] = a[0] - a[6];
        b[7] = a[7] - (a[1] >> 2);
        for (int i = 0; i < 4; i++) {
            out[i] = b[2 * i] + b[7 - 2 * i];
            out[7 - i] = b[2 * i] - b[7 - 2 * i];
        }
    };
    for (auto &row : d) {
        int out[8];
        line(row, out);
        std::copy_n(out, 8, row);
    }
    for (int j = 0; j < 8; j++) {
        int in[8], out[8];
        for (int i = 0; i < 8; i++) in[i] = d[i][j];
        line(in, out);
        for (int i = 0; i < 8; i++) r[i * stride + j] = (out[i] + 32) >> 6;
    }
}

inline int block_x(int b) { return b % 4 % 2 * 4 + b / 4 % 2 * 8; }
inline int block_y(int b) { return b % 4 / 2 * 4 + b / 8 * 8; }

// 8.5.2, 8.5.10: AC levels of 16 blocks, then DC levels; 16 residuals a row.
inline void residual_16x16(const int16_t *levels, int qp, int32_t *r) {
    const int a[4][4] = {{1, 1, 1, 1}, {1, 1, -1, -1}, {1, -1, -1, 1}, {1, -1, 1, -1}};
    for (int b = 0; b < 16; b++) {
        const int y = block_y(b) / 4, x = block_x(b) / 4;
        int f = 0;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) f += a[y][i] * levels[256 + 4 * i + j] * a[j][x];
        const int product = f * level_scale_4x4(qp % 6, 0, 0);
        const int dc = qp >= 36 ? product * (1 << (qp / 6 - 6)) : (product + (1 << (5 - qp / 6))) >> (6 - qp / 6);
        residual_4x4(levels + 16 * b, qp, &dc, r + 64 * y + 4 * x, 16);
    }
}

// 8.5.4, 8.5.11: one chroma component of 4:2:0 or 4:2:2; qp is QP'c.
inline void residual_chroma(const int16_t *dc_levels, const int16_t *ac, int qp, int height, int32_t *r, int stride) {
    const int a[4][4] = {{1, 1, 1, 1}, {1, 1, -1, -1}, {1, -1, -1, 1}, {1, -1, 1, -1}};
    const int two[2][2] = {{1, 1}, {1, -1}};
    const int rows = height / 4, qp_dc = qp + 3;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < 2; x++) {
            int f = 0;
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < 2; j++) f += (rows == 2 ? two[y][i] : a[y][i]) * dc_levels[2 * i + j] * two[j][x];
            int dc;
            if (rows == 2)
                dc = (f * level_scale_4x4(qp % 6, 0, 0) * (1 << qp / 6)) >> 5;
            else if (qp_dc >= 36)
                dc = f * level_scale_4x4(qp_dc % 6, 0, 0) * (1 << (qp_dc / 6 - 6));
            else
                dc = (f * level_scale_4x4(qp_dc % 6, 0, 0) + (1 << (5 - qp_dc / 6))) >> (6 - qp_dc / 6);
            residual_4x4(ac + 16 * (2 * y + x), qp, &dc, r + 4 * y * stride + 4 * x, stride);
        }
}

}  // namespace cudaenc::testing::decoder
