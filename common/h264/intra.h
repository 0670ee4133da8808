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

// Neighbours of a block that are there: in this slice, and decoded before it (6.4.11).
struct Available {
    bool left, above, above_right;
    bool corner() const { return left && above; }  // since slices begin with a row of macroblocks
};

// Bit b: of the 4x4 (8x8) block b of 6.4.3, the block above right is decoded before it; in the macroblock's first row
// that is for its neighbours to say, and so for the block of the last column there.
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

// The samples around an NxN block, in a line: left from below (0 to N - 1), the corner, above from the left (to 3 N).
// One more on both sides, which repeats the last.
template <int N>
struct Edge {
    static constexpr int kCorner = N, kAbove = N + 1, kCount = 3 * N + 1;
    alignas(32) Sample memory[3 * N + 4];
    Sample &operator[](int i) { return memory[1 + i]; }
    const Sample &operator[](int i) const { return memory[1 + i]; }

    // `at`: the block's first sample among reconstructed ones. What is not there repeats what is next to it, as 8.3.1.2
    // asks for above right, and 8.3.2.2.1 for all in effect.
    void load(const Sample *at, ptrdiff_t stride, const Available &available) {
        Edge &e = *this;
        if (available.left)
            for (int y = 0; y < N; y++) e[N - 1 - y] = at[y * stride - 1];
        if (available.above) {
            for (int x = 0; x < N; x++) e[kAbove + x] = at[x - stride];
            if (available.above_right)
                for (int x = N; x < 2 * N; x++) e[kAbove + x] = at[x - stride];
            else
                for (int x = N; x < 2 * N; x++) e[kAbove + x] = e[kAbove + N - 1];
        }
        if (!available.left)
            for (int i = 0; i < N; i++) e[i] = available.above ? e[kAbove] : Sample{0};
        if (!available.above)
            for (int i = kAbove; i < kCount; i++) e[i] = e[N - 1];
        e[kCorner] = available.corner() ? at[-stride - 1] : available.above ? e[kAbove] : e[N - 1];
        e[-1] = e[0];
        e[kCount] = e[kCount - 1];
    }
};

constexpr int filter_2(int a, int b) { return (a + b + 1) >> 1; }
constexpr int filter_3(int a, int b, int c) { return (a + 2 * b + c + 2) >> 2; }

// 8.3.2.2.1: the reference samples of an 8x8 block, filtered.
inline void filter_edge(const Edge<8> &from, Edge<8> &to) {
    for (int i = 0; i < Edge<8>::kCount; i++) to[i] = static_cast<Sample>(filter_3(from[i - 1], from[i], from[i + 1]));
    to[-1] = to[0];
    to[Edge<8>::kCount] = to[Edge<8>::kCount - 1];
}

// The mean of `count` neighbours (a power of 2) of this sum; none: the middle of the range.
constexpr Sample dc_of(int sum, int count, int bit_depth) {
    return static_cast<Sample>(count ? (sum + count / 2) / count : 1 << (bit_depth - 1));
}

