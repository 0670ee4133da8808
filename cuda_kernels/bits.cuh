// Bits in words of 32, the first bit the highest. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "device.cuh"

namespace cudaenc {

// Joins bits to words; words.put() takes each when it is full, and from the caller the last one, `pending`.
template <class Words>
struct WordWriter {
    Words words;
    uint32_t filled;  // bits of `pending`, below 32
    uint32_t pending;
    // The low `count` bits, 1 to 31; those above are 0.
    DEVICE_MEMBER void put(uint32_t bits, uint32_t count) {
        const uint32_t aligned = bits << (32 - count);
        pending |= aligned >> filled;
        filled += count;
        if (filled < 32) return;
        filled -= 32;
        words.put(pending);
        pending = aligned << (count - filled);  // without the bits that went
    }
};

// The bits of a thread, in its slot, while nobody knows how many come before: what is more than `room` words is left
// out.
struct SlotWords {
    uint32_t *next;
    int room;  // words
    DEVICE_MEMBER void put(uint32_t bits) {
        if (room > 0) *next = bits;
        next++;
        room--;
    }
};

// Where all threads of a block put their bits beside each other: words of 0 at first, of which two threads may have the
// same. Words outside are left out.
template <uint32_t Words>
struct WindowWords {
    uint32_t *window;  // [Words]
    uint32_t next;
    DEVICE_MEMBER void put(uint32_t bits) {
        if (next < Words) atomic_or(&window[next], bits);
        next++;
    }
};

// Bits of a word at which eight ones begin; `next` is the word after it.
DEVICE uint32_t runs_of_ones(uint32_t word, uint32_t next) {
    uint64_t ones = uint64_t{word} << 32 | next;
    ones &= ones << 1;
    ones &= ones << 2;
    ones &= ones << 4;
    return static_cast<uint32_t>(ones >> 32);
}

}  // namespace cudaenc
