// SPDX-License-Identifier: LGPL-2.1-or-later
// What the examples share: pictures of a byte stream that h264_cavlc_cuda made, parsed, changed and written again.
#pragma once
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../common/h264/syntax/slice_cpu.h"
#include "../../fate_tests/check/h264_parser.h"

namespace cudaenc::examples {

using namespace testing;

inline std::vector<uint8_t> read_file(const char *name) {
    std::ifstream in(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// A picture's slices, read, changed and written.
class PictureRewriter {
  public:
    void begin(const ParsedSps &sps, const ParsedPps &pps) {
        const int chroma = has_chroma_format(sps.profile_idc) ? sps.chroma_format_idc : 1;
        format_ = {static_cast<h264::ChromaFormat>(chroma),
                   pps.transform_8x8_mode,
                   sps.luma_depth,
                   sps.chroma_depth,
                   sps.width,
                   sps.height};
        picture_.emplace(format_.chroma, sps.luma_depth, sps.chroma_depth, pps.transform_8x8_mode, sps.width,
                         sps.height);
        slices_.clear();
        headers_.clear();
    }
    void add_slice(BitReader &in, const ParsedSliceHeader &h) {
        const size_t before = picture_->macroblock_bits.size();
        picture_->parse_slice(in, h.first_macroblock);
        slices_.push_back({h.first_macroblock, static_cast<uint32_t>(picture_->macroblock_bits.size() - before)});
        headers_.push_back(
            h264::make_slice_header({h.first_macroblock, static_cast<int>(h.idr_pic_id), h.qp_delta,
                                     h.disable_deblocking_filter_idc, h.alpha_c0_offset_div2, h.beta_offset_div2}));
    }
    bool complete() const { return picture_ && picture_->macroblock_bits.size() == picture_->macroblocks.size(); }
    // change(format, picture) may change macroblocks and levels; it returns sign_flips of CodedPicture, or nothing.
    template <class Change>
    std::vector<uint8_t> end(const Change &change) {
        const std::vector<uint16_t> flips = change(format_, *picture_);
        h264::SliceCoder coder(format_, slices_);
        const auto bytes = coder.code(
            pool_, {picture_->macroblocks.data(), picture_->levels.data(), flips.empty() ? nullptr : flips.data()},
            headers_.data());
        picture_.reset();
        return {bytes.begin(), bytes.end()};
    }

  private:
    ThreadPool pool_{1};
    h264::CodedFormat format_{};
    std::optional<ParsedPicture> picture_;
    std::vector<h264::Slice> slices_;
    std::vector<h264::SliceHeaderBits> headers_;
};

// The stream with all its pictures changed.
template <class Change>
std::vector<uint8_t> rewrite_stream(const std::vector<uint8_t> &bytes, const Change &change) {
    std::vector<uint8_t> out;
    PictureRewriter picture;
    ParsedSps sps{};
    ParsedPps pps{};
    // NAL units begin with start codes of 4 bytes, which nothing in them looks like.
    const std::vector<Nal> nals = split_stream(bytes);
    size_t begin = 0;
    for (const Nal &nal : nals) {
        size_t end = begin + 4;
        while (end < bytes.size() && (end + 4 > bytes.size() || std::memcmp(&bytes[end], "\0\0\0\1", 4))) end++;
        if (nal.type == 7) sps = parse_sps(nal);
        if (nal.type == 8) pps = parse_pps(nal);
        if (nal.type == 1) throw std::runtime_error("it has P pictures, and only intra pictures are known here");
        if (nal.type == 5) {
            BitReader reader(nal.rbsp);
            const ParsedSliceHeader header = parse_slice_header(reader);
            if (header.first_macroblock == 0) picture.begin(sps, pps);
            picture.add_slice(reader, header);
            if (picture.complete()) {
                const std::vector<uint8_t> slices = picture.end(change);
                out.insert(out.end(), slices.begin(), slices.end());
            }
        } else {
            out.insert(out.end(), bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                       bytes.begin() + static_cast<std::ptrdiff_t>(end));
        }
        begin = end;
    }
    return out;
}

}  // namespace cudaenc::examples
