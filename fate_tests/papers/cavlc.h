// SPDX-License-Identifier: LGPL-2.1-or-later
// The H.264 entropy backend alone: its kernels against CAVLC_SU.
#pragma once
#include <memory>

#include "../bench/json.h"
#include "../bench/picture.h"

namespace cudaenc::bench {

// Codes what the intra pipeline makes of `frames` frames of the picture at each of these QP, 4:2:0, with both; prints
// times and adds rows to the open array of json. Returns whether both give the same bits.
bool compare_cavlc(const std::shared_ptr<Device> &device, const Picture &picture, int width, int height,
                   const std::vector<int> &qps, int frames, int runs, Json &json);

}  // namespace cudaenc::bench
