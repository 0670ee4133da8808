// SPDX-License-Identifier: LGPL-2.1-or-later
// What macroblocks of a source picture cost by the picture before and as intra, for the lookahead.
#include "../../../common/h264/gop.h"
#include "../intra/arithmetic.cuh"
#include "lookahead_params.h"

namespace cudaenc::h264 {

// A macroblock is an 8x8 block here. Four lanes have one of its four predictions, a lane a 4x4 block of it.
KERNEL(kLookaheadThreads, h264_source_costs, SourceCostsParams)
{
    enum Prediction { kInter, kVertical, kHorizontal, kDc };
    const int lane = lane_id(), own = block_x() * (kLookaheadThreads / 16) + thread_x() / 16;
    const int m = min_of(own, p.macroblocks - 1);  // beyond it the last one again
    const int left = 8 * (m % p.columns), top = 8 * (m / p.columns);
    const Vector v = p.vectors ? p.vectors[m] : Vector{};
    // Eight samples above, eight to the left.
    const int along = lane & 7;
    const uint32_t dc = scene_dc(
        sum_of_lanes<15>(load_readonly(lane & 8 ? p.now.at(left - 1, top + along) : p.now.at(left + along, top - 1))));
    const int prediction = lane >> 2 & 3, x = left + 4 * (lane & 1), y = top + 4 * (lane >> 1 & 1);
    uint32_t differences[4][2];
    CUDAENC_UNROLL
    for (int row = 0; row < 4; row++) {
        const auto difference = [&](int column) {
            const int at = x + column, line = y + row;
            const uint8_t *const predicted = prediction == kInter      ? p.before.at(at + v.x, line + v.y)
                                             : prediction == kVertical ? p.now.at(at, top - 1)
                                                                       : p.now.at(left - 1, line);
            return load_readonly(p.now.at(at, line)) - (prediction == kDc ? dc : load_readonly(predicted));
        };
        CUDAENC_UNROLL
        for (int i = 0; i < 2; i++) differences[row][i] = pair_of(difference(2 * i), difference(2 * i + 1));
    }
    const uint32_t satd = sum_of_lanes<3>(half_satd(differences));
    const uint32_t intra = least_of_lanes<12>(prediction == kInter ? ~0u : satd);
    if (lane & 15 || own >= p.macroblocks) return;
    p.costs[m] = {.intra = static_cast<uint16_t>(intra),
                  .inter = static_cast<uint16_t>(p.vectors ? min_of(satd, intra) : intra),
                  .x = v.x,
                  .y = v.y};
}

}  // namespace cudaenc::h264
