// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of compact.cu.
#pragma once
#include <cstdint>

#include "../common/kernel_name.h"

namespace cudaenc {

// A thread-block adds up a tile of sizes.
constexpr int prefix_sum_threads = 256;
constexpr int prefix_sum_per_thread = 16;
constexpr int prefix_sum_tile = prefix_sum_threads * prefix_sum_per_thread;

struct PrefixSumArray {
    const uint32_t *sizes;  // [n]
    uint64_t *offsets;      // [n + 1]: the sum of the sizes before each, then of all
};
constexpr size_t prefix_sum_most_arrays = 2;

// Grid: one block a tile, of each array.
struct PrefixSumPartialsParams {
    static constexpr KernelName kernel{"compact", "prefix_sum_partials", LaunchPriority::kHigh};
    PrefixSumArray arrays[prefix_sum_most_arrays];
    uint64_t *partials;  // [array][tile]: the sum of the tile's sizes
    uint32_t n;
};

// Grid: one block a tile, at least one, of each array.
struct PrefixSumOffsetsParams {
    static constexpr KernelName kernel{"compact", "prefix_sum_offsets", LaunchPriority::kHigh};
    PrefixSumArray arrays[prefix_sum_most_arrays];
    const uint64_t *partials;  // [array][tile]
    uint32_t n;
};

}  // namespace cudaenc
