// SPDX-License-Identifier: LGPL-2.1-or-later
// X'Y'Z' of digital cinema: the formulas in double precision, then kernel = CPU, and whole pictures.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "../../common/j2k/transform/xyz_cpu.h"
#include "../../common/planes.h"
#include "../../cuda_kernels/device_pipeline.h"
#include "../../cuda_kernels/j2k/transform/xyz_params.h"
#include "j2k_case.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

struct Colour {
    double v[3];
};

// ---- The formulas, from nothing of the library's

// H.273 Tables 2 to 4 by code point, and equations.
struct Source {
    bool yuv, full;
    int depth, matrix, transfer, primaries;
};

double to_light(int transfer, double x) {
    switch (transfer) {
        case 8:
            return x;
        case 13:
            return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
        case 4:
            return std::pow(x, 2.2);
        case 5:
            return std::pow(x, 2.8);
        case 17:
            return std::pow(x, 2.6) * 52.37 / 48;
        case 100:  // RP 431-2, which has no number
            return std::pow(x, 2.6);
    }
    return std::pow(x, 2.4);
}

// The matrices that the standards print: IEC 61966-2-1, BT.2087, SMPTE RP 431-2 and EG 432-1.
const double (&matrix_of(int primaries))[3][3] {
    static const double k709[3][3] = {{0.41239080, 0.35758434, 0.18048079},
                                      {0.21263901, 0.71516868, 0.07219232},
                                      {0.01933082, 0.11919478, 0.95053215}};
    static const double k2020[3][3] = {{0.63695805, 0.14461690, 0.16888098},
                                       {0.26270021, 0.67799807, 0.05930172},
                                       {0.00000000, 0.02807269, 1.06098506}};
    static const double kDci[3][3] = {{0.44516982, 0.27713441, 0.17228267},
                                      {0.20949168, 0.72159525, 0.06891307},
                                      {0.00000000, 0.04706056, 0.90735539}};
    static const double kD65[3][3] = {{0.48657095, 0.26566769, 0.19821729},
                                      {0.22897456, 0.69173852, 0.07928691},
                                      {0.00000000, 0.04511338, 1.04394437}};
    static const double kXyz[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    return primaries == 9 ? k2020 : primaries == 11 ? kDci : primaries == 12 ? kD65 : primaries == 10 ? kXyz : k709;
}

Colour to_rgb(const Source &s, const Colour &c) {
    const double eighth = std::exp2(s.depth - 8), whole = std::exp2(s.depth) - 1;
    Colour n;
    for (int i = 0; i < 3; i++) {
        const bool chroma = s.yuv && i;
        n.v[i] = s.full   ? (c.v[i] - (chroma ? 128 * eighth : 0)) / whole
                 : chroma ? (c.v[i] - 128 * eighth) / (224 * eighth)
                          : (c.v[i] - 16 * eighth) / (219 * eighth);
    }
    if (!s.yuv) return n;
    const double kr = s.matrix == 1   ? 0.2126
                      : s.matrix == 9 ? 0.2627
                      : s.matrix == 7 ? 0.212
                                      : 0.299,
                 kb = s.matrix == 1   ? 0.0722
                      : s.matrix == 9 ? 0.0593
                      : s.matrix == 7 ? 0.087
                                      : 0.114;
    const double r = n.v[0] + 2 * (1 - kr) * n.v[2], b = n.v[0] + 2 * (1 - kb) * n.v[1];
    return {{r, (n.v[0] - kr * r - kb * b) / (1 - kr - kb), b}};
}

Colour codes_of(const Source &s, Colour rgb) {
    double light[3];
    for (int i = 0; i < 3; i++) light[i] = to_light(s.transfer, std::clamp(rgb.v[i], 0.0, 1.0));
    Colour codes;
    for (int i = 0; i < 3; i++) {
        const double *m = matrix_of(s.primaries)[i];
        const double x = m[0] * light[0] + m[1] * light[1] + m[2] * light[2];
        codes.v[i] = 4095 * std::pow(std::clamp(x * 48 / 52.37, 0.0, 1.0), 1 / 2.6);
    }
    return codes;
}

// ---- Pictures

CudaencFormat format_of(const Source &s, int width, int height, int sub_x = 0, int sub_y = 0) {
    CudaencFormat f = make_format(width, height, 3, s.depth, false, s.yuv ? CUDAENC_COLOR_YUV : CUDAENC_COLOR_RGB);
    for (int c = 1; c < 3; c++) f.component[c].log2_subsample_x = sub_x, f.component[c].log2_subsample_y = sub_y;
    f.full_range = s.full;
    f.color_matrix = s.matrix, f.color_transfer = s.transfer == 100 ? 2 : s.transfer, f.color_primaries = s.primaries;
    return f;
}

CudaencJ2kOptions options_of(const Source &s) {
    CudaencJ2kOptions options;
    cudaenc_j2k_defaults(&options);
    options.xyz = CUDAENC_XYZ_ON;
    if (s.transfer == 100) options.xyz_transfer = CUDAENC_XYZ_GAMMA_26;
    if (s.primaries == 10) options.xyz_primaries = CUDAENC_XYZ_PRIMARIES_XYZ;
    if (!s.yuv && !s.full) options.xyz_range = CUDAENC_XYZ_LIMITED;
    return options;
}

std::vector<uint16_t> convert(const Picture &picture, const Params &params) {
    const CudaencFrame frame = picture.frame();
    SampleLayout layout[3];
    for (int c = 0; c < 3; c++) {
        const CudaencComponent &k = params.input.component[c];
        layout[c] = layout_of(k, frame.data[k.plane], frame.stride[k.plane]);
    }
    const size_t stride = static_cast<size_t>(xyz_stride(params.width)), rows = static_cast<size_t>(params.height);
    std::vector<uint16_t> padded(3 * stride * rows), planes;
    for (int y = 0; y < params.height; y++)
        load_xyz_row(params.xyz->conversion, layout, params.width, params.height, y, padded.data());
    for (size_t row = 0; row < 3 * rows; row++)
        planes.insert(planes.end(), &padded[row * stride], &padded[row * stride] + params.width);
    return planes;
}

// Ramps of each component and of all, the corners, and random colours: more than 100 000.
std::vector<Colour> colours(Random &random, int depth) {
    std::vector<Colour> all;
    const int codes = 1 << depth, step = std::max(codes / 4096, 1);
    const double last = codes - 1, middle = codes / 2;
    for (int code = 0; code < codes; code += step)
        for (int c = 0; c < 5; c++) {
            Colour colour{{0, 0, 0}};
            for (int i = 0; i < 3; i++)
                colour.v[i] = i == c || c == 3 ? code : c == 4 && i ? middle : c == 4 ? code : 0;
            all.push_back(colour);
        }
    for (int corner = 0; corner < 8; corner++)
        all.push_back({{corner & 1 ? last : 0, corner & 2 ? last : 0, corner & 4 ? last : 0}});
    for (int i = 0; i < 100000; i++)
        all.push_back({{double(random.below(codes)), double(random.below(codes)), double(random.below(codes))}});
    return all;
}

constexpr Source kSources[] = {
    {false, true, 8, 0, 1, 1},     {false, true, 8, 0, 13, 1},    {false, true, 10, 0, 4, 12},
    {false, true, 12, 0, 100, 11}, {false, true, 12, 0, 17, 10},  {false, true, 16, 0, 8, 1},
    {false, true, 16, 0, 13, 9},   {false, true, 16, 0, 100, 12}, {false, false, 10, 0, 1, 1},
    {true, false, 8, 1, 1, 1},     {true, false, 10, 9, 14, 9},   {true, true, 8, 6, 13, 1},
    {true, false, 12, 1, 5, 1},    {true, true, 16, 9, 100, 12},  {true, false, 16, 7, 4, 1},
};
START_TEST(codes_are_those_of_the_formulas) {
    const Source s = kSources[_i];
    Random random(static_cast<uint64_t>(_i) + 1);
    const std::vector<Colour> all = colours(random, s.depth);
    constexpr int kWidth = 1000;
    const CudaencFormat format = format_of(s, kWidth, static_cast<int>(all.size() + kWidth - 1) / kWidth);
    Picture picture = make_picture(random, format);
    for (size_t i = 0; i < all.size(); i++)
        for (int c = 0; c < 3; c++)
            picture.set(c, static_cast<int>(i % kWidth), static_cast<int>(i / kWidth),
                        static_cast<uint32_t>(all[i].v[c]));
    const std::vector<uint16_t> planes = convert(picture, make_params(format, options_of(s)));
    double worst = 0;
    for (size_t i = 0; i < all.size(); i++) {
        const Colour exact = codes_of(s, to_rgb(s, all[i]));
        for (size_t c = 0; c < 3; c++) {
            const double error = std::fabs(planes[c * planes.size() / 3 + i] - exact.v[c]);
            worst = std::max(worst, error);
            EXPECT(error < 1, "source %d, colour %g %g %g: component %zu is %d, not %.3f", _i, all[i].v[0], all[i].v[1],
                   all[i].v[2], c, planes[c * planes.size() / 3 + i], exact.v[c]);
        }
    }
    std::printf("source %d: at most %.3f codes off\n", _i, worst);
}
END_TEST

START_TEST(white_is_white) {
    struct {
        int primaries, xyz[3];
    } const whites[] = {
        {1, {3883, 3960, 4092}}, {12, {3883, 3960, 4092}}, {11, {3794, 3960, 3890}}, {10, {3960, 3960, 3960}}};
    Random random(5);
    for (const auto &white : whites)
        for (const bool yuv : {false, true}) {
            const Source s{yuv, !yuv, 8, yuv ? 1 : 0, 1, white.primaries};
            const CudaencFormat format = format_of(s, 1, 1);
            Picture picture = make_picture(random, format);
            for (int c = 0; c < 3; c++) picture.set(c, 0, 0, !yuv ? 255 : c ? 128 : 235);
            const auto codes = convert(picture, make_params(format, options_of(s)));
            for (size_t c = 0; c < 3; c++)
                EXPECT(codes[c] == white.xyz[c], "primaries %d: white has %d in component %zu, not %d", white.primaries,
                       codes[c], c, white.xyz[c]);
        }
}
END_TEST

// Chroma that is sub-sampled: a picture whose chroma is linear in the position is exact away from the edges.
START_TEST(chroma_lies_between_its_samples) {
    Random random(6);
    for (int sub_x = 0; sub_x < 3; sub_x++)
        for (int sub_y = 0; sub_y < 3; sub_y++) {
            const Source s{true, true, 12, 1, 13, 1};
            const CudaencFormat format = format_of(s, 64, 48, sub_x, sub_y);
            Picture picture = make_picture(random, format);
            const auto chroma = [](int c, double x, double y) { return 2048 + (c == 1 ? 12 : -8) * x + 16 * (y - 24); };
            for (int c = 0; c < 3; c++)
                for (int y = 0; y < picture.component_rows(c); y++)
                    for (int x = 0; x < picture.columns(c); x++)
                        picture.set(c, x, y,
                                    static_cast<uint32_t>(
                                        c ? chroma(c, x << sub_x, ((y + 0.5) * (1 << sub_y)) - 0.5) + 0.5 : 2000));
            const auto planes = convert(picture, make_params(format, options_of(s)));
            for (int y = 4; y < 44; y++)
                for (int x = 0; x < 60; x++) {
                    const Colour exact = codes_of(s, to_rgb(s, {{2000, chroma(1, x, y), chroma(2, x, y)}}));
                    for (size_t c = 0; c < 3; c++) {
                        const int code = planes[c * planes.size() / 3 + static_cast<size_t>(y * 64 + x)];
                        EXPECT(std::fabs(code - exact.v[c]) < 2, "4:%d:%d, %d, %d: %d, not %.2f", sub_x, sub_y, x, y,
                               code, exact.v[c]);
                    }
                }
        }
}
END_TEST

// ---- The LUT

std::string write_cube(const char *text) {
    const std::string name = format_string("/tmp/cudaenc_%d.cube", static_cast<int>(getpid()));
    FILE *file = std::fopen(name.c_str(), "w");
    std::fputs(text, file);
    std::fclose(file);
    return name;
}

// Of a product that is linear along each edge of a cell: the formulas again, by sorting.
START_TEST(luts_are_interpolated) {
    constexpr int kSize = 5;
    Random random(7);
    std::string text = "TITLE \"a\"\n# comment\nLUT_3D_SIZE 5\nDOMAIN_MIN 0 0 0\nDOMAIN_MAX 1 1 1\n";
    std::vector<double> values;
    for (int i = 0; i < 3 * kSize * kSize * kSize; i++) {
        values.push_back(random.below(1001) / 1000.0);
        text += format_string("%.3f%s", values.back(), i % 3 == 2 ? "\n" : " ");
    }
    const std::string name = write_cube(text.c_str());
    const Source s{false, true, 10, 0, 100, 12};
    CudaencJ2kOptions options;
    cudaenc_j2k_defaults(&options);
    options.xyz = CUDAENC_XYZ_ON;
    options.xyz_lut = name.c_str();
    const CudaencFormat format = format_of(s, 200, 50);
    Picture picture = make_picture(random, format, Content::noise);
    for (int c = 0; c < 3; c++) picture.set(c, 0, 0, 0), picture.set(c, 1, 0, 1023), picture.set(c, 2, 0, 512);
    const auto planes = convert(picture, make_params(format, options));
    std::remove(name.c_str());
    for (int y = 0; y < 50; y++)
        for (int x = 0; x < 200; x++) {
            int cell[3], order[3] = {0, 1, 2};
            double part[3];
            for (int i = 0; i < 3; i++) {
                const double at = picture.get(i, x, y) / 1023.0 * (kSize - 1);
                cell[i] = std::min(static_cast<int>(at), kSize - 2);
                part[i] = at - cell[i];
            }
            std::stable_sort(order, order + 3, [&](int a, int b) { return part[a] > part[b]; });
            const auto entry = [&](int i) {
                return values[static_cast<size_t>(3 * ((cell[2] * kSize + cell[1]) * kSize + cell[0]) + i)];
            };
            Colour rgb{{entry(0), entry(1), entry(2)}};
            for (const int axis : order) {
                const double before[3] = {entry(0), entry(1), entry(2)};
                cell[axis]++;
                for (int i = 0; i < 3; i++) rgb.v[i] += (entry(i) - before[i]) * part[axis];
            }
            const Colour exact = codes_of(s, rgb);
            for (size_t c = 0; c < 3; c++) {
                const int code = planes[c * planes.size() / 3 + static_cast<size_t>(y * 200 + x)];
                EXPECT(std::fabs(code - exact.v[c]) < 1, "%d, %d: %d, not %.2f", x, y, code, exact.v[c]);
            }
        }
}
END_TEST

// What Resolve and editors of Windows write is the same LUT.
START_TEST(luts_have_several_headers) {
    const CudaencFormat format = format_of({false, true, 10, 0, 100, 12}, 40, 30);
    Random random(8);
    Picture picture = make_picture(random, format, Content::noise);
    std::string values;
    for (int i = 0; i < 3 * 8; i++) values += format_string("%d.%d%s", i % 2, i % 7, i % 3 == 2 ? "\r\n" : " ");
    CudaencJ2kOptions options;
    cudaenc_j2k_defaults(&options);
    options.xyz = CUDAENC_XYZ_ON;
    std::vector<std::vector<uint16_t>> planes;
    for (const char *header : {"LUT_3D_SIZE 2\nDOMAIN_MIN -0.5 -0.5 -0.5\nDOMAIN_MAX 2 2 2\n",
                               "LUT_3D_SIZE 2\nLUT_3D_INPUT_RANGE -0.5 2.0\n",
                               "\xEF\xBB\xBFLUT_3D_SIZE 2\r\nLUT_3D_INPUT_RANGE -0.5 2.0\r\n"}) {
        const std::string name = write_cube((header + values).c_str());
        options.xyz_lut = name.c_str();
        planes.push_back(convert(picture, make_params(format, options)));
        std::remove(name.c_str());
        EXPECT(planes.back() == planes.front(), "%s", header);
    }
}
END_TEST

START_TEST(what_cannot_be_converted_is_refused) {
    struct {
        const char *text, *says;
    } const luts[] = {{"LUT_3D_SIZE 1\n", "LUT_3D_SIZE is 2 to 129"},
                      {"LUT_3D_SIZE 2\n0 0 0\n", "it has 1 lines of values, not 8"},
                      {"0 0 0\n", "it has no LUT_3D_SIZE"},
                      {"LUT_3D_SIZE 2\n0 0\n", "'0 0' has not three numbers"},
                      {"LUT_1D_SIZE 2\n", "'LUT_1D_SIZE' is not known"},
                      {"LUT_3D_SIZE 2\nDOMAIN_MAX 0 1 1\n0 0 0\n0 0 0\n0 0 0\n0 0 0\n0 0 0\n0 0 0\n0 0 0\n0 0 0\n",
                       "its domain ends where it begins, or before"},
                      {"LUT_3D_SIZE 2\nLUT_3D_INPUT_RANGE 0\n", "'LUT_3D_INPUT_RANGE 0' has not two numbers"}};
    const auto refused = [](const CudaencFormat &format, const CudaencJ2kOptions &options) -> std::string {
        try {
            make_params(format, options);
            return "nothing";
        } catch (const Error &e) {
            return e.what();
        }
    };
    const Source rgb{false, true, 8, 0, 1, 1}, yuv{true, false, 8, 1, 1, 1};
    for (const auto &lut : luts) {
        const std::string name = write_cube(lut.text);
        CudaencJ2kOptions options = options_of(rgb);
        options.xyz_lut = name.c_str();
        const std::string line = refused(format_of(rgb, 8, 8), options);
        std::remove(name.c_str());
        EXPECT(line.find(lut.says) != std::string::npos, "'%s' is refused by '%s'", lut.text, line.c_str());
    }
    const auto expect = [&](const CudaencFormat &format, const CudaencJ2kOptions &options, const char *says) {
        const std::string line = refused(format, options);
        EXPECT(line.find(says) != std::string::npos, "'%s', not '%s'", line.c_str(), says);
    };
    CudaencJ2kOptions options = options_of(rgb);
    options.xyz_lut = "/nonexistent/a.cube";
    expect(format_of(rgb, 8, 8), options, "xyz_lut '/nonexistent/a.cube' is not allowed: it cannot be opened");
    const auto changed = [&](const Source &s, int CudaencFormat::*field, int value) {
        CudaencFormat format = format_of(s, 8, 8);
        format.*field = value;
        return format;
    };
    expect(changed(rgb, &CudaencFormat::color_transfer, 16), options_of(rgb), "transfer 16");
    expect(changed(rgb, &CudaencFormat::color_primaries, 3), options_of(rgb), "colour primaries 3");
    expect(changed(yuv, &CudaencFormat::color_matrix, 14), options_of(yuv), "colour matrix 14");
    expect(make_format(8, 8, 1, 8, false, CUDAENC_COLOR_GRAY), options_of(rgb),
           "xyz 1 is not allowed: it takes RGB and YUV");
    options = options_of(rgb);
    options.xyz = CUDAENC_XYZ_ALREADY;
    expect(format_of(rgb, 8, 8), options, "xyz 2 is not allowed with depth 8: it is 12 or 16");
    expect(format_of(yuv, 8, 8), options, "xyz 2 is not allowed: it takes RGB");
}
END_TEST

START_TEST(what_frames_do_not_tell_is_said) {
    const Source yuv{true, false, 8, 2, 2, 2};
    CudaencJ2kOptions options = options_of(yuv);
    EXPECT(make_params(format_of(yuv, 8, 8), options).warning.find("primaries bt709, transfer gamma24, matrix bt601") !=
               std::string::npos,
           "nothing is said of colours that are not known");
    options.xyz_matrix = CUDAENC_XYZ_BT709;
    options.xyz_transfer = CUDAENC_XYZ_GAMMA_24;
    options.xyz_primaries = CUDAENC_XYZ_PRIMARIES_BT709;
    EXPECT(make_params(format_of(yuv, 8, 8), options).warning.find("xyz:") == std::string::npos,
           "options are not heard");
}
END_TEST

// ---- Devices

// A format that can be converted, with colours at random.
CudaencFormat random_source(Random &random, int longest) {
    for (;;) {
        CudaencFormat format = random_format(random, longest);
        if (format.components != 3 || format.color_model == CUDAENC_COLOR_XYZ) continue;
        bool same = !format.component[0].log2_subsample_x && !format.component[0].log2_subsample_y;
        same &= format.component[1].log2_subsample_x == format.component[2].log2_subsample_x &&
                format.component[1].log2_subsample_y == format.component[2].log2_subsample_y;
        if (!same) continue;
        constexpr int kPrimaries[] = {1, 2, 4, 5, 6, 8, 9, 11, 12, 22}, kTransfers[] = {1, 2, 4, 5, 8, 13, 17},
                      kMatrices[] = {1, 2, 4, 5, 6, 7, 9};
        format.color_primaries = random.of(kPrimaries);
        format.color_transfer = random.of(kTransfers);
        format.color_matrix = random.of(kMatrices);
        format.full_range = random.one_in(2);
        return format;
    }
}

START_TEST(frames_are_alike_on_device_and_cpu) {
    const auto device = open_test_device(_i);
    const bool large = benched_on_gpu(device);
    Random random(static_cast<uint64_t>(_i) + 20);
    for (int round = 0; round < (large ? 2 : 20); round++) {
        const CudaencFormat format =
            large ? format_of({round == 1, round == 0, round ? 10 : 16, 1, 1, 1}, 4096, 2160, round, round)
                  : random_source(random, 70);
        CudaencJ2kOptions options = options_of({false, true, 8, 0, 1, 1});
        const Params params = make_params(format, options);
        Picture picture = make_picture(random, format);
        fill(random, picture, random.one_in(4) ? Content::smooth : Content::noise);
        const auto wanted = convert(picture, params);
        std::vector<Guarded<uint8_t>> planes;
        for (int plane = 0; plane < format.planes; plane++) planes.emplace_back(device, picture.memory[plane]);
        std::vector<SampleLayout> layout;
        for (int c = 0; c < 3; c++) {
            const CudaencComponent &k = format.component[c];
            layout.push_back(layout_of(k, planes[static_cast<size_t>(k.plane)].data(), picture.stride[k.plane]));
        }
        const Guarded<SampleLayout> layouts(device, layout);
        const Guarded<CurvePiece> to_light(device, params.xyz->to_light), to_code(device, params.xyz->to_code);
        const size_t stride = static_cast<size_t>(xyz_stride(format.width)),
                     rows = 3 * static_cast<size_t>(format.height);
        const Guarded<uint16_t> out(device, stride * rows);
        XyzConversion conversion = params.xyz->conversion;
        conversion.to_light.piece = to_light.data();
        conversion.to_code.piece = to_code.data();
        bench(large ? (round ? "yuv420p10" : "rgb48") : "frames", device, double(format.width) * format.height,
              "pixels", [&] {
                  device->launch(Device::Stream{},
                                 {blocks_for(static_cast<uint64_t>(format.width), kXyzThreads * kXyzPixels),
                                  static_cast<unsigned>(format.height)},
                                 kXyzThreads,
                                 XyzParams{.layout = layouts.data(),
                                           .conversion = conversion,
                                           .planes = out.data(),
                                           .width = format.width,
                                           .height = format.height});
              });
        const std::vector<uint16_t> padded = out.read("planes");
        std::vector<uint16_t> made;
        for (size_t row = 0; row < rows; row++)
            made.insert(made.end(), &padded[row * stride], &padded[row * stride] + format.width);
        EXPECT(made == wanted, "%s", describe(make_config(format, "cpu", nullptr)).c_str());
    }
}
END_TEST

// Whole pictures, with options at random: device = CPU.
START_TEST(pictures_are_alike_on_device_and_cpu) {
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    Random random(static_cast<uint64_t>(_i) + 40);
    std::string lut = "LUT_3D_SIZE 2\n";
    for (int i = 0; i < 8; i++)
        lut += format_string("%g %g %g\n", i & 1 ? 0.9 : 0.1, i & 2 ? 0.8 : 0.05, i & 4 ? 1.1 : -0.1);
    const std::string name = write_cube(lut.c_str());
    for (int done = 0; done < 12;) {
        const CudaencFormat format = random_source(random, 60);
        Log log;
        std::string text;
        CudaencConfig config = make_config(format, "cpu", &log);
        config.j2k = at_origin(random_options(random, format, text));
        config.j2k.xyz = CUDAENC_XYZ_ON;
        config.j2k.mct = -1;
        config.j2k.roi = nullptr;
        if (random.one_in(3)) config.j2k.xyz_lut = name.c_str();
        if (done == 0) config.j2k.psnr = 45, config.j2k.rate_control = -1;
        if (Work(format, config.j2k).warps > 1000) continue;
        done++;
        Picture picture = make_picture(random, format);
        picture.upside_down = random.one_in(3);
        fill(random, picture, static_cast<Content>(random.between(0, static_cast<int>(Content::kinds) - 1)));
        const auto on_cpu = encode(config, picture.frame());
        config.device = spec.c_str();
        EXPECT(encode(config, picture.frame()) == on_cpu, "%s", describe(config).c_str());
    }
    std::remove(name.c_str());
}
END_TEST

// Digital cinema, whose first level converts what it loads: device = CPU, over several strips of a warp.
START_TEST(the_first_level_converts) {
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    Random random(static_cast<uint64_t>(_i) + 50);
    for (int round = 0; round < 16; round++) {
        CudaencFormat format = random_source(random, 70);
        const bool yuv = round & 1;
        const int depth = random.between(8, 16);
        const Source s{yuv, random.one_in(2), depth, yuv ? 1 : 0, 1, 1};
        format = format_of(s, random.between(1, 300), random.between(1, 60), yuv ? random.between(0, 2) : 0,
                           yuv ? random.between(0, 2) : 0);
        Log log;
        CudaencConfig config = make_config(format, "cpu", &log);
        config.j2k.xyz = CUDAENC_XYZ_ON;
        config.j2k.pred = CUDAENC_J2K_DWT97;
        config.j2k.mct = round % 5 ? -1 : 0;
        config.j2k.tile_width = config.j2k.tile_height = round % 3 ? 0 : 64;
        Picture picture = make_picture(random, format, round % 4 ? Content::smooth : Content::noise);
        const auto on_cpu = encode(config, picture.frame());
        config.device = spec.c_str();
        EXPECT(encode(config, picture.frame()) == on_cpu, "%s", describe(config).c_str());
    }
}
END_TEST

// Frames that are X'Y'Z' already make the same bytes as RGB of 12 bits, of 16, and as XYZ.
START_TEST(frames_that_are_xyz_already) {
    Random random(60);
    Log log;
    std::vector<uint8_t> packets[3];
    const CudaencColorModel models[] = {CUDAENC_COLOR_XYZ, CUDAENC_COLOR_RGB, CUDAENC_COLOR_RGB};
    for (int i = 0; i < 3; i++) {
        CudaencFormat format = make_format(70, 50, 3, i == 2 ? 16 : 12, true, models[i]);
        if (i == 0)
            for (auto &k : format.component) k.shift = 4;
        CudaencConfig config = make_config(format, "cpu", &log);
        config.j2k.profile = CUDAENC_J2K_CINEMA_2K;
        config.j2k.frame_rate_num = 24, config.j2k.frame_rate_den = 1;
        if (i) config.j2k.xyz = CUDAENC_XYZ_ALREADY;
        Random pixels(61);
        Picture picture = make_picture(random, format);
        for (int c = 0; c < 3; c++)
            for (int y = 0; y < 50; y++)
                for (int x = 0; x < 70; x++) picture.set(c, x, y, pixels.below(4096) << (i == 2 ? 4 : 0));
        packets[i] = encode(config, picture.frame());
    }
    EXPECT(packets[0] == packets[1] && packets[0] == packets[2], "packets differ");
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    const int devices = static_cast<int>(device_specs.size());
    Suite *suite = suite_create("xyz");
    TCase *formulas = add_case(suite, "formulas");
    tcase_add_loop_test(formulas, codes_are_those_of_the_formulas, 0, static_cast<int>(std::size(kSources)));
    tcase_add_test(formulas, white_is_white);
    tcase_add_test(formulas, chroma_lies_between_its_samples);
    TCase *colours = add_case(suite, "colours");
    tcase_add_test(colours, luts_are_interpolated);
    tcase_add_test(colours, luts_have_several_headers);
    tcase_add_test(colours, what_cannot_be_converted_is_refused);
    tcase_add_test(colours, what_frames_do_not_tell_is_said);
    tcase_add_loop_test(add_case(suite, "frames"), frames_are_alike_on_device_and_cpu, 0, devices);
    TCase *pictures = add_case(suite, "pictures");
    tcase_add_loop_test(pictures, pictures_are_alike_on_device_and_cpu, 0, devices);
    tcase_add_loop_test(pictures, the_first_level_converts, 0, devices);
    tcase_add_test(pictures, frames_that_are_xyz_already);
    return run_suite(suite);
}
