// SPDX-License-Identifier: LGPL-2.1-or-later
// The main header's marker segments (T.800 Annex A).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "description.h"

namespace cudaenc::j2k {

struct MainHeader {
    std::vector<uint8_t> bytes;     // SOC to the end of the main header, lengths of tile-parts zero
    uint32_t tlm = 0;               // where the first TLM marker segment begins; 0: there is none
    std::vector<SpqcdField> steps;  // of transforms that are not reversible
};
// tile_parts: Geometry::tile_parts. Marker segments of tiles are no part of it.
MainHeader make_main_header(const Description &description, std::span<const TilePart> tile_parts);

// Progression order changes that a POC marker segment has room for (A.6.6), by the picture's components.
size_t most_progression_changes(size_t components);

// The marker segments of a tile whose coding is not the picture's, for the header of its first tile-part.
std::vector<uint8_t> make_tile_header(const Description &description, const TileCoding &tile);

// Throws Error(CUDAENC_ERR_UNSUPPORTED) if the length does not fit the tile-part's header.
void check_tile_part_length(uint64_t bytes);

// COM marker segments that fill a packet of `bytes` bytes up to `least`; they end the main header. Empty where it has
// as many.
std::vector<uint8_t> make_filler(uint64_t least, uint64_t bytes);

}  // namespace cudaenc::j2k
