// SPDX-License-Identifier: LGPL-2.1-or-later
// Parallel slope prediction (PSP): before any block is coded, sampled blocks tell the slope at which the budget will be
// met, and tier-1 stops there.
#pragma once
#include "../t1/block.h"
#include "../t1/contexts.h"
#include "../t1/ht.h"
#include "../t1/stop.h"
#include "outcome.h"

namespace cudaenc::j2k {

// A sampled block is analysed bit-plane by bit-plane, in steps before which StopRule may end it. Each step has an
// estimate of its bytes and the highest slope at which it is coded. A table of kStopBins adds up the bytes by slope,
// another one those that are held back, and a third one those that regular patterns save.

// The quads of a block by which an HT block is estimated: runs of 32, row by row, from `first` on each `step`th. The
// block has scale/4096 times as many. Twice the blocks with a quarter of their quads tell more than all of their quads.
constexpr uint32_t kRunQuads = 32, kMostRuns = 4;
struct SampledRuns {
    uint32_t first, step, scale;
};
// It stands for so many `blocks`.
struct SampledBlock {
    uint32_t block, blocks;
    SampledRuns runs;
};

// A bit-plane has two steps: significance propagation from samples that are significant above the plane, and the rest,
// refinement and clean-up. The first plane has the rest alone.
constexpr int kSampledSteps = 31;
CUDAENC_HD constexpr bool is_propagation(int step) { return step & 1; }
CUDAENC_HD constexpr int plane_of_step(int planes, int step) { return planes - 1 - (step + 1) / 2; }
// Its passes: one of significance propagation, or refinement and clean-up; the first step's clean-up alone.
CUDAENC_HD constexpr int first_pass_of_step(int step) { return step ? (3 * step - 1) / 2 : 0; }
CUDAENC_HD constexpr int last_pass_of_step(int step) { return 3 * step / 2; }
// By trial over photographs, in 1/256 bits: what a codeword segment adds, and a bit-plane; the most of a refinement,
// since contexts know a little, and below what it is regular. Signs take a quarter more, whose contexts have to learn.
constexpr uint32_t kSegmentBits = 6 * kBit, kPlaneBits = 6 * kBit, kRefinementBits = kBit * 15 / 16,
                   kRegularBits = kBit * 3 / 4;

// Counts of a step's decisions, by classes: ones | all << 16.
struct SampledStep {
    // Propagation: samples without a horizontal or vertical neighbour that is significant when the scan gets there,
    // with one, with more. Clean-up: without any neighbour, with some.
    uint32_t decisions[3];
    uint32_t refined;
    // Signs predicted by a vertical, else a horizontal neighbour (T.800 Table D.3); ones: predicted wrongly.
    uint32_t signs[2];
    int32_t parts;  // as for reduction_of_refinement(), plus three times as for reduction_of_significance()

