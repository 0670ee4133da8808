// SPDX-License-Identifier: LGPL-2.1-or-later
// Explicit weighted prediction of P pictures (8.4.2.3.2): a weight for all samples, an offset for luma and one for
// chroma, which fades towards 128. The same on host and device.
#pragma once
#include <cstdint>

#include "../../hd.h"

namespace cudaenc::h264 {

struct PictureWeights {
    int32_t log2_denominator = 0;  // 6 or 7; 0: the picture has no weights
    int32_t weight = 0;            // 1 to 127
    int32_t offset = 0;            // of luma, in samples of 8 bits: -128 to 127

    CUDAENC_HD bool any() const { return log2_denominator != 0; }
    CUDAENC_HD int32_t chroma_offset() const { return 128 - (128 * weight >> log2_denominator); }
    // A sample that the picture before predicts. offset: offset, or chroma_offset().
    CUDAENC_HD int32_t weigh(int32_t sample, int32_t offset, int bit_depth) const {
        const int32_t half = 1 << (log2_denominator - 1), most = (1 << bit_depth) - 1;
        const int32_t v = ((sample * weight + half) >> log2_denominator) + offset * (1 << (bit_depth - 8));
        return v < 0 ? 0 : v > most ? most : v;
    }
    // Inverted: what the picture before had, of luma of 8 bits. So the search compares with it as it is.
    CUDAENC_HD uint8_t before(int32_t sample) const {
        const int32_t v = (((sample - offset) * (1 << log2_denominator)) + weight / 2) / weight;
        return static_cast<uint8_t>(v < 0 ? 0 : v > 255 ? 255 : v);
    }
};

}  // namespace cudaenc::h264
