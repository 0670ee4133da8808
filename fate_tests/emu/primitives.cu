// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels that test device.cuh itself, on every kind of device.
#include "../../cuda_kernels/device.cuh"
#include "primitives_params.h"

namespace cudaenc {

// Shared memory works in templates too: each instance has its own.
template <int Shift>
DEVICE uint32_t neighbour(uint32_t value) {
    SHARED(uint32_t, row, 256);
    row[thread_x()] = value >> Shift;
    block_sync();
    const uint32_t *from = row;
    const uint32_t result = from[(thread_x() + 1) % block_threads()];
    block_sync();
    return result;
}

struct Rotate {
    int by;
    DEVICE_MEMBER int of(int lane) const { return lane + by; }
};

// A thread writes one result, of its own and its warp's values; the block adds to the counters.
KERNEL(256, primitives, PrimitivesParams)
{
    SHARED(uint32_t, sums, 4);
    SHARED2(int16_t, tile, 8, 33);
    const int block = (block_z() * grid_y() + block_y()) * grid_x() + block_x();
    const int index = block * block_threads() + thread_x();
    const int lane = lane_id();
    const uint32_t value = p.values[index];
    PrimitivesResult r;
    r.thread = thread_x();
    r.block_x = block_x();
    r.block_y = block_y();
    r.block_z = block_z();
    r.grid_x = grid_x();
    r.grid_y = grid_y();
    r.grid_z = grid_z();
    r.threads = block_threads();
    r.lane = lane;
    r.warp = warp_id();

    r.shuffle = warp_shuffle(value, Rotate{5}.of(lane));
    r.shuffle_up = warp_shuffle_up(value, 3);
    r.shuffle_down = warp_shuffle_down(value, 7);
    r.shuffle_xor = warp_shuffle_xor(value, 9);
    const uint64_t wide = static_cast<uint64_t>(value) << 32 | (value ^ 0xabcdef01u);
    r.shuffle_wide = warp_shuffle(wide, 31 - lane);
    r.shuffle_double = warp_shuffle_xor(static_cast<double>(value) * 0.5, 1);
    r.shuffle_float = warp_shuffle_up(static_cast<float>(value & 0xffff) * 0.25f, 1);
    r.ballot = warp_ballot(value & 1);
    r.any = warp_any((value & 31) == 7);
    r.all = warp_all((value & 31) != 7);
    r.block_any_none = block_any(false);
    r.block_any_one = block_any(thread_x() == block % block_threads());
    r.add = warp_add(value);
    r.or_ = warp_or(value & 0x11111111u << (lane & 3));
    r.max = warp_max(value);
    r.min = warp_min(value);
    r.scan = warp_inclusive_add(value);
    r.scan_wide = warp_inclusive_add(wide);

    r.shared_neighbour = neighbour<0>(value) ^ neighbour<3>(value);
    tile[warp_id()][lane] = static_cast<int16_t>(value);
    warp_sync();
    int16_t *row = &tile[warp_id()][0];
    r.shared_tile = static_cast<uint32_t>(row[lane ^ 31]);

    r.popcount = popcount(value);
    r.first_set = find_first_set(value | 0x80000000u);
    r.leading_zeros = count_leading_zeros(value >> lane);
    r.permuted = byte_permute(value, ~value, 0x6037);
    r.distance = sad_bytes(value, value * 2654435761u, value);
    r.shifted_right = funnel_shift_right(value, ~value, static_cast<uint32_t>(index));
    r.shifted_left = funnel_shift_left(value, ~value, static_cast<uint32_t>(index));
    r.load1 = load_readonly(reinterpret_cast<const uint8_t *>(p.values) + index);
    r.load2 = load_readonly(reinterpret_cast<const uint16_t *>(p.values) + index);
    r.load4 = load_readonly(p.values + index);
    r.load_if = ~0u;
    load_readonly_if(index % 3 == 0, p.values + index, r.load_if);
    r.load8 = load_readonly(reinterpret_cast<const unsigned long long *>(p.values) + index / 2);
    const Uint4 four = load_readonly(reinterpret_cast<const Uint4 *>(p.values) + index / 4);
    r.load16[0] = four.x;
    r.load16[1] = four.y;
    r.load16[2] = four.z;
    r.load16[3] = four.w;

    if (thread_x() < 4) sums[thread_x()] = 0;
    block_sync();
    atomic_add(&sums[lane & 3], value & 0xff);
    block_sync();
    if (thread_x() < 4) atomic_add(&p.counters->block_sums, sums[thread_x()]);
    atomic_add(&p.counters->wide_sum, wide);
    atomic_add(&p.counters->long_sum, static_cast<unsigned long long>(wide));
    atomic_add(&p.counters->sum, value);
    atomic_or(&p.counters->or_, value & 0x0f0f00ffu);
    atomic_max(&p.counters->max, value);
    atomic_min(&p.counters->min, value);
    thread_fence();
    atomic_add(&p.counters->tickets, 1);
    p.results[index] = r;
}

KERNEL(64, broken, BrokenParams)
{
    SHARED(uint32_t, line, 64);
    SHARED2(uint32_t, tile, 4, 16);
    const int thread = thread_x(), lane = lane_id();
    line[thread] = 0;
    tile[thread & 3][thread >> 2] = 0;
    uint32_t value = 1;
    switch (p.rule) {
        case BrokenParams::threads_skip_barrier:
            if (thread != 40) block_sync();
            break;
        case BrokenParams::threads_end_before_barrier:
            if (thread < 16) return;
            block_sync();
            break;
        case BrokenParams::barriers_at_two_places:
            if (thread < 32) {
                block_sync();
            } else {
                value = 2;
                block_sync();
            }
            break;
        case BrokenParams::lanes_skip_collective:
            if (lane != 5) value = warp_add(value);
            break;
        case BrokenParams::lanes_end_before_collective:
            if (lane == 5) return;
            value = warp_add(value);
            break;
        case BrokenParams::mismatched_collectives:
            if (lane & 1) {
                value = warp_add(value);
            } else {
                value = warp_max(value);
            }
            break;
        case BrokenParams::barrier_against_collective:
            if (lane & 1) {
                value = warp_add(value);
            } else {
                block_sync();
            }
            break;
        case BrokenParams::shared_index:
            line[thread + (thread == 9 ? 55 : 0)] = 1;
            break;
        case BrokenParams::shared_row:
            value = tile[thread >> 3][0];
            break;
        case BrokenParams::shared_column:
            value = tile[0][thread >> 1];
            break;
        case BrokenParams::negative_shared_index:
            value = line[thread - 1];
            break;
        default:
            block_sync();
            break;
    }
    p.out[thread] = value;
}

KERNEL(128, order, OrderParams)
{
    SHARED(uint32_t, garbage, 128);
    const uint32_t found = garbage[0];
    block_sync();
    if (thread_x() == 0) p.first_shared[block_x()] = found;
    garbage[thread_x()] = 0;
    const uint32_t place = atomic_add(p.count, 1);
    p.list[place] = static_cast<uint32_t>(block_x() * block_threads() + thread_x());
}

}  // namespace cudaenc
