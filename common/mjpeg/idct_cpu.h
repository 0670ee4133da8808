// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows of blocks by vectors: dequantisation and inverse DCT.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tables.h"

namespace cudaenc::mjpeg {

// The samples of `count` adjacent blocks, each of 8 >> lowres rows and columns. levels: by index, block after block.
// last: of each block, the highest place that may hold a level. samples: of the first block; at least `width` columns,
// more than 0, and `height` rows of it are written, up to a multiple of the block.
struct BlockRow {
    uint8_t *samples;
    ptrdiff_t stride;
    int width, height;
};
void idct_blocks(const int16_t *levels, const uint8_t *last, int count, const uint16_t (&divisors)[kBlockSamples],
                 int lowres, const BlockRow &to);

}  // namespace cudaenc::mjpeg
