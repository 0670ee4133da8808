// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of fade.cu.
#pragma once
#include "../../../common/h264/inter/fade.h"
#include "../../../common/kernel_name.h"
#include "margin_plane.h"

namespace cudaenc::h264 {

constexpr int kFadeThreads = 1024;
// find_weights(). Grid: one thread-block of kFadeThreads.
struct FindWeightsParams {
    static constexpr KernelName kernel{"h264/inter/fade", "h264_find_weights"};
    MarginPlane now, before;  // the smallest of the pyramids, of the same size
    PictureWeights *weights;
    PictureWeights *host_weights;  // the same in pinned memory
};

}  // namespace cudaenc::h264
