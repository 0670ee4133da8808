// SPDX-License-Identifier: LGPL-2.1-or-later
// JPEG's Huffman coding: symbols of blocks, tables made from counts (their size against package-merge, lengths limited
// to 16), the tables of Annex K, bits and stuffed bytes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "../../common/mjpeg/bits.h"
#include "../../common/mjpeg/headers.h"
#include "../../common/mjpeg/huffman.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::mjpeg;
using namespace cudaenc::testing;

namespace {

struct Code {
    int symbol, length;
    uint32_t code;
};
std::vector<Code> codes_of(const HuffmanSpec &spec) {
    std::vector<Code> codes;
    uint32_t code = 0;
    for (int length = 1, k = 0; length <= 16; length++, code <<= 1)
        for (int i = 0; i < spec.codes[length - 1]; i++) codes.push_back({spec.symbols[k++], length, code++});
    return codes;
}

// The least bits of codes of at most 16 bits for the counts, one code more being reserved: package-merge.
uint64_t least_bits(std::vector<uint64_t> counts) {
    counts.push_back(0);
    std::sort(counts.begin(), counts.end());
    struct Package {
        uint64_t weight;
        std::vector<int> times;
    };
    std::vector<Package> leaves, last;
    for (size_t i = 0; i < counts.size(); i++) {
        leaves.push_back({counts[i], std::vector<int>(counts.size())});
        leaves.back().times[i] = 1;
    }
    for (int length = 0; length < 16; length++) {
        std::vector<Package> all = leaves;
        for (size_t i = 0; i + 1 < last.size(); i += 2) {
            Package p = last[i];
            p.weight += last[i + 1].weight;
            for (size_t j = 0; j < p.times.size(); j++) p.times[j] += last[i + 1].times[j];
            all.push_back(std::move(p));
        }
        std::stable_sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.weight < b.weight; });
        last = std::move(all);
    }
    uint64_t bits = 0;
    for (size_t i = 0; i < 2 * counts.size() - 2; i++) bits += last[i].weight;
    return bits;
}

// What every table has to be.
uint64_t check_table(const uint32_t *counts, int size, const HuffmanSpec &spec) {
    const std::vector<Code> codes = codes_of(spec);
    int used = 0;
    for (int s = 0; s < size; s++) used += counts[s] != 0;
    EXPECT(static_cast<int>(codes.size()) == used, "%zu codes for %d symbols", codes.size(), used);
    uint64_t bits = 0, space = 0;
    for (size_t i = 0; i < codes.size(); i++) {
        EXPECT(counts[codes[i].symbol] > 0, "symbol %02x does not occur", codes[i].symbol);
        EXPECT(codes[i].code != (1u << codes[i].length) - 1, "the code of %02x is all ones", codes[i].symbol);
        if (i) EXPECT(precedes(counts, codes[i - 1].symbol, codes[i].symbol), "the order of symbols");
        bits += uint64_t{counts[codes[i].symbol]} * static_cast<uint64_t>(codes[i].length);
        space += uint64_t{1} << (16 - codes[i].length);
    }
    EXPECT(space < 65536, "no code is left to be all ones");
    return bits;
}

