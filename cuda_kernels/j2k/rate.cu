// Rate control: where codewords are cut so that a frame keeps to its size, PCRD-opt. SPDX-License-Identifier:
// LGPL-2.1-or-later
#include "../device.cuh"
#include "rate_params.h"
#include "t2.cuh"

namespace cudaenc::j2k {

DEVICE uint64_t first_pass(const RateBuffers &rate, uint32_t block) {
    return static_cast<uint64_t>(block) * rate.max_passes;
}
template <class T>
DEVICE CutSlopes<T> slopes_of(const RateBuffers &rate, uint32_t block) {
    return {rate.slopes + block, rate.block_count};
}
DEVICE uint32_t group_of(const RateBuffers &rate, const PrecinctBand &band) { return rate.groups > 1 ? band.group : 0; }

// A block's passes are staged in shared memory, since a thread goes back and forth on them, but where they are many.
constexpr int kStagedPasses = 32, kStagedPitch = kStagedPasses + 1;  // so that each block begins in a bank of its own

KERNEL(kRateThreads, j2k_rate_cuts, CutsParams)
{
    SHARED(uint32_t, staged_bytes, kRateThreads *kStagedPitch);
    SHARED(int32_t, staged_gains, kRateThreads *kStagedPitch);
    SHARED(uint16_t, staged_slopes, kRateThreads *kStagedPasses);
    const RateBuffers &rate = p.rate;
    const int thread = thread_x();
    const uint32_t block = static_cast<uint32_t>(block_x()) * kRateThreads + thread;
    const int passes = block < rate.block_count ? rate.passes[block] : 0, certain = passes ? rate.certain[block] : 0,
              first_cut = max_of(certain - 1, 0);
    const bool staged = passes <= kStagedPasses;
    const uint64_t first = first_pass(rate, block);
    CUDAENC_NO_UNROLL
    for (int from = first_cut & ~3; from < min_of(passes, kStagedPasses); from += 4) {
        uint32_t some_bytes[4];
        int32_t some_gains[4];
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            const uint64_t at = first + min_of(from + i, passes - 1);
            some_bytes[i] = rate.pass_bytes[at];
            some_gains[i] = rate.gains[at];
        }
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            staged_bytes[thread * kStagedPitch + from + i] = some_bytes[i];
            staged_gains[thread * kStagedPitch + from + i] = some_gains[i];
        }
    }
    if (!passes) return;
    const PrecinctBand &band = rate.bands[rate.blocks[block].cell];
    const uint32_t *bytes = staged ? &staged_bytes[thread * kStagedPitch] : rate.pass_bytes + first;
    const int32_t *gains = staged ? &staged_gains[thread * kStagedPitch] : rate.gains + first;
    const CutSlopes<uint16_t> own = slopes_of<uint16_t>(rate, block),
                              slopes = staged ? CutSlopes<uint16_t>{&staged_slopes[thread], kRateThreads} : own;
    find_cuts(
        block_passes(band, block, {0, rate.planes[block], static_cast<uint8_t>(passes), static_cast<uint8_t>(certain)},
                     bytes, gains, rate.style),
        slopes);
    uint32_t *bytes_at = rate.bytes_at + group_of(rate, band) * kSlopes;
    for_each_cut({slopes.first, slopes.stride}, certain, passes, bytes, p.choice ? *p.choice : CutChoice{},
                 [&](uint32_t slope, uint32_t more) { atomic_add(&bytes_at[slope], more); });
    if (staged)
        for (int pass = first_cut; pass < passes; pass++) own[pass] = slopes[pass];
}

// As LowestSlope, by a warp, 32 slopes at a time. Every lane gets it.
struct WarpLowestSlope {
    template <class Bytes>
    DEVICE_MEMBER uint32_t operator()(int64_t most, const Bytes &bytes) const {
        static_assert(kSlopes == 32 * 32 * 32);
        uint32_t low = 1;
        // 32 parts of what is left: it lies behind those whose last slope has too many bytes.
        for (uint32_t part = kSlopes / 32; part; part /= 32) {
            const uint32_t last = low + part * (lane_id() + 1) - 1;
            low += part * popcount(warp_ballot(static_cast<int64_t>(bytes(last)) > most));
        }
        return min_of<uint32_t>(low, kSlopes);
    }
};

// By a warp.
DEVICE void search(const RateBuffers &rate, bool last) {
    search_thresholds(*rate.search, rate.above, static_cast<int>(rate.groups), static_cast<int>(rate.layers), last,
                      WarpLowestSlope{});
}

