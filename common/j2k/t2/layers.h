// SPDX-License-Identifier: LGPL-2.1-or-later
// Quality layers: which of a block's passes and bytes belong to which (T.800 B.10).
#pragma once
#include <cstddef>
#include <cstdint>

#include "../../hd.h"
#include "../codestream/tables.h"

namespace cudaenc::j2k {

constexpr uint32_t kNoLayer = 0xFFFF;

// Where a layer ends in a block: passes and bytes of its codeword, of this layer and all earlier ones.
struct LayerEnd {
    uint8_t passes;
    uint32_t bytes;
};

// Where all layers end in a block. passes[l * stride] is 0 if no layer up to l includes the block. bytes[l * stride]
// are enough to decode those passes; in the last layer, all of the codeword. A layer without a pass has no byte.
struct LayerEnds {
    const uint8_t *passes;
    const uint32_t *bytes;
    size_t stride;
    CUDAENC_HD int passes_before(uint32_t layer) const { return layer ? passes[(layer - 1) * stride] : 0; }
    CUDAENC_HD uint32_t bytes_before(uint32_t layer) const { return layer ? bytes[(layer - 1) * stride] : 0; }
    CUDAENC_HD uint32_t bytes_of(uint32_t layer) const { return bytes_before(layer + 1) - bytes_before(layer); }
    CUDAENC_HD bool adds(uint32_t layer) const { return passes_before(layer + 1) > passes_before(layer); }
    CUDAENC_HD uint32_t first(uint32_t layers) const {
        for (uint32_t layer = 0; layer < layers; layer++)
            if (passes[layer * stride]) return layer;
        return kNoLayer;
    }
};

// The layers that have codewords of a precinct's sub-band, a bit each.
constexpr int kLayerWords = (kMaxLayers + 31) / 32;
struct LayerSet {
    uint32_t words[kLayerWords];
    void add(uint32_t layer) { words[layer / 32] |= 1u << layer % 32; }
    CUDAENC_HD bool has(uint32_t layer) const { return words[layer / 32] >> layer % 32 & 1; }
};

// Whether a layer of the packet's precinct has codewords.
CUDAENC_HD bool has_codewords(const LayerSet *sets, const Packet &packet, uint32_t layer) {
    for (uint32_t band = packet.first_band; band < packet.last_band; band++)
        if (sets[band].has(layer)) return true;
    return false;
}

// The number of empty packets of the precinct just before this one. They tell nothing of their layers.
CUDAENC_HD uint32_t empty_packets_before(const LayerSet *sets, const Packet &packet) {
    uint32_t empty = 0;
    while (empty < packet.layer && !has_codewords(sets, packet, packet.layer - 1 - empty)) empty++;
    return empty;
}

// What a frame's parts take, as it was written.
struct WrittenSizes {
    uint64_t bytes;                          // of the codestream, even if it had no room
    uint64_t tile_parts[kLimitedTileParts];  // of the first ones
    uint64_t packets[kMaxLayers];            // of each layer, with their PLT entries; not of a single one
};

}  // namespace cudaenc::j2k
