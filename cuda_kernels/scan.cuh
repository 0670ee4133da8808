// Sums within a thread-block. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "device.cuh"

namespace cudaenc {

// Sums over the threads before the own one, and over all. With all threads.
struct BlockSums {
    uint32_t before, all;
};
template <int Warps>
DEVICE BlockSums block_sums(uint32_t value) {
    SHARED(uint32_t, warp_sums, Warps);
    const uint32_t scanned = warp_inclusive_add(value);
    if (lane_id() == 31) warp_sums[warp_id()] = scanned;
    block_sync();
    BlockSums sums{scanned - value, 0};
    CUDAENC_UNROLL
    for (int i = 0; i < Warps; i++) {
        sums.before += i < warp_id() ? warp_sums[i] : 0;
        sums.all += warp_sums[i];
    }
    return sums;
}

}  // namespace cudaenc
