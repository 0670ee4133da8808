// SPDX-License-Identifier: LGPL-2.1-or-later
// What a packet says about itself: marker segments, lengths of tile-parts and packets, boxes, read by a parser of the
// tests' own.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../../common/cudaenc.h"
#include "../../common/j2k/codestream/main_header.h"
#include "../../common/j2k/codestream/markers.h"
#include "../../common/j2k/jp2_boxes.h"
#include "../../common/j2k/params.h"
#include "../../common/j2k/t1/step.h"
#include "codestream_parser.h"
#include "pictures.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

// What an option means that is left open, where no profile tells: as docs/encoders.md has it.
CudaencJ2kOptions with_defaults(CudaencJ2kOptions o) {
    const auto set = [](int &option, int open, int value) { option = option == open ? value : option; };
    set(o.cblk_width, 0, 32), set(o.cblk_height, 0, 32);
    set(o.sop, -1, 0), set(o.eph, -1, 0), set(o.plt, -1, 0);
    set(o.layers, -1, 1);
    return o;
}

Parsed parse(const std::vector<uint8_t> &packet, const CudaencConfig &config, const CudaencFrame &frame) {
    const Reader all(packet.data(), packet.size());
    CudaencConfig filled = config;
    filled.j2k = with_defaults(config.j2k);
    return CodestreamParser(config.j2k.format == CUDAENC_J2K_JP2 ? parse_boxes(all, config, frame) : all, filled)
        .parse();
}

START_TEST(random_pictures_say_what_they_are) {
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int repeat = 0; repeat < 60; repeat++) {
        const CudaencFormat format = random_format(random, repeat % 4 ? 60 : 300);
        Log log;
        std::string text;
        CudaencConfig config = make_config(format, "cpu", &log);
        config.j2k =
            at_origin(repeat % 3 ? random_options(random, format, text) : random_ht_options(random, format, text));
        if (repeat % 2) config.j2k.plt = 1;
        const std::string comment(random.below(300), 'c');
        if (random.one_in(2)) config.j2k.comment = comment.c_str();
        Picture picture = make_picture(random, format);
        fill(random, picture, static_cast<Content>(random.between(0, static_cast<int>(Content::kinds) - 1)));
        CudaencFrame frame = picture.frame();
        std::vector<uint8_t> profile(static_cast<size_t>(random.between(1, random.one_in(4) ? 130 : 5000)));
        for (uint8_t &byte : profile) byte = static_cast<uint8_t>(random.word());
        const char *const spaces[] = {"RGB ", "GRAY", "CMYK"};
        if (profile.size() >= 20) std::memcpy(profile.data() + 16, random.of(spaces), 4);
        if (random.one_in(2)) frame.icc_profile = profile.data(), frame.icc_profile_size = profile.size();
        frame.sample_aspect_num = random.between(0, 3) * (random.one_in(9) ? 100001 : 1);
        frame.sample_aspect_den = random.between(1, 3) * (random.one_in(9) ? 99999 : 1);
        const Parsed parsed = parse(encode(config, frame), config, frame);
        if (!config.j2k.comment) {
            EXPECT(parsed.comment == format_string("cudaenc %d.%d.%d", CUDAENC_VERSION_MAJOR, CUDAENC_VERSION_MINOR,
                                                   CUDAENC_VERSION_PATCH),
                   "comment '%s'", parsed.comment.c_str());
        } else {
            EXPECT(parsed.has_comment == !comment.empty() && parsed.comment == comment, "comment '%s'",
                   parsed.comment.c_str());
        }
    }
}
END_TEST

