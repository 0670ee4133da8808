// Rate control on the CPU: the cuts of all blocks, and a table of what they take by slope.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "../thread_pool.h"
#include "geometry.h"
#include "rate.h"
#include "t1_cpu.h"

namespace cudaenc::j2k {

// How often a layer is cut again, at most, that is below its budget.
constexpr int kRateRevisions = 6;

// What frames may take, and what they take with nothing coded, in bytes: the same for all frames of a session. boxes:
// of a packet, before the codestream. Throws Error(CUDAENC_ERR_INVALID) where not even a frame without a codeword fits,
// at once or, with its boxes, in begin().
class RateBudget {
  public:
    RateBudget(const Params &params, const Geometry &geometry, uint64_t main_header);

    // What a frame's search begins with; stop.keeps_certain where the last layer's threshold is all that cuts.
    RateSearch begin(uint64_t boxes) const;
    // Of the codestream, 0: no limit.
    uint64_t codestream(uint64_t boxes) const { return up_to(p_.layers - 1, boxes); }
    // What is to be revised next in a frame: a layer whose codestream is over its budget, or, up to kRateRevisions
    // times and where it leaves something out, more than a 200th below. revisions: of each layer, so far; it counts
    // them.
    RateRevision revision(uint64_t boxes, const WrittenFrame &written, std::vector<int> &revisions) const;

    int groups() const { return p_.limits.component ? kRateGroups : 1; }
    // Of the search. Nothing needs to be measured where there is no limit at all.
    int rounds() const { return p_.rate.limits_bytes() || p_.limits.frame || p_.limits.component ? kRateRounds : 1; }
    // Whether headers are measured while the MQ coder works. With layers they ask for its bytes; and in small frames
    // a block's last pass is a part that counts, so that what is cut must be measured.
    bool measures_ahead() const {
        constexpr uint64_t kSmallFrame = 65536;  // bytes
        return p_.rate.predicts_slopes() && p_.layers == 1 && rounds() > 1 && codestream(0) >= kSmallFrame;
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

// Whether a frame's thresholds ask for what tier-1 did not code since it stopped early: then it is coded again, with a
// lower stop. By less than half an octave they may, since next to nothing is lost then.
inline bool stopped_too_early(const RateStop &stop) {
    return stop.slope && stop.threshold + kSlopeOctave / 2 < stop.slope;
}
// Where the next frame stops that looks at this one: with less than half of its slope.
inline uint32_t next_stop(const RateStop &stop) {
    return stop.threshold > kSlopeOctave * 5 / 4 ? stop.threshold - kSlopeOctave * 5 / 4 : 0;
}
// Whether a frame's threshold is so far above the slope that it would cut much of what was certain. By up to an octave
// and a half it may be, since those passes mostly give that much more.
inline bool stopped_too_late(const RateStop &stop) {
    return stop.keeps_certain && stop.slope && stop.threshold > stop.slope + kSlopeOctave * 3 / 2;
}
// Where tier-1 stops in a frame that is coded again.
inline RateStop next_try(const RateStop &stop) {
    const uint32_t lower = stop.slope > 2 * kSlopeOctave ? stop.slope - 2 * kSlopeOctave : 0;
    return {stopped_too_early(stop) ? lower : stop.slope, 0, 0};
}

class CutTable {
  public:
    // groups: see search_thresholds().
    CutTable(const Geometry &geometry, uint32_t style, int groups);

    // Of a frame's blocks, as tier-1 left them. bytes, gains: [block * max_passes + pass], see PassResults.
    void find_cuts(ThreadPool &pool, std::span<const CodedBlock> coded, const uint32_t *bytes, const int32_t *gains);
    // What those of them take that may be taken.
    void sum_cuts(std::span<const CodedBlock> coded, const uint32_t *bytes, const CutChoice &choice);

    CutSlopes<const uint16_t> slopes(size_t block) const {
        return {&slopes_[block * static_cast<size_t>(g_.max_passes)], 1};
    }
    // [group][slope]: bytes of cuts from that slope on.
    const uint32_t *above() const { return above_.data(); }

  private:
    const Geometry &g_;
    const uint32_t style_;
    const int groups_;
    std::vector<uint16_t> slopes_;  // [block * max_passes + pass]
    std::vector<uint32_t> above_;
};

}  // namespace cudaenc::j2k
