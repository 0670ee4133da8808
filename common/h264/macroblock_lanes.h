// Macroblocks side by side, a lane of the vectors each: kAllTypes. No lane waits for another one's samples, so nothing
// is shuffled. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <memory>
#include <span>

#include "macroblock_coder.h"

namespace cudaenc::h264 {

inline constexpr int kMostLanes = 32;

// QPs at which 16 bits hold scaled levels, and a residual of 8 bits while it is transformed back: 64 times 255, and the
// most that rounding adds. With 10 bits 16 hold levels alone.
inline constexpr int kLeastLaneQp = 12, kMostLaneQp = 39;

// Codes macroblocks as MacroblockCoder does.
class MacroblockLanes {
  public:
    virtual ~MacroblockLanes() = default;
    static bool takes(const PictureFormat &format) { return format.plain() && format.transform_8x8; }

    struct Task {
        MacroblockCoder::Place place;  // drop_step: 0
        Macroblock *macroblock;        // nullptr: the lane has none
        int16_t *levels;
        Neighbour *neighbour;
        MacroblockCoder::Result result;
    };
    // As many tasks as there are lanes. Where macroblock->type is pcm then, nothing else was written, and
    // MacroblockCoder has to code it: it may become I_PCM, or has another QP.
    virtual void code(Task *tasks) = 0;
};

// What a processor's vectors hold.
struct LaneVectors {
    int lanes;  // at most kMostLanes
    // Ranks modes as rank_modes() does, of a macroblock a lane, whose texture is known. at: the first samples of each
    // component that is coded as luma. Where I_4x4 is unlikely whatever its SATD, that may become 0, without modes.
    void (*rank)(const PictureFormat &format, const Sample *const (*at)[kMostLanes], ptrdiff_t stride,
                 const Available *available, const uint32_t *satd_lambdas, RankedModes *modes);
    std::unique_ptr<MacroblockLanes> (*make)(const PictureFormat &format);
};
// All that this processor can use, those with the most lanes first.
std::span<const LaneVectors> lane_vectors();

}  // namespace cudaenc::h264
