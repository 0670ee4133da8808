// SPDX-License-Identifier: LGPL-2.1-or-later
// Vectors of the compiler. Functions that take them must be inlined (CUDAENC_CLONES, always_inline).
#pragma once
#pragma GCC diagnostic ignored "-Wpsabi"  // for calls that are not inlined
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace cudaenc {

using Row4 = int32_t __attribute__((vector_size(16)));
using Row8 = int32_t __attribute__((vector_size(32)));

// From and to memory, as numbers of another width.
template <class Number>
[[gnu::always_inline]] inline void load(Row8 &v, const void *from) {
    using Narrow __attribute__((vector_size(8 * sizeof(Number)))) = Number;
    Narrow narrow;
    std::memcpy(&narrow, from, sizeof narrow);
    v = __builtin_convertvector(narrow, Row8);
}
template <class Number>
[[gnu::always_inline]] inline void store(Number *to, const Row8 &v) {
    using Narrow __attribute__((vector_size(8 * sizeof(Number)))) = Number;
    const Narrow narrow = __builtin_convertvector(v, Narrow);
    std::memcpy(to, &narrow, sizeof narrow);
}
// Four numbers of 16 bits move as one of 64: compilers handle vectors of that size badly.
using Half8 = int16_t __attribute__((vector_size(16)));
using Long2 = int64_t __attribute__((vector_size(16)));
template <class Number>
[[gnu::always_inline]] inline void load(Row4 &v, const void *from) {
    if constexpr (sizeof(Number) == 4) {
        std::memcpy(&v, from, sizeof v);
    } else {
        static_assert(sizeof(Number) == 2);
        int64_t numbers;
        std::memcpy(&numbers, from, sizeof numbers);
        const Half8 narrow = (Half8)Long2{numbers, 0};
        if constexpr (std::is_signed_v<Number>)
            v = (Row4)__builtin_shufflevector(narrow, narrow, 0, 0, 1, 1, 2, 2, 3, 3) >> 16;
        else
            v = (Row4)__builtin_shufflevector(narrow, Half8{}, 0, 8, 1, 9, 2, 10, 3, 11);
    }
}
template <class Number>
[[gnu::always_inline]] inline void store(Number *to, const Row4 &v) {
    static_assert(sizeof(Number) == 2);
    const Half8 both = (Half8)v;
    const int64_t numbers = ((Long2)__builtin_shufflevector(both, both, 0, 2, 4, 6, 0, 2, 4, 6))[0];
    std::memcpy(to, &numbers, sizeof numbers);
}

[[gnu::always_inline]] inline void transpose(Row4 (&v)[4]) {
    Row4 pairs[4];
    for (int i = 0; i < 4; i += 2) {
        pairs[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 4, 1, 5);
        pairs[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 2, 6, 3, 7);
    }
    for (int i = 0; i < 2; i++) {
        v[2 * i] = __builtin_shufflevector(pairs[i], pairs[i + 2], 0, 1, 4, 5);
        v[2 * i + 1] = __builtin_shufflevector(pairs[i], pairs[i + 2], 2, 3, 6, 7);
    }
}

// Two blocks of four rows side by side.
[[gnu::always_inline]] inline void transpose(Row8 (&v)[4]) {
    Row8 pairs[4];
    for (int i = 0; i < 4; i += 2) {
        pairs[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        pairs[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 2; i++) {
        v[2 * i] = __builtin_shufflevector(pairs[i], pairs[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        v[2 * i + 1] = __builtin_shufflevector(pairs[i], pairs[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
}

[[gnu::always_inline]] inline void transpose(Row8 (&v)[8]) {
    Row8 top[4] = {v[0], v[1], v[2], v[3]}, bottom[4] = {v[4], v[5], v[6], v[7]};
    transpose(top);
    transpose(bottom);
    for (int i = 0; i < 4; i++) {
        v[i] = __builtin_shufflevector(top[i], bottom[i], 0, 1, 2, 3, 8, 9, 10, 11);
        v[i + 4] = __builtin_shufflevector(top[i], bottom[i], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

}  // namespace cudaenc
