// SPDX-License-Identifier: LGPL-2.1-or-later
// Intra prediction of 4x4 and 8x8 blocks (H.264, 8.3.1.2 and 8.3.2.2) by vectors. A directional mode is a line of
// filtered neighbours; each row of its prediction begins one, two or four samples along that line.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../syntax/sample_vectors.h"
#include "intra.h"

namespace cudaenc::h264 {

// Filters of two and three taps (8.3.1.2.4 and others).
template <class Vector>
[[gnu::always_inline]] inline Vector filter(const Vector &a, const Vector &b) {
    return (a + b + 1) >> 1;
}
template <class Vector>
[[gnu::always_inline]] inline Vector filter(const Vector &a, const Vector &b, const Vector &c) {
    return (a + b + b + c + 2) >> 2;
}

// Calls consider(mode, prediction) for each available mode. at: the first sample of the block among reconstructed ones.
// Missing neighbours repeat the next ones, as 8.3.1.2 demands above right, and 8.3.2.2.1 in effect everywhere.
template <class Consider>
[[gnu::always_inline]] inline void predict_4x4(const Sample *at, ptrdiff_t stride, const Available &available,
                                               int bit_depth, const Consider &consider) {
    constexpr uint64_t kAll = 0x0001'0001'0001'0001;  // times a sample: four copies
    const auto four = [](const Sample *from) {
        uint64_t samples;
        std::memcpy(&samples, from, sizeof samples);
        return samples;
    };
    // Left from below, above, above right.
    uint64_t left = 0, above = 0, right = 0;
    if (available.left)
        for (int y = 0; y < 4; y++) left = left << 16 | at[y * stride - 1];
    if (available.above) {
        above = four(at - stride);
        right = available.above_right ? four(at - stride + 4) : (above >> 48) * kAll;
        if (!available.left) left = (above & 0xFFFF) * kAll;
    } else {
        above = right = (left >> 48) * kAll;
    }
    const uint64_t corner = available.corner() ? at[-stride - 1] : available.above ? above & 0xFFFF : left >> 48;

    // All neighbours in a line; lane 4 is the corner.
    const Longs longs = {static_cast<int64_t>(left), static_cast<int64_t>(corner | above << 16),
                         static_cast<int64_t>(above >> 48 | right << 16),
                         static_cast<int64_t>(right >> 48 | (right >> 48 << 16) * kAll)};
    const Lanes e = (Lanes)longs;
    const Lanes before = __builtin_shufflevector(e, e, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
    const Lanes after = __builtin_shufflevector(e, e, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15);
    const Lanes two = filter(e, after), three = filter(before, e, after);

    const auto sum = [](uint64_t samples) { return static_cast<int>(samples * kAll >> 48); };
    const int64_t dc =
        static_cast<int64_t>(kAll * dc_of((available.left ? sum(left) : 0) + (available.above ? sum(above) : 0),
                                          4 * (available.left + available.above), bit_depth));
    consider(kDc, (Lanes)Longs{dc, dc, dc, dc});
    if (available.above) {
        const int64_t a = static_cast<int64_t>(above);
        consider(kVertical, (Lanes)Longs{a, a, a, a});
        consider(kDownLeft,
                 __builtin_shufflevector(three, three, 6, 7, 8, 9, 7, 8, 9, 10, 8, 9, 10, 11, 9, 10, 11, 12));
        consider(kVerticalLeft,
                 __builtin_shufflevector(two, three, 5, 6, 7, 8, 22, 23, 24, 25, 6, 7, 8, 9, 23, 24, 25, 26));
    }
    if (available.left) {
        consider(kHorizontal, __builtin_shufflevector(e, e, 3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0));
        const Lanes up = __builtin_shufflevector(two, three, 2, 18, 1, 17, 0, 16, 0, 16, 2, 18, 1, 17, 0, 16, 0, 16);
        const Lanes last = __builtin_shufflevector(e, e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        consider(kHorizontalUp,
                 __builtin_shufflevector(up, last, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 16, 16, 16, 16, 16, 16));
    }
    if (available.corner()) {
        consider(kDownRight, __builtin_shufflevector(three, three, 4, 5, 6, 7, 3, 4, 5, 6, 2, 3, 4, 5, 1, 2, 3, 4));
        consider(kVerticalRight,
                 __builtin_shufflevector(two, three, 4, 5, 6, 7, 20, 21, 22, 23, 19, 4, 5, 6, 18, 20, 21, 22));
        consider(kHorizontalDown,
                 __builtin_shufflevector(two, three, 3, 20, 21, 22, 2, 19, 3, 20, 1, 18, 2, 19, 0, 17, 1, 18));
    }
}

// Eight lanes of two vectors from lane From on.
template <int From>
[[gnu::always_inline]] inline Half window(const Half &a, const Half &b) {
    return __builtin_shufflevector(a, b, From, From + 1, From + 2, From + 3, From + 4, From + 5, From + 6, From + 7);
}

// The same for 8x8 blocks. Predictions are Lanes[4], two rows each.
template <class Consider>
[[gnu::always_inline]] inline void predict_8x8(const Sample *at, ptrdiff_t stride, const Available &available,
                                               int bit_depth, const Consider &consider) {
    const auto all = [](int sample) __attribute__((always_inline)) { return Half{} + static_cast<int16_t>(sample); };
    Half left{}, above, right;  // left: from below
    if (available.left)
        for (int y = 0; y < 8; y++) left[7 - y] = static_cast<int16_t>(at[y * stride - 1]);
    if (available.above) {
        std::memcpy(&above, at - stride, sizeof above);
        if (available.above_right)
            std::memcpy(&right, at - stride + 8, sizeof right);
        else
            right = all(above[7]);
        if (!available.left) left = all(above[0]);
    } else {
        above = right = all(left[7]);
    }
    Half corner = all(available.corner() ? at[-stride - 1] : available.above ? above[0] : left[7]);

    const auto last = [](const Half &v) __attribute__((always_inline)) {
        return __builtin_shufflevector(v, v, 7, 7, 7, 7, 7, 7, 7, 7);
    };
    const auto first = [](const Half &v) __attribute__((always_inline)) {
        return __builtin_shufflevector(v, v, 0, 0, 0, 0, 0, 0, 0, 0);
    };
    // 8.3.2.2.1: neighbours are filtered first. Without a corner the ends of both lines repeat.
    const Half end_of_left = available.corner() ? corner : last(left);
    const Half filtered_left = filter(window<7>(first(left), left), left, window<1>(left, end_of_left));
    const Half filtered_above = filter(window<7>(corner, above), above, window<1>(above, right));
    right = filter(window<7>(above, right), right, window<1>(right, last(right)));
    corner = filter(last(left), corner, first(above));
    left = filtered_left, above = filtered_above;

    const auto consider_rows = [&](int mode, const Half(&row)[8]) __attribute__((always_inline)) {
        const Lanes lanes[4] = {join(row[0], row[1]), join(row[2], row[3]), join(row[4], row[5]), join(row[6], row[7])};
        consider(mode, lanes);
    };
    int sum = 0;
    for (int i = 0; i < 8; i++) sum += (available.left ? left[i] : 0) + (available.above ? above[i] : 0);
    const Half dc = all(dc_of(sum, 8 * (available.left + available.above), bit_depth));
    consider_rows(kDc, {dc, dc, dc, dc, dc, dc, dc, dc});

    const Half after_left = window<1>(left, corner), after_above = window<1>(above, right);
    const Half left_two = filter(left, after_left), left_three = filter(window<7>(first(left), left), left, after_left);
    const Half above_two = filter(above, after_above),
               above_three = filter(window<7>(corner, above), above, after_above);
    const Half corner_two = filter(corner, first(above)), corner_three = filter(last(left), corner, first(above));
    if (available.above) {
        consider_rows(kVertical, {above, above, above, above, above, above, above, above});
        const Half after_right = window<1>(right, last(right));
        const Half two = filter(right, after_right), three = filter(window<7>(above, right), right, after_right);
        consider_rows(kDownLeft,
                      {window<1>(above_three, three), window<2>(above_three, three), window<3>(above_three, three),
                       window<4>(above_three, three), window<5>(above_three, three), window<6>(above_three, three),
                       window<7>(above_three, three), three});
        consider_rows(kVerticalLeft,
                      {above_two, window<1>(above_three, three), window<1>(above_two, two),
                       window<2>(above_three, three), window<2>(above_two, two), window<3>(above_three, three),
                       window<3>(above_two, two), window<4>(above_three, three)});
    }
    if (available.left) {
        const auto row = [&](int y) __attribute__((always_inline)) { return all(left[7 - y]); };
        consider_rows(kHorizontal, {row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)});
        const Half up = __builtin_shufflevector(left_two, left_three, 6, 14, 5, 13, 4, 12, 3, 11);
        const Half below = first(left);
        const Half rest = __builtin_shufflevector(left_two, left_three, 2, 10, 1, 9, 0, 8, 0, 8);
        const Half end = __builtin_shufflevector(rest, below, 0, 1, 2, 3, 4, 5, 8, 8);
        consider_rows(kHorizontalUp, {up, window<2>(up, end), window<4>(up, end), window<6>(up, end), end,
                                      window<2>(end, below), window<4>(end, below), window<6>(end, below)});
    }
    if (available.corner()) {
        const Half two = window<7>(corner_two, above_two), three = window<7>(corner_three, above_three);
        consider_rows(kDownRight,
                      {three, window<7>(left_three, three), window<6>(left_three, three), window<5>(left_three, three),
                       window<4>(left_three, three), window<3>(left_three, three), window<2>(left_three, three),
                       window<1>(left_three, three)});
        const Half even = __builtin_shufflevector(left_three, left_three, 1, 1, 1, 1, 1, 3, 5, 7);
        const Half odd = __builtin_shufflevector(left_three, left_three, 0, 0, 0, 0, 0, 2, 4, 6);
        consider_rows(kVerticalRight, {two, three, window<7>(even, two), window<7>(odd, three), window<6>(even, two),
                                       window<6>(odd, three), window<5>(even, two), window<5>(odd, three)});
        const Half after = window<1>(left_three, corner_three);
        const Half down = __builtin_shufflevector(left_two, after, 0, 8, 1, 9, 2, 10, 3, 11);
        const Half then = __builtin_shufflevector(left_two, after, 4, 12, 5, 13, 6, 14, 7, 15);
        consider_rows(kHorizontalDown,
                      {window<6>(then, above_three), window<4>(then, above_three), window<2>(then, above_three), then,
                       window<6>(down, then), window<4>(down, then), window<2>(down, then), down});
    }
}

}  // namespace cudaenc::h264
