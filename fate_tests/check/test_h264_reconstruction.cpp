// SPDX-License-Identifier: LGPL-2.1-or-later
// IDR pictures of sequences on devices: macroblocks, levels, the reconstruction and the filtered picture are those of
// the CPU, over sizes, QPs and contents.
#include "../../common/h264/sequence_coder.h"
#include "../../cuda_kernels/h264/deblocker.h"
#include "../../cuda_kernels/h264/inter/device_plane.h"
#include "../../cuda_kernels/h264/inter/finish.h"
#include "../../cuda_kernels/h264/intra/intra_coder.h"
#include "h264_sources.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

ReconstructedPicture code_on_cpu(const Source &source, int qp, int aq_strength, bool deblock) {
    const PictureFormat &f = source.format;
    ThreadPool pool(1);
    SequenceCoder coder(f, 512, deblock);
    ReconstructedPicture coded(f);
    coder.encode(source.layout, {.qp = qp, .effort = kAllTypes, .aq_strength = aq_strength}, false, pool,
                 coded.macroblocks.data(), coded.levels.data());
    coder.keep(pool);
    coded.copy_rows(
        [&](int c, uint8_t *to, int y, size_t width) { std::copy_n(coder.decoded(c).at(0, y).data, width, to); });
    coded.clear_uncoded();
    return coded;
}

// Codes a picture twice, into garbage.
ReconstructedPicture code_on_device(const std::shared_ptr<Device> &device, const Source &source, int qp,
                                    int aq_strength, bool deblock) {
    const PictureFormat &f = source.format;
    const int columns = f.macroblock_columns(), rows = f.macroblock_rows();
    const size_t count = static_cast<size_t>(f.macroblocks());
    const DeviceIntraCoder coder(device, f, 1);
    const DeviceDeblocker deblocker(device,
                                    {.format = ChromaFormat::c420,
                                     .bit_depth = 8,
                                     .columns = columns,
                                     .rows = rows,
                                     .field = false,
                                     .across_slices = true,
                                     .tables = nullptr,
                                     .macroblocks = nullptr,
                                     .vectors = nullptr},
                                    make_deblock_tables(8), 1);
    const DeviceSource uploaded(device, source);
    IntraBuffers buffers = coder.make_buffers();
    DeblockBuffers deblock_buffers = deblocker.make_buffers();
    const DeviceArray<MacroblockSlice> slices = upload_now(device, macroblock_slices(f.all_slices()));
    const DeviceArray<int8_t> decoded_qps(device, count);
    const DeviceArray<DeblockMacroblock> inputs(device, count);
    const DeviceArray<DeblockVector> vectors(device, 16 * count);
    ReconstructedPicture coded(f);
    DevicePlane planes[3];
    std::array<ReconstructedPlane, 3> reconstruction;
    DeviceDeblocker::Picture filtered{{}, inputs.data(), vectors.data()};
    for (size_t c = 0; c < 3; c++) {
        planes[c] = DevicePlane(device, coded.width(static_cast<int>(c)), coded.height(static_cast<int>(c)));
        reconstruction[c] = {planes[c].plane().data, planes[c].plane().stride};
        filtered.planes[c] = {planes[c].plane().data, planes[c].plane().stride};
    }
    for (int round = 0; round < 2; round++) {
        device->fill(nullptr, buffers.macroblocks.data(), 0xA5, buffers.macroblocks.bytes());
        device->fill(nullptr, buffers.levels.data(), 0xA5, buffers.levels.bytes());
        for (const DevicePlane &plane : planes)
            device->fill(nullptr, plane.memory().data(), 0xA5, plane.memory().bytes());
        coder.code(nullptr, {.buffers = &buffers, .components = uploaded.layout, .qp = qp}, aq_strength, reconstruction,
                   slices.data());
        if (!deblock) continue;
        const bool adaptive = aq_strength && qp <= kMaxQp;
        finish_picture(*device, nullptr,
                       {.format = ChromaFormat::c420,
                        .columns = columns,
                        .rows = rows,
                        .slice_qp = std::min(qp, kMaxQp),
                        .slices = nullptr,
                        .motion = nullptr,
                        .qps = adaptive ? buffers.qps.data() : nullptr,
                        .levels = buffers.levels.data(),
                        .macroblocks = buffers.macroblocks.data(),
                        .decoded_qps = decoded_qps.data(),
                        .deblock_macroblocks = inputs.data(),
                        .deblock_vectors = vectors.data()});
        deblocker.filter(nullptr, deblock_buffers, filtered);
    }
    device->download(nullptr, coded.macroblocks.data(), buffers.macroblocks.data(), buffers.macroblocks.bytes());
    device->download(nullptr, coded.levels.data(), buffers.levels.data(), buffers.levels.bytes());
    coded.copy_rows([&](int c, uint8_t *to, int y, size_t width) {
        device->download(nullptr, to, planes[c].plane().at(0, y), width);
    });
    device->synchronize(Device::Stream{});
    return coded;
}

void expect_same(const std::shared_ptr<Device> &device, const Source &source, int qp, int aq_strength, bool deblock) {
    const PictureFormat &f = source.format;
    const ReconstructedPicture expected = code_on_cpu(source, qp, aq_strength, deblock);
    const ReconstructedPicture own = code_on_device(device, source, qp, aq_strength, deblock);
    const std::string what = format_string("%s, %dx%d, QP %d, adaptive %d, filter %d", device->name().c_str(), f.width,
                                           f.height, qp, aq_strength, deblock);
    for (size_t m = 0; m < own.macroblocks.size(); m++)
        EXPECT(!std::memcmp(&own.macroblocks[m], &expected.macroblocks[m], sizeof(Macroblock)),
               "%s: another macroblock %zu", what.c_str(), m);
    EXPECT(own.levels == expected.levels, "%s: other levels", what.c_str());
    for (int c = 0; c < 3; c++)
        for (size_t i = 0; i < own.planes[c].size(); i++)
            EXPECT(own.planes[c][i] == expected.planes[c][i], "%s: component %d, column %zu, row %zu: %d, not %d",
                   what.c_str(), c, i % static_cast<size_t>(own.width(c)), i / static_cast<size_t>(own.width(c)),
                   own.planes[c][i], expected.planes[c][i]);
}

START_TEST(pictures) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int round = 0; round < 60; round++) {
        const PictureFormat f = make_picture_format(random.between(1, 90), random.between(1, 70), !random.one_in(3));
        const int qp = round % 5 == 0 ? random.between(0, 12) : random.between(0, kLastQp);
        expect_same(device, Source(random, f, static_cast<Content>(round % 6)), qp,
                    random.one_in(2) ? random.of({1, 256, 3000}) : 0, round % 4 != 0);
    }
}
END_TEST

START_TEST(large_pictures) {
    const auto device = open_test_device(_i);
    Random random(60);
    const bool large = benched_on_gpu(device);
    const Source source(random, make_picture_format(large ? 3840 : 336, large ? 2160 : 208, true), Content::mixed);
    bench(
        "an IDR picture", device, source.format.macroblocks(), "macroblocks",
        [&] { expect_same(device, source, 26, 0, true); }, "h264/intra/wavefront");
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 reconstruction");
    TCase *c = add_case(suite, "reconstruction");
    tcase_add_loop_test(c, pictures, 0, static_cast<int>(device_specs.size()));
    tcase_add_loop_test(c, large_pictures, 0, static_cast<int>(device_specs.size()));
    return run_suite(suite);
}
