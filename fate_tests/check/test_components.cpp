// SPDX-License-Identifier: LGPL-2.1-or-later
// JPEG 2000 of five and more components: decoded a few channels at a time, the same bytes on all devices, what is
// refused.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "../../common/cudaenc.h"
#include "../../common/device.h"
#include "pictures.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

using Bytes = std::vector<uint8_t>;

// Components that are alike, each in a plane.
CudaencFormat alike(int width, int height, int components, int depth, CudaencColorModel model) {
    CudaencFormat format = make_format(width, height, 1, depth, false, CUDAENC_COLOR_GRAY);
    format.components = format.planes = components;
    format.color_model = model;
    format.full_range = 1;
    return format;
}

struct Planes {
    CudaencFormat format;
    std::vector<Bytes> memory;
    std::vector<const uint8_t *> data;
    std::vector<ptrdiff_t> stride;

    // Smooth, other in each plane. Rows have gaps.
    Planes(Random &random, const CudaencFormat &f) : format(f) {
        const CudaencComponent &k = f.component[0];
        const size_t bytes = k.depth + k.shift > 8 ? 2 : 1;
        for (int c = 0; c < f.components; c++) {
            stride.push_back(static_cast<ptrdiff_t>(bytes) * (f.width + random.between(0, 5)));
            memory.emplace_back(static_cast<size_t>(stride.back() * f.height));
            const uint32_t limit = (1u << k.depth) - 1;
            for (int y = 0; y < f.height; y++)
                for (int x = 0; x < f.width; x++) {
                    const uint32_t ramp = static_cast<uint32_t>(x * (1 + c % 7) + y * 3 + c * 11) * (limit / 255 + 1);
                    const uint32_t word = ((ramp + random.below(limit / 32 + 1)) & limit) << k.shift;
                    uint8_t *to =
                        &memory.back()[static_cast<size_t>(y * stride.back()) + static_cast<size_t>(x) * bytes];
                    to[0] = static_cast<uint8_t>(word);
                    if (bytes == 2) to[1] = static_cast<uint8_t>(word >> 8);
                }
        }
        for (const Bytes &plane : memory) data.push_back(plane.data());
    }
    // Unsigned samples become signed ones, each less by half of the range.
    void flip() {
        const CudaencComponent &k = format.component[0];
        const int bit = k.shift + k.depth - 1;
        for (Bytes &plane : memory)
            for (size_t i = 0; i < plane.size(); i++)
                if (k.shift + k.depth <= 8 || i % 2 == static_cast<size_t>(bit / 8))
                    plane[i] ^= static_cast<uint8_t>(1 << bit % 8);
    }
    CudaencFrame frame() const {
        CudaencFrame frame{};
        frame.plane_data = data.data(), frame.plane_stride = stride.data();
        return frame;
    }
    uint32_t get(int c, int x, int y) const {
        const CudaencComponent &k = format.component[0];
        const size_t plane = static_cast<size_t>(c), bytes = k.depth + k.shift > 8 ? 2 : 1;
        const uint8_t *at = data[plane] + y * stride[plane] + x * static_cast<ptrdiff_t>(bytes);
        return (bytes == 2 ? at[0] | at[1] << 8 : at[0]) >> k.shift & ((1u << k.depth) - 1);
    }
};

// channels: as of the decoder's option, nullptr: those that the file names.
Picture decode(const Bytes &packet, const char *channels) {
    Log log;
    CudaencDecoderConfig config;
    cudaenc_decoder_defaults(&config, CUDAENC_CODEC_J2K);
    config.device = "cpu", config.channels = channels, config.threads = 1, config.async_depth = 1;
    config.log = Log::print, config.log_opaque = &log;
    CudaencDecoder *decoder;
    CudaencPictureInfo info{};
    const auto check = [&](int code, const char *what) {
        EXPECT(code == CUDAENC_OK, "%s of channels %s: %s", what, channels,
               log.lines.empty() ? "" : log.lines[0].c_str());
    };
    check(cudaenc_decoder_open(&decoder, &config), "open");
    check(cudaenc_decoder_read_header(decoder, packet.data(), packet.size(), &info), "header");
    Random random(1);
    Picture picture = make_picture(random, info.format);
    CudaencCodedPicture coded{};
    coded.data = packet.data(), coded.size = packet.size();
    for (int i = 0; i < info.format.planes; i++)
        coded.planes[i] = picture.memory[i].data(), coded.stride[i] = picture.stride[i];
    check(cudaenc_decoder_submit(decoder, &coded), "submit");
    CudaencDecodedPicture decoded{};
    check(cudaenc_decoder_wait(decoder, &decoded), "wait");
    EXPECT(!decoded.corrupt, "channels %s are damaged", channels);
    cudaenc_decoder_close(decoder);
    return picture;
}

// The mean squared error of components, four at a time.
double error_of(const Planes &planes, const Bytes &packet, int first, int last) {
    double sum = 0;
    const CudaencFormat &f = planes.format;
    for (int c = first; c < last; c += 4) {
        std::string channels;
        for (int i = c; i < std::min(c + 4, last); i++) channels += (i == c ? "" : ",") + std::to_string(i);
        const Picture picture = decode(packet, channels.c_str());
        for (int i = c; i < std::min(c + 4, last); i++)
            for (int y = 0; y < f.height; y++)
                for (int x = 0; x < f.width; x++)
                    sum += std::pow(static_cast<double>(picture.get(i - c, x, y)) - planes.get(i, x, y), 2);
    }
    return sum / (static_cast<double>(last - first) * f.width * f.height);
}

struct Kind {
    int components, depth;
    CudaencColorModel model;
    CudaencJ2kWavelet pred;
    int style, prog, layers;
    double ratio;  // of a target
    const char *poc = nullptr, *roi = nullptr;
};
constexpr auto kGray = CUDAENC_COLOR_GRAY;
constexpr auto kRgb = CUDAENC_COLOR_RGB;
constexpr auto k53 = CUDAENC_J2K_DWT53;
constexpr auto k97 = CUDAENC_J2K_DWT97;
const Kind kKinds[] = {
    {5, 8, kRgb, k53, 0, CUDAENC_J2K_LRCP, 1, 0},
    {5, 16, kRgb, k53, CUDAENC_J2K_HT, CUDAENC_J2K_RPCL, 1, 0},
    {5, 8, kRgb, k97, 0, CUDAENC_J2K_CPRL, 3, 3},
    {7, 12, kGray, k53, CUDAENC_J2K_BYPASS, CUDAENC_J2K_PCRL, 2, 0},
    {7, 8, kRgb, k53, 0, CUDAENC_J2K_RLCP, 1, 2},
    {7, 8, kRgb, k97, CUDAENC_J2K_HT, CUDAENC_J2K_LRCP, 1, 3},
    {16, 10, kGray, k97, CUDAENC_J2K_HT, CUDAENC_J2K_RPCL, 1, 3},
    {16, 8, kGray, k97, 0, CUDAENC_J2K_PCRL, 2, 3},
    {16, 8, kRgb, k97, 0, CUDAENC_J2K_LRCP, 1, 0},
    {257, 8, kGray, k53, CUDAENC_J2K_HT, CUDAENC_J2K_CPRL, 1, 0},
    {300, 8, kRgb, k53, 0, CUDAENC_J2K_LRCP, 1, 0, "0,0,1,2,256,rlcp/0,2,1,3,300,cprl/0,0,1,3,300,lrcp", "2,3,5,4"},
    {300, 8, kRgb, k97, CUDAENC_J2K_HT, CUDAENC_J2K_RPCL, 1, 2},
};

CudaencConfig config_of(const Kind &k, const char *device, Log *log) {
    const int side = k.components > 20 ? 9 : 40;
    CudaencConfig config = make_config(alike(side, side + 3, k.components, k.depth, k.model), device, log);
    CudaencJ2kOptions &o = config.j2k;
    o.format = k.components == 7 ? CUDAENC_J2K_JP2 : CUDAENC_J2K_CODESTREAM;
    o.pred = k.pred, o.cblk_style = k.style, o.prog = k.prog, o.levels = 2, o.layers = k.layers;
    o.compression_ratio = k.ratio, o.poc = k.poc, o.roi = k.roi;
    if (k.depth == 12) o.tile_width = 23;
    return config;
}

START_TEST(components_come_back) {
    const Kind &k = kKinds[_i];
    Log log;
    Random random(static_cast<uint64_t>(_i) + 1);
    const CudaencConfig config = config_of(k, "cpu", &log);
    const Planes planes(random, config.format);
    const Bytes packet = encode(config, planes.frame());
    const double error = error_of(planes, packet, 0, k.components),
                 samples = static_cast<double>(k.components) * config.format.width * config.format.height;
    if (k.ratio != 0)
        EXPECT(static_cast<double>(packet.size()) <= samples * k.depth / 8 / k.ratio, "%zu bytes", packet.size());
    if (k.pred == k53 && k.ratio == 0) EXPECT_EQ(error, 0);
    EXPECT(error < std::pow((1 << k.depth) / 16., 2), "%s: a squared error of %g", describe(config).c_str(), error);
}
END_TEST

START_TEST(devices_have_the_same_bytes) {
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    const bool is_gpu = spec.rfind("cuda", 0) == 0;
    for (size_t i = 0; i < std::size(kKinds); i++) {
        if (kKinds[i].components > 16 && !is_gpu && _i) continue;  // one order of threads is enough
        Log log;
        Random random(i + 1);
        CudaencConfig config = config_of(kKinds[i], "cpu", &log);
        const Planes planes(random, config.format);
        for (const int levels : {2, 0}) {
            config.j2k.levels = levels, config.device = "cpu", config.device_frames = 0;
            if (!levels) config.j2k.poc = nullptr;
            const Bytes expected = encode(config, planes.frame());
            config.device = spec.c_str();
            EXPECT(encode(config, planes.frame()) == expected, "%s", describe(config).c_str());

            const std::shared_ptr<Device> device = open_test_device(_i);
            std::vector<DeviceArray<uint8_t>> memory;
            Planes in_device = planes;
            for (size_t c = 0; c < planes.memory.size(); c++) {
                memory.emplace_back(device, planes.memory[c].size());
                device->upload(nullptr, memory[c].data(), planes.memory[c].data(), planes.memory[c].size());
                in_device.data[c] = memory[c].data();
            }
            device->synchronize(Device::Stream{});
            config.device_frames = 1;
            EXPECT(encode(config, in_device.frame()) == expected, "%s in device memory", describe(config).c_str());
        }
    }
}
END_TEST

// Of the host's memory, a frame of a megabyte and more is copied by threads before its upload.
START_TEST(staged_frames_and_targets_of_psnr) {
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    for (const bool psnr : {false, true}) {
        if (!psnr && _i && spec.rfind("emu", 0) == 0) continue;  // as above
        Log log;
        Random random(3);
        const int side = psnr ? 20 : 460;
        CudaencConfig config = make_config(alike(side, side, 6, 8, kGray), "cpu", &log);
        config.j2k.cblk_style = CUDAENC_J2K_HT, config.j2k.cblk_width = config.j2k.cblk_height = 64;
        config.j2k.psnr = psnr ? 40 : 0;
        const Planes planes(random, config.format);
        const Bytes expected = encode(config, planes.frame());
        if (psnr) EXPECT(10 * std::log10(255 * 255 / error_of(planes, expected, 0, 6)) >= 40, "PSNR is missed");
        config.device = spec.c_str();
        EXPECT(encode(config, planes.frame()) == expected, "psnr %d", psnr);
    }
}
END_TEST

START_TEST(most_components) {
    Log log;
    Random random(9);
    CudaencConfig config = make_config(alike(2, 2, CUDAENC_MAX_COMPONENTS, 8, kRgb), "cpu", &log);
    config.j2k.pred = k53, config.j2k.levels = 1;
    const Planes planes(random, config.format);
    const Bytes packet = encode(config, planes.frame());
    for (const int first : {0, 255, 8000, CUDAENC_MAX_COMPONENTS - 4})
        EXPECT_EQ(error_of(planes, packet, first, first + 4), 0);
    for (const std::string &spec : device_specs)
        if (spec.rfind("cuda", 0) == 0) {
            config.device = spec.c_str();
            EXPECT(encode(config, planes.frame()) == packet, "%s", spec.c_str());
        }
}
END_TEST

