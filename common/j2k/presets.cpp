// SPDX-License-Identifier: LGPL-2.1-or-later
#include "presets.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

#include "../error.h"
#include "../hd.h"
#include "../option_checks.h"
#include "block_coders.h"

namespace cudaenc::j2k {

namespace {

// What the National Library of the Netherlands asks for, as its jpylyzer schemas check it (KBNLresearch/jprofile:
// KB_MASTER_LOSSLESS_01/01/2015, KB_ACCESS_LOSSY_01/01/2015). It does not speak of TLM and PLT. Readers of parts use
// them; the Royal Danish Library asks for TLM, Digital Bodleian for PLT.
struct LibraryProfile {
    const char *name;
    CudaencJ2kWavelet pred;
    int layers;
    const char *layer_rates;
    double compression_ratio;  // of all layers, where there are others; 0: no target
};
constexpr LibraryProfile kLibraryProfiles[] = {
    {"archive_lossless", CUDAENC_J2K_DWT53, 11, "2560,1280,640,320,160,80,40,20,10,5,1", 0},
    {"access", CUDAENC_J2K_DWT97, 8, "2560,1280,640,320,160,80,40,20", 20},
};
static_assert(CUDAENC_J2K_ARCHIVE_LOSSLESS + std::size(kLibraryProfiles) == CUDAENC_J2K_ACCESS + 1);

bool is_set(const char *text) { return text && *text; }

// A master has all data: nothing cuts it, and no conversion comes first.
void check_master(const char *profile, const CudaencJ2kOptions &o) {
    const auto demand = [&](bool holds, const std::string &what) {
        if (!holds) refuse(format_string("profile %s: %s is not allowed: it is lossless", profile, what.c_str()));
    };
    demand(o.pred < 0 || o.pred == CUDAENC_J2K_DWT53, "pred dwt97");
    demand(!o.bit_rate, format_string("b %lld", static_cast<long long>(o.bit_rate)));
    demand(!o.frame_bytes, format_string("frame_bytes %lld", static_cast<long long>(o.frame_bytes)));
    demand(o.compression_ratio == 0, format_string("compression_ratio %g", o.compression_ratio));
    demand(o.psnr == 0, format_string("psnr %g", o.psnr));
    demand(o.xyz != CUDAENC_XYZ_ON, "xyz on");
    if (!is_set(o.layer_rates)) return;
    const char *last = std::strrchr(o.layer_rates, ',');
    demand(std::strtod(last ? last + 1 : o.layer_rates, nullptr) <= 1,
           format_string("layer_rates '%s', whose last one is not 1,", o.layer_rates));
}

void set(int &option, int open, int value) {
    if (option == open) option = value;
}

void fill_in_library_profile(const LibraryProfile &profile, CudaencJ2kOptions &o) {
    if (profile.pred == CUDAENC_J2K_DWT53) check_master(profile.name, o);
    const bool targeted =
        o.bit_rate || o.frame_bytes || o.compression_ratio != 0 || o.psnr != 0 || is_set(o.layer_rates);
    if (!targeted && o.rate_control != CUDAENC_J2K_RATE_NONE) {
        if (o.layers < 0)
            o.layer_rates = profile.layer_rates;
        else
            o.compression_ratio = profile.compression_ratio;
    }
    if (!is_set(o.layer_rates)) set(o.layers, -1, profile.layers);
    set(o.pred, -1, profile.pred);
    set(o.levels, -1, 5);
    constexpr const char *kPrecincts[] = {"256x256", "256x256,256x256", "256x256,256x256,128x128"};  // by levels
    if (!is_set(o.precincts)) o.precincts = kPrecincts[std::min(o.levels, 2)];
    set(o.prog, -1, CUDAENC_J2K_RPCL);
    set(o.tile_width, 0, 1024), set(o.tile_height, 0, 1024);
    set(o.cblk_width, 0, 64), set(o.cblk_height, 0, 64);
    set(o.cblk_style, 0, CUDAENC_J2K_SEGSYM);
    set(o.sop, -1, 1), set(o.eph, -1, 1), set(o.tlm, -1, 1), set(o.plt, -1, 1);
}

// DICOM's transfer syntaxes of HTJ2K (PS3.5 10.18).
struct DicomProfile {
    const char *name;
    bool lossless, rpcl;
};
constexpr DicomProfile kDicomProfiles[] = {
    {"dicom_ht_lossless", true, false}, {"dicom_ht_rpcl", true, true}, {"dicom_ht", false, false}};
static_assert(CUDAENC_J2K_DICOM_HT_LOSSLESS + std::size(kDicomProfiles) == CUDAENC_J2K_DICOM_HT + 1);

// With RPCL readers find a thumbnail: the lowest resolution's width or height is at most 64.
int fewest_dicom_levels(const CudaencFormat &format) {
    int levels = 0;
    while (ceil_div(std::min(format.width, format.height), 1 << levels) > 64) levels++;
    return levels;
}

// PS3.5 Table 8.2.4-1 has pictures of one component, or of three that are not sub-sampled.
void fill_in_dicom_profile(const DicomProfile &profile, const CudaencFormat &format, CudaencJ2kOptions &o) {
    const auto demand = [&](bool holds, const std::string &what, const std::string &rule, const char *source) {
        if (!holds)
            refuse(format_string("profile %s: %s is not allowed: %s (DICOM %s)", profile.name, what.c_str(),
                                 rule.c_str(), source));
    };
    constexpr const char *kSource = "PS3.5 10.18", *kPictures = "PS3.5 Table 8.2.4-1";
    const char *style = block_coder_traits(style_of_part(kPart15)).style;
    if (profile.lossless) check_master(profile.name, o);
    demand(format.components == 1 || format.components == 3,
           format_string("a picture of %d components", format.components), "there are 1 or 3", kPictures);
    for (int c = 0; c < format.components; c++) {
        const CudaencComponent &k = format.component[c];
        demand(!k.log2_subsample_x && !k.log2_subsample_y, format_string("component %d, which is sub-sampled,", c),
               "none is", kPictures);
    }
    demand(!o.cblk_style || static_cast<uint32_t>(o.cblk_style) == style_of_part(kPart15),
           format_string("cblk_style other than %s", style), format_string("it is %s", style), kSource);
    demand(o.format != CUDAENC_J2K_JP2, "format jp2", "frames are bare codestreams", "PS3.5 A.4.4");
    o.cblk_style = static_cast<int>(style_of_part(kPart15));
    set(o.format, -1, CUDAENC_J2K_CODESTREAM);
    if (profile.lossless) set(o.pred, -1, CUDAENC_J2K_DWT53);
    if (!profile.rpcl) return;
    const int fewest = fewest_dicom_levels(format);
    set(o.levels, -1, std::max(fewest, 5));
    set(o.prog, -1, CUDAENC_J2K_RPCL);
    set(o.tlm, -1, 1);
    set(o.tile_parts, 0, CUDAENC_J2K_TILE_PART_RESOLUTION);  // which TLM then finds
    demand(o.prog == CUDAENC_J2K_RPCL, "prog other than rpcl", "it is rpcl", kSource);
    demand(!is_set(o.poc), "poc", "the order is rpcl", kSource);
    demand(o.tlm, "tlm 0", "TLM marker segments are demanded", kSource);
    demand(o.levels >= fewest, format_string("levels %d", o.levels),
           format_string("it is %d or more, so that the lowest resolution has a width or height of at most 64", fewest),
           kSource);
}

}  // namespace

CudaencJ2kOptions fill_in(CudaencJ2kOptions o, const CudaencFormat &format) {
    if (o.profile >= CUDAENC_J2K_DICOM_HT_LOSSLESS)
        fill_in_dicom_profile(kDicomProfiles[o.profile - CUDAENC_J2K_DICOM_HT_LOSSLESS], format, o);
    else if (o.profile == CUDAENC_J2K_IMF_HT || o.profile == CUDAENC_J2K_IMF_HT_R)
        set(o.cblk_style, 0, static_cast<int>(style_of_part(kPart15)));
    else if (o.profile >= CUDAENC_J2K_ARCHIVE_LOSSLESS)
        fill_in_library_profile(kLibraryProfiles[o.profile - CUDAENC_J2K_ARCHIVE_LOSSLESS], o);
    if (!o.cblk_width) o.cblk_width = 32;
    if (!o.cblk_height) o.cblk_height = 32;
    for (int *segment : {&o.sop, &o.eph, &o.plt}) *segment = std::max(*segment, 0);
    o.layers = std::max(o.layers, 1);
    return o;
}

}  // namespace cudaenc::j2k
