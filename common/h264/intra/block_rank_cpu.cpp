// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_rank_cpu.h"

#include <algorithm>
#include <cstring>

#include "../../simd.h"
#include "../../vectors.h"
#include "intra_nxn.h"

namespace cudaenc::h264 {

namespace {

// ---- Hadamard transforms of differences. 16 lanes are a 4x4 block, two rows of 8, or a row of 16. The sum does not
// depend on their order, so a step pairs lanes whose numbers differ in one bit.

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
// The last step: |a + b| + |a - b| is twice the larger magnitude. This keeps sums within 16 bits.
[[gnu::always_inline]] inline Lanes magnitude(const Lanes &x) { return x < 0 ? -x : x; }
template <class Vector>
[[gnu::always_inline]] inline Vector larger(const Vector &a, const Vector &b) {
    return a > b ? a : b;
}

// Adds pairs of 16-bit numbers, not negative, to sums of 32 bits.
[[gnu::always_inline]] inline void add_pairs(Row4 &sum, const Half &x) {
    const Row4 pairs = (Row4)x;
    sum += (pairs & 0xFFFF) + (pairs >> 16);
}
[[gnu::always_inline]] inline uint32_t sum_of(const Row4 &x) {
    const Row4 two = x + __builtin_shufflevector(x, x, 2, 3, 0, 1);
    return static_cast<uint32_t>(two[0] + two[1]);
}
template <class Vector>
[[gnu::always_inline]] inline void get(Vector &v, const Sample *from) {
    std::memcpy(&v, from, sizeof v);
}
// row(y): the samples of row y.
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

[[gnu::always_inline]] inline void hadamard_columns(Lanes (&x)[4]) {
    hadamard_step(x[0], x[1]);
    hadamard_step(x[2], x[3]);
    hadamard_step(x[0], x[2]);
    hadamard_step(x[1], x[3]);
}

// Half the SATD of the differences of a 4x4 block.
[[gnu::always_inline]] inline uint32_t half_satd(Lanes (&x)[1]) {
    hadamard_step<1>(x[0]);
    hadamard_step<2>(x[0]);
    hadamard_step<4>(x[0]);
    x[0] = magnitude(x[0]);
    Row4 sum{};
    add_pairs(sum, larger(low(x[0]), high(x[0])));
    return sum_of(sum);
}

// A quarter of that of an 8x8 block, two rows a vector.
[[gnu::always_inline]] inline uint32_t half_satd(Lanes (&x)[4]) {
    hadamard_columns(x);
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

// The rest of the SATD of four 4x4 blocks in four rows, whose columns are transformed: each number occurs twice.
[[gnu::always_inline]] inline void rows_of_satd_4x16(Lanes (&x)[4]) {
#pragma GCC unroll 4
    for (Lanes &v : x) {
        hadamard_step<1>(v);
        v = magnitude(v);
        v = larger(v, partner<2>(v));
    }
}
[[gnu::always_inline]] inline void add_lanes(Row4 &sum, const Lanes &v) {
    add_pairs(sum, low(v));
    add_pairs(sum, high(v));
}
[[gnu::always_inline]] inline uint32_t half_satd_4x16(Lanes (&x)[4]) {
    hadamard_columns(x);
    rows_of_satd_4x16(x);
    Row4 sum{};
    for (const Lanes &v : x) add_lanes(sum, v);
    return sum_of(sum) / 2;
}

}  // namespace

CUDAENC_CLONES void rank_4x4(ConstBlock at, const Available &available, int bit_depth, ConstBlock source,
                             Predictions<4> &predictions, uint32_t (&costs)[kModes]) {
    for (int mode = 0; mode < kModes; mode++)
        if (!mode_available(mode, available)) costs[mode] = kNotAvailable;
    Lanes from;
    get_4x4(from, rows_of(source));
    predict_4x4(at.data, at.stride, available, bit_depth,
                [&](int mode, const Lanes &prediction) __attribute__((always_inline)) {
                    std::memcpy(predictions.of_mode[mode], &prediction, sizeof prediction);
                    Lanes x[1] = {prediction - from};
                    costs[mode] += half_satd(x);
                });
}

CUDAENC_CLONES void rank_8x8(ConstBlock at, const Available &available, int bit_depth, ConstBlock source,
                             Predictions<8> &predictions, uint32_t (&costs)[kModes]) {
    for (int mode = 0; mode < kModes; mode++)
        if (!mode_available(mode, available)) costs[mode] = kNotAvailable;
    Lanes from[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) get_two_rows(from[i], rows_of(source), 2 * i, 2 * i + 1);
    predict_8x8(at.data, at.stride, available, bit_depth,
                [&](int mode, const Lanes(&prediction)[4]) __attribute__((always_inline)) {
                    std::memcpy(predictions.of_mode[mode], prediction, sizeof prediction);
                    Lanes x[4];
#pragma GCC unroll 4
                    for (int i = 0; i < 4; i++) x[i] = prediction[i] - from[i];
                    costs[mode] += half_satd(x);
                });
}

CUDAENC_CLONES void predict_4x4(ConstBlock at, const Available &available, int bit_depth, Predictions<4> &predictions) {
    predict_4x4(at.data, at.stride, available, bit_depth,
                [&](int mode, const Lanes &prediction) __attribute__((always_inline)) {
                    std::memcpy(predictions.of_mode[mode], &prediction, sizeof prediction);
                });
}

CUDAENC_CLONES void predict_8x8(ConstBlock at, const Available &available, int bit_depth, Predictions<8> &predictions) {
    predict_8x8(at.data, at.stride, available, bit_depth,
                [&](int mode, const Lanes(&prediction)[4]) __attribute__((always_inline)) {
                    std::memcpy(predictions.of_mode[mode], prediction, sizeof prediction);
                });
}

namespace {

// Half the SATD over 4x4 blocks, 64 samples at a time: 4 rows of 16, or 8 rows of 8.
template <int Width>
[[gnu::always_inline]] inline uint32_t half_satd(const ConstBlock &a, const ConstBlock &b, int height) {
    const auto get_rows = [](Lanes &v, const ConstBlock &from, int y) __attribute__((always_inline)) {
        if constexpr (Width == 16)
            get(v, from.data + y * from.stride);
        else
            get_two_rows(v, rows_of(from), y, y + 4);
    };
    uint32_t sum = 0;
    for (int y = 0; y < height; y += 64 / Width) {
        Lanes x[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            Lanes other;
            get_rows(x[i], a, y + i);
            get_rows(other, b, y + i);
            x[i] -= other;
        }
        sum += half_satd_4x16(x);
    }
    return sum;
}

// mode_of(i): the Mode16x16 of mode i.
template <int Width, class ModeOf>
[[gnu::always_inline]] inline void rank_macroblock(ConstBlock at, const Available &available, int bit_depth, int height,
                                                   ConstBlock source, MacroblockPredictions &predictions,
                                                   uint32_t (&costs)[4], const ModeOf &mode_of) {
    for (int i = 0; i < 4; i++) {
        const int mode = mode_of(i);
        Sample *to = predictions.of_mode[i];
        if (!mode_16x16_available(mode, available)) {
            costs[i] = kNotAvailable;
            continue;
        }
        if (height == 16)
            predict_macroblock<Width, 16>(mode, at.data, at.stride, available, bit_depth, to);
        else
            predict_macroblock<Width, 8>(mode, at.data, at.stride, available, bit_depth, to);
        costs[i] += half_satd<Width>(source, {to, Width}, height);
    }
}

}  // namespace

CUDAENC_CLONES uint32_t texture_of(ConstBlock source) {
    Row4 texture{};
#pragma GCC unroll 1
    for (int y = 0; y < 16; y += 4) {
        Lanes x[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) get(x[i], source.data + (y + i) * source.stride);
        hadamard_columns(x);
        const Lanes means = x[0];
        rows_of_satd_4x16(x);
        add_lanes(texture, x[0] + x[1] - means);
        add_lanes(texture, x[2] + x[3]);
    }
    return sum_of(texture);
}

CUDAENC_CLONES void rank_16x16(ConstBlock at, const Available &available, int bit_depth, ConstBlock source,
                               MacroblockPredictions &predictions, uint32_t (&costs)[4]) {
    rank_macroblock<16>(at, available, bit_depth, 16, source, predictions, costs, [](int mode) { return mode; });
}

CUDAENC_CLONES void rank_chroma(ConstBlock at, const Available &available, int bit_depth, int height, ConstBlock source,
                                MacroblockPredictions &predictions, uint32_t (&costs)[4]) {
    rank_macroblock<8>(at, available, bit_depth, height, source, predictions, costs, mode_of_chroma);
}

}  // namespace cudaenc::h264
