// SPDX-License-Identifier: LGPL-2.1-or-later
// Intra prediction (H.264, 8.3).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "intra_modes.h"

namespace cudaenc::h264 {

// The mean of `count` neighbours (a power of 2) with this sum; without neighbours the middle of the range.
constexpr Sample dc_of(int sum, int count, int bit_depth) {
    return static_cast<Sample>(count ? (sum + count / 2) / count : 1 << (bit_depth - 1));
}

// Plane prediction of 16x16 luma (8.3.3.4) and of chroma (8.3.4.4): 8 or 16 wide and high.
template <int Width, int Height>
void predict_plane(const Sample *at, ptrdiff_t stride, int bit_depth, Sample *to) {
    const auto slope = [](int size, auto sample) {  // b or c, of the samples from -1 on, in 1/32
        int sum = 0;
        for (int i = 0; i < size / 2; i++) sum += (i + 1) * (sample(size / 2 + i) - sample(size / 2 - 2 - i));
        return ((size == 16 ? 5 : 34) * sum + 32) >> 6;
    };
    const int b = slope(Width, [&](int x) { return int{at[x - stride]}; });
    const int c = slope(Height, [&](int y) { return int{at[y * stride - 1]}; });
    const int a = 16 * (at[(Height - 1) * stride - 1] + at[Width - 1 - stride]);
    const int most = (1 << bit_depth) - 1;
    for (int y = 0; y < Height; y++)
        for (int x = 0; x < Width; x++)
            to[y * Width + x] = static_cast<Sample>(
                std::clamp((a + b * (x - Width / 2 + 1) + c * (y - Height / 2 + 1) + 16) >> 5, 0, most));
}

inline int sum_of(const Sample *first, ptrdiff_t step, int count) {
    int sum = 0;
    for (int i = 0; i < count; i++) sum += first[i * step];
    return sum;
}

// DC prediction of Intra 16x16 (8.3.3.3), and of each 4x4 block of chroma from its own neighbours (8.3.4.1 to 8.3.4.3).
// Chroma blocks at one edge of the macroblock prefer that edge alone.
template <int Width, int Height>
void predict_dc(const Sample *at, ptrdiff_t stride, const Available &a, int bit_depth, Sample *to) {
    constexpr int size = Width == 16 ? 16 : 4;
    for (int y = 0; y < Height; y += size)
        for (int x = 0; x < Width; x += size) {
            const bool above = a.above && !(a.left && x == 0 && y > 0), left = a.left && !(a.above && x > 0 && y == 0);
            const Sample dc = dc_of(
                (above ? sum_of(at + x - stride, 1, size) : 0) + (left ? sum_of(at + y * stride - 1, stride, size) : 0),
                size * (left + above), bit_depth);
            for (int i = 0; i < size; i++) std::fill_n(to + (y + i) * Width + x, size, dc);
        }
}

// A Mode16x16 of 16x16 luma, or of chroma of 4:2:0 (8x8) or 4:2:2 (8x16). It must be available.
template <int Width, int Height>
void predict_macroblock(int mode, const Sample *at, ptrdiff_t stride, const Available &a, int bit_depth, Sample *to) {
    switch (mode) {
        case k16x16Vertical:
            for (int y = 0; y < Height; y++) std::copy_n(at - stride, Width, to + y * Width);
            break;
        case k16x16Horizontal:
            for (int y = 0; y < Height; y++) std::fill_n(to + y * Width, Width, at[y * stride - 1]);
            break;
        case k16x16Dc:
            return predict_dc<Width, Height>(at, stride, a, bit_depth, to);
        default:
            return predict_plane<Width, Height>(at, stride, bit_depth, to);
    }
}

}  // namespace cudaenc::h264
