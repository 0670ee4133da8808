// SPDX-License-Identifier: LGPL-2.1-or-later
// Truncation of codewords at the thresholds; their tag trees.
#include "../t2/t2.cuh"
#include "rate_params.h"

namespace cudaenc::j2k {

// layers: shared, see build_tag_trees().
template <bool kAgain>
DEVICE void truncate_blocks(const TruncateInput &p, uint32_t *layers) {
    const RateBuffers &rate = p.rate;
    const uint32_t index = static_cast<uint32_t>(block_x());
    const PrecinctBand &band = rate.t2.bands[index];
    const uint32_t last_block = band.first_block + band.columns * band.rows;
    for (uint32_t block = band.first_block + thread_x(); block < last_block; block += block_threads()) {
        const uint64_t first = rate.first_pass(block);
        uint8_t *room = rate.t2.coded.room(block);
        const auto byte = [&](uint32_t i, uint32_t) -> uint8_t & { return room[i]; };
        if constexpr (kAgain) {
            const int before =
                rate.t2.layer_passes[static_cast<uint64_t>(rate.t2.layers - 1) * rate.t2.block_count + block];
            if (before)
                swap_termination(rate.t2.coding.style, before, rate.t2.coded.pass_bytes + first,
                                 rate.t2.coded.terminations[first + before - 1], byte);
        }
        truncate_block(*rate.allocation, rate.group_of(index), static_cast<int>(rate.t2.layers), rate.t2.coding.style,
                       rate.t2.coded.always_included[block], rate.t2.coded.passes[block],
                       {rate.slopes + block, rate.t2.block_count}, rate.t2.coded.pass_bytes + first,
                       rate.t2.coded.terminations + first, p.last != 0, kAgain, byte,
                       [&](int layer, const LayerEnd &end) {
                           const uint64_t i = static_cast<uint64_t>(layer) * rate.t2.block_count + block;
                           rate.t2.layer_passes[i] = end.passes;
                           rate.t2.layer_bytes[i] = end.bytes;
                       });
    }
    block_sync();
    build_tag_trees(p.rate.t2, index, layers);
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
