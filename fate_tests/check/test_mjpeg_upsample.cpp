// SPDX-License-Identifier: LGPL-2.1-or-later
// Planes of JPEG to those of a usual format: up-sampling and inks on the CPU against their formulas, and the kernel
// against the CPU, of odd sizes.
#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "../../common/mjpeg/upsample_cpu.h"
#include "../../common/planes.h"
#include "../../cuda_kernels/device_pipeline.h"
#include "../../cuda_kernels/mjpeg/upsample_params.h"
#include "pictures.h"

using namespace cudaenc;
using namespace cudaenc::mjpeg;
using namespace cudaenc::testing;

namespace {

ThreadPool &pool() {
    static ThreadPool threads(2);
    return threads;
}

struct Plane {
    int width, height;
    ptrdiff_t stride;
    std::vector<uint8_t> samples;  // the front ones are coded
    int coded_width, coded_height;
};
struct Case {
    Case(Random &random, int round, bool large);
    std::string what;
    CudaencFormat format{};
    Upsampling upsampling{};
    std::vector<Plane> planes;
};

Case::Case(Random &random, int round, bool large) {
    upsampling.inks = static_cast<Inks>(round % 3);
    upsampling.rgb = upsampling.inks == Inks::none && round % 2;
    const int components = upsampling.rgb ? 3 : upsampling.inks == Inks::none ? random.of({1, 3, 4}) : 4;
    format = make_format(large ? 3840 : random.between(1, 70), large ? 2160 : random.between(1, 70), components, 8,
                         false, CUDAENC_COLOR_YUV);
    what = format_string("round %d, %dx%d", round, format.width, format.height);
    for (size_t c = 0; c < static_cast<size_t>(components); c++) {
        CudaencComponent &k = format.component[c];
        const bool chroma = upsampling.inks == Inks::none && !upsampling.rgb && (c == 1 || c == 2);
        k.log2_subsample_x = chroma ? round / 3 % 2 : 0, k.log2_subsample_y = chroma ? round / 6 % 2 : 0;
        upsampling.double_x[c] = static_cast<uint8_t>(large ? c % 2 : random.below(3));
        upsampling.double_y[c] = static_cast<uint8_t>(large ? c % 2 : random.below(3));
        const PlaneSize size = plane_size(format, static_cast<int>(c));
        Plane plane{.width = static_cast<int>(size.row_bytes),
                    .height = static_cast<int>(size.rows),
                    .stride = static_cast<ptrdiff_t>(size.row_bytes) + random.between(0, 9),
                    .samples = {},
                    .coded_width = reduced_size(static_cast<int>(size.row_bytes), upsampling.double_x[c]),
                    .coded_height = reduced_size(static_cast<int>(size.rows), upsampling.double_y[c])};
        plane.samples.resize(static_cast<size_t>(plane.stride) * size.rows, 0x5A);
        for (int y = 0; y < plane.coded_height; y++)
            for (int x = 0; x < plane.coded_width; x++)
                plane.samples[static_cast<size_t>(y * plane.stride + x)] =
                    static_cast<uint8_t>(random.one_in(4) ? random.of({0, 255}) : random.between(0, 255));
        planes.push_back(std::move(plane));
    }
}

// The CPU's planes; bytes behind rows are as they were.
std::vector<std::vector<uint8_t>> on_cpu(const Case &k) {
    std::vector<std::vector<uint8_t>> out;
    for (const Plane &plane : k.planes) out.push_back(plane.samples);
    CudaencCodedPicture picture{};
    for (size_t c = 0; c < out.size(); c++) picture.planes[c] = out[c].data(), picture.stride[c] = k.planes[c].stride;
    upsample(k.upsampling, k.format, picture, pool());
    return out;
}

// Twice as many samples, or less one: `length`.
std::vector<int> halfway(const std::vector<int> &from, int length) {
    std::vector<int> to;
    for (size_t i = 0; i < from.size(); i++) {
        to.push_back(from[i]);
        to.push_back(i + 1 < from.size() ? (from[i] + from[i + 1]) / 2 : from[i]);
    }
    to.resize(static_cast<size_t>(length));
    return to;
}

// [y][x], columns first, which round.
std::vector<std::vector<int>> by_formula(const Plane &plane, int double_x, int double_y) {
    std::vector<std::vector<int>> rows;
    for (int y = 0; y < plane.coded_height; y++) {
        const uint8_t *const row = plane.samples.data() + y * plane.stride;
        std::vector<int> values(row, row + plane.coded_width);
        for (int times = double_x; times--;) values = halfway(values, reduced_size(plane.width, times));
        rows.push_back(values);
    }
    std::vector<std::vector<int>> all(static_cast<size_t>(plane.height));
    for (int x = 0; x < plane.width; x++) {
        std::vector<int> column;
        for (const auto &row : rows) column.push_back(row[static_cast<size_t>(x)]);
        for (int times = double_y; times--;) column = halfway(column, reduced_size(plane.height, times));
        for (size_t y = 0; y < all.size(); y++) all[y].push_back(column[y]);
    }
    return all;
}

int light_by_formula(Inks inks, size_t component, int ink, int black) {
    if (component == 3) return 255;
    const double left = black * 257 / 65536.0;
    if (inks == Inks::cmyk) return static_cast<int>(std::floor(ink * left));
    return static_cast<int>(component ? std::floor((128 - ink) * left) + 128 : std::floor((255 - ink) * left));
}

START_TEST(formulas) {
    Random random(1);
    for (int round = 0; round < 60; round++) {
        const Case k(random, round, false);
        if (k.upsampling.rgb) continue;
        const auto planes = on_cpu(k);
        std::vector<std::vector<std::vector<int>>> expected;
        for (size_t c = 0; c < planes.size(); c++)
            expected.push_back(by_formula(k.planes[c], k.upsampling.double_x[c], k.upsampling.double_y[c]));
        for (size_t c = 0; c < planes.size(); c++)
            for (size_t y = 0; y < expected[c].size(); y++) {
                const size_t at = y * static_cast<size_t>(k.planes[c].stride);
                for (size_t x = 0; x < expected[c][y].size(); x++) {
                    const int sample = expected[c][y][x],
                              light = k.upsampling.inks == Inks::none
                                          ? sample
                                          : light_by_formula(k.upsampling.inks, c, sample, expected[3][y][x]);
                    EXPECT(planes[c][at + x] == light, "%s: component %zu, (%zu, %zu): %d, not %d", k.what.c_str(), c,
                           x, y, planes[c][at + x], light);
                }
                for (size_t x = expected[c][y].size(); x < static_cast<size_t>(k.planes[c].stride); x++)
                    EXPECT(planes[c][at + x] == 0x5A, "%s: behind row %zu", k.what.c_str(), y);
            }
    }
}
END_TEST

// A sample amid those that it stands for, by distances to the nearest two; doubled twice, the nearest.
double centred_by_formula(const Plane &plane, int double_x, int double_y, int x, int y) {
    const auto places = [](int i, int times, int count) {
        const double at = times == 1 ? (i + 0.5) / 2 - 0.5 : i >> times;
        const int before = static_cast<int>(std::floor(at));
        return std::tuple(std::clamp(before, 0, count - 1), std::clamp(before + 1, 0, count - 1), at - before);
    };
    const auto [left, right, from_left] = places(x, double_x, plane.coded_width);
    const auto [top, bottom, from_top] = places(y, double_y, plane.coded_height);
    const auto at = [&](int column, int row) {
        return plane.samples[static_cast<size_t>(row * plane.stride + column)];
    };
    return (1 - from_top) * ((1 - from_left) * at(left, top) + from_left * at(right, top)) +
           from_top * ((1 - from_left) * at(left, bottom) + from_left * at(right, bottom));
}

// R, G and B, within what rounding Y, Cb and Cr changes.
START_TEST(rgb) {
    Random random(3);
    for (int round = 3; round < 150; round += 6) {
        const Case k(random, round, false);
        const auto planes = on_cpu(k);
        EXPECT(k.upsampling.rgb && planes.size() == 3);
        for (int y = 0; y < k.format.height; y++)
            for (int x = 0; x < k.format.width; x++) {
                double coded[3];
                for (size_t c = 0; c < 3; c++)
                    coded[c] =
                        centred_by_formula(k.planes[c], k.upsampling.double_x[c], k.upsampling.double_y[c], x, y);
                const double cb = coded[1] - 128, cr = coded[2] - 128;
                const double expected[] = {coded[0] + 1.402 * cr, coded[0] - 0.344136 * cb - 0.714136 * cr,
                                           coded[0] + 1.772 * cb};
                for (size_t c = 0; c < 3; c++) {
                    const int sample = planes[c][static_cast<size_t>(y * k.planes[c].stride + x)];
                    EXPECT(std::fabs(sample - std::clamp(expected[c], 0.0, 255.0)) < 1.9,
                           "%s: component %zu, (%d, %d): %d, not %.2f", k.what.c_str(), c, x, y, sample, expected[c]);
                }
            }
    }
}
END_TEST

START_TEST(kernel) {
    const auto device = open_test_device(_i);
    Random random(2);
    const bool large = benched_on_gpu(device);
    for (int round = 0; round < (large ? 3 : 24); round++) {
        const Case k(random, round, large);
        std::vector<Guarded<uint8_t>> from, to;
        UpsampleParams params{.plane = {}, .row_blocks = 0, .inks = k.upsampling.inks, .rgb = k.upsampling.rgb};
        int rows = 0;
        double samples = 0;
        for (size_t c = 0; c < k.planes.size(); c++) {
            const Plane &plane = k.planes[c];
            from.emplace_back(device, plane.samples);
            to.emplace_back(device, std::vector<uint8_t>(plane.samples.size(), 0x5A));
            params.plane[c] = {
                .from = from[c].data(),
                .from_stride = plane.stride,
                .to = {.samples = to[c].data(), .stride = plane.stride, .width = plane.width, .height = plane.height},
                .double_x = k.upsampling.double_x[c],
                .double_y = k.upsampling.double_y[c]};
            params.row_blocks =
                std::max(params.row_blocks,
                         static_cast<int32_t>(blocks_for(static_cast<uint64_t>(plane.width), kUpsampleThreads)));
            rows = std::max(rows, plane.height);
            samples += static_cast<double>(plane.width) * plane.height;
        }
        const Stream stream(device);
        device->synchronize(Device::Stream{});
        bench("planes of a usual format", device, samples, "samples", [&] {
            device->launch(stream,
                           {static_cast<unsigned>(params.row_blocks * rows), static_cast<unsigned>(k.planes.size())},
                           kUpsampleThreads, params);
            device->synchronize(stream);
        });
        auto expected = on_cpu(k);
        for (size_t c = 0; c < expected.size(); c++) {
            const Plane &plane = k.planes[c];
            const std::vector<uint8_t> out = to[c].read("a plane");
            for (int y = 0; y < plane.height; y++)
                for (int x = 0; x < plane.stride; x++) {
                    const size_t at = static_cast<size_t>(y * plane.stride + x);
                    EXPECT(out[at] == (x < plane.width ? expected[c][at] : 0x5A), "%s: component %zu, (%d, %d)",
                           k.what.c_str(), c, x, y);
                }
        }
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("mjpeg_upsample");
    tcase_add_test(add_case(suite, "formulas"), formulas);
    tcase_add_test(add_case(suite, "rgb"), rgb);
    tcase_add_loop_test(add_case(suite, "kernel"), kernel, 0, static_cast<int>(device_specs.size()));
    return run_suite(suite);
}
