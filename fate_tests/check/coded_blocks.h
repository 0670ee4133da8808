// SPDX-License-Identifier: LGPL-2.1-or-later
// Code-blocks at random, coded by the library's block coders: what block decoders are tested with. Include it last, as
// testing.h.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "../../common/j2k/codestream/coefficient.h"
#include "../../common/j2k/t1/block_decoder.h"
#include "../../common/j2k/t1/ht_cpu.h"
#include "../../common/j2k/t1/t1_cpu.h"
#include "testing.h"

namespace cudaenc::testing {

using namespace j2k;

struct Coded {
    CodeBlock block;
    std::vector<uint32_t> coefficients;
    std::vector<uint8_t> bytes;
    std::vector<uint32_t> pass_bytes;
    int planes, passes;
};

inline CodeBlock random_block(Random &random, int planes) {
    CodeBlock b{};
    const int log2 = random.between(0, 10);
    b.width = static_cast<uint16_t>(random.between(1, 1 << log2));
    b.height = static_cast<uint16_t>(random.between(1, 1 << std::min(12 - log2, 10)));
    if (!random.one_in(8)) b.width = std::min<uint16_t>(b.width, 64), b.height = std::min<uint16_t>(b.height, 64);
    b.stride = b.width;
    b.orientation = static_cast<uint8_t>(random.between(kLL, kHH));
    b.planes = static_cast<uint8_t>(planes);
    b.reversible = true;
    return b;
}

// Few or many significant coefficients, large or small ones.
inline std::vector<uint32_t> random_coefficients(Random &random, const CodeBlock &b) {
    std::vector<uint32_t> coefficients(size_t{b.width} * b.height);
    const uint32_t limit = (1u << b.planes) - 1, rarity = 1u << random.between(0, 9);
    const bool small = random.one_in(2);
    for (uint32_t &c : coefficients) {
        if (!random.one_in(rarity)) continue;
        const uint32_t magnitude = (random.word() & limit) >> (small ? random.below(b.planes) : 0u);
        if (magnitude) c = magnitude | (random.one_in(2) ? kSignBit : 0);
    }
    return coefficients;
}

inline Coded code_mq(const CodeBlock &block, const std::vector<uint32_t> &coefficients, uint32_t style,
                     bool truncatable) {
    Coded coded{};
    coded.block = block;
    coded.coefficients = coefficients;
    const size_t most = static_cast<size_t>(coding_passes(kMaxPlanes));
    coded.pass_bytes.resize(most);
    std::vector<uint32_t> terminations(most);
    std::vector<int32_t> reductions(most);
    uint32_t offset;
    CodedBlock record{};
    const BlockCoding coding{style, truncatable};
    code_blocks({&coded.block, 1}, coded.coefficients.data(), coding, static_cast<int>(most),
                {coded.pass_bytes.data(), terminations.data(), reductions.data()}, coded.bytes, &offset, &record);
    coded.bytes.erase(coded.bytes.begin(), coded.bytes.begin() + offset);
    coded.bytes.resize(record.bytes);
    coded.planes = record.planes;
    coded.passes = record.passes;
    return coded;
}

inline Coded code_mq(Random &random, uint32_t style, bool truncatable) {
    const CodeBlock block = random_block(random, random.between(1, kMaxDecodedPlanes));
    return code_mq(block, random_coefficients(random, block), style, truncatable);
}

// A block's first passes. Of a segment that goes on behind the last of them all bytes are there.
inline std::vector<CodewordSegment> segments_of(const Coded &coded, uint32_t style, int passes) {
    std::vector<CodewordSegment> segments;
    const int end = passes ? segment_end(style, passes - 1) : 0;
    const auto bytes =
        end < coded.passes ? coded.pass_bytes[static_cast<size_t>(end)] : static_cast<uint32_t>(coded.bytes.size());
    if (passes)
        for_each_segment(style, 0, passes, 0, bytes, coded.pass_bytes.data(), [&](int, int count, uint32_t size) {
            segments.push_back({static_cast<uint32_t>(count), size});
        });
    return segments;
}

// ---- HT

// The bytes of a cleanup pass by the library's coder; none where nothing is significant.
inline std::vector<uint8_t> code_ht(const CodeBlock &b, const std::vector<uint32_t> &coefficients) {
    std::vector<uint8_t> bytes;
    uint32_t offset;
    CodedBlock record{};
    code_ht_blocks({&b, 1}, coefficients.data(), bytes, &offset, &record);
    bytes.erase(bytes.begin(), bytes.begin() + offset);
    bytes.resize(record.bytes);
    return bytes;
}

// Bits to bytes as 7.1.5 and 7.1.6 read them: lowest first; behind 0xFF seven, or, backwards, seven ones behind a byte
// above 0x8F.
class HtBitWriter {
  public:
    explicit HtBitWriter(bool backwards) : backwards_(backwards), last_(backwards ? 0xFF : 0) {}
    void put(uint32_t bit) {
        byte_ |= bit << count_++;
        if (backwards_ ? count_ == 8 || (count_ == 7 && last_ > 0x8F && byte_ == 0x7F)
                       : count_ == (last_ == 0xFF ? 7 : 8))
            flush();
    }
    std::vector<uint8_t> finish() {
        if (count_) flush();
        if (backwards_) std::reverse(bytes_.begin(), bytes_.end());
        return bytes_;
    }

