// SPDX-License-Identifier: LGPL-2.1-or-later
// Likely modes of blocks: those of pictures whose directions are known, and on devices those of the CPU.
#include "../../common/h264/intra/rank_cpu.h"
#include "../../cuda_kernels/h264/intra/intra_coder.h"
#include "h264_sources.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

constexpr Available kAll = {true, true, true};

// A macroblock and its neighbours.
template <class SampleAt>
RankedModes rank_one(const SampleAt &sample_at, const Available &available) {
    constexpr int kSize = 48;
    std::vector<Sample> samples(kSize * kSize);
    for (int y = 0; y < kSize; y++)
        for (int x = 0; x < kSize; x++)
            samples[static_cast<size_t>(y * kSize + x)] = static_cast<Sample>(sample_at(x, y));
    const ConstBlock at{samples.data() + 16 * kSize + 16, kSize};
    return rank_modes(&at, 1, available, 8);
}

START_TEST(directions) {
    const auto wave = [](int i) { return 20 + (i % 7) * (i % 7) * 6; };
    const auto expect = [&](const char *what, int mode, const RankedModes &modes) {
        for (const int b : {0, 1, 2, 6, 15})
            EXPECT(ranked_mode(modes.of_4x4[b], 0) == mode, "%s: mode %d of 4x4 block %d", what,
                   ranked_mode(modes.of_4x4[b], 0), b);
    };
    expect("columns", kVertical, rank_one([&](int x, int) { return wave(x); }, kAll));
    expect("rows", kHorizontal, rank_one([&](int, int y) { return wave(y); }, kAll));
    // 8x8 blocks filter their neighbours, so only coarse edges keep their direction.
    const RankedModes coarse = rank_one([](int x, int) { return x / 4 % 2 ? 200 : 50; }, kAll);
    for (const uint16_t modes : coarse.of_8x8)
        EXPECT(ranked_mode(modes, 0) == kVertical, "mode %d of an 8x8 block", ranked_mode(modes, 0));
}
END_TEST

// The first block of a slice has DC prediction alone.
START_TEST(missing_neighbours) {
    const RankedModes modes = rank_one([](int x, int y) { return x * 5 + y; }, {false, false, false});
    for (int rank = 0; rank < kRankedModes; rank++) {
        EXPECT(ranked_mode(modes.of_4x4[0], rank) == kDc, "mode %d", ranked_mode(modes.of_4x4[0], rank));
        EXPECT(ranked_mode(modes.of_8x8[0], rank) == kDc, "mode %d", ranked_mode(modes.of_8x8[0], rank));
    }
    for (int b = 0; b < 16; b++)
        for (int rank = 0; rank < kRankedModes; rank++)
            EXPECT(mode_available(ranked_mode(modes.of_4x4[b], rank), available_4x4({false, false, false}, b)),
                   "block %d has mode %d", b, ranked_mode(modes.of_4x4[b], rank));
}
END_TEST

// I_4x4 is likely where 4x4 blocks differ from those around, at low QPs, and not on a ramp. Where blocks are flat, or
// the QP is high, neither it nor I_8x8 is.
START_TEST(likely_types) {
    const auto expect = [](const char *what, const RankedModes &modes, int qp, LikelyTypes likely,
                           bool transform_8x8 = true) {
        const LikelyTypes types = modes.likely_types(satd_lambda_of(qp), transform_8x8);
        EXPECT(types == likely, "%s at QP %d: %d, not %d; SATDs of %u and %u, texture %u", what, qp, types, likely,
               modes.satd_4x4, modes.satd_8x8, modes.texture);
    };
    const RankedModes ramp = rank_one([](int x, int y) { return 2 * x + y; }, kAll);
    for (const int qp : {0, 20}) expect("a ramp", ramp, qp, kAlso8x8);
    expect("a ramp without I_8x8", ramp, 20, kAlso4x4, false);
    for (const bool transform_8x8 : {false, true}) expect("a ramp", ramp, 51, kOnly16x16, transform_8x8);
    const RankedModes spots = rank_one([](int x, int y) { return x % 8 > 4 && y % 16 / 4 == 1 ? 220 : 40; }, kAll);
    for (const int qp : {0, 20, 30}) expect("spots", spots, qp, kAlso4x4);
    const RankedModes squares = rank_one([](int x, int y) { return 40 + (x / 4 + y / 4) % 2 * 80; }, kAll);
    EXPECT(squares.texture == 0, "flat blocks have a texture of %u", squares.texture);
    expect("flat blocks", squares, 0, kOnly16x16);
}
END_TEST

