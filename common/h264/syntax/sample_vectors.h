// SPDX-License-Identifier: LGPL-2.1-or-later
// Vectors of 16 samples or levels.
#pragma once
#include <cstdint>

#include "../../vectors.h"

namespace cudaenc::h264 {

// Samples, levels or differences. Lanes: a 4x4 block, two rows of 8, or a row of 16. Longs: the rows of a 4x4 block.
using Lanes = int16_t __attribute__((vector_size(32)));
using Half = int16_t __attribute__((vector_size(16)));
using Longs = int64_t __attribute__((vector_size(32)));

[[gnu::always_inline]] inline Half low(const Lanes &x) { return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7); }
[[gnu::always_inline]] inline Half high(const Lanes &x) {
    return __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
}
[[gnu::always_inline]] inline Lanes join(const Half &a, const Half &b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

}  // namespace cudaenc::h264
