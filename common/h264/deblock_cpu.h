// SPDX-License-Identifier: LGPL-2.1-or-later
// The deblocking filter on the CPU.
#pragma once
#include "../thread_pool.h"
#include "deblock.h"
#include "intra/block_cpu.h"

namespace cudaenc::h264 {

// Filters row y of macroblocks, in place, once the row above is done. planes: of the components, whole macroblocks.
void deblock_row(const DeblockPicture &picture, const Block *planes, int y);

// Filters a picture in place, rows side by side.
void deblock(const DeblockPicture &picture, const Block *planes, ThreadPool &pool);

// Bit 4 y + x: the luma block in column x and row y of an inter macroblock has levels that are not 0, or its 8x8 block
// where the transform is 8x8. levels: as of Macroblock; pattern: of its 8x8 blocks.
uint16_t nonzero_blocks(const int16_t *levels, int pattern, bool transform_8x8);

}  // namespace cudaenc::h264