// cdef names colours and opacity, which are decoded where no channels are chosen.
START_TEST(files_name_their_colours) {
    for (const auto &[model, alpha, decoded] :
         {std::tuple{kRgb, 1, 4}, {kRgb, 0, 3}, {kGray, 0, 1}, {kGray, 1, 2}, {CUDAENC_COLOR_YUV, 0, 3}}) {
        Log log;
        Random random(5);
        CudaencConfig config = make_config(alike(6, 5, 6, 8, model), "cpu", &log);
        config.format.has_alpha = alpha;
        config.j2k.pred = k53, config.j2k.format = CUDAENC_J2K_JP2;
        const Planes planes(random, config.format);
        const Picture picture = decode(encode(config, planes.frame()), nullptr);
        EXPECT(picture.format.components == decoded && picture.format.color_model == model &&
                   picture.format.has_alpha == alpha,
               "%d components, model %d, alpha %d", picture.format.components, picture.format.color_model,
               picture.format.has_alpha);
        for (int c = 0; c < decoded; c++)
            for (int x = 0; x < 6; x++) EXPECT_EQ(picture.get(c, x, 2), planes.get(c, x, 2));
    }
}
END_TEST

// The same picture as unsigned samples has the same bytes but for the signs in SIZ.
START_TEST(signed_samples) {
    constexpr size_t kSsiz = 42;  // of a codestream; three bytes a component
    for (const auto &[components, depth, shift] :
         {std::array{1, 8, 0}, {3, 12, 0}, {3, 12, 4}, {4, 16, 0}, {6, 8, 0}, {300, 10, 2}})
        for (const int style : {0, static_cast<int>(CUDAENC_J2K_HT)})
            for (const double psnr : {0., 45.}) {
                Log log;
                Random random(8);
                CudaencConfig config =
                    make_config(alike(18, 7, components, depth, components < 3 ? kGray : kRgb), "cpu", &log);
                for (int c = 0; c < std::min(components, 4); c++)
                    config.format.component[c] = {components > 4 ? 0 : c, 0, depth > 8 ? 2 : 1, shift, depth, 0, 0};
                config.j2k.cblk_style = style, config.j2k.format = CUDAENC_J2K_CODESTREAM, config.j2k.psnr = psnr;
                config.j2k.pred = psnr != 0 ? k97 : k53, config.j2k.levels = components == 3 ? 0 : 2;
                Planes planes(random, config.format);
                Bytes expected = encode(config, planes.frame());
                for (int c = 0; c < components; c++) expected[kSsiz + 3 * static_cast<size_t>(c)] |= 128;
                planes.format.is_signed = config.format.is_signed = 1;
                planes.flip();
                for (size_t device = 0; device <= device_specs.size(); device++) {
                    if (components > 16 && device > 1) continue;  // one order of threads is enough
                    config.device = device ? device_specs[device - 1].c_str() : "cpu";
                    EXPECT(encode(config, planes.frame()) == expected, "%s: %s", config.device,
                           describe(config).c_str());
                }
                if (psnr == 0.) EXPECT_EQ(error_of(planes, expected, 0, components), 0);
            }
}
END_TEST

// From the MQ coder to the HT coder and back: marker segments have numbers of one byte, or of two.
START_TEST(recoded_components) {
    for (const int components : {5, 256, 257, 300}) {
        Log log;
        Random random(6);
        CudaencConfig config = make_config(alike(9, 8, components, 8, kRgb), "cpu", &log);
        const std::string poc = format_string("0,0,1,2,4,cprl/0,0,1,3,%d,rlcp", components);
        config.j2k.pred = k53, config.j2k.levels = 2, config.j2k.roi = "1,1,3,3", config.j2k.poc = poc.c_str();
        const Planes planes(random, config.format);
        Bytes packet = encode(config, planes.frame());
        for (const int htj2k : {1, 0}) {
            Bytes recoded(4 * packet.size());
            CudaencJ2kRecode recode{};
            recode.data = packet.data(), recode.size = packet.size(), recode.htj2k = htj2k, recode.threads = 1;
            recode.bytes = recoded.data(), recode.capacity = recoded.size();
            size_t bytes = 0;
            EXPECT(cudaenc_j2k_recode(&recode, &bytes) == CUDAENC_OK, "%s", cudaenc_last_error());
            packet.assign(recoded.begin(), recoded.begin() + static_cast<ptrdiff_t>(bytes));
            EXPECT_EQ(error_of(planes, packet, 0, components), 0);
        }
    }
}
END_TEST

// Of few planes both ways to tell of them are the same, in all codecs and with fields.
START_TEST(few_planes_in_arrays) {
    Random random(4);
    const Picture picture = make_picture(random, make_format(32, 32, 3, 8, false, CUDAENC_COLOR_YUV), Content::smooth);
    const CudaencFrame frame = picture.frame();
    CudaencFrame by_arrays{};
    by_arrays.plane_data = frame.data, by_arrays.plane_stride = frame.stride;
    for (const CudaencCodec codec : {CUDAENC_CODEC_J2K, CUDAENC_CODEC_MJPEG, CUDAENC_CODEC_H264}) {
        Log log;
        CudaencConfig config = make_config(picture.format, "cpu", &log);
        config.codec = codec;
        for (int c = 1; c < 3 && codec != CUDAENC_CODEC_J2K; c++)
            config.format.component[c].log2_subsample_x = config.format.component[c].log2_subsample_y = 1;
        config.fields = codec == CUDAENC_CODEC_J2K ? CUDAENC_TOP_FIELD_FIRST : CUDAENC_PROGRESSIVE;
        EXPECT(encode(config, by_arrays) == encode(config, frame), "codec %d", codec);
    }
}
END_TEST

#define SET(expression) [](CudaencConfig &c) { c.expression; }
const struct {
    void (*change)(CudaencConfig &);
    const char *line;
} kRefusals[] = {
    {SET(format.components = 16385),
     "16385 components in 5 planes is not allowed: both are 1 to 4, or alike, 5 to 16384"},
    {SET(format.components = -1), "both are 1 to 4, or alike, 5 to 16384"},
    {SET(format.planes = 4), "5 components in 4 planes"},
    {SET(format.planes = 1), "5 components in 1 planes"},
    {SET(format.component[0].plane = 1), "component 0 of 5: plane 1"},
    {SET(format.component[0].log2_subsample_x = 1), "component 0 of 5: plane 0, sub-sampling by 2^1"},
    {SET(format.component[0].depth = 17), "component 0: depth 17"},
    {SET(format.is_signed = 2), "is_signed 2 is not allowed: it is 0 to 1"},
    {[](CudaencConfig &c) {
         c.codec = CUDAENC_CODEC_H264, c.format.components = c.format.planes = 1, c.format.is_signed = 1;
     },
     "is_signed 1 is not allowed: it is 0 with codecs other than JPEG 2000"},
    {[](CudaencConfig &c) {
         c.format = make_format(8, 8, 3, 8, false, kRgb), c.format.is_signed = 1, c.j2k.xyz = CUDAENC_XYZ_ON;
     },
     "is_signed 1 is not allowed with xyz"},
    {[](CudaencConfig &c) {
         c.format = make_format(80, 80, 3, 8, false, kRgb), c.format.is_signed = 1;
         c.j2k.profile = CUDAENC_J2K_BROADCAST;
     },
     "profile broadcast: is_signed 1 is not allowed: samples are unsigned"},
    {SET(codec = CUDAENC_CODEC_MJPEG), "5 components in 5 planes is not allowed: both are 1 to 4"},
    {SET(codec = CUDAENC_CODEC_H264), "5 components in 5 planes is not allowed: both are 1 to 4"},
    {SET(fields = 1), "5 components are not allowed with fields: they are at most 4"},
    {SET(j2k.profile = CUDAENC_J2K_BROADCAST), "5 components is not allowed: there are at most 4"},
    {SET(j2k.profile = CUDAENC_J2K_DICOM_HT), "a picture of 5 components"},
    {SET(j2k.xyz = CUDAENC_XYZ_ON), "xyz 1 is not allowed"},
    {[](CudaencConfig &c) { c.format.color_model = kRgb, c.j2k.xyz = CUDAENC_XYZ_ALREADY; }, "xyz 2 is not allowed"},
    {[](CudaencConfig &c) { c.format.components = c.format.planes = 16384, c.j2k.tile_width = 1; },
     "cut 16384 components into 80 tiles: at most 64 are allowed"},
    {[](CudaencConfig &c) {
         c.format.components = c.format.planes = 256, c.j2k.tile_parts = CUDAENC_J2K_TILE_PART_COMPONENT;
     },
     "tile_parts cut a tile into"},
};

START_TEST(what_is_refused) {
    for (const auto &[change, line] : kRefusals) {
        Log log;
        CudaencConfig config = make_config(alike(80, 8, 5, 8, kGray), "cpu", &log);
        change(config);
        CudaencSession *session;
        EXPECT(cudaenc_open(&session, &config) == CUDAENC_ERR_INVALID, "%s", line);
        EXPECT(log.lines.size() == 1 && log.lines[0].find(line) != std::string::npos, "\"%s\", not \"%s\"",
               log.lines.empty() ? "" : log.lines[0].c_str(), line);
    }
}
END_TEST

START_TEST(frames_that_are_refused) {
    Log log;
    Random random(2);
    const CudaencConfig config = make_config(alike(8, 8, 5, 16, kGray), "cpu", &log);
    Planes planes(random, config.format);
    CudaencSession *session;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
    const auto expect = [&](const CudaencFrame &frame, const char *line) {
        log.lines.clear();
        EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_ERR_INVALID);
        EXPECT(log.lines.size() == 1 && log.lines[0].find(line) != std::string::npos, "no line \"%s\"", line);
    };
    CudaencFrame frame = planes.frame();
    frame.plane_stride = nullptr;
    expect(frame, "plane_data and plane_stride are not allowed without each other");
    frame.plane_data = nullptr;
    expect(frame, "plane_data NULL is not allowed with 5 planes: data has 4");
    planes.stride[4]--;
    expect(planes.frame(),
           planes.stride[4] < 16 ? "stride 15 of plane 4" : "plane 4 of the frame has samples of two bytes");
    planes.data[4] = nullptr;
    expect(planes.frame(), "plane 4 of the frame is missing");
    cudaenc_close(session);

    size_t row_bytes = 0, rows = 0;
    EXPECT_EQ(cudaenc_plane_size(&config.format, 4, &row_bytes, &rows), CUDAENC_OK);
    EXPECT(row_bytes == 16 && rows == 8);
    EXPECT_EQ(cudaenc_plane_size(&config.format, 5, &row_bytes, &rows), CUDAENC_ERR_INVALID);
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("components");
    const int devices = static_cast<int>(device_specs.size());
    tcase_add_loop_test(add_case(suite, "samples"), components_come_back, 0, std::size(kKinds));
    TCase *devices_case = add_case(suite, "devices");
    tcase_add_loop_test(devices_case, devices_have_the_same_bytes, 0, devices);
    tcase_add_loop_test(devices_case, staged_frames_and_targets_of_psnr, 0, devices);
    tcase_add_test(add_case(suite, "most"), most_components);
    tcase_add_test(add_case(suite, "files"), files_name_their_colours);
    TCase *checks = add_case(suite, "checks");
    tcase_add_test(add_case(suite, "signed"), signed_samples);
    tcase_add_test(add_case(suite, "recoded"), recoded_components);
    tcase_add_test(checks, few_planes_in_arrays);
    tcase_add_test(checks, what_is_refused);
    tcase_add_test(checks, frames_that_are_refused);
    return run_suite(suite);
}
