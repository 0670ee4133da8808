// SPDX-License-Identifier: LGPL-2.1-or-later
// H.264's kernels: every NAL unit is the CPU's, byte for byte.
#include "../../common/h264/syntax/slice_cpu.h"
#include "../../cuda_kernels/h264/slice_coder.h"
#include "h264_pictures.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

std::vector<uint8_t> code_on_cpu(const CodedMacroblocks &p) {
    ThreadPool pool(1);
    SliceCoder coder(p.format, p.slices);
    const auto bytes = coder.code(pool, p.picture(), p.headers.data());
    return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

// Buffers with garbage before; guards around what goes in, and around what comes out for the kernels' own arrays.
std::vector<uint8_t> code_on_device(const std::shared_ptr<Device> &device, const CodedMacroblocks &p) {
    const Guarded<Macroblock> macroblocks(device, p.macroblocks);
    const Guarded<int16_t> levels(device, p.levels);
    const Guarded<uint16_t> flips(device, p.sign_flips);
    const Guarded<SliceHeaderBits> headers(device, p.headers);
    const DeviceSliceCoder coder(device, p.format, p.slices);
    PictureBuffers buffers = coder.make_buffers();
    device->fill(nullptr, buffers.bytes.data(), 0xA5, buffers.bytes.bytes());
    coder.code(nullptr, buffers,
               {macroblocks.data(), levels.data(), p.sign_flips.empty() ? nullptr : flips.data(), p.predicted},
               headers.data());
    device->synchronize(Device::Stream{});
    const uint64_t size = nal_bytes(buffers);
    EXPECT(size <= buffers.bytes.count(), "%zu bytes", static_cast<size_t>(size));
    std::vector<uint8_t> bytes(size);
    device->download(nullptr, bytes.data(), buffers.bytes.data(), bytes.size());
    device->synchronize(Device::Stream{});
    macroblocks.read("macroblocks");
    levels.read("levels");
    return bytes;
}

// Returns the NAL units.
std::vector<uint8_t> expect_same(const std::shared_ptr<Device> &device, const CodedMacroblocks &p) {
    const std::vector<uint8_t> expected = code_on_cpu(p), bytes = code_on_device(device, p);
    size_t at = 0;
    while (at < bytes.size() && at < expected.size() && bytes[at] == expected[at]) at++;
    EXPECT(bytes == expected, "%s, %zu slices on %s: %zu bytes, the CPU has %zu; from byte %zu on they differ",
           describe(p.format).c_str(), p.slices.size(), device->name().c_str(), bytes.size(), expected.size(), at);
    return bytes;
}

size_t count_preventions(const std::vector<uint8_t> &bytes) {
    size_t count = 0;
    for (size_t k = 2; k < bytes.size(); k++) count += !bytes[k - 2] && !bytes[k - 1] && bytes[k] == 3;
    return count;
}

const Mix mixes[] = {{0, 1, 0, 0},     {1, 1, 0, 0},    {3, 2, 10, 255},   {5, 8, 0, 0},
                     {8, 100, 5, 255}, {8, 2063, 0, 0}, {8, 32767, 9, 16}, {2, 1, 2, 1},
                     {1, 3000, 3, 0},  {8, 1, 0, 0},    {4, 4, 3, 0},      {6, 30, 1, 4},
                     {1, 20000, 0, 0}, {3, 9000, 4, 0}, {1, 1, 2, 0},      {0, 1, 1, 0}};

// Every format, sizes about those of pieces, slices that begin anywhere.
START_TEST(macroblocks) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (size_t f = 0; f < std::size(h264_formats); f++)
        for (const Mix &mix : mixes) {
            const CodedFormat format = h264_format(f, random.between(1, 11), random.between(1, 4));
            expect_same(device, random_picture(random, format, 1 + random.below(5), mix));
        }
}
END_TEST

// 4:2:2: neighbours to the left are two macroblocks away, those of a piece's first two beyond it.
START_TEST(field_pairs) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 38);
    for (const size_t f : {size_t{3}, size_t{4}})
        for (const Mix &mix : mixes) {
            CodedFormat format = h264_format(f, 2 * random.between(1, 11), random.between(1, 4));
            format.field = format.field_pairs = true;
            expect_same(device, random_picture(random, format, 1 + random.below(5), mix));
        }
}
END_TEST

START_TEST(one_macroblock) {
    const auto device = open_test_device(_i);
    Random random(21);
    for (size_t f = 0; f < std::size(h264_formats); f++)
        for (const Mix &mix : mixes) expect_same(device, random_picture(random, h264_format(f, 1, 1), 1, mix));
}
END_TEST

// Macroblocks of few bits: bytes that many pieces share.
START_TEST(short_slices) {
    const auto device = open_test_device(_i);
    Random random(22);
    for (const size_t f : {size_t{0}, size_t{5}, size_t{7}}) {
        CodedMacroblocks p = random_picture(random, h264_format(f, 25, 8), 150, {0, 1, 0, 0});
        expect_same(device, p);
        for (Macroblock &m : p.macroblocks) {
            m.type = MacroblockType::i16x16;
            m.intra_16x16_pred_mode = m.intra_chroma_pred_mode = 0;
            m.coded_block_pattern = 0;
            m.qp_delta = 0;
        }
        std::fill(p.levels.begin(), p.levels.end(), int16_t{0});
        expect_same(device, p);
    }
}
END_TEST

START_TEST(many_pieces) {
    const auto device = open_test_device(_i);
    Random random(23);
    expect_same(device, random_picture(random, h264_format(0, 120, 68), 7, {1, 2, 1000, 255}));
    expect_same(device, random_picture(random, h264_format(1, 45, 30), 1, {6, 40, 100, 1}));
}
END_TEST

// Groups of pieces that are joined in several parts, with and without zeros over these parts' ends.
START_TEST(long_groups) {
    const auto device = open_test_device(_i);
    Random random(29);
    for (const int sample : {0, 1, 1023}) {
        const Mix mix{8, 2000, sample ? 3 : 1, sample};
        expect_same(device, random_picture(random, h264_format(9, 20, 13), 1, mix));
        expect_same(device, random_picture(random, h264_format(6, 33, 8), 2, mix));
    }
}
END_TEST

// Zeros in long runs: samples of I_PCM, and levels whose codes are long, at every phase and over the pieces' ends.
START_TEST(emulation_prevention) {
    const auto device = open_test_device(_i);
    Random random(24);
    size_t preventions = 0;
    for (int round = 0; round < 60; round++) {
        const CodedFormat format = h264_format(random.below(std::size(h264_formats)), random.between(1, 30), 2);
        CodedMacroblocks p = random_picture(
            random, format, 1 + random.below(3),
            {random.between(0, 2), random.of({1, 5000, 30000}), random.between(1, 12), random.of({0, 0, 1, 3})});
        // Runs of zeros of all lengths in samples.
        for (size_t i = 0; i < p.macroblocks.size(); i++) {
            if (p.macroblocks[i].type != MacroblockType::pcm || random.one_in(3)) continue;
            const size_t per_macroblock = static_cast<size_t>(blocks_per_macroblock(format.chroma)) * 16;
            const size_t samples = static_cast<size_t>(pcm_blocks(format.chroma)) * 16;
            for (size_t k = 0; k < samples; k += 1 + random.below(40))
                p.levels[i * per_macroblock + k] = static_cast<int16_t>(random.of({1, 2, 3, 4, 64, 128, 255}));
        }
        preventions += count_preventions(expect_same(device, p));
    }
    EXPECT(preventions > 10000, "%zu emulation_prevention_three_bytes", preventions);
}
END_TEST

// Zeros in runs without I_PCM: level_suffix of zeros before a long level_prefix, in few pieces and in many.
START_TEST(zeros_between_levels) {
    const auto device = open_test_device(_i);
    Random random(31);
    size_t preventions = 0;
    for (int round = 0; round < 24; round++) {
        const size_t f = random.below(std::size(h264_formats));
        CodedMacroblocks p = random_picture(random, h264_format(f, random.between(20, 40), random.between(3, 9)),
                                            1 + random.below(3), {random.between(1, 8), 2, 0, 0});
        // Escaped levels (9.2.2.1) whose suffix is 0 for one suffixLength or the other.
        const int rare = random.of({1, 1, 10, 300});
        for (int16_t &level : p.levels)
            if (level && random.one_in(rare))
                level = static_cast<int16_t>((level < 0 ? -1 : 1) * random.of({16, 17, 31, 32, 61, 121, 241, 481}));
        preventions += count_preventions(expect_same(device, p));
    }
    EXPECT(preventions > 1000, "%zu emulation_prevention_three_bytes", preventions);
}
END_TEST

// Zeros over the ends of pieces alone: level_suffix of 15 and total_zeros of 4 in the last block, then mb_type with 4.
START_TEST(zeros_between_pieces) {
    const auto device = open_test_device(_i);
    Random random(32);
    for (const int columns : {8, 31, 40}) {
        CodedMacroblocks p = random_picture(random, h264_format(0, columns, 20), 1, {0, 1, 0, 0});
        std::fill(p.levels.begin(), p.levels.end(), int16_t{0});
        const size_t per_macroblock = p.levels.size() / p.macroblocks.size();
        for (size_t i = 0; i < p.macroblocks.size(); i++) {
            Macroblock &m = p.macroblocks[i];
            m.type = MacroblockType::i16x16;
            m.coded_block_pattern = 15;
            m.intra_16x16_pred_mode = 2;
            m.qp_delta = static_cast<int8_t>(random.between(-9, 9));
            int16_t *last = &p.levels[i * per_macroblock + 15 * 16];
            for (int k = 1; i % kPieceMacroblocks == kPieceMacroblocks - 1 && k <= 12; k++)
                last[kZigzag4x4[k]] = static_cast<int16_t>(k == 1 ? 14817 : 600);
        }
        const size_t preventions = count_preventions(expect_same(device, p));
        EXPECT(preventions > 0, "%zu emulation_prevention_three_bytes", preventions);
    }
}
END_TEST

// P slices: every type, runs of skipped macroblocks within pieces and over them, slices that begin anywhere.
START_TEST(macroblocks_of_p) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 33);
    for (size_t f = 0; f < 3; f++)
        for (const Mix &mix : mixes)
            for (const auto &[skipped, coded] : {std::pair(0, 9), {3, 3}, {40, 2}, {5, 0}, {300, 1}}) {
                const CodedFormat format = h264_format(f, random.between(1, 11), random.between(1, 6));
                expect_same(device, random_p_picture(random, format, 1 + random.below(5), mix, skipped, coded));
            }
}
END_TEST

// Pictures that are still but for few macroblocks: pieces and groups without bits, and bytes of several groups.
START_TEST(still_pictures) {
    const auto device = open_test_device(_i);
    Random random(34);
    constexpr size_t kGroup = size_t{kPieceMacroblocks} * kGroupPieces;
    for (int round = 0; round < 12; round++) {
        const CodedFormat format = h264_format(1, random.between(30, 70), random.between(20, 40));
        CodedMacroblocks p = random_picture(random, format, round % 3 ? 1 : 1 + random.below(9), {1, 1, 0, 0});
        // One in so many groups has macroblocks, at its ends; or none has.
        const uint32_t rare = random.of({1u, 2u, 5u});
        bool moves = false;
        make_predicted(random, p, 1000, [&](size_t i) {
            if (i % kGroup == kGroup - 1 || !i) moves = round && random.one_in(rare);
            return !moves || (i % kGroup && i % kGroup != kGroup - 1) || random.one_in(3);
        });
        for (Macroblock &m : p.macroblocks)
            if (m.type != MacroblockType::skip && random.one_in(2)) {
                m = Macroblock{};
                m.type = MacroblockType::p16x16;
            }
        for (size_t s = 0; s < p.slices.size(); s++)
            for (uint32_t i = 0; i < p.slices[s].count; i++) {
                Macroblock &m = p.macroblocks[p.slices[s].first + i];
                m.slice = static_cast<uint16_t>(s);
                m.first_in_slice = i == 0;
            }
        expect_same(device, p);
    }
}
END_TEST

// mb_skip_run of more than 32 bits, for which the warp looks back far.
START_TEST(long_skip_runs) {
    const auto device = open_test_device(_i);
    Random random(36);
    CodedMacroblocks p = random_picture(random, h264_format(0, 260, 253), 1, {0, 1, 0, 0});
    make_predicted(random, p, 1000, [](size_t i) { return i != 65540; });
    expect_same(device, p);
}
END_TEST

