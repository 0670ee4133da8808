// SPDX-License-Identifier: LGPL-2.1-or-later
// Reference pictures: samples between samples by the formulas of H.264's clause 8.4.2.2.1, and on devices those of the
// CPU.
#include "../../common/h264/inter/block_inter_cpu.h"
#include "../../common/h264/inter/reference.h"
#include "../../cuda_kernels/h264/inter/reference_picture.h"
#include "h264_inter.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

struct Decoded {
    int columns, rows;
    std::vector<Sample> planes[3];

    Decoded(Random &random, int w, int h) : columns(w), rows(h) {
        for (int c = 0; c < 3; c++) {
            const int noise = random.of({0, 5, 255});
            planes[c].resize(static_cast<size_t>(width(c) * height(c)));
            for (size_t i = 0; i < planes[c].size(); i++)
                planes[c][i] = static_cast<Sample>(
                    random.one_in(9)
                        ? random.of({0, 255})
                        : std::clamp(static_cast<int>(i) % width(c) * 3 + random.between(-noise, noise), 0, 255));
        }
    }
    int width(int c) const { return columns * (c ? 8 : 16); }
    int height(int c) const { return rows * (c ? 8 : 16); }
    void build(ReferencePicture &picture, ThreadPool &pool) const {
        const ConstBlock samples[3] = {
            {planes[0].data(), width(0)}, {planes[1].data(), width(1)}, {planes[2].data(), width(2)}};
        picture.build(samples, width(0), height(0), pool);
    }
};

// Blocks by all fractions of vectors, inside and beyond the edges.
START_TEST(predictions) {
    ThreadPool pool(2);
    Random random(1);
    for (const auto &[columns, rows] : {std::pair{1, 1}, {3, 2}, {5, 4}}) {
        const Decoded decoded(random, columns, rows);
        ReferencePicture reference;
        decoded.build(reference, pool);
        const decoder::ReferencePlane luma{decoded.planes[0].data(), decoded.width(0), decoded.height(0), 255};
        for (int round = 0; round < 600; round++) {
            const int x = 8 * random.between(0, 2 * columns - 1), y = 8 * random.between(0, 2 * rows - 1);
            const Vector v{
                static_cast<int16_t>(random.between(4 * (-kReach - x), 4 * (decoded.width(0) - x + kReach - 8))),
                static_cast<int16_t>(random.between(4 * (-kReach - y), 4 * (decoded.height(0) - y + kReach - 8)))};
            Sample own[256];
            predict_luma(reference, x, y, v, 8, own);
            for (int i = 0; i < 64; i++)
                EXPECT(own[i / 8 * 16 + i % 8] == luma.luma(4 * (x + i % 8) + v.x, 4 * (y + i / 8) + v.y),
                       "(%d, %d) by (%d, %d), sample %d: %d", x, y, v.x, v.y, i, own[i / 8 * 16 + i % 8]);
            for (int c = 1; c < 3; c++) {
                const decoder::ReferencePlane chroma{decoded.planes[c].data(), decoded.width(c), decoded.height(c),
                                                     255};
                predict_chroma(reference, c, x, y, v, 0, 8, own);
                for (int i = 0; i < 16; i++)
                    EXPECT(
                        own[i / 4 * 8 + i % 4] == chroma.chroma(8 * (x / 2 + i % 4) + v.x, 8 * (y / 2 + i / 4) + v.y),
                        "component %d, (%d, %d) by (%d, %d), sample %d", c, x, y, v.x, v.y, i);
            }
        }
    }
}
END_TEST

