// SPDX-License-Identifier: LGPL-2.1-or-later
// The JPEG 2000 decoder: what the encoder makes comes back; conformance codestreams of T.803 within their limits;
// damaged and cut codestreams.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "../../common/j2k/codestream/markers.h"
#include "../../common/j2k/codestream/read_headers.h"
#include "../../common/j2k/picture_decoder_cpu.h"
#include "../../common/j2k/recode.h"
#include "../../common/thread_pool.h"
#include "j2k_case.h"
#include "j2k_file.h"
#include "pictures.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

struct Plane {
    int width, height;
    std::vector<int32_t> samples;
};

std::vector<Plane> decode(ThreadPool &pool, std::span<const uint8_t> codestream, DecoderOptions options,
                          std::string *damage) {
    options.max_pixels = 1 << 24;
    const Description d = read_headers(codestream);
    const Area area = area_of(d, options.region);
    std::vector<Plane> planes;
    for (size_t c = 0; c < d.components.size(); c++) {
        const Extent e = component_extent(d.components[c], area, options.lowres);
        planes.push_back({e.width(), e.height(), std::vector<int32_t>(size_t{1} * e.width() * e.height(), INT32_MIN)});
    }
    *damage =
        decode_codestream(codestream, d, options, pool, [&](size_t c, int x, int y, std::span<const int32_t> samples) {
            Plane &p = planes[c];
            const size_t at = static_cast<size_t>(y) * static_cast<size_t>(p.width) + static_cast<size_t>(x);
            EXPECT(x >= 0 && x + static_cast<int>(samples.size()) <= p.width && y >= 0 && y < p.height,
                   "samples outside of component %zu", c);
            std::ranges::copy(samples, p.samples.begin() + static_cast<ptrdiff_t>(at));
        });
    for (size_t c = 0; c < planes.size(); c++)
        EXPECT(std::ranges::count(planes[c].samples, INT32_MIN) == 0, "samples of component %zu are missing", c);
    return planes;
}

// A picture, coded with options at random.
std::vector<uint8_t> code(Random &random, const Picture &picture, bool ht, bool reversible, bool file = false) {
    std::string text;
    Log log;
    CudaencConfig config = make_config(picture.format, "cpu", &log);
    config.j2k = ht ? random_ht_options(random, picture.format, text) : random_options(random, picture.format, text);
    config.j2k.format = file ? CUDAENC_J2K_JP2 : CUDAENC_J2K_CODESTREAM;
    config.j2k.pred = reversible ? CUDAENC_J2K_DWT53 : CUDAENC_J2K_DWT97;
    if (!reversible) config.j2k.quality = 100, config.j2k.roi = nullptr;
    try {
        make_params(picture.format, config.j2k);
    } catch (const Error &) {
        config.j2k.roi = nullptr;  // there are too many bit-planes
    }
    return encode(config, picture.frame());
}

// Without loss samples come back; with little, nearly.
START_TEST(what_the_encoder_makes_comes_back) {
    Random random(static_cast<uint64_t>(_i) + 1);
    ThreadPool pool(2);
    for (int repeat = 0; repeat < 40; repeat++) {
        const bool reversible = repeat % 4 != 3;
        Picture picture = make_picture(random, random_format(random, 90));
        fill(random, picture,
             reversible ? static_cast<Content>(random.below(static_cast<uint32_t>(Content::kinds))) : Content::smooth);
        const std::vector<uint8_t> codestream = code(random, picture, repeat % 2, reversible);
        std::string damage;
        const std::vector<Plane> planes = decode(pool, codestream, {}, &damage);
        EXPECT(damage.empty(), "%s", damage.c_str());
        EXPECT(planes.size() == static_cast<size_t>(picture.format.components), "%zu components", planes.size());
        for (size_t c = 0; c < planes.size(); c++) {
            const Plane &p = planes[c];
            const int component = static_cast<int>(c);
            EXPECT(p.width == picture.columns(component) && p.height == picture.component_rows(component), "%d x %d",
                   p.width, p.height);
            const int most = reversible ? 0 : 2 + (1 << picture.format.component[component].depth) / 64;
            for (int y = 0; y < p.height; y++)
                for (int x = 0; x < p.width; x++) {
                    const int made = p.samples[static_cast<size_t>(y * p.width + x)],
                              was = static_cast<int>(picture.get(component, x, y));
                    EXPECT(std::abs(made - was) <= most, "repeat %d, %d x %d, component %zu, sample %d, %d: %d, not %d",
                           repeat, p.width, p.height, c, x, y, made, was);
                }
        }
    }
}
END_TEST

// A region at random, of a picture of so many columns and rows.
Region random_region(Random &random, int columns, int rows) {
    Region r;
    r.x = static_cast<int>(random.below(static_cast<uint32_t>(columns)));
    r.y = static_cast<int>(random.below(static_cast<uint32_t>(rows)));
    r.width = 1 + static_cast<int>(random.below(static_cast<uint32_t>(columns - r.x)));
    r.height = 1 + static_cast<int>(random.below(static_cast<uint32_t>(rows - r.y)));
    return r;
}

// Of a codestream: a region has the samples that the whole picture has there.
void compare_regions(Random &random, ThreadPool &pool, std::span<const uint8_t> codestream, int lowres,
                     const char *name) {
    std::string damage;
    const Description d = read_headers(codestream);
    const Area all = area_of(d, {});
    const std::vector<Plane> whole = decode(pool, codestream, {.lowres = lowres}, &damage);
    const auto densest = std::ranges::min(d.components, {}, [](const Component &k) { return k.dx; });
    const auto highest = std::ranges::min(d.components, {}, [](const Component &k) { return k.dy; });
    const int columns = component_extent(densest, all, 0).width(), rows = component_extent(highest, all, 0).height();
    for (int repeat = 0; repeat < 4; repeat++) {
        const Region region = random_region(random, columns, rows);
        const std::vector<Plane> part = decode(pool, codestream, {.lowres = lowres, .region = region}, &damage);
        for (size_t c = 0; c < part.size(); c++) {
            const Extent from = component_extent(d.components[c], all, lowres),
                         e = component_extent(d.components[c], area_of(d, region), lowres);
            EXPECT(part[c].width == e.width() && part[c].height == e.height());
            for (int y = e.y0; y < e.y1; y++)
                for (int x = e.x0; x < e.x1; x++) {
                    const int made = part[c].samples[static_cast<size_t>((y - e.y0) * e.width() + x - e.x0)],
                              was = whole[c].samples[static_cast<size_t>((y - from.y0) * from.width() + x - from.x0)];
                    EXPECT(made == was, "%s, lowres %d, region %d,%d,%d,%d: component %zu, sample %d, %d: %d, not %d",
                           name, lowres, region.x, region.y, region.width, region.height, c, x, y, made, was);
                }
        }
    }
}

// What a call throws.
template <class F>
std::string said(F call) {
    try {
        call();
    } catch (const Error &e) {
        return e.what();
    }
    return "nothing";
}

