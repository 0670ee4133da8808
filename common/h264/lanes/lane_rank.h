// SPDX-License-Identifier: LGPL-2.1-or-later
// SATDs of macroblocks side by side, and the modes they make likely: see rank_4x4() and LikelyModes.
// No includes: see lane_coder.h.
#pragma once

namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE {

namespace {

// Butterflies of numbers whose indices differ in bits below Bits.
template <int N, int Bits>
[[gnu::always_inline]] inline void butterflies(Lanes (&v)[N]) {
#pragma GCC unroll 4
    for (int bit = 1; bit < Bits; bit *= 2)
#pragma GCC unroll 8
        for (int i = 0; i < N; i++)
            if (!(i & bit)) {
                const Lanes a = v[i], b = v[i + bit];
                v[i] = a + b;
                v[i + bit] = a - b;
            }
}
template <int N, class T>
[[gnu::always_inline]] inline void get_line(const T *from, int step, T (&v)[N]) {
#pragma GCC unroll 8
    for (int i = 0; i < N; i++) v[i] = from[i * step];
}
template <int N, class T>
[[gnu::always_inline]] inline void put_line(const T (&v)[N], T *to, int step) {
#pragma GCC unroll 8
    for (int i = 0; i < N; i++) to[i * step] = v[i];
}
// Adds magnitudes. 16 bits hold two of 8x8 blocks with 10 bits, 32 times 1023 each, and eight others.
template <int N, int Depth, int Count>
[[gnu::always_inline]] inline Wide sum_of(const Lanes (&magnitudes)[Count]) {
    constexpr int held = std::min(Count, N == 8 && Depth > 8 ? 2 : 8);
    static_assert(Count % held == 0);
    Wide sum = all_wide(0);
#pragma GCC unroll 4
    for (int i = 0; i < Count; i += held) {
        Shorts sums{};
#pragma GCC unroll 8
        for (int k = i; k < i + held; k++) sums += (Shorts)magnitudes[k];
        sum += widen_unsigned((Lanes)sums);
    }
    return sum;
}
// The last butterfly gives two numbers, whose magnitudes are twice the larger one of these.
[[gnu::always_inline]] inline Lanes half_sum(const Lanes &a, const Lanes &b) {
    return larger(magnitude(a), magnitude(b));
}

template <int N>
[[gnu::always_inline]] inline void transform_column(const Lanes (&column)[N], Lanes *to) {
    Lanes v[N];
    get_line<N>(column, 1, v);
    butterflies<N, N>(v);
    put_line<N>(v, to, N);
}

// The source's transform but for the last butterfly of its rows, less that of a prediction, gives a residual's.
// Vertical prediction has numbers in the first row alone, horizontal prediction in the two columns that make the first
// one, the mean in what is in both.
template <int N, int Depth>
struct SourceTransform {
    Lanes v[N * N];
    Wide rest, of_row, of_column;  // sums: of neither, of the rest of the first row, and of the first column

    // get(x, y)
    template <class Get>
    [[gnu::always_inline]] explicit SourceTransform(const Get &get) {
        for (int x = 0; x < N; x++) {
            Lanes column[N];
#pragma GCC unroll 8
            for (int y = 0; y < N; y++) column[y] = get(x, y);
            transform_column<N>(column, v + x);
        }
        rest = of_row = all_wide(0);
        Lanes first[N];
        for (int y = 0; y < N; y++) {
            Lanes line[N], sums[N / 2];
            get_line<N>(v + N * y, 1, line);
            butterflies<N, N / 2>(line);
            put_line<N>(line, v + N * y, 1);
#pragma GCC unroll 4
            for (int k = 0; k < N / 2; k++) sums[k] = half_sum(line[k], line[k + N / 2]);
            first[y] = sums[0];
            sums[0] = Lanes{};
            (y ? rest : of_row) += sum_of<N, Depth>(sums);
        }
        first[0] = Lanes{};
        of_column = sum_of<N, Depth>(first);
    }
    [[gnu::always_inline]] static Wide half(const Wide &sum) { return N == 8 ? sum >> 1 : sum; }
    [[gnu::always_inline]] Wide vertical(const Lanes (&above)[N]) const {
        Lanes line[N], sums[N / 2];
        get_line<N>(above, 1, line);
        butterflies<N, N / 2>(line);
#pragma GCC unroll 4
        for (int k = 0; k < N / 2; k++)
            sums[k] = half_sum(line[k] * int16_t{N} - v[k], line[k + N / 2] * int16_t{N} - v[k + N / 2]);
        return half(rest + of_column + sum_of<N, Depth>(sums));
    }
    [[gnu::always_inline]] Wide horizontal(const Lanes (&left)[N]) const {
        Lanes line[N], sums[N];
        get_line<N>(left, 1, line);
        butterflies<N, N>(line);
#pragma GCC unroll 8
        for (int y = 0; y < N; y++) {
            const Lanes l = line[y] * int16_t{N / 2};
            sums[y] = half_sum(l - v[N * y], l - v[N * y + N / 2]);
        }
        return half(rest + of_row + sum_of<N, Depth>(sums));
    }
    [[gnu::always_inline]] Wide mean(const Lanes &mean) const {
        const Lanes m = mean * int16_t{N * N / 2};
        const Lanes sums[1] = {half_sum(m - v[0], m - v[N / 2])};
        return half(rest + of_row + of_column + sum_of<N, Depth>(sums));
    }
    // Of a prediction, get(x, y). Columns that have samples in common have sums in common, which the compiler finds.
    template <class Get>
    [[gnu::always_inline]] Wide satd(const Get &get) const {
        Lanes columns[N * N];
#pragma GCC unroll 8
        for (int x = 0; x < N; x++) {
            Lanes column[N];
#pragma GCC unroll 8
            for (int y = 0; y < N; y++) column[y] = get(x, y);
            transform_column<N>(column, columns + x);
        }
        Wide sum = all_wide(0);
        for (int y = 0; y < N; y += 2) {
            Lanes sums[N];
#pragma GCC unroll 2
            for (int i = 0; i < 2; i++) {
                const int first = N * (y + i);
                Lanes line[N];
                get_line<N>(columns + first, 1, line);
                butterflies<N, N / 2>(line);
#pragma GCC unroll 4
                for (int k = 0; k < N / 2; k++)
                    sums[i * N / 2 + k] = half_sum(line[k] - v[first + k], line[k + N / 2] - v[first + k + N / 2]);
            }
            sum += sum_of<N, Depth>(sums);
        }
        return half(sum);
    }
};

// Adds half the SATDs of 4x4 blocks as predicted by the line above, the line to the left, a mean and a plane.
// mean_of_block(x, y)
enum SharedMode { kFromAbove, kFromLeft, kMean, kPlane, kSharedModes };
template <int Width, int Height, int Pitch = Width, class S, class MeanOfBlock>
[[gnu::always_inline]] inline void add_half_satds(const Lanes *source, S &s, const MeanOfBlock &mean_of_block,
                                                  const Lanes *plane, Wide (&satds)[kSharedModes]) {
#pragma GCC unroll 1
    for (int b = 0; b < Width * Height / 16; b++) {
        const int x0 = 4 * (b % (Width / 4)), y0 = 4 * (b / (Width / 4));
        const Lanes *const at = source + y0 * Pitch + x0;
        const SourceTransform<4, 10> t(
            [&](int x, int y) __attribute__((always_inline)) { return at[Pitch * y + x]; });  // the same with 8 bits
        Lanes above[4], left[4];
        get_line<4>(s.at(x0, -1), 1, above);
        get_line<4>(s.at(-1, y0), S::pitch, left);
        satds[kFromAbove] += t.vertical(above);
        satds[kFromLeft] += t.horizontal(left);
        satds[kMean] += t.mean(mean_of_block(x0 / 4, y0 / 4));
        satds[kPlane] +=
            t.satd([&](int x, int y) __attribute__((always_inline)) { return plane[(y0 + y) * Width + x0 + x]; });
    }
}

// ---- Ranking of source samples.

// Of a mode from kDc + 1 on.
template <int N, int Depth, int Mode>
[[gnu::always_inline]] inline Wide satd_of_mode(const SourceTransform<N, Depth> &t, const Values<N> &values) {
    return t.satd([&](int x, int y) __attribute__((always_inline)) { return values[value_of<N>(Mode, N * y + x)]; });
}

// Adds the SATDs of a component's modes. Mode: those from kDc + 1 on.
template <int N, int Depth, size_t... Mode>
[[gnu::always_inline]] inline void add_satds(LumaSamples &s, int x0, int y0, const Neighbours &n, Wide (&satds)[kModes],
                                             std::index_sequence<Mode...>) {
    Values<N> values;
    make_values<N, Depth>(s, x0, y0, n, values);
    const SourceTransform<N, Depth> t([&](int x, int y)
                                          __attribute__((always_inline)) { return *s.at(x0 + x, y0 + y); });
    Lanes above[N], left[N];
#pragma GCC unroll 8
    for (int i = 0; i < N; i++) above[i] = values[N + 1 + i], left[i] = values[N - 1 - i];
    satds[kVertical] += t.vertical(above);
    satds[kHorizontal] += t.horizontal(left);
    satds[kDc] += t.mean(values[neighbours_in_line(N)]);
    ((satds[kDc + 1 + Mode] += satd_of_mode<N, Depth, kDc + 1 + Mode>(t, values)), ...);
}

template <int N, int Depth>
[[gnu::always_inline]] inline void rank_block(LumaSamples *components, int count, int x0, int y0, const Neighbours &n,
                                              Lanes &ranked, Wide &sum) {
    constexpr int32_t kNone = INT32_MAX;
    Wide satds[kModes], keys[kRankedModes];
    for (Wide &s : satds) s = all_wide(0);
    for (Wide &k : keys) k = all_wide(kNone);
#pragma GCC unroll 1
    for (int i = 0; i < count; i++)
        add_satds<N, Depth>(components[i], x0, y0, n, satds, std::make_index_sequence<kModes - kDc - 1>());
    const auto add = [&](int mode, const Lanes &available) __attribute__((always_inline)) {
        Wide key = select(widen(available), satds[mode] * 16 + mode, all_wide(kNone));
        for (Wide &k : keys) {
            const Wide less = least_of(key, k);
            key = most_of(key, k);
            k = less;
        }
    };
    add(kVertical, n.above);
    add(kHorizontal, n.left);
    add(kDc, all(-1));
    add(kDownLeft, n.above);
    add(kDownRight, n.corner);
    add(kVerticalRight, n.corner);
    add(kHorizontalDown, n.corner);
    add(kVerticalLeft, n.above);
    add(kHorizontalUp, n.left);
    sum += keys[0] >> 4;
    Wide packed = all_wide(0);
    for (int i = kRankedModes - 1; i >= 0; i--) {
        const Wide k = select(keys[i] < all_wide(kNone), keys[i], keys[0]);
        packed = packed * 16 + Wide{k.even & 15, k.odd & 15};
    }
    ranked = narrow(packed);
}

// Ranks NxN blocks from `next` on, as long as the sum of a lane is below its limit. Masks of those that are.
template <int N, int Depth>
[[gnu::always_inline]] inline Lanes rank_blocks(LumaSamples *s, int components, const Neighbours &n, const Wide &limits,
                                                int &next, Lanes (&ranked)[256 / (N * N)], Wide &sum) {
    for (; next < 256 / (N * N) && any_of(narrow(sum < limits)); next++) {
        const int x = N == 4 ? luma_block_x(next) : next & 1, y = N == 4 ? luma_block_y(next) : next >> 1;
        rank_block<N, Depth>(s, components, N * x, N * y, neighbours_of_block<N>(n, next), ranked[next], sum);
    }
    return narrow(sum < limits);
}

// The least half SATD of Intra 16x16.
template <int Depth>
[[gnu::always_inline]] inline Wide least_16x16(LumaSamples *s, int components, const Neighbours &n) {
    Wide satds[kSharedModes] = {all_wide(0), all_wide(0), all_wide(0), all_wide(0)};
#pragma GCC unroll 1
    for (int i = 0; i < components; i++) {
        Lanes mean, plane[256];
        predict_16x16<Depth>(s[i], n, mean, plane);
        add_half_satds<16, 16, LumaSamples::pitch>(
            s[i].at(0, 0), s[i], [&](int, int) __attribute__((always_inline)) { return mean; }, plane, satds);
    }
    const auto where = [](const Lanes &available, const Wide &satd) __attribute__((always_inline)) {
        return select(widen(available), satd, all_wide(INT32_MAX));
    };
    return least_of(least_of(where(n.above, satds[kFromAbove]), where(n.left, satds[kFromLeft])),
                    least_of(where(n.corner, satds[kPlane]), satds[kMean]));
}

template <int Depth>
[[gnu::always_inline]] inline uint32_t rank_types(LumaSamples *s, int components, bool transform_8x8,
                                                  const Neighbours &n, const uint32_t *satd_lambdas,
                                                  const SatdLimits *limits, RankedModes *modes) {
    const Wide always = all_wide(INT32_MAX);
    Wide limits_8x8 = always, limits_4x4 = always;
    Lanes below{};
    if (limits) {
        Wide limits_16x16;
        for (int i = 0; i < kLanes; i++) {
            const auto number = [](uint32_t limit) {
                return static_cast<int32_t>(std::min<uint32_t>(limit, INT32_MAX));
            };
            lane_of(limits_16x16, i) = number(limits[i].of_16x16);
            lane_of(limits_8x8, i) = number(limits[i].of_8x8);
            lane_of(limits_4x4, i) = number(limits[i].of_4x4);
        }
        const Wide less = least_16x16<Depth>(s, components, n) < limits_16x16;
        limits_8x8 = select(less, always, limits_8x8);
        below = narrow(less);
    }
    Lanes of_8x8[4], of_4x4[16];
    Wide satd_8x8 = all_wide(0), satd_4x4 = all_wide(0);
    int next_8x8 = 0, next_4x4 = 0;
    below |= rank_blocks<8, Depth>(s, components, n, limits_8x8, next_8x8, of_8x8, satd_8x8);
    for (int i = 0; i < kLanes; i++) {
        if (!below[i]) continue;
        const bool unlikely =
            transform_8x8 && RankedModes::unlikely_4x4(static_cast<uint32_t>(lane_of(satd_8x8, i)), satd_lambdas[i]);
        lane_of(limits_4x4, i) = unlikely ? 0 : INT32_MAX;
    }
    below |= rank_blocks<4, Depth>(s, components, n, limits_4x4, next_4x4, of_4x4, satd_4x4);
    if (!any_of(below)) return 0;
    rank_blocks<8, Depth>(s, components, n, always, next_8x8, of_8x8, satd_8x8);
    uint32_t lanes = 0;
    for (int i = 0; i < kLanes; i++) {
        lanes |= static_cast<uint32_t>(below[i] & 1) << i;
        for (int b = 0; b < 4; b++) modes[i].of_8x8[b] = static_cast<uint16_t>(of_8x8[b][i]);
        modes[i].satd_8x8 = static_cast<uint32_t>(lane_of(satd_8x8, i));
        modes[i].satd_4x4 = next_4x4 == 16 ? static_cast<uint32_t>(lane_of(satd_4x4, i)) : 0;
    }
    if (next_4x4 == 16)
        to_rows(of_4x4, [&](int lane, const Row &row)
                            __attribute__((always_inline)) { std::memcpy(modes[lane].of_4x4, &row, sizeof row); });
    return lanes;
}

CUDAENC_LANE_FUNCTION uint32_t rank(const PictureFormat &format, const Sample *const (*first)[kMostLanes],
                                    ptrdiff_t stride, const Available *available, const uint32_t *satd_lambdas,
                                    const SatdLimits *limits, RankedModes *modes) {
    const int components = luma_components(format.chroma);
    LumaSamples s[3];
    for (int i = 0; i < components; i++) {
        const Sample *at[kLanes];
        std::copy_n(first[i], kLanes, at);
        load_above<16>(at, stride, available, s[i]);
        for (int y = 0; y < 16; y++) {
            Lanes row[16];
            load_row(at, y * stride, row);
            std::memcpy(s[i].at(0, y), row, sizeof row);
            Lanes &left = *s[i].at(-1, y);
            for (int k = 0; k < kLanes; k++) left[k] = static_cast<int16_t>(at[k][y * stride - available[k].left]);
        }
    }
    const Neighbours n = neighbours_of(available);
    if (format.bit_depth == 8)
        return rank_types<8>(s, components, format.transform_8x8, n, satd_lambdas, limits, modes);
    return rank_types<10>(s, components, format.transform_8x8, n, satd_lambdas, limits, modes);
}

}  // namespace

}  // namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE
