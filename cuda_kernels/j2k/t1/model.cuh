// SPDX-License-Identifier: LGPL-2.1-or-later
// Context modelling, sample-parallel, after Matela et al. (2010): membership of passes, contexts and decisions of all
// samples at once, by logic on words that hold 32 rows of a column (common/j2k/t1/contexts.h). Every lane then writes
// the symbols of its column's part of each stripe, at positions that scans over the warp give.
#pragma once
#include "../../../common/j2k/t1/mq.h"
#include "raw.cuh"
#include "t1_params.h"
#include "tile.cuh"

namespace cudaenc::j2k {

// ---- Counts of samples, over a block

// Two counts of at most 4096 share a word.
template <class Tile>
DEVICE uint32_t count_both(const Tile &tile, uint32_t low, uint32_t high) {
    return tile.sum(static_cast<uint32_t>(popcount(low) | popcount(high) << 16));
}
// DecisionCounts, both classes in a word.
struct PackedCounts {
    uint32_t ones, all;
    DEVICE_MEMBER uint32_t newly_significant() const { return (ones & 0xFFFF) + (ones >> 16); }
};
// As EntropyOf, an operand a lane.
struct WarpEntropyOf {
    DEVICE_MEMBER uint32_t operator()(const PackedCounts &c) const {
        const int lane = lane_id();
        const auto own = [lane](uint32_t word) { return word >> 16 * (lane & 1) & 0xFFFF; };
        const uint32_t all = own(c.all), ones = own(c.ones),
                       part = x_log2_x(lane < 2   ? all
                                       : lane < 4 ? ones
                                       : lane < 6 ? all - ones
                                                  : 0);
        return warp_add(lane < 2 ? part : 0 - part);
    }
};

// Of the bits below those of a lane's samples, in parts of 2^-kReductionPlanes: how much is alike. A bit below counts
// for a one and against a zero: so do those that are alike, less the zeros.
template <class Tile>
DEVICE uint32_t alike_below(const Tile &tile, int plane, uint32_t samples, uint32_t bits) {
    uint32_t alike = 0;
    const int below = min_of(plane, kReductionPlanes);
    CUDAENC_UNROLL
    for (int k = 0; k < kReductionPlanes; k++)
        if (k < below)
            alike += static_cast<uint32_t>(popcount(samples & ~(tile.plane(plane - 1 - k) ^ bits))
                                           << (kReductionPlanes - 1 - k));
    return alike;
}
// The distortion reduction of samples that are refined, or become significant. alike: alike_below() of them.
DEVICE int32_t reduction_of_samples(bool refinement, int ones, int zeros, uint32_t alike, int plane, bool reversible) {
    const ReductionRounding rounding = reduction_rounding(plane, reversible);
    const int parts = static_cast<int>(alike);
    if (!refinement) return reduction_of_significance(rounding, ones, parts);
    return reduction_of_refinement(rounding, ones, zeros, parts - zeros * all_parts_below(plane));
}

// Samples that are coded next: `members` by a zero coding decision, some `near` a neighbour; and refined ones if it
// `refines`.
template <class Tile>
DEVICE NextSamples<PackedCounts> count_next(const Tile &tile, bool refines, uint32_t refined, uint32_t members,
                                            uint32_t bits, uint32_t near) {
    return {refines ? tile.sum(static_cast<uint32_t>(popcount(refined))) : 0,
            {count_both(tile, members & bits & ~near, members & bits & near),
             count_both(tile, members & ~near, members & near)}};
}
// Their distortion reduction.
template <class Tile>
DEVICE int32_t reduction_of_next(const Tile &tile, bool refines, uint32_t refined, uint32_t members, uint32_t bits,
                                 int plane, bool reversible) {
    const auto reduction = [&](bool refinement, uint32_t samples) {
        const int ones = popcount(samples & bits);
        return reduction_of_samples(refinement, ones, popcount(samples) - ones, alike_below(tile, plane, samples, bits),
                                    plane, reversible);
    };
    const int own = reduction(false, members & bits) + (refines ? reduction(true, refined) : 0);
    return static_cast<int32_t>(tile.sum(static_cast<uint32_t>(own)));
}

// ---- Policies: what rate allocation needs of passes, at compile time. Before a pass a block may end (needs_test,
// skip, should_stop); after a pass it is measured; at the end the measurements are stored. A policy is made of a
// kernel's parameters, a block's index, the block and its magnitude bit-planes.

// All passes are coded, none is measured.
struct KeepAll {
    static constexpr bool kMeasures = false, kPredicts = false;
    static constexpr int always_included = 0;
    DEVICE_MEMBER KeepAll() {}
    DEVICE_MEMBER KeepAll(const ContextInput &, uint32_t, const CodeBlock &, int) {}
    DEVICE_MEMBER bool needs_test(int, int) const { return false; }
    DEVICE_MEMBER bool skip(int, int) const { return false; }
    DEVICE_MEMBER bool should_stop(int, int32_t, const NextSamples<PackedCounts> &) const { return false; }
    template <class Tile>
    DEVICE_MEMBER void after_pass(const Tile &, int, int, int, uint32_t, uint32_t, uint32_t) {}
    DEVICE_MEMBER void at_end(bool, int, int, int, bool) const {}
};

// All passes are coded and measured.
struct Measure : KeepAll {
    static constexpr bool kMeasures = true;
    int32_t *reductions;  // [pass], of the block
    // Of the pass with this lane's number, from the first of the round on, over the block: decisions but signs, and of
    // these ones << 16; alike_below().
    uint32_t decisions = 0, alike = 0;

