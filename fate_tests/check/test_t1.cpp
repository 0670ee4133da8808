// SPDX-License-Identifier: LGPL-2.1-or-later
// Tier-1: contexts against the standard's tables; the sequential coder against a decoder of the tests' own; the
// bit-sliced context modelling and the MQ coding of the CPU device and of the kernels against the sequential coder,
// with every byte of every buffer accounted for.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "../../common/j2k/rate/hull.h"
#include "../../common/j2k/rate/predict_cpu.h"
#include "../../common/j2k/rate/research/early_stop_cpu.h"
#include "../../common/j2k/rate/truncate.h"
#include "../../common/j2k/t1/contexts.h"
#include "../../common/j2k/t1/raw.h"
#include "../../common/j2k/t1/t1_cpu.h"
#include "../../common/j2k/t1/words_cpu.h"
#include "../../cuda_kernels/j2k/rate/research/cibo.h"
#include "pictures.h"
#include "t1_sequential.h"
#include "testing.h"
#include "tier1_decoder.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

START_TEST(contexts_are_the_standards) {
    for (int orientation = kLL; orientation <= kHH; orientation++)
        for (int h = 0; h <= 2; h++)
            for (int v = 0; v <= 2; v++)
                for (int d = 0; d <= 4; d++)
                    EXPECT(zero_coding_context(orientation, h, v, d) == table_d1(orientation, h, v, d),
                           "orientation %d, %d %d %d", orientation, h, v, d);
    for (int h = -1; h <= 1; h++)
        for (int v = -1; v <= 1; v++) {
            const int context = sign_coding_context(h, v);
            EXPECT_EQ(context & 127, kTableD3[h + 1][v + 1].context);
            EXPECT_EQ(context >> 7, kTableD3[h + 1][v + 1].flip);
        }
}
END_TEST

// Neighbourhoods in all combinations, 32 at a time, through the bit-sliced forms.
START_TEST(bit_sliced_contexts_are_the_standards) {
    for (int orientation = kLL; orientation <= kHH; orientation++)
        for (uint32_t first = 0; first < 256; first += 32) {
            Around<uint32_t> a{};
            for (uint32_t i = 0; i < 32; i++) {
                uint32_t *const sides[] = {&a.w, &a.e, &a.n, &a.s, &a.nw, &a.ne, &a.sw, &a.se};
                for (int k = 0; k < 8; k++) *sides[k] |= ((first + i) >> k & 1) << i;
            }
            const ContextBits<uint32_t> bits = zero_coding_planes(a, orientation);
            for (uint32_t i = 0; i < 32; i++) {
                const auto at = [i](uint32_t word) { return static_cast<int>(word >> i & 1); };
                const int context = at(bits.bit[0]) + 2 * at(bits.bit[1]) + 4 * at(bits.bit[2]) + 8 * at(bits.bit[3]);
                EXPECT(context == table_d1(orientation, at(a.w) + at(a.e), at(a.n) + at(a.s),
                                           at(a.nw) + at(a.ne) + at(a.sw) + at(a.se)),
                       "orientation %d, neighbours %u: %d", orientation, first + i, context);
            }
        }
    for (uint32_t first = 0; first < 512; first += 32) {  // significance of four, signs of four, sign of the sample
        Around<uint32_t> a{}, signs{};
        uint32_t negative = 0;
        for (uint32_t i = 0; i < 32; i++) {
            uint32_t *const words[] = {&a.w, &a.e, &a.n, &a.s, &signs.w, &signs.e, &signs.n, &signs.s, &negative};
            for (int k = 0; k < 9; k++) *words[k] |= ((first + i) >> k & 1) << i;
        }
        const SignBits<uint32_t> bits = sign_coding_planes(a, negative, signs);
        for (uint32_t i = 0; i < 32; i++) {
            const auto at = [i](uint32_t word) { return static_cast<int>(word >> i & 1); };
            const auto part = [&](uint32_t s, uint32_t g) { return at(s) * (1 - 2 * at(g)); };
            const int h = std::clamp(part(a.w, signs.w) + part(a.e, signs.e), -1, 1);
            const int v = std::clamp(part(a.n, signs.n) + part(a.s, signs.s), -1, 1);
            const SignRow row = kTableD3[h + 1][v + 1];
            EXPECT(9 + at(bits.bit[0]) + 2 * at(bits.bit[1]) + 4 * at(bits.bit[2]) == row.context,
                   "neighbours and signs %u", first + i);
            EXPECT(at(bits.decision) == (at(negative) ^ row.flip), "neighbours and signs %u: decision", first + i);
        }
    }
}
END_TEST

START_TEST(words_are_sliced) {
    Random random(1);
    for (int repeat = 0; repeat < 100; repeat++) {
        uint32_t word[8];
        for (uint32_t &w : word) w = random.word();
        const uint32_t sums = nibble_sums(word[0]);
        for (int s = 0; s < 8; s++)
            EXPECT((sums >> (4 * s) & 15) == static_cast<uint32_t>(__builtin_popcount(word[0] >> (4 * s) & 15)),
                   "sum of nibble %d", s);
        uint32_t bytes[8];
        std::copy_n(word, 8, bytes);
        planes_to_bytes(bytes);
        for (int row = 0; row < 32; row++)
            for (int i = 0; i < 8; i++) {
                const uint32_t bit = word[i] >> row & 1;
                EXPECT((bytes[row % 8] >> (row / 8 * 8 + i) & 1) == bit, "byte of row %d, bit %d", row, i);
            }
        const ContextBits<uint32_t> refinement = refinement_planes(word[0], word[1]);
        for (int row = 0; row < 32; row++) {
            int context = 0;
            for (int i = 0; i < 5; i++) context |= static_cast<int>(refinement.bit[i] >> row & 1) << i;
            // T.800 Table D.4.
            EXPECT(context == (word[1] >> row & 1   ? 16
                               : word[0] >> row & 1 ? 15
                                                    : 14),
                   "refinement context %d", context);
        }
    }
}
END_TEST

// ---- blocks ----

struct Block {
    int width, height, orientation;
    std::vector<uint32_t> coefficients;  // width * height
};

// Of at most `planes` magnitude bit-planes; `kind` is how they look.
constexpr int kKinds = 10;
Block make_block(Random &random, int width, int height, int planes, int kind) {
    Block block{width, height, random.between(kLL, kHH), {}};
    const uint32_t limit = planes ? (planes == 31 ? 0x7FFFFFFFu : (1u << planes) - 1) : 0;
    const int signs = random.between(0, 3);
    const uint32_t rarity = 1u << random.between(2, 8);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            uint32_t magnitude = 0;
            switch (kind) {
                case 0:  // nothing
                    break;
                case 1:  // dense
                    magnitude = random.word() & limit;
                    break;
                case 2:  // largest
                    magnitude = limit;
                    break;
                case 3:  // few
                    magnitude = random.one_in(rarity) ? random.word() & limit : 0;
                    break;
                case 4:  // few, all of them large
                    magnitude = random.one_in(rarity) ? limit : 0;
                    break;
                case 5:  // as transforms make them: most small
                    magnitude = (random.word() & limit) >> random.between(0, planes);
                    break;
                case 6:  // one bit in each, at any height
                    magnitude = planes ? 1u << random.between(0, planes - 1) : 0;
                    break;
                case 7:  // a board
                    magnitude = (x + y) & 1 ? limit : limit >> planes / 2;
                    break;
                case 8:  // the last plane only but one: what becomes significant spreads
                    magnitude = x + y == 0 ? limit : planes > 1 ? random.word() & 3 : 0;
                    break;
                default:  // a snake, along which significance spreads one by one
                    magnitude = y % 4 == 0 || (y % 4 == 2) == (x == width - 1) ? limit & 1 : 0;
                    if (x + y == 0) magnitude = limit;
            }
            const bool negative = signs == 0   ? random.one_in(2)
                                  : signs == 1 ? (x + y) & 1
                                  : signs == 2 ? random.one_in(8)
                                               : true;
            block.coefficients.push_back(magnitude | (negative && magnitude ? kSignBit : 0));
        }
    return block;
}

bool is_bypass_alone(const BlockCoding &coding) { return coding.style == kBypass && !coding.truncatable; }

// A sink that keeps symbols, of raw passes bits. `device`: as the kernels lay them out.
struct SymbolSink {
    explicit SymbolSink(const BlockCoding &block_coding, bool device_layout = false)
        : coding(block_coding), device(device_layout && (coding.style || coding.truncatable)) {}
    BlockCoding coding;
    bool device;
    std::vector<uint8_t> symbols;
    std::vector<uint32_t> ends;
    void put(int context, uint32_t decision) {
        EXPECT(context >= 0 && context < kContexts && decision <= 1, "context %d, decision %u", context, decision);
        symbols.push_back(static_cast<uint8_t>(context << 1 | static_cast<int>(decision)));
    }
    void put_raw(uint32_t bit) {
        EXPECT(bit <= 1, "bit %u", bit);
        if (!device) symbols.push_back(static_cast<uint8_t>(bit));
    }
    void end_pass() {
        if (!is_bypass_alone(coding) || ends_segment(kBypass, static_cast<int>(ends.size()))) fill_up();
        ends.push_back(static_cast<uint32_t>(symbols.size()));
    }
    void fill_up() {
        while (device && symbols.size() % kPassAlignment) symbols.push_back(kNoSymbol);
    }
};

