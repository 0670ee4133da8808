// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../common/kernel_name.h"
#include "../common/rgb.h"

namespace cudaenc {

constexpr int kRgbThreads = 128;
struct RgbParams {  // grid: kRgbThreads columns of 2x2 samples, rows of them, frames
    static constexpr KernelName kernel{"rgb", "rgb_to_ycbcr"};
    RgbFrames frames;
    YcbcrWeights weights;
    uint32_t *wrong;  // the maximum of what convert_block() returns
};

}  // namespace cudaenc
