// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_cpu.h"

#include <array>
#include <cstring>

#include "../simd.h"
#include "../vectors.h"
#include "macroblock_layer.h"
#include "transform.h"

namespace cudaenc::h264 {

namespace {

// ---- Hadamard transforms of differences: 16 lanes are a 4x4 block, two rows of 8, or a row of 16. Their order does
// not matter to the sum, so a step pairs the lanes whose numbers differ in one bit.

using Lanes = int16_t __attribute__((vector_size(32)));
using Half = int16_t __attribute__((vector_size(16)));
using Longs = int64_t __attribute__((vector_size(32)));

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
    Longs rows;
    for (int y = 0; y < 4; y++) {
        int64_t samples;
        std::memcpy(&samples, row(y), sizeof samples);
        rows[y] = samples;
    }
    x = (Lanes)rows;
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
#pragma GCC unroll 4
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
#pragma GCC unroll 4
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
#pragma GCC unroll 4
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
#pragma GCC unroll 4
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
#pragma GCC unroll 4
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
#pragma GCC unroll 4
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

// A 4x4 block's levels in the order of the scan, and what they were before rounding, by 2^-8.
struct Scanned {
    alignas(32) int16_t levels[16], exact[16];
    uint32_t nonzero;  // bit k: level k is not 0
    uint32_t ones;     // it is one of those to be looked at
};

// Decides on those of 1, from the highest frequency on: dropped(k) is told which become 0. Bits of the block.
template <class Dropped>
[[gnu::always_inline]] inline uint32_t round_by_rate(Scanned &s, int first, int32_t bits_per_step, Totals &totals,
                                                     int x, int y, const Dropped &dropped) {
    const BlockCode code = {token_table(predict_total(totals[1 + y][x], totals[y][1 + x])), kZeros4x4, 16 - first};
    const auto count = [&](uint32_t nonzero) {
        BitCounter counter;
        code_block(kCavlcTables, code, nonzero >> first, [&](int k) { return s.levels[first + k]; }, 0, counter);
        return counter.bits;
    };
    uint32_t bits = count(s.nonzero);
    for (uint32_t rest = s.ones; rest;) {
        const int k = floor_log2(rest);
        rest ^= 1u << k;
        const uint32_t fewer = count(s.nonzero ^ 1u << k);
        // The squared error grows from (exact - 1)^2 to exact^2.
        if (static_cast<int32_t>(bits - fewer) * 256 <= (2 * s.exact[k] - 256) * bits_per_step) continue;
        bits = fewer;
        s.nonzero ^= 1u << k;
        dropped(k);
    }
    totals[1 + y][1 + x] = static_cast<int8_t>(count_ones(s.nonzero));
    return bits;
}

constexpr Lanes kOnes = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
// Levels of 1 and -1 that may be worth less than their bits.
[[gnu::always_inline]] inline Lanes doubtful(const Lanes &levels, const Lanes &exact) {
    return (magnitude(levels) == kOnes) & (exact < 240);
}

// By index: its place in the zig-zag sequence.
constexpr auto kPlace8x8 = [] {
    std::array<uint8_t, 64> places{};
    for (int k = 0; k < 64; k++) places[kZigzag8x8[k]] = static_cast<uint8_t>(k);
    return places;
}();

// Levels in raster order, N of a row: whether any became 0 here, and the bits.
struct Rounded {
    bool changed;
    uint32_t bits;
};

[[gnu::always_inline]] inline Rounded round_4x4(int16_t *levels, const Lanes (&level)[1], const Lanes (&exact)[1],
                                                int first, int32_t bits_per_step, Totals &totals, int x, int y) {
    constexpr const auto &z = kZigzag4x4;
    const auto scan = [](const Lanes &v) __attribute__((always_inline)) {
        return __builtin_shufflevector(v, v, z[0], z[1], z[2], z[3], z[4], z[5], z[6], z[7], z[8], z[9], z[10], z[11],
                                       z[12], z[13], z[14], z[15]);
    };
    const Lanes level_scan = scan(level[0]), exact_scan = scan(exact[0]);
    Scanned s;
    std::memcpy(s.levels, &level_scan, sizeof s.levels);
    std::memcpy(s.exact, &exact_scan, sizeof s.exact);
    s.nonzero = nonzero_of(level_scan);
    s.ones = bits_per_step && s.nonzero ? nonzero_of(doubtful(level_scan, exact_scan)) : 0;
    Rounded r{false, 0};
    r.bits = round_by_rate(s, first, bits_per_step, totals, x, y, [&](int k) {
        levels[kZigzag4x4[k]] = 0;
        r.changed = true;
    });
    return r;
}

[[gnu::always_inline]] inline Rounded round_8x8(int16_t *levels, const Lanes (&level)[4], const Lanes (&exact)[4],
                                                int32_t bits_per_step, Totals &totals, int x, int y) {
    Scanned s[4];
    for (Scanned &part : s) part.nonzero = part.ones = 0;
    alignas(32) int16_t exact_levels[64];
    std::memcpy(exact_levels, exact, sizeof exact_levels);
    for (int i = 0; i < 4; i++) {
        const uint32_t ones = bits_per_step ? nonzero_of(doubtful(level[i], exact[i])) : 0;
        for (uint32_t rest = nonzero_of(level[i]); rest; rest &= rest - 1) {
            const int lane = count_trailing_zeros(rest), at = 16 * i + lane, place = kPlace8x8[at], k = place / 4;
            Scanned &part = s[place % 4];
            part.levels[k] = levels[at];
            part.exact[k] = exact_levels[at];
            part.nonzero |= 1u << k;
            part.ones |= (ones >> lane & 1) << k;
        }
    }
    Rounded r{false, 0};
    for (int i = 0; i < 4; i++)
        r.bits += round_by_rate(s[i], 0, bits_per_step, totals, x + i % 2, y + i / 2, [&](int k) {
            levels[kZigzag8x8[4 * k + i]] = 0;
            r.changed = true;
        });
    return r;
}

}  // namespace

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

// Rows of an NxN block, two or four a vector, narrowed.
[[gnu::always_inline]] inline void narrow(const Row4 (&v)[4], Lanes (&to)[1]) {
    const Row8 a = __builtin_shufflevector(v[0], v[1], 0, 1, 2, 3, 4, 5, 6, 7);
    const Row8 b = __builtin_shufflevector(v[2], v[3], 0, 1, 2, 3, 4, 5, 6, 7);
    to[0] = join(__builtin_convertvector(a, Half), __builtin_convertvector(b, Half));
}
[[gnu::always_inline]] inline void narrow(const Row8 (&v)[8], Lanes (&to)[4]) {
    for (int i = 0; i < 4; i++)
        to[i] = join(__builtin_convertvector(v[2 * i], Half), __builtin_convertvector(v[2 * i + 1], Half));
}

// From transposed coefficients to levels, transposed too, which go to memory in raster order. `first`: those before
// have no level here. The bits of the block.
template <class Line, int N>
[[gnu::always_inline]] inline uint32_t quantise_block(Line (&v)[N], const int32_t *multipliers, int32_t shift,
                                                      const Rounding &rounding, int first, int16_t *levels,
                                                      Totals &totals, int x, int y) {
    const bool by_rate = rounding.bits_per_step;
    Line rows[N], products[N];
    if (first) v[0][0] = 0;
    for (int i = 0; i < N; i++) {
        Line multiplier, round = Line{} + rounding_of(rounding.ac, shift);
        load<int32_t>(multiplier, multipliers + N * i);
        if (i == 0) round[0] = rounding_of(rounding.dc, shift);
        const Line sign = v[i] >> 31;
        products[i] = ((v[i] ^ sign) - sign) * multiplier;
        v[i] = (((products[i] + round) >> shift) ^ sign) - sign;
        rows[i] = v[i];
    }
    transpose(rows);
    Lanes level[N * N / 16], exact[N * N / 16] = {};
    narrow(rows, level);
    if (by_rate) {
        for (Line &p : products) {
            p >>= shift - 8;
            p = p > INT16_MAX ? Line{} + INT16_MAX : p;
        }
        transpose(products);
        narrow(products, exact);
    }
    std::memcpy(levels, level, sizeof level);
    Rounded rounded;
    if constexpr (N == 4)
        rounded = round_4x4(levels, level, exact, first, rounding.bits_per_step, totals, x, y);
    else
        rounded = round_8x8(levels, level, exact, rounding.bits_per_step, totals, x, y);
    if (rounded.changed) {
        for (int i = 0; i < N; i++) load<int16_t>(v[i], levels + N * i);
        transpose(v);
    }
    return rounded.bits;
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

CUDAENC_CLONES Coded code_4x4(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                              const Rounding &rounding, int bit_depth, int16_t *levels, Block reconstruction,
                              Totals &totals, int x, int y) {
    Row4 v[4];
    get_residual(v, source, prediction);
    forward(v);
    const uint32_t bits =
        quantise_block(v, quantiser.multiplier_4x4.data(), quantiser.shift_4x4, rounding, 0, levels, totals, x, y);
    scale_block(v, quantiser.scale_4x4.data());
    return {inverse(v, source, prediction, bit_depth, reconstruction), bits};
}

CUDAENC_CLONES Coded code_8x8(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                              const Rounding &rounding, int bit_depth, int16_t *levels, Block reconstruction,
                              Totals &totals, int x, int y) {
    Row8 v[8];
    get_residual(v, source, prediction);
    forward(v);
    const uint32_t bits =
        quantise_block(v, quantiser.multiplier_8x8.data(), quantiser.shift_8x8, rounding, 0, levels, totals, x, y);
    scale_block(v, quantiser.scale_8x8.data());
    return {inverse(v, source, prediction, bit_depth, reconstruction), bits};
}

namespace {

[[gnu::always_inline]] inline bool any_of(const int16_t *levels, int count) {
    int16_t any = 0;
    for (int i = 0; i < count; i++) any |= levels[i];
    return any != 0;
}

[[gnu::always_inline]] inline uint32_t count_dc(const int16_t *levels, const uint8_t *places, const BlockCode &code) {
    return count_block(ScannedLevels{levels, places, 1}, code).bits;
}

[[gnu::always_inline]] inline void reload(Row4 (&v)[4], const int16_t *levels) {
    for (int i = 0; i < 4; i++) load<int16_t>(v[i], levels + 4 * i);
    transpose(v);
}

}  // namespace

CUDAENC_CLONES CodedMacroblock code_16x16(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                                          const Rounding &rounding, int bit_depth, int16_t *levels,
                                          Block reconstruction, Totals &totals) {
    CodedMacroblock coded{};
    alignas(16) int32_t dc[4][4];
    for (int b = 0; b < 16; b++) {
        const int x = luma_block_x(b), y = luma_block_y(b);
        Row4 v[4];
        get_residual(v, part(source, 4 * x, 4 * y), part(prediction, 4 * x, 4 * y));
        forward(v);
        dc[y][x] = v[0][0];
        coded.ac_bits += quantise_block(v, quantiser.multiplier_4x4.data(), quantiser.shift_4x4, rounding, 1,
                                        levels + 16 * b, totals, x, y);
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
    for (int b = 0; b < 16; b++) {
        const int x = luma_block_x(b), y = luma_block_y(b);
        reload(v, levels + 16 * b);
        scale_block(v, quantiser.scale_4x4.data());
        v[0][0] = dc[y][x];
        coded.distortion += inverse(v, part(source, 4 * x, 4 * y), part(prediction, 4 * x, 4 * y), bit_depth,
                                    part(reconstruction, 4 * x, 4 * y));
    }
    coded.dc = true;
    coded.ac = any_of(levels, 256);
    coded.dc_bits =
        count_dc(levels + 256, kZigzag4x4, {token_table(predict_total(totals[1][0], totals[0][1])), kZeros4x4, 16});
    return coded;
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

CUDAENC_CLONES CodedMacroblock code_chroma(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                                           const Quantiser &dc_quantiser, const Rounding &rounding, int bit_depth,
                                           int height, int16_t *dc_levels, int16_t *ac, Block reconstruction,
                                           Totals &totals) {
    CodedMacroblock coded{};
    int32_t dc[8] = {};
    const int blocks = height / 2;
    for (int b = 0; b < blocks; b++) {
        const int x = b % 2, y = b / 2;
        Row4 v[4];
        get_residual(v, part(source, 4 * x, 4 * y), part(prediction, 4 * x, 4 * y));
        forward(v);
        dc[b] = v[0][0];
        coded.ac_bits += quantise_block(v, quantiser.multiplier_4x4.data(), quantiser.shift_4x4, rounding, 1,
                                        ac + 16 * b, totals, x, y);
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
    for (int b = 0; b < blocks; b++) {
        const int x = b % 2 * 4, y = b / 2 * 4;
        Row4 v[4];
        reload(v, ac + 16 * b);
        scale_block(v, quantiser.scale_4x4.data());
        v[0][0] = height == 8 ? (dc[b] * dc_quantiser.dc_scale) >> 5 : (dc[b] * dc_quantiser.dc_scale + 32) >> 6;
        coded.distortion +=
            inverse(v, part(source, x, y), part(prediction, x, y), bit_depth, part(reconstruction, x, y));
    }
    coded.dc = any_of(dc_levels, blocks);
    coded.ac = any_of(ac, 16 * blocks);
    coded.dc_bits = count_dc(dc_levels, blocks == 4 ? kChromaDcScan420 : kChromaDcScan422, chroma_dc_code(blocks));
    return coded;
}

}  // namespace cudaenc::h264