// The bytes of a block's raw segments, and of the others.
struct Parts {
    std::vector<uint8_t> mq, raw;
};
// An MQ segment's last pass and bytes.
struct Segment {
    size_t last_pass;
    std::vector<uint8_t> bytes;
};

struct Coded {
    int planes;
    BlockCoding coding;
    std::vector<uint8_t> symbols, bytes;
    std::vector<uint32_t> pass_ends, pass_bytes, terminations;
    std::vector<int32_t> reductions;
    std::vector<SampledStep> sampled_steps;
    // What the kernels make.
    std::vector<uint8_t> device_symbols;
    std::vector<uint32_t> device_ends;
    Parts parts;
    std::vector<Segment> mq_segments;
};
Coded code(const Block &b, const BlockCoding &coding = {}, bool reversible = false) {
    Coded coded{};
    coded.coding = coding;
    const uint32_t style = coding.style;
    std::vector<uint16_t> flags(static_cast<size_t>(flags_count(b.width, b.height)), 0xFFFF);
    SymbolSink symbols(coding), device_symbols(coding, true);
    int32_t reductions[coding_passes(kMaxPlanes)];
    SampledStep steps[kSampledSteps];
    const auto run = [&](auto &sink) {
        SequentialCoder coder(b.coefficients.data(), static_cast<uint32_t>(b.width), b.width, b.height, b.orientation,
                              style, flags.data(), sink);
        coder.measure(reductions, steps, reversible);
        const CodedBlock made = coder.code(coding.lossy);
        coded.sampled_steps.assign(steps, steps + coder.steps());
        return made;
    };
    const CodedBlock made = run(symbols);
    coded.reductions.assign(reductions, reductions + made.passes);
    coded.planes = made.planes;
    EXPECT(run(device_symbols).planes == coded.planes, "planes");
    device_symbols.fill_up();
    coded.symbols = symbols.symbols;
    coded.pass_ends = symbols.ends;
    coded.device_symbols = device_symbols.symbols;
    coded.device_ends = device_symbols.ends;
    const RoomLayout room = room_layout(b.width, b.height, coded.planes, coding);
    coded.bytes.resize(room.bytes);
    const int passes = made.passes;
    coded.pass_bytes.resize(static_cast<size_t>(passes) + 1, 0xDEADBEEF);
    coded.terminations.resize(static_cast<size_t>(passes) + 1, 0xDEADBEEF);
    MqSink mq(coded.bytes.data(), coded.pass_bytes.data(), kMqTable.row, coding, coded.terminations.data());
    EXPECT(run(mq).planes == coded.planes, "planes");
    coded.bytes.resize(mq.finish());
    EXPECT(coded.pass_bytes.back() == 0xDEADBEEF, "more passes than there are");
    EXPECT(coded.terminations.back() == 0xDEADBEEF, "more terminations than there are");
    coded.pass_bytes.pop_back();
    coded.terminations.pop_back();
    EXPECT(coded.pass_bytes.size() == coded.pass_ends.size(), "%zu passes", coded.pass_ends.size());
    // What codewords of blocks rely on. Bytes of segments that have ended do not reach the pairs of those that follow.
    EXPECT(room.symbols + coded.device_symbols.size() + 32 <= room.raw, "%zu pairs", coded.device_symbols.size());
    int segments = 0;
    uint32_t mq_bytes = 0, mq_symbols = 0;
    auto byte = coded.bytes.begin();
    if (passes)
        for_each_segment(
            style, 0, passes, 0, static_cast<uint32_t>(coded.bytes.size()), coded.pass_bytes.data(),
            [&](int first, int count, uint32_t bytes) {
                segments++;
                const bool raw = is_raw(style, first);
                auto &part = raw ? coded.parts.raw : coded.parts.mq;
                part.insert(part.end(), byte, byte + bytes);
                if (!raw) coded.mq_segments.push_back({static_cast<size_t>(first + count) - 1, {byte, byte + bytes}});
                byte += bytes;
                EXPECT(!bytes || byte[-1] != 0xFF, "a segment ends with 0xFF");
                const size_t last = static_cast<size_t>(first + count) - 1;
                for (size_t i = static_cast<size_t>(first); raw && i <= last; i++)
                    coded.device_ends[i] = coded.pass_bytes[i] - mq_bytes;
                if (raw) return;
                mq_bytes += bytes;
                mq_symbols = coded.device_ends[last];
                EXPECT(mq_bytes <= mq_symbols + room.symbols + (device_symbols.device ? 0 : 5), "%u bytes for %u pairs",
                       mq_bytes, mq_symbols);
            });
    EXPECT(byte == coded.bytes.end() && segments <= std::max(most_segments(style, passes), 1), "%d segments", segments);
    EXPECT(room.raw + coded.parts.raw.size() <= room.bytes, "%zu raw bytes", coded.parts.raw.size());
    for (size_t i = 0; i + 1 < coded.bytes.size(); i++)
        EXPECT(coded.bytes[i] != 0xFF || coded.bytes[i + 1] <= 0x8F, "a marker in the codeword");
    return coded;
}

// Any style, none in one of three cases; truncatable in one of three.
BlockCoding random_coding(Random &random) {
    const uint32_t style = random.one_in(3) ? 0 : random.below(kStyles);
    return {style, random.one_in(3)};
}

// A codeword that is truncated behind a pass, and terminated there, decodes as the whole one up to that pass.
void check_truncation_points(const Block &block, const Coded &coded) {
    const int passes = static_cast<int>(coded.pass_bytes.size());
    const auto decode = [&](const std::vector<uint8_t> &bytes, int some, int all) {
        BlockDecoder decoder(block.width, block.height, block.orientation, bytes.data(), bytes.size(),
                             coded.coding.style, coded.pass_bytes);
        return decoder.decode(coded.planes, some, all);
    };
    for (int pass = 0; pass < passes; pass++) {
        if (!can_truncate(coded.coding.style, pass)) continue;
        const uint32_t size = coded.pass_bytes[static_cast<size_t>(pass)],
                       termination = coded.terminations[static_cast<size_t>(pass)];
        std::vector<uint8_t> truncated(coded.bytes.begin(), coded.bytes.begin() + size - (termination & 0xFF));
        for (uint32_t k = 1; k <= (termination & 0xFF); k++)
            truncated.push_back(static_cast<uint8_t>(termination >> 8 * k));
        EXPECT(truncated.size() <= coded.bytes.size() + 2, "%zu bytes of %zu", truncated.size(), coded.bytes.size());
        EXPECT(truncated.empty() || truncated.back() != 0xFF, "pass %d of %d ends with 0xFF", pass, passes);
        EXPECT(decode(truncated, pass + 1, 0) == decode(coded.bytes, pass + 1, passes),
               "%d of %d passes, %zu of %zu bytes, style %u", pass + 1, passes, truncated.size(), coded.bytes.size(),
               coded.coding.style);
    }
}

// Distortion reductions are what decoding a pass more takes off the squared error, but for bits far below.
START_TEST(reductions_are_what_passes_reduce) {
    Random random(static_cast<uint64_t>(_i) + 400);
    for (int repeat = 0; repeat < 100; repeat++) {
        const int width = random.between(1, 32), height = random.between(1, 32), planes = random.between(1, 12);
        const Block block = make_block(random, width, height, planes, _i);
        const bool lossy = random.one_in(2);
        const Coded coded = code(block, {.truncatable = true}, !lossy);
        const auto error = [&](int passes) {
            BlockDecoder decoder(width, height, block.orientation, coded.bytes.data(), coded.bytes.size(), 0,
                                 coded.pass_bytes);
            return decoder.squared_error(coded.planes, passes, block.coefficients, lossy);
        };
        double before = error(0);
        for (size_t i = 0; i < coded.reductions.size(); i++) {
            const int plane = coded.planes - 1 - (static_cast<int>(i) + 2) / 3;
            const double after = error(static_cast<int>(i) + 1), unit = std::ldexp(1.0, 2 * plane);
            const double reduction = (before - after) / unit, told = coded.reductions[i] / 64.0;
            // Of a sample's step 2^-kReductionPlanes is not looked at, and of a lossy one half a step at that plane.
            EXPECT(std::fabs(reduction - told) <=
                       (plane + lossy > kReductionPlanes ? std::ldexp(3.0, -kReductionPlanes) : 1e-9) * width * height,
                   "pass %zu of %zu, plane %d: reduction %f, told %f", i, coded.reductions.size(), plane, reduction,
                   told);
            before = after;
        }
    }
}
END_TEST

START_TEST(sequential_coder_decodes) {
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int repeat = 0; repeat < 200; repeat++) {
        const int width = random.between(1, repeat % 8 ? 20 : 64), height = random.between(1, repeat % 8 ? 20 : 64);
        const Block block = make_block(random, width, height, random.between(1, 31), _i);
        const BlockCoding coding = random_coding(random);
        const uint32_t style = coding.style;
        const Coded coded = code(block, coding);
        if (coding.truncatable) check_truncation_points(block, coded);
        const auto decode_some = [&](const Coded &all, size_t bytes, int passes, bool whole = false) {
            BlockDecoder decoder(width, height, block.orientation, all.bytes.data(), bytes, style, all.pass_bytes);
            decoder.check_end = whole;
            return decoder.decode(all.planes, passes);
        };
        const auto decode = [&](size_t bytes, int passes) { return decode_some(coded, bytes, passes); };
        const int passes = coding_passes(coded.planes);
        EXPECT(decode_some(coded, coded.bytes.size(), passes, true) == block.coefficients, "%d x %d, style %u", width,
               height, style);
        // After any pass the bytes that it is said to need give what the whole codeword gives.
        for (int i = 0; i < 3 && passes && !coding.truncatable; i++) {
            const int some = random.between(1, passes);
            EXPECT(decode(coded.pass_bytes[static_cast<size_t>(some) - 1], some) == decode(coded.bytes.size(), some),
                   "%d x %d, style %u, %d of %d passes in %u bytes", width, height, style, some, passes,
                   coded.pass_bytes[static_cast<size_t>(some) - 1]);
        }
        // Without its last passes a block begins as the whole one does.
        const Coded less = code(block, coding, true);
        const int rest = static_cast<int>(less.pass_ends.size());
        EXPECT(less.planes == (rest ? coded.planes : 0), "%d planes of %d", less.planes, coded.planes);
        EXPECT((rest == passes || rest == std::max(passes - kLastPasses, 0)) &&
                   std::equal(less.symbols.begin(), less.symbols.end(), coded.symbols.begin()),
               "%d x %d: %d passes of %d", width, height, rest, passes);
        if (rest)
            EXPECT(decode_some(less, less.bytes.size(), rest, true) == decode(coded.bytes.size(), rest),
                   "%d x %d, style %u, %d passes", width, height, style, rest);
    }
}
END_TEST

// ---- raw segments ----

// Bytes of a segment whose bits are text.
std::vector<uint8_t> stuff(const std::string &bits) {
    std::vector<uint8_t> bytes(most_raw_bytes(static_cast<uint32_t>(bits.size())));
    RawWriter writer{bytes.data()};
    for (const char bit : bits) writer.put(bit == '1');
    const uint32_t needed = writer.needed();
    writer.pad();
    EXPECT(writer.bytes == needed && needed <= bytes.size(), "%u bytes, not %u", writer.bytes, needed);
    bytes.resize(needed);
    return bytes;
}

// Bruns (2016), Figure 2. Its last row leaves out the bit that the sixth byte stuffs.
START_TEST(figure_2_is_stuffed) {
    const auto bytes = stuff(
        "11001101"
        "11111111"
        "11111111"
        "11001101"
        "11111110"
        "1100");
    const std::vector<uint8_t> expected = {0b11001101, 0b11111111, 0b01111111, 0b11100110, 0b11111111, 0b00110001};
    EXPECT(bytes == expected, "%zu bytes", bytes.size());
}
END_TEST

START_TEST(bits_are_gathered) {
    Random random(7);
    for (int repeat = 0; repeat < 10000; repeat++) {
        const uint32_t x = random.word() & (random.one_in(2) ? random.word() : ~0u),
                       mask = random.word() | (random.one_in(2) ? random.word() : 0);
        uint32_t compressed = 0, spread = 0, reversed = 0;
        bool full = false;
        for (int byte = 0; byte < 32; byte += 8) {
            for (int i = 0, at = byte; i < 8; i++)
                if (mask >> (byte + i) & 1) compressed |= (x >> (byte + i) & 1) << at++;
            full |= (x >> byte & 0xFF) == 0xFF;
        }
        for (int i = 0; i < 32; i++) {
            reversed |= (x >> i & 1) << (31 - i);
            if (i < 16) spread |= (x >> i & 1) << 2 * i;
        }
        EXPECT(compress_fields<8>(x, mask) == compressed, "%08x, mask %08x", x, mask);
        uint32_t nibbles = 0, spread_out = 0;
        for (int nibble = 0; nibble < 32; nibble += 4) {
            for (int i = 0, at = nibble; i < 4; i++)
                if (mask >> (nibble + i) & 1) nibbles |= (x >> (nibble + i) & 1) << at++;
            if (nibble < 16) spread_out |= (x >> nibble & 15) << 2 * nibble;
        }
        EXPECT(compress_fields<4>(x, mask) == nibbles, "nibbles of %08x, mask %08x", x, mask);
        EXPECT(spread_nibbles(x & 0xFFFF) == spread_out, "%08x", x);
        EXPECT(spread_bits(x & 0xFFFF) == spread && reverse_bits(x) == reversed && (full_bytes(x) != 0) == full, "%08x",
               x);
    }
}
END_TEST

START_TEST(raw_segments_are_the_standards) {
    Random random(static_cast<uint64_t>(_i) + 30);
    for (int repeat = 0; repeat < 1000; repeat++) {
        const uint32_t zeros = 1u << random.between(0, 9);
        std::string bits;
        for (int i = random.between(1, 700); i; i--) bits += random.one_in(zeros) ? '0' : '1';
        std::vector<uint8_t> expected;
        const size_t count = bits.size();
        for (size_t at = 0; at < count || expected.back() == 0xFF;) {
            uint8_t byte = 0;
            for (int i = !expected.empty() && expected.back() == 0xFF ? 6 : 7; i >= 0; i--, at++)
                byte |= static_cast<uint8_t>((at < count ? bits[at] == '1' : (at - count) % 2) << i);
            expected.push_back(byte);
        }
        EXPECT(stuff(bits) == expected, "%zu bits", count);
        RawDecoder decoder(expected.data(), expected.size());
        for (const char bit : bits) EXPECT(decoder.bit() == bit - '0', "a bit of %zu", count);
        EXPECT(decoder.ends_predictably(), "the end of %zu bits", count);
    }
}
END_TEST

// ---- what passes are worth ----

START_TEST(entropy_is_near) {
    const auto x_log2_x_exact = [](double x) { return x > 0 ? x * std::log2(x) : 0; };
    for (uint32_t x = 0; x < 1u << 16; x++) {
        const double is = x_log2_x(x) / 256.0, right = x_log2_x_exact(x);
        EXPECT(std::abs(is - right) <= 0.017 * x, "%u: %f, not %f", x, is, right);
    }
    for (uint32_t all = 0; all <= 4096; all += all < 70 ? 1 : 37)
        for (uint32_t ones = 0; ones <= all; ones++) {
            const double right = x_log2_x_exact(all) - x_log2_x_exact(ones) - x_log2_x_exact(all - ones);
            const double is = entropy(ones, all) / 256.0;
            EXPECT(is <= all + 0.017 * all && std::abs(is - right) <= 0.034 * all, "%u of %u: %f bits, not %f", ones,
                   all, is, right);
        }
}
END_TEST

START_TEST(last_passes_are_judged_by_their_slope) {
    Random random(7);
    int worth = 0, not_worth = 0;
    for (int repeat = 0; repeat < 100000; repeat++) {
        NextSamples<> p{};
        p.refined = random.below(4097);
        DecisionCounts &c = p.decisions;
        c.all[0] = random.below(4097 - p.refined), c.all[1] = random.below(4097 - p.refined - c.all[0]);
        for (int i = 0; i < 2; i++) c.ones[i] = random.below(c.all[i] + 1) >> random.between(0, 8);
        const auto bits = [](double ones, double all) {
            const auto part = [&](double n) { return n > 0 ? n * std::log2(all / n) : 0; };
            return part(ones) + part(all - ones);
        };
        const double found = c.newly_significant();
        const double reduction = 2.25 * found + 0.25 * p.refined;
        const double cost = found + p.refined + bits(c.ones[0], c.all[0]) + bits(c.ones[1], c.all[1]);
        if (reduction > 0.39 * cost) EXPECT(worth_coding(p), "%f for %f bits", reduction, cost);
        if (reduction < 0.36 * cost) EXPECT(!worth_coding(p), "%f for %f bits", reduction, cost);
        worth_coding(p) ? worth++ : not_worth++;
    }
    EXPECT(worth > 1000 && not_worth > 1000, "%d worth their bits, %d not", worth, not_worth);
    EXPECT(!worth_coding(NextSamples<>{}));
}
END_TEST

START_TEST(hulls_begin_behind_always_included_passes) {
    Random random(11);
    for (int repeat = 0; repeat < 20000; repeat++) {
        const int planes = random.between(2, 12),
                  passes = random.between(coding_passes(planes - 1), coding_passes(planes)),
                  included = coding_passes(random.between(0, planes - 1));
        uint32_t bytes[coding_passes(12)], at = 0;
        int32_t reductions[coding_passes(12)];
        for (int i = 0; i < passes; i++) {
            bytes[i] = at += random.one_in(5) ? 0 : random.below(90);
            reductions[i] = random.between(-100, 4000);
        }
        constexpr uint16_t kUntouched = 0xBEEF;
        std::vector<uint16_t> slopes(static_cast<size_t>(passes), kUntouched), expected(slopes);
        const CodedBlock coded{0, static_cast<uint8_t>(planes), static_cast<uint8_t>(passes),
                               static_cast<uint8_t>(included)};
        const BlockPasses block{coded, bytes, reductions, 0, 0, random.word(), random.one_in(2) ? kFewSamples : 4096};
        convex_hull(block, {slopes.data(), 1});
        // As if those passes gained more than all others.
        for (int i = 0; i < included; i++) reductions[i] = 1 << 30;
        BlockPasses all = block;
        all.coded.always_included = 0;
        convex_hull(all, {expected.data(), 1});
        int first = included - 1;
        if (included)
            for (int i = included; i < passes && bytes[i] == bytes[included - 1]; i++)
                if (slopes[static_cast<size_t>(i)] == kSlopes - 1) first = i;
        for (int i = 0; i < passes; i++) {
            const uint16_t cut = slopes[static_cast<size_t>(i)];
            const int right = i < included - 1         ? kUntouched
                              : i < first              ? 0
                              : included && i == first ? kSlopes - 1
                                                       : expected[static_cast<size_t>(i)];
            EXPECT(cut == right, "pass %d of %d, %d included: slope %d, not %d", i, passes, included, cut, right);
        }
        for (int threshold : {1, 2, 9000, kSlopes - 1, kSlopes}) {
            const int some = passes_at_or_above({slopes.data(), 1}, included, passes, static_cast<uint32_t>(threshold));
            EXPECT(threshold == 1        ? some == passes
                   : threshold < kSlopes ? some >= included
                                         : some == 0,
                   "%d of %d passes, %d included, with threshold %d", some, passes, included, threshold);
        }
    }
}
END_TEST

