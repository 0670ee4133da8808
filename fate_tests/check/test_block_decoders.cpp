// SPDX-License-Identifier: LGPL-2.1-or-later
// Block decoders: what the library's block coders make, in all styles and up to any pass, against the tests' own
// decoders; damaged and cut codewords.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../../common/j2k/t1/block_decoder.h"
#include "ht_decoder.h"
#include "tier1_decoder.h"

#include "coded_blocks.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

// Decodes to rows that are wider than the block. What lies between them stays.
template <class Decode>
std::vector<uint32_t> decode_block(const Decode &decode, const BlockToDecode &block, bool *whole = nullptr) {
    const size_t width = static_cast<size_t>(block.width), stride = width + 3;
    std::vector<uint32_t> out(stride * static_cast<size_t>(block.height), 0xDEADBEEF), rows;
    const bool done = decode(block, BlockSamples{out.data(), stride});
    if (whole)
        *whole = done;
    else
        EXPECT(done, "the block is damaged");
    for (size_t i = 0; i < out.size(); i++)
        if (i % stride < width)
            rows.push_back(out[i]);
        else
            EXPECT(out[i] == 0xDEADBEEF, "a value between rows");
    return rows;
}

START_TEST(mq_blocks) {
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int repeat = 0; repeat < 25; repeat++) {
        const uint32_t style = static_cast<uint32_t>(_i);
        const Coded coded = code_mq(random, style, random.one_in(3));
        const CodeBlock &b = coded.block;
        for (int i = 0; i < 4; i++) {
            const int passes = i && coded.passes ? random.between(0, coded.passes) : coded.passes;
            const auto segments = segments_of(coded, style, passes);
            const std::vector<uint32_t> made = decode_block(decode_mq_block, {.width = b.width,
                                                                              .height = b.height,
                                                                              .orientation = b.orientation,
                                                                              .style = style,
                                                                              .planes = coded.planes,
                                                                              .segments = segments,
                                                                              .bytes = coded.bytes.data()});
            BlockDecoder oracle(b.width, b.height, b.orientation, coded.bytes.data(), coded.bytes.size(), style,
                                coded.pass_bytes);
            EXPECT(made == oracle.decode_middles(coded.planes, passes, coded.passes),
                   "%d x %d, style %u, %d of %d passes", b.width, b.height, style, passes, coded.passes);
            if (passes < coded.passes) continue;
            for (size_t k = 0; k < made.size(); k++)
                EXPECT(((made[k] & kSignBit) | (made[k] & ~kSignBit) >> 1) == coded.coefficients[k], "coefficient %zu",
                       k);
        }
    }
}
END_TEST

// Segments of anything: whatever comes out, nothing is read or written outside.
START_TEST(damaged_mq_blocks) {
    Random random(99);
    for (int repeat = 0; repeat < 3000; repeat++) {
        const CodeBlock b = random_block(random, 1);
        const int planes = random.between(0, kMaxDecodedPlanes + 2);
        std::vector<CodewordSegment> segments(random.below(6));
        size_t bytes = 0;
        uint32_t passes = 0;
        for (CodewordSegment &segment : segments) {
            segment = {1 + random.below(12), random.one_in(4) ? 0 : random.below(60)};
            bytes += segment.bytes;
            passes += segment.passes;
        }
        std::vector<uint8_t> codeword(bytes);
        for (uint8_t &byte : codeword) byte = random.one_in(8) ? 0xFF : static_cast<uint8_t>(random.word());
        bool whole;
        const std::vector<uint32_t> made = decode_block(decode_mq_block,
                                                        {.width = b.width,
                                                         .height = b.height,
                                                         .orientation = b.orientation,
                                                         .style = random.below(kStyles),
                                                         .planes = planes,
                                                         .segments = segments,
                                                         .bytes = codeword.data()},
                                                        &whole);
        EXPECT(!whole || (planes <= kMaxDecodedPlanes && passes <= static_cast<uint32_t>(coding_passes(planes))),
               "%u passes of %d planes", passes, planes);
        for (const uint32_t c : made)
            EXPECT(uint64_t{c & ~kSignBit} >> (planes + 1) == 0, "%x of %d planes", c, planes);
    }
}
END_TEST

// ---- HT

START_TEST(ht_blocks) {
    Random random(static_cast<uint64_t>(_i) + 200);
    for (int repeat = 0; repeat < 150; repeat++) {
        const CodeBlock b = random_block(random, random.between(1, kMaxDecodedPlanes));
        const std::vector<uint32_t> coefficients = random_coefficients(random, b);
        std::vector<uint8_t> bytes = code_ht(b, coefficients);
        const CodewordSegment segment{1, static_cast<uint32_t>(bytes.size())};
        const BlockToDecode block{.width = b.width,
                                  .height = b.height,
                                  .orientation = b.orientation,
                                  .style = kHt,
                                  .planes = 1,
                                  .segments = {&segment, bytes.empty() ? size_t{0} : 1},
                                  .bytes = bytes.data()};
        const std::vector<uint32_t> made = decode_block(decode_ht_block, block);
        for (size_t k = 0; k < made.size(); k++)
            EXPECT(((made[k] & kSignBit) | (made[k] & ~kSignBit) >> 1) == coefficients[k] &&
                       (made[k] & 1) == (coefficients[k] != 0),
                   "%d x %d, coefficient %zu: %x of %x", b.width, b.height, k, made[k], coefficients[k]);
    }
}
END_TEST

