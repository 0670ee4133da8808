// SPDX-License-Identifier: LGPL-2.1-or-later
// Intra macroblocks of P pictures on devices: a picture's macroblocks, levels and reconstruction are those of
// PredictedPictureCoder, over sizes, QPs, contents, and columns of intra refresh.
#include "../../common/h264/inter/predicted_picture.h"
#include "../../common/h264/intra/adaptive_qp.h"
#include "../../cuda_kernels/h264/inter/device_intra_macroblocks.h"
#include "../../cuda_kernels/h264/inter/finish.h"
#include "../../cuda_kernels/h264/inter/motion_refinement.h"
#include "h264_sources.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

constexpr int kLevels = 16 * blocks_per_macroblock(ChromaFormat::c420), kVertical = 64;

// A picture, the one before as source and as decoded.
struct Case {
    PictureFormat format;
    int qp, drop_step, aq_strength;
    Source source, before;
    std::vector<Sample> decoded[3];  // whole macroblocks
    RefreshColumns refresh{};
    int width(int c) const { return format.macroblock_columns() * format.columns(c); }
    int height(int c) const { return format.macroblock_rows() * format.rows(c); }

    // changed: one in so many macroblocks differs from the one before; noise: by how much the rest does.
    Case(Random &random, const PictureFormat &f, Content content, int qp_, int changed, int noise, bool refreshes)
        : format(f),
          qp(std::min(qp_, kMaxQp)),
          drop_step(std::max(0, qp_ - kMaxQp)),
          aq_strength(random.one_in(3) ? 256 : 0),
          source(random, f, content),
          before(source) {
        const Source other(random, f, Content::mixed);
        std::vector<uint8_t> differs;
        for (int i = 0; i < f.macroblocks(); i++)
            differs.push_back(changed && random.one_in(static_cast<uint32_t>(changed)));
        if (refreshes) {
            refresh.end = random.one_in(2) ? f.macroblock_columns() : random.between(0, f.macroblock_columns());
            refresh.first = random.between(0, refresh.end);
        }
        for (int c = 0; c < 3; c++) {
            for (int y = 0; y < source.height(c); y++)
                for (int x = 0; x < source.width(c); x++) {
                    const int m = y / f.rows(c) * f.macroblock_columns() + x / f.columns(c);
                    const int v = differs[static_cast<size_t>(m)] ? other.sample(c, x, y) : source.sample(c, x, y);
                    before.memory[c][static_cast<size_t>(y * before.layout[c].stride + x)] =
                        static_cast<uint8_t>(std::clamp(v + random.between(-noise, noise), 0, 255));
                }
            before.layout[c].data = before.memory[c].data();
            source.layout[c].data = source.memory[c].data();
            for (int y = 0; y < height(c); y++)
                for (int x = 0; x < width(c); x++)
                    decoded[c].push_back(
                        static_cast<Sample>(std::clamp(before.sample(c, x, y) + random.between(-1, 1), 0, 255)));
        }
    }
};

ReconstructedPicture code_on_cpu(const Case &c) {
    ThreadPool pool(3);
    PredictedPictureCoder coder(c.format, kVertical);
    PictureBefore before;
    SourcePyramid source;
    ConstBlock planes[3];
    for (int k = 0; k < 3; k++) planes[k] = {c.decoded[k].data(), c.width(k)};
    before.decoded.build(planes, c.width(0), c.height(0), pool);
    coder.load_source(c.before.layout[0], before.source, pool);
    coder.load_source(c.source.layout[0], source, pool);
    ReconstructedPicture coded(c.format);
    coder.encode(c.source.layout, {.qp = c.qp + c.drop_step, .effort = kAllTypes, .aq_strength = c.aq_strength}, before,
                 source, pool, coded.macroblocks.data(), coded.levels.data(), c.refresh);
    coded.copy_rows([&](int k, uint8_t *to, int y, size_t width) {
        std::copy_n(coder.reconstruction(k).at(0, y).data, width, to);
    });
    coded.clear_uncoded();
    return coded;
}

std::vector<int8_t> qps_of(const Case &c) {
    std::vector<int8_t> qps;
    for (int m = 0; m < c.format.macroblocks(); m++) {
        uint32_t sum = 0, squares = 0;
        for (int i = 0; i < 256; i++) {
            const uint32_t v = static_cast<uint32_t>(c.source.sample(0, m % c.format.macroblock_columns() * 16 + i % 16,
                                                                     m / c.format.macroblock_columns() * 16 + i / 16));
            sum += v, squares += v * v;
        }
        const bool adaptive = c.aq_strength && !c.drop_step;
        // As PredictedPictureCoder::choose_qps() has it.
        const int adapted = adaptive ? adapted_qp(c.qp, c.aq_strength, sum, squares, 8) : c.qp;
        qps.push_back(static_cast<int8_t>(std::max(c.qp, adapted)));
    }
    return qps;
}

