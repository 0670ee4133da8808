// SPDX-License-Identifier: LGPL-2.1-or-later
// Reconstruction of coefficients, T.800 E.1.1.2 and E.1.2.2.
#pragma once
#include "../codestream/coefficient.h"

namespace cudaenc::j2k {

// A coefficient of which the bit-planes from `plane` on are known, in the middle of what it can be (r = 1/2). Those of
// a region of interest lie `region_shift` bit-planes higher (H.1).
CUDAENC_HD void dequantise(uint32_t coefficient, int plane, int region_shift, float, int32_t &value) {
    uint32_t known = magnitude(coefficient) >> plane << plane;
    if (known && plane) known |= 1u << (plane - 1);
    if (known >> region_shift) known >>= region_shift;
    value = coefficient & kSignBit ? -static_cast<int32_t>(known) : static_cast<int32_t>(known);
}
CUDAENC_HD void dequantise(uint32_t coefficient, int plane, int region_shift, float inverse_step, float &value) {
    const uint32_t known = magnitude(coefficient) >> plane << plane;
    float x = known ? static_cast<float>(known) + static_cast<float>(1u << plane) / 2 : 0;
    if (known >> region_shift) x /= static_cast<float>(1u << region_shift);
    value = (coefficient & kSignBit ? -x : x) / inverse_step;
}

}  // namespace cudaenc::j2k
