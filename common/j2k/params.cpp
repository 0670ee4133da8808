// SPDX-License-Identifier: LGPL-2.1-or-later
#include "params.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "../error.h"
#include "../hd.h"
#include "../options.h"
#include "../planes.h"
#include "block_coders.h"
#include "codestream/main_header.h"
#include "decoder_limits.h"
#include "jp2_metadata.h"
#include "presets.h"
#include "profile.h"
#include "quantisers.h"

namespace cudaenc::j2k {

namespace {

constexpr int kMaxSize = 32768;
constexpr int kMaxTiles = 65535;             // T.800 A.4.2: Isot has 16 bits, 65535 is reserved
constexpr int kMaxTileComponents = 1 << 20;  // that decoders take whatever their bytes, see check_counts()

// "WxH,WxH,...", highest resolution first; T.800 A.6.1: exponents 0 to 15, 0 for the lowest resolution only.
void parse_precincts(Params &params, const char *text) {
    params.precinct_width_log2.fill(15);
    params.precinct_height_log2.fill(15);
    params.default_precincts = !text || !*text;
    if (params.default_precincts) return;
    int width = 0, height = 0;  // exponents; of all resolutions behind the last size
    const char *at = text;
    for (int resolution = params.levels; resolution >= 0; resolution--) {
        if (*at) {
            long w, h;
            int used = 0;
            if (std::sscanf(at, "%ld%*1[xX]%ld%n", &w, &h, &used) != 2 || (at[used] && at[used] != ',') ||
                (at[used] && !at[used + 1]))
                refuse(
                    format_string("precincts '%s' is not allowed: it is WxH[,WxH...], highest resolution first", text));
            at += used + (at[used] == ',');
            const int low = resolution ? 2 : 1;
            if (w < low || w > 32768 || h < low || h > 32768 || (w & (w - 1)) || (h & (h - 1)))
                refuse(format_string("precincts '%s': %ldx%ld is not allowed: sides are powers of two, %d to 32768%s",
                                     text, w, h, low, resolution ? " (1 only at the lowest resolution)" : ""));
            width = bit_width(static_cast<uint32_t>(w)) - 1;
            height = bit_width(static_cast<uint32_t>(h)) - 1;
        }
        params.precinct_width_log2[resolution] = width;
        params.precinct_height_log2[resolution] = height;
    }
    if (*at)
        refuse(format_string("precincts '%s' has more sizes than levels %d has resolutions (%d)", text, params.levels,
                             params.levels + 1));
}

constexpr const char *kProgressionNames[] = {"lrcp", "rlcp", "rpcl", "pcrl", "cprl"};

// "RS,CS,LYE,RE,CE,ORDER[/...]": the fields of A.6.6, a change after a slash.
void parse_poc(Params &params, const char *text) {
    const size_t most = most_progression_changes(params.components.size());
    for (const char *at = text ? text : ""; *at;) {
        ProgressionChange change{};
        int used = 0;
        char order[5] = "";
        std::sscanf(at, "%d,%d,%d,%d,%d,%4[a-z]%n", &change.first_resolution, &change.first_component,
                    &change.last_layer, &change.last_resolution, &change.last_component, order, &used);
        const auto *name = std::find_if(std::begin(kProgressionNames), std::end(kProgressionNames),
                                        [&](const char *x) { return !std::strcmp(x, order); });
        if (!used || (at[used] && at[used] != '/') || name == std::end(kProgressionNames))
            refuse(
                format_string("poc '%s' is not allowed: it is RS,CS,LYE,RE,CE,ORDER[/...], the order one of lrcp, "
                              "rlcp, rpcl, pcrl, cprl",
                              text));
        const auto within = [&](const char *what, int first, int last, int most) {
            if (first < 0 || first >= most || last <= first || last > most)
                refuse(format_string("poc '%s': %s %d to %d are not allowed: they are 0 to %d, the last one excluded",
                                     text, what, first, last, most));
        };
        within("resolutions", change.first_resolution, change.last_resolution, params.levels + 1);
        within("components", change.first_component, change.last_component, static_cast<int>(params.components.size()));
        within("layers", 0, change.last_layer, params.layers);
        change.progression = static_cast<CudaencJ2kProgression>(name - std::begin(kProgressionNames));
        params.poc.push_back(change);
        if (params.poc.size() > most) refuse(format_string("poc has more than %zu changes", most));
        at += used + (at[used] == '/');
        if (at[-1] == '/' && !*at) refuse(format_string("poc '%s' is not allowed: nothing follows its last /", text));
    }
    for (int c = 0; !params.poc.empty() && c < static_cast<int>(params.components.size()); c++)
        for (int r = 0; r <= params.levels; r++)
            if (std::none_of(params.poc.begin(), params.poc.end(), [&](const ProgressionChange &change) {
                    return change.first_resolution <= r && r < change.last_resolution && change.first_component <= c &&
                           c < change.last_component && change.last_layer == params.layers;
                }))
                refuse(
                    format_string("poc '%s' leaves out resolution %d of component %d%s", text, r, c,
                                  params.layers > 1 ? format_string(" in layer %d", params.layers - 1).c_str() : ""));
}

// "X,Y,WIDTH,HEIGHT"; T.800 H.1.2: shifted by all bit-planes of coefficients without it. One more is for decoders that
// keep half a bit below the magnitude, and compare with that.
constexpr int kMaxRoiPlanes = 14;  // twice that, and two, fit the planes that decoders hold
void parse_roi(Params &params, const char *text) {
    if (!text || !*text) return;
    Roi &roi = params.roi;
    int used = 0;
    if (std::sscanf(text, "%d,%d,%d,%d%n", &roi.x, &roi.y, &roi.width, &roi.height, &used) != 4 || text[used])
        refuse(format_string("roi '%s' is not allowed: it is X,Y,WIDTH,HEIGHT", text));
    if (roi.x < 0 || roi.y < 0 || roi.width < 1 || roi.height < 1 || roi.x > params.width - roi.width ||
        roi.y > params.height - roi.height)
        refuse(format_string("roi '%s' is not allowed: it lies within the picture of %dx%d", text, params.width,
                             params.height));
    for (const auto &bands : params.quantisers)
        for (const Quantiser &q : bands) roi.shift = std::max(roi.shift, q.planes);
    if (roi.shift > kMaxRoiPlanes)
        refuse(
            format_string("roi '%s' is not allowed with %d bit-planes: there are at most %d; a lower quality, fewer "
                          "guard_bits or fewer levels have less",
                          text, roi.shift, kMaxRoiPlanes));
    roi.shift++;
}

constexpr uint64_t kMaxTarget = uint64_t{1} << 40;  // bytes: no frame has more
void parse_rate(Params &params, const CudaencJ2kOptions &options) {
    const bool by_layers = options.layer_rates && *options.layer_rates;
    const int targets = (options.bit_rate != 0) + (options.frame_bytes != 0) + (options.compression_ratio != 0) +
                        (options.psnr != 0) + by_layers;
    if (targets > 1)
        refuse(
            "b, frame_bytes, compression_ratio, psnr and layer_rates are not allowed together: one of them is the "
            "target");
    if (options.rate_control > CUDAENC_J2K_RATE_NONE && !targets)
        refuse("rate_control needs a target: b, frame_bytes, compression_ratio, psnr or layer_rates");
    if (options.rate_control == CUDAENC_J2K_RATE_NONE && targets)
        refuse("rate_control none is not allowed with a target");
    if (options.psnr != 0 && options.rate_control > CUDAENC_J2K_RATE_PCRD)
        refuse("rate_control pst, psb, bpi and psp are not allowed with psnr: allowed are pcrd and auto");
    params.rate.mode = !targets                   ? CUDAENC_J2K_RATE_NONE
                       : options.psnr != 0        ? CUDAENC_J2K_RATE_PCRD
                       : options.rate_control < 0 ? CUDAENC_J2K_RATE_PSP
                                                  : static_cast<CudaencJ2kRateControl>(options.rate_control);
    params.rate.pst_lag = options.pst_lag;
    uint64_t bytes = 0;
    if (options.bit_rate) {
        if (options.frame_rate_num <= 0 || options.frame_rate_den <= 0) refuse("b is not allowed without a frame rate");
        bytes = static_cast<uint64_t>(
            std::min(static_cast<long double>(options.bit_rate) * options.frame_rate_den / options.frame_rate_num / 8,
                     static_cast<long double>(kMaxTarget)));
    } else if (options.frame_bytes) {
        bytes = std::min(static_cast<uint64_t>(options.frame_bytes), kMaxTarget);
    } else if (options.compression_ratio != 0) {
        bytes = static_cast<uint64_t>(params.sample_bytes() / options.compression_ratio);
    } else if (options.psnr != 0) {
        params.rate.error = std::pow(10, -options.psnr / 10);
    }
    if (targets && options.psnr == 0 && !by_layers) bytes = std::max<uint64_t>(bytes, 1);
    if (!by_layers) {
        params.rate.layers.assign(static_cast<size_t>(params.layers), 0);
        params.rate.layers.back() = bytes;
        return;
    }
    double last = 1e9;
    for (const char *at = options.layer_rates; *at;) {
        char *end;
        const double ratio = std::strtod(at, &end);
        if (end == at || !(ratio >= 1 && ratio < last) || (*end && *end != ',') || (*end == ',' && !end[1]))
            refuse(format_string(
                "layer_rates '%s' is not allowed: it is compression ratios R0,R1,..., each smaller than the "
                "one before and at least 1",
                options.layer_rates));
        params.rate.layers.push_back(ratio > 1 ? static_cast<uint64_t>(params.sample_bytes() / ratio) : 0);
        last = ratio;
        at = *end ? end + 1 : end;
    }
    const int count = static_cast<int>(params.rate.layers.size());
    if (count > kMaxLayers || (params.layers > 1 && params.layers != count))
        refuse(format_string(
            "layer_rates '%s' has %d layers: %s", options.layer_rates, count,
            count > kMaxLayers ? "at most 100 are allowed" : format_string("layers says %d", params.layers).c_str()));
    params.layers = count;
}

// A frame is filled up by a COM marker segment, of seven bytes or more, and stays within its limits.
uint64_t least_bytes(const Params &params, const CudaencJ2kOptions &options) {
    const uint64_t least = static_cast<uint64_t>(options.min_frame_bytes);
    for (const uint64_t most : {params.limits.frame, params.rate.layers.back(), uint64_t{1} << 24})
        if (most && least && least + 6 > most)
            refuse(format_string("min_frame_bytes %lld is not allowed: with these options it is at most %lld",
                                 static_cast<long long>(least), static_cast<long long>(most) - 6));
    return least;
}

bool is_cinema(int profile) { return profile == CUDAENC_J2K_CINEMA_2K || profile == CUDAENC_J2K_CINEMA_4K; }

// SMPTE ST 428-1: files of DCDMs have 12 bits in the upper ones of 16.
void take_as_xyz(CudaencFormat &format) {
    if (format.color_model != CUDAENC_COLOR_RGB || format.components != 3)
        refuse("xyz 2 is not allowed: it takes RGB without alpha, of 12 or 16 bits");
    for (int c = 0; c < format.components; c++) {
        CudaencComponent &k = format.component[c];
        if (k.depth != kXyzDepth && k.depth != 16)
            refuse(format_string("xyz 2 is not allowed with depth %d: it is 12 or 16", k.depth));
        k.shift += k.depth - kXyzDepth;
        k.depth = kXyzDepth;
    }
    format.color_model = CUDAENC_COLOR_XYZ;
}

void set_colours(Params &p, const CudaencFormat &format, const CudaencJ2kOptions &options) {
    p.input = format;
    const bool is_xyz = format.color_model == CUDAENC_COLOR_XYZ;
    const int xyz = options.xyz >= 0 ? options.xyz : is_cinema(options.profile) && can_become_xyz(format);
    std::string assumed;
    if (xyz != CUDAENC_XYZ_OFF && format.is_signed) refuse("is_signed 1 is not allowed with xyz: X'Y'Z' is unsigned");
    if (xyz == CUDAENC_XYZ_ALREADY && !is_xyz) take_as_xyz(p.input);
    if (xyz == CUDAENC_XYZ_ON && !is_xyz) p.xyz = make_xyz_tables(format, options, assumed);
    p.warn(assumed);
    if (!p.xyz && (options.xyz_range >= 0 || options.xyz_matrix >= 0 || options.xyz_transfer >= 0 ||
                   options.xyz_primaries >= 0 || (options.xyz_lut && *options.xyz_lut)))
        p.warn(
            "xyz_range, xyz_matrix, xyz_transfer, xyz_primaries and xyz_lut have no effect: frames do not become "
            "X'Y'Z'");
    p.color_model = p.xyz ? CUDAENC_COLOR_XYZ : p.input.color_model;
    for (int c = 0; c < format.components; c++) {
        const CudaencComponent k = component_of(p.input, c);
        p.components.push_back(
            p.xyz ? Component{1, 1, kXyzDepth}
                  : Component{1 << k.log2_subsample_x, 1 << k.log2_subsample_y, k.depth, format.is_signed != 0});
    }
}

// A direction of the reference grid (T.800 B.2, B.3).
struct GridSide {
    const char *image_option, *tile_option, *size_option;
    int begin, tile_begin;  // of the picture, of the first tile
    int end;                // of the picture
    int tile_size;
    int tiles() const { return static_cast<int>(ceil_div(end - tile_begin, tile_size)); }
};

void check_offsets(const Params &p, const GridSide &side, int subsampling) {
    if (side.tile_begin > side.begin)
        refuse(format_string("%s %d is not allowed with %s %d: it is at most that", side.tile_option, side.tile_begin,
                             side.image_option, side.begin));
    if (side.tile_size <= side.begin - side.tile_begin)
        refuse(format_string("%s %d is not allowed with %s %d and %s %d: the first tile has nothing of the picture",
                             side.tile_option, side.tile_begin, side.image_option, side.begin, side.size_option,
                             side.tile_size));
    if (side.begin % subsampling)
        refuse(format_string("%s %d is not allowed with sub-sampled components: it is a multiple of %d",
                             side.image_option, side.begin, subsampling));
    if (p.xyz && side.begin)
        refuse(
            format_string("%s %d is not allowed where frames become X'Y'Z': it is 0", side.image_option, side.begin));
}

// Profiles check the options' tile sizes, also those larger than the picture. That of digital cinema is the picture,
// since libdcp's verifier refuses larger ones.
void set_tiles(Params &p, const CudaencJ2kOptions &options) {
    const auto tile_size = [&](int option, int all) {
        return !option ? all : options.profile && !is_cinema(options.profile) ? option : std::min(option, all);
    };
    p.width = p.input.width, p.height = p.input.height;
    p.x0 = options.x_offset, p.y0 = options.y_offset;
    p.tile_x0 = options.tile_x_offset, p.tile_y0 = options.tile_y_offset;
    p.tile_width = tile_size(options.tile_width, p.x0 + p.width - p.tile_x0);
    p.tile_height = tile_size(options.tile_height, p.y0 + p.height - p.tile_y0);
    const GridSide columns{"x_offset", "tile_x_offset", "tile_width", p.x0, p.tile_x0, p.x0 + p.width, p.tile_width},
        rows{"y_offset", "tile_y_offset", "tile_height", p.y0, p.tile_y0, p.y0 + p.height, p.tile_height};
    int dx = 1, dy = 1;
    for (const Component &c : p.components) dx = std::max(dx, c.dx), dy = std::max(dy, c.dy);
    check_offsets(p, columns, dx);
    check_offsets(p, rows, dy);
    p.tiles_x = columns.tiles();
    p.tiles_y = rows.tiles();
    if (int64_t{p.tiles_x} * p.tiles_y > kMaxTiles)
        refuse(format_string("tile_width %d, tile_height %d cut %dx%d into %lld tiles: at most %d are allowed",
                             p.tile_width, p.tile_height, p.width, p.height,
                             static_cast<long long>(p.tiles_x) * p.tiles_y, kMaxTiles));
    if (int64_t{p.tiles()} * static_cast<int64_t>(p.components.size()) > kMaxTileComponents)
        refuse(format_string("tile_width %d, tile_height %d cut %zu components into %d tiles: at most %d are allowed",
                             p.tile_width, p.tile_height, p.components.size(), p.tiles(),
                             kMaxTileComponents / static_cast<int>(p.components.size())));
}

// Whether the first three components have one size and depth.
bool has_three_alike(const Params &p) {
    const auto is_like_first = [&](const Component &c) {
        return c.dx == p.components[0].dx && c.dy == p.components[0].dy && c.depth == p.components[0].depth;
    };
    return p.components.size() >= 3 && is_like_first(p.components[1]) && is_like_first(p.components[2]);
}

// What a file says of colours, and what it cannot say.
void set_colour_box(Params &p) {
    if (p.jp2) p.colour = jp2_colour(p.input, p.color_model);
    if (!p.colour.untrue.empty())
        p.warn("format jp2 cannot tell of " + p.colour.untrue + ": decoders of .jp2 files take samples for " +
               (p.colour.enumerated == 17   ? "full-range grey"
                : p.colour.enumerated == 18 ? "sYCC"
                                            : "sRGB"));
    if (!p.jp2 && has_three_alike(p) && p.color_model == CUDAENC_COLOR_YUV)
        p.warn("format j2k cannot tell of YUV 4:4:4: FFmpeg's decoder takes it for RGB");
}

// The bytes of a file that an option names.
std::vector<uint8_t> read_file(const char *option, const char *path) {
    constexpr size_t kMost = 0x7FFFFFFF, kPiece = 1 << 20;
    std::ifstream file(path, std::ios::binary);
    std::vector<uint8_t> bytes;
    while (file && bytes.size() <= kMost) {
        const size_t before = bytes.size();
        bytes.resize(before + kPiece);
        file.read(reinterpret_cast<char *>(bytes.data()) + before, kPiece);
        bytes.resize(before + static_cast<size_t>(file.gcount()));
    }
    const char *why = !file.is_open()        ? "it cannot be opened"
                      : bytes.empty()        ? "it cannot be read, or is empty"
                      : bytes.size() > kMost ? "it is larger than 2 GiB"
                                             : nullptr;
    if (why) refuse(format_string("%s '%s' is not allowed: %s", option, path, why));
    return bytes;
}

bool has_text(const std::vector<uint8_t> &bytes, std::string_view text) {
    return std::search(bytes.begin(), bytes.end(), text.begin(), text.end()) != bytes.end();
}

void set_metadata(Params &p, const CudaencJ2kOptions &options) {
    const bool xmp = options.xmp && *options.xmp, iptc = options.iptc && *options.iptc;
    if (xmp) p.xmp = read_file("xmp", options.xmp);
    if (iptc) p.iptc = read_file("iptc", options.iptc);
    if (xmp && !has_text(p.xmp, "rdf:RDF"))
        refuse(
            format_string("xmp '%s' is not allowed: it is no XMP, which has an element rdf:RDF in UTF-8", options.xmp));
    if (iptc && !is_iptc(p.iptc))
        refuse(
            format_string("iptc '%s' is not allowed: it is neither IPTC-IIM, which begins with 1C hexadecimal, nor "
                          "Photoshop image resources, which begin with 8BIM",
                          options.iptc));
    p.capture_ppi = options.capture_ppi;
    p.display_ppi = options.display_ppi;
    if (!p.jp2 && (xmp || iptc || p.capture_ppi != 0 || p.display_ppi != 0))
        p.warn("xmp, iptc, capture_ppi and display_ppi have no effect: format j2k has no place for them");
}

// What of the description follows from quantisers and region.
void describe(Params &p) {
    for (const auto &bands : p.quantisers) {
        p.quantisation.push_back({.guard_bits = p.guard_bits, .steps = {}});
        for (const Quantiser &q : bands) p.quantisation.back().steps.push_back(q.size());
    }
    if (p.roi.shift) p.region_shifts.assign(p.components.size(), p.roi.shift);
    const BlockCoderTraits &coder = block_coder_traits(p.style);
    p.part = coder.part;
    if (coder.part) p.capabilities = coder.capabilities(p);
}

}  // namespace

Params make_params(const CudaencFormat &format, const CudaencJ2kOptions &given) {
    check_format(format, kMaxSize, CUDAENC_COLOR_XYZ, CUDAENC_MAX_COMPONENTS);
    check_options(kJ2kOptions, given);

    const CudaencJ2kOptions options = fill_in(given, format);
    Params p{};
    set_colours(p, format, options);
    set_tiles(p, options);

    // Options that are not set follow the profile.
    const int profile = is_strict(options.profile) ? options.profile : CUDAENC_J2K_NO_PROFILE;
    const auto or_else = [](int option, int otherwise) { return option < 0 ? otherwise : option; };
    p.levels = or_else(options.levels, default_levels(profile, p.tile_width));
    p.cblk_width_log2 = bit_width(static_cast<uint32_t>(options.cblk_width)) - 1;
    p.cblk_height_log2 = bit_width(static_cast<uint32_t>(options.cblk_height)) - 1;
    if (p.cblk_width_log2 + p.cblk_height_log2 > 12)
        refuse(format_string("cblk_width %d x cblk_height %d is not allowed: a code-block has at most 4096 samples",
                             options.cblk_width, options.cblk_height));
    p.style = static_cast<uint32_t>(options.cblk_style);
    p.layers = options.layers;
    parse_rate(p, options);
    block_coder_traits(p.style).check(p, options);
    const auto text_or_else = [](const char *option, const std::string &otherwise) {
        return option && *option ? std::string(option) : otherwise;
    };
    parse_precincts(p, text_or_else(options.precincts, default_precincts(profile, p.levels)).c_str());
    parse_poc(p, text_or_else(options.poc, default_poc(profile, p.levels)).c_str());
    p.tile_parts = options.tile_parts ? options.tile_parts : default_tile_parts(profile);

    p.reversible = or_else(options.pred, default_wavelet(profile)) == CUDAENC_J2K_DWT53;
    if (options.mct == 1 && !has_three_alike(p))
        refuse("mct 1 is not allowed: it needs three components of one size and depth; allowed are auto and 0");
    p.mct = or_else(options.mct, has_three_alike(p) && (is_cinema(profile) || p.color_model == CUDAENC_COLOR_RGB));
    p.progression = static_cast<CudaencJ2kProgression>(or_else(options.prog, default_progression(profile)));
    p.guard_bits = or_else(options.guard_bits, profile == CUDAENC_J2K_CINEMA_2K ? 1 : 2);
    p.sop = options.sop;
    p.eph = options.eph;
    p.tlm = or_else(options.tlm, profile != CUDAENC_J2K_NO_PROFILE);
    p.plt = options.plt;
    p.jp2 = or_else(options.format, profile ? CUDAENC_J2K_CODESTREAM : CUDAENC_J2K_JP2) == CUDAENC_J2K_JP2;
    set_metadata(p, options);
    set_colour_box(p);
    p.comment = comment_of(options.comment, 65531);
    apply_profile(p, options);
    p.truncatable = p.rate.target() || p.limits.frame || p.layers > 1;
    p.visual_weights = options.visual_weights;
    if (p.visual_weights && (p.rate.error != 0 || !(p.rate.limits_bytes() || p.limits.frame)))
        refuse(
            "visual_weights 1 is not allowed without a target of bytes: b, frame_bytes, compression_ratio or "
            "layer_rates");
    p.frame_steps = block_coder_traits(p.style).frame_steps && !p.reversible && p.rate.predicts_slopes();
    // By PSB and BPI blocks end before slopes are known.
    p.takes_regions = block_coder_traits(p.style).regions && (p.rate.limits_bytes() || p.limits.frame) &&
                      p.rate.error == 0 && p.rate.mode != CUDAENC_J2K_RATE_PSB && p.rate.mode != CUDAENC_J2K_RATE_BPI;
    if (p.reversible && options.quality >= 0)
        p.warn(format_string("pred dwt53 has no quality: %d has no effect", options.quality));
    if (!p.reversible) p.quality = or_else(options.quality, p.rate.target() ? 0 : 90);
    set_quantisers(p);
    parse_roi(p, options.roi);
    describe(p);
    p.least_bytes = least_bytes(p, options);
    p.warn(decoder_warning(p));
    return p;
}

std::string summary(const Params &p) {
    const uint64_t bytes = p.rate.layers.back();
    const bool target = bytes || p.rate.error != 0;
    std::string line = p.profile_name ? p.profile_name + std::string(", ") : "";
    if (p.components.size() > kDescribedComponents) line += format_string("%zu components, ", p.components.size());
    line += std::string(p.jp2 ? "jp2, " : "j2k, ") + (!p.reversible ? "9/7" : target ? "5/3" : "5/3 lossless");
    if (const char *coder = block_coder_traits(p.style).style) line += std::string(", ") + coder;
    if (!p.reversible && p.quality) line += format_string(", quality %d", p.quality);
    if (bytes) line += format_string(", %llu bytes a frame", static_cast<unsigned long long>(bytes));
    if (p.rate.error != 0) line += format_string(", %g dB", -10 * std::log10(p.rate.error));
    return line + format_string(", %d levels, %dx%d blocks", p.levels, 1 << p.cblk_width_log2, 1 << p.cblk_height_log2);
}

}  // namespace cudaenc::j2k
