// SPDX-License-Identifier: LGPL-2.1-or-later
#include "budget.h"

#include <algorithm>
#include <cmath>

#include "../../error.h"
#include "../codestream/markers.h"

namespace cudaenc::j2k {

namespace {

// The lowest slope worth its bytes without a budget: 3 squared steps a byte, of the sub-band with the least weight.
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
    // A codeword has less than two bits a symbol.
    uint64_t symbols = 0;
    for (const CodeBlock &b : g.blocks) symbols += codeword_room(b, {p_.style, p_.truncatable});
    if (p_.truncatable && symbols / 4 > UINT32_MAX)  // which sums of rate allocation hold
        throw Error(CUDAENC_ERR_UNSUPPORTED,
                    "a picture whose codewords may have 4 GiB or more is coded in one layer, without a target");
    begin(0);
}

// The least of all budgets that end with a layer.
uint64_t RateBudget::up_to(int layer, uint64_t boxes) const {
    const uint64_t packet = p_.rate.layers[static_cast<size_t>(layer)],
                   limit = layer + 1 == p_.layers ? p_.limits.frame : 0;
    const uint64_t codestream = packet > boxes ? packet - boxes : packet ? 1 : 0;
    return codestream && limit ? std::min(codestream, limit) : codestream | limit;
}

RateAllocation RateBudget::begin(uint64_t boxes) const {
    for (const uint64_t budget : {codestream(boxes), p_.limits.component})
        if (budget && budget < empty_)
            throw Error(CUDAENC_ERR_INVALID,
                        format_string("a frame of %llu bytes is not possible: with nothing coded it takes %llu; allow "
                                      "more, or have fewer tiles, precincts, levels and layers",
                                      static_cast<unsigned long long>(budget + boxes),
                                      static_cast<unsigned long long>(empty_ + boxes)));
    RateAllocation allocation{};
    for (int layer = 0; layer < p_.layers; layer++) {
        const uint64_t budget = allocation.budget[layer] = up_to(layer, boxes);
        allocation.threshold[layer] = kSlopes;
        // A block's headers take two bytes, or all of them a 40th of a small budget.
        allocation.measured[layer] = empty_ + std::min(2 * blocks_, budget / 40);
        allocation.before[layer] = {0, static_cast<int64_t>(empty_)};
        allocation.choice[layer] = {1, static_cast<uint32_t>(std::min<uint64_t>(budget / 512, 1 << 30))};
    }
    std::fill(std::begin(allocation.group_budget), std::end(allocation.group_budget), p_.limits.component);
    std::fill(std::begin(allocation.group_threshold), std::end(allocation.group_threshold), 1u);
    allocation.floor = floor_;
    allocation.least = 1;
    allocation.stop.always_includes =
        p_.rate.predicts_slopes() && !are_alternatives(p_.style) && p_.layers == 1 && groups() == 1;
    return allocation;
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
        next.excess = written.allocation.threshold[layer] < kSlopes ? over(bytes[layer], up_to(layer, boxes)) : 0;
        if (next.excess) next.layer = layer;
        if (next.layer >= 0) return next;
    }
    for (int layer = last; layer >= 0 && p_.rate.error == 0; layer--) {
        const uint64_t budget = up_to(layer, boxes), spare = over(budget, bytes[layer]);
        const uint32_t least = layer < last ? written.allocation.threshold[layer + 1] : 1;
        if (spare * 200 <= budget || written.allocation.threshold[layer] <= least || revisions[layer] == kRateRevisions)
            continue;
        revisions[layer]++;
        next.layer = layer;
        next.spare = spare;
        break;
    }
    return next;
}

void RateBudget::describe_packet(double missed_psnr, CudaencBuffer &packet) const {
    if (!p_.rate.target() && !p_.reversible) packet.quality = p_.quality;
    const uint64_t target = p_.rate.layers.back();
    if (missed_psnr) {
        packet.missed_above = true;  // as where it is too large, its user does not have what was asked for
        packet.missed = format_string("psnr %g is not reached: all that is coded of a frame gives %.2f dB",
                                      -10 * std::log10(p_.rate.error), missed_psnr);
    } else if (target && packet.size * 200 < target * 199) {
        packet.missed_above = false;
        packet.missed = format_string("a packet has %zu bytes of %llu that its target allows: its picture has no more",
                                      packet.size, static_cast<unsigned long long>(target));
    }
}

}  // namespace cudaenc::j2k