    DEVICE_MEMBER Measure(const Tier1Buffers &t1, uint32_t index)
        : reductions(t1.coded.reductions + static_cast<uint64_t>(index) * t1.max_passes) {}
    DEVICE_MEMBER Measure(const ContextInput &p, uint32_t index, const CodeBlock &, int) : Measure(p.t1, index) {}

    // keeper: the lane that keeps the pass; decided: samples with a decision; worked_on: of these, those that the
    // distortion reduction follows from.
    template <class Tile>
    DEVICE_MEMBER void after_pass(const Tile &tile, int, int keeper, int plane, uint32_t decided, uint32_t worked_on,
                                  uint32_t bits) {
        const uint32_t counts = count_both(tile, decided, worked_on & bits),
                       sum = tile.sum(alike_below(tile, plane, worked_on, bits));
        if (lane_id() != keeper) return;
        decisions = counts;
        alike = sum;
    }
    // By the first warp: a lane a pass of [first, passes), from `included` on.
    DEVICE_MEMBER void store(int first, int included, int passes, int planes, bool reversible) const {
        const int pass = first + lane_id(), plane = max_of(planes - 1 - (pass + 2) / 3, 0);
        const int ones = static_cast<int>(decisions >> 16), zeros = static_cast<int>(decisions & 0xFFFF) - ones;
        const int32_t reduction =
            reduction_of_samples(pass_kind(pass) == kMagnitudeRefinement, ones, zeros, alike, plane, reversible);
        if (pass >= included && pass < passes) reductions[pass] = reduction;
    }
    DEVICE_MEMBER void at_end(bool first_warp, int first, int passes, int planes, bool reversible) const {
        if (passes > first && first_warp) store(first, first, passes, planes, reversible);
    }
};

// Passes are measured that may be truncated; a block ends where its rule says.
struct Predict : Measure {
    static constexpr bool kPredicts = true;
    StopRule stop;
    int always_included;

