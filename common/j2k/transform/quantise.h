// SPDX-License-Identifier: LGPL-2.1-or-later
// Dead-zone quantisation, T.800 Annex E.1.
#pragma once
#include <cstdint>

#include "../codestream/coefficient.h"

namespace cudaenc::j2k {

// Quantisation indices. Reversible: no step (T.800 E.1.2). `limit` is the largest magnitude the sub-band's bit-planes
// hold.
CUDAENC_HD int32_t quantisation_index(int32_t x, float, float) { return x; }
// The limit is below 2^24, exact as a float (see kFloatPlanes in quantisers.cpp). Conversion rounds towards 0.
CUDAENC_HD int32_t quantisation_index(float x, float inverse_step, float limit) {
    return static_cast<int32_t>(max_of(min_of(x * inverse_step, limit), -limit));
}
template <class Sample>
CUDAENC_HD uint32_t quantise(Sample x, float inverse_step, float limit) {
    return sign_and_magnitude(quantisation_index(x, inverse_step, limit));
}

}  // namespace cudaenc::j2k
