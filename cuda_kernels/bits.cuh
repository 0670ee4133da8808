// SPDX-License-Identifier: LGPL-2.1-or-later
// Bits in words of 32, the first bit the highest.
#pragma once
#include "device.cuh"

namespace cudaenc {

// The signed halves of words, low half first.
using SignedHalf __attribute__((may_alias)) = int16_t;
DEVICE const SignedHalf *halves_of(const uint32_t *words) { return reinterpret_cast<const SignedHalf *>(words); }

// Joins bits to words. words.put(word, true) takes each full word; the caller puts the last one, `pending`. Without
// branches, in which threads of a warp would diverge.
template <class Words>
struct WordWriter {
    Words words;
    uint32_t bits;  // written
    uint32_t pending;
    // The low `count` bits, 1 to 31; those above are 0.
    DEVICE_MEMBER void put(uint32_t value, uint32_t count) {
        const uint32_t shift = 64 - (bits & 31) - count;
        const uint64_t aligned = uint64_t{value} << shift;
        const bool full = shift <= 32;
        bits += count;
        pending |= static_cast<uint32_t>(aligned >> 32);
        words.put(pending, full);
        pending = full ? static_cast<uint32_t>(aligned) : pending;
    }
};

// A thread's cell, [Words + 1] words. The last one takes all words that do not fit.
template <int Words>
struct CellWords {
    uint32_t *cell;
    int next;
    DEVICE_MEMBER void put(uint32_t word, bool full = true) {
        if (full) cell[next] = word;
        next = min_of(next + full, Words);
    }
};

// The same for a cell with room for all words.
struct StoredWords {
    uint32_t *next;
    DEVICE_MEMBER void put(uint32_t word, bool full = true) {
        if (full) *next = word;
        next += full;
    }
};

// A window that all threads of a block write: words of 0 at first, of which threads may share one. Drops words outside.
template <uint32_t Words>
struct WindowWords {
    uint32_t *window;  // [Words]
    uint32_t next;
    DEVICE_MEMBER void put(uint32_t word, bool full = true) {
        if (full && next < Words) atomic_or(&window[next], word);
        next += full;
    }
};

// The bits of a word at which eight ones begin. next: the word after it.
DEVICE uint32_t runs_of_ones(uint32_t word, uint32_t next) {
    uint64_t ones = uint64_t{word} << 32 | next;
    ones &= ones << 1;
    ones &= ones << 2;
    ones &= ones << 4;
    return static_cast<uint32_t>(ones >> 32);
}

}  // namespace cudaenc