// In a block of few samples estimated refinement counts as the most that it may be: the hull goes on to the last plane.
START_TEST(hulls_of_few_samples_go_on_below_estimates) {
    constexpr int kPlanes = 11, kPasses = coding_passes(kPlanes);
    uint32_t bytes[kPasses];
    int32_t reductions[kPasses];
    for (int i = 0; i < kPasses; i++) {
        bytes[i] = static_cast<uint32_t>(i) / 3 + 1;
        const bool refines = pass_kind(i) == kMagnitudeRefinement;
        reductions[i] = !i ? 64 : !refines ? 0 : plane_of_pass(0, kPlanes, i) > kReductionPlanes ? -1 : 16;
    }
    for (int samples : {1, kFewSamples, kFewSamples + 1}) {
        uint16_t slopes[kPasses] = {};
        convex_hull({CodedBlock{0, kPlanes, kPasses, 0}, bytes, reductions, 0, 0, 0, samples}, {slopes, 1});
        const int last_refinement = kPasses - 2;
        EXPECT(!slopes[last_refinement] == (samples > kFewSamples), "%d samples: slope %d", samples,
               slopes[last_refinement]);
    }
}
END_TEST

// ---- batches ----

struct Batch {
    explicit Batch(const BlockCoding &block_coding) : coding(block_coding) {}
    BlockCoding coding;
    std::vector<Block> content;
    std::vector<CodeBlock> blocks;
    std::vector<uint32_t> coefficients;
    std::vector<uint64_t> rooms;  // [block]: where it begins
    uint64_t codewords = 0;       // bytes
    int max_passes = 0;

    void add(Random &random, const Block &b, int planes) {
        if (blocks.empty()) coding.lossy = random.one_in(2);
        CodeBlock block{};
        coefficients.resize(coefficients.size() + random.below(40), 0x7EADBEEF);  // what lies between blocks
        block.coefficients = coefficients.size();
        block.stride = static_cast<uint32_t>(b.width + random.between(0, 5));
        for (int y = 0; y < b.height; y++) {
            const auto *row = b.coefficients.data() + static_cast<ptrdiff_t>(y) * b.width;
            coefficients.insert(coefficients.end(), row, row + b.width);
            coefficients.resize(block.coefficients + static_cast<size_t>(y + 1) * block.stride, 0xFFFFFFFF);
        }
        block.width = static_cast<uint16_t>(b.width);
        block.height = static_cast<uint16_t>(b.height);
        block.orientation = static_cast<uint8_t>(b.orientation);
        block.planes = static_cast<uint8_t>(planes);
        block.reversible = random.one_in(2);
        rooms.push_back(codewords);
        codewords += room_layout(block, coding).bytes;
        max_passes = std::max(max_passes, coding_passes(planes));
        content.push_back(b);
        blocks.push_back(block);
    }
};

// ---- the CPU device ----

// A sampled block that only the number of steps ends.
void check_sampled_block(const uint32_t *coefficients, const CodeBlock &b, const Coded &expected, uint64_t *memory) {
    const SampledSteps made = sample_block(coefficients, b, {~uint64_t{0}}, memory);
    EXPECT(made.count == static_cast<int>(expected.sampled_steps.size()), "sampled block of %d x %d: %d steps", b.width,
           b.height, made.count);
    for (int i = 0; i < made.count; i++) {
        const SampledStep &step = made.steps[i], &sequential = expected.sampled_steps[static_cast<size_t>(i)];
        EXPECT(std::equal(step.decisions, step.decisions + 3, sequential.decisions) &&
                   step.refined == sequential.refined && std::equal(step.signs, step.signs + 2, sequential.signs) &&
                   step.parts == sequential.parts,
               "sampled block of %d x %d, step %d", b.width, b.height, i);
    }
}

void check_cpu(const Batch &batch) {
    const size_t count = batch.blocks.size(), passes = static_cast<size_t>(batch.max_passes);
    constexpr uint8_t kUntouched = 0xA5;
    std::vector<uint32_t> pass_bytes(count * passes, 0xDEADBEEF), terminations(pass_bytes), offsets(count);
    std::vector<int32_t> reductions(count * passes);
    std::vector<uint8_t> bytes(3);
    std::vector<CodedBlock> coded(count);
    const bool truncatable = batch.coding.truncatable;
    code_blocks(batch.blocks, batch.coefficients.data(), batch.coding, batch.max_passes,
                truncatable ? TruncationPoints{pass_bytes.data(), terminations.data(), reductions.data()}
                            : TruncationPoints{pass_bytes.data()},
                bytes, offsets.data(), coded.data());
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        const CodeBlock &b = batch.blocks[i];
        const Coded expected = code(batch.content[i], batch.coding, b.reversible);
        const RoomLayout room = room_layout(b.width, b.height, expected.planes, batch.coding);
        const size_t most = room.bytes - room.symbols;
        std::vector<uint8_t> symbols(most + 64, kUntouched);
        std::vector<uint32_t> symbol_ends(expected.pass_ends.size() + 1, 0xDEADBEEF);
        std::vector<uint64_t> memory(scratch_words(b.width, b.height));
        for (int repeat = 0; repeat < 2; repeat++) {  // in memory as it came, and as the last block left it
            const CodedBlock made = model_block(batch.coefficients.data(), b, batch.coding, symbols.data(),
                                                symbol_ends.data(), nullptr, {}, memory.data());
            EXPECT(made.planes == expected.planes && made.passes == expected.pass_ends.size(),
                   "block %zu: %d planes, %d passes", i, made.planes, made.passes);
        }
        EXPECT(std::all_of(symbols.begin() + static_cast<ptrdiff_t>(most), symbols.end(),
                           [](uint8_t byte) { return byte == kUntouched; }),
               "block %zu, %d x %d: bytes behind its room", i, b.width, b.height);
        symbols.resize(expected.symbols.size());
        const auto wrong = std::mismatch(symbols.begin(), symbols.end(), expected.symbols.begin());
        EXPECT(wrong.first == symbols.end(), "block %zu, %d x %d, orientation %d: symbol %td of %zu is %d, not %d", i,
               b.width, b.height, b.orientation, wrong.first - symbols.begin(), symbols.size(), *wrong.first,
               *wrong.second);
        if (truncatable && !batch.coding.style)
            check_sampled_block(batch.coefficients.data(), b, expected, memory.data());
        EXPECT(symbol_ends.back() == 0xDEADBEEF, "more passes than there are");
        symbol_ends.pop_back();
        EXPECT(symbol_ends == expected.pass_ends, "block %zu, %d x %d: ends of passes", i, b.width, b.height);

        EXPECT(coded[i].planes == expected.planes && coded[i].passes == expected.pass_ends.size() &&
                   coded[i].bytes == expected.bytes.size(),
               "block %zu, %d x %d: %u bytes, not %zu", i, b.width, b.height, coded[i].bytes, expected.bytes.size());
        EXPECT(offsets[i] + coded[i].bytes <= bytes.size() &&
                   std::equal(expected.bytes.begin(), expected.bytes.end(), bytes.begin() + offsets[i]),
               "codeword of block %zu, %d x %d", i, b.width, b.height);
        std::vector<uint32_t> now(passes, 0xDEADBEEF);
        std::copy(expected.pass_bytes.begin(), expected.pass_bytes.end(), now.begin());
        EXPECT(std::equal(now.begin(), now.end(), pass_bytes.begin() + static_cast<ptrdiff_t>(i * passes)),
               "bytes of the passes of block %zu, %d x %d", i, b.width, b.height);
        if (truncatable)
            EXPECT(!coded[i].passes || coded[i].estimated_bytes == estimated_codeword_bytes(static_cast<uint32_t>(
                                                                       expected.device_symbols.size())),
                   "block %zu, %d x %d: an estimate of %u for %zu symbols", i, b.width, b.height,
                   coded[i].estimated_bytes, expected.device_symbols.size());
        for (size_t k = 0; truncatable && k < expected.reductions.size(); k++)
            EXPECT(terminations[i * passes + k] == expected.terminations[k] &&
                       reductions[i * passes + k] == expected.reductions[k],
                   "pass %zu of block %zu, %d x %d: termination %x, not %x; reduction %d, not %d", k, i, b.width,
                   b.height, terminations[i * passes + k], expected.terminations[k], reductions[i * passes + k],
                   expected.reductions[k]);
        total += coded[i].bytes + (truncatable && coded[i].passes ? kTerminationSlack : 0);
    }
    EXPECT(bytes.size() == total, "%zu bytes, not %zu", bytes.size(), total);
}

