// SPDX-License-Identifier: LGPL-2.1-or-later
// Budgets of frames, and the next step of their rate allocation: the same for host and device.
#pragma once
#include <cstdint>
#include <vector>

#include "../../packet_pool.h"
#include "../codestream/geometry.h"
#include "../params.h"
#include "allocate.h"

namespace cudaenc::j2k {

// How often a layer below its budget is revised at most.
constexpr int kRateRevisions = 6;

// Budgets in bytes, the same for all frames of a session. boxes: bytes of a packet before the codestream. Throws
// Error(CUDAENC_ERR_INVALID) where not even an empty frame fits: in the constructor, or in begin().
class RateBudget {
  public:
    RateBudget(const Params &params, const Geometry &geometry, uint64_t main_header);

    // What a frame's allocation begins with. stop.always_includes is set where only the last layer's threshold
    // truncates.
    RateAllocation begin(uint64_t boxes) const;
    // Of the codestream, 0: no limit.
    uint64_t codestream(uint64_t boxes) const { return up_to(p_.layers - 1, boxes); }
    // What to revise next in a frame: a layer that is over its budget; or one that is more than a 200th below, with
    // passes truncated, up to kRateRevisions times. revisions: of each layer so far; it counts them.
    RateRevision revision(uint64_t boxes, const WrittenFrame &written, std::vector<int> &revisions) const;

    // Notes in a packet what it is coded with, and whether it misses its target. missed_psnr: see PsnrThreshold.
    void describe_packet(double missed_psnr, CudaencBuffer &packet) const;

    int groups() const { return p_.limits.component ? kRateGroups : 1; }
    // Nothing needs to be measured where there is no limit at all.
    int rounds() const { return p_.rate.limits_bytes() || p_.limits.frame ? kAllocationRounds : 1; }
    // Whether headers are measured while the MQ coder works. With layers they depend on its bytes. Blocks with a style
    // do not stop early. In small frames a block's last pass counts, so that what is truncated must be measured.
    bool measures_ahead() const {
        constexpr uint64_t kSmallFrame = 65536;  // bytes
        return p_.rate.predicts_slopes() && !p_.style && p_.layers == 1 && rounds() > 1 && codestream(0) >= kSmallFrame;
    }
    // See take_measure().
    uint64_t outside_packets() const { return outside_; }
    uint64_t tile_part_header() const { return tile_part_header_; }

  private:
    uint64_t up_to(int layer, uint64_t boxes) const;

    const Params &p_;
    const uint64_t blocks_, tile_part_header_, outside_, empty_;
    const uint32_t floor_;
};

}  // namespace cudaenc::j2k