START_TEST(regions_are_parts_of_the_picture) {
    Random random(static_cast<uint64_t>(_i) + 200);
    ThreadPool pool(2);
    for (int repeat = 0; repeat < 20; repeat++) {
        Picture picture = make_picture(random, random_format(random, repeat % 5 ? 90 : 400));
        fill(random, picture, Content::noise);
        const std::vector<uint8_t> codestream = code(random, picture, repeat % 2, repeat % 4 < 2);
        const int levels = read_headers(codestream).levels;
        compare_regions(random, pool, codestream, levels ? static_cast<int>(random.below(2)) : 0, "of the encoder");
    }
    Picture picture = make_picture(random, make_format(50, 40, 1, 8, false, CUDAENC_COLOR_GRAY), Content::noise);
    const Description d = read_headers(code(random, picture, false, true));
    for (const Region &beyond : {Region{0, 0, 51, 40}, Region{49, 0, 2, 1}, Region{0, 40, 1, 1}, Region{0, 1, 1, 40}})
        EXPECT(said([&] { area_of(d, beyond); }).ends_with("it lies within the picture of 50x40"));
    for (const char *text : {"1,2,3", "0,0,0,1", "-1,0,1,1", "0,0,1,1,1", "0,0,9999999999,1x"})
        EXPECT(said([&] { parse_region(text); }).ends_with("it is X,Y,WIDTH,HEIGHT"), "'%s'", text);
}
END_TEST

// Fewer layers are what a codestream has that ends before the others.
START_TEST(fewer_layers) {
    Random random(static_cast<uint64_t>(_i) + 300);
    ThreadPool pool(2);
    for (int repeat = 0; repeat < 6; repeat++) {
        Picture picture = make_picture(random, make_format(93, 61, 3, 8, false, CUDAENC_COLOR_RGB), Content::smooth);
        Log log;
        CudaencConfig config = make_config(picture.format, "cpu", &log);
        cudaenc_j2k_defaults(&config.j2k);
        config.j2k.format = CUDAENC_J2K_CODESTREAM, config.j2k.layers = 5, config.j2k.sop = 1;
        config.j2k.pred = repeat % 2 ? CUDAENC_J2K_DWT53 : CUDAENC_J2K_DWT97;
        config.j2k.cblk_style = repeat / 2 == 1 ? CUDAENC_J2K_TERMALL : repeat / 2 == 2 ? CUDAENC_J2K_HT : 0;
        const std::vector<uint8_t> codestream = encode(config, picture.frame());
        std::vector<size_t> packets;  // where they begin
        for (size_t at = 0; at + 6 <= codestream.size(); at++)
            if (codestream[at] == 0xFF && codestream[at + 1] == 0x91) packets.push_back(at);
        EXPECT(packets.size() % 5 == 0 && !packets.empty(), "%zu packets", packets.size());
        std::string damage;
        const std::vector<Plane> all = decode(pool, codestream, {}, &damage);
        for (size_t layers = 1; layers <= 6; layers++) {
            const std::vector<Plane> some = decode(pool, codestream, {.layers = static_cast<int>(layers)}, &damage);
            EXPECT(damage.empty(), "%s", damage.c_str());
            const size_t end = layers < 5 ? packets[packets.size() / 5 * layers] : codestream.size();
            const std::vector<Plane> cut = decode(pool, std::span(codestream).first(end), {}, &damage);
            EXPECT_EQ(damage.empty(), layers >= 5);
            for (size_t c = 0; c < 3; c++) {
                EXPECT(some[c].samples == cut[c].samples, "repeat %d, %zu layers", repeat, layers);
                EXPECT(layers < 5 || some[c].samples == all[c].samples);
            }
            EXPECT(layers > 1 || repeat / 2 == 2 || some[0].samples != all[0].samples, "repeat %d", repeat);
        }
    }
}
END_TEST

// Through the C API: files and codestreams to planes as their headers tell. The bytes between rows stay.
START_TEST(planes_of_the_api) {
    Random random(static_cast<uint64_t>(_i) + 50);
    CudaencDecoderConfig config;
    EXPECT_EQ(cudaenc_decoder_defaults(&config, CUDAENC_CODEC_J2K), CUDAENC_OK);
    Log log;
    config.device = "cpu", config.threads = 2, config.log = Log::print, config.log_opaque = &log;
    CudaencDecoder *decoder;
    EXPECT_EQ(cudaenc_decoder_open(&decoder, &config), CUDAENC_OK);
    for (int repeat = 0; repeat < 20; repeat++) {
        Picture picture = make_picture(random, random_format(random, 70));
        fill(random, picture, Content::noise);
        const std::vector<uint8_t> packet = code(random, picture, repeat % 2, true, repeat % 3 != 0);
        CudaencPictureInfo info{};
        info.struct_size = sizeof info;
        EXPECT(cudaenc_decoder_read_header(decoder, packet.data(), packet.size(), &info) == CUDAENC_OK, "%s",
               log.lines.empty() ? "" : log.lines.back().c_str());
        EXPECT_EQ(cudaenc_decoder_picture_size(packet.data(), packet.size()), packet.size());
        EXPECT(info.width == picture.format.width && info.height == picture.format.height, "%d x %d", info.width,
               info.height);
        Picture made = make_picture(random, info.format);
        const auto before = made.memory[0];
        CudaencCodedPicture coded{};
        coded.struct_size = sizeof coded;
        coded.data = packet.data(), coded.size = packet.size();
        for (int i = 0; i < info.format.planes; i++)
            coded.planes[i] = made.memory[i].data(), coded.stride[i] = made.stride[i];
        EXPECT(cudaenc_decoder_submit(decoder, &coded) == CUDAENC_OK, "%s",
               log.lines.empty() ? "" : log.lines.back().c_str());
        CudaencDecodedPicture decoded{};
        decoded.struct_size = sizeof decoded;
        EXPECT_EQ(cudaenc_decoder_wait(decoder, &decoded), CUDAENC_OK);
        EXPECT(!decoded.corrupt);
        EXPECT_EQ(info.format.components, picture.format.components);
        for (int c = 0; c < info.format.components; c++)
            for (int y = 0; y < picture.component_rows(c); y++)
                for (int x = 0; x < picture.columns(c); x++)
                    EXPECT(made.get(c, x, y) == picture.get(c, x, y), "component %d of %d, sample %d, %d: %u, not %u",
                           c, info.format.components, x, y, made.get(c, x, y), picture.get(c, x, y));
        const CudaencComponent &k = info.format.component[0];
        const size_t row = static_cast<size_t>(made.columns(0)) * static_cast<size_t>(k.step);
        for (size_t i = 0; i < before.size(); i++)
            if (i % static_cast<size_t>(made.stride[0]) >= row)
                EXPECT(made.memory[0][i] == before[i], "byte %zu between rows", i);
    }
    // Samplings that no format has: SIZ tells XRsiz and YRsiz of a component in bytes 43 and 44, three bytes a
    // component.
    Picture picture = make_picture(random, make_format(32, 32, 3, 8, false, CUDAENC_COLOR_RGB), Content::noise);
    std::vector<uint8_t> stream = code(random, picture, false, true);
    stream[43 + 3] = stream[44 + 3] = 2;  // of the second component alone
    for (const int usual : {0, 1}) {
        CudaencDecoderConfig other = config;
        other.usual_format = usual;
        CudaencDecoder *second;
        EXPECT_EQ(cudaenc_decoder_open(&second, &other), CUDAENC_OK);
        CudaencPictureInfo told{};
        told.struct_size = sizeof told;
        EXPECT_EQ(cudaenc_decoder_read_header(second, stream.data(), stream.size(), &told),
                  usual ? int{CUDAENC_ERR_UNSUPPORTED} : int{CUDAENC_OK});
        cudaenc_decoder_close(second);
    }
    EXPECT(log.lines.back().find("a usual format for components of these samplings") != std::string::npos, "%s",
           log.lines.back().c_str());
    // What is no picture, or not decoded, is said.
    const uint8_t nothing[16] = {};
    CudaencPictureInfo info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(cudaenc_decoder_read_header(decoder, nothing, sizeof nothing, &info), CUDAENC_ERR_INVALID);
    EXPECT(log.lines.back().find("neither a codestream nor a file") != std::string::npos, "%s",
           log.lines.back().c_str());
    cudaenc_decoder_close(decoder);
}
END_TEST

