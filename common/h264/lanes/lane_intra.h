// SPDX-License-Identifier: LGPL-2.1-or-later
// Intra prediction of macroblocks side by side (H.264, 8.3).
// No includes: see lane_coder.h.
#pragma once

namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE {

namespace {

// The values of intra_lines.h.
template <int N>
using Values = Lanes[3 * line_pitch(N)];

template <int N, int Depth>
[[gnu::always_inline]] inline Lanes mean_of(const Lanes &left, const Lanes &above, const Neighbours &n) {
    // Sums of N neighbours each, 0 where they are missing: at most 2 * 16 * 1023 together.
    const Lanes both = n.left & n.above, sum = left + above;
    constexpr int shift = N == 4 ? 2 : N == 8 ? 3 : 4;
    const Lanes two = (sum + all(N)) >> (shift + 1), one = (sum + all(N / 2)) >> shift;
    return both ? two : (n.left | n.above) ? one : all(1 << (Depth - 1));
}

template <int N, int Depth, class S>
[[gnu::always_inline]] inline void make_values(S &s, int x0, int y0, const Neighbours &n, Values<N> &values) {
    constexpr int count = neighbours_in_line(N), pitch = line_pitch(N);
    Lanes e[count];
    const Lanes first_above = *s.at(x0, y0 - 1), first_left = n.left & *s.at(x0 - 1, y0);
    for (int i = 0; i < N; i++) {
        e[N - 1 - i] = n.left ? *s.at(x0 - 1, y0 + i) : n.above & first_above;
        e[N + 1 + i] = n.above ? *s.at(x0 + i, y0 - 1) : first_left;
    }
    for (int i = 0; i < N; i++) e[2 * N + 1 + i] = (n.above & n.above_right) ? *s.at(x0 + N + i, y0 - 1) : e[2 * N];
    e[N] = n.corner ? *s.at(x0 - 1, y0 - 1) : n.above ? first_above : first_left;
    if constexpr (N == 8) {  // 8.3.2.2.1
        Lanes before = e[0];
        for (int i = 0; i < count; i++) {
            const Lanes here = e[i];
            const Lanes after = i == count - 1 ? here : i == N - 1 ? (n.corner ? e[N] : here) : e[i + 1];
            e[i] = filter(before, here, after);
            before = here;
        }
    }
    Lanes left{}, above{};
    for (int i = 0; i < N; i++) left += e[i], above += e[N + 1 + i];
    values[count] = mean_of<N, Depth>(left & n.left, above & n.above, n);
    for (int i = 0; i < count; i++) {
        const Lanes before = e[i ? i - 1 : 0], after = e[i < count - 1 ? i + 1 : i];
        values[i] = e[i];
        values[pitch + i] = filter(e[i], after);
        values[2 * pitch + i] = filter(before, e[i], after);
    }
}

// The value of sample i, in raster order.
template <int N>
constexpr int value_of(int mode, int i) {
    return kPredictedValues<N>[static_cast<size_t>(mode * N * N + i % N * N + i / N)];
}

// The sample that each lane's mode predicts, of Count modes from Mode on. bits: masks of the bits of modes.
template <int N, int I, int Mode, int Count>
[[gnu::always_inline]] inline Lanes predict_sample(const Values<N> &values, const Lanes (&bits)[4]) {
    if constexpr (Count == 1) {
        return values[value_of<N>(Mode, I)];
    } else {
        constexpr int bit = Count > 8 ? 3 : Count > 4 ? 2 : Count > 2 ? 1 : 0, half = 1 << bit;
        const Lanes lower = predict_sample<N, I, Mode, half>(values, bits);
        const Lanes upper = predict_sample<N, I, Mode + half, Count - half>(values, bits);
        return bits[bit] ? upper : lower;
    }
}
template <int N, size_t... I>
[[gnu::always_inline]] inline void predict(const Values<N> &values, const Lanes &mode, Lanes (&prediction)[N * N],
                                           std::index_sequence<I...>) {
    Lanes bits[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) bits[i] = (mode & all(1 << i)) != 0;
    ((prediction[I] = predict_sample<N, I, 0, kModes>(values, bits)), ...);
}

// b or c of the plane prediction: samples of a line from the corner on.
template <int Size>
[[gnu::always_inline]] inline Lanes slope(const Lanes *line, int step) {
    Wide sum = all_wide(0);
    for (int i = 0; i < Size / 2; i++)
        sum += widen(line[(Size / 2 + 1 + i) * step] - line[(Size / 2 - 1 - i) * step]) * (i + 1);
    return narrow((sum * (Size == 16 ? 5 : 34) + 32) >> 6);
}
template <int Width, int Height, int Depth, class S>
[[gnu::always_inline]] inline void predict_plane(S &s, Lanes *prediction) {
    using T = Number<Depth>;
    const T b = convert<T>(slope<Width>(s.at(-1, -1), 1)), c = convert<T>(slope<Height>(s.at(-1, -1), S::pitch));
    const T a = convert<T>((*s.at(-1, Height - 1) + *s.at(Width - 1, -1) + 1) * 16);
    T row = a - b * int16_t{Width / 2 - 1} - c * int16_t{Height / 2 - 1};
    for (int y = 0; y < Height; y++, row += c) {
        T p = row;
        for (int x = 0; x < Width; x++, p += b)
            prediction[Width * y + x] = smaller(larger(convert<Lanes>(p >> 5), Lanes{}), all((1 << Depth) - 1));
    }
}

// What Intra 16x16 predicts from a mean and as a plane.
template <int Depth>
[[gnu::always_inline]] inline void predict_16x16(LumaSamples &s, const Neighbours &n, Lanes &mean,
                                                 Lanes (&plane)[256]) {
    Lanes left{}, above{};
    for (int k = 0; k < 16; k++) left += *s.at(-1, k), above += *s.at(k, -1);
    mean = mean_of<16, Depth>(left & n.left, above & n.above, n);
    predict_plane<16, 16, Depth>(s, plane);
}

}  // namespace

}  // namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE
