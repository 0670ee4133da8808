// Macroblocks side by side, a lane of the vectors each: kAllTypes with 8 bits. No lane waits for another one's samples,
// so nothing is shuffled. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <memory>

#include "macroblock_coder.h"

namespace cudaenc::h264 {

inline constexpr int kLanes = 16;

// Ranks modes as rank_modes() does, of kLanes macroblocks of 16x16 samples. at: their first samples.
void rank_lanes(const Sample *const (&at)[kLanes], ptrdiff_t stride, const Available (&available)[kLanes],
                RankedModes (&modes)[kLanes]);

// QPs at which 16 bits hold scaled levels, and a residual while it is transformed back: 64 times 255, and the most that
// rounding adds.
inline constexpr int kLeastLaneQp = 12, kMostLaneQp = 39;

// Codes macroblocks as MacroblockCoder does.
class MacroblockLanes {
  public:
    explicit MacroblockLanes(const PictureFormat &format);
    ~MacroblockLanes();
    static bool takes(const PictureFormat &format) {
        return format.plain() && format.bit_depth == 8 && format.chroma == ChromaFormat::c420 && format.transform_8x8;
    }

    struct Task {
        MacroblockCoder::Place place;  // drop_step: 0
        Macroblock *macroblock;        // nullptr: the lane has none
        int16_t *levels;
        Neighbour *neighbour;
        MacroblockCoder::Result result;
    };
    // Where macroblock->type is pcm then, nothing else was written, and MacroblockCoder has to code it: it may become
    // I_PCM, or has another QP.
    void code(Task (&tasks)[kLanes]);

    struct Work;

  private:
    std::unique_ptr<Work> work_;
};

}  // namespace cudaenc::h264