// Codes the picture twice: what the first time leaves must not matter.
ReconstructedPicture code_on_device(const std::shared_ptr<Device> &device, const Case &c) {
    const PictureFormat &f = c.format;
    const int columns = f.macroblock_columns(), rows = f.macroblock_rows();
    const size_t count = static_cast<size_t>(f.macroblocks());
    const DeviceReference reference(device, columns, rows), decoded(device, columns, rows);
    const MarginPlane to[3] = {reference.luma[kWhole].plane(), reference.chroma[0].plane(),
                               reference.chroma[1].plane()};
    for (int k = 0; k < 3; k++)
        for (int y = 0; y < c.height(k); y++) {
            const auto first = c.decoded[k].begin() + y * c.width(k);
            const std::vector<uint8_t> row(first, first + c.width(k));
            device->upload(nullptr, to[k].at(0, y), row.data(), row.size());
            device->synchronize(Device::Stream{});
        }
    reference.complete(*device, nullptr);
    const DeviceSource source(device, c.source), before(device, c.before);
    const DeviceArray<int8_t> qps = upload_now(device, qps_of(c)), decoded_qps(device, count);
    const DeviceMotionSearch search(device, f.width, f.height, kVertical);
    const DevicePyramid own_pyramid = search.make_pyramid(), other_pyramid = search.make_pyramid();
    search.build(nullptr, source.layout[0], own_pyramid);
    search.build(nullptr, before.layout[0], other_pyramid);
    const auto search_buffers = search.make_buffers();
    const DeviceMotionRefinement refinement(device, columns, rows, kVertical);
    const auto refined = refinement.make_buffers();
    const DeviceInterCoder inter_coder(device, f, kVertical);
    const auto inter = inter_coder.make_buffers();
    const DeviceIntraCoder intra_coder(device, f, 1);
    const DeviceIntraMacroblocks coder(device, f, intra_coder);
    auto buffers = coder.make_buffers();
    const DeviceArray<DeblockMacroblock> inputs(device, count);
    const DeviceArray<DeblockVector> vectors(device, 16 * count);
    const DeviceArray<MacroblockSlice> slices = upload_now(device, macroblock_slices(f.all_slices()));
    const MarginPlane planes[3] = {decoded.luma[kWhole].plane(), decoded.chroma[0].plane(), decoded.chroma[1].plane()};
    for (int round = 0; round < 2; round++) {
        device->fill(nullptr, buffers.modes_below.data(), 0xA5, buffers.modes_below.bytes());
        search.find(nullptr, own_pyramid, other_pyramid, satd_lambda_of(c.qp + c.drop_step), search_buffers);
        refinement.find(nullptr, own_pyramid.levels[0], reference, search_buffers.found.data(), qps.data(), c.drop_step,
                        c.refresh, refined);
        inter_coder.code(nullptr,
                         {.luma = own_pyramid.levels[0].plane(),
                          .components = source.layout,
                          .decoded = {planes[0], planes[1], planes[2]},
                          .qps = qps.data(),
                          .drop_step = c.drop_step,
                          .field = refined.motion[0].data(),
                          .refresh = c.refresh},
                         reference, inter);
        coder.rank(nullptr, source.layout, buffers);
        coder.code(nullptr,
                   {.components = source.layout,
                    .luma = own_pyramid.levels[0].plane(),
                    .decoded = {planes[0], planes[1], planes[2]},
                    .qps = qps.data(),
                    .slices = slices.data(),
                    .drop_step = c.drop_step,
                    .estimates = refined.estimates[0].data(),
                    .refresh = c.refresh},
                   inter, buffers);
        finish_picture(*device, nullptr,
                       {.format = ChromaFormat::c420,
                        .columns = columns,
                        .rows = rows,
                        .slice_qp = c.qp,
                        .slices = slices.data(),
                        .motion = inter.motion.data(),
                        .qps = qps.data(),
                        .levels = inter.levels.data(),
                        .macroblocks = inter.macroblocks.data(),
                        .decoded_qps = decoded_qps.data(),
                        .deblock_macroblocks = inputs.data(),
                        .deblock_vectors = vectors.data()});
    }
    ReconstructedPicture coded(c.format);
    device->download(nullptr, coded.macroblocks.data(), inter.macroblocks.data(), inter.macroblocks.bytes());
    device->download(nullptr, coded.levels.data(), inter.levels.data(), inter.levels.bytes());
    coded.copy_rows(
        [&](int k, uint8_t *to, int y, size_t width) { device->download(nullptr, to, planes[k].at(0, y), width); });
    device->synchronize(Device::Stream{});
    coded.clear_uncoded();
    return coded;
}

