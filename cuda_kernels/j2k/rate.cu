// Rate control: where codewords are cut so that a frame keeps to its size, PCRD-opt. SPDX-License-Identifier:
// LGPL-2.1-or-later
#include "../device.cuh"
#include "rate_params.h"

namespace cudaenc::j2k {

DEVICE uint64_t first_pass(const RateBuffers &rate, uint32_t block) {
    return static_cast<uint64_t>(block) * rate.max_passes;
}

KERNEL(kRateThreads, j2k_rate_cuts, CutsParams)
{
    const RateBuffers &rate = p.rate;
    const uint32_t block = static_cast<uint32_t>(block_x()) * kRateThreads + thread_x();
    if (block >= rate.block_count) return;
    const uint64_t first = first_pass(rate, block);
    const PrecinctBand &band = rate.bands[rate.blocks[block].cell];
    uint32_t *above = rate.above + (rate.groups > 1 ? band.group * kSlopes : 0);
    for_each_cut(block_passes(band, block, {0, rate.planes[block], rate.passes[block], {}}, rate.pass_bytes + first,
                              rate.gains + first, rate.style),
                 [&](int pass, uint32_t slope, uint32_t bytes) {
                     rate.slopes[first + pass] = static_cast<uint16_t>(slope);
                     atomic_add(&above[slope], bytes);
                 });
}

DEVICE void search(const RateBuffers &rate, bool last) {
    search_thresholds(*rate.search, rate.above, static_cast<int>(rate.groups), static_cast<int>(rate.layers), last);
}

KERNEL(kAboveThreads, j2k_rate_above, AboveParams)
{
    SHARED(uint32_t, sums, 32);
    constexpr int kEach = kSlopes / kAboveThreads;
    // Thread 0 has the highest slopes.
    for (uint32_t group = 0; group < p.rate.groups; group++) {
        uint32_t *own = p.rate.above + group * kSlopes + (kAboveThreads - 1 - thread_x()) * kEach;
        uint32_t sum = 0;
        for (int i = 0; i < kEach; i++) sum += own[i];
        const uint32_t inclusive = warp_inclusive_add(sum);
        if (lane_id() == 31) sums[warp_id()] = inclusive;
        block_sync();
        if (warp_id() == 0) {
            const uint32_t warp_sum = sums[lane_id()];
            sums[lane_id()] = warp_inclusive_add(warp_sum) - warp_sum;
        }
        block_sync();
        uint32_t before = inclusive - sum + sums[warp_id()];
        for (int i = kEach - 1; i >= 0; i--) {
            before += own[i];
            own[i] = before;
        }
        block_sync();
    }
    if (thread_x() == 0) search(p.rate, false);
}

KERNEL(32, j2k_rate_search, SearchParams)
{
    if (thread_x() == 0) search(p.rate, false);
}

KERNEL(kRateThreads, j2k_rate_cut, CutParams)
{
    const RateBuffers &rate = p.rate;
    const uint32_t block = static_cast<uint32_t>(block_x()) * kRateThreads + thread_x();
    if (block >= rate.block_count) return;
    const uint64_t first = first_pass(rate, block);
    const CodeBlock &b = rate.blocks[block];
    const uint32_t group = rate.groups > 1 ? rate.bands[b.cell].group : 0;
    uint8_t *slot = rate.slots + b.slot;
    cut_block(
        *rate.search, group, static_cast<int>(rate.layers), rate.style, rate.passes[block], rate.slopes + first,
        rate.pass_bytes + first, rate.tails + first, p.last != 0,
        [&](uint32_t i, uint32_t) -> uint8_t & { return slot[i]; },
        [&](int layer, const LayerEnd &end) {
            const uint64_t i = static_cast<uint64_t>(layer) * rate.block_count + block;
            rate.layer_passes[i] = end.passes;
            rate.layer_bytes[i] = end.bytes;
        });
}

KERNEL(kMeasureThreads, j2k_rate_measure, MeasureParams)
{
    SHARED(uint64_t, sums, 2 * kMeasureThreads / 32);
    SHARED(uint32_t, is_last, 1);
    RateSearch &measured = *p.rate.search;
    const Packet &packet = p.t2.packets[block_x()];
    uint64_t bits = 0, bytes = 0;
    for (uint32_t i = packet.first_contribution + thread_x();
         i < packet.first_contribution + packet.last_block - packet.first_block; i += kMeasureThreads) {
        bits += p.t2.header_bits[i];
        bytes += p.t2.bytes[i];
    }
    bits = warp_inclusive_add(bits);
    bytes = warp_inclusive_add(bytes);
    if (lane_id() == 31) {
        sums[2 * warp_id()] = bits;
        sums[2 * warp_id() + 1] = bytes;
    }
    block_sync();
    if (thread_x() == 0) {
        for (int warp = 1; warp < kMeasureThreads / 32; warp++) {
            sums[0] += sums[2 * warp];
            sums[1] += sums[2 * warp + 1];
        }
        const uint64_t all = packet_bytes(sums[0], sums[1], p.t2.sop, p.t2.eph, p.t2.plt_bytes != nullptr);
        atomic_add(&measured.packets[packet.layer], all);
        if (packet.tile_part < kLimitedTileParts) atomic_add(&measured.group_packets[packet.tile_part], all);
        thread_fence();
        is_last[0] = atomic_add(p.rate.done_packets, 1u) + 1 == static_cast<uint32_t>(grid_x());
    }
    block_sync();
    if (!is_last[0] || thread_x()) return;
    thread_fence();
    *p.rate.done_packets = 0;
    take_measure(measured, static_cast<int>(p.rate.layers), p.fixed, p.group_fixed);
    search(p.rate, p.last != 0);
}

}  // namespace cudaenc::j2k
