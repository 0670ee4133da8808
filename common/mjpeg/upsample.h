// SPDX-License-Identifier: LGPL-2.1-or-later
// From planes as they are coded to those of a usual format, with the samples of FFmpeg's mjpeg decoder: components of
// fewer samples than their plane are up-sampled, and inks become light. Or to R, G and B, with those of libjpeg.
// Samples have 8 bits.
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
    bool rgb;                                // Y, Cb and Cr become R, G and B
    uint8_t double_x[kMaxStreamComponents];  // how often columns and rows are doubled: 0 to 2
    uint8_t double_y[kMaxStreamComponents];

    bool any() const {
        bool any = inks != Inks::none || rgb;
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

// Sample (x, y) of width x height, doubled in either direction, of source(column, row). A sample lies amid those that
// it stands for (T.871, 10.2): doubled once, one has 3/4 of the nearest and 1/4 of the next one. Doubled twice, it has
// the nearest. Halves are rounded down and up in turn, as libjpeg does.
template <class Source>
CUDAENC_HD int centred(int x, int y, int width, int height, int double_x, int double_y, const Source &source) {
    const auto next_to = [](int i, int times, int nearest, int count) {
        const int next = times == 1 ? nearest + (i & 1 ? 1 : -1) : nearest;
        return next < 0 ? 0 : next < count ? next : count - 1;
    };
    const int column = x >> double_x, row = y >> double_y;
    const int columns = ((width - 1) >> double_x) + 1, rows = ((height - 1) >> double_y) + 1;
    const int next_column = next_to(x, double_x, column, columns), next_row = next_to(y, double_y, row, rows);
    const int rounding = double_x != 1   ? (double_y != 1 ? 8 : 4 + 4 * (y & 1))
                         : double_y == 1 ? 8 - (x & 1)
                                         : 4 + 4 * (x & 1);
    return (9 * source(column, row) + 3 * (source(next_column, row) + source(column, next_row)) +
            source(next_column, next_row) + rounding) >>
           4;
}

// R, G or B of Y, Cb and Cr (T.871, clause 7), in 1/65536.
CUDAENC_HD int rgb_of(int component, int y, int cb, int cr) {
    const int change = component == 0   ? 91881 * (cr - 128)
                       : component == 1 ? -22554 * (cb - 128) - 46802 * (cr - 128)
                                        : 116130 * (cb - 128);
    const int sample = y + ((change + 32768) >> 16);
    return sample < 0 ? 0 : sample < 255 ? sample : 255;
}

}  // namespace cudaenc::mjpeg
