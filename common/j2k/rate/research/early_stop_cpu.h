// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <vector>

#include "../../params.h"
#include "../../t1/encoder_geometry.h"
#include "../outcome.h"
#include "early_stop.h"

namespace cudaenc::j2k {

// The paper's methods, as pipelines use them: one object a session.
class EarlyStopping {
  public:
    explicit EarlyStopping(const RateControl &rate);

    // PSB and BPI, by bit-planes. Nothing stops where the last layer has all that there is.
    EarlyStop by_planes() const { return by_planes_; }

    // PST: the frame `pst_lag` before tells the slope at which tier-1 stops. No more frames than that are in flight.
    uint32_t slope(uint64_t frame) const { return slopes_.empty() ? 0 : slopes_[frame % slopes_.size()]; }
    void note(uint64_t frame, const StopOutcome &stop);

    // What blocks that were coded with all passes have where tier-1 stops by bit-planes. budget: of the frame, in
    // bytes; 0: none, and no block stops. bytes, reductions: [block * max_passes + pass].
    void truncate(const EncoderGeometry &geometry, uint64_t budget, const uint32_t *bytes, const int32_t *reductions,
                  std::span<CodedBlock> coded) const;

  private:
    const EarlyStop by_planes_;
    std::vector<uint32_t> slopes_;  // [frame % lag]: of the frame after next lag; empty: not PST
};

}  // namespace cudaenc::j2k
