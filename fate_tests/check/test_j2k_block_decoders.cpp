// SPDX-License-Identifier: LGPL-2.1-or-later
// The kernels of the block decoders against the decoders of the CPU: coefficients and damage, of blocks in all styles,
// cut and damaged ones.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

#include "../../cuda_kernels/j2k/t1/block_decoder.h"
#include "../../cuda_kernels/j2k/t1/ht_decode_params.h"
#include "../../cuda_kernels/j2k/t1/mq_decode_params.h"
#include "coded_blocks.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

// A picture's blocks as a pipeline uploads them.
class Batch {
  public:
    // Its coefficients lie in rows with others between them; its bytes behind those of others.
    void add(Random &random, const CodeBlock &b, uint32_t style, int planes,
             const std::vector<CodewordSegment> &segments, const std::vector<uint8_t> &bytes) {
        DecoderBlock block{};
        block.stride = b.width + random.below(4);
        block.coefficients = samples_ + random.below(5);
        block.first_segment = static_cast<uint32_t>(segments_.size());
        block.segments = static_cast<uint16_t>(segments.size());
        block.width = b.width;
        block.height = b.height;
        block.orientation = b.orientation;
        block.style = static_cast<uint8_t>(style);
        block.planes = static_cast<int16_t>(planes);
        size_t at = 0;
        for (const CodewordSegment &segment : segments) {
            for (uint32_t gap = random.below(6); gap; gap--) bytes_.push_back(static_cast<uint8_t>(random.word()));
            segments_.push_back({static_cast<uint32_t>(bytes_.size()), segment.bytes, segment.passes});
            bytes_.insert(bytes_.end(), bytes.begin() + static_cast<ptrdiff_t>(at),
                          bytes.begin() + static_cast<ptrdiff_t>(at + segment.bytes));
            at += segment.bytes;
        }
        samples_ = block.coefficients + size_t{block.stride} * block.height;
        blocks_.push_back(block);
        limits_.words = std::max(limits_.words, decoder_words(b.width, b.height));
        limits_.quads = std::max(limits_.quads, decoder_quads(b.width, b.height));
    }
    size_t samples() const { return samples_; }
    size_t bytes() const { return bytes_.size(); }

    // Decodes on the CPU.
    template <class Decode>
    void expect(const Decode &decode, std::vector<uint32_t> &coefficients, uint32_t &damaged) const {
        coefficients = Guarded<uint32_t>::garbage(samples_);
        damaged = 0;
        for (const DecoderBlock &b : blocks_) {
            std::vector<CodewordSegment> segments;
            std::vector<uint8_t> bytes;
            for (uint32_t i = 0; i < b.segments; i++) {
                const DecoderSegment &s = segments_[b.first_segment + i];
                segments.push_back({s.passes, s.bytes});
                bytes.insert(bytes.end(), bytes_.begin() + s.at, bytes_.begin() + s.at + s.bytes);
            }
            damaged += !decode({.width = b.width,
                                .height = b.height,
                                .orientation = b.orientation,
                                .style = b.style,
                                .planes = b.planes,
                                .segments = segments,
                                .bytes = bytes.data()},
                               {coefficients.data() + b.coefficients, b.stride});
        }
    }

    // As kernels take them.
    std::vector<DecoderBlock> most_work_first() const {
        std::vector<DecoderBlock> ordered = blocks_;
        std::ranges::stable_sort(ordered, {}, [this](const DecoderBlock &b) {
            uint64_t work = 0;
            for (uint32_t i = 0; i < b.segments; i++) {
                const DecoderSegment &segment = segments_[b.first_segment + i];
                work += decode_work(segment.bytes, segment.passes);
            }
            return decode_class(work);
        });
        return ordered;
    }

