// Dead-zone quantisation, T.800 Annex E.1, to the form tier-1 reads: bit 31 the sign, below it the magnitude.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../hd.h"

namespace cudaenc::j2k {

constexpr uint32_t kSignBit = 0x80000000u;

// Reversible: no step (T.800 E.1.2). `limit` is the largest magnitude the sub-band's bit-planes hold.
CUDAENC_HD uint32_t quantise(int32_t x, float, float) {
    return x < 0 ? kSignBit | static_cast<uint32_t>(-x) : static_cast<uint32_t>(x);
}

// The limit is below 2^24, which a float holds exactly (see kFloatPlanes in params.cpp). Conversion rounds towards 0.
CUDAENC_HD uint32_t quantise(float x, float inverse_step, float limit) {
    const float scaled = max_of(min_of(x * inverse_step, limit), -limit);
    return quantise(static_cast<int32_t>(scaled), 0, limit);
}

}  // namespace cudaenc::j2k
