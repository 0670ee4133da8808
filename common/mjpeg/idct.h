// SPDX-License-Identifier: LGPL-2.1-or-later
// The inverse DCT of 8x8 blocks (T.81 A.3.3), in integers: libjpeg's accurate one, sample for sample, and its reduced
// sizes.
#pragma once
#include <cstdint>

#include "../hd.h"

namespace cudaenc::mjpeg {

// The passes: all columns first, then all rows. Columns leave 2 bits of fraction to the rows, of 12 bits 1. Sums are
// modulo 2^32, so that coefficients of broken streams have a result too.
enum class IdctPass { columns, rows };
constexpr int kIdctConstantBits = 13;
constexpr int kIdctFraction = 2;
constexpr int kDeepIdctFraction = 1;  // of 12 bits

CUDAENC_HD constexpr uint32_t idct_constant(double x) {
    return static_cast<uint32_t>(static_cast<int32_t>(x * (1 << kIdctConstantBits) + (x < 0 ? -0.5 : 0.5)));
}

// Words are uint32_t, or a vector of them; Signed: the same with a sign.
//
// The end of a pass: rounds and shifts. scale: the size of the pass, 8 >> scale. Rows take the factor of both away.
template <IdctPass Pass, class Signed, int Fraction, class Word>
CUDAENC_HD Word idct_descale(const Word &x, int scale) {
    const int shift =
        scale + (Pass == IdctPass::columns ? kIdctConstantBits - Fraction : kIdctConstantBits + Fraction + 3);
    return (Word)((Signed)(x + (1u << (shift - 1))) >> shift);
}

// The 1-D inverse DCT of 8 values, in place, after Loeffler, Ligtenberg and Moschytz, with 12 multiplications; see
// fdct.h. ck below is cos(k pi / 16).
template <IdctPass Pass, class Signed, int Fraction = kIdctFraction, class Word>
CUDAENC_HD void idct(Word (&v)[8]) {
    const Word r = (v[2] + v[6]) * idct_constant(0.541196100);  // sqrt(2) c6
    const Word e2 = r - v[6] * idct_constant(1.847759065);      // sqrt(2) (c2 + c6)
    const Word e3 = r + v[2] * idct_constant(0.765366865);      // sqrt(2) (c2 - c6)
    const Word e0 = (v[0] + v[4]) << kIdctConstantBits, e1 = (v[0] - v[4]) << kIdctConstantBits;
    const Word even[4] = {e0 + e3, e1 + e2, e1 - e2, e0 - e3};

    const Word z = (v[7] + v[3] + v[5] + v[1]) * idct_constant(1.175875602);  // sqrt(2) c3
    const Word z73 = z - (v[7] + v[3]) * idct_constant(1.961570560);          // sqrt(2) (c3 + c5)
    const Word z51 = z - (v[5] + v[1]) * idct_constant(0.390180644);          // sqrt(2) (c3 - c5)
    const Word z71 = (v[7] + v[1]) * idct_constant(0.899976223);              // sqrt(2) (c3 - c7)
    const Word z53 = (v[5] + v[3]) * idct_constant(2.562915447);              // sqrt(2) (c1 + c3)
    const Word odd[4] = {v[1] * idct_constant(1.501321110) - z71 + z51,       // sqrt(2) (c1 + c3 - c5 - c7)
                         v[3] * idct_constant(3.072711026) - z53 + z73,       // sqrt(2) (c1 + c3 + c5 - c7)
                         v[5] * idct_constant(2.053119869) - z53 + z51,       // sqrt(2) (c1 + c3 - c5 + c7)
                         v[7] * idct_constant(0.298631336) - z71 + z73};      // sqrt(2) (-c1 + c3 + c5 - c7)
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++) {
        const Word e = even[i], o = odd[i];
        v[i] = idct_descale<Pass, Signed, Fraction>(e + o, 0);
        v[7 - i] = idct_descale<Pass, Signed, Fraction>(e - o, 0);
    }
}

// The same to 4 samples, from 7 of the coefficients: v[4] is not used.
template <IdctPass Pass, class Signed, int Fraction = kIdctFraction, class Word>
CUDAENC_HD void idct_to_4(Word (&v)[8]) {
    const Word e0 = v[0] << (kIdctConstantBits + 1);
    const Word e2 = v[2] * idct_constant(1.847759065) - v[6] * idct_constant(0.765366865);
    const Word o0 = v[1] * idct_constant(2.562915447) + v[3] * idct_constant(0.899976223) -
                    v[5] * idct_constant(0.601344887) - v[7] * idct_constant(0.509795579);
    const Word o1 = v[1] * idct_constant(1.061594337) - v[3] * idct_constant(2.172734803) +
                    v[5] * idct_constant(1.451774981) - v[7] * idct_constant(0.211164243);
    v[0] = idct_descale<Pass, Signed, Fraction>(e0 + e2 + o0, 1);
    v[3] = idct_descale<Pass, Signed, Fraction>(e0 + e2 - o0, 1);
    v[1] = idct_descale<Pass, Signed, Fraction>(e0 - e2 + o1, 1);
    v[2] = idct_descale<Pass, Signed, Fraction>(e0 - e2 - o1, 1);
}

// The same to 2 samples, from coefficients 0, 1, 3, 5 and 7.
template <IdctPass Pass, class Signed, int Fraction = kIdctFraction, class Word>
CUDAENC_HD void idct_to_2(Word (&v)[8]) {
    const Word e = v[0] << (kIdctConstantBits + 2);
    const Word o = v[1] * idct_constant(3.624509785) - v[3] * idct_constant(1.272758580) +
                   v[5] * idct_constant(0.850430095) - v[7] * idct_constant(0.720959822);
    v[0] = idct_descale<Pass, Signed, Fraction>(e + o, 2);
    v[1] = idct_descale<Pass, Signed, Fraction>(e - o, 2);
}

// A pass to 8 >> lowres samples. To one, the coefficient is copied: idct_dc() ends it.
template <IdctPass Pass, class Signed, int Lowres, int Fraction = kIdctFraction, class Word>
CUDAENC_HD void reduced_idct(Word (&v)[8]) {
    if constexpr (Lowres == 0)
        idct<Pass, Signed, Fraction>(v);
    else if constexpr (Lowres == 1)
        idct_to_4<Pass, Signed, Fraction>(v);
    else
        idct_to_2<Pass, Signed, Fraction>(v);
}

// All samples of a block whose only coefficient is DC, level-shifted; of any size.
CUDAENC_HD constexpr uint32_t idct_dc(uint32_t dc) { return static_cast<uint32_t>(static_cast<int32_t>(dc + 4) >> 3); }

// The coefficient of a level and its divisor, in 16 bits as libjpeg's vectors have it.
CUDAENC_HD constexpr uint32_t dequantise(int32_t level, int32_t divisor) {
    return static_cast<uint32_t>(static_cast<int32_t>(static_cast<int16_t>(static_cast<uint32_t>(level * divisor))));
}

// The sample of `Bits` bits of a result of the rows, which is level-shifted.
template <int Bits = 8>
CUDAENC_HD constexpr uint32_t clamp_sample(uint32_t x) {
    constexpr int32_t kMost = (1 << Bits) - 1;
    const int32_t sample = static_cast<int32_t>(x) + (1 << (Bits - 1));
    return static_cast<uint32_t>(sample < 0 ? 0 : sample > kMost ? kMost : sample);
}

}  // namespace cudaenc::mjpeg
