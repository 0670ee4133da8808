// SPDX-License-Identifier: LGPL-2.1-or-later
// The bytes of a codeword segment, which a lane reads in words: see CodewordBytes.
#pragma once
#include "../../device.cuh"

namespace cudaenc::j2k {

// The word behind the one that is read is on its way already.
class CodewordWords {
  public:
    // Bytes [at, at + count) of `bytes`, which is aligned to 4.
    DEVICE_MEMBER CodewordWords(const uint8_t *bytes, uint32_t at, uint32_t count)
        : next_(reinterpret_cast<const uint32_t *>(bytes) + at / 4), count_(static_cast<int32_t>(count + at % 4)) {
        load();
        take();
        word_ >>= 8 * (at % 4);
        left_ -= static_cast<int>(at % 4);
    }
    DEVICE_MEMBER uint32_t peek() const { return word_ & 0xFF; }
    DEVICE_MEMBER void skip() {
        word_ >>= 8;
        if (--left_ == 0) take();
    }
    // Whether the next four bytes are a word of which none is 0xFF; that word, first byte highest.
    DEVICE_MEMBER bool is_plain() const {
        return left_ == 4 && !(((word_ & 0x7F7F7F7F) + 0x01010101) & word_ & 0x80808080);
    }
    DEVICE_MEMBER uint32_t get_plain() {
        const uint32_t word = byte_permute(word_, 0, 0x0123);
        take();
        return word;
    }

  private:
    DEVICE_MEMBER void load() { load_readonly_if(count_ > 0, next_, ahead_); }
    DEVICE_MEMBER void take() {
        word_ = ahead_ | (count_ < 4 ? ~0u << 8 * count_ : 0);  // ones behind the last byte
        left_ = 4;
        next_++;
        count_ = max_of(count_ - 4, 0);
        load();
    }
    const uint32_t *next_;  // of `ahead_`
    int32_t count_;         // bytes from there on
    uint32_t word_ = 0, ahead_ = 0;
    int left_ = 0;  // bytes of `word_`
};

}  // namespace cudaenc::j2k
