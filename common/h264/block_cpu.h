// Blocks by vectors: ranking of predictions, transforms with quantisation and reconstruction.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstddef>
#include <cstdint>

#include "intra.h"
#include "quantise.h"

namespace cudaenc::h264 {

// Samples in rows. at(): the block from column x and row y on.
struct ConstBlock {
    const Sample *data;
    ptrdiff_t stride;
    ConstBlock at(int x, int y) const { return {data + y * stride + x, stride}; }
};
struct Block {
    Sample *data;
    ptrdiff_t stride;
    Block at(int x, int y) const { return {data + y * stride + x, stride}; }
    operator ConstBlock() const { return {data, stride}; }
};

// Predictions are ranked by the sum of absolute Hadamard transformed differences to the source: half of the sum over
// 4x4 blocks, or a quarter of that of an 8x8 block. It is added to what the mode costs otherwise; modes which are not
// available cost so much:
inline constexpr uint32_t kNotAvailable = 1 << 26;

// What an NxN block may be predicted by, in rows.
template <int N>
struct Predictions {
    alignas(32) Sample of_mode[kModes][N * N];
};
// `at`: the block's place among reconstructed samples.
void rank_4x4(ConstBlock at, const Available &available, int bit_depth, ConstBlock source, Predictions<4> &predictions,
              uint32_t (&costs)[kModes]);
void rank_8x8(ConstBlock at, const Available &available, int bit_depth, ConstBlock source, Predictions<8> &predictions,
              uint32_t (&costs)[kModes]);

// A macroblock's component, as luma by Intra 16x16, or as chroma, 8 wide.
struct MacroblockPredictions {
    alignas(32) Sample of_mode[4][256];
};
void rank_16x16(ConstBlock at, const Available &available, int bit_depth, ConstBlock source,
                MacroblockPredictions &predictions, uint32_t (&costs)[k16x16Modes]);
void rank_chroma(ConstBlock at, const Available &available, int bit_depth, int height, ConstBlock source,
                 MacroblockPredictions &predictions, uint32_t (&costs)[kChromaModes]);

// How levels are rounded: what is added before the shift, by 2^-8 of a level. Then levels of 1 become 0 where that
// saves more bits than it costs: the square of a quantiser step is worth so many.
struct Rounding {
    int32_t dc, ac;
    int32_t bits_per_step;  // 0: they stay
};

// total_coeff of 4x4 blocks, and in row 0 and column 0 those of neighbours; -1: not available.
using Totals = int8_t[5][5];

// What coding a block came to: squared differences of its reconstruction to the source, and bits of its
// residual_block_cavlc().
struct Coded {
    uint32_t distortion, bits;
};

// Codes a block, whose first 4x4 block is that of column x and row y: levels in raster order, the reconstruction,
// total_coeff.
Coded code_4x4(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser, const Rounding &rounding,
               int bit_depth, int16_t *levels, Block reconstruction, Totals &totals, int x, int y);
Coded code_8x8(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser, const Rounding &rounding,
               int bit_depth, int16_t *levels, Block reconstruction, Totals &totals, int x, int y);

// A macroblock's component that has levels of DC and of AC; without those of AC their bits are none.
struct CodedMacroblock {
    uint32_t distortion, dc_bits, ac_bits;
    bool dc, ac;  // whether there are any levels
};

// A macroblock's luma by Intra 16x16: AC levels of block b of 6.4.3 from 16 b on, DC levels from 256 on, as
// macroblock.h has them.
CodedMacroblock code_16x16(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                           const Rounding &rounding, int bit_depth, int16_t *levels, Block reconstruction,
                           Totals &totals);

// Chroma of 4:2:0 and 4:2:2, 8 wide and `height` high: DC levels, AC levels of blocks in raster order.
// dc_quantiser: of QP'c, and of QP'c + 3 for 4:2:2.
CodedMacroblock code_chroma(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                            const Quantiser &dc_quantiser, const Rounding &rounding, int bit_depth, int height,
                            int16_t *dc, int16_t *ac, Block reconstruction, Totals &totals);

}  // namespace cudaenc::h264
