// SPDX-License-Identifier: LGPL-2.1-or-later
// H.264 as a whole, beside x264 where it is there.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "json.h"
#include "measure.h"

namespace cudaenc::bench {

struct H264Cases {
    int width, height;
    Layout layout;  // 4:2:0 or 4:4:4
    int gop;        // above 1: P pictures
    int lookahead;  // of these
    bool fields;    // a frame of ours is coded as two; x264's are frames
    std::vector<int> qps, slices;
    bool kernels;  // what each kernel takes, in place of rates
};

// Codes frames of 8 bits at each QP, in so many slices where a picture has as many rows of macroblocks, with `effort`
// 0, from the memory of `device` or of the host where it is null; at each QP with x264's library (CAVLC, without B
// pictures, from the host's memory, all of its threads) unless x264 is "no". Prints rates and adds rows to the open
// array of json.
void measure_h264(const std::shared_ptr<Device> &device, const std::string &device_name,
                  const std::vector<Picture> &pictures, const H264Cases &cases, const Effort &effort, int frames,
                  const std::string &x264, Json &json);

}  // namespace cudaenc::bench
