// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of rank.cu.
#pragma once
#include "../../../common/h264/intra/rank.h"
#include "../../../common/kernel_name.h"
#include "wavefront_params.h"

namespace cudaenc::h264 {

constexpr int kRankThreads = 128;
struct RankArguments {
    SampleLayout components[3];  // those that are coded as luma count
    int32_t picture_width, picture_height;
    uint32_t columns;  // of macroblocks
    const MacroblockRow *rows;
    RankedModes *ranked;
    const MacroblockSlice *slices;  // nullptr: those of the rows
};
// Grid: rows of macroblocks; their NxN blocks, kRankThreads each. Components: luma_components().
template <int N, int Components>
struct RankParams : RankArguments {
    static constexpr KernelName kernel{"h264/intra/rank", Components == 1 ? N == 4 ? "h264_rank_4x4" : "h264_rank_8x8"
                                                          : N == 4        ? "h264_rank_4x4_444"
                                                                          : "h264_rank_8x8_444"};
};

}  // namespace cudaenc::h264
