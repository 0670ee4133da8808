// What is measured. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <string>
#include <vector>

#include "picture.h"

namespace cudaenc::bench {

constexpr double kLossyBitsPerPixel = 1.23;  // 1.28 MB for 3840x2160

struct Case {
    const char *name;
    FrameFormat format;
    bool lossless;  // 5/3; else 9/7 at kLossyBitsPerPixel
    int cblk;

    double pixels() const { return static_cast<double>(format.width) * format.height; }
    size_t target_bytes() const { return static_cast<size_t>(kLossyBitsPerPixel * pixels() / 8); }
    // "3840x2160 RGB 8 bit, 5/3 lossless, blocks 32x32"
    std::string text() const;
};

const std::vector<Case> &all_cases();
// A list of names, or "all". Throws Error where one is not known.
std::vector<Case> choose_cases(const std::string &list);

// Frames in host memory, default quality.
CudaencConfig make_config(const Case &c, const char *device);

}  // namespace cudaenc::bench
