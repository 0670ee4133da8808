// What coding passes are worth and what they cost. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../hd.h"
#include "t2.h"

namespace cudaenc::j2k {

// x log2(x), in 1/256; x below 2^16. Between powers of two log2 is a parabola, at most 0.017 from what it should be.
CUDAENC_HD uint32_t x_log2_x(uint32_t x) {
    const int whole = bit_width(x) - 1;
    const uint32_t rest = (x << (16 - whole) & 0xFFFF) >> 8;
    return x * (static_cast<uint32_t>(whole) * 256 + rest + (rest * (256 - rest) * 88 >> 16));
}

// The bits, in 1/256, of `all` decisions of which `ones` are 1, by an arithmetic coder that knows how many; `all` at
// most 4096.
CUDAENC_HD uint32_t entropy(uint32_t ones, uint32_t all) {
    return x_log2_x(all) - x_log2_x(ones) - x_log2_x(all - ones);
}

// A pass's decisions but signs, in two classes: without and with a neighbour that is significant when the scan gets
// there. Significance propagation: a horizontal or vertical one; clean-up: any. Refinement: all in the first. `ones`
// are the ones.
struct DecisionCounts {
    uint32_t ones[2], all[2];
    // Samples that become significant.
    CUDAENC_HD uint32_t found() const { return ones[0] + ones[1]; }
};
// Their bits, in 1/256, as if a class had one context. Functions that ask for it take it, since a warp finds it by all
// lanes.
struct EntropyOf {
    CUDAENC_HD uint32_t operator()(const DecisionCounts &c) const {
        return entropy(c.ones[0], c.all[0]) + entropy(c.ones[1], c.all[1]);
    }
};

// Samples that are coded next: those that are refined, and the decisions of others. Decisions: DecisionCounts, or as
// these.
template <class Decisions = DecisionCounts>
struct NextSamples {
    uint32_t refined;
    Decisions decisions;
};

// Whether refinement and clean-up of a bit-plane are worth their bits, where the quantiser loses anyway. With samples
// that lie anywhere in their steps of size 1 and are decoded to the middle, one that becomes significant takes 9/4 off
// the squared error for its sign and what it takes to find it, one that is refined 1/4 for a bit. Asked for is 3/8 a
// bit: found by trial, the most PSNR at equal bytes over photographs, stills of video and screens.
template <class Decisions, class Entropy = EntropyOf>
CUDAENC_HD bool worth_coding(const NextSamples<Decisions> &next, const Entropy &entropy_of = {}) {
    return 256 * (15 * next.decisions.found()) > 256 * next.refined + 3 * entropy_of(next.decisions);
}

// ---- What coding passes take off the squared error, in 1/64 of 4^plane steps^2: exact where decoders reconstruct to
// the middle of what they know. It is linear in a sample's bits below the plane, of which kGainPlanes count; those
// below are taken to be half.
constexpr int kGainPlanes = 3;

struct GainRounding {
    int half;   // for a sample, what no bit says
    int whole;  // for a sample that is known to the last bit
};
CUDAENC_HD GainRounding gain_rounding(int plane, bool reversible) {
    return {reversible ? (plane > kGainPlanes ? 4 : 0) : 32 >> min_of(plane, kGainPlanes),
            reversible && !plane ? 16 : 0};
}
// Of `found` samples that become significant. eighths: the sum of their next bits, 4, 2, 1 for the first three.
CUDAENC_HD int32_t gain_of_found(const GainRounding &r, int found, int eighths) {
    return (48 + 3 * r.half + r.whole) * found + 24 * eighths;
}
// Of samples that are refined, by whether their bit is 1 or 0. eighths: of the ones less that of the zeros.
CUDAENC_HD int32_t gain_of_refined(const GainRounding &r, int ones, int zeros, int eighths) {
    return (r.half + r.whole - 16) * ones + (48 - r.half + r.whole) * zeros + 8 * eighths;
}

// ---- Slopes: gain over bytes, as logarithms, so that bins of a table have them all. kSlopeOctave codes are a factor
// of two; code 0 is no slope.
constexpr int kSlopes = 32768, kSlopeOctave = 512, kLowestSlope = -14;  // the last in octaves

// kSlopeOctave log2(x), x > 0; between powers of two a parabola, at most 1 % of an octave off. Of x no more than the
// highest 17 bits count.
CUDAENC_HD int log2_code(uint32_t x) {
    const int whole = floor_log2(x);
    const uint32_t rest = x << (31 - whole) >> 15 & 0xFFFF;
    return whole * kSlopeOctave + static_cast<int>((rest * 128 + (rest * (0x10000 - rest) >> 16) * 44) >> 14);
}
CUDAENC_HD int log2_code(uint64_t x) {
    const uint32_t high = static_cast<uint32_t>(x >> 32);
    if (!high) return log2_code(static_cast<uint32_t>(x));
    const int left_out = 1 + floor_log2(high);
    return left_out * kSlopeOctave + log2_code(static_cast<uint32_t>(x >> left_out));
}

// The step from one cut of a block to a later one. weight: log2_code() of what a squared step weighs in the picture.
CUDAENC_HD uint32_t slope_of(uint64_t gain, uint32_t bytes, int weight) {
    if (!bytes) return kSlopes - 1;
    const int code = log2_code(gain) - log2_code(bytes) + weight - (kLowestSlope + 6) * kSlopeOctave;
    return static_cast<uint32_t>(min_of(max_of(code, 1), kSlopes - 1));
}

// A block's passes as rate control sees them.
struct BlockPasses {
    int planes, passes, certain;
    const uint32_t *bytes;  // [pass]: of the codeword if it is cut behind the pass
    const int32_t *gains;   // [pass], from the first that is not certain on
    int weight;
    uint32_t style;
    uint32_t number;  // of the block: blocks that are all alike must not have the same slopes, or they all end together
};

CUDAENC_HD BlockPasses block_passes(const PrecinctBand &band, uint32_t number, const CodedBlock &coded,
                                    const uint32_t *bytes, const int32_t *gains, uint32_t style) {
    return {coded.planes, coded.passes, coded.certain, bytes, gains, band.weight, style, number};
}

// The slopes of a block's cuts, by pass; 0 where there is none.
template <class T>
struct CutSlopes {
    T *first;
    size_t stride;
    CUDAENC_HD T &operator[](int pass) const { return first[static_cast<size_t>(pass) * stride]; }
};

// The convex hull of a block's cuts (PCRD-opt, T.800 J.14.3): each with its slope from the one before, in `slopes`,
// where they fall. Passes come one by one, and those that are less steep than the way from them on are cuts no more. A
// codeword can be shorter with more passes. The first cut is behind those that are certain, with the highest slope.
CUDAENC_HD void find_cuts(const BlockPasses &b, const CutSlopes<uint16_t> &slopes) {
    // What the gains of the lowest planes count, so that the sum of all fits.
    const int lowest = max_of(b.planes - 20, 0);
    const int dither = static_cast<int>(b.number * 0x9E3779B1u >> 27);
    const int weight = b.weight + 2 * lowest * kSlopeOctave + dither;
    const auto gain_of = [&](int pass) {
        const int plane = b.planes - 1 - (pass + 2) / 3 - lowest;
        return plane >= 0 ? int64_t{b.gains[pass]} << 2 * plane : int64_t{b.gains[pass]} >> -2 * plane;
    };
    int fixed = b.certain - 1, top = fixed;  // the first cut if that is certain, and the last
    int64_t gain = 0;                        // from it on
    if (top >= 0) slopes[top] = kSlopes - 1;
    for (int pass = b.certain; pass < b.passes; pass++) {
        slopes[pass] = 0;
        gain += gain_of(pass);
        if (!can_cut(b.style, pass) && pass < b.passes - 1) continue;
        while (gain > 0) {
            const uint32_t bytes = b.bytes[pass], before = top < 0 ? 0 : b.bytes[top];
            const uint32_t slope = slope_of(static_cast<uint64_t>(gain), bytes > before ? bytes - before : 0, weight);
            if (top < 0 || slope < slopes[top]) {
                slopes[pass] = static_cast<uint16_t>(slope);
                top = pass;
                gain = 0;
                break;
            }
            slopes[top] = 0;
            if (top == fixed) {  // the pass takes no more bytes
                slopes[pass] = kSlopes - 1;
                fixed = top = pass;
                gain = 0;
                break;
            }
            do gain += gain_of(top--);
            while (top >= 0 && !slopes[top]);
        }
    }
}

// Which cuts are taken: all down to a slope; less steep ones where they, and those of the block before them, take at
// most so many bytes more.
struct CutChoice {
    uint32_t all_from = 1, small = 0;
    CUDAENC_HD bool takes(uint32_t slope, uint32_t more) const {
        return slope >= all_from || static_cast<int32_t>(more) <= static_cast<int32_t>(small);
    }
};

// Of each cut that may be taken: body(slope, bytes more than up to the one before), which may be negative.
template <class Body>
CUDAENC_HD void for_each_cut(const CutSlopes<const uint16_t> &slopes, int certain, int passes, const uint32_t *bytes,
                             const CutChoice &choice, const Body &body) {
    uint32_t before = 0;
    for (int pass = max_of(certain - 1, 0); pass < passes; pass++) {
        if (!slopes[pass]) continue;
        if (!choice.takes(slopes[pass], bytes[pass] - before)) break;
        body(slopes[pass], bytes[pass] - before);
        before = bytes[pass];
    }
}

// ---- Early stop: what is not worth coding, since it would be cut, is known before the MQ coder has seen it. A look at
// some blocks (early_stop.h) tells the slope below which nothing will be needed; and context modelling leaves a block
// where its next passes promise less, by the entropy of their decisions.

// The slope below which tier-1 stopped, 0: it did not; the last layer's threshold; and whether what is far above the
// slope is certain.
struct RateStop {
    uint32_t slope, threshold, keeps_certain;
};

// What the samples take, for its question, in 1/256 bits. Less than kFewBits is no reason: often it is the next plane
// that has a block's energy.
constexpr uint32_t kFewBits = 8 * 256;
template <class Decisions, class Entropy = EntropyOf>
CUDAENC_HD uint32_t asked_bits(const NextSamples<Decisions> &next, const Entropy &entropy_of = {}) {
    return entropy_of(next.decisions) + 256 * (next.decisions.found() + next.refined);
}
// Decides for a block; `base` is kNeverStop where it does not. Passes of its bit-planes from `certain_plane` on are
// certain: a threshold near the slope cuts none of them, so nobody asks what they are worth.
constexpr int kNeverStop = 1 << 20, kCertainOctaves_4 = 21;
struct StopRule {
    int base = kNeverStop, certain_plane = kMaxPlanes;

