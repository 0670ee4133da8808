// What macroblock_lanes.cpp compiles for several levels of x86-64: CUDAENC_LANE_LEVEL is 4 or 3, where the compiler's
// intrinsics of it are there, or 0, in a namespace of its own. SPDX-License-Identifier: LGPL-2.1-or-later
// No include guard, no includes.

namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE {

namespace {

#if CUDAENC_LANE_LEVEL == 4
constexpr int kLanes = 32;
#else
constexpr int kLanes = 16;
#endif

// ---- Vectors. A lane is a macroblock. Wide: numbers of 32 bits, those of even and of odd lanes. Row: 16 numbers of
// one lane.

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
[[gnu::always_inline]] inline Wide select(const Wide &mask, const Wide &a, const Wide &b) {
    return {mask.even ? a.even : b.even, mask.odd ? a.odd : b.odd};
}
[[gnu::always_inline]] inline Wide least_of(const Wide &a, const Wide &b) { return select(a < b, a, b); }
[[gnu::always_inline]] inline Wide most_of(const Wide &a, const Wide &b) { return select(a < b, b, a); }
[[gnu::always_inline]] inline int32_t &lane_of(Wide &w, int lane) {
    return reinterpret_cast<int32_t *>(lane % 2 ? &w.odd : &w.even)[lane / 2];
}
[[gnu::always_inline]] inline Lanes all(int x) { return Lanes{} + static_cast<int16_t>(x); }
[[gnu::always_inline]] inline Wide all_wide(int32_t x) { return {Ints{} + x, Ints{} + x}; }
[[gnu::always_inline]] inline Lanes is(const Lanes &x, int value) { return x == all(value); }
[[gnu::always_inline]] inline Lanes magnitude(const Lanes &x) { return x < 0 ? -x : x; }
[[gnu::always_inline]] inline Lanes larger(const Lanes &a, const Lanes &b) { return a > b ? a : b; }
[[gnu::always_inline]] inline Lanes smaller(const Lanes &a, const Lanes &b) { return a < b ? a : b; }

#if CUDAENC_LANE_LEVEL == 4
[[gnu::always_inline]] inline bool any_of(const Lanes &x) { return _mm512_test_epi16_mask((__m512i)x, (__m512i)x); }
// The upper half of an unsigned product.
[[gnu::always_inline]] inline Lanes multiply_high(const Lanes &a, const Lanes &b) {
    return (Lanes)_mm512_mulhi_epu16((__m512i)a, (__m512i)b);
}
[[gnu::always_inline]] inline Lanes with_sign_of(const Lanes &sign, const Lanes &x) {
    return (Lanes)_mm512_mask_sub_epi16((__m512i)x, _mm512_movepi16_mask((__m512i)sign), (__m512i)Lanes{}, (__m512i)x);
}
#elif CUDAENC_LANE_LEVEL == 3
[[gnu::always_inline]] inline bool any_of(const Lanes &x) { return !_mm256_testz_si256((__m256i)x, (__m256i)x); }
[[gnu::always_inline]] inline Lanes multiply_high(const Lanes &a, const Lanes &b) {
    return (Lanes)_mm256_mulhi_epu16((__m256i)a, (__m256i)b);
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
[[gnu::always_inline]] inline Lanes with_sign_of(const Lanes &sign, const Lanes &x) {
    const Lanes negative = sign >> 15;
    return (x ^ negative) - negative;
}
#endif

// Number i of lane j becomes number j of lane i, of 16 lanes, or of twice as many side by side.
#if CUDAENC_LANE_LEVEL == 4
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

// ---- Samples with their neighbours: from column -1 and row -1 on.

template <int Width, int Height, int Right>
struct Samples {
    static constexpr int pitch = 1 + Width + Right;
    Lanes lanes[pitch * (1 + Height)];
    [[gnu::always_inline]] Lanes *at(int x, int y) { return lanes + (y + 1) * pitch + x + 1; }
};
using LumaSamples = Samples<16, 16, 8>;
using ChromaSamples = Samples<8, 8, 0>;

// Masks of neighbours.
struct Neighbours {
    Lanes left, above, above_right, corner;
};
[[gnu::always_inline]] inline Neighbours neighbours_of(const Available *available) {
    Neighbours n;
    for (int i = 0; i < kLanes; i++) {
        n.left[i] = available[i].left ? -1 : 0;
        n.above[i] = available[i].above ? -1 : 0;
        n.above_right[i] = available[i].above_right ? -1 : 0;
        n.corner[i] = available[i].corner() ? -1 : 0;
    }
    return n;
}
template <int N>
[[gnu::always_inline]] inline Neighbours neighbours_of_block(const Neighbours &n, int b) {
    const auto either = [](const Lanes &mask, bool always) { return always ? all(-1) : mask; };
    constexpr uint32_t above_right = N == 4 ? kAboveRight4x4 : kAboveRight8x8;
    const bool left = N == 4 ? b & 5 : b & 1, above = N == 4 ? b & 10 : b & 2;
    Neighbours of_block;
    of_block.left = either(n.left, left);
    of_block.above = either(n.above, above);
    of_block.above_right = b == (N == 4 ? 5 : 1) ? n.above_right : all(above_right >> b & 1 ? -1 : 0);
    of_block.corner = of_block.left & of_block.above;
    return of_block;
}

// Rows of 16 samples of each lane to Lanes.
[[gnu::always_inline]] inline void load_row(const Sample *const (&at)[kLanes], ptrdiff_t offset, Lanes (&row)[16]) {
    from_rows(row, [&](int lane) __attribute__((always_inline)) {
        Row r;
        std::memcpy(&r, at[lane] + offset, sizeof r);
        return r;
    });
}
template <int Width>
[[gnu::always_inline]] inline void load_source(const Sample *const (&at)[kLanes], ptrdiff_t stride, Lanes *to) {
    Lanes rows[16];
    for (int y = 0; y < Width; y += 16 / Width) {
        if constexpr (Width == 16) {
            load_row(at, y * stride, rows);
        } else {
            from_rows(rows, [&](int lane) __attribute__((always_inline)) {
                Half a, b;
                std::memcpy(&a, at[lane] + y * stride, sizeof a);
                std::memcpy(&b, at[lane] + (y + 1) * stride, sizeof b);
                return join(a, b);
            });
        }
        std::memcpy(to + y * Width, rows, sizeof rows);
    }
}
// Those above, to the left and in the corner. Where they are missing any number is.
template <int Width, class S>
[[gnu::always_inline]] inline void load_neighbours(const Sample *const (&at)[kLanes], ptrdiff_t stride,
                                                   const Available *available, S &s) {
    const Sample *above[kLanes];
    alignas(Lanes) int16_t left[17][kLanes];  // the corner first
    for (int i = 0; i < kLanes; i++) {
        above[i] = available[i].above ? at[i] - stride : at[i];
        const Sample *const to_the_left = available[i].left ? at[i] - 1 : at[i];
        left[0][i] = static_cast<int16_t>(available[i].corner() ? at[i][-stride - 1] : 0);
        for (int y = 0; y < Width; y++) left[1 + y][i] = static_cast<int16_t>(to_the_left[y * stride]);
    }
    Lanes row[16];
    load_row(above, 0, row);
    std::memcpy(s.at(0, -1), row, sizeof(Lanes) * Width);
    if constexpr (Width == 16) {
        load_row(above, 16, row);
        std::memcpy(s.at(16, -1), row, sizeof(Lanes) * 8);
    }
    for (int y = -1; y < Width; y++) std::memcpy(s.at(-1, y), left[1 + y], sizeof(Lanes));
}

// ---- Predictions: the values of intra_lines.h.

template <int N>
using Values = Lanes[3 * line_pitch(N)];

template <int N>
[[gnu::always_inline]] inline Lanes mean_of(const Lanes &left, const Lanes &above, const Neighbours &n) {
    // Sums of N neighbours each, 0 where they are missing.
    const Lanes both = n.left & n.above, sum = left + above;
    constexpr int shift = N == 4 ? 2 : N == 8 ? 3 : 4;
    const Lanes two = (sum + all(N)) >> (shift + 1), one = (sum + all(N / 2)) >> shift;
    return both ? two : (n.left | n.above) ? one : all(128);
}

template <int N, class S>
[[gnu::always_inline]] inline void make_values(S &s, int x0, int y0, const Neighbours &n, Values<N> &values) {
    constexpr int count = neighbours_in_line(N), pitch = line_pitch(N);
    Lanes e[count];
    const Lanes first_above = *s.at(x0, y0 - 1), first_left = n.left & *s.at(x0 - 1, y0);
    for (int i = 0; i < N; i++) {
        e[N - 1 - i] = n.left ? *s.at(x0 - 1, y0 + i) : n.above & first_above;
        e[N + 1 + i] = n.above ? *s.at(x0 + i, y0 - 1) : first_left;
    }
    for (int i = 0; i < N; i++) e[2 * N + 1 + i] = (n.above & n.above_right) ? *s.at(x0 + N + i, y0 - 1) : e[2 * N];
    e[N] = n.corner ? *s.at(x0 - 1, y0 - 1) : n.above ? first_above : first_left;
    if constexpr (N == 8) {  // 8.3.2.2.1
        Lanes before = e[0];
        for (int i = 0; i < count; i++) {
            const Lanes here = e[i];
            const Lanes after = i == count - 1 ? here : i == N - 1 ? (n.corner ? e[N] : here) : e[i + 1];
            e[i] = filter(before, here, after);
            before = here;
        }
    }
    Lanes left{}, above{};
    for (int i = 0; i < N; i++) left += e[i], above += e[N + 1 + i];
    values[count] = mean_of<N>(left & n.left, above & n.above, n);
    for (int i = 0; i < count; i++) {
        const Lanes before = e[i ? i - 1 : 0], after = e[i < count - 1 ? i + 1 : i];
        values[i] = e[i];
        values[pitch + i] = filter(e[i], after);
        values[2 * pitch + i] = filter(before, e[i], after);
    }
}

// The value of sample i, in raster order.
template <int N>
constexpr int value_of(int mode, int i) {
    return kPredictedValues<N>[static_cast<size_t>(mode * N * N + i % N * N + i / N)];
}

// ---- SATD, see rank_4x4().

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
template <int N>
[[gnu::always_inline]] inline void get_line(const Lanes *from, int step, Lanes (&v)[N]) {
#pragma GCC unroll 8
    for (int i = 0; i < N; i++) v[i] = from[i * step];
}
template <int N>
[[gnu::always_inline]] inline void put_line(const Lanes (&v)[N], Lanes *to, int step) {
#pragma GCC unroll 8
    for (int i = 0; i < N; i++) to[i * step] = v[i];
}
// The rest of half the SATD, or of a quarter of an 8x8 block's, where columns are transformed.
template <int N>
[[gnu::always_inline]] inline Wide half_satd(const Lanes (&columns)[N * N]) {
    Wide sum = all_wide(0);
    for (int y = 0; y < N; y++) {
        Lanes v[N], sums{};
        get_line<N>(columns + N * y, 1, v);
        butterflies<N, N / 2>(v);
#pragma GCC unroll 4
        for (int i = 0; i < N / 2; i++) sums += larger(magnitude(v[i]), magnitude(v[i + N / 2]));
        sum += widen(sums);
    }
    return N == 8 ? sum >> 1 : sum;
}

// ---- Ranking, see LikelyModes.

template <int N, int Mode>
[[gnu::always_inline]] inline Wide rank_mode(LumaSamples &s, int x0, int y0, const Values<N> &values) {
    Lanes d[N * N];
#pragma GCC unroll 8
    for (int x = 0; x < N; x++) {
        Lanes v[N];
#pragma GCC unroll 8
        for (int y = 0; y < N; y++) v[y] = values[value_of<N>(Mode, N * y + x)] - *s.at(x0 + x, y0 + y);
        butterflies<N, N>(v);
        put_line<N>(v, d + x, N);
    }
    return half_satd<N>(d) * 16 + Mode;
}

template <int N>
[[gnu::always_inline]] inline void rank_block(LumaSamples &s, int x0, int y0, const Neighbours &n, Lanes &ranked,
                                              Wide &satds) {
    constexpr int32_t kNone = INT32_MAX;
    Values<N> values;
    make_values<N>(s, x0, y0, n, values);
    Wide keys[kRankedModes];
    for (Wide &k : keys) k = all_wide(kNone);
    const auto add = [&](const Wide &of_mode, const Lanes &available) __attribute__((always_inline)) {
        Wide key = select(widen(available), of_mode, all_wide(kNone));
        for (Wide &k : keys) {
            const Wide less = least_of(key, k);
            key = most_of(key, k);
            k = less;
        }
    };
    add(rank_mode<N, kVertical>(s, x0, y0, values), n.above);
    add(rank_mode<N, kHorizontal>(s, x0, y0, values), n.left);
    add(rank_mode<N, kDc>(s, x0, y0, values), all(-1));
    add(rank_mode<N, kDownLeft>(s, x0, y0, values), n.above);
    add(rank_mode<N, kDownRight>(s, x0, y0, values), n.corner);
    add(rank_mode<N, kVerticalRight>(s, x0, y0, values), n.corner);
    add(rank_mode<N, kHorizontalDown>(s, x0, y0, values), n.corner);
    add(rank_mode<N, kVerticalLeft>(s, x0, y0, values), n.above);
    add(rank_mode<N, kHorizontalUp>(s, x0, y0, values), n.left);
    satds += keys[0] >> 4;
    Wide packed = all_wide(0);
    for (int i = kRankedModes - 1; i >= 0; i--) {
        const Wide k = select(keys[i] < all_wide(kNone), keys[i], keys[0]);
        packed = packed * 16 + Wide{k.even & 15, k.odd & 15};
    }
    ranked = narrow(packed);
}

CUDAENC_LANE_FUNCTION void rank(const Sample *const *first, ptrdiff_t stride, const Available *available,
                                const uint32_t *satd_lambdas, RankedModes *modes) {
    const Sample *at[kLanes];
    std::copy_n(first, kLanes, at);
    LumaSamples s;
    load_neighbours<16>(at, stride, available, s);
    for (int y = 0; y < 16; y++) {
        Lanes row[16];
        load_row(at, y * stride, row);
        std::memcpy(s.at(0, y), row, sizeof row);
    }
    const Neighbours n = neighbours_of(available);
    Wide satd_4x4 = all_wide(0), satd_8x8 = all_wide(0);
    for (int b = 0; b < 4; b++) {
        Lanes of_8x8;
        rank_block<8>(s, 8 * (b & 1), 8 * (b >> 1), neighbours_of_block<8>(n, b), of_8x8, satd_8x8);
        for (int i = 0; i < kLanes; i++) modes[i].of_8x8[b] = static_cast<uint16_t>(of_8x8[i]);
    }
    bool any_likely_4x4 = false;
    for (int i = 0; i < kLanes; i++) {
        modes[i].satd_4x4 = 0;
        modes[i].satd_8x8 = static_cast<uint32_t>(lane_of(satd_8x8, i));
        any_likely_4x4 |= modes[i].likely_4x4(satd_lambdas[i]);
    }
    if (!any_likely_4x4) return;
    Lanes ranked[16];
    for (int b = 0; b < 16; b++)
        rank_block<4>(s, 4 * luma_block_x(b), 4 * luma_block_y(b), neighbours_of_block<4>(n, b), ranked[b], satd_4x4);
    to_rows(ranked, [&](int lane, const Row &row)
                        __attribute__((always_inline)) { std::memcpy(modes[lane].of_4x4, &row, sizeof row); });
    for (int i = 0; i < kLanes; i++) modes[i].satd_4x4 = static_cast<uint32_t>(lane_of(satd_4x4, i));
}

// ---- Coding

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

// A macroblock as one of its types.
struct Candidate {
    Lanes levels[17 * 16], reconstruction[256];
    Lanes pred_modes[16];            // the syntax; Intra16x16PredMode
    Lanes modes[5][5];               // of 4x4 blocks, with neighbours
    Lanes coded;                     // bits of coded_block_pattern
    Wide distortion, bits, nonzero;  // see LevelSums
};

struct Work {
    CodedFormat coded;
    LumaSamples luma;
    ChromaSamples chroma[2];
    Lanes source[256], chroma_source[2][64];
    Neighbours available;
    LaneQuantiser<4> quantiser_4x4, chroma_quantiser;
    LaneQuantiser<8> quantiser_8x8;
    Wide dc_scale, chroma_dc_scale;
    Wide price, satd_lambda;
    int qps[kLanes];  // of these tables
    Candidate candidates[3];
    Lanes ranked_4x4[16], ranked_8x8[4];
    Lanes chroma_mode, chroma_coded;
    Lanes chroma_levels[9 * 16];  // DC first
    Lanes chroma_reconstruction[2][64];
    Wide chroma_bits, chroma_nonzero;
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

// ---- Intra 4x4 and 8x8

// The sample that each lane's mode predicts, of Count modes from Mode on. bits: masks of the bits of modes.
template <int N, int I, int Mode, int Count>
[[gnu::always_inline]] inline Lanes predict_sample(const Values<N> &values, const Lanes (&bits)[4]) {
    if constexpr (Count == 1) {
        return values[value_of<N>(Mode, I)];
    } else {
        constexpr int bit = Count > 8 ? 3 : Count > 4 ? 2 : Count > 2 ? 1 : 0, half = 1 << bit;
        const Lanes lower = predict_sample<N, I, Mode, half>(values, bits);
        const Lanes upper = predict_sample<N, I, Mode + half, Count - half>(values, bits);
        return bits[bit] ? upper : lower;
    }
}
template <int N, size_t... I>
[[gnu::always_inline]] inline void predict(const Values<N> &values, const Lanes &mode, Lanes (&prediction)[N * N],
                                           std::index_sequence<I...>) {
    Lanes bits[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) bits[i] = (mode & all(1 << i)) != 0;
    ((prediction[I] = predict_sample<N, I, 0, kModes>(values, bits)), ...);
}

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

[[gnu::always_inline]] inline void begin(Candidate &c) {
    c.coded = Lanes{};
    c.distortion = c.bits = c.nonzero = all_wide(0);
    for (Lanes &m : c.pred_modes) m = Lanes{};
}
[[gnu::always_inline]] inline void keep_reconstruction(Work &w, Candidate &c) {
    for (int y = 0; y < 16; y++) std::memcpy(c.reconstruction + 16 * y, w.luma.at(0, y), 16 * sizeof(Lanes));
}

// ---- Intra 16x16 and chroma

// b or c of the plane prediction: samples of a line from the corner on.
template <int Size>
[[gnu::always_inline]] inline Lanes slope(const Lanes *line, int step) {
    Wide sum = all_wide(0);
    for (int i = 0; i < Size / 2; i++)
        sum += widen(line[(Size / 2 + 1 + i) * step] - line[(Size / 2 - 1 - i) * step]) * (i + 1);
    return narrow((sum * (Size == 16 ? 5 : 34) + 32) >> 6);
}
template <int Size, class S>
[[gnu::always_inline]] inline void predict_plane(S &s, Lanes *prediction) {
    const Lanes b = slope<Size>(s.at(-1, -1), 1), c = slope<Size>(s.at(-1, -1), S::pitch);
    const Lanes a = (*s.at(-1, Size - 1) + *s.at(Size - 1, -1) + 1) * 16;
    Lanes row = a - (b + c) * all(Size / 2 - 1);
    for (int y = 0; y < Size; y++, row += c) {
        Lanes p = row;
        for (int x = 0; x < Size; x++, p += b) prediction[Size * y + x] = smaller(larger(p >> 5, Lanes{}), all(255));
    }
}

// Adds half the SATDs of 4x4 blocks. prediction(x, y)
template <int Size, class Prediction>
[[gnu::always_inline]] inline Wide half_satds(const Lanes *source, const Prediction &prediction) {
    Wide sum = all_wide(0);
    for (int b = 0; b < Size * Size / 16; b++) {
        const int x0 = 4 * (b % (Size / 4)), y0 = 4 * (b / (Size / 4));
        Lanes d[16];
        for (int x = 0; x < 4; x++) {
            Lanes v[4];
#pragma GCC unroll 4
            for (int y = 0; y < 4; y++) v[y] = source[(y0 + y) * Size + x0 + x] - prediction(x0 + x, y0 + y);
            butterflies<4, 4>(v);
            put_line<4>(v, d + x, 4);
        }
        sum += half_satd<4>(d);
    }
    return sum;
}

inline int32_t ue_bits(int v) { return 2 * floor_log2(static_cast<uint32_t>(v + 1)) + 1; }

// The mode of the least cost, the first of equals: satd(mode), and masks of those that are available.
template <class Satd>
[[gnu::always_inline]] inline Lanes choose_mode(const Work &w, int first_value, const Lanes (&available)[4],
                                                const Satd &satd) {
    Wide least = all_wide(INT32_MAX);
    Lanes best{};
#pragma GCC unroll 4
    for (int mode = 0; mode < 4; mode++) {
        const Wide bits = (w.satd_lambda * ue_bits(first_value + mode)) >> 8;
        const Wide cost = select(widen(available[mode]), satd(mode) + bits, all_wide(INT32_MAX));
        const Wide less = cost < least;
        least = select(less, cost, least);
        best = narrow(less) ? all(mode) : best;
    }
    return best;
}

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

[[gnu::always_inline]] inline void code_16x16(Work &w, Candidate &c) {
    const Neighbours &n = w.available;
    Lanes left{}, above{}, plane[256], prediction[256];
    for (int i = 0; i < 16; i++) left += *w.luma.at(-1, i), above += *w.luma.at(i, -1);
    const Lanes mean = mean_of<16>(left & n.left, above & n.above, n);
    predict_plane<16>(w.luma, plane);
    const Lanes available[4] = {n.above, n.left, all(-1), n.corner};
    const Lanes mode = choose_mode(w, 1, available, [&](int m) __attribute__((always_inline)) {
        return half_satds<16>(w.source, [&](int x, int y) __attribute__((always_inline)) {
            return m == k16x16Vertical     ? *w.luma.at(x, -1)
                   : m == k16x16Horizontal ? *w.luma.at(-1, y)
                   : m == k16x16Dc         ? mean
                                           : plane[16 * y + x];
        });
    });
    const Lanes is_vertical = is(mode, k16x16Vertical), is_horizontal = is(mode, k16x16Horizontal),
                is_dc = is(mode, k16x16Dc);
    for (int y = 0; y < 16; y++) {
        const Lanes from_left = *w.luma.at(-1, y);
        for (int x = 0; x < 16; x++) {
            Lanes p = is_dc ? mean : plane[16 * y + x];
            p = is_horizontal ? from_left : p;
            prediction[16 * y + x] = is_vertical ? *w.luma.at(x, -1) : p;
        }
    }
    begin(c);
    c.pred_modes[0] = mode;
    Wide dc[16];
    Lanes coded{};
    for (int b = 0; b < 16; b++) {
        const int x = luma_block_x(b), y = luma_block_y(b), at = 64 * y + 4 * x;
        Sums sums{};
        dc[4 * y + x] = widen(code_ac(w.source + at, prediction + at, 16, w.quantiser_4x4, c.levels + 16 * b, sums));
        c.bits += widen(sums.magnitudes + sums.nonzero + sums.nonzero);
        c.nonzero += widen(sums.nonzero);
        coded |= sums.nonzero;
    }
    c.coded = coded != 0 ? all(15) : Lanes{};
    const auto transform = [](Wide(&v)[16]) __attribute__((always_inline)) {
        for (int x = 0; x < 4; x++) {
            Wide line[4] = {v[x], v[4 + x], v[8 + x], v[12 + x]};
            hadamard(line);
            for (int i = 0; i < 4; i++) v[4 * i + x] = line[i];
        }
        for (int y = 0; y < 4; y++) {
            Wide line[4] = {v[4 * y], v[4 * y + 1], v[4 * y + 2], v[4 * y + 3]};
            hadamard(line);
            for (int i = 0; i < 4; i++) v[4 * y + i] = line[i];
        }
    };
    code_dc(dc, w.quantiser_4x4, 2, transform, c.levels + 256, c.bits, c.nonzero);
    for (int b = 0; b < 16; b++) {
        const int x = luma_block_x(b), y = luma_block_y(b), at = 64 * y + 4 * x;
        const Lanes scaled = narrow((dc[4 * y + x] * w.dc_scale + 32) >> 6);
        c.distortion += reconstruct_ac(c.levels + 16 * b, scaled, w.quantiser_4x4, prediction + at, w.source + at, 16,
                                       c.reconstruction + at);
    }
}

[[gnu::always_inline]] inline void code_chroma(Work &w) {
    const Neighbours &n = w.available;
    const Lanes available[4] = {all(-1), n.left, n.above, n.corner};
    Lanes dcs[2][4], planes[2][64];
    for (int c = 0; c < 2; c++) {
        ChromaSamples &s = w.chroma[c];
        Lanes left[2]{}, above[2]{};
        for (int i = 0; i < 8; i++) left[i / 4] += *s.at(-1, i), above[i / 4] += *s.at(i, -1);
        const auto only = [](const Lanes &sum) __attribute__((always_inline)) { return (sum + 2) >> 2; };
        const auto mean = [&](int x, int y) __attribute__((always_inline)) {
            return mean_of<4>(left[y] & n.left, above[x] & n.above, n);
        };
        dcs[c][0] = mean(0, 0), dcs[c][3] = mean(1, 1);
        dcs[c][1] = n.above ? only(above[1]) : mean(1, 0);
        dcs[c][2] = n.left ? only(left[1]) : mean(0, 1);
        predict_plane<8>(s, planes[c]);
    }
    const Lanes mode = choose_mode(w, 0, available, [&](int m) __attribute__((always_inline)) {
        Wide sum = all_wide(0);
        for (int c = 0; c < 2; c++)
            sum += half_satds<8>(w.chroma_source[c], [&](int x, int y) __attribute__((always_inline)) {
                return m == kChromaVertical     ? *w.chroma[c].at(x, -1)
                       : m == kChromaHorizontal ? *w.chroma[c].at(-1, y)
                       : m == kChromaDc         ? dcs[c][y / 4 * 2 + x / 4]
                                                : planes[c][8 * y + x];
            });
        return sum;
    });
    w.chroma_mode = mode;
    const Lanes is_vertical = is(mode, kChromaVertical), is_horizontal = is(mode, kChromaHorizontal),
                is_dc = is(mode, kChromaDc);
    w.chroma_bits = w.chroma_nonzero = all_wide(0);
    Lanes any_ac{};
    Wide any_dc = all_wide(0);
    for (Lanes &l : w.chroma_levels) l = Lanes{};
    for (int c = 0; c < 2; c++) {
        Lanes prediction[64];
        for (int i = 0; i < 64; i++) {
            const int x = i % 8, y = i / 8;
            Lanes p = is_dc ? dcs[c][y / 4 * 2 + x / 4] : planes[c][i];
            p = is_horizontal ? *w.chroma[c].at(-1, y) : p;
            prediction[i] = is_vertical ? *w.chroma[c].at(x, -1) : p;
        }
        Wide dc[4];
        Lanes *const ac = w.chroma_levels + 16 + 64 * c;
        for (int b = 0; b < 4; b++) {
            const int at = b / 2 * 32 + b % 2 * 4;
            Sums sums{};
            dc[b] = widen(code_ac(w.chroma_source[c] + at, prediction + at, 8, w.chroma_quantiser, ac + 16 * b, sums));
            w.chroma_bits += widen(sums.magnitudes + sums.nonzero + sums.nonzero);
            w.chroma_nonzero += widen(sums.nonzero);
            any_ac |= sums.nonzero;
        }
        const auto transform = [](Wide(&v)[4]) __attribute__((always_inline)) {
            const Wide a = v[0] + v[1], b = v[0] - v[1], c = v[2] + v[3], d = v[2] - v[3];
            v[0] = a + c, v[1] = b + d, v[2] = a - c, v[3] = b - d;
        };
        code_dc(dc, w.chroma_quantiser, 1, transform, w.chroma_levels + 8 * c, w.chroma_bits, any_dc);
        for (int b = 0; b < 4; b++) {
            const int at = b / 2 * 32 + b % 2 * 4;
            reconstruct_ac(ac + 16 * b, narrow((dc[b] * w.chroma_dc_scale) >> 5), w.chroma_quantiser, prediction + at,
                           w.chroma_source[c] + at, 8, w.chroma_reconstruction[c] + at);
        }
    }
    w.chroma_coded = any_ac != 0 ? all(2) : narrow(all_wide(0) < any_dc) ? all(1) : Lanes{};
    w.chroma_nonzero += any_dc;
}

// ---- What leaves

// Rows of 16 numbers to each lane that has a pointer, `offset` from it on.
template <class Number>
[[gnu::always_inline]] inline void store_row(Lanes (&row)[16], Number *const (&to)[kLanes], ptrdiff_t offset) {
    to_rows(row, [&](int lane, const Row &r) __attribute__((always_inline)) {
        if (to[lane]) std::memcpy(to[lane] + offset, &r, sizeof r);
    });
}

CUDAENC_LANE_FUNCTION void code_lanes(Work &w, const Sample *const (&at)[kLanes], const Sample *const (&cb)[kLanes],
                                      const Sample *const (&cr)[kLanes], const ptrdiff_t (&strides)[3],
                                      const Available (&available)[kLanes], bool any_likely_4x4) {
    load_source<16>(at, strides[0], w.source);
    load_neighbours<16>(at, strides[0], available, w.luma);
    load_source<8>(cb, strides[1], w.chroma_source[0]);
    load_neighbours<8>(cb, strides[1], available, w.chroma[0]);
    load_source<8>(cr, strides[2], w.chroma_source[1]);
    load_neighbours<8>(cr, strides[2], available, w.chroma[1]);
    w.available = neighbours_of(available);
    code_chroma(w);
    code_16x16(w, w.candidates[static_cast<int>(MacroblockType::i16x16)]);
    Candidate &of_8x8 = w.candidates[static_cast<int>(MacroblockType::i8x8)];
    begin(of_8x8);
#pragma GCC unroll 1
    for (int b = 0; b < 4; b++) code_block<8>(w, of_8x8, w.quantiser_8x8, b, w.ranked_8x8[b]);
    keep_reconstruction(w, of_8x8);
    if (!any_likely_4x4) return;
    Candidate &of_4x4 = w.candidates[static_cast<int>(MacroblockType::i4x4)];
    begin(of_4x4);
#pragma GCC unroll 1
    for (int b = 0; b < 16; b++) code_block<4>(w, of_4x4, w.quantiser_4x4, b, w.ranked_4x4[b]);
    keep_reconstruction(w, of_4x4);
}

CUDAENC_LANE_FUNCTION void store_lanes(const Work &w, const Lanes &type, Sample *const (&at)[kLanes],
                                       Sample *const (&cb)[kLanes], Sample *const (&cr)[kLanes],
                                       const ptrdiff_t (&strides)[3], int16_t *const (&levels)[kLanes]) {
    const Lanes is_8x8 = type == static_cast<int16_t>(MacroblockType::i8x8);
    const Lanes is_16x16 = type == static_cast<int16_t>(MacroblockType::i16x16);
    const Candidate *const c = w.candidates;
    Lanes row[16];
    for (int y = 0; y < 16; y++) {
        for (int x = 0; x < 16; x++) {
            const int i = 16 * y + x;
            const Lanes p = is_8x8 ? c[1].reconstruction[i] : c[0].reconstruction[i];
            row[x] = is_16x16 ? c[2].reconstruction[i] : p;
        }
        store_row(row, at, y * strides[0]);
    }
    for (int b = 0; b < 17; b++) {
        for (int k = 0; k < 16; k++) {
            const int i = 16 * b + k;
            const Lanes l = b == 16 ? Lanes{} : is_8x8 ? c[1].levels[i] : c[0].levels[i];
            row[k] = is_16x16 ? c[2].levels[i] : l;
        }
        store_row(row, levels, 16 * b);
    }
    for (int b = 0; b < 9; b++) {
        std::memcpy(row, w.chroma_levels + 16 * b, sizeof row);
        store_row(row, levels, 16 * (kChromaDcBlock + b));
    }
    for (int k = 0; k < 2; k++)
        for (int y = 0; y < 8; y += 2) {
            std::memcpy(row, w.chroma_reconstruction[k] + 8 * y, sizeof row);
            to_rows(row, [&](int lane, const Row &r) __attribute__((always_inline)) {
                Sample *const to = k ? cr[lane] : cb[lane];
                if (!to) return;
                const Half first = low(r), second = high(r);
                std::memcpy(to + y * strides[1 + k], &first, sizeof first);
                std::memcpy(to + (y + 1) * strides[1 + k], &second, sizeof second);
            });
        }
}

void set_qp(Work &w, int lane, int qp) {
    if (w.qps[lane] == qp) return;
    w.qps[lane] = qp;
    const Quantiser &luma = kQuantisers[static_cast<size_t>(qp)];
    const Quantiser &chroma = kQuantisers[static_cast<size_t>(chroma_qp(qp, w.coded.luma_depth))];
    set_quantiser(w.quantiser_4x4, lane, luma);
    set_quantiser(w.quantiser_8x8, lane, luma);
    set_quantiser(w.chroma_quantiser, lane, chroma);
    lane_of(w.dc_scale, lane) = luma.dc_scale;
    lane_of(w.chroma_dc_scale, lane) = chroma.dc_scale;
    lane_of(w.price, lane) = static_cast<int32_t>(estimated_price(lambda_of(qp)));
    lane_of(w.satd_lambda, lane) = static_cast<int32_t>(satd_lambda_of(qp));
}

class Coder final : public MacroblockLanes {
  public:
    explicit Coder(const PictureFormat &format) : work_() { work_.coded = format.coded(); }
    void code(Task *tasks) override;

  private:
    Work work_;
};

void Coder::code(Task *tasks) {
    Work &w = work_;
    bool taken[kLanes];
    int first = -1;
    for (int i = 0; i < kLanes; i++) {
        const Task &t = tasks[i];
        taken[i] = t.macroblock && t.place.qp >= kLeastLaneQp && t.place.qp <= kMostLaneQp;
        if (t.macroblock) t.macroblock->type = MacroblockType::pcm;
        if (taken[i] && first < 0) first = i;
    }
    if (first < 0) return;
    // No cache has the memory that levels go to: it comes while macroblocks are coded.
    for (int i = 0; i < kLanes; i++)
        for (int k = 0; taken[i] && k < 16 * blocks_per_macroblock(ChromaFormat::c420); k += 32)
            __builtin_prefetch(tasks[i].levels + k, 1, 2);
    const Sample *from[3][kLanes];
    ptrdiff_t strides[3];
    Available available[kLanes];
    uint64_t lambdas[kLanes];
    bool any_likely_4x4 = false;
    for (int c = 0; c < 3; c++) strides[c] = tasks[first].place.samples[c].stride;
    for (int i = 0; i < kLanes; i++) {
        const MacroblockCoder::Place &p = tasks[taken[i] ? i : first].place;  // others do the same again
        for (int c = 0; c < 3; c++) from[c][i] = p.samples[c].data;
        available[i] = p.available;
        lambdas[i] = lambda_of(p.qp);
        any_likely_4x4 |= p.likely_4x4;
        set_qp(w, i, p.qp);
        for (int b = 0; b < 16; b++) w.ranked_4x4[b][i] = static_cast<int16_t>(p.ranked->of_4x4[b]);
        for (int b = 0; b < 4; b++) w.ranked_8x8[b][i] = static_cast<int16_t>(p.ranked->of_8x8[b]);
        for (int t = 0; t < 2; t++)
            for (int k = 0; k < 4; k++) {
                w.candidates[t].modes[0][1 + k][i] = p.above ? p.above->mode_below[k] : int8_t{-1};
                w.candidates[t].modes[1 + k][0][i] = p.left ? p.left->mode_right[k] : int8_t{-1};
            }
    }
    code_lanes(w, from[0], from[1], from[2], strides, available, any_likely_4x4);

    Lanes types{};
    Sample *to[3][kLanes]{};
    int16_t *levels[kLanes]{};
    for (int i = 0; i < kLanes; i++) {
        Task &t = tasks[i];
        if (!taken[i]) continue;
        int64_t least = INT64_MAX;
        const LevelSums chroma = {static_cast<uint32_t>(lane_of(w.chroma_bits, i)),
                                  static_cast<uint32_t>(lane_of(w.chroma_nonzero, i))};
        LevelSums sums{};
        for (const MacroblockType type : {MacroblockType::i8x8, MacroblockType::i4x4, MacroblockType::i16x16}) {
            if (type == MacroblockType::i4x4 && !t.place.likely_4x4) continue;
            Candidate &c = w.candidates[static_cast<int>(type)];
            Macroblock m{};
            m.type = type;
            m.intra_chroma_pred_mode = static_cast<uint8_t>(w.chroma_mode[i]);
            m.coded_block_pattern = static_cast<uint8_t>(c.coded[i] | w.chroma_coded[i] << 4);
            if (type == MacroblockType::i16x16)
                m.intra_16x16_pred_mode = static_cast<uint8_t>(c.pred_modes[0][i]);
            else
                for (int b = 0; b < 16; b++) m.pred_mode[b] = static_cast<uint8_t>(c.pred_modes[b][i]);
            BitCounter header;
            code_macroblock_header(w.coded, m, header);
            const LevelSums of_type = {static_cast<uint32_t>(lane_of(c.bits, i)),
                                       static_cast<uint32_t>(lane_of(c.nonzero, i))};
            const uint32_t distortion = static_cast<uint32_t>(lane_of(c.distortion, i));
            const int64_t cost = static_cast<int64_t>(
                (uint64_t{distortion} << 8) + lambdas[i] * (header.bits + estimated_residual_bits(type, of_type)));
            if (cost >= least) continue;
            least = cost;
            sums = of_type;
            *t.macroblock = m;
            t.result = {0, distortion};
        }
        if (may_be_pcm(w.coded, sums + chroma)) {
            t.macroblock->type = MacroblockType::pcm;
            continue;
        }
        const MacroblockType type = t.macroblock->type;
        types[i] = static_cast<int16_t>(type);
        t.neighbour->type = type;
        const Candidate &c = w.candidates[static_cast<int>(type)];
        for (int k = 0; k < 4; k++) {
            const bool dc = type == MacroblockType::i16x16;
            t.neighbour->mode_right[k] = dc ? int8_t{kDc} : static_cast<int8_t>(c.modes[1 + k][4][i]);
            t.neighbour->mode_below[k] = dc ? int8_t{kDc} : static_cast<int8_t>(c.modes[4][1 + k][i]);
        }
        for (int k = 0; k < 3; k++) to[k][i] = t.place.samples[k].data;
        levels[i] = t.levels;
    }
    store_lanes(w, types, to[0], to[1], to[2], strides, levels);
}

constexpr LaneVectors kVectors = {kLanes, rank, [](const PictureFormat &f) -> std::unique_ptr<MacroblockLanes> {
                                      return std::make_unique<Coder>(f);
                                  }};

}  // namespace

}  // namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE
