// SPDX-License-Identifier: LGPL-2.1-or-later
#include "headers.h"

#include <algorithm>

#include "../../bit_writer.h"
#include "../../error.h"

namespace cudaenc::h264 {

namespace {

// Syntax elements of an RBSP. bits: 0 to 32.
class Rbsp {
  public:
    void u(uint32_t value, uint32_t bits) {
        bits_.reserve(32);
        if (bits) bits_.put(value, bits);
    }
    void flag(bool value) { u(value, 1); }
    void ue(uint32_t value) {
        const uint64_t code = uint64_t{value} + 1;
        const uint32_t length = static_cast<uint32_t>(std::bit_width(code));
        u(0, length - 1);
        bits_.reserve(64);
        if (length == 33) bits_.put(1, 1);
        bits_.put(static_cast<uint32_t>(code), std::min(length, 32u));
    }
    void se(int value) { ue(value > 0 ? 2 * static_cast<uint32_t>(value) - 1 : static_cast<uint32_t>(-2 * value)); }
    void bytes(std::span<const uint8_t> bytes) {
        for (const uint8_t byte : bytes) u(byte, 8);
    }
    void trailing_bits() {
        u(1, 1);
        if (bits_.phase()) u(0, 8 - bits_.phase());
    }
    bool aligned() const { return bits_.phase() == 0; }

    std::vector<uint8_t> nal(NalType type, int nal_ref_idc = 0) {
        const BitWriter::Run run = bits_.end();
        std::vector<uint8_t> nal(most_nal_bytes(run.bits / 8));
        NalWriter writer(nal.data());
        writer.begin(nal_header(type, nal_ref_idc));
        writer.put(bits_.words() + run.first_word, run.bits);
        nal.resize(static_cast<size_t>(writer.end() - nal.data()));
        return nal;
    }
    SliceHeaderBits slice_header(uint8_t nal_header) {
        const BitWriter::Run run = bits_.end();
        SliceHeaderBits header{{}, static_cast<uint32_t>(run.bits), nal_header};
        for (size_t i = 0; 32 * i < run.bits; i++)
            header.words[i] = static_cast<uint32_t>(bits_.words()[run.first_word + i / 2] >> (i & 1 ? 0 : 32));
        return header;
    }
    std::vector<uint8_t> raw() {
        const BitWriter::Run run = bits_.end();
        std::vector<uint8_t> bytes;
        for (uint64_t i = 0; i < run.bits / 8; i++)
            bytes.push_back(static_cast<uint8_t>(bits_.words()[run.first_word + i / 8] >> (56 - 8 * (i % 8))));
        return bytes;
    }