// Steps grow with the frame's choice, below twice the session's, in what the header tells: 2^-exponent (1 + mantissa /
// 2048).
START_TEST(steps_that_frames_choose) {
    const auto size = [](uint32_t spqcd) {
        return std::ldexp(1 + spqcd % 2048 / 2048., -static_cast<int>(spqcd >> 11));
    };
    for (int depth : {8, 16})
        for (int quality : {1, 2, 5, 50, 100})
            for (int levels : {0, 1, 5, 32}) {
                CudaencJ2kOptions o = default_options();
                o.pred = CUDAENC_J2K_DWT97, o.cblk_style = CUDAENC_J2K_HT;
                o.quality = quality, o.levels = levels, o.guard_bits = 1, o.frame_bytes = 1000;
                const j2k::Params p = j2k::make_params(make_format(64, 64, 3, depth, true, CUDAENC_COLOR_RGB), o);
                EXPECT(p.frame_steps);
                for (const auto &bands : p.quantisers)
                    for (size_t b = 0; b < static_cast<size_t>(3 * levels + 1); b++) {
                        const uint32_t spqcd = bands[b].size().spqcd();
                        double before = size(spqcd);
                        for (uint32_t step = 1; step < j2k::kFrameSteps; step++) {
                            const uint32_t frames = j2k::frame_step(spqcd, step);
                            EXPECT(frames >> 16 == 0 && size(frames) > before && size(frames) < 2 * size(spqcd),
                                   "depth %d, quality %d, %d levels, sub-band %d: step %u of %04x is %04x", depth,
                                   quality, levels, static_cast<int>(b), step, spqcd, frames);
                            before = size(frames);
                        }
                    }
            }
}
END_TEST

