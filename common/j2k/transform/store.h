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

// Rounded, halves upwards, and clipped to a depth's range around 0, before the DC level shift (G.1.2).
CUDAENC_HD int32_t to_sample(int32_t x, int depth) {
    const int32_t half = 1 << (depth - 1);
    return max_of(min_of(x, half - 1), -half);
}
CUDAENC_HD int32_t to_sample(float x, int depth) {
    const float half = static_cast<float>(1 << (depth - 1)), above = max_of(min_of(x, half - 1), -half) + 0.5f;
    constexpr float kWhole = 3 << 22;  // floats at and around it are the integers
    const float rounded = above + kWhole;
    int32_t bits, bits_of_0;
    __builtin_memcpy(&bits, &rounded, sizeof bits);
    __builtin_memcpy(&bits_of_0, &kWhole, sizeof bits_of_0);
    return bits - bits_of_0 - (rounded - kWhole > above ? 1 : 0);
}

// Where samples of a component go: as words of 1 or 2 bytes to a plane, signed ones as two's complement. flipped: a bit
// of the words, before their shift.
struct ChannelLayout {
    uint8_t *data;   // of the first sample
    int64_t stride;  // bytes
    int32_t step;    // bytes
    int32_t shift, depth;
    uint32_t flipped;
    const int32_t *values;  // [sample], of a palette; nullptr: samples as they are
    int32_t last_value;     // of the palette: samples are clipped to it
    CUDAENC_HD bool wide() const { return depth + shift > 8; }
    CUDAENC_HD uint32_t word_of(int32_t sample) const {
        if (values) sample = values[max_of(min_of(sample, last_value), 0)];
        return ((static_cast<uint32_t>(sample) & ((1u << depth) - 1)) ^ flipped) << shift;
    }
};

}  // namespace cudaenc::j2k
