// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of refine.cu.
#pragma once
#include "../../../common/h264/inter/refine_steps.h"
#include "../../../common/h264/inter/refresh.h"
#include "../../../common/kernel_name.h"
#include "margin_plane.h"

namespace cudaenc::h264 {

constexpr int kRefineThreads = 128;
struct RefineArguments {
    int32_t columns, rows;  // macroblocks
    int32_t vertical;       // the limit for vectors, samples
    MarginPlane source;
    MarginPlane reference[kHalfPlanes];  // of one stride
    const int8_t *qps;                   // QPY of macroblocks
    const uint32_t *lambdas;  // motion_lambda_of(), by QPY; what comes before QP 0, and drop steps, are in the pointer
    const MacroblockMotion *before;  // of the pass before
    MacroblockMotion *motion;
    MotionEstimate *estimates;
    RefreshColumns refresh;
};
// What the first pass is from: the vectors found, in quarter samples. Grid: a thread a macroblock, in thread-blocks of
// kRefineThreads.
struct StartMotionParams {
    static constexpr KernelName kernel{"h264/inter/refine", "h264_start_motion"};
    int32_t macroblocks;
    const FoundMotion *found;
    MacroblockMotion *motion;
};
// Grid: a warp a macroblock, in thread-blocks of kRefineThreads.
struct RefineParams : RefineArguments {
    static constexpr KernelName kernel{"h264/inter/refine", "h264_refine"};
    const FoundMotion *found;
};
// Grid: likewise.
struct SpreadParams : RefineArguments {
    static constexpr KernelName kernel{"h264/inter/refine", "h264_spread"};
    const MotionEstimate *estimates_before;
};

}  // namespace cudaenc::h264