void expect_same(const Case &c, const ReconstructedPicture &own, const ReconstructedPicture &expected) {
    for (size_t m = 0; m < own.macroblocks.size(); m++) {
        const std::string what = format_string("%dx%d, QP %d + %d, 8x8 %d, macroblock %zu", c.format.width,
                                               c.format.height, c.qp, c.drop_step, c.format.transform_8x8, m);
        Macroblock of_cpu = expected.macroblocks[m];
        of_cpu.qp_delta = 0;  // is made later
        EXPECT(own.macroblocks[m].type == of_cpu.type, "%s: type %d, not %d", what.c_str(),
               static_cast<int>(own.macroblocks[m].type), static_cast<int>(of_cpu.type));
        EXPECT(!std::memcmp(&own.macroblocks[m], &of_cpu, sizeof of_cpu), "%s: another macroblock", what.c_str());
        for (size_t i = m * kLevels; i < (m + 1) * kLevels; i++)
            EXPECT(own.levels[i] == expected.levels[i], "%s: block %zu, level %zu: %d, not %d", what.c_str(),
                   i % kLevels / 16, i % 16, own.levels[i], expected.levels[i]);
        const int x = static_cast<int>(m) % c.format.macroblock_columns();
        EXPECT(!c.refresh.must_be_intra(x) || !is_inter(of_cpu.type), "%s is not intra", what.c_str());
    }
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < own.planes[k].size(); i++)
            EXPECT(own.planes[k][i] == expected.planes[k][i], "%dx%d, QP %d: component %d, column %zu, row %zu",
                   c.format.width, c.format.height, c.qp, k, i % static_cast<size_t>(c.width(k)),
                   i / static_cast<size_t>(c.width(k)));
}

START_TEST(devices) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    int types[9]{};
    for (int round = 0; round < 48; round++) {
        const PictureFormat f = make_picture_format(round ? random.between(1, 130) : 1,
                                                    round > 1 ? random.between(1, 100) : 1, !random.one_in(3));
        const int qp = round % 5 == 0 ? random.between(0, 9) : random.between(0, kLastQp);
        const Case c(random, f, static_cast<Content>(round % 6), qp, random.of({0, 1, 2, 9}),
                     random.of({0, 2, 20, 255}), random.one_in(3));
        const ReconstructedPicture expected = code_on_cpu(c);
        expect_same(c, code_on_device(device, c), expected);
        for (const Macroblock &m : expected.macroblocks) types[static_cast<int>(m.type)]++;
    }
    EXPECT(types[0] > 9 && types[1] > 9 && types[2] > 9 && types[3] > 3 && types[4] > 20 && types[8] > 20,
           "macroblocks: %d, %d, %d and %d of I_4x4, I_8x8, I_16x16 and I_PCM, %d of 16x16, %d skipped", types[0],
           types[1], types[2], types[3], types[4], types[8]);
}
END_TEST

// Macroblocks that follow each other are coded by one thread-block, however many they are and wherever they begin.
START_TEST(runs) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 20);
    for (int round = 0; round < 4; round++) {
        const PictureFormat f = make_picture_format(16 * random.between(17, 34), 16 * random.between(2, 4), true);
        Case c(random, f, Content::mixed, random.between(20, 40), 0, 2, false);
        const int columns = f.macroblock_columns();
        c.refresh.first = random.between(0, columns - 1);
        c.refresh.end = random.between(c.refresh.first + 1, columns);
        expect_same(c, code_on_device(device, c), code_on_cpu(c));
    }
}
END_TEST

// Where nothing is intra, and where all is.
START_TEST(extremes) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 40);
    const PictureFormat f = make_picture_format(200, 90, true);
    for (const int changed : {0, 1}) {
        Case c(random, f, Content::mixed, 30, changed, 0, false);
        if (changed) c.refresh.end = f.macroblock_columns();
        const ReconstructedPicture expected = code_on_cpu(c);
        expect_same(c, code_on_device(device, c), expected);
    }
}
END_TEST

START_TEST(large_pictures) {
    const auto device = open_test_device(_i);
    Random random(3);
    const bool large = benched_on_gpu(device);
    for (const int changed : {0, 20, 1}) {
        const Case c(random, make_picture_format(large ? 3840 : 250, large ? 2160 : 100, true), Content::mixed, 26,
                     changed, 2, false);
        const ReconstructedPicture expected = code_on_cpu(c);
        bench(
            format_string("one in %d macroblocks changed", changed).c_str(), device, c.format.macroblocks(),
            "macroblocks", [&] { expect_same(c, code_on_device(device, c), expected); }, "h264/inter/intra");
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 intra macroblocks");
    TCase *c = add_case(suite, "intra macroblocks");
    tcase_add_loop_test(c, devices, 0, static_cast<int>(device_specs.size()));
    tcase_add_loop_test(c, runs, 0, static_cast<int>(device_specs.size()));
    tcase_add_loop_test(c, extremes, 0, static_cast<int>(device_specs.size()));
    tcase_add_loop_test(c, large_pictures, 0, static_cast<int>(device_specs.size()));
    return run_suite(suite);
}