// The same of every format, of 8 and of 10 bits.
START_TEST(predictions_of_formats) {
    ThreadPool pool(2);
    Random random(static_cast<uint64_t>(_i) + 7);
    const ChromaFormat format = static_cast<ChromaFormat>(_i % 4);
    const int depth = _i < 4 ? 8 : 10, most = (1 << depth) - 1, columns = random.between(1, 4),
              rows = random.between(1, 3);
    const bool like_luma = format == ChromaFormat::c444;
    const int width[] = {16 * columns, like_luma ? 16 * columns : 8 * columns};
    const int height[] = {16 * rows, format == ChromaFormat::c420 ? 8 * rows : 16 * rows};
    std::vector<Sample> planes[3];
    ConstBlock blocks[3];
    for (int c = 0; c < (format == ChromaFormat::c400 ? 1 : 3); c++) {
        planes[c].resize(static_cast<size_t>(width[c > 0] * height[c > 0]));
        for (Sample &s : planes[c])
            s = static_cast<Sample>(random.one_in(3) ? random.of({0, most}) : random.between(0, most));
        blocks[c] = {planes[c].data(), width[c > 0]};
    }
    ReferencePicture reference;
    reference.format = format;
    reference.bit_depth = depth;
    reference.build(blocks, width[0], height[0], pool);
    for (int round = 0; round < 500; round++) {
        const int size = random.of({8, 16}), to_x = 16 * columns - size, to_y = 16 * rows - size;
        const int x = size * random.between(0, to_x / size), y = size * random.between(0, to_y / size);
        const Vector v{static_cast<int16_t>(random.between(4 * (-kReach - x), 4 * (to_x - x + kReach))),
                       static_cast<int16_t>(random.between(4 * (-kReach - y), 4 * (to_y - y + kReach)))};
        for (int c = 0; c < (format == ChromaFormat::c400 ? 1 : 3); c++) {
            const decoder::ReferencePlane plane{planes[c].data(), width[c > 0], height[c > 0], most};
            const bool as_luma = !c || like_luma, tall = format == ChromaFormat::c422;
            const int w = as_luma ? size : size / 2, h = as_luma || tall ? size : size / 2, stride = as_luma ? 16 : 8;
            Sample own[256];
            if (c)
                predict_chroma(reference, c, x, y, v, 0, size, own);
            else
                predict_luma(reference, x, y, v, size, own);
            for (int i = 0; i < w * h; i++) {
                const int at_x = x * w / size + i % w, at_y = y * h / size + i / w;
                const int expected = as_luma ? plane.luma(4 * at_x + v.x, 4 * at_y + v.y)
                                             : plane.chroma(8 * at_x + v.x, 8 * at_y + (tall ? 2 : 1) * v.y);
                EXPECT(own[i / w * stride + i % w] == expected,
                       "format %d, %d bits, component %d, (%d, %d) by (%d, %d), sample %d: %d, not %d", _i % 4, depth,
                       c, x, y, v.x, v.y, i, own[i / w * stride + i % w], expected);
            }
        }
    }
}
END_TEST

void expect_same(const std::shared_ptr<Device> &device, const Decoded &decoded, ThreadPool &pool) {
    ReferencePicture expected;
    decoded.build(expected, pool);
    const DeviceReference own(device, decoded.columns, decoded.rows);
    const auto planes = [&](const auto &each) {
        for (int i = 0; i < kHalfPlanes; i++)
            each(own.luma[i], expected.luma[i], i ? kPlaneMargin - 4 : kPlaneMargin, i ? -1 : 0);
        for (int i = 0; i < 2; i++) each(own.chroma[i], expected.chroma[i], kPlaneMargin, 1 + i);
    };
    planes([&](const DevicePlane &plane, const BytePlane &, int, int component) {
        device->fill(nullptr, plane.memory().data(), 0xA5, plane.memory().bytes());
        if (component < 0) return;
        const MarginPlane &to = plane.plane();
        std::vector<uint8_t> bytes(decoded.planes[component].begin(), decoded.planes[component].end());
        for (int y = 0; y < to.height; y++)
            device->upload(nullptr, to.at(0, y), &bytes[static_cast<size_t>(y * to.width)],
                           static_cast<size_t>(to.width));
        device->synchronize(Device::Stream{});
    });
    own.complete(*device, nullptr);
    planes([&](const DevicePlane &plane, const BytePlane &other, int margin, int component) {
        const MarginPlane &from = plane.plane();
        std::vector<uint8_t> bytes(plane.memory().bytes());
        device->download(nullptr, bytes.data(), plane.memory().data(), bytes.size());
        device->synchronize(Device::Stream{});
        const uint8_t *const first = bytes.data() + (from.data - plane.memory().data());
        for (int y = -margin; y < from.height + margin; y++)
            for (int x = -margin; x < from.width + margin; x++)
                EXPECT(first[y * from.stride + x] == *other.at(x, y),
                       "%dx%d macroblocks, component %d, (%d, %d): %d, not %d", decoded.columns, decoded.rows,
                       component, x, y, first[y * from.stride + x], *other.at(x, y));
    });
}

START_TEST(devices) {
    const auto device = open_test_device(_i);
    ThreadPool pool(1);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int round = 0; round < 6; round++)
        expect_same(device, Decoded(random, round ? random.between(1, 20) : 1, round ? random.between(1, 8) : 1), pool);
}
END_TEST

START_TEST(large_pictures) {
    const auto device = open_test_device(_i);
    ThreadPool pool(2);
    Random random(3);
    const bool large = benched_on_gpu(device);
    const Decoded decoded(random, large ? 240 : 12, large ? 135 : 9);
    bench(
        "reference", device, decoded.columns * decoded.rows, "macroblocks", [&] { expect_same(device, decoded, pool); },
        "h264/inter");
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 reference");
    TCase *c = add_case(suite, "reference");
    tcase_add_test(c, predictions);
    tcase_add_loop_test(c, predictions_of_formats, 0, 8);
    tcase_add_loop_test(c, devices, 0, static_cast<int>(device_specs.size()));
    tcase_add_loop_test(c, large_pictures, 0, static_cast<int>(device_specs.size()));
    return run_suite(suite);
}