// Sums up from each slope on, and clears the table. sums: shared, 32.
DEVICE void sum_above(const RateBuffers &rate, uint32_t *sums) {
    // A warp owns consecutive slopes, warp 0 the highest ones, and goes through them from the highest on; of each step
    // a lane has four. They are read twice, so that few registers do.
    constexpr int kFours = kSlopes / 4 / (kAboveThreads / 32), kSteps = kFours / 32, kAtOnce = 8;
    const int highest = kSlopes / 4 - 1 - warp_id() * kFours - lane_id();
    const auto all_of = [](const Uint4 &four) { return four.x + four.y + four.z + four.w; };
    for (uint32_t group = 0; group < rate.groups; group++) {
        Uint4 *bytes_at = reinterpret_cast<Uint4 *>(rate.bytes_at + group * kSlopes) + highest;
        Uint4 *above = reinterpret_cast<Uint4 *>(rate.above + group * kSlopes) + highest;
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
            above[-32 * step] = from;
            bytes_at[-32 * step] = {};
            before += warp_shuffle(to, 31);
        });
        block_sync();
    }
}

KERNEL(kAboveThreads, j2k_rate_above, AboveParams)
{
    SHARED(uint32_t, sums, 32);
    sum_above(p.rate, sums);
    if (warp_id()) return;
    if (p.measured && lane_id() == 0) add_codewords(*p.rate.search, p.rate.above, static_cast<int>(p.rate.groups));
    warp_sync();
    if (p.revision.layer >= 0)
        revise_thresholds(*p.rate.search, p.rate.above, static_cast<int>(p.rate.groups),
                          static_cast<int>(p.rate.layers), p.revision, WarpLowestSlope{});
    else
        search(p.rate, p.measured != 0);
}

// layers: shared, see build_tag_trees().
template <bool kAgain>
DEVICE void cut_blocks(const CutParams &p, uint32_t *layers) {
    const RateBuffers &rate = p.rate;
    const PrecinctBand &band = rate.bands[block_x()];
    const uint32_t last_block = band.first_block + band.columns * band.rows;
    for (uint32_t block = band.first_block + thread_x(); block < last_block; block += block_threads()) {
        const uint64_t first = first_pass(rate, block);
        uint8_t *slot = rate.slots + rate.blocks[block].slot;
        const auto byte = [&](uint32_t i, uint32_t) -> uint8_t & { return slot[i]; };
        if constexpr (kAgain) {
            const int before = rate.layer_passes[static_cast<uint64_t>(rate.layers - 1) * rate.block_count + block];
            if (before) swap_tail(rate.style, before, rate.pass_bytes + first, rate.tails[first + before - 1], byte);
        }
        cut_block(*rate.search, group_of(rate, band), static_cast<int>(rate.layers), rate.style, rate.certain[block],
                  rate.passes[block], slopes_of<const uint16_t>(rate, block), rate.pass_bytes + first,
                  rate.tails + first, p.last != 0, kAgain, byte, [&](int layer, const LayerEnd &end) {
                      const uint64_t i = static_cast<uint64_t>(layer) * rate.block_count + block;
                      rate.layer_passes[i] = end.passes;
                      rate.layer_bytes[i] = end.bytes;
                  });
    }
    block_sync();
    build_tag_trees(p.t2, static_cast<uint32_t>(block_x()), layers);
}

KERNEL_BLOCKS(kTagTreeThreads, 8, j2k_rate_cut, CutParams) {
    SHARED(uint32_t, layers, kLayerWords);
    cut_blocks<false>(p, layers);
}

KERNEL(kTagTreeThreads, j2k_rate_cut_again, CutAgainParams)
{
    SHARED(uint32_t, layers, kLayerWords);
    cut_blocks<true>(p, layers);
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
    const Tier2Buffers &t2 = p.t2;
    RateSearch &measured = *p.rate.search;
    const uint32_t i = static_cast<uint32_t>(block_x()) * kMeasureThreads + thread_x();
    const uint32_t packet = t2.contributions[min_of(i, t2.contribution_count - 1)];
    uint32_t bits = 0, bytes = 0;
    if (i < t2.contribution_count) {
        const Contribution c = contribution(t2, i);
        bits = header_bits(t2, c);
        bytes = added_bytes(t2, c);
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
        take_measure(measured, static_cast<int>(p.rate.layers), p.fixed, p.group_fixed);
    }
    warp_sync();
    if (!p.ahead) search(p.rate, p.last != 0);
}

}  // namespace cudaenc::j2k
