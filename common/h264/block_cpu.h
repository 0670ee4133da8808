// Blocks by vectors: ranking of predictions, transforms with quantisation and reconstruction.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstddef>
#include <cstdint>

#include "intra.h"
#include "quantise.h"

namespace cudaenc::h264 {

// Samples in rows.
struct ConstBlock {
    const Sample *data;
    ptrdiff_t stride;
};
struct Block {
    Sample *data;
    ptrdiff_t stride;
};

// Predictions of one block by mode, of those that are available, and half the sum of absolute Hadamard transformed
// differences to the source (8x8: a quarter).
struct Ranking4x4 {
    alignas(32) Sample prediction[kModes][16];
    uint32_t satd[kModes];
};
struct Ranking8x8 {
    alignas(32) Sample prediction[kModes][64];
    uint32_t satd[kModes];
};
// `at`: the block's place among reconstructed samples.
void rank_4x4(ConstBlock at, const Available &available, int bit_depth, ConstBlock source, Ranking4x4 &ranking);
void rank_8x8(ConstBlock at, const Available &available, int bit_depth, ConstBlock source, Ranking8x8 &ranking);

// Half the sum over 4x4 blocks; 16 wide, or 8; `height` a multiple of 8.
uint32_t satd_16(ConstBlock a, ConstBlock b, int height);
uint32_t satd_8(ConstBlock a, ConstBlock b, int height);

// How levels are rounded: what is added before the shift, by 2^-8 of a level.
struct Rounding {
    int32_t dc, ac;
};

// Codes a block: levels in raster order, the reconstruction. The sum of squared differences to the source.
uint32_t code_4x4(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser, const Rounding &rounding,
                  int bit_depth, int16_t *levels, Block reconstruction);
uint32_t code_8x8(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser, const Rounding &rounding,
                  int bit_depth, int16_t *levels, Block reconstruction);

// A macroblock's luma by Intra 16x16: AC levels of block b of 6.4.3 from 16 b on, DC levels from 256 on, as
// macroblock.h has them.
uint32_t code_16x16(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser, const Rounding &rounding,
                    int bit_depth, int16_t *levels, Block reconstruction);

// Chroma of 4:2:0 and 4:2:2, 8 wide and `height` high: DC levels, AC levels of blocks in raster order.
// dc_quantiser: of QP'c, and of QP'c + 3 for 4:2:2.
uint32_t code_chroma(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                     const Quantiser &dc_quantiser, const Rounding &rounding, int bit_depth, int height, int16_t *dc,
                     int16_t *ac, Block reconstruction);

}  // namespace cudaenc::h264
