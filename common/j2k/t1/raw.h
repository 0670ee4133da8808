// Raw segments of the arithmetic coding bypass (T.800 D.6): decisions as bits, with a 0 stuffed after each byte 0xFF,
// and 0 1 0 1 .. up to the end of the last byte, which is not 0xFF. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../../hd.h"

namespace cudaenc::j2k {

// Bits lie in words, the first one the highest of the first word. put_raw_bits() ORs, through or_word(index, value).
template <class OrWord>
CUDAENC_HD void put_raw_bits(uint32_t at, uint32_t value, uint32_t count, const OrWord &or_word) {
    if (!count) return;
    const uint64_t both = static_cast<uint64_t>(value) << (64 - count) >> (at % 32);
    if (both >> 32) or_word(at / 32, static_cast<uint32_t>(both >> 32));
    if (static_cast<uint32_t>(both)) or_word(at / 32 + 1, static_cast<uint32_t>(both));
}

// What follows a segment's last bit: 0 1 0 1 .., for a byte and a byte more behind 0xFF.
constexpr uint32_t kRawPadding = 0x5555, kRawPaddingBits = 16;

// Bytes that a segment of `bits` bits can have, and words that hold its bits, padding, and what stuffing sampled_blocks
// at.
CUDAENC_HD constexpr uint32_t most_raw_bytes(uint32_t bits) { return bits ? (bits + bits / 15 + 7) / 8 + 1 : 0; }
CUDAENC_HD constexpr uint32_t raw_words(uint32_t bits) { return (8 * (most_raw_bytes(bits) + 2) + 31) / 32 + 1; }

CUDAENC_HD uint32_t read_raw_bits(const uint32_t *words, uint32_t at, uint32_t count) {
    return funnel_shift_left(words[at / 32 + 1], words[at / 32], at % 32) >> (32 - count);
}

// Bit i of 16 to bit 2 i.
CUDAENC_HD uint32_t spread_bits(uint32_t x) {
    x = (x | x << 8) & 0x00FF00FFu;
    x = (x | x << 4) & 0x0F0F0F0Fu;
    x = (x | x << 2) & 0x33333333u;
    return (x | x << 1) & 0x55555555u;
}
// Nibble i of 4 to byte i.
CUDAENC_HD uint32_t spread_nibbles(uint32_t x) {
    x = (x | x << 8) & 0x00FF00FFu;
    return (x | x << 4) & 0x0F0F0F0Fu;
}
// In each field of kWidth bits, 4 or 8, the bits that the mask has, moved together to its low end.
template <int kWidth>
CUDAENC_HD uint32_t compress_fields(uint32_t x, uint32_t mask) {
    constexpr uint32_t kLowest = kWidth == 8 ? 0x01010101u : 0x11111111u;
    const auto above = [](int bits) { return ~(kLowest * ((1u << bits) - 1)); };  // without the lowest ones of fields
    x &= mask;
    uint32_t gaps = (~mask << 1) & above(1);
    CUDAENC_UNROLL
    for (int i = 0; i < (kWidth == 8 ? 3 : 2); i++) {
        // Bits with an odd number of gaps below them move by 1, then those with an odd number of pairs by 2, ..
        uint32_t odd = gaps ^ ((gaps << 1) & above(1));
        odd ^= (odd << 2) & above(2);
        if (kWidth == 8) odd ^= (odd << 4) & above(4);
        const uint32_t moved_mask = odd & mask, moved = x & moved_mask;
        mask = (mask ^ moved_mask) | moved_mask >> (1 << i);
        x = (x ^ moved) | moved >> (1 << i);
        gaps &= ~odd;
    }
    return x;
}
CUDAENC_HD uint32_t reverse_bits(uint32_t x) {
#if CUDAENC_DEVICE_CODE
    uint32_t result;
    asm("brev.b32 %0, %1;" : "=r"(result) : "r"(x));
    return result;
#else
    x = (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
    x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
    x = (x & 0x0F0F0F0Fu) << 4 | (x >> 4 & 0x0F0F0F0Fu);
    x = (x & 0x00FF00FFu) << 8 | (x >> 8 & 0x00FF00FFu);
    return x << 16 | x >> 16;
#endif
}
// The highest bits of the word's bytes that are 0xFF.
CUDAENC_HD uint32_t full_bytes(uint32_t x) { return ((x & 0x7F7F7F7Fu) + 0x01010101u) & x & 0x80808080u; }

// What the bytes before one mean to it: bits that were stuffed, and whether it begins with another.
struct StuffingState {
    uint32_t stuffed;
    bool after_full;
};

// The bytes [first, last) of a segment, of which put(index, byte, begin, end) learns with the bits [begin, end) in
// them; returns the state behind them. After Bruns (2016), Algorithm 2: who has a part of the bytes does not know at
// first what is stuffed before it. All estimated_bytes that nothing is, tell each other with what they end, and do it
// again until that does not change; since 0xFF is rare this is soon.
template <class Put>
CUDAENC_HD StuffingState stuff_bytes(const uint32_t *words, uint32_t first, uint32_t last, StuffingState state,
                                     const Put &put) {
    for (uint32_t i = first; i < last; i++) {
        const uint32_t begin = 8 * i - state.stuffed, count = state.after_full ? 7 : 8;
        const uint32_t byte = read_raw_bits(words, begin, count);
        put(i, byte, begin, begin + count);
        state.stuffed += 8 - count;
        state.after_full = byte == 0xFF;
    }
    return state;
}

// Whether a byte is one of a segment of `bits` bits: it has some of them, or follows the last if that is 0xFF.
CUDAENC_HD bool is_raw_byte(uint32_t bits, uint32_t begin, uint32_t end) {
    return begin < bits || (begin == bits && end - begin == 7);
}
// How many bytes it takes to have a segment's first `bits` bits, if the byte `index` has the last of them, else 0. They
// do not end with 0xFF.
CUDAENC_HD uint32_t raw_bytes_for(uint32_t bits, uint32_t index, uint32_t byte, uint32_t begin, uint32_t end) {
    return begin < bits && bits <= end ? index + 1 + (byte == 0xFF ? 1 : 0) : 0;
}

}  // namespace cudaenc::j2k