    // A warp takes 1 << share of all blocks.
    LaneShares all_by(int share) const {
        LaneShares shares{};
        shares.blocks[share] = static_cast<uint32_t>(blocks_.size());
        return shares;
    }
    // Few of them by fewer lanes than there can be, so that there are warps enough.
    LaneShares random_shares(Random &random) const {
        const int most = std::bit_width(static_cast<unsigned>(mq_decode_lanes(limits_.words))) - 1;
        LaneShares shares{};
        uint32_t left = static_cast<uint32_t>(blocks_.size());
        for (int i = 0; i < most; i++) left -= shares.blocks[i] = random.below(std::min(left, 16u) + 1);
        shares.blocks[most] = left;
        return shares;
    }

    // Decodes on the device, and compares. pictures: see DecoderLimits. shares: instead of the decoder's.
    void check(const std::shared_ptr<Device> &device, bool ht, const char *what, int pictures = 1,
               std::optional<LaneShares> shares = {}) {
        std::vector<uint32_t> expected;
        uint32_t expected_damage;
        expect(ht ? decode_ht_block : decode_mq_block, expected, expected_damage);
        const std::vector<DecoderBlock> ordered = most_work_first();
        std::vector<uint8_t> bytes = bytes_;
        bytes.resize((bytes.size() + 3) / 4 * 4 + 4);
        const uint32_t count = static_cast<uint32_t>(ordered.size());
        DecoderLimits limits = limits_;
        limits.blocks = count + 3;
        limits.planes = kMaxDecodedPlanes;
        limits.pictures = pictures;
        const Guarded<uint8_t> device_bytes(device, bytes);
        const Guarded<DecoderSegment> device_segments(device, segments_);
        const Guarded<DecoderBlock> device_blocks(device, ordered);
        const Guarded<uint32_t> device_count(device, std::vector<uint32_t>{count});
        const Guarded<uint32_t> coefficients(device, samples_);
        const MqBlockDecoder mq(device, limits);
        const HtBlockDecoder ht_decoder(device, limits);
        const LaneShares chosen = shares ? *shares : mq.share_lanes(ordered, segments_);
        EXPECT_EQ(std::accumulate(std::begin(chosen.blocks), std::end(chosen.blocks), 0u), count);
        const Guarded<LaneShares> lanes(device, std::vector<LaneShares>{chosen});
        bench(
            what, device, static_cast<double>(samples_), "samples",
            [&] {
                const Guarded<uint32_t> damaged(device, std::vector<uint32_t>{0});
                const CodedBlocks coded{.bytes = device_bytes.data(),
                                        .segments = device_segments.data(),
                                        .blocks = device_blocks.data(),
                                        .count = device_count.data(),
                                        .lanes = lanes.data(),
                                        .coefficients = coefficients.data(),
                                        .damaged = damaged.data()};
                if (ht)
                    ht_decoder.decode(nullptr, coded, limits.blocks);
                else
                    mq.decode(nullptr, coded);
                device->synchronize(Device::Stream{});
                EXPECT_EQ(damaged.read("damaged")[0], expected_damage);
            },
            "j2k/t1");
        compare(coefficients.read("coefficients"), expected, what);
    }

  private:
    void compare(const std::vector<uint32_t> &made, const std::vector<uint32_t> &expected, const char *what) const {
        if (made == expected) return;
        for (size_t i = 0; i < blocks_.size(); i++) {
            const DecoderBlock &b = blocks_[i];
            for (uint32_t y = 0; y < b.height; y++)
                for (uint32_t x = 0; x < b.width; x++) {
                    const size_t at = b.coefficients + size_t{y} * b.stride + x;
                    EXPECT(made[at] == expected[at],
                           "%s: block %zu, %u x %u, style %u, orientation %u, %u segments, %d planes: at %u, %u there "
                           "is %x, not %x",
                           what, i, b.width, b.height, b.style, b.orientation, b.segments, b.planes, x, y, made[at],
                           expected[at]);
                }
        }
        EXPECT(false, "%s: a value between blocks was written", what);
    }

    std::vector<DecoderBlock> blocks_;
    std::vector<DecoderSegment> segments_;
    std::vector<uint8_t> bytes_;
    size_t samples_ = 0;
    DecoderLimits limits_;
};

