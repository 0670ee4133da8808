// Intra 4x4 and 8x8 of macroblocks side by side: a block of each, with the mode of the least estimated cost.
// SPDX-License-Identifier: LGPL-2.1-or-later
// No include guard, no includes: see lane_coder.h.

namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE {

namespace {

template <int N>
[[gnu::always_inline]] inline void code_block(Work &w, Candidate &c, const LaneQuantiser<N> &q, int b,
                                              const Lanes &ranked) {
    constexpr int parts = N == 4 ? 1 : 2;  // across
    const int column = N == 4 ? luma_block_x(b) : 2 * (b & 1), row = N == 4 ? luma_block_y(b) : 2 * (b >> 1);
    const int x0 = 4 * column, y0 = 4 * row;
    Values<N> values;
    make_values<N>(w.luma, x0, y0, neighbours_of_block<N>(w.available, b), values);
    Lanes source[N * N];
    for (int y = 0; y < N; y++) std::memcpy(source + N * y, w.source + (y0 + y) * 16 + x0, N * sizeof *source);
    const Lanes least_mode = smaller(c.modes[1 + row][column], c.modes[row][1 + column]);
    const Lanes predicted = least_mode < 0 ? all(kDc) : least_mode;

    Lanes *const levels = c.levels + N * N * b;
    Lanes best_mode = predicted;
    Wide least = all_wide(INT32_MAX), best_distortion = all_wide(0);
    Sums best_sums{};
#pragma GCC unroll 1
    for (int i = 0; i <= kRankedModes; i++) {
        const Lanes mode = i ? (ranked >> 4 * (i - 1)) & 15 : predicted;
        Lanes prediction[N * N], v[N * N], reconstruction[N * N];
        predict<N>(values, mode, prediction, std::make_index_sequence<N * N>());
#pragma GCC unroll 16
        for (int k = 0; k < N * N; k++) v[k] = source[k] - prediction[k];
        forward<N>(v);
        Sums sums{};
        Lanes scaled[N * N];
        for (int y = 0; y < N; y++)
#pragma GCC unroll 8
            for (int x = 0; x < N; x++) {
                const int k = N * y + x, place = LaneQuantiser<N>::place(x, y);
                v[k] = quantise<N>(v[k], q, k, sums);
                scaled[k] = v[k] * q.scales[place];
            }
        const Wide distortion = any_of(sums.nonzero) ? reconstruct<N>(scaled, prediction, source, N, reconstruction, N)
                                                     : keep_prediction<N>(prediction, source, reconstruction);
        const Lanes bits = sums.magnitudes + sums.nonzero + sums.nonzero + (mode == predicted ? all(1) : all(3));
        const Wide cost = distortion * 8 + w.price * widen(bits);
        const Wide is_less = cost < least;
        const Lanes better = narrow(is_less);
        least = select(is_less, cost, least);
        best_distortion = select(is_less, distortion, best_distortion);
        best_mode = better ? mode : best_mode;
        best_sums.magnitudes = better ? sums.magnitudes : best_sums.magnitudes;
        best_sums.nonzero = better ? sums.nonzero : best_sums.nonzero;
        for (int y = 0; y < N; y++) {
            Lanes *const best = w.luma.at(x0, y0 + y);
#pragma GCC unroll 8
            for (int x = 0; x < N; x++) {
                const int k = N * y + x;
                levels[k] = better ? v[k] : levels[k];
                best[x] = better ? reconstruction[k] : best[x];
            }
        }
    }
    c.distortion += best_distortion;
    c.bits += widen(best_sums.magnitudes + best_sums.nonzero + best_sums.nonzero);
    c.nonzero += widen(best_sums.nonzero);
    const Lanes quarter = all(1 << (N == 4 ? b / 4 : b));
    c.coded |= best_sums.nonzero > 0 ? quarter : Lanes{};
    c.pred_modes[b] = best_mode == predicted  ? all(kPredictedMode)
                      : best_mode < predicted ? best_mode
                                              : best_mode - all(1);
    for (int i = 0; i < parts * parts; i++) c.modes[1 + row + i / parts][1 + column + i % parts] = best_mode;
}

}  // namespace

}  // namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE
