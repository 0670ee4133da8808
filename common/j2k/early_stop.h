// Where tier-1 stops early for rate control: after Martinez-del-Amor et al. (2017, 5.2 and 5.3), and by a look ahead.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "context_planes.h"
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

// ---- The look: before any block is coded, some are looked at, bit-plane by bit-plane. Of each step, at which StopRule
// may ask, it is estimated what it takes, and with which slopes it is coded, which is added to such a table. Where that
// is somewhat more than the budget context modelling stops.

// A block that is looked at, for so many.
struct Look {
    uint32_t block, blocks;
};

// Two steps are a plane: significance propagation, of what it reaches from samples that are significant above the
// plane, and all else, refinement and clean-up. The first plane has the second one only.
constexpr int kLookSteps = 31;
CUDAENC_HD constexpr bool is_propagation(int step) { return step & 1; }
CUDAENC_HD constexpr int plane_of_step(int planes, int step) { return planes - 1 - (step + 1) / 2; }

// What a step has: counts of decisions in classes, of which so many are ones: ones | all << 16.
struct LookStep {
    // Propagation: samples with no horizontal or vertical neighbour that is significant when the scan gets there, with
    // one, with more. Clean-up: with no neighbour, with some.
    uint32_t decisions[3];
    uint32_t refined;
    // Signs that a vertical neighbour's, or else a horizontal one's, foretells (T.800 Table D.3); ones: wrongly.
    uint32_t signs[2];
    int32_t eighths;  // as for gain_of_refined(), and three times as for gain_of_found()

    CUDAENC_HD uint32_t found() const { return (decisions[0] + decisions[1] + decisions[2]) & 0xFFFF; }
    // What it takes off the squared error, in 1/64 of 4^plane steps^2.
    CUDAENC_HD int32_t gain(int plane, bool reversible) const {
        const GainRounding rounding = gain_rounding(plane, reversible);
        const int ones = static_cast<int>(refined & 0xFFFF), zeros = static_cast<int>(refined >> 16) - ones;
        return gain_of_found(rounding, static_cast<int>(found()), 0) + gain_of_refined(rounding, ones, zeros, eighths);
    }
    // As StopRule asks about it.
    CUDAENC_HD NextSamples<> next() const {
        const uint32_t near = decisions[1] + decisions[2];
        return {refined >> 16, {{decisions[0] & 0xFFFF, near & 0xFFFF}, {decisions[0] >> 16, near >> 16}}};
    }
    // What it takes, in 1/256 bits: by the entropies, of signs a quarter more since contexts have to learn, 15/16 of a
    // bit for what is refined, and six bits a plane.
    CUDAENC_HD uint32_t bits(bool propagation) const {
        const auto of = [](uint32_t counted) { return entropy(counted & 0xFFFF, counted >> 16); };
        const uint32_t foretold = (signs[0] >> 16) + (signs[1] >> 16),
                       of_signs = 256 * (found() - foretold) + of(signs[0]) + of(signs[1]);
        return of(decisions[0]) + of(decisions[1]) + of(decisions[2]) + 240 * (refined >> 16) + of_signs +
               of_signs / 4 + (propagation ? 0 : 6 * 256);
    }
    // Whether it is coded at all, in a block that is `lossy`.
    CUDAENC_HD bool is_worth_coding(int plane, bool propagation, bool lossy) const {
        return plane || propagation || !lossy || worth_coding(next());
    }
    // The bin of the highest slope with which it is coded if what comes before it is.
    CUDAENC_HD uint32_t bin(int step, int plane, int weight, bool reversible) const {
        const int kind = !step ? kCleanUp : is_propagation(step) ? kSignificancePropagation : kMagnitudeRefinement;
        return highest_slope(!step, kind, plane, weight, gain(plane, reversible), asked_bits(next())) /
               (kSlopes / kStopSlopes);
    }
};

// A bit-plane's samples, for the counts of a look.
template <class Word>
struct LookPlane {
    Word reached;       // of those left by the planes above: by significance propagation; all others are the rest
    Word near, nearer;  // of those reached, with one nearest neighbour and with two; of the rest `near`, with any
    Word foretold[2];   // signs, see LookStep
    Word wrongly;       // where they are foretold
};
// left: samples that are not significant above the plane; before, in_pass: see when_visited(), in_pass of all that
// become significant; negative, signs: see sign_coding_planes().
template <class Word>
CUDAENC_HD LookPlane<Word> look_at_plane(Word left, const Around<Word> &before, const Around<Word> &in_pass,
                                         Word negative, const Around<Word> &signs) {
    const Around<Word> now = when_visited(before, in_pass);
    const SignBits<Word> sign = sign_coding_planes(now, negative, signs);
    const Word reached = left & before.any();
    return {reached,
            (reached & now.nearest()) | (~reached & now.any()),
            reached & now.two_nearest(),
            {(sign.bit[0] & ~sign.bit[1]) | sign.bit[2], sign.bit[1]},
            sign.decision};
}
// A step of it but for what is refined and the eighths. samples: that are coded; found: those that become significant;
// count(all, ones): of a class.
template <class Word, class Count>
CUDAENC_HD LookStep count_step(const LookPlane<Word> &plane, bool propagation, Word samples, Word found,
                               const Count &count) {
    const Word ones = samples & found;
    const auto decisions = [&](Word of) { return count(samples & of, ones & of); };
    const auto signs = [&](Word of) { return count(ones & of, ones & of & plane.wrongly); };
    return {{decisions(~plane.near), decisions(plane.near & ~plane.nearer), propagation ? decisions(plane.nearer) : 0},
            0,
            {signs(plane.foretold[0]), signs(plane.foretold[1])},
            0};
}

// Bytes up to the end of a step.
CUDAENC_HD uint32_t estimated_bytes(uint32_t bits) { return ((bits + 1024) >> 11) + 1; }

// A look at a block ends behind so many steps, or with the plane where they take some times as much as a block has on
// average, and two bits a sample at least: in bits, kLookBits for a sample that becomes significant, one for one that
// is refined.
constexpr int kLookBits = 4;
struct LookRule {
    uint64_t most;  // bits
    CUDAENC_HD bool ends(int steps, uint32_t bits) const { return steps == kLookSteps || bits > most; }
};
// samples: of the block.
CUDAENC_HD LookRule look_rule(uint64_t budget, uint32_t blocks, int samples) {
    return {max_of(16 * 8 * budget / blocks, 2 * static_cast<uint64_t>(samples))};
}
// What codewords may take, and a tenth more, since blocks differ. budget: of the codestream, 0: no limit.
CUDAENC_HD uint64_t look_budget(uint64_t budget, uint32_t blocks) {
    if (!budget) return ~uint64_t{0};
    return (budget - min_of<uint64_t>(2 * blocks, budget / 16)) * 35 / 32;
}
// The slope to stop at, where bytes from the bin on exceed the budget: in it, so that of its bytes there are `room`.
CUDAENC_HD uint32_t look_slope(int bin, uint64_t bytes, uint64_t room) {
    constexpr int kWidth = kSlopes / kStopSlopes;
    return static_cast<uint32_t>((bin + 1) * kWidth) - static_cast<uint32_t>(room * kWidth / bytes);
}

}  // namespace cudaenc::j2k
