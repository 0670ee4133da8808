// SPDX-License-Identifier: LGPL-2.1-or-later
// NAL units as a byte stream (H.264, 7.4.1.1, Annex B).
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../../hd.h"

namespace cudaenc::h264 {

enum NalType { kNalSlice = 1, kNalIdrSlice = 5, kNalSei = 6, kNalSps = 7, kNalPps = 8, kNalAud = 9, kNalFiller = 12 };

// Every NAL unit gets zero_byte, which some need and all may have. With the header: kNalPrefixBytes.
constexpr int kStartCodeBytes = 4, kNalPrefixBytes = kStartCodeBytes + 1;
// nal_ref_idc: 0 to 3, 0 where nothing refers to the NAL unit.
constexpr uint8_t nal_header(NalType type, int nal_ref_idc) { return static_cast<uint8_t>(nal_ref_idc << 5 | type); }

// The bytes of a NAL unit at most, from those of its RBSP.
constexpr uint64_t most_nal_bytes(uint64_t rbsp) { return kNalPrefixBytes + rbsp + rbsp / 2; }

// Writes NAL units with emulation prevention.
class NalWriter {
  public:
    explicit NalWriter(uint8_t *to) : to_(to) {}
    void begin(uint8_t header) {  // see nal_header()
        const uint8_t prefix[kNalPrefixBytes] = {0, 0, 0, 1, header};
        std::memcpy(to_, prefix, sizeof prefix);
        to_ += sizeof prefix;
        zeros_ = 0;
    }
    // An RBSP in words, the first bit the highest. Zeros fill the last byte.
    void put(const uint64_t *words, uint64_t bits) {
        for (; bits >= 64; bits -= 64) put_word(*words++);
        for (int shift = 56; bits; shift -= 8, bits -= bits < 8 ? bits : 8) put_byte(*words >> shift);
    }
    uint8_t *end() const { return to_; }

  private:
    void put_word(uint64_t word) {
        // Subtracting 1 from a byte of 0 borrows. Most words have none.
        constexpr uint64_t ones = 0x0101010101010101u;
        if (zeros_ > 1 || ((word - ones) & ~word & (ones << 7))) {
            for (int shift = 56; shift >= 0; shift -= 8) put_byte(word >> shift);
            return;
        }
        zeros_ = 0;
        if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
        std::memcpy(to_, &word, 8);
        to_ += 8;
    }
    void put_byte(uint64_t value) {
        const uint8_t byte = static_cast<uint8_t>(value);
        if (zeros_ > 1 && byte <= 3) {
            *to_++ = 3;  // emulation_prevention_three_byte
            zeros_ = 0;
        }
        zeros_ = byte ? 0 : zeros_ + 1;
        *to_++ = byte;
    }
    uint8_t *to_;
    int zeros_ = 0;  // trailing bytes of 0
};

}  // namespace cudaenc::h264
