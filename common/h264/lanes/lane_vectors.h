// SPDX-License-Identifier: LGPL-2.1-or-later
// The vectors of lane_coder.h. A lane is a macroblock. Wide: numbers of 32 bits, those of even and of odd lanes. Row:
// 16 numbers of one lane.
// No includes: see lane_coder.h.
#pragma once

namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE {

namespace {

constexpr int kLanes = CUDAENC_LANES;

using Row = h264::Lanes;
using Lanes = int16_t __attribute__((vector_size(2 * kLanes)));
using Shorts = uint16_t __attribute__((vector_size(2 * kLanes)));
using Ints = int32_t __attribute__((vector_size(2 * kLanes)));
using Words = uint32_t __attribute__((vector_size(2 * kLanes)));

struct Wide {
    Ints even, odd;
    [[gnu::always_inline]] Wide operator+(const Wide &b) const { return {even + b.even, odd + b.odd}; }
    [[gnu::always_inline]] Wide operator-(const Wide &b) const { return {even - b.even, odd - b.odd}; }
    [[gnu::always_inline]] Wide operator*(const Wide &b) const { return {even * b.even, odd * b.odd}; }
    [[gnu::always_inline]] Wide operator+(int32_t b) const { return {even + b, odd + b}; }
    [[gnu::always_inline]] Wide operator*(int32_t b) const { return {even * b, odd * b}; }
    [[gnu::always_inline]] Wide operator>>(int b) const { return {even >> b, odd >> b}; }
    [[gnu::always_inline]] Wide operator>>(const Wide &b) const { return {even >> b.even, odd >> b.odd}; }
    [[gnu::always_inline]] Wide operator<(const Wide &b) const { return {even < b.even, odd < b.odd}; }
    [[gnu::always_inline]] Wide &operator+=(const Wide &b) {
        even += b.even, odd += b.odd;
        return *this;
    }
};
[[gnu::always_inline]] inline Wide widen(const Lanes &x) { return {(Ints)x << 16 >> 16, (Ints)x >> 16}; }
[[gnu::always_inline]] inline Wide widen_unsigned(const Lanes &x) { return {(Ints)x & 0xFFFF, (Ints)((Words)x >> 16)}; }
[[gnu::always_inline]] inline Lanes narrow(const Wide &x) { return (Lanes)((x.even & 0xFFFF) | (x.odd << 16)); }
// As numbers of another width.
template <class To, class From>
[[gnu::always_inline]] inline To convert(const From &x) {
    if constexpr (std::is_same_v<To, From>)
        return x;
    else if constexpr (std::is_same_v<To, Wide>)
        return widen(x);
    else
        return narrow(x);
}
// What holds a residual of so many bits while it is transformed.
template <int Depth>
using Number = std::conditional_t<Depth == 8, Lanes, Wide>;

[[gnu::always_inline]] inline Wide select(const Wide &mask, const Wide &a, const Wide &b) {
    return {mask.even ? a.even : b.even, mask.odd ? a.odd : b.odd};
}
[[gnu::always_inline]] inline Wide least_of(const Wide &a, const Wide &b) { return select(a < b, a, b); }
[[gnu::always_inline]] inline Wide most_of(const Wide &a, const Wide &b) { return select(a < b, b, a); }
[[gnu::always_inline]] inline int32_t &lane_of(Wide &w, int lane) {
    return reinterpret_cast<int32_t *>(lane % 2 ? &w.odd : &w.even)[lane / 2];
}
[[gnu::always_inline]] inline int32_t lane_of(const Wide &w, int lane) { return lane_of(const_cast<Wide &>(w), lane); }
[[gnu::always_inline]] inline Lanes all(int x) { return Lanes{} + static_cast<int16_t>(x); }
[[gnu::always_inline]] inline Wide all_wide(int32_t x) { return {Ints{} + x, Ints{} + x}; }
[[gnu::always_inline]] inline Lanes is(const Lanes &x, int value) { return x == all(value); }
[[gnu::always_inline]] inline Lanes magnitude(const Lanes &x) { return x < 0 ? -x : x; }
[[gnu::always_inline]] inline Wide magnitude(const Wide &x) {
    return {x.even < 0 ? -x.even : x.even, x.odd < 0 ? -x.odd : x.odd};
}
[[gnu::always_inline]] inline Lanes larger(const Lanes &a, const Lanes &b) { return a > b ? a : b; }
[[gnu::always_inline]] inline Lanes smaller(const Lanes &a, const Lanes &b) { return a < b ? a : b; }

#if CUDAENC_LANES == 32
[[gnu::always_inline]] inline bool any_of(const Lanes &x) { return _mm512_test_epi16_mask((__m512i)x, (__m512i)x); }
// The upper half of an unsigned product.
[[gnu::always_inline]] inline Lanes multiply_high(const Lanes &a, const Lanes &b) {
    return (Lanes)_mm512_mulhi_epu16((__m512i)a, (__m512i)b);
}
[[gnu::always_inline]] inline Wide multiply(const Lanes &a, const Lanes &b) {
    return {(Ints)_mm512_madd_epi16((__m512i)((Ints)a & 0xFFFF), (__m512i)b),
            (Ints)_mm512_madd_epi16((__m512i)((Ints)a & ~0xFFFF), (__m512i)b)};
}
[[gnu::always_inline]] inline Lanes with_sign_of(const Lanes &sign, const Lanes &x) {
    return (Lanes)_mm512_mask_sub_epi16((__m512i)x, _mm512_movepi16_mask((__m512i)sign), (__m512i)Lanes{}, (__m512i)x);
}
#elif CUDAENC_LANE_LEVEL >= 3
[[gnu::always_inline]] inline bool any_of(const Lanes &x) { return !_mm256_testz_si256((__m256i)x, (__m256i)x); }
[[gnu::always_inline]] inline Lanes multiply_high(const Lanes &a, const Lanes &b) {
    return (Lanes)_mm256_mulhi_epu16((__m256i)a, (__m256i)b);
}
[[gnu::always_inline]] inline Wide multiply(const Lanes &a, const Lanes &b) {
    return {(Ints)_mm256_madd_epi16((__m256i)((Ints)a & 0xFFFF), (__m256i)b),
            (Ints)_mm256_madd_epi16((__m256i)((Ints)a & ~0xFFFF), (__m256i)b)};
}
// 0 where sign is 0.
[[gnu::always_inline]] inline Lanes with_sign_of(const Lanes &sign, const Lanes &x) {
    return (Lanes)_mm256_sign_epi16((__m256i)x, (__m256i)sign);
}
#else
[[gnu::always_inline]] inline bool any_of(const Lanes &x) {
    const Longs words = (Longs)x;
    return (words[0] | words[1] | words[2] | words[3]) != 0;
}
[[gnu::always_inline]] inline Lanes multiply_high(const Lanes &a, const Lanes &b) {
    const Wide x = widen_unsigned(a), y = widen_unsigned(b);
    return narrow({(Ints)((Words)x.even * (Words)y.even >> 16), (Ints)((Words)x.odd * (Words)y.odd >> 16)});
}
[[gnu::always_inline]] inline Wide multiply(const Lanes &a, const Lanes &b) { return widen(a) * widen(b); }
[[gnu::always_inline]] inline Lanes with_sign_of(const Lanes &sign, const Lanes &x) {
    const Lanes negative = sign >> 15;
    return (x ^ negative) - negative;
}
#endif

// Number i of lane j becomes number j of lane i, of 16 lanes, or of twice as many side by side.
#if CUDAENC_LANES == 32
// The lane whose row is a half of vector i.
constexpr int lane_of_row(int i, int half) { return i % 8 + 8 * half + i / 8 * 16; }
[[gnu::always_inline]] inline void transpose_eighths(Lanes (&m)[16]) {
    __m512i t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi16((__m512i)m[i], (__m512i)m[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi16((__m512i)m[i], (__m512i)m[i + 1]);
    }
    __m512i u[16];
    for (int i = 0; i < 16; i += 4)
        for (int k = 0; k < 2; k++) {
            u[i + 2 * k] = _mm512_unpacklo_epi32(t[i + k], t[i + 2 + k]);
            u[i + 2 * k + 1] = _mm512_unpackhi_epi32(t[i + k], t[i + 2 + k]);
        }
    for (int i = 0; i < 16; i += 8)
        for (int k = 0; k < 4; k++) {
            m[i + 2 * k] = (Lanes)_mm512_unpacklo_epi64(u[i + k], u[i + 4 + k]);
            m[i + 2 * k + 1] = (Lanes)_mm512_unpackhi_epi64(u[i + k], u[i + 4 + k]);
        }
}
// From rows of 16 numbers to vectors. row_of(lane)
template <class RowOf>
[[gnu::always_inline]] inline void from_rows(Lanes (&m)[16], const RowOf &row_of) {
    for (int i = 0; i < 16; i++) {
        const __m512i low = _mm512_castsi256_si512((__m256i)row_of(lane_of_row(i, 0)));
        m[i] = (Lanes)_mm512_inserti64x4(low, (__m256i)row_of(lane_of_row(i, 1)), 1);
    }
    transpose_eighths(m);
    for (int k = 0; k < 8; k++) {
        const __m512i a = (__m512i)m[k], b = (__m512i)m[8 + k];
        m[k] = (Lanes)_mm512_shuffle_i64x2(a, b, 0x88);
        m[8 + k] = (Lanes)_mm512_shuffle_i64x2(a, b, 0xDD);
    }
}
// And back. use(lane, row)
template <class Use>
[[gnu::always_inline]] inline void to_rows(Lanes (&m)[16], const Use &use) {
    transpose_eighths(m);
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                  second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    for (int i = 0; i < 16; i++) {
        const __m512i rows =
            _mm512_permutex2var_epi64((__m512i)m[i % 8], i < 8 ? first : second, (__m512i)m[8 + i % 8]);
        use(lane_of_row(i, 0), (Row)_mm512_castsi512_si256(rows));
        use(lane_of_row(i, 1), (Row)_mm512_extracti64x4_epi64(rows, 1));
    }
}
#else
[[gnu::always_inline]] inline void transpose(Lanes (&m)[16]) {
    Lanes t[16];
    for (int i = 0; i < 16; i += 2) {  // pairs
        t[i] = __builtin_shufflevector(m[i], m[i + 1], 0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27);
        t[i + 1] = __builtin_shufflevector(m[i], m[i + 1], 4, 20, 5, 21, 6, 22, 7, 23, 12, 28, 13, 29, 14, 30, 15, 31);
    }
    for (int i = 0; i < 16; i += 4)  // fours
        for (int k = 0; k < 2; k++) {
            const Ints a = (Ints)t[i + k], b = (Ints)t[i + 2 + k];
            m[i + 2 * k] = (Lanes)__builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
            m[i + 2 * k + 1] = (Lanes)__builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
        }
    for (int i = 0; i < 16; i += 8)  // eights
        for (int k = 0; k < 4; k++) {
            const Longs a = (Longs)m[i + k], b = (Longs)m[i + 4 + k];
            t[i + 2 * k] = (Lanes)__builtin_shufflevector(a, b, 0, 4, 2, 6);
            t[i + 2 * k + 1] = (Lanes)__builtin_shufflevector(a, b, 1, 5, 3, 7);
        }
    for (int k = 0; k < 8; k++) {
        const Longs a = (Longs)t[k], b = (Longs)t[8 + k];
        m[k] = (Lanes)__builtin_shufflevector(a, b, 0, 1, 4, 5);
        m[8 + k] = (Lanes)__builtin_shufflevector(a, b, 2, 3, 6, 7);
    }
}
// From rows of 16 numbers to vectors. row_of(lane)
template <class RowOf>
[[gnu::always_inline]] inline void from_rows(Lanes (&m)[16], const RowOf &row_of) {
    for (int i = 0; i < 16; i++) m[i] = row_of(i);
    transpose(m);
}
// And back. use(lane, row)
template <class Use>
[[gnu::always_inline]] inline void to_rows(Lanes (&m)[16], const Use &use) {
    transpose(m);
    for (int i = 0; i < 16; i++) use(i, m[i]);
}
#endif

}  // namespace

}  // namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE
