// SPDX-License-Identifier: LGPL-2.1-or-later
#include "idct_cpu.h"

#include <algorithm>
#include <cstring>

#include "../simd.h"
#include "../vectors.h"
#include "idct.h"

namespace cudaenc::mjpeg {

namespace {

using Words = uint32_t __attribute__((vector_size(32)));  // a row of a block, or a column
using Samples = uint8_t __attribute__((vector_size(8)));

// By index, the divisors in the width of coefficients.
struct Divisors8 {
    Row8 rows[8];
};

[[gnu::always_inline]] inline void dequantise_row(const int16_t *levels, const Row8 &divisors, Words &row) {
    Row8 v;
    load<int16_t>(v, levels);
    row = (Words)((Row8)((Words)(v * divisors) << 16) >> 16);
}

[[gnu::always_inline]] inline void transpose_words(Words (&v)[8]) {
    Row8 rows[8];
    for (int i = 0; i < 8; i++) rows[i] = (Row8)v[i];
    transpose(rows);
    for (int i = 0; i < 8; i++) v[i] = (Words)rows[i];
}

[[gnu::always_inline]] inline void clamp(Words &v) {
    Row8 sample = (Row8)v + 128;
    sample = sample < 0 ? Row8{} : sample;
    v = (Words)(sample > 255 ? Row8{} + 255 : sample);
}

// The samples of a block, [8 >> Lowres] rows of 8, of which as many columns count. Rows: how many rows and columns of
// coefficients are not 0.
template <int Lowres, int Rows>
[[gnu::always_inline]] inline void idct_block(const int16_t *levels, const Divisors8 &divisors, Words (&v)[8]) {
    for (int y = 0; y < 8; y++) v[y] = Words{};
    for (int y = 0; y < Rows; y++) dequantise_row(levels + 8 * y, divisors.rows[y], v[y]);
    reduced_idct<IdctPass::columns, Row8, Lowres>(v);
    for (int y = 8 >> Lowres; y < 8; y++) v[y] = Words{};
    transpose_words(v);
    for (int x = Rows; x < 8; x++) v[x] = Words{};
    reduced_idct<IdctPass::rows, Row8, Lowres>(v);
    for (int x = 0; x < 8 >> Lowres; x++) clamp(v[x]);
    for (int x = 8 >> Lowres; x < 8; x++) v[x] = Words{};
    transpose_words(v);
}

constexpr int kLowLast = 9;  // places up to this one lie in the upper left 4x4

template <int Lowres>
[[gnu::always_inline]] inline void idct_row(const int16_t *levels, const uint8_t *last, int count,
                                            const uint16_t (&divisors)[kBlockSamples], const BlockRow &to) {
    constexpr int kSize = 8 >> Lowres;
    Divisors8 d;
    for (int y = 0; y < 8; y++) load<uint16_t>(d.rows[y], divisors + 8 * y);
    for (int b = 0; b < count; b++, levels += kBlockSamples) {
        const int x = b * kSize, width = std::min(kSize, to.width - x);
        if (width <= 0) return;
        Samples rows[kSize];
        if (last[b] == 0 || Lowres == 3) {
            const uint32_t sample = clamp_sample(idct_dc(dequantise(levels[0], divisors[0])));
            for (Samples &row : rows) row = Samples{} + static_cast<uint8_t>(sample);
        } else {
            Words v[8];
            if (last[b] <= kLowLast)
                idct_block<Lowres == 3 ? 2 : Lowres, 4>(levels, d, v);
            else
                idct_block<Lowres == 3 ? 2 : Lowres, 8>(levels, d, v);
            for (int y = 0; y < kSize; y++) rows[y] = __builtin_convertvector(v[y], Samples);
        }
        uint8_t *out = to.samples + x;
        for (int y = 0; y < std::min(kSize, to.height); y++, out += to.stride)
            if (width == kSize)
                std::memcpy(out, &rows[y], kSize);
            else
                std::memcpy(out, &rows[y], static_cast<size_t>(width));
    }
}

}  // namespace

CUDAENC_CLONES void idct_blocks(const int16_t *levels, const uint8_t *last, int count,
                                const uint16_t (&divisors)[kBlockSamples], int lowres, const BlockRow &to) {
    switch (lowres) {
        case 0:
            return idct_row<0>(levels, last, count, divisors, to);
        case 1:
            return idct_row<1>(levels, last, count, divisors, to);
        case 2:
            return idct_row<2>(levels, last, count, divisors, to);
        default:
            return idct_row<3>(levels, last, count, divisors, to);
    }
}

}  // namespace cudaenc::mjpeg
