// SPDX-License-Identifier: LGPL-2.1-or-later
// The rate-control methods of Martinez-del-Amor et al. (2017) beside PCRD-opt: PSB and BPI stop blocks while bit-planes
// are coded (5.2, 5.3); PST takes the slope of an earlier frame (5.1).
#pragma once
#include <span>

#include "../../t1/block.h"
#include "../hull.h"

namespace cudaenc::j2k {

// Blocks are coded bit-plane by bit-plane, all from the highest down. A table of kStopBins slopes has the bytes of the
// planes so far. Where the bytes from a bin on exceed the budget, PSB stops the blocks whose last plane has a lower
// slope; BPI stops all blocks. The final threshold is not lower, since bytes only grow.
enum class EarlyStop { kNone, kPsb, kBpi };

struct PlaneCost {
    uint32_t bin, bytes;
};
// Of a bit-plane of a block with `planes`. bytes, reductions: [pass], of the block; weight: of its sub-band.
CUDAENC_HD PlaneCost plane_cost(const uint32_t *bytes, const int32_t *reductions, int planes, int plane, int weight) {
    const int first = coding_passes(planes - 1 - plane), last = coding_passes(planes - plane);
    const uint32_t before = first ? bytes[first - 1] : 0, own = bytes[last - 1] > before ? bytes[last - 1] - before : 0;
    int64_t reduction = 0;
    for (int pass = first; pass < last; pass++) reduction += reductions[pass];
    if (reduction <= 0) return {0, own};
    return {slope_of(static_cast<uint64_t>(reduction), own, weight + 2 * plane * kSlopeOctave) / kSlopesOfBin, own};
}
// Blocks with a lower bin stop, where the bytes from `bin` on exceed the budget.
CUDAENC_HD uint32_t stop_limit(EarlyStop method, int bin) {
    return method == EarlyStop::kBpi ? kStopBins : static_cast<uint32_t>(bin);
}

}  // namespace cudaenc::j2k
