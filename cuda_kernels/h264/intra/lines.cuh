// SPDX-License-Identifier: LGPL-2.1-or-later
// Coding of lines. A lane has column `column` of a block: the source and the prediction.
#pragma once
#include "arithmetic.cuh"

namespace cudaenc::h264 {

// Columns, then rows. A lane has column l of each N; then it has row l.
template <int N, class Transform>
DEVICE void both_ways(int32_t (&v)[N], Transform transform) {
    transform(v);
    transpose_lanes<N>(v);
    transform(v);
}
// From a column of the residual to a row of coefficients.
template <int N>
DEVICE void forward_lines(int32_t (&v)[N]) {
    both_ways(v, [](auto &line) __attribute__((always_inline)) { forward_transform(line); });
}
// Row `row` of coefficients to levels. dc, ac: see Rounding.
template <int N>
DEVICE void quantise_line(int32_t (&v)[N], const int32_t *multipliers, int32_t shift, int row,
                          int32_t dc = kRounding.dc, int32_t ac = kRounding.ac) {
    int32_t multiplier[N];
    load_row(multipliers, row, multiplier);
    CUDAENC_UNROLL
    for (int i = 0; i < N; i++) {
        const int32_t fraction = row == 0 && i == 0 ? dc : ac;
        v[i] = quantise(v[i], multiplier[i], rounding_of(fraction, shift), shift);
    }
}
// Row `row` of levels, scaled. shift: see Quantiser.
template <int N>
DEVICE void scale_line(int32_t (&v)[N], const int32_t *scales, int32_t shift, int row) {
    int32_t scale[N];
    load_row(scales, row, scale);
    CUDAENC_UNROLL
    for (int i = 0; i < N; i++) v[i] = (v[i] * scale[i] + (1 << shift >> 1)) >> shift;
}
// Row `row` of scaled levels to a column of the residual, in 1/64.
template <int N>
DEVICE void inverse_lines(int32_t (&v)[N]) {
    both_ways(v, [](auto &line) __attribute__((always_inline)) { inverse_transform(line); });
}
// From a column of the residual to samples; returns the sum of squared differences to the source.
template <int N>
DEVICE uint32_t reconstruct_column(int32_t (&v)[N], const int32_t (&prediction)[N], const int32_t (&source)[N],
                                   int32_t most) {
    uint32_t squares = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < N; i++) {
        v[i] = clip(((v[i] + 32) >> 6) + prediction[i], most);
        const int32_t d = v[i] - source[i];
        squares += static_cast<uint32_t>(d * d);
    }
    return squares;
}
template <int N>
DEVICE void store_column(const int32_t (&v)[N], uint16_t *to, int pitch) {
    CUDAENC_UNROLL
    for (int i = 0; i < N; i++) to[i * pitch] = static_cast<uint16_t>(v[i]);
}

}  // namespace cudaenc::h264