// Zeros over the ends of pieces of P slices: a last level of zeros, skipped pieces and groups, a long mb_skip_run; then
// macroblocks of a few bits, over whose groups the byte goes on.
START_TEST(zeros_before_skip_runs) {
    const auto device = open_test_device(_i);
    Random random(35);
    size_t preventions = 0;
    for (int round = 0; round < 30; round++) {
        CodedMacroblocks p = random_picture(random, h264_format(round % 3 ? 0 : 1, random.between(40, 60), 30),
                                            round % 5 ? 1 : 6, {0, 1, 0, 0});
        std::fill(p.levels.begin(), p.levels.end(), int16_t{0});
        const size_t per_macroblock = p.levels.size() / p.macroblocks.size();
        // Macroblocks of zeros at the end, small ones behind them.
        const int most = random.of({20, 100, 300, 1500});
        size_t next = random.below(40), small = 0;
        std::vector<size_t> zeros;
        make_predicted(random, p, 1000, [&](size_t i) {
            if (i == next) {
                zeros.push_back(i);
                small = random.below(4);
                next += 1 + static_cast<size_t>(random.between(0, most));
                return false;
            }
            return !small || !random.one_in(60) || !small--;
        });
        for (Macroblock &m : p.macroblocks) {
            if (m.type == MacroblockType::skip) continue;
            m.type = MacroblockType::p16x16;
            m.coded_block_pattern = 0;
            m.qp_delta = 0;
            m.transform_size_8x8_flag = 0;
            std::fill(std::begin(m.mvd), std::end(m.mvd), Vector{});
        }
        for (const size_t i : zeros) {
            Macroblock &m = p.macroblocks[i];
            m.coded_block_pattern = 8;
            m.qp_delta = static_cast<int8_t>(random.between(-9, 9));
            int16_t *const last = &p.levels[i * per_macroblock + 15 * 16];
            const int coded = random.of({12, 12, 16});  // of 12, total_zeros ends the block
            for (int k = 0; k < coded; k++) last[kZigzag4x4[k]] = 600;
            last[kZigzag4x4[0]] = static_cast<int16_t>(random.of({14817, 14817, 14817, 481}));  // suffixes of zeros
        }
        preventions += count_preventions(expect_same(device, p));
    }
    EXPECT(preventions > 50, "%zu emulation_prevention_three_bytes", preventions);
}
END_TEST

// Of such zeros most may lie in mb_skip_run, beyond the last word of the piece, in which they begin.
START_TEST(zeros_of_skip_runs) {
    const auto device = open_test_device(_i);
    Random random(37);
    CodedMacroblocks p = random_picture(random, h264_format(0, 130, 128), 1, {0, 1, 0, 0});
    std::fill(p.levels.begin(), p.levels.end(), int16_t{0});
    make_predicted(random, p, 1, [&](size_t) { return true; });
    int found = 0;
    for (int round = 0; round < 10000 && found < 3; round++) {
        const size_t first = random.below(8), second = first + 16384 + random.below(200);
        for (const size_t i : {first, second}) {
            Macroblock &m = p.macroblocks[i];
            m.type = MacroblockType::p16x16;
            m.coded_block_pattern = i == first ? 8 : 0;
            const int range = 1 << random.between(0, 14);
            m.mvd[0] = {static_cast<int16_t>(random.between(-range, range)),
                        static_cast<int16_t>(random.between(-9, 9))};
        }
        int16_t *const levels = &p.levels[first * 16 * static_cast<size_t>(blocks_per_macroblock(ChromaFormat::c420))];
        levels[12 * 16] = random.one_in(2);
        std::fill_n(levels + 15 * 16, 16, int16_t{600});
        levels[15 * 16] = static_cast<int16_t>(random.of({609, 737, 993}));  // level_suffix ends in 8 to 10 zeros
        BitCounter bits;
        put_skip_run(static_cast<uint32_t>(first), bits);
        std::vector<uint8_t> totals(p.levels.size() / 16);
        code_macroblock(p.format, p.picture(), static_cast<uint32_t>(first), 0, totals.data(), bits, [] {});
        const uint32_t in_last_word = (p.headers[0].count + bits.bits) % 32;
        if (in_last_word == 0 && count_preventions(code_on_cpu(p)) > 0) {
            expect_same(device, p);
            found++;
        }
        for (const size_t i : {first, second}) p.macroblocks[i] = p.macroblocks[20];
        std::fill_n(levels, 16 * 16, int16_t{0});
    }
    EXPECT(found == 3, "%d pictures", found);
}
END_TEST

