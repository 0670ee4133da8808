// SPDX-License-Identifier: LGPL-2.1-or-later
// Maths that host and device share: functions marked CUDAENC_HD, tables marked CUDAENC_TABLE.
#pragma once
#include <cstdint>

#if defined(__CUDACC__)  // nvcc
#define CUDAENC_HD __host__ __device__ __forceinline__
#define CUDAENC_TABLE static __constant__ const
#elif defined(__CUDA__)  // clang without a CUDA toolkit
#define CUDAENC_HD __attribute__((host)) __attribute__((device)) inline __attribute__((always_inline))
#define CUDAENC_TABLE static __attribute__((constant)) const
#else
#define CUDAENC_HD inline
#define CUDAENC_TABLE static constexpr
#endif

// Unrolls a loop, so that its arrays stay in registers; keeps the code of a loop short.
#if defined(__CUDACC__) || defined(__CUDA__)
#define CUDAENC_UNROLL _Pragma("unroll")
#define CUDAENC_NO_UNROLL _Pragma("unroll 1")
#else
#define CUDAENC_UNROLL
#define CUDAENC_NO_UNROLL
#endif

#if defined(__CUDA_ARCH__)
#define CUDAENC_DEVICE_CODE 1
#else
#define CUDAENC_DEVICE_CODE 0
#endif

namespace cudaenc {

// Leading zeros of a word; 32 for 0.
CUDAENC_HD int count_leading_zeros(uint32_t x) {
#if CUDAENC_DEVICE_CODE && defined(__CUDACC__) && !defined(__clang__)
    return __clz(static_cast<int>(x));
#else
    return x ? __builtin_clz(x) : 32;
#endif
}

// Leading zeros of x > 0.
CUDAENC_HD int zeros_above(uint32_t x) {
#if CUDAENC_DEVICE_CODE
    int zeros;
    asm("bfind.shiftamt.u32 %0, %1;" : "=r"(zeros) : "r"(x));
    return zeros;
#else
    return __builtin_clz(x);
#endif
}

// Of x > 0.
CUDAENC_HD int floor_log2(uint32_t x) {
#if CUDAENC_DEVICE_CODE
    int log2;
    asm("bfind.u32 %0, %1;" : "=r"(log2) : "r"(x));
    return log2;
#else
    return 31 - __builtin_clz(x);
#endif
}

CUDAENC_HD int count_ones(uint32_t x) {
#if CUDAENC_DEVICE_CODE && defined(__CUDACC__) && !defined(__clang__)
    return __popc(x);
#else
    return __builtin_popcount(x);
#endif
}

// Trailing zeros of x > 0.
CUDAENC_HD int count_trailing_zeros(uint64_t x) {
#if CUDAENC_DEVICE_CODE && defined(__CUDACC__) && !defined(__clang__)
    return __ffsll(static_cast<long long>(x)) - 1;
#else
    return __builtin_ctzll(x);
#endif
}

// Bits needed to write x: 0 for 0, floor(log2(x)) + 1 else.
CUDAENC_HD int bit_width(uint32_t x) {
#if CUDAENC_DEVICE_CODE
    return floor_log2(x) + 1;  // bfind gives -1 for 0
#else
    return 32 - count_leading_zeros(x);
#endif
}

// The low word of hi:lo >> n % 32, the high word of hi:lo << n % 32.
CUDAENC_HD uint32_t funnel_shift_right(uint32_t lo, uint32_t hi, uint32_t n) {
#if CUDAENC_DEVICE_CODE
    uint32_t result;
    asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(lo), "r"(hi), "r"(n));
    return result;
#else
    return static_cast<uint32_t>((uint64_t{hi} << 32 | lo) >> (n & 31));
#endif
}
CUDAENC_HD uint32_t funnel_shift_left(uint32_t lo, uint32_t hi, uint32_t n) {
#if CUDAENC_DEVICE_CODE
    uint32_t result;
    asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(lo), "r"(hi), "r"(n));
    return result;
#else
    return static_cast<uint32_t>((uint64_t{hi} << 32 | lo) << (n & 31) >> 32);
#endif
}

template <class T>
CUDAENC_HD constexpr T min_of(T a, T b) {
    return b < a ? b : a;
}
template <class T>
CUDAENC_HD constexpr T max_of(T a, T b) {
    return a < b ? b : a;
}
#if CUDAENC_DEVICE_CODE  // one instruction
CUDAENC_HD float min_of(float a, float b) { return __builtin_fminf(a, b); }
CUDAENC_HD float max_of(float a, float b) { return __builtin_fmaxf(a, b); }
#endif

// a b + c, rounded once. See has_multiply_add() of simd.h.
CUDAENC_HD float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
// The same without the instruction. The product is exact. The sum is rounded to odd, so that rounding it again is
// exact.
CUDAENC_HD float multiply_add_by_double(float a, float b, float c) {
    const double product = static_cast<double>(a) * static_cast<double>(b), addend = static_cast<double>(c);
    double sum = product + addend;
    const double added = sum - product, error = (product - (sum - added)) + (addend - added);
    uint64_t bits;
    __builtin_memcpy(&bits, &sum, sizeof bits);
    if (error != 0 && !(bits & 1)) bits += (error > 0) == (sum > 0) ? 1 : -1;
    __builtin_memcpy(&sum, &bits, sizeof sum);
    return static_cast<float>(sum);
}

CUDAENC_HD constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace cudaenc