bool is_small(const CodeBlock &b) { return decoder_words(b.width, b.height) <= kMqDecodeWords; }

// All styles, cut at any pass.
START_TEST(mq_blocks) {
    const std::shared_ptr<Device> device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (const bool small : {true, false}) {
        Batch batch;
        for (uint32_t style = 0; style < kStyles; style++)
            for (int repeat = 0; repeat < 3; repeat++) {
                const Coded coded = code_mq(random, style, random.one_in(3));
                if (small && !is_small(coded.block)) continue;
                for (int i = 0; i < 2; i++) {
                    const int passes = i ? random.between(0, coded.passes) : coded.passes;
                    batch.add(random, coded.block, style, coded.planes, segments_of(coded, style, passes), coded.bytes);
                }
            }
        batch.check(device, false, small ? "styles, up to 32x32" : "styles");
        batch.check(device, false, "styles, any lanes", 1, batch.random_shares(random));
    }
}
END_TEST

// Long blocks have warps of few lanes; where many pictures are in flight, whole warps but for the longest ones.
START_TEST(lane_shares) {
    const std::shared_ptr<Device> device = open_test_device(_i);
    const int multiprocessors = device->multiprocessors();
    std::vector<DecoderSegment> segments;
    std::vector<DecoderBlock> blocks(static_cast<size_t>(multiprocessors) * 200);
    for (size_t i = 0; i < blocks.size(); i++) {
        const uint32_t bytes = i < 4 ? 1500 : i < 100 ? 400 : 40;
        segments.push_back({0, bytes, bytes / 60 + 1});
        blocks[i].first_segment = static_cast<uint32_t>(i);
        blocks[i].segments = 1;
    }
    const auto share = [&](int pictures, std::span<const DecoderBlock> of) {
        const DecoderLimits limits{.blocks = static_cast<uint32_t>(blocks.size()),
                                   .words = 32,
                                   .quads = 256,
                                   .planes = 1,
                                   .pictures = pictures};
        return MqBlockDecoder(device, limits).share_lanes(of, segments);
    };
    const LaneShares alone = share(1, blocks), many = share(1000, blocks), none = share(1, {});
    EXPECT(alone.blocks[0] > 0 && alone.blocks[kLaneShares - 1] > blocks.size() / 2, "%u and %u blocks",
           alone.blocks[0], alone.blocks[kLaneShares - 1]);
    EXPECT_EQ(many.blocks[kLaneShares - 1], blocks.size());
    for (const uint32_t count : none.blocks) EXPECT_EQ(count, 0u);
}
END_TEST

// Every pass that a block can end behind.
START_TEST(mq_passes) {
    const std::shared_ptr<Device> device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 50);
    Batch batch;
    for (const uint32_t style : {0u, +kBypass, kBypass | kTermAll | kSegmentationSymbols}) {
        Coded coded = code_mq(random, style, false);
        while (coded.passes < 12) coded = code_mq(random, style, false);
        for (int passes = 0; passes <= coded.passes; passes++)
            batch.add(random, coded.block, style, coded.planes, segments_of(coded, style, passes), coded.bytes);
    }
    batch.check(device, false, "passes");
}
END_TEST

constexpr int kShapes[][2] = {{1024, 4}, {4, 1024}, {1, 1}, {1, 1024}, {1024, 1}, {64, 64}, {512, 8},
                              {8, 512},  {33, 31},  {9, 5}, {1023, 3}, {3, 1021}, {61, 64}, {128, 32}};

