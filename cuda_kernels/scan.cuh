// Prefix sums within a thread-block. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "device.cuh"

namespace cudaenc {

// The sum over the threads before, and over all. With all threads; T: of 32 or 64 bits.
template <class T>
struct BlockSums {
    T before, all;
};
template <int Warps, class T>
DEVICE BlockSums<T> block_sums(T value) {
    SHARED(T, warp_sums, Warps);
    const T scanned = warp_inclusive_add(value);
    if (lane_id() == 31) warp_sums[warp_id()] = scanned;
    block_sync();
    BlockSums<T> sums{scanned - value, 0};
    CUDAENC_UNROLL
    for (int i = 0; i < Warps; i++) {
        sums.before += i < warp_id() ? warp_sums[i] : 0;
        sums.all += warp_sums[i];
    }
    return sums;
}

}  // namespace cudaenc