  private:
    void flush() {
        bytes_.push_back(static_cast<uint8_t>(byte_));
        last_ = byte_;
        byte_ = 0;
        count_ = 0;
    }
    const bool backwards_;
    uint32_t byte_ = 0, last_;
    int count_ = 0;
    std::vector<uint8_t> bytes_;
};

// The refinement of a cleanup pass that has all planes of the coefficients but the lowest (7.4, 7.5), and what it
// leaves: as decoders know it.
struct Refined {
    std::vector<uint8_t> bytes;
    std::vector<uint32_t> known;
};
inline Refined refine(const CodeBlock &b, const std::vector<uint32_t> &coefficients, uint32_t style,
                      bool with_magnitudes) {
    const int width = b.width, height = b.height;
    const auto at = [&](int x, int y) { return static_cast<size_t>(y * width + x); };
    Refined out{{}, std::vector<uint32_t>(coefficients.size())};
    std::vector<bool> by_cleanup(coefficients.size());
    for (size_t i = 0; i < coefficients.size(); i++) {
        const uint32_t m = magnitude(coefficients[i]);
        by_cleanup[i] = m > 1;
        if (m > 1) out.known[i] = (coefficients[i] & kSignBit) | (with_magnitudes ? 2 * m + 1 : (m / 2 * 2 + 1) * 2);
    }
    HtBitWriter propagation(false), magnitudes(true);
    for (int y0 = 0; y0 < height; y0 += 4)
        for (int x0 = 0; x0 < width; x0 += 4) {
            std::vector<uint32_t> signs;
            for (int x = x0; x < std::min(x0 + 4, width); x++)
                for (int y = y0; y < std::min(y0 + 4, height); y++) {
                    bool near = false;
                    for (int dy = -1; dy <= 1; dy++)
                        for (int dx = -1; dx <= 1; dx++)
                            if (x + dx >= 0 && x + dx < width && y + dy >= 0 && y + dy < height &&
                                !((style & 8) && y + dy == y0 + 4))
                                near |= out.known[at(x + dx, y + dy)] != 0;
                    if (!near || out.known[at(x, y)]) continue;
                    const uint32_t c = coefficients[at(x, y)];
                    propagation.put(magnitude(c));
                    if (!magnitude(c)) continue;
                    signs.push_back(c >> 31);
                    out.known[at(x, y)] = (c & kSignBit) | 3;
                }
            for (const uint32_t sign : signs) propagation.put(sign);
        }
    for (int y0 = 0; y0 < height; y0 += 4)
        for (int x = 0; x < width; x++)
            for (int y = y0; y < std::min(y0 + 4, height); y++)
                if (by_cleanup[at(x, y)]) magnitudes.put(coefficients[at(x, y)] & 1);
    out.bytes = propagation.finish();
    const std::vector<uint8_t> rest = magnitudes.finish();
    if (with_magnitudes) out.bytes.insert(out.bytes.end(), rest.begin(), rest.end());
    return out;
}

}  // namespace cudaenc::testing
