// Transforms, quantisation and reconstruction of macroblocks side by side (H.264, 8.5, inverted).
// SPDX-License-Identifier: LGPL-2.1-or-later
// No include guard, no includes: see lane_coder.h.

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
    // bits, those that multipliers and magnitudes have to spare make up for the rest.
    static constexpr int dropped = N == 4 ? 14 : 15, dropped_of_dc = N == 4 ? 11 : 12;
    static constexpr int multiplier_bits = 16 - dropped, dc_multiplier_bits = 2,
                         dc_bits = 16 - dropped_of_dc - dc_multiplier_bits;
    Lanes multipliers[period * period], round, power, dc_multiplier, dc_round, dc_power;
    Lanes scales[period * period];
    Wide hadamard_multiplier, shift, hadamard_round;  // of DC that is transformed again
    static constexpr int place(int x, int y) { return y % period * period + x % period; }
};

template <int N>
[[gnu::always_inline]] inline void set_quantiser(LaneQuantiser<N> &to, int lane, const Quantiser &q) {
    using Q = LaneQuantiser<N>;
    constexpr int period = Q::period;
    const int32_t shift = N == 4 ? q.shift_4x4 : q.shift_8x8;
    const int32_t round = kRounding.ac << (shift - 8), dc_round = kRounding.dc << (shift - 8);
    for (int i = 0; i < period * period; i++) {
        const int at = i / period * N + i % period;
        const int32_t multiplier = N == 4 ? q.multiplier_4x4[at] : q.multiplier_8x8[at];
        to.multipliers[i][lane] = static_cast<int16_t>(multiplier << Q::multiplier_bits);
        if (!i) {
            to.dc_multiplier[lane] = static_cast<int16_t>(multiplier << Q::dc_multiplier_bits);
            lane_of(to.hadamard_multiplier, lane) = multiplier;
        }
        // (scale level + 32) >> 6 of an 8x8 block: scales are multiples of 64 from kLeastLaneQp on.
        to.scales[i][lane] = static_cast<int16_t>(N == 4 ? q.scale_4x4[at] : q.scale_8x8[at] >> 6);
    }
    to.round[lane] = static_cast<int16_t>(round >> Q::dropped);
    to.power[lane] = static_cast<int16_t>(1 << (16 + Q::dropped - shift));
    to.dc_round[lane] = static_cast<int16_t>(dc_round >> Q::dropped_of_dc);
    to.dc_power[lane] = static_cast<int16_t>(1 << (16 + Q::dropped_of_dc - shift));
    lane_of(to.shift, lane) = shift;
    lane_of(to.hadamard_round, lane) = dc_round;
}

// Sums of levels: of magnitudes, and how many are nonzero.
struct Sums {
    Lanes magnitudes{}, nonzero{};
};

// From a residual to coefficients.
template <int N>
[[gnu::always_inline]] inline void forward(Lanes (&v)[N * N]) {
    for (int x = 0; x < N; x++) {
        Lanes line[N];
        get_line<N>(v + x, N, line);
        forward_transform(line);
        put_line<N>(line, v + x, N);
    }
    for (int y = 0; y < N; y++) {
        Lanes line[N];
        get_line<N>(v + N * y, 1, line);
        forward_transform(line);
        put_line<N>(line, v + N * y, 1);
    }
}
template <int N>
[[gnu::always_inline]] inline Lanes quantise(const Lanes &c, const LaneQuantiser<N> &q, int k, Sums &sums) {
    const Lanes product = k ? multiply_high(magnitude(c), q.multipliers[q.place(k % N, k / N)]) + q.round
                            : multiply_high(magnitude(c) << q.dc_bits, q.dc_multiplier) + q.dc_round;
    const Lanes level = multiply_high(product, k ? q.power : q.dc_power);
    sums.magnitudes += level;
    sums.nonzero -= level > 0;
    return with_sign_of(c, level);
}
// Sums of squares below 2^16, at most 256 of them.
struct Squares {
    Shorts sums{}, highs{};  // modulo 2^16; of squares >> 8
    [[gnu::always_inline]] void add(const Lanes &error) {
        const Shorts square = (Shorts)error * (Shorts)error;
        sums += square;
        highs += square >> 8;
    }
    [[gnu::always_inline]] Wide total() const {
        return widen_unsigned((Lanes)highs) * 256 + widen_unsigned((Lanes)(sums - (highs << 8)));
    }
};
// From scaled levels to the reconstruction; returns the squared error.
template <int N>
[[gnu::always_inline]] inline Wide reconstruct(Lanes (&v)[N * N], const Lanes *prediction, const Lanes *source,
                                               int pitch, Lanes *to, int to_pitch) {
    for (int y = 0; y < N; y++) {
        Lanes line[N];
        get_line<N>(v + N * y, 1, line);
        inverse_transform(line);
        put_line<N>(line, v + N * y, 1);
    }
    Squares squares;
    for (int x = 0; x < N; x++) {
        Lanes line[N];
        get_line<N>(v + x, N, line);
        inverse_transform(line);
#pragma GCC unroll 8
        for (int y = 0; y < N; y++) {
            const Lanes r = ((line[y] + 32) >> 6) + prediction[y * pitch + x];
            const Lanes clipped = smaller(larger(r, Lanes{}), all(255)), error = clipped - source[y * pitch + x];
            to[y * to_pitch + x] = clipped;
            squares.add(error);
        }
    }
    return squares.total();
}