    CUDAENC_HD uint32_t newly_significant() const { return (decisions[0] + decisions[1] + decisions[2]) & 0xFFFF; }
    // Distortion reduction, in 1/64 of 4^plane squared steps.
    CUDAENC_HD int32_t reduction(int plane, bool reversible) const {
        const ReductionRounding rounding = reduction_rounding(plane, reversible);
        const int ones = static_cast<int>(refined & 0xFFFF), zeros = static_cast<int>(refined >> 16) - ones;
        return reduction_of_significance(rounding, static_cast<int>(newly_significant()), 0) +
               reduction_of_refinement(rounding, ones, zeros, parts);
    }
    // As StopRule tests it.
    CUDAENC_HD NextSamples<> next() const {
        const uint32_t near = decisions[1] + decisions[2];
        return {refined >> 16, {{decisions[0] & 0xFFFF, near & 0xFFFF}, {decisions[0] >> 16, near >> 16}}};
    }
    // Of refinement, in 1/256 bits: the entropy, at most kRefinementBits a decision.
    CUDAENC_HD uint32_t refinement_bits() const {
        return min_of(kRefinementBits * (refined >> 16), entropy(refined & 0xFFFF, refined >> 16));
    }
    // What these lack of the most where they are regular. In photographs bits of refinement are nearly random.
    // In regular patterns coefficients are alike, and so are their bits.
    CUDAENC_HD uint32_t bits_of_likeness() const {
        const uint32_t bits = refinement_bits(), all = refined >> 16;
        return bits < kRegularBits * all ? kRefinementBits * all - bits : 0;
    }
    // Estimated bits, in 1/256: entropies, and what is said above. Raw passes take a bit a decision.
    CUDAENC_HD uint32_t bits(int step, uint32_t style) const {
        const int first = first_pass_of_step(step), last = last_pass_of_step(step);
        const bool propagation = is_propagation(step), raw = is_raw(style, first);
        uint32_t sum = (raw ? kBit * (refined >> 16) : refinement_bits()) + (propagation ? 0 : kPlaneBits);
        for (int pass = first; pass <= last; pass++) sum += ends_segment(style, pass) ? kSegmentBits : 0;
        if (raw && propagation)
            return sum +
                   kBit * ((decisions[0] >> 16) + (decisions[1] >> 16) + (decisions[2] >> 16) + newly_significant());
        const auto of = [](uint32_t counted) { return entropy(counted & 0xFFFF, counted >> 16); };
        const uint32_t predicted = (signs[0] >> 16) + (signs[1] >> 16),
                       of_signs = kBit * (newly_significant() - predicted) + of(signs[0]) + of(signs[1]);
        return sum + of(decisions[0]) + of(decisions[1]) + of(decisions[2]) + of_signs + of_signs / 4;
    }
    // Whether tier-1 codes it at all, in a block that is `lossy`.
    CUDAENC_HD bool is_worth_coding(int plane, bool propagation, bool lossy) const {
        return plane || propagation || !lossy || worth_coding(next());
    }
    // The bin of the highest slope at which it is coded if the steps before it are.
    CUDAENC_HD uint32_t bin(int step, int plane, int weight, bool reversible) const {
        const int kind = !step ? kCleanUp : is_propagation(step) ? kSignificancePropagation : kMagnitudeRefinement;
        return highest_slope(!step, kind, plane, weight, reduction(plane, reversible), tested_bits(next())) /
               kSlopesOfBin;
    }
    // Whether its own slope is half an octave or more above the bin at which a block gets there: tests end the block
    // before something that is worth its bits.
    CUDAENC_HD bool is_held_back(uint32_t bin, int plane, int weight, bool reversible) const {
        return estimated_slope(plane, weight, reduction(plane, reversible), tested_bits(next())) >=
               static_cast<int>(bin) * kSlopesOfBin + kSlopeOctave / 2;
    }
};

// The classes of a bit-plane's samples.
template <class Word>
struct SampledPlane {
    Word reached;       // by significance propagation from samples significant above the plane; all others are the rest
    Word near, nearer;  // reached: with one horizontal or vertical neighbour, with two; the rest: `near`, with any
    Word predicted[2];  // signs: see SampledStep
    Word wrongly;       // of these
};
// rest: samples that are not significant above the plane; before, in_pass: see when_visited(), in_pass of all that
// become significant; negative, signs: see sign_coding_planes().
template <class Word>
CUDAENC_HD SampledPlane<Word> sample_plane(Word rest, const Around<Word> &before, const Around<Word> &in_pass,
                                           Word negative, const Around<Word> &signs) {
    const Around<Word> now = when_visited(before, in_pass);
    const SignBits<Word> sign = sign_coding_planes(now, negative, signs);
    const Word reached = rest & before.any();
    return {.reached = reached,
            .near = (reached & now.nearest()) | (~reached & now.any()),
            .nearer = reached & now.two_nearest(),
            .predicted = {(sign.bit[0] & ~sign.bit[1]) | sign.bit[2], sign.bit[1]},
            .wrongly = sign.decision};
}
// A step of it, but for refinement and the parts. samples: that are coded; found: that become significant; count(all,
// ones): of a class.
template <class Word, class Count>
CUDAENC_HD SampledStep count_step(const SampledPlane<Word> &plane, bool propagation, Word samples, Word found,
                                  const Count &count) {
    const Word ones = samples & found;
    const auto decisions = [&](Word of) { return count(samples & of, ones & of); };
    const auto signs = [&](Word of) { return count(ones & of, ones & of & plane.wrongly); };
    return {.decisions = {decisions(~plane.near), decisions(plane.near & ~plane.nearer),
                          propagation ? decisions(plane.nearer) : 0},
            .refined = 0,
            .signs = {signs(plane.predicted[0]), signs(plane.predicted[1])},
            .parts = 0};
}

// Bytes up to the end of a step.
CUDAENC_HD uint32_t step_bytes(uint32_t bits) { return ((bits + 1024) >> 11) + 1; }
// bits: of bits_of_likeness(), for each of so many blocks.
CUDAENC_HD uint64_t likeness_bytes(uint32_t bits, uint32_t blocks) { return uint64_t{bits} * blocks >> 11; }

// The analysis of a block ends after so many steps. It ends with the plane where the bits exceed 16 times the mean of a
// block's budget, and two a sample. A sample that becomes significant counts kSignificanceBits, a refined one a bit.
constexpr int kSignificanceBits = 4;
struct SampleLimit {
    uint64_t most;  // bits
    CUDAENC_HD bool ends(int steps, uint32_t bits) const { return steps == kSampledSteps || bits > most; }
};
// samples: of the block.
CUDAENC_HD SampleLimit sample_limit(uint64_t budget, uint32_t blocks, int samples) {
    return {max_of(16 * 8 * budget / blocks, 2 * static_cast<uint64_t>(samples))};
}
// What codewords may take; where tier-1 stops a tenth more, since blocks differ. Where frames choose their steps,
// estimates are mostly within 2 %. There headers, of 1 or 2 %, and a hundredth are too much, and blocks that are worth
// least are left out of it; too little would be coded again. budget: of the codestream, 0: no limit.
CUDAENC_HD uint64_t sample_budget(uint64_t budget, uint32_t blocks, uint32_t style, bool frame_steps) {
    if (!budget) return ~uint64_t{0};
    if (frame_steps) return budget + budget / 96;
    const uint64_t codewords = budget - min_of<uint64_t>(2 * blocks, budget / 16);
    return are_alternatives(style) ? codewords : codewords * 35 / 32;
}
// Where all is needed. Of alternatives those near a slope are tried, so that there must be one.
CUDAENC_HD constexpr StopSlope stop_nowhere(uint32_t style, const StopSlope &stop) {
    return {are_alternatives(style) ? 1u : 0u, stop.always_includes};
}

// ---- The same where passes are alternatives. The steps of a sampled block are those from a bit-plane to the one
// below.

// The bin at which a plane is coded if those above are.
CUDAENC_HD uint32_t ht_bin(const HtStep &step, int plane, int weight) {
    return static_cast<uint32_t>(
               max_of(min_of(estimated_slope(plane, weight, step.reduction, step.bits), kSlopes - 1), 0)) /
           kSlopesOfBin;
}
// Where a frame chooses its steps, bytes of the blocks are summed up at some of these, an octave apart. Slopes follow
// the steps: StopSlope::slope with which a sub-band of the weight has its plane 0 at kFrameStepLevel, and with more
// planes the others.
constexpr int kStepSums = kMaxPlanes;
CUDAENC_HD int slope_of_steps(int weight, int plane, uint32_t step) {
    return weight + kStopBase - kFrameStepLevel + 2 * kSlopeOctave * plane +
           2 * kSlopeOctave / static_cast<int>(kFrameSteps) * static_cast<int>(step);
}
// Whether a frame with steps of the slope has most samples exact once they are rounded. Then most of the error is that
// of blocks which are left out.
CUDAENC_HD bool is_nearly_exact(int slope, const StepWeights &weights) {
    return slope < slope_of_steps(weights.exact, 0, 0);
}
// The rule of a sampled block at one of the sums. band: its own; blocks: of the frame.
CUDAENC_HD HtRule sampled_rule(const StepWeights &weights, int plane, const BandCoding &band, uint32_t blocks) {
    HtRule rule;
    rule.stop.base = band.weight + kStopBase - slope_of_steps(weights.finest, plane, 0);
    rule.step.lowest_plane = band.spare;
    rule.one_plane = blocks >= kManyHtBlocks;
    return rule;
}
// The steps at which `room` is met, by interpolation between logarithms. bytes(plane): of the sums, falling.
template <class Bytes>
CUDAENC_HD StopSlope stop_at_steps(const StepWeights &weights, uint64_t room, const StopSlope &stop,
                                   const Bytes &bytes) {
    int plane = -1;
    while (plane + 1 < kStepSums && bytes(plane + 1) > room) plane++;
    if (plane < 0) return {1, stop.always_includes};
    const auto code = [&](int of) {
        return log2_code(max_of<uint64_t>(bytes(of < kStepSums ? of : kStepSums - 1), 1));
    };
    const int goal = log2_code(max_of<uint64_t>(room, 1)), own = code(plane), next = code(plane + 1), fall = next - own,
              after = code(plane + 2) - next, before = own - code(max_of(plane - 1, 0));
    // Twice the mean of the second differences on both sides.
    const int bend = (plane ? min_of(max_of(fall - before, -kSlopeOctave), kSlopeOctave) : 0) +
                     min_of(max_of(after - fall, -kSlopeOctave), kSlopeOctave);
    constexpr int kAll = kFrameSteps;
    int step = 1;
    while (step < kAll && own + (fall * step + bend * step * (step - kAll) / (4 * kAll)) / kAll > goal) step++;
    if (step == kAll) plane++, step = 0;
    const int slope =
        min_of(max_of(slope_of_steps(weights.finest, plane, static_cast<uint32_t>(step)), 1), kSlopes - 1);
    return {static_cast<uint32_t>(slope), stop.always_includes, static_cast<uint32_t>(step)};
}

// Below this slope 5/3 has its last bit-planes alone to code.
constexpr uint32_t kLastPlanes = 19 * kSlopeOctave;
// What stop_in_bin() tells frames apart by, by trial over all pictures (docs/experiments/rate-control-quality.md).
// Parts of the budget, such as a 40th: likeness in regular patterns, and on screens; bytes that are held back, and on
// screens; bytes near the slope with 9/7 at high rates.
constexpr uint64_t kRegularPart = 40, kScreenPart = 120, kHeldBackPart = 256, kHeldBackPartOfScreens = 4096,
                   kSparsePart = 14;
// Fewer bytes a block, or blocks a frame, end too early; fewer blocks tell little.
constexpr uint32_t kFewBytes = 5, kFewestBlocks = 512, kFewBlocks = 2048;

// Where to stop, if the bytes from the bin on exceed the budget, which has room for `room` of the bin's. Tier-1 goes on
// below that, and all passes may be truncated, where one of four cases says so; what they say adds up. An octave and a
// quarter where tests end blocks too early: bins of the octave below hold back a 256th of the budget, or a 4096th where
// `likeness`, bytes of bits_of_likeness() from the bin on, is a 120th, as on screens; blocks have less than five bytes
// each; or there are fewer than 512. Half an octave where slopes are sparse. Then half an octave above the bin has less
// than a tenth of the budget, so that the threshold may lie far above the slope. With 9/7, where nothing ends early,
// photographs at high rates have that as well: only from a 14th on the slope is lower. Half an octave where fewer than
// 2048 blocks tell little, and on screens. Half an octave with 5/3 in each of these, and below kLastPlanes, since its
// last planes take off all that is left. In regular patterns none of the blocks ends: they are alike, and a slope a
// little off would end them all. There `likeness` is a 40th of the budget or more, in photographs and on screens at
// most a 54th; or a bin from there to four octaves above has a quarter of the budget, and what four of the `blocks`
// have. All this holds for blocks whose passes follow each other. bytes(bin), held_back(bin): of the tables.
template <class Bytes, class HeldBack>
CUDAENC_HD StopSlope stop_in_bin(int bin, uint64_t room, uint64_t budget, uint32_t blocks, uint64_t likeness,
                                 uint32_t style, bool reversible, const StopSlope &stop, const Bytes &bytes,
                                 const HeldBack &held_back) {
    const uint32_t slope =
        static_cast<uint32_t>((bin + 1) * kSlopesOfBin) - static_cast<uint32_t>(room * kSlopesOfBin / bytes(bin));
    if (are_alternatives(style)) return {slope, stop.always_includes};
    constexpr int kOctave = kSlopeOctave / kSlopesOfBin;
    uint64_t most = 0, held = 0, above = room;
    for (int near = max_of(bin - kOctave, 0); near < min_of(bin + 4 * kOctave, kStopBins); near++) {
        most = max_of<uint64_t>(most, bytes(near));
        if (near < bin) held += held_back(near);
        if (near > bin && near < bin + kOctave / 2) above += bytes(near);
    }
    if (likeness > budget / kRegularPart || most > budget / 4 + 4 * budget / blocks) return {0, 0};
    const bool is_screen = likeness > budget / kScreenPart,
               ends_early = held > budget / (is_screen ? kHeldBackPartOfScreens : kHeldBackPart) ||
                            budget < kFewBytes * uint64_t{blocks} || blocks < kFewestBlocks,
               few = blocks < kFewBlocks || is_screen, sparse = above < budget * 3 / 32,
               is_lower = sparse && (ends_early || reversible || above < budget / kSparsePart);
    uint32_t lower = kSlopeOctave / 2 * (uint32_t{is_lower} + uint32_t{few}) + (ends_early ? kSlopeOctave * 5 / 4 : 0);
    if (reversible && (lower || slope < kLastPlanes)) lower += kSlopeOctave / 2;
    return {slope - min_of(slope, lower), lower || sparse ? 0 : stop.always_includes};
}

// Whether a frame's threshold takes passes that tier-1 did not code. Then the frame is coded again, with a lower slope.
// Half an octave is no reason, since next to nothing is lost. Nor is, where frames choose their steps, less than a
// 128th of the budget.
inline bool stopped_too_early(const StopOutcome &stop, bool frame_steps) {
    return stop.slope && stop.threshold + kSlopeOctave / 2 < stop.slope && !(frame_steps && stop.lacks < 2);
}
// Whether a frame's threshold is so far above the slope that it would truncate passes that are always included. An
// octave and a half is no reason, since those passes are mostly worth that much more.
inline bool stopped_too_late(const StopOutcome &stop) {
    return stop.always_includes && stop.slope && stop.threshold > stop.slope + kSlopeOctave * 3 / 2;
}
// The slope of a frame's steps; of slope 1, where all is coded, that of the finest.
inline uint32_t slope_of_frame(const StopOutcome &stop, const StepWeights &weights) {
    return max_of(stop.slope, static_cast<uint32_t>(max_of(slope_of_steps(weights.finest, 0, stop.step), 1)));
}
// So often a frame is coded with coarser steps; not after its steps became finer, which takes all tries that are left.
constexpr uint32_t kCoarserTries = 3;
inline bool may_become_coarser(const StopSlope &stop) { return stop.coarser_tries < kCoarserTries; }
// Whether a frame's steps are so fine that what is left out is worth much more than what coarser steps would lose. At
// first 5 % of the budget are, an octave above the slope, or fewer bytes further above: what is less is some 0.05 dB in
// photographs, and a frame that is coded again takes half as long again. Then steps come nearer. On screens a hundredth
// of the bytes is worth up to 0.3 dB; their thresholds are some two octaves above the slope, those of few photographs
// are. In nearly exact frames a 256th of the budget is too much.
inline bool steps_too_fine(const StopOutcome &stop, const StepWeights &weights) {
    const uint32_t slope = slope_of_frame(stop, weights), above = max_of(stop.threshold, slope) - slope;
    if (!stop.slope || !may_become_coarser(stop)) return false;
    if (is_nearly_exact(static_cast<int>(slope), weights)) return stop.surplus && above > kSlopeOctave;
    if (stop.coarser_tries) return stop.surplus >= 2 && above > kSlopeOctave;
    return uint64_t{stop.surplus} * above > 12 * kSlopeOctave || (stop.surplus >= 2 && above > 7 * kSlopeOctave / 4);
}
// Where tier-1 stops in a frame that is coded again. Where the first try lacks a little, the slope was right, and tests
// ended blocks too early: half an octave is enough. Else nothing is known, and none of the blocks ends.
inline StopSlope next_try(const StopOutcome &stop, uint32_t style, bool frame_steps, const StepWeights &weights) {
    if (frame_steps && stopped_too_early(stop, true)) {
        // A step takes some 1.5 % more bytes than the next one, 1.1 % in nearly exact frames. Between two tries one
        // step is enough.
        const bool between = stop.coarser_tries && may_become_coarser(stop);
        const bool exact = is_nearly_exact(static_cast<int>(stop.slope), weights);
        const uint32_t finer = min_of((between || exact ? 1 : 2) + stop.lacks / (exact ? 3 : 4), kFrameSteps - 1);
        if (static_cast<int>(stop.slope) < slope_of_steps(weights.finest, 0, finer))
            return {.slope = 1, .always_includes = 0, .coarser_tries = kCoarserTries};
        return {.slope = stop.slope - finer * (2 * kSlopeOctave / kFrameSteps),
                .always_includes = 0,
                .step = (stop.step + kFrameSteps - finer) % kFrameSteps,
                .coarser_tries = kCoarserTries};
    }
    if (frame_steps && steps_too_fine(stop, weights)) {
        // Where that was not enough, a step takes less; and where blocks are worth much more, as on screens.
        const uint32_t slope = slope_of_frame(stop, weights);
        const bool exact = is_nearly_exact(static_cast<int>(slope), weights);
        const bool again = stop.coarser_tries, worth_more = stop.threshold > slope + 2 * kSlopeOctave;
        const uint32_t by_surplus = exact && again                 ? (stop.surplus + 1) / 2
                                    : exact || again || worth_more ? (stop.surplus + 2) / 3
                                                                   : stop.surplus / 5,
                       coarser = min_of(max_of(by_surplus, 1u), kFrameSteps - 1);
        return {.slope = slope + coarser * (2 * kSlopeOctave / kFrameSteps),
                .always_includes = 0,
                .step = (stop.step + coarser) % kFrameSteps,
                .coarser_tries = stop.coarser_tries + 1};
    }
    const uint32_t less = are_alternatives(style)                         ? 2 * kSlopeOctave
                          : stop.always_includes && stop.lacks <= 256 / 8 ? kSlopeOctave / 2
                                                                          : stop.slope;
    const uint32_t lower = stop.slope > less ? stop.slope - less : 0;
    // Of alternatives none is always included: those near the threshold are tried.
    const uint32_t higher = are_alternatives(style) ? stop.threshold : stop.slope;
    return {.slope = stopped_too_early(stop, frame_steps) ? lower : higher,
            .always_includes = 0,
            .step = lower ? stop.step : 0};
}

}  // namespace cudaenc::j2k