// What a decoder does not take is said as it is opened.
START_TEST(options_that_are_not_allowed) {
    const struct {
        CudaencCodec codec;
        int lowres, layers;
        const char *region, *says;
    } rows[] = {{CUDAENC_CODEC_J2K, 33, 0, nullptr, "lowres 33"},
                {CUDAENC_CODEC_J2K, 0, 65536, nullptr, "layers 65536"},
                {CUDAENC_CODEC_J2K, 0, 0, "0,0,0,8", "region '0,0,0,8' is not allowed: it is X,Y,WIDTH,HEIGHT"},
                {CUDAENC_CODEC_MJPEG, 4, 0, nullptr, "lowres 4"},
                {CUDAENC_CODEC_MJPEG, 0, 1, nullptr, "layers 1 is not allowed: JPEG has none"},
                {CUDAENC_CODEC_MJPEG, 0, 0, "0,0,8,8", "region '0,0,8,8' is not allowed"}};
    for (const auto &row : rows) {
        CudaencDecoderConfig config;
        cudaenc_decoder_defaults(&config, row.codec);
        config.device = "cpu", config.lowres = row.lowres, config.layers = row.layers, config.region = row.region;
        CudaencDecoder *decoder = nullptr;
        EXPECT_EQ(cudaenc_decoder_open(&decoder, &config), CUDAENC_ERR_INVALID);
        EXPECT(std::string(cudaenc_last_error()).find(row.says) != std::string::npos, "%s", cudaenc_last_error());
    }
}
END_TEST

// More levels than a stream has are refused, as many as may be asked for.
START_TEST(lowres_of_any_stream) {
    Random random(3);
    ThreadPool pool(1);
    Picture picture = make_picture(random, make_format(50, 40, 1, 8, false, CUDAENC_COLOR_GRAY), Content::noise);
    const std::vector<uint8_t> codestream = code(random, picture, false, true);
    for (int lowres = 6; lowres <= 32; lowres++) {
        CudaencDecoderConfig config;
        cudaenc_decoder_defaults(&config, CUDAENC_CODEC_J2K);
        config.device = "cpu", config.lowres = lowres;
        CudaencDecoder *decoder = nullptr;
        EXPECT_EQ(cudaenc_decoder_open(&decoder, &config), CUDAENC_OK);
        CudaencPictureInfo info{};
        info.struct_size = sizeof info;
        int code = cudaenc_decoder_read_header(decoder, codestream.data(), codestream.size(), &info);
        uint8_t sample[64] = {};
        CudaencCodedPicture coded{};
        coded.struct_size = sizeof coded, coded.data = codestream.data(), coded.size = codestream.size();
        coded.planes[0] = sample, coded.stride[0] = 8;
        CudaencDecodedPicture decoded{};
        decoded.struct_size = sizeof decoded;
        if (code == CUDAENC_OK) code = cudaenc_decoder_submit(decoder, &coded);
        if (code == CUDAENC_OK) code = cudaenc_decoder_wait(decoder, &decoded);
        EXPECT_EQ(code, CUDAENC_ERR_UNSUPPORTED);
        EXPECT(std::string(cudaenc_last_error()).find("decomposition levels") != std::string::npos, "lowres %d: %s",
               lowres, cudaenc_last_error());
        cudaenc_decoder_close(decoder);
    }
}
END_TEST

// What the C API makes of a file, on the CPU.
struct DecodedFile {
    explicit DecodedFile(const std::vector<uint8_t> &file, const char *channels = nullptr, const char *device = "cpu",
                         bool usual_format = false) {
        CudaencDecoderConfig config;
        cudaenc_decoder_defaults(&config, CUDAENC_CODEC_J2K);
        config.device = device, config.threads = 1, config.channels = channels;
        config.usual_format = usual_format;
        CudaencDecoder *decoder;
        EXPECT_EQ(cudaenc_decoder_open(&decoder, &config), CUDAENC_OK);
        info.struct_size = sizeof info;
        code = cudaenc_decoder_read_header(decoder, file.data(), file.size(), &info);
        if (code == CUDAENC_OK) {
            icc.assign(info.icc_profile, info.icc_profile + info.icc_profile_size);
            Random random(1);
            picture = make_picture(random, info.format);
            CudaencCodedPicture coded{};
            coded.struct_size = sizeof coded;
            coded.data = file.data(), coded.size = file.size();
            for (int i = 0; i < info.format.planes; i++)
                coded.planes[i] = picture.memory[i].data(), coded.stride[i] = picture.stride[i];
            EXPECT(cudaenc_decoder_submit(decoder, &coded) == CUDAENC_OK, "%s", cudaenc_last_error());
            CudaencDecodedPicture decoded{};
            decoded.struct_size = sizeof decoded;
            EXPECT(cudaenc_decoder_wait(decoder, &decoded) == CUDAENC_OK, "%s", cudaenc_last_error());
            corrupt = decoded.corrupt;
        }
        cudaenc_decoder_close(decoder);
    }
    int code = 0, corrupt = 0;  // of the header
    CudaencPictureInfo info{};
    std::vector<uint8_t> icc;
    Picture picture{};
};

// Indices of four colours, which come out as three planes; channels by cdef.
START_TEST(palettes_and_channels) {
    Random random(5);
    Picture picture = make_picture(random, make_format(31, 17, 1, 8, false, CUDAENC_COLOR_GRAY));
    for (int y = 0; y < 17; y++)
        for (int x = 0; x < 31; x++) picture.set(0, x, y, random.below(5));  // one beyond the palette
    const std::vector<uint8_t> codestream = code(random, picture, false, true);
    const uint8_t colours[4][3] = {{1, 2, 3}, {40, 50, 60}, {255, 0, 7}, {9, 8, 200}};
    std::vector<uint8_t> pclr{0, 4, 3, 7, 7, 7};
    for (const auto &colour : colours) pclr.insert(pclr.end(), colour, colour + 3);
    const std::vector<uint8_t> file =
        joined({box("jP  ", {13, 10, 0x87, 10}),
                box("jp2h", joined({box("colr", {1, 0, 0, 0, 0, 0, 16}), box("pclr", pclr),
                                    box("cmap", {0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 2}),
                                    // The first channel is blue, the last one red.
                                    box("cdef", {0, 3, 0, 0, 0, 0, 0, 3, 0, 1, 0, 0, 0, 2, 0, 2, 0, 0, 0, 1})})),
                box("jp2c", codestream)});
    const DecodedFile made(file);
    EXPECT(made.info.format.components == 3 && made.info.format.color_model == CUDAENC_COLOR_RGB, "%d components",
           made.info.format.components);
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < 17; y++)
            for (int x = 0; x < 31; x++) {
                const uint32_t index = std::min(picture.get(0, x, y), 3u);
                EXPECT_EQ(made.picture.get(c, x, y), colours[index][2 - c]);
            }
}
END_TEST

// Some writers declare the depth of the indices: entries that have more bits are of whole bytes.
START_TEST(palettes_of_more_bits_than_they_declare) {
    Random random(6);
    Picture picture = make_picture(random, make_format(4, 1, 1, 8, false, CUDAENC_COLOR_GRAY));
    for (int x = 0; x < 4; x++) picture.set(0, x, 0, static_cast<uint32_t>(x));
    const std::vector<uint8_t> codestream = code(random, picture, false, true);
    const DecodedFile made(
        file_of(codestream, {box("pclr", {0, 4, 3, 3, 3, 7, 1, 2, 3, 250, 15, 4, 9, 0, 255, 0, 5, 6}),
                             box("cmap", {0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 2})}));
    const uint32_t samples[3][4] = {{1, 250, 9, 0}, {2, 15, 0, 5}, {3, 4, 255, 6}};
    const int depths[3] = {8, 4, 8}, shifts[3] = {0, 4, 0};
    for (int c = 0; c < 3; c++) {
        EXPECT(made.info.format.component[c].depth == depths[c] && made.info.format.component[c].shift == shifts[c],
               "component %d has %d bits", c, made.info.format.component[c].depth);
        for (int x = 0; x < 4; x++) EXPECT_EQ(made.picture.get(c, x, 0), samples[c][x]);
    }
}
END_TEST

std::vector<uint8_t> resolution(std::initializer_list<uint8_t> terms) { return box("res ", box("resd", terms)); }

START_TEST(what_boxes_tell) {
    Random random(7);
    Picture picture = make_picture(random, make_format(20, 10, 1, 8, false, CUDAENC_COLOR_GRAY), Content::noise);
    const std::vector<uint8_t> codestream = code(random, picture, false, true),
                               colr = box("colr", {1, 0, 0, 0, 0, 0, 17});
    // Vertical and horizontal numerators and denominators, then exponents of ten, -1 as 255.
    const struct {
        std::vector<uint8_t> res;
        int num, den;
    } rows[] = {{resolution({0, 4, 0, 1, 0, 2, 0, 1, 0, 0}), 2, 1},
                {resolution({0, 1, 0, 3, 0, 1, 0, 2, 0, 0}), 2, 3},
                {resolution({0, 1, 0, 1, 0, 1, 0, 1, 255, 0}), 1, 10},
                {resolution({0, 1, 0, 1, 0, 1, 0, 1, 1, 255}), 100, 1},
                {resolution({0, 1, 0, 1, 0, 1, 0, 1, 127, 128}), 0, 1},
                {resolution({0, 1, 0, 0, 0, 1, 0, 1, 0, 0}), 0, 1},
                {resolution({0, 1, 0, 1, 0, 1}), 0, 1},
                {box("res ", joined({box("resc", {0, 3, 0, 1, 0, 1, 0, 1, 0, 0}),
                                     box("resd", {0, 1, 0, 1, 0, 1, 0, 1, 0, 0})})),
                 3, 1},
                {{}, 0, 1}};
    for (const auto &row : rows) {
        const DecodedFile made(file_of(codestream, {colr, row.res}));
        EXPECT(made.info.sample_aspect_num == row.num && made.info.sample_aspect_den == row.den, "%d/%d, not %d/%d",
               made.info.sample_aspect_num, made.info.sample_aspect_den, row.num, row.den);
    }
    std::vector<uint8_t> exif{'J', 'p', 'g', 'T', 'i', 'f', 'f', 'E', 'x', 'i', 'f', '-', '>', 'J',
                              'P', '2', 'M', 'M', 0,   42,  0,   0,   0,   8,   0,   1,   1,   0x12,
                              0,   3,   0,   0,   0,   1,   0,   6,   0,   0,   0,   0,   0,   0};
    const std::vector<uint8_t> icc = {2, 0, 0, 9, 8, 7};
    const DecodedFile made(file_of(codestream, {box("colr", icc)}, box("uuid", exif)));
    EXPECT_EQ(made.info.orientation, 6);
    EXPECT_EQ(made.info.exif_size, exif.size() - 16);
    EXPECT(made.info.icc_profile_size == 3 && made.icc[0] == 9 && made.icc[2] == 7);
    exif[35] = 9;  // no orientation
    EXPECT_EQ(DecodedFile(file_of(codestream, {colr}, box("uuid", exif))).info.orientation, 1);
    // Boxes that are damaged, or lack: the codestream is found.
    std::vector<uint8_t> damaged = file_of(codestream, {colr});
    damaged[12] = 0xD4;  // of the length of jp2h
    for (const std::vector<uint8_t> &file : {damaged, box("jp2c", codestream), joined({{1, 2, 3}, codestream})}) {
        const DecodedFile found(file);
        for (int x = 0; x < 20; x++) EXPECT_EQ(found.picture.get(0, x, 3), picture.get(0, x, 3));
    }
}
END_TEST

// Of five components those that cdef names: three colours in another order, and opacity.
START_TEST(channels_of_many_components) {
    Random random(8);
    Picture picture = make_picture(random, make_format(16, 8, 3, 8, false, CUDAENC_COLOR_YUV), Content::noise);
    const std::vector<uint8_t> stream = of_five_components(picture);
    const std::vector<uint8_t> colr = box("colr", {1, 0, 0, 0, 0, 0, 16});
    const DecodedFile made(file_of(stream, {colr, channels_of_five()}));
    EXPECT(made.info.format.components == 4 && made.info.format.has_alpha && !made.corrupt, "%d components",
           made.info.format.components);
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 16; x++) {
            for (int c = 0; c < 3; c++) EXPECT_EQ(made.picture.get(c, x, y), picture.get((c + 1) % 3, x, y));
            EXPECT_EQ(made.picture.get(3, x, y), 128u);
        }
    const auto refusal = [&](std::initializer_list<uint8_t> cdef) {
        EXPECT_EQ(DecodedFile(file_of(stream, {colr, box("cdef", cdef)})).code, CUDAENC_ERR_UNSUPPORTED);
        return std::string(cudaenc_last_error());
    };
    EXPECT(refusal({0, 0}).ends_with("of which cdef names no colours is not supported"), "%s", cudaenc_last_error());
    EXPECT(
        refusal({0, 2, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1}).find("channels 0 and 1 one meaning") != std::string::npos,
        "%s", cudaenc_last_error());
}
END_TEST

