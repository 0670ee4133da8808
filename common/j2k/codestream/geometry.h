// SPDX-License-Identifier: LGPL-2.1-or-later
// A picture's tile-components, code-blocks, precincts, packets and tile-parts, in the order of the codestream (T.800
// Annex B): flat tables that host and device read.
#pragma once
#include <cstdint>
#include <vector>

#include "description.h"
#include "region.h"
#include "tables.h"

namespace cudaenc::j2k {

struct Geometry {
    std::vector<TileComponent> tile_components;  // [tile * components + component]
    std::vector<CodeBlock> blocks;
    std::vector<PrecinctBand> precinct_bands;
    std::vector<Packet> packets;
    std::vector<uint32_t> block_layers;  // [block layer]: index of its packet
    std::vector<TilePart> tile_parts;
    uint64_t samples, ll_odd, ll_even;  // values in the arrays that members of TileComponent with these names index
    uint32_t tag_tree_nodes;
    int widest, highest;  // tile-component, in samples
};

// Throws Error(CUDAENC_ERR_MEMORY) if 32-bit indices do not suffice, Error(CUDAENC_ERR_INVALID) if marker segments do
// not hold that many packets or tile-parts.
Geometry make_geometry(const Description &description);
// Of some tiles alone. The others have tile-components, without a place for samples, and no packets.
Geometry make_geometry(const Description &description, const TileRange &tiles);

}  // namespace cudaenc::j2k
