// Parameters of rank.cu. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../../common/h264/rank.h"
#include "../../../common/kernel_name.h"
#include "wavefront_params.h"

namespace cudaenc::h264 {

constexpr int kRankThreads = 128;
struct RankArguments {
    SampleLayout luma;
    int32_t picture_width, picture_height;
    uint32_t columns;  // of macroblocks
    const MacroblockRow *rows;
    RankedModes *ranked;
};
// Grid: rows of macroblocks; their NxN blocks, kRankThreads each.
template <int N>
struct RankParams : RankArguments {
    static constexpr KernelName kernel{"h264/intra/rank", N == 4 ? "h264_rank_4x4" : "h264_rank_8x8"};
};

}  // namespace cudaenc::h264
