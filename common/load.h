// SPDX-License-Identifier: LGPL-2.1-or-later
// Samples of all codecs' inputs: where they lie, and one of them.
#pragma once
#include <cstdint>

#include "hd.h"

namespace cudaenc {

// The samples of a component; see CudaencComponent.
struct SampleLayout {
    const uint8_t *data;  // of the first sample
    int64_t stride;       // bytes
    int32_t step;         // bytes
    int32_t shift;        // bits
    int32_t depth;        // bits
};

// The first eight bits of samples.
CUDAENC_HD constexpr SampleLayout eight_bits_of(SampleLayout s) {
    s.shift += s.depth - 8;
    s.depth = 8;
    return s;
}

// The same samples by coordinates of which the first one has x and y.
inline SampleLayout begin_at(SampleLayout s, int64_t x, int64_t y) {
    s.data = reinterpret_cast<const uint8_t *>(reinterpret_cast<uintptr_t>(s.data) -
                                               static_cast<uintptr_t>(y * s.stride + x * s.step));
    return s;
}

// The level-shifted sample of column x and row y. flipped: the highest bit of signed samples, which have no level
// shift.
CUDAENC_HD int32_t load_sample(const SampleLayout &s, int64_t x, int64_t y, uint32_t flipped = 0) {
    const uint8_t *at = s.data + y * s.stride + x * s.step;
    const uint32_t word = s.shift + s.depth > 8 ? *reinterpret_cast<const uint16_t *>(at) : *at;
    return static_cast<int32_t>(((word >> s.shift) & ((1u << s.depth) - 1)) ^ flipped) - (1 << (s.depth - 1));
}

}  // namespace cudaenc