START_TEST(tables_are_optimal) {
    Random random(1);
    double worst = 0;
    for (int round = 0; round < 120; round++) {
        std::vector<uint32_t> counts(256);
        const int used = round < 40 ? round + 1 : random.between(1, kAcSymbols);
        std::vector<uint64_t> present;
        for (int i = 0; i < used; i++) {
            const int kind = round % 4;
            const uint32_t count = kind == 0   ? 1 + random.below(1000)
                                   : kind == 1 ? 1u << random.below(20)
                                   : kind == 2 ? 1
                                               : 1 + random.below(1u << random.between(1, 23));
            counts[static_cast<size_t>(i * 3 % 256)] = count;
            present.push_back(count);
        }
        HuffmanSpec spec{};
        make_huffman_spec(counts.data(), 256, spec);
        const uint64_t bits = check_table(counts.data(), 256, spec), least = least_bits(present);
        EXPECT(bits >= least, "%llu bits are less than the least, %llu", static_cast<unsigned long long>(bits),
               static_cast<unsigned long long>(least));
        double entropy = 0, sum = 0;
        for (const uint64_t c : present) sum += static_cast<double>(c);
        for (const uint64_t c : present) entropy -= static_cast<double>(c) * std::log2(static_cast<double>(c) / sum);
        EXPECT(static_cast<double>(bits) >= entropy - 1e-6, "below the entropy");
        // K.2 counts the reserved code once: it can cost as many bits as codes are long.
        const double over = static_cast<double>(bits) - static_cast<double>(least);
        worst = std::max(worst, over / static_cast<double>(std::max<uint64_t>(least, 1)));
        if (sum > 1e5)
            EXPECT(over <= 16 + 0.002 * static_cast<double>(least), "%g bits more than %g", over,
                   static_cast<double>(least));
    }
    std::printf("Huffman tables: at most %.4f %% above package-merge\n", 100 * worst);
}
END_TEST

// Fibonacci counts make the deepest trees.
START_TEST(lengths_are_limited) {
    for (int n = 1; n <= 44; n++) {
        uint32_t counts[256] = {};
        std::vector<uint64_t> present;
        uint32_t a = 1, b = 1;
        for (int i = 0; i < n; i++) {
            counts[(i * 7) % 256] = a;
            present.push_back(a);
            const uint32_t next = a + b;
            a = b, b = next;
        }
        HuffmanSpec spec{};
        make_huffman_spec(counts, 256, spec);
        const uint64_t bits = check_table(counts, 256, spec), least = least_bits(present);
        EXPECT(bits >= least && static_cast<double>(bits) <= 1.02 * static_cast<double>(least) + 16,
               "%d symbols: %llu bits instead of %llu", n, static_cast<unsigned long long>(bits),
               static_cast<unsigned long long>(least));
    }
    // All symbols, all equal: 9 bits at most.
    uint32_t counts[256] = {};
    for (int i = 0; i < kAcSymbols; i++) counts[i] = 0x00C00000;
    HuffmanSpec spec{};
    make_huffman_spec(counts, 256, spec);
    check_table(counts, 256, spec);
    EXPECT(codes_of(spec).back().length <= 9, "equal counts have codes of %d bits", codes_of(spec).back().length);
}
END_TEST

START_TEST(annex_k) {
    const HuffmanSpecs specs = default_huffman();
    for (int t = 0; t < kTables; t++) {
        EXPECT_EQ(symbols_of(specs.dc[t]), kDcSymbols);
        EXPECT_EQ(symbols_of(specs.ac[t]), kAcSymbols);
        std::vector<bool> seen(256);
        for (int i = 0; i < kAcSymbols; i++) {
            const uint8_t s = specs.ac[t].symbols[i];
            EXPECT(!seen[s] && (s == kEob || s == kZrl || ((s & 15) >= 1 && (s & 15) <= 10)), "symbol %02x", s);
            seen[s] = true;
        }
    }
    const auto code = [](const HuffmanSpec &spec, int symbol) {
        for (const Code &c : codes_of(spec))
            if (c.symbol == symbol) {
                std::string text;
                for (int i = c.length; i--;) text += c.code >> i & 1 ? '1' : '0';
                return text;
            }
        return std::string();
    };
    // Tables K.3 to K.6.
    EXPECT(code(specs.dc[0], 11) == "111111110", "the code of 11");
    EXPECT(code(specs.dc[1], 11) == "11111111110", "the code of 11");
    EXPECT(code(specs.ac[0], 0x00) == "1010", "the code of 0x00");
    EXPECT(code(specs.ac[0], 0xF0) == "11111111001", "the code of 0xF0");
    EXPECT(code(specs.ac[0], 0x82) == "111111111000000", "the code of 0x82");
    EXPECT(code(specs.ac[0], 0xFA) == "1111111111111110", "the code of 0xFA");
    EXPECT(code(specs.ac[1], 0x00) == "00", "the code of 0x00");
    EXPECT(code(specs.ac[1], 0xF0) == "1111111010", "the code of 0xF0");
    EXPECT(code(specs.ac[1], 0x05) == "11001", "the code of 0x05");
    EXPECT(code(specs.ac[1], 0xF1) == "111111111000011", "the code of 0xF1");
    EXPECT(code(specs.ac[1], 0xFA) == "1111111111111110", "the code of 0xFA");
}
END_TEST

