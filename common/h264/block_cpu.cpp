// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_cpu.h"

#include <array>
#include <cstring>

#include "../simd.h"
#include "../vectors.h"
#include "cavlc.h"
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
template <class Vector>
[[gnu::always_inline]] inline Vector larger(const Vector &a, const Vector &b) {
    return a > b ? a : b;
}

// Sums of 16 bit numbers, which are not negative, in pairs of 32.
[[gnu::always_inline]] inline void add_pairs(Row4 &sum, const Half &x) {
    const Row4 pairs = (Row4)x;
    sum += (pairs & 0xFFFF) + (pairs >> 16);
}
[[gnu::always_inline]] inline uint32_t sum_of(const Row4 &x) {
    const Row4 two = x + __builtin_shufflevector(x, x, 2, 3, 0, 1);
    return static_cast<uint32_t>(two[0] + two[1]);
}
[[gnu::always_inline]] inline Half low(const Lanes &x) { return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7); }
[[gnu::always_inline]] inline Half high(const Lanes &x) {
    return __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
}

[[gnu::always_inline]] inline Lanes join(const Half &a, const Half &b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
template <class Vector>
[[gnu::always_inline]] inline void get(Vector &v, const Sample *from) {
    std::memcpy(&v, from, sizeof v);
}
// row(y): where the samples of row y are.
template <class RowOf>
[[gnu::always_inline]] inline void get_4x4(Lanes &x, const RowOf &row) {
    Quarter rows[4];
    for (int y = 0; y < 4; y++) get(rows[y], row(y));
    x = join(__builtin_shufflevector(rows[0], rows[1], 0, 1, 2, 3, 4, 5, 6, 7),
             __builtin_shufflevector(rows[2], rows[3], 0, 1, 2, 3, 4, 5, 6, 7));
}
template <class RowOf>
[[gnu::always_inline]] inline void get_two_rows(Lanes &x, const RowOf &row, int y0, int y1) {
    Half a, b;
    get(a, row(y0));
    get(b, row(y1));
    x = join(a, b);
}
[[gnu::always_inline]] inline auto rows_of(const ConstBlock &b) {
    return [b](int y) { return b.data + y * b.stride; };
}

// Differences of a 4x4 block.
[[gnu::always_inline]] inline uint32_t half_satd(Lanes (&x)[1]) {
    hadamard_step<1>(x[0]);
    hadamard_step<2>(x[0]);
    hadamard_step<4>(x[0]);
    x[0] = magnitude(x[0]);
    Row4 sum{};
    add_pairs(sum, larger(low(x[0]), high(x[0])));
    return sum_of(sum);
}

// Of an 8x8 block, two rows a vector: half of half.
[[gnu::always_inline]] inline uint32_t half_satd(Lanes (&x)[4]) {
    hadamard_step(x[0], x[1]);
    hadamard_step(x[2], x[3]);
    hadamard_step(x[0], x[2]);
    hadamard_step(x[1], x[3]);
    Row4 sum{};
    for (Lanes &v : x) {
        hadamard_step<1>(v);
        hadamard_step<2>(v);
        hadamard_step<4>(v);
        v = magnitude(v);
        add_pairs(sum, larger(low(v), high(v)));
    }
    return sum_of(sum) / 2;
}

// Four rows, of four 4x4 blocks each. The last step is done twice, which doubles all.
[[gnu::always_inline]] inline uint32_t half_satd_4x16(Lanes (&x)[4]) {
    hadamard_step(x[0], x[1]);
    hadamard_step(x[2], x[3]);
    hadamard_step(x[0], x[2]);
    hadamard_step(x[1], x[3]);
    Row4 sum{};
    for (Lanes &v : x) {
        hadamard_step<1>(v);
        v = magnitude(v);
        v = larger(v, partner<2>(v));
        add_pairs(sum, low(v));
        add_pairs(sum, high(v));
    }
    return sum_of(sum) / 2;
}

template <int N>
[[gnu::always_inline]] inline void rank(const Edge<N> &edge, const Available &available, int bit_depth,
                                        const ConstBlock &source, Ranking<N> &ranking) {
    ranking.predictions.load(edge, available, bit_depth);
    constexpr int vectors = N * N / 16;
    const auto get_block = [](Lanes(&x)[vectors], const auto &row) __attribute__((always_inline)) {
        if constexpr (N == 4)
            get_4x4(x[0], row);
        else
            for (int i = 0; i < vectors; i++) get_two_rows(x[i], row, 2 * i, 2 * i + 1);
    };
    Lanes from[vectors];
    get_block(from, rows_of(source));
#pragma GCC unroll 9
    for (int mode = 0; mode < kModes; mode++) {
        ranking.satd[mode] = kNotAvailable;
        if (!mode_available(mode, available)) continue;
        Lanes x[vectors];
        get_block(x, [&](int y) { return ranking.predictions.row(mode, y); });
        for (int i = 0; i < vectors; i++) x[i] -= from[i];
        ranking.satd[mode] = half_satd(x);
    }
}

}  // namespace

CUDAENC_CLONES void rank_4x4(ConstBlock at, const Available &available, int bit_depth, ConstBlock source,
                             Ranking<4> &ranking) {
    Edge<4> edge;
    edge.load(at.data, at.stride, available);
    rank(edge, available, bit_depth, source, ranking);
}

