// SPDX-License-Identifier: LGPL-2.1-or-later
// The JPEG decoder: samples within one of those of the inverse DCT in double precision; devices and the CPU alike, for
// streams that are whole, cut and broken; reduced sizes; pictures of any size in flight; what is refused.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../common/mjpeg/huffman_decode.h"
#include "../../common/mjpeg/mjpeg.h"
#include "broken.h"
#include "fault_device.h"
#include "jpeg_writer.h"
#include "mjpeg_pictures.h"
#include "timed_device.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

using Bytes = std::vector<uint8_t>;

// 24x20, 4:2:0, progressive: ten scans with spectral selection and successive approximation.
const Bytes progressive = {
    0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10, 0x4a, 0x46, 0x49, 0x46, 0x00, 0x01, 0x01, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00,
    0x00, 0xff, 0xdb, 0x00, 0x43, 0x00, 0x0d, 0x09, 0x0a, 0x0b, 0x0a, 0x08, 0x0d, 0x0b, 0x0a, 0x0b, 0x0e, 0x0e, 0x0d,
    0x0f, 0x13, 0x20, 0x15, 0x13, 0x12, 0x12, 0x13, 0x27, 0x1c, 0x1e, 0x17, 0x20, 0x2e, 0x29, 0x31, 0x30, 0x2e, 0x29,
    0x2d, 0x2c, 0x33, 0x3a, 0x4a, 0x3e, 0x33, 0x36, 0x46, 0x37, 0x2c, 0x2d, 0x40, 0x57, 0x41, 0x46, 0x4c, 0x4e, 0x52,
    0x53, 0x52, 0x32, 0x3e, 0x5a, 0x61, 0x5a, 0x50, 0x60, 0x4a, 0x51, 0x52, 0x4f, 0xff, 0xdb, 0x00, 0x43, 0x01, 0x0e,
    0x0e, 0x0e, 0x13, 0x11, 0x13, 0x26, 0x15, 0x15, 0x26, 0x4f, 0x35, 0x2d, 0x35, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f,
    0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f,
    0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f,
    0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0x4f, 0xff, 0xc2, 0x00, 0x11, 0x08, 0x00, 0x14, 0x00, 0x18, 0x03, 0x01, 0x22, 0x00,
    0x02, 0x11, 0x01, 0x03, 0x11, 0x01, 0xff, 0xc4, 0x00, 0x15, 0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x06, 0xff, 0xc4, 0x00, 0x14, 0x01, 0x01, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xda, 0x00, 0x0c, 0x03, 0x01,
    0x00, 0x02, 0x10, 0x03, 0x10, 0x00, 0x00, 0x01, 0x97, 0x00, 0x00, 0x01, 0xff, 0xc4, 0x00, 0x14, 0x10, 0x01, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x30, 0xff, 0xda, 0x00, 0x08,
    0x01, 0x01, 0x00, 0x01, 0x05, 0x02, 0x1f, 0xff, 0xc4, 0x00, 0x14, 0x11, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0xff, 0xda, 0x00, 0x08, 0x01, 0x03, 0x01, 0x01, 0x3f,
    0x01, 0x1f, 0xff, 0xc4, 0x00, 0x14, 0x11, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x20, 0xff, 0xda, 0x00, 0x08, 0x01, 0x02, 0x01, 0x01, 0x3f, 0x01, 0x1f, 0xff, 0xc4, 0x00,
    0x14, 0x10, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x30,
    0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00, 0x06, 0x3f, 0x02, 0x1f, 0xff, 0xc4, 0x00, 0x14, 0x10, 0x01, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x30, 0xff, 0xda, 0x00, 0x08, 0x01,
    0x01, 0x00, 0x01, 0x3f, 0x21, 0x1f, 0xff, 0xda, 0x00, 0x0c, 0x03, 0x01, 0x00, 0x02, 0x00, 0x03, 0x00, 0x00, 0x00,
    0x10, 0xf3, 0xcf, 0x3c, 0xff, 0xc4, 0x00, 0x14, 0x11, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0xff, 0xda, 0x00, 0x08, 0x01, 0x03, 0x01, 0x01, 0x3f, 0x10, 0x1f, 0xff,
    0xc4, 0x00, 0x14, 0x11, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x20, 0xff, 0xda, 0x00, 0x08, 0x01, 0x02, 0x01, 0x01, 0x3f, 0x10, 0x1f, 0xff, 0xc4, 0x00, 0x14, 0x10, 0x01,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x30, 0xff, 0xda, 0x00,
    0x08, 0x01, 0x01, 0x00, 0x01, 0x3f, 0x10, 0x1f, 0xff, 0xd9};

// A decoder of one device, and the lines that it logged.
class DecoderOf {
  public:
    explicit DecoderOf(const std::string &device, int lowres = 0, int64_t max_pixels = 0, int async_depth = 1,
                       int usual_format = 0, int rgb = 0) {
        CudaencDecoderConfig config;
        cudaenc_decoder_defaults(&config, CUDAENC_CODEC_MJPEG);
        config.device = device.c_str();
        config.async_depth = async_depth;
        config.threads = 2;
        config.lowres = lowres;
        config.usual_format = usual_format;
        config.rgb = rgb;
        if (max_pixels) config.max_pixels = max_pixels;
        config.log = [](void *opaque, CudaencLogLevel level, const char *line) {
            if (level <= CUDAENC_LOG_WARNING) static_cast<std::vector<std::string> *>(opaque)->push_back(line);
        };
        config.log_opaque = &lines;
        const int code = cudaenc_decoder_open(&decoder, &config);
        EXPECT(code == CUDAENC_OK, "%s: open: %d %s", device.c_str(), code, lines.empty() ? "" : lines[0].c_str());
    }
    ~DecoderOf() { cudaenc_decoder_close(decoder); }
    std::vector<std::string> lines;
    CudaencDecoder *decoder = nullptr;
};

struct Plane {
    int width = 0, height = 0;  // bytes, rows
    Bytes samples;              // rows of `width`, each with a margin behind it
    static constexpr int kMargin = 5;
    int stride() const { return width + kMargin; }
    const uint8_t *row(int y) const { return samples.data() + y * stride(); }
    uint8_t at(int x, int y) const { return samples[static_cast<size_t>(y * stride() + x)]; }
    bool operator==(const Plane &) const = default;
};

// What came of a packet.
struct Outcome {
    int code = CUDAENC_OK;
    bool corrupt = false;
    CudaencFormat format{};
    std::vector<Plane> planes;
    bool same(const Outcome &o) const { return code == o.code && corrupt == o.corrupt && planes == o.planes; }
};

// A packet in flight.
struct Flight {
    Outcome outcome;
    CudaencCodedPicture coded{};
};
void start(DecoderOf &d, const Bytes &packet, Flight &flight, const std::function<void()> &before_submit = [] {}) {
    CudaencPictureInfo info;
    Outcome &o = flight.outcome;
    o.code = cudaenc_decoder_read_header(d.decoder, packet.data(), packet.size(), &info);
    if (o.code != CUDAENC_OK) return;
    o.format = info.format;
    flight.coded.data = packet.data(), flight.coded.size = packet.size();
    flight.coded.opaque = &flight;
    o.planes.resize(static_cast<size_t>(info.format.components));
    for (size_t c = 0; c < o.planes.size(); c++) {
        const CudaencComponent &k = info.format.component[c];
        Plane &plane = o.planes[c];
        plane.width = (((info.format.width - 1) >> k.log2_subsample_x) + 1) * k.step;
        plane.height = ((info.format.height - 1) >> k.log2_subsample_y) + 1;
        plane.samples.assign(static_cast<size_t>(plane.stride() * plane.height), 0x5a);
        flight.coded.planes[c] = plane.samples.data();
        flight.coded.stride[c] = plane.stride();
    }
    before_submit();
    o.code = cudaenc_decoder_submit(d.decoder, &flight.coded);
}
void finish(DecoderOf &d, Flight &flight) {
    CudaencDecodedPicture picture;
    Outcome &o = flight.outcome;
    o.code = cudaenc_decoder_receive(d.decoder, &picture);
    EXPECT(picture.opaque == &flight, "another packet's picture");
    o.corrupt = picture.corrupt;
    if (o.code != CUDAENC_OK) o.planes.clear();
    for (const Plane &plane : o.planes)
        for (int y = 0; y < plane.height; y++)
            for (int x = plane.width; x < plane.stride(); x++)
                EXPECT(plane.at(x, y) == 0x5a, "samples beyond column %d", plane.width);
}
Outcome decode(DecoderOf &d, const Bytes &packet) {
    Flight flight;
    start(d, packet, flight);
    cudaenc_decoder_flush(d.decoder);
    if (flight.outcome.code == CUDAENC_OK) finish(d, flight);
    return flight.outcome;
}