// Symbols and magnitudes as a list.
struct Lister {
    std::vector<uint64_t> all;
    void put_dc(uint32_t category, uint32_t bits) { all.push_back(uint64_t{category} << 32 | bits); }
    void put_ac(uint32_t symbol, uint32_t bits) { all.push_back(uint64_t{symbol} << 32 | bits); }
};

START_TEST(symbols_tell_the_block) {
    Random random(4);
    for (int round = 0; round < 5000; round++) {
        int levels[64] = {};
        uint64_t nonzero = random.word();  // bit 0 is not looked at
        nonzero &= 1;
        const uint32_t density = 1 + random.below(40);
        for (int k = 1; k < 64; k++) {
            if (!random.one_in(density)) continue;
            levels[k] = random.between(-1023, 1023) >> random.below(10);
            nonzero |= uint64_t{levels[k] != 0} << k;
        }
        const int difference = random.between(-2047, 2047) >> random.below(11);
        const ZeroRuns runs(nonzero);
        const auto reader = [&] { return [&levels, at = 0](int steps) mutable { return levels[at += steps]; }; };
        Lister lister, other;
        code_block(difference, runs, reader(), lister);
        uint32_t low_places = 0, high_places = 0;
        for (int k = 0; k < 64; k++) (k < 32 ? low_places : high_places) |= (nonzero >> k & 1) << (31 - k % 32);
        code_block(difference, LeadingZeroRuns(low_places, high_places), reader(), other);
        EXPECT(lister.all == other.all, "bits of places in either order");
        // F.2.2: back again.
        const auto value = [](uint64_t symbol) {
            const int size = static_cast<int>(symbol >> 32 & 15), bits = static_cast<int>(symbol & 0xFFFFFFFF);
            EXPECT(bits < 1 << size, "magnitude bits %x of category %d", bits, size);
            return size && bits < 1 << (size - 1) ? bits - (1 << size) + 1 : bits;
        };
        EXPECT(value(lister.all[0]) == difference, "DC");
        int back[64] = {}, k = 1;
        size_t i = 1;
        for (; k < 64 && i < lister.all.size(); i++, k++) {
            if (lister.all[i] == 0) break;
            k += static_cast<int>(lister.all[i] >> 36);
            EXPECT(k < 64, "beyond the block");
            back[k] = value(lister.all[i]);
        }
        EXPECT(k == 64 ? i == lister.all.size() : i + 1 == lister.all.size(), "symbols after the last");
        EXPECT(std::equal(levels + 1, levels + 64, back + 1), "AC");

        SymbolCounts counts{};
        SymbolCounter counter{counts.dc[0], counts.ac[0]};
        code_block(difference, runs, reader(), counter);
        const CodeTables codes = make_codes(default_huffman(), kTables);
        BitWriter writer;
        writer.reserve(kMaxBlockBits);
        CodeWriter<BitWriter> sink{codes.dc[0], codes.ac[0], writer};
        code_block(difference, runs, reader(), sink);
        const uint64_t bits = writer.end().bits;
        EXPECT(bits == count_bits(counts, codes) && bits <= kMaxBlockBits, "two sinks, two counts");
    }
}
END_TEST

