// The order in which the MQ coder takes blocks: most pairs first, so that the longest do not start last.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../device.cuh"
#include "t1_params.h"

namespace cudaenc::j2k {

// A thread owns a class of work, then a block. Within a class any order will do: it does not reach the codestream.
KERNEL(kWorkClasses, j2k_t1_order, OrderParams)
{
    SHARED(uint32_t, first, kWorkClasses);
    SHARED(uint32_t, sums, 32);
    const int thread = thread_x();
    const uint32_t own = p.work_counts[thread];
    const uint32_t inclusive = warp_inclusive_add(own);
    if (lane_id() == 31) sums[warp_id()] = inclusive;
    block_sync();
    if (warp_id() == 0) {
        const uint32_t sum = sums[lane_id()];
        sums[lane_id()] = warp_inclusive_add(sum) - sum;
    }
    block_sync();
    first[thread] = inclusive - own + sums[warp_id()];
    block_sync();
    const uint32_t block = static_cast<uint32_t>(block_x()) * kWorkClasses + thread;
    if (block >= p.count) return;
    const uint32_t work = work_class(p.pairs[block]);
    p.order[first[work] + atomic_add(&p.taken[work], 1u)] = block;
}

}  // namespace cudaenc::j2k
