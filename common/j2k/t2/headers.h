// Marker segments of the main header (T.800 Annex A) and the boxes of a JP2 file (Annex I).
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "../params.h"

namespace cudaenc::j2k {

struct MainHeader {
    std::vector<uint8_t> bytes;  // SOC to the end of the main header, lengths of tile-parts zero
    uint32_t tlm = 0;            // where the first TLM marker segment begins; 0: there is none
};
// tile_parts: Geometry::tile_parts.
MainHeader make_main_header(const Params &params, std::span<const TilePart> tile_parts);

// The boxes before a codestream of `codestream` bytes: signature, file type, header with colour, and the head of the
// codestream's box. icc_profile may be empty, and is left out where it is not one of the picture's colours.
std::vector<uint8_t> make_jp2_boxes(const Params &params, const uint8_t *icc_profile, size_t icc_profile_size,
                                    int aspect_num, int aspect_den, uint64_t codestream);

}  // namespace cudaenc::j2k