Bytes random_jpeg(Random &random, int longest, std::string &what) {
    Log log;
    JpegTexts texts;
    const CudaencFormat format = random_jpeg_format(random, longest);
    CudaencConfig config = make_jpeg_config(format, "cpu", &log);
    config.mjpeg = random_jpeg_options(random, format, texts);
    const Picture picture = make_picture(random, format);
    what = describe_jpeg(config);
    return encode_jpeg(config, picture.frame());
}

// A baseline stream of a scan a component, each of which is a gray picture with its own tables. factors: 16 * H + V.
Bytes scan_a_component(Random &random, int width, int height, const std::vector<int> &factors, int adobe_transform) {
    int most_h = 1, most_v = 1;
    for (const int f : factors) most_h = std::max(most_h, f >> 4), most_v = std::max(most_v, f & 15);
    const int count = static_cast<int>(factors.size());
    JpegWriter out;
    out.put16(0xFFD8);
    if (adobe_transform >= 0) {
        out.put16(0xFFEE), out.put16(14);
        for (const char c : {'A', 'd', 'o', 'b', 'e', '\0', 'd', '\0', '\0', '\0', '\0'}) out.put8(c);
        out.put8(adobe_transform);
    }
    out.put16(0xFFC0), out.put16(8 + 3 * count), out.put8(8), out.put16(height), out.put16(width), out.put8(count);
    for (int c = 0; c < count; c++) out.put8(c + 1), out.put8(factors[static_cast<size_t>(c)]), out.put8(0);
    Log log;
    for (int c = 0; c < count; c++) {
        const int f = factors[static_cast<size_t>(c)];
        const CudaencConfig config =
            make_jpeg_config(make_jpeg_format(jpeg_formats[0], (width * (f >> 4) + most_h - 1) / most_h,
                                              (height * (f & 15) + most_v - 1) / most_v),
                             "cpu", &log);
        const Bytes gray = encode_jpeg(config, make_picture(random, config.format).frame());
        for (size_t at = 2;;) {
            const int marker = gray[at + 1];
            const size_t end = at + 2 + static_cast<size_t>(gray[at + 2] << 8 | gray[at + 3]);
            const auto copy = [&](size_t from, size_t to) {
                out.data.insert(out.data.end(), gray.begin() + static_cast<ptrdiff_t>(from),
                                gray.begin() + static_cast<ptrdiff_t>(to));
            };
            if (marker == 0xDB || marker == 0xC4) copy(at, end);  // DQT, DHT
            at = end;
            if (marker != 0xDA) continue;
            out.put16(0xFFDA), out.put16(8), out.put8(1), out.put8(c + 1), out.put8(0), out.put8(0), out.put8(63),
                out.put8(0);
            copy(end, gray.size() - 2);
            break;
        }
    }
    out.put16(0xFFD9);
    return out.data;
}

LosslessPicture random_lossless(Random &random, int bits, int predictor) {
    LosslessPicture picture{.width = random.between(1, 40),
                            .height = random.between(1, 20),
                            .bits = bits,
                            .predictor = predictor,
                            .point_transform = random.one_in(2) ? 0 : random.between(0, bits - 1),
                            .restart_rows = random.between(0, 3),
                            .interleaved = !random.one_in(3),
                            .components = {}};
    static constexpr int kFactors[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}};
    const int count = random.one_in(3) ? 1 : random.between(3, 4);
    const auto &luma = kFactors[random.below(count == 3 ? 5 : 1)];
    for (int c = 0; c < count; c++)
        picture.components.push_back({.h = c ? 1 : luma[0], .v = c ? 1 : luma[1], .samples = {}});
    picture.fill(random);
    return picture;
}

std::string first_device() { return device_specs.empty() ? "cpu" : device_specs[0]; }

std::string fallback_of(const DecoderOf &d) {
    for (const std::string &line : d.lines)
        if (line.starts_with("slow: ")) return line;
    return {};
}

}  // namespace

START_TEST(samples) {
    DecoderOf cpu("cpu");
    for (int round = 0; round < 60; round++) {
        Random random(static_cast<uint64_t>(round));
        std::string what;
        const Bytes packet = random_jpeg(random, round % 4 ? 40 : 150, what);
        const Outcome decoded = decode(cpu, packet);
        EXPECT(decoded.code == CUDAENC_OK && !decoded.corrupt, "%s: %d, corrupt %d", what.c_str(), decoded.code,
               decoded.corrupt);
        const JpegDecoder reference(packet.data(), packet.size());
        EXPECT_EQ(decoded.planes.size(), reference.components.size());
        for (size_t c = 0; c < decoded.planes.size(); c++) {
            const Plane &plane = decoded.planes[c];
            const std::vector<double> samples = reference.samples(static_cast<int>(c));
            EXPECT_EQ(samples.size(), static_cast<size_t>(plane.width * plane.height));
            for (int y = 0; y < plane.height; y++)
                for (int x = 0; x < plane.width; x++) {
                    const double is = std::clamp(samples[static_cast<size_t>(y * plane.width + x)], 0.0, 255.0);
                    EXPECT(std::fabs(plane.at(x, y) - is) <= 1.01, "%s: component %zu, %d %d: %d instead of %.2f",
                           what.c_str(), c, x, y, plane.at(x, y), is);
                }
        }
    }
}
END_TEST

START_TEST(devices) {
    DecoderOf cpu("cpu");
    for (const std::string &spec : device_specs) {
        DecoderOf device(spec);
        for (int round = 0; round < 40; round++) {
            Random random(static_cast<uint64_t>(round));
            std::string what;
            const Bytes packet = random_jpeg(random, round % 8 ? 60 : 300, what);
            EXPECT(decode(device, packet).same(decode(cpu, packet)), "%s: %s", spec.c_str(), what.c_str());
        }
        EXPECT(decode(device, progressive).same(decode(cpu, progressive)), "%s: progressive", spec.c_str());
    }
}
END_TEST

// Streams stay on the device, also RGB, whose components share one pair of tables.
START_TEST(stays_on_device) {
    for (const std::string &spec : device_specs)
        for (const int interval : {0, 1, 7, -1}) {
            DecoderOf device(spec);
            Random random(7);
            Log log;
            for (const JpegFormat &format : jpeg_formats) {
                CudaencConfig config = make_jpeg_config(make_jpeg_format(format, 250, 130), "cpu", &log);
                config.mjpeg.restart_interval = interval;
                const Picture picture = make_picture(random, config.format);
                const Outcome decoded = decode(device, encode_jpeg(config, picture.frame()));
                EXPECT(decoded.code == CUDAENC_OK && !decoded.corrupt, "%s", format.name);
                EXPECT(fallback_of(device).empty(), "%s, interval %d: %s", format.name, interval,
                       fallback_of(device).c_str());
            }
            decode(device, progressive);
            EXPECT(spec == "cpu" || !fallback_of(device).empty(), "nothing is said of progressive coding");
        }
}
END_TEST

