// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows of blocks by vectors: forward DCT, quantisation, colours.
#pragma once
#include <cstddef>
#include <cstdint>

#include "quantise.h"

namespace cudaenc::mjpeg {

// fdct() of `count` adjacent blocks: level-shifted samples in 8 rows to coefficients by index, block after block.
void fdct_blocks(const int8_t *samples, ptrdiff_t stride, size_t count, int16_t *coefficients);

// quantise() of `count` blocks, possibly in place. Bit k of a block's `nonzero`: the level at place k of the zig-zag
// sequence is nonzero.
void quantise_blocks(const int16_t *coefficients, size_t count, const Quantiser &quantiser, int16_t *levels,
                     uint64_t *nonzero);

// rgb_to_ycbcr() of `count` samples, in place.
void rgb_to_ycbcr_rows(int8_t *c0, int8_t *c1, int8_t *c2, size_t count);

}  // namespace cudaenc::mjpeg
