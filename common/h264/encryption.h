// Selective encryption: AES in counter mode (FIPS 197, SP 800-38A) says which signs of levels turn. Any decoder decodes
// such streams; whoever has the key turns the signs back. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cudaenc::h264 {

class Aes {
  public:
    static constexpr size_t kBlock = 16;
    explicit Aes(std::span<const uint8_t> key);  // 16, 24 or 32 bytes
    void encrypt(uint8_t (&block)[kBlock]) const;

  private:
    int rounds_;
    std::array<uint8_t, 15 * kBlock> round_keys_;
};

// Words of flips (see CodedPicture) of a picture of the stream, counted from 0: `count` of them from word `first` on,
// both multiples of 8. The counter blocks are the picture's number and that of the 8 words, in 8 bytes each.
void make_sign_flips(const Aes &aes, uint64_t picture, size_t first, size_t count, uint16_t *flips);

}  // namespace cudaenc::h264
