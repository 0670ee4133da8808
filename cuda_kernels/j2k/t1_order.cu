// The order in which the MQ coder takes blocks: most pairs first, so that the longest do not start last.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../device.cuh"
#include "t1_planes_params.h"

namespace cudaenc::j2k {

// A thread owns kEach classes of work, and as many indices below `count`, whose places in the order it gives to
// put(place, index). pairs: [count]. Within a class any order will do: it does not reach the codestream.
template <class Put>
DEVICE void order_by_work(const uint32_t *pairs, const uint32_t *work_counts, uint32_t *taken, uint32_t count,
                          const Put &put) {
    constexpr int kEach = kWorkClasses / kOrderThreads;
    SHARED(uint32_t, first, kWorkClasses);
    SHARED(uint32_t, here, kWorkClasses);  // of this thread-block
    SHARED(uint32_t, sums, 32);
    const int thread = thread_x();
    CUDAENC_UNROLL
    for (int k = 0; k < kEach; k++) here[k * kOrderThreads + thread] = 0;
    block_sync();
    uint32_t work[kEach], before[kEach];
    const auto index_of = [&](int k) {
        return static_cast<uint32_t>(block_x()) * kWorkClasses + static_cast<uint32_t>(k * kOrderThreads + thread);
    };
    CUDAENC_UNROLL
    for (int k = 0; k < kEach; k++) {
        const uint32_t index = index_of(k);
        work[k] = index < count ? work_class(pairs[index]) : 0;
        before[k] = index < count ? atomic_add(&here[work[k]], 1u) : 0;
    }
    uint32_t own[kEach], sum = 0;
    CUDAENC_UNROLL
    for (int k = 0; k < kEach; k++) sum += own[k] = work_counts[kEach * thread + k];
    uint32_t upper = block_inclusive_add<uint32_t>(sum, sums) - sum;
    CUDAENC_UNROLL
    for (int k = 0; k < kEach; k++) {
        const int of = kEach * thread + k;
        first[of] = upper + (here[of] ? atomic_add(&taken[of], uint32_t{here[of]}) : 0);
        upper += own[k];
    }
    block_sync();
    CUDAENC_UNROLL
    for (int k = 0; k < kEach; k++)
        if (index_of(k) < count) put(first[work[k]] + before[k], index_of(k));
}

KERNEL(kOrderThreads, j2k_t1_order, OrderParams)
{
    order_by_work(p.pairs, p.work_counts, p.taken, p.count,
                  [&](uint32_t place, uint32_t block) { p.order[place] = block; });
}

// A thread a block. Their order among the active ones is any.
KERNEL(kActiveThreads, j2k_t1_active, ActiveParams)
{
    const PlaneBuffers &k = p.buffers;
    const uint32_t block = static_cast<uint32_t>(block_x()) * kActiveThreads + thread_x();
    const bool active = block < k.t1.count && (p.all || k.is_active(block, p.plane));
    const uint32_t warp = warp_ballot(active);
    uint32_t first = 0;
    if (lane_id() == 0 && warp) first = atomic_add(&k.active_counts[p.plane], static_cast<uint32_t>(popcount(warp)));
    first = warp_shuffle(first, 0);
    if (active)
        k.active[static_cast<uint64_t>(p.plane) * k.t1.count + first + popcount(warp & ((1u << lane_id()) - 1))] =
            block;
}

KERNEL(kOrderThreads, j2k_t1_order_plane, OrderPlaneParams)
{
    const PlaneBuffers &k = p.buffers;
    const uint64_t plane = static_cast<uint64_t>(p.plane);
    const uint32_t *active = k.active + plane * k.t1.count;
    order_by_work(k.plane_pairs + plane * k.t1.count, k.t1.work_counts + plane * kWorkClasses,
                  k.taken + plane * kWorkClasses, k.active_counts[p.plane],
                  [&](uint32_t at, uint32_t index) { k.order[at] = active[index]; });
}

}  // namespace cudaenc::j2k
