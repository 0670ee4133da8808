// SPDX-License-Identifier: LGPL-2.1-or-later
// Rate allocation: bytes by slope, thresholds, bytes of packets.
#include "../t2/t2.cuh"
#include "rate_params.h"

namespace cudaenc::j2k {

// As LowestSlope, by a warp, 32 slopes at a time. Every lane gets it.
struct WarpLowestSlope {
    template <class Bytes>
    DEVICE_MEMBER uint32_t operator()(int64_t most, const Bytes &bytes) const {
        static_assert(kSlopes == 32 * 32 * 32);
        uint32_t low = 1;
        // Of 32 parts of the range, the slope lies behind those whose last slope has too many bytes.
        for (uint32_t part = kSlopes / 32; part; part /= 32) {
            const uint32_t last = low + part * (lane_id() + 1) - 1;
            low += part * popcount(warp_ballot(static_cast<int64_t>(bytes(last)) > most));
        }
        return min_of<uint32_t>(low, kSlopes);
    }
};

// A round, by a warp.
DEVICE void allocate_round(const RateBuffers &rate, bool last) {
    j2k::allocate(*rate.allocation, rate.bytes_at_or_above, static_cast<int>(rate.groups),
                  static_cast<int>(rate.t2.layers), last, WarpLowestSlope{});
}

// Sums up from each slope on, and clears the table. sums: shared, 32.
DEVICE void sum_at_or_above(const RateBuffers &rate, uint32_t *sums) {
    // A warp owns consecutive slopes, warp 0 the highest ones, and goes through them from the highest on; of each step
    // a lane has four. They are read twice, so that few registers do.
    constexpr int kFours = kSlopes / 4 / (kAllocateThreads / 32), kSteps = kFours / 32, kAtOnce = 8;
    const int highest = kSlopes / 4 - 1 - warp_id() * kFours - lane_id();
    const auto all_of = [](const Uint4 &four) { return four.x + four.y + four.z + four.w; };
    for (uint32_t group = 0; group < rate.groups; group++) {
        Uint4 *bytes_at = reinterpret_cast<Uint4 *>(rate.bytes_at + group * kSlopes) + highest;
        Uint4 *at_or_above = reinterpret_cast<Uint4 *>(rate.bytes_at_or_above + group * kSlopes) + highest;
        const auto for_each_step = [&](const auto &body) {
            CUDAENC_NO_UNROLL
            for (int step = 0; step < kSteps; step += kAtOnce) {
                Uint4 own[kAtOnce];
                CUDAENC_UNROLL
                for (int i = 0; i < kAtOnce; i++) own[i] = bytes_at[-32 * (step + i)];
                CUDAENC_UNROLL
                for (int i = 0; i < kAtOnce; i++) body(step + i, own[i]);
            }
        };
        uint32_t sum = 0;
        for_each_step([&](int, const Uint4 &own) { sum += all_of(own); });
        uint32_t before = warp_shuffle(block_inclusive_add<uint32_t>(sum, sums) - sum, 0);
        for_each_step([&](int step, const Uint4 &own) {
            const uint32_t to = warp_inclusive_add(all_of(own));
            Uint4 from{0, 0, 0, before + to - all_of(own) + own.w};
            from.z = from.w + own.z;
            from.y = from.z + own.y;
            from.x = from.y + own.x;
            at_or_above[-32 * step] = from;
            bytes_at[-32 * step] = {};
            before += warp_shuffle(to, 31);
        });
        block_sync();
    }
}

KERNEL(kAllocateThreads, j2k_rate_allocate, AllocateParams)
{
    SHARED(uint32_t, sums, 32);
    sum_at_or_above(p.rate, sums);
    if (warp_id()) return;
    if (p.measured && lane_id() == 0)
        add_codewords(*p.rate.allocation, p.rate.bytes_at_or_above, static_cast<int>(p.rate.groups));
    warp_sync();
    if (p.revision.layer >= 0)
        revise_thresholds(*p.rate.allocation, p.rate.bytes_at_or_above, static_cast<int>(p.rate.groups),
                          static_cast<int>(p.rate.t2.layers), p.revision, WarpLowestSlope{});
    else
        allocate_round(p.rate, p.measured != 0);
}

// Adds to a number that lanes share or not; all lanes of the warp take part.
DEVICE void add_to_packet(uint64_t *sums, uint32_t packet, uint32_t value, bool alike) {
    if (!alike) {
        if (value) atomic_add(&sums[packet], uint64_t{value});
        return;
    }
    const uint64_t sum = warp_inclusive_add(uint64_t{value});
    if (lane_id() == 31) atomic_add(&sums[packet], sum);
}

KERNEL(kMeasureThreads, j2k_rate_measure, MeasureParams)
{
    SHARED(uint32_t, is_last, 1);
    const Tier2Buffers &t2 = p.rate.t2;
    RateAllocation &measured = *p.rate.allocation;
    const uint32_t i = static_cast<uint32_t>(block_x()) * kMeasureThreads + thread_x();
    const uint32_t packet = t2.block_layers[min_of(i, t2.block_layer_count - 1)];
    uint32_t bits = 0, bytes = 0;
    if (i < t2.block_layer_count) {
        const BlockLayer own = block_layer(t2, i);
        bits = header_bits(t2, own);
        bytes = layers_of(t2, own.block).bytes_of(own.packet.layer);
    }
    const bool alike = warp_all(packet == warp_shuffle(packet, 0));
    add_to_packet(p.rate.packet_bits, packet, bits, alike);
    add_to_packet(p.rate.packet_bytes, packet, bytes, alike);
    thread_fence();
    block_sync();
    if (thread_x() == 0) is_last[0] = atomic_add(p.rate.done, 1u) + 1 == static_cast<uint32_t>(grid_x());
    block_sync();
    if (!is_last[0]) return;
    thread_fence();
    for (uint32_t k = thread_x(); k < t2.packet_count; k += kMeasureThreads) {
        const Packet &of = t2.packets[k];
        const uint64_t codewords = p.rate.packet_bytes[k],
                       all = packet_bytes(p.rate.packet_bits[k], codewords, t2.sop, t2.eph, t2.plt_bytes != nullptr) -
                             (p.ahead ? codewords : 0);
        atomic_add(&measured.packets[of.layer], all);
        if (of.tile_part < kLimitedTileParts) atomic_add(&measured.group_packets[of.tile_part], all);
        p.rate.packet_bits[k] = p.rate.packet_bytes[k] = 0;
    }
    thread_fence();
    block_sync();
    if (warp_id()) return;
    thread_fence();
    if (lane_id() == 0) {
        *p.rate.done = 0;
        take_measure(measured, static_cast<int>(p.rate.t2.layers), p.fixed, p.group_fixed);
    }
    warp_sync();
    if (!p.ahead) allocate_round(p.rate, p.last != 0);
}

}  // namespace cudaenc::j2k