START_TEST(blocks_on_the_cpu) {
    Random random(static_cast<uint64_t>(_i) + 80);
    const int most[][2] = {{20, 20}, {32, 32}, {64, 64}, {1024, 4}, {4, 1024}, {512, 8}, {16, 256}};
    for (int repeat = 0; repeat < 100; repeat++) {
        Batch batch(random_coding(random));
        const auto &size = most[repeat < 40 ? repeat % 2 : 2 + repeat % 5];
        for (int count = random.between(1, repeat < 40 ? 20 : 4); count; count--) {
            const bool whole = random.one_in(3);
            const int planes = random.one_in(6) ? 31 : random.between(0, 12);
            batch.add(random,
                      make_block(random, whole ? size[0] : random.between(1, size[0]),
                                 whole ? size[1] : random.between(1, size[1]), planes,
                                 random.one_in(2) ? _i : random.between(0, kKinds - 1)),
                      random.between(std::max(planes, 1), 31));
        }
        check_cpu(batch);
    }
}
END_TEST

// ---- kernels ----

// The batch as the launcher takes it. tiles: 0: small blocks.
Tier1Batch device_batch(const Batch &batch, int tiles_x, int tiles_y) {
    return {.blocks = static_cast<uint32_t>(batch.blocks.size()),
            .max_passes = batch.max_passes,
            .tiles_x = std::max(tiles_x, 1),
            .tiles_y = std::max(tiles_y, 1),
            .coding = batch.coding};
}

// What tier-1 works on, between guards.
struct DeviceBlocks {
    DeviceBlocks(const std::shared_ptr<Device> &device, const Batch &batch)
        : count(batch.blocks.size()),
          all_passes(count * static_cast<size_t>(batch.max_passes)),
          max_passes(batch.max_passes),
          truncatable(batch.coding.truncatable),
          lossy(batch.coding.lossy),
          has_gaps(batch.coding.style == kBypass),
          blocks(device, batch.blocks),
          coefficients(device, batch.coefficients),
          rooms(device, batch.rooms),
          codewords(device, size_t{batch.codewords}),
          planes(device, count),
          passes(device, count),
          always_included(device, count),
          symbols(device, count),
          bytes(device, count),
          estimated_bytes(device, count),
          order(device, count),
          pass_ends(device, all_passes),
          pass_bytes(device, all_passes),
          terminations(device, truncatable ? all_passes : 1),
          segment_begins(device, has_gaps ? all_passes : 1),
          reductions(device, truncatable ? all_passes : 1),
          pass_coders(device, truncatable ? all_passes : 1),
          work(device, size_t{1}) {}

    Tier1Buffers buffers() const {
        return {.blocks = blocks.data(),
                .coded = {.codewords = codewords.data(),
                          .rooms = rooms.data(),
                          .planes = planes.data(),
                          .passes = passes.data(),
                          .bytes = bytes.data(),
                          .estimated_bytes = truncatable ? estimated_bytes.data() : nullptr,
                          .always_included = truncatable ? always_included.data() : nullptr,
                          .pass_bytes = pass_bytes.data(),
                          .terminations = truncatable ? terminations.data() : nullptr,
                          .reductions = truncatable ? reductions.data() : nullptr,
                          .segment_begins = has_gaps ? segment_begins.data() : nullptr},
                .symbols = symbols.data(),
                .pass_ends = pass_ends.data(),
                .pass_coders = truncatable ? pass_coders.data() : nullptr,
                .work = work.data(),
                .count = static_cast<uint32_t>(count),
                .max_passes = max_passes,
                .lossy = lossy};
    }
    std::vector<uint32_t> work_counts() const {
        const WorkOrder now = work.read("work")[0];
        return {now.counts, now.counts + kWorkClasses};
    }

    const size_t count, all_passes;
    const int max_passes;
    const bool truncatable, lossy, has_gaps;
    const Guarded<CodeBlock> blocks;
    const Guarded<uint32_t> coefficients;
    const Guarded<uint64_t> rooms;
    const Guarded<uint8_t> codewords, planes, passes, always_included;
    const Guarded<uint32_t> symbols, bytes, estimated_bytes, order, pass_ends, pass_bytes, terminations, segment_begins;
    const Guarded<int32_t> reductions;
    const Guarded<PassCoder> pass_coders;
    const Guarded<WorkOrder> work;
};

// What the kernels of tier-1 leave, against the sequential coder: all buffers, as they are after each kernel. Members
// are what a buffer has now, garbage where no kernel wrote yet. tiles_x 0: the kernel for small blocks.
class KernelCheck {
  public:
    KernelCheck(const std::shared_ptr<Device> &device, const Batch &batch, int tiles_x, int tiles_y)
        : device_(device),
          batch_(batch),
          style_(batch.coding.style),
          shape_(device_batch(batch, tiles_x, tiles_y)),
          d_(device, batch),
          t1_(d_.buffers()) {}

    // Context modelling: symbols and raw segments in the rooms, ends of passes.
    void model() {
        for (uint32_t i = 0; i < d_.count; i++) expect_modelled(i);
        model_contexts(*device_, nullptr, shape_, t1_, d_.coefficients.data());
        const auto codewords = d_.codewords.read("codewords");
        const auto ends = d_.pass_ends.read("pass ends");
        EXPECT(d_.estimated_bytes.read("estimated bytes") == estimated_, "estimated bytes");
        EXPECT(d_.always_included.read("always included") == always_included_, "passes that are always included");
        for (uint32_t i = 0; i < d_.count; i++) compare_block(i, codewords, ends);
        EXPECT(d_.planes.read("planes") == planes_, "planes");
        EXPECT(d_.passes.read("passes") == passes_, "passes");
        EXPECT(d_.symbols.read("symbols") == symbols_, "numbers of symbols");
        EXPECT(d_.work_counts() == work_, "classes of work");
        EXPECT(d_.bytes.read("bytes") == Guarded<uint32_t>::garbage(d_.count), "bytes are not yet known");
    }

    // The order of work and the MQ coder, by so many lanes a warp: codewords in place of symbols.
    void code_modelled(int lanes) {
        code_symbols(*device_, nullptr, shape_, t1_, d_.order.data(), lanes);
        compare_order();
        const auto codewords = d_.codewords.read("codewords");
        const auto pass_bytes = d_.pass_bytes.read("bytes of passes"), begins = d_.segment_begins.read("begins");
        for (uint32_t i = 0; i < d_.count; i++) expect_coded(i, codewords, pass_bytes, begins);
        EXPECT(codewords == codewords_, "codewords, %d lanes, style %u", lanes, style_);
        EXPECT(pass_bytes == pass_bytes_, "bytes of passes, %d lanes, style %u", lanes, style_);
        EXPECT(d_.pass_ends.read("pass ends") == ends_, "ends of passes after the MQ coder");
        EXPECT(d_.bytes.read("bytes") == bytes_, "bytes, %d lanes", lanes);
        EXPECT(d_.terminations.read("terminations") == terminations_, "terminations, %d lanes, style %u", lanes,
               style_);
        EXPECT(d_.reductions.read("reductions") == reductions_, "reductions, style %u", style_);
        EXPECT(d_.symbols.read("symbols") == symbols_ && d_.planes.read("planes") == planes_,
               "what the MQ kernel only reads");
        EXPECT(d_.coefficients.read("coefficients") == batch_.coefficients, "coefficients");
        d_.pass_coders.read("coders of passes");
        d_.blocks.read("blocks");
    }

  private:
    RoomLayout room_of(uint32_t block) const { return room_layout(batch_.blocks[block], batch_.coding); }
    ptrdiff_t room_begin(uint32_t block) const { return static_cast<ptrdiff_t>(batch_.rooms[block]); }
    ptrdiff_t first_pass(uint32_t block) const { return static_cast<ptrdiff_t>(block) * d_.max_passes; }
    void put(uint32_t block, uint64_t at, const std::vector<uint8_t> &what) {
        std::copy(what.begin(), what.end(), codewords_.begin() + room_begin(block) + static_cast<ptrdiff_t>(at));
    }

    void expect_modelled(uint32_t i) {
        coded_.push_back(code(batch_.content[i], batch_.coding, batch_.blocks[i].reversible));
        const Coded &c = coded_.back();
        put(i, room_of(i).symbols, c.device_symbols);
        put(i, room_of(i).raw, c.parts.raw);
        for (size_t k = 0; k < c.device_ends.size(); k++) {
            const int pass = static_cast<int>(k);
            const bool last = k == c.device_ends.size() - 1, raw = is_raw(style_, pass);
            if (d_.has_gaps && !d_.truncatable && !last && !raw && !ends_segment(style_, pass)) continue;
            // Behind the last pass symbols are filled up.
            ends_[static_cast<size_t>(first_pass(i)) + k] =
                last && !raw ? static_cast<uint32_t>(c.device_symbols.size()) : c.device_ends[k];
        }
        planes_[i] = static_cast<uint8_t>(c.planes);
        passes_[i] = static_cast<uint8_t>(c.pass_ends.size());
        symbols_[i] = static_cast<uint32_t>(c.device_symbols.size());
        work_[work_class(symbols_[i])]++;
        if (!d_.truncatable) return;
        std::copy(c.terminations.begin(), c.terminations.end(), terminations_.begin() + first_pass(i));
        std::copy(c.reductions.begin(), c.reductions.end(), reductions_.begin() + first_pass(i));
        estimated_[i] = estimated_codeword_bytes(symbols_[i]), always_included_[i] = 0;
    }