// CMYK: its inks, or in a usual format RGB and opacity.
START_TEST(inks) {
    const std::vector<uint8_t> cmyk = box("colr", {1, 0, 0, 0, 0, 0, 12});
    const std::vector<uint8_t> swapped =
        box("cdef", {0, 4, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0, 3, 0, 2, 0, 0, 0, 2, 0, 3, 0, 0, 0, 1});
    for (const int depth : {5, 8, 10, 12, 16}) {
        Random random(static_cast<uint64_t>(depth));
        Picture picture = make_picture(random, make_format(133, 37, 4, depth, false, CUDAENC_COLOR_RGB));
        fill(random, picture, Content::noise);
        const std::vector<uint8_t> stream = code(random, picture, false, true);
        const double most = (1 << depth) - 1;
        for (const std::vector<uint8_t> &file : {file_of(stream, {cmyk}), file_of(stream, {cmyk, swapped})}) {
            const DecodedFile coded(file);
            EXPECT(coded.code == CUDAENC_OK && coded.info.format.color_model == CUDAENC_COLOR_CMYK);
            for (const char *device : {"cpu", "emu"}) {
                const DecodedFile made(file, nullptr, device, true);
                const CudaencFormat &f = made.info.format;
                EXPECT(made.code == CUDAENC_OK && f.color_model == CUDAENC_COLOR_RGB && f.has_alpha &&
                       f.components == 4);
                EXPECT(f.component[0].depth == depth && f.color_matrix == 0);
                for (int y = 0; y < 37; y++)
                    for (int x = 0; x < 133; x++) {
                        const double black = coded.picture.get(3, x, y);
                        EXPECT_EQ(made.picture.get(3, x, y), static_cast<uint32_t>(most));
                        for (int c = 0; c < 3; c++)
                            EXPECT_EQ(made.picture.get(c, x, y),
                                      static_cast<uint32_t>(std::floor(
                                          (most - coded.picture.get(c, x, y)) * (most - black) / most + 0.5)));
                    }
            }
        }
    }
}
END_TEST

// Channels by an option, whatever cdef says; also one that is there twice, or of a palette.
START_TEST(channels_that_are_chosen) {
    Random random(14);
    Picture picture = make_picture(random, make_format(16, 8, 3, 8, false, CUDAENC_COLOR_YUV));
    fill(random, picture, Content::noise);
    const std::vector<uint8_t> stream = of_five_components(picture);
    const std::vector<uint8_t> colr = box("colr", {1, 0, 0, 0, 0, 0, 16}), cmyk = box("colr", {1, 0, 0, 0, 0, 0, 12});
    const std::vector<uint8_t> files[] = {stream, file_of(stream, {colr, channels_of_five()}), file_of(stream, {cmyk})};
    const struct {
        const char *channels;
        std::vector<int> of;  // components
        CudaencColorModel model;
    } choices[] = {{"2", {2}, CUDAENC_COLOR_GRAY},
                   {"4,0", {4, 0}, CUDAENC_COLOR_GRAY},
                   {"3,0,3", {3, 0, 3}, CUDAENC_COLOR_RGB},
                   {"1,2,4,0", {1, 2, 4, 0}, CUDAENC_COLOR_RGB}};
    for (const std::vector<uint8_t> &file : files)
        for (const auto &choice : choices) {
            std::vector<Picture> singles;
            for (const int c : choice.of) singles.push_back(DecodedFile(file, format_string("%d", c).c_str()).picture);
            for (const char *device : {"cpu", "emu"}) {
                DecodedFile made(file, choice.channels, device);
                EXPECT(made.code == CUDAENC_OK && !made.corrupt, "%s: %d", choice.channels, made.code);
                EXPECT(made.info.format.color_model == choice.model &&
                       made.info.format.components == static_cast<int>(choice.of.size()));
                for (size_t i = 0; i < choice.of.size(); i++)
                    for (int y = 0; y < 8; y++)
                        for (int x = 0; x < 16; x++)
                            EXPECT_EQ(made.picture.get(static_cast<int>(i), x, y), singles[i].get(0, x, y));
            }
        }
    EXPECT_EQ(DecodedFile(stream, "5").code, CUDAENC_ERR_INVALID);
    EXPECT(std::string(cudaenc_last_error()) == "channels: 5 is not allowed: the picture has 5, from 0 on", "%s",
           cudaenc_last_error());
    for (const char *bad : {"a", "1,", ",1", "-1", "1,2,3,4,0", "1 2", "123456", "20000", "1,+2"}) {
        CudaencDecoderConfig config;
        cudaenc_decoder_defaults(&config, CUDAENC_CODEC_J2K);
        config.device = "cpu", config.channels = bad;
        CudaencDecoder *decoder;
        EXPECT_EQ(cudaenc_decoder_open(&decoder, &config), CUDAENC_ERR_INVALID);
        EXPECT(std::string(cudaenc_last_error()) == format_string("channels '%s' is not allowed: it is C,C,..., one to "
                                                                  "four channels from 0 on",
                                                                  bad),
               "%s", cudaenc_last_error());
    }
}
END_TEST

// A tile between the samples of a component has no packets. It may have no tile-part either.
START_TEST(a_tile_without_samples) {
    Random random(9);
    ThreadPool pool(1);
    Picture picture = make_picture(random, make_format(1, 1, 1, 8, false, CUDAENC_COLOR_GRAY));
    std::vector<uint8_t> stream = code(random, picture, false, true);
    stream[11] = 2, stream[43] = 2;  // Xsiz and XRsiz: tiles of a column, samples in every other one
    std::string damage;
    const std::vector<Plane> planes = decode(pool, stream, {}, &damage);
    EXPECT(damage.empty() && planes[0].width == 1, "%s", damage.c_str());
}
END_TEST

