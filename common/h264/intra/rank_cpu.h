// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../syntax/macroblock.h"
#include "block_rank_cpu.h"
#include "rank.h"

namespace cudaenc::h264 {

// samples: the macroblock's first of each component that is coded as luma, among source samples; so many are given.
RankedModes rank_modes(const ConstBlock *samples, int components, const Available &available, int bit_depth);
// The same, or false where neither the sum of 4x4 blocks nor that of 8x8 blocks is below its limit. Then modes are not
// whole.
bool rank_modes_below(uint32_t limit_4x4, uint32_t limit_8x8, const ConstBlock *samples, int components,
                      const Available &available, int bit_depth, RankedModes &modes);

}  // namespace cudaenc::h264
