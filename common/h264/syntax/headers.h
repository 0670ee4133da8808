// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameter sets, slice headers, SEI and other NAL units around the slices (H.264, 7.3, Annexes D and E). Functions
// that return bytes give a whole NAL unit of a byte stream.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "macroblock_layer.h"
#include "nal.h"
#include "quantise.h"
#include "weights.h"

namespace cudaenc::h264 {

// ---- Parameter sets

// The hypothetical reference decoder's buffer (E.1.2).
struct Hrd {
    int64_t bit_rate, size;  // bits/s and bits, of hrd_rate() and hrd_size()
    bool cbr;
    int delay_length;  // bits of cpb_removal_delay
};
// The largest number up to the argument that the syntax can express: 16 bits and a scale. At least the smallest one.
int64_t hrd_rate(int64_t bit_rate);
int64_t hrd_size(int64_t size);

struct Vui {
    int sar_num = 0, sar_den = 0;  // sample aspect ratio; 0: unknown
    bool full_range = false;
    int primaries = 2, transfer = 2, matrix = 2;      // ITU-T H.273, 2: unspecified
    int chroma_location = -1;                         // chroma_sample_loc_type; -1: absent
    uint32_t frame_rate_num = 0, frame_rate_den = 0;  // 0: absent
    bool fixed_frame_rate = false;
    bool timecodes = false;  // picture timing SEI messages follow
    std::optional<Hrd> hrd;  // these and buffering periods follow
};

// One set of each kind, for frames or field pictures (format) with CAVLC. Sizes are those of a picture.
// pic_order_cnt_lsb has 4 bits.
struct ParameterSets {
    int profile_idc;
    uint8_t constraint_sets;  // constraint_set0_flag is the highest bit
    int level_idc;
    CodedFormat format;
    int width, height;  // of the picture, in luma samples; whole chroma samples beyond are cropped
    Vui vui;
    int pic_init_qp;  // with QpBdOffset
    int chroma_qp_index_offset, second_chroma_qp_index_offset;
    int pic_order_cnt_type = 2;  // or 0, with pic_order_cnt_lsb; 2: the output order is that of decoding
    int max_num_ref_frames = 0;
    int frame_num_bits = 4;                 // 4 to 16
    const ScalingLists *scaling = nullptr;  // of Intra; nullptr: flat
    bool scaling_in_pps = false;            // else in the SPS
    bool weighted_pred = false;             // weighted_pred_flag: slices of P pictures tell weights
};
// Whether the profile's parameter sets have chroma_format_idc and transform_8x8_mode_flag.
bool is_high_profile(int profile_idc);

std::vector<uint8_t> make_sps(const ParameterSets &sets);
std::vector<uint8_t> make_pps(const ParameterSets &sets);

// ---- Slices

// As pic_struct (table D-1). both: a frame of field macroblock pairs, see CodedFormat.
enum class FieldParity : uint8_t { none = 0, top = 1, bottom = 2, both = 3 };
enum class SliceType : uint8_t { p = 0, i = 2 };  // table 7-6
// What slice_header() (7.3.3) and the header of its NAL unit tell.
struct SliceHeader {
    uint32_t first_macroblock;  // first_mb_in_slice: of field_pairs the pair
    int idr_pic_id;             // of an IDR picture: not that of the picture before
    int qp_delta;               // slice_qp_delta
    int disable_deblocking_filter_idc = 1;
    int alpha_c0_offset_div2 = 0, beta_offset_div2 = 0;
    std::optional<int> pic_order_cnt_lsb = {};  // with pic_order_cnt_type 0
    // The same in all slices of a picture:
    NalType nal_unit_type = kNalIdrSlice;
    int nal_ref_idc = 3;
    SliceType slice_type = SliceType::i;    // P slices refer to the picture before
    int frame_num = 0, frame_num_bits = 4;  // below 2 to the power of bits, those of the SPS
    uint32_t abs_diff_pic_num = 0;          // of a P field: see FieldReference; 0: to the first of list 0
    FieldParity field = FieldParity::none;
    std::optional<PictureWeights> weights = {};  // with ParameterSets::weighted_pred, of P slices
    bool has_chroma = true;
    bool is_idr() const { return nal_unit_type == kNalIdrSlice; }
};
// The same for the coders of slices.
struct SliceHeaderBits {
    uint32_t words[6];  // the first bit is the highest
    uint32_t count;
    uint32_t nal_header;
};
SliceHeaderBits make_slice_header(const SliceHeader &slice);
template <class Bits>
CUDAENC_HD void code_slice_header(const SliceHeaderBits &header, Bits &out) {
    const uint32_t count = header.count;
    for (uint32_t at = 0; at < count; at += 16) {
        const uint32_t bits = header.words[at / 32] << at % 32, part = min_of(count - at, 16u);
        out.put(bits >> (32 - part), part);
    }
}

// ---- SEI (Annex D) and the rest

struct Timecode {  // SMPTE ST 12-1
    int hours, minutes, seconds, frames;
    bool drop_frame;
};
struct MasteringDisplay {
    uint16_t primaries[3][2];  // green, blue, red; x and y in units of 0.00002
    uint16_t white_point[2];
    uint32_t max_luminance, min_luminance;  // 0.0001 cd/m2
};
struct ContentLight {
    uint16_t max_content, max_average;  // cd/m2
};
// Every IDR picture and every recovery point begins a buffering period (D.2.2).
struct BufferingPeriod {
    uint32_t initial_cpb_removal_delay, initial_cpb_removal_delay_offset;  // 1/90000 s
};
// With HRD parameters, of every picture (D.2.3).
struct RemovalDelay {
    uint32_t ticks;  // since the removal of the picture that began the last buffering period before this one
    int length;      // Hrd::delay_length
};
struct Sei {
    std::optional<BufferingPeriod> buffering_period;  // with Vui::hrd
    std::optional<RemovalDelay> removal_delay;        // the same
    std::optional<int> recovery_frame_cnt;            // of a recovery point from which on pictures are exact
    bool pic_struct = false;                          // Vui::timecodes
    FieldParity field = FieldParity::none;            // with that
    std::optional<Timecode> timecode;                 // with that
    std::optional<MasteringDisplay> mastering_display;
    std::optional<ContentLight> content_light;
    std::span<const uint8_t> captions;                   // A/53 cc_data: 3 bytes each, at most 31 of them
    std::vector<std::span<const uint8_t>> unregistered;  // user data: 16 bytes of UUID, then the payload
    bool tells_field() const { return pic_struct && field != FieldParity::none; }
    bool empty() const {
        return !buffering_period && !removal_delay && !timecode && !recovery_frame_cnt && !tells_field() &&
               !mastering_display && !content_light && captions.empty() && unregistered.empty();
    }
};
std::vector<uint8_t> make_sei(const Sei &sei);

// An access unit delimiter. P: a picture of P slices, which may have I slices too.
std::vector<uint8_t> make_aud(SliceType type);
// Filler data: a NAL unit of so many bytes, at least kLeastFillerBytes.
constexpr size_t kLeastFillerBytes = kNalPrefixBytes + 1;
std::vector<uint8_t> make_filler(size_t bytes);

}  // namespace cudaenc::h264
