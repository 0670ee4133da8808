// From RGB or YUV to X'Y'Z' of digital cinema (SMPTE ST 428-1, RP 431-2): range and matrix (H.273), transfer to linear
// light, primaries to XYZ, 48/52.37, the power 1/2.6, 12 bits. Powers are in tables that the host makes; floats only
// add and multiply. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../hd.h"
#include "../load.h"

namespace cudaenc::j2k {

constexpr int kXyzDepth = 12;

// A function of [0, 1] in straight pieces: one from 0 on, then 2^kMantissaBits in each octave from 2^-octaves on, and
// one for 1.
struct CurvePiece {
    float offset, slope;
};
struct Curve {
    static constexpr int kMantissaBits = 6;
    static constexpr int pieces(int octaves) { return (octaves << kMantissaBits) + 2; }
    const CurvePiece *piece;
    int32_t octaves;
    // x: 0 to 1. Its exponent and the first bits of its significand are the number of its piece.
    CUDAENC_HD float operator()(float x) const {
        uint32_t bits;
        __builtin_memcpy(&bits, &x, sizeof bits);
        const int at =
            static_cast<int>((bits & 0x7FFFFFFF) >> (23 - kMantissaBits)) - ((127 - octaves) << kMantissaBits);
        const CurvePiece p = piece[max_of(at + 1, 0)];
        return p.offset + p.slope * x;
    }
};
// Below 2^-17 transfers are straight or their light is none; light below 2^-35 has the code 0.
constexpr int kTransferOctaves = 17, kCodeOctaves = 35;

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
    Curve to_light, to_code;                     // the code has half of one added
    ColorCube cube;
};

CUDAENC_HD float unit_range(float x) { return max_of(min_of(x, 1.0f), 0.0f); }

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

// Samples of one place to its codes, 0 to 4095.
CUDAENC_HD void to_xyz(const XyzConversion &x, float (&v)[3]) {
    float s[3];
    CUDAENC_UNROLL
    for (int i = 0; i < 3; i++) s[i] = v[i] - x.offset[i];
    if (x.is_yuv) {
        const float luma = s[0] * x.to_rgb[0][0];
        v[0] = luma + s[2] * x.to_rgb[0][2];
        v[1] = luma + s[1] * x.to_rgb[1][1] + s[2] * x.to_rgb[1][2];
        v[2] = luma + s[1] * x.to_rgb[2][1];
    } else {
        CUDAENC_UNROLL
        for (int i = 0; i < 3; i++) v[i] = s[i] * x.to_rgb[i][i];
    }
    if (x.cube.values) look_up(x.cube, v);
    CUDAENC_UNROLL
    for (int i = 0; i < 3; i++) s[i] = x.to_light(unit_range(v[i]));
    CUDAENC_UNROLL
    for (int i = 0; i < 3; i++)
        v[i] = x.to_code(unit_range(s[0] * x.to_xyz[i][0] + s[1] * x.to_xyz[i][1] + s[2] * x.to_xyz[i][2]));
}

// A sample of chroma at the place (x, y) of a picture of width x height, between the samples around it. Columns of
// chroma lie at those of luma, rows in the middle of theirs (H.273 Chroma420SampleLocType 0).
CUDAENC_HD float load_chroma(const XyzConversion &c, const SampleLayout &layout, int width, int height, int x, int y) {
    const int log2_x = c.log2_subsample_x, log2_y = c.log2_subsample_y;
    const int columns = ((width - 1) >> log2_x) + 1, rows = ((height - 1) >> log2_y) + 1;
    const auto at = [&](int column, int row) {
        return load_sample(layout, min_of(column, columns - 1), max_of(min_of(row, rows - 1), 0)) +
               (1 << (layout.depth - 1));
    };
    if (!log2_x && !log2_y) return static_cast<float>(at(x, y));
    const int column = x >> log2_x, right = x & ((1 << log2_x) - 1), left = (1 << log2_x) - right;
    const int twice = 2 * y + 1 - (1 << log2_y), row = twice >> (log2_y + 1);
    const int below = twice & ((2 << log2_y) - 1), above = (2 << log2_y) - below;
    const auto across = [&](int r) { return left * at(column, r) + (right ? right * at(column + 1, r) : 0); };
    const int32_t sum = above * across(row) + (below ? below * across(row + 1) : 0);
    return static_cast<float>(sum) * c.chroma_scale;
}

// The codes of the place (x, y) of a picture of width x height.
CUDAENC_HD void load_xyz(const XyzConversion &c, const SampleLayout *layout, int width, int height, int x, int y,
                         uint16_t (&codes)[3]) {
    float v[3];
    CUDAENC_UNROLL
    for (int i = 0; i < 3; i++)
        v[i] = i && c.is_yuv ? load_chroma(c, layout[i], width, height, x, y)
                             : static_cast<float>(load_sample(layout[i], x, y) + (1 << (layout[i].depth - 1)));
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
