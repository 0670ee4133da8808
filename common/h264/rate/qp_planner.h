// SPDX-License-Identifier: LGPL-2.1-or-later
// Plans the QPs of pictures in flight, so that pictures are coded side by side, and their QPs do not depend on how many
// are.
#pragma once
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "rate_control.h"

namespace cudaenc::h264 {

// A picture in flight, as its QP is settled.
struct PlannedPicture {
    int slot;
    uint64_t number;   // of the stream's pictures
    uint64_t skipped;  // frames that are left out before it
    RateTarget target;
    bool key = true;  // it is not predicted
    int qp;
    std::optional<RateControl> rate;  // from begin() on
    std::string missed;               // a target that it misses, see CudaencBuffer
    uint64_t most_bytes;              // of its packet; UINT64_MAX: no limit
    uint64_t filler;                  // bytes of filler data beyond that
};

// Bytes of a packet, before its slices are coded.
struct PacketSize {
    uint64_t likely;
    uint64_t most;  // with emulation prevention, which is rare
};

// At a constant QP a picture knows nothing of others: plan() is at once, and no picture is unsettled.
class QpPlanner {
  public:
    // The first target; in_flight: pictures at most.
    QpPlanner(const RateTarget &target, int in_flight);

    // 1. plan() chooses the QP of the first coding, in order. It knows the sizes of the first picture and of those that
    // are RateTarget::delay or more before; of all before where the last of these has a QP beyond kMaxQp, since sizes
    // are hard to foresee there. Others count as if they were like the last known one, at their planned QPs.
    // must_wait(): it needs the size of the first picture that is unsettled.
    bool must_wait(const PlannedPicture &picture) const;
    void plan(PlannedPicture &picture);
    // The last one that was planned is a key picture after all, or none.
    void plan_again(PlannedPicture &picture) {
        settle(picture);
        plan(picture);
    }

    // 2. For the first that is unsettled: begin() finds what the decoder's buffer holds. recode() follows each coding,
    // and tells whether it has to be coded once more, at its new QP.
    PlannedPicture *first_unsettled() const { return unsettled_.empty() ? nullptr : unsettled_.front(); }
    void begin(PlannedPicture &picture) const;
    bool recode(PlannedPicture &picture, const PacketSize &size);
    // The QP stands, or the picture failed; of one that failed nothing is kept.
    void settle(const PlannedPicture &picture) noexcept { std::erase(unsettled_, &picture); }
    bool is_settled(const PlannedPicture &picture) const;

    // In place of recode() with a constant QP, once the slices are coded: whether recode() would be false.
    bool fits(PlannedPicture &picture, const PacketSize &size) const;
    // 3. If the packet, of coded slices, exceeds most_bytes: true, at a higher QP.
    bool too_large(PlannedPicture &picture, const PacketSize &size) const;

  private:
    bool knows(const PlannedPicture &picture, uint64_t other) const;

    const RateTarget target_;
    std::optional<RateControl> rate_;          // behind the last picture whose QP stands
    std::vector<PlannedPicture *> unsettled_;  // in order
    // What plans go back to, in order.
    struct Known {
        uint64_t number;
        RateControl rate;  // behind the picture
    };
    struct Planned {
        uint64_t number;
        uint64_t skipped;
        int qp;
        RateTarget target;
    };
    std::deque<Known> known_;
    std::deque<Planned> planned_;
};

}  // namespace cudaenc::h264
