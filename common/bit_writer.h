// SPDX-License-Identifier: LGPL-2.1-or-later
// A writer of bits for the CPU.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cudaenc {

// Appends bits to words of 64 bits. The first bit of a word is its highest.
class BitWriter {
  public:
    // Makes room for so many more bits.
    void reserve(size_t bits) {
        const size_t needed = next_ + bits / 64 + 2;
        if (needed > words_.size()) words_.resize(std::max(needed, 2 * words_.size()));
    }
    // The low `count` bits, 1..32; those above are 0.
    void put(uint64_t bits, uint32_t count) {
        if (count < free_) {
            free_ -= count;
            word_ |= bits << free_;
            return;
        }
        const uint32_t rest = count - free_;
        words_[next_++] = word_ | bits >> rest;
        free_ = 64 - rest;
        word_ = rest ? bits << free_ : 0;
    }
    // Ends a run of bits; zeros fill its last word.
    struct Run {
        size_t first_word;
        uint64_t bits;
    };
    Run end() {
        const Run run{begin_, bits()};
        if (free_ < 64) words_[next_++] = word_;
        begin_ = next_;
        word_ = 0;
        free_ = 64;
        return run;
    }
    uint64_t bits() const { return uint64_t{next_ - begin_} * 64 + (64 - free_); }  // of the run
    // Bits of the run beyond whole bytes.
    uint32_t phase() const { return (64 - free_) % 8; }
    void clear() { *this = BitWriter(std::move(words_)); }
    const uint64_t *words() const { return words_.data(); }
    BitWriter() = default;

  private:
    explicit BitWriter(std::vector<uint64_t> &&words) : words_(std::move(words)) {}
    std::vector<uint64_t> words_;
    size_t begin_ = 0, next_ = 0;  // words: where the run begins, and the next one
    uint64_t word_ = 0;
    uint32_t free_ = 64;  // bits of word_, 1..64
};

}  // namespace cudaenc
