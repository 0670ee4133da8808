// Tier-2: what blocks add to packet headers, against tag trees coded the sequential way and a reader of headers; the
// code words of Table B.4; bit stuffing. The kernels are held against the same code in test_j2k_kernels.cpp.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "../../common/j2k/codestream.h"
#include "../../common/j2k/header_bytes.h"
#include "../../common/j2k/t2.h"
#include "packet_header.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

// Bits as text.
struct TextSink {
    std::string bits;
    void put(uint32_t value, int count) {
        EXPECT(count >= 0 && count <= 32, "%d bits at once", count);
        while (count--) bits += static_cast<char>('0' + ((value >> count) & 1));
    }
};

std::string binary(uint32_t value, int count) {
    TextSink sink;
    sink.put(value, count);
    return sink.bits;
}

// T.800 Table B.4.
std::string passes_code(uint32_t passes) {
    if (passes == 1) return "0";
    if (passes == 2) return "10";
    if (passes <= 5) return "11" + binary(passes - 3, 2);
    if (passes <= 36) return "1111" + binary(passes - 6, 5);
    return "111111111" + binary(passes - 37, 7);
}

START_TEST(numbers_of_passes_have_the_standards_code_words) {
    ck_assert(passes_code(5) == "1110");
    ck_assert(passes_code(36) == "111111110");
    ck_assert(passes_code(164) == "1111111111111111");
    for (uint32_t passes = 1; passes <= 164; passes++) {
        TextSink sink;
        put_passes(sink, passes);
        EXPECT(sink.bits == passes_code(passes), "%u passes: %s", passes, sink.bits.c_str());
    }
}
END_TEST

struct Band {
    PrecinctBand cell;
    std::vector<int> planes;  // M_b of each block
    std::vector<CodedBlock> coded;
    uint32_t style;
    std::vector<std::array<uint32_t, 3 * kMaxPlanes>> pass_bytes;  // of each block
    std::vector<TagNode> nodes;
};

void build_nodes(Band &band) {
    const uint32_t columns = band.cell.columns, rows = band.cell.rows;
    band.nodes.clear();
    for (uint32_t i = 0; i < columns * rows; i++) band.nodes.push_back(tag_leaf(band.coded[i], band.planes[i], i));
    size_t below = 0;
    for (int level = 1; level < tag_tree_levels(columns, rows); level++) {
        const uint32_t c = tag_tree_columns(columns, level - 1), r = tag_tree_columns(rows, level - 1);
        for (uint32_t y = 0; y < tag_tree_columns(rows, level); y++)
            for (uint32_t x = 0; x < tag_tree_columns(columns, level); x++)
                band.nodes.push_back(tag_parent(&band.nodes[below], c, r, x, y));
        below += size_t{c} * r;
    }
    ck_assert_uint_eq(below + 1, band.nodes.size());  // one root
}

// `share` of 16 blocks are included.
Band make_band(Random &random, uint32_t columns, uint32_t rows, uint32_t share) {
    Band band{};
    band.style = random.one_in(2) ? 0 : random.below(kStyles);
    band.cell = {0, columns, rows, 0};
    const int planes = random.between(1, kMaxPlanes);
    const bool alike = random.one_in(4);
    for (uint32_t i = 0; i < columns * rows; i++) {
        const uint8_t coded = static_cast<uint8_t>(alike ? planes : random.between(1, planes));
        const uint32_t bytes = random.word() >> random.between(12, 31);
        band.planes.push_back(planes);
        const uint8_t passes = static_cast<uint8_t>(random.between(1, 3 * coded - 2));
        band.coded.push_back(random.below(16) < share ? CodedBlock{bytes, coded, passes, {}} : CodedBlock{});
        auto &ends = band.pass_bytes.emplace_back();
        for (int k = 0; k < passes; k++)
            ends[static_cast<size_t>(k)] = k < passes - 1 ? random.below(bytes + 1) : bytes;
        std::sort(ends.begin(), ends.begin() + passes);
    }
    build_nodes(band);
    return band;
}

// The bytes of a block's segments.
std::vector<uint32_t> segments(const Band &band, uint32_t block) {
    std::vector<uint32_t> bytes;
    uint32_t pass = 0, before = 0;
    for (const uint32_t count : segment_passes(band.style, band.coded[block].passes)) {
        const uint32_t end = band.pass_bytes[block][(pass += count) - 1];
        bytes.push_back(end - before);
        before = end;
    }
    return bytes;
}

