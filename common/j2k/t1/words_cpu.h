// SPDX-License-Identifier: LGPL-2.1-or-later
// A code-block as bit-planes in words of 16 columns of a stripe.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../codestream/coefficient.h"
#include "contexts.h"
#include "distortion.h"
#include "styles.h"

namespace cudaenc::j2k {

using Word = uint64_t;
constexpr int kColumns = 16;  // of a stripe in a word: bit 4 x + y is row y of column x
constexpr int kStripeRows = 4;
constexpr Word kFirst = kFirstRows<Word>, kLast = kLastRows<Word>;

inline int words_of(int width) { return (width + kColumns - 1) / kColumns; }
inline int stripes_of(int height) { return (height + kStripeRows - 1) / kStripeRows; }
// Words of a block with a border of one word all around.
inline size_t bordered_words(int width, int height) {
    return static_cast<size_t>(words_of(width) + 2) * static_cast<size_t>(stripes_of(height) + 2);
}

// What of a block is kept in words. The magnitude bit-planes follow the signs, the highest first.
enum Layer { kSignificant, kValid, kVisited, kRefined, kAhead, kNegative, kLayers };

// A block's words, a layer after the other; in each a word's neighbours are 1 and `row` away.
struct Words {
    Word *memory;
    size_t count;  // of a layer
    ptrdiff_t row;
    int across, stripes;
    Word *layer(int i) const { return memory + static_cast<size_t>(i) * count; }
    // Calls body(index) for all words, as the scan visits them.
    template <class Body>
    void scan(const Body &body) const {
        for (ptrdiff_t stripe = 1; stripe <= stripes; stripe++)
            for (ptrdiff_t i = stripe * row + 1; i <= stripe * row + across; i++) body(i);
    }
};

inline Word from_west(const Word *w) { return w[0] << 4 | w[-1] >> 60; }
inline Word from_east(const Word *w) { return w[0] >> 4 | w[1] << 60; }
inline Word from_north(Word here, Word above) { return ((here << 1) & ~kFirst) | ((above >> 3) & kFirst); }
inline Word from_south(Word here, Word below) { return ((here >> 1) & ~kLast) | ((below << 3) & kLast); }

inline Around<Word> around(const Word *here, ptrdiff_t row) {
    const Word *above = here - row, *below = here + row;
    const Word w = from_west(here), e = from_east(here), nw = from_west(above), ne = from_east(above),
               sw = from_west(below), se = from_east(below);
    return {w,
            e,
            from_north(*here, *above),
            from_south(*here, *below),
            from_north(w, nw),
            from_north(e, ne),
            from_south(w, sw),
            from_south(e, se)};
}

inline Word little_endian(const uint8_t (&bytes)[8]) {
    Word word = 0;
    for (int i = 0; i < 8; i++) word |= Word{bytes[i]} << 8 * i;
    return word;
}

// Coefficients to bit-planes, the signs being one more above them; and which samples there are.
inline void slice(const Words &words, const uint32_t *coefficients, const CodeBlock &block, int planes) {
    const int width = block.width, height = block.height;
    for (int y = 0; y < height; y += kStripeRows)
        for (int x = 0; x < width; x += kColumns) {
            const int rows = std::min(kStripeRows, height - y), columns = std::min(kColumns, width - x);
            uint32_t tile[kStripeRows][kColumns] = {};
            for (int r = 0; r < rows; r++)
                std::memcpy(tile[r], coefficients + static_cast<size_t>(y + r) * block.stride + x,
                            static_cast<size_t>(columns) * sizeof(uint32_t));
            for (auto &row : tile)
                for (uint32_t &c : row) c = (c & ~kSignBit) | c >> 31 << planes;
            const ptrdiff_t at = (y / kStripeRows + 1) * words.row + x / kColumns + 1;
            const Word all_rows = kFirst * ((1u << rows) - 1);
            words.layer(kValid)[at] = columns == kColumns ? all_rows : all_rows & ((Word{1} << 4 * columns) - 1);
            for (int plane = 0; plane <= planes; plane += 8) {
                // Sample 8 g + j is byte g of word j.
                uint8_t bytes[8][8];
                for (int r = 0; r < kStripeRows; r++)
                    for (int g = 0; g < 8; g++) {
                        bytes[r][g] = static_cast<uint8_t>(tile[r][2 * g] >> plane);
                        bytes[r + kStripeRows][g] = static_cast<uint8_t>(tile[r][2 * g + 1] >> plane);
                    }
                Word word[8];
                for (int j = 0; j < 8; j++) word[j] = little_endian(bytes[j]);
                planes_to_bytes(word);
                for (int i = plane; i <= std::min(plane + 7, planes); i++)
                    words.layer(kNegative + planes - i)[at] = word[i - plane];
            }
        }
}

// Of a pass: decisions but signs, of which `ones` are 1, and what its distortion reduction follows from.
struct PassCounts {
    bool refinement;
    int ones, all, parts;
    int32_t reduction(int plane, bool reversible) const {
        const ReductionRounding rounding = reduction_rounding(plane, reversible);
        return refinement ? reduction_of_refinement(rounding, ones, all - ones, parts)
                          : reduction_of_significance(rounding, ones, parts);
    }
};
// Counted before a clean-up, and after other passes.
inline PassCounts count_pass(const Words &words, int kind, const Word *bits, int plane) {
    const Word *significant = words.layer(kSignificant), *valid = words.layer(kValid), *visited = words.layer(kVisited);
    const int below = min_of(plane, kReductionPlanes);
    int ones = 0, all = 0, parts = 0;
    words.scan([&](ptrdiff_t i) {
        const Word members = kind == kSignificancePropagation ? visited[i]
                             : kind == kMagnitudeRefinement   ? significant[i] & ~visited[i]
                                                              : valid[i] & ~(significant[i] | visited[i]);
        const Word one = members & bits[i], zero = kind == kMagnitudeRefinement ? members & ~bits[i] : 0;
        all += std::popcount(members);
        if (!(one | zero)) return;
        ones += std::popcount(one);
        for (int k = 0; k < below; k++) {
            const Word next = bits[i + (k + 1) * static_cast<ptrdiff_t>(words.count)];
            parts += (std::popcount(one & next) - std::popcount(zero & next)) * (1 << (kReductionPlanes - 1 - k));
        }
    });
    return {kind == kMagnitudeRefinement, ones, all, parts};
}

// Words that with_words() needs for a block.
inline size_t scratch_words(int width, int height) { return bordered_words(width, height) * (kLayers + kMaxPlanes); }
// Calls body(words, planes) for a block that is not zero. memory: of scratch_words(); coefficients: of the block.
template <class Body>
void with_words(uint64_t *memory, const uint32_t *coefficients, const CodeBlock &block, const Body &body) {
    uint32_t all = 0;
    for (int y = 0; y < block.height; y++)
        for (int x = 0; x < block.width; x++) all |= coefficients[static_cast<size_t>(y) * block.stride + x];
    const int planes = bit_width(all & ~kSignBit);
    if (!planes) return;
    const Words words{.memory = memory,
                      .count = bordered_words(block.width, block.height),
                      .row = words_of(block.width) + 2,
                      .across = words_of(block.width),
                      .stripes = stripes_of(block.height)};
    std::memset(words.memory, 0, kLayers * words.count * sizeof(Word));
    body(words, planes);
}

}  // namespace cudaenc::j2k
