// SPDX-License-Identifier: LGPL-2.1-or-later
#include "rate_cpu.h"

#include <algorithm>

#include "../error.h"
#include "codestream.h"
#include "quantise.h"

namespace cudaenc::j2k {

namespace {

// What slopes are worth their bytes where nothing is asked for: 3 steps^2 a byte, of the band where they weigh least.
uint32_t worthwhile_slope(const Params &p) {
    int least = kSlopes;
    for (const auto &bands : p.quantisers)
        for (const Quantiser &q : bands) least = std::min(least, q.weight);
    return static_cast<uint32_t>(std::clamp(log2_code(3u) + least - kLowestSlope * kSlopeOctave, 1, kSlopes - 1));
}

// Bytes of the codestream that are in no packet.
uint64_t bytes_outside_packets(const Params &p, const Geometry &g, uint64_t main_header) {
    uint64_t bytes = main_header + 2;  // EOC
    for (const TilePart &part : g.tile_parts) bytes += tile_part_overhead(part, p.plt);
    return bytes;
}

}  // namespace

RateBudget::RateBudget(const Params &params, const Geometry &g, uint64_t main_header)
    : p_(params),
      blocks_(g.blocks.size()),
      tile_part_header_(tile_part_overhead(g.tile_parts.front(), params.plt)),
      outside_(bytes_outside_packets(params, g, main_header)),
      empty_(outside_ + g.packets.size() * packet_bytes(0, 0, params.sop, params.eph, params.plt)),
      floor_(worthwhile_slope(params)) {
    begin(0);
}

// The least of all budgets that end with a layer.
uint64_t RateBudget::up_to(int layer, uint64_t boxes) const {
    const uint64_t packet = p_.rate.layers[static_cast<size_t>(layer)],
                   limit = layer + 1 == p_.layers ? p_.limits.frame : 0;
    const uint64_t codestream = packet > boxes ? packet - boxes : packet ? 1 : 0;
    return codestream && limit ? std::min(codestream, limit) : codestream | limit;
}

RateSearch RateBudget::begin(uint64_t boxes) const {
    const auto check = [&](uint64_t budget) {
        if (budget && budget < empty_)
            throw Error(CUDAENC_ERR_INVALID,
                        format_string("a frame of %llu bytes is not possible: with nothing coded it takes %llu; allow "
                                      "more, or have fewer tiles, precincts, levels and layers",
                                      static_cast<unsigned long long>(budget + boxes),
                                      static_cast<unsigned long long>(empty_ + boxes)));
    };
    check(codestream(boxes));
    check(p_.limits.component);
    RateSearch search{};
    for (int layer = 0; layer < p_.layers; layer++) search.budget[layer] = up_to(layer, boxes);
    for (uint64_t &budget : search.group_budget) budget = p_.limits.component;
    begin_search(search, p_.layers, empty_, blocks_, floor_);
    search.stop.keeps_certain = p_.rate.predicts_slopes() && p_.layers == 1 && groups() == 1;
    return search;
}

RateRevision RateBudget::revision(uint64_t boxes, const WrittenFrame &written, std::vector<int> &revisions) const {
    const auto over = [](uint64_t bytes, uint64_t budget) { return budget && bytes > budget ? bytes - budget : 0; };
    const int last = p_.layers - 1;
    std::vector<uint64_t> bytes(p_.layers, outside_);  // up to each layer
    for (int layer = 0; layer < last; layer++) {
        bytes[layer] += written.packets[layer];
        bytes[layer + 1] = bytes[layer];
    }
    bytes[last] = written.bytes;
    RateRevision next;
    for (int t = 0; t < kLimitedTileParts; t++)
        if ((next.tile_parts[t] = over(written.tile_parts[t], p_.limits.component))) next.layer = last;
    for (int layer = last; layer >= 0; layer--) {
        // A layer's target may be less than its packets take with nothing in them.
        next.excess = written.threshold[layer] < kSlopes ? over(bytes[layer], up_to(layer, boxes)) : 0;
        if (next.excess) next.layer = layer;
        if (next.layer >= 0) return next;
    }
    for (int layer = last; layer >= 0 && p_.rate.error == 0; layer--) {
        const uint64_t budget = up_to(layer, boxes), spare = over(budget, bytes[layer]);
        const uint32_t least = layer < last ? written.threshold[layer + 1] : 1;
        if (spare * 200 <= budget || written.threshold[layer] <= least || revisions[layer] == kRateRevisions) continue;
        revisions[layer]++;
        next.layer = layer;
        next.spare = spare;
        break;
    }
    return next;
}

CutTable::CutTable(const Geometry &geometry, uint32_t style, int groups)
    : g_(geometry),
      style_(style),
      groups_(groups),
      slopes_(geometry.blocks.size() * static_cast<size_t>(geometry.max_passes)),
      above_(static_cast<size_t>(groups) * kSlopes) {}

void CutTable::find_cuts(ThreadPool &pool, std::span<const CodedBlock> coded, const uint32_t *bytes,
                         const int32_t *gains) {
    const size_t max_passes = static_cast<size_t>(g_.max_passes);
    constexpr size_t kBatch = 256;
    pool.for_each((coded.size() + kBatch - 1) / kBatch, [&](size_t batch) {
        for (size_t b = batch * kBatch; b < std::min(coded.size(), (batch + 1) * kBatch); b++)
            j2k::find_cuts(block_passes(g_.precinct_bands[g_.blocks[b].cell], static_cast<uint32_t>(b), coded[b],
                                        bytes + b * max_passes, gains + b * max_passes, style_),
                           {&slopes_[b * max_passes], 1});
    });
    sum_cuts(coded, bytes, {});
}

void CutTable::sum_cuts(std::span<const CodedBlock> coded, const uint32_t *bytes, const CutChoice &choice) {
    std::fill(above_.begin(), above_.end(), 0u);
    for (size_t b = 0; b < coded.size(); b++) {
        uint32_t *above =
            above_.data() + (groups_ > 1 ? size_t{g_.precinct_bands[g_.blocks[b].cell].group} * kSlopes : 0);
        for_each_cut(slopes(b), coded[b].certain, coded[b].passes, bytes + b * static_cast<size_t>(g_.max_passes),
                     choice, [&](uint32_t slope, uint32_t more) { above[slope] += more; });
    }
    for (int g = 0; g < groups_; g++) {
        uint32_t *above = &above_[static_cast<size_t>(g) * kSlopes];
        for (int slope = kSlopes - 2; slope >= 0; slope--) above[slope] += above[slope + 1];
    }
}

}  // namespace cudaenc::j2k
