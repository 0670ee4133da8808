// SPDX-License-Identifier: LGPL-2.1-or-later
#include "profile.h"

#include <algorithm>

#include "../error.h"
#include "../option_checks.h"
#include "block_coders.h"

namespace cudaenc::j2k {

namespace {

enum Family { kCinema, kImf, kBroadcast, kImfHt };

struct Profile {
    const char *name, *source;
    Family family;
    int rsiz;           // without levels
    int width, height;  // at most; 0: any
    int fewest_levels, most_levels;
    int components;  // at most
    int fewest_bits, most_bits;
    int reversible;    // 0, 1; -1: either
    int largest_tile;  // side of square tiles, from 1024; 0: one tile
};

// What the HT profiles of IMF allow is said as Netflix's Photon checks it (validateHTConstraints).
constexpr const char *kImfHtSource = "SMPTE ST 2067-21 Annex H";

constexpr Profile kProfiles[] = {
    {},
    {"cinema2k", "T.800 Table A.46", kCinema, 0x0003, 2048, 1080, 5, 5, 3, 12, 12, 0, 0},
    {"cinema4k", "T.800 Table A.46", kCinema, 0x0004, 4096, 2160, 6, 6, 3, 12, 12, 0, 0},
    {"imf2k", "T.800 Table A.51", kImf, 0x0400, 2048, 1556, 1, 5, 3, 8, 16, 0, 0},
    {"imf4k", "T.800 Table A.51", kImf, 0x0500, 4096, 3112, 1, 6, 3, 8, 16, 0, 0},
    {"imf8k", "T.800 Table A.51", kImf, 0x0600, 8192, 6224, 1, 7, 3, 8, 16, 0, 0},
    {"imf2k_r", "T.800 Table A.52", kImf, 0x0700, 2048, 1556, 1, 5, 3, 8, 16, 1, 1024},
    {"imf4k_r", "T.800 Table A.52", kImf, 0x0800, 4096, 3112, 1, 6, 3, 8, 16, 1, 2048},
    {"imf8k_r", "T.800 Table A.52", kImf, 0x0900, 8192, 6224, 1, 7, 3, 8, 16, 1, 4096},
    {"broadcast", "T.800 Table A.48", kBroadcast, 0x0100, 0, 0, 1, 5, 4, 8, 12, -1, 0},
    {},
    {},
    {"imf_ht", kImfHtSource, kImfHt, 0, 8192, 6224, 1, 7, 4, 8, 16, 0, 0},
    {"imf_ht_r", kImfHtSource, kImfHt, 0, 8192, 6224, 1, 7, 4, 8, 16, 1, 0},
};
static_assert(std::size(kProfiles) == CUDAENC_J2K_IMF_HT_R + 1);

// Tables A.53 and A.49: 10^6 samples/s of all components by main level; Tables A.54 and A.49: 10^6 bits/s by sub level,
// of broadcast by main level. 0: not limited.
constexpr int kImfSamples[] = {0, 65, 130, 195, 260, 520, 1200, 2400, 4800, 9600, 19200, 38400};
constexpr int kImfRates[] = {0, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200};
constexpr int kBroadcastSamples[] = {0, 65, 130, 195, 260, 520, 520, 520};
constexpr int kBroadcastRates[] = {0, 200, 200, 200, 400, 800, 1600, 0};

// DCI DCSS 4.3.2, SMPTE ST 429-4: bits/s of a frame's codestream, and of a component's 2K portion. High frame rates may
// have twice that (DCI HFR RP 3).
constexpr int64_t kCinemaRate = 250000000, kCinemaComponentRate = 200000000;

// SMPTE ST 428-21 (archives) up to 240/11; ST 429-13, ST 428-11. 4K has the rates above 30 as HFR alone.
struct FrameRate {
    int num, den;
};
constexpr FrameRate kCinemaFrameRates[] = {{16, 1}, {200, 11}, {20, 1}, {240, 11}, {24, 1}, {25, 1},
                                           {30, 1}, {48, 1},   {50, 1}, {60, 1},   {96, 1}};
constexpr int kMost4kRate = 30;

// SMPTE ST 2067-21: the highest main level of imf2k, imf4k and imf8k, by Rsiz without levels.
int highest_imf_level(int rsiz) { return 6 + 2 * ((rsiz >> 8) - 4) % 6; }
// T.800 Table A.54: the highest sub level of a main level, and the lowest main level of a sub level.
int highest_sub_level(int main_level) { return std::max(main_level - 2, 1); }
int lowest_main_level(int sub_level) { return sub_level > 1 ? sub_level + 2 : 1; }

// Table A.52: the wider the tiles, the more levels.
int levels_of_tiles(int tile_width) {
    return tile_width < 2048 ? 4 : tile_width < 4096 ? 5 : tile_width < 8192 ? 6 : 7;
}

// The same of the HT profiles, by the picture's longer side.
int most_levels_of_picture(int side) { return side <= 2048 ? 5 : side <= 4096 ? 6 : 7; }

int most_levels(const Profile &profile, int tile_width) {
    return profile.family == kImf && profile.reversible ? std::min(profile.most_levels, levels_of_tiles(tile_width))
                                                        : profile.most_levels;
}

// A rule of the profile: `holds`, or a line "profile imf2k: WHAT is not allowed: RULE (SOURCE)".
class Rules {
  public:
    explicit Rules(const Profile &profile) : profile_(profile) {}
    void demand(bool holds, const std::string &what, const std::string &rule, const char *source = nullptr) const {
        if (!holds)
            refuse(format_string("profile %s: %s is not allowed: %s (%s)", profile_.name, what.c_str(), rule.c_str(),
                                 source ? source : profile_.source));
    }

