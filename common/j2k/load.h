// From pixels to the wavelet transform's input: unpacking, DC level shift (T.800 G.1), component transforms (G.2, G.3).
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../hd.h"
#include "../load.h"

namespace cudaenc::j2k {

// RCT, T.800 G.2.1: r g b -> y u v in place.
CUDAENC_HD void component_transform(int32_t &c0, int32_t &c1, int32_t &c2) {
    const int32_t r = c0, g = c1, b = c2;
    c0 = (r + 2 * g + b) >> 2;
    c1 = b - g;
    c2 = r - g;
}

// ICT, T.800 G.3.1.
CUDAENC_HD void component_transform(float &c0, float &c1, float &c2) {
    const float r = c0, g = c1, b = c2;
    c0 = 0.299f * r + 0.587f * g + 0.114f * b;
    c1 = -0.16875f * r - 0.33126f * g + 0.5f * b;
    c2 = 0.5f * r - 0.41869f * g - 0.08131f * b;
}

}  // namespace cudaenc::j2k