START_TEST(ht_refinement) {
    Random random(static_cast<uint64_t>(_i) + 300);
    for (int repeat = 0; repeat < 100; repeat++) {
        const CodeBlock b = random_block(random, random.between(1, kMaxDecodedPlanes - 1));
        const std::vector<uint32_t> coefficients = random_coefficients(random, b);
        std::vector<uint32_t> upper = coefficients;
        for (uint32_t &c : upper) c = magnitude(c) > 1 ? (c & kSignBit) | magnitude(c) >> 1 : 0;
        const uint32_t style = kHt | (random.one_in(2) ? 8 : 0), passes = random.one_in(3) ? 1 : 2;
        const Refined refined = refine(b, coefficients, style, passes == 2);
        std::vector<uint8_t> bytes = code_ht(b, upper);
        if (bytes.empty()) continue;
        // Placeholder passes: bit-planes that are missing too.
        const uint32_t placeholders = random.below(3);
        const CodewordSegment segments[] = {{1 + 3 * placeholders, static_cast<uint32_t>(bytes.size())},
                                            {passes, static_cast<uint32_t>(refined.bytes.size())}};
        bytes.insert(bytes.end(), refined.bytes.begin(), refined.bytes.end());
        const std::vector<uint32_t> made = decode_block(decode_ht_block, {.width = b.width,
                                                                          .height = b.height,
                                                                          .orientation = b.orientation,
                                                                          .style = style,
                                                                          .planes = 2 + static_cast<int>(placeholders),
                                                                          .segments = segments,
                                                                          .bytes = bytes.data()});
        for (size_t k = 0; k < made.size(); k++)
            EXPECT(made[k] == refined.known[k], "%d x %d, style %u, %u passes, coefficient %zu: %x, not %x", b.width,
                   b.height, style, passes, k, made[k], refined.known[k]);
    }
}
END_TEST

// Codewords with errors: what the tests' decoder takes has the same samples, and nothing is touched outside.
START_TEST(damaged_ht_blocks) {
    Random random(static_cast<uint64_t>(_i) + 400);
    HtDecoder oracle;
    int taken = 0, refused = 0;
    for (int repeat = 0; repeat < 600; repeat++) {
        const CodeBlock b = random_block(random, random.between(1, 12));
        std::vector<uint8_t> bytes = code_ht(b, random_coefficients(random, b));
        if (bytes.size() < 3) continue;
        for (int i = random.between(1, 3); i > 0; i--)
            bytes[random.below(static_cast<uint32_t>(bytes.size()))] = static_cast<uint8_t>(random.word());
        if (random.one_in(4)) bytes.resize(random.between(1, static_cast<int>(bytes.size())));
        const CodewordSegment segments[] = {{1, static_cast<uint32_t>(bytes.size())}, {2, random.below(40)}};
        const bool refines = random.one_in(3);
        const size_t all = bytes.size() + segments[1].bytes;
        std::vector<uint8_t> codeword = bytes;
        while (codeword.size() < all) codeword.push_back(static_cast<uint8_t>(random.word()));
        bool whole;
        const std::vector<uint32_t> made = decode_block(decode_ht_block,
                                                        {.width = b.width,
                                                         .height = b.height,
                                                         .orientation = b.orientation,
                                                         .style = kHt,
                                                         .planes = 1 + refines,
                                                         .segments = std::span(segments).first(refines ? 2 : 1),
                                                         .bytes = codeword.data()},
                                                        &whole);
        (whole ? taken : refused)++;
        if (refines) continue;
        std::vector<uint64_t> samples;
        try {
            samples = oracle.decode(bytes, b.width, b.height);
        } catch (const std::exception &) {
            continue;
        }
        for (size_t k = 0; whole && k < made.size(); k++)
            EXPECT((made[k] ? uint64_t{made[k] & ~kSignBit} - 2 + (made[k] >> 31) : 0) == samples[k],
                   "coefficient %zu: %x of %llx", k, made[k], static_cast<unsigned long long>(samples[k]));
    }
    EXPECT(taken > 20 && refused > 20, "%d taken, %d refused", taken, refused);
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("block_decoders");
    TCase *host = add_case(suite, "host");
    tcase_add_loop_test(host, mq_blocks, 0, kStyles);
    tcase_add_test(host, damaged_mq_blocks);
    tcase_add_loop_test(host, ht_blocks, 0, 4);
    tcase_add_loop_test(host, ht_refinement, 0, 4);
    tcase_add_loop_test(host, damaged_ht_blocks, 0, 4);
    return run_suite(suite);
}