    // Of a block with `planes`. Of the lowest none are.
    CUDAENC_HD int certain_passes(int planes) const {
        return coding_passes(max_of(planes - max_of(certain_plane, 1), 0));
    }
    // Whether the block may be left before a pass: the first, from a tenth of a squared step a bit on; a significance
    // propagation, which gives two fifths nearly always; a refinement, and the clean-up behind it, from a sixth on.
    CUDAENC_HD bool asks(int pass, int plane) const {
        const int kind = pass_kind(pass);
        return (!pass || kind != kCleanUp) && level(plane) < asked_below(!pass, kind);
    }
    CUDAENC_HD int level(int plane) const { return base + 2 * plane * kSlopeOctave; }
    CUDAENC_HD static constexpr int asked_below(bool first, int kind) {
        const int octaves_4 = first ? kCertainOctaves_4 : kind == kSignificancePropagation ? 13 : 18;
        return octaves_4 * kSlopeOctave / 4;
    }
    // Whether it is then left in any case: to go on would be the answer once in twelve times at most, for a first pass
    // once in two hundred.
    CUDAENC_HD bool leaves(int pass, int plane) const { return level(plane) < left_below(pass_kind(pass)); }
    CUDAENC_HD static constexpr int left_below(int kind) {
        const int octaves_4 = kind == kCleanUp ? 14 : kind == kSignificancePropagation ? 10 : 12;
        return octaves_4 * kSlopeOctave / 4;
    }
    // next: before significance propagation the samples that it reaches from those significant before, its neighbours
    // being horizontal or vertical ones; else all of refinement and clean-up. gain: what they take off the error, in
    // 1/64 of 4^plane steps^2.
    template <class Decisions, class Entropy = EntropyOf>
    CUDAENC_HD bool stops(int plane, int32_t gain, const NextSamples<Decisions> &next,
                          const Entropy &entropy_of = {}) const {
        const uint32_t bits = asked_bits(next, entropy_of);
        if (bits < kFewBits) return false;
        if (gain <= 0) return true;
        // gain 2^(level / kSlopeOctave) < bits; the level is below kCertainOctaves_4 and positive, or nobody asks.
        const int octaves = level(plane) >> 9, rest = level(plane) & (kSlopeOctave - 1);
        static_assert(kSlopeOctave == 1 << 9);
        // 2^(rest / kSlopeOctave), at most 0.3 % off.
        const uint32_t factor = 32768u + 64u * rest - (static_cast<uint32_t>(rest * (kSlopeOctave - rest)) * 22 >> 9);
        return (static_cast<uint64_t>(gain) * factor >> (15 - octaves)) < bits;
    }
};
// The base of a rule is this, what a squared step weighs in the block's band, and less the slope.
constexpr int kStopBase = (11 - kLowestSlope - 6) * kSlopeOctave;
// weight: of the block's band.
CUDAENC_HD StopRule stop_rule(const RateStop &stop, int weight) {
    StopRule rule;
    if (!stop.slope) return rule;
    rule.base = weight + kStopBase - static_cast<int>(stop.slope);
    constexpr int kPlane = 2 * kSlopeOctave;
    const int up_to_certain = kCertainOctaves_4 * kSlopeOctave / 4 - rule.base;
    if (stop.keeps_certain) rule.certain_plane = max_of(up_to_certain + kPlane - 1, 0) / kPlane;
    return rule;
}

// The highest slope with which the rule of a band of this weight codes what it could ask about. first: of the block's
// passes; kind: of the pass it asks before.
CUDAENC_HD uint32_t highest_slope(bool first, int kind, int plane, int weight, int32_t gain, uint32_t bits) {
    const int most = weight + 2 * plane * kSlopeOctave + kStopBase;  // of which a slope leaves the level
    int slope = kSlopes - 1;
    if (bits >= kFewBits) {
        slope = gain > 0 ? most + log2_code(static_cast<uint32_t>(gain)) - log2_code(bits) : 0;
        slope = max_of(slope, most - StopRule::asked_below(first, kind));
    }
    return static_cast<uint32_t>(max_of(min_of(min_of(slope, most - StopRule::left_below(kind)), kSlopes - 1), 0));
}

// What the codeword of so many pairs takes, near enough for its packet header.
CUDAENC_HD uint32_t guessed_bytes(uint32_t pairs) { return pairs / 16 + 1; }

// ---- The search: a threshold of the slope for each layer, so that its packets and those of the layers before it fit
// its budget. What cuts above a slope take is in a table; what headers take depends on the cuts, so it is measured for
// thresholds that a guess gave, and the next ones allow for it. kRateRounds of them are enough: what headers take
// changes by a small part of what the codewords do.
constexpr int kRateRounds = 2;
// Blocks of the tile-parts that profiles limit one by one, and all others.
constexpr int kRateGroups = kLimitedTileParts + 1;

// A layer without a budget has cuts that are so much steeper than the next one's, as with a bit-plane less.
constexpr int kLayerOctaves = 2;

// Bytes of codewords that thresholds make, and of all.
struct RateProgress {
    int64_t codewords, all;
};

// A frame as it was written.
struct WrittenFrame {
    uint64_t bytes;                          // of the codestream, also when there is no room for it
    uint64_t tile_parts[kLimitedTileParts];  // of the first ones
    uint64_t packets[kMaxLayers];            // of each layer, with their PLT entries; not of a single one
    uint32_t threshold[kMaxLayers];          // of each layer; this and the stop where there is rate control
    RateStop stop;
};

// What its budgets ask for then, of one layer: bytes by which the codestream up to it, and limited tile-parts, are over
// them; or below.
struct RateRevision {
    int layer = -1;  // none: it is as it should be
    uint64_t excess = 0, tile_parts[kLimitedTileParts] = {}, spare = 0;
};

struct RateSearch {
    // Bytes; 0: no limit. Of the codestream up to each layer, and of the limited tile-parts.
    uint64_t budget[kMaxLayers], group_budget[kLimitedTileParts];
    // With the thresholds: the same, headers' bits that are stuffed not counted. At first a guess, what they come to
    // but for codewords; or that of all that is coded, measured ahead: see add_codewords().
    uint64_t measured[kMaxLayers], group_measured[kLimitedTileParts];
    // Cuts with at least this slope are in the layer, those of a group only with its slope too. At first kSlopes, of
    // groups 1.
    uint32_t threshold[kMaxLayers], group_threshold[kRateGroups];
    RateProgress before[kMaxLayers], group_before[kLimitedTileParts];  // the thresholds before these
    uint32_t floor;  // slopes below it are none that one would ask for
    uint32_t least;  // threshold of the last layer: 1, or what a target of PSNR has
    CutChoice choice[kMaxLayers];
    RateStop stop;
    uint64_t packets[kMaxLayers], group_packets[kLimitedTileParts];  // bytes so far; zero at first
};

// Bytes of all cuts of a group from a slope on. above: [group][slope].
CUDAENC_HD uint64_t bytes_above(const uint32_t *above, int group, uint32_t slope) {
    return slope < kSlopes ? above[group * kSlopes + slope] : 0;
}

// ... of groups that have limits of their own.
CUDAENC_HD uint64_t bytes_above(const uint32_t *above, int groups, const uint32_t *limits, uint32_t slope) {
    uint64_t sum = 0;
    for (int g = 0; g < groups; g++) sum += bytes_above(above, g, max_of(slope, limits[g]));
    return sum;
}

// The lowest slope from 1 on, kSlopes at most, of which bytes(slope), which falls, is at most `most`.
struct LowestSlope {
    template <class Bytes>
    uint32_t operator()(int64_t most, const Bytes &bytes) const {
        uint32_t low = 1, high = kSlopes;
        while (low < high) {
            const uint32_t middle = (low + high) / 2;
            if (static_cast<int64_t>(bytes(middle)) <= most)
                high = middle;
            else
                low = middle + 1;
        }
        return low;
    }
};

// Of the bytes that `now` has more or less than `before`, in 1/256, codewords' share: at least `least`.
CUDAENC_HD int64_t codewords_share(const RateProgress &now, const RateProgress &before, int64_t least) {
    const int64_t more = now.all - before.all;
    if (!now.codewords || !more) return 256;
    return min_of<int64_t>(max_of<int64_t>((now.codewords - before.codewords) * 256 / more, least), 256);
}

// The next threshold for a budget. bytes(slope): of codewords with that slope or more; now: what the thresholds so far
// make, `before`: those before them. Headers are taken to grow half as much as they did from then to now, so that few
// rounds come close. last: nothing is measured after it, so a thousandth is left, and more the further away it is.
// lowest_slope: LowestSlope.
template <class Bytes, class Search>
CUDAENC_HD uint32_t next_threshold(uint64_t budget, const RateProgress &now, RateProgress &before, bool last,
                                   const Bytes &bytes, const Search &lowest_slope) {
    const int64_t room = static_cast<int64_t>(budget) - now.all;
    int64_t growth = room * (256 + codewords_share(now, before, 128)) / 512;
    if (last) growth -= max_of<int64_t>(growth, 0) / 64 + static_cast<int64_t>(budget / 2048);
    const uint32_t slope = lowest_slope(now.codewords + growth, bytes);
    if (now.codewords) before = now;
    return slope;
}

// The search's beginning, of the budgets that there are. empty: bytes of the codestream if nothing is coded; blocks:
// code-blocks, of whose headers each takes two bytes, or where the budget is small a 40th of it. floor: see RateSearch.
inline void begin_search(RateSearch &r, int layers, uint64_t empty, uint64_t blocks, uint32_t floor) {
    for (int layer = 0; layer < layers; layer++) {
        r.measured[layer] = empty + min_of(2 * blocks, r.budget[layer] / 40);
        r.packets[layer] = 0;
        r.before[layer] = {0, static_cast<int64_t>(empty)};
    }
    for (int g = 0; g < kLimitedTileParts; g++) {
        r.group_measured[g] = r.group_packets[g] = 0;
        r.group_before[g] = {0, 0};
    }
    for (int layer = 0; layer < layers; layer++) {
        r.threshold[layer] = kSlopes;
        const uint64_t small = min_of<uint64_t>(r.budget[layer] / 512, 1 << 30);
        r.choice[layer] = {1, static_cast<uint32_t>(small)};
    }
    for (int g = 0; g < kRateGroups; g++) r.group_threshold[g] = 1;
    r.floor = floor;
    r.least = 1;
}

// Where the frame ends; reached: bytes, with the thresholds. Where tier-1 stopped too early, but what it coded is as
// good as the target, that is the end.
CUDAENC_HD void end_at_threshold(RateSearch &r, int layers, uint64_t reached) {
    const uint64_t budget = r.budget[layers - 1];
    const uint32_t threshold = r.threshold[layers - 1];
    r.stop.threshold = reached + budget / 256 >= budget ? max_of(threshold, r.stop.slope) : threshold;
}

// A round: the next thresholds from what the last ones measured. groups: 1 where no tile-part is limited. All lanes of
// a warp may run it together, with a lowest_slope that waits for them: they write the same, and what has been read
// before.
template <class Search>
CUDAENC_HD void search_thresholds(RateSearch &r, const uint32_t *above, int groups, int layers, bool last,
                                  const Search &lowest_slope) {
    const auto bytes = [&](const uint32_t *limits, uint32_t slope) {
        return bytes_above(above, groups, limits, slope);
    };
    const uint64_t last_before = bytes(r.group_threshold, r.threshold[layers - 1]);
    uint32_t limits[kRateGroups];
    for (int g = 0; g < groups; g++) {
        limits[g] = r.group_threshold[g];
        if (groups == 1 || g == kLimitedTileParts || !r.group_budget[g]) continue;
        const auto of_group = [&](uint32_t slope) { return bytes_above(above, g, slope); };
        const RateProgress now{static_cast<int64_t>(of_group(max_of(r.threshold[layers - 1], limits[g]))),
                               static_cast<int64_t>(r.group_measured[g])};
        limits[g] = next_threshold(r.group_budget[g], now, r.group_before[g], last, of_group, lowest_slope);
    }
    for (int layer = layers - 1; layer >= 0; layer--) {
        const uint32_t later = layer < layers - 1 ? r.threshold[layer + 1] : r.least;
        uint32_t threshold = later;
        if (r.budget[layer]) {
            const RateProgress now{static_cast<int64_t>(bytes(r.group_threshold, r.threshold[layer])),
                                   static_cast<int64_t>(r.measured[layer])};
            threshold = next_threshold(
                r.budget[layer], now, r.before[layer], last, [&](uint32_t slope) { return bytes(limits, slope); },
                lowest_slope);
        } else if (layer < layers - 1) {
            threshold = max_of(later, r.floor) + kLayerOctaves * kSlopeOctave;
        }
        // A layer has no more than the ones behind it.
        r.threshold[layer] = min_of<uint32_t>(max_of(threshold, later), kSlopes);
    }
    for (int g = 0; g < groups; g++) r.group_threshold[g] = limits[g];
    for (int layer = 0; last && layer < layers; layer++) r.choice[layer].all_from = r.threshold[layer];
    end_at_threshold(r, layers, r.measured[layers - 1] + bytes(limits, r.threshold[layers - 1]) - last_before);
}

// Where headers were measured ahead, of all that is coded, and in one layer: `measured` has them alone. Adds the
// codewords, now that they are known.
CUDAENC_HD void add_codewords(RateSearch &r, const uint32_t *above, int groups) {
    r.threshold[0] = 1;
    r.measured[0] += bytes_above(above, groups, r.group_threshold, 1);
    for (int g = 0; g < kLimitedTileParts && g < groups; g++) r.group_measured[g] += bytes_above(above, g, 1);
}

// The thresholds of a frame that is to be cut again. Where headers took more than the search allowed for, codewords
// take less. Where they took less, or there was no room for the next cut, less steep ones are taken that are small: in
// such a layer, up to what the next one has at least. above: of all cuts that may be in the layer, see CutChoice. Lanes
// of a warp may run it together, as the search.
template <class Search>
CUDAENC_HD void revise_thresholds(RateSearch &r, const uint32_t *above, int groups, int layers,
                                  const RateRevision &revision, const Search &lowest_slope) {
    const int layer = revision.layer;
    const bool is_last = layer == layers - 1;
    const uint64_t budget = r.budget[layer];
    const uint32_t threshold = r.threshold[layer];
    const CutChoice choice = r.choice[layer];
    uint32_t limits[kRateGroups];
    for (int g = 0; g < groups; g++) limits[g] = r.group_threshold[g];
    const auto bytes = [&](uint32_t slope) { return static_cast<int64_t>(bytes_above(above, groups, limits, slope)); };
    const RateProgress now{bytes(threshold), static_cast<int64_t>(budget + revision.excess - revision.spare)};
    const int64_t share = codewords_share(now, r.before[layer], 16);
    if (revision.spare) {
        const int64_t spare = static_cast<int64_t>(revision.spare);
        const uint32_t least = is_last ? r.least : max_of(r.threshold[layer + 1], r.choice[layer + 1].all_from),
                       lower = max_of(least, lowest_slope(now.codewords + spare * share / 256 -
                                                              static_cast<int64_t>(budget / 2048),
                                                          bytes));
        r.before[layer] = now;
        if (lower >= choice.all_from) {  // those that are next, and alike, have no room together
            r.choice[layer].small = choice.small / 2;
        } else if (lower == least && 2 * (bytes(least) - now.codewords) < spare) {  // there are too few
            r.choice[layer].small = min_of(choice.small, 1u << 28) * 4;
        } else {
            const uint32_t next = min_of(threshold, lower);
            r.threshold[layer] = next;
            if (is_last) end_at_threshold(r, layers, static_cast<uint64_t>(now.all + bytes(next) - now.codewords));
        }
        return;
    }
    for (int g = 0; g < groups; g++) {
        if (g == kLimitedTileParts || !revision.tile_parts[g]) continue;
        const auto of_group = [&](uint32_t slope) { return bytes_above(above, g, slope); };
        limits[g] = lowest_slope(static_cast<int64_t>(of_group(max_of(threshold, limits[g])) - revision.tile_parts[g]),
                                 of_group);
    }
    uint32_t higher = threshold;
    if (revision.excess) {
        const int64_t excess = static_cast<int64_t>(revision.excess);
        higher = lowest_slope(now.codewords - (excess * share + 255) / 256, bytes);
        r.before[layer] = now;
    }
    for (int g = 0; g < groups; g++) r.group_threshold[g] = limits[g];
    for (int i = 0; i <= layer; i++) {
        r.threshold[i] = max_of(r.threshold[i], higher);
        r.choice[i].all_from = max_of(r.choice[i].all_from, r.threshold[i]);
    }
    if (is_last) r.stop.threshold = r.threshold[layer];
}

// The passes up to the last cut whose slope is at least `threshold`; 1: all, also those that gain nothing.
CUDAENC_HD int passes_above(const CutSlopes<const uint16_t> &slopes, int certain, int passes, uint32_t threshold) {
    const auto is_above = [&](int pass) { return pass >= certain - 1 && slopes[pass] && slopes[pass] >= threshold; };
    while (passes && threshold > 1 && !is_above(passes - 1)) passes--;
    return passes;
}
// ... of the cuts that may be taken. pass_bytes: [pass].
CUDAENC_HD int passes_above(const CutSlopes<const uint16_t> &slopes, int certain, int passes, uint32_t threshold,
                            const uint32_t *pass_bytes, const CutChoice &choice) {
    int some = passes_above(slopes, certain, passes, max_of(threshold, choice.all_from));
    if (threshold >= choice.all_from) return some;
    for (int pass = max_of(some, certain - 1); pass < passes; pass++) {
        if (!slopes[pass]) continue;
        const uint32_t more = pass_bytes[pass] - (some ? pass_bytes[some - 1] : 0);
        if (slopes[pass] < threshold || !choice.takes(slopes[pass], more)) break;
        some = pass + 1;
    }
    return some;
}

// Of some passes' bytes, those of MQ codewords, if it is these that end them.
CUDAENC_HD uint32_t mq_bytes_of(uint32_t style, int passes, uint32_t bytes, const uint32_t *pass_bytes) {
    uint32_t mq = 0;
    bool raw = false;
    for_each_segment(style, 0, passes, 0, bytes, pass_bytes, [&](int first, int, uint32_t segment_bytes) {
        raw = is_raw(style, first);
        mq += raw ? 0 : segment_bytes;
    });
    return raw ? 0 : mq;
}

// Ends the codeword of a block's first `passes`: the bytes of `tail` change places with those that it had there. Done
// again, it goes on. byte: see cut_block().
template <class Byte>
CUDAENC_HD void swap_tail(uint32_t style, int passes, const uint32_t *pass_bytes, uint32_t &tail, const Byte &byte) {
    const uint32_t count = tail & 0xFF;
    if (!count) return;
    const uint32_t bytes = pass_bytes[passes - 1], mq = mq_bytes_of(style, passes, bytes, pass_bytes);
    uint32_t others = count;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t &at = byte(mq - count + i, bytes - count + i);
        others |= uint32_t{at} << (8 * i + 8);
        at = static_cast<uint8_t>(tail >> (8 * i + 8));
    }
    tail = others;
}

