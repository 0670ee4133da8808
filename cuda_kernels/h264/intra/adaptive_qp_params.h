// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of adaptive_qp.cu.
#pragma once
#include "../../../common/h264/intra/adaptive_qp.h"
#include "../../../common/h264/syntax/macroblock.h"
#include "../../../common/kernel_name.h"
#include "../../../common/load.h"

namespace cudaenc::h264 {

constexpr int kQpThreads = 128;

// Grid: a warp a macroblock, in thread-blocks of kQpThreads.
struct AdaptiveQpParams {
    static constexpr KernelName kernel{"h264/intra/adaptive_qp", "h264_adaptive_qp"};
    SampleLayout luma;
    int32_t picture_width, picture_height;  // samples
    uint32_t columns, macroblocks;
    MacroblockQps choice;
    int8_t *qps;                      // of each macroblock, `step` from one to the next
    uint32_t step = 1;                // see WavefrontPicture
    const int8_t *offsets = nullptr;  // beside those of regions, likewise; nullptr: none
};

// Grid: a thread a macroblock, in thread-blocks of kQpThreads.
struct QpDeltaParams {
    static constexpr KernelName kernel{"h264/intra/adaptive_qp", "h264_qp_delta"};
    Macroblock *macroblocks;
    uint32_t count;
    const int8_t *qps;
    int32_t slice_qp, bit_depth;
};

}  // namespace cudaenc::h264
