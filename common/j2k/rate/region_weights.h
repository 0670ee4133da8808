// SPDX-License-Identifier: LGPL-2.1-or-later
// Regions of interest that come with frames: what they add to the weights of code-blocks' errors.
#pragma once
#include <cstdint>
#include <vector>

#include "../../pipeline.h"
#include "../codestream/geometry.h"
#include "../params.h"

namespace cudaenc::j2k {

// For RegionWeights, [block]: of the frame's first region that has samples which the block's coefficients give. Empty:
// all are 0. A region's QPs are those that H.264 adds to its macroblocks; 6 are a factor of 4 in the squared error.
std::vector<int16_t> find_region_weights(const Params &params, const Geometry &geometry, const SourcePicture &frame);

}  // namespace cudaenc::j2k
