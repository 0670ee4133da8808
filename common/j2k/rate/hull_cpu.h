// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "../../thread_pool.h"
#include "../t1/encoder_geometry.h"
#include "hull.h"

namespace cudaenc::j2k {

// The convex hulls of a frame's blocks, and what their truncation points take by slope.
class HullTable {
  public:
    // groups: see allocate(); whole: see are_whole().
    HullTable(const EncoderGeometry &geometry, uint32_t style, int groups, bool whole);

    // bytes, reductions: [block * max_passes + pass], see TruncationPoints.
    void find_hulls(ThreadPool &pool, std::span<const CodedBlock> coded, const uint32_t *bytes,
                    const int32_t *reductions, RegionWeights regions = {});
    // Sums up the truncation points that may be taken.
    void sum_bytes(std::span<const CodedBlock> coded, const uint32_t *bytes, const TruncationChoice &choice);

    HullSlopes<const uint16_t> slopes(size_t block) const {
        return {slopes_.data() + block * static_cast<size_t>(g_.max_passes), 1};
    }
    // [group][slope].
    const uint32_t *bytes_at_or_above() const { return bytes_at_or_above_.data(); }

  private:
    const EncoderGeometry &g_;
    const uint32_t style_;
    const int groups_;
    const bool whole_;
    std::vector<uint16_t> slopes_;  // [block * max_passes + pass]
    std::vector<uint32_t> bytes_at_or_above_;
};

}  // namespace cudaenc::j2k