// The header's bits as a sequential encoder makes them.
std::string textbook_bits(const Band &band) {
    const uint32_t columns = band.cell.columns, rows = band.cell.rows;
    TagTree inclusion(columns, rows), zero_planes(columns, rows);
    for (uint32_t i = 0; i < columns * rows; i++) {
        inclusion.set(i % columns, i / columns, band.coded[i].planes ? 0 : 1);
        zero_planes.set(i % columns, i / columns, static_cast<uint32_t>(band.planes[i] - band.coded[i].planes));
    }
    inclusion.fill();
    zero_planes.fill();
    std::string bits;
    const auto put = [&](bool bit) { bits += bit ? '1' : '0'; };
    for (uint32_t i = 0; i < columns * rows; i++) {
        const CodedBlock &coded = band.coded[i];
        const uint32_t x = i % columns, y = i / columns;
        inclusion.write(x, y, 1, put);
        if (!coded.planes) continue;
        for (int t = 1; t <= band.planes[i] - coded.planes + 1; t++)
            zero_planes.write(x, y, static_cast<uint32_t>(t), put);
        const uint32_t passes = coded.passes;
        bits += passes_code(passes);
        // B.10.7.2: Lblock grows as far as the longest segment asks for.
        const std::vector<uint32_t> bytes = segments(band, i), counts = segment_passes(band.style, passes);
        const auto log2 = [](uint32_t n) { return n > 1 ? 31 - __builtin_clz(n) : 0; };
        int lblock = 3;
        for (size_t k = 0; k < bytes.size(); k++)
            for (; uint64_t{bytes[k]} >> (lblock + log2(counts[k])); lblock++) bits += '1';
        bits += '0';
        for (size_t k = 0; k < bytes.size(); k++) bits += binary(bytes[k], lblock + log2(counts[k]));
    }
    return bits;
}

void check_band(const Band &band) {
    const uint32_t columns = band.cell.columns, count = columns * band.cell.rows;
    TextSink sink;
    HeaderBytes header;
    for (uint32_t i = 0; i < count; i++) {
        BitCounter counter;
        const size_t before = sink.bits.size();
        const auto put = [&](auto &to) {
            put_block_header(to, band.cell, band.nodes.data(), i % columns, i / columns, band.coded[i], band.style,
                             band.pass_bytes[i].data());
        };
        put(sink);
        put(counter);
        put(header);
        EXPECT(sink.bits.size() - before == counter.bits, "block %u: %u bits counted", i, counter.bits);
        EXPECT(counter.bits <= most_block_header_bits(band.style, band.coded[i].passes), "block %u has %u bits", i,
               counter.bits);
    }
    EXPECT(sink.bits == textbook_bits(band), "%u x %u blocks", columns, band.cell.rows);
    header.finish();
    HeaderReader reader(header.bytes.data(), header.bytes.size());
    const std::vector<HeaderBlock> blocks = read_band(reader, columns, band.cell.rows, band.style);
    EXPECT(!reader.overrun && reader.finish() == header.bytes.size(), "%u x %u blocks: not all bytes are read", columns,
           band.cell.rows);
    for (uint32_t i = 0; i < count; i++) {
        const CodedBlock &coded = band.coded[i];
        EXPECT(blocks[i].included == (coded.planes != 0), "block %u: included %d", i, blocks[i].included);
        if (!coded.planes) continue;
        EXPECT(blocks[i].zero_planes == static_cast<uint32_t>(band.planes[i] - coded.planes),
               "block %u: %u zero planes", i, blocks[i].zero_planes);
        EXPECT(blocks[i].passes == coded.passes, "block %u: %u passes", i, blocks[i].passes);
        EXPECT(blocks[i].segments == segments(band, i), "block %u, style %u: %zu segments", i, band.style,
               blocks[i].segments.size());
    }
}

START_TEST(block_headers_are_the_textbooks) {
    Random random(static_cast<uint64_t>(_i) + 1);
    const uint32_t shares[] = {0, 1, 4, 8, 15, 16};
    for (uint32_t columns = 1; columns <= 9; columns++)
        for (uint32_t rows = 1; rows <= 9; rows++)
            for (const uint32_t share : shares) check_band(make_band(random, columns, rows, share));
    for (int repeat = 0; repeat < 60; repeat++)
        check_band(make_band(random, static_cast<uint32_t>(random.between(1, 70)),
                             static_cast<uint32_t>(random.between(1, 37)), random.of(shares)));
    for (const uint32_t share : shares) {
        check_band(make_band(random, 70, 37, share));
        check_band(make_band(random, 1, 70, share));
        check_band(make_band(random, 70, 1, share));
    }
}
END_TEST

