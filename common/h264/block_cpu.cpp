// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_cpu.h"

#include <cstring>

#include "../simd.h"
#include "../vectors.h"
#include "transform.h"

namespace cudaenc::h264 {

namespace {

// ---- Hadamard transforms of differences: 16 lanes are a 4x4 block, two rows of 8, or a row of 16. Their order does
// not matter to the sum, so a step pairs the lanes whose numbers differ in one bit.

using Lanes = int16_t __attribute__((vector_size(32)));
using Half = int16_t __attribute__((vector_size(16)));
using Quarter = int16_t __attribute__((vector_size(8)));

template <int Bit>
[[gnu::always_inline]] inline Lanes partner(const Lanes &x) {
    return __builtin_shufflevector(x, x, 0 ^ Bit, 1 ^ Bit, 2 ^ Bit, 3 ^ Bit, 4 ^ Bit, 5 ^ Bit, 6 ^ Bit, 7 ^ Bit,
                                   8 ^ Bit, 9 ^ Bit, 10 ^ Bit, 11 ^ Bit, 12 ^ Bit, 13 ^ Bit, 14 ^ Bit, 15 ^ Bit);
}
template <int Bit>
[[gnu::always_inline]] inline void hadamard_step(Lanes &x) {
    constexpr auto sign = [](int lane) { return static_cast<int16_t>(lane & Bit ? -1 : 1); };
    constexpr Lanes signs = {sign(0), sign(1), sign(2),  sign(3),  sign(4),  sign(5),  sign(6),  sign(7),
                             sign(8), sign(9), sign(10), sign(11), sign(12), sign(13), sign(14), sign(15)};
    x = x * signs + partner<Bit>(x);
}
[[gnu::always_inline]] inline void hadamard_step(Lanes &a, Lanes &b) {
    const Lanes sum = a + b;
    b = a - b;
    a = sum;
}
// The last step: |a + b| + |a - b| is twice the larger magnitude. So sums stay within 16 bits.
[[gnu::always_inline]] inline Lanes magnitude(const Lanes &x) { return x < 0 ? -x : x; }
[[gnu::always_inline]] inline Lanes larger(const Lanes &a, const Lanes &b) { return a > b ? a : b; }

[[gnu::always_inline]] inline uint32_t sum_of(const Lanes &x) {
    const Row8 wide = __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7), Row8) +
                      __builtin_convertvector(__builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15), Row8);
    const Row4 four = __builtin_shufflevector(wide, wide, 0, 1, 2, 3) + __builtin_shufflevector(wide, wide, 4, 5, 6, 7);
    return static_cast<uint32_t>(four[0] + four[1] + four[2] + four[3]);
}

[[gnu::always_inline]] inline Lanes join(const Half &a, const Half &b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
template <class Vector>
[[gnu::always_inline]] inline void get(Vector &v, const Sample *from) {
    std::memcpy(&v, from, sizeof v);
}
[[gnu::always_inline]] inline void get_4x4(Lanes &x, const ConstBlock &from) {
    Quarter row[4];
    for (int y = 0; y < 4; y++) get(row[y], from.data + y * from.stride);
    x = join(__builtin_shufflevector(row[0], row[1], 0, 1, 2, 3, 4, 5, 6, 7),
             __builtin_shufflevector(row[2], row[3], 0, 1, 2, 3, 4, 5, 6, 7));
}
[[gnu::always_inline]] inline void get_two_rows(Lanes &x, const ConstBlock &from, ptrdiff_t y0, ptrdiff_t y1) {
    Half a, b;
    get(a, from.data + y0 * from.stride);
    get(b, from.data + y1 * from.stride);
    x = join(a, b);
}

[[gnu::always_inline]] inline uint32_t half_satd_4x4(Lanes &x) {
    hadamard_step<1>(x);
    hadamard_step<2>(x);
    hadamard_step<4>(x);
    x = magnitude(x);
    return sum_of(larger(x, partner<8>(x))) / 2;
}

[[gnu::always_inline]] inline uint32_t quarter_satd_8x8(Lanes (&x)[4]) {
    hadamard_step(x[0], x[1]);
    hadamard_step(x[2], x[3]);
    hadamard_step(x[0], x[2]);
    hadamard_step(x[1], x[3]);
    uint32_t sum = 0;
    for (Lanes &v : x) {
        hadamard_step<1>(v);
        hadamard_step<2>(v);
        hadamard_step<4>(v);
        v = magnitude(v);
        sum += sum_of(larger(v, partner<8>(v)));
    }
    return sum / 4;
}

// Four rows, of four blocks each.
[[gnu::always_inline]] inline uint32_t half_satd_4x16(Lanes (&x)[4]) {
    hadamard_step(x[0], x[1]);
    hadamard_step(x[2], x[3]);
    hadamard_step(x[0], x[2]);
    hadamard_step(x[1], x[3]);
    uint32_t sum = 0;
    for (Lanes &v : x) {
        hadamard_step<1>(v);
        v = magnitude(v);
        sum += sum_of(larger(v, partner<2>(v)));
    }
    return sum / 2;
}

}  // namespace

