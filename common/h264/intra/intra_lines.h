// SPDX-License-Identifier: LGPL-2.1-or-later
// Directional intra prediction as a look-up (H.264, 8.3.1.2 and 8.3.2.2): the neighbours of an NxN block in a line,
// from the lowest on the left over the corner to the last above right, and that line filtered by two and by three taps.
// Each sample of each mode is one of these values.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "intra_modes.h"

namespace cudaenc::h264 {

// Values of a block: neighbour i at i, (i, i + 1) filtered at pitch + i, (i - 1, i, i + 1) at 2 pitch + i; the mean
// behind the last neighbour. At its ends the line repeats.
CUDAENC_HD constexpr int neighbours_in_line(int n) { return 3 * n + 1; }
CUDAENC_HD constexpr int line_pitch(int n) { return 4 * n; }

// The value that a mode predicts for column x and row y.
CUDAENC_HD constexpr int predicted_value(int n, int mode, int x, int y) {
    const int two = line_pitch(n), three = 2 * line_pitch(n), corner = n;
    switch (mode) {
        case kVertical:
            return corner + 1 + x;
        case kHorizontal:
            return corner - 1 - y;
        case kDc:
            return neighbours_in_line(n);
        case kDownLeft:
            return three + corner + 2 + x + y;
        case kDownRight:
            return three + corner + x - y;
        case kVerticalRight: {
            const int z = 2 * x - y;
            if (z < -1) return three + corner + 1 - (y - 2 * x);
            return (z >= 0 && z % 2 == 0 ? two : three) + corner + x - (y >> 1);
        }
        case kHorizontalDown: {
            const int z = 2 * y - x;
            if (z < -1) return three + corner - 1 + (x - 2 * y);
            return z >= 0 && z % 2 == 0 ? two + corner - 1 - y + (x >> 1) : three + corner - y + (x >> 1);
        }
        case kVerticalLeft:
            return (y % 2 ? three + 1 : two) + corner + 1 + x + (y >> 1);
        default: {  // kHorizontalUp
            const int z = x + 2 * y;
            if (z > 2 * n - 3) return 0;
            return (z % 2 ? three : two) + n - 2 - y - (x >> 1);
        }
    }
}

// A byte a sample, by mode, then column, then row.
template <int N>
constexpr auto kPredictedValues = [] {
    std::array<uint8_t, kModes * N * N> values{};
    for (int mode = 0; mode < kModes; mode++)
        for (int i = 0; i < N * N; i++)
            values[static_cast<size_t>(mode * N * N + i)] =
                static_cast<uint8_t>(predicted_value(N, mode, i / N, i % N));
    return values;
}();

}  // namespace cudaenc::h264
