// SPDX-License-Identifier: LGPL-2.1-or-later
// Huffman coding of quantised blocks (T.81 F.1.2), and optimal tables (Annex K.2).
#pragma once
#include <cstdint>

#include "../hd.h"
#include "tables.h"

namespace cudaenc::mjpeg {

// ---- Symbols

// SSSS of Tables F.1 and F.2.
CUDAENC_HD int magnitude_category(int32_t value) {
    return bit_width(static_cast<uint32_t>(value < 0 ? -value : value));
}

// The `category` bits of the value within its category: of a negative value those of value - 1.
CUDAENC_HD uint32_t magnitude_bits(int32_t value, int category) {
    return static_cast<uint32_t>(value + (value >> 31)) & ((1u << category) - 1);
}

constexpr uint32_t kEob = 0x00, kZrl = 0xF0;
CUDAENC_HD uint32_t ac_symbol(int run, int category) { return static_cast<uint32_t>((run << 4) + category); }

// The runs of zeros before nonzero levels at places 1..63. take(skipped): the next run, less 16 for each call of
// skipped(). Bit k of `nonzero` is place k; bit 0 is ignored.
class ZeroRuns {
  public:
    explicit ZeroRuns(uint64_t nonzero) : bits_(nonzero & ~uint64_t{1}) {}
    bool any() const { return bits_ != 0; }
    bool reach_end() const { return last_ == 63; }
    template <class Skipped>
    int take(const Skipped &skipped) {
        const int place = count_trailing_zeros(bits_);
        bits_ &= bits_ - 1;
        int run = place - last_ - 1;
        for (; run > 15; run -= 16) skipped();
        last_ = place;
        return run;
    }

  private:
    uint64_t bits_;
    int last_ = 0;
};
// The same from bits in the opposite order: place k is bit 63 - k. For devices, whose registers have 32 bits.
class LeadingZeroRuns {
  public:
    CUDAENC_HD LeadingZeroRuns(uint32_t low_places, uint32_t high_places)
        : now_(low_places << 1 | high_places >> 31), later_(high_places << 1), reach_end_(high_places & 1) {}
    CUDAENC_HD bool any() const { return (now_ | later_) != 0; }
    CUDAENC_HD bool reach_end() const { return reach_end_; }
    template <class Skipped>
    CUDAENC_HD int take(const Skipped &skipped) {
        CUDAENC_NO_UNROLL
        while (now_ < 1u << 16) {
            now_ = funnel_shift_left(later_, now_, 16);
            later_ <<= 16;
            skipped();
        }
        const int run = zeros_above(now_);
        now_ = funnel_shift_left(later_, now_, static_cast<uint32_t>(run) + 1);
        later_ <<= run + 1;
        return run;
    }