    void compare_block(uint32_t i, const std::vector<uint8_t> &codewords, const std::vector<uint32_t> &ends) const {
        const Block &b = batch_.content[i];
        const auto begin = codewords.begin() + room_begin(i),
                   end = i + 1 < d_.count ? codewords.begin() + room_begin(i + 1)
                                          : codewords.begin() + static_cast<ptrdiff_t>(batch_.codewords);
        const auto wrong = std::mismatch(begin, end, codewords_.begin() + room_begin(i));
        EXPECT(wrong.first == end,
               "block %u, %d x %d, orientation %d, style %u: byte %td of the room, %zu symbols, is %d, not %d", i,
               b.width, b.height, b.orientation, style_, wrong.first - begin, coded_[i].device_symbols.size(),
               *wrong.first, *wrong.second);
        EXPECT(
            std::equal(ends.begin() + first_pass(i), ends.begin() + first_pass(i + 1), ends_.begin() + first_pass(i)),
            "block %u, %d x %d, style %u: ends of passes", i, b.width, b.height, style_);
    }

    // All blocks once, those with most symbols first.
    void compare_order() const {
        const auto order = d_.order.read("order");
        std::vector<uint32_t> all = order;
        std::sort(all.begin(), all.end());
        for (uint32_t i = 0; i < d_.count; i++) {
            EXPECT(all[i] == i, "block %u is coded never or twice", i);
            EXPECT(!i || work_class(symbols_[order[i - 1]]) <= work_class(symbols_[order[i]]),
                   "the order of work at %u", i);
        }
        const WorkOrder work = d_.work.read("work")[0];
        EXPECT(std::equal(work_.begin(), work_.end(), work.taken) && d_.work_counts() == work_,
               "classes of work after the order");
    }

    void expect_coded(uint32_t i, const std::vector<uint8_t> &codewords, const std::vector<uint32_t> &pass_bytes,
                      const std::vector<uint32_t> &begins) {
        const Coded &c = coded_[i];
        const size_t first = static_cast<size_t>(first_pass(i));
        bytes_[i] = static_cast<uint32_t>(c.bytes.size());
        std::copy(c.pass_bytes.begin(), c.pass_bytes.end(), pass_bytes_.begin() + first_pass(i));
        if (!d_.has_gaps) return put(i, 0, c.parts.mq);
        // What lies between segments, and bytes up to passes that end none, are anything.
        for (size_t k = 0; k + 1 < c.pass_bytes.size() && !d_.truncatable; k++)
            if (!ends_segment(style_, static_cast<int>(k))) pass_bytes_[first + k] = pass_bytes[first + k];
        const auto room = codewords.begin() + room_begin(i);
        std::copy(room, room + static_cast<ptrdiff_t>(room_of(i).symbols + c.device_symbols.size()),
                  codewords_.begin() + room_begin(i));
        for (const Segment &s : c.mq_segments) {
            const auto begin = static_cast<ptrdiff_t>(begins[first + s.last_pass]);
            EXPECT(begin + static_cast<ptrdiff_t>(s.bytes.size()) <=
                           static_cast<ptrdiff_t>(room_of(i).symbols + c.device_ends[s.last_pass]) &&
                       std::equal(s.bytes.begin(), s.bytes.end(), room + begin),
                   "segment of block %u up to pass %zu, at %td, %zu bytes", i, s.last_pass, begin, s.bytes.size());
        }
    }

    const std::shared_ptr<Device> device_;
    const Batch &batch_;
    const uint32_t style_;
    const Tier1Batch shape_;
    const DeviceBlocks d_;
    const Tier1Buffers t1_;
    std::vector<Coded> coded_;
    std::vector<uint8_t> codewords_ = Guarded<uint8_t>::garbage(d_.codewords.count()),
                         planes_ = Guarded<uint8_t>::garbage(d_.count), passes_ = planes_, always_included_ = planes_;
    std::vector<uint32_t> symbols_ = Guarded<uint32_t>::garbage(d_.count), estimated_ = symbols_, bytes_ = symbols_,
                          ends_ = Guarded<uint32_t>::garbage(d_.all_passes), pass_bytes_ = ends_,
                          terminations_ = Guarded<uint32_t>::garbage(d_.terminations.count()),
                          work_ = std::vector<uint32_t>(kWorkClasses);
    std::vector<int32_t> reductions_ = Guarded<int32_t>::garbage(d_.reductions.count());
};

void check_kernels(const std::shared_ptr<Device> &device, Random &random, const Batch &batch, int tiles_x,
                   int tiles_y) {
    const int lane_counts[] = {1, 2, 5, 8, 32};
    KernelCheck check(device, batch, tiles_x, tiles_y);
    check.model();
    check.code_modelled(random.of(lane_counts));
}

// All that is known of truncatable blocks, by bit-planes, and up to where they stop early.
void check_planes(const std::shared_ptr<Device> &device, Random &random, Batch batch, int tiles_x, int tiles_y) {
    const uint32_t count = static_cast<uint32_t>(batch.blocks.size());
    const size_t passes = static_cast<size_t>(batch.max_passes);
    batch.coding.truncatable = true;
    batch.coding.lossy = false;
    const uint32_t style = batch.coding.style;
    EncoderGeometry geometry{};
    geometry.max_passes = batch.max_passes;
    for (CodeBlock &b : batch.blocks) {
        b.precinct_band = static_cast<uint32_t>(geometry.band_codings.size());
        geometry.band_codings.push_back(
            {.weight = random.between(-2 * kSlopeOctave, 2 * kSlopeOctave), .group = 0, .step = 0, .spare = 0});
    }
    const SymbolMemory symbols = style & kBypass || random.one_in(2) ? SymbolMemory::kRooms : SymbolMemory::kTwoPlanes;
    batch.rooms =
        symbols == SymbolMemory::kRooms ? place_rooms(batch.blocks, batch.coding) : place_codewords(batch.blocks);
    batch.codewords = batch.rooms.back();
    geometry.blocks = batch.blocks;
    // Where tier-1 stops follows from what all passes take.
    std::vector<Coded> coded;
    std::vector<CodedBlock> expected;
    std::vector<uint32_t> all_bytes(count * passes);
    std::vector<int32_t> all_reductions(count * passes);
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        coded.push_back(code(batch.content[i], batch.coding, batch.blocks[i].reversible));
        const Coded &c = coded.back();
        expected.push_back({0, static_cast<uint8_t>(c.planes), static_cast<uint8_t>(c.pass_bytes.size())});
        std::copy(c.pass_bytes.begin(), c.pass_bytes.end(), all_bytes.begin() + static_cast<ptrdiff_t>(i * passes));
        std::copy(c.reductions.begin(), c.reductions.end(),
                  all_reductions.begin() + static_cast<ptrdiff_t>(i * passes));
        total += c.bytes.size();
    }
    CiboTier1::Options options{
        .overlap = random.one_in(2), .compaction = random.one_in(2), .lanes = 1 << random.between(0, 5)};
    const CudaencJ2kRateControl methods[] = {CUDAENC_J2K_RATE_PCRD, CUDAENC_J2K_RATE_PSB, CUDAENC_J2K_RATE_PSB,
                                             CUDAENC_J2K_RATE_BPI};
    const EarlyStopping stopping(RateControl{.mode = random.of(methods), .pst_lag = 1, .layers = {1}, .error = 0});
    const uint64_t budget = random.one_in(10) ? 0 : total / static_cast<uint64_t>(random.between(1, 10));
    stopping.truncate(geometry, budget, all_bytes.data(), all_reductions.data(), expected);

    const DeviceBlocks d(device, batch);
    const Guarded<BandCoding> bands(device, geometry.band_codings);
    const Guarded<uint64_t> device_budget(device, std::vector<uint64_t>{budget});
    options.stop = stopping.by_planes();
    options.bands = bands.data();
    options.budget = device_budget.data();
    device->synchronize(Device::Stream{});
    const Stream stream(device), other(device);
    CiboTier1 tier1(device, device_batch(batch, tiles_x, tiles_y), symbols);
    for (int repeat = 0; repeat < 2; repeat++)  // in memory as the last blocks left it
        tier1.queue(stream, other, d.buffers(), d.coefficients.data(), options);
    EXPECT_EQ(tier1.overflowed(stream), 0);
    device->synchronize(static_cast<Device::Stream>(stream));
    const auto codewords_now = d.codewords.read("codewords"), planes_now = d.planes.read("planes"),
               passes_now = d.passes.read("passes");
    const auto bytes_now = d.bytes.read("bytes"), ends_now = d.pass_bytes.read("bytes of passes"),
               terminations_now = d.terminations.read("terminations");
    const auto reductions_now = d.reductions.read("reductions");
    for (uint32_t i = 0; i < count; i++) {
        const CodeBlock &b = batch.blocks[i];
        const Coded &c = coded[i];
        EXPECT(planes_now[i] == expected[i].planes && passes_now[i] == expected[i].passes,
               "block %u, %d x %d, style %u: %d planes, %d passes instead of %d, %d", i, b.width, b.height, style,
               planes_now[i], passes_now[i], expected[i].planes, expected[i].passes);
        for (size_t k = 0; k < expected[i].passes; k++) {
            const size_t at = i * passes + k;
            EXPECT(ends_now[at] == c.pass_bytes[k] && terminations_now[at] == c.terminations[k] &&
                       reductions_now[at] == c.reductions[k],
                   "block %u, %d x %d, style %u, pass %zu of %d: %u bytes, termination %x, reduction %d instead of %u, "
                   "%x, %d",
                   i, b.width, b.height, style, k, expected[i].passes, ends_now[at], terminations_now[at],
                   reductions_now[at], c.pass_bytes[k], c.terminations[k], c.reductions[k]);
        }
        // The codeword without its termination: its MQ segments, and raw ones elsewhere.
        const bool whole = expected[i].passes == c.pass_bytes.size();
        const auto has = [&](const std::vector<uint8_t> &part, uint64_t at, size_t size) {
            return std::equal(part.begin(), part.begin() + static_cast<ptrdiff_t>(size),
                              codewords_now.begin() + static_cast<ptrdiff_t>(batch.rooms[i] + at));
        };
        if (whole) {
            EXPECT(bytes_now[i] == c.bytes.size(), "block %u, %d x %d, style %u: %u bytes, not %zu", i, b.width,
                   b.height, style, bytes_now[i], c.bytes.size());
            EXPECT(has(c.parts.mq, 0, c.parts.mq.size()) &&
                       has(c.parts.raw, room_layout(b, batch.coding).raw, c.parts.raw.size()),
                   "block %u, %d x %d, style %u: codeword", i, b.width, b.height, style);
        } else if (!(style & kBypass)) {
            const size_t last = expected[i].passes - 1u;
            EXPECT(has(c.bytes, 0, c.pass_bytes[last] - (c.terminations[last] & 0xFF)),
                   "block %u, %d x %d, style %u: codeword of %d passes of %zu", i, b.width, b.height, style,
                   expected[i].passes, c.pass_bytes.size());
        }
    }
    EXPECT(d.coefficients.read("coefficients") == batch.coefficients, "coefficients");
    d.symbols.read("symbols");
    d.blocks.read("blocks");
}

