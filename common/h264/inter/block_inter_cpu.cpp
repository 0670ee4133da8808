// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_inter_cpu.h"

#include <cstring>

#include "../../simd.h"

namespace cudaenc::h264 {

namespace {

using Bytes16 = uint8_t __attribute__((vector_size(16)));
using Words = uint32_t __attribute__((vector_size(32)));  // two lanes each
using Words4 = uint32_t __attribute__((vector_size(16)));

[[gnu::always_inline]] inline Bytes16 row_of_16(const uint8_t *from) {
    Bytes16 bytes;
    std::memcpy(&bytes, from, sizeof bytes);
    return bytes;
}
[[gnu::always_inline]] inline Bytes16 rows_of_8(const uint8_t *first, const uint8_t *second) {
    using Long2 = uint64_t __attribute__((vector_size(16)));
    uint64_t halves[2];
    std::memcpy(&halves[0], first, 8);
    std::memcpy(&halves[1], second, 8);
    return (Bytes16)Long2{halves[0], halves[1]};
}
[[gnu::always_inline]] inline Lanes widened(const Bytes16 &bytes) { return __builtin_convertvector(bytes, Lanes); }
[[gnu::always_inline]] inline Bytes16 mean(const Bytes16 &a, const Bytes16 &b) {
#ifdef __SSE2__
    return (Bytes16)_mm_avg_epu8((__m128i)a, (__m128i)b);
#else
    return (a | b) - ((a ^ b) >> 1);
#endif
}
// Bytes in even and in odd places of two rows.
[[gnu::always_inline]] inline void get_columns(const Bytes16 &first, const Bytes16 &second, Lanes &even, Lanes &odd) {
    using UnsignedLanes = uint16_t __attribute__((vector_size(32)));
    using Longs4 = uint64_t __attribute__((vector_size(32)));
    using Longs2 = uint64_t __attribute__((vector_size(16)));
    const UnsignedLanes rows =
        (UnsignedLanes)(Longs4)__builtin_shufflevector((Longs2)first, (Longs2)second, 0, 1, 2, 3);
    even = (Lanes)(rows & 0xFF);
    odd = (Lanes)(rows >> 8);
}
[[gnu::always_inline]] inline void subtract_columns(const Bytes16 &first, const Bytes16 &second, Lanes &even,
                                                    Lanes &odd) {
    Lanes other_even, other_odd;
    get_columns(first, second, other_even, other_odd);
    even -= other_even;
    odd -= other_odd;
}

[[gnu::always_inline]] inline Lanes magnitude(const Lanes &v) {
    const Lanes minus = -v;
    return v > minus ? v : minus;
}

// Half the magnitudes of the transformed 4x4 blocks of four rows of 32 differences. even, odd: those of even and of odd
// columns. Both results of the last butterfly together are twice the larger magnitude. A pair of lanes is of a block.
[[gnu::always_inline]] inline Lanes half_satd(const Lanes (&even)[4], const Lanes (&odd)[4]) {
    Lanes rows[2][4];
    for (int y = 0; y < 4; y++) {
        rows[0][y] = even[y] + odd[y];
        rows[1][y] = even[y] - odd[y];
    }
    for (auto &d : rows) {
        const Lanes s02 = d[0] + d[2], d02 = d[0] - d[2], s13 = d[1] + d[3], d13 = d[1] - d[3];
        d[0] = s02 + s13, d[1] = s02 - s13, d[2] = d02 + d13, d[3] = d02 - d13;
    }
    Lanes sum{};
    for (int y = 0; y < 4; y++) {
        const Lanes a = magnitude(rows[0][y]), b = magnitude(rows[1][y]);
        const Lanes a_right = (Lanes)((Words)a >> 16), b_left = (Lanes)((Words)b << 16);
        const Lanes left =
            __builtin_shufflevector(a, b_left, 0, 17, 2, 19, 4, 21, 6, 23, 8, 25, 10, 27, 12, 29, 14, 31);
        const Lanes right =
            __builtin_shufflevector(a_right, b, 0, 17, 2, 19, 4, 21, 6, 23, 8, 25, 10, 27, 12, 29, 14, 31);
        sum += left > right ? left : right;
    }
    return sum;
}

// Sums of two lanes, which are not negative.
[[gnu::always_inline]] inline Words sums_of_pairs(const Lanes &v) { return ((Words)v & 0xFFFF) + ((Words)v >> 16); }

}  // namespace

CUDAENC_CLONES uint32_t satd_8x8(ByteBlock source, const QuarterBlock &p) {
    Lanes even[4], odd[4];         // their high lanes are 0
    for (int y = 0; y < 4; y++) {  // and those four below
        const ptrdiff_t upper = y * p.stride, lower = (y + 4) * p.stride;
        get_columns(rows_of_8(source.at(0, y).data, source.at(0, y + 4).data), Bytes16{}, even[y], odd[y]);
        subtract_columns(
            mean(rows_of_8(p.first + upper, p.first + lower), rows_of_8(p.second + upper, p.second + lower)), Bytes16{},
            even[y], odd[y]);
    }
    const Words v = sums_of_pairs(half_satd(even, odd));
    const Words4 four = __builtin_shufflevector(v, v, 0, 1, 2, 3);
    const Words4 two = four + __builtin_shufflevector(four, four, 2, 3, 0, 1);
    return two[0] + two[1];
}

CUDAENC_CLONES QuarterSums satd_16x16(ByteBlock source, const QuarterBlock &p) {
    Lanes sum{};
    for (int first = 0; first < 8; first += 4) {  // and those eight below
        Lanes even[4], odd[4];
        for (int y = 0; y < 4; y++) {
            const ptrdiff_t upper = (first + y) * p.stride, lower = upper + 8 * p.stride;
            get_columns(row_of_16(source.at(0, first + y).data), row_of_16(source.at(0, first + y + 8).data), even[y],
                        odd[y]);
            subtract_columns(mean(row_of_16(p.first + upper), row_of_16(p.second + upper)),
                             mean(row_of_16(p.first + lower), row_of_16(p.second + lower)), even[y], odd[y]);
        }
        sum += half_satd(even, odd);
    }
    const Words v = sums_of_pairs(sum);
    const Words4 sums = __builtin_shufflevector(v, v, 0, 2, 4, 6) + __builtin_shufflevector(v, v, 1, 3, 5, 7);
    QuarterSums to;
    std::memcpy(to.of, &sums, sizeof to.of);
    return to;
}

namespace {

template <class Rows>
[[gnu::always_inline]] inline void store(Sample *to, const Rows &rows) {
    std::memcpy(to, &rows, sizeof rows);
}
using Samples8 = uint16_t __attribute__((vector_size(16)));
[[gnu::always_inline]] inline Samples8 load_8(const uint8_t *from) {
    using Bytes8 = uint8_t __attribute__((vector_size(8)));
    Bytes8 bytes;
    std::memcpy(&bytes, from, sizeof bytes);
    return __builtin_convertvector(bytes, Samples8);
}
[[gnu::always_inline]] inline Samples8 load_8(const Sample *from) {
    Samples8 samples;
    std::memcpy(&samples, from, sizeof samples);
    return samples;
}

// ---- From whole samples alone

using Sums8 = int32_t __attribute__((vector_size(32)));
[[gnu::always_inline]] inline Sums8 load_sums(const Sample *from) {
    return __builtin_convertvector(load_8(from), Sums8);
}
[[gnu::always_inline]] inline Sums8 six_taps_of(const Sample *at, ptrdiff_t step) {
    return six_taps(load_sums(at - 2 * step), load_sums(at - step), load_sums(at), load_sums(at + step),
                    load_sums(at + 2 * step), load_sums(at + 3 * step));
}
[[gnu::always_inline]] inline Samples8 rounded(Sums8 sums, int shift, int most) {
    sums = (sums + (1 << (shift - 1))) >> shift;
    sums = sums < 0 ? Sums8{} : sums;
    sums = sums > most ? Sums8{} + most : sums;
    return __builtin_convertvector(sums, Samples8);
}

// 8 samples of a plane of a reference.
template <HalfPlane Plane>
[[gnu::always_inline]] inline Samples8 samples_of(const Sample *at, ptrdiff_t stride, int most) {
    if constexpr (Plane == kWhole) return load_8(at);
    if constexpr (Plane == kRight) return rounded(six_taps_of(at, 1), 5, most);
    if constexpr (Plane == kBelow) return rounded(six_taps_of(at, stride), 5, most);
    Sums8 sums[6];
    for (int i = 0; i < 6; i++) sums[i] = six_taps_of(at + i - 2, stride);
    return rounded(six_taps(sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]), 10, most);
}
template <HalfPlane Plane>
[[gnu::always_inline]] inline void get_square(const Sample *at, ptrdiff_t stride, int size, int most, bool mean,
                                              Sample *to) {
    for (int y = 0; y < size; y++, at += stride, to += 16)
        for (int x = 0; x < size; x += 8) {
            const Samples8 own = samples_of<Plane>(at + x, stride, most);
            store(to + x, mean ? (own + load_8(to + x) + 1) >> 1 : own);
        }
}

CUDAENC_CLONES void interpolate(const SamplePlane &plane, int x, int y, Vector v, int size, int most, Sample *to) {
    const QuarterSource s = quarter_source(4 * (v.y & 3) + (v.x & 3));
    for (int i = 0; i < (v.x & 1 || v.y & 1 ? 2 : 1); i++) {
        const Sample *const at = plane.at(x + (v.x >> 2) + s.x[i], y + (v.y >> 2) + s.y[i]);
        const ptrdiff_t stride = plane.stride();
        if (s.plane[i] == kWhole) get_square<kWhole>(at, stride, size, most, i, to);
        if (s.plane[i] == kRight) get_square<kRight>(at, stride, size, most, i, to);
        if (s.plane[i] == kBelow) get_square<kBelow>(at, stride, size, most, i, to);
        if (s.plane[i] == kCentre) get_square<kCentre>(at, stride, size, most, i, to);
    }
}

}  // namespace