    DEVICE_MEMBER Predict(const PredictedContextInput &p, uint32_t index, const CodeBlock &b, int planes)
        : Measure(p.t1, index),
          stop(p.stop ? stop_rule(*p.stop, p.bands[b.precinct_band].weight + p.regions[index]) : StopRule()),
          always_included(stop.always_included_passes(planes)) {}
    DEVICE_MEMBER bool needs_test(int pass, int plane) const { return stop.needs_test(pass, plane); }
    DEVICE_MEMBER bool skip(int pass, int plane) const { return stop.skip(pass, plane); }
    DEVICE_MEMBER bool should_stop(int plane, int32_t reduction, const NextSamples<PackedCounts> &next) const {
        return stop.should_stop(plane, reduction, next, WarpEntropyOf{});
    }
    template <class Tile>
    DEVICE_MEMBER void after_pass(const Tile &tile, int pass, int keeper, int plane, uint32_t decided,
                                  uint32_t worked_on, uint32_t bits) {
        if (pass >= always_included) Measure::after_pass(tile, pass, keeper, plane, decided, worked_on, bits);
    }
    DEVICE_MEMBER void at_end(bool first_warp, int first, int passes, int planes, bool reversible) const {
        if (passes > max_of(always_included, first) && first_warp)
            store(first, always_included, passes, planes, reversible);
    }
};

// ---- A block's passes

// Which code-block styles a kernel knows.
enum class StyleVariant { kNone, kBypass, kAny };

// What was made of a block.
struct Modelled {
    uint32_t symbols;
    int passes;
};

// A lane's column as the bit-planes above made it, and the symbols in the block's room.
struct BlockState {
    uint32_t significant = 0, refined = 0;
    uint32_t symbols = 0;
};

// Passes of a block. Segments: RawSegments, or NoSegments where no pass is raw.
template <StyleVariant kStyle, class Policy, class Tile, class Segments>
struct PassModeller {
    const Tile &tile;
    const CodeBlock &block;
    const uint32_t valid, negative;  // rows of this lane's column that exist; their signs
    const int planes;
    const uint32_t style;
    const bool lossy;
    uint8_t *const symbols;
    uint32_t *const pass_ends;  // [pass], written by one thread, which writes_ends
    const bool writes_ends;
    Segments &segments;
    Policy &policy;
    BlockState &state;
    const Around<uint32_t> signs;
    uint32_t visited = 0, fresh = 0;  // in this plane's significance propagation: coded, became significant
    uint32_t propagation_bits = 0;    // of a raw significance propagation

    static constexpr bool kStyled = kStyle == StyleVariant::kAny, kRaw = kStyle != StyleVariant::kNone,
                          kAligned = kRaw || Policy::kMeasures;

    struct Pass {
        int number, kind, plane;
        bool raw;
        uint32_t bits;
        uint32_t known;           // significant before the pass
        Around<uint32_t> before;  // of these
    };
    // The samples that a pass codes.
    struct Members {
        uint32_t members, becoming = 0;  // by a zero coding or refinement decision; a sign follows
        uint32_t run = 0;                // first rows of stripes in run-length mode
        uint32_t decided;                // members, runs too
        uint32_t counts = 0;             // of each stripe's symbols, a nibble each
        ContextBits<uint32_t> context{};
        SignBits<uint32_t> sign{};
    };
    enum Ending { kGoesOn, kEnds, kEndsBehindSegment };  // of the block

    // Passes [first, last), which begin and end with a bit-plane. One body for the three kinds of pass keeps the code
    // small enough for the instruction cache. The first plane has the last kind only.
    DEVICE_MEMBER Modelled run(int first, int last) {
        for (int number = first; number < last; number++) {
            const int plane = planes - 1 - (number + 2) / 3;
            const uint32_t known = state.significant | fresh;
            const Pass pass{number, pass_kind(number),        plane, kRaw && is_raw(style, number), tile.plane(plane),
                            known,  significant_around(known)};
            const Ending ending = ending_before(pass);
            if (ending == kEnds) return end(number);
            Members m = members_of(pass);
            if (ending == kGoesOn)
                policy.after_pass(tile, number, number - first, plane, m.decided,
                                  pass.kind == kMagnitudeRefinement ? m.members : m.becoming, pass.bits);
            m.counts += nibble_sums(m.members);
            if constexpr (kRaw) {
                if (pass.raw) {
                    put_raw(pass, m, ending);
                    if (ending == kEndsBehindSegment) return end(number);
                    continue;
                }
            }
            put_symbols(pass, m);
            end_pass(pass);
        }
        return end(last);
    }