// Where the first of two codestreams ends, with and without Psot, and within boxes.
START_TEST(two_codestreams_in_a_packet) {
    Random random(10);
    Picture picture = make_picture(random, make_format(40, 30, 1, 8, false, CUDAENC_COLOR_GRAY), Content::noise);
    std::vector<uint8_t> stream;
    do stream = code(random, picture, false, true);
    while (read_headers(stream).coded_tile_parts.size() != 1);
    const auto size_of_first = [&](const std::vector<uint8_t> &first) {
        const std::vector<uint8_t> packet = joined({first, first});
        return cudaenc_decoder_picture_size(packet.data(), packet.size());
    };
    EXPECT_EQ(size_of_first(stream), stream.size());
    EXPECT_EQ(size_of_first(box("jp2c", stream)), stream.size() + 8);
    size_t sot = 2;
    while (stream[sot] != 0xFF || stream[sot + 1] != 0x90) sot++;
    put_be32(&stream[sot + 6], 0);
    EXPECT_EQ(size_of_first(stream), stream.size());
    const DecodedFile made(joined({stream, stream}));
    EXPECT(!made.corrupt && made.picture.get(0, 39, 29) == picture.get(0, 39, 29));
}
END_TEST

// Bytes changed, cut, or lost: a picture or an error.
START_TEST(damaged_codestreams) {
    Random random(static_cast<uint64_t>(_i) + 100);
    ThreadPool pool(2);
    int damaged = 0, refused = 0, whole = 0;
    for (int repeat = 0; repeat < 60; repeat++) {
        Picture picture = make_picture(random, random_format(random, 60));
        fill(random, picture, Content::noise);
        const std::vector<uint8_t> codestream = code(random, picture, repeat % 2, repeat % 4 < 2);
        for (int i = 0; i < 20; i++) {
            std::vector<uint8_t> changed = codestream;
            const auto at = [&] { return random.below(static_cast<uint32_t>(changed.size())); };
            if (random.one_in(3)) changed.resize(at() + 1);
            if (random.one_in(4)) {
                const uint32_t first = at();
                changed.erase(changed.begin() + first,
                              changed.begin() + first + random.below(20) % (changed.size() - first));
            }
            for (uint32_t n = random.below(5); n; n--) changed[at()] = static_cast<uint8_t>(random.word());
            std::string damage;
            try {
                decode(pool, changed, {.lowres = random.one_in(4) ? 1 : 0}, &damage);
                (damage.empty() ? whole : damaged)++;
            } catch (const Error &) {
                refused++;
            }
        }
    }
    EXPECT(damaged > 50 && refused > 50 && whole > 5, "%d damaged, %d refused, %d whole", damaged, refused, whole);
}
END_TEST

// By the other coder and back: the same samples. Returns the peak error.
int compare_recoded(ThreadPool &pool, const std::vector<uint8_t> &codestream, const char *name) {
    std::string damage;
    const std::vector<Plane> expected = decode(pool, codestream, {}, &damage);
    std::vector<uint8_t> stream = codestream;
    const bool is_ht = read_headers(codestream).style & kHt;
    int peak = 0;
    for (const bool to_ht : {!is_ht, is_ht}) {
        const Recoded recoded = recode(stream, to_ht, pool);
        const Description d = read_headers(recoded.codestream);
        EXPECT(!(d.style & kHt) == !to_ht && (d.part == 15) == to_ht, "%s: style %u, part %d", name, d.style, d.part);
        const std::vector<Plane> planes = decode(pool, recoded.codestream, {}, &damage);
        EXPECT(damage.empty(), "%s: %s", name, damage.c_str());
        for (size_t c = 0; c < planes.size(); c++) {
            int most = 0;
            for (size_t i = 0; i < planes[c].samples.size(); i++)
                most = std::max(most, std::abs(planes[c].samples[i] - expected[c].samples[i]));
            peak = std::max(peak, most);
            EXPECT(!most, "%s, to %s: component %zu is off by %d", name, to_ht ? "HT" : "MQ", c, most);
        }
        stream = recoded.codestream;
    }
    return peak;
}

START_TEST(recoded_codestreams) {
    Random random(static_cast<uint64_t>(_i) + 400);
    ThreadPool pool(2);
    for (int repeat = 0; repeat < 30; repeat++) {
        Picture picture = make_picture(random, random_format(random, 90));
        fill(random, picture, static_cast<Content>(random.below(static_cast<uint32_t>(Content::kinds))));
        const std::vector<uint8_t> codestream = code(random, picture, repeat % 2, repeat % 4 < 2);
        compare_recoded(pool, codestream, format_string("repeat %d", repeat).c_str());
        EXPECT(said([&] { recode(std::span(codestream).first(codestream.size() / 2), true, pool); }) != "nothing");
    }
}
END_TEST

// Blocks end behind any pass, with contexts of any kind, and in several layers.
START_TEST(recoded_codestreams_with_a_target) {
    Random random(static_cast<uint64_t>(_i) + 500);
    ThreadPool pool(2);
    for (int repeat = 0; repeat < 20; repeat++) {
        Picture picture = make_picture(random, random_format(random, 120));
        fill(random, picture, repeat % 2 ? Content::noise : Content::smooth);
        std::string text;
        Log log;
        CudaencConfig config = make_config(picture.format, "cpu", &log);
        config.j2k = random_options(random, picture.format, text);
        config.j2k.format = CUDAENC_J2K_CODESTREAM;
        config.j2k.pred = repeat % 4 < 2 ? CUDAENC_J2K_DWT53 : CUDAENC_J2K_DWT97;
        config.j2k.quality = -1;
        config.j2k.roi = nullptr, config.j2k.layer_rates = nullptr;
        config.j2k.rate_control = CUDAENC_J2K_RATE_PCRD;
        config.j2k.frame_bytes = 0, config.j2k.min_frame_bytes = 0;
        config.j2k.compression_ratio = 0, config.j2k.psnr = 22 + random.below(25);
        const std::vector<uint8_t> codestream = encode(config, picture.frame());
        compare_recoded(pool, codestream, format_string("target, repeat %d", repeat).c_str());
    }
}
END_TEST

// A comment may have any bytes (A.9.2).
START_TEST(recoded_comment) {
    Random random(600);
    ThreadPool pool(1);
    Picture picture = make_picture(random, random_format(random, 20));
    fill(random, picture, Content::smooth);
    std::vector<uint8_t> codestream = code(random, picture, false, true);
    const std::string comment = read_headers(codestream).comment;
    const auto at = std::search(codestream.begin(), codestream.end(), comment.begin(), comment.end());
    EXPECT(comment.size() > 2 && at != codestream.end(), "\"%s\"", comment.c_str());
    at[1] = 0;
    const std::string changed = read_headers(codestream).comment;
    EXPECT(changed.size() == comment.size() && changed != comment);
    EXPECT(read_headers(recode(codestream, true, pool).codestream).comment == changed);
    compare_recoded(pool, codestream, "comment");
}
END_TEST

