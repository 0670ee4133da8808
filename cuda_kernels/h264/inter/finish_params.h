// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of finish.cu.
#pragma once
#include "../../../common/h264/deblock.h"
#include "../../../common/h264/inter/finish.h"
#include "../../../common/kernel_name.h"
#include "../intra/macroblock_slice.h"

namespace cudaenc::h264 {

constexpr int kFinishThreads = 128;
// P_Skip and mvd. Grid: a thread a macroblock, in thread-blocks of kFinishThreads.
struct FinishMotionParams {
    static constexpr KernelName kernel{"h264/inter/finish", "h264_finish_motion"};
    int32_t columns, rows;  // macroblocks
    const MacroblockSlice *slices;
    const MacroblockMotion *motion;
    Macroblock *macroblocks;
};
// QPY as decoders have it: macroblocks without mb_qp_delta have that of the one before in the slice. Grid: likewise.
struct DecodedQpsParams {
    static constexpr KernelName kernel{"h264/inter/finish", "h264_decoded_qps"};
    int32_t count, slice_qp;
    const Macroblock *macroblocks;
    const int8_t *qps;  // that were coded with; nullptr: all with slice_qp
    int8_t *decoded;
};
// What the deblocking filter has to know. Grid: a warp a macroblock, in thread-blocks of kFinishThreads.
struct DeblockInputParams {
    static constexpr KernelName kernel{"h264/inter/finish", "h264_deblock_input"};
    int32_t count, levels_each;  // levels of a macroblock
    const Macroblock *macroblocks;
    const MacroblockMotion *motion;  // nullptr: all are intra
    const int16_t *levels;
    const int8_t *decoded_qps;
    DeblockMacroblock *to;
    DeblockVector *vectors;
};

}  // namespace cudaenc::h264