  private:
    const Profile &profile_;
};

// The option that asks for a size or quality; empty: none does.
std::string target_of(const CudaencJ2kOptions &options) {
    return options.bit_rate      ? format_string("b %lld", static_cast<long long>(options.bit_rate))
           : options.frame_bytes ? format_string("frame_bytes %lld", static_cast<long long>(options.frame_bytes))
           : options.compression_ratio != 0 ? format_string("compression_ratio %g", options.compression_ratio)
           : options.psnr != 0              ? format_string("psnr %g", options.psnr)
                                            : format_string("layer_rates '%s'", options.layer_rates);
}

void check_picture(const Profile &profile, const Rules &rules, const Params &p) {
    const int count = static_cast<int>(p.components.size());
    if (profile.width)
        rules.demand(p.width <= profile.width && p.height <= profile.height,
                     format_string("picture size %dx%d", p.width, p.height),
                     format_string("it is at most %dx%d", profile.width, profile.height));
    if (profile.family == kCinema)
        rules.demand(p.color_model == CUDAENC_COLOR_XYZ && count == 3, "a format other than XYZ",
                     "digital cinema has X'Y'Z'", "SMPTE ST 428-1");
    rules.demand(count <= profile.components, format_string("%d components", count),
                 format_string("there are at most %d", profile.components));
    for (int c = 0; c < count; c++) {
        const Component &k = p.components[c];
        rules.demand(k.depth >= profile.fewest_bits && k.depth <= profile.most_bits,
                     format_string("depth %d of component %d", k.depth, c),
                     profile.fewest_bits == profile.most_bits
                         ? format_string("it is %d", profile.most_bits)
                         : format_string("it is %d to %d", profile.fewest_bits, profile.most_bits));
        rules.demand(!k.is_signed, "is_signed 1", "samples are unsigned");
        if (profile.family == kImfHt)
            rules.demand(k.depth == p.components[0].depth, format_string("depth %d of component %d", k.depth, c),
                         format_string("it is %d, as that of component 0", p.components[0].depth));
        const bool chroma = profile.family != kCinema && (c == 1 || c == 2) && count >= 3;
        rules.demand(k.dy == 1 && (k.dx == 1 || (chroma && k.dx == 2 && p.components[3 - c].dx == 2)),
                     format_string("component %d sub-sampled by %d, %d", c, k.dx, k.dy),
                     profile.family == kCinema ? "it is 4:4:4" : "it is 4:4:4 or 4:2:2");
    }
}

void check_tiles(const Profile &profile, const Rules &rules, const Params &p) {
    rules.demand(!p.x0 && !p.y0 && !p.tile_x0 && !p.tile_y0, "an offset of picture or tiles", "they begin at 0, 0");
    if (p.tiles() == 1) return;
    const std::string what = format_string("tile_width %d, tile_height %d", p.tile_width, p.tile_height);
    if (profile.family == kBroadcast)
        rules.demand(p.tiles() == 4 && p.tiles_x <= 2 && p.tile_width * p.tiles_x == p.width &&
                         p.tile_height * p.tiles_y == p.height,
                     what, "there is one tile, or four equal ones, 2x2 or 1x4");
    else if (profile.largest_tile)
        // The next larger one has the whole of the largest picture.
        rules.demand(p.tile_width == p.tile_height && p.tile_width >= 1024 && !(p.tile_width & (p.tile_width - 1)),
                     what,
                     format_string("there is one tile, or they are 1024x1024%s", profile.largest_tile == 1024 ? ""
                                                                                 : profile.largest_tile == 2048
                                                                                     ? " or 2048x2048"
                                                                                     : ", 2048x2048 or 4096x4096"));
    else
        rules.demand(false, what, "there is one tile");
}

void check_coding(const Profile &profile, const Rules &rules, const Params &p, const CudaencJ2kOptions &options) {
    rules.demand(profile.reversible < 0 || p.reversible == (profile.reversible == 1),
                 p.reversible ? "pred dwt53" : "pred dwt97", p.reversible ? "it is dwt97" : "it is dwt53");
    if (profile.reversible == 1) {
        rules.demand(!p.rate.target(), target_of(options), "it is lossless");
        rules.demand(!p.xyz, "xyz on", "it is lossless");
    }
    const bool part15 = profile.family == kImfHt;
    const int most = part15 ? most_levels_of_picture(std::max(p.width, p.height)) : most_levels(profile, p.tile_width);
    if (profile.family == kCinema)
        rules.demand(p.levels == most, format_string("levels %d", p.levels), format_string("it is %d", most),
                     "SMPTE ST 429-2");
    else
        rules.demand(p.levels >= profile.fewest_levels && p.levels <= most, format_string("levels %d", p.levels),
                     format_string("it is %d to %d%s", profile.fewest_levels, most,
                                   most == profile.most_levels ? ""
                                   : part15                    ? " in a picture of this size"
                                            : format_string(" with tiles %d wide", p.tile_width).c_str()));
    const int width = 1 << p.cblk_width_log2, height = 1 << p.cblk_height_log2;
    const std::string blocks = format_string("cblk_width %d, cblk_height %d", width, height);
    if (profile.family == kBroadcast || part15)
        rules.demand(width >= 32 && width <= 128 && height >= 32 && height <= 64, blocks,
                     "the width is 32 to 128, the height 32 or 64");
    else
        rules.demand(width == 32 && height == 32, blocks, "code-blocks are 32x32");
    rules.demand(!options.roi || !*options.roi, "roi", "there is no region of interest");
    const BlockCoderTraits &coder = block_coder_traits(p.style);
    const char *style_of_part15 = block_coder_traits(style_of_part(kPart15)).style;
    if (part15)
        rules.demand(p.style == style_of_part(kPart15), format_string("cblk_style other than %s", style_of_part15),
                     format_string("it is %s", style_of_part15));
    else
        rules.demand(
            !p.style, coder.style ? format_string("cblk_style %s", coder.style) : "cblk_style",
            format_string("code-blocks have no style%s",
                          profile.family == kImf && coder.style ? "; profiles imf_ht and imf_ht_r have it" : ""));
    rules.demand(p.layers == 1, format_string("layers %d", p.layers), "there is one quality layer");
    for (int r = 0; r <= p.levels; r++) {
        const int side = r ? 8 : 7;
        rules.demand(p.precinct_width_log2[r] == side && p.precinct_height_log2[r] == side,
                     format_string("precincts %dx%d of resolution %d", 1 << p.precinct_width_log2[r],
                                   1 << p.precinct_height_log2[r], r),
                     "they are 128x128 at the lowest resolution, else 256x256");
    }
    rules.demand(p.progression == (part15 ? CUDAENC_J2K_RPCL : CUDAENC_J2K_CPRL),
                 part15 ? "prog other than rpcl" : "prog other than cprl", part15 ? "it is rpcl" : "it is cprl");
    if (profile.rsiz == 0x0004)
        // No packet is left out, as parse_poc() has seen to it: the other fields follow from these.
        rules.demand(p.poc.size() == 2 && p.poc[0].last_resolution == p.levels &&
                         p.poc[0].progression == CUDAENC_J2K_CPRL && p.poc[1].first_resolution == p.levels &&
                         p.poc[1].progression == CUDAENC_J2K_CPRL,
                     "poc", "it puts the 2K picture first, then what 4K adds, both in cprl");
    else
        rules.demand(p.poc.empty(), "poc", "there are no progression order changes");
    rules.demand(p.tile_parts == CUDAENC_J2K_TILE_PART_COMPONENT || part15, "tile_parts resolution",
                 "each component has a tile-part, and nothing else has");
    rules.demand(p.tlm, "tlm 0", "TLM marker segments are demanded");
    if (profile.family == kCinema) {
        rules.demand(p.mct, "mct 0", "it is 1", "DCI DCSS 4.3.1");
        const int guard_bits = profile.rsiz == 0x0003 ? 1 : 2;
        rules.demand(p.guard_bits == guard_bits, format_string("guard_bits %d", p.guard_bits),
                     format_string("it is %d", guard_bits), "SMPTE ST 429-4");
        const char *segment = p.plt ? "plt 1" : p.sop ? "sop 1" : "eph 1";
        rules.demand(!p.plt && !p.sop && !p.eph, segment, "there is no such marker segment", "SMPTE ST 429-4");
        rules.demand(!p.jp2, "format jp2", "frames are bare codestreams", "SMPTE ST 429-4");
    }
}

uint64_t bytes_a_frame(int64_t bits_a_second, const CudaencJ2kOptions &options) {
    return static_cast<uint64_t>(static_cast<double>(bits_a_second) * options.frame_rate_den /
                                 (8.0 * options.frame_rate_num));
}
double frames_a_second(const CudaencJ2kOptions &options) {
    return static_cast<double>(options.frame_rate_num) / options.frame_rate_den;
}

// ClairMeta and libdcp's verifier list these rates, and the ones from which on HFR is.
void check_cinema_rates(const Profile &profile, const Rules &rules, const CudaencJ2kOptions &options) {
    const bool is_4k = profile.rsiz == 0x0004;
    const int highest = is_4k && !options.hfr ? kMost4kRate : is_4k || options.stereo ? 60 : 96;
    bool known = false;
    for (const FrameRate &rate : kCinemaFrameRates)
        known |= int64_t{rate.num} * options.frame_rate_den == int64_t{options.frame_rate_num} * rate.den &&
                 rate.num <= highest * rate.den;
    rules.demand(
        known, format_string("a frame rate of %d/%d", options.frame_rate_num, options.frame_rate_den),
        std::string("it is 16, 200/11, 20, 240/11, 24, 25") + (highest == kMost4kRate ? " or 30, with hfr 48, 50 or 60"
                                                               : highest == 60        ? ", 30, 48, 50 or 60"
                                                                                      : ", 30, 48, 50, 60 or 96"),
        "SMPTE ST 429-13, ST 428-11, ST 428-21");
    rules.demand(!options.stereo || !is_4k, "stereo 1", "stereoscopic pictures are 2K", "DCI DCSS 3.2.1");
    const int hfr = is_4k || options.stereo ? 48 : 60;
    rules.demand(!options.hfr || frames_a_second(options) >= hfr,
                 format_string("hfr 1 at %g frames/s", frames_a_second(options)), format_string("it begins at %d", hfr),
                 "DCI HFR RP 3");
}

// A target that the profile cuts.
void warn_of_cut(const Profile &profile, Params &p, const CudaencJ2kOptions &options) {
    const uint64_t limit = p.limits.frame;
    const bool by_psnr = options.psnr != 0;
    if (!limit || (!by_psnr && p.rate.layers.back() <= limit)) return;
    p.warn(format_string("profile %s: %s %s: frames have at most %llu bytes (%.0f Mbit/s)", profile.name,
                         target_of(options).c_str(), by_psnr ? "is missed where it takes more" : "is not reached",
                         static_cast<unsigned long long>(limit),
                         static_cast<double>(limit) * 8 * frames_a_second(options) / 1e6));
}

// The main level, chosen or checked.
int main_level(const Rules &rules, const Params &p, const CudaencJ2kOptions &options, int lowest,
               std::span<const int> most_samples, const char *source) {
    const int highest = static_cast<int>(most_samples.size()) - 1;
    int64_t samples = 0;  // a frame's
    for (const Component &c : p.components) samples += p.samples(c);
    const double rate = static_cast<double>(samples) * options.frame_rate_num / options.frame_rate_den / 1e6;
    const auto has = [&](int level) { return rate <= most_samples[static_cast<size_t>(level)]; };
    int level = options.main_level;
    if (!level)
        for (level = lowest; level < highest && !has(level);) level++;
    rules.demand(level >= lowest && level <= highest, format_string("main_level %d", level),
                 format_string("it is %d to %d", lowest, highest), source);
    rules.demand(has(level), format_string("%.1f million samples/s with main_level %d", rate, level),
                 format_string("there are at most %d", most_samples[static_cast<size_t>(level)]), source);
    return level;
}

// The main and sub level of IMF, chosen or checked: the lowest ones that the samples and the target fit.
std::pair<int, int> imf_levels(const Profile &profile, const Rules &rules, Params &p,
                               const CudaencJ2kOptions &options) {
    constexpr const char *kSource = "SMPTE ST 2067-21";
    int level = main_level(rules, p, options, 1, kImfSamples, "T.800 Table A.53"), sub = options.sub_level;
    const int highest = highest_imf_level(profile.rsiz);
    if (profile.reversible) {
        rules.demand(sub <= 0, format_string("sub_level %d", sub), "lossless streams have 0", kSource);
        sub = 0;
    } else {
        rules.demand(sub != 0, "sub_level 0", "lossy streams have 1 or more", kSource);
        if (sub < 0 && p.rate.layers.back()) {
            const double rate = static_cast<double>(p.rate.layers.back()) * 8 * frames_a_second(options) / 1e6;
            const int most = options.main_level ? highest_sub_level(level) : highest_sub_level(highest);
            for (sub = 1; sub < most && kImfRates[sub] < rate;) sub++;
        }
        if (!options.main_level) level = std::max(level, lowest_main_level(sub));
        if (sub < 0) sub = highest_sub_level(level);
        rules.demand(sub <= highest_sub_level(level), format_string("sub_level %d", sub),
                     format_string("it is 1 to %d with main_level %d", highest_sub_level(level), level),
                     "T.800 Table A.54");
    }
    if (level > highest)
        p.warn(format_string("profile %s: validators refuse main level %d: it is 1 to %d (%s)", profile.name, level,
                             highest, kSource));
    if (profile.width > 2048 && p.width <= profile.width / 2)
        p.warn(format_string("profile %s: validators refuse pictures of %d columns: it is for more than %d (%s)",
                             profile.name, p.width, profile.width / 2, kSource));
    return {level, sub};
}

// B, which the CAP marker segment tells: with 5/3 it is this, with 9/7 at most.
int ht_magnitude_bound(const Params &p) {
    const int depth = p.components[0].depth, transform = p.mct ? 1 : 0;
    return p.reversible ? depth + 3 + transform + (p.levels > 5 ? 1 : 0) : depth + 1 + (depth > 10 ? transform : 0);
}

void apply_levels(const Profile &profile, const Rules &rules, Params &p, const CudaencJ2kOptions &options) {
    const auto limit = [&](int megabits) {
        p.limits.frame = bytes_a_frame(megabits * int64_t{1000000}, options);  // 0: not limited
    };
    switch (profile.family) {
        case kCinema: {
            rules.demand(!options.main_level && options.sub_level <= 0, "main_level or sub_level",
                         "there are no levels");
            check_cinema_rates(profile, rules, options);
            if (profile.rsiz == 0x0004 && p.width <= 2048)
                p.warn(format_string("profile %s: validators refuse pictures of %d columns: it is for more than 2048",
                                     profile.name, p.width));
            const int eyes = options.stereo ? 2 : 1, times = options.hfr ? 2 : 1;
            p.limits = {bytes_a_frame(kCinemaRate * times / eyes, options),
                        bytes_a_frame(kCinemaComponentRate * times / eyes, options)};
            break;
        }
        case kImf: {
            const auto [level, sub] = imf_levels(profile, rules, p, options);
            p.rsiz |= sub << 4 | level;
            limit(kImfRates[sub]);
            break;
        }
        case kBroadcast: {
            rules.demand(options.sub_level <= 0, format_string("sub_level %d", options.sub_level), "there is none");
            const int level = main_level(rules, p, options, p.reversible ? 6 : 1, kBroadcastSamples,
                                         p.reversible ? "T.800 Table A.50" : "T.800 Table A.49");
            p.rsiz = (p.reversible ? 0x0300 : p.tiles() > 1 ? 0x0200 : 0x0100) | level;
            limit(kBroadcastRates[level]);
            break;
        }
        case kImfHt:
            rules.demand(!options.main_level && options.sub_level <= 0, "main_level or sub_level",
                         "there are no levels");
            p.magnitude_bound = ht_magnitude_bound(p);
            break;
    }
}

}  // namespace

int default_levels(int profile, int tile_width) {
    const Profile &p = kProfiles[profile];
    return profile ? std::max(p.fewest_levels, std::min(5, most_levels(p, tile_width))) : 5;
}

CudaencJ2kWavelet default_wavelet(int profile) {
    return profile && kProfiles[profile].reversible == 1 ? CUDAENC_J2K_DWT53 : CUDAENC_J2K_DWT97;
}

CudaencJ2kProgression default_progression(int profile) {
    return !profile ? CUDAENC_J2K_LRCP : kProfiles[profile].family == kImfHt ? CUDAENC_J2K_RPCL : CUDAENC_J2K_CPRL;
}

int default_tile_parts(int profile) {
    return profile && kProfiles[profile].family != kImfHt ? CUDAENC_J2K_TILE_PART_COMPONENT : 0;
}

std::string default_precincts(int profile, int levels) {
    if (!profile) return "";
    std::string text;
    for (int i = 0; i < levels; i++) text += "256x256,";
    return text + "128x128";
}

std::string default_poc(int profile, int levels) {
    if (profile != CUDAENC_J2K_CINEMA_4K || !levels) return "";
    return format_string("0,0,1,%d,3,cprl/%d,0,1,%d,3,cprl", levels, levels, levels + 1);
}

void apply_profile(Params &p, const CudaencJ2kOptions &options) {
    const bool strict = is_strict(options.profile);
    if (!strict && (options.main_level || options.sub_level > 0))
        refuse("main_level and sub_level are not allowed without a profile of IMF or broadcast");
    if ((options.hfr || options.stereo) && (!strict || kProfiles[options.profile].family != kCinema))
        refuse("hfr and stereo are not allowed without profile cinema2k or cinema4k");
    if (!strict) return;
    const Profile &profile = kProfiles[options.profile];
    const Rules rules(profile);
    p.rsiz = profile.rsiz;
    p.profile_name = profile.name;
    check_picture(profile, rules, p);
    check_tiles(profile, rules, p);
    check_coding(profile, rules, p, options);
    rules.demand(profile.family == kImfHt || (options.frame_rate_num > 0 && options.frame_rate_den > 0),
                 "an unknown frame rate", "sizes are limited by the second");
    apply_levels(profile, rules, p, options);
    warn_of_cut(profile, p, options);
}

}  // namespace cudaenc::j2k
