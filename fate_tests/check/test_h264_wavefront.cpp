// SPDX-License-Identifier: LGPL-2.1-or-later
// H.264's intra pipeline on devices: macroblocks, levels and bits are those of the CPU, over formats, slices, sizes,
// QPs and contents.
#include "../../cuda_kernels/h264/intra/intra_coder.h"
#include "../../cuda_kernels/h264/slice_coder.h"
#include "h264_regions.h"
#include "h264_sources.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

struct Coded {
    std::vector<Macroblock> macroblocks;
    std::vector<int16_t> levels;
    uint64_t bits;
};

Coded code_on_cpu(const Source &source, int qp, int aq_strength, const QpRegions &regions) {
    const PictureFormat &f = source.format;
    Coded coded;
    coded.macroblocks.resize(static_cast<size_t>(f.macroblocks()));
    coded.levels.resize(coded.macroblocks.size() * 16 * static_cast<size_t>(blocks_per_macroblock(f.chroma)));
    ThreadPool pool(1);
    IntraCoder coder(f);
    coder.encode(source.layout, {.qp = qp, .effort = kAllTypes, .aq_strength = aq_strength, .regions = regions}, pool,
                 coded.macroblocks.data(), coded.levels.data());
    for (size_t m = 0; m < coded.macroblocks.size(); m++)
        clear_uncoded(f.chroma, coded.macroblocks[m],
                      &coded.levels[m * 16 * static_cast<size_t>(blocks_per_macroblock(f.chroma))]);
    coded.bits = coder.bits();
    return coded;
}

const char *const type_names[] = {"I_4x4", "I_8x8", "I_16x16", "I_PCM"};

void expect_same(const Coded &coded, const Coded &expected, const PictureFormat &f, int qp, const std::string &device) {
    const size_t size = coded.levels.size() / coded.macroblocks.size();
    for (size_t m = 0; m < coded.macroblocks.size(); m++) {
        const Macroblock &own = coded.macroblocks[m], &other = expected.macroblocks[m];
        const std::string what = format_string(
            "%s, %dx%d, format %d, %d bits, 8x8 %d, pairs %d, %d slices, QP %d, macroblock %zu, %s on the CPU",
            device.c_str(), f.width, f.height, static_cast<int>(f.chroma), f.bit_depth, f.transform_8x8, f.field_pairs,
            f.slices, qp, m, type_names[static_cast<int>(other.type)]);
        EXPECT(own.type == other.type, "%s: %s", what.c_str(),
               static_cast<int>(own.type) < 4 ? type_names[static_cast<int>(own.type)] : "nothing");
        EXPECT(!std::memcmp(&own, &other, sizeof own), "%s: another macroblock", what.c_str());
        for (size_t i = 0; i < size; i++)
            EXPECT(coded.levels[m * size + i] == expected.levels[m * size + i], "%s: block %zu, level %zu: %d, not %d",
                   what.c_str(), i / 16, i % 16, coded.levels[m * size + i], expected.levels[m * size + i]);
    }
    EXPECT(coded.bits == expected.bits, "%s, QP %d: %llu bits, not %llu", device.c_str(), qp,
           static_cast<unsigned long long>(coded.bits), static_cast<unsigned long long>(expected.bits));
}

