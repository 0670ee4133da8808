// SPDX-License-Identifier: LGPL-2.1-or-later
// The interface from prediction to the CAVLC coder (H.264, 7.3.5), the same on host and device: an array of
// Macroblock and one of levels, both in the order of macroblock addresses.
#pragma once
#include <cstdint>

#include "../../hd.h"

namespace cudaenc::h264 {

// Those of Intra (table 7-11), of which the first two are I_NxN. Then those of P slices (table 7-13), whose parts are
// not smaller than 8x8.
enum class MacroblockType : uint8_t { i4x4, i8x8, i16x16, pcm, p16x16, p16x8, p8x16, p8x8, skip };
CUDAENC_HD constexpr bool is_inter(MacroblockType type) { return type >= MacroblockType::p16x16; }

// Of motion, or a difference of such, in quarter samples.
struct Vector {
    int16_t x, y;
    CUDAENC_HD constexpr bool operator==(const Vector &v) const { return x == v.x && y == v.y; }
};

enum class ChromaFormat : uint8_t { c400, c420, c422, c444 };  // chroma_format_idc
// Calls use<F>() for the format F.
template <class Use>
auto with_format(ChromaFormat format, const Use &use) {
    switch (format) {
        case ChromaFormat::c400:
            return use.template operator()<ChromaFormat::c400>();
        case ChromaFormat::c420:
            return use.template operator()<ChromaFormat::c420>();
        case ChromaFormat::c422:
            return use.template operator()<ChromaFormat::c422>();
        default:
            return use.template operator()<ChromaFormat::c444>();
    }
}

// The syntax of a prediction mode: the predicted one, or rem_intra4x4_pred_mode (rem_intra8x8_pred_mode), 0 to 7.
inline constexpr uint8_t kPredictedMode = 8;

struct alignas(8) Macroblock {
    // Of any macroblock:
    MacroblockType type;
    uint8_t coded_block_pattern;  // bits 0 to 3: luma 8x8 blocks (all or none of I_16x16), bits 4 and 5: chroma (7.4.5)
    int8_t qp_delta;              // mb_qp_delta; 0 where the syntax has none
    uint8_t first_in_slice;       // 1: a slice begins here
    uint16_t slice;               // its number in the picture, from 0
    // mb_pred():
    uint8_t intra_chroma_pred_mode;  // 0 to 3; 4:2:0 and 4:2:2 only
    union {
        uint8_t intra_16x16_pred_mode;    // 0 to 3; I_16x16 only
        uint8_t transform_size_8x8_flag;  // of inter types
    };
    union {
        uint8_t pred_mode[16];  // I_4x4: of the blocks in the order of 6.4.3; I_8x8: the first four, of the 8x8 blocks
        Vector mvd[4];          // mvd_l0 of the parts of an inter type
    };
};
static_assert(sizeof(Macroblock) == 24);
// Whether luma has 8x8 transforms.
CUDAENC_HD constexpr bool has_8x8_transform(const Macroblock &m) {
    return m.type == MacroblockType::i8x8 || (is_inter(m.type) && m.transform_size_8x8_flag);
}

// The levels of a macroblock: blocks of 16 int16_t in raster order (4 u + v for row u, column v), which the coder
// scans. Blocks:
//   0 to 15   luma 4x4 blocks in the order of 6.4.3. I_16x16: coefficient 0 is 0, the AC only.
//             Of 8x8 transforms: the 64 levels of 8x8 block b fill blocks 4 b to 4 b + 3, in raster order of 8x8.
//   16        I_16x16: the DC levels, one for each 4x4 block, in raster order of the macroblock
//   17        4:2:0 and 4:2:2: DC levels of Cb from element 0, of Cr from element 8, in raster order (2 wide)
//   18 ...    4:2:0 and 4:2:2: AC of Cb, then of Cr, 4x4 blocks in raster order (2 wide), 4 or 8 each
// 4:4:4: Cb has 17 to 33, as luma has 0 to 16, and Cr 34 to 50.
// Blocks that are not coded, see is_coded(), have any levels.
// I_PCM: the samples, Y, Cb, Cr, each in raster order, from the first block on; they fill 24, 32 or 48 blocks.
constexpr CUDAENC_HD int blocks_per_macroblock(ChromaFormat format) {
    return format == ChromaFormat::c400   ? 17
           : format == ChromaFormat::c420 ? 26
           : format == ChromaFormat::c422 ? 34
                                          : 51;
}

}  // namespace cudaenc::h264