// All depths, predictors and point transforms; samples in the highest bits. Devices leave it to the CPU, and say so.
START_TEST(lossless) {
    DecoderOf cpu("cpu"), device(first_device());
    for (int bits = 2; bits <= 16; bits++)
        for (int round = 0; round < 28; round++) {
            Random random(static_cast<uint64_t>(100 * bits + round));
            const LosslessPicture picture = random_lossless(random, bits, 1 + round % 7);
            const Bytes packet = picture.encode();
            const Outcome outcome = decode(cpu, packet);
            EXPECT(outcome.code == CUDAENC_OK && !outcome.corrupt, "%d bits, round %d: code %d, '%s'", bits, round,
                   outcome.code, cpu.lines.empty() ? "" : cpu.lines.back().c_str());
            EXPECT_EQ(outcome.planes.size(), picture.components.size());
            const int step = bits > 8 ? 2 : 1, shift = 8 * step - bits, lost = picture.point_transform;
            EXPECT_EQ(outcome.format.component[0].depth, bits);
            EXPECT_EQ(outcome.format.component[0].shift, shift);
            for (size_t c = 0; c < outcome.planes.size(); c++) {
                const LosslessPicture::Component &of = picture.components[c];
                EXPECT_EQ(outcome.planes[c].width, of.width * step);
                for (int y = 0; y < of.height; y++)
                    for (int x = 0; x < of.width; x++) {
                        uint16_t word = outcome.planes[c].at(x, y);
                        if (step == 2) std::memcpy(&word, outcome.planes[c].row(y) + 2 * x, sizeof word);
                        EXPECT(word == of.at(x, y) >> lost << lost << shift, "%d bits, round %d: component %zu, %d %d",
                               bits, round, c, x, y);
                    }
            }
            EXPECT(decode(device, packet).same(outcome), "%d bits, round %d: on a device", bits, round);
        }
    EXPECT(first_device() == "cpu" || fallback_of(device).find("lossless coding") != std::string::npos, "'%s'",
           fallback_of(device).c_str());
}
END_TEST

// Components that are scaled, and inks, on the kernels' way and on the host's.
START_TEST(usual_formats) {
    const struct {
        std::vector<int> factors;
        int adobe, chroma_x, chroma_y;
    } cases[] = {{{0x11}, -1, 0, 0},
                 {{0x22, 0x11, 0x11}, -1, 1, 1},
                 {{0x42, 0x11, 0x11}, -1, 1, 1},
                 {{0x44, 0x11, 0x11}, -1, 2, 2},
                 {{0x14, 0x11, 0x11}, -1, 0, 1},
                 {{0x11, 0x22, 0x21}, -1, 0, 0},
                 {{0x22, 0x21, 0x12}, -1, 0, 0},
                 {{0x21, 0x11, 0x11}, 0, 0, 0},  // RGB
                 {{0x11, 0x11, 0x11, 0x11}, 0, 0, 0},
                 {{0x22, 0x11, 0x11, 0x22}, 2, 0, 0},
                 {{0x11, 0x11, 0x11, 0x42}, 0, 0, 0}};
    Random random(17);
    for (const std::string &spec : {std::string("cpu"), first_device()})
        for (const int lowres : {0, 2}) {
            DecoderOf cpu("cpu", lowres, 0, 1, 1), device(spec, lowres, 0, 1, 1);
            for (const auto &k : cases) {
                const Bytes packet =
                    scan_a_component(random, random.between(1, 90), random.between(1, 60), k.factors, k.adobe);
                const Outcome outcome = decode(device, packet);
                const CudaencFormat &f = outcome.format;
                const size_t number = static_cast<size_t>(&k - cases);
                EXPECT(outcome.code == CUDAENC_OK && !outcome.corrupt, "case %zu", number);
                EXPECT(f.color_model != CUDAENC_COLOR_CMYK && f.color_model != CUDAENC_COLOR_YCCK);
                EXPECT_EQ(f.has_alpha, f.components == 4);
                for (int c = 0; c < f.components; c++) {
                    const bool chroma = c == 1 || c == 2;
                    EXPECT(f.component[c].log2_subsample_x == (chroma ? k.chroma_x : 0) &&
                               f.component[c].log2_subsample_y == (chroma ? k.chroma_y : 0),
                           "case %zu: component %d", number, c);
                }
                EXPECT(outcome.same(decode(cpu, packet)), "%s, lowres %d, case %zu", spec.c_str(), lowres, number);
            }
            EXPECT(fallback_of(device).empty(), "%s", fallback_of(device).c_str());
            EXPECT(std::count_if(device.lines.begin(), device.lines.end(), [](const std::string &line) {
                       return line.find("inks are not kept (said once)") != std::string::npos;
                   }) == 1);
        }
    DecoderOf cpu("cpu", 0, 0, 1, 1), device(first_device(), 0, 0, 1, 1);
    for (int round = 0; round < 40; round++) {
        const int bits = round % 4 ? 8 : 12;
        const Bytes packet = random_lossless(random, bits, 1 + round % 7).encode();
        const Outcome outcome = decode(cpu, packet);
        EXPECT(outcome.code == CUDAENC_OK || (bits > 8 && outcome.code == CUDAENC_ERR_UNSUPPORTED));
        EXPECT(outcome.same(decode(device, packet)), "round %d", round);
    }
}
END_TEST

// R, G and B of Y, Cb and Cr, on the kernels' way and on the host's.
START_TEST(rgb) {
    const struct {
        std::vector<int> factors;
        int adobe, components;
    } cases[] = {{{0x11}, -1, 1},
                 {{0x11, 0x11, 0x11}, -1, 3},
                 {{0x22, 0x11, 0x11}, -1, 3},
                 {{0x21, 0x11, 0x11}, -1, 3},
                 {{0x12, 0x11, 0x11}, -1, 3},
                 {{0x41, 0x11, 0x11}, -1, 3},
                 {{0x11, 0x22, 0x21}, -1, 3},
                 {{0x11, 0x11, 0x11}, 0, 3}};  // RGB
    Random random(18);
    for (const std::string &spec : {std::string("cpu"), first_device()})
        for (const int lowres : {0, 2}) {
            DecoderOf cpu("cpu", lowres, 0, 1, 0, 1), device(spec, lowres, 0, 1, 0, 1);
            for (const auto &k : cases) {
                const Bytes packet =
                    scan_a_component(random, random.between(1, 90), random.between(1, 60), k.factors, k.adobe);
                const Outcome outcome = decode(device, packet);
                const size_t number = static_cast<size_t>(&k - cases);
                EXPECT(outcome.code == CUDAENC_OK && !outcome.corrupt, "case %zu", number);
                EXPECT_EQ(outcome.format.components, k.components);
                EXPECT_EQ(outcome.format.color_model, k.components == 1 ? CUDAENC_COLOR_GRAY : CUDAENC_COLOR_RGB);
                for (const Plane &plane : outcome.planes)
                    EXPECT(plane.width == outcome.format.width && plane.height == outcome.format.height);
                EXPECT(outcome.same(decode(cpu, packet)), "%s, lowres %d, case %zu", spec.c_str(), lowres, number);
            }
            EXPECT(fallback_of(device).empty(), "%s", fallback_of(device).c_str());
            const Bytes cmyk = scan_a_component(random, 20, 20, {0x11, 0x11, 0x11, 0x11}, 0);
            EXPECT_EQ(decode(device, cmyk).code, CUDAENC_ERR_UNSUPPORTED);
        }
}
END_TEST