// The same without levels.
template <int N>
[[gnu::always_inline]] inline Wide keep_prediction(const Lanes (&prediction)[N * N], const Lanes (&source)[N * N],
                                                   Lanes (&to)[N * N]) {
    Squares squares;
#pragma GCC unroll 16
    for (int i = 0; i < N * N; i++) {
        const Lanes error = prediction[i] - source[i];
        to[i] = prediction[i];
        squares.add(error);
    }
    return squares.total();
}

// ---- Blocks whose DC is coded apart.

// DC levels in place of `v`, and what they are scaled to. transform(v)
template <int Count, class Transform>
[[gnu::always_inline]] inline void code_dc(Wide (&v)[Count], const LaneQuantiser<4> &q, int more_shift,
                                           const Transform &transform, Lanes *levels, Wide &bits, Wide &nonzero) {
    transform(v);
    const Wide shift = q.shift + more_shift;
    for (int i = 0; i < Count; i++) {
        const Wide sign = v[i] >> 31;
        const Wide magnitude = {(v[i].even ^ sign.even) - sign.even, (v[i].odd ^ sign.odd) - sign.odd};
        Wide level = magnitude * q.hadamard_multiplier;
        for (int k = 0; k < 2; k++) {
            Ints &l = k ? level.odd : level.even;
            const Ints &s = k ? shift.odd : shift.even, &r = k ? q.hadamard_round.odd : q.hadamard_round.even;
            l = (l + (r << more_shift)) >> s;
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
[[gnu::always_inline]] inline Lanes code_ac(const Lanes *source, const Lanes *prediction, int pitch,
                                            const LaneQuantiser<4> &q, Lanes *levels, Sums &sums) {
    Lanes v[16];
    for (int i = 0; i < 16; i++) v[i] = source[i / 4 * pitch + i % 4] - prediction[i / 4 * pitch + i % 4];
    forward<4>(v);
    const Lanes dc = v[0];
    levels[0] = Lanes{};
#pragma GCC unroll 16
    for (int k = 1; k < 16; k++) levels[k] = quantise<4>(v[k], q, k, sums);
    return dc;
}
[[gnu::always_inline]] inline Wide reconstruct_ac(const Lanes *levels, const Lanes &dc, const LaneQuantiser<4> &q,
                                                  const Lanes *prediction, const Lanes *source, int pitch, Lanes *to) {
    Lanes scaled[16];
    scaled[0] = dc;
#pragma GCC unroll 16
    for (int k = 1; k < 16; k++) scaled[k] = levels[k] * q.scales[q.place(k % 4, k / 4)];
    return reconstruct<4>(scaled, prediction, source, pitch, to, pitch);
}

[[gnu::always_inline]] inline void hadamard(Wide (&v)[4]) {
    Ints even[4] = {v[0].even, v[1].even, v[2].even, v[3].even}, odd[4] = {v[0].odd, v[1].odd, v[2].odd, v[3].odd};
    hadamard_transform(even);
    hadamard_transform(odd);
    for (int i = 0; i < 4; i++) v[i] = {even[i], odd[i]};
}

}  // namespace

}  // namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE
