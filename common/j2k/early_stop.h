// Where tier-1 stops early for rate control (Martinez-del-Amor et al., 2017, 5.2 and 5.3).
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "rate.h"

namespace cudaenc::j2k {

// Blocks are coded bit-plane by bit-plane, all from the highest down. What the planes took so far is in a table by
// slope, of kStopSlopes bins. Where the bytes from a bin on exceed the budget, the blocks stop whose last plane has a
// lower one (PSB); or, where all bytes do, all blocks (BPI). The threshold that cuts them in the end is not lower,
// since bytes only grow.
enum class EarlyStop { kNone, kPsb, kBpi };
constexpr int kStopSlopes = 1024;

struct PlaneCost {
    uint32_t slope, bytes;  // slope: a bin
};
// Of a bit-plane of a block with `planes`. bytes, gains: [pass], of the block.
CUDAENC_HD PlaneCost plane_cost(const uint32_t *bytes, const int32_t *gains, int planes, int plane, int weight) {
    const int first = coding_passes(planes - 1 - plane), last = coding_passes(planes - plane);
    const uint32_t before = first ? bytes[first - 1] : 0, own = bytes[last - 1] > before ? bytes[last - 1] - before : 0;
    int64_t gain = 0;
    for (int pass = first; pass < last; pass++) gain += gains[pass];
    if (gain <= 0) return {0, own};
    const uint32_t slope = slope_of(static_cast<uint64_t>(gain), own, weight + 2 * plane * kSlopeOctave);
    return {slope / (kSlopes / kStopSlopes), own};
}
// Blocks with a lower slope stop, where the bytes from `slope` on exceed the budget.
CUDAENC_HD uint32_t stop_limit(EarlyStop method, int slope) {
    return method == EarlyStop::kBpi ? kStopSlopes : static_cast<uint32_t>(slope);
}

}  // namespace cudaenc::j2k