START_TEST(sign_flips) {
    const auto device = open_test_device(_i);
    Random random(25);
    for (size_t f = 0; f < std::size(h264_formats); f++) {
        CodedMacroblocks p = random_picture(random, h264_format(f, 7, 5), 2, {4, 30, 10, 255});
        const size_t plain = code_on_cpu(p).size();
        p.sign_flips.resize(p.levels.size() / 16);
        for (uint16_t &flips : p.sign_flips) flips = static_cast<uint16_t>(random.word());
        expect_same(device, p);
        const size_t flipped = code_on_cpu(p).size();
        EXPECT(flipped + 8 > plain && plain + 8 > flipped, "but for emulation prevention, no size changes");
    }
}
END_TEST

// Pictures in turn in the same buffers, more than serial numbers, one of them against the limit.
START_TEST(pictures_in_turn) {
    const auto device = open_test_device(_i);
    Random random(27);
    const CodedFormat format = h264_format(1, 9, 3);
    std::vector<CodedMacroblocks> pictures;
    const std::vector<Slice> slices = {{0, 10}, {10, 17}};
    for (int i = 0; i < 5; i++) {
        CodedMacroblocks p = random_picture(random, format, 1, {random.between(0, 6), 9, 7, 255});
        p.slices = slices;
        p.headers = {make_slice_header({0, i & 1, 0}), make_slice_header({10, i & 1, 0})};
        if (i & 1) make_predicted(random, p, 5, [&](size_t) { return random.one_in(2); });
        pictures.push_back(std::move(p));
    }
    CodedMacroblocks &bad = pictures.back();
    for (Macroblock &m : bad.macroblocks) m.type = MacroblockType::i4x4, m.coded_block_pattern = 47;
    for (int16_t &level : bad.levels) level = 32000;
    struct DevicePicture {
        Guarded<Macroblock> macroblocks;
        Guarded<int16_t> levels;
        Guarded<SliceHeaderBits> headers;
        bool predicted;
        std::vector<uint8_t> expected;
    };
    std::vector<DevicePicture> device_pictures;
    for (const CodedMacroblocks &p : pictures)
        device_pictures.push_back(
            {{device, p.macroblocks}, {device, p.levels}, {device, p.headers}, p.predicted, code_on_cpu(p)});
    const DeviceSliceCoder coder(device, format, slices);
    PictureBuffers buffers = coder.make_buffers();
    for (size_t i = 0; i < 600; i++) {
        const DevicePicture &p = device_pictures[i % pictures.size()];
        coder.code(nullptr, buffers, {p.macroblocks.data(), p.levels.data(), nullptr, p.predicted}, p.headers.data());
        device->synchronize(Device::Stream{});
        if (i % pictures.size() == pictures.size() - 1) {
            bool failed = false;
            try {
                nal_bytes(buffers);
            } catch (const Error &) {
                failed = true;
            }
            EXPECT(failed, "picture %zu", i);
            if (i % 3 == 0) buffers.pictures = 0;
            continue;
        }
        std::vector<uint8_t> bytes(nal_bytes(buffers));
        device->download(nullptr, bytes.data(), buffers.bytes.data(), bytes.size());
        device->synchronize(Device::Stream{});
        EXPECT(bytes == p.expected, "picture %zu", i);
    }
}
END_TEST

