// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ht_refinement_cpu.h"

#include <algorithm>

#include "../codestream/coefficient.h"

namespace cudaenc::j2k {

namespace {

// Bits of the significance propagation: forwards, the first one lowest, seven behind 0xFF (7.1.5).
class ForwardBits {
  public:
    explicit ForwardBits(std::vector<uint8_t> &to) : to_(to) {}
    void put(uint32_t bit) {
        byte_ |= bit << count_;
        if (++count_ == width_) put_byte();
    }
    void finish() {
        if (count_ || width_ == 7) put_byte();  // none ends with 0xFF
    }

  private:
    void put_byte() {
        to_.push_back(static_cast<uint8_t>(byte_));
        width_ = byte_ == 0xFF ? 7 : 8;
        byte_ = 0, count_ = 0;
    }
    std::vector<uint8_t> &to_;
    uint32_t byte_ = 0;
    int count_ = 0, width_ = 8;
};

// Bits of the magnitude refinement: backwards. A byte of seven ones that follows one above 0x8F has seven bits (7.1.6).
class BackwardBits {
  public:
    void put(uint32_t bit) {
        byte_ |= bit << count_++;
        if (count_ == 8 || (count_ == 7 && last_ > 0x8F && byte_ == 0x7F)) put_byte();
    }
    void append_to(std::vector<uint8_t> &to) {
        if (count_) put_byte();
        to.insert(to.end(), bytes_.rbegin(), bytes_.rend());
    }

  private:
    void put_byte() {
        bytes_.push_back(static_cast<uint8_t>(byte_));
        last_ = byte_;
        byte_ = 0, count_ = 0;
    }
    std::vector<uint8_t> bytes_;  // the last one first
    uint32_t byte_ = 0, last_ = 0xFF;
    int count_ = 0;
};

class Refinement {
  public:
    Refinement(const uint32_t *coefficients, const CodeBlock &b, bool causal)
        : samples_(coefficients + b.coefficients),
          b_(b),
          causal_(causal),
          pitch_(size_t{b.width} + 2),
          significant_(pitch_ * (size_t{b.height} + 2)) {
        for (int y = 0; y < b.height; y++)
            for (int x = 0; x < b.width; x++) at(x, y) = by_cleanup(x, y);
    }

    // Four columns of a stripe at a time: significance, then signs.
    void propagate(ForwardBits &bits) {
        for (int y0 = 0; y0 < b_.height; y0 += 4)
            for (int x0 = 0; x0 < b_.width; x0 += 4) {
                uint32_t signs = 0;
                int found = 0;
                for (int x = x0; x < std::min(x0 + 4, int{b_.width}); x++)
                    for (int y = y0; y < std::min(y0 + 4, int{b_.height}); y++) {
                        if (at(x, y) || !has_neighbour(x, y, causal_ && y == y0 + 3)) continue;
                        const uint32_t bit = sample(x, y) & 1;
                        bits.put(bit);
                        at(x, y) = static_cast<uint8_t>(bit);
                        if (bit) signs |= sample(x, y) >> 31 << found++;
                    }
                for (int i = 0; i < found; i++) bits.put(signs >> i & 1);
            }
    }
    void refine(BackwardBits &bits) const {
        for (int y0 = 0; y0 < b_.height; y0 += 4)
            for (int x = 0; x < b_.width; x++)
                for (int y = y0; y < std::min(y0 + 4, int{b_.height}); y++)
                    if (by_cleanup(x, y)) bits.put(sample(x, y) & 1);
    }

  private:
    uint32_t sample(int x, int y) const {
        return samples_[static_cast<size_t>(y) * b_.stride + static_cast<size_t>(x)];
    }
    bool by_cleanup(int x, int y) const { return magnitude(sample(x, y)) > 1; }
    uint8_t &at(int x, int y) { return significant_[static_cast<size_t>(y + 1) * pitch_ + static_cast<size_t>(x + 1)]; }
    bool has_neighbour(int x, int y, bool is_last) {
        const uint8_t *row = &at(x, y), *above = row - pitch_, *below = row + pitch_;
        return row[-1] | row[1] | above[-1] | above[0] | above[1] | (is_last ? 0 : below[-1] | below[0] | below[1]);
    }

    const uint32_t *const samples_;
    const CodeBlock &b_;
    const bool causal_;
    const size_t pitch_;
    std::vector<uint8_t> significant_;  // with a border of zeros
};

}  // namespace

uint32_t code_ht_refinement(const uint32_t *coefficients, const CodeBlock &block, int passes, bool causal,
                            std::vector<uint8_t> &bytes) {
    const size_t before = bytes.size();
    Refinement refinement(coefficients, block, causal);
    ForwardBits propagation(bytes);
    refinement.propagate(propagation);
    propagation.finish();
    if (passes > 1) {
        BackwardBits bits;
        refinement.refine(bits);
        bits.append_to(bytes);
    }
    return static_cast<uint32_t>(bytes.size() - before);
}

}  // namespace cudaenc::j2k
