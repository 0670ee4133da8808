// SPDX-License-Identifier: LGPL-2.1-or-later
// Transforms, quantisation and reconstruction of macroblocks side by side (H.264, 8.5, inverted).
// No includes: see lane_coder.h.
#pragma once

namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE {

namespace {

// Of a lane's quantiser. Without scaling lists frequencies repeat (8.5.9): every 2 of a 4x4, every 4 of an 8x8 block.
//
// A level is (magnitude multiplier + rounding) >> shift. Rounding is a multiple of 2^b, so the lower b bits of the
// product do not matter, and no number needs more than 16 bits: the product is shifted by b, then by what is left, as a
// multiplication by a power of two.
template <int N>
struct LaneQuantiser {
    static constexpr int period = N / 2;
    // b, at kLeastLaneQp: that of AC, where rounding is 3 2^(shift - 3), and of DC, where it is 25 2^(shift - 6). Of 16
    // bits, those that multipliers and magnitudes have to spare make up for the rest. With 10 bits QP' is 12 more: the
    // shift is 2 more, and magnitudes are four times as large.
    static constexpr int dropped(int depth) { return depth > 8 ? 16 : N == 4 ? 14 : 15; }
    static constexpr int dropped_of_dc(int depth) { return (N == 4 ? 11 : 12) + depth - 8; }
    static constexpr int dc_multiplier_bits = 2;
    static constexpr int dc_bits(int depth) { return 16 - dropped_of_dc(depth) - dc_multiplier_bits; }
    Lanes multipliers[period * period], round, power, dc_multiplier, dc_round, dc_power;
    Lanes scales[period * period];
    static constexpr int place(int x, int y) { return y % period * period + x % period; }
};

// That of DC which is transformed again.
struct LaneDcQuantiser {
    Wide multiplier, shift, round, scale;
};

template <int N>
[[gnu::always_inline]] inline void set_quantiser(LaneQuantiser<N> &to, int lane, const Quantiser &q, int depth) {
    using Q = LaneQuantiser<N>;
    constexpr int period = Q::period;
    const int32_t shift = N == 4 ? q.shift_4x4 : q.shift_8x8;
    const int32_t round = kRounding.ac << (shift - 8), dc_round = kRounding.dc << (shift - 8);
    for (int i = 0; i < period * period; i++) {
        const int at = i / period * N + i % period;
        const int32_t multiplier = N == 4 ? q.multiplier_4x4[at] : q.multiplier_8x8[at];
        to.multipliers[i][lane] = static_cast<int16_t>(multiplier << (16 - Q::dropped(depth)));
        if (!i) to.dc_multiplier[lane] = static_cast<int16_t>(multiplier << Q::dc_multiplier_bits);
        // (scale level + 32) >> 6 of an 8x8 block: scales are multiples of 64 from kLeastLaneQp on.
        to.scales[i][lane] = static_cast<int16_t>(N == 4 ? q.scale_4x4[at] : q.scale_8x8[at] >> 6);
    }
    to.round[lane] = static_cast<int16_t>(round >> Q::dropped(depth));
    to.power[lane] = static_cast<int16_t>(1 << (16 + Q::dropped(depth) - shift));
    to.dc_round[lane] = static_cast<int16_t>(dc_round >> Q::dropped_of_dc(depth));
    to.dc_power[lane] = static_cast<int16_t>(1 << (16 + Q::dropped_of_dc(depth) - shift));
}
inline void set_quantiser(LaneDcQuantiser &to, int lane, const Quantiser &q) {
    lane_of(to.multiplier, lane) = q.multiplier_4x4[0];
    lane_of(to.shift, lane) = q.shift_4x4;
    lane_of(to.round, lane) = kRounding.dc << (q.shift_4x4 - 8);
    lane_of(to.scale, lane) = q.dc_scale;
}

// Sums of levels: of magnitudes, and how many are nonzero.
struct Sums {
    Lanes magnitudes{}, nonzero{};
};

// A transform of vectors, of a line.
template <int N, class Transform>
[[gnu::always_inline]] inline void apply(Lanes (&v)[N], const Transform &transform) {
    transform(v);
}
template <int N, class Transform>
[[gnu::always_inline]] inline void apply(Wide (&v)[N], const Transform &transform) {
    Ints even[N], odd[N];
#pragma GCC unroll 8
    for (int i = 0; i < N; i++) even[i] = v[i].even, odd[i] = v[i].odd;
    transform(even);
    transform(odd);
#pragma GCC unroll 8
    for (int i = 0; i < N; i++) v[i] = {even[i], odd[i]};
}
constexpr auto forward_line = [](auto &v) __attribute__((always_inline)) { forward_transform(v); };
constexpr auto inverse_line = [](auto &v) __attribute__((always_inline)) { inverse_transform(v); };
constexpr auto hadamard_line = [](auto &v) __attribute__((always_inline)) { hadamard_transform(v); };

// From a residual to coefficients: use(y, row). With 10 bits columns fit 16 bits, 8 times 1023, and rows do not.
template <int N, int Depth, class Use>
[[gnu::always_inline]] inline void forward(Lanes (&v)[N * N], const Use &use) {
    for (int x = 0; x < N; x++) {
        Lanes line[N];
        get_line<N>(v + x, N, line);
        apply(line, forward_line);
        put_line<N>(line, v + x, N);
    }
    for (int y = 0; y < N; y++) {
        Number<Depth> line[N];
#pragma GCC unroll 8
        for (int x = 0; x < N; x++) line[x] = convert<Number<Depth>>(v[N * y + x]);
        apply(line, forward_line);
        use(y, line);
    }
}
// Of a coefficient: the magnitude, below 2^16, and what has its sign and is not 0 where it is not.
[[gnu::always_inline]] inline Lanes magnitude_of(const Lanes &c) { return magnitude(c); }
[[gnu::always_inline]] inline Lanes magnitude_of(const Wide &c) { return narrow(magnitude(c)); }
[[gnu::always_inline]] inline Lanes sign_of(const Lanes &c) { return c; }
[[gnu::always_inline]] inline Lanes sign_of(const Wide &c) { return narrow(c >> 16) | all(1); }

// Levels of row y of coefficients. Returns whether any lane has any: high frequencies seldom do. Dc: DC is among them;
// else its level is 0.
template <int N, int Depth, bool Dc>
[[gnu::always_inline]] inline bool quantise_row(const Number<Depth> (&c)[N], const LaneQuantiser<N> &q, int y,
                                                Lanes *levels, Sums &sums) {
    Shorts products[N], all_bits{};  // rounded: below 2^16
    for (int x = 0; x < N; x++) {
        products[x] = (Shorts)multiply_high(magnitude_of(c[x]), q.multipliers[q.place(x, y)]) + (Shorts)q.round;
        all_bits |= products[x];
    }
    if (y && !any_of(multiply_high((Lanes)all_bits, q.power))) {  // a shift
        for (int x = 0; x < N; x++) levels[x] = Lanes{};
        return false;
    }
    if (!y && Dc)
        products[0] =
            (Shorts)multiply_high(magnitude_of(c[0]) << q.dc_bits(Depth), q.dc_multiplier) + (Shorts)q.dc_round;
    for (int x = 0; x < N; x++) {
        if (!y && !x && !Dc) {
            levels[0] = Lanes{};
            continue;
        }
        const Lanes level = multiply_high((Lanes)products[x], y || x ? q.power : q.dc_power);
        sums.magnitudes += level;
        sums.nonzero += smaller(level, all(1));
        levels[x] = with_sign_of(sign_of(c[x]), level);
    }
    return true;
}
template <int Depth>
[[gnu::always_inline]] inline Number<Depth> scale(const Lanes &level, const Lanes &scale) {
    if constexpr (Depth == 8)
        return level * scale;
    else
        return multiply(level, scale);
}

// Squared errors, a column of a block at a time.
template <int Depth>
struct Squares {
    Wide sum{};
    template <int N>
    [[gnu::always_inline]] void add(const Lanes (&column)[N]) {
#pragma GCC unroll 8
        for (const Lanes &error : column) sum += multiply(error, error);
    }
    [[gnu::always_inline]] Wide total() const { return sum; }
};
// The sum modulo 2^16, and the upper bytes of sums of four. Quantisation changes no coefficient by more than 5/8 of a
// step. So these four of a column of 8 are 62,900 together at most, at QP 39, and 16 bits hold them.
static_assert(kMostLaneQp <= 39 && kRounding.ac >= 3 * 256 / 8);
template <>
struct Squares<8> {
    Shorts sums{}, highs{};
    template <int N>
    [[gnu::always_inline]] void add(const Lanes (&column)[N]) {
        constexpr int rows[2][4] = {{0, N == 8 ? 3 : 1, N == 8 ? 4 : 2, N - 1}, {1, 2, 5, 6}};
#pragma GCC unroll 2
        for (int i = 0; i < N / 4; i++) {
            Shorts four{};
#pragma GCC unroll 4
            for (const int y : rows[i]) four += (Shorts)column[y] * (Shorts)column[y];
            sums += four;
            highs += four >> 8;
        }
    }
    [[gnu::always_inline]] Wide total() const {
        return widen_unsigned((Lanes)highs) * 256 + widen_unsigned((Lanes)(sums - (highs << 8)));
    }
};

// A column from its residual.
template <int N, int Depth>
[[gnu::always_inline]] inline void reconstruct_column(const Lanes (&residual)[N], const Lanes *prediction,
                                                      const Lanes *source, int pitch, Lanes *to, int to_pitch,
                                                      Squares<Depth> &squares) {
    Lanes errors[N];
#pragma GCC unroll 8
    for (int y = 0; y < N; y++) {
        const Lanes r = residual[y] + prediction[y * pitch];
        const Lanes clipped = smaller(larger(r, Lanes{}), all((1 << Depth) - 1));
        to[y * to_pitch] = clipped;
        errors[y] = clipped - source[y * pitch];
    }
    squares.add(errors);
}
// From scaled levels, which it changes, to the reconstruction; returns the squared error. rows: bits of those that are
// not zero; the first one is.
template <int N, int Depth>
[[gnu::always_inline]] inline Wide reconstruct(Number<Depth> (&v)[N * N], uint32_t rows, const Lanes *prediction,
                                               const Lanes *source, int pitch, Lanes *to, int to_pitch) {
    v[0] = v[0] + 32;  // reaches all samples: rounds them
    for (int y = 0; y < N; y++) {
        if (!(rows >> y & 1)) continue;
        Number<Depth> line[N];
        get_line<N>(v + N * y, 1, line);
        apply(line, inverse_line);
        put_line<N>(line, v + N * y, 1);
    }
    Squares<Depth> squares;
    for (int x = 0; x < N; x++) {
        Number<Depth> line[N];
        get_line<N>(v + x, N, line);
        apply(line, inverse_line);
        Lanes residual[N];
#pragma GCC unroll 8
        for (int y = 0; y < N; y++) residual[y] = convert<Lanes>(line[y] >> 6);
        reconstruct_column<N>(residual, prediction + x, source + x, pitch, to + x, to_pitch, squares);
    }
    return squares.total();
}

// The same without levels.
template <int N, int Depth>
[[gnu::always_inline]] inline Wide keep_prediction(const Lanes (&prediction)[N * N], const Lanes (&source)[N * N],
                                                   Lanes (&to)[N * N]) {
    Squares<Depth> squares;
    for (int x = 0; x < N; x++) {
        Lanes errors[N];
#pragma GCC unroll 8
        for (int y = 0; y < N; y++) {
            const int i = N * y + x;
            to[i] = prediction[i];
            errors[y] = prediction[i] - source[i];
        }
        squares.add(errors);
    }
    return squares.total();
}

// ---- Blocks whose DC is coded apart.

// DC levels in place of `v`, and what they are scaled to. transform(v)
template <int Count, class Transform>
[[gnu::always_inline]] inline void code_dc(Wide (&v)[Count], const LaneDcQuantiser &q, int more_shift,
                                           const Transform &transform, Lanes *levels, Wide &bits, Wide &nonzero) {
    transform(v);
    const Wide shift = q.shift + more_shift;
    for (int i = 0; i < Count; i++) {
        const Wide sign = v[i] >> 31, magnitude_of_dc = magnitude(v[i]);
        Wide level;
        for (int k = 0; k < 2; k++) {  // products with 10 bits need all 32 bits
            const auto half = [k](const Wide &w) __attribute__((always_inline)) { return (Words)(k ? w.odd : w.even); };
            const Words product = half(magnitude_of_dc) * half(q.multiplier) + (half(q.round) << more_shift);
            (k ? level.odd : level.even) = (Ints)(product >> half(shift));
        }
        const Wide is_coded = all_wide(0) < level;
        bits += level - is_coded - is_coded;
        nonzero += all_wide(0) - is_coded;
        v[i] = {(level.even ^ sign.even) - sign.even, (level.odd ^ sign.odd) - sign.odd};
        levels[i] = narrow(v[i]);
    }
    transform(v);
}

// AC levels of a 4x4 block; returns the coefficient of DC.
template <int Depth>
[[gnu::always_inline]] inline Lanes code_ac(const Lanes *source, const Lanes *prediction, int pitch,
                                            const LaneQuantiser<4> &q, Lanes *levels, Sums &sums) {
    Lanes v[16];
    for (int i = 0; i < 16; i++) v[i] = source[i / 4 * pitch + i % 4] - prediction[i / 4 * pitch + i % 4];
    Lanes dc{};
    forward<4, Depth>(v, [&](int y, const Number<Depth>(&row)[4]) __attribute__((always_inline)) {
        if (!y) dc = convert<Lanes>(row[0]);  // 16 times 1023 at most
        quantise_row<4, Depth, false>(row, q, y, levels + 4 * y, sums);
    });
    return dc;
}
template <int Depth>
[[gnu::always_inline]] inline Wide reconstruct_ac(const Lanes *levels, bool any_ac, const Wide &dc,
                                                  const LaneQuantiser<4> &q, const Lanes *prediction,
                                                  const Lanes *source, int pitch, Lanes *to) {
    Number<Depth> scaled[16];
    scaled[0] = convert<Number<Depth>>(dc);
    if (!any_ac) {
        const Lanes r = convert<Lanes>((scaled[0] + 32) >> 6), residual[4] = {r, r, r, r};
        Squares<Depth> squares;
        for (int x = 0; x < 4; x++)
            reconstruct_column<4>(residual, prediction + x, source + x, pitch, to + x, pitch, squares);
        return squares.total();
    }
#pragma GCC unroll 16
    for (int k = 1; k < 16; k++) scaled[k] = scale<Depth>(levels[k], q.scales[q.place(k % 4, k / 4)]);
    return reconstruct<4, Depth>(scaled, 15, prediction, source, pitch, to, pitch);
}

}  // namespace

}  // namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE
