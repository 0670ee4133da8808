// SPDX-License-Identifier: LGPL-2.1-or-later
// Whole streams of h264_cavlc_cuda, parsed and decoded by the tests' own parser and decoder.
#pragma once
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checksum.h"
#include "h264_decoder.h"
#include "h264_parser.h"

namespace cudaenc::testing {

// A picture of a stream, a frame or a field, which begins with the NAL unit that follows the last slice of the one
// before.
struct StreamPicture {
    ParsedSps sps;
    ParsedPps pps;
    std::vector<int> nal_types;
    std::vector<std::vector<uint8_t>> sei;  // RBSPs
    std::vector<ParsedSliceHeader> slices;
    std::vector<size_t> slice_macroblocks;
    bool is_reference = false;  // nal_ref_idc is not 0
    std::unique_ptr<ParsedPicture> parsed;
    std::unique_ptr<decoder::Picture> decoded;

    bool is_field() const { return slices.at(0).is_field; }
    bool is_bottom() const { return slices.at(0).is_bottom; }
    int qp() const { return pps.pic_init_qp + slices.at(0).qp_delta; }  // QPY
    // Of the cropped picture.
    int width(int c) const { return decoded->width(c) - sps.crop_right * (decoded->luma_like(c) ? crop_unit_x() : 1); }
    int height(int c) const {
        return decoded->height(c) - sps.crop_bottom * (decoded->mb_height(c) == 16 ? crop_unit_y() : 1);
    }

    // Of all macroblocks, 16 hexadecimal digits: what emu/reconstruction.cpp notes. filtered: as other pictures refer
    // to it.
    std::string checksum(bool filtered = false) const {
        Checksum sum;
        for (int c = 0; c < decoded->components(); c++)
            for (int y = 0; y < decoded->height(c); y++)
                for (int x = 0; x < decoded->width(c); x++)
                    sum.add(filtered ? decoded->shown(c, x, y) : decoded->sample(c, x, y));
        char text[17];
        std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum.value));
        return text;
    }

  private:
    int crop_unit_x() const { return sps.chroma_format_idc == 1 || sps.chroma_format_idc == 2 ? 2 : 1; }
    int crop_unit_y() const { return sps.chroma_format_idc == 1 ? 2 : 1; }
};

// What pictures refer to, of a sliding window (8.2.5.3).
class References {
  public:
    // before: of a stream that goes on, a frame.
    explicit References(const StreamPicture *before) {
        if (before) keep(*before);
    }
    void keep(const StreamPicture &p) {
        const ParsedSliceHeader &h = p.slices.at(0);
        if (is_second(p)) {
            frames_[0].fields[h.is_bottom] = &p;
            return;
        }
        if (p.nal_types.back() == 5) frames_.clear();
        if (!frames_.empty() && frames_.size() >= static_cast<size_t>(std::max(1, p.sps.reference_frames)))
            frames_.pop_back();
        frames_.push_front({h.frame_num, {nullptr, nullptr}});
        frames_[0].fields[h.is_bottom] = &p;
        if (!h.is_field) frames_[0].fields[1] = &p;
    }
    // Of a P picture: the first one of list 0, or null.
    const StreamPicture *first_of(const StreamPicture &p) const {
        const ParsedSliceHeader &h = p.slices.at(0);
        const uint32_t max_frame_num = 1u << p.sps.frame_num_bits;
        if (!h.is_field) {
            if (frames_.empty()) return nullptr;
            require(h.frame_num == (frames_[0].frame_num + 1) % max_frame_num, "frame_num follows that before");
            return frames_[0].fields[0];
        }
        require(frames_.empty() || is_second(p) || h.frame_num == (frames_[0].frame_num + 1) % max_frame_num,
                "frame_num of a frame's first field");
        if (!h.abs_diff_pic_num) {  // 8.2.4.2.5
            for (const bool bottom : {h.is_bottom, !h.is_bottom})
                for (const Frame &frame : frames_)
                    if (frame.fields[bottom]) return frame.fields[bottom];
            return nullptr;
        }
        // 8.2.4.1, 8.2.4.3.1
        const int64_t wanted = 2 * int64_t{h.frame_num} + 1 - h.abs_diff_pic_num;
        for (const Frame &frame : frames_) {
            const int64_t wrapped = int64_t{frame.frame_num} - (frame.frame_num > h.frame_num ? max_frame_num : 0);
            for (const bool bottom : {false, true})
                if (2 * wrapped + (bottom == h.is_bottom) == wanted) return frame.fields[bottom];
        }
        return nullptr;
    }

  private:
    struct Frame {
        uint32_t frame_num;
        const StreamPicture *fields[2];  // by is_bottom
    };
    bool is_second(const StreamPicture &p) const {
        const ParsedSliceHeader &h = p.slices.at(0);
        return h.is_field && !frames_.empty() && p.nal_types.back() != 5 && frames_[0].frame_num == h.frame_num &&
               frames_[0].fields[!h.is_bottom] && !frames_[0].fields[h.is_bottom];
    }
    std::deque<Frame> frames_;  // the last one first
};