// The fields of a frame, bare or in boxes: each is recoded. What stands behind boxes stays.
START_TEST(recoded_fields) {
    Random random(13);
    ThreadPool pool(2);
    Picture picture = make_picture(random, make_format(40, 30, 1, 8, false, CUDAENC_COLOR_GRAY));
    fill(random, picture, Content::noise);
    const std::vector<uint8_t> first = code(random, picture, false, true), second = code(random, picture, false, false);
    const std::vector<uint8_t> to[2] = {recode(first, true, pool).codestream, recode(second, true, pool).codestream};
    const std::vector<uint8_t> free = box("free", {1, 2, 3});
    EXPECT(recode_packet(joined({first, second}), true, pool).codestream == joined({to[0], to[1]}));
    EXPECT(recode_packet(joined({first, {0, 0, 0}}), true, pool).codestream == to[0], "zeros behind a codestream");
    EXPECT(recode_packet(joined({box("jp2c", first), box("jp2c", second), free}), true, pool).codestream ==
           joined({box("jp2c", to[0]), box("jp2c", to[1]), free}));
    const std::vector<uint8_t> cut(second.begin(), second.end() - static_cast<ptrdiff_t>(second.size() / 2));
    EXPECT(said([&] { recode_packet(joined({first, cut}), true, pool); }) != "nothing");
}
END_TEST

// Files through the C API: other boxes stay, and the brand tells of the coder.
START_TEST(recoded_files) {
    Random random(12);
    Picture picture = make_picture(random, make_format(61, 47, 3, 8, false, CUDAENC_COLOR_RGB), Content::noise);
    std::vector<uint8_t> file = code(random, picture, false, true, true);
    const std::vector<uint8_t> xml = box("xml ", {'<', 'a', '/', '>'});
    file.insert(file.end(), xml.begin(), xml.end());
    const std::vector<uint8_t> first = file;
    for (const int ht : {1, 0, 0}) {
        std::vector<uint8_t> out(1);
        CudaencJ2kRecode recode{};
        recode.struct_size = sizeof recode;
        recode.data = file.data(), recode.size = file.size(), recode.htj2k = ht, recode.threads = 1;
        recode.bytes = out.data(), recode.capacity = out.size();
        size_t bytes = 0;
        EXPECT_EQ(cudaenc_j2k_recode(&recode, &bytes), CUDAENC_ERR_INVALID);
        EXPECT(bytes > 1 && std::string(cudaenc_last_error()).find("capacity 1 is not allowed") == 0, "%s",
               cudaenc_last_error());
        out.resize(bytes);
        recode.bytes = out.data(), recode.capacity = bytes;
        EXPECT_EQ(cudaenc_j2k_recode(&recode, &bytes), CUDAENC_OK);
        EXPECT(bytes == out.size() &&
               std::equal(xml.begin(), xml.end(), out.end() - static_cast<ptrdiff_t>(xml.size())));
        EXPECT(std::equal(out.begin() + 20, out.begin() + 24, ht ? "jph " : "jp2 "));
        const DecodedFile made(out), was(first);
        EXPECT(!made.corrupt && made.picture.memory[0] == was.picture.memory[0] &&
               made.picture.memory[2] == was.picture.memory[2]);
        file = out;
    }
    CudaencJ2kRecode recode{};
    recode.struct_size = sizeof recode;
    size_t bytes = 5;
    const auto refused = [&](int code, const char *words) {
        EXPECT_EQ(cudaenc_j2k_recode(&recode, &bytes), code);
        EXPECT(std::string(cudaenc_last_error()).find(words) != std::string::npos, "%s", cudaenc_last_error());
    };
    refused(CUDAENC_ERR_INVALID, "data NULL");
    recode.data = file.data(), recode.size = file.size();
    refused(CUDAENC_ERR_INVALID, "bytes NULL");
    recode.bytes = file.data(), recode.htj2k = 2;
    refused(CUDAENC_ERR_INVALID, "htj2k 2 is not allowed");
    recode.htj2k = 1, recode.size = 20;
    refused(CUDAENC_ERR_INVALID, "neither a codestream nor a file");
    EXPECT_EQ(cudaenc_j2k_recode(nullptr, &bytes), CUDAENC_ERR_INVALID);
    EXPECT_EQ(cudaenc_j2k_recode(&recode, nullptr), CUDAENC_ERR_INVALID);
}
END_TEST

size_t threads_of_process() {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return static_cast<size_t>(std::distance(begin(all), end(all)));
}

// A session makes the packets of single calls, on threads that it starts once, also behind a packet that is damaged.
START_TEST(recoder_sessions) {
    Random random(13);
    Picture picture = make_picture(random, make_format(61, 47, 3, 8, false, CUDAENC_COLOR_RGB), Content::noise);
    const std::vector<uint8_t> file = code(random, picture, false, true, true);
    std::vector<uint8_t> wanted(4 * file.size() + 4096);
    CudaencJ2kRecode recode{};
    recode.struct_size = sizeof recode;
    recode.data = file.data(), recode.size = file.size(), recode.htj2k = 1;
    recode.bytes = wanted.data(), recode.capacity = wanted.size();
    size_t size = 0;
    EXPECT_EQ(cudaenc_j2k_recode(&recode, &size), CUDAENC_OK);
    wanted.resize(size);
    for (const int threads : {0, 1, 3}) {
        CudaencJ2kRecoderConfig config;
        EXPECT_EQ(cudaenc_j2k_recoder_defaults(&config), CUDAENC_OK);
        EXPECT(config.htj2k == 1 && config.threads == 0 && config.log == nullptr);
        config.threads = threads;
        CudaencJ2kRecoder *recoder = nullptr;
        const size_t before = threads_of_process();
        EXPECT_EQ(cudaenc_j2k_recoder_open(&recoder, &config), CUDAENC_OK);
        EXPECT_EQ(threads_of_process(), before + static_cast<size_t>(thread_count(threads)));
        for (const size_t part : {file.size(), file.size() - 100, file.size()}) {
            const uint8_t *bytes = nullptr;
            const int code = cudaenc_j2k_recoder_recode(recoder, file.data(), part, &bytes, &size);
            EXPECT_EQ(code, part == file.size() ? CUDAENC_OK : CUDAENC_ERR_INVALID);
            EXPECT(std::ranges::equal(std::span(bytes, size),
                                      part == file.size() ? std::span(wanted) : std::span<uint8_t>()));
            EXPECT((bytes == nullptr) == (size == 0));
        }
        EXPECT_EQ(threads_of_process(), before + static_cast<size_t>(thread_count(threads)));
        cudaenc_j2k_recoder_close(recoder);
    }
    CudaencJ2kRecoderConfig config;
    CudaencJ2kRecoder *recoder = nullptr;
    const auto refused = [&](int code, const char *words) {
        EXPECT_EQ(code, CUDAENC_ERR_INVALID);
        EXPECT(std::string(cudaenc_last_error()).find(words) != std::string::npos, "%s", cudaenc_last_error());
    };
    refused(cudaenc_j2k_recoder_init(nullptr, sizeof config), "config NULL");
    cudaenc_j2k_recoder_defaults(&config);
    refused(cudaenc_j2k_recoder_open(nullptr, &config), "recoder NULL");
    refused(cudaenc_j2k_recoder_open(&recoder, nullptr), "config NULL");
    config.threads = 1025;
    refused(cudaenc_j2k_recoder_open(&recoder, &config), "threads 1025 is not allowed");
    config.threads = 1, config.htj2k = -1;
    refused(cudaenc_j2k_recoder_open(&recoder, &config), "htj2k -1 is not allowed");
    EXPECT(recoder == nullptr);
    config.htj2k = 0;
    EXPECT_EQ(cudaenc_j2k_recoder_open(&recoder, &config), CUDAENC_OK);
    const uint8_t *bytes = nullptr;
    refused(cudaenc_j2k_recoder_recode(nullptr, file.data(), 1, &bytes, &size), "recoder NULL");
    refused(cudaenc_j2k_recoder_recode(recoder, nullptr, 1, &bytes, &size), "data NULL");
    refused(cudaenc_j2k_recoder_recode(recoder, file.data(), 1, nullptr, &size), "bytes NULL");
    refused(cudaenc_j2k_recoder_recode(recoder, file.data(), 1, &bytes, nullptr), "count NULL");
    refused(cudaenc_j2k_recoder_recode(recoder, file.data(), 20, &bytes, &size), "neither a codestream nor a file");
    cudaenc_j2k_recoder_close(recoder);
    cudaenc_j2k_recoder_close(nullptr);
}
END_TEST

