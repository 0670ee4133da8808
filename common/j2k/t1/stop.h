// SPDX-License-Identifier: LGPL-2.1-or-later
// Where tier-1 stops short of a block's last pass: passes of a lower slope than a given one are not coded, since rate
// allocation would truncate them.
#pragma once
#include <cstdint>

#include "../codestream/tables.h"
#include "distortion.h"
#include "slope.h"
#include "styles.h"

namespace cudaenc::j2k {

// The slope below which passes are not coded; 0: all are. always_includes: passes far above it are not measured. step:
// of the frame, see step.h. coarser_tries: how often a frame that chooses its steps was coded with coarser ones.
struct StopSlope {
    uint32_t slope, always_includes, step = 0, coarser_tries = 0;
};

// What the test counts, in 1/256 bits. Fewer than kFewBits do not stop a block: often the next plane has its energy.
constexpr uint32_t kFewBits = 8 * kBit;
template <class Decisions, class Entropy = EntropyOf>
CUDAENC_HD uint32_t tested_bits(const NextSamples<Decisions> &next, const Entropy &entropy_of = {}) {
    return entropy_of(next.decisions) + kBit * (next.decisions.newly_significant() + next.refined);
}

// The rule for a block. `base` is the log2_code() of what a squared step is worth in bits at the slope; kNeverStop: no
// pass is left out. Passes of bit-planes from `always_included_plane` on are always included: no threshold near the
// slope truncates them, so they are not measured.
constexpr int kNeverStop = 1 << 20;
// The levels of a bit-plane (StopRule::level()) below which a block may end before a pass, and those below which it
// does so without a test; see docs/experiments/rate-control-methods.md. The test would then go on once in twelve times
// at most, before a first pass once in 200. From the first one on no pass is measured. They lie at a tenth of a squared
// step a bit, two fifths and a sixth, for a first pass, a significance propagation, a refinement with its clean-up.
constexpr int quarters_of_octave(int count) { return count * kSlopeOctave / 4; }
constexpr int kAlwaysIncludedLevel = quarters_of_octave(21), kPropagationTested = quarters_of_octave(13),
              kRefinementTested = quarters_of_octave(18), kFirstPassSkipped = quarters_of_octave(14),
              kPropagationSkipped = quarters_of_octave(10), kRefinementSkipped = quarters_of_octave(12);
struct StopRule {
    int base = kNeverStop, always_included_plane = kMaxPlanes;

    // Of a block with `planes` bit-planes; none of the lowest.
    CUDAENC_HD int always_included_passes(int planes) const {
        return coding_passes(max_of(planes - max_of(always_included_plane, 1), 0));
    }
    CUDAENC_HD int level(int plane) const { return base + 2 * plane * kSlopeOctave; }

    // Whether the block may end before a pass.
    CUDAENC_HD bool needs_test(int pass, int plane) const {
        const int kind = pass_kind(pass);
        return (!pass || kind != kCleanUp) && level(plane) < tested_below(!pass, kind);
    }
    CUDAENC_HD static constexpr int tested_below(bool first, int kind) {
        return first ? kAlwaysIncludedLevel : kind == kSignificancePropagation ? kPropagationTested : kRefinementTested;
    }
    // Whether it ends there without a test.
    CUDAENC_HD bool skip(int pass, int plane) const { return level(plane) < skipped_below(pass_kind(pass)); }
    CUDAENC_HD static constexpr int skipped_below(int kind) {
        return kind == kCleanUp                   ? kFirstPassSkipped
               : kind == kSignificancePropagation ? kPropagationSkipped
                                                  : kRefinementSkipped;
    }
    // The test. next: before a significance propagation the samples that it reaches from significant ones, classified
    // by horizontal and vertical neighbours; else refinement and clean-up. reduction: of their distortion, in 1/64 of
    // 4^plane squared steps.
    template <class Decisions, class Entropy = EntropyOf>
    CUDAENC_HD bool should_stop(int plane, int32_t reduction, const NextSamples<Decisions> &next,
                                const Entropy &entropy_of = {}) const {
        const uint32_t bits = tested_bits(next, entropy_of);
        if (bits < kFewBits) return false;
        if (reduction <= 0) return true;
        // reduction 2^(level / kSlopeOctave) < bits; where a test is needed the level is positive and small.
        const int octaves = level(plane) >> kSlopeOctaveLog2, rest = level(plane) & (kSlopeOctave - 1);
        return (static_cast<uint64_t>(reduction) * exp2_code(rest) >> (kExp2FractionLog2 - octaves)) < bits;
    }
};

// A rule's base is this, plus the weight of the block's sub-band, less the slope: slopes are by bytes and begin at
// kLowestSlope, reductions are in 1/64 squared steps, bits in 1/256.
constexpr int kBitsOfByteLog2 = 3, kReductionLog2 = 6, kBitFractionLog2 = 8;
constexpr int kStopBase = (kBitsOfByteLog2 + kBitFractionLog2 - kReductionLog2 - kLowestSlope) * kSlopeOctave;
CUDAENC_HD StopRule stop_rule(const StopSlope &stop, int weight) {
    StopRule rule;
    if (!stop.slope) return rule;
    rule.base = weight + kStopBase - static_cast<int>(stop.slope);
    constexpr int kPlane = 2 * kSlopeOctave;
    const int up_to_always_included = kAlwaysIncludedLevel - rule.base;
    if (stop.always_includes) rule.always_included_plane = max_of(up_to_always_included + kPlane - 1, 0) / kPlane;
    return rule;
}

// The slope by estimate: reduction, bits: as for should_stop().
CUDAENC_HD int estimated_slope(int plane, int weight, int32_t reduction, uint32_t bits) {
    if (reduction <= 0 || !bits) return 0;
    return weight + 2 * plane * kSlopeOctave + kStopBase + log2_code(static_cast<uint32_t>(reduction)) -
           log2_code(bits);
}
// The highest slope at which a block goes on where it may end. first: of the block's passes; kind: of the pass; weight:
// of the sub-band; reduction, bits: as for should_stop().
CUDAENC_HD uint32_t highest_slope(bool first, int kind, int plane, int weight, int32_t reduction, uint32_t bits) {
    const int most = weight + 2 * plane * kSlopeOctave + kStopBase;  // the level is this less the slope
    int slope = kSlopes - 1;
    if (bits >= kFewBits) {
        slope = max_of(estimated_slope(plane, weight, reduction, bits), most - StopRule::tested_below(first, kind));
    }
    return static_cast<uint32_t>(max_of(min_of(min_of(slope, most - StopRule::skipped_below(kind)), kSlopes - 1), 0));
}

}  // namespace cudaenc::j2k
