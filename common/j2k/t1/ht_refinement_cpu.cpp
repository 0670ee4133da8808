// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ht_refinement_cpu.h"

#include <algorithm>
#include <bit>
#include <cstddef>

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

// Four columns of a stripe, as the passes take them. Bit 4x + y is the sample at column x and row y.
struct Group {
    uint16_t by_cleanup = 0;   // significant behind the cleanup pass
    uint16_t significant = 0;  // now
    uint16_t lowest = 0;       // bits of the lowest bit-plane
    uint16_t negative = 0;
    uint16_t inside = 0;  // samples that the block has
};

class Refinement {
  public:
    Refinement(const uint32_t *coefficients, const CodeBlock &b, bool causal)
        : causal_(causal),
          columns_((b.width + 3) / 4),
          stripes_((b.height + 3) / 4),
          groups_(static_cast<size_t>((columns_ + 2) * (stripes_ + 2))) {
        for (int stripe = 0; stripe < stripes_; stripe++)
            for (int column = 0; column < columns_; column++)
                at(column, stripe) =
                    load(coefficients + b.coefficients + size_t{4} * stripe * b.stride + 4 * column, b.stride,
                         std::min(b.width - 4 * column, 4), std::min(b.height - 4 * stripe, 4));
    }

    // Significance, then signs, of each group.
    void propagate(ForwardBits &bits) {
        for (int stripe = 0; stripe < stripes_; stripe++)
            for (int column = 0; column < columns_; column++) propagate(bits, column, stripe);
    }
    void refine(BackwardBits &bits) const {
        for (int stripe = 0; stripe < stripes_; stripe++)
            for (int column = 0; column < columns_; column++) {
                const Group &g = at(column, stripe);
                for (uint32_t left = g.by_cleanup; left; left &= left - 1)
                    bits.put(g.lowest >> std::countr_zero(left) & 1);
            }
    }

  private:
    static constexpr uint32_t kTop = 0x1111, kBottom = 0x8888;  // rows

    static Group load(const uint32_t *samples, size_t stride, int width, int height) {
        uint32_t by_cleanup = 0, lowest = 0, negative = 0, inside = 0;
        for (int y = 0; y < height; y++, samples += stride)
            for (int x = 0; x < width; x++) {
                const int place = 4 * x + y;
                by_cleanup |= uint32_t{magnitude(samples[x]) > 1} << place;
                lowest |= (samples[x] & 1) << place;
                negative |= samples[x] >> 31 << place;
                inside |= 1u << place;
            }
        const auto word = [](uint32_t bits) { return static_cast<uint16_t>(bits); };
        return {.by_cleanup = word(by_cleanup),
                .significant = word(by_cleanup),
                .lowest = word(lowest),
                .negative = word(negative),
                .inside = word(inside)};
    }

    size_t index(int column, int stripe) const {
        return static_cast<size_t>((stripe + 1) * (columns_ + 2) + column + 1);
    }
    const Group &at(int column, int stripe) const { return groups_[index(column, stripe)]; }
    Group &at(int column, int stripe) { return groups_[index(column, stripe)]; }

    // With the samples above and below them.
    static uint32_t taller(uint32_t samples) {
        return samples | (samples << 1 & 0xFFFF & ~kTop) | (samples >> 1 & ~kBottom);
    }
    // With those at their sides, of the same group.
    static uint32_t wider(uint32_t samples) { return (samples | samples << 4 | samples >> 4) & 0xFFFF; }

    // A group's significant samples, with those above and below, also those that other stripes' are next to.
    uint32_t taller_at(int column, int stripe) const {
        const uint32_t above = at(column, stripe - 1).significant,
                       below = causal_ ? 0 : at(column, stripe + 1).significant;
        return taller(at(column, stripe).significant) | (above & kBottom) >> 3 | (below & kTop) << 3;
    }

    void propagate(ForwardBits &bits, int column, int stripe) {
        Group &g = at(column, stripe);
        const uint32_t near = wider(taller_at(column, stripe)) | taller_at(column - 1, stripe) >> 12 |
                              (taller_at(column + 1, stripe) << 12 & 0xFFFF);
        uint32_t signs = 0;
        int found = 0;
        for (uint32_t left = near & ~g.significant & g.inside; left;) {
            const int place = std::countr_zero(left);
            const uint32_t own = 1u << place, bit = g.lowest >> place & 1;
            bits.put(bit);
            left &= left - 1;
            if (!bit) continue;
            signs |= (g.negative >> place & 1u) << found++;
            g.significant |= static_cast<uint16_t>(own);
            left |= wider(taller(own)) & ~(2 * own - 1) & ~g.significant & g.inside;
        }
        for (int i = 0; i < found; i++) bits.put(signs >> i & 1);
    }

    const bool causal_;
    const int columns_, stripes_;
    std::vector<Group> groups_;  // with a border of empty ones
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
