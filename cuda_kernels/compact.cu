// SPDX-License-Identifier: LGPL-2.1-or-later
// The prefix sum from sizes to places, for data of variable length.
#include "compact_params.h"
#include "device.cuh"
#include "look_back.cuh"

namespace cudaenc {

constexpr int prefix_sum_warps = prefix_sum_threads / 32;

// A thread-block adds up a tile. Adjacent threads read adjacent sizes.
KERNEL(prefix_sum_threads, prefix_sum_partials, PrefixSumPartialsParams)
{
    const uint32_t begin = static_cast<uint32_t>(block_x()) * prefix_sum_tile;
    const uint32_t *sizes = p.arrays[block_y()].sizes;
    uint64_t sum = 0;
    for (int i = 0; i < prefix_sum_per_thread; ++i) {
        const uint32_t at = begin + static_cast<uint32_t>(i * prefix_sum_threads + thread_x());
        if (at < p.n) sum += load_readonly(sizes + at);
    }
    sum = block_sums<prefix_sum_warps>(sum).all;
    if (thread_x() == 0) p.partials[block_y() * grid_x() + block_x()] = sum;
}

// A thread-block adds up the partial sums of the tiles before its own (64 a thread for the largest n, from the L2
// cache), then scans its tile. A thread owns 4 adjacent sizes in each of 4 rounds. The sums of 8 warps and 4 rounds are
// 32, which each warp scans for itself.
KERNEL(prefix_sum_threads, prefix_sum_offsets, PrefixSumOffsetsParams)
{
    constexpr int run = 4, rounds = prefix_sum_per_thread / run;
    static_assert(rounds * prefix_sum_warps == 32);
    SHARED(uint64_t, sums, 32);
    const PrefixSumArray array = p.arrays[block_y()];
    const uint64_t *partials = p.partials + block_y() * grid_x();
    const uint32_t begin = static_cast<uint32_t>(block_x()) * prefix_sum_tile + static_cast<uint32_t>(thread_x() * run);
    uint32_t sizes[rounds][run];
    for (int r = 0; r < rounds; ++r) {
        for (int i = 0; i < run; ++i) {
            const uint32_t at = begin + static_cast<uint32_t>(r * run * prefix_sum_threads + i);
            sizes[r][i] = at < p.n ? load_readonly(array.sizes + at) : 0;
        }
    }
    uint64_t before_tile = 0;
    for (int i = thread_x(); i < block_x(); i += prefix_sum_threads) before_tile += load_readonly(partials + i);
    before_tile = block_sums<prefix_sum_warps>(before_tile).all;

    uint64_t before[rounds];  // the thread's run, within its warp
    for (int r = 0; r < rounds; ++r) {
        uint64_t own = 0;
        for (int i = 0; i < run; ++i) own += sizes[r][i];
        const uint64_t scanned = warp_inclusive_add(own);
        before[r] = scanned - own;
        if (lane_id() == 31) sums[r * prefix_sum_warps + warp_id()] = scanned;
    }
    block_sync();
    const uint64_t sum = sums[lane_id()];
    const uint64_t before_sum = warp_inclusive_add(sum) - sum;
    for (int r = 0; r < rounds; ++r) {
        uint64_t offset = before_tile + before[r] + warp_shuffle(before_sum, r * prefix_sum_warps + warp_id());
        for (int i = 0; i < run; ++i) {
            const uint32_t at = begin + static_cast<uint32_t>(r * run * prefix_sum_threads + i);
            if (at < p.n) array.offsets[at] = offset;
            offset += sizes[r][i];
            // Where n is a multiple of the tile, no thread is at n itself.
            if (p.n && at == p.n - 1) array.offsets[p.n] = offset;
        }
    }
    if (p.n == 0 && thread_x() == 0) array.offsets[0] = 0;
}

}  // namespace cudaenc
