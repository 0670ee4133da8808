// SPDX-License-Identifier: LGPL-2.1-or-later
// Quantised coefficients between transform and block coder.
#pragma once
#include <cstdint>

#include "../../hd.h"

namespace cudaenc::j2k {

// Bit 31 is the sign, below it lies the magnitude.
constexpr uint32_t kSignBit = 0x80000000u;
// Where all have so few bit-planes they may be indices of int16_t in place of that.
constexpr int kShortPlanes = 15;

CUDAENC_HD uint32_t sign_and_magnitude(int32_t index) {
    return index < 0 ? kSignBit | static_cast<uint32_t>(-index) : static_cast<uint32_t>(index);
}
CUDAENC_HD uint32_t magnitude(uint32_t coefficient) { return coefficient & ~kSignBit; }
CUDAENC_HD uint32_t magnitude(int16_t index) { return static_cast<uint32_t>(index < 0 ? -index : index); }

}  // namespace cudaenc::j2k
