// What tier-2 and rate control share: tag trees, and what blocks add to packets. SPDX-License-Identifier:
// LGPL-2.1-or-later
#pragma once
#include "../../device.cuh"
#include "t2_params.h"

namespace cudaenc::j2k {

DEVICE LayerEnds layers_of(const Tier2Buffers &t2, uint32_t block) {
    return {t2.layer_passes + block, t2.layer_bytes + block, t2.block_count};
}

// What a block adds to a packet.
struct BlockLayer {
    const Packet &packet;
    uint32_t block;
};
DEVICE BlockLayer block_layer(const Tier2Buffers &t2, uint32_t i) {
    const Packet &packet = t2.packets[t2.block_layers[i]];
    return {packet, packet.first_block + (i - packet.first_block_layer)};
}
// What a block writes into the header of a packet that is not empty.
template <class Sink>
DEVICE void put_block(Sink &sink, const Tier2Buffers &t2, const BlockLayer &c) {
    const CodeBlock &block = t2.blocks[c.block];
    const PrecinctBand &precinct_band = t2.bands[block.precinct_band];
    put_block_header(sink, precinct_band, t2.nodes + precinct_band.nodes, block.x, block.y, layers_of(t2, c.block),
                     c.packet.layer, empty_packets_before(t2.layer_sets, c.packet), t2.coding.style,
                     t2.coded.pass_bytes + static_cast<uint64_t>(c.block) * t2.max_passes);
}

// In bits; in bytes of its codeword.
DEVICE uint32_t header_bits(const Tier2Buffers &t2, const BlockLayer &c) {
    BitCounter counter;
    if (has_codewords(t2.layer_sets, c.packet, c.packet.layer)) put_block(counter, t2, c);
    return counter.bits;
}
DEVICE uint32_t added_bytes(const Tier2Buffers &t2, const BlockLayer &c) {
    const LayerEnds ends = layers_of(t2, c.block);
    return ends.bytes_before(c.packet.layer + 1) - ends.bytes_before(c.packet.layer);
}

// Of precinct's sub-band `band`: its tag trees, and which layers have something. By a thread-block; layers: shared,
// kLayerWords.
DEVICE void build_tag_trees(const Tier2Buffers &t2, uint32_t band, uint32_t *layers) {
    const uint32_t thread = static_cast<uint32_t>(thread_x()), threads = static_cast<uint32_t>(block_threads());
    if (thread < kLayerWords) layers[thread] = 0;
    block_sync();
    const PrecinctBand precinct_band = t2.bands[band];
    TagNode *below = t2.nodes + precinct_band.nodes;
    for (uint32_t i = thread; i < precinct_band.columns * precinct_band.rows; i += threads) {
        const uint32_t block = precinct_band.first_block + i;
        const LayerEnds ends = layers_of(t2, block);
        const uint32_t first = ends.first(t2.layers);
        below[i] = tag_leaf(first, t2.blocks[block].planes - t2.coded.planes[block], i);
        for (uint32_t layer = first; layer < t2.layers; layer++)
            if (ends.adds(layer) && !(layers[layer / 32] >> layer % 32 & 1))
                atomic_or(&layers[layer / 32], 1u << layer % 32);
    }
    block_sync();
    if (thread < kLayerWords) t2.layer_sets[band].words[thread] = layers[thread];
    for (int level = 1; level < tag_tree_levels(precinct_band.columns, precinct_band.rows); level++) {
        block_sync();
        const uint32_t below_columns = tag_tree_columns(precinct_band.columns, level - 1),
                       below_rows = tag_tree_columns(precinct_band.rows, level - 1);
        const uint32_t columns = tag_tree_columns(precinct_band.columns, level),
                       rows = tag_tree_columns(precinct_band.rows, level);
        TagNode *nodes = below + below_columns * below_rows;
        for (uint32_t i = thread; i < columns * rows; i += threads)
            nodes[i] = tag_parent(below, below_columns, below_rows, i % columns, i / columns);
        below = nodes;
    }
}

}  // namespace cudaenc::j2k