CUDAENC_CLONES void rank_4x4(ConstBlock at, const Available &available, int bit_depth, ConstBlock source,
                             Ranking4x4 &ranking) {
    Edge<4> edge;
    edge.load(at.data, at.stride, available);
    predict_block(edge, available, bit_depth, ranking.prediction);
    Lanes from;
    get_4x4(from, source);
    for (int mode = 0; mode < kModes; mode++) {
        if (!mode_available(mode, available)) continue;
        Lanes x;
        get(x, ranking.prediction[mode]);
        x -= from;
        ranking.satd[mode] = half_satd_4x4(x);
    }
}

CUDAENC_CLONES void rank_8x8(ConstBlock at, const Available &available, int bit_depth, ConstBlock source,
                             Ranking8x8 &ranking) {
    Edge<8> unfiltered, edge;
    unfiltered.load(at.data, at.stride, available);
    filter_edge(unfiltered, edge);
    predict_block(edge, available, bit_depth, ranking.prediction);
    Lanes from[4];
    for (int i = 0; i < 4; i++) get_two_rows(from[i], source, 2 * i, 2 * i + 1);
    for (int mode = 0; mode < kModes; mode++) {
        if (!mode_available(mode, available)) continue;
        Lanes x[4];
        for (int i = 0; i < 4; i++) {
            get(x[i], ranking.prediction[mode] + 16 * i);
            x[i] -= from[i];
        }
        ranking.satd[mode] = quarter_satd_8x8(x);
    }
}

CUDAENC_CLONES uint32_t satd_16(ConstBlock a, ConstBlock b, int height) {
    uint32_t sum = 0;
    for (int y = 0; y < height; y += 4) {
        Lanes x[4];
        for (int i = 0; i < 4; i++) {
            Lanes other;
            get(x[i], a.data + (y + i) * a.stride);
            get(other, b.data + (y + i) * b.stride);
            x[i] -= other;
        }
        sum += half_satd_4x16(x);
    }
    return sum;
}

CUDAENC_CLONES uint32_t satd_8(ConstBlock a, ConstBlock b, int height) {
    uint32_t sum = 0;
    for (int y = 0; y < height; y += 8) {
        Lanes x[4];
        for (int i = 0; i < 4; i++) {
            Lanes other;
            get_two_rows(x[i], a, y + i, y + i + 4);
            get_two_rows(other, b, y + i, y + i + 4);
            x[i] -= other;
        }
        sum += half_satd_4x16(x);
    }
    return sum;
}

