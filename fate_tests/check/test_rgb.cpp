// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of R, G and B to Y, Cb and Cr, through the C API on every device, against the equations in double.
#include <cmath>
#include <cstring>
#include <vector>

#include "../../common/rgb.h"
#include "pictures.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

struct Layout {
    int type, count, height, width, channels;
    bool channels_first;
};
constexpr Layout kLayouts[] = {
    {CUDAENC_SAMPLE_UINT8, 3, 6, 8, 3, false},   {CUDAENC_SAMPLE_UINT8, 1, 5, 301, 4, false},
    {CUDAENC_SAMPLE_UINT8, 2, 4, 3, 1, false},   {CUDAENC_SAMPLE_FLOAT16, 2, 7, 9, 3, true},
    {CUDAENC_SAMPLE_FLOAT16, 1, 2, 2, 3, false}, {CUDAENC_SAMPLE_FLOAT32, 2, 9, 5, 3, true},
    {CUDAENC_SAMPLE_FLOAT32, 1, 1, 1, 1, false},
};

size_t size(int a) { return static_cast<size_t>(a); }

CudaencConverter *open_converter(const std::string &spec) {
    CudaencConverterConfig config;
    EXPECT_EQ(cudaenc_converter_defaults(&config), CUDAENC_OK);
    config.device = spec.c_str();
    config.device_memory = spec != "cpu";
    config.threads = 3;
    CudaencConverter *converter;
    EXPECT(cudaenc_converter_open(&converter, &config) == CUDAENC_OK, "%s", cudaenc_last_error());
    return converter;
}

uint16_t half_of_quarter(int quarters) {  // quarters / 256, up to 1
    if (!quarters) return 0;
    const int exponent = static_cast<int>(std::floor(std::log2(quarters)));
    return static_cast<uint16_t>((exponent + 7) << 10 | (quarters << (10 - exponent) & 0x3ff));
}

// Where the samples are, and their values as 0 to 1.
struct Frames {
    std::vector<uint8_t> bytes;
    std::vector<double> values;  // [count][height][width][channels]
    CudaencRgbFrames described;
};

Frames make_frames(Random &random, const Layout &l) {
    const int bytes = 1 << l.type;
    const size_t samples = size(l.count) * size(l.height) * size(l.width) * size(l.channels);
    Frames frames{std::vector<uint8_t>(samples * size(bytes)), std::vector<double>(samples), {}};
    const ptrdiff_t plane = ptrdiff_t{l.height} * l.width * bytes;
    frames.described = {
        .samples = frames.bytes.data(),
        .type = l.type,
        .count = l.count,
        .height = l.height,
        .width = l.width,
        .channels = l.channels,
        .step = {plane * l.channels, ptrdiff_t{l.width} * bytes * (l.channels_first ? 1 : l.channels),
                 ptrdiff_t{bytes} * (l.channels_first ? 1 : l.channels), l.channels_first ? plane : bytes},
        .kr = 0.2126,
        .kb = 0.0722,
        .full_range = 0,
        .cuda_stream = nullptr,
        .planes = {}};
    size_t i = 0;
    for (int n = 0; n < l.count; n++)
        for (int y = 0; y < l.height; y++)
            for (int x = 0; x < l.width; x++)
                for (int c = 0; c < l.channels; c++, i++) {
                    const ptrdiff_t(&step)[4] = frames.described.step;
                    uint8_t *at = frames.bytes.data() + n * step[0] + y * step[1] + x * step[2] + c * step[3];
                    const int value = random.of({0, 255, random.between(0, 255)});
                    frames.values[i] = value / 255.0;
                    if (l.type == CUDAENC_SAMPLE_UINT8) {
                        *at = static_cast<uint8_t>(value);
                    } else if (l.type == CUDAENC_SAMPLE_FLOAT16) {
                        const uint16_t half = half_of_quarter(value + (value == 255));
                        frames.values[i] = (value + (value == 255)) / 256.0;
                        std::memcpy(at, &half, sizeof half);
                    } else {
                        const float single = static_cast<float>(value) / 255;
                        std::memcpy(at, &single, sizeof single);
                    }
                }
    return frames;
}

using Planes = std::array<std::vector<uint8_t>, 3>;
Planes make_planes(const Layout &l) {
    const size_t blocks = size(l.count) * size((l.height + 1) / 2) * size((l.width + 1) / 2);
    return {std::vector<uint8_t>(4 * blocks), std::vector<uint8_t>(blocks), std::vector<uint8_t>(blocks)};
}

// The exact values, before they are rounded.
double exact(const Frames &frames, const Layout &l, double kr, double kb, bool full, int plane, int n, int y, int x) {
    double sum = 0;
    const int side = plane ? 2 : 1;
    for (int i = 0; i < side * side; i++) {
        const int row = std::min(side * y + i / side, l.height - 1),
                  column = std::min(side * x + i % side, l.width - 1);
        const double *at = frames.values.data() +
                           ((size(n) * size(l.height) + size(row)) * size(l.width) + size(column)) * size(l.channels);
        const double red = at[0], green = at[l.channels == 1 ? 0 : 1], blue = at[l.channels == 1 ? 0 : 2];
        const double luma = kr * red + (1 - kr - kb) * green + kb * blue;
        sum += plane == 0 ? luma : plane == 1 ? (blue - luma) / (2 - 2 * kb) : (red - luma) / (2 - 2 * kr);
    }
    sum /= side * side;
    return plane ? 128 + sum * (full ? 255 : 224) : full ? 255 * sum : 16 + 219 * sum;
}

void expect_exact(const Planes &planes, const Frames &frames, const Layout &l) {
    const CudaencRgbFrames &f = frames.described;
    const int rows = (l.height + 1) / 2 * 2, columns = (l.width + 1) / 2 * 2;
    for (int plane = 0; plane < 3; plane++)
        for (size_t i = 0; i < planes[size(plane)].size(); i++) {
            const int wide = columns >> (plane > 0), high = rows >> (plane > 0), at = static_cast<int>(i);
            const double should =
                exact(frames, l, f.kr, f.kb, f.full_range, plane, at / wide / high, at / wide % high, at % wide);
            EXPECT(std::abs(planes[size(plane)][i] - should) < 1.01, "plane %d, %zu: %d, exactly %g", plane, i,
                   planes[size(plane)][i], should);
        }
}

int convert(CudaencConverter *converter, Frames &frames, Planes &planes) {
    for (size_t i = 0; i < 3; i++) frames.described.planes[i] = planes[i].data();
    return cudaenc_convert(converter, &frames.described);
}

// The device's memory is not the host's.
int convert_on(Device &device, CudaencConverter *converter, const Frames &frames, Planes &planes) {
    const std::shared_ptr<Device> shared(&device, [](Device *) {});
    DeviceArray<uint8_t> samples(shared, frames.bytes.size()), to[3];
    device.upload(nullptr, samples.data(), frames.bytes.data(), samples.bytes());
    device.synchronize(Device::Stream{});
    CudaencRgbFrames described = frames.described;
    described.samples = samples.data();
    for (size_t i = 0; i < 3; i++) {
        to[i] = DeviceArray<uint8_t>(shared, planes[i].size());
        described.planes[i] = to[i].data();
    }
    const int code = cudaenc_convert(converter, &described);
    for (size_t i = 0; i < 3; i++) device.download(nullptr, planes[i].data(), to[i].data(), to[i].bytes());
    device.synchronize(Device::Stream{});
    return code;
}

