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
[[gnu::always_inline]] inline Lanes rows_of(const Bytes16 &first, const Bytes16 &second) {
    using Longs2 = uint64_t __attribute__((vector_size(16)));
    using Longs4 = uint64_t __attribute__((vector_size(32)));
    return (Lanes)(Longs4)__builtin_shufflevector((Longs2)first, (Longs2)second, 0, 1, 2, 3);
}
template <class V>
[[gnu::always_inline]] inline V load(const int16_t *from) {
    V v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

[[gnu::always_inline]] inline Lanes magnitude(const Lanes &v) { return v > -v ? v : -v; }
[[gnu::always_inline]] inline Half magnitude(const Half &v) { return v > -v ? v : -v; }

// The transform of 4x4 blocks but for its last stage, of rows of bytes: of sums and of differences of two columns. A
// pair of lanes is of a block.
template <class V>
struct Transformed {
    V of[2][4];
    // Bytes of row y.
    [[gnu::always_inline]] void set_row(int y, const V &bytes) {
        const V even = bytes & 0xFF, odd = bytes >> 8 & 0xFF;
        of[0][y] = even + odd;
        of[1][y] = even - odd;
    }
    [[gnu::always_inline]] void finish() {
        for (auto &d : of) {
            const V s02 = d[0] + d[2], d02 = d[0] - d[2], s13 = d[1] + d[3], d13 = d[1] - d[3];
            d[0] = s02 + s13, d[1] = s02 - s13, d[2] = d02 + d13, d[3] = d02 - d13;
        }
    }
};

// Lane i is lane i of a, or of b where i is odd; and those beside them.
[[gnu::always_inline]] inline Lanes larger_of_pairs(const Lanes &a, const Lanes &b) {
    const Lanes a_right = (Lanes)((Words)a >> 16), b_left = (Lanes)((Words)b << 16);
    const Lanes left = __builtin_shufflevector(a, b_left, 0, 17, 2, 19, 4, 21, 6, 23, 8, 25, 10, 27, 12, 29, 14, 31);
    const Lanes right = __builtin_shufflevector(a_right, b, 0, 17, 2, 19, 4, 21, 6, 23, 8, 25, 10, 27, 12, 29, 14, 31);
    return left > right ? left : right;
}
[[gnu::always_inline]] inline Half larger_of_pairs(const Half &a, const Half &b) {
    const Half a_right = (Half)((Words4)a >> 16), b_left = (Half)((Words4)b << 16);
    const Half left = __builtin_shufflevector(a, b_left, 0, 9, 2, 11, 4, 13, 6, 15);
    const Half right = __builtin_shufflevector(a_right, b, 0, 9, 2, 11, 4, 13, 6, 15);
    return left > right ? left : right;
}
// Half the magnitudes of the whole transform of a difference. Both results of the last stage together are twice the
// larger magnitude. own(k, y): the same of the source.
template <class V, class Own>
[[gnu::always_inline]] inline V half_satd(const Transformed<V> &prediction, const Own &own) {
    V sum{};
    for (int y = 0; y < 4; y++)
        sum += larger_of_pairs(magnitude(prediction.of[0][y] - own(0, y)), magnitude(prediction.of[1][y] - own(1, y)));
    return sum;
}

// Sums of two lanes, which are not negative.
template <class W, class V>
[[gnu::always_inline]] inline W sums_of_pairs(const V &v) {
    return ((W)v & 0xFFFF) + ((W)v >> 16);
}

}  // namespace

CUDAENC_CLONES void transform_source(ByteBlock source, TransformedSource &to) {
    for (int half = 0; half < 2; half++) {
        Transformed<Lanes> t;
        for (int y = 0; y < 4; y++)
            t.set_row(
                y, rows_of(row_of_16(source.at(0, 4 * half + y).data), row_of_16(source.at(0, 4 * half + y + 8).data)));
        t.finish();
        std::memcpy(to.values[half], t.of, sizeof t.of);
    }
}

CUDAENC_CLONES uint32_t satd_8x8(const TransformedSource &source, int block, const QuarterBlock &p) {
    Transformed<Half> t;  // of four rows, and of those four below
    for (int y = 0; y < 4; y++) {
        const ptrdiff_t upper = y * p.stride, lower = (y + 4) * p.stride;
        t.set_row(
            y, (Half)mean(rows_of_8(p.first + upper, p.first + lower), rows_of_8(p.second + upper, p.second + lower)));
    }
    t.finish();
    const int first = 8 * (block >> 1) + 4 * (block & 1);
    const Words4 v = sums_of_pairs<Words4>(half_satd(t, [&](int k, int y) __attribute__((always_inline)) {
        const auto bytes_of = [&](int half) {
            return reinterpret_cast<const uint8_t *>(source.values[half][k][y] + first);
        };
        return (Half)rows_of_8(bytes_of(0), bytes_of(1));
    }));
    const Words4 two = v + __builtin_shufflevector(v, v, 2, 3, 0, 1);
    return two[0] + two[1];
}

CUDAENC_CLONES QuarterSums satd_16x16(const TransformedSource &source, const QuarterBlock &p) {
    Lanes sum{};
    for (int half = 0; half < 2; half++) {
        Transformed<Lanes> t;
        for (int y = 0; y < 4; y++) {
            const ptrdiff_t upper = (4 * half + y) * p.stride, lower = upper + 8 * p.stride;
            t.set_row(y, rows_of(mean(row_of_16(p.first + upper), row_of_16(p.second + upper)),
                                 mean(row_of_16(p.first + lower), row_of_16(p.second + lower))));
        }
        t.finish();
        sum += half_satd(
            t, [&](int k, int y) __attribute__((always_inline)) { return load<Lanes>(source.values[half][k][y]); });
    }
    const Words v = sums_of_pairs<Words>(sum);
    const Words4 sums = __builtin_shufflevector(v, v, 0, 2, 4, 6) + __builtin_shufflevector(v, v, 1, 3, 5, 7);
    return {sums};
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
[[gnu::always_inline]] inline Samples8 rounded(const Sums8 &exact, int shift, int most) {
    Sums8 sums = (exact + (1 << (shift - 1))) >> shift;
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

CUDAENC_CLONES void predict_chroma(const ReferencePicture &reference, int component, int x, int y, Vector v, int offset,
                                   int size, Sample *to) {
    const SamplePlane &wide = reference.samples[component];
    if (reference.format == ChromaFormat::c444)
        return interpolate(wide, x, y, v, size, (1 << reference.bit_depth) - 1, to);
    // The vertical unit is a quarter of a chroma sample where chroma has all rows.
    const bool tall = reference.format == ChromaFormat::c422;
    const int vy = tall ? 2 * v.y : v.y + offset, fx = v.x & 7, fy = vy & 7;
    x = x / 2 + (v.x >> 3), y = (tall ? y : y / 2) + (vy >> 3);
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
