// SPDX-License-Identifier: LGPL-2.1-or-later
// Raw segments of the arithmetic coding bypass (T.800 D.6): decisions as bits, a 0 stuffed after each byte 0xFF, and
// padding 0 1 0 1 .. up to the end of the last byte, which is not 0xFF.
#pragma once
#include <cstdint>

#include "../../hd.h"

namespace cudaenc::j2k {

// The padding behind a segment's last bit: enough for a byte, and for one more behind 0xFF.
constexpr uint32_t kRawPadding = 0x5555, kRawPaddingBits = 16;

// The most bytes of a segment of `bits` bits, and words that hold its bits and padding with room to stuff.
CUDAENC_HD constexpr uint32_t most_raw_bytes(uint32_t bits) { return bits ? (bits + bits / 15 + 7) / 8 + 1 : 0; }
CUDAENC_HD constexpr uint32_t raw_words(uint32_t bits) { return (8 * (most_raw_bytes(bits) + 2) + 31) / 32 + 1; }

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

// Writes a segment bit by bit.
struct RawWriter {
    uint8_t *out;
    uint32_t bytes = 0;  // written
    uint32_t byte = 0;   // the next one so far
    int room = 8;        // bits left in it

    void put(uint32_t bit) {
        byte |= bit << --room;
        if (room) return;
        out[bytes++] = static_cast<uint8_t>(byte);
        room = byte == 0xFF ? 7 : 8;
        byte = 0;
    }
    // Bytes that hold all bits so far.
    uint32_t needed() const { return bytes + (room < 8); }
    void pad() {
        for (uint32_t bit = 0; room < 8; bit ^= 1) put(bit);
    }
};

}  // namespace cudaenc::j2k
