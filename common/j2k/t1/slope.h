// SPDX-License-Identifier: LGPL-2.1-or-later
// Slopes: distortion reduction over bytes, as logarithms. Weights of sub-bands have the same unit.
#pragma once
#include <cstdint>

#include "../../hd.h"

namespace cudaenc::j2k {

// kSlopeOctave codes are a factor of two, so that a table has a bin for each of kSlopes codes. Code 0 is no slope.
constexpr int kSlopes = 32768, kSlopeOctaveLog2 = 9, kSlopeOctave = 1 << kSlopeOctaveLog2;
constexpr int kLowestSlope = -14;  // in octaves
// Estimates use a table of fewer bins.
constexpr int kStopBins = 1024, kSlopesOfBin = kSlopes / kStopBins;

// kSlopeOctave log2(x), x > 0. Between powers of two a parabola, at most 1 % of an octave off. The highest 17 bits of x
// count.
CUDAENC_HD int log2_code(uint32_t x) {
    const int whole = floor_log2(x);
    const uint32_t rest = x << (31 - whole) >> 15 & 0xFFFF;
    return whole * kSlopeOctave + static_cast<int>((rest * 128 + (rest * (0x10000 - rest) >> 16) * 44) >> 14);
}
CUDAENC_HD int log2_code(uint64_t x) {
    const uint32_t high = static_cast<uint32_t>(x >> 32);
    if (!high) return log2_code(static_cast<uint32_t>(x));
    const int left_out = 1 + floor_log2(high);
    return left_out * kSlopeOctave + log2_code(static_cast<uint32_t>(x >> left_out));
}

// 2^(code / kSlopeOctave) in 1 / 2^kExp2FractionLog2, at most 0.3 % off. code: less than an octave.
constexpr int kExp2FractionLog2 = 15;
CUDAENC_HD uint32_t exp2_code(int code) {
    static_assert(kSlopeOctaveLog2 == 9);
    return (1u << kExp2FractionLog2) + 64u * code - (static_cast<uint32_t>(code * (kSlopeOctave - code)) * 22 >> 9);
}

// From one truncation point of a block to a later one. reduction: in 1/64 squared steps; weight: log2_code() of what a
// squared step weighs in the picture.
CUDAENC_HD uint32_t slope_of(uint64_t reduction, uint32_t bytes, int weight) {
    if (!bytes) return kSlopes - 1;
    const int code = log2_code(reduction) - log2_code(bytes) + weight - (kLowestSlope + 6) * kSlopeOctave;
    return static_cast<uint32_t>(min_of(max_of(code, 1), kSlopes - 1));
}

}  // namespace cudaenc::j2k
