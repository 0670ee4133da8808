// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of cavlcu.cu.
#pragma once
#include "../../common/h264/syntax/cavlc.h"
#include "../../common/kernel_name.h"

namespace cudaenc::h264 {

constexpr int kRegionMacroblocks = 8;  // REG_SIZE
constexpr int kCavlcuThreads = 16 * kRegionMacroblocks;
constexpr int kCavlcuBlockWords = 16;  // BLK_ENC_SIZE

// Luma blocks of a frame. Blocks of a macroblock, and coefficients of a block, lie row by row (figure 6).
struct CavlcuParams {  // grid: regions, of kRegionMacroblocks macroblocks each
    static constexpr KernelName kernel{"cavlcu", "papers_cavlcu"};
    const int16_t *coefficients;  // [macroblocks][16][16]
    const uint8_t *intra_16x16;   // [macroblocks]: 1: DC is not coded
    const uint16_t *slices;       // [macroblocks]
    const CavlcTables *tables;
    uint32_t *words;    // [kCavlcuBlockWords * block]: the encoding, the first bit the highest
    uint16_t *lengths;  // [block]: bits
    // What regions tell each other: total_coeff, a bit that is 1, the slice. 0 before the launch and after it.
    uint64_t *right;    // [4 * region]: d_info_A, of the last macroblock's right column
    uint64_t *below;    // [4 * macroblock]: d_info_B, of the bottom row
    uint32_t *tickets;  // [1], 0
    uint32_t width, macroblocks;
};

}  // namespace cudaenc::h264