CUDAENC_CLONES void rank_8x8(ConstBlock at, const Available &available, int bit_depth, ConstBlock source,
                             Ranking<8> &ranking) {
    Edge<8> unfiltered, edge;
    unfiltered.load(at.data, at.stride, available);
    filter_edge(unfiltered, edge);
    rank(edge, available, bit_depth, source, ranking);
}

namespace {

[[gnu::always_inline]] inline uint32_t satd_16(const ConstBlock &a, const ConstBlock &b) {
    uint32_t sum = 0;
    for (int y = 0; y < 16; y += 4) {
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

[[gnu::always_inline]] inline uint32_t satd_8(const ConstBlock &a, const ConstBlock &b, int height) {
    uint32_t sum = 0;
    for (int y = 0; y < height; y += 8) {
        Lanes x[4];
        for (int i = 0; i < 4; i++) {
            Lanes other;
            get_two_rows(x[i], rows_of(a), y + i, y + i + 4);
            get_two_rows(other, rows_of(b), y + i, y + i + 4);
            x[i] -= other;
        }
        sum += half_satd_4x16(x);
    }
    return sum;
}

}  // namespace

CUDAENC_CLONES void rank_16x16(ConstBlock at, const Available &available, int bit_depth, ConstBlock source,
                               MacroblockRanking &ranking) {
    for (int mode = 0; mode < k16x16Modes; mode++) {
        ranking.satd[mode] = kNotAvailable;
        if (!mode_16x16_available(mode, available)) continue;
        predict_16x16(mode, at.data, at.stride, available, bit_depth, ranking.predictions[mode]);
        ranking.satd[mode] = satd_16(source, {ranking.predictions[mode], 16});
    }
}

CUDAENC_CLONES void rank_chroma(ConstBlock at, const Available &available, int bit_depth, int height, ConstBlock source,
                                MacroblockRanking &ranking) {
    for (int mode = 0; mode < kChromaModes; mode++) {
        ranking.satd[mode] = kNotAvailable;
        if (!chroma_mode_available(mode, available)) continue;
        if (height == 8)
            predict_chroma<8>(mode, at.data, at.stride, available, bit_depth, ranking.predictions[mode]);
        else
            predict_chroma<16>(mode, at.data, at.stride, available, bit_depth, ranking.predictions[mode]);
        ranking.satd[mode] = satd_8(source, {ranking.predictions[mode], 8}, height);
    }
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

namespace {

// ---- Bits of blocks.

// Bit i: lane i is not 0.
[[gnu::always_inline]] inline uint32_t nonzero_of(const Lanes &x) {
    constexpr Lanes bits = {1,      1 << 1, 1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,
                            1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, INT16_MIN};
    const Lanes marked = (x != 0) & bits;
    Half v = low(marked) | high(marked);
    v |= __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
    uint64_t four;
    std::memcpy(&four, &v, sizeof four);
    four |= four >> 32;
    return static_cast<uint32_t>(four | four >> 16) & 0xFFFF;
}

[[gnu::always_inline]] inline uint32_t count(const int16_t *scanned, uint32_t nonzero, int coefficients, Totals &totals,
                                             int x, int y) {
    BitCounter counter;
    const int nc = predict_total(totals[1 + y][x], totals[y][1 + x]);
    code_block(
        kCavlcTables, {token_table(nc), kZeros4x4, coefficients}, nonzero, [=](int k) { return scanned[k]; }, 0,
        counter);
    totals[1 + y][1 + x] = static_cast<int8_t>(count_ones(nonzero));
    return counter.bits;
}

// By index: its place in the zig-zag sequence.
constexpr auto kPlace8x8 = [] {
    std::array<uint8_t, 64> places{};
    for (int k = 0; k < 64; k++) places[kZigzag8x8[k]] = static_cast<uint8_t>(k);
    return places;
}();

}  // namespace

CUDAENC_CLONES uint32_t count_4x4(const int16_t *levels, bool ac, Totals &totals, int x, int y) {
    Lanes v;
    std::memcpy(&v, levels, sizeof v);
    constexpr const auto &z = kZigzag4x4;
    v = __builtin_shufflevector(v, v, z[0], z[1], z[2], z[3], z[4], z[5], z[6], z[7], z[8], z[9], z[10], z[11], z[12],
                                z[13], z[14], z[15]);
    alignas(32) int16_t scanned[16];
    std::memcpy(scanned, &v, sizeof v);
    return count(scanned + ac, nonzero_of(v) >> ac, 16 - ac, totals, x, y);
}

CUDAENC_CLONES uint32_t count_8x8(const int16_t *levels, Totals &totals, int x, int y) {
    int16_t scanned[4][16];
    uint32_t nonzero[4] = {};
    for (int i = 0; i < 64; i += 16) {
        Lanes v;
        std::memcpy(&v, levels + i, sizeof v);
        for (uint32_t rest = nonzero_of(v); rest; rest &= rest - 1) {
            const int at = i + count_trailing_zeros(rest), place = kPlace8x8[at];
            scanned[place % 4][place / 4] = levels[at];
            nonzero[place % 4] |= 1u << place / 4;
        }
    }
    uint32_t bits = 0;
    for (int i = 0; i < 4; i++) bits += count(scanned[i], nonzero[i], 16, totals, x + i % 2, y + i / 2);
    return bits;
}

}  // namespace cudaenc::h264
