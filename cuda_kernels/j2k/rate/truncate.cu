// Truncation of codewords at the thresholds, and the tag trees that follow from it. SPDX-License-Identifier:
// LGPL-2.1-or-later
#include "../t2/t2.cuh"
#include "rate.cuh"

namespace cudaenc::j2k {

// layers: shared, see build_tag_trees().
template <bool kAgain>
DEVICE void truncate_blocks(const TruncateInput &p, uint32_t *layers) {
    const RateBuffers &rate = p.rate;
    const PrecinctBand &band = rate.bands[block_x()];
    const uint32_t last_block = band.first_block + band.columns * band.rows;
    for (uint32_t block = band.first_block + thread_x(); block < last_block; block += block_threads()) {
        const uint64_t first = first_pass(rate, block);
        uint8_t *slot = rate.slots + rate.blocks[block].slot;
        const auto byte = [&](uint32_t i, uint32_t) -> uint8_t & { return slot[i]; };
        if constexpr (kAgain) {
            const int before = rate.layer_passes[static_cast<uint64_t>(rate.layers - 1) * rate.block_count + block];
            if (before)
                swap_termination(rate.style, before, rate.pass_bytes + first, rate.terminations[first + before - 1],
                                 byte);
        }
        truncate_block(*rate.allocation, group_of(rate, band), static_cast<int>(rate.layers), rate.style,
                       rate.always_included[block], rate.passes[block], slopes_of<const uint16_t>(rate, block),
                       rate.pass_bytes + first, rate.terminations + first, p.last != 0, kAgain, byte,
                       [&](int layer, const LayerEnd &end) {
                           const uint64_t i = static_cast<uint64_t>(layer) * rate.block_count + block;
                           rate.layer_passes[i] = end.passes;
                           rate.layer_bytes[i] = end.bytes;
                       });
    }
    block_sync();
    build_tag_trees(p.t2, static_cast<uint32_t>(block_x()), layers);
}

KERNEL_BLOCKS(kTagTreeThreads, 8, j2k_rate_truncate, TruncateParams) {
    SHARED(uint32_t, layers, kLayerWords);
    truncate_blocks<false>(p, layers);
}

KERNEL(kTagTreeThreads, j2k_rate_truncate_again, TruncateAgainParams)
{
    SHARED(uint32_t, layers, kLayerWords);
    truncate_blocks<true>(p, layers);
}

}  // namespace cudaenc::j2k