    DEVICE_MEMBER Around<uint32_t> significant_around(uint32_t word) const {
        const Around<uint32_t> all = tile.around(word);
        return kStyled && (style & kVerticallyCausal) ? causal(all) : all;
    }

    // Whether the block ends before a pass: by its policy, or where a lossy block's last passes are not worth their
    // bits. A raw segment that the pass would have continued ends then.
    DEVICE_MEMBER Ending ending_before(const Pass &pass) const {
        const int without_last = max_of(coding_passes(planes) - kLastPasses, 0);
        const bool is_last = pass.number == without_last && lossy,
                   needs_test = policy.needs_test(pass.number, pass.plane);
        if (!is_last && !needs_test) return kGoesOn;
        if (needs_test && policy.skip(pass.number, pass.plane)) return end_before(pass.number);
        // The samples that the pass reaches from significant ones; or the rest of the plane.
        const bool reaches = pass.kind == kSignificancePropagation, refines = pass.kind == kMagnitudeRefinement;
        const uint32_t next = valid & ~pass.known & (reaches ? pass.before.any() : ~visited);
        const uint32_t near = reaches ? pass.before.nearest()
                                      : (kStyled ? tile.around(pass.known) : pass.before).any() |
                                            reached_in_pass(tile.around(next & pass.bits));
        const NextSamples<PackedCounts> counts = count_next(tile, refines, state.significant, next, pass.bits, near);
        const bool ends = (is_last && !worth_coding(counts, WarpEntropyOf{})) ||
                          (needs_test && policy.should_stop(pass.plane,
                                                            reduction_of_next(tile, refines, state.significant, next,
                                                                              pass.bits, pass.plane, block.reversible),
                                                            counts));
        return ends ? end_before(pass.number) : kGoesOn;
    }
    DEVICE_MEMBER Ending end_before(int pass) const {
        return kRaw && pass && is_raw(style, pass - 1) && !ends_segment(style, pass - 1) ? kEndsBehindSegment : kEnds;
    }

    // Membership of the pass, and contexts unless it is raw.
    DEVICE_MEMBER Members members_of(const Pass &pass) {
        Members m;
        const uint32_t bits = pass.bits;
        const Around<uint32_t> &before = pass.before;
        if (pass.kind == kMagnitudeRefinement) {
            m.members = m.decided = state.significant;
            m.context = refinement_planes(before.any(), state.refined);
            state.refined |= state.significant;
            return m;
        }
        Around<uint32_t> in_pass;
        if (pass.kind == kSignificancePropagation) {
            // Matela's tau: membership spreads along the scan, to a fixpoint.
            const uint32_t candidates = ~state.significant & valid, around = before.any();
            visited = candidates & around;
            for (;;) {
                fresh = visited & bits;
                in_pass = tile.around(fresh);
                const uint32_t more = candidates & (around | reached_in_pass(in_pass));
                const bool changed = more != visited;
                visited = more;
                if (!tile.any(changed)) break;
            }
            m.members = visited;
            m.becoming = fresh;
        } else {
            m.members = valid & ~pass.known & ~visited;
            m.becoming = m.members & bits;
            in_pass = tile.around(m.becoming);
        }
        const Around<uint32_t> now = when_visited(before, in_pass);
        m.decided = m.members;
        if (pass.kind == kCleanUp) {
            const RunLength<uint32_t> runs = run_length(m.members, m.becoming, before, in_pass, now);
            m.members = runs.members;
            m.run = runs.columns;
            m.counts = m.run + (runs.ended << 1);
            state.significant |= fresh | m.becoming;
            visited = 0;
            fresh = 0;
        }
        m.counts += nibble_sums(m.becoming);
        if (!pass.raw) {
            m.context = zero_coding_planes(now, block.orientation);
            m.sign = sign_coding_planes(now, negative, signs);
        }
        return m;
    }

