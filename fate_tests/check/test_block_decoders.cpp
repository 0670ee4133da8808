// SPDX-License-Identifier: LGPL-2.1-or-later
// Block decoders: what the library's block coders make, in all styles and up to any pass, against the tests' own
// decoders; damaged and cut codewords.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../../common/j2k/t1/block_decoder.h"
#include "../../common/j2k/t1/t1_cpu.h"
#include "pictures.h"
#include "testing.h"
#include "tier1_decoder.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

struct Coded {
    CodeBlock block;
    std::vector<uint32_t> coefficients;
    std::vector<uint8_t> bytes;
    std::vector<uint32_t> pass_bytes;
    int planes, passes;
};

CodeBlock random_block(Random &random, int planes) {
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
std::vector<uint32_t> random_coefficients(Random &random, const CodeBlock &b) {
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

Coded code_mq(Random &random, uint32_t style, bool truncatable) {
    Coded coded{};
    coded.block = random_block(random, random.between(1, kMaxDecodedPlanes));
    coded.coefficients = random_coefficients(random, coded.block);
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

// A block's first passes. Of a segment that goes on behind the last of them all bytes are there.
std::vector<CodewordSegment> segments_of(const Coded &coded, uint32_t style, int passes) {
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

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("block_decoders");
    TCase *host = add_case(suite, "host");
    tcase_add_loop_test(host, mq_blocks, 0, kStyles);
    tcase_add_test(host, damaged_mq_blocks);
    return run_suite(suite);
}
