// SPDX-License-Identifier: LGPL-2.1-or-later
// The end of P pictures on devices: P_Skip, mvd, QPs as decoders have them and the deblocking filter's input are those
// of the CPU.
#include "../../common/h264/deblock_cpu.h"
#include "../../common/h264/intra/adaptive_qp.h"
#include "../../cuda_kernels/h264/inter/finish.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

constexpr size_t kLevelCount = 16 * static_cast<size_t>(blocks_per_macroblock(ChromaFormat::c420));

struct Case {
    int columns, rows, slice_qp;
    std::vector<MacroblockSlice> slices;
    std::vector<Macroblock> macroblocks;
    std::vector<MacroblockMotion> motion;
    std::vector<int16_t> levels;
    std::vector<int8_t> qps;

    // still: one in so many macroblocks has levels.
    Case(Random &random, int w, int h, int still) : columns(w), rows(h), slice_qp(random.between(0, kMaxQp)) {
        levels.resize(static_cast<size_t>(w * h) * kLevelCount);
        const uint32_t slice_length = random.of({1u, 9u, 100u, 1000u});
        for (uint32_t i = 0; i < static_cast<uint32_t>(w * h); i++) {
            if (!i || random.one_in(slice_length))
                slices.push_back({.number = i, .first = i});
            else
                slices.push_back(slices.back());
        }
        for (size_t i = 0; i < static_cast<size_t>(w * h); i++) {
            Macroblock m{};
            MacroblockMotion of{};
            const bool intra = random.one_in(9);
            if (intra) {
                m.type = static_cast<MacroblockType>(random.between(0, 3));
            } else {
                of.fill({static_cast<int16_t>(random.between(-1, 1) * 3), 0});
                of.shape = random.one_in(4) ? static_cast<Shape>(random.between(1, 3)) : Shape::p16x16;
                if (of.shape != Shape::p16x16)
                    for (int b = 1; b < 4; b++)
                        if (part_of_block(of.shape, b))
                            of.vectors[b] = {static_cast<int16_t>(9 * part_of_block(of.shape, b)), 5};
                m.type =
                    static_cast<MacroblockType>(static_cast<int>(MacroblockType::p16x16) + static_cast<int>(of.shape));
            }
            if (random.one_in(static_cast<uint32_t>(still))) {
                m.coded_block_pattern = static_cast<uint8_t>(random.between(0, 47));
                if (!intra) m.transform_size_8x8_flag = (m.coded_block_pattern & 15) && random.one_in(2);
                for (int k = random.between(0, 9); k > 0; k--)
                    levels[i * kLevelCount + random.below(256)] = static_cast<int16_t>(random.between(-2, 2));
            }
            macroblocks.push_back(m);
            motion.push_back(of);
            qps.push_back(static_cast<int8_t>(random.between(0, kMaxQp)));
        }
    }
};

START_TEST(devices) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    int skipped = 0;
    for (int round = 0; round < 30; round++) {
        const Case c(random, round ? random.between(1, 40) : 1, round ? random.between(1, 12) : 1,
                     random.of({1, 3, 60, 900}));
        const size_t count = c.macroblocks.size();
        const DeviceArray<Macroblock> macroblocks = upload_now(device, c.macroblocks);
        const DeviceArray<MacroblockMotion> motion = upload_now(device, c.motion);
        const DeviceArray<MacroblockSlice> slices = upload_now(device, c.slices);
        const DeviceArray<int16_t> levels = upload_now(device, c.levels);
        const DeviceArray<int8_t> qps = upload_now(device, c.qps), decoded_qps(device, count);
        const DeviceArray<DeblockMacroblock> inputs(device, count);
        const DeviceArray<DeblockVector> vectors(device, 16 * count);
        finish_picture(*device, nullptr,
                       {.format = ChromaFormat::c420,
                        .columns = c.columns,
                        .rows = c.rows,
                        .slice_qp = c.slice_qp,
                        .slices = slices.data(),
                        .motion = motion.data(),
                        .qps = qps.data(),
                        .levels = levels.data(),
                        .macroblocks = macroblocks.data(),
                        .decoded_qps = decoded_qps.data(),
                        .deblock_macroblocks = inputs.data(),
                        .deblock_vectors = vectors.data()});
        std::vector<Macroblock> own(count);
        std::vector<DeblockMacroblock> own_inputs(count);
        std::vector<DeblockVector> own_vectors(16 * count);
        device->download(nullptr, own.data(), macroblocks.data(), macroblocks.bytes());
        device->download(nullptr, own_inputs.data(), inputs.data(), inputs.bytes());
        device->download(nullptr, own_vectors.data(), vectors.data(), vectors.bytes());
        device->synchronize(Device::Stream{});
        int qp = c.slice_qp;
        for (size_t i = 0; i < count; i++) {
            Macroblock m = c.macroblocks[i];
            const int x = static_cast<int>(i) % c.columns, y = static_cast<int>(i) / c.columns;
            const MacroblockSlice slice = c.slices[i];
            finish_macroblock({.motion = c.motion.data(), .columns = c.columns, .first = static_cast<int>(slice.first)},
                              x, y, m, static_cast<int>(slice.number));
            if (m.first_in_slice) qp = c.slice_qp;
            EXPECT(!std::memcmp(&own[i], &m, sizeof m), "%dx%d, macroblock %zu: type %d, not %d", c.columns, c.rows, i,
                   static_cast<int>(own[i].type), static_cast<int>(m.type));
            skipped += m.type == MacroblockType::skip;
            if (has_qp_delta(m.type, m.coded_block_pattern)) qp = c.qps[i];
            const bool inter = is_inter(m.type);
            EXPECT_EQ(own_inputs[i].intra, !inter);
            EXPECT_EQ(own_inputs[i].qp, m.type == MacroblockType::pcm ? 0 : qp);
            EXPECT_EQ(own_inputs[i].transform_8x8, has_8x8_transform(m));
            EXPECT_EQ(own_inputs[i].slice, m.slice);
            EXPECT_EQ(own_inputs[i].nonzero, inter ? nonzero_blocks(&c.levels[i * kLevelCount],
                                                                    m.coded_block_pattern & 15, has_8x8_transform(m))
                                                   : 0);
            for (size_t b = 0; b < 16 && inter; b++) {
                const Vector v = c.motion[i].vectors[b / 8 * 2 + b % 4 / 2];
                EXPECT(own_vectors[16 * i + b].x == v.x && own_vectors[16 * i + b].y == v.y,
                       "macroblock %zu, block %zu", i, b);
            }
        }
    }
    EXPECT(skipped > 50, "%d macroblocks are skipped", skipped);
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 finish");
    TCase *c = add_case(suite, "finish");
    tcase_add_loop_test(c, devices, 0, static_cast<int>(device_specs.size()));
    return run_suite(suite);
}