    // The bits of a raw pass; where the segment ends, its bytes.
    DEVICE_MEMBER void put_raw(const Pass &pass, const Members &m, Ending ending) {
        if (ending == kGoesOn)
            segments.put(m.counts, m.members, pass.bits, m.becoming, negative, pass.kind == kSignificancePropagation);
        if (pass.kind == kSignificancePropagation) propagation_bits = segments.bits;
        if (ending == kGoesOn && pass.number != coding_passes(planes) - 1 && !ends_segment(style, pass.number)) return;
        const auto [propagation, all] = segments.end(propagation_bits);
        const int of = ending == kGoesOn ? pass.number : pass.number - 1;
        if (writes_ends && pass_kind(of) == kMagnitudeRefinement && !ends_segment(style, of - 1))
            pass_ends[of - 1] = propagation;
        if (writes_ends) pass_ends[of] = all;
    }

    // The symbols of a pass, as bytes, for all rows at once: context << 1 | decision; contexts of signs from 9 on.
    DEVICE_MEMBER void put_symbols(const Pass &pass, const Members &m) {
        const ContextBits<uint32_t> &context = m.context;
        const SignBits<uint32_t> &sign = m.sign;
        StripePositions to = tile.positions(m.counts, state.symbols);
        uint32_t coded[8] = {
            pass.bits, context.bit[0], context.bit[1], context.bit[2], context.bit[3], context.bit[4], 0, 0};
        uint32_t coded_signs[8] = {sign.decision,
                                   ~sign.bit[0],
                                   sign.bit[0] ^ sign.bit[1],
                                   (sign.bit[0] & sign.bit[1]) | sign.bit[2],
                                   ~0u,
                                   0,
                                   0,
                                   0};
        planes_to_bytes(coded);
        planes_to_bytes(coded_signs);
        // Two stripes a turn, so that the loop is small.
        uint32_t here_on = m.members, signed_on = m.becoming, runs_on = m.run;
        CUDAENC_NO_UNROLL
        for (int turn = 0; turn < kStripes / 2; turn++) {
            CUDAENC_UNROLL
            for (int s = 0; s < 2; s++)
                put_stripe(symbols + to.before[s], here_on >> (4 * s), signed_on >> (4 * s), runs_on >> (4 * s),
                           &coded[4 * s], &coded_signs[4 * s]);
            here_on >>= 8;
            signed_on >>= 8;
            runs_on >>= 8;
            CUDAENC_UNROLL
            for (int i = 0; i < 8; i++) {
                coded[i] >>= 8;
                coded_signs[i] >>= 8;
                if (i < kStripes - 2) to.before[i] = to.before[i + 2];
            }
        }
    }
    // Of the lowest four rows: members, those that become significant, the first of a run.
    DEVICE_MEMBER void put_stripe(uint8_t *at, uint32_t here, uint32_t signed_here, uint32_t runs_here,
                                  const uint32_t *coded, const uint32_t *coded_signs) const {
        if (!((here | signed_here | runs_here) & 15)) return;
        // No branches: some lane has something to put nearly always.
        const auto put = [&](uint32_t word, int bit, uint32_t symbol) {
            const uint32_t there = word & 1u << bit;
            if (there) *at = static_cast<uint8_t>(symbol);
            at += there >> bit;
        };
        if (runs_here & 1) {
            const bool ended = signed_here & 15;
            put(1, 0, kRunLength << 1 | (ended ? 1 : 0));
            if (ended) {
                const int row = find_first_set(signed_here);
                put(1, 0, kUniform << 1 | row >> 1);
                put(1, 0, kUniform << 1 | (row & 1));
            }
        }
        CUDAENC_UNROLL
        for (int row = 0; row < 4; row++) {
            put(here, row, coded[row]);
            put(signed_here, row, coded_signs[row]);
        }
    }

