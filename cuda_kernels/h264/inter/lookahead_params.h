// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of lookahead.cu.
#pragma once
#include "../../../common/h264/inter/motion.h"
#include "../../../common/h264/rate/propagation.h"
#include "../../../common/kernel_name.h"
#include "margin_plane.h"

namespace cudaenc::h264 {

constexpr int kLookaheadThreads = 128;
// SourceCosts of macroblocks. Grid: a half of a warp a macroblock, in thread-blocks of kLookaheadThreads.
struct SourceCostsParams {
    static constexpr KernelName kernel{"h264/inter/lookahead", "h264_source_costs"};
    int32_t columns, macroblocks;
    MarginPlane now, before;  // of level 1
    const Vector *vectors;    // likewise; nullptr: there is no picture before, and costs are those of intra
    SourceCosts *costs;
};

}  // namespace cudaenc::h264