// Decodes the macroblocks of a parsed picture. before: the one that it refers to, or null.
inline void decode_picture(StreamPicture &p, const StreamPicture *before) {
    require(p.parsed && p.parsed->macroblock_bits.size() == p.parsed->macroblocks.size(), "a whole picture");
    bool is_p = false;
    std::vector<decoder::SliceFilter> filters;
    for (const ParsedSliceHeader &slice : p.slices) {
        require(slice.qp_delta == p.slices[0].qp_delta && slice.idr_pic_id == p.slices[0].idr_pic_id &&
                    slice.frame_num == p.slices[0].frame_num && slice.is_bottom == p.slices[0].is_bottom &&
                    slice.pic_order_cnt_lsb == p.slices[0].pic_order_cnt_lsb &&
                    slice.abs_diff_pic_num == p.slices[0].abs_diff_pic_num,
                "slices of one picture");
        filters.push_back({slice.disable_deblocking_filter_idc, 2 * slice.alpha_c0_offset_div2,
                           2 * slice.beta_offset_div2, slice.is_field});
        is_p = is_p || slice.is_p;
    }
    p.decoded =
        std::make_unique<decoder::Picture>(p.sps.width, p.sps.height, p.parsed->format, p.sps.luma_depth, p.qp());
    const ParsedScaling &scaling = p.pps.has_scaling ? p.pps.scaling : p.sps.scaling;
    for (int c = 0; c < 3; c++) p.decoded->set_scaling(c, scaling.of_4x4[c], scaling.luma_8x8);
    p.decoded->set_chroma_qp_offsets(p.pps.chroma_qp_index_offset, p.pps.second_chroma_qp_index_offset);
    decoder::Prediction prediction;
    if (is_p) {
        require(!p.pps.has_scaling && !p.sps.has_scaling, "scaling lists of inter macroblocks");
        require(before, "a picture to refer to");
        const bool bottom = p.is_bottom(), other_parity = p.is_field() && before->is_bottom() != bottom;
        prediction = {p.parsed->inter.data(), before->decoded.get(), p.pps.constrained_intra,
                      !other_parity ? 0
                      : bottom      ? 2
                                    : -2};
        std::copy_n(p.slices[0].weights, 3, prediction.weights);  // slices of a picture have the same
    }
    p.decoded->decode(p.parsed->macroblocks.data(), p.parsed->levels.data(), prediction);
    p.decoded->filter(filters);
}

// extradata: parameter sets, as a byte stream, for streams without. zeros_follow: see split_stream(). before: the
// reference picture before the first one, where the stream goes on.
inline std::vector<StreamPicture> decode_stream(const std::vector<uint8_t> &bytes,
                                                const std::vector<uint8_t> &extradata = {}, bool zeros_follow = false,
                                                const StreamPicture *before = nullptr) {
    std::vector<StreamPicture> pictures;
    ParsedSps sps = before ? before->sps : ParsedSps{};
    ParsedPps pps = before ? before->pps : ParsedPps{};
    for (const Nal &nal : split_stream(extradata)) {
        if (nal.type == 7) sps = parse_sps(nal);
        if (nal.type == 8) pps = parse_pps(nal);
    }
    bool in_slices = true;
    size_t next_macroblock = 0;
    for (const Nal &nal : split_stream(bytes, zeros_follow)) {
        // A slice of macroblock 0 begins a picture, unless something before has; filler data ends one.
        BitReader in(nal.rbsp);
        ParsedSliceHeader header{};
        const bool is_slice = nal.type == 1 || nal.type == 5;
        if (is_slice) header = parse_slice_header(in, syntax_of(nal, sps, pps));
        if (pictures.empty() ||
            (in_slices && (nal.type != 12 || zeros_follow) && (!is_slice || !header.first_macroblock))) {
            pictures.emplace_back();
            in_slices = false;
            next_macroblock = 0;
        }
        StreamPicture &p = pictures.back();
        p.nal_types.push_back(nal.type);
        if (nal.type == 7) sps = parse_sps(nal);
        if (nal.type == 8) pps = parse_pps(nal);
        if (nal.type == 6) p.sei.push_back(nal.rbsp);
        if (!is_slice) continue;
        in_slices = true;
        if (!p.parsed) {
            p.sps = sps;
            p.pps = pps;
            p.parsed = std::make_unique<ParsedPicture>(
                static_cast<h264::ChromaFormat>(has_chroma_format(sps.profile_idc) ? sps.chroma_format_idc : 1),
                sps.luma_depth, sps.chroma_depth, pps.transform_8x8_mode, sps.width, sps.height);
            if (header.is_field) p.parsed->set_field();
        }
        require(header.first_macroblock == next_macroblock, "first_mb_in_slice");
        p.slices.push_back(header);
        p.is_reference = nal.ref_idc != 0;
        p.parsed->parse_slice(in, header.first_macroblock, header.is_p);
        p.slice_macroblocks.push_back(p.parsed->macroblock_bits.size() - next_macroblock);
        next_macroblock = p.parsed->macroblock_bits.size();
    }
    // Fields are pairs of other parities. The second one is of the frame of the first, and follows it (8.2.1).
    for (size_t i = 0; i < pictures.size(); i++) {
        const ParsedSliceHeader &own = pictures[i].slices.at(0);
        if (!own.is_field || i % 2 == 0) continue;
        const ParsedSliceHeader &first = pictures[i - 1].slices.at(0);
        require(first.is_bottom != own.is_bottom && first.frame_num == own.frame_num &&
                    own.pic_order_cnt_lsb == first.pic_order_cnt_lsb + 1,
                "a second field");
    }
    require(pictures.empty() || !pictures[0].is_field() || pictures.size() % 2 == 0, "a field without another one");
    References references(before);
    for (StreamPicture &p : pictures) {
        decode_picture(p, p.slices.at(0).is_p ? references.first_of(p) : nullptr);
        if (p.is_reference) references.keep(p);
    }
    return pictures;
}

}  // namespace cudaenc::testing
