// SPDX-License-Identifier: LGPL-2.1-or-later
// From pixels to the wavelet transform's input: unpacking, DC level shift (T.800 G.1), component transforms (G.2, G.3).
#pragma once
#include <cstdint>

#include "../../hd.h"
#include "../../load.h"

namespace cudaenc::j2k {

// RCT, T.800 G.2.1: r g b -> y u v in place.
CUDAENC_HD void component_transform(int32_t &c0, int32_t &c1, int32_t &c2) {
    const int32_t r = c0, g = c1, b = c2;
    c0 = (r + 2 * g + b) >> 2;
    c1 = b - g;
    c2 = r - g;
}

// ICT, T.800 G.3.1: Cb and Cr by what G.3.2 takes back.
CUDAENC_HD void component_transform(float &c0, float &c1, float &c2) {
    const float r = c0, g = c1, b = c2;
    c0 = 0.299f * r + 0.587f * g + 0.114f * b;
    c1 = (b - c0) * static_cast<float>(1 / 1.772);
    c2 = (r - c0) * static_cast<float>(1 / 1.402);
}

}  // namespace cudaenc::j2k