namespace {

// ---- Transforms. A vector is a line of a block; transposed blocks meet symmetric tables.

template <class Line, int N>
[[gnu::always_inline]] inline void get_residual(Line (&v)[N], const ConstBlock &source, const ConstBlock &prediction) {
    for (int y = 0; y < N; y++) {
        Line p;
        load<Sample>(v[y], source.data + y * source.stride);
        load<Sample>(p, prediction.data + y * prediction.stride);
        v[y] -= p;
    }
}

// Coefficients, transposed.
template <class Line, int N>
[[gnu::always_inline]] inline void forward(Line (&v)[N]) {
    forward_transform(v);
    transpose(v);
    forward_transform(v);
}

// From transposed coefficients to rows of the reconstruction, and the sum of squared differences to the source.
template <class Line, int N>
[[gnu::always_inline]] inline uint32_t inverse(Line (&v)[N], const ConstBlock &source, const ConstBlock &prediction,
                                               int bit_depth, const Block &to) {
    inverse_transform(v);
    transpose(v);
    inverse_transform(v);
    const int32_t most = (1 << bit_depth) - 1;
    Line squares{};
    for (int y = 0; y < N; y++) {
        Line p, s;
        load<Sample>(p, prediction.data + y * prediction.stride);
        load<Sample>(s, source.data + y * source.stride);
        Line r = ((v[y] + 32) >> 6) + p;
        r = r < 0 ? Line{} : r;
        r = r > most ? Line{} + most : r;
        store(to.data + y * to.stride, r);
        squares += (r - s) * (r - s);
    }
    uint32_t sum = 0;
    for (int i = 0; i < N; i++) sum += static_cast<uint32_t>(squares[i]);
    return sum;
}

constexpr int32_t rounding_of(int32_t fraction, int32_t shift) { return fraction << (shift - 8); }

// Levels of DC coefficients, whose sums take all bits of 32.
[[gnu::always_inline]] inline int32_t quantise_dc(int32_t c, int32_t multiplier, int32_t rounding, int32_t shift) {
    const int64_t magnitude = c < 0 ? -int64_t{c} : c;
    const int32_t level = static_cast<int32_t>((magnitude * multiplier + rounding) >> shift);
    return c < 0 ? -level : level;
}

template <class Line, int N>
[[gnu::always_inline]] inline void quantise_block(Line (&v)[N], const int32_t *multipliers, const Rounding &rounding,
                                                  int32_t shift, int16_t *levels) {
    Line first = Line{} + rounding_of(rounding.ac, shift);
    first[0] = rounding_of(rounding.dc, shift);
    Line rows[N];
    for (int i = 0; i < N; i++) {
        Line multiplier;
        load<int32_t>(multiplier, multipliers + N * i);
        const Line sign = v[i] >> 31;
        v[i] = (((v[i] ^ sign) - sign) * multiplier + (i ? Line{} + rounding_of(rounding.ac, shift) : first)) >> shift;
        v[i] = (v[i] ^ sign) - sign;
        rows[i] = v[i];
    }
    transpose(rows);
    for (int i = 0; i < N; i++) store(levels + N * i, rows[i]);
}

template <class Line, int N>
[[gnu::always_inline]] inline void scale_block(Line (&v)[N], const int32_t *scales) {
    for (int i = 0; i < N; i++) {
        Line scale;
        load<int32_t>(scale, scales + N * i);
        v[i] *= scale;
        if constexpr (N == 8) v[i] = (v[i] + 32) >> 6;
    }
}

[[gnu::always_inline]] inline ConstBlock part(const ConstBlock &b, int x, int y) {
    return {b.data + y * b.stride + x, b.stride};
}
[[gnu::always_inline]] inline Block part(const Block &b, int x, int y) { return {b.data + y * b.stride + x, b.stride}; }

}  // namespace

CUDAENC_CLONES uint32_t code_4x4(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                                 const Rounding &rounding, int bit_depth, int16_t *levels, Block reconstruction) {
    Row4 v[4];
    get_residual(v, source, prediction);
    forward(v);
    quantise_block(v, quantiser.multiplier_4x4.data(), rounding, quantiser.shift_4x4, levels);
    scale_block(v, quantiser.scale_4x4.data());
    return inverse(v, source, prediction, bit_depth, reconstruction);
}

CUDAENC_CLONES uint32_t code_8x8(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                                 const Rounding &rounding, int bit_depth, int16_t *levels, Block reconstruction) {
    Row8 v[8];
    get_residual(v, source, prediction);
    forward(v);
    quantise_block(v, quantiser.multiplier_8x8.data(), rounding, quantiser.shift_8x8, levels);
    scale_block(v, quantiser.scale_8x8.data());
    return inverse(v, source, prediction, bit_depth, reconstruction);
}

