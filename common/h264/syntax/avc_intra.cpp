// SPDX-License-Identifier: LGPL-2.1-or-later
#include "avc_intra.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "../../error.h"
#include "../../option_checks.h"

namespace cudaenc::h264 {

namespace {

constexpr ScalingLists k720p = {
    {6, 13, 20, 28, 13, 20, 28, 32, 20, 28, 32, 37, 28, 32, 37, 42},
    {16, 21, 27, 34, 21, 27, 34, 41, 27, 34, 41, 46, 34, 41, 46, 54},
    {16, 18, 19, 21, 22, 24, 26, 32, 18, 19, 19, 21, 22, 24, 26, 32, 19, 19, 21, 22, 22, 24,
     26, 32, 21, 21, 22, 22, 23, 24, 26, 34, 22, 22, 22, 23, 24, 25, 26, 34, 24, 24, 24, 24,
     25, 26, 34, 36, 26, 26, 26, 26, 26, 34, 36, 38, 32, 32, 32, 34, 34, 36, 38, 42},
};
constexpr ScalingLists k1080p = {
    {6, 13, 20, 28, 13, 20, 28, 32, 20, 28, 32, 37, 28, 32, 37, 42},
    {16, 20, 26, 32, 20, 26, 32, 38, 26, 32, 38, 44, 32, 38, 44, 50},
    {16, 18, 19, 20, 22, 23, 24, 26, 18, 19, 20, 22, 23, 24, 26, 32, 19, 20, 22, 23, 24, 26,
     32, 36, 20, 22, 23, 24, 26, 32, 36, 42, 22, 23, 24, 26, 32, 36, 42, 59, 23, 24, 26, 32,
     36, 42, 59, 63, 24, 26, 32, 36, 42, 59, 63, 68, 26, 32, 36, 42, 59, 63, 68, 72},
};
// The 4x4 lists are those of progressive frames.
constexpr ScalingLists k1080i = [] {
    constexpr uint8_t luma_8x8[] = {
        16, 19, 20, 23, 24, 26, 32, 42, 18, 19, 22, 24, 26, 32, 36, 42, 18, 20, 23, 24, 26, 32,
        36, 63, 19, 20, 23, 26, 32, 36, 42, 63, 20, 22, 24, 26, 32, 36, 59, 63, 22, 23, 24, 26,
        32, 36, 59, 68, 22, 23, 24, 26, 32, 42, 59, 68, 22, 23, 24, 26, 36, 42, 59, 72,
    };
    ScalingLists lists = k1080p;
    std::copy(std::begin(luma_8x8), std::end(luma_8x8), std::begin(lists.luma_8x8));
    return lists;
}();
constexpr ScalingLists k2160p = {
    {12, 16, 19, 20, 16, 19, 20, 24, 19, 20, 24, 33, 20, 24, 33, 39},
    {28, 39, 56, 67, 39, 56, 67, 77, 56, 67, 77, 104, 67, 77, 104, 133},
    {12, 14, 16, 17, 19, 20, 20, 24, 14, 16, 17, 19, 20, 20, 24, 30, 16, 17, 19, 20, 20, 24,
     30, 42, 17, 19, 20, 20, 24, 30, 42, 56, 19, 20, 20, 24, 30, 42, 56, 72, 20, 20, 24, 30,
     42, 56, 72, 76, 20, 24, 30, 42, 56, 72, 76, 80, 24, 30, 42, 56, 72, 76, 80, 84},
};

struct Row {
    int number, height;  // of the class; of pictures
    int ntsc, pal;       // a picture in units of 128 bytes, with 60000/1001 Hz and its parts, and with 50 and 25 Hz
    bool low_rates;      // also below 50 Hz
    const ScalingLists *scaling;
    int chroma_qp_index_offset;
};
constexpr Row kRows[] = {
    {100, 720, 1848, 2224, true, &k720p, 4},    {100, 1080, 3692, 4444, true, &k1080p, 3},
    {200, 720, 3724, 4472, false, &k720p, 4},   {200, 1080, 7444, 8940, true, &k1080p, 3},
    {300, 2160, 9844, 9844, true, &k2160p, -4}, {480, 2160, 15700, 15700, true, &k2160p, -4},
};

bool has_width(int height, int width) {
    switch (height) {
        case 720:
            return width == 1280;
        case 1080:
            return width == 1920 || width == 2048;
        default:
            return width == 3840 || width == 4096;
    }
}

void check_others(const CudaencFormat &format, const CudaencH264Options &o) {
    const auto stands = [&](bool allowed, const char *what) {
        if (!allowed) refuse(format_string("%s is not allowed with avc_intra_class %d", what, o.avc_intra_class));
    };
    stands(format.color_model == CUDAENC_COLOR_YUV && format.component[0].depth == 10 &&
               format.component[1].log2_subsample_x == 1 && format.component[1].log2_subsample_y == 0,
           "another format than 4:2:2 of 10 bits");
    stands(o.profile == CUDAENC_H264_AUTO_PROFILE || o.profile == CUDAENC_H264_HIGH_422_INTRA,
           "another profile than high422");
    stands(o.rate_control == CUDAENC_H264_CONSTANT_QUALITY && !o.max_rate && !o.buffer_size && !o.cbr && !o.hrd,
           "a constant QP, a bit rate, a buffer or HRD, as the class tells the size of pictures,");
    stands(!o.slices, "a number of slices");
    stands(o.deblock <= 0, "deblock 1");
    stands(o.repeat_headers, "repeat_headers 0");
    stands(o.avc_intra_flavor == CUDAENC_AVC_INTRA_SONY || o.avc_intra_class <= 200,
           "flavor panasonic, as it is Sony's,");
}

void append(std::vector<uint8_t> &to, const std::vector<uint8_t> &bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

// User data of a UUID, a name and bytes of 255.
std::vector<uint8_t> make_user_data(const char (&name)[5], size_t size) {
    constexpr uint8_t uuid[16] = {0xF7, 0x49, 0x3E, 0xB3, 0xD4, 0x00, 0x47, 0x96,
                                  0x86, 0x86, 0xC9, 0x70, 0x7B, 0x64, 0x37, 0x2A};
    std::vector<uint8_t> data(size, 0xFF);
    std::copy(std::begin(uuid), std::end(uuid), data.begin());
    std::copy_n(name, 4, data.begin() + 16);
    return data;
}
std::vector<uint8_t> make_message(const std::vector<uint8_t> &data) {
    Sei sei;
    sei.unregistered.emplace_back(data);
    return make_sei(sei);
}

// A unique material identifier without a clock: its fields have their tags, and numbers of 0.
std::vector<uint8_t> make_umid() {
    std::vector<uint8_t> data = make_user_data("UMID", 497);
    constexpr std::pair<size_t, uint8_t> tags[] = {{20, 0x13}, {28, 0x14}, {36, 0x60},
                                                   {41, 0x22}, {60, 0x62}, {68, 0x63}};
    for (const auto &[at, tag] : tags) data[at] = tag;
    for (const size_t counter : {22, 30, 62, 70})
        for (const size_t i : {0, 1, 3, 4}) data[counter + i] = 0;
    return data;
}

}  // namespace

AvcIntra find_avc_intra(const CudaencFormat &format, const CudaencH264Options &o, bool interlaced) {
    if (o.avc_intra_class == 50)
        refuse("avc_intra_class 50 is not allowed: it is coded with CABAC, classes 100, 200, 300 and 480 with CAVLC");
    const auto is_class = [&](const Row &row) { return row.number == o.avc_intra_class; };
    if (std::none_of(std::begin(kRows), std::end(kRows), is_class))
        refuse(format_string("avc_intra_class %d is not allowed: it is 100, 200, 300 or 480, or 0 (none)",
                             o.avc_intra_class));
    check_others(format, o);
    const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row &r) {
        return is_class(r) && r.height == format.height && has_width(r.height, format.width);
    });
    if (row == std::end(kRows))
        refuse(format_string(
            "%dx%d is not allowed with avc_intra_class %d: it has %s", format.width, format.height, o.avc_intra_class,
            o.avc_intra_class <= 200 ? "1280x720, 1920x1080 and 2048x1080" : "3840x2160 and 4096x2160"));
    if (interlaced && (format.width != 1920 || format.height != 1080))
        refuse(format_string("%dx%d is not allowed with avc_intra_class %d and fields: 1920x1080 is", format.width,
                             format.height, o.avc_intra_class));
    if (interlaced && o.encrypt_parts)  // which take levels in zig-zag order
        refuse(format_string("encrypt_parts %d is not allowed with avc_intra_class %d and fields: it is 0",
                             o.encrypt_parts, o.avc_intra_class));
    const int64_t num = o.frame_rate_num, den = o.frame_rate_den;
    const auto is_rate = [&](int n, int d) { return num && num * d == den * n; };
    const bool pal = interlaced ? is_rate(25, 1) : is_rate(50, 1) || (row->low_rates && is_rate(25, 1));
    const bool ntsc = interlaced
                          ? is_rate(30000, 1001)
                          : is_rate(60000, 1001) || (row->low_rates && (is_rate(30000, 1001) || is_rate(24000, 1001)));
    if (interlaced && !pal && !ntsc)
        refuse(format_string(
            "frame rate %lld/%lld is not allowed with avc_intra_class %d and fields: it is 30000/1001 or 25",
            static_cast<long long>(num), static_cast<long long>(den), o.avc_intra_class));
    if (!pal && !ntsc)
        refuse(format_string("frame rate %lld/%lld is not allowed with avc_intra_class %d: it is 60000/1001 or 50%s",
                             static_cast<long long>(num), static_cast<long long>(den), o.avc_intra_class,
                             row->low_rates ? ", 30000/1001, 25 or 24000/1001" : ""));
    const bool sony = o.avc_intra_flavor == CUDAENC_AVC_INTRA_SONY;
    return {.picture_bytes = 128 * static_cast<uint64_t>(pal ? row->pal : row->ntsc),
            .scaling = interlaced ? &k1080i : row->scaling,
            .scaling_in_pps = row->number > 200,
            .chroma_qp_index_offset = row->chroma_qp_index_offset,
            .slices = sony ? 8 : 10,
            .even_slices = !sony,
            .lowest_qp = sony ? -qp_bd_offset(10) : 1};
}

std::vector<uint8_t> make_avc_intra_prefix(const ParameterSets &sets, int flavor) {
    std::vector<uint8_t> prefix;
    const bool sony = flavor == CUDAENC_AVC_INTRA_SONY, large = sets.height >= 1080;
    // Zeros after NAL units (B.1) up to fixed places, in blocks of 512 bytes.
    append(prefix, make_aud(SliceType::i));
    append(prefix, make_sps(sets));
    prefix.resize(256);
    append(prefix, make_pps(sets));
    prefix.resize(512);
    if (sony) {
        prefix.resize(prefix.size() + (large ? 18 : 10) * 512);
        return prefix;
    }
    // Against 7.4.1.2.3, which has filler data behind the slices; but so do libx264's AVC-Intra files, and readers that
    // find SEI messages by their place.
    append(prefix, make_filler(kLeastFillerBytes));
    append(prefix, make_message(make_umid()));
    append(prefix, make_message(make_user_data("VANC", large ? 5780 : 2900)));
    prefix.resize((large ? 19 : 11) * 512);
    return prefix;
}

}  // namespace cudaenc::h264
