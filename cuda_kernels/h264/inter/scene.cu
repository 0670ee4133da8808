// SPDX-License-Identifier: LGPL-2.1-or-later
// How much of a picture is like the one before, by which scene cuts are known.
#include "../../device.cuh"
#include "scene_params.h"

namespace cudaenc::h264 {

DEVICE uint32_t difference_of(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }

// A warp has an 8x8 block, a lane two samples of it. All sums fit 16 bits, so two share a word.
KERNEL(kSceneThreads, h264_scene_costs, SceneCostsParams)
{
    constexpr int kWarps = kSceneThreads / 32;
    SHARED(SceneCosts, of_warps, kWarps);
    const int lane = lane_id(), row = lane >> 2, column = 2 * (lane & 3), top = 8 * block_x();
    SceneCosts costs{};
    CUDAENC_NO_UNROLL
    for (int x = warp_id(); x < p.columns; x += kWarps) {
        const int left = 8 * x;
        const Vector v = p.vectors.at(x, block_x());
        // Eight samples above, eight to the left.
        const uint32_t edge = lane >= 16 ? 0u
                              : lane < 8 ? load_readonly(p.now.at(left + lane, top - 1))
                                         : load_readonly(p.now.at(left - 1, top + lane - 8));
        const uint32_t dc = scene_dc(warp_add(edge)), beside = warp_shuffle(edge, 8 + row);
        uint32_t inter = 0, vertical = 0, horizontal = 0, mean = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < 2; i++) {
            const uint32_t sample = load_readonly(p.now.at(left + column + i, top + row));
            inter += difference_of(sample, load_readonly(p.before.at(left + column + i + v.x, top + row + v.y)));
            vertical += difference_of(sample, warp_shuffle(edge, column + i));
            horizontal += difference_of(sample, beside);
            mean += difference_of(sample, dc);
        }
        const uint32_t first = warp_add(inter | vertical << 16), second = warp_add(horizontal | mean << 16);
        costs.add(first & 0xFFFF, first >> 16, second & 0xFFFF, second >> 16);
        costs.found += p.found[block_x() * p.columns + x].cost;
    }
    if (lane == 0) of_warps[warp_id()] = costs;
    block_sync();
    if (thread_x() != 0) return;
    SceneCosts sum{};
    CUDAENC_UNROLL
    for (int i = 0; i < kWarps; i++) sum.add(of_warps[i]);
    p.costs[block_x()] = sum;
}

}  // namespace cudaenc::h264