CUDAENC_CLONES void predict_luma(const ReferencePicture &reference, int x, int y, Vector v, int size, Sample *to) {
    if (reference.predicts_from_samples(0))
        return interpolate(reference.samples[0], x, y, v, size, (1 << reference.bit_depth) - 1, to);
    const QuarterBlock p = quarter_block(reference, x, y, v);
    const uint8_t *a = p.first, *b = p.second;
    if (size == 16) {
        for (int row = 0; row < 16; row++, to += 16, a += p.stride, b += p.stride)
            store(to, widened(mean(row_of_16(a), row_of_16(b))));
    } else {
        for (int row = 0; row < 8; row += 2, to += 32, a += 2 * p.stride, b += 2 * p.stride) {
            const Lanes rows = widened(mean(rows_of_8(a, a + p.stride), rows_of_8(b, b + p.stride)));
            store(to, low(rows));
            store(to + 16, high(rows));
        }
    }
}

namespace {

// A block of 4 or 8 columns. at: its first sample, in whole samples of the reference; fx, fy: eighths.
template <class T>
[[gnu::always_inline]] inline void interpolate_chroma(const T *at, ptrdiff_t stride, int fx, int fy, int columns,
                                                      int rows, Sample *to) {
    // Between two columns, times 8. Of 4 columns 8 are read, and the others left out.
    const auto row_at = [=](const T *row) __attribute__((always_inline)) {
        return load_8(row) * static_cast<uint16_t>(8 - fx) + load_8(row + 1) * static_cast<uint16_t>(fx);
    };
    Samples8 above = row_at(at);
    for (int row = 0; row < rows; row++, to += 8) {
        at += stride;
        const Samples8 below = row_at(at), rounded = above * static_cast<uint16_t>(8 - fy) +
                                                     below * static_cast<uint16_t>(fy) + uint16_t{32};
        const Samples8 samples = rounded >> 6;
        if (columns == 8)
            store(to, samples);
        else
            std::memcpy(to, &samples, sizeof samples / 2);
        above = below;
    }
}

}  // namespace

