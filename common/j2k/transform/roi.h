// SPDX-License-Identifier: LGPL-2.1-or-later
// The region of interest by the max-shift method, T.800 Annex H: its coefficients lie in bit-planes above all others'.
#pragma once
#include <cstdint>

#include "quantise.h"

namespace cudaenc::j2k {

// What of a code-block belongs to the region: [x0, x1) x [y0, y1) of its coefficients.
struct RoiBlock {
    uint32_t block;
    uint16_t x0, y0, x1, y1;
};

// [begin, end) of coordinates.
struct Span {
    int64_t begin, end;
};
// What of a level's low or high half the samples of a span are made of (T.800 H.3). It may reach beyond what there is.
inline Span region_of_half(const Span &span, bool high, bool reversible) {
    const int64_t more = reversible ? 0 : 1;
    return {(span.begin >> 1) - more - (high ? 1 : 0), (span.end >> 1) + 1 + more};
}

CUDAENC_HD uint32_t shift_up(uint32_t coefficient, int shift) {
    return (coefficient & kSignBit) | (coefficient & ~kSignBit) << shift;
}

}  // namespace cudaenc::j2k