// The predictions of an NxN block (8.3.1.2, 8.3.2.2), as lines of samples: a row of a prediction is N of a line's, and
// mostly begins one or two samples beside the row above. The edge of 8x8 blocks is filtered before.
template <int N>
class Predictions {
  public:
    void load(const Edge<N> &e, const Available &available, int bit_depth) {
        constexpr int corner = Edge<N>::kCorner;
        Sample *const two = lines_ + kTwo, *const three = lines_ + kThree;
        for (int i = 0; i < Edge<N>::kCount; i++) {
            two[i] = static_cast<Sample>(filter_2(e[i], e[i + 1]));
            three[i] = static_cast<Sample>(filter_3(e[i - 1], e[i], e[i + 1]));
        }
        Sample *const down = lines_ + kDown, *const up = lines_ + kUp;
        for (int i = 0; i < N; i++) {
            down[2 * i] = two[i];
            down[2 * i + 1] = three[i + 1];
            down[2 * N + i] = three[corner + 1 + i];
        }
        for (int i = 0; i < N - 1; i++) {
            up[2 * i] = two[N - 2 - i];
            up[2 * i + 1] = three[N - 2 - i];
        }
        for (int i = 2 * N - 2; i < 3 * N; i++) up[i] = e[0];
        Sample *const even = lines_ + kRightEven + N / 2, *const odd = lines_ + kRightOdd + N / 2;
        for (int i = 0; i < N; i++) {
            even[i] = two[corner + i];
            odd[i] = three[corner + i];
        }
        for (int i = 1; i < N / 2; i++) {
            even[-i] = three[corner + 1 - 2 * i];
            odd[-i] = three[corner - 2 * i];
        }
        int sum = 0;
        for (int i = 0; i < N; i++) {
            lines_[kAbove + i] = e[Edge<N>::kAbove + i];
            std::fill_n(lines_ + kLeft + N * i, N, e[N - 1 - i]);
            sum += (available.left ? e[i] : 0) + (available.above ? e[Edge<N>::kAbove + i] : 0);
        }
        std::fill_n(lines_ + kMean, N, dc_of(sum, N * (available.left + available.above), bit_depth));
    }
    // N samples.
    const Sample *row(int mode, int y) const {
        const Rows &rows = kRows[mode];
        return lines_ + (y % 2 ? rows.odd : rows.even) + y / 2 * rows.step;
    }
    void copy(int mode, Sample *to) const {
        for (int y = 0; y < N; y++) std::copy_n(row(mode, y), N, to + N * y);
    }

  private:
    // Places of lines: filtered by 2 and by 3 taps, and those of modes that mix them or need none.
    enum {
        kTwo = 0,
        kThree = kTwo + 3 * N + 4,
        kDown = kThree + 3 * N + 4,
        kUp = kDown + 3 * N,
        kRightEven = kUp + 3 * N,
        kRightOdd = kRightEven + 2 * N,
        kAbove = kRightOdd + 2 * N,
        kMean = kAbove + N,
        kLeft = kMean + N,
        kSamples = kLeft + N * N
    };
    // Where the first two rows begin, and how much further those after them.
    struct Rows {
        int16_t even, odd, step;
    };
    static constexpr Rows kRows[kModes] = {
        {kAbove, kAbove, 0},
        {kLeft, kLeft + N, 2 * N},
        {kMean, kMean, 0},
        {kThree + N + 2, kThree + N + 3, 2},
        {kThree + N, kThree + N - 1, -2},
        {kRightEven + N / 2, kRightOdd + N / 2, -1},
        {kDown + 2 * N - 2, kDown + 2 * N - 4, -4},
        {kTwo + N + 1, kThree + N + 2, 1},
        {kUp, kUp + 2, 4},
    };
    alignas(32) Sample lines_[kSamples];
};

// Plane prediction of 16x16 luma (8.3.3.4) and of chroma (8.3.4.4): 8 or 16 wide and high.
template <int Width, int Height>
void predict_plane(const Sample *at, ptrdiff_t stride, int bit_depth, Sample *to) {
    const auto slope = [](int size, auto sample) {  // of the samples from -1 on, in 1/32
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

// Modes of 16x16 luma; plane only where all neighbours are there (8.3.3).
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

// 8.3.4.1 to 8.3.4.3: each 4x4 block from its own neighbours; those beside an edge of the macroblock, but the corner
// one, rather from that edge alone.
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
constexpr bool mode_16x16_available(int mode, const Available &a) {
    return mode == k16x16Dc || (mode == k16x16Vertical && a.above) || (mode == k16x16Horizontal && a.left) ||
           (mode == k16x16Plane && a.corner());
}
constexpr bool chroma_mode_available(int mode, const Available &a) {
    return mode == kChromaDc || (mode == kChromaVertical && a.above) || (mode == kChromaHorizontal && a.left) ||
           (mode == kChromaPlane && a.corner());
}

}  // namespace cudaenc::h264