// Colours that no enumerated space has: a restricted ICC profile of RGB, or a warning. EXIF lies in a box of its own.
START_TEST(colours_of_jp2) {
    struct {
        CudaencColorModel model;
        int primaries, transfer, matrix, full_range;
        double gamma;      // of the profile; 0: of a table; -1: there is none
        const char *says;  // in a warning
    } const cases[] = {
        {CUDAENC_COLOR_RGB, 1, 13, 0, 1, -1, ""},
        {CUDAENC_COLOR_RGB, 2, 2, 2, 0, -1, ""},
        {CUDAENC_COLOR_RGB, 12, 17, 0, 1, 2.6, ""},
        {CUDAENC_COLOR_RGB, 12, 13, 0, 1, 0, ""},
        {CUDAENC_COLOR_RGB, 9, 14, 0, 1, 2.4, ""},
        {CUDAENC_COLOR_RGB, 1, 8, 0, 1, 1, ""},
        {CUDAENC_COLOR_RGB, 2, 8, 0, 1, 1, ""},
        {CUDAENC_COLOR_RGB, 1, 4, 0, 1, 2.2, ""},
        {CUDAENC_COLOR_RGB, 1, 5, 0, 1, 2.8, ""},
        {CUDAENC_COLOR_RGB, 9, 16, 0, 1, -1,
         "colour primaries 9 with transfer 16: decoders of .jp2 files take samples for sRGB"},
        {CUDAENC_COLOR_GRAY, 2, 13, 2, 1, -1, ""},
        {CUDAENC_COLOR_GRAY, 2, 4, 2, 1, 2.2, ""},  // as FFmpeg takes TIFF files
        {CUDAENC_COLOR_GRAY, 9, 14, 2, 1, 2.4, ""},
        {CUDAENC_COLOR_GRAY, 12, 13, 2, 1, 0, ""},
        {CUDAENC_COLOR_GRAY, 9, 16, 2, 1, -1,
         "primaries 9 with transfer 16: decoders of .jp2 files take samples for full"},
        {CUDAENC_COLOR_YUV, 1, 13, 5, 1, -1, ""},
        {CUDAENC_COLOR_YUV, 1, 6, 6, 1, -1, ""},
        {CUDAENC_COLOR_YUV, 1, 1, 1, 0, -1,
         "limited range, colour matrix 1: decoders of .jp2 files take samples for sYCC"},
        {CUDAENC_COLOR_XYZ, 2, 2, 2, 0, -1, "XYZ: decoders of .jp2 files take samples for sRGB"},
    };
    for (const auto &c : cases) {
        const bool gray = c.model == CUDAENC_COLOR_GRAY;
        CudaencFormat format = make_format(8, 8, gray ? 1 : 3, 8, true, c.model);
        format.color_primaries = c.primaries, format.color_transfer = c.transfer, format.color_matrix = c.matrix;
        format.full_range = c.full_range;
        CudaencJ2kOptions options = default_options();
        const j2k::Params p = j2k::make_params(format, options);
        EXPECT(*c.says ? p.warning.find(c.says) != std::string::npos : p.warning.find("jp2") == std::string::npos,
               "primaries %d, transfer %d: '%s'", c.primaries, c.transfer, p.warning.c_str());
        const std::vector<uint8_t> &icc = p.colour.icc;
        EXPECT(icc.empty() == (c.gamma < 0), "primaries %d, transfer %d: a profile", c.primaries, c.transfer);
        if (icc.empty()) continue;
        const auto word = [&](size_t at) {
            return static_cast<uint32_t>(icc[at] << 24 | icc[at + 1] << 16 | icc[at + 2] << 8 | icc[at + 3]);
        };
        EXPECT(word(0) == icc.size() && !std::memcmp(&icc[12], gray ? "scnrGRAYXYZ " : "scnrRGB XYZ ", 12) &&
                   !std::memcmp(&icc[36], "acsp", 4),
               "its header");
        const auto tag = [&](const char *name) -> size_t {
            for (uint32_t i = 0; i < word(128); i++)
                if (!std::memcmp(&icc[132 + 12 * i], name, 4)) {
                    EXPECT(word(136 + 12 * i) + word(140 + 12 * i) <= icc.size(), "tag %s", name);
                    return word(136 + 12 * i);
                }
            EXPECT(false, "no tag %s", name);
            return 0;
        };
        const double white[] = {0.9642, 1, 0.8249};
        for (size_t k = 0; !gray && k < 3; k++) {
            int64_t sum = 0;
            for (const char *name : {"rXYZ", "gXYZ", "bXYZ"}) sum += static_cast<int32_t>(word(tag(name) + 8 + 4 * k));
            EXPECT(std::fabs(static_cast<double>(sum) / 65536 - white[k]) < 2e-5, "white is not D50");
        }
        const size_t curve = tag(gray ? "kTRC" : "gTRC");
        EXPECT(word(curve + 8) == (c.gamma > 0 ? 1 : 1024), "entries of the curve");
        const auto entry = [&](size_t i) { return icc[curve + 12 + 2 * i] << 8 | icc[curve + 13 + 2 * i]; };
        if (c.gamma > 0)
            EXPECT(std::fabs(entry(0) / 256. - c.gamma) < 0.002, "a power of %g", entry(0) / 256.);
        else
            EXPECT(!entry(0) && std::abs(entry(512) - 14055) < 40, "%d in the middle of sRGB's curve", entry(512));
    }
    const std::vector<uint8_t> exif{'I', 'I', '*', 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    Random random(9);
    const CudaencFormat format = make_format(8, 8, 3, 8, true, CUDAENC_COLOR_RGB);
    Picture picture = make_picture(random, format);
    CudaencFrame frame = picture.frame();
    frame.exif = exif.data(), frame.exif_size = exif.size();
    Log log;
    const std::vector<uint8_t> packet = encode(make_config(format, "cpu", &log), frame);
    const std::string box = std::string("\0\0\0\x26uuidJpgTiffExif->JP2", 24) + std::string(exif.begin(), exif.end());
    EXPECT(std::search(packet.begin(), packet.end(), box.begin(), box.end()) != packet.end(), "no EXIF");
}
END_TEST

// EXIF's resolution is the capture resolution: samples a metre, vertical first.
START_TEST(capture_resolution_of_jp2) {
    struct {
        uint32_t x[2], y[2];
        uint8_t unit;  // 0: none is in the file
        std::string contents;
    } const cases[] = {
        {{300, 1}, {600, 1}, 2, {"\xEA\x60\x00\xFE\x75\x30\x00\xFE\x02\x02", 10}},
        {{300, 1}, {300, 1}, 0, {"\x75\x30\x00\xFE\x75\x30\x00\xFE\x02\x02", 10}},
        {{11811, 100}, {4000, 1}, 3, {"\x9C\x40\x00\x01\x2E\x23\x00\x01\x01\x00", 10}},
        {{72, 1}, {72, 1}, 2, ""},  // unknown
        {{7200, 1}, {7200, 1}, 3, {"\x1C\x20\x00\x01\x1C\x20\x00\x01\x02\x02", 10}},
        {{300, 1}, {300, 0}, 2, ""},
        {{300, 0}, {300, 1}, 2, ""},
        {{300, 1}, {300, 1}, 1, ""},
    };
    Random random(10);
    const CudaencFormat format = make_format(8, 8, 3, 8, true, CUDAENC_COLOR_RGB);
    Picture picture = make_picture(random, format);
    for (const auto &c : cases)
        for (const bool little : {false, true}) {
            std::vector<uint8_t> exif;
            const auto put = [&](uint32_t value, int bytes) {
                for (int i = 0; i < bytes; i++)
                    exif.push_back(static_cast<uint8_t>(value >> 8 * (little ? i : bytes - 1 - i)));
            };
            put(little ? 0x4949 : 0x4D4D, 2), put(42, 2), put(8, 4), put(3, 2);
            put(0x011A, 2), put(5, 2), put(1, 4), put(50, 4);
            put(0x011B, 2), put(5, 2), put(1, 4), put(58, 4);
            put(c.unit ? 0x0128 : 0x0129, 2), put(3, 2), put(1, 4), put(c.unit, 2), put(0, 2), put(0, 4);
            for (const uint32_t value : {c.x[0], c.x[1], c.y[0], c.y[1]}) put(value, 4);
            for (const size_t size : {exif.size(), exif.size() - 1, size_t{40}, size_t{9}}) {
                CudaencFrame frame = picture.frame();
                frame.exif = exif.data(), frame.exif_size = size;
                Log log;
                const std::vector<uint8_t> packet = encode(make_config(format, "cpu", &log), frame);
                const std::string expected = std::string("\0\0\0\x1Ares \0\0\0\x12resc", 16) + c.contents,
                                  name = "res ";
                const bool scaled = size == exif.size() && !c.contents.empty();
                const std::string content(packet.begin(), packet.end());
                EXPECT((content.find(scaled ? expected : name) != std::string::npos) == scaled,
                       "%u/%u, unit %d, %zu bytes of EXIF", c.x[0], c.x[1], c.unit, size);
            }
        }
}
END_TEST

// What a frame brings along lies in a box of its own, once, before the codestream; options tell resolutions.
START_TEST(metadata_of_jp2) {
    const auto bytes = [](const std::string &text) { return std::vector<uint8_t>(text.begin(), text.end()); };
    const std::string xmp_uuid = "\xBE\x7A\xCF\xCB\x97\xA9\x42\xE8\x9C\x71\x99\x94\x91\xE3\xAF\xAC",
                      iptc_uuid = "\x33\xC7\xA4\xD2\xB8\x1D\x47\x23\xA0\xBA\xF1\xA3\xE0\x97\xAD\x38",
                      resources_uuid{"\x2C\x4C\x01\x00\x85\x04\x40\xB9\xA0\x3E\x56\x21\x48\xD6\xDF\xEB", 16};
    const std::vector<uint8_t> xmp = bytes("<rdf:RDF/>"), iim = bytes("\x1C\x02\x05"), resources = bytes("8BIM\4\4");
    const std::vector<uint8_t> large(3000000, '<'), none;
    struct {
        const std::vector<uint8_t> &xmp, &iptc;
        const std::string &uuid;  // of iptc
    } const cases[] = {{xmp, iim, iptc_uuid}, {large, resources, resources_uuid}, {none, none, iptc_uuid}};
    Random random(11);
    const CudaencFormat format = make_format(8, 8, 3, 8, true, CUDAENC_COLOR_RGB);
    Picture picture = make_picture(random, format);
    for (const auto &c : cases)
        for (const char *device : {"cpu", "emu"}) {
            CudaencFrame frame = picture.frame();
            frame.xmp = c.xmp.data(), frame.xmp_size = c.xmp.size();
            frame.iptc = c.iptc.data(), frame.iptc_size = c.iptc.size();
            Log log;
            const std::vector<uint8_t> packet = encode(make_config(format, device, &log), frame);
            const std::string content(packet.begin(), packet.end());
            const auto has_box = [&](const std::string &uuid, const std::vector<uint8_t> &inside) {
                const size_t at = content.find("uuid" + uuid);
                if (inside.empty()) return at == std::string::npos;
                Reader size(packet.data() + (at == std::string::npos ? 0 : at - 4), 4);
                return at != std::string::npos && at < content.find("jp2c") && size.get(4) == 24 + inside.size() &&
                       content.find("uuid" + uuid, at + 1) == std::string::npos &&
                       std::equal(inside.begin(), inside.end(), packet.begin() + static_cast<ptrdiff_t>(at) + 20);
            };
            EXPECT(has_box(xmp_uuid, c.xmp), "%s: XMP of %zu bytes", device, c.xmp.size());
            EXPECT(has_box(c.uuid, c.iptc), "%s: IPTC of %zu bytes", device, c.iptc.size());
        }
    struct {
        double capture, display;
        int num, den;
        std::string box;  // resd, then resc: vertical, horizontal
    } const resolutions[] = {
        {600, 0, 1, 1, {"\0\0\0\x1Ares \0\0\0\x12resc\xEA\x60\0\xFE\xEA\x60\0\xFE\2\2", 26}},
        {0, 300, 2, 1, {"\0\0\0\x1Ares \0\0\0\x12resd\x75\x30\0\xFE\x3A\x98\0\xFE\2\2", 26}},
        {72,
         96,
         0,
         1,
         {"\0\0\0\x2Cres \0\0\0\x12resd\x25\x80\0\xFE\x25\x80\0\xFE\2\2\0\0\0\x12resc\x1C\x20\0\xFE\x1C\x20\0\xFE\2\2",
          44}},
    };
    for (const auto &r : resolutions) {
        CudaencFrame frame = picture.frame();
        frame.sample_aspect_num = r.num, frame.sample_aspect_den = r.den;
        Log log;
        CudaencConfig config = make_config(format, "cpu", &log);
        config.j2k.capture_ppi = r.capture, config.j2k.display_ppi = r.display;
        const std::vector<uint8_t> packet = encode(config, frame);
        const std::string content(packet.begin(), packet.end());
        EXPECT(content.find(r.box) != std::string::npos, "%g and %g ppi", r.capture, r.display);
    }
    // A frame's own come in place of the files that options name.
    char path[] = "/tmp/metadata-XXXXXX";
    const int file = mkstemp(path);
    const std::string text = "\x1C of a file, <rdf:RDF/>";
    EXPECT_EQ(write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    close(file);
    Log log;
    CudaencConfig config = make_config(format, "cpu", &log);
    config.j2k.xmp = config.j2k.iptc = path;
    CudaencFrame frame = picture.frame();
    for (const size_t times : {2, 1, 0}) {  // that the file's text is there
        const std::vector<uint8_t> packet = encode(config, frame);
        size_t found = 0;
        for (auto at = packet.begin(); (at = std::search(at, packet.end(), text.begin(), text.end())) != packet.end();
             at++)
            found++;
        EXPECT_EQ(found, times);
        if (frame.xmp) frame.iptc = iim.data(), frame.iptc_size = iim.size();
        frame.xmp = xmp.data(), frame.xmp_size = xmp.size();
    }
    unlink(path);
    // Boxes that leave nothing of a target: an error, and no frame without a limit.
    config = make_config(format, "cpu", &log);
    config.j2k.frame_bytes = 1000000;
    frame.xmp = large.data(), frame.xmp_size = large.size();
    CudaencSession *session;
    CudaencPacket packet;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
    int code = cudaenc_submit(session, &frame);
    if (code == CUDAENC_OK) code = cudaenc_wait(session, &packet);
    EXPECT(code == CUDAENC_ERR_INVALID && log.lines.size() == 1 &&
               log.lines[0].find("is not possible") != std::string::npos,
           "%d", code);
    cudaenc_close(session);
}
END_TEST

// Rsiz of profiles with levels: the lowest main level whose samples a second the picture has, the lowest sub level
// whose bits a second the target has, and what these ask of each other (T.800 Tables A.49, A.50, A.53 and A.54).
START_TEST(levels_of_profiles) {
    const struct {
        int profile, width, height, components, fps;
        int64_t bit_rate;
        int tiles, pred, rsiz, megabits;  // a second, at most; 0: any
    } cases[] = {
        {CUDAENC_J2K_IMF_2K, 1300, 1000, 1, 50, 0, 1, -1, 0x0411, 200},
        {CUDAENC_J2K_IMF_2K, 1300, 1001, 1, 50, 0, 1, -1, 0x0412, 200},
        {CUDAENC_J2K_IMF_2K, 1300, 1000, 1, 50, 200000000, 1, -1, 0x0411, 200},
        {CUDAENC_J2K_IMF_2K, 1300, 1000, 1, 50, 200000400, 1, -1, 0x0424, 400},
        {CUDAENC_J2K_IMF_2K, 1300, 1000, 1, 50, 700000000, 1, -1, 0x0435, 800},
        {CUDAENC_J2K_IMF_2K, 2048, 1080, 3, 60, 200000000, 1, -1, 0x0415, 200},
        {CUDAENC_J2K_IMF_4K, 3840, 2160, 3, 24, 0, 1, -1, 0x0546, 1600},
        {CUDAENC_J2K_IMF_8K, 8192, 4320, 3, 60, 0, 1, -1, 0x0679, 12800},
        {CUDAENC_J2K_IMF_2K_R, 1300, 1000, 1, 50, 0, 1, -1, 0x0701, 0},
        {CUDAENC_J2K_BROADCAST, 1300, 1000, 1, 50, 0, 1, -1, 0x0101, 200},
        {CUDAENC_J2K_BROADCAST, 1920, 1080, 2, 60, 0, 1, -1, 0x0104, 400},
        {CUDAENC_J2K_BROADCAST, 1920, 1080, 2, 60, 0, 4, -1, 0x0204, 400},
        {CUDAENC_J2K_BROADCAST, 1920, 1080, 2, 60, 0, 1, CUDAENC_J2K_DWT53, 0x0306, 1600},
    };
    for (const auto &c : cases) {
        CudaencJ2kOptions o = default_options();
        o.profile = c.profile, o.pred = c.pred, o.bit_rate = c.bit_rate;
        o.frame_rate_num = c.fps, o.frame_rate_den = 1;
        if (c.tiles > 1) o.tile_height = c.height / c.tiles;
        const j2k::Params p =
            j2k::make_params(make_format(c.width, c.height, c.components, 10, false, CUDAENC_COLOR_GRAY), o);
        EXPECT(p.rsiz == c.rsiz, "profile %d, %dx%d, %d/s, %lld bits/s: Rsiz %04x, not %04x", c.profile, c.width,
               c.height, c.fps, static_cast<long long>(c.bit_rate), p.rsiz, c.rsiz);
        EXPECT_EQ(p.limits.frame, static_cast<uint64_t>(c.megabits) * 125000 / static_cast<uint64_t>(c.fps));
    }
    // Above these SMPTE ST 2067-21 has no level of the profile.
    for (const auto &[profile, highest] : {std::pair{CUDAENC_J2K_IMF_2K, 6},
                                           {CUDAENC_J2K_IMF_4K, 8},
                                           {CUDAENC_J2K_IMF_8K, 10},
                                           {CUDAENC_J2K_IMF_2K_R, 6},
                                           {CUDAENC_J2K_IMF_4K_R, 8},
                                           {CUDAENC_J2K_IMF_8K_R, 10}})
        for (const int level : {highest, highest + 1}) {
            CudaencJ2kOptions o = default_options();
            o.profile = profile, o.main_level = level, o.frame_rate_num = 25, o.frame_rate_den = 1;
            const j2k::Params p = j2k::make_params(make_format(64, 48, 1, 10, false, CUDAENC_COLOR_GRAY), o);
            EXPECT((p.warning.find("validators refuse main level") != std::string::npos) == (level > highest),
                   "profile %d, main level %d: '%s'", profile, level, p.warning.c_str());
        }
}
END_TEST

// Pictures that a smaller profile has.
START_TEST(profiles_of_smaller_pictures) {
    for (const auto &[profile, width] :
         {std::pair{CUDAENC_J2K_CINEMA_4K, 2048}, {CUDAENC_J2K_IMF_4K, 2048}, {CUDAENC_J2K_IMF_8K, 4096}})
        for (const int more : {0, 1}) {
            CudaencJ2kOptions o = default_options();
            o.profile = profile, o.frame_rate_num = 24, o.frame_rate_den = 1;
            const j2k::Params p =
                j2k::make_params(make_format(width + more, 4, 3, 12, true,
                                             profile == CUDAENC_J2K_CINEMA_4K ? CUDAENC_COLOR_XYZ : CUDAENC_COLOR_RGB),
                                 o);
            EXPECT((p.warning.find("validators refuse pictures of") != std::string::npos) == !more,
                   "profile %d, %d columns: '%s'", profile, width + more, p.warning.c_str());
        }
}
END_TEST

// The frame rates of digital cinema, and what a frame and a component of it have at most.
START_TEST(frames_of_cinema) {
    for (const auto &[num, den] : {std::pair{16, 1},
                                   {200, 11},
                                   {20, 1},
                                   {240, 11},
                                   {24, 1},
                                   {25, 1},
                                   {30, 1},
                                   {48, 1},
                                   {50, 1},
                                   {60, 1},
                                   {96, 1}})
        for (const bool half : {false, true}) {  // of the bits: an eye's
            CudaencJ2kOptions o = default_options();
            const bool fast = num >= (half ? 48 : 60) * den;
            o.profile = CUDAENC_J2K_CINEMA_2K, o.stereo = half, o.hfr = fast;
            o.frame_rate_num = num, o.frame_rate_den = den;
            if (half && num == 96) continue;
            const j2k::Params p = j2k::make_params(make_format(64, 48, 3, 12, true, CUDAENC_COLOR_XYZ), o);
            const int64_t times = fast ? 2 : 1, eyes = half ? 2 : 1, frame = times * 250000000 / 8 * den / num / eyes,
                          component = times * 200000000 / 8 * den / num / eyes;
            EXPECT(
                static_cast<int64_t>(p.limits.frame) == frame && static_cast<int64_t>(p.limits.component) == component,
                "%d/%d frames/s: %llu and %llu bytes", num, den, static_cast<unsigned long long>(p.limits.frame),
                static_cast<unsigned long long>(p.limits.component));
        }
}
END_TEST

// COM marker segments of 7 to 65537 bytes fill a frame up to its least size, exactly where they can.
START_TEST(fillers_have_their_size) {
    j2k::Params p{};
    p.least_bytes = 400000;
    for (const uint64_t lack : {1, 6, 7, 65537, 65538, 65543, 65544, 131075, 399000}) {
        const std::vector<uint8_t> filler = j2k::make_filler(p.least_bytes, p.least_bytes - lack);
        EXPECT_EQ(filler.size(), std::max<uint64_t>(lack, 7));
        size_t at = 0;
        while (at < filler.size()) {
            Reader segment(filler.data() + at, filler.size() - at);
            EXPECT_EQ(segment.get(2), j2k::kCom);
            const size_t size = segment.get(2);
            EXPECT(size >= 5, "a segment of %zu bytes", size);
            at += 2 + size;
        }
        EXPECT_EQ(at, filler.size());
    }
    EXPECT(j2k::make_filler(p.least_bytes, p.least_bytes).empty());
}
END_TEST

// A codestream beyond 4 GiB has a box with a length of 64 bits.
START_TEST(boxes_of_huge_codestreams) {
    const j2k::Params p = j2k::make_params(make_format(8, 8, 1, 8, false, CUDAENC_COLOR_GRAY), default_options());
    const std::pair<uint64_t, std::string> cases[] = {
        {0xFFFFFFF7, {"\xFF\xFF\xFF\xFFjp2c", 8}},
        {0xFFFFFFF8, {"\0\0\0\1jp2c\0\0\0\1\0\0\0\x08", 16}},
    };
    for (const auto &[bytes, head] : cases) {
        const std::vector<uint8_t> boxes = j2k::make_jp2_boxes(p, {}, bytes);
        EXPECT(std::string(boxes.begin(), boxes.end()).ends_with(head), "%llu bytes",
               static_cast<unsigned long long>(bytes));
    }
    j2k::check_tile_part_length(0xFFFFFFFF);
    try {
        j2k::check_tile_part_length(0x100000000);
        ck_abort_msg("a tile-part of 4 GiB");
    } catch (const Error &e) {
        EXPECT_EQ(e.code, CUDAENC_ERR_UNSUPPORTED);
    }
}
END_TEST

// Counters that wrap or overflow their marker segment, the same on a device.
START_TEST(many_tiles_and_packets) {
    struct {
        int side, tile;
        const char *precincts;
        size_t tiles, packets, tlm_segments, plt_segments;
        const char *device;
    } const cases[] = {{101, 1, "", 10201, 10201, 2, 10201, "emu"},
                       {475, 0, "4x4", 1, 14161, 1, 2, "emu"},
                       {1040, 0, "4x4", 1, 67600, 1, 6, nullptr}};
    Random random(1);
    for (const auto &k : cases) {
        const CudaencFormat format = make_format(k.side, k.side, 1, 8, false, CUDAENC_COLOR_GRAY);
        Log log;
        CudaencConfig config = make_config(format, "cpu", &log);
        config.j2k.tile_width = config.j2k.tile_height = k.tile;
        config.j2k.format = CUDAENC_J2K_JP2;
        config.j2k.pred = CUDAENC_J2K_DWT97;
        config.j2k.prog = CUDAENC_J2K_LRCP;
        config.j2k.guard_bits = 2;
        config.j2k.levels = 0;
        config.j2k.precincts = k.precincts;
        config.j2k.sop = config.j2k.eph = config.j2k.tlm = config.j2k.plt = 1;
        config.j2k.quality = 1;
        Picture picture = make_picture(random, format, Content::smooth);
        const CudaencFrame frame = picture.frame();
        const auto packet = encode(config, frame);
        const Parsed parsed = parse(packet, config, frame);
        EXPECT_EQ(parsed.tiles, k.tiles);
        EXPECT_EQ(parsed.packets, k.packets);
        EXPECT_EQ(parsed.tlm_segments, k.tlm_segments);
        EXPECT_EQ(parsed.plt_segments, k.plt_segments);
        if (!k.device) continue;
        config.device = k.device;
        EXPECT(encode(config, frame) == packet);
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("headers");
    TCase *headers = add_case(suite, "headers");
    tcase_add_loop_test(headers, random_pictures_say_what_they_are, 0, 8);
    tcase_add_test(headers, steps_that_frames_choose);
    tcase_add_test(headers, colours_of_jp2);
    tcase_add_test(headers, capture_resolution_of_jp2);
    tcase_add_test(headers, metadata_of_jp2);
    tcase_add_test(headers, levels_of_profiles);
    tcase_add_test(headers, profiles_of_smaller_pictures);
    tcase_add_test(headers, frames_of_cinema);
    tcase_add_test(headers, fillers_have_their_size);
    tcase_add_test(headers, boxes_of_huge_codestreams);
    tcase_add_test(headers, many_tiles_and_packets);
    return run_suite(suite);
}
