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

// Predictions are ranked by the sum of absolute Hadamard transformed differences to the source: half of the sum over
// 4x4 blocks, or a quarter of that of an 8x8 block. That of modes which are not available:
inline constexpr uint32_t kNotAvailable = 1 << 28;

// What an NxN block may be predicted by.
template <int N>
struct Ranking {
    Predictions<N> predictions;
    uint32_t satd[kModes];
};
// `at`: the block's place among reconstructed samples.
void rank_4x4(ConstBlock at, const Available &available, int bit_depth, ConstBlock source, Ranking<4> &ranking);
void rank_8x8(ConstBlock at, const Available &available, int bit_depth, ConstBlock source, Ranking<8> &ranking);

// A macroblock's component, as luma by Intra 16x16, or as chroma, 8 wide.
struct MacroblockRanking {
    alignas(32) Sample predictions[4][256];  // by mode, in rows
    uint32_t satd[4];
};
void rank_16x16(ConstBlock at, const Available &available, int bit_depth, ConstBlock source,
                MacroblockRanking &ranking);
void rank_chroma(ConstBlock at, const Available &available, int bit_depth, int height, ConstBlock source,
                 MacroblockRanking &ranking);

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

// total_coeff of 4x4 blocks, and in row 0 and column 0 those of neighbours; -1: not available.
using Totals = int8_t[5][5];

// Bits of residual_block_cavlc() of the 4x4 block in column x and row y, whose total_coeff goes to its place; `ac`:
// without the first level. And of the four 4x4 blocks that an 8x8 block is coded as.
uint32_t count_4x4(const int16_t *levels, bool ac, Totals &totals, int x, int y);
uint32_t count_8x8(const int16_t *levels, Totals &totals, int x, int y);

}  // namespace cudaenc::h264