  private:
    uint32_t now_, later_;
    bool reach_end_;
};

// Hands the symbols of a block to a sink, in order: sink.put_dc(category, bits) once, then sink.put_ac(symbol, bits).
// dc_difference: -2047..2047. level(steps): the nonzero level, -1023..1023, so many places of the zig-zag sequence
// after the one before, at first after place 0.
template <class Runs, class Level, class Sink>
CUDAENC_HD void code_block(int32_t dc_difference, Runs runs, Level level, Sink &sink) {
    const int dc_category = magnitude_category(dc_difference);
    sink.put_dc(dc_category, magnitude_bits(dc_difference, dc_category));
    while (runs.any()) {
        int steps = 1;
        const int run = runs.take([&] {
            sink.put_ac(kZrl, 0);
            steps += 16;
        });
        const int32_t value = level(run + steps);
        const int category = magnitude_category(value);
        sink.put_ac(ac_symbol(run, category), magnitude_bits(value, category));
    }
    if (!runs.reach_end()) sink.put_ac(kEob, 0);
}

// ---- Codes

// By table and symbol, how often it occurs.
struct SymbolCounts {
    uint32_t dc[kTables][16];
    uint32_t ac[kTables][256];
};
// By table and symbol, its code word: the code, shifted left by the bits of magnitude that follow it, above 5 bits for
// the length of both. 0: no code.
struct alignas(16) CodeTables {
    uint32_t dc[kTables][16];
    uint32_t ac[kTables][256];
};
CUDAENC_HD constexpr uint32_t code_word(uint32_t code, int length, uint32_t symbol) {
    return code << (symbol & 15) << 5 | (static_cast<uint32_t>(length) + (symbol & 15));
}
CUDAENC_HD uint32_t word_bits(uint32_t word) { return word >> 5; }
CUDAENC_HD uint32_t word_length(uint32_t word) { return word & 31; }

// The bits of a block at most: codes of 16 bits, 11 bits of magnitude for DC, 10 for each AC level.
constexpr int kMaxBlockBits = (16 + 11) + 63 * (16 + 10);

inline void add(SymbolCounts &to, const SymbolCounts &counts) {
    for (int t = 0; t < kTables; t++) {
        for (int s = 0; s < 16; s++) to.dc[t][s] += counts.dc[t][s];
        for (int s = 0; s < 256; s++) to.ac[t][s] += counts.ac[t][s];
    }
}

// Sinks of code_block(). dc, ac: rows of one table.
struct SymbolCounter {
    uint32_t *dc, *ac;
    CUDAENC_HD void put_dc(uint32_t category, uint32_t) { dc[category]++; }
    CUDAENC_HD void put_ac(uint32_t symbol, uint32_t) { ac[symbol]++; }
};
// out.put(bits, count): appends the low `count` bits, 1..27; those above are 0.
template <class Bits>
struct CodeWriter {
    const uint32_t *dc, *ac;
    Bits &out;
    CUDAENC_HD void put_dc(uint32_t category, uint32_t magnitude) {
        out.put(word_bits(dc[category]) | magnitude, word_length(dc[category]));
    }
    CUDAENC_HD void put_ac(uint32_t symbol, uint32_t magnitude) {
        out.put(word_bits(ac[symbol]) | magnitude, word_length(ac[symbol]));
    }
};

CUDAENC_HD int symbols_of(const HuffmanSpec &spec) {
    int n = 0;
    for (int i = 0; i < 16; i++) n += spec.codes[i];
    return n;
}

// The code word of the table's symbol k, in the order of Annex C.
CUDAENC_HD uint32_t code_word_of(const HuffmanSpec &spec, int k) {
    uint32_t code = 0;
    int length = 1, before = k;
    for (; before >= spec.codes[length - 1]; length++) {
        before -= spec.codes[length - 1];
        code = (code + spec.codes[length - 1]) << 1;
    }
    return code_word(code + static_cast<uint32_t>(before), length, spec.symbols[k]);
}
// words[symbol] of all `size` symbols.
CUDAENC_HD void make_code_words(const HuffmanSpec &spec, uint32_t *words, int size) {
    for (int i = 0; i < size; i++) words[i] = 0;
    const int n = symbols_of(spec);
    for (int k = 0; k < n; k++) words[spec.symbols[k]] = code_word_of(spec, k);
}

// ---- Optimal tables
//
// Frequent symbols get short codes, so a table has two parts: the symbols in order of frequency, and the number of
// codes of each length. Ties are resolved, so that the table is a function of the counts.

// The order of symbols: the more frequent first; of equals the smaller.
CUDAENC_HD bool precedes(const uint32_t *counts, int a, int b) {
    return counts[a] > counts[b] || (counts[a] == counts[b] && a < b);
}

// Huffman's algorithm (K.2) and the limit of 16 bits (K.3), in three steps. They count the codes of each length for n +
// 1 symbols, and drop one of the longest, as no code may be all ones. n: 1..256.
constexpr int kDeepest = 48;  // deeper trees have weights above 2^32 (Fibonacci)

// Builds the tree in place, after Moffat and Katajainen ("In-place calculation of minimum-redundancy codes", WADS
// 1995). Node i of 0..n - 1, the last one the root, joins the two lightest trees left, of equals single symbols first.
// It takes the place of a symbol that was joined before. weights: [n + 1], ascending; the first is of the code to be
// dropped; their sum is below 2^32 - 1. They become the parents of the nodes.
CUDAENC_HD void join_lightest(uint32_t *weights, int n) {
    constexpr uint32_t kNone = ~0u;
    uint32_t leaf_weight = weights[0], tree_weight = kNone;
    for (int node = 0, tree = 0, leaf = 0; node < n; node++) {
        uint32_t sum = 0;
        for (int i = 0; i < 2; i++) {
            if (leaf_weight <= tree_weight) {
                sum += leaf_weight;
                leaf_weight = ++leaf <= n ? weights[leaf] : kNone;
            } else {
                sum += tree_weight;
                weights[tree++] = static_cast<uint32_t>(node);
                tree_weight = tree < node ? weights[tree] : kNone;
            }
        }
        weights[node] = sum;
        if (tree == node) tree_weight = sum;
    }
}
CUDAENC_HD int node_depth(const uint32_t *parents, int n, int node) {
    int depth = 0;
    for (; node != n - 1; node = static_cast<int>(parents[node])) depth++;
    return depth;
}
// From the nodes of each depth, [kDeepest + 2], overwritten, to the codes of each length. Of depth d + 1 there are so
// many symbols: twice the nodes of depth d, less the nodes of depth d + 1.
CUDAENC_HD void limit_code_lengths(uint32_t *lengths, uint8_t (&codes)[16]) {
    for (int length = kDeepest + 1; length > 0; length--) lengths[length] = 2 * lengths[length - 1] - lengths[length];
    // Figure K.3: of two codes that are too long one becomes a bit shorter; the other and a shorter one become
    // siblings.
    for (int length = kDeepest + 1; length > 16; length--)
        while (lengths[length] > 0) {
            int shorter = length - 2;
            while (lengths[shorter] == 0) shorter--;
            lengths[length] -= 2;
            lengths[length - 1]++;
            lengths[shorter + 1] += 2;
            lengths[shorter]--;
        }
    int longest = 16;
    while (lengths[longest] == 0) longest--;
    lengths[longest]--;
    for (int length = 1; length <= 16; length++) codes[length - 1] = static_cast<uint8_t>(lengths[length]);
}

// The table for `counts` of `size` symbols, of which 1..162 occur; their sum is below 2^32 - 1. Kernel mjpeg_tables
// does the same with a thread a symbol, whose place is the number of symbols that precede it.
CUDAENC_HD void make_huffman_spec(const uint32_t *counts, int size, HuffmanSpec &spec) {
    uint8_t used[256];
    int n = 0;
    for (int s = 0; s < size; s++)
        if (counts[s]) used[n++] = static_cast<uint8_t>(s);
    uint32_t weights[kAcSymbols + 1];
    weights[0] = 1;  // K.2: the code that is reserved
    for (int i = 0; i < n; i++) {
        int place = 0;
        for (int j = 0; j < n; j++) place += precedes(counts, used[j], used[i]);
        spec.symbols[place] = used[i];
        weights[n - place] = counts[used[i]];
    }
    join_lightest(weights, n);
    uint32_t lengths[kDeepest + 2] = {};
    for (int node = 0; node < n; node++) lengths[node_depth(weights, n, node)]++;
    limit_code_lengths(lengths, spec.codes);
}

struct HuffmanSpecs {
    HuffmanSpec dc[kTables], ac[kTables];
};

// Of all tables in use.
CUDAENC_HD HuffmanSpecs optimal_huffman(const SymbolCounts &counts, int tables) {
    HuffmanSpecs specs{};
    for (int t = 0; t < tables; t++) {
        make_huffman_spec(counts.dc[t], 16, specs.dc[t]);
        make_huffman_spec(counts.ac[t], 256, specs.ac[t]);
    }
    return specs;
}
CUDAENC_HD CodeTables make_codes(const HuffmanSpecs &specs, int tables) {
    CodeTables codes{};
    for (int t = 0; t < tables; t++) {
        make_code_words(specs.dc[t], codes.dc[t], 16);
        make_code_words(specs.ac[t], codes.ac[t], 256);
    }
    return codes;
}

// The bits of all counted symbols.
CUDAENC_HD uint64_t count_bits(const SymbolCounts &counts, const CodeTables &codes) {
    uint64_t bits = 0;
    for (int t = 0; t < kTables; t++) {
        for (int s = 0; s < 16; s++) bits += uint64_t{counts.dc[t][s]} * word_length(codes.dc[t][s]);
        for (int s = 0; s < 256; s++) bits += uint64_t{counts.ac[t][s]} * word_length(codes.ac[t][s]);
    }
    return bits;
}

}  // namespace cudaenc::mjpeg