CUDAENC_CLONES void predict_chroma(const ReferencePicture &reference, int component, int x, int y, Vector v, int size,
                                   Sample *to) {
    const SamplePlane &wide = reference.samples[component];
    if (reference.format == ChromaFormat::c444)
        return interpolate(wide, x, y, v, size, (1 << reference.bit_depth) - 1, to);
    // The vertical unit is a quarter of a chroma sample where chroma has all rows.
    const bool tall = reference.format == ChromaFormat::c422;
    const int fx = v.x & 7, fy = tall ? 2 * (v.y & 3) : v.y & 7;
    x = x / 2 + (v.x >> 3), y = tall ? y + (v.y >> 2) : y / 2 + (v.y >> 3);
    const int columns = size / 2, rows = tall ? size : size / 2;
    if (reference.predicts_from_samples(component))
        return interpolate_chroma(wide.at(x, y), wide.stride(), fx, fy, columns, rows, to);
    const BytePlane &plane = reference.chroma[component - 1];
    interpolate_chroma(plane.at(x, y), plane.stride(), fx, fy, columns, rows, to);
}

CUDAENC_CLONES uint32_t squared_error(const Sample *a, const Sample *b, int count) {
    using Sums = int32_t __attribute__((vector_size(32)));
    Sums sum{};
    for (int i = 0; i < count; i += 16) {
        Lanes x, y;
        std::memcpy(&x, a + i, sizeof x);
        std::memcpy(&y, b + i, sizeof y);
        const Lanes d = x - y;
        const Sums even = (Sums)d << 16 >> 16, odd = (Sums)d >> 16;
        sum += even * even + odd * odd;
    }
    uint32_t total = 0;
    for (int i = 0; i < 8; i++) total += static_cast<uint32_t>(sum[i]);
    return total;
}

}  // namespace cudaenc::h264