// Cuts a block of `passes`, of which some are certain, at the thresholds: calls body(layer, end) for each layer.
// pass_bytes, tails: of the block. byte(i, j): a byte of the MQ coder, i of its own, j of all; `last`: they are made to
// end where they are cut. again: of cuts that are small, see CutChoice, there may be more.
template <class Byte, class Body>
CUDAENC_HD void cut_block(const RateSearch &search, uint32_t group, int layers, uint32_t style, int certain, int passes,
                          const CutSlopes<const uint16_t> &slopes, const uint32_t *pass_bytes, uint32_t *tails,
                          bool last, bool again, const Byte &byte, const Body &body) {
    const auto passes_of = [&](int layer) {
        const uint32_t threshold = max_of(search.threshold[layer], search.group_threshold[group]);
        return again ? passes_above(slopes, certain, passes, threshold, pass_bytes, search.choice[layer])
                     : passes_above(slopes, certain, passes, threshold);
    };
    const int all = passes_of(layers - 1);
    const uint32_t bytes = all ? pass_bytes[all - 1] : 0;
    // The bytes that end the codeword, which are in place in the end only.
    const uint32_t tail = all ? tails[all - 1] : 0, first_of_tail = bytes - (tail & 0xFF);
    const auto tail_byte = [&](uint32_t i) { return static_cast<uint8_t>(tail >> (8 * (i - first_of_tail) + 8)); };
    if (last && all) swap_tail(style, all, pass_bytes, tails[all - 1], byte);
    // What suffices to decode some passes, of a codeword that goes on behind its segment's end at most; not up to 0xFF,
    // since what follows in the packet would make a marker of it.
    const auto enough = [&](int some) {
        if (some == all) return bytes;
        const uint32_t ending = tails[some - 1] & 0xFF;
        uint32_t count = min_of(pass_bytes[some - 1] + (ending ? 5 - ending : 0), bytes);
        for (int pass = some - 1; pass < all - 1; pass++)
            if (ends_segment(style, pass)) {
                count = min_of(count, pass_bytes[pass]);
                break;
            }
        const uint32_t mq = mq_bytes_of(style, some, count, pass_bytes);
        if (!mq) return count;
        const uint8_t end = count > first_of_tail ? tail_byte(count - 1) : byte(mq - 1, count - 1);
        return end == 0xFF ? count - 1 : count;
    };
    LayerEnd end{0, 0};
    for (int layer = 0; layer < layers; layer++) {
        int some = layer < layers - 1 ? min_of(passes_of(layer), all) : all;
        if (some > end.passes) {
            const uint32_t count = max_of(enough(some), end.bytes);
            // Passes that need no byte more are in the layer too.
            while (some < all && enough(some + 1) <= count) some++;
            end = {static_cast<uint8_t>(some), count};
        }
        body(layer, end);
    }
}

// Ends a measurement. fixed: bytes of the codestream, and of a tile-part, that are in no packet.
CUDAENC_HD void take_measure(RateSearch &search, int layers, uint64_t fixed, uint64_t group_fixed) {
    uint64_t sum = fixed;
    for (int layer = 0; layer < layers; layer++) {
        sum += search.packets[layer];
        search.measured[layer] = sum;
        search.packets[layer] = 0;
    }
    for (int g = 0; g < kLimitedTileParts; g++) {
        search.group_measured[g] = group_fixed + search.group_packets[g];
        search.group_packets[g] = 0;
    }
}

// What a packet takes, as the search counts it.
CUDAENC_HD uint64_t packet_bytes(uint64_t header_bits, uint64_t codewords, bool sop, bool eph, bool plt) {
    // Of bits that are stuffed, four times as many as if bytes were random.
    const uint64_t header = (header_bits + 8) / 8 + header_bits / 4096;
    const uint64_t bytes = header + codewords + (sop ? kSopBytes : 0) + (eph ? kEphBytes : 0);
    return bytes + (plt ? plt_bytes(bytes) : 0);
}

}  // namespace cudaenc::j2k
