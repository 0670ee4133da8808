// SPDX-License-Identifier: LGPL-2.1-or-later
// What the forward transform of a session's frames follows.
#pragma once
#include <vector>

#include "../codestream/geometry.h"
#include "quantiser.h"
#include "roi.h"
#include "xyz_tables.h"

namespace cudaenc::j2k {

// What it refers to lives longer.
struct TransformPlan {
    const Description &description;
    const Geometry &geometry;
    const Quantisers &quantisers;
    const XyzTables *xyz;              // what converts frames; nullptr: nothing does
    bool keeps_xyz;                    // planes of X'Y'Z' stay, to be compared with what is decoded
    std::vector<RoiBlock> roi_blocks;  // shifted by TileCoding::region_shifts
};

}  // namespace cudaenc::j2k
