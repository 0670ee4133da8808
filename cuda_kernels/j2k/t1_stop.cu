// Early stops of tier-1, after each bit-plane: see EarlyStop. SPDX-License-Identifier: LGPL-2.1-or-later
#include "../device.cuh"
#include "t1_planes_params.h"

namespace cudaenc::j2k {

// A thread an active block.
KERNEL(kActiveThreads, j2k_t1_plane_cost, PlaneCostParams)
{
    const PlaneBuffers &k = p.buffers;
    const uint32_t index = static_cast<uint32_t>(block_x()) * kActiveThreads + thread_x();
    if (index >= k.active_counts[p.plane]) return;
    const uint32_t block = k.active[static_cast<uint64_t>(p.plane) * k.t1.count + index];
    if (!k.is_active(block, p.plane)) return;
    const uint64_t first = static_cast<uint64_t>(block) * k.t1.max_passes;
    const PlaneCost cost = plane_cost(k.t1.pass_ends + first, k.t1.gains + first, static_cast<int>(k.planes[block]),
                                      p.plane, p.bands[k.t1.blocks[block].cell].weight);
    p.slopes[block] = static_cast<uint16_t>(cost.slope);
    atomic_add(&p.table[cost.slope], cost.bytes);
}

// A thread owns a slope, then an active block.
KERNEL(kStopSlopes, j2k_t1_stop, StopParams)
{
    SHARED(uint32_t, sums, 32);
    SHARED(uint32_t, limits, 32);
    const PlaneBuffers &k = p.buffers;
    const uint64_t budget = *p.budget;
    if (!budget) return;
    // Bytes from the own slope on: the highest comes first.
    const int slope = kStopSlopes - 1 - thread_x();
    const bool exceeds = block_inclusive_add<uint32_t>(p.table[slope], sums) > budget;
    const uint32_t limit = warp_max(exceeds ? stop_limit(p.method, slope) : 0);
    if (lane_id() == 0) limits[warp_id()] = limit;
    block_sync();
    const uint32_t lowest = warp_max(limits[lane_id()]),
                   index = static_cast<uint32_t>(block_x()) * kStopSlopes + thread_x();
    if (index >= k.active_counts[p.plane]) return;
    const uint32_t block = k.active[static_cast<uint64_t>(p.plane) * k.t1.count + index];
    if (k.is_active(block, p.plane) && p.slopes[block] < lowest) k.stopped[block] = 1;
}

}  // namespace cudaenc::j2k
