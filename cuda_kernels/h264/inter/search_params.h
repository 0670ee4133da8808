// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of search.cu.
#pragma once
#include "../../../common/h264/inter/search_steps.h"
#include "../../../common/h264/syntax/weights.h"
#include "../../../common/kernel_name.h"
#include "../../../common/load.h"
#include "margin_plane.h"

namespace cudaenc::h264 {

constexpr int kPyramidThreads = 128;
// Level 0 of a pyramid: the source, whose last column and row repeat up to whole macroblocks. Grid: a thread four
// samples of a row, in thread-blocks of kPyramidThreads; a row of thread-blocks a row with margins.
struct SourcePlaneParams {
    static constexpr KernelName kernel{"h264/inter/search", "h264_source_plane"};
    SampleLayout luma;                      // eight_bits_of()
    int32_t picture_width, picture_height;  // samples
    MarginPlane to;
};
// Level 0 of a pyramid, whose weights are inverted; without any a copy. Grid: likewise.
struct SourceBeforeParams {
    static constexpr KernelName kernel{"h264/inter/search", "h264_source_before"};
    MarginPlane from;
    const PictureWeights *weights;
    MarginPlane to;
};
// The next level. Grid: likewise.
struct HalvePlaneParams {
    static constexpr KernelName kernel{"h264/inter/search", "h264_halve_plane"};
    MarginPlane from, to;
};

constexpr int kSearchThreads = 128;
struct SearchArguments {
    int32_t columns, rows;  // macroblocks
    int32_t vertical;       // the limit for vectors, samples of the picture
    uint32_t lambda;        // motion_lambda_of()
    MarginPlane source, before;
    VectorGrid above;  // of the level above; vectors nullptr: there is none
};
// Vectors of the 8x8 blocks of a level but the picture's own. Grid: a warp a block, in thread-blocks of kSearchThreads.
struct LevelSearchParams : SearchArguments {
    static constexpr KernelName kernel{"h264/inter/search", "h264_search_level"};
    int32_t level;
    Vector *found;
};
// Vectors of macroblocks, and of their 8x8 blocks. Grid: a warp a macroblock, in thread-blocks of kSearchThreads.
struct MacroblockSearchParams : SearchArguments {
    static constexpr KernelName kernel{"h264/inter/search", "h264_search_macroblocks"};
    FoundMotion *found;
};

}  // namespace cudaenc::h264
