// SPDX-License-Identifier: LGPL-2.1-or-later
// Methods of the papers that no encoder has (fate_tests/papers): their kernels beside plain loops.
#include <type_traits>
#include <vector>

#include "../papers/cavlcu.h"
#include "../papers/dct_forms.h"
#include "../papers/plain_mq.h"
#include "../papers/sample_contexts.h"
#include "../papers/stuffing.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

std::shared_ptr<Device> device_of(int index) { return open_test_device(index); }

// ---- CAVLCU

START_TEST(cavlcu) {
    const std::shared_ptr<Device> device = device_of(_i);
    Random random(11);
    const Stream stream(device);
    const std::pair<uint32_t, uint32_t> sizes[] = {{1, 1}, {11, 9}, {8, 3}, {5, 40}, {45, 2}};
    for (const auto &[width, height] : sizes) {
        const bench::Cavlcu coder(device, width, height);
        for (int round = 0; round < 2; round++) {  // the second finds what the first leaves
            bench::LumaCoefficients luma{
                .width = width, .height = height, .coefficients = {}, .intra_16x16 = {}, .slices = {}};
            uint16_t slice = 0;
            for (uint32_t m = 0; m < luma.macroblocks(); m++) {
                slice = static_cast<uint16_t>(slice + random.one_in(9));
                luma.slices.push_back(slice);
                luma.intra_16x16.push_back(static_cast<uint8_t>(random.below(2)));
                for (int block = 0; block < 16; block++) {
                    const int density = random.between(0, 8), range = random.of({1, 2, 3, 10, 100, 2000});
                    for (int k = 0; k < 16; k++)
                        luma.coefficients.push_back(
                            static_cast<int16_t>(random.between(0, 7) < density ? random.between(-range, range) : 0));
                }
            }
            const bench::Cavlcu::Input input(device, luma);
            coder.code(stream, input);
            device->synchronize(static_cast<Device::Stream>(stream));
            EXPECT_EQ(compare_luma(coder, luma), 0);
        }
    }
}
END_TEST

// ---- Bruns: algorithm 2

START_TEST(stuffing) {
    const std::shared_ptr<Device> device = device_of(_i);
    Random random(12);
    const Stream stream(device);
    bench::RawBitsOf raw;
    for (const int bits : {0, 1, 7, 8, 9, 15, 16, 17, 100, 2047, 2048})
        for (const int zeros : {0, 1, 2, 8, 300}) {  // one of so many bits is 0
            raw.segments.emplace_back();
            for (int i = 0; i < bits; i++)
                raw.segments.back().push_back(!zeros || !random.one_in(static_cast<uint32_t>(zeros)));
        }
    const bench::Stuffing forms(device, raw);
    forms.by_bytes(stream);
    device->synchronize(static_cast<Device::Stream>(stream));
    EXPECT_EQ(forms.compare(raw), 0);
    uint64_t stuffed = 0;
    for (const uint32_t n : forms.stuffed()) stuffed += n;
    EXPECT(stuffed > 200, "%d", static_cast<int>(stuffed));
    forms.by_warps(stream);
    device->synchronize(static_cast<Device::Stream>(stream));
    EXPECT_EQ(forms.compare(raw), 0);
}
END_TEST

// ---- Matela: contexts by samples

START_TEST(sample_contexts) {
    const std::shared_ptr<Device> device = device_of(_i);
    Random random(13);
    const Stream stream(device);
    constexpr int kPlanes = 11;
    std::vector<j2k::CodeBlock> blocks;
    std::vector<uint32_t> coefficients;
    const std::pair<int, int> sizes[] = {{32, 32}, {32, 32}, {32, 32}, {16, 16}, {5, 31}, {32, 6}, {1, 1}, {31, 3}};
    for (const auto &[width, height] : sizes) {
        j2k::CodeBlock block{};
        block.coefficients = coefficients.size();
        block.stride = static_cast<uint32_t>(width);
        block.width = static_cast<decltype(block.width)>(width);
        block.height = static_cast<decltype(block.height)>(height);
        block.orientation = static_cast<decltype(block.orientation)>(random.below(4));
        const int density = random.between(0, 20), planes = random.between(1, kPlanes);
        for (int i = 0; i < width * height; i++)
            coefficients.push_back(random.between(0, 20) < density
                                       ? (random.word() >> random.between(32 - planes, 31)) | random.below(2) << 31
                                       : 0);
        blocks.push_back(block);
    }
    const DeviceArray<j2k::CodeBlock> device_blocks = upload_now(device, blocks);
    const DeviceArray<uint32_t> device_coefficients = upload_now(device, coefficients);
    const bench::SampleContexts contexts(device, static_cast<uint32_t>(blocks.size()), kPlanes);
    contexts.model(stream, device_blocks.data(), device_coefficients.data());
    device->synchronize(static_cast<Device::Stream>(stream));
    for (uint32_t i = 0; i < blocks.size(); i++) {
        const j2k::CodeBlock &b = blocks[i];
        const bench::Symbols expected =
            bench::model_plainly(&coefficients[b.coefficients], b.stride, b.width, b.height, b.orientation);
        EXPECT(contexts.symbols(i, b.width, b.height) == expected, "block %u", i);
    }
}
END_TEST

// ---- Matela: a thread a block, with the standard's MQ coder

START_TEST(plain_mq) {
    Random random(15);
    for (int repeat = 0; repeat < 400; repeat++) {
        const int width = random.between(1, 32), height = random.between(1, 32), planes = random.between(1, 31),
                  rare = 1 << random.between(0, 6);
        std::vector<uint32_t> coefficients;
        for (int i = 0; i < width * height; i++)
            coefficients.push_back(random.one_in(static_cast<uint32_t>(rare))
                                       ? random.word() >> random.between(32 - planes, 31) | random.below(2) << 31
                                       : 0);
        const auto code = [&](auto mq) {
            std::vector<uint8_t> bytes(1 << 16);
            std::vector<uint32_t> pass_bytes(100);
            std::vector<uint16_t> flags(static_cast<size_t>(j2k::flags_count(width, height)));
            using Sink = j2k::MqSinkOf<typename decltype(mq)::type>;
            Sink sink(bytes.data(), pass_bytes.data(), j2k::kMqTable.row, {});
            j2k::SequentialCoder<Sink> coder(coefficients.data(), static_cast<uint32_t>(width), width, height,
                                             repeat % 4, 0, flags.data(), sink);
            coder.code(false);
            bytes.resize(sink.finish());
            return std::pair(bytes, pass_bytes);
        };
        EXPECT(code(std::type_identity<j2k::MqEncoder>{}) == code(std::type_identity<j2k::PlainMq>{}), "%d x %d", width,
               height);
    }
}
END_TEST

// ---- Patel: DCT and quantisers

START_TEST(dct_forms) {
    const std::shared_ptr<Device> device = device_of(_i);
    Random random(14);
    const Stream stream(device);
    constexpr uint32_t kWidth = 40, kHeight = 24;
    bench::PatelPlane plane{kWidth, kHeight, {}};
    for (uint32_t i = 0; i < kWidth * kHeight; i++)
        plane.samples.push_back(static_cast<float>(random.between(-128, 127)));
    const std::vector<float> source = plane.samples;
    plane.transform(bench::dct_matrix(false));
    const bench::DctForms forms(device, kWidth, kHeight);
    std::vector<float> samples(source.size());
    const auto furthest = [&](const std::vector<float> &expected) {
        forms.download(stream, samples.data());
        device->synchronize(static_cast<Device::Stream>(stream));
        float most = 0;
        for (size_t i = 0; i < samples.size(); i++) most = std::max(most, std::abs(samples[i] - expected[i]));
        return most;
    };
    for (const int blocks : {1, 8}) {
        forms.upload(stream, source.data());
        forms.dct(stream, false, blocks);
        EXPECT(furthest(plane.samples) < 1e-3f);
        forms.dct(stream, true, blocks);
        EXPECT(furthest(source) < 1e-3f);
    }
    const std::vector<float> transformed = plane.samples;
    plane.quantise();
    for (const int method : {1, 2, 3}) {
        forms.upload(stream, transformed.data());
        forms.quantise(stream, method);
        EXPECT(furthest(plane.samples) == 0, "method %d", method);
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    const int devices = static_cast<int>(device_specs.size());
    Suite *suite = suite_create("papers");
    TCase *c = add_case(suite, "Fuentes-Alventosa");
    tcase_add_loop_test(c, cavlcu, 0, devices);
    tcase_add_loop_test(add_case(suite, "Bruns"), stuffing, 0, devices);
    c = add_case(suite, "Matela");
    tcase_add_loop_test(c, sample_contexts, 0, devices);
    tcase_add_test(c, plain_mq);
    tcase_add_loop_test(add_case(suite, "Patel"), dct_forms, 0, devices);
    return run_suite(suite);
}