// Samples of 12 bits within one of those of the inverse DCT in double precision, sequential and progressive; reduced to
// the means of blocks.
START_TEST(twelve_bits) {
    for (int round = 0; round < 20; round++) {
        Random random(static_cast<uint64_t>(round));
        DeepPicture picture{
            .columns = random.between(1, 5), .rows = random.between(1, 4), .progressive = round % 2 == 1, .blocks = {}};
        picture.fill(random);
        const Bytes packet = picture.encode();
        DecoderOf cpu("cpu"), means("cpu", 3), device(first_device());
        const Outcome outcome = decode(cpu, packet), small = decode(means, packet);
        EXPECT(outcome.code == CUDAENC_OK && !outcome.corrupt, "code %d", outcome.code);
        EXPECT(decode(device, packet).same(outcome), "round %d: on a device", round);
        for (size_t b = 0; b < picture.blocks.size(); b++) {
            const std::array<int, 64> &levels = picture.blocks[b];
            const int left = static_cast<int>(b) % picture.columns * 8, top = static_cast<int>(b) / picture.columns * 8;
            const auto check = [&](const Plane &plane, int x, int y, double is) {
                uint16_t word;
                std::memcpy(&word, plane.row(y) + 2 * x, sizeof word);
                EXPECT(word % 16 == 0 && std::fabs(word / 16 - std::clamp(is + 2048, 0.0, 4095.0)) <= 1.01,
                       "round %d: %d %d: %d instead of %.2f", round, x, y, word / 16, is + 2048);
            };
            check(small.planes[0], left / 8, top / 8, levels[0] * DeepPicture::kDivisor / 8.0);
            for (int y = 0; y < 8; y++)
                for (int x = 0; x < 8; x++) {
                    double sum = 0;
                    for (int v = 0; v < 8; v++)
                        for (int u = 0; u < 8; u++)
                            sum += (u ? 1 : std::sqrt(0.5)) * (v ? 1 : std::sqrt(0.5)) / 4 *
                                   std::cos((2 * x + 1) * u * M_PI / 16) * std::cos((2 * y + 1) * v * M_PI / 16) *
                                   levels[static_cast<size_t>(8 * v + u)] * DeepPicture::kDivisor;
                    check(outcome.planes[0], left + x, top + y, sum);
                }
        }
    }
}
END_TEST

// A packet ends without EOI, in zeros: the picture is whole. It is not where other bytes follow.
START_TEST(zeros_without_end) {
    Random random(17);
    Log log;
    const CudaencConfig config = make_jpeg_config(make_jpeg_format(jpeg_formats[3], 40, 40), "cpu", &log);
    const CudaencConfig scans = make_jpeg_config(make_jpeg_format(jpeg_formats[6], 40, 40), "cpu", &log);
    const Bytes several = encode_jpeg(scans, make_picture(random, scans.format).frame());
    const Bytes baseline = encode_jpeg(config, make_picture(random, config.format).frame());
    const Bytes lossless = random_lossless(random, 12, 4).encode();
    for (const std::string &spec : {std::string("cpu"), first_device()}) {
        DecoderOf device(spec);
        for (const Bytes *whole : {&baseline, &several, &progressive, &lossless}) {
            const Outcome expected = decode(device, *whole);
            for (const size_t zeros : {0, 1, 4, 9, 5000})
                for (const uint8_t last : {0x00, 0x55}) {
                    Bytes packet(whole->begin(), whole->end() - 2);
                    packet.resize(packet.size() + zeros);
                    packet.insert(packet.end(), last ? 5 : 0, last);
                    const Outcome outcome = decode(device, packet);
                    EXPECT(outcome.code == CUDAENC_OK && outcome.corrupt == (last != 0) &&
                               outcome.planes == expected.planes,
                           "%s: %zu zeros, then %02x: code %d, corrupt %d", spec.c_str(), zeros, last, outcome.code,
                           outcome.corrupt);
                }
        }
    }
}
END_TEST

START_TEST(broken_streams) {
    DecoderOf cpu("cpu", 0, 1 << 20), device(first_device(), 0, 1 << 20);
    const int rounds = 600;
    int decoded = 0, corrupt = 0;
    for (int round = _i * rounds; round < (_i + 1) * rounds; round++) {
        Random random(static_cast<uint64_t>(round));
        std::string what;
        Bytes whole = round % 5 ? random_jpeg(random, 50, what) : progressive;
        if (round % 10 == 5) whole = random_lossless(random, random.between(2, 16), random.between(1, 7)).encode();
        if (round % 20 == 15) {
            DeepPicture deep{.columns = 3, .rows = 2, .progressive = random.one_in(2), .blocks = {}};
            deep.fill(random);
            whole = deep.encode();
        }
        const Bytes packet = broken(random, whole);
        const Outcome ours = decode(cpu, packet), theirs = decode(device, packet);
        EXPECT(ours.same(theirs), "round %d, %s: code %d and %d, corrupt %d and %d", round, what.c_str(), ours.code,
               theirs.code, ours.corrupt, theirs.corrupt);
        decoded += ours.code == CUDAENC_OK, corrupt += ours.corrupt;
    }
    EXPECT(decoded > rounds / 2 && corrupt > rounds / 6,
           "%d decoded, %d corrupt: the streams are not broken as they should be", decoded, corrupt);
}
END_TEST

START_TEST(prefixes) {
    DecoderOf cpu("cpu"), device(first_device());
    std::string what;
    Random random(3);
    Log log;
    CudaencConfig config = make_jpeg_config(make_jpeg_format(jpeg_formats[3], 40, 40), "cpu", &log);
    config.mjpeg.restart_interval = 4;
    const Picture picture = make_picture(random, config.format);
    const Bytes whole = encode_jpeg(config, picture.frame());
    for (const Bytes *packet : {&whole, &progressive})
        for (size_t size = 0; size < packet->size(); size += 1 + size / 300) {
            const Bytes prefix(packet->begin(), packet->begin() + static_cast<ptrdiff_t>(size));
            const Outcome ours = decode(cpu, prefix), theirs = decode(device, prefix);
            EXPECT(ours.same(theirs), "%zu bytes of %zu: code %d and %d, corrupt %d and %d", size, packet->size(),
                   ours.code, theirs.code, ours.corrupt, theirs.corrupt);
            EXPECT(ours.code != CUDAENC_OK || ours.corrupt || size + 2 >= packet->size(), "%zu of %zu bytes are whole",
                   size, packet->size());
        }
}
END_TEST

// A picture has bytes behind the last block of its scan, or of a restart interval: it has its samples. More than
// padding makes it corrupt, but for restart intervals, where cameras leave some.
START_TEST(bytes_too_many) {
    Random random(17);
    Log log;
    CudaencConfig config = make_jpeg_config(make_jpeg_format(jpeg_formats[3], 40, 40), "cpu", &log);
    config.mjpeg.restart_interval = 4;
    const Bytes baseline = encode_jpeg(config, make_picture(random, config.format).frame());
    for (const std::string &spec : {std::string("cpu"), first_device()}) {
        DecoderOf device(spec);
        for (const Bytes *whole : {&baseline, &progressive}) {
            const Outcome expected = decode(device, *whole);
            EXPECT(expected.code == CUDAENC_OK && !expected.corrupt, "%s: the picture as it is", spec.c_str());
            for (const uint8_t marker : {0xD0, 0xD9})
                for (const auto &[byte, count] :
                     {std::pair<uint8_t, size_t>{0x00, 4}, {0x55, 4}, {0xFE, 9}, {0x00, 3}, {0x55, 1}}) {
                    const uint8_t end[] = {0xFF, marker};
                    const auto at = std::search(whole->begin(), whole->end(), std::begin(end), std::end(end));
                    if (at == whole->end()) continue;  // no restart marker
                    Bytes packet(whole->begin(), at);
                    packet.insert(packet.end(), count, byte);
                    packet.insert(packet.end(), at, whole->end());
                    const Outcome outcome = decode(device, packet);
                    EXPECT(outcome.corrupt == (count > 3 && marker == 0xD9) && outcome.planes == expected.planes,
                           "%s: %zu bytes %02x before marker %02x: %d", spec.c_str(), count, byte, marker,
                           outcome.corrupt);
                }
        }
    }
}
END_TEST

