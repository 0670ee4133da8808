// SATDs of macroblocks side by side, and the modes they make likely: see rank_4x4() and LikelyModes.
// SPDX-License-Identifier: LGPL-2.1-or-later
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
// The rest of half the SATD, or of a quarter of an 8x8 block's, where columns are transformed.
template <int N, int Depth>
[[gnu::always_inline]] inline Wide half_satd(const Lanes (&columns)[N * N]) {
    Wide sum = all_wide(0);
    for (int y = 0; y < N; y++) {
        Lanes v[N];
        get_line<N>(columns + N * y, 1, v);
        butterflies<N, N / 2>(v);
        // 16 bits hold two magnitudes of 8x8 blocks with 10 bits, 32 times 1023 each, and four others.
        constexpr int held = N == 8 && Depth > 8 ? 2 : N / 2;
#pragma GCC unroll 4
        for (int i = 0; i < N / 2; i += held) {
            Shorts sums{};
#pragma GCC unroll 4
            for (int k = i; k < i + held; k++) sums += (Shorts)larger(magnitude(v[k]), magnitude(v[k + N / 2]));
            sum += widen_unsigned((Lanes)sums);
        }
    }
    return N == 8 ? sum >> 1 : sum;
}

// Adds half the SATDs of 4x4 blocks. prediction(x, y)
template <int Width, int Height, class Prediction>
[[gnu::always_inline]] inline Wide half_satds(const Lanes *source, const Prediction &prediction) {
    Wide sum = all_wide(0);
    for (int b = 0; b < Width * Height / 16; b++) {
        const int x0 = 4 * (b % (Width / 4)), y0 = 4 * (b / (Width / 4));
        Lanes d[16];
        for (int x = 0; x < 4; x++) {
            Lanes v[4];
#pragma GCC unroll 4
            for (int y = 0; y < 4; y++) v[y] = source[(y0 + y) * Width + x0 + x] - prediction(x0 + x, y0 + y);
            butterflies<4, 4>(v);
            put_line<4>(v, d + x, 4);
        }
        sum += half_satd<4, 10>(d);  // the same with 8 bits
    }
    return sum;
}

// ---- Ranking of source samples.

template <int N, int Depth, int Mode>
[[gnu::always_inline]] inline Wide satd_of_mode(LumaSamples &s, int x0, int y0, const Values<N> &values) {
    Lanes d[N * N];
#pragma GCC unroll 8
    for (int x = 0; x < N; x++) {
        Lanes v[N];
#pragma GCC unroll 8
        for (int y = 0; y < N; y++) v[y] = values[value_of<N>(Mode, N * y + x)] - *s.at(x0 + x, y0 + y);
        butterflies<N, N>(v);
        put_line<N>(v, d + x, N);
    }
    return half_satd<N, Depth>(d);
}

// Adds the SATDs of a component's modes.
template <int N, int Depth, size_t... Mode>
[[gnu::always_inline]] inline void add_satds(LumaSamples &s, int x0, int y0, const Neighbours &n, Wide (&satds)[kModes],
                                             std::index_sequence<Mode...>) {
    Values<N> values;
    make_values<N, Depth>(s, x0, y0, n, values);
    ((satds[Mode] += satd_of_mode<N, Depth, Mode>(s, x0, y0, values)), ...);
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
        add_satds<N, Depth>(components[i], x0, y0, n, satds, std::make_index_sequence<kModes>());
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

template <int Depth>
[[gnu::always_inline]] inline void rank_blocks(LumaSamples *s, int components, const Neighbours &n,
                                               const uint32_t *satd_lambdas, RankedModes *modes) {
    Wide satd_4x4 = all_wide(0), satd_8x8 = all_wide(0);
    for (int b = 0; b < 4; b++) {
        Lanes of_8x8;
        rank_block<8, Depth>(s, components, 8 * (b & 1), 8 * (b >> 1), neighbours_of_block<8>(n, b), of_8x8, satd_8x8);
        for (int i = 0; i < kLanes; i++) modes[i].of_8x8[b] = static_cast<uint16_t>(of_8x8[i]);
    }
    bool any_likely_4x4 = false;
    for (int i = 0; i < kLanes; i++) {
        modes[i].satd_4x4 = 0;
        modes[i].satd_8x8 = static_cast<uint32_t>(lane_of(satd_8x8, i));
        any_likely_4x4 |= modes[i].likely_types(satd_lambdas[i], true) == kAlso4x4;
    }
    if (!any_likely_4x4) return;
    Lanes ranked[16];
    for (int b = 0; b < 16; b++)
        rank_block<4, Depth>(s, components, 4 * luma_block_x(b), 4 * luma_block_y(b), neighbours_of_block<4>(n, b),
                             ranked[b], satd_4x4);
    to_rows(ranked, [&](int lane, const Row &row)
                        __attribute__((always_inline)) { std::memcpy(modes[lane].of_4x4, &row, sizeof row); });
    for (int i = 0; i < kLanes; i++) modes[i].satd_4x4 = static_cast<uint32_t>(lane_of(satd_4x4, i));
}

CUDAENC_LANE_FUNCTION void rank(const PictureFormat &format, const Sample *const (*first)[kMostLanes], ptrdiff_t stride,
                                const Available *available, const uint32_t *satd_lambdas, RankedModes *modes) {
    const int components = luma_components(format.chroma);
    LumaSamples s[3];
    for (int i = 0; i < components; i++) {
        const Sample *at[kLanes];
        std::copy_n(first[i], kLanes, at);
        load_neighbours<16, 16>(at, stride, available, s[i]);
        for (int y = 0; y < 16; y++) {
            Lanes row[16];
            load_row(at, y * stride, row);
            std::memcpy(s[i].at(0, y), row, sizeof row);
        }
    }
    const Neighbours n = neighbours_of(available);
    if (format.bit_depth == 8)
        rank_blocks<8>(s, components, n, satd_lambdas, modes);
    else
        rank_blocks<10>(s, components, n, satd_lambdas, modes);
}

}  // namespace

}  // namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE
