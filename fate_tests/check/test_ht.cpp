// SPDX-License-Identifier: LGPL-2.1-or-later
// HT block coding: the CPU's codewords against a decoder of the tests' own, and against the most bytes that a codeword
// room has room for; truncation points against codewords and samples; the kernels against the CPU.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "../../common/j2k/t1/ht.h"
#include "../../common/j2k/t1/ht_codes.h"
#include "../../common/j2k/t1/ht_cpu.h"
#include "../../common/j2k/transform/quantise.h"
#include "../../cuda_kernels/j2k/t1/ht_coder.h"
#include "ht_decoder.h"
#include "pictures.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

// Magnitudes of at most `planes` bits; `kind` is how they look.
constexpr int kKinds = 9;
uint32_t make_magnitude(Random &random, int x, int y, int planes, int kind, uint32_t rarity) {
    const uint32_t limit = planes == 31 ? 0x7FFFFFFFu : (1u << planes) - 1;
    switch (kind) {
        case 0:  // nothing
            return 0;
        case 1:  // noise
            return random.word() & limit;
        case 2:  // largest
            return limit;
        case 3:  // few
            return random.one_in(rarity) ? random.word() & limit : 0;
        case 4:  // as transforms make them: most small
            return (random.word() & limit) >> random.between(0, planes);
        case 5:  // an impulse
            return x + y ? 0 : limit;
        case 6:  // a board
            return (x / 2 + y / 2) & 1 ? limit : 0;
        case 7:  // powers of two and what is next to them: all bits of MagSgn alike
            return (1u << random.between(0, planes - 1)) + (random.one_in(2) ? 1 : 0);
        default:  // flat
            return limit / 2 + 1;
    }
}

// Blocks, one behind the other in memory with noise between them.
struct Batch {
    std::vector<CodeBlock> blocks;
    std::vector<uint32_t> coefficients;
    std::vector<uint64_t> rooms;  // [block]: where it begins
    uint64_t codewords = 0;       // bytes

    void add(Random &random, int width, int height, int planes, int kind) {
        CodeBlock block{};
        const auto noise = [&](uint32_t count) {
            for (; count; count--) coefficients.push_back(random.word());
        };
        noise(random.below(9));
        block.coefficients = coefficients.size();
        block.stride = static_cast<uint32_t>(width + random.between(0, 5));
        const uint32_t rarity = 1u << random.between(1, 9);
        const int signs = random.between(0, 2);
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
                const uint32_t magnitude = std::min(make_magnitude(random, x, y, planes, kind, rarity), 0x7FFFFFFFu);
                const bool negative = signs == 2 ? random.one_in(2) : signs == 1;
                coefficients.push_back(magnitude | (negative && magnitude ? kSignBit : 0));
            }
            noise(block.stride - static_cast<uint32_t>(width));
        }
        block.width = static_cast<uint16_t>(width);
        block.height = static_cast<uint16_t>(height);
        block.planes = static_cast<uint8_t>(std::min(planes + (kind == 7), 31));
        rooms.push_back(codewords);
        codewords += codeword_room(block, {kHt, false});
        blocks.push_back(block);
    }
    std::string describe(size_t i) const {
        return std::to_string(blocks[i].width) + "x" + std::to_string(blocks[i].height) + ", " +
               std::to_string(blocks[i].planes) + " planes, block " + std::to_string(i);
    }
};

// What the CPU makes of the batch: a codeword a block.
std::vector<std::vector<uint8_t>> code_on_cpu(const Batch &batch) {
    std::vector<uint8_t> bytes;
    std::vector<uint32_t> offsets(batch.blocks.size());
    std::vector<CodedBlock> coded(batch.blocks.size());
    code_ht_blocks(batch.blocks, batch.coefficients.data(), bytes, offsets.data(), coded.data());
    std::vector<std::vector<uint8_t>> codewords;
    for (size_t i = 0; i < batch.blocks.size(); i++) {
        EXPECT(coded[i].planes == (coded[i].bytes ? 1 : 0) && coded[i].passes == coded[i].planes, "%s: record",
               batch.describe(i).c_str());
        codewords.emplace_back(bytes.begin() + offsets[i], bytes.begin() + offsets[i] + coded[i].bytes);
    }
    return codewords;
}

void check_on_cpu(const Batch &batch) {
    const auto codewords = code_on_cpu(batch);
    HtDecoder decoder;
    for (size_t i = 0; i < batch.blocks.size(); i++) {
        const CodeBlock &b = batch.blocks[i];
        const auto expected = [&](int x, int y) {
            const uint32_t c =
                batch.coefficients[b.coefficients + static_cast<size_t>(y) * b.stride + static_cast<size_t>(x)];
            return c & ~kSignBit ? uint64_t{c & ~kSignBit} * 2 - 1 + (c >> 31) : 0;
        };
        std::vector<uint64_t> samples(size_t{b.width} * b.height);
        if (!codewords[i].empty()) try {
                samples = decoder.decode(codewords[i], b.width, b.height);
            } catch (const std::exception &e) {
                ck_abort_msg("%s: %s", batch.describe(i).c_str(), e.what());
            }
        for (int y = 0; y < b.height; y++)
            for (int x = 0; x < b.width; x++)
                EXPECT(samples[static_cast<size_t>(y) * b.width + static_cast<size_t>(x)] == expected(x, y),
                       "%s: sample %d, %d", batch.describe(i).c_str(), x, y);
        EXPECT(codewords[i].size() <= most_ht_bytes(b.width, b.height, b.planes), "%s: %zu bytes",
               batch.describe(i).c_str(), codewords[i].size());
    }
}

// ---- Truncation points

// A weight, and a slope at which about the plane in the middle of 12 is the last that is worth its bytes; 0: none.
constexpr int kWeight = 7 * kSlopeOctave;
constexpr uint32_t kSpqcd = 9 << 11 | 1234;  // the session's step
StopSlope some_slope(Random &random, bool or_none) {
    const int at = kWeight + kStopBase + (random.between(-12, 22) - 4) * kSlopeOctave + random.between(0, 400);
    const bool none = or_none && random.one_in(4);
    return {.slope = none ? 0 : static_cast<uint32_t>(std::clamp(at, 1, kSlopes - 1)),
            .always_includes = 0,
            .step = none || random.one_in(3) ? 0 : static_cast<uint32_t>(random.between(1, kFrameSteps - 1))};
}
BandCoding make_band() { return {.weight = kWeight, .group = 0, .step = kSpqcd, .spare = 0}; }
std::vector<HtRule> rules_of(const Batch &batch, const StopSlope &stop) {
    const uint32_t count = static_cast<uint32_t>(batch.blocks.size());
    std::vector<HtRule> rules;
    for (const CodeBlock &b : batch.blocks) rules.push_back(ht_rule(stop, make_band(), b.planes, count));
    return rules;
}

// Records of a batch, [block * max_passes + pass].
struct Records {
    Records(const Batch &batch, const StopSlope &stop)
        : rules(rules_of(batch, stop)),
          coded(batch.blocks.size()),
          offsets(coded.size()),
          bytes(coded.size() * kMaxPlanes, 7),
          terminations(bytes.size()),
          reductions(bytes.size(), 7) {
        code_truncatable_ht_blocks(
            batch.blocks, batch.coefficients.data(), kMaxPlanes,
            {.bytes = bytes.data(), .terminations = terminations.data(), .reductions = reductions.data()}, codewords,
            offsets.data(), coded.data(), rules.data(), false);
    }
    std::vector<HtRule> rules;
    std::vector<CodedBlock> coded;
    std::vector<uint32_t> offsets, bytes, terminations;
    std::vector<int32_t> reductions;
    std::vector<uint8_t> codewords;
};

// The codewords of blocks that have some passes of their records; empty of none.
std::vector<std::vector<uint8_t>> truncate(const Batch &batch, Records records, const std::vector<uint8_t> &passes) {
    code_chosen_ht_blocks(batch.blocks, batch.coefficients.data(), passes.data(), records.codewords,
                          records.offsets.data(), records.coded.data(), records.rules.data());
    std::vector<std::vector<uint8_t>> codewords;
    for (size_t i = 0; i < passes.size(); i++) {
        const auto begin = records.codewords.begin() + records.offsets[i];
        codewords.emplace_back(begin, begin + (passes[i] ? records.coded[i].bytes : 0));
    }
    return codewords;
}

// The squared error of a block whose samples are known down to a bit-plane, as decoders reconstruct them: to the
// middle.
double error_of(const Batch &batch, const CodeBlock &b, int plane) {
    double error = 0;
    for (int y = 0; y < b.height; y++)
        for (int x = 0; x < b.width; x++) {
            const uint32_t m =
                ~kSignBit &
                batch.coefficients[b.coefficients + static_cast<size_t>(y) * b.stride + static_cast<size_t>(x)];
            const double is = m + (b.reversible ? 0 : m ? 0.5 : 0), known = std::ldexp(m >> plane, plane);
            const double decoded = !known ? 0 : b.reversible && !plane ? m : known + std::ldexp(0.5, plane);
            error += (is - decoded) * (is - decoded);
        }
    return error;
}

// Decodes a codeword to what is above a bit-plane of the frame's steps. With a slope magnitudes just above a power of
// two may be that.
void check_samples(const Batch &batch, size_t i, int plane, const std::vector<uint8_t> &codeword,
                   const StopSlope &stop) {
    const CodeBlock &b = batch.blocks[i];
    HtDecoder decoder;
    const auto samples = decoder.decode(codeword, b.width, b.height);
    const uint32_t own = 2048 + kSpqcd % 2048, frames = 2048 + frame_step(kSpqcd, stop.step) % 2048;
    for (int y = 0; y < b.height; y++)
        for (int x = 0; x < b.width; x++) {
            const uint32_t
                c = batch.coefficients[b.coefficients + static_cast<size_t>(y) * b.stride + static_cast<size_t>(x)],
                magnitude = c & ~kSignBit;
            const uint64_t sample = samples[static_cast<size_t>(y) * b.width + static_cast<size_t>(x)],
                           decoded = sample ? (sample + 1) / 2 : 0;
            const double exact = std::min((magnitude + 0.5) * own / frames, std::ldexp(1, b.planes) - 1);
            const uint64_t most = static_cast<uint64_t>(exact * (1 + 1e-9)) >> plane,
                           least = static_cast<uint64_t>(exact * (1 - 1e-6)) >> plane;
            const bool lowered = stop.slope && decoded && std::has_single_bit(decoded) && decoded + 1 <= most;
            EXPECT((decoded >= least || (lowered && decoded + 1 >= least)) && decoded <= most &&
                       (!sample || sample % 2 == 1 - (c >> 31)),
                   "%s, plane %d: sample %d, %d: %d of %g", batch.describe(i).c_str(), plane, x, y,
                   static_cast<int>(decoded), exact);
            if (!stop.step && !stop.slope)
                EXPECT(decoded == magnitude >> plane, "%s, plane %d: sample %d, %d", batch.describe(i).c_str(), plane,
                       x, y);
        }
}

Batch batch_of_many(Random &random) {
    Batch batch;
    for (int i = 0; i < 60; i++)
        batch.add(random, random.between(1, 64), random.between(1, 64), random.between(1, 14),
                  random.between(0, kKinds - 1));
    for (CodeBlock &b : batch.blocks) b.reversible = random.one_in(2);
    return batch;
}

// Without a slope records say what codewords take and bring, whichever pass is chosen.
START_TEST(truncation_points) {
    Random random(static_cast<uint64_t>(_i) + 3000);
    const Batch batch = batch_of_many(random);
    const Records records(batch, {});
    for (int choice = 0; choice < kMaxPlanes; choice++) {
        std::vector<uint8_t> passes;
        for (const CodedBlock &coded : records.coded) passes.push_back(choice < coded.passes ? choice + 1 : 0);
        const auto codewords = truncate(batch, records, passes);
        for (size_t i = 0; i < passes.size(); i++) {
            const CodeBlock &b = batch.blocks[i];
            const CodedBlock &coded = records.coded[i];
            const std::string described = batch.describe(i);
            const char *const name = described.c_str();
            EXPECT(coded.passes == coded.planes, "%s: %d passes of %d planes", name, coded.passes, coded.planes);
            if (!passes[i]) continue;
            const int plane = coded.planes - passes[i];
            const size_t at = i * kMaxPlanes + static_cast<size_t>(choice);
            EXPECT(records.bytes[at] == codewords[i].size(), "%s, plane %d: %u bytes, the codeword has %zu", name,
                   plane, records.bytes[at], codewords[i].size());
            check_samples(batch, i, plane, codewords[i], {});
            // In 1/64 of 4^plane squared steps. Of magnitudes a 64th is not told.
            const double reduction =
                std::ldexp(error_of(batch, b, plane + 1) - error_of(batch, b, plane), 6 - 2 * plane);
            EXPECT(std::fabs(records.reductions[at] - reduction) <= 5.0 * b.width * b.height,
                   "%s, plane %d: reduction %d, by the samples %g", name, plane, records.reductions[at], reduction);
        }
    }
}
END_TEST

// With a slope they have estimates of some passes, and the bytes of the one that is coded.
START_TEST(truncation_points_near_a_slope) {
    Random random(static_cast<uint64_t>(_i) + 5000);
    const Batch batch = batch_of_many(random);
    const StopSlope stop = some_slope(random, false);
    const Records records(batch, stop);
    const int lowest = records.rules[0].lowest_plane();
    double estimated = 0, all = 0;
    for (int above = 0; above < kHtTried; above++) {
        std::vector<uint8_t> passes;
        for (const CodedBlock &coded : records.coded)
            passes.push_back(static_cast<uint8_t>(std::max(coded.planes - lowest - above, 0)));
        const auto codewords = truncate(batch, records, passes);
        for (size_t i = 0; i < passes.size(); i++) {
            const CodedBlock &coded = records.coded[i];
            const std::string described = batch.describe(i);
            const char *const name = described.c_str();
            EXPECT(coded.passes == std::max(coded.planes - lowest, 0), "%s: %d passes", name, coded.passes);
            for (size_t at = i * kMaxPlanes; at + kHtTried < i * kMaxPlanes + coded.passes; at++)
                EXPECT(!records.bytes[at] && !records.reductions[at], "%s: a plane that is not tried", name);
            if (!passes[i]) continue;
            const size_t at = i * kMaxPlanes + passes[i] - 1;
            EXPECT(records.bytes[at] && records.reductions[at] > 0, "%s: a plane that is tried", name);
            if (passes[i] == coded.codeword_passes)
                EXPECT(records.bytes[at] == codewords[i].size(), "%s: %u bytes, the codeword has %zu", name,
                       records.bytes[at], codewords[i].size());
            estimated += records.bytes[at], all += static_cast<double>(codewords[i].size());
            check_samples(batch, i, coded.planes - passes[i], codewords[i], stop);
        }
    }
    EXPECT(std::fabs(estimated - all) <= 0.15 * all, "%g bytes by estimate of %g", estimated, all);
}
END_TEST

// All codewords of the standard's are told apart by their first bits, and the encoder's are among them.
START_TEST(codewords_are_prefix_free) {
    for (const std::span<const HtCodeword> list : {std::span<const HtCodeword>(kHtFirstRowCodes), {kHtOtherRowCodes}})
        for (const HtCodeword &a : list)
            for (const HtCodeword &b : list) {
                if (&a == &b || a.context != b.context) continue;
                const uint32_t mask = (1u << std::min(a.length, b.length)) - 1;
                EXPECT((a.codeword & mask) != (b.codeword & mask), "%02x and %02x in context %u", a.codeword,
                       b.codeword, a.context);
            }
    for (int table = 0; table < 2; table++)
        for (uint32_t context = 0; context < 8; context++)
            for (uint32_t significant = 0; significant < 16; significant++)
                for (uint32_t set = 0; set < 16; set++) {
                    const uint16_t entry = kHtCodes.entries[table][context << 8 | significant << 4 | set];
                    const bool exists = !(set & ~significant) && (context || significant);
                    EXPECT((entry != 0) == exists, "table %d, context %u, %u, %u", table, context, significant, set);
                }
}
END_TEST

START_TEST(blocks_of_all_sizes) {
    Random random(static_cast<uint64_t>(_i) + 1);
    Batch batch;
    for (int width = 1; width <= 9; width++)
        for (int height = 1; height <= 9; height++)
            batch.add(random, width, height, random.between(1, 12), random.between(0, kKinds - 1));
    for (int i = 0; i < 100; i++)
        batch.add(random, random.between(1, 64), random.between(1, 64), random.between(1, 16),
                  random.between(0, kKinds - 1));
    check_on_cpu(batch);
}
END_TEST

// Every nominal size, with all magnitude bit-planes too.
START_TEST(largest_blocks) {
    Random random(static_cast<uint64_t>(_i) + 100);
    Batch batch;
    for (int width = 2; width <= 10; width++)
        for (int height = 2; height <= std::min(10, 12 - width); height++)
            for (const int planes : {random.between(1, 16), 31})
                batch.add(random, 1 << width, 1 << height, planes, random.between(1, kKinds - 1));
    for (int kind = 0; kind < kKinds; kind++) batch.add(random, 64, 64, 31, kind);
    check_on_cpu(batch);
}
END_TEST

// ---- the device

// Coefficients as quantisation indices of 16 bits, two in a word.
std::vector<uint32_t> short_coefficients(const std::vector<uint32_t> &coefficients) {
    std::vector<int16_t> indices((coefficients.size() + 1) / 2 * 2);
    std::transform(coefficients.begin(), coefficients.end(), indices.begin(), [](uint32_t x) {
        const int magnitude = static_cast<int>(x & ~kSignBit);
        return static_cast<int16_t>(x & kSignBit ? -magnitude : magnitude);
    });
    std::vector<uint32_t> words(indices.size() / 2);
    std::memcpy(words.data(), indices.data(), 2 * indices.size());
    return words;
}

// All that the kernel leaves, against the CPU.
void check_on_device(const std::shared_ptr<Device> &device, const Batch &batch, int most_samples, bool is_short) {
    const uint32_t count = static_cast<uint32_t>(batch.blocks.size());
    const auto codewords = code_on_cpu(batch);
    const Guarded<CodeBlock> blocks(device, batch.blocks);
    const Guarded<uint32_t> coefficients(device,
                                         is_short ? short_coefficients(batch.coefficients) : batch.coefficients),
        bytes(device, count);
    const Guarded<HtCodes> codes(device, std::vector<HtCodes>{kHtCodes});
    const Guarded<uint64_t> rooms(device, batch.rooms);
    const Guarded<uint8_t> room_bytes(device, batch.codewords), planes(device, count), passes(device, count);
    HtInput input{.blocks = blocks.data(),
                  .coefficients = coefficients.data(),
                  .codes = codes.data(),
                  .coded = {},
                  .count = count,
                  .is_short = is_short};
    input.coded.codewords = room_bytes.data();
    input.coded.rooms = rooms.data();
    input.coded.planes = planes.data();
    input.coded.passes = passes.data();
    input.coded.bytes = bytes.data();
    code_ht_blocks(*device, nullptr, input, most_samples);
    const auto bytes_read = bytes.read("bytes");
    const auto codewords_read = room_bytes.read("codewords"), planes_read = planes.read("planes"),
               passes_read = passes.read("passes");
    for (uint32_t i = 0; i < count; i++) {
        const auto begin = codewords_read.begin() + static_cast<ptrdiff_t>(batch.rooms[i]);
        const std::vector<uint8_t> made(begin, begin + std::min(bytes_read[i], 65536u));
        EXPECT(made.size() == codewords[i].size(), "%s: %zu bytes, on the CPU %zu", batch.describe(i).c_str(),
               made.size(), codewords[i].size());
        const auto wrong = std::mismatch(made.begin(), made.end(), codewords[i].begin());
        EXPECT(wrong.first == made.end(), "%s: byte %td of %zu", batch.describe(i).c_str(), wrong.first - made.begin(),
               made.size());
        const uint8_t coded = codewords[i].empty() ? 0 : 1;
        EXPECT(planes_read[i] == coded && passes_read[i] == coded, "%s: record", batch.describe(i).c_str());
        // Nothing behind the room's own bytes.
        const uint32_t room = codeword_room(batch.blocks[i], {kHt, false});
        EXPECT(made.size() <= room, "%s: room", batch.describe(i).c_str());
    }
}

START_TEST(small_blocks_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1000);
    for (int repeat = 0; repeat < 6; repeat++) {
        const bool is_short = repeat % 3 == 2;
        const int most = is_short ? kShortPlanes : 31;
        Batch batch;
        for (int kind = 0; kind < kKinds; kind++)
            batch.add(random, 32, 32, random.between(1, std::min(most, 16)), kind);
        for (int i = 0; i < 20; i++)
            batch.add(random, random.between(1, 32), random.between(1, 32), random.between(1, std::min(most, 20)),
                      random.between(0, kKinds - 1));
        for (const auto &[width, height] :
             {std::pair{256, 4}, {4, 256}, {255, 3}, {250, 1}, {1, 250}, {64, 16}, {128, 8}})
            batch.add(random, width, height, random.between(1, most), random.between(1, kKinds - 1));
        check_on_device(device, batch, 1024, is_short);
    }
}
END_TEST

START_TEST(large_blocks_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 2000);
    for (const bool is_short : {false, true}) {
        const int most = is_short ? kShortPlanes : 31;
        Batch batch;
        for (const auto &[width, height] :
             {std::pair{64, 64}, {1024, 4}, {4, 1024}, {1023, 3}, {1024, 1}, {3, 1021}, {33, 47}})
            batch.add(random, width, height, random.between(1, std::min(most, 16)), random.between(1, kKinds - 1));
        for (const int kind : {1, 2, 4, 7}) batch.add(random, 64, 64, most, kind);
        batch.add(random, 64, 64, 3, 3);
        check_on_device(device, batch, 4096, is_short);
    }
}
END_TEST

