// SPDX-License-Identifier: LGPL-2.1-or-later
#include "hull_cpu.h"

#include <algorithm>

namespace cudaenc::j2k {

HullTable::HullTable(const EncoderGeometry &geometry, uint32_t style, int groups, bool whole)
    : g_(geometry),
      style_(style),
      groups_(groups),
      whole_(whole),
      slopes_(geometry.blocks.size() * static_cast<size_t>(geometry.max_passes)),
      bytes_at_or_above_(static_cast<size_t>(groups) * kSlopes) {}

void HullTable::find_hulls(ThreadPool &pool, std::span<const CodedBlock> coded, const uint32_t *bytes,
                           const int32_t *reductions, RegionWeights regions) {
    const size_t max_passes = static_cast<size_t>(g_.max_passes);
    pool.for_each(coded.size(), 256, [&](size_t b) {
        convex_hull({.coded = coded[b],
                     .bytes = bytes + b * max_passes,
                     .reductions = reductions + b * max_passes,
                     .weight = g_.coding_of(g_.blocks[b]).weight + regions[b],
                     .style = style_,
                     .number = static_cast<uint32_t>(b),
                     .samples = g_.blocks[b].width * g_.blocks[b].height,
                     .whole = whole_},
                    {slopes_.data() + b * max_passes, 1});
    });
    sum_bytes(coded, bytes, {});
}

void HullTable::sum_bytes(std::span<const CodedBlock> coded, const uint32_t *bytes, const TruncationChoice &choice) {
    std::fill(bytes_at_or_above_.begin(), bytes_at_or_above_.end(), 0u);
    for (size_t b = 0; b < coded.size(); b++) {
        uint32_t *bytes_at_or_above =
            bytes_at_or_above_.data() + (groups_ > 1 ? size_t{g_.coding_of(g_.blocks[b]).group} * kSlopes : 0);
        for_each_truncation_point(slopes(b), coded[b].always_included, coded[b].passes,
                                  bytes + b * static_cast<size_t>(g_.max_passes), choice,
                                  [&](uint32_t slope, uint32_t more) { bytes_at_or_above[slope] += more; });
    }
    for (int g = 0; g < groups_; g++) {
        uint32_t *bytes_at_or_above = &bytes_at_or_above_[static_cast<size_t>(g) * kSlopes];
        for (int slope = kSlopes - 2; slope >= 0; slope--) bytes_at_or_above[slope] += bytes_at_or_above[slope + 1];
    }
}

}  // namespace cudaenc::j2k