// Runs of bits, joined, are the bits in their order with a zero after each 0xFF; padding is of ones.
START_TEST(bytes_are_stuffed) {
    Random random(5);
    for (int round = 0; round < 3000; round++) {
        std::vector<bool> expected;
        std::vector<BitWriter> writers(random.below(4) + 1);
        std::vector<std::vector<BitWriter::Run>> runs(writers.size());
        const uint32_t ones = random.below(3);
        for (size_t i = 0; i < writers.size(); i++) {
            for (uint32_t n = random.below(3); n--;) {
                for (uint32_t puts = random.below(60); puts--;) {
                    const int count = random.between(1, 32);
                    const uint32_t bits = (ones == 0   ? ~0u
                                           : ones == 1 ? random.word() | random.word()
                                                       : random.word()) &
                                          (count == 32 ? ~0u : (1u << count) - 1);
                    writers[i].reserve(static_cast<size_t>(count));
                    writers[i].put(bits, static_cast<uint32_t>(count));
                    for (int b = count; b--;) expected.push_back(bits >> b & 1);
                }
                runs[i].push_back(writers[i].end());
            }
        }
        while (expected.size() % 8) expected.push_back(true);
        std::vector<uint8_t> stuffed;
        for (size_t i = 0; i < expected.size(); i += 8) {
            uint8_t byte = 0;
            for (size_t b = 0; b < 8; b++) byte = static_cast<uint8_t>(byte << 1 | expected[i + b]);
            stuffed.push_back(byte);
            if (byte == 0xFF) stuffed.push_back(0);
        }
        std::vector<uint8_t> out(expected.size() / 4 + 18, 0xA5);
        StuffedBytes bytes(out.data());
        for (size_t i = 0; i < writers.size(); i++)
            for (const BitWriter::Run &run : runs[i]) bytes.append(writers[i].words() + run.first_word, run.bits);
        bytes.pad();
        bytes.put_marker(0xFFD9);
        stuffed.push_back(0xFF), stuffed.push_back(0xD9);
        EXPECT(static_cast<size_t>(bytes.end() - out.data()) == stuffed.size() &&
                   std::equal(stuffed.begin(), stuffed.end(), out.begin()),
               "round %d", round);
    }
}
END_TEST

START_TEST(many_blocks) {
    Random random(6);
    constexpr int kBlocks = 5000;
    std::vector<std::array<int, 64>> blocks(kBlocks);
    std::vector<uint64_t> nonzero(kBlocks);
    for (size_t b = 0; b < kBlocks; b++)
        for (size_t k = 1; k < 64; k++) {
            blocks[b][k] = random.one_in(static_cast<uint32_t>(k)) ? random.between(-40, 40) / static_cast<int>(k) : 0;
            nonzero[b] |= uint64_t{blocks[b][k] != 0} << k;
        }
    const auto code_all = [&](auto &sink) {
        for (size_t b = 0; b < kBlocks; b++)
            code_block(
                static_cast<int>(b % 64) - 32, ZeroRuns(nonzero[b]),
                [levels = blocks[b].data(), at = 0](int steps) mutable { return levels[at += steps]; }, sink);
    };
    SymbolCounts counts;
    bench("mjpeg: symbols counted", kBlocks, "blocks", [&] {
        counts = {};
        SymbolCounter counter{counts.dc[0], counts.ac[0]};
        code_all(counter);
    });
    HuffmanSpecs specs;
    bench("mjpeg: optimal tables", 1, "tables", [&] { specs = optimal_huffman(counts, 1); });
    const CodeTables codes = make_codes(specs, 1);
    uint64_t bits = 0;
    bench("mjpeg: blocks coded", kBlocks, "blocks", [&] {
        BitWriter writer;
        writer.reserve(kBlocks * kMaxBlockBits);
        CodeWriter<BitWriter> sink{codes.dc[0], codes.ac[0], writer};
        code_all(sink);
        bits = writer.end().bits;
    });
    EXPECT(bits == count_bits(counts, codes), "%llu bits", static_cast<unsigned long long>(bits));
    EXPECT(bits < count_bits(counts, make_codes(default_huffman(), 1)), "tables that are not better than Annex K's");
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("mjpeg_huffman");
    TCase *huffman = add_case(suite, "huffman");
    tcase_add_test(huffman, tables_are_optimal);
    tcase_add_test(huffman, lengths_are_limited);
    tcase_add_test(huffman, annex_k);
    tcase_add_test(huffman, symbols_tell_the_block);
    tcase_add_test(huffman, bytes_are_stuffed);
    tcase_add_test(huffman, many_blocks);
    return run_suite(suite);
}