// Records and codewords against the CPU's.
START_TEST(truncated_blocks_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 4000);
    for (int repeat = 0; repeat < 6; repeat++) {
        const int side = repeat % 2 ? 64 : 32;
        const bool one_plane = repeat > 3;  // by the kernel for it
        Batch batch;
        for (int kind = 0; kind < kKinds; kind++) batch.add(random, side, side, random.between(1, 14), kind);
        for (int i = 0; i < 14; i++)
            batch.add(random, random.between(1, side), random.between(1, side),
                      random.between(1, one_plane ? kShortPlanes : 20), random.between(0, kKinds - 1));
        // Of so many one plane is tried.
        for (uint32_t i = 0; repeat >= 3 && i < kManyHtBlocks; i++)
            batch.add(random, 4, random.between(1, 4), random.between(1, 14), random.between(0, kKinds - 1));
        for (CodeBlock &b : batch.blocks) b.reversible = random.one_in(2), b.precinct_band = 0;
        const StopSlope stop = repeat < 2 ? StopSlope{} : some_slope(random, !one_plane);
        const Records records(batch, stop);
        const uint32_t count = static_cast<uint32_t>(batch.blocks.size()), points = count * kMaxPlanes;
        const Guarded<CodeBlock> blocks(device, batch.blocks);
        const Guarded<BandCoding> bands(device, std::vector<BandCoding>{make_band()});
        const Guarded<StopSlope> device_stop(device, std::vector<StopSlope>{stop});
        const Guarded<uint32_t> coefficients(device,
                                             one_plane ? short_coefficients(batch.coefficients) : batch.coefficients),
            bytes(device, count), pass_bytes(device, points);
        const Guarded<int32_t> reductions(device, points);
        const Guarded<HtCodes> codes(device, std::vector<HtCodes>{kHtCodes});
        const Guarded<uint64_t> rooms(device, batch.rooms);
        const Guarded<uint8_t> room_bytes(device, batch.codewords), planes(device, count), passes(device, count),
            coded_planes(device, count);
        const Guarded<uint32_t> chosen_bytes(device, count);
        HtTruncatedInput input{.ht = {.blocks = blocks.data(),
                                      .coefficients = coefficients.data(),
                                      .codes = codes.data(),
                                      .coded = {},
                                      .count = count,
                                      .is_short = one_plane},
                               .bands = bands.data(),
                               .stop = device_stop.data(),
                               .chosen = nullptr,
                               .chosen_bytes = chosen_bytes.data(),
                               .coded_planes = coded_planes.data(),
                               .max_passes = kMaxPlanes};
        input.ht.coded.codewords = room_bytes.data();
        input.ht.coded.rooms = rooms.data();
        input.ht.coded.planes = planes.data();
        input.ht.coded.passes = passes.data();
        input.ht.coded.bytes = bytes.data();
        input.ht.coded.pass_bytes = pass_bytes.data();
        input.ht.coded.reductions = reductions.data();
        if (one_plane)
            code_ht_blocks(*device, nullptr, HtOnePlaneInput{input}, side * side);
        else
            code_ht_blocks(*device, nullptr, input, side * side);
        const auto pass_bytes_read = pass_bytes.read("pass_bytes");
        const auto reductions_read = reductions.read("reductions");
        const auto planes_read = planes.read("planes"), passes_read = passes.read("passes");
        std::vector<uint8_t> choice;
        for (uint32_t i = 0; i < count; i++) {
            const std::string name = batch.describe(i);
            const CodedBlock &coded = records.coded[i];
            EXPECT(planes_read[i] == coded.planes && passes_read[i] == coded.passes,
                   "%s: %d planes, %d passes, on the CPU %d, %d", name.c_str(), planes_read[i], passes_read[i],
                   coded.planes, coded.passes);
            for (uint32_t at = i * kMaxPlanes; at < i * kMaxPlanes + coded.passes; at++)
                EXPECT(pass_bytes_read[at] == records.bytes[at] && reductions_read[at] == records.reductions[at],
                       "%s, pass %u: %u bytes, reduction %d, on the CPU %u, %d", name.c_str(), at % kMaxPlanes,
                       pass_bytes_read[at], reductions_read[at], records.bytes[at], records.reductions[at]);
            int pass = random.between(0, coded.passes);  // of those that are tried
            while (pass && pass < coded.passes && !records.bytes[i * kMaxPlanes + static_cast<uint32_t>(pass) - 1])
                pass++;
            choice.push_back(static_cast<uint8_t>(pass));
        }
        const Guarded<uint8_t> chosen(device, choice);
        input.chosen = chosen.data();
        code_ht_blocks(*device, nullptr, input, side * side);
        const auto codewords_read = room_bytes.read("codewords");
        const auto codewords = truncate(batch, records, choice);
        const auto chosen_bytes_read = chosen_bytes.read("chosen_bytes");
        for (uint32_t i = 0; i < count; i++) {
            if (choice[i] && choice[i] != records.coded[i].codeword_passes)
                EXPECT(chosen_bytes_read[i] == codewords[i].size(), "%s: %u bytes", batch.describe(i).c_str(),
                       chosen_bytes_read[i]);
            EXPECT(std::equal(codewords[i].begin(), codewords[i].end(),
                              codewords_read.begin() + static_cast<ptrdiff_t>(batch.rooms[i])),
                   "%s, %d passes: the codeword", batch.describe(i).c_str(), choice[i]);
        }
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("ht");
    TCase *cpu = add_case(suite, "cpu");
    tcase_add_test(cpu, codewords_are_prefix_free);
    tcase_add_loop_test(cpu, blocks_of_all_sizes, 0, 20);
    tcase_add_loop_test(cpu, largest_blocks, 0, 10);
    tcase_add_loop_test(cpu, truncation_points, 0, 20);
    tcase_add_loop_test(cpu, truncation_points_near_a_slope, 0, 20);
    const int devices = static_cast<int>(device_specs.size());
    TCase *device = add_case(suite, "device");
    tcase_add_loop_test(device, small_blocks_on_the_device, 0, devices);
    tcase_add_loop_test(device, large_blocks_on_the_device, 0, devices);
    tcase_add_loop_test(device, truncated_blocks_on_the_device, 0, devices);
    return run_suite(suite);
}
