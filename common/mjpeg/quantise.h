// SPDX-License-Identifier: LGPL-2.1-or-later
// Uniform quantisation (T.81 A.3.4).
#pragma once
#include <cstdint>

#include "../hd.h"
#include "tables.h"

namespace cudaenc::mjpeg {

// Division by 8 q, q the divisor in DQT: round(c / 8q) = floor((c' + 4q) / 8q) with c' = c, or c - 1 if c is negative,
// which rounds halves away from 0. With m = round(2^s / 8q)
//     level = (c' m + 2^(s-1) + 2^15) >> s.
// This is exact. s = 20 + floor(log2(q)), so 2^s / 8q is above 2^16 and |m 8q - 2^s| <= 4q. The error of m c' is at
// most |c'| 4q / 8q < 2^13. With 2^15 more, the sum exceeds the exact one by less than 2^16. Nothing exceeds 31 bits.
struct Reciprocal {
    int32_t multiplier;  // m
    int32_t bias;        // 2^(s-1) + 2^15
    int32_t shift;       // s
};
CUDAENC_HD constexpr Reciprocal reciprocal_of(int32_t q) {  // 1..255
    int32_t s = 20;
    while (q >> (s - 19)) s++;
    return {((1 << s) + 4 * q) / (8 * q), (1 << (s - 1)) + (1 << 15), s};
}

// A coefficient of fdct.h, -8192..8192, 8 times too large, becomes its level. Int: int32_t, or a vector of them.
template <class Int>
CUDAENC_HD void quantise(Int &c, const Int &multiplier, const Int &bias, const Int &shift) {
    c = ((c + (c >> 31)) * multiplier + bias) >> shift;
}

// The same where a product of 64 bits is one instruction, with M = floor(2^32 / 8q) + 1:
//     level = (c M + 2^31) >> 32.
// M exceeds 2^32 / 8q by 1 at most, so the product errs by |c| <= 2^13 at most, away from 0, as halves must. All other
// quotients are at least 2^32 / 8q > 2^20 from a half.
CUDAENC_HD constexpr int32_t wide_reciprocal_of(int32_t q) {
    return static_cast<int32_t>((int64_t{1} << 32) / (8 * q)) + 1;
}
CUDAENC_HD int32_t quantise_wide(int32_t c, int32_t multiplier) {
    return static_cast<int32_t>((int64_t{c} * multiplier + (int64_t{1} << 31)) >> 32);
}

// A quantisation table for quantise(), by index.
struct Quantiser {
    int32_t multiplier[kBlockSamples];
    int32_t bias[kBlockSamples];
    int32_t shift[kBlockSamples];
};
CUDAENC_HD int32_t quantise(const Quantiser &q, int index, int32_t c) {
    quantise(c, q.multiplier[index], q.bias[index], q.shift[index]);
    return c;
}
CUDAENC_HD void set_divisor(Quantiser &q, int index, int32_t divisor) {
    const Reciprocal r = reciprocal_of(divisor);
    q.multiplier[index] = r.multiplier;
    q.bias[index] = r.bias;
    q.shift[index] = r.shift;
}

// The scale of tables for a quality of 1..100, as in libjpeg, in 1/10000: quality 50 keeps the tables.
CUDAENC_HD constexpr int32_t scale_of_quality(int32_t quality) {
    return 100 * (quality < 50 ? 5000 / quality : 200 - 2 * quality);
}
// The divisor from a table's value of 1..255.
CUDAENC_HD constexpr int32_t scaled_divisor(int32_t value, int32_t scale) {
    return max_of(1, min_of(255, (value * scale + 5000) / 10000));
}

}  // namespace cudaenc::mjpeg
