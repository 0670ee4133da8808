// SPDX-License-Identifier: LGPL-2.1-or-later
// Rate allocation: the slope threshold of each quality layer.
#pragma once
#include <cstdint>

#include "../t1/stop.h"
#include "../t2/packet_header.h"
#include "hull.h"
#include "outcome.h"

namespace cudaenc::j2k {

// Rate allocation finds a slope threshold for each layer, so that its packets and those of the layers before it fit its
// budget. What truncation points at or above a slope take is in a table. What packet headers take depends on the
// thresholds. So headers are measured at the thresholds of one round, and the next round allows for them.
// kAllocationRounds are enough: headers change by a small part of what codewords do.
constexpr int kAllocationRounds = 2;
// Budget groups: the tile-parts that profiles limit one by one, and all others.
constexpr int kRateGroups = kLimitedTileParts + 1;

// A layer without a budget has a threshold so much above the next one's, as with a bit-plane less.
constexpr int kLayerOctaves = 2;

// Bytes of codewords that thresholds make, and of everything.
struct RateProgress {
    int64_t codewords, all;
};

// By how many bytes a written frame misses its budgets: the codestream up to `layer` (`excess`) and the limited
// tile-parts are over; or the codestream is below (`spare`).
struct RateRevision {
    int layer = -1;  // none: the frame keeps its budgets
    uint64_t excess = 0, tile_parts[kLimitedTileParts] = {}, spare = 0;
};

// The state of a frame's rate allocation, on host and device. A layer has truncation points with at least its
// threshold, and at least their group's. Thresholds begin with kSlopes, of groups with 1.
struct RateAllocation : LayerThresholds {
    uint32_t group_threshold[kRateGroups];
    // Bytes, of the codestream up to each layer and of the limited tile-parts; 0: no limit.
    uint64_t budget[kMaxLayers], group_budget[kLimitedTileParts];
    // What these take at the thresholds; bits that are stuffed into headers do not count. At first an estimate without
    // codewords, or the headers of all that is coded: see add_codewords().
    uint64_t measured[kMaxLayers], group_measured[kLimitedTileParts];
    RateProgress before[kMaxLayers], group_before[kLimitedTileParts];  // at the thresholds before these
    uint32_t floor;                                                    // a slope: below it nothing is worth its bytes
    uint32_t least;  // threshold of the last layer: 1, or the one that meets a target of PSNR
    TruncationChoice choice[kMaxLayers];
    uint64_t packets[kMaxLayers], group_packets[kLimitedTileParts];  // sums of a measurement; zero at first
};

// Bytes of a group's truncation points at or above a slope. bytes_at_or_above: [group][slope].
CUDAENC_HD uint64_t bytes_of_group(const uint32_t *bytes_at_or_above, int group, uint32_t slope) {
    return slope < kSlopes ? bytes_at_or_above[group * kSlopes + slope] : 0;
}

// ... of all groups, which have limits of their own.
CUDAENC_HD uint64_t bytes_of_groups(const uint32_t *bytes_at_or_above, int groups, const uint32_t *limits,
                                    uint32_t slope) {
    uint64_t sum = 0;
    for (int g = 0; g < groups; g++) sum += bytes_of_group(bytes_at_or_above, g, max_of(slope, limits[g]));
    return sum;
}

// The lowest slope from 1 on, at most kSlopes, at which bytes(slope), which falls, is at most `most`.
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

// Codewords' share, in 1/256, of the bytes by which `now` and `before` differ; at least `least`.
CUDAENC_HD int64_t codewords_share(const RateProgress &now, const RateProgress &before, int64_t least) {
    const int64_t more = now.all - before.all;
    if (!now.codewords || !more) return 256;
    return min_of<int64_t>(max_of<int64_t>((now.codewords - before.codewords) * 256 / more, least), 256);
}

// The next threshold for a budget. bytes(slope): of codewords at or above it. now, before: at the thresholds so far,
// and at those before them. Headers are taken to grow half as much as they did in between, so that few rounds come
// close. last: nothing is measured afterwards, so a thousandth stays free, and more the further away the budget is.
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

// Notes where the frame ends; reached: bytes, at the thresholds. Where tier-1 stopped too early, but what it coded
// fills the budget, that is the end.
CUDAENC_HD void end_at_threshold(RateAllocation &r, int layers, uint64_t reached) {
    const uint64_t budget = r.budget[layers - 1];
    const uint32_t threshold = r.threshold[layers - 1];
    r.stop.lacks = budget ? static_cast<uint32_t>((budget - min_of(reached, budget)) / (budget / 256 + 1)) : 0;
    r.stop.threshold = reached + budget / 256 >= budget ? max_of(threshold, r.stop.slope) : threshold;
}

// A round: the next thresholds from what was measured at the last ones. groups: 1 where no tile-part is limited. All
// lanes of a warp may run it together, with a lowest_slope that waits for them: they write the same values, and read
// what was written before.
template <class Search>
CUDAENC_HD void allocate(RateAllocation &r, const uint32_t *bytes_at_or_above, int groups, int layers, bool last,
                         const Search &lowest_slope) {
    const auto bytes = [&](const uint32_t *limits, uint32_t slope) {
        return bytes_of_groups(bytes_at_or_above, groups, limits, slope);
    };
    const uint64_t last_before = bytes(r.group_threshold, r.threshold[layers - 1]);
    uint32_t limits[kRateGroups];
    for (int g = 0; g < groups; g++) {
        limits[g] = r.group_threshold[g];
        if (groups == 1 || g == kLimitedTileParts || !r.group_budget[g]) continue;
        const auto of_group = [&](uint32_t slope) { return bytes_of_group(bytes_at_or_above, g, slope); };
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
    const uint64_t budget = r.budget[layers - 1], all = r.measured[layers - 1] + bytes(limits, 1) - last_before;
    r.stop.surplus = budget ? static_cast<uint32_t>((max_of(all, budget) - budget) / (budget / 256 + 1)) : 0;
}

// Where headers were measured ahead, of all that is coded and in one layer, `measured` has them alone. Adds the
// codewords, now that they are known.
CUDAENC_HD void add_codewords(RateAllocation &r, const uint32_t *bytes_at_or_above, int groups) {
    r.threshold[0] = 1;
    r.measured[0] += bytes_of_groups(bytes_at_or_above, groups, r.group_threshold, 1);
    for (int g = 0; g < kLimitedTileParts && g < groups; g++)
        r.group_measured[g] += bytes_of_group(bytes_at_or_above, g, 1);
}

// Revises the thresholds of a frame that was written. Where headers took more than allowed for, codewords take less.
// Where they took less, or the next truncation point had no room, less steep points are taken that are small; in a
// layer no lower than the next one's threshold. bytes_at_or_above: of all points that the layer may have: see
// TruncationChoice. Lanes of a warp may run it together, as allocate().
template <class Search>
CUDAENC_HD void revise_thresholds(RateAllocation &r, const uint32_t *bytes_at_or_above, int groups, int layers,
                                  const RateRevision &revision, const Search &lowest_slope) {
    const int layer = revision.layer;
    const bool is_last = layer == layers - 1;
    const uint64_t budget = r.budget[layer];
    const uint32_t threshold = r.threshold[layer];
    const TruncationChoice choice = r.choice[layer];
    uint32_t limits[kRateGroups];
    for (int g = 0; g < groups; g++) limits[g] = r.group_threshold[g];
    const auto bytes = [&](uint32_t slope) {
        return static_cast<int64_t>(bytes_of_groups(bytes_at_or_above, groups, limits, slope));
    };
    const RateProgress now{bytes(threshold), static_cast<int64_t>(budget + revision.excess - revision.spare)};
    const int64_t share = codewords_share(now, r.before[layer], 16);
    if (revision.spare) {
        const int64_t spare = static_cast<int64_t>(revision.spare);
        const uint32_t least = is_last ? r.least : max_of(r.threshold[layer + 1], r.choice[layer + 1].all_from),
                       lower = max_of(least, lowest_slope(now.codewords + spare * share / 256 -
                                                              static_cast<int64_t>(budget / 2048),
                                                          bytes));
        r.before[layer] = now;
        if (lower >= threshold) {  // points that are next, and alike, have no room together
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
        const auto of_group = [&](uint32_t slope) { return bytes_of_group(bytes_at_or_above, g, slope); };
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

// Ends a measurement. fixed, group_fixed: bytes of the codestream, and of a tile-part, that are in no packet.
CUDAENC_HD void take_measure(RateAllocation &allocation, int layers, uint64_t fixed, uint64_t group_fixed) {
    uint64_t sum = fixed;
    for (int layer = 0; layer < layers; layer++) {
        sum += allocation.packets[layer];
        allocation.measured[layer] = sum;
        allocation.packets[layer] = 0;
    }
    for (int g = 0; g < kLimitedTileParts; g++) {
        allocation.group_measured[g] = group_fixed + allocation.group_packets[g];
        allocation.group_packets[g] = 0;
    }
}

// What a packet takes, as rate allocation counts it. It counts four times as many stuffed bits as random headers have.
CUDAENC_HD uint64_t packet_bytes(uint64_t header_bits, uint64_t codewords, bool sop, bool eph, bool plt) {
    const uint64_t header = (header_bits + 8) / 8 + header_bits / 4096;
    const uint64_t bytes = header + codewords + (sop ? kSopBytes : 0) + (eph ? kEphBytes : 0);
    return bytes + (plt ? plt_bytes(bytes) : 0);
}

}  // namespace cudaenc::j2k