std::vector<uint8_t> read_file(const std::filesystem::path &path) {
    std::ifstream in(path, std::ios::binary);
    EXPECT(in.good(), "%s cannot be read", path.c_str());
    return {std::istreambuf_iterator<char>(in), {}};
}

// T.803's format of references.
Plane read_pgx(const std::filesystem::path &path) {
    const std::vector<uint8_t> bytes = read_file(path);
    const size_t end = static_cast<size_t>(std::ranges::find(bytes, '\n') - bytes.begin());
    std::string header(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(end)), magic, order;
    bool is_signed = header.find('-') != std::string::npos;
    for (char &c : header)
        if (c == '+' || c == '-') c = ' ';
    std::istringstream in(header);
    int depth;
    Plane p{};
    in >> magic >> order >> depth >> p.width >> p.height;
    EXPECT(magic == "PG" && (order == "ML" || order == "LM") && p.width > 0 && p.height > 0, "%s: %s", path.c_str(),
           header.c_str());
    const size_t size = depth > 16 ? 4 : depth > 8 ? 2 : 1;
    for (size_t at = end + 1; at + size <= bytes.size(); at += size) {
        uint32_t value = 0;
        for (size_t i = 0; i < size; i++) value |= uint32_t{bytes[at + (order == "ML" ? size - 1 - i : i)]} << 8 * i;
        p.samples.push_back(is_signed ? static_cast<int32_t>(value << (32 - depth)) >> (32 - depth)
                                      : static_cast<int32_t>(value));
    }
    EXPECT(p.samples.size() == size_t{1} * p.width * p.height, "%s: %zu samples", path.c_str(), p.samples.size());
    return p;
}

// Of codestreams that recoding refuses it says why.
void compare_recoded_file(ThreadPool &pool, const std::vector<uint8_t> &codestream, const char *name) {
    try {
        std::printf("T.803 %s: recoded, peak error %d\n", name, compare_recoded(pool, codestream, name));
    } catch (const Error &e) {
        EXPECT(e.code == CUDAENC_ERR_UNSUPPORTED, "%s: %s", name, e.what());
        std::printf("T.803 %s: not recoded, %s\n", name, e.what());
    }
}

// T.803: in the folder J2K_FILES limits.tsv, with rows of a codestream, a component, resolutions left out, the
// reference, the peak error and the mean squared error that are allowed.
START_TEST(conformance) {
    const char *const folder = std::getenv("J2K_FILES");
    if (!folder) return;
    ThreadPool pool(2);
    Random random(7);
    std::ifstream limits(std::filesystem::path(folder) / "limits.tsv");
    int rows = 0, failed = 0;
    for (std::string line; std::getline(limits, line);) {
        if (line.empty() || line[0] == '#') continue;
        std::istringstream in(line);
        std::string name, reference, damage;
        size_t component;
        int lowres;
        double peak, mean;
        in >> name >> component >> lowres >> reference >> peak >> mean;
        const std::vector<uint8_t> codestream = read_file(std::filesystem::path(folder) / name);
        const Plane expected = read_pgx(std::filesystem::path(folder) / reference);
        rows++;
        try {
            const std::vector<Plane> planes = decode(pool, codestream, {.lowres = lowres}, &damage);
            const Plane &p = planes.at(component);
            double most = 0, sum = 0;
            if (p.width != expected.width || p.height != expected.height)
                throw Error(CUDAENC_ERR_INVALID,
                            format_string("%d x %d, not %d x %d", p.width, p.height, expected.width, expected.height));
            for (size_t i = 0; i < p.samples.size(); i++) {
                const double error = std::abs(double{1} * p.samples[i] - expected.samples[i]);
                most = std::max(most, error), sum += error * error;
            }
            sum /= static_cast<double>(p.samples.size());
            const bool good = most <= peak && sum <= mean && damage.empty();
            failed += !good;
            compare_regions(random, pool, codestream, lowres, name.c_str());
            if (!lowres && !component) compare_recoded_file(pool, codestream, name.c_str());
            std::printf("T.803 %s %zu %d: %s, peak %g of %g, mean square %g of %g %s\n", name.c_str(), component,
                        lowres, good ? "within" : "BEYOND", most, peak, sum, mean, damage.c_str());
        } catch (const Error &e) {
            failed++;
            std::printf("T.803 %s %zu %d: REFUSED, %s\n", name.c_str(), component, lowres, e.what());
        }
    }
    EXPECT(rows > 0 && !failed, "%d of %d rows are beyond their limits", failed, rows);
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("j2k_decoder");
    TCase *host = add_case(suite, "host");
    tcase_add_loop_test(host, what_the_encoder_makes_comes_back, 0, 6);
    tcase_add_loop_test(host, regions_are_parts_of_the_picture, 0, 4);
    tcase_add_loop_test(host, fewer_layers, 0, 2);
    tcase_add_test(host, options_that_are_not_allowed);
    tcase_add_test(host, lowres_of_any_stream);
    tcase_add_loop_test(host, planes_of_the_api, 0, 4);
    tcase_add_test(host, palettes_and_channels);
    tcase_add_test(host, palettes_of_more_bits_than_they_declare);
    tcase_add_test(host, what_boxes_tell);
    tcase_add_test(host, channels_of_many_components);
    tcase_add_test(host, channels_that_are_chosen);
    tcase_add_test(host, inks);
    tcase_add_test(host, a_tile_without_samples);
    tcase_add_test(host, two_codestreams_in_a_packet);
    tcase_add_loop_test(host, damaged_codestreams, 0, 4);
    tcase_add_loop_test(host, recoded_codestreams, 0, 4);
    tcase_add_loop_test(host, recoded_codestreams_with_a_target, 0, 4);
    tcase_add_test(host, recoded_comment);
    tcase_add_test(host, recoded_fields);
    tcase_add_test(host, recoded_files);
    tcase_add_test(host, recoder_sessions);
    tcase_add_test(host, conformance);
    return run_suite(suite);
}
