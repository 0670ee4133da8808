// SPDX-License-Identifier: LGPL-2.1-or-later
// How the rate allocation of a frame ended.
#pragma once
#include "../t1/stop.h"
#include "../t2/layers.h"

namespace cudaenc::j2k {

// Where tier-1 stopped, with the last layer's threshold.
struct StopOutcome : StopSlope {
    uint32_t threshold;
    uint32_t lacks;    // what all that was coded leaves of the budget, in 1/256 of it
    uint32_t surplus;  // what of all that was coded the budget has no room for, likewise
};
struct LayerThresholds {
    uint32_t threshold[kMaxLayers];
    StopOutcome stop;
};

// A frame as it was written.
struct WrittenFrame : WrittenSizes {
    LayerThresholds allocation;  // where there is rate allocation
};

}  // namespace cudaenc::j2k
