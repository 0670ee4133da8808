// SPDX-License-Identifier: LGPL-2.1-or-later
// Words of two numbers, lanes that exchange lines, quantisers.
#pragma once
#include "../../../common/h264/intra/transform.h"
#include "state.cuh"

namespace cudaenc::h264 {

DEVICE uint32_t magnitude_of(int32_t x) { return static_cast<uint32_t>(x < 0 ? -x : x); }

// Two numbers of 16 bits in a word, high 2^16 + low: sums and differences of words are those of both.
DEVICE uint32_t pair_of(uint32_t low, uint32_t high) { return low + (high << 16); }
// The larger magnitude: half of |low + high| + |low - high|, the last step of a Hadamard transform.
DEVICE uint32_t larger_of_pair(uint32_t pair) {
    const int32_t low = static_cast<int16_t>(pair & 0xFFFF);
    const int32_t high = static_cast<int32_t>(pair - static_cast<uint32_t>(low)) >> 16;
    return max_of(magnitude_of(low), magnitude_of(high));
}
DEVICE void butterfly(uint32_t &a, uint32_t &b) {
    const uint32_t sum = a + b;
    b = a - b;
    a = sum;
}

// Half the SATD of four rows of `Pairs` pairs of differences, without the step across pairs of four rows.
template <int Pairs>
DEVICE void hadamard_rows(uint32_t (&v)[4][Pairs]) {
    CUDAENC_UNROLL
    for (int y = 0; y < 4; y++) {
        if constexpr (Pairs == 4) {
            butterfly(v[y][0], v[y][2]);
            butterfly(v[y][1], v[y][3]);
            butterfly(v[y][2], v[y][3]);
        }
        butterfly(v[y][0], v[y][1]);
    }
    CUDAENC_UNROLL
    for (int i = 0; i < Pairs; i++) {
        butterfly(v[0][i], v[1][i]);
        butterfly(v[2][i], v[3][i]);
        butterfly(v[0][i], v[2][i]);
        butterfly(v[1][i], v[3][i]);
    }
}
DEVICE uint32_t half_satd(uint32_t (&v)[4][2]) {
    hadamard_rows(v);
    uint32_t sum = 0;
    CUDAENC_UNROLL
    for (int y = 0; y < 4; y++) sum += larger_of_pair(v[y][0]) + larger_of_pair(v[y][1]);
    return sum;
}

// Lane l of each N lanes has column l; then it has row l. With a whole warp.
template <int N>
DEVICE void transpose_lanes(int32_t (&v)[N]) {
    CUDAENC_UNROLL
    for (int bit = 1; bit < N; bit <<= 1) {
        const bool odd = (lane_id() & bit) != 0;
        CUDAENC_UNROLL
        for (int i = 0; i < N; i++) {
            if (i & bit) continue;
            const int32_t got = warp_shuffle_xor(odd ? v[i] : v[i | bit], bit);
            v[i] = odd ? got : v[i];
            v[i | bit] = odd ? v[i | bit] : got;
        }
    }
}

// The least over the lanes whose numbers differ in the bits of Mask.
template <int Mask>
DEVICE uint32_t least_of_lanes(uint32_t v) {
    CUDAENC_UNROLL
    for (int bit = 1; bit <= Mask; bit <<= 1)
        if (Mask & bit) v = min_of(v, warp_shuffle_xor(v, bit));
    return v;
}
template <int Mask>
DEVICE uint32_t sum_of_lanes(uint32_t v) {
    CUDAENC_UNROLL
    for (int bit = 1; bit <= Mask; bit <<= 1)
        if (Mask & bit) v += warp_shuffle_xor(v, bit);
    return v;
}

DEVICE int32_t rounding_of(int32_t fraction, int32_t shift) { return fraction << (shift - 8); }
DEVICE int32_t quantise(int32_t c, int32_t multiplier, int32_t rounding, int32_t shift) {
    const int32_t sign = c >> 31;
    return ((((c ^ sign) - sign) * multiplier + rounding) >> shift ^ sign) - sign;
}
// The product exceeds 32 bits.
DEVICE int32_t quantise_dc(int32_t c, int32_t multiplier, int32_t shift, int32_t rounding = kRounding.dc) {
    const int64_t magnitude = magnitude_of(c);
    const int32_t level = static_cast<int32_t>((magnitude * multiplier + rounding_of(rounding, shift)) >> shift);
    return c < 0 ? -level : level;
}
// The sums of a few levels in a word: bits low, nonzero levels high. The bits of a line of levels are below 2^16.
DEVICE uint32_t packed_level(int32_t level) {
    const uint32_t magnitude = magnitude_of(level);
    return magnitude ? (1u << 16) + estimated_level_bits(magnitude) : 0;
}
DEVICE LevelSums unpacked_sums(uint32_t packed) { return {packed & 0xFFFF, packed >> 16}; }
DEVICE int32_t clip(int32_t v, int32_t most) { return max_of(min_of(v, most), 0); }
DEVICE uint32_t mode_bits(uint32_t code) { return 2 * static_cast<uint32_t>(floor_log2(code + 1)) + 1; }

DEVICE uint32_t word_of(const uint8_t *bytes, int i) {
    return *reinterpret_cast<const uint32_t *>(__builtin_assume_aligned(bytes + 4 * i, 4));
}
// Two samples from an even place on, which pair_of() would make of them.
DEVICE uint32_t pair_at(const uint16_t *samples) {
    uint32_t pair;
    __builtin_memcpy(&pair, __builtin_assume_aligned(samples, 4), sizeof pair);
    return pair;
}
// A line of levels of 16 bits, which goes to a multiple of 8 bytes.
using AnyWord __attribute__((may_alias)) = uint32_t;
using FourLevels __attribute__((may_alias)) = uint64_t;
template <int N>
struct LevelLine {
    uint64_t fours[N / 4];
    DEVICE_MEMBER void pack(const int32_t (&v)[N]) {
        const auto pair = [&](int i) {
            return byte_permute(static_cast<uint32_t>(v[i]), static_cast<uint32_t>(v[i + 1]), 0x5410);
        };
        CUDAENC_UNROLL
        for (int i = 0; i < N; i += 4) fours[i / 4] = uint64_t{pair(i + 2)} << 32 | pair(i);
    }
    DEVICE_MEMBER void store(int16_t *to) const {
        CUDAENC_UNROLL
        for (int i = 0; i < N / 4; i++) reinterpret_cast<FourLevels *>(to)[i] = fours[i];
    }
};
// A row of a table of the quantiser.
template <int N>
DEVICE void load_row(const int32_t *table, int row, int32_t (&v)[N]) {
    CUDAENC_UNROLL
    for (int i = 0; i < N; i += 4) {
        const Uint4 four = load_readonly(reinterpret_cast<const Uint4 *>(table + N * row + i));
        v[i] = static_cast<int32_t>(four.x), v[i + 1] = static_cast<int32_t>(four.y);
        v[i + 2] = static_cast<int32_t>(four.z), v[i + 3] = static_cast<int32_t>(four.w);
    }
}
// Of a picture, in column x of a row.
DEVICE uint32_t sample_of(const SampleLayout &s, const uint8_t *row, int x) {
    const uint8_t *at = row + x * s.step;
    const uint32_t word = s.shift + s.depth > 8 ? *reinterpret_cast<const uint16_t *>(at) : *at;
    return word >> s.shift & ((1u << s.depth) - 1);
}
// The sample at an offset in bytes.
DEVICE uint32_t sample_at(const uint16_t *samples, uint32_t offset) {
    return *reinterpret_cast<const uint16_t *>(reinterpret_cast<const char *>(samples) + offset);
}
DEVICE uint32_t byte_of(uint32_t word, int i) { return word >> 8 * i & 255; }

}  // namespace cudaenc::h264