// The longest, the narrowest and the largest blocks.
START_TEST(shapes) {
    const std::shared_ptr<Device> device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 70);
    Batch batches[2];
    for (const auto &[width, height] : kShapes) {
        CodeBlock b{};
        b.width = static_cast<uint16_t>(width);
        b.height = static_cast<uint16_t>(height);
        b.stride = b.width;
        b.orientation = static_cast<uint8_t>(random.between(kLL, kHH));
        b.planes = 7;
        b.reversible = true;
        const std::vector<uint32_t> coefficients = random_coefficients(random, b);
        const uint32_t style = random.one_in(2) ? 0 : random.below(kStyles);
        const Coded coded = code_mq(b, coefficients, style, false);
        batches[0].add(random, b, style, coded.planes, segments_of(coded, style, coded.passes), coded.bytes);
        const std::vector<uint8_t> bytes = code_ht(b, coefficients);
        batches[1].add(random, b, kHt, 3, {{1, static_cast<uint32_t>(bytes.size())}, {2, 0}}, bytes);
    }
    for (const bool ht : {false, true}) batches[ht].check(device, ht, "shapes");
}
END_TEST

// Segments of anything, and codewords with errors.
START_TEST(damaged_mq_blocks) {
    const std::shared_ptr<Device> device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 99);
    Batch batch;
    for (int repeat = 0; repeat < 200; repeat++) {
        const uint32_t style = random.below(kStyles);
        if (repeat % 2) {
            Coded coded = code_mq(random, style, false);
            if (coded.bytes.empty()) continue;
            for (int i = random.between(1, 4); i > 0; i--)
                coded.bytes[random.below(static_cast<uint32_t>(coded.bytes.size()))] =
                    static_cast<uint8_t>(random.one_in(3) ? 0xFF : random.word());
            batch.add(random, coded.block, style, coded.planes + random.between(-1, 1),
                      segments_of(coded, style, coded.passes), coded.bytes);
            continue;
        }
        const CodeBlock b = random_block(random, 1);
        std::vector<CodewordSegment> segments(random.below(6));
        std::vector<uint8_t> bytes;
        for (CodewordSegment &segment : segments) {
            segment = {1 + random.below(style & kTermAll ? 2 : 12), random.one_in(4) ? 0 : random.below(60)};
            for (uint32_t i = 0; i < segment.bytes; i++)
                bytes.push_back(random.one_in(8) ? 0xFF : static_cast<uint8_t>(random.word()));
        }
        batch.add(random, b, style, random.between(-1, kMaxDecodedPlanes + 2), segments, bytes);
    }
    batch.check(device, false, "damaged");
}
END_TEST

// ---- HT

// One that the kernel for small blocks may take, or any.
CodeBlock random_ht_block(Random &random, int planes, bool small) {
    for (;;) {
        const CodeBlock b = random_block(random, planes);
        if (!small || decoder_quads(b.width, b.height) <= kHtSamplesQuads) return b;
    }
}

// Whole blocks; blocks with refinement passes and placeholder passes; blocks without a byte.
START_TEST(ht_blocks) {
    const bool small = _i % 2;
    const std::shared_ptr<Device> device = open_test_device(_i / 2);
    Random random(static_cast<uint64_t>(_i) + 200);
    Batch batch;
    for (int repeat = 0; repeat < 150; repeat++) {
        const CodeBlock b = random_ht_block(random, random.between(1, kMaxDecodedPlanes - 1), small);
        const std::vector<uint32_t> coefficients = random_coefficients(random, b);
        std::vector<CodewordSegment> segments;
        std::vector<uint8_t> bytes;
        const auto put = [&](uint32_t passes, const std::vector<uint8_t> &more) {
            segments.push_back({passes, static_cast<uint32_t>(more.size())});
            bytes.insert(bytes.end(), more.begin(), more.end());
        };
        if (random.one_in(2)) {
            put(1, code_ht(b, coefficients));
            batch.add(random, b, kHt, 1, segments, bytes);
            continue;
        }
        std::vector<uint32_t> upper = coefficients;
        for (uint32_t &c : upper) c = magnitude(c) > 1 ? (c & kSignBit) | magnitude(c) >> 1 : 0;
        const uint32_t style = kHt | (random.one_in(2) ? +kVerticallyCausal : 0), placeholders = random.below(3);
        const uint32_t passes = random.one_in(3) ? 1 : 2;
        put(1 + 3 * placeholders, code_ht(b, upper));
        put(passes, refine(b, coefficients, style, passes == 2).bytes);
        batch.add(random, b, style, 2 + static_cast<int>(placeholders), segments, bytes);
    }
    batch.check(device, true, small ? "HT, small" : "HT");
    batch.check(device, true, "HT, whole warps", 1000);
}
END_TEST

