// SPDX-License-Identifier: LGPL-2.1-or-later
// Intra 4x4 and 8x8 of macroblocks side by side: a block of each, with the mode of the least estimated cost.
// No includes: see lane_coder.h.
#pragma once

namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE {

namespace {

// A component of a block as one of its modes. Returns the squared error.
template <int N, int Depth>
[[gnu::always_inline]] inline Wide try_mode(const Values<N> &values, const Lanes &mode, const Lanes (&source)[N * N],
                                            const LaneQuantiser<N> &q, Lanes (&levels)[N * N],
                                            Lanes (&reconstruction)[N * N], Sums &sums) {
    Lanes prediction[N * N], v[N * N];
    predict<N>(values, mode, prediction, std::make_index_sequence<N * N>());
#pragma GCC unroll 16
    for (int k = 0; k < N * N; k++) v[k] = source[k] - prediction[k];
    Number<Depth> scaled[N * N];
    uint32_t rows = 0;  // with levels
    forward<N, Depth>(v, [&](int y, const Number<Depth>(&row)[N]) __attribute__((always_inline)) {
        Lanes *const of_row = levels + N * y;
        const bool any = quantise_row<N, Depth, true>(row, q, y, of_row, sums);
        rows |= uint32_t{any} << y;
        for (int x = 0; x < N; x++)
            scaled[N * y + x] = any ? scale<Depth>(of_row[x], q.scales[q.place(x, y)]) : Number<Depth>{};
    });
    return any_of(sums.nonzero) ? reconstruct<N, Depth>(scaled, rows, prediction, source, N, reconstruction, N)
                                : keep_prediction<N, Depth>(prediction, source, reconstruction);
}

template <int N, int Components, int Depth>
[[gnu::always_inline]] inline void code_block(Work &w, Candidate &c, const LaneQuantiser<N> (&quantisers)[2], int b,
                                              const Lanes &ranked) {
    constexpr int parts = N == 4 ? 1 : 2;  // across
    const int column = N == 4 ? luma_block_x(b) : 2 * (b & 1), row = N == 4 ? luma_block_y(b) : 2 * (b >> 1);
    const int x0 = 4 * column, y0 = 4 * row;
    Values<N> values[Components];
    Lanes source[Components][N * N];
    const Neighbours neighbours = neighbours_of_block<N>(w.available, b);
#pragma GCC unroll 1
    for (int i = 0; i < Components; i++) {
        make_values<N, Depth>(w.luma[i], x0, y0, neighbours, values[i]);
        for (int y = 0; y < N; y++) std::memcpy(source[i] + N * y, w.source[i] + (y0 + y) * 16 + x0, N * sizeof(Lanes));
    }
    const Lanes least_mode = smaller(c.modes[1 + row][column], c.modes[row][1 + column]);
    const Lanes predicted = least_mode < 0 ? all(kDc) : least_mode;

    Lanes best_mode = predicted;
    Wide least = all_wide(INT32_MAX), best_distortion = all_wide(0), best_of_luma = all_wide(0);
    Sums best_sums{};
#pragma GCC unroll 1
    for (int rank = 0; rank <= kRankedModes; rank++) {
        const Lanes mode = rank ? (ranked >> 4 * (rank - 1)) & 15 : predicted;
        Lanes levels[Components][N * N], reconstruction[Components][N * N];
        Wide distortion = all_wide(0), of_luma = all_wide(0);
        Sums sums{};
#pragma GCC unroll 1
        for (int i = 0; i < Components; i++) {
            Sums of_component{};
            distortion += try_mode<N, Depth>(values[i], mode, source[i], quantisers[i ? 1 : 0], levels[i],
                                             reconstruction[i], of_component);
            if (!i) of_luma = distortion;
            sums.magnitudes += of_component.magnitudes;
            sums.nonzero += of_component.nonzero;
        }
        const Lanes bits = sums.magnitudes + sums.nonzero + sums.nonzero + (mode == predicted ? all(1) : all(3));
        const Wide cost = distortion * 8 + w.price * widen(bits);
        const Wide is_less = cost < least;
        const Lanes better = narrow(is_less);
        least = select(is_less, cost, least);
        best_distortion = select(is_less, distortion, best_distortion);
        if (Components > 1) best_of_luma = select(is_less, of_luma, best_of_luma);
        best_mode = better ? mode : best_mode;
        best_sums.magnitudes = better ? sums.magnitudes : best_sums.magnitudes;
        best_sums.nonzero = better ? sums.nonzero : best_sums.nonzero;
        for (int i = 0; i < Components; i++) {
            Lanes *const best_levels = c.levels[i] + N * N * b;
            for (int y = 0; y < N; y++) {
                const int first = N * y;
#pragma GCC unroll 8
                for (int k = first; k < first + N; k++) best_levels[k] = better ? levels[i][k] : best_levels[k];
                // Neighbours need the last row and the last column.
                Lanes *const best = w.luma[i].at(x0, y0 + y);
                for (int x = w.all_rows || y == N - 1 ? 0 : N - 1; x < N; x++)
                    best[x] = better ? reconstruction[i][first + x] : best[x];
            }
        }
    }
    c.distortion += best_distortion;
    c.of_luma += Components > 1 ? best_of_luma : best_distortion;
    c.bits += widen(best_sums.magnitudes + best_sums.nonzero + best_sums.nonzero);
    c.nonzero += widen(best_sums.nonzero);
    const Lanes quarter = all(1 << (N == 4 ? b / 4 : b));
    c.coded |= best_sums.nonzero > 0 ? quarter : Lanes{};
    c.other_modes -= best_mode != predicted;
    c.pred_modes[b] = best_mode == predicted  ? all(kPredictedMode)
                      : best_mode < predicted ? best_mode
                                              : best_mode - all(1);
    for (int i = 0; i < parts * parts; i++) c.modes[1 + row + i / parts][1 + column + i % parts] = best_mode;
}

}  // namespace

}  // namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE
