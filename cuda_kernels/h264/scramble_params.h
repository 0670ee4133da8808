// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../common/h264/syntax/scramble.h"
#include "../../common/kernel_name.h"

namespace cudaenc::h264 {

constexpr int kScrambleThreads = 64;
struct ScrambleParams {  // grid: kScrambleThreads macroblocks a thread-block
    static constexpr KernelName kernel{"h264/scramble", "h264_scramble"};
    ScrambledPicture picture;
};

}  // namespace cudaenc::h264