// Codes sources of one format in a launch, twice, into garbage; the QPs are qp and those that follow.
void expect_same(const std::shared_ptr<Device> &device, const std::vector<Source> &sources, int qp, int in_flight,
                 int aq_strength = 0, const QpRegions &regions = {}) {
    const PictureFormat &f = sources[0].format;
    const DeviceIntraCoder coder(device, f, in_flight);
    std::vector<Slice> slices;
    for (int i = 0; i < f.slices; i++) slices.push_back(f.slice(i));
    const DeviceSliceCoder slice_coder(device, f.coded(), slices);
    const DeviceArray<SliceHeaderBits> headers =
        upload_now(device, std::vector(slices.size(), SliceHeaderBits{{}, 37, 0}));
    struct InFlight {
        IntraBuffers intra;
        PictureBuffers slices;
        DeviceSource uploaded;
    };
    std::vector<std::unique_ptr<InFlight>> all;
    std::vector<DeviceIntraCoder::Picture> pictures;
    for (const Source &source : sources) {
        all.push_back(std::unique_ptr<InFlight>(
            new InFlight{coder.make_buffers(), slice_coder.make_buffers(), DeviceSource(device, source)}));
        pictures.push_back({.buffers = &all.back()->intra,
                            .components = all.back()->uploaded.layout,
                            .qp = std::min(qp + static_cast<int>(pictures.size()), kLastQp),
                            .regions = regions});
    }
    for (int round = 0; round < 2; round++) {
        for (const auto &one : all) {
            device->fill(nullptr, one->intra.macroblocks.data(), 0xA5, one->intra.macroblocks.bytes());
            device->fill(nullptr, one->intra.levels.data(), 0xA5, one->intra.levels.bytes());
        }
        coder.code(nullptr, pictures, aq_strength);
        for (size_t i = 0; i < all.size(); i++) {
            const IntraBuffers &buffers = all[i]->intra;
            slice_coder.code(nullptr, all[i]->slices, {buffers.macroblocks.data(), buffers.levels.data(), nullptr},
                             headers.data());
            const Coded expected = code_on_cpu(sources[i], pictures[i].qp, aq_strength, regions);
            Coded coded = expected;
            device->download(nullptr, coded.macroblocks.data(), buffers.macroblocks.data(),
                             buffers.macroblocks.bytes());
            device->download(nullptr, coded.levels.data(), buffers.levels.data(), buffers.levels.bytes());
            device->synchronize(Device::Stream{});
            coded.bits = layer_bits(all[i]->slices);
            expect_same(coded, expected, f, pictures[i].qp, device->name());
        }
    }
}

const PictureFormat formats[] = {
    {0, 0, ChromaFormat::c420, 8, 1, true, true, false},  {0, 0, ChromaFormat::c420, 8, 1, false, false, true},
    {0, 0, ChromaFormat::c420, 10, 1, true, true, false}, {0, 0, ChromaFormat::c422, 8, 1, true, true, false},
    {0, 0, ChromaFormat::c422, 10, 1, true, true, false}, {0, 0, ChromaFormat::c400, 8, 1, true, true, false},
    {0, 0, ChromaFormat::c400, 10, 1, true, true, false}, {0, 0, ChromaFormat::c444, 8, 1, true, true, false},
    {0, 0, ChromaFormat::c444, 10, 1, true, true, false}, {0, 0, ChromaFormat::c444, 8, 1, false, false, true},
};

// Every kind of content, small sizes, QPs from the least to beyond the largest.
START_TEST(pictures) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (const PictureFormat &format : formats)
        for (int content = 0; content < 6; content++)
            for (int round = 0; round < 3; round++) {
                PictureFormat f = format;
                f.width = random.between(1, 90), f.height = random.between(1, 70);
                f.slices = random.between(1, std::min(3, f.macroblock_rows()));
                const int lowest = -qp_bd_offset(f.bit_depth);
                const int qp = round == 0 ? random.between(lowest, 12) : random.between(lowest, kLastQp);
                expect_same(device, {Source(random, f, static_cast<Content>(content))}, qp, random.between(1, 24));
            }
}
END_TEST

START_TEST(adaptive_quantisation) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 30);
    for (const PictureFormat &format : formats)
        for (const int strength : {0, 1, 256, 3000}) {
            PictureFormat f = format;
            f.width = random.between(1, 300), f.height = random.between(1, 150);
            f.slices = random.between(1, std::min(5, f.macroblock_rows()));
            const Content content = random.one_in(2) ? Content::mixed : Content::flat;
            expect_same(device, {Source(random, f, content)}, random.between(-qp_bd_offset(f.bit_depth), 54),
                        random.between(1, 12), strength,
                        random_regions(random, f.macroblock_columns(), f.macroblock_rows()));
        }
}
END_TEST

// Slices that begin within rows, I_8x8 alone, scaling lists, an offset of chroma's QP, a lowest QP; field macroblock
// pairs.
START_TEST(avc_intra) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 120);
    for (int round = 0; round < 60; round++) {
        PictureFormat f{random.between(1, 150),
                        random.between(1, 120),
                        ChromaFormat::c422,
                        random.one_in(4) ? 8 : 10,
                        1,
                        true,
                        true,
                        false};
        if (round % 3 == 2) {
            f.field = f.field_pairs = true;
            f.height = 4 * ((f.height + 3) / 4);
        }
        f.slices = random.between(1, std::min(10, f.macroblock_rows()));
        f.even_slices = !random.one_in(4);
        f.only_8x8 = true;
        f.chroma_qp_index_offset = random.between(-12, 12);
        f.scaling = random.one_in(4) ? nullptr : f.field_pairs ? &asymmetric_scaling_lists : &test_scaling_lists;
        const int lowest = -qp_bd_offset(f.bit_depth);
        if (random.one_in(2)) f.lowest_qp = random.between(lowest, 20);
        std::vector<Source> sources;
        for (int i = random.between(1, 3); i > 0; i--)
            sources.emplace_back(random, f, static_cast<Content>(random.between(0, 5)));
        const int qp = random.between(std::max(lowest, f.lowest_qp), round % 4 ? kMaxQp : kLastQp);
        expect_same(device, sources, qp, random.between(1, 24), random.one_in(2) ? 256 : 0,
                    random_regions(random, f.macroblock_columns(), f.macroblock_rows()));
    }
}
END_TEST

START_TEST(shared_launches) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 90);
    for (const PictureFormat &format : formats) {
        PictureFormat f = format;
        f.width = random.between(1, 120), f.height = random.between(1, 90);
        f.slices = random.between(1, std::min(3, f.macroblock_rows()));
        std::vector<Source> sources;
        for (int i = random.between(2, kLaunchPictures); i > 0; i--) sources.emplace_back(random, f, Content::mixed);
        expect_same(device, sources, random.between(-qp_bd_offset(f.bit_depth), kMaxQp), random.between(1, 64),
                    random.one_in(2) ? 256 : 0);
    }
}
END_TEST

START_TEST(large_pictures) {
    const auto device = open_test_device(_i);
    Random random(60);
    const PictureFormat f{benching ? 3840 : 336, benching ? 2160 : 208, ChromaFormat::c420, 8, 1, true, true, false};
    for (const int qp : {17, 26, 37}) expect_same(device, {Source(random, f, Content::mixed)}, qp, qp - 16);
}
END_TEST

// As AVC-Intra's class 100 has them: progressive, interlaced.
START_TEST(avc_intra_frames) {
    const auto device = open_test_device(_i);
    Random random(150);
    const bool large = benched_on_gpu(device);
    PictureFormat f{large ? 1920 : 160, large ? 1080 : 320, ChromaFormat::c422, 10, 10, true, true, false};
    f.even_slices = f.only_8x8 = true;
    for (const bool pairs : {false, true}) {
        f.field = f.field_pairs = pairs;
        f.scaling = pairs ? &asymmetric_scaling_lists : &test_scaling_lists;
        std::vector<Source> sources;
        sources.emplace_back(random, f, Content::mixed);
        bench(pairs ? "AVC-Intra, interlaced" : "AVC-Intra", device, f.macroblocks(), "macroblocks",
              [&] { expect_same(device, sources, 20, 1, 256); });
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 wavefront");
    TCase *c = add_case(suite, "wavefront");
    tcase_add_loop_test(c, pictures, 0, static_cast<int>(device_specs.size()));
    tcase_add_loop_test(c, adaptive_quantisation, 0, static_cast<int>(device_specs.size()));
    tcase_add_loop_test(c, avc_intra, 0, static_cast<int>(device_specs.size()));
    tcase_add_loop_test(c, shared_launches, 0, static_cast<int>(device_specs.size()));
    tcase_add_loop_test(c, avc_intra_frames, 0, static_cast<int>(device_specs.size()));
    tcase_add_loop_test(c, large_pictures, 0, static_cast<int>(device_specs.size()));
    return run_suite(suite);
}
