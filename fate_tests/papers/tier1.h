// SPDX-License-Identifier: LGPL-2.1-or-later
// Tier-1 alone: the product's kernels (sample-parallel context modelling, order, MQ coding) against a thread a block.
#pragma once
#include <memory>
#include <vector>

#include "../bench/cases.h"
#include "../bench/json.h"

namespace cudaenc::bench {

// Codes the blocks of 1, 2, ... frames at a time, as `frames` lists, with both; prints times and adds rows to the open
// array of json. Returns whether every block has the same bytes, planes and pass lengths. by_planes: the product's
// kernels for all planes at once against those by bit-planes. quality: of 9/7, 0: that of kLossyBitsPerPixel.
bool compare_tier1(const std::shared_ptr<Device> &device, const Picture &picture, const Case &c, bool by_planes,
                   int quality, const std::vector<int> &frames, int runs, Json &json);

}  // namespace cudaenc::bench
