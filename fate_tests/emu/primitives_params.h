// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of the kernels that test device.cuh itself.
#pragma once
#include <cstdint>

#include "../../common/kernel_name.h"

namespace cudaenc {

// What one thread got from every primitive.
struct PrimitivesResult {
    int32_t thread, block_x, block_y, block_z, grid_x, grid_y, grid_z, threads, lane, warp;
    uint32_t shuffle, shuffle_up, shuffle_down, shuffle_xor;
    uint64_t shuffle_wide;
    double shuffle_double;
    float shuffle_float;
    uint32_t ballot, any, all, block_any_none, block_any_one;
    uint32_t add, or_, max, min, scan;
    uint64_t scan_wide;
    uint32_t shared_neighbour, shared_tile;
    int32_t popcount, first_set, leading_zeros;
    uint32_t permuted, shifted_right, shifted_left, distance;
    uint8_t load1;
    uint16_t load2;
    uint32_t load4;
    uint32_t load_if;
    uint64_t load8;
    uint32_t load16[4];
};

// The counters are one each for the whole grid.
struct PrimitivesCounters {
    uint64_t wide_sum;
    unsigned long long long_sum;
    uint32_t sum, or_, max, min, tickets, block_sums;
};

struct PrimitivesParams {
    static constexpr KernelName kernel{"primitives", "primitives"};
    const uint32_t *values;     // [blocks][threads], aligned to 16 bytes, with 16 bytes to spare
    PrimitivesResult *results;  // [blocks][threads]
    PrimitivesCounters *counters;
};

// Breaks one rule of device.cuh, chosen by `rule`.
struct BrokenParams {
    enum Rule {
        none,
        threads_skip_barrier,
        threads_end_before_barrier,
        barriers_at_two_places,
        lanes_skip_collective,
        lanes_end_before_collective,
        mismatched_collectives,
        barrier_against_collective,
        shared_index,
        shared_row,
        shared_column,
        negative_shared_index,
    };
    static constexpr KernelName kernel{"primitives", "broken"};
    int rule;
    uint32_t *out;  // [threads]
};

// Every thread appends its number to a list: the order in which threads and thread-blocks run.
struct OrderParams {
    static constexpr KernelName kernel{"primitives", "order"};
    uint32_t *count;
    uint32_t *list;          // [blocks * threads]
    uint32_t *first_shared;  // [blocks]: what shared memory holds at the start of a thread-block
};

}  // namespace cudaenc