// With symbols of two planes: blocks whose room is too small lack planes and are counted, and write nothing behind it.
START_TEST(small_rooms_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 40);
    Batch batch({});
    batch.coding = {.style = 0, .truncatable = true};
    constexpr size_t kBlocks = 9;
    for (size_t i = 0; i < kBlocks; i++) batch.add(random, make_block(random, 32, 32, 9, 1), 9);
    batch.coding.lossy = false;
    const std::vector<uint64_t> rooms = place_codewords(batch.blocks);
    batch.rooms = {0};
    for (size_t i = 0; i < kBlocks; i++)
        batch.rooms.push_back(batch.rooms.back() + (i % 2 ? 64 * i : rooms[i + 1] - rooms[i]));
    batch.codewords = batch.rooms.back();
    const DeviceBlocks d(device, batch);
    const Stream stream(device), other(device);
    device->synchronize(Device::Stream{});
    CiboTier1 tier1(device, device_batch(batch, 1, 1), SymbolMemory::kTwoPlanes);
    for (int repeat = 0; repeat < 2; repeat++) tier1.queue(stream, other, d.buffers(), d.coefficients.data(), {});
    EXPECT_EQ(tier1.overflowed(stream), kBlocks / 2);
    const auto passes = d.passes.read("passes");
    const auto bytes = d.bytes.read("bytes");
    const auto codewords = d.codewords.read("codewords");
    for (size_t i = 0; i < kBlocks; i++) {
        const Coded c = code(batch.content[i], batch.coding, batch.blocks[i].reversible);
        if (i % 2) {
            EXPECT(passes[i] < c.pass_bytes.size(), "block %zu: %d passes", i, passes[i]);
            continue;
        }
        EXPECT(
            passes[i] == c.pass_bytes.size() && bytes[i] == c.bytes.size() &&
                std::equal(c.bytes.begin(), c.bytes.end(), codewords.begin() + static_cast<ptrdiff_t>(batch.rooms[i])),
            "block %zu: %d passes, %u bytes", i, passes[i], bytes[i]);
    }
}
END_TEST

START_TEST(small_blocks_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    Batch batch({});
    const auto add = [&](int width, int height, int kind) {
        const int planes = random.one_in(6) ? 31 : random.between(1, 14);
        // The sub-band has as many planes or more.
        batch.add(random, make_block(random, width, height, planes, kind), random.between(planes, 31));
    };
    for (int i = 1; i <= 32; i++) {
        add(i, random.between(1, 32), random.between(0, kKinds - 1));
        add(random.between(1, 32), i, random.between(0, kKinds - 1));
    }
    for (int kind = 0; kind < kKinds; kind++) add(32, 32, kind);
    add(1, 1, 1), add(1, 32, 1), add(32, 1, 1), add(4, 4, 2);
    check_kernels(device, random, batch, 0, 0);
    check_planes(device, random, batch, 0, 0);
}
END_TEST

// All styles.
START_TEST(styles_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 15);
    for (uint32_t variant = 1; variant < 2 * kStyles; variant++) {
        Batch batch({variant % kStyles, variant >= kStyles});
        for (int i = 0; i < (batch.coding.truncatable ? 4 : 8); i++) {
            const int planes = random.one_in(4) ? random.between(1, 31) : random.between(4, 10);
            batch.add(random,
                      make_block(random, i ? random.between(1, 32) : 32, i ? random.between(1, 32) : 32, planes,
                                 i < 2 ? i + 1 : random.between(0, kKinds - 1)),
                      random.between(planes, 31));
        }
        check_kernels(device, random, batch, 0, 0);
        check_planes(device, random, batch, 0, 0);
    }
}
END_TEST

START_TEST(large_blocks_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 20);
    const int sizes[][2] = {{64, 64}, {4, 1024}, {1024, 4}, {128, 32}, {32, 128},
                            {64, 16}, {8, 512},  {256, 16}, {64, 4}};
    for (const auto &size : sizes) {
        Batch batch(random_coding(random));
        const auto add = [&](int width, int height, int kind) {
            const int planes = random.between(1, random.one_in(4) ? 12 : 5);
            batch.add(random, make_block(random, width, height, planes, kind), random.between(planes, 31));
        };
        add(size[0], size[1], 1);
        add(size[0], size[1], random.between(0, kKinds - 1));
        add(random.between(1, size[0]), random.between(1, size[1]), random.between(1, kKinds - 1));
        add(random.between(1, size[0]), size[1], random.between(1, kKinds - 1));
        add(size[0], random.between(1, size[1]), random.between(1, kKinds - 1));
        add(1, 1, random.between(0, 1));
        add(std::min(33, size[0]), std::min(33, size[1]), 5);
        check_kernels(device, random, batch, std::max(size[0] / 32, 1), std::max(size[1] / 32, 1));
        check_planes(device, random, batch, std::max(size[0] / 32, 1), std::max(size[1] / 32, 1));
    }
}
END_TEST

// All magnitude bit-planes that 32 bits hold, in the largest blocks.
START_TEST(thirty_one_planes_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 40);
    for (const bool tiled : {false, true}) {
        Batch batch(tiled ? random_coding(random) : BlockCoding{});
        const int side = tiled ? 64 : 32;
        for (const int kind : {1, 2, 5}) batch.add(random, make_block(random, side, side, 31, kind), 31);
        check_kernels(device, random, batch, tiled ? 2 : 0, tiled ? 2 : 0);
        check_planes(device, random, batch, tiled ? 2 : 0, tiled ? 2 : 0);
    }
}
END_TEST

// Codewords of blocks that stopped, and where they may be truncated, against the CPU's. To be called once contexts are
// modelled.
void check_stopped_codewords(const std::shared_ptr<Device> &device, const Batch &batch, const Tier1Batch &shape,
                             const DeviceBlocks &d, const std::vector<StopRule> &rules) {
    const size_t passes = static_cast<size_t>(batch.max_passes);
    const uint32_t style = batch.coding.style;
    std::vector<uint32_t> pass_bytes(d.all_passes), terminations(d.all_passes), offsets(d.count);
    std::vector<int32_t> reductions(d.all_passes);
    std::vector<uint8_t> bytes;
    std::vector<CodedBlock> coded(d.count);
    code_blocks(batch.blocks, batch.coefficients.data(), batch.coding, batch.max_passes,
                {pass_bytes.data(), terminations.data(), reductions.data()}, bytes, offsets.data(), coded.data(),
                rules.data());
    code_symbols(*device, nullptr, shape, d.buffers(), d.order.data(), 32);
    const auto bytes_made = d.bytes.read("bytes"), ends_made = d.pass_bytes.read("bytes of passes"),
               terminations_made = d.terminations.read("terminations"),
               begins = d.segment_begins.read("begins of segments");
    const auto codewords = d.codewords.read("codewords");
    d.pass_coders.read("coders of passes");
    for (size_t i = 0; i < d.count; i++) {
        const CodeBlock &b = batch.blocks[i];
        const uint32_t all = coded[i].passes ? coded[i].bytes : 0;
        EXPECT(bytes_made[i] == all, "block %zu, %d x %d, style %u: %u bytes, not %u", i, b.width, b.height, style,
               bytes_made[i], all);
        for (size_t k = std::max(coded[i].always_included - 1, 0); k < coded[i].passes; k++)
            EXPECT(ends_made[i * passes + k] == pass_bytes[i * passes + k] &&
                       terminations_made[i * passes + k] == terminations[i * passes + k],
                   "block %zu, style %u, pass %zu of %d, %d always included: %u bytes, termination %x, not %u, %x", i,
                   style, k, coded[i].passes, coded[i].always_included, ends_made[i * passes + k],
                   terminations_made[i * passes + k], pass_bytes[i * passes + k], terminations[i * passes + k]);
        if (!all) continue;
        auto mq = codewords.begin() + static_cast<ptrdiff_t>(batch.rooms[i]),
             raw = mq + static_cast<ptrdiff_t>(room_layout(b, batch.coding).raw);
        const auto room = mq;
        auto expected = bytes.begin() + offsets[i];
        for_each_segment(style, 0, coded[i].passes, 0, all, &ends_made[i * passes],
                         [&](int first, int count, uint32_t size) {
                             auto &from = is_raw(style, first) ? raw : mq;
                             if (d.has_gaps && &from == &mq)
                                 mq = room + begins[i * passes + static_cast<size_t>(first + count) - 1];
                             EXPECT(std::equal(from, from + size, expected),
                                    "block %zu, %d x %d, style %u: segment of %d passes from %d on, %u bytes", i,
                                    b.width, b.height, style, count, first, size);
                             from += size;
                             expected += size;
                         });
    }
}

