// Intra prediction (H.264, 8.3). SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cudaenc::h264 {

using Sample = uint16_t;  // of 8 and of 10 bits

// Intra4x4PredMode and Intra8x8PredMode, Intra16x16PredMode, intra_chroma_pred_mode (tables 8-2 to 8-5).
enum Mode {
    kVertical,
    kHorizontal,
    kDc,
    kDownLeft,
    kDownRight,
    kVerticalRight,
    kHorizontalDown,
    kVerticalLeft,
    kHorizontalUp,
    kModes
};
enum Mode16x16 { k16x16Vertical, k16x16Horizontal, k16x16Dc, k16x16Plane, k16x16Modes };
enum ChromaMode { kChromaDc, kChromaHorizontal, kChromaVertical, kChromaPlane, kChromaModes };

// The neighbours of a block in its slice that are decoded before it (6.4.11).
struct Available {
    bool left, above, above_right;
    bool corner() const { return left && above; }  // since slices begin with a row of macroblocks
};

// Bit b: the block above right of the 4x4 (8x8) block b of 6.4.3 is decoded before it. In the first row of a macroblock
// that depends on its neighbours, for the last column on the one above right.
inline constexpr uint32_t kAboveRight4x4 = 0x5757, kAboveRight8x8 = 0x5;

constexpr bool mode_available(int mode, const Available &a) {
    switch (mode) {
        case kVertical:
        case kDownLeft:
        case kVerticalLeft:
            return a.above;
        case kHorizontal:
        case kHorizontalUp:
            return a.left;
        case kDc:
            return true;
        default:
            return a.corner();
    }
}

constexpr bool mode_16x16_available(int mode, const Available &a) {
    return mode == k16x16Dc || (mode == k16x16Vertical ? a.above : mode == k16x16Horizontal ? a.left : a.corner());
}
constexpr bool chroma_mode_available(int mode, const Available &a) {
    return mode == kChromaDc || (mode == kChromaVertical ? a.above : mode == kChromaHorizontal ? a.left : a.corner());
}

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

// Horizontal and vertical prediction of macroblocks.
template <int Width, int Height>
void predict_horizontal(const Sample *at, ptrdiff_t stride, Sample *to) {
    for (int y = 0; y < Height; y++) std::fill_n(to + y * Width, Width, at[y * stride - 1]);
}
template <int Width, int Height>
void predict_vertical(const Sample *at, ptrdiff_t stride, Sample *to) {
    for (int y = 0; y < Height; y++) std::copy_n(at - stride, Width, to + y * Width);
}

inline int sum_above(const Sample *at, ptrdiff_t stride, int count) {
    int sum = 0;
    for (int x = 0; x < count; x++) sum += at[x - stride];
    return sum;
}
inline int sum_left(const Sample *at, ptrdiff_t stride, int count) {
    int sum = 0;
    for (int y = 0; y < count; y++) sum += at[y * stride - 1];
    return sum;
}

// 8.3.3. Modes other than DC need their neighbours.
inline void predict_16x16(int mode, const Sample *at, ptrdiff_t stride, const Available &a, int bit_depth, Sample *to) {
    switch (mode) {
        case k16x16Vertical:
            return predict_vertical<16, 16>(at, stride, to);
        case k16x16Horizontal:
            return predict_horizontal<16, 16>(at, stride, to);
        case k16x16Plane:
            return predict_plane<16, 16>(at, stride, bit_depth, to);
        default:
            std::fill_n(to, 256,
                        dc_of((a.above ? sum_above(at, stride, 16) : 0) + (a.left ? sum_left(at, stride, 16) : 0),
                              16 * (a.left + a.above), bit_depth));
    }
}

// 8.3.4.1 to 8.3.4.3: each 4x4 block from its own neighbours. Blocks at one edge of the macroblock prefer that edge
// alone.
template <int Height>
void predict_chroma_dc(const Sample *at, ptrdiff_t stride, const Available &a, int bit_depth, Sample *to) {
    for (int y = 0; y < Height; y += 4)
        for (int x = 0; x < 8; x += 4) {
            const bool above = a.above && !(a.left && x == 0 && y > 0), left = a.left && !(a.above && x > 0 && y == 0);
            const Sample dc =
                dc_of((above ? sum_above(at + x, stride, 4) : 0) + (left ? sum_left(at + y * stride, stride, 4) : 0),
                      4 * (left + above), bit_depth);
            for (int i = 0; i < 4; i++) std::fill_n(to + (y + i) * 8 + x, 4, dc);
        }
}

// Modes of chroma in 4:2:0 (8 high) and 4:2:2 (16 high).
template <int Height>
void predict_chroma(int mode, const Sample *at, ptrdiff_t stride, const Available &a, int bit_depth, Sample *to) {
    switch (mode) {
        case kChromaDc:
            return predict_chroma_dc<Height>(at, stride, a, bit_depth, to);
        case kChromaHorizontal:
            return predict_horizontal<8, Height>(at, stride, to);
        case kChromaVertical:
            return predict_vertical<8, Height>(at, stride, to);
        default:
            return predict_plane<8, Height>(at, stride, bit_depth, to);
    }
}
}  // namespace cudaenc::h264
