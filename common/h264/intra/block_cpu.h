// SPDX-License-Identifier: LGPL-2.1-or-later
// Blocks by vectors: transforms with quantisation, bits and reconstruction.
#pragma once
#include <cstddef>
#include <cstdint>

#include "decisions.h"
#include "intra.h"

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

// The sum of a macroblock's luma samples, and that of their squares.
struct LumaSums {
    uint32_t samples, squares;
};
LumaSums sums_of(ConstBlock luma);

// total_coeff of 4x4 blocks; of neighbours in row 0 and column 0; -1: not available.
using Totals = int8_t[5][5];

// A coded block: the squared error of its reconstruction, and the bits of residual_block_cavlc(), where total_coeff is
// asked for.
struct Coded {
    uint32_t distortion, bits;
};

// Codes a block, whose first 4x4 block is in column x and row y: writes levels in raster order, the reconstruction and
// total_coeff. totals: nullptr: nothing is counted.
Coded code_4x4(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser, const Rounding &rounding,
               int bit_depth, int16_t *levels, Block reconstruction, Totals *totals, int x, int y);
Coded code_8x8(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser, const Rounding &rounding,
               int bit_depth, int16_t *levels, Block reconstruction, Totals *totals, int x, int y);
// Two blocks side by side, whose levels follow each other. Nothing is counted.
Coded code_4x4_pair(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser, const Rounding &rounding,
                    int bit_depth, int16_t *levels, Block reconstruction);
// What the block would cost without its mode, see estimated_cost().
uint32_t estimate_4x4(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser, const Rounding &rounding,
                      int bit_depth, uint32_t price);
uint32_t estimate_8x8(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser, const Rounding &rounding,
                      int bit_depth, uint32_t price);

// A coded component of a macroblock with levels of DC and of AC.
struct CodedMacroblock {
    uint32_t distortion, dc_bits, ac_bits;
    bool dc, ac;  // whether any level is nonzero; ac_bits count only then
};

// Luma of Intra 16x16: AC levels of block b of 6.4.3 from 16 b on, DC levels from 256 on, as in macroblock.h.
CodedMacroblock code_16x16(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                           const Rounding &rounding, int bit_depth, int16_t *levels, Block reconstruction,
                           Totals *totals);

// Chroma of 4:2:0 and 4:2:2, 8 wide and `height` high: DC levels, AC levels of blocks in raster order. dc_quantiser: of
// QP'c; for 4:2:2 of QP'c + 3.
CodedMacroblock code_chroma(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                            const Quantiser &dc_quantiser, const Rounding &rounding, int bit_depth, int height,
                            int16_t *dc, int16_t *ac, Block reconstruction, Totals *totals);

}  // namespace cudaenc::h264