// A cleanup pass behind another one takes its place. Refinement passes of anything, or without a plane below.
START_TEST(ht_sets) {
    const bool small = _i % 2;
    const std::shared_ptr<Device> device = open_test_device(_i / 2);
    Random random(static_cast<uint64_t>(_i) + 300);
    Batch batch;
    for (int repeat = 0; repeat < 100; repeat++) {
        const CodeBlock b = random_ht_block(random, random.between(1, 8), small);
        std::vector<CodewordSegment> segments;
        std::vector<uint8_t> bytes;
        const int sets = random.between(1, 3);
        for (int set = 0; set < sets; set++) {
            const std::vector<uint8_t> cleanup = code_ht(b, random_coefficients(random, b));
            segments.push_back({1, static_cast<uint32_t>(cleanup.size())});
            bytes.insert(bytes.end(), cleanup.begin(), cleanup.end());
            if (set == sets - 1 && random.one_in(3)) break;
            segments.push_back({2, random.below(200)});
            for (uint32_t i = 0; i < segments.back().bytes; i++)
                bytes.push_back(random.one_in(8) ? 0xFF : static_cast<uint8_t>(random.word()));
        }
        batch.add(random, b, kHt, sets + random.between(-1, 1), segments, bytes);
    }
    batch.check(device, true, small ? "HT, sets, small" : "HT, sets");
}
END_TEST

START_TEST(damaged_ht_blocks) {
    const bool small = _i % 2;
    const std::shared_ptr<Device> device = open_test_device(_i / 2);
    Random random(static_cast<uint64_t>(_i) + 400);
    Batch batch;
    for (int repeat = 0; repeat < 300; repeat++) {
        const CodeBlock b =
            random_ht_block(random, random.between(1, random.one_in(2) ? 12 : kMaxDecodedPlanes), small);
        std::vector<uint8_t> bytes = code_ht(b, random_coefficients(random, b));
        if (bytes.size() < 3) continue;
        for (int i = random.between(1, 3); i > 0; i--)
            bytes[random.below(static_cast<uint32_t>(bytes.size()))] =
                random.one_in(3) ? 0xFF : static_cast<uint8_t>(random.word());
        if (random.one_in(4)) bytes.resize(static_cast<size_t>(random.between(0, static_cast<int>(bytes.size()))));
        batch.add(random, b, kHt, random.between(1, 3), {{1, static_cast<uint32_t>(bytes.size())}}, bytes);
    }
    batch.check(device, true, small ? "HT, damaged, small" : "HT, damaged");
}
END_TEST

// ---- Times

// Coefficients as a sub-band of a photograph has them: magnitudes that fall off as those of Laplace's distribution,
// `scale` on average, in cells of 8x8 that are alike.
std::vector<uint32_t> photographic(Random &random, const CodeBlock &b, double scale) {
    std::vector<uint32_t> coefficients(size_t{b.width} * b.height);
    const auto uniform = [&] { return (random.word() + 1.0) / 4294967297.0; };
    std::vector<double> cells;
    for (size_t i = 0; i < coefficients.size(); i++) {
        const size_t x = i % b.width, y = i / b.width, cell = y / 8 * ((b.width + 7u) / 8) + x / 8;
        while (cells.size() <= cell) cells.push_back(scale * std::exp(2 * (uniform() - 0.5)));
        const double magnitude = -cells[cell] * std::log(uniform());
        const uint32_t whole = static_cast<uint32_t>(std::min(magnitude, 1000.0));
        if (whole) coefficients[i] = whole | (random.one_in(2) ? kSignBit : 0);
    }
    return coefficients;
}