  private:
    BitWriter bits_;
};

// 7.3.2.1.1.1
void put_scaling_list(const uint8_t *list, std::span<const uint8_t> scan, Rbsp &out) {
    out.flag(true);  // scaling_list_present_flag
    int last = 8;
    for (const uint8_t place : scan) {
        out.se(list[place] - last);  // delta_scale
        last = list[place];
    }
}

// Lists that are not sent follow from table 7-2; those of Inter are not used.
void put_scaling_lists(const ScalingLists &lists, Rbsp &out) {
    if (std::equal(std::begin(kDefault4x4Intra), std::end(kDefault4x4Intra), lists.luma_4x4))
        out.flag(false);
    else
        put_scaling_list(lists.luma_4x4, kZigzag4x4, out);
    for (int c = 0; c < 2; c++) put_scaling_list(lists.chroma_4x4, kZigzag4x4, out);
    for (int inter = 0; inter < 3; inter++) out.flag(false);
    put_scaling_list(lists.luma_8x8, kZigzag8x8, out);
    out.flag(false);
}

// aspect_ratio_idc of Table E-1; 0: the table does not have it.
uint32_t aspect_ratio_idc(int num, int den) {
    static constexpr int ratios[][2] = {{1, 1},   {12, 11}, {10, 11}, {16, 11}, {40, 33},  {24, 11}, {20, 11}, {32, 11},
                                        {80, 33}, {18, 11}, {15, 11}, {64, 33}, {160, 99}, {4, 3},   {3, 2},   {2, 1}};
    for (uint32_t i = 0; i < std::size(ratios); i++)
        if (ratios[i][0] == num && ratios[i][1] == den) return i + 1;
    return 0;
}

// E.1.2: values of 16 bits in units of 2^(least + scale).
constexpr int kLeastRateScale = 6, kLeastSizeScale = 4;
int hrd_scale(int64_t value, int least) {
    int scale = 0;
    while (value >> (least + scale) > 65535) scale++;
    return scale;
}
int64_t round_for_hrd(int64_t value, int least) {
    const int shift = least + hrd_scale(value, least);
    return std::max<int64_t>(value >> shift, 1) << shift;
}

constexpr uint32_t kInitialDelayLength = 32, kOutputDelayLength = 8;
void put_hrd(const Hrd &h, Rbsp &out) {
    const int rate_scale = hrd_scale(h.bit_rate, kLeastRateScale), size_scale = hrd_scale(h.size, kLeastSizeScale);
    out.ue(0);  // cpb_cnt_minus1
    out.u(rate_scale, 4);
    out.u(size_scale, 4);
    out.ue(static_cast<uint32_t>(h.bit_rate >> (kLeastRateScale + rate_scale)) - 1);
    out.ue(static_cast<uint32_t>(h.size >> (kLeastSizeScale + size_scale)) - 1);
    out.flag(h.cbr);
    out.u(kInitialDelayLength - 1, 5);
    out.u(h.delay_length - 1, 5);      // cpb_removal_delay_length_minus1
    out.u(kOutputDelayLength - 1, 5);  // dpb_output_delay_length_minus1
    out.u(24, 5);                      // time_offset_length
}

// E.1.1
void put_vui(const Vui &v, bool intra_only, int reference_frames, Rbsp &out) {
    out.flag(v.sar_num);
    if (v.sar_num) {
        const uint32_t idc = aspect_ratio_idc(v.sar_num, v.sar_den);
        out.u(idc ? idc : 255, 8);
        if (!idc) {
            out.u(v.sar_num, 16);
            out.u(v.sar_den, 16);
        }
    }
    out.flag(false);  // overscan_info_present_flag
    const bool colours = v.primaries != 2 || v.transfer != 2 || v.matrix != 2;
    out.flag(v.full_range || colours);  // video_signal_type_present_flag
    if (v.full_range || colours) {
        out.u(5, 3);  // video_format: unspecified
        out.flag(v.full_range);
        out.flag(colours);
        if (colours)
            for (const int code_point : {v.primaries, v.transfer, v.matrix}) out.u(code_point, 8);
    }
    out.flag(v.chroma_location >= 0);
    if (v.chroma_location >= 0)
        for (int field = 0; field < 2; field++) out.ue(v.chroma_location);
    out.flag(v.frame_rate_num);  // timing_info_present_flag
    if (v.frame_rate_num) {
        out.u(v.frame_rate_den, 32);  // num_units_in_tick: a tick is a field
        out.u(2 * v.frame_rate_num, 32);
        out.flag(v.fixed_frame_rate);
    }
    out.flag(v.hrd.has_value());  // nal_hrd_parameters_present_flag
    if (v.hrd) put_hrd(*v.hrd, out);
    out.flag(false);             // vcl_hrd_parameters_present_flag
    if (v.hrd) out.flag(false);  // low_delay_hrd_flag
    out.flag(v.timecodes);       // pic_struct_present_flag
    out.flag(!intra_only);       // bitstream_restriction_flag: a decoder need not wait for other pictures
    if (intra_only) return;
    out.flag(true);                         // motion_vectors_over_pic_boundaries_flag
    for (int i = 0; i < 4; i++) out.ue(0);  // max_bytes_per_pic_denom, max_bits_per_mb_denom, log2_max_mv_length_*
    out.ue(0);                              // max_num_reorder_frames
    // max_dec_frame_buffering: Android's decoder fails with 0
    out.ue(static_cast<uint32_t>(std::max(reference_frames, 1)));
}

// ---- SEI payloads

// D.1.2, of the NAL HRD
std::vector<uint8_t> buffering_period(const BufferingPeriod &b) {
    Rbsp out;
    out.ue(0);  // seq_parameter_set_id
    out.u(b.initial_cpb_removal_delay, kInitialDelayLength);
    out.u(b.initial_cpb_removal_delay_offset, kInitialDelayLength);
    if (!out.aligned()) out.trailing_bits();  // bit_equal_to_one and zeros (D.1)
    return out.raw();
}

void put_timecode(const Timecode &t, bool interlaced, Rbsp &out) {
    out.u(interlaced, 2);            // ct_type
    out.flag(true);                  // nuit_field_based_flag
    out.u(t.drop_frame ? 4 : 0, 5);  // counting_type
    out.flag(true);                  // full_timestamp_flag
    out.flag(false);                 // discontinuity_flag
    out.flag(t.drop_frame);          // cnt_dropped_flag
    out.u(t.frames, 8);
    out.u(t.seconds, 6);
    out.u(t.minutes, 6);
    out.u(t.hours, 5);
    out.u(0, 24);  // time_offset
}

// D.1.3
std::vector<uint8_t> picture_timing(const Sei &sei) {
    Rbsp out;
    if (sei.removal_delay) {
        out.u(sei.removal_delay->ticks, sei.removal_delay->length);
        out.u(0, kOutputDelayLength);  // dpb_output_delay
    }
    if (sei.pic_struct) {
        out.u(static_cast<uint32_t>(sei.field), 4);  // 0: a frame
        out.flag(sei.timecode.has_value());
        if (sei.timecode) put_timecode(*sei.timecode, sei.field != FieldParity::none, out);
        if (sei.field == FieldParity::both) out.flag(false);  // clock_timestamp_flag of its second field
    }
    if (!out.aligned()) out.trailing_bits();
    return out.raw();
}
// ATSC A/53 Part 4, 6.2.3, in a message registered by ITU-T T.35
std::vector<uint8_t> closed_captions(std::span<const uint8_t> cc_data) {
    Rbsp out;
    out.u(0xB5, 8);  // United States
    out.u(0x0031, 16);
    out.u(0x47413934, 32);  // "GA94"
    out.u(3, 8);            // cc_data()
    out.u(0x40 | static_cast<uint32_t>(cc_data.size() / 3), 8);
    out.u(0xFF, 8);
    out.bytes(cc_data);
    out.u(0xFF, 8);
    return out.raw();
}
// D.1.8
std::vector<uint8_t> recovery_point(int frame_cnt) {
    Rbsp out;
    out.ue(static_cast<uint32_t>(frame_cnt));
    out.flag(true);   // exact_match_flag
    out.flag(false);  // broken_link_flag
    out.u(0, 2);      // changing_slice_group_idc
    if (!out.aligned()) out.trailing_bits();
    return out.raw();
}
std::vector<uint8_t> mastering_display(const MasteringDisplay &m) {
    Rbsp out;
    for (const auto &primary : m.primaries)
        for (const uint16_t coordinate : primary) out.u(coordinate, 16);
    for (const uint16_t coordinate : m.white_point) out.u(coordinate, 16);
    out.u(m.max_luminance, 32);
    out.u(m.min_luminance, 32);
    return out.raw();
}

// 7.3.2.3.1
void put_message(uint32_t type, std::span<const uint8_t> payload, Rbsp &out) {
    for (uint32_t value : {type, static_cast<uint32_t>(payload.size())}) {
        for (; value >= 255; value -= 255) out.u(255, 8);
        out.u(value, 8);
    }
    out.bytes(payload);
}

}  // namespace

bool is_high_profile(int profile_idc) {
    return profile_idc == 100 || profile_idc == 110 || profile_idc == 122 || profile_idc == 244 || profile_idc == 44;
}

int64_t hrd_rate(int64_t bit_rate) { return round_for_hrd(bit_rate, kLeastRateScale); }
int64_t hrd_size(int64_t size) { return round_for_hrd(size, kLeastSizeScale); }

// 7.3.2.1.1
std::vector<uint8_t> make_sps(const ParameterSets &s) {
    Rbsp out;
    const CodedFormat &f = s.format;
    out.u(s.profile_idc, 8);
    out.u(s.constraint_sets, 8);
    out.u(s.level_idc, 8);
    out.ue(0);  // seq_parameter_set_id
    if (is_high_profile(s.profile_idc)) {
        out.ue(static_cast<uint32_t>(f.chroma));
        if (f.chroma == ChromaFormat::c444) out.flag(false);  // separate_colour_plane_flag
        out.ue(f.luma_depth - 8);
        out.ue(f.chroma_depth - 8);
        out.flag(false);  // qpprime_y_zero_transform_bypass_flag
        const bool scaling = s.scaling && !s.scaling_in_pps;
        out.flag(scaling);  // seq_scaling_matrix_present_flag
        if (scaling) put_scaling_lists(*s.scaling, out);
    }
    out.ue(static_cast<uint32_t>(s.frame_num_bits - 4));
    out.ue(s.pic_order_cnt_type);
    if (!s.pic_order_cnt_type) out.ue(0);  // log2_max_pic_order_cnt_lsb_minus4
    out.ue(s.max_num_ref_frames);
    out.flag(false);  // gaps_in_frame_num_value_allowed_flag
    const int columns = f.width / f.step();
    out.ue(columns - 1);
    out.ue(f.height - 1);                  // of a frame, or of its fields
    out.flag(!f.field);                    // frame_mbs_only_flag
    if (f.field) out.flag(f.field_pairs);  // mb_adaptive_frame_field_flag
    out.flag(true);                        // direct_8x8_inference_flag
    const uint32_t unit_x = f.chroma == ChromaFormat::c420 || f.chroma == ChromaFormat::c422 ? 2 : 1;
    const uint32_t unit_y = f.chroma == ChromaFormat::c420 ? 2 : 1;
    const uint32_t right = static_cast<uint32_t>(16 * columns - s.width) / unit_x;
    const uint32_t bottom = static_cast<uint32_t>(16 * f.height - s.height / f.step()) / unit_y;
    out.flag(right || bottom);  // frame_cropping_flag
    if (right || bottom)
        for (const uint32_t offset : {0u, right, 0u, bottom}) out.ue(offset);
    out.flag(true);  // vui_parameters_present_flag
    put_vui(s.vui, is_high_profile(s.profile_idc) && s.constraint_sets & 0x10, s.max_num_ref_frames, out);
    out.trailing_bits();
    return out.nal(kNalSps, 3);
}

// 7.3.2.2
std::vector<uint8_t> make_pps(const ParameterSets &s) {
    Rbsp out;
    out.ue(0);        // pic_parameter_set_id
    out.ue(0);        // seq_parameter_set_id
    out.flag(false);  // entropy_coding_mode_flag: CAVLC
    out.flag(false);  // bottom_field_pic_order_in_frame_present_flag
    out.ue(0);        // num_slice_groups_minus1
    out.ue(0);        // num_ref_idx_l0_default_active_minus1
    out.ue(0);        // num_ref_idx_l1_default_active_minus1
    out.flag(s.weighted_pred);
    out.u(0, 2);  // weighted_bipred_idc
    out.se(s.pic_init_qp - 26 - 6 * (s.format.luma_depth - 8));
    out.se(0);  // pic_init_qs_minus26
    out.se(s.chroma_qp_index_offset);
    out.flag(true);   // deblocking_filter_control_present_flag
    out.flag(false);  // constrained_intra_pred_flag
    out.flag(false);  // redundant_pic_cnt_present_flag
    if (is_high_profile(s.profile_idc)) {
        out.flag(s.format.transform_8x8_mode);
        const bool scaling = s.scaling && s.scaling_in_pps;
        out.flag(scaling);  // pic_scaling_matrix_present_flag
        if (scaling) put_scaling_lists(*s.scaling, out);
        out.se(s.second_chroma_qp_index_offset);
    }
    out.trailing_bits();
    return out.nal(kNalPps, 3);
}

// 7.3.3.2. Without weights both flags are 0, and the denominators say nothing.
void put_weights(const PictureWeights &w, bool has_chroma, Rbsp &out) {
    for (int i = 0; i < (has_chroma ? 2 : 1); i++) out.ue(static_cast<uint32_t>(w.log2_denominator));
    out.flag(w.any());
    if (w.any()) out.se(w.weight), out.se(w.offset);
    if (!has_chroma) return;
    out.flag(w.any());
    for (int i = 0; i < (w.any() ? 2 : 0); i++) out.se(w.weight), out.se(w.chroma_offset());
}

// 7.3.3
SliceHeaderBits make_slice_header(const SliceHeader &s) {
    Rbsp out;
    out.ue(s.first_macroblock);
    out.ue(5 + static_cast<uint32_t>(s.slice_type));  // as all of the picture's
    out.ue(0);                                        // pic_parameter_set_id
    out.u(s.frame_num, s.frame_num_bits);
    if (s.field == FieldParity::both) {
        out.flag(false);  // field_pic_flag
    } else if (s.field != FieldParity::none) {
        out.flag(true);
        out.flag(s.field == FieldParity::bottom);
    }
    if (s.is_idr()) out.ue(s.idr_pic_id);
    if (s.pic_order_cnt_lsb) out.u(*s.pic_order_cnt_lsb, 4);
    if (s.slice_type == SliceType::p) {
        out.flag(false);               // num_ref_idx_active_override_flag
        out.flag(s.abs_diff_pic_num);  // ref_pic_list_modification_flag_l0
        if (s.abs_diff_pic_num)
            for (const uint32_t value : {0u, s.abs_diff_pic_num - 1, 3u}) out.ue(value);  // subtracted; the end
        if (s.weights) put_weights(*s.weights, s.has_chroma, out);
    }
    if (s.nal_ref_idc && s.is_idr()) {
        out.flag(false);  // no_output_of_prior_pics_flag
        out.flag(false);  // long_term_reference_flag
    } else if (s.nal_ref_idc) {
        out.flag(false);  // adaptive_ref_pic_marking_mode_flag
    }
    out.se(s.qp_delta);
    out.ue(s.disable_deblocking_filter_idc);
    if (s.disable_deblocking_filter_idc != 1) {
        out.se(s.alpha_c0_offset_div2);
        out.se(s.beta_offset_div2);
    }
    return out.slice_header(nal_header(s.nal_unit_type, s.nal_ref_idc));
}

std::vector<uint8_t> make_sei(const Sei &sei) {
    Rbsp out;
    if (sei.buffering_period) put_message(0, buffering_period(*sei.buffering_period), out);
    if (sei.removal_delay || sei.timecode || sei.tells_field()) put_message(1, picture_timing(sei), out);
    if (!sei.captions.empty()) put_message(4, closed_captions(sei.captions), out);
    for (const std::span<const uint8_t> data : sei.unregistered) put_message(5, data, out);
    if (sei.recovery_frame_cnt) put_message(6, recovery_point(*sei.recovery_frame_cnt), out);
    if (sei.mastering_display) put_message(137, mastering_display(*sei.mastering_display), out);
    if (sei.content_light) {
        Rbsp payload;
        payload.u(sei.content_light->max_content, 16);
        payload.u(sei.content_light->max_average, 16);
        put_message(144, payload.raw(), out);
    }
    out.trailing_bits();
    return out.nal(kNalSei);
}

std::vector<uint8_t> make_aud(SliceType type) {
    Rbsp out;
    out.u(type == SliceType::i ? 0 : 1, 3);  // primary_pic_type
    out.trailing_bits();
    return out.nal(kNalAud);
}

std::vector<uint8_t> make_filler(size_t bytes) {
    if (bytes < kLeastFillerBytes) throw Error(CUDAENC_ERR_INTERNAL, format_string("filler data of %zu bytes", bytes));
    std::vector<uint8_t> nal(bytes, 0xFF);
    NalWriter(nal.data()).begin(nal_header(kNalFiller, 0));
    nal.back() = 0x80;
    return nal;
}

}  // namespace cudaenc::h264