START_TEST(the_deepest_tree_stays_within_the_bound) {
    // A precinct of 32768 x 4 has 8192 blocks of 4x4 in a row. The first block alone is included: all levels, all zero
    // planes, the longest length.
    Random random(1);
    for (const int planes : {1, 2, kMaxPlanes}) {
        Band band = make_band(random, 8192, 1, 0);
        std::fill(band.planes.begin(), band.planes.end(), kMaxPlanes);
        band.pass_bytes[0].fill((1u << 20) - 1);
        band.coded[0] = {(1u << 20) - 1, static_cast<uint8_t>(planes), static_cast<uint8_t>(3 * planes - 2), {}};
        build_nodes(band);
        check_band(band);
    }
}
END_TEST

START_TEST(bits_are_stuffed) {
    Random random(static_cast<uint64_t>(_i) + 5);
    for (int repeat = 0; repeat < 3000; repeat++) {
        const uint32_t zeros = 1u << random.between(1, 9);  // one in so many
        std::string bits;
        HeaderBytes header;
        for (int words = random.between(0, 40); words > 0; words--) {
            const int count = random.between(0, 32);
            uint32_t value = 0;
            for (int i = 0; i < 32; i++) value = value << 1 | !random.one_in(zeros);
            header.put(value, count);
            bits += binary(value, count);
        }
        header.finish();
        // B.10.1: the bit after 0xFF is zero; zeros fill the last byte, which is not 0xFF.
        std::vector<uint8_t> expected;
        for (size_t at = 0; at < bits.size() || (!expected.empty() && expected.back() == 0xFF);) {
            uint8_t byte = 0;
            for (int i = !expected.empty() && expected.back() == 0xFF ? 6 : 7; i >= 0; i--, at++)
                byte |= static_cast<uint8_t>((at < bits.size() && bits[at] == '1') << i);
            expected.push_back(byte);
        }
        EXPECT(header.bytes == expected, "%zu bits", bits.size());
    }
}
END_TEST

START_TEST(an_empty_header_is_one_byte) {
    HeaderBytes header;
    header.put(0, 1);
    header.finish();
    ck_assert_uint_eq(header.bytes.size(), 1);
    ck_assert_uint_eq(header.bytes[0], 0);
}
END_TEST

START_TEST(packet_lengths_take_seven_bits_a_byte) {
    for (const uint64_t length : {0u, 1u, 127u, 128u, 16383u, 16384u, 2097151u, 2097152u, 268435455u, 0xFFFFFFFFu}) {
        uint8_t bytes[64];
        std::fill(std::begin(bytes), std::end(bytes), uint8_t{0xEE});
        // The third packet of a tile, 4 bytes of lengths before it: SOT, one PLT header, then these.
        put_plt_length(bytes, 2, 4, length);
        const size_t at = 12 + 5 + 4;
        uint64_t value = 0;
        size_t i = at;
        do value = value << 7 | (bytes[i] & 127);
        while (bytes[i++] & 128 && i < 40);
        EXPECT(value == length && i - at == plt_bytes(length), "%llu", static_cast<unsigned long long>(length));
        EXPECT(bytes[at - 1] == 0xEE && bytes[i] == 0xEE, "bytes around it");
        EXPECT(length < 128 || (bytes[at] & 127), "a length of %llu begins with nothing",
               static_cast<unsigned long long>(length));
    }
}
END_TEST

}  // namespace

int main(int, char **) {
    Suite *suite = suite_create("t2");
    TCase *headers = add_case(suite, "headers");
    tcase_add_test(headers, numbers_of_passes_have_the_standards_code_words);
    tcase_add_loop_test(headers, block_headers_are_the_textbooks, 0, 8);
    tcase_add_test(headers, the_deepest_tree_stays_within_the_bound);
    tcase_add_loop_test(headers, bits_are_stuffed, 0, 4);
    tcase_add_test(headers, an_empty_header_is_one_byte);
    tcase_add_test(headers, packet_lengths_take_seven_bits_a_byte);
    return run_suite(suite);
}
