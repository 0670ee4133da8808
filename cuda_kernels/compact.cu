// From sizes to places: the prefix sum that all codecs pack their variable-length pieces with.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include "compact_params.h"
#include "device.cuh"

namespace cudaenc {

constexpr int prefix_sum_warps = prefix_sum_threads / 32;

// The sum of all threads' values, in every thread.
DEVICE uint64_t block_sum(uint64_t value) {
    SHARED(uint64_t, sums, prefix_sum_warps);
    const uint64_t scanned = warp_inclusive_add(value);
    if (lane_id() == 31) sums[warp_id()] = scanned;
    block_sync();
    uint64_t total = 0;
    for (int i = 0; i < prefix_sum_warps; ++i) total += sums[i];
    block_sync();
    return total;
}

// A thread-block adds up a tile; neighbouring threads read neighbouring sizes.
KERNEL(prefix_sum_threads, prefix_sum_partials, PrefixSumPartialsParams)
{
    const uint32_t begin = static_cast<uint32_t>(block_x()) * prefix_sum_tile;
    uint64_t sum = 0;
    for (int i = 0; i < prefix_sum_per_thread; ++i) {
        const uint32_t at = begin + static_cast<uint32_t>(i * prefix_sum_threads + thread_x());
        if (at < p.n) sum += load_readonly(p.sizes + at);
    }
    sum = block_sum(sum);
    if (thread_x() == 0) p.partials[block_x()] = sum;
}

// A thread-block adds up the partial sums of the tiles before its own (n / 4096 / 256 a thread: 64 for the largest n,
// out of the second-level cache), then scans its tile in rounds of one size a thread.
KERNEL(prefix_sum_threads, prefix_sum_offsets, PrefixSumOffsetsParams)
{
    SHARED(uint64_t, sums, prefix_sum_warps);
    uint64_t before = 0;
    for (int i = thread_x(); i < block_x(); i += prefix_sum_threads) before += load_readonly(p.partials + i);
    before = block_sum(before);

    const uint32_t begin = static_cast<uint32_t>(block_x()) * prefix_sum_tile;
    for (int i = 0; i < prefix_sum_per_thread; ++i) {
        const uint32_t round = begin + static_cast<uint32_t>(i * prefix_sum_threads);
        if (i && round >= p.n) break;  // the same for all threads
        const uint32_t at = round + static_cast<uint32_t>(thread_x());
        const uint64_t size = at < p.n ? load_readonly(p.sizes + at) : 0;
        const uint64_t scanned = warp_inclusive_add(size);
        if (lane_id() == 31) sums[warp_id()] = scanned;
        block_sync();
        uint64_t lower_warps = 0, total = 0;
        for (int w = 0; w < prefix_sum_warps; ++w) {
            if (w < warp_id()) lower_warps += sums[w];
            total += sums[w];
        }
        block_sync();
        if (at < p.n) p.offsets[at] = before + lower_warps + scanned - size;
        // Where n is a multiple of the tile, no thread is at n itself.
        if (p.n && at == p.n - 1) p.offsets[p.n] = before + lower_warps + scanned;
        before += total;
    }
    if (p.n == 0 && thread_x() == 0) p.offsets[0] = 0;
}

}  // namespace cudaenc