START_TEST(devices) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int content = 0; content < 6; content++)
        for (const int i : {0, 1, 2, 3}) {
            const int depth = i & 1 ? 10 : 8;
            PictureFormat f{.width = random.between(1, 120),
                            .height = random.between(1, 90),
                            .chroma = i & 2 ? ChromaFormat::c444 : ChromaFormat::c400,
                            .bit_depth = depth,
                            .slices = 1,
                            .transform_8x8 = true,
                            .long_level_prefix = true,
                            .pcm_without_zeros = false};
            f.slices = random.between(1, std::min(3, f.macroblock_rows()));
            const Source source(random, f, static_cast<Content>(content));
            const DeviceIntraCoder coder(device, f, 1);
            IntraBuffers buffers = coder.make_buffers();
            const DeviceSource uploaded(device, source);
            device->fill(nullptr, buffers.ranked.data(), 0xA5, buffers.ranked.bytes());
            const DeviceIntraCoder::Picture picture{.buffers = &buffers, .components = uploaded.layout, .qp = 30};
            coder.code(nullptr, {&picture, 1}, 0);
            std::vector<RankedModes> ranked(static_cast<size_t>(f.macroblocks()));
            device->download(nullptr, ranked.data(), buffers.ranked.data(), buffers.ranked.bytes());
            device->synchronize(Device::Stream{});

            const int columns = f.macroblock_columns(), stride = 16 * columns;
            std::vector<Sample> samples[3];
            for (int c = 0; c < f.components(); c++)
                for (int y = 0; y < 16 * f.macroblock_rows(); y++)
                    for (int x = 0; x < stride; x++) samples[c].push_back(static_cast<Sample>(source.sample(c, x, y)));
            for (int slice = 0; slice < f.slices; slice++)
                for (int y = f.first_row(slice); y < f.first_row(slice + 1); y++)
                    for (int x = 0; x < columns; x++) {
                        const bool above = y > f.first_row(slice);
                        ConstBlock at[3];
                        for (int c = 0; c < f.components(); c++)
                            at[c] = {samples[c].data() + 16 * (y * stride + x), stride};
                        const RankedModes expected =
                            rank_modes(at, f.components(), {x > 0, above, above && x + 1 < columns}, depth);
                        const RankedModes &own = ranked[static_cast<size_t>(y * columns + x)];
                        for (int b = 0; b < 16; b++)
                            EXPECT(own.of_4x4[b] == expected.of_4x4[b], "%dx%d, macroblock (%d, %d), 4x4 block %d",
                                   f.width, f.height, x, y, b);
                        for (int b = 0; b < 4; b++)
                            EXPECT(own.of_8x8[b] == expected.of_8x8[b], "%dx%d, macroblock (%d, %d), 8x8 block %d",
                                   f.width, f.height, x, y, b);
                        EXPECT(own.satd_4x4 == expected.satd_4x4 && own.satd_8x8 == expected.satd_8x8,
                               "%dx%d, macroblock (%d, %d): SATDs of %u and %u, not %u and %u", f.width, f.height, x, y,
                               own.satd_4x4, own.satd_8x8, expected.satd_4x4, expected.satd_8x8);
                        EXPECT(own.texture == expected.texture, "%dx%d, macroblock (%d, %d): texture %u, not %u",
                               f.width, f.height, x, y, own.texture, expected.texture);
                    }
        }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 rank");
    TCase *c = add_case(suite, "rank");
    tcase_add_test(c, directions);
    tcase_add_test(c, missing_neighbours);
    tcase_add_test(c, likely_types);
    tcase_add_loop_test(c, devices, 0, static_cast<int>(device_specs.size()));
    return run_suite(suite);
}