// The mean of a block is that of its samples at each size; at the smallest, the DC coefficient is the sample.
START_TEST(reduced_sizes) {
    Random random(5);
    Log log;
    CudaencConfig config = make_jpeg_config(make_jpeg_format(jpeg_formats[3], 77, 61), "cpu", &log);
    const Picture picture = make_picture(random, config.format);
    const Bytes packet = encode_jpeg(config, picture.frame());
    const JpegDecoder reference(packet.data(), packet.size());
    for (int lowres = 1; lowres <= 3; lowres++) {
        DecoderOf cpu("cpu", lowres), device(first_device(), lowres);
        const Outcome ours = decode(cpu, packet);
        EXPECT_EQ(ours.format.width, (77 + (1 << lowres) - 1) >> lowres);
        EXPECT_EQ(ours.format.height, (61 + (1 << lowres) - 1) >> lowres);
        EXPECT(ours.same(decode(device, packet)), "lowres %d", lowres);
        if (lowres < 3) continue;
        for (size_t c = 0; c < ours.planes.size(); c++) {
            const JpegDecoder::Component &component = reference.components[c];
            for (int y = 0; y < ours.planes[c].height; y++)
                for (int x = 0; x < ours.planes[c].width; x++) {
                    const double dc =
                        component.block(x, y)[0] * reference.divisors[static_cast<size_t>(component.tq)][0];
                    EXPECT_EQ(ours.planes[c].at(x, y),
                              std::clamp(static_cast<int>(std::floor(dc / 8 + 128.5)), 0, 255));
                }
        }
    }
}
END_TEST

// Pictures of all kinds, whole and cut.
START_TEST(pictures_in_flight) {
    std::vector<Bytes> packets;
    for (int i = 0; i < 30; i++) {
        Random random(static_cast<uint64_t>(i));
        std::string what;
        packets.push_back(i % 7 == 3 ? progressive : random_jpeg(random, i % 3 ? 30 : 200, what));
        if (i % 5 == 4) packets.back().resize(packets.back().size() - 8);
    }
    for (const std::string &spec : {std::string("cpu"), first_device()})
        for (const size_t depth : {3, 12}) {
            DecoderOf one(spec), many(spec, 0, 0, static_cast<int>(depth));
            std::vector<Flight> flights(packets.size());
            size_t received = 0;
            for (size_t i = 0; i < packets.size(); i++) {
                if (i >= depth) finish(many, flights[received++]);
                start(many, packets[i], flights[i]);
                EXPECT(flights[i].outcome.code == CUDAENC_OK, "submit %zu: %d", i, flights[i].outcome.code);
            }
            cudaenc_decoder_flush(many.decoder);
            while (received < packets.size()) finish(many, flights[received++]);
            CudaencDecodedPicture none;
            EXPECT_EQ(cudaenc_decoder_receive(many.decoder, &none), CUDAENC_EOF);
            for (size_t i = 0; i < packets.size(); i++)
                EXPECT(flights[i].outcome.same(decode(one, packets[i])), "%s: packet %zu", spec.c_str(), i);
        }
}
END_TEST

constexpr mjpeg::DecoderOptions kWhole{.lowres = 0, .max_pixels = 1 << 20};

// A ring of a device whose calls may fail. Returns how many packets are lost, each with an error of its own. The others
// have the right samples. on_error() is called after each error.
static int decode_packets(
    Ring<Decoder> &ring, const std::vector<Bytes> &packets, const std::vector<Outcome> &expected,
    const std::function<void()> &on_error = [] {}) {
    std::vector<Outcome> outcomes = expected;  // their planes are overwritten
    int lost = 0;
    const auto failed = [&](const Error &e) {
        EXPECT(e.code == CUDAENC_ERR_DEVICE || e.code == CUDAENC_ERR_MEMORY, "code %d: %s", e.code, e.what());
        lost++;
        on_error();
    };
    const auto receive = [&] {
        Decoded decoded;
        void *opaque = nullptr;
        try {
            const int code = ring.receive(decoded, opaque, Receive::when_due);
            if (code != CUDAENC_OK) return code;
            const auto number = static_cast<size_t>(static_cast<Outcome *>(opaque) - outcomes.data());
            EXPECT(outcomes[number].planes == expected[number].planes, "the samples of packet %zu", number);
        } catch (const Error &e) {
            failed(e);
        }
        return static_cast<int>(CUDAENC_OK);
    };
    for (size_t i = 0; i < packets.size(); i++) {
        while (ring.full()) receive();
        CudaencCodedPicture coded{};
        coded.data = packets[i].data(), coded.size = packets[i].size();
        for (size_t c = 0; c < outcomes[i].planes.size(); c++) {
            Plane &plane = outcomes[i].planes[c];
            std::fill(plane.samples.begin(), plane.samples.end(), 0x5a);
            coded.planes[c] = plane.samples.data();
            coded.stride[c] = plane.stride();
        }
        try {
            ring.submit({coded, mjpeg::read_header(packets[i], kWhole)}, &outcomes[i]);
        } catch (const Error &e) {
            failed(e);
        }
    }
    ring.flush();
    while (receive() != CUDAENC_EOF) {
    }
    return lost;
}

// From a call of the device on all fail, until a packet is lost. Of those whose launch fails each is. Then the slots
// are as new.
START_TEST(every_device_call_may_fail) {
    DecoderOf cpu("cpu");
    std::vector<Bytes> packets;
    std::vector<Outcome> expected;
    Random random(13);
    Log log;
    for (const int format : {3, 3, 3, 0, 6, 3}) {
        CudaencConfig config = make_jpeg_config(make_jpeg_format(jpeg_formats[format], 20, 18), "cpu", &log);
        config.mjpeg.restart_interval = packets.size() == 2;
        packets.push_back(encode_jpeg(config, make_picture(random, config.format).frame()));
    }
    packets.push_back(progressive);
    for (const Bytes &packet : packets) expected.push_back(decode(cpu, packet));
    const std::shared_ptr<Device> device = open_test_device(0);  // one context, and one load of the kernels
    int reached = 0;
    for (int call = 1;; call++) {
        Failures failures;
        Ring<Decoder> ring(
            mjpeg::make_device_decoder(kWhole, 6, 1, std::make_shared<FaultDevice>(device, failures), false, false), 6);
        failures.begin(call, true);
        const int lost = decode_packets(ring, packets, expected, [&] { failures.end(); });
        EXPECT(failures.end() == (lost > 0) && lost <= 6, "call %d: %d packets are lost", call, lost);
        EXPECT(decode_packets(ring, packets, expected) == 0, "a packet is lost after call %d", call);
        if (!lost) break;
        reached++;
    }
    EXPECT(reached > 7 * 8);
}
END_TEST