START_TEST(planes_are_exact_within_one) {
    const std::string &spec = device_specs[size(_i)];
    const std::shared_ptr<Device> device = open_test_device(_i);
    Random random(1);
    CudaencConverter *const cpu = open_converter("cpu"), *const converter = open_converter(spec);
    for (const Layout &l : kLayouts)
        for (const int full_range : {0, 1}) {
            Frames frames = make_frames(random, l);
            frames.described.full_range = full_range;
            if (full_range) frames.described.kr = 0.299, frames.described.kb = 0.114;
            Planes planes = make_planes(l), others = make_planes(l);
            EXPECT(convert(cpu, frames, planes) == CUDAENC_OK, "%s", cudaenc_last_error());
            expect_exact(planes, frames, l);
            EXPECT(convert_on(*device, converter, frames, others) == CUDAENC_OK, "%s", cudaenc_last_error());
            EXPECT(planes == others, "%s has other planes than the CPU", spec.c_str());
        }
    // A sample that is not allowed is told.
    for (const float value : {2.0f, -0.5f, NAN}) {
        const Layout l{CUDAENC_SAMPLE_FLOAT32, 2, 5, 4, 3, false};
        Frames frames = make_frames(random, l);
        std::memcpy(frames.bytes.data() + 4 * 77, &value, sizeof value);
        Planes planes = make_planes(l);
        for (const bool on_device : {false, true}) {
            const int code = on_device ? convert_on(*device, converter, frames, planes) : convert(cpu, frames, planes);
            EXPECT_EQ(code, CUDAENC_ERR_INVALID);
            EXPECT(std::strstr(cudaenc_last_error(), value > 1   ? "sample 2 "
                                                     : value < 0 ? "sample -0.5 "
                                                                 : "nan"),
                   "%s", cudaenc_last_error());
        }
    }
    cudaenc_converter_close(cpu);
    cudaenc_converter_close(converter);
}
END_TEST

START_TEST(halves_are_read) {
    for (uint32_t half = 0; half < 0x7c00; half++) {
        const int exponent = static_cast<int>(half >> 10);
        const double fraction = (half & 0x3ff) / 1024.0;
        const double should = exponent ? std::ldexp(1 + fraction, exponent - 15) : std::ldexp(fraction, -14);
        EXPECT(static_cast<double>(float_of_half(half)) == should, "half %x", half);
        EXPECT(static_cast<double>(float_of_half(half | 0x8000)) == -should, "half %x", half | 0x8000);
    }
    EXPECT(std::isinf(float_of_half(0x7c00)) && std::isnan(float_of_half(0x7e01)));
}
END_TEST

START_TEST(arguments_are_checked) {
    CudaencConverter *const converter = open_converter("cpu");
    const Layout l{CUDAENC_SAMPLE_FLOAT16, 1, 4, 4, 3, false};
    Random random(2);
    Frames frames = make_frames(random, l);
    Planes planes = make_planes(l);
    EXPECT_EQ(convert(converter, frames, planes), CUDAENC_OK);
    const auto refused_frames = [&](auto change, const char *line) {
        CudaencRgbFrames other = frames.described;
        change(other);
        EXPECT_EQ(cudaenc_convert(converter, &other), CUDAENC_ERR_INVALID);
        EXPECT(std::strstr(cudaenc_last_error(), line), "%s", cudaenc_last_error());
    };
    refused_frames([](CudaencRgbFrames &f) { f.samples = nullptr; }, "samples NULL");
    refused_frames([](CudaencRgbFrames &f) { f.planes[2] = nullptr; }, "planes[2] NULL");
    refused_frames([](CudaencRgbFrames &f) { f.type = 3; }, "type 3");
    refused_frames([](CudaencRgbFrames &f) { f.width = 0; }, "width 0");
    refused_frames([](CudaencRgbFrames &f) { f.channels = 2; }, "channels 2");
    refused_frames([](CudaencRgbFrames &f) { f.kr = 1; }, "kr 1 with kb 0.0722");
    refused_frames([](CudaencRgbFrames &f) { f.step[1] = 7; }, "step[1] 7");
    EXPECT_EQ(cudaenc_convert(nullptr, &frames.described), CUDAENC_ERR_INVALID);
    EXPECT_EQ(cudaenc_convert(converter, nullptr), CUDAENC_ERR_INVALID);
    cudaenc_converter_close(converter);
    cudaenc_converter_close(nullptr);
    CudaencConverterConfig config;
    cudaenc_converter_defaults(&config);
    config.threads = -1;
    CudaencConverter *none;
    EXPECT(cudaenc_converter_open(&none, &config) == CUDAENC_ERR_INVALID && !none);
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("rgb");
    TCase *any = add_case(suite, "any device");
    tcase_add_loop_test(any, planes_are_exact_within_one, 0, static_cast<int>(device_specs.size()));
    TCase *host = add_case(suite, "host");
    tcase_add_test(host, halves_are_read);
    tcase_add_test(host, arguments_are_checked);
    return run_suite(suite);
}
