// What coding passes are worth and what they cost. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../hd.h"
#include "t2.h"

namespace cudaenc::j2k {

// x log2(x), in 1/256; x below 2^16. Between powers of two log2 is a parabola, at most 0.017 from what it should be.
CUDAENC_HD uint32_t x_log2_x(uint32_t x) {
    if (x < 2) return 0;
    const int whole = floor_log2(x);
    const uint32_t rest = (x << (16 - whole) & 0xFFFF) >> 8;
    return x * (static_cast<uint32_t>(whole) * 256 + rest + (rest * (256 - rest) * 88 >> 16));
}

// The bits, in 1/256, of `all` decisions of which `ones` are 1, by an arithmetic coder that knows how many; `all` at
// most 4096.
CUDAENC_HD uint32_t entropy(uint32_t ones, uint32_t all) {
    return x_log2_x(all) - x_log2_x(ones) - x_log2_x(all - ones);
}

// What the last two passes of a code-block, refinement and clean-up of bit-plane 0, do.
struct LastPasses {
    uint32_t refined;      // samples
    uint32_t quiet, near;  // samples of the clean-up: without and with a significant neighbour when the scan gets there
    uint32_t quiet_ones, near_ones;  // of these, those that become significant
};

// Whether they are worth their bits, where the quantiser loses anyway. With samples that lie anywhere in their steps of
// size 1 and are decoded to the middle, one that becomes significant takes 9/4 off the squared error for its sign and
// what it takes to find it, one that is refined 1/4 for a bit. Asked for is 3/8 a bit: found by trial, the most PSNR at
// equal bytes over photographs, stills of video and screens.
CUDAENC_HD bool worth_coding(const LastPasses &p) {
    const uint32_t found = p.quiet_ones + p.near_ones;
    return 256 * (15 * found) > 256 * p.refined + 3 * (entropy(p.quiet_ones, p.quiet) + entropy(p.near_ones, p.near));
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

// kSlopeOctave log2(x), x > 0; between powers of two a parabola, at most 1 % of an octave off.
CUDAENC_HD int log2_code(uint64_t x) {
    const uint32_t high = static_cast<uint32_t>(x >> 32);
    const int whole = high ? 32 + floor_log2(high) : floor_log2(static_cast<uint32_t>(x));
    const uint32_t rest = static_cast<uint32_t>(x << (63 - whole) >> 47) & 0xFFFF;
    return whole * kSlopeOctave + static_cast<int>((rest * 128 + (rest * (0x10000 - rest) >> 16) * 44) >> 14);
}

// The step from one cut of a block to a later one. weight: log2_code() of what a squared step weighs in the picture.
CUDAENC_HD uint32_t slope_of(uint64_t gain, uint32_t bytes, int weight) {
    if (!bytes) return kSlopes - 1;
    const int code = log2_code(gain) - log2_code(bytes) + weight - (kLowestSlope + 6) * kSlopeOctave;
    return static_cast<uint32_t>(min_of(max_of(code, 1), kSlopes - 1));
}

// A block's passes as rate control sees them.
struct BlockPasses {
    int planes, passes;
    const uint32_t *bytes;  // [pass]: of the codeword if it is cut behind the pass
    const int32_t *gains;   // [pass]
    int weight;
    uint32_t style;
    uint32_t number;  // of the block: blocks that are all alike must not have the same slopes, or they all end together
};

CUDAENC_HD BlockPasses block_passes(const PrecinctBand &band, uint32_t number, const CodedBlock &coded,
                                    const uint32_t *bytes, const int32_t *gains, uint32_t style) {
    return {coded.planes, coded.passes, bytes, gains, band.weight, style, number};
}

// The convex hull of a block's cuts (PCRD-opt, T.800 J.14.3): from one to the next that is reached with the steepest
// slope. Calls body(pass, slope, bytes more than up to the last one); slopes do not grow. bytes may be negative: a
// codeword can be shorter with more passes.
template <class Body>
CUDAENC_HD void for_each_cut(const BlockPasses &b, const Body &body) {
    // What the gains of the lowest planes count, so that the sum of all fits.
    const int lowest = max_of(b.planes - 20, 0), weight = b.weight + 2 * lowest * kSlopeOctave;
    const int dither = static_cast<int>(b.number * 0x9E3779B1u >> 27);
    uint32_t last = kSlopes - 1, from_bytes = 0;
    for (int from = -1; from < b.passes - 1;) {
        int to = -1;
        uint32_t steepest = 0;
        int64_t gain = 0;
        for (int pass = from + 1; pass < b.passes; pass++) {
            const int plane = b.planes - 1 - (pass + 2) / 3 - lowest;
            gain += plane >= 0 ? int64_t{b.gains[pass]} << 2 * plane : int64_t{b.gains[pass]} >> -2 * plane;
            if (gain <= 0 || (!can_cut(b.style, pass) && pass < b.passes - 1)) continue;
            const uint32_t bytes = b.bytes[pass];
            const uint32_t slope =
                slope_of(static_cast<uint64_t>(gain), bytes > from_bytes ? bytes - from_bytes : 0, weight + dither);
            if (slope < steepest) continue;
            steepest = slope;
            to = pass;
        }
        if (to < 0) return;
        last = min_of(last, steepest);
        body(to, last, b.bytes[to] - from_bytes);
        from = to;
        from_bytes = b.bytes[to];
    }
}

// ---- The search: a threshold of the slope for each layer, so that its packets and those of the layers before it fit
// its budget. What cuts above a slope take is in a table; what headers take depends on the cuts, so it is measured for
// some thresholds, the next ones allow for it, and so on. kRateRounds of them are enough: what headers take changes by
// a small part of what the codewords do.
constexpr int kRateRounds = 4;
// Blocks of the tile-parts that profiles limit one by one, and all others.
constexpr int kRateGroups = kLimitedTileParts + 1;

struct RateSearch {
    // Bytes; 0: no limit. Of the codestream up to each layer, and of the limited tile-parts.
    uint64_t budget[kMaxLayers], group_budget[kLimitedTileParts];
    // With the thresholds: the same, headers' bits that are stuffed not counted. At first, what they may come to where
    // nothing is coded.
    uint64_t measured[kMaxLayers], group_measured[kLimitedTileParts];
    // Cuts with at least this slope are in the layer, those of a group only with its slope too. At first kSlopes, of
    // groups 1.
    uint32_t threshold[kMaxLayers], group_threshold[kRateGroups];
    uint64_t packets[kMaxLayers], group_packets[kLimitedTileParts];  // bytes so far; zero at first
};

// Bytes of all cuts of a group from a slope on. above: [group][slope].
CUDAENC_HD uint64_t bytes_above(const uint32_t *above, int group, uint32_t slope) {
    return slope < kSlopes ? above[group * kSlopes + slope] : 0;
}

// The lowest slope from 1 on, kSlopes at most, of which bytes(slope), which falls, is at most `most`.
template <class Bytes>
CUDAENC_HD uint32_t lowest_slope(int64_t most, const Bytes &bytes) {
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

// The next threshold for a budget of which `overhead` is not for codewords. bytes(slope): of cuts from that slope on;
// last: nothing is measured after it, so it leaves room for what headers grow by.
template <class Bytes>
CUDAENC_HD uint32_t next_threshold(uint64_t budget, int64_t overhead, uint32_t threshold, bool last,
                                   const Bytes &bytes) {
    if (!budget) return 1;
    const int64_t room = static_cast<int64_t>(budget) - overhead;
    const uint32_t next = lowest_slope(room, bytes);
    const int64_t growth = static_cast<int64_t>(bytes(next)) - static_cast<int64_t>(bytes(threshold));
    return last && growth > 0 ? lowest_slope(room - growth / 4, bytes) : next;
}

// A round: the next thresholds from what the last ones measured. groups: 1 where no tile-part is limited.
CUDAENC_HD void search_thresholds(RateSearch &r, const uint32_t *above, int groups, int layers, bool last) {
    // Codewords with a slope or more, where groups have limits of their own.
    const auto bytes = [&](const uint32_t *limits, uint32_t slope) {
        uint64_t sum = 0;
        for (int g = 0; g < groups; g++) sum += bytes_above(above, g, max_of(slope, limits[g]));
        return sum;
    };
    uint32_t limits[kRateGroups];
    for (int g = 0; g < groups; g++) {
        limits[g] = r.group_threshold[g];
        if (groups == 1 || g == kLimitedTileParts) continue;
        const auto of_group = [&](uint32_t slope) { return bytes_above(above, g, slope); };
        const uint32_t now = max_of(r.threshold[layers - 1], limits[g]);
        const int64_t overhead = static_cast<int64_t>(r.group_measured[g]) - static_cast<int64_t>(of_group(now));
        limits[g] = next_threshold(r.group_budget[g], overhead, now, last, of_group);
    }
    for (int layer = 0; layer < layers; layer++) {
        const int64_t overhead = static_cast<int64_t>(r.measured[layer]) -
                                 static_cast<int64_t>(bytes(r.group_threshold, r.threshold[layer]));
        const uint32_t next = next_threshold(r.budget[layer], overhead, r.threshold[layer], last,
                                             [&](uint32_t slope) { return bytes(limits, slope); });
        // A layer has all that the ones before it have.
        r.threshold[layer] = layer ? min_of(next, r.threshold[layer - 1]) : next;
    }
    for (int g = 0; g < groups; g++) r.group_threshold[g] = limits[g];
}

// The passes up to the last cut whose slope is at least `threshold`. slopes: [pass], 0 where there is no cut.
CUDAENC_HD int passes_above(const uint16_t *slopes, int passes, uint32_t threshold) {
    while (passes && (!slopes[passes - 1] || slopes[passes - 1] < threshold)) passes--;
    return passes;
}

// Cuts a block of `passes` at the thresholds: calls body(layer, end) for each layer. pass_bytes, tails: of the block.
// byte_at(raw, i) is byte i of its MQ codewords, or of its raw segments, which lie by themselves or, if they do not,
// get i with the others counted. `last`: the codeword ends there as it is cut.
template <class ByteAt, class Body>
CUDAENC_HD void cut_block(const RateSearch &search, uint32_t group, int layers, uint32_t style, int passes,
                          const uint16_t *slopes, const uint32_t *pass_bytes, const uint32_t *tails, bool last,
                          const ByteAt &byte_at, const Body &body) {
    const auto passes_of = [&](int layer) {
        return passes_above(slopes, passes, max_of(search.threshold[layer], search.group_threshold[group]));
    };
    const int all = passes_of(layers - 1);
    const uint32_t bytes = all ? pass_bytes[all - 1] : 0;
    // Where the last byte of some passes' bytes is.
    struct Place {
        bool raw;
        uint32_t at;
    };
    const auto place_of = [&](int some, uint32_t some_bytes) {
        uint32_t of_kind[2] = {0, 0};
        bool raw = false;
        for_each_segment(style, 0, some, 0, some_bytes, pass_bytes, [&](int first, int, uint32_t segment_bytes) {
            raw = is_raw(style, first);
            of_kind[raw] += segment_bytes;
        });
        return Place{raw, of_kind[raw]};
    };
    const uint32_t tail = all ? tails[all - 1] : 0;
    if (last && (tail & 0xFF)) {
        const Place end = place_of(all, bytes);
        for (uint32_t i = 0, count = tail & 0xFF; i < count; i++)
            byte_at(end.raw, end.at - count + i) = static_cast<uint8_t>(tail >> (8 * i + 8));
    }
    LayerEnd end{0, 0};
    for (int layer = 0; layer < layers; layer++) {
        const int some = layer < layers - 1 ? passes_of(layer) : all;
        if (some == all) {
            end = {static_cast<uint8_t>(all), bytes};
        } else if (some > end.passes) {
            // What suffices to decode them, of a codeword that goes on; not behind 0xFF, since what follows in the
            // packet would make a marker of it.
            const uint32_t ending = tails[some - 1] & 0xFF;
            uint32_t enough = min_of(pass_bytes[some - 1] + (ending ? 5 - ending : 0), bytes);
            const Place place = place_of(some, enough);
            if (place.at && !place.raw && byte_at(false, place.at - 1) == 0xFF) enough--;
            end = {static_cast<uint8_t>(some), max_of(enough, end.bytes)};
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
    const uint64_t bytes = (header_bits + 8) / 8 + codewords + (sop ? kSopBytes : 0) + (eph ? kEphBytes : 0);
    return bytes + (plt ? plt_bytes(bytes) : 0);
}

}  // namespace cudaenc::j2k
