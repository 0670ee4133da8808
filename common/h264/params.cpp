// SPDX-License-Identifier: LGPL-2.1-or-later
#include "params.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <span>
#include <tuple>

#include "../error.h"
#include "../options.h"
#include "intra/macroblock_coder.h"
#include "slice_division.h"
#include "syntax/avc_intra.h"
#include "syntax/levels.h"

namespace cudaenc::h264 {

namespace {

struct Profile {
    const char *name;
    int idc;
    uint8_t constraint_sets;
    ChromaFormat chroma;  // at most
    bool gray;
    int depth;                   // at most
    int vcl_factor, nal_factor;  // cpbBrVclFactor, cpbBrNalFactor
};
// By CudaencH264Profile (A.2). From High on constraint_set3_flag says that all pictures are intra, see gop_size.
constexpr Profile kProfiles[] = {
    {},
    {"baseline", 66, 0xC0, ChromaFormat::c420, false, 8, 1000, 1200},
    {"main", 77, 0x40, ChromaFormat::c420, false, 8, 1000, 1200},
    {"high", 100, 0x1C, ChromaFormat::c420, true, 8, 1250, 1500},
    {"high10", 110, 0x10, ChromaFormat::c420, true, 10, 3000, 3600},
    {"high422", 122, 0x10, ChromaFormat::c422, true, 10, 4000, 4800},
    {"cavlc444", 44, 0x10, ChromaFormat::c444, true, 10, 4000, 4800},
    {"high444", 244, 0x10, ChromaFormat::c444, true, 10, 4000, 4800},
};

bool has(const Profile &profile, ChromaFormat chroma, int depth) {
    return depth <= profile.depth && chroma <= profile.chroma && (profile.gray || chroma != ChromaFormat::c400);
}

const char *name_of(ChromaFormat chroma) {
    constexpr const char *names[] = {"gray", "4:2:0", "4:2:2", "4:4:4"};
    return names[static_cast<int>(chroma)];
}

ChromaFormat chroma_of(const CudaencFormat &format) {
    if (format.has_alpha) refuse("a format with alpha is not allowed: it is gray or YUV of 4:2:0, 4:2:2 or 4:4:4");
    const bool gray = format.color_model == CUDAENC_COLOR_GRAY;
    if (!gray && format.color_model != CUDAENC_COLOR_YUV)
        refuse("RGB and XYZ are not allowed: the format is gray or YUV of 4:2:0, 4:2:2 or 4:4:4");
    if (format.components != (gray ? 1 : 3))
        refuse(format_string("%d components are not allowed: gray has 1, YUV has 3", format.components));
    for (int c = 0; c < format.components; c++) {
        const CudaencComponent &s = format.component[c];
        if ((s.depth != 8 && s.depth != 10) || s.depth != format.component[0].depth)
            refuse(
                format_string("component %d: depth %d is not allowed: it is 8, or 10, of all components", c, s.depth));
        const CudaencComponent &like = format.component[c ? 1 : 0];
        if ((c == 0 && (s.log2_subsample_x || s.log2_subsample_y)) || s.log2_subsample_x != like.log2_subsample_x ||
            s.log2_subsample_y != like.log2_subsample_y || s.log2_subsample_x > 1 ||
            s.log2_subsample_y > s.log2_subsample_x)
            refuse(
                format_string("component %d: sub-sampling by 2^%d, 2^%d is not allowed: chroma is 4:2:0, 4:2:2 or "
                              "4:4:4",
                              c, s.log2_subsample_x, s.log2_subsample_y));
    }
    if (gray) return ChromaFormat::c400;
    const CudaencComponent &s = format.component[1];
    return s.log2_subsample_y ? ChromaFormat::c420 : s.log2_subsample_x ? ChromaFormat::c422 : ChromaFormat::c444;
}

bool is_all_intra(const Profile &profile) { return profile.idc == 44; }

const Profile &choose_profile(int option, ChromaFormat chroma, int depth, bool predicted) {
    if (option != CUDAENC_H264_AUTO_PROFILE) {
        const Profile &profile = kProfiles[option];
        if (!has(profile, chroma, depth))
            refuse(format_string("profile %s is not allowed with %s of %d bits: it has %s%s of up to %d bits",
                                 profile.name, name_of(chroma), depth, profile.gray ? "gray to " : "",
                                 name_of(profile.chroma), profile.depth));
        return profile;
    }
    for (const Profile &profile : std::span(kProfiles).subspan(CUDAENC_H264_HIGH))
        if (has(profile, chroma, depth) && !(predicted && is_all_intra(profile))) return profile;
    throw Error(CUDAENC_ERR_INTERNAL, "a format without a profile");
}

int64_t pcm_bits(const PictureFormat &f) {
    int64_t bits = 16;
    for (int c = 0; c < f.components(); c++) bits += f.bit_depth * f.columns(c) * f.rows(c);
    return bits * f.macroblocks();
}

// Bits that a picture of a camera has, roughly: 3 a sample at QP 0, half as many ten QPs on. 0 with a bit rate.
int64_t expected_bits(const PictureFormat &f, const RateTarget &rate) {
    if (rate.bit_rate) return 0;
    int64_t bits = 3 * pcm_bits(f) / f.bit_depth;
    for (int qp = rate.qp; qp > 0; qp--) bits = bits * 955 >> 10;
    for (int qp = rate.qp; qp < 0; qp++) bits = (bits << 10) / 955;
    return bits;
}

// Bits that white noise has at most: 9.55 a sample at QP 0, 2.15 at 51, but no more than I_PCM, and 128 bytes of
// headers. 0 with a bit rate.
int64_t bits_of_noise(const PictureFormat &f, const RateTarget &rate) {
    if (rate.bit_rate) return 0;
    const int64_t all_pcm = pcm_bits(f);
    return std::min(all_pcm, all_pcm / f.bit_depth * (9550 - 145 * rate.qp) / 1000) + 8 * 128;
}

// By MaxBR and MaxCPB: bits/s and bits of slices and filler data (A.3.1 i, A.3.3 g), to which whole pictures keep: they
// are little more. AVC-Intra's have their size from the class, and zeros count in all of a picture only (j, h).
int factor_of(const Profile &profile, const RateTarget &rate) {
    return rate.picture_bytes ? profile.nal_factor : profile.vcl_factor;
}

bool has_min_cr(const Profile &profile) { return profile.idc == 66 || profile.idc == 77 || profile.idc == 100; }
// fR of A.3.1, as pictures/s.
int least_picture_times(const Level &level, const PictureFormat &f) {
    return (level.idc < 60 ? 172 : 300) * (f.separate_field() ? 2 : 1);
}

// A.3.1, A.3.3 i) and j): bytes of the first picture, and of others.
std::pair<int64_t, int64_t> largest_pictures(const Level &level, const PictureFormat &f, const RateTarget &rate) {
    const int64_t first =
        384 * std::max<int64_t>(f.macroblocks(), level.mbps / least_picture_times(level, f)) / level.min_cr;
    return {first, rate.rate_num ? 384 * level.mbps / level.min_cr * rate.rate_den / rate.rate_num : first};
}

// A.3.1 i), A.3.3 g): bytes that the level's rate brings in the time of a picture, and no more than its buffer has.
// The frame rate is known.
int64_t bytes_per_picture(const Level &level, const Profile &profile, const RateTarget &rate) {
    const int64_t factor = factor_of(profile, rate);
    return std::min(level.bit_rate * factor * rate.rate_den / rate.rate_num, level.buffer_size * factor) / 8;
}

// Of a stream without a buffer: where a quarter of the pictures has nearly all bits, these have four times the average.
constexpr int kPeakOfAverage = 4;

// What does not fit a level, or an empty line. Bits of a picture: picture_bits within MaxBR, compressed_bits within
// MinCR; 0: not looked at.
std::string excess(const Level &level, const Profile &profile, const PictureFormat &f, const RateTarget &rate,
                   int64_t picture_bits = 0, int64_t compressed_bits = 0) {
    const int64_t macroblocks = f.macroblocks(), columns = f.macroblock_columns() / f.step(),
                  rows = f.macroblock_rows() * (f.field ? 2 : 1);
    if (f.field && (level.idc < 21 || level.idc > 41)) return "fields, which levels 2.1 to 4.1 have";  // table A-4
    if (columns * rows > level.frame_size)
        return format_string("%lld macroblocks a frame, at most %d", static_cast<long long>(columns * rows),
                             level.frame_size);
    if (std::max(columns * columns, rows * rows) > 8 * int64_t{level.frame_size})
        return format_string("%lld x %lld macroblocks, a side of at most the square root of %lld",
                             static_cast<long long>(columns), static_cast<long long>(rows),
                             static_cast<long long>(8 * int64_t{level.frame_size}));
    if (rate.rate_num && macroblocks * rate.rate_num > level.mbps * rate.rate_den)
        return format_string("%lld macroblocks/s, at most %lld",
                             static_cast<long long>(macroblocks * rate.rate_num / rate.rate_den),
                             static_cast<long long>(level.mbps));
    if (level.idc < 60 && rate.rate_num > int64_t{least_picture_times(level, f)} * rate.rate_den)
        return format_string("%lld pictures/s, at most %d", static_cast<long long>(rate.rate_num / rate.rate_den),
                             least_picture_times(level, f));
    const int64_t most_rate = int64_t{level.bit_rate} * factor_of(profile, rate);
    if (const int64_t bits = std::max(rate.bit_rate, rate.max_rate); bits > most_rate)
        return format_string("%lld bits/s, at most %lld", static_cast<long long>(bits),
                             static_cast<long long>(most_rate));
    const int64_t most_buffer = int64_t{level.buffer_size} * factor_of(profile, rate);
    if (const int64_t buffer = std::max(rate.buffer_size, rate.hrd_size); buffer > most_buffer)
        return format_string("a buffer of %lld bits, at most %lld", static_cast<long long>(buffer),
                             static_cast<long long>(most_buffer));
    const auto [first, others] = largest_pictures(level, f, rate);
    if (const int64_t bytes = compressed_bits / 8, most = std::min(first, others); bytes > most && has_min_cr(profile))
        return format_string("%lld bytes a picture, at most %lld", static_cast<long long>(bytes),
                             static_cast<long long>(most));
    if (rate.rate_num && !rate.max_rate && picture_bits > most_rate * rate.rate_den / rate.rate_num)
        return format_string("%lld bits/s, at most %lld",
                             static_cast<long long>(picture_bits * rate.rate_num / rate.rate_den),
                             static_cast<long long>(most_rate));
    return "";
}

// warning: what a given level does to the stream.
const Level &choose_level(int option, const Profile &profile, const PictureFormat &f, const RateTarget &rate,
                          std::string &warning) {
    // Levels that all decoders have allow for noise.
    const int64_t picture_bits = expected_bits(f, rate), noise_bits = bits_of_noise(f, rate);
    if (option) {
        const Level *level =
            std::find_if(std::begin(kLevels), std::end(kLevels), [&](const Level &l) { return l.idc == option; });
        if (level == std::end(kLevels))
            refuse(format_string("level %d is not allowed: it is ten times a level of table A-1, 10 to 62, or 0 (auto)",
                                 option));
        if (const std::string more = excess(*level, profile, f, rate); !more.empty())
            refuse(
                format_string("level %d.%d is not allowed: the stream has %s", option / 10, option % 10, more.c_str()));
        if (const std::string more = excess(*level, profile, f, rate, picture_bits, picture_bits); !more.empty())
            warning = format_string("level %d.%d is low for the QP: the stream may have %s", option / 10, option % 10,
                                    more.c_str());
        return *level;
    }
    // Without a buffer, parts of a clip may have more than the average: what black and white ones leave.
    RateTarget at_peaks = rate;
    if (!rate.max_rate && !rate.picture_bytes) at_peaks.bit_rate *= kPeakOfAverage;
    for (const Level &level : kLevels)
        if (level.idc <= 42 && excess(level, profile, f, at_peaks, noise_bits, noise_bits).empty()) return level;
    // Or at least for what is hardest to compress of what a camera gives, three times as many bits.
    const int64_t hardest_bits = std::min(3 * picture_bits, pcm_bits(f));
    for (const Level &level : kLevels)
        if (level.idc <= 42 && excess(level, profile, f, rate, picture_bits, hardest_bits).empty()) return level;
    for (const Level &level : kLevels)
        if (excess(level, profile, f, rate, picture_bits, picture_bits).empty()) return level;
    const Level &highest =
        f.field ? *std::find_if(std::begin(kLevels), std::end(kLevels), [](const Level &l) { return l.idc == 41; })
                : std::end(kLevels)[-1];
    if (const std::string more = excess(highest, profile, f, rate); !more.empty())
        refuse(format_string("no level allows the stream: it has %s in level %d.%d", more.c_str(), highest.idc / 10,
                             highest.idc % 10));
    if (f.field)
        warning = "level 4.1, the highest one of fields, is low for the QP: the stream may have " +
                  excess(highest, profile, f, rate, picture_bits, picture_bits);
    return highest;
}

// Whether slices of the picture have at most MaxFS / 4 macroblocks in the Intra profiles (A.3.3 k).
bool limits_slices(const Level &level, const PictureFormat &f) { return level.idc < 60 && f.macroblocks() > 1620; }

// What P pictures do not go with.
void check_gop(const CudaencH264Options &o, const Profile &profile) {
    check_range("min_gop_size", o.min_gop_size, 0, o.gop_size);
    if (o.gop_size == 1 && o.intra_refresh)
        refuse(
            format_string("intra_refresh %d is not allowed with gop_size 1: it goes with P pictures", o.intra_refresh));
    if (o.gop_size == 1 && o.slice_max_bytes)
        refuse(format_string("slice_max_bytes %d is not allowed with gop_size 1: it goes with P pictures",
                             o.slice_max_bytes));
    if (o.gop_size == 1 && o.lookahead)
        refuse(format_string("lookahead %d is not allowed with gop_size 1: it goes with P pictures", o.lookahead));
    if (o.gop_size == 1 && o.weighted_prediction)
        refuse("weighted_prediction 1 is not allowed with gop_size 1: it goes with P pictures");
    if (profile.idc == 66 && o.weighted_prediction)
        refuse("weighted_prediction 1 is not allowed with profile baseline: it goes with main and above");
    if (o.lookahead && o.intra_refresh)
        refuse(format_string("lookahead %d is not allowed with intra_refresh: it is 0", o.lookahead));
    if (o.slice_max_bytes && o.slices)
        refuse(format_string("slices %d is not allowed with slice_max_bytes, which divides pictures", o.slices));
    if (o.gop_size == 1) return;
    check_range("intra_refresh", o.intra_refresh, 0, o.gop_size - 1);
    const auto refuse_with = [&](const std::string &what) {
        refuse(format_string("gop_size %d is not allowed with %s", o.gop_size, what.c_str()));
    };
    if (o.avc_intra_class) refuse_with("avc_intra_class: all its pictures are intra. Give gop_size 1");
    if (is_all_intra(profile))
        refuse_with(format_string("profile %s, which is all intra: it goes with any other", profile.name));
    if (o.effort != kAllTypes) refuse_with(format_string("effort %d: it goes with 0", o.effort));
    if (o.keystream) refuse_with("encryption: vectors would show what moves. Give gop_size 1");
}

// Table A-1, in samples.
int most_vertical_vector(const Level &level) {
    return level.idc <= 10 ? 64 : level.idc <= 20 ? 128 : level.idc <= 30 ? 256 : 512;
}

// In High, constraint_set3_flag promises what High 10 Intra does (7.4.2.1.1), so the size of slices as well.
uint8_t constraint_sets_of(const Profile &profile, const Level &level, const PictureFormat &f) {
    uint8_t sets = profile.constraint_sets;
    if (profile.idc != 100 || !limits_slices(level, f)) return sets;
    for (int i = 0; i < f.slices; i++)
        if (f.slice(i).count > static_cast<uint32_t>(level.frame_size / 4)) sets &= 0xEF;
    return sets;
}

// The number of slices, each of whole rows of macroblocks. A.3.3 k): in Intra profiles above High, slices of large
// pictures have at most MaxFS / 4 macroblocks; a) and b) limit their number, in Baseline as well: constraint_set1_flag
// promises what Main does (A.2.2).
int choose_slices(int option, const Profile &profile, const Level &level, PictureFormat f, const RateTarget &rate,
                  bool predicted) {
    const int rows = f.macroblock_rows();
    int fewest = 1;
    if (!predicted && profile.idc != 66 && profile.idc != 77 && profile.idc != 100 && limits_slices(level, f))
        fewest = static_cast<int>(ceil_div(rows, std::max(1, level.frame_size / 4 / f.macroblock_columns())));
    int64_t most = rows;
    if (level.slice_rate) {
        most = std::min<int64_t>(
            most, std::max<int64_t>(f.macroblocks(), level.mbps / least_picture_times(level, f)) / level.slice_rate);
        if (rate.rate_num) most = std::min(most, level.mbps * rate.rate_den / rate.rate_num / level.slice_rate);
    }
    most = std::max<int64_t>(most, fewest);
    if (option && (option < fewest || option > most))
        refuse(
            format_string("slices %d is not allowed: level %d.%d has %d to %lld for this picture, of whole rows of "
                          "macroblocks",
                          option, level.idc / 10, level.idc % 10, fewest, static_cast<long long>(most)));
    return option ? option : fewest;
}

// The rate that a stream without a buffer of its own keeps to: each picture for itself where pictures do not depend on
// those before, else by a buffer of the level's.
void limit_to_level(const Level &level, const Profile &profile, RateTarget &rate) {
    if (!rate.rate_num || rate.buffer_size || rate.picture_bytes) return;
    if (rate.bit_rate) {
        rate.level_rate = int64_t{level.bit_rate} * factor_of(profile, rate);
        rate.level_buffer = int64_t{level.buffer_size} * factor_of(profile, rate);
        return;
    }
    const uint64_t most = static_cast<uint64_t>(bytes_per_picture(level, profile, rate));
    rate.most_first = std::min(rate.most_first, most);
    rate.most = std::min(rate.most, most);
}

RateTarget make_rate(const CudaencH264Options &o, int lowest_qp) {
    check_range("qp", o.qp, lowest_qp, kMaxQp);
    check_range("qp_max", o.qp_max, o.qp_min, kMaxQp);
    check_range("frame_rate_num", o.frame_rate_num, 0, std::numeric_limits<int>::max() / 2);
    if (o.frame_rate_num) check_range("frame_rate_den", o.frame_rate_den, 1, std::numeric_limits<int>::max());

    RateTarget r{};
    r.qp = o.qp;
    r.qp_min = std::max(o.qp_min, lowest_qp);
    r.qp_max = std::max(o.qp_max, r.qp_min);
    r.rate_num = o.frame_rate_num;
    r.rate_den = o.frame_rate_num ? o.frame_rate_den : 1;
    r.most = r.most_first = std::numeric_limits<uint64_t>::max();
    const bool bit_rate = o.rate_control == CUDAENC_H264_BIT_RATE;
    if (bit_rate && !o.bit_rate) refuse("bit_rate 0 is not allowed with rate control by bit rate: it is 1 or more");
    if (o.bit_rate && !bit_rate)
        refuse(format_string("bit_rate %lld is not allowed with rate_control %d: it goes with CUDAENC_H264_BIT_RATE",
                             static_cast<long long>(o.bit_rate), o.rate_control));
    if (o.cbr && !bit_rate) refuse("cbr 1 is not allowed without a bit rate");
    if (o.rate_control == CUDAENC_H264_CONSTANT_QP && (o.max_rate || o.buffer_size))
        refuse("max_rate and buffer_size are not allowed with constant QP: they go with constant quality and bit_rate");
    r.bit_rate = bit_rate ? o.bit_rate : 0;
    r.cbr = o.cbr;
    r.max_rate = o.cbr ? o.bit_rate : o.max_rate;
    r.buffer_size = o.buffer_size;
    if (r.buffer_size && !r.max_rate) r.max_rate = r.bit_rate;
    if (r.max_rate && !r.buffer_size) r.buffer_size = r.max_rate;
    if (o.hrd && !r.buffer_size) refuse("hrd 1 is not allowed without a buffer");
    if (r.buffer_size && !r.max_rate) refuse("buffer_size is not allowed without max_rate or bit_rate");
    if (r.max_rate && r.max_rate < r.bit_rate)
        refuse(format_string("max_rate %lld is not allowed: it is at least bit_rate, %lld",
                             static_cast<long long>(r.max_rate), static_cast<long long>(r.bit_rate)));
    if ((r.bit_rate || r.buffer_size) && !r.rate_num)
        refuse("a bit rate or a buffer is not allowed without a frame rate");
    if (o.hrd) {
        r.max_rate = hrd_rate(r.max_rate);
        r.bit_rate = std::min(r.bit_rate, r.max_rate);
        // Delays are in 1/90000 s: the buffer stays emptier by their rounding.
        r.hrd_size = hrd_size(r.buffer_size);
        r.buffer_size = 90000 * r.hrd_size / r.max_rate * r.max_rate / 90000;
    }
    if (!r.max_rate) return r;
    // Filled up, the buffer has room for whole bytes of a frame, and for what clocks leave out.
    const int64_t frame = ceil_div(r.max_rate * r.rate_den, r.rate_num);
    const int64_t least = r.cbr ? ceil_div(frame, 8) * 8 : frame;
    if (!r.buffer_size || (r.cbr ? r.buffer_size : std::max(r.buffer_size, r.hrd_size)) < least)
        refuse(format_string("buffer_size %lld is not allowed: it is at least a frame at max_rate, %lld bits%s",
                             static_cast<long long>(o.buffer_size), static_cast<long long>(least),
                             o.hrd ? ", and what HRD parameters round off" : ""));
    return r;
}

// What fields do not go with.
void check_fields(const CudaencH264Options &o, const Profile &profile) {
    if (profile.idc == 66) refuse("profile baseline is not allowed with fields: allowed are main and high");
    if (is_all_intra(profile))
        refuse("4:4:4 is not allowed with fields: its profile has IDR pictures, no second fields");
    if (profile.idc == 244) refuse("profile high444 is not allowed with fields: allowed are main to high422");
    const auto refuse_option = [](const char *name, int value, int allowed) {
        refuse(format_string("%s %d is not allowed with fields: it is %d", name, value, allowed));
    };
    if (o.lookahead) refuse_option("lookahead", o.lookahead, 0);
    if (o.intra_refresh) refuse_option("intra_refresh", o.intra_refresh, 0);
    if (o.weighted_prediction) refuse_option("weighted_prediction", o.weighted_prediction, 0);
    if (o.encrypt_parts) refuse_option("encrypt_parts", o.encrypt_parts, 0);
}

void set_avc_intra(const AvcIntra &a, Params &p) {
    p.rate.picture_bytes = a.picture_bytes;
    p.rate.qp = 26;  // pic_init_qp
    p.rate.qp_min = std::max(p.rate.qp_min, a.lowest_qp);
    p.rate.qp_max = std::max(p.rate.qp_max, p.rate.qp_min);
    p.picture.slices = a.slices;
    p.picture.even_slices = a.even_slices;
    p.picture.only_8x8 = true;
    p.picture.lowest_qp = a.lowest_qp;
    p.picture.scaling = p.sets.scaling = a.scaling;
    p.sets.scaling_in_pps = a.scaling_in_pps;
    p.picture.chroma_qp_index_offset = a.chroma_qp_index_offset;
    p.sets.chroma_qp_index_offset = p.sets.second_chroma_qp_index_offset = a.chroma_qp_index_offset;
    p.sets.pic_order_cnt_type = 0;
}

int key_offset_of(int gop_size, int qp, int lookahead) {
    const int offset = lookahead ? kIdrQpOffsetAhead : kIdrQpOffset;
    return gop_size > 1 ? std::min(offset, std::max(qp, 0)) : 0;
}

// The rate that a level has to allow.
RateTarget rate_of_level(RateTarget rate) {
    if (rate.picture_bytes)
        rate.bit_rate = ceil_div(static_cast<int64_t>(8 * rate.picture_bytes) * rate.rate_num, rate.rate_den);
    return rate;
}

}  // namespace

Params make_params(const CudaencFormat &format, const CudaencH264Options &o, int fields) {
    check_format(format, 16 * 1055);  // level 6.2: 8 times 139264 is 1055 squared
    const ChromaFormat chroma = chroma_of(format);
    const int depth = format.component[0].depth;
    check_options(kH264Options, o);
    const Profile &profile = choose_profile(o.profile, chroma, depth, o.gop_size > 1);
    check_gop(o, profile);
    const bool pairs = fields && o.avc_intra_class, separate_fields = fields && !pairs;
    if (separate_fields) check_fields(o, profile);
    if (pairs && fields != CUDAENC_TOP_FIELD_FIRST)
        refuse(format_string(
            "fields %d (bottom field first) is not allowed with avc_intra_class %d: the top field is first", fields,
            o.avc_intra_class));
    const bool high = is_high_profile(profile.idc);
    check_range("sample_aspect_num", o.sample_aspect_num, 0, 65535);
    if (o.sample_aspect_num) check_range("sample_aspect_den", o.sample_aspect_den, 1, 65535);

    Params p{};
    p.input = format;
    p.picture = {.width = format.width,
                 .height = format.height,
                 .chroma = chroma,
                 .bit_depth = depth,
                 .slices = 1,
                 .transform_8x8 = high,
                 .long_level_prefix = high,
                 .pcm_without_zeros = !high,
                 .field = fields != CUDAENC_PROGRESSIVE,
                 .field_pairs = pairs};
    if (o.slice_max_bytes)
        check_range("slice_max_bytes", o.slice_max_bytes, least_slice_bytes(p.picture.coded(), o.weighted_prediction),
                    1000000);
    p.rate = make_rate(o, -qp_bd_offset(depth));
    if (o.avc_intra_class) set_avc_intra(find_avc_intra(format, o, pairs), p);
    const auto level_of = [&](int option) -> const Level & {
        return choose_level(option, profile, p.picture, rate_of_level(p.rate), p.warning);
    };
    const Level &lowest = level_of(o.level);
    const Level &level =
        o.avc_intra_class && !o.level && lowest.idc < kLeastAvcIntraLevel ? level_of(kLeastAvcIntraLevel) : lowest;
    if (!o.avc_intra_class)
        p.picture.slices = choose_slices(o.slices, profile, level, p.picture, p.rate, o.gop_size > 1);
    if (has_min_cr(profile)) std::tie(p.rate.most_first, p.rate.most) = largest_pictures(level, p.picture, p.rate);
    limit_to_level(level, profile, p.rate);
    p.slices = p.picture.all_slices();
    p.effort = o.effort;
    p.avc_intra_class = o.avc_intra_class;
    p.avc_intra_flavor = o.avc_intra_flavor;
    p.rate.delay = p.effort == kAllTypes && o.gop_size == 1 ? kRateDelay : 1;
    p.rate.predicted = o.gop_size > 1;
    p.rate.key_offset = key_offset_of(o.gop_size, o.qp, o.lookahead);
    p.rate.level_idc = p.warning.empty() ? level.idc : 0;
    p.aq_strength = o.aq >= 0 ? o.aq : o.rate_control == CUDAENC_H264_CONSTANT_QP ? 0 : 256;
    p.most_bit_rate = int64_t{level.bit_rate} * factor_of(profile, p.rate);
    p.gop_size = o.gop_size;
    p.least_gop_size = o.min_gop_size ? o.min_gop_size : std::max(o.gop_size / 10, 1);
    p.scene_cut = o.scene_cut;
    p.weighted_prediction = o.weighted_prediction;
    p.intra_refresh = o.intra_refresh;
    p.lookahead = o.lookahead;
    p.slice_max_bytes = o.slice_max_bytes;
    p.most_vertical_vector = most_vertical_vector(level) / (separate_fields ? 2 : 1);  // of frames
    p.deblock = o.deblock < 0 ? o.gop_size > 1 : o.deblock;
    p.keystream = o.keystream;
    p.keystream_opaque = o.keystream_opaque;
    if (o.encrypt_parts && !o.keystream)
        refuse(format_string("encrypt_parts %d is not allowed: it is 0 without a keystream", o.encrypt_parts));
    p.encrypt_parts = static_cast<uint32_t>(o.encrypt_parts);
    p.aud = o.aud;
    p.repeat_headers = o.repeat_headers;
    p.timecodes = o.timecodes;

    ParameterSets &sets = p.sets;
    sets.profile_idc = profile.idc;
    sets.constraint_sets = constraint_sets_of(profile, level, p.picture);
    if (o.gop_size > 1) sets.constraint_sets &= 0xEF;  // not all pictures are IDR
    sets.max_num_ref_frames = o.gop_size > 1;
    if (separate_fields) {
        sets.constraint_sets &= profile.idc == 77 ? 0xFF : 0xE7;  // nor does constraint_set4_flag hold: frames alone
        sets.pic_order_cnt_type = 0;                              // which tells fields apart
        sets.max_num_ref_frames = o.gop_size > 1 ? 2 : 1;         // the frame of the first field, and one before
    }
    // recovery_frame_cnt is a difference of frame_num. FFmpeg's decoder is late to recover, or loses the order of
    // pictures, from a picture on whose frame_num is 0, or without it: so that is rare.
    sets.frame_num_bits = o.intra_refresh ? 16 : 4;
    sets.weighted_pred = o.weighted_prediction;
    sets.level_idc = level.idc;
    sets.format = p.picture.coded();
    sets.width = format.width;
    sets.height = format.height;
    const bool square = o.avc_intra_class && !o.sample_aspect_num;
    sets.vui.sar_num = square ? 1 : o.sample_aspect_num;
    sets.vui.sar_den = square ? 1 : o.sample_aspect_den;
    sets.vui.full_range = format.full_range;
    sets.vui.primaries = format.color_primaries;
    sets.vui.transfer = format.color_transfer;
    sets.vui.matrix = format.color_matrix;
    if (chroma == ChromaFormat::c420) sets.vui.chroma_location = o.chroma_location;
    sets.vui.frame_rate_num = static_cast<uint32_t>(o.frame_rate_num);
    sets.vui.frame_rate_den = static_cast<uint32_t>(o.frame_rate_den);
    if (separate_fields && o.frame_rate_num % 2 == 0)
        sets.vui.frame_rate_num /= 2;
    else if (separate_fields)
        sets.vui.frame_rate_den *= 2;
    sets.vui.timecodes = o.timecodes;
    sets.vui.fixed_frame_rate = o.hrd || o.avc_intra_class;
    if (o.hrd)
        sets.vui.hrd = Hrd{.bit_rate = p.rate.max_rate,
                           .size = p.rate.hrd_size,
                           .cbr = p.rate.cbr,
                           .delay_length = std::max<int>(8, std::bit_width(2u * static_cast<unsigned>(o.gop_size)))};
    sets.pic_init_qp = p.rate.qp + qp_bd_offset(depth);
    return p;
}

RateTarget changed_rate(const Params &p, RateTarget r, const RateChange &change) {
    r.version++;
    if (change.qp) {
        if (r.bit_rate || r.picture_bytes)
            refuse(format_string("qp %d is not allowed: the rate control has a target of bits", *change.qp));
        check_range("qp", *change.qp, -qp_bd_offset(p.picture.bit_depth), kMaxQp);
        r.qp = *change.qp;
        r.key_offset = key_offset_of(p.gop_size, r.qp, p.lookahead);
        return r;
    }
    const int64_t rate = change.bit_rate, most = change.max_rate;
    const auto refuse_rate = [](const char *name, int64_t value, const std::string &why) {
        refuse(format_string("%s %lld is not allowed: %s", name, static_cast<long long>(value), why.c_str()));
    };
    if (!r.bit_rate) refuse_rate("bit_rate", rate, "the rate control has none");
    if (rate < 1 || rate > p.most_bit_rate)
        refuse_rate("bit_rate", rate,
                    format_string("it is 1 to %lld in the stream's level", static_cast<long long>(p.most_bit_rate)));
    if (most && !r.buffer_size) refuse_rate("max_rate", most, "there is no buffer");
    if (most && r.cbr && most != rate) refuse_rate("max_rate", most, "with cbr it is bit_rate");
    const int64_t into = most ? most : r.max_rate == r.bit_rate ? rate : r.max_rate;
    if (r.hrd_size && into != r.max_rate)
        refuse_rate(r.cbr ? "bit_rate" : "max_rate", into, "HRD parameters tell of another rate into the buffer");
    if (r.buffer_size && (into < rate || into > p.most_bit_rate))
        refuse_rate("max_rate", into,
                    format_string("it is at least bit_rate, %lld, and at most %lld in the stream's level",
                                  static_cast<long long>(rate), static_cast<long long>(p.most_bit_rate)));
    if (r.buffer_size && r.buffer_size < ceil_div(ceil_div(into * r.rate_den, r.rate_num), 8) * 8)
        refuse_rate("max_rate", into, "the buffer has no room for what comes in a frame's time");
    r.bit_rate = rate;
    r.max_rate = into;
    return r;
}

std::string only_on_cpu(const Params &p) {
    if (p.gop_size == 1) return {};
    if (p.effort != kAllTypes) return format_string("P pictures with effort %d", p.effort);
    if (p.slice_max_bytes && p.picture.macroblocks() > UINT16_MAX)  // as many slices at most
        return format_string("P pictures of %d macroblocks with slice_max_bytes", p.picture.macroblocks());
    return {};
}

std::string summary(const Params &p) {
    const char *const maker = p.avc_intra_flavor == CUDAENC_AVC_INTRA_SONY ? "XAVC" : "AVC";
    const std::string rate = p.avc_intra_class ? format_string("%s Intra class %d", maker, p.avc_intra_class)
                             : p.rate.bit_rate ? format_string("%lld bits/s%s", static_cast<long long>(p.rate.bit_rate),
                                                               p.rate.cbr ? ", constant" : "")
                                               : format_string("QP %d", p.rate.qp);
    const std::string gop = p.gop_size > 1 ? format_string(", an IDR picture in %d", p.gop_size) : "";
    const std::string ahead = p.lookahead ? format_string(", lookahead %d", p.lookahead) : "";
    return rate + format_string(", adaptive quantisation %g, effort %d", p.aq_strength / 256., p.effort) + gop + ahead;
}

}  // namespace cudaenc::h264
