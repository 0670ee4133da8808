// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cases.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "../../common/error.h"

namespace cudaenc::bench {

namespace {

constexpr FrameFormat kRgb4k = {3840, 2160, 8, Layout::kRgb}, kRgbHd = {1920, 1080, 8, Layout::kRgb},
                      k420Hd = {1920, 1080, 8, Layout::kYuv420, true},
                      k420In4k = {3840, 2160, 8, Layout::kYuv420, true},
                      k444In4k = {3840, 2160, 8, Layout::kYuv444, true};

Case j2k(const char *name, const FrameFormat &format, bool lossless, int cblk = 32) {
    return {.name = name, .format = format, .codec = CUDAENC_CODEC_J2K, .lossless = lossless, .cblk = cblk};
}
Case mjpeg(const char *name, const FrameFormat &format, int huffman) {
    return {.name = name, .format = format, .codec = CUDAENC_CODEC_MJPEG, .huffman = huffman};
}
// At the profile's 250 Mbit/s and 24 frames/s.
Case cinema(const char *name, int width, int height, int profile) {
    return {.name = name,
            .format = {width, height, 16, Layout::kRgbPacked},
            .codec = CUDAENC_CODEC_J2K,
            .profile = profile};
}
FrameFormat deep(int depth, Layout layout = Layout::kRgb) { return {3840, 2160, depth, layout}; }

constexpr const char *kStyleNames[] = {"bypass", "reset", "termall", "vsc", "erterm", "segsym", "ht"};

const char *codec_name(const Case &c) { return c.is_j2k() ? "j2k" : "mjpeg"; }

}  // namespace

std::string style_text(int style) {
    std::string text;
    for (size_t i = 0; i < std::size(kStyleNames); i++)
        if (style >> i & 1) text += (text.empty() ? "" : "+") + std::string(kStyleNames[i]);
    return text;
}

int parse_style(const std::string &text) {
    int style = 0;
    std::istringstream names(text);
    for (std::string name; std::getline(names, name, '+');) {
        const auto found = std::find(std::begin(kStyleNames), std::end(kStyleNames), name);
        if (found == std::end(kStyleNames))
            throw Error(CUDAENC_ERR_INVALID, "-style '" + name + "' is not known; they are " + style_text(127));
        style |= 1 << (found - std::begin(kStyleNames));
    }
    return style;
}

std::string Case::text() const {
    const char *const layouts[] = {"RGB", "packed RGB", "4:4:4", "4:2:2", "4:2:0"};
    const std::string picture =
        format_string("%dx%d %s %d bit, %s", format.width, format.height, layouts[static_cast<int>(format.layout)],
                      format.depth, fields ? "two fields, " : "");
    if (profile) return picture + "digital cinema, 24 frames/s, 250 Mbit/s";
    if (is_j2k())
        return picture + format_string("%s, blocks %dx%d", lossless ? "5/3 lossless" : "9/7", cblk, cblk) +
               (tile ? format_string(", tiles %dx%d", tile, tile) : "") + (style ? ", " + style_text(style) : "");
    return picture +
           (huffman == CUDAENC_MJPEG_HUFFMAN_OPTIMAL ? "JPEG, optimal Huffman tables"
                                                     : "JPEG, Annex K's Huffman tables") +
           (trellis ? ", trellis" : "") + (restart ? ", restart markers" : "");
}

const std::vector<Case> &all_cases() {
    static const std::vector<Case> cases = {
        j2k("4k-lossless", kRgb4k, true),
        j2k("4k-lossy", kRgb4k, false),
        j2k("hd-lossless", kRgbHd, true),
        j2k("hd-lossy", kRgbHd, false),
        j2k("4k-12bit-lossless", deep(12), true),
        j2k("4k-12bit-lossy", deep(12), false),
        j2k("4k-16bit-lossless", deep(16), true),
        j2k("4k-16bit-lossy", deep(16), false),
        j2k("4k-422p10-lossless", deep(10, Layout::kYuv422), true),
        j2k("4k-422p10-lossy", deep(10, Layout::kYuv422), false),
        j2k("4k-cblk64-lossless", kRgb4k, true, 64),
        j2k("4k-cblk64-lossy", kRgb4k, false, 64),
        cinema("cinema2k", 2048, 1080, CUDAENC_J2K_CINEMA_2K),
        cinema("cinema4k", 4096, 2160, CUDAENC_J2K_CINEMA_4K),
        mjpeg("mjpeg-4k-420", k420In4k, CUDAENC_MJPEG_HUFFMAN_DEFAULT),
        mjpeg("mjpeg-4k-420-optimal", k420In4k, CUDAENC_MJPEG_HUFFMAN_OPTIMAL),
        mjpeg("mjpeg-4k-444", k444In4k, CUDAENC_MJPEG_HUFFMAN_DEFAULT),
        mjpeg("mjpeg-hd-420", k420Hd, CUDAENC_MJPEG_HUFFMAN_DEFAULT),
        mjpeg("mjpeg-hd-420-optimal", k420Hd, CUDAENC_MJPEG_HUFFMAN_OPTIMAL),
    };
    return cases;
}

std::vector<Case> choose_cases(const std::string &list) {
    std::vector<Case> chosen;
    std::istringstream names(list);
    for (std::string name; std::getline(names, name, ',');) {
        const size_t before = chosen.size();
        for (const Case &c : all_cases())
            if (name == c.name || name == codec_name(c) || name == "all") chosen.push_back(c);
        if (chosen.size() == before)
            throw Error(CUDAENC_ERR_INVALID, "-case '" + name + "' is not known; -list names the cases");
    }
    return chosen;
}

CudaencConfig make_config(const Case &c, const char *device) {
    CudaencConfig config;
    cudaenc_config_defaults(&config, c.codec);
    config.format = make_format(c.format);
    config.device = device;
    config.fields = c.fields ? CUDAENC_TOP_FIELD_FIRST : CUDAENC_PROGRESSIVE;
    config.mjpeg.quality = kJpegQuality;
    config.mjpeg.huffman = c.huffman;
    config.mjpeg.trellis = c.trellis;
    config.mjpeg.restart_interval = c.restart;
    config.j2k.format = CUDAENC_J2K_CODESTREAM;
    config.j2k.profile = c.profile;
    if (c.profile) {
        config.j2k.frame_rate_num = 24;
        config.j2k.frame_rate_den = 1;
        config.format.color_primaries = config.format.color_transfer = 1;  // BT.709
        return config;
    }
    config.j2k.pred = c.lossless ? CUDAENC_J2K_DWT53 : CUDAENC_J2K_DWT97;
    if (c.is_j2k()) config.j2k.cblk_width = config.j2k.cblk_height = c.cblk;
    config.j2k.cblk_style = c.style;
    config.j2k.tile_width = config.j2k.tile_height = c.tile;
    config.j2k.quality = 90;
    return config;
}

int &quality_of(CudaencConfig &config) {
    return config.codec == CUDAENC_CODEC_J2K ? config.j2k.quality : config.mjpeg.quality;
}

}  // namespace cudaenc::bench