// Blocks of so many samples, whose magnitudes are 2^(least / 100) to 2^(most / 100) on average. No two are the same,
// since equal ones would end together.
void add_photograph(Batch &batch, Random &random, bool ht, size_t samples, int size, int least, int most) {
    while (batch.samples() < samples) {
        CodeBlock b{};
        b.width = b.height = static_cast<uint16_t>(size);
        b.stride = b.width;
        b.orientation = static_cast<uint8_t>(random.between(kHL, kHH));
        b.planes = 11;
        b.reversible = true;
        const std::vector<uint32_t> coefficients =
            photographic(random, b, std::exp2(random.between(least, most) * 0.01));
        if (ht) {
            const std::vector<uint8_t> bytes = code_ht(b, coefficients);
            batch.add(random, b, kHt, 1, {{1, static_cast<uint32_t>(bytes.size())}}, bytes);
        } else {
            const Coded coded = code_mq(b, coefficients, 0, false);
            batch.add(random, b, 0, coded.planes, segments_of(coded, 0, coded.passes), coded.bytes);
        }
    }
}

// So few blocks that nothing but their length counts: how long it takes by how many a warp takes.
START_TEST(long_blocks) {
    const std::shared_ptr<Device> device = open_test_device(_i);
    Random random(8);
    Batch batch;
    add_photograph(batch, random, false, benched_on_gpu(device) ? size_t{512} * 1024 : size_t{2} * 1024, 32, 350, 350);
    for (int share = 0; share < kLaneShares; share++)
        batch.check(device, false, format_string("MQ, long, a warp %d", 1 << share).c_str(), 1, batch.all_by(share));
}
END_TEST

// Three bits a sample, as a lossless frame has, and half a bit, as one of good quality has.
START_TEST(photographs) {
    const std::shared_ptr<Device> device = open_test_device(_i);
    Random random(7);
    const size_t samples = benched_on_gpu(device) ? size_t{3} * 3840 * 2160 : size_t{3} * 64 * 64;
    for (const bool ht : {false, true})
        for (const bool lossless : {true, false})
            for (const int size : {32, 64}) {
                Batch batch;
                add_photograph(batch, random, ht, samples, size, lossless ? -100 : -900, lossless ? 280 : 350);
                const std::string what =
                    format_string("%s, %dx%d, %.2f bits", ht ? "HT" : "MQ", size, size,
                                  8.0 * static_cast<double>(batch.bytes()) / static_cast<double>(batch.samples()));
                batch.check(device, ht, what.c_str());
                if (ht) continue;
                // How lanes are shared with many pictures in flight; and warps that all take as many blocks.
                batch.check(device, ht, (what + ", 16 pictures").c_str(), 16);
                for (const int share : {3, 4, 5})
                    if (size == 32)
                        batch.check(device, ht, (what + format_string(", %d lanes", 1 << share)).c_str(), 1,
                                    batch.all_by(share));
            }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("j2k_block_decoders");
    const int devices = static_cast<int>(device_specs.size());
    TCase *mq = add_case(suite, "mq");
    tcase_add_loop_test(mq, mq_blocks, 0, devices);
    tcase_add_loop_test(mq, mq_passes, 0, devices);
    tcase_add_loop_test(mq, lane_shares, 0, devices);
    tcase_add_loop_test(mq, damaged_mq_blocks, 0, devices);
    TCase *ht = add_case(suite, "ht");
    tcase_add_loop_test(ht, ht_blocks, 0, 2 * devices);
    tcase_add_loop_test(ht, ht_sets, 0, 2 * devices);
    tcase_add_loop_test(ht, damaged_ht_blocks, 0, 2 * devices);
    tcase_add_loop_test(add_case(suite, "shapes"), shapes, 0, devices);
    TCase *times = add_case(suite, "photographs");
    tcase_add_loop_test(times, long_blocks, 0, devices);
    tcase_add_loop_test(times, photographs, 0, devices);
    return run_suite(suite);
}
