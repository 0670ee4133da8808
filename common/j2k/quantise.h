// Dead-zone quantisation, T.800 Annex E.1, to the form tier-1 reads: bit 31 the sign, below it the magnitude.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../hd.h"

namespace cudaenc::j2k {

constexpr uint32_t kSignBit = 0x80000000u;

// Quantisation indices. Reversible: no step (T.800 E.1.2). `limit` is the largest magnitude the sub-band's bit-planes
// hold.
CUDAENC_HD int32_t quantisation_index(int32_t x, float, float) { return x; }
// The limit is below 2^24, exact as a float (see kFloatPlanes in quantisers.cpp). Conversion rounds towards 0.
CUDAENC_HD int32_t quantisation_index(float x, float inverse_step, float limit) {
    return static_cast<int32_t>(max_of(min_of(x * inverse_step, limit), -limit));
}
CUDAENC_HD uint32_t sign_and_magnitude(int32_t index) {
    return index < 0 ? kSignBit | static_cast<uint32_t>(-index) : static_cast<uint32_t>(index);
}
template <class Sample>
CUDAENC_HD uint32_t quantise(Sample x, float inverse_step, float limit) {
    return sign_and_magnitude(quantisation_index(x, inverse_step, limit));
}

// Indices of so many bit-planes fit int16_t.
constexpr int kShortPlanes = 15;

// Of a coefficient as quantise() makes it, and of a quantisation index.
CUDAENC_HD uint32_t magnitude(uint32_t coefficient) { return coefficient & ~kSignBit; }
CUDAENC_HD uint32_t magnitude(int16_t index) { return static_cast<uint32_t>(index < 0 ? -index : index); }

}  // namespace cudaenc::j2k
