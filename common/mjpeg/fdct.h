// SPDX-License-Identifier: LGPL-2.1-or-later
// The forward DCT of 8x8 blocks (T.81 A.3.3), in integers.
#pragma once
#include <cstdint>

#include "../hd.h"

namespace cudaenc::mjpeg {

// The passes: all rows first, then all columns. Rows leave 2 bits of fraction to the columns.
enum class FdctPass { rows, columns };
constexpr int kFdctFraction = 2;
constexpr int kFdctConstantBits = 13;

// 13 bits of fraction.
CUDAENC_HD constexpr int32_t fdct_constant(double x) {
    return static_cast<int32_t>(x * (1 << kFdctConstantBits) + (x < 0 ? -0.5 : 0.5));
}

// fdct() after its first sums and differences.
template <FdctPass Pass, class Int>
CUDAENC_HD void fdct_rotations(const Int &sum, const Int &difference, const Int &odd0, const Int &odd1, const Int &d0,
                               const Int &d1, const Int &d2, const Int &d3, Int (&v)[8]) {
    constexpr int shift =
        Pass == FdctPass::rows ? kFdctConstantBits - kFdctFraction : kFdctConstantBits + kFdctFraction;
    constexpr int32_t half = 1 << (shift - 1);
    if constexpr (Pass == FdctPass::rows) {
        v[0] = sum << kFdctFraction;
        v[4] = difference << kFdctFraction;
    } else {
        v[0] = (sum + (1 << (kFdctFraction - 1))) >> kFdctFraction;
        v[4] = (difference + (1 << (kFdctFraction - 1))) >> kFdctFraction;
    }
    // sqrt(2) times a rotation by 6 pi / 16; ck below is cos(k pi / 16).
    const Int r = (odd0 + odd1) * fdct_constant(0.541196100146197) + half;  // sqrt(2) c6
    v[2] = (r + odd0 * fdct_constant(0.765366864730180)) >> shift;          // sqrt(2) (c2 - c6)
    v[6] = (r - odd1 * fdct_constant(1.847759065022573)) >> shift;          // sqrt(2) (c2 + c6)

    const Int z = (d3 + d1 + d2 + d0) * fdct_constant(1.175875602419359) + half;  // sqrt(2) c3
    const Int z31 = z - (d3 + d1) * fdct_constant(1.961570560806461);             // sqrt(2) (c3 + c5)
    const Int z20 = z - (d2 + d0) * fdct_constant(0.390180644032257);             // sqrt(2) (c3 - c5)
    const Int z30 = (d3 + d0) * fdct_constant(0.899976223136416);                 // sqrt(2) (c3 - c7)
    const Int z21 = (d2 + d1) * fdct_constant(2.562915447741506);                 // sqrt(2) (c1 + c3)
    v[7] = (d3 * fdct_constant(0.298631336436195) + z31 - z30) >> shift;          // sqrt(2) (-c1 + c3 + c5 - c7)
    v[5] = (d2 * fdct_constant(2.053119869259950) + z20 - z21) >> shift;          // sqrt(2) (c1 + c3 - c5 + c7)
    v[3] = (d1 * fdct_constant(3.072711026492590) + z31 - z21) >> shift;          // sqrt(2) (c1 + c3 + c5 - c7)
    v[1] = (d0 * fdct_constant(1.501321109985772) + z20 - z30) >> shift;          // sqrt(2) (c1 + c3 - c5 - c7)
}

// The 1-D DCT of 8 values, in place, after Loeffler, Ligtenberg and Moschytz ("Practical fast 1-D DCT algorithms with
// 11 multiplications", ICASSP 1989), in the form with 12 multiplications, where no value passes through two of them. A
// pass scales by sqrt(8) over the orthonormal DCT; both give 8 times the coefficients of A.3.3.
// Rows: from level-shifted samples, -128..127, to 14 bits, 4 times too large.
// Columns: from these to 8 times the coefficients, rounded, -8192..8192.
// Int: int32_t, or a vector of them.
template <FdctPass Pass, class Int>
CUDAENC_HD void fdct(Int (&v)[8]) {
    const Int s0 = v[0] + v[7], s1 = v[1] + v[6], s2 = v[2] + v[5], s3 = v[3] + v[4];
    const Int d0 = v[0] - v[7], d1 = v[1] - v[6], d2 = v[2] - v[5], d3 = v[3] - v[4];
    const Int even0 = s0 + s3, even1 = s1 + s2;
    fdct_rotations<Pass, Int>(even0 + even1, even0 - even1, s0 - s3, s1 - s2, d0, d1, d2, d3, v);
}

// Coefficient 0 of both passes, exactly: the sum of the 64 level-shifted samples. For the DC of a neighbour.
CUDAENC_HD constexpr int32_t fdct_dc(int32_t sum_of_shifted_samples) { return sum_of_shifted_samples; }

}  // namespace cudaenc::mjpeg
