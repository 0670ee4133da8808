// SPDX-License-Identifier: LGPL-2.1-or-later
// From the inverse wavelet transform's output to samples: load.h backwards.
#pragma once
#include <cstdint>

#include "../../hd.h"

namespace cudaenc::j2k {

// Inverse RCT, T.800 G.2.2: y u v -> r g b in place.
CUDAENC_HD void inverse_component_transform(int32_t &c0, int32_t &c1, int32_t &c2) {
    const int32_t green = c0 - ((c1 + c2) >> 2), red = c2 + green, blue = c1 + green;
    c0 = red, c1 = green, c2 = blue;
}
// Inverse ICT, T.800 G.3.2.
CUDAENC_HD void inverse_component_transform(float &c0, float &c1, float &c2) {
    const float red = c0 + 1.402f * c2, green = c0 - 0.344136f * c1 - 0.714136f * c2, blue = c0 + 1.772f * c1;
    c0 = red, c1 = green, c2 = blue;
}

// Rounded, and clipped to a depth's range around 0, before the DC level shift (G.1.2).
CUDAENC_HD int32_t to_sample(int32_t x, int depth) {
    const int32_t half = 1 << (depth - 1);
    return max_of(min_of(x, half - 1), -half);
}
CUDAENC_HD int32_t to_sample(float x, int depth) {
    const float half = static_cast<float>(1 << (depth - 1)), nearest = max_of(min_of(x, half), -half) + 0.5f;
    const int32_t whole = static_cast<int32_t>(nearest);  // towards 0
    return to_sample(whole - (static_cast<float>(whole) > nearest ? 1 : 0), depth);
}

}  // namespace cudaenc::j2k
