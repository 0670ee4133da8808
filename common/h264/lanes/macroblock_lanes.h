// SPDX-License-Identifier: LGPL-2.1-or-later
// Macroblocks side by side, a lane of the vectors each: kAllTypes. No lane waits for another one's samples, so nothing
// is shuffled.
#pragma once
#include <memory>
#include <span>

#include "../intra/macroblock_coder.h"

namespace cudaenc::h264 {

inline constexpr int kMostLanes = 32;

// QPs at which 16 bits hold scaled levels, and a residual of 8 bits while it is transformed back: 64 times 255, and the
// most that rounding adds. With 10 bits 16 hold levels alone.
inline constexpr int kLeastLaneQp = 12, kMostLaneQp = 39;

// The source of a macroblock in a piece of memory: the samples of its components, each in rows. With 8 bits a sample is
// a byte.
inline size_t source_bytes(const PictureFormat &f) {
    size_t samples = 0;
    for (int c = 0; c < f.components(); c++) samples += static_cast<size_t>(f.columns(c) * f.rows(c));
    return samples * (f.bit_depth > 8 ? 2 : 1);
}
// The last columns of a macroblock's components, one after the other.
inline constexpr int kMostColumnSamples = 48;
struct alignas(64) LastColumns {
    Sample samples[kMostColumnSamples];
};

// Codes macroblocks as MacroblockCoder does.
class MacroblockLanes {
  public:
    virtual ~MacroblockLanes() = default;
    static bool takes(const PictureFormat &format) { return format.plain() && format.transform_8x8; }

    struct Task {
        MacroblockCoder::Place place;  // drop_step: 0. samples: those above are there; the last rows are stored
        const uint8_t *source;         // source_bytes()
        LastColumns *columns;          // of the macroblock to the left; then its own
        Macroblock *macroblock;        // nullptr: the lane has none
        int16_t *levels;
        Neighbour *neighbour;
        MacroblockCoder::Result result;
    };
    // As many tasks as there are lanes. Where macroblock->type is pcm then, nothing else was written, and
    // MacroblockCoder has to code it: it may become I_PCM, or has another QP. all_rows: the whole reconstruction is
    // stored.
    virtual void code(Task *tasks, bool all_rows) = 0;
};

// What a processor's vectors hold.
struct LaneVectors {
    int lanes;  // at most kMostLanes
    // Ranks modes as rank_modes() does, of a macroblock a lane, but for texture. at: the first samples of each
    // component that is coded as luma. Where I_4x4 is unlikely whatever its SATD, that may become 0, without modes.
    // Returns bits of the lanes in which a type is below its limit: others are not ranked. limits: nullptr: all are.
    uint32_t (*rank)(const PictureFormat &format, const Sample *const (*at)[kMostLanes], ptrdiff_t stride,
                     const Available *available, const uint32_t *satd_lambdas, const SatdLimits *limits,
                     RankedModes *modes);
    std::unique_ptr<MacroblockLanes> (*make)(const PictureFormat &format);
};
// All that this processor can use, those with the most lanes first.
std::span<const LaneVectors> lane_vectors();

}  // namespace cudaenc::h264
