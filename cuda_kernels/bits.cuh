// Bits in words of 32, the first bit the highest. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "device.cuh"

namespace cudaenc {

// Bits of a word at which eight ones begin; `next` is the word after it.
DEVICE uint32_t runs_of_ones(uint32_t word, uint32_t next) {
    uint64_t ones = uint64_t{word} << 32 | next;
    ones &= ones << 1;
    ones &= ones << 2;
    ones &= ones << 4;
    return static_cast<uint32_t>(ones >> 32);
}

}  // namespace cudaenc