    DEVICE_MEMBER void end_pass(const Pass &pass) {
        // With the bypass alone it need not know passes that cannot be truncated.
        constexpr bool kSegmentsAlone = kStyle == StyleVariant::kBypass && !Policy::kMeasures;
        const bool ends =
            is_filled_up(style, pass.number, kSegmentsAlone ? coding_passes(kMaxPlanes) : policy.always_included - 1);
        if (kAligned && ends) fill_up(kStyled && pass.kind == kCleanUp && (style & kSegmentationSymbols));
        if (writes_ends && ends) pass_ends[pass.number] = state.symbols;
    }

    // Fills symbols up to a multiple of kPassAlignment, behind those of segmentation if there are to be.
    DEVICE_MEMBER void fill_up(bool segmentation) {
        const uint32_t begin = state.symbols + (segmentation ? 4 : 0);
        const uint32_t end = (begin + kPassAlignment - 1) / kPassAlignment * kPassAlignment,
                       at = state.symbols + static_cast<uint32_t>(lane_id());
        if (tile.is_first_warp() && at < end)
            symbols[at] =
                static_cast<uint8_t>(at < begin ? kUniform << 1 | (((at - state.symbols) & 1) ^ 1) : kNoSymbol);
        state.symbols = end;
    }

    // With so many passes; the last ones of a bypass's MQ segment are filled up.
    DEVICE_MEMBER Modelled end(int passes) {
        if (kStyle == StyleVariant::kBypass && passes && !is_raw(style, passes - 1)) {
            fill_up(false);
            if (writes_ends) pass_ends[passes - 1] = state.symbols;
        }
        return {state.symbols, passes};
    }
};

// Where a block's symbols lie in its room.
template <StyleVariant kStyle, class Policy>
DEVICE uint8_t *symbols_in_room(const Tier1Buffers &t1, uint32_t index, const CodeBlock &block, uint32_t style) {
    uint8_t *room = t1.coded.room(index);
    const bool aligned = kStyle != StyleVariant::kNone || Policy::kMeasures;
    return aligned ? room + room_layout(block, BlockCoding{style, Policy::kMeasures}).symbols : room;
}

// A block's passes [first, last), by lanes that each have a column. symbols: their place; valid, negative: see
// PassModeller; segments: of raw passes; writes: one thread of the block.
template <StyleVariant kStyle, class Policy, class Tile, class Segments>
DEVICE Modelled model_passes(const Tier1Buffers &t1, uint32_t index, const CodeBlock &block, uint8_t *symbols,
                             const Tile &tile, uint32_t valid, uint32_t negative, int planes, uint32_t style,
                             Segments &segments, Policy &policy, bool writes, int first, int last, BlockState &state) {
    using Modeller = PassModeller<kStyle, Policy, Tile, Segments>;
    uint32_t *pass_ends = t1.pass_ends + static_cast<uint64_t>(index) * t1.max_passes;
    const Around<uint32_t> signs = tile.around(negative);
    for (int from = first;;) {
        // Where passes are measured, no more of them than lanes, to the end of a plane.
        const int to = Policy::kMeasures ? min_of(last, from + (from ? 30 : 31)) : last;
        Modeller modeller{tile,      block,  valid,    negative, planes, style, t1.lossy, opaque(symbols),
                          pass_ends, writes, segments, policy,   state,  signs};
        const Modelled modelled = modeller.run(from, to);
        policy.at_end(tile.is_first_warp(), from, modelled.passes, planes, block.reversible);
        if (modelled.passes < to || to == last) return modelled;
        from = to;
    }
}

// What is known of a block once it is modelled, by one thread. planes: magnitude bit-planes.
template <class Policy>
DEVICE void finish_block(const Tier1Buffers &t1, uint32_t block, const Modelled &modelled, int planes,
                         const Policy &policy) {
    t1.symbols[block] = modelled.symbols;
    t1.coded.planes[block] = static_cast<uint8_t>(modelled.passes ? planes : 0);
    t1.coded.passes[block] = static_cast<uint8_t>(modelled.passes);
    if (t1.coded.always_included) {
        t1.coded.always_included[block] = static_cast<uint8_t>(policy.always_included);
        t1.coded.estimated_bytes[block] = estimated_codeword_bytes(modelled.symbols);
    }
    atomic_add(&t1.work->counts[work_class(modelled.symbols)], 1u);
}

// ---- Whole blocks

DEVICE uint32_t block_of_warp() { return static_cast<uint32_t>(block_x()) * kContextWarps + warp_id(); }

// A warp owns a block of at most 32x32, a lane a column of it. planes: shared, [warp][plane][lane];
// make_segments(tile, index, planes): of raw passes.
template <StyleVariant kStyle, class Policy, class P, class MakeSegments>
DEVICE void model_small_block(const P &p, uint32_t index, uint32_t style, uint32_t *planes,
                              const MakeSegments &make_segments) {
    if (index >= p.t1.count) return;
    const CodeBlock &b = p.t1.blocks[index];
    const int lane = lane_id();
    uint32_t column[32], negative;
    const int count = read_column(p.coefficients, b, lane, 0, column, negative);
    Policy policy(p, index, b, count);
    if (policy.kPredicts && (!count || policy.skip(0, count - 1))) {
        if (lane == 0) finish_block(p.t1, index, {0, 0}, count, policy);
        return;
    }
    uint32_t *own = &planes[warp_id() * kMaxPlanes * 32];
    slice_column(column, count, [&](int plane, uint32_t word) { own[plane * 32 + lane] = word; });
    const uint32_t valid = lane < b.width ? first_rows(b.height) : 0;
    warp_sync();
    const OneTile tile{own};
    auto segments = make_segments(tile, index, count);
    BlockState state;
    const Modelled modelled =
        model_passes<kStyle>(p.t1, index, b, symbols_in_room<kStyle, Policy>(p.t1, index, b, style), tile, valid,
                             negative, count, style, segments, policy, lane == 0, 0, coding_passes(count), state);
    if (lane == 0) finish_block(p.t1, index, modelled, count, policy);
}

// Raw segments of a small block. words: shared, kTileRawWords of the warp.
struct MakeRawSegments {
    const Tier1Buffers &t1;
    const BlockCoding coding;
    uint32_t *words;
    DEVICE_MEMBER RawSegments<OneTile> operator()(const OneTile &tile, uint32_t index, int planes) const {
        if (coding_passes(planes) <= kFirstRawPass) return {tile, words, nullptr};  // of which none are
        for (int i = lane_id(); i < kTileRawWords; i += 32) words[i] = 0;
        warp_sync();
        return {tile, words, raw_place(t1, index, coding)};
    }
};

// A thread-block owns a block, a warp a tile of 32x32 of it. words, totals: see ManyTiles; raw: shared, kRawWords, of
// kernels that know raw passes.
template <StyleVariant kStyle, class Policy, class P>
DEVICE void model_large_block(const P &p, uint32_t style, uint32_t *words, uint32_t *totals, uint32_t *raw) {
    constexpr bool kRaw = kStyle != StyleVariant::kNone;
    const uint32_t index = static_cast<uint32_t>(block_x());
    const CodeBlock &b = p.t1.blocks[index];
    if (kRaw)
        for (int i = thread_x(); i < kRawWords; i += block_threads()) raw[i] = 0;
    const LargeBlock large = read_large_block(p.coefficients, b, p.tiles_x, p.tiles_y, words, totals);
    Policy policy(p, index, b, large.planes);
    BlockState state;
    const auto model = [&](auto segments) {
        return model_passes<kStyle>(p.t1, index, b, symbols_in_room<kStyle, Policy>(p.t1, index, b, style), large.tile,
                                    first_rows(large.rows), large.negative, large.planes, style, segments, policy,
                                    thread_x() == 0, 0, coding_passes(large.planes), state);
    };
    Modelled modelled;
    if constexpr (kRaw)
        modelled = model(
            RawSegments<ManyTiles>{large.tile, raw, raw_place(p.t1, index, BlockCoding{style, policy.kMeasures})});
    else
        modelled = model(NoSegments{});
    if (thread_x() == 0) finish_block(p.t1, index, modelled, large.planes, policy);
}

}  // namespace cudaenc::j2k