START_TEST(uploads) {
    const auto device = open_test_device(_i);
    Random random(28);
    for (const bool flips : {false, true}) {
        CodedMacroblocks p = random_picture(random, h264_format(2, 6, 5), 3, {3, 9, 7, 1023});
        if (flips) make_predicted(random, p, 3, [&](size_t) { return random.one_in(3); });
        if (flips) p.sign_flips.assign(p.levels.size() / 16, 0x5A5A);
        const DeviceSliceCoder coder(device, p.format, p.slices);
        PictureBuffers buffers = coder.make_buffers();
        const PictureUpload upload = coder.make_upload(flips);
        const CodedPicture picture = coder.upload(nullptr, upload, p.picture(), p.headers.data());
        coder.code(nullptr, buffers, picture, upload.headers.data());
        device->synchronize(Device::Stream{});
        std::vector<uint8_t> bytes(nal_bytes(buffers));
        device->download(nullptr, bytes.data(), buffers.bytes.data(), bytes.size());
        device->synchronize(Device::Stream{});
        EXPECT(bytes == code_on_cpu(p), "%zu bytes", bytes.size());
    }
}
END_TEST

// What breaks the limit of macroblock_layer() is an error, and nothing else is written to.
START_TEST(too_many_bits) {
    const auto device = open_test_device(_i);
    Random random(26);
    CodedMacroblocks p = random_picture(random, h264_format(1, 9, 3), 1, {8, 2, 0, 0});
    for (Macroblock &m : p.macroblocks) m.coded_block_pattern = 47;
    for (int16_t &level : p.levels) level = static_cast<int16_t>(random.of({-30000, 29999, 32767}));
    bool failed = false;
    try {
        code_on_device(device, p);
    } catch (const Error &e) {
        failed = std::string(e.what()).find("more bits") != std::string::npos;
    }
    EXPECT(failed, "no error");
}
END_TEST

START_TEST(large_pictures) {
    const auto device = open_test_device(_i);
    Random random(30);
    const bool large = benched_on_gpu(device);
    const CodedFormat format = h264_format(1, large ? 240 : 20, large ? 135 : 12);
    struct {
        const char *name;
        Mix mix;
        int most_skipped;  // -1: an intra picture
    } contents[] = {{"few levels", {1, 2, 0, 0}, -1},
                    {"many levels", {5, 8, 0, 0}, -1},
                    {"P, few levels", {1, 2, 0, 0}, 9},
                    {"P, still", {1, 2, 0, 0}, 2000}};
    for (const auto &[content, mix, most_skipped] : contents) {
        const CodedMacroblocks p = most_skipped < 0 ? random_picture(random, format, 1, mix)
                                                    : random_p_picture(random, format, 1, mix, most_skipped, 9);
        const std::vector<uint8_t> expected = code_on_cpu(p);
        bench(format_string("h264 4:2:0, %s", content), device, format.macroblocks(), "macroblocks",
              [&] { EXPECT(code_on_device(device, p) == expected, "%s: other bytes than on the CPU", content); });
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264_kernels");
    TCase *c = add_case(suite, "same as the CPU");
    const int devices = static_cast<int>(device_specs.size());
    tcase_add_loop_test(c, macroblocks, 0, devices);
    tcase_add_loop_test(c, field_pairs, 0, devices);
    tcase_add_loop_test(c, one_macroblock, 0, devices);
    tcase_add_loop_test(c, short_slices, 0, devices);
    tcase_add_loop_test(c, many_pieces, 0, devices);
    tcase_add_loop_test(c, long_groups, 0, devices);
    tcase_add_loop_test(c, emulation_prevention, 0, devices);
    tcase_add_loop_test(c, zeros_between_levels, 0, devices);
    tcase_add_loop_test(c, zeros_between_pieces, 0, devices);
    tcase_add_loop_test(c, macroblocks_of_p, 0, devices);
    tcase_add_loop_test(c, still_pictures, 0, devices);
    tcase_add_loop_test(c, long_skip_runs, 0, devices);
    tcase_add_loop_test(c, zeros_before_skip_runs, 0, devices);
    tcase_add_loop_test(c, zeros_of_skip_runs, 0, devices);
    tcase_add_loop_test(c, sign_flips, 0, devices);
    tcase_add_loop_test(c, pictures_in_turn, 0, devices);
    tcase_add_loop_test(c, uploads, 0, devices);
    tcase_add_loop_test(c, too_many_bits, 0, devices);
    tcase_add_loop_test(c, large_pictures, 0, devices);
    return run_suite(suite);
}
