// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <vector>

#include "../codestream/geometry.h"
#include "block.h"

namespace cudaenc::j2k {

// A codestream's geometry, and how an encoder codes its blocks.
struct EncoderGeometry : Geometry {
    BlockCoding coding;
    std::vector<BandCoding> band_codings;  // of precinct_bands, indices alike
    int max_passes;                        // coding passes that a block can have

    const BandCoding &coding_of(const CodeBlock &b) const { return band_codings[b.precinct_band]; }
};

}  // namespace cudaenc::j2k
