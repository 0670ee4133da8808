// Where everything of a picture is: tiles, tile-components, sub-bands, precincts, code-blocks, and packets in the order
// of the codestream (T.800 Annex B). Fixed when a session opens; flat tables that host and device read.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <vector>

#include "params.h"
#include "roi.h"
#include "tables.h"

namespace cudaenc::j2k {

struct Geometry {
    std::vector<TileComponent> tile_components;  // [tile * components + component]
    std::vector<CodeBlock> blocks;
    std::vector<PrecinctBand> precinct_bands;
    std::vector<Packet> packets;
    std::vector<uint32_t> block_layers;  // [block layer]: its packet
    std::vector<TilePart> tile_parts;
    std::vector<RoiBlock> roi_blocks;
    uint64_t samples;  // of all tile-components: values in the arrays that TileComponent::samples indexes
    uint64_t ll_odd;
    uint64_t ll_even;
    uint32_t tag_tree_nodes;
    int max_passes;       // coding passes that a block can have
    int widest, highest;  // tile-component, in samples
};

// Throws Error(CUDAENC_ERR_MEMORY) where the tables would not fit their 32-bit indices,
// Error(CUDAENC_ERR_INVALID) where marker segments have no room for that many tile-parts.
Geometry make_geometry(const Params &params);

}  // namespace cudaenc::j2k