// Pictures in flight share launches, of every kernel: the first one is alone, then three at a time are half of the
// slots. A failed call loses those of its launch at most, and each has the error.
START_TEST(shared_launches) {
    constexpr int kSlots = 6, kShare = kSlots / 2, kLaunches = 3;
    const auto open_ring = [](const std::shared_ptr<Device> &device) {
        return Ring<Decoder>(mjpeg::make_device_decoder(kWhole, kSlots, 1, device, false, false), kSlots);
    };
    DecoderOf cpu("cpu");
    std::vector<Bytes> packets;
    std::vector<Outcome> expected;
    Random random(14);
    Log log;
    const CudaencConfig config = make_jpeg_config(make_jpeg_format(jpeg_formats[3], 20, 18), "cpu", &log);
    for (int i = 0; i < 1 + (kLaunches - 1) * kShare; i++) {
        packets.push_back(encode_jpeg(config, make_picture(random, config.format).frame()));
        expected.push_back(decode(cpu, packets.back()));
    }
    const std::shared_ptr<Device> device = open_test_device(0);
    {
        const auto timed = std::make_shared<TimedDevice>(device);
        Ring<Decoder> ring = open_ring(timed);
        timed->begin();
        EXPECT_EQ(decode_packets(ring, packets, expected), 0);
        std::map<std::string, int> launches;
        for (const auto &launch : timed->end()) launches[launch.kernel]++;
        EXPECT_EQ(launches.size(), 5);
        for (const auto &[kernel, count] : launches) EXPECT(count == kLaunches, "%d of %s", count, kernel.c_str());
    }
    int most = 0;
    for (int call = 1;; call++) {
        Failures failures;
        Ring<Decoder> ring = open_ring(std::make_shared<FaultDevice>(device, failures));
        failures.begin(call, false);
        const int lost = decode_packets(ring, packets, expected);
        if (!failures.end()) break;
        EXPECT(lost >= 1, "call %d: nothing is said of it", call);
        EXPECT(decode_packets(ring, packets, expected) == 0, "a packet is lost after call %d", call);
        most = std::max(most, lost);
    }
    EXPECT_EQ(most, kShare);
}
END_TEST

// Tables stay on a device from picture to picture: others take their place, come back, and outlive broken streams.
START_TEST(tables_that_stay) {
    Random random(11);
    Log log;
    std::vector<Bytes> streams;
    for (const int format : {3, 0, 6})  // the last one in several scans
        for (const int quality : {30, 90})
            for (const int huffman : {CUDAENC_MJPEG_HUFFMAN_DEFAULT, CUDAENC_MJPEG_HUFFMAN_OPTIMAL}) {
                CudaencConfig config = make_jpeg_config(make_jpeg_format(jpeg_formats[format], 70, 50), "cpu", &log);
                config.mjpeg.quality = quality, config.mjpeg.huffman = huffman;
                const Picture picture = make_picture(random, config.format);
                streams.push_back(encode_jpeg(config, picture.frame()));
            }
    for (const int depth : {1, 2}) {
        DecoderOf cpu("cpu"), device(first_device(), 0, 0, depth);
        for (int i = 0; i < 60; i++) {
            Bytes packet = streams[random.below(static_cast<uint32_t>(random.one_in(3) ? streams.size() : 2))];
            if (random.one_in(6)) packet.resize(packet.size() / 2);
            EXPECT(decode(cpu, packet).same(decode(device, packet)), "depth %d, picture %d", depth, i);
        }
    }
}
END_TEST

// A header is not that of a packet that has overwritten its own.
START_TEST(overwritten_packets) {
    Random random(15);
    Log log;
    CudaencConfig config = make_jpeg_config(make_jpeg_format(jpeg_formats[3], 40, 30), "cpu", &log);
    const Picture picture = make_picture(random, config.format);
    std::vector<Bytes> packets;
    for (const int quality : {95, 20}) {
        config.mjpeg.quality = quality;
        packets.push_back(encode_jpeg(config, picture.frame()));
        packets.back().resize(packets[0].size());
    }
    for (const std::string &spec : {std::string("cpu"), first_device()}) {
        DecoderOf d(spec);
        Bytes buffer = packets[0];
        Flight flight;
        start(d, buffer, flight, [&] { std::copy(packets[1].begin(), packets[1].end(), buffer.begin()); });
        EXPECT_EQ(flight.outcome.code, CUDAENC_OK);
        cudaenc_decoder_flush(d.decoder);
        finish(d, flight);
        EXPECT(flight.outcome.same(decode(d, packets[1])), "%s", spec.c_str());
    }
}
END_TEST

// Pictures behind each other are told apart by their ends.
START_TEST(several_pictures) {
    Bytes packet = progressive;
    std::vector<Bytes> pictures = {progressive};
    for (int i = 0; i < 20; i++) {
        Random random(static_cast<uint64_t>(i));
        std::string what;
        pictures.push_back(random_jpeg(random, 60, what));
        packet.insert(packet.end(), pictures.back().begin(), pictures.back().end());
    }
    for (const Bytes &picture : pictures) {
        const size_t size = cudaenc_decoder_picture_size(packet.data(), packet.size());
        EXPECT(size == picture.size() && std::equal(picture.begin(), picture.end(), packet.begin()),
               "%zu bytes of a picture of %zu", size, picture.size());
        packet.erase(packet.begin(), packet.begin() + static_cast<ptrdiff_t>(size));
    }
    EXPECT_EQ(cudaenc_decoder_picture_size(packet.data(), packet.size()), 0);
    for (size_t size = 0; size < progressive.size(); size++)
        EXPECT_EQ(cudaenc_decoder_picture_size(progressive.data(), size), size);
    Bytes marked = progressive;
    const uint8_t tem[] = {0xFF, 0x01};  // which has no length
    marked.insert(marked.begin() + 2, tem, tem + 2);
    const size_t first = marked.size();
    marked.insert(marked.end(), progressive.begin(), progressive.end());
    EXPECT_EQ(cudaenc_decoder_picture_size(marked.data(), marked.size()), first);
}
END_TEST

static void check_refused(const Bytes &packet, int code, const std::string &line, int64_t max_pixels = 0) {
    DecoderOf cpu("cpu", 0, max_pixels);
    const Outcome outcome = decode(cpu, packet);
    EXPECT(outcome.code == code && cpu.lines.size() == 1 && cpu.lines[0].find(line) != std::string::npos,
           "'%s': code %d, '%s'", line.c_str(), outcome.code, cpu.lines.empty() ? "" : cpu.lines[0].c_str());
}

// Where the header of a scan begins.
static size_t find_scan(const Bytes &packet, int number) {
    const uint8_t sos[] = {0xFF, 0xDA};
    auto at = packet.begin() - 1;
    for (int i = 0; i <= number; i++) at = std::search(at + 1, packet.end(), std::begin(sos), std::end(sos));
    return static_cast<size_t>(at - packet.begin());
}

