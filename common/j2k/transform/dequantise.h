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

// The coefficients of a row as block decoders make them (block_decoder.h): twice the magnitude, in the middle of what
// is known. step: Delta_b (E-6), 1 where reversible. dequantise_row(): in place, to values or to their floats.
CUDAENC_HD uint32_t without_region(uint32_t twice, int region_shift) {
    const uint32_t region = twice >> min_of(region_shift, 31);
    return region_shift && region > 1 ? region | 1 : twice;  // its lowest bits are 0, and so known
}
// Reversible ones of samples of 16 bits are below 2^20. Damaged ones are clipped, so that no sum of 32 levels and of a
// component transform exceeds 32 bits: a level adds at most 5.25 times the largest.
constexpr uint32_t kMostReversible = 1u << 21;
CUDAENC_HD void dequantise_decoded(uint32_t coefficient, int region_shift, float, int32_t &value) {
    const uint32_t twice = without_region(magnitude(coefficient), region_shift);
    const auto known = static_cast<int32_t>(min_of(twice >> 1, kMostReversible));
    value = coefficient & kSignBit ? -known : known;
}
CUDAENC_HD void dequantise_decoded(uint32_t coefficient, int region_shift, float step, float &value) {
    const uint32_t twice = without_region(magnitude(coefficient), region_shift);
    const float known = static_cast<float>(static_cast<int32_t>(twice)) * (step / 2);
    uint32_t bits;
    __builtin_memcpy(&bits, &known, sizeof bits);
    bits |= coefficient & kSignBit;
    __builtin_memcpy(&value, &bits, sizeof value);
}
template <class Sample>
inline void dequantise_row(uint32_t *row, int count, int region_shift, float step) {
    for (int x = 0; x < count; x++) {
        Sample value;
        dequantise_decoded(row[x], region_shift, step, value);
        __builtin_memcpy(&row[x], &value, sizeof value);
    }
}

}  // namespace cudaenc::j2k
