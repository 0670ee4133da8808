// SPDX-License-Identifier: LGPL-2.1-or-later
// From RGB or YUV to X'Y'Z' of digital cinema (SMPTE ST 428-1, RP 431-2): range and matrix (H.273), transfer to linear
// light, primaries to XYZ, 48/52.37, the power 1/2.6, 12 bits. Powers are in tables that the host makes; floats only
// add and multiply.
#pragma once
#include <cstdint>

#include "../../hd.h"
#include "../../load.h"

namespace cudaenc::j2k {

constexpr int kXyzDepth = 12;

// A function of [0, 1] in straight pieces: one from 0 on, then 2^kMantissaBits in each octave from 2^-kOctaves on, and
// one for 1.
struct CurvePiece {
    float offset, slope;
};
template <int kOctaves>
struct Curve {
    static constexpr int kMantissaBits = 6;
    static constexpr int kPieces = (kOctaves << kMantissaBits) + 2;
    const CurvePiece *piece;
    // x: 0 to 1. Its exponent and the first bits of its significand are the number of its piece.
    CUDAENC_HD float operator()(float x) const {
        int32_t bits;
        __builtin_memcpy(&bits, &x, sizeof bits);
        const CurvePiece p = piece[max_of((bits >> (23 - kMantissaBits)) - ((127 - kOctaves) << kMantissaBits) + 1, 0)];
        return p.offset + p.slope * x;
    }
};
// Below 2^-17 transfers are straight or their light is none; light below 2^-35 has the code 0.
using LightCurve = Curve<17>;
using CodeCurve = Curve<35>;

// A 3D look-up table of `size` entries a direction, red fastest: three values from 0 to 1 each.
struct ColorCube {
    const float *values;  // nullptr: there is none
    int32_t size;
    float low[3], scale[3];  // R'G'B' to the table's grid
};

struct XyzConversion {
    float offset[3];     // of samples, whose luma or colour is then 0
    float to_rgb[3][3];  // samples to R'G'B'
    float to_xyz[3][3];  // linear light to XYZ, 48/52.37 in it
    int32_t is_yuv;
    int32_t log2_subsample_x, log2_subsample_y;  // of chroma
    float chroma_scale;                          // of sums of chroma between samples
    LightCurve to_light;
    CodeCurve to_code;
    ColorCube cube;
};

// x, but at least 0 and at most 1.
CUDAENC_HD float unit_range(float x) {
#if CUDAENC_DEVICE_CODE  // one instruction
    float result;
    asm("cvt.sat.f32.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
#else
    return max_of(min_of(x, 1.0f), 0.0f);
#endif
}

// A float has 23 bits below its leading one. So 2^23 has a step of 1: n in its low bits is 2^23 + n, and a sum is
// whole.
constexpr float kWhole = 1 << 23;
// n: 0 to 2^23 - 1.
CUDAENC_HD float float_of(uint32_t n) {
    n |= 0x4B000000;
    float x;
    __builtin_memcpy(&x, &n, sizeof x);
    return x - kWhole;
}
// x: 0 to 2^23. To the nearest integer, halves to the even one.
CUDAENC_HD float round_off(float x) { return (x + kWhole) - kWhole; }

// An entry's three values at grid position (r, g, b).
CUDAENC_HD const float *cube_entry(const ColorCube &cube, int r, int g, int b) {
    return cube.values + 3 * ((static_cast<int64_t>(b) * cube.size + g) * cube.size + r);
}

// Tetrahedral interpolation: along the edges of a cell, the longest way first.
CUDAENC_HD void look_up(const ColorCube &cube, float (&v)[3]) {
    int base[3];
    float part[3];
    CUDAENC_UNROLL
    for (int i = 0; i < 3; i++) {
        const float last = static_cast<float>(cube.size - 1);
        const float at = max_of(min_of((v[i] - cube.low[i]) * cube.scale[i], last), 0.0f);
        base[i] = min_of(static_cast<int>(at), cube.size - 2);
        part[i] = at - static_cast<float>(base[i]);
    }
    const int first = part[0] >= part[1] && part[0] >= part[2] ? 0
                      : part[1] >= part[2]                     ? 1
                                                               : 2,
              least = part[2] <= part[0] && part[2] <= part[1] ? 2
                      : part[1] <= part[0]                     ? 1
                                                               : 0,
              middle = 3 - first - least;
    int step[3] = {base[0], base[1], base[2]};
    const float *a = cube_entry(cube, step[0], step[1], step[2]);
    step[first]++;
    const float *b = cube_entry(cube, step[0], step[1], step[2]);
    step[middle]++;
    const float *c = cube_entry(cube, step[0], step[1], step[2]);
    step[least]++;
    const float *d = cube_entry(cube, step[0], step[1], step[2]);
    CUDAENC_UNROLL
    for (int i = 0; i < 3; i++)
        v[i] =
            unit_range(a[i] + (b[i] - a[i]) * part[first] + (c[i] - b[i]) * part[middle] + (d[i] - c[i]) * part[least]);
}

// Samples of one place to R'G'B'.
template <bool kYuv>
CUDAENC_HD void to_rgb(const XyzConversion &x, float (&v)[3]) {
    float s[3];
    CUDAENC_UNROLL
    for (int i = 0; i < 3; i++) s[i] = v[i] - x.offset[i];
    if (kYuv) {
        const float luma = s[0] * x.to_rgb[0][0];
        v[0] = luma + s[2] * x.to_rgb[0][2];
        v[1] = luma + s[1] * x.to_rgb[1][1] + s[2] * x.to_rgb[1][2];
        v[2] = luma + s[1] * x.to_rgb[2][1];
    } else {
        CUDAENC_UNROLL
        for (int i = 0; i < 3; i++) v[i] = s[i] * x.to_rgb[i][i];
    }
}

// R'G'B' to codes: whole numbers from 0 to 4095.
CUDAENC_HD void to_codes(const XyzConversion &x, const LightCurve &to_light, const CodeCurve &to_code, float (&v)[3]) {
    float light[3];
    CUDAENC_UNROLL
    for (int i = 0; i < 3; i++) light[i] = to_light(unit_range(v[i]));
    CUDAENC_UNROLL
    for (int i = 0; i < 3; i++)
        v[i] = round_off(
            to_code(unit_range(light[0] * x.to_xyz[i][0] + light[1] * x.to_xyz[i][1] + light[2] * x.to_xyz[i][2])));
}

// Samples of one place to its codes.
CUDAENC_HD void to_xyz(const XyzConversion &x, float (&v)[3]) {
    if (x.is_yuv)
        to_rgb<true>(x, v);
    else
        to_rgb<false>(x, v);
    if (x.cube.values) look_up(x.cube, v);
    to_codes(x, x.to_light, x.to_code, v);
}

// The sample of column x and row y, without level shift.
CUDAENC_HD uint32_t load_code(const SampleLayout &layout, int64_t x, int64_t y) {
    return static_cast<uint32_t>(load_sample(layout, x, y) + (1 << (layout.depth - 1)));
}

// A place of luma between two samples of chroma, of which one may not exist, and their weights.
struct Between {
    int32_t first, second;
    uint32_t first_weight, second_weight;
};
// Columns of chroma lie at those of luma, rows in the middle of theirs (H.273 Chroma420SampleLocType 0). The weights of
// columns sum to 2^log2, those of rows to twice that.
CUDAENC_HD Between between_columns(int x, int log2, int columns) {
    const int column = x >> log2, part = x & ((1 << log2) - 1);
    return {min_of(column, columns - 1), min_of(column + 1, columns - 1), static_cast<uint32_t>((1 << log2) - part),
            static_cast<uint32_t>(part)};
}
CUDAENC_HD Between between_rows(int y, int log2, int rows) {
    const int twice = 2 * y + 1 - (1 << log2), row = twice >> (log2 + 1), part = twice & ((2 << log2) - 1);
    return {max_of(min_of(row, rows - 1), 0), min_of(row + 1, rows - 1), static_cast<uint32_t>((2 << log2) - part),
            static_cast<uint32_t>(part)};
}
CUDAENC_HD int chroma_count(int luma, int log2) { return ((luma - 1) >> log2) + 1; }

// A sample of chroma at the place (x, y) of a picture of width x height, between the samples around it.
CUDAENC_HD float load_chroma(const XyzConversion &c, const SampleLayout &layout, int width, int height, int x, int y) {
    const Between columns = between_columns(x, c.log2_subsample_x, chroma_count(width, c.log2_subsample_x)),
                  rows = between_rows(y, c.log2_subsample_y, chroma_count(height, c.log2_subsample_y));
    const auto across = [&](int row) {
        return columns.first_weight * load_code(layout, columns.first, row) +
               (columns.second_weight ? columns.second_weight * load_code(layout, columns.second, row) : 0);
    };
    const uint32_t sum =
        rows.first_weight * across(rows.first) + (rows.second_weight ? rows.second_weight * across(rows.second) : 0);
    return float_of(sum) * c.chroma_scale;
}

// The codes of the place (x, y) of a picture of width x height.
CUDAENC_HD void load_xyz(const XyzConversion &c, const SampleLayout *layout, int width, int height, int x, int y,
                         uint16_t (&codes)[3]) {
    float v[3];
    CUDAENC_UNROLL
    for (int i = 0; i < 3; i++)
        v[i] = i && c.is_yuv ? load_chroma(c, layout[i], width, height, x, y) : float_of(load_code(layout[i], x, y));
    to_xyz(c, v);
    CUDAENC_UNROLL
    for (int i = 0; i < 3; i++) codes[i] = static_cast<uint16_t>(v[i]);
}

// Codes of a row in a plane: a few at a time.
constexpr int kXyzPixels = 4;
CUDAENC_HD int64_t xyz_stride(int width) { return (width + kXyzPixels - 1) / kXyzPixels * int64_t{kXyzPixels}; }
// Where component c lies in planes of width x height codes, one after the other.
inline SampleLayout xyz_plane(const uint16_t *planes, int width, int height, int c) {
    return {.data = reinterpret_cast<const uint8_t *>(planes + xyz_stride(width) * height * c),
            .stride = 2 * xyz_stride(width),
            .step = 2,
            .shift = 0,
            .depth = kXyzDepth};
}

}  // namespace cudaenc::j2k
