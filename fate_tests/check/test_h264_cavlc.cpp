// SPDX-License-Identifier: LGPL-2.1-or-later
// CAVLC: blocks against a parser of its own, the tables, the example of the CAVLCU paper, escapes of levels.
#include <array>
#include <string>

#include "../../common/bit_writer.h"
#include "../../common/h264/syntax/cavlc.h"
#include "h264_parser.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

struct StringSink {
    std::string &bits;
    void put(uint32_t value, uint32_t count) {
        EXPECT(count >= 1 && count <= 32 && (count == 32 || value >> count == 0), "%u bits of %x", count, value);
        for (uint32_t i = count; i-- > 0;) bits += static_cast<char>('0' + (value >> i & 1));
    }
};
BitReader reader_of(const std::string &bits) {
    std::vector<uint8_t> bytes((bits.size() + 7) / 8);
    for (size_t i = 0; i < bits.size(); i++) bytes[i / 8] |= static_cast<uint8_t>((bits[i] - '0') << (7 - i % 8));
    return BitReader(bytes);
}

// Levels in the order of the scan.
std::string code_levels(const std::vector<int16_t> &levels, int nc, uint32_t sign_flips = 0) {
    static constexpr uint8_t in_order[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const int size = static_cast<int>(levels.size());
    const ScannedLevels scanned{levels.data(), in_order, 1};
    const BlockCode code = nc < 0 ? chroma_dc_code(size) : BlockCode{token_table(nc), kZeros4x4, size};
    std::string bits;
    StringSink sink{bits};
    code_block(kCavlcTables, code, nonzero_of(scanned, size), scanned, sign_flips, sink);
    const BlockBits counted = count_block(scanned, code);
    EXPECT(counted.bits == bits.size(), "%u bits counted, %zu written", counted.bits, bits.size());
    return bits;
}
std::vector<int16_t> parse_levels(const std::string &bits, int nc, int size, int *prefix = nullptr) {
    BitReader in = reader_of(bits);
    int level[16];
    parse_block(in, nc, size, level, prefix);
    EXPECT(in.position() == bits.size(), "%zu of %zu bits were parsed", in.position(), bits.size());
    return std::vector<int16_t>(level, level + size);
}
void expect_round_trip(const std::vector<int16_t> &levels, int nc) {
    const std::string bits = code_levels(levels, nc);
    EXPECT(parse_levels(bits, nc, static_cast<int>(levels.size())) == levels, "nC %d: %s", nc, bits.c_str());
}
struct Kind {
    int size, nc;
};
constexpr Kind kinds[] = {{16, 0}, {16, 2}, {16, 4}, {16, 8}, {15, 0}, {15, 3}, {15, 7}, {15, 16}, {4, -1}, {8, -2}};

// Fuentes-Alventosa et al., 2021, section 2.2: nA 4, nB 6.
START_TEST(example_of_the_paper) {
    const std::vector<int16_t> levels = {5, 1, 0, -1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    EXPECT(predict_total(4, 6) == 5, "nC");
    const std::string bits = code_levels(levels, predict_total(4, 6));
    EXPECT(bits == "1010001100001000110110", "%s", bits.c_str());
    expect_round_trip(levels, 5);
}
END_TEST

// Every entry of every table: each total_coeff, number of trailing ones and arrangement of zeros for blocks of 4 and 8,
// of 16 those whose levels lie in two runs.
START_TEST(tables) {
    for (const Kind &kind : kinds)
        for (uint32_t mask = 0; mask < 1u << kind.size; mask++) {
            const int runs = count_ones(mask & ~(mask << 1));
            if (kind.size > 8 && runs > 2) continue;
            for (int ones = 0; ones <= 3; ones++) {
                std::vector<int16_t> levels(static_cast<size_t>(kind.size));
                int left = ones;
                for (int k = kind.size; k-- > 0;)
                    if (mask >> k & 1) levels[static_cast<size_t>(k)] = left-- > 0 ? (k & 1 ? 1 : -1) : k & 1 ? 2 : -2;
                expect_round_trip(levels, kind.nc);
            }
        }
}
END_TEST

// Codes leave no gap but those that the standard has: sums of 2^-length.
START_TEST(tables_are_complete) {
    const auto sum_of = [](const CodeWord *words, int count) {
        double sum = 0;
        for (int i = 0; i < count; i++)
            if (words[i]) sum += 1.0 / (1 << code_length(words[i]));
        return sum;
    };
    for (int total = 1; total < 16; total++)
        EXPECT(sum_of(&kCavlcTables.total_zeros[kZeros4x4][16 * (total - 1)], 16) == (total == 1 ? 1 - 1.0 / 512 : 1.0),
               "total_zeros with total_coeff %d", total);
    for (int total = 1; total < 4; total++)
        EXPECT(sum_of(&kCavlcTables.total_zeros[kZerosDc420][16 * (total - 1)], 16) == 1, "4:2:0, %d", total);
    for (int total = 1; total < 8; total++)
        EXPECT(sum_of(&kCavlcTables.total_zeros[kZerosDc422][16 * (total - 1)], 16) == 1, "4:2:2, %d", total);
    for (int zeros = 1; zeros < 7; zeros++)
        EXPECT(sum_of(&kCavlcTables.run_before[16 * (zeros - 1)], 16) == 1, "zerosLeft %d", zeros);
}
END_TEST

std::vector<int16_t> random_levels(Random &random, const Kind &kind) {
    const int density = random.between(0, 8), range = random.of({1, 1, 2, 3, 10, 100, 3000, 32767});
    std::vector<int16_t> levels(static_cast<size_t>(kind.size));
    for (int16_t &level : levels)
        if (random.between(0, 7) < density) level = static_cast<int16_t>(random.between(-range, range));
    return levels;
}

START_TEST(random_blocks) {
    Random random(1);
    for (int i = 0; i < 300000; i++) {
        const Kind kind = random.of(kinds);
        const std::vector<int16_t> levels = random_levels(random, kind);
        expect_round_trip(levels, kind.nc);
    }
}
END_TEST

// Every level after every suffix length, and the largest that level_prefix 15 has.
START_TEST(escapes) {
    // What comes before makes the suffix length: nothing, then levels that pass each of the thresholds.
    const std::vector<std::vector<int16_t>> before = {
        {}, {2}, {4}, {4, 7}, {4, 7, 13}, {4, 7, 13, 25}, {4, 7, 13, 25, 49}, {1}, {1, 1}, {1, -1, 1}, {1, 1, 1, 4}};
    for (const std::vector<int16_t> &first : before)
        for (const int nc : {0, 8})
            for (int magnitude = 1; magnitude <= 32767; magnitude++)
                for (const int sign : {1, -1}) {
                    if (magnitude > 5000 && magnitude % 97 && magnitude < 32700) continue;
                    std::vector<int16_t> levels(16);
                    size_t at = 0;
                    levels[at++] = static_cast<int16_t>(sign * magnitude);
                    for (size_t i = first.size(); i-- > 0;) levels[at++] = first[i];
                    const std::string bits = code_levels(levels, nc);
                    int prefix = 0;
                    EXPECT(parse_levels(bits, nc, 16, &prefix) == levels, "%d", sign * magnitude);
                    EXPECT(magnitude > kMaxLevelOfPrefix15 || prefix <= 15, "%d has level_prefix %d", magnitude,
                           prefix);
                }
    // The bound is the best: the next level needs level_prefix 16.
    int prefix = 0;
    parse_levels(code_levels({-kMaxLevelOfPrefix15 - 1, 1, 1, 1}, -1), -1, 4, &prefix);
    EXPECT(prefix == 16, "level_prefix %d", prefix);
    // 15 zeros, one, 12 bits; 16 zeros, one, 13 bits.
    EXPECT(code_levels({-kMaxLevelOfPrefix15, 1, 1, 1}, -1) ==
               std::string("0000000") + "000" + std::string(15, '0') + "1" + std::string(12, '1'),
           "the last code of level_prefix 15");
    EXPECT(code_levels({kMaxLevelOfPrefix15 + 1, 1, 1, 1}, -1) ==
               std::string("0000000") + "000" + std::string(16, '0') + "1" + std::string(13, '0'),
           "the first code of level_prefix 16");
}
END_TEST

// Encryption: lengths stay, magnitudes stay, signs change where told and can be told back.
START_TEST(sign_flips) {
    Random random(2);
    for (int i = 0; i < 100000; i++) {
        const Kind kind = random.of(kinds);
        const std::vector<int16_t> levels = random_levels(random, kind);
        const uint32_t flips = random.word() & 0xFFFF;
        const std::string plain = code_levels(levels, kind.nc), flipped = code_levels(levels, kind.nc, flips);
        EXPECT(plain.size() == flipped.size(), "%zu bits, %zu with flips", plain.size(), flipped.size());
        const std::vector<int16_t> scrambled = parse_levels(flipped, kind.nc, kind.size);
        for (size_t k = 0; k < levels.size(); k++) {
            EXPECT(scrambled[k] == levels[k] || scrambled[k] == -levels[k], "%d becomes %d", levels[k], scrambled[k]);
            EXPECT(scrambled[k] == levels[k] || (flips >> k & 1), "level %zu changes its sign", k);
        }
        EXPECT(code_levels(scrambled, kind.nc, flips) == plain, "flipped twice");
    }
}
END_TEST

START_TEST(exp_golomb) {
    const auto ue = [](uint32_t v) {
        std::string bits;
        StringSink sink{bits};
        put_ue(v, sink);
        return bits;
    };
    const auto se = [](int v) {
        std::string bits;
        StringSink sink{bits};
        put_se(v, sink);
        return bits;
    };
    EXPECT(ue(0) == "1" && ue(1) == "010" && ue(2) == "011" && ue(3) == "00100" && ue(8) == "0001001", "table 9-2");
    EXPECT(se(0) == "1" && se(1) == "010" && se(-1) == "011" && se(2) == "00100" && se(-2) == "00101", "table 9-3");
    for (uint32_t v = 0; v < 65535; v++) {
        BitReader in = reader_of(ue(v));
        EXPECT(in.ue() == v && in.position() == ue(v).size(), "ue(%u)", v);
    }
    for (int v = -32767; v < 32768; v++) {
        BitReader in = reader_of(se(v));
        EXPECT(in.se() == v, "se(%d)", v);
    }
}
END_TEST

START_TEST(many_blocks) {
    Random random(3);
    static constexpr uint8_t in_order[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    constexpr size_t kBlocks = 10000;
    std::vector<std::array<int16_t, 16>> blocks(kBlocks);
    for (auto &levels : blocks)
        for (size_t k = 0; k < 16; k++)
            levels[k] = static_cast<int16_t>(random.one_in(static_cast<uint32_t>(k) + 1) ? random.between(-3, 3) : 0);
    const BlockCode code{token_table(2), kZeros4x4, 16};
    uint64_t counted = 0, written = 0;
    bench("h264: bits of blocks counted", kBlocks, "blocks", [&] {
        counted = 0;
        for (const auto &levels : blocks) counted += count_block(ScannedLevels{levels.data(), in_order, 1}, code).bits;
    });
    bench("h264: blocks coded", kBlocks, "blocks", [&] {
        BitWriter writer;
        writer.reserve(kBlocks * 512);
        for (const auto &levels : blocks) {
            const ScannedLevels scanned{levels.data(), in_order, 1};
            code_block(kCavlcTables, code, nonzero_of(scanned, 16), scanned, 0, writer);
        }
        written = writer.end().bits;
    });
    EXPECT(counted == written, "%llu bits counted, %llu written", static_cast<unsigned long long>(counted),
           static_cast<unsigned long long>(written));
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264_cavlc");
    TCase *c = add_case(suite, "blocks");
    tcase_add_test(c, example_of_the_paper);
    tcase_add_test(c, tables);
    tcase_add_test(c, tables_are_complete);
    tcase_add_test(c, random_blocks);
    tcase_add_test(c, escapes);
    tcase_add_test(c, sign_flips);
    tcase_add_test(c, exp_golomb);
    tcase_add_test(c, many_blocks);
    return run_suite(suite);
}
