// SPDX-License-Identifier: LGPL-2.1-or-later
// What tier-2 and rate control share: tag trees and block layers.
#pragma once
#include "../../device.cuh"
#include "t2_params.h"

namespace cudaenc::j2k {

DEVICE LayerEnds layers_of(const Tier2Buffers &t2, uint32_t block) {
    return {t2.layer_passes + block, t2.layer_bytes + block, t2.block_count};
}

// A block's part of a packet.
struct BlockLayer {
    const Packet &packet;
    uint32_t block;
};
DEVICE BlockLayer block_layer(const Tier2Buffers &t2, uint32_t i) {
    const Packet &packet = t2.packets[t2.block_layers[i]];
    return {packet, packet.first_block + (i - packet.first_block_layer)};
}
// Its bits in the header of a packet that is not empty.
template <class Sink>
DEVICE void put_block(Sink &sink, const Tier2Buffers &t2, const BlockLayer &own) {
    const CodeBlock &block = t2.blocks[own.block];
    const PrecinctBand &band = t2.bands[block.precinct_band];
    put_block_header(sink, band, t2.nodes + band.nodes, block.x, block.y, layers_of(t2, own.block), own.packet.layer,
                     empty_packets_before(t2.layer_sets, own.packet), t2.coding.style,
                     t2.coded.pass_bytes + static_cast<uint64_t>(own.block) * t2.max_passes);
}

DEVICE uint32_t header_bits(const Tier2Buffers &t2, const BlockLayer &own) {
    BitCounter counter;
    if (has_codewords(t2.layer_sets, own.packet, own.packet.layer)) put_block(counter, t2, own);
    return counter.bits;
}

// Builds the tag trees of a precinct's sub-band, and finds the layers in which it has codewords. A thread-block does.
// layers: shared, kLayerWords.
DEVICE void build_tag_trees(const Tier2Buffers &t2, uint32_t index, uint32_t *layers) {
    const uint32_t thread = static_cast<uint32_t>(thread_x()), threads = static_cast<uint32_t>(block_threads());
    if (thread < kLayerWords) layers[thread] = 0;
    block_sync();
    const PrecinctBand band = t2.bands[index];
    TagNode *leaves = t2.nodes + band.nodes;
    for (uint32_t i = thread; i < band.columns * band.rows; i += threads) {
        const uint32_t block = band.first_block + i;
        const LayerEnds ends = layers_of(t2, block);
        const uint32_t first = ends.first(t2.layers);
        leaves[i] = tag_leaf(first,
                             missing_planes(t2.coding.style, t2.blocks[block].planes, t2.coded.planes[block],
                                            ends.passes_before(t2.layers)),
                             i);
        for (uint32_t layer = first; layer < t2.layers; layer++)
            if (ends.adds(layer) && !(layers[layer / 32] >> layer % 32 & 1))
                atomic_or(&layers[layer / 32], 1u << layer % 32);
    }
    block_sync();
    if (thread < kLayerWords) t2.layer_sets[index].words[thread] = layers[thread];
    build_tag_tree(leaves, band.columns, band.rows, [&](uint32_t count, const auto &body) {
        block_sync();
        for (uint32_t i = thread; i < count; i += threads) body(i);
    });
}

}  // namespace cudaenc::j2k
