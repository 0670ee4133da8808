// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_inter_cpu.h"

#include <cstring>

#include "../../simd.h"
#include "../syntax/sample_vectors.h"

namespace cudaenc::h264 {

namespace {

using Bytes16 = uint8_t __attribute__((vector_size(16)));

[[gnu::always_inline]] inline Lanes row_of_16(const uint8_t *from) {
    Bytes16 bytes;
    std::memcpy(&bytes, from, sizeof bytes);
    return __builtin_convertvector(bytes, Lanes);
}
// Two rows of 8.
[[gnu::always_inline]] inline Lanes rows_of_8(const uint8_t *first, const uint8_t *second) {
    uint64_t halves[2];
    std::memcpy(&halves[0], first, 8);
    std::memcpy(&halves[1], second, 8);
    Bytes16 bytes;
    std::memcpy(&bytes, halves, sizeof bytes);
    return __builtin_convertvector(bytes, Lanes);
}

[[gnu::always_inline]] inline Lanes magnitude(const Lanes &v) {
    const Lanes sign = v >> 15;
    return (v ^ sign) - sign;
}

// Adds magnitudes of the transformed 4x4 blocks of four rows, four blocks side by side. The last butterfly's are twice
// the larger magnitude: each lane of a pair has it once.
[[gnu::always_inline]] inline void add_satd(const Lanes (&d)[4], Lanes &sum) {
    const Lanes s02 = d[0] + d[2], d02 = d[0] - d[2], s13 = d[1] + d[3], d13 = d[1] - d[3];
    const Lanes rows[4] = {s02 + s13, s02 - s13, d02 + d13, d02 - d13};
    for (const Lanes &v : rows) {
        constexpr Lanes even = {-1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0};
        const Lanes other = __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
        const Lanes a = magnitude((even & (v + other)) | (~even & (v - other)));
        const Lanes b = __builtin_shufflevector(a, a, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
        const Lanes more = a > b;
        sum += (more & a) | (~more & b);
    }
}

using UnsignedLanes = uint16_t __attribute__((vector_size(32)));
[[gnu::always_inline]] inline void add_lanes(const Lanes &sum, uint32_t &left, uint32_t &right) {
    UnsignedLanes v;
    std::memcpy(&v, &sum, sizeof v);
    for (int i = 0; i < 8; i++) left += v[i];
    for (int i = 8; i < 16; i++) right += v[i];
}

}  // namespace

CUDAENC_CLONES uint32_t satd_8x8(ByteBlock source, const QuarterBlock &p) {
    Lanes d[4];
    for (int y = 0; y < 4; y++) {  // and those four below
        const ptrdiff_t upper = y * p.stride, lower = (y + 4) * p.stride;
        const Lanes a = rows_of_8(p.first + upper, p.first + lower), b = rows_of_8(p.second + upper, p.second + lower);
        d[y] = rows_of_8(source.at(0, y).data, source.at(0, y + 4).data) - ((a + b + 1) >> 1);
    }
    Lanes sum{};
    add_satd(d, sum);
    uint32_t total = 0;
    add_lanes(sum, total, total);
    return total / 2;
}

CUDAENC_CLONES QuarterSums satd_16x16(ByteBlock source, const QuarterBlock &p) {
    QuarterSums sums{};
    for (int half = 0; half < 2; half++) {
        Lanes sum{};
        for (int first = 8 * half; first < 8 * half + 8; first += 4) {
            Lanes d[4];
            for (int y = 0; y < 4; y++) {
                const ptrdiff_t row = (first + y) * p.stride;
                d[y] = row_of_16(source.at(0, first + y).data) -
                       ((row_of_16(p.first + row) + row_of_16(p.second + row) + 1) >> 1);
            }
            add_satd(d, sum);
        }
        add_lanes(sum, sums.of[2 * half], sums.of[2 * half + 1]);
    }
    for (uint32_t &each : sums.of) each /= 2;
    return sums;
}

CUDAENC_CLONES void predict_luma(const ReferencePicture &reference, int x, int y, Vector v, int width, int height,
                                 Sample *to) {
    QuarterBlock p = quarter_block(reference, x, y, v);
    for (int row = 0; row < height; row++, to += 16, p.first += p.stride, p.second += p.stride)
        for (int i = 0; i < width; i += 8)
            for (int k = i; k < i + 8; k++) to[k] = static_cast<Sample>((p.first[k] + p.second[k] + 1) >> 1);
}

CUDAENC_CLONES void predict_chroma(const BytePlane &plane, int x, int y, Vector v, int size, Sample *to) {
    const int fx = v.x & 7, fy = v.y & 7;
    const int a = (8 - fx) * (8 - fy), b = fx * (8 - fy), c = (8 - fx) * fy, d = fx * fy;
    const uint8_t *at = plane.at(x + (v.x >> 3), y + (v.y >> 3));
    for (int row = 0; row < size; row++, at += plane.stride(), to += 8) {
        const uint8_t *const below = at + plane.stride();
        for (int i = 0; i < size; i += 4)
            for (int k = i; k < i + 4; k++)
                to[k] = static_cast<Sample>((a * at[k] + b * at[k + 1] + c * below[k] + d * below[k + 1] + 32) >> 6);
    }
}

CUDAENC_CLONES uint32_t squared_error(const Sample *a, const Sample *b, int count) {
    uint32_t sum = 0;
    for (int i = 0; i < count; i += 16)
        for (int k = i; k < i + 16; k++) {
            const int d = a[k] - b[k];
            sum += static_cast<uint32_t>(d * d);
        }
    return sum;
}

}  // namespace cudaenc::h264