// Blocks that stop: which passes are coded and which are always included, against the CPU's.
START_TEST(stops_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 70);
    int left = 0, short_ones = 0, with_included = 0;  // blocks
    for (int repeat = 0; repeat < 24; repeat++) {
        const int side = repeat % 4 ? 32 : 64;
        Batch batch({repeat % 3 == 1 ? kBypass : repeat % 3 == 2 ? random.below(kStyles) : 0, true});
        for (int i = 0; i < 12; i++)
            batch.add(random,
                      make_block(random, random.one_in(2) ? side : random.between(1, side),
                                 random.one_in(2) ? side : random.between(1, side), random.between(0, 14),
                                 random.between(0, kKinds - 1)),
                      14);
        // Sub-bands between whose weights lie some bit-planes, and a slope among these.
        std::vector<BandCoding> bands(4);
        for (BandCoding &band : bands) band.weight = random.between(-4 * kSlopeOctave, 4 * kSlopeOctave);
        for (CodeBlock &b : batch.blocks) b.precinct_band = static_cast<uint32_t>(random.between(0, 3));
        const StopSlope stop{.slope = static_cast<uint32_t>(kStopBase + random.between(-4, 24) * kSlopeOctave),
                             .always_includes = random.one_in(4) ? 0u : 1u};

        const size_t passes = static_cast<size_t>(batch.max_passes);
        const DeviceBlocks d(device, batch);
        const Guarded<BandCoding> device_bands(device, bands);
        const Guarded<StopSlope> device_stop(device, std::vector<StopSlope>{stop});
        const Tier1Batch shape = device_batch(batch, side / 32, side / 32);
        std::vector<StopRule> rules;
        model_contexts(*device, nullptr, shape, d.buffers(), d.coefficients.data(), device_bands.data(),
                       device_stop.data());
        const auto planes_made = d.planes.read("planes"), passes_made = d.passes.read("passes"),
                   included_made = d.always_included.read("always included");
        const auto symbols_made = d.symbols.read("symbols"), estimated_made = d.estimated_bytes.read("estimated bytes");
        const auto reductions_made = d.reductions.read("reductions");
        d.codewords.read("codewords");
        d.pass_ends.read("pass ends");
        for (size_t i = 0; i < d.count; i++) {
            const CodeBlock &b = batch.blocks[i];
            std::vector<uint64_t> memory(scratch_words(b.width, b.height));
            std::vector<uint8_t> room(room_layout(b, batch.coding).bytes);
            std::vector<uint32_t> ends(passes);
            std::vector<int32_t> reductions(passes);
            const auto model = [&](const StopRule &rule) {
                return model_block(batch.coefficients.data(), b, batch.coding, room.data(), ends.data(),
                                   reductions.data(), rule, memory.data());
            };
            const int all = model({}).passes;
            rules.push_back(stop_rule(stop, bands[b.precinct_band].weight));
            const CodedBlock expected = model(rules.back());
            EXPECT(passes_made[i] == expected.passes && planes_made[i] == expected.planes,
                   "block %zu, %d x %d: %d passes of %d, not %d", i, b.width, b.height, passes_made[i], all,
                   expected.passes);
            EXPECT(included_made[i] == expected.always_included, "block %zu: %d passes are always included, not %d", i,
                   included_made[i], expected.always_included);
            if (expected.planes)
                EXPECT(estimated_made[i] == expected.estimated_bytes &&
                           estimated_codeword_bytes(symbols_made[i]) == expected.estimated_bytes,
                       "block %zu: an estimate of %u for %u symbols, not %u", i, estimated_made[i], symbols_made[i],
                       expected.estimated_bytes);
            for (size_t pass = expected.always_included; pass < expected.passes; pass++)
                EXPECT(reductions_made[i * passes + pass] == reductions[pass],
                       "block %zu, pass %zu: a reduction of %d, not %d", i, pass, reductions_made[i * passes + pass],
                       reductions[pass]);
            left += all && !expected.passes;
            short_ones += expected.passes && expected.passes < all;
            with_included += expected.always_included > 0;
        }
        check_stopped_codewords(device, batch, shape, d, rules);
    }
    EXPECT(left >= 10 && short_ones >= 10 && with_included >= 10,
           "of blocks %d are left out, %d end early, %d have passes that are always included", left, short_ones,
           with_included);
}
END_TEST

// The order of many blocks, more than one thread-block's.
START_TEST(many_blocks_are_ordered_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 60);
    for (const uint32_t count : {1u, 31u, 1024u, 1025u, 5000u}) {
        std::vector<uint32_t> symbols(count);
        std::vector<WorkOrder> work(1);
        for (uint32_t &n : symbols) n = random.word() >> random.between(12, 31);
        for (const uint32_t n : symbols) work[0].counts[work_class(n)]++;
        const Guarded<uint32_t> device_symbols(device, symbols), order(device, size_t{count});
        const Guarded<WorkOrder> device_work(device, work);
        device->launch(
            nullptr, {(count + kWorkClasses - 1) / kWorkClasses}, kOrderThreads,
            OrderParams{
                .symbols = device_symbols.data(), .work = device_work.data(), .order = order.data(), .count = count});
        const auto is = order.read("order");
        std::vector<uint32_t> all = is;
        std::sort(all.begin(), all.end());
        for (uint32_t i = 0; i < count; i++) {
            EXPECT(all[i] == i, "block %u of %u is coded never or twice", i, count);
            EXPECT(!i || work_class(symbols[is[i - 1]]) <= work_class(symbols[is[i]]), "the order of work at %u", i);
            // More symbols first, but for those in one class.
            EXPECT(!i || symbols[is[i - 1]] + kWorkSymbols > symbols[is[i]] ||
                       symbols[is[i - 1]] >= kWorkClasses * kWorkSymbols - kWorkSymbols,
                   "%u symbols before %u", symbols[is[i - 1]], symbols[is[i]]);
        }
        device_work.read("work");
    }
}
END_TEST

// Context modelling, order and MQ coding: of all passes, raw ones, and of blocks whose passes are measured or
// predicted.
START_TEST(frames) {
    const auto device = open_test_device(_i);
    for (const int side : {32, 64})
        for (const std::string variant : {"plain", "bypass", "pcrd", "psp"}) {
            CudaencJ2kOptions options = default_options();
            options.cblk_width = options.cblk_height = side;
            if (variant == "bypass") options.cblk_style = CUDAENC_J2K_BYPASS;
            if (variant == "pcrd" || variant == "psp") {
                options.rate_control = variant == "psp" ? CUDAENC_J2K_RATE_PSP : CUDAENC_J2K_RATE_PCRD;
                options.compression_ratio = 20;
            }
            check_frame(device, format_string("%s %dx%d", variant.c_str(), side, side), "j2k/t1", options);
        }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    const int devices = static_cast<int>(device_specs.size());
    Suite *suite = suite_create("t1");
    TCase *host = add_case(suite, "host");
    tcase_add_test(host, contexts_are_the_standards);
    tcase_add_test(host, bit_sliced_contexts_are_the_standards);
    tcase_add_test(host, words_are_sliced);
    tcase_add_loop_test(host, reductions_are_what_passes_reduce, 0, kKinds);
    tcase_add_loop_test(host, sequential_coder_decodes, 0, kKinds);
    tcase_add_test(host, bits_are_gathered);
    tcase_add_test(host, figure_2_is_stuffed);
    tcase_add_loop_test(host, raw_segments_are_the_standards, 0, 4);
    tcase_add_test(host, entropy_is_near);
    tcase_add_test(host, last_passes_are_judged_by_their_slope);
    tcase_add_test(host, hulls_begin_behind_always_included_passes);
    tcase_add_test(host, hulls_of_few_samples_go_on_below_estimates);
    tcase_add_loop_test(host, blocks_on_the_cpu, 0, kKinds);
    TCase *kernels = add_case(suite, "kernels");
    tcase_add_loop_test(kernels, small_blocks_on_the_device, 0, devices);
    tcase_add_loop_test(kernels, small_rooms_on_the_device, 0, devices);
    tcase_add_loop_test(kernels, styles_on_the_device, 0, devices);
    tcase_add_loop_test(kernels, large_blocks_on_the_device, 0, devices);
    tcase_add_loop_test(kernels, thirty_one_planes_on_the_device, 0, devices);
    tcase_add_loop_test(kernels, stops_on_the_device, 0, devices);
    tcase_add_loop_test(kernels, many_blocks_are_ordered_on_the_device, 0, devices);
    tcase_add_loop_test(kernels, frames, 0, devices);
    return run_suite(suite);
}
