// SPDX-License-Identifier: LGPL-2.1-or-later
// RGB to full-range YCbCr (ITU-T T.871 clause 7).
#pragma once
#include <cstdint>

#include "../hd.h"

namespace cudaenc::mjpeg {

// From and to level-shifted samples, -128..127: each row of coefficients adds up to 1 or 0, which keeps the shift. 16
// bits of fraction. Halves of chroma round down, or chroma would reach 128.
CUDAENC_HD void rgb_to_ycbcr(int32_t &c0, int32_t &c1, int32_t &c2) {
    const int32_t r = c0, g = c1, b = c2;
    c0 = (19595 * r + 38470 * g + 7471 * b + 32768) >> 16;
    c1 = (-11059 * r - 21709 * g + 32768 * b + 32767) >> 16;
    c2 = (32768 * r - 27439 * g - 5329 * b + 32767) >> 16;
}

}  // namespace cudaenc::mjpeg
