// SPDX-License-Identifier: LGPL-2.1-or-later
// The order in which the MQ coder takes blocks: most symbols first, so that the longest do not start last.
#pragma once
#include "../../device.cuh"
#include "t1_params.h"

namespace cudaenc::j2k {

// A thread owns kEach classes of work, and as many indices below `count`, whose places in the order it gives to
// put(place, index). symbols: [count]. Within a class any order will do: it does not reach the codestream.
template <class Put>
DEVICE void order_by_work(const uint32_t *symbols, WorkOrder &order, uint32_t count, const Put &put) {
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
        work[k] = index < count ? work_class(symbols[index]) : 0;
        before[k] = index < count ? atomic_add(&here[work[k]], 1u) : 0;
    }
    uint32_t own[kEach], sum = 0;
    CUDAENC_UNROLL
    for (int k = 0; k < kEach; k++) sum += own[k] = order.counts[kEach * thread + k];
    uint32_t upper = block_inclusive_add<uint32_t>(sum, sums) - sum;
    CUDAENC_UNROLL
    for (int k = 0; k < kEach; k++) {
        const int of = kEach * thread + k;
        first[of] = upper + (here[of] ? atomic_add(&order.taken[of], uint32_t{here[of]}) : 0);
        upper += own[k];
    }
    block_sync();
    CUDAENC_UNROLL
    for (int k = 0; k < kEach; k++)
        if (index_of(k) < count) put(first[work[k]] + before[k], index_of(k));
}

}  // namespace cudaenc::j2k
