// Where tier-1 stops early for rate control: after Martinez-del-Amor et al. (2017, 5.2 and 5.3), and by a look ahead.
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

// The bin of what some passes of a bit-plane take off the error. weight: of the block's band.
CUDAENC_HD uint32_t stop_bin(int64_t gain, uint32_t bytes, int plane, int weight) {
    if (gain <= 0) return 0;
    return slope_of(static_cast<uint64_t>(gain), bytes, weight + 2 * plane * kSlopeOctave) / (kSlopes / kStopSlopes);
}

struct PlaneCost {
    uint32_t slope, bytes;  // slope: a bin
};
// Of a bit-plane of a block with `planes`. bytes, gains: [pass], of the block.
CUDAENC_HD PlaneCost plane_cost(const uint32_t *bytes, const int32_t *gains, int planes, int plane, int weight) {
    const int first = coding_passes(planes - 1 - plane), last = coding_passes(planes - plane);
    const uint32_t before = first ? bytes[first - 1] : 0, own = bytes[last - 1] > before ? bytes[last - 1] - before : 0;
    int64_t gain = 0;
    for (int pass = first; pass < last; pass++) gain += gains[pass];
    return {stop_bin(gain, own, plane, weight), own};
}
// Blocks with a lower slope stop, where the bytes from `slope` on exceed the budget.
CUDAENC_HD uint32_t stop_limit(EarlyStop method, int slope) {
    return method == EarlyStop::kBpi ? kStopSlopes : static_cast<uint32_t>(slope);
}

// ---- The look: of some blocks all passes are estimated before any block is coded, and added to such a table, by
// slope, in steps: refinement and clean-up of a plane are one. Where that is somewhat more than the budget context
// modelling stops.

// A block that is looked at, for so many.
struct Look {
    uint32_t block, blocks;
};

// A look at a block ends behind so many passes, or where they take some times as much as a block has on average, and
// two bits a sample at least: in bits, kLookBits for a sample that becomes significant, one for one that is refined.
constexpr int kLookPasses = 31, kLookBits = 4;
struct LookRule {
    uint64_t most;  // bits
    CUDAENC_HD bool ends(int pass, uint32_t bits) const {
        return pass == kLookPasses - 1 || (pass_kind(pass) != kMagnitudeRefinement && bits > most);
    }
};
// samples: of the block.
CUDAENC_HD LookRule look_rule(uint64_t budget, uint32_t blocks, int samples) {
    return {max_of(12 * 8 * budget / blocks, 2 * static_cast<uint64_t>(samples))};
}
// Of `passes` that were looked at.
CUDAENC_HD bool ends_look_step(int pass, int passes) {
    return pass_kind(pass) != kMagnitudeRefinement || pass == passes - 1;
}
// What codewords may take, and a tenth more, since blocks differ. budget: of the codestream, 0: no limit.
CUDAENC_HD uint64_t look_budget(uint64_t budget, uint32_t blocks) {
    if (!budget) return ~uint64_t{0};
    return (budget - min_of<uint64_t>(2 * blocks, budget / 16)) * 35 / 32;
}
// The slope to stop at, if bytes from this bin on are more than the budget.
CUDAENC_HD uint32_t look_slope(int bin) { return static_cast<uint32_t>(bin * (kSlopes / kStopSlopes)); }

}  // namespace cudaenc::j2k
