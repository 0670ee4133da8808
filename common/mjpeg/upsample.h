// SPDX-License-Identifier: LGPL-2.1-or-later
// From planes as they are coded to those of a usual format, with the samples of FFmpeg's mjpeg decoder: components of
// fewer samples than their plane are up-sampled, and inks become light. Samples have 8 bits.
#pragma once
#include <cstdint>

#include "../hd.h"
#include "stream.h"

namespace cudaenc::mjpeg {

// What four components are: cyan, magenta, yellow and black, of which 255 is none; or Y, Cb and Cr of 255 minus the
// light, and black.
enum class Inks : uint8_t { none, cmyk, ycck };

struct Upsampling {
    Inks inks;
    uint8_t double_x[kMaxStreamComponents];  // how often columns and rows are doubled: 0 to 2
    uint8_t double_y[kMaxStreamComponents];

    bool any() const {
        bool any = inks != Inks::none;
        for (int c = 0; c < kMaxStreamComponents; c++) any |= double_x[c] || double_y[c];
        return any;
    }
};

// Sample i of n, of source(0) to source((n - 1) / 2): those in between are halfway.
template <class Source>
CUDAENC_HD int doubled(int i, int n, const Source &source) {
    const int before = source(i / 2);
    return i == n - 1 ? before : (before + source((i + 1) / 2)) >> 1;
}

// The same, doubled 0 to 2 times.
template <class Source>
CUDAENC_HD int upsampled(int i, int n, int times, const Source &source) {
    if (times == 0) return source(i);
    if (times == 1) return doubled(i, n, source);
    return doubled(i, n, [&](int j) { return doubled(j, (n + 1) / 2, source); });
}

// A component of a pixel as light: R, G or B; Y, Cb or Cr; or alpha, which is opaque.
CUDAENC_HD int light_of(Inks inks, int component, int ink, int black) {
    if (component == 3) return 255;
    const int zero = inks == Inks::ycck && component ? 128 : 0;
    const int light = inks == Inks::cmyk ? ink : (component ? 128 : 255) - ink;
    return (light * black * 257 >> 16) + zero;
}

}  // namespace cudaenc::mjpeg