CUDAENC_CLONES uint32_t code_16x16(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                                   const Rounding &rounding, int bit_depth, int16_t *levels, Block reconstruction) {
    alignas(16) int32_t dc[4][4];
    for (int b = 0; b < 16; b++) {
        const BlockPlace at = place_4x4(b);
        Row4 v[4];
        get_residual(v, part(source, 4 * at.x, 4 * at.y), part(prediction, 4 * at.x, 4 * at.y));
        forward(v);
        dc[at.y][at.x] = v[0][0];
        v[0][0] = 0;
        quantise_block(v, quantiser.multiplier_4x4.data(), {0, rounding.ac}, quantiser.shift_4x4, levels + 16 * b);
    }
    Row4 v[4];
    for (int y = 0; y < 4; y++) std::memcpy(&v[y], dc[y], sizeof v[y]);
    hadamard_transform(v);
    transpose(v);
    hadamard_transform(v);
    transpose(v);
    const int32_t shift = quantiser.shift_4x4 + 2;
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++) {
            const int32_t level =
                quantise_dc(v[y][x], quantiser.multiplier_4x4[0], rounding_of(rounding.dc, shift), shift);
            levels[256 + 4 * y + x] = static_cast<int16_t>(level);
            v[y][x] = level;
        }
    hadamard_transform(v);
    transpose(v);
    hadamard_transform(v);
    transpose(v);
    for (int y = 0; y < 4; y++) {
        v[y] = (v[y] * quantiser.dc_scale + 32) >> 6;
        std::memcpy(dc[y], &v[y], sizeof v[y]);
    }
    uint32_t distortion = 0;
    for (int b = 0; b < 16; b++) {
        const BlockPlace at = place_4x4(b);
        for (int i = 0; i < 4; i++) load<int16_t>(v[i], levels + 16 * b + 4 * i);
        transpose(v);
        scale_block(v, quantiser.scale_4x4.data());
        v[0][0] = dc[at.y][at.x];
        distortion += inverse(v, part(source, 4 * at.x, 4 * at.y), part(prediction, 4 * at.x, 4 * at.y), bit_depth,
                              part(reconstruction, 4 * at.x, 4 * at.y));
    }
    return distortion;
}

namespace {

// 8.5.11.1: 2 wide, 2 or 4 high.
template <int Height>
[[gnu::always_inline]] inline void hadamard_chroma_dc(int32_t (&dc)[8]) {
    for (int y = 0; y < Height; y++) {
        int32_t row[2] = {dc[2 * y], dc[2 * y + 1]};
        hadamard_transform(row);
        dc[2 * y] = row[0], dc[2 * y + 1] = row[1];
    }
    for (int x = 0; x < 2; x++) {
        int32_t column[Height];
        for (int y = 0; y < Height; y++) column[y] = dc[2 * y + x];
        hadamard_transform(column);
        for (int y = 0; y < Height; y++) dc[2 * y + x] = column[y];
    }
}

}  // namespace

CUDAENC_CLONES uint32_t code_chroma(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                                    const Quantiser &dc_quantiser, const Rounding &rounding, int bit_depth, int height,
                                    int16_t *dc_levels, int16_t *ac, Block reconstruction) {
    int32_t dc[8] = {};
    const int blocks = height / 2;
    for (int b = 0; b < blocks; b++) {
        const int x = b % 2 * 4, y = b / 2 * 4;
        Row4 v[4];
        get_residual(v, part(source, x, y), part(prediction, x, y));
        forward(v);
        dc[b] = v[0][0];
        v[0][0] = 0;
        quantise_block(v, quantiser.multiplier_4x4.data(), {0, rounding.ac}, quantiser.shift_4x4, ac + 16 * b);
    }
    const auto hadamard = [&] {
        if (height == 8)
            hadamard_chroma_dc<2>(dc);
        else
            hadamard_chroma_dc<4>(dc);
    };
    hadamard();
    const int32_t shift = dc_quantiser.shift_4x4 + 1;
    for (int b = 0; b < blocks; b++) {
        dc[b] = quantise_dc(dc[b], dc_quantiser.multiplier_4x4[0], rounding_of(rounding.dc, shift), shift);
        dc_levels[b] = static_cast<int16_t>(dc[b]);
    }
    hadamard();
    uint32_t distortion = 0;
    for (int b = 0; b < blocks; b++) {
        const int x = b % 2 * 4, y = b / 2 * 4;
        Row4 v[4];
        for (int i = 0; i < 4; i++) load<int16_t>(v[i], ac + 16 * b + 4 * i);
        transpose(v);
        scale_block(v, quantiser.scale_4x4.data());
        v[0][0] = height == 8 ? (dc[b] * dc_quantiser.dc_scale) >> 5 : (dc[b] * dc_quantiser.dc_scale + 32) >> 6;
        distortion += inverse(v, part(source, x, y), part(prediction, x, y), bit_depth, part(reconstruction, x, y));
    }
    return distortion;
}

}  // namespace cudaenc::h264