// Up to a scan's header.
static Bytes cut_at(const Bytes &packet, int scan, size_t more = 0) {
    return Bytes(packet.begin(), packet.begin() + static_cast<ptrdiff_t>(find_scan(packet, scan) + more));
}
static Bytes joined(std::initializer_list<Bytes> parts) {
    Bytes all;
    for (const Bytes &part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

// Scans that cannot be, or are not there: the picture has what the others tell.
START_TEST(scans_that_cannot_be) {
    Random random(1);
    Log log;
    CudaencConfig config = make_jpeg_config(make_jpeg_format(jpeg_formats[6], 40, 40), "cpu", &log);
    const Bytes sequential = encode_jpeg(config, make_picture(random, config.format).frame()), end = {0xFF, 0xD9};
    Bytes repeated = sequential;
    repeated[find_scan(repeated, 1) + 5] = repeated[find_scan(repeated, 0) + 5];  // the component
    const Bytes twice = joined({cut_at(progressive, 2),
                                Bytes(progressive.begin() + static_cast<ptrdiff_t>(find_scan(progressive, 1)),
                                      progressive.begin() + static_cast<ptrdiff_t>(find_scan(progressive, 2))),
                                end});
    Bytes interleaved = joined({cut_at(progressive, 2), end});  // DC, then AC
    const size_t ac = find_scan(interleaved, 1);
    interleaved[ac + 3] += 2, interleaved[ac + 4] = 2;
    const uint8_t other[] = {2, 0};
    interleaved.insert(interleaved.begin() + static_cast<ptrdiff_t>(ac + 7), other, other + 2);
    const std::pair<Bytes, const char *> cases[] = {
        {repeated, "a component is in two scans"},
        {joined({cut_at(sequential, 2), end}), "a component is in no scan"},
        {cut_at(progressive, 2, 3), "the stream ends within a marker segment"},
        {joined({cut_at(progressive, 0),
                 Bytes(progressive.begin() + static_cast<ptrdiff_t>(find_scan(progressive, 1)), progressive.end())}),
         "a scan of AC comes before that of DC"},
        {twice, "a scan refines bits that are not there, or repeats them"},
        {interleaved, "spectral selection or successive approximation is not allowed"}};
    for (const auto &[packet, line] : cases) {
        DecoderOf cpu("cpu"), device(first_device());
        const Outcome outcome = decode(cpu, packet);
        EXPECT(outcome.code == CUDAENC_OK && outcome.corrupt && cpu.lines.size() == 1 &&
                   cpu.lines[0].find(line) != std::string::npos,
               "%s: code %d, '%s'", line, outcome.code, cpu.lines.empty() ? "" : cpu.lines[0].c_str());
        EXPECT(decode(device, packet).same(outcome), "%s: on a device", line);
    }
}
END_TEST

// The first EXIF is the picture's; an ICC profile has all of its chunks, each of the same count.
START_TEST(segments_before_the_frame) {
    using namespace std::string_literals;
    const auto read = [](std::initializer_list<std::string> segments, DecoderOf &cpu, Bytes &packet) {
        packet = progressive;
        auto at = packet.begin() + 2;
        for (const std::string &segment : segments) {
            const size_t size = segment.size() + 1;
            const uint8_t head[] = {0xFF, static_cast<uint8_t>(segment[0]), static_cast<uint8_t>(size >> 8),
                                    static_cast<uint8_t>(size)};
            at = packet.insert(at, head, head + 4) + 4;
            at = packet.insert(at, segment.begin() + 1, segment.end()) + static_cast<ptrdiff_t>(segment.size() - 1);
        }
        CudaencPictureInfo info;
        info.struct_size = sizeof info;
        EXPECT_EQ(cudaenc_decoder_read_header(cpu.decoder, packet.data(), packet.size(), &info), CUDAENC_OK);
        return info;
    };
    const auto exif = [](char orientation) {
        return "\xE1"s + "Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0"s + orientation + "\0\0"s;
    };
    const auto chunk = [](char number, char count) { return "\xE2ICC_PROFILE\0"s + number + count + "part"; };
    DecoderOf cpu("cpu");
    Bytes packet;
    EXPECT_EQ(read({exif(6), exif(3)}, cpu, packet).orientation, 6);
    const auto typed = [](const std::string &order, const std::string &type, const std::string &value) {
        const bool little = order == "II";
        const std::string tag = little ? "\1\0\x12\1"s : "\0\1\1\x12"s, one = little ? "\1\0\0\0"s : "\0\0\0\1"s;
        return "\xE1"s + "Exif\0\0"s + order + (little ? "*\0\x08\0\0\0"s : "\0*\0\0\0\x08"s) + tag + type + one +
               value;
    };
    EXPECT_EQ(read({typed("II", "\4\0"s, "\6\0\0\0"s)}, cpu, packet).orientation, 6);
    EXPECT_EQ(read({typed("MM", "\0\4"s, "\0\0\0\6"s)}, cpu, packet).orientation, 6);
    EXPECT_EQ(read({typed("MM", "\0\x09"s, "\0\0\0\6"s)}, cpu, packet).orientation, 6);
    EXPECT_EQ(read({typed("MM", "\0\x08"s, "\0\6\0\0"s)}, cpu, packet).orientation, 6);
    EXPECT_EQ(read({typed("II", "\1\0"s, "\6\0\0\0"s)}, cpu, packet).orientation, 6);
    EXPECT_EQ(read({typed("MM", "\0\x09"s, "\xff\xff\xff\xfa"s)}, cpu, packet).orientation, 1);
    EXPECT_EQ(read({typed("MM", "\0\5"s, "\0\0\0\6"s)}, cpu, packet).orientation, 1);  // RATIONAL
    EXPECT_EQ(read({chunk(2, 2), chunk(1, 2)}, cpu, packet).icc_profile_size, 8);
    EXPECT_EQ(read({chunk(1, 2), chunk(3, 2)}, cpu, packet).icc_profile_size, 0);
    EXPECT_EQ(read({chunk(1, 2), chunk(2, 3)}, cpu, packet).icc_profile_size, 0);
}
END_TEST

// TEM has no length; tables behind a component's first scan are not its own; factors of a single component mean
// nothing.
START_TEST(what_does_not_matter) {
    Random random(1);
    Log log;
    const CudaencConfig config = make_jpeg_config(make_jpeg_format(jpeg_formats[0], 40, 40), "cpu", &log);
    const Bytes gray = encode_jpeg(config, make_picture(random, config.format).frame());
    Bytes marked = progressive, divisors = {0xFF, 0xDB, 0, 67, 0}, retold = progressive, sampled = gray;
    marked.insert(marked.begin() + 2, {0xFF, 0x01});
    divisors.resize(69, 1);
    retold.insert(retold.begin() + static_cast<ptrdiff_t>(find_scan(retold, 3)), divisors.begin(), divisors.end());
    const uint8_t sof0[] = {0xFF, 0xC0};
    std::search(sampled.begin(), sampled.end(), std::begin(sof0), std::end(sof0))[11] = 0x31;
    const struct {
        const Bytes &packet, &like;
        const char *what;
    } cases[] = {{marked, progressive, "TEM"}, {retold, progressive, "tables"}, {sampled, gray, "factors"}};
    for (const auto &c : cases) {
        DecoderOf cpu("cpu"), device(first_device());
        const Outcome outcome = decode(cpu, c.packet);
        EXPECT(outcome.code == CUDAENC_OK && outcome.same(decode(cpu, c.like)), "%s", c.what);
        EXPECT(decode(device, c.packet).same(outcome), "%s: on a device", c.what);
    }
}
END_TEST

static void check_plane_refused(const std::string &spec, const Bytes &packet) {
    DecoderOf d(spec);
    Flight flight;
    CudaencDecodedPicture picture;
    uint8_t row[64];
    flight.coded.data = packet.data(), flight.coded.size = packet.size();
    flight.coded.planes[0] = row;  // none of chroma
    flight.coded.stride[0] = sizeof row;
    int code = cudaenc_decoder_submit(d.decoder, &flight.coded);
    cudaenc_decoder_flush(d.decoder);
    if (code == CUDAENC_OK) code = cudaenc_decoder_receive(d.decoder, &picture);
    EXPECT(code == CUDAENC_ERR_INVALID && d.lines.size() == 1 && d.lines[0].find("planes[1] is NULL") == 0,
           "%s: code %d, '%s'", spec.c_str(), code, d.lines.empty() ? "" : d.lines[0].c_str());
}

START_TEST(refusals) {
    Random random(1);
    Log log;
    const CudaencConfig config = make_jpeg_config(make_jpeg_format(jpeg_formats[3], 40, 40), "cpu", &log);
    const Picture picture = make_picture(random, config.format);
    const Bytes packet = encode_jpeg(config, picture.frame());
    const uint8_t sof0[] = {0xFF, 0xC0};
    const auto sof = std::search(packet.begin(), packet.end(), std::begin(sof0), std::end(sof0));
    const auto with = [&](size_t at, uint8_t value) {
        Bytes changed = packet;
        changed[static_cast<size_t>(sof - packet.begin()) + at] = value;
        return changed;
    };
    check_refused({}, CUDAENC_ERR_INVALID, "data NULL");
    check_refused({0}, CUDAENC_ERR_INVALID, "no SOI");
    check_refused({'G', 'I', 'F'}, CUDAENC_ERR_INVALID, "no SOI");
    check_refused({0xFF, 0xD8, 0xFF, 0xD9}, CUDAENC_ERR_INVALID, "no scan");
    check_refused(with(1, 0xC5), CUDAENC_ERR_UNSUPPORTED, "hierarchical coding");
    check_refused(with(1, 0xC9), CUDAENC_ERR_UNSUPPORTED, "arithmetic coding");
    check_refused(with(3, 1), CUDAENC_ERR_INVALID, "a marker segment of length 1");
    check_refused(with(4, 10), CUDAENC_ERR_UNSUPPORTED, "10 bits");
    check_refused(with(6, 0), CUDAENC_ERR_UNSUPPORTED, "a height that DNL tells");
    check_refused(with(8, 0), CUDAENC_ERR_INVALID, "a width of 0");
    check_refused(with(11, 0x31), CUDAENC_ERR_UNSUPPORTED, "sampling factors of 3 and 1");
    check_refused(with(11, 0x50), CUDAENC_ERR_INVALID, "sampling factors 50");
    Bytes twice = packet;
    twice.insert(twice.begin() + (sof - packet.begin()), sof, sof + 19);
    check_refused(twice, CUDAENC_ERR_INVALID, "a second frame header");
    enum : uint8_t { kSof = 0xC0, kDht = 0xC4, kSos = 0xDA, kDqt = 0xDB };
    const struct {
        uint8_t marker;  // of the first such segment
        size_t at;       // of the byte that changes
        uint8_t value;
        const char *line;
    } changes[] = {
        {kDqt, 3, 3, "a marker segment is too short"},
        {kDqt, 4, 0x20, "a quantisation table of Pq and Tq 20"},
        {kDqt, 4, 0x04, "a quantisation table of Pq and Tq 04"},
        {kSof, 11, 0x15, "sampling factors 15"},
        {kSof, 11, 0x51, "sampling factors 51"},
        {kSof, 11, 0x43, "an MCU of 14 blocks"},
        {kSof, 12, 4, "quantisation table 4"},
        {kSof, 12, 3, "quantisation table 3 is missing"},
        {kDht, 4, 0x20, "a Huffman table of Tc and Th 20"},
        {kDht, 4, 0x04, "a Huffman table of Tc and Th 04"},
        {kDht, 5, 3, "a Huffman table with too many codes of 1 bits"},
        {kDht, 20, 255, "a Huffman table of 2"},
        {kDht, 21, 16, "a DC category of 16"},
        {kSos, 4, 0, "a scan of 0 components"},
        {kSos, 4, 4, "a scan of 4 components"},
        {kSos, 5, 9, "a scan of component 9, which the frame does not have"},
        {kSos, 6, 0x40, "a scan with Huffman table 4"},
        {kSos, 6, 0x22, "Huffman table 2 is missing"},
    };
    for (const auto &c : changes) {
        const uint8_t marker[] = {0xFF, c.marker};
        Bytes changed = packet;
        std::search(changed.begin(), changed.end(), marker, marker + 2)[static_cast<ptrdiff_t>(c.at)] = c.value;
        check_refused(changed, CUDAENC_ERR_INVALID, c.line);
    }
    check_refused(Bytes(packet.begin(), sof + 3), CUDAENC_ERR_INVALID, "the stream ends within a marker segment");
    check_refused(Bytes(packet.begin(), sof + 18), CUDAENC_ERR_INVALID, "of length 17 with 16 bytes left");
    check_refused(packet, CUDAENC_ERR_INVALID, "max_pixels is 3", 3);
    check_plane_refused("cpu", packet);
    for (const std::string &spec : device_specs) check_plane_refused(spec, packet);
    CudaencDecoderConfig options;
    cudaenc_decoder_defaults(&options, CUDAENC_CODEC_H264);
    CudaencDecoder *decoder;
    EXPECT_EQ(cudaenc_decoder_open(&decoder, &options), CUDAENC_ERR_INVALID);
    cudaenc_decoder_defaults(&options, CUDAENC_CODEC_MJPEG);
    options.lowres = 4;
    EXPECT_EQ(cudaenc_decoder_open(&decoder, &options), CUDAENC_ERR_INVALID);
    options.struct_size--;
    EXPECT_EQ(cudaenc_decoder_open(&decoder, &options), CUDAENC_ERR_INVALID);
}
END_TEST

// A run is what single steps read one after the other, whatever bits follow those that it is looked up by.
static void check_runs(Random &random, const mjpeg::DecodeTable &first, const mjpeg::DecodeTable *then) {
    for (uint32_t number = 0; number < 1u << mjpeg::kRunBits; number++) {
        const uint64_t bits = (uint64_t{number} << 32 | random.word()) << (32 - mjpeg::kRunBits);
        const auto step_at = [&](int at) { return (at ? *then : first).find(static_cast<uint32_t>(bits << at >> 32)); };
        const mjpeg::Step run = mjpeg::run_of(&first, then, number);
        if (run.empty()) {
            EXPECT(step_at(0).bits() - step_at(0).magnitude_bits() > mjpeg::kRunBits, "run %u is empty", number);
            continue;
        }
        int at = 0, places = 0;
        do {
            EXPECT(places < mjpeg::kBlockSamples, "run %u goes on behind the block's end", number);
            const mjpeg::Step step = step_at(at);
            at += step.bits(), places += step.places();
        } while (then && at < run.bits());
        EXPECT(at == run.bits() && places == run.places(), "run %u: %d bits, %d places; steps: %d and %d", number,
               run.bits(), run.places(), at, places);
    }
}

START_TEST(runs_of_symbols) {
    Random random(3);
    Log log;
    CudaencConfig config = make_jpeg_config(make_jpeg_format(jpeg_formats[3], 64, 48), "cpu", &log);
    for (const int huffman : {CUDAENC_MJPEG_HUFFMAN_DEFAULT, CUDAENC_MJPEG_HUFFMAN_OPTIMAL}) {
        config.mjpeg.huffman = huffman;
        const Bytes packet = encode_jpeg(config, make_picture(random, config.format).frame());
        const mjpeg::CodedStream coded = mjpeg::StreamReader(packet).read_scans(packet);
        const mjpeg::StreamScan &scan = coded.scans[0];
        for (int i = 0; i < scan.count; i++) {
            const auto dc = make_decode_table(coded.huffman[static_cast<size_t>(scan.dc[i])], mjpeg::TableUse::dc),
                       ac = make_decode_table(coded.huffman[static_cast<size_t>(scan.ac[i])], mjpeg::TableUse::ac);
            check_runs(random, ac, &ac);
            check_runs(random, dc, &ac);
            check_runs(random, dc, nullptr);
        }
    }
}
END_TEST

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("mjpeg decoder");
    const std::pair<const char *, const TTest *> tests[] = {{"samples", samples},
                                                            {"devices", devices},
                                                            {"stays on the device", stays_on_device},
                                                            {"prefixes", prefixes},
                                                            {"bytes too many", bytes_too_many},
                                                            {"zeros without end", zeros_without_end},
                                                            {"lossless", lossless},
                                                            {"12 bits", twelve_bits},
                                                            {"reduced sizes", reduced_sizes},
                                                            {"pictures in flight", pictures_in_flight},
                                                            {"faults", every_device_call_may_fail},
                                                            {"shared launches", shared_launches},
                                                            {"tables that stay", tables_that_stay},
                                                            {"several pictures", several_pictures},
                                                            {"usual formats", usual_formats},
                                                            {"rgb", rgb},
                                                            {"overwritten packets", overwritten_packets},
                                                            {"runs of symbols", runs_of_symbols},
                                                            {"refusals", refusals},
                                                            {"scans", scans_that_cannot_be},
                                                            {"segments", segments_before_the_frame},
                                                            {"does not matter", what_does_not_matter}};
    for (const auto &[name, test] : tests) tcase_add_test(add_case(suite, name), test);
    const int parts = first_device().starts_with("cuda") ? 17 : 1;  // on a GPU more than 10,000 streams
    tcase_add_loop_test(add_case(suite, "broken streams"), broken_streams, 0, parts);
    return run_suite(suite);
}
