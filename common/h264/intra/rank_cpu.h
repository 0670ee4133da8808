// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../syntax/macroblock.h"
#include "block_rank_cpu.h"
#include "rank.h"

namespace cudaenc::h264 {

// samples: the macroblock's first of each component that is coded as luma, among source samples; so many are given.
RankedModes rank_modes(const ConstBlock *samples, int components, const Available &available, int bit_depth);
// The least half SATD of Intra 16x16 of luma, from source samples.
uint32_t least_satd_16x16(const ConstBlock &luma, const Available &available, int bit_depth);

}  // namespace cudaenc::h264
