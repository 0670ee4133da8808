// SPDX-License-Identifier: LGPL-2.1-or-later
// Entropy-coded data on the CPU: runs of bits to bytes with stuffed zeros (T.81 B.1.1.5, F.1.2.3).
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../bit_writer.h"

namespace cudaenc::mjpeg {

// Joins runs of bits, and stuffs a zero after each byte 0xFF.
class StuffedBytes {
  public:
    explicit StuffedBytes(uint8_t *to) : to_(to) {}
    void append(const uint64_t *words, uint64_t bits) {
        for (; bits >= 64; bits -= 64) append_word(*words++, 64);
        if (bits) append_word(*words, static_cast<uint32_t>(bits));
    }
    // Fills the last byte with ones (F.1.2.3).
    void pad() {
        pending_ |= ~uint64_t{0} >> filled_;
        for (uint32_t i = 0; i < (filled_ + 7) / 8; i++) put_byte(pending_ >> (56 - 8 * i));
        pending_ = 0;
        filled_ = 0;
    }
    // After pad().
    void put_marker(uint32_t marker) {
        *to_++ = static_cast<uint8_t>(marker >> 8);
        *to_++ = static_cast<uint8_t>(marker);
    }
    uint8_t *end() const { return to_; }

  private:
    // The high `count` bits of a word, the others 0.
    void append_word(uint64_t word, uint32_t count) {
        pending_ |= word >> filled_;
        if (filled_ + count < 64) {
            filled_ += count;
            return;
        }
        put_word(pending_);
        pending_ = filled_ ? word << (64 - filled_) : 0;
        filled_ = filled_ + count - 64;
    }
    void put_word(uint64_t word) {
        // A byte is 0xFF where its complement is 0; subtracting 1 from that borrows.
        constexpr uint64_t ones = 0x0101010101010101u;
        if ((~word - ones) & word & (ones << 7)) {
            for (int shift = 56; shift >= 0; shift -= 8) put_byte(word >> shift);
            return;
        }
        if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
        std::memcpy(to_, &word, 8);
        to_ += 8;
    }
    void put_byte(uint64_t byte) {
        *to_++ = static_cast<uint8_t>(byte);
        if (to_[-1] == 0xFF) *to_++ = 0;
    }
    uint8_t *to_;
    uint64_t pending_ = 0;  // the high bits
    uint32_t filled_ = 0;   // the number of these, 0..63
};

}  // namespace cudaenc::mjpeg
