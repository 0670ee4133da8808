// SPDX-License-Identifier: LGPL-2.1-or-later
// A parser of H.264 for tests, after 7.3 and clause 9, independent of what the encoder writes them with: codes
// are strings of bits in trees, neighbours are looked up in planes of the whole picture.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../common/h264/syntax/macroblock.h"
#include "h264_inter.h"

namespace cudaenc::testing {

// Table 9-5: a row for each number of trailing ones, beginning with that total_coeff. nC 0, 2, 4, 8, -1, -2.
inline const std::vector<std::vector<const char *>> coeff_token_words[6] = {
    {
        {"1", "000101", "00000111", "000000111", "0000000111", "00000000111", "0000000001111", "0000000001011",
         "0000000001000", "00000000001111", "00000000001011", "000000000001111", "000000000001011", "0000000000001111",
         "0000000000001011", "0000000000000111", "0000000000000100"},
        {"01", "000100", "00000110", "000000110", "0000000110", "00000000110", "0000000001110", "0000000001010",
         "00000000001110", "00000000001010", "000000000001110", "000000000001010", "000000000000001",
         "0000000000001110", "0000000000001010", "0000000000000110"},
        {"001", "0000101", "00000101", "000000101", "0000000101", "00000000101", "0000000001101", "0000000001001",
         "00000000001101", "00000000001001", "000000000001101", "000000000001001", "0000000000001101",
         "0000000000001001", "0000000000000101"},
        {"00011", "000011", "0000100", "00000100", "000000100", "0000000100", "00000000100", "0000000001100",
         "00000000001100", "00000000001000", "000000000001100", "000000000001000", "0000000000001100",
         "0000000000001000"},
    },
    {
        {"11", "001011", "000111", "0000111", "00000111", "00000100", "000000111", "00000001111", "00000001011",
         "000000001111", "000000001011", "000000001000", "0000000001111", "0000000001011", "0000000000111",
         "00000000001001", "00000000000111"},
        {"10", "00111", "001010", "000110", "0000110", "00000110", "000000110", "00000001110", "00000001010",
         "000000001110", "000000001010", "0000000001110", "0000000001010", "00000000001011", "00000000001000",
         "00000000000110"},
        {"011", "001001", "000101", "0000101", "00000101", "000000101", "00000001101", "00000001001", "000000001101",
         "000000001001", "0000000001101", "0000000001001", "0000000000110", "00000000001010", "00000000000101"},
        {"0101", "0100", "00110", "001000", "000100", "0000100", "000000100", "00000001100", "00000001000",
         "000000001100", "0000000001100", "0000000001000", "0000000000001", "00000000000100"},
    },
    {
        {"1111", "001111", "001011", "001000", "0001111", "0001011", "0001001", "0001000", "00001111", "00001011",
         "000001111", "000001011", "000001000", "0000001101", "0000001001", "0000000101", "0000000001"},
        {"1110", "01111", "01100", "01010", "01000", "001110", "001010", "0001110", "00001110", "00001010", "000001110",
         "000001010", "000000111", "0000001100", "0000001000", "0000000100"},
        {"1101", "01110", "01011", "01001", "001101", "001001", "0001101", "0001010", "00001101", "00001001",
         "000001101", "000001001", "0000001011", "0000000111", "0000000011"},
        {"1100", "1011", "1010", "1001", "1000", "01101", "001100", "0001100", "00001100", "00001000", "000001100",
         "0000001010", "0000000110", "0000000010"},
    },
    {
        {"000011", "000000", "000100", "001000", "001100", "010000", "010100", "011000", "011100", "100000", "100100",
         "101000", "101100", "110000", "110100", "111000", "111100"},
        {"000001", "000101", "001001", "001101", "010001", "010101", "011001", "011101", "100001", "100101", "101001",
         "101101", "110001", "110101", "111001", "111101"},
        {"000110", "001010", "001110", "010010", "010110", "011010", "011110", "100010", "100110", "101010", "101110",
         "110010", "110110", "111010", "111110"},
        {"001011", "001111", "010011", "010111", "011011", "011111", "100011", "100111", "101011", "101111", "110011",
         "110111", "111011", "111111"},
    },
    {
        {"01", "000111", "000100", "000011", "000010"},
        {"1", "000110", "0000011", "00000011"},
        {"001", "0000010", "00000010"},
        {"000101", "0000000"},
    },
    {
        {"1", "0001111", "0001110", "000000111", "000000110", "0000000111", "00000000111", "000000000111",
         "0000000000111"},
        {"01", "0001101", "0001100", "000000101", "0000000110", "00000000110", "000000000110", "000000000101"},
        {"001", "0001011", "0001010", "000000100", "0000000101", "00000000101", "000000000100"},
        {"00001", "000001", "0001001", "0001000", "0000000100", "00000000100"},
    },
};
// Tables 9-7 and 9-8, 9-9 (a), 9-9 (b): a row for each total_zeros, total_coeff from 1 on.
inline const std::vector<std::vector<const char *>> total_zeros_words[3] = {
    {
        {"1", "111", "0101", "00011", "0101", "000001", "000001", "000001", "000001", "00001", "0000", "0000", "000",
         "00", "0"},
        {"011", "110", "111", "111", "0100", "00001", "00001", "0001", "000000", "00000", "0001", "0001", "001", "01",
         "1"},
        {"010", "101", "110", "0101", "0011", "111", "101", "00001", "0001", "001", "001", "01", "1", "1"},
        {"0011", "100", "101", "0100", "111", "110", "100", "011", "11", "11", "010", "1", "01"},
        {"0010", "011", "0100", "110", "110", "101", "011", "11", "10", "10", "1", "001"},
        {"00011", "0101", "0011", "101", "101", "100", "11", "10", "001", "01", "011"},
        {"00010", "0100", "100", "100", "100", "011", "010", "010", "01", "0001"},
        {"000011", "0011", "011", "0011", "011", "010", "0001", "001", "00001"},
        {"000010", "0010", "0010", "011", "0010", "0001", "001", "000000"},
        {"0000011", "00011", "00011", "0010", "00001", "001", "000000"},
        {"0000010", "00010", "00010", "00010", "0001", "000000"},
        {"00000011", "000011", "000001", "00001", "00000"},
        {"00000010", "000010", "00001", "00000"},
        {"000000011", "000001", "000000"},
        {"000000010", "000000"},
        {"000000001"},
    },
    {
        {"1", "1", "1"},
        {"01", "01", "0"},
        {"001", "00"},
        {"000"},
    },
    {
        {"1", "000", "000", "110", "00", "00", "0"},
        {"010", "01", "001", "00", "01", "01", "1"},
        {"011", "001", "01", "01", "10", "1"},
        {"0010", "100", "10", "10", "11"},
        {"0011", "101", "110", "111"},
        {"0001", "110", "111"},
        {"00001", "111"},
        {"00000"},
    },
};
// Table 9-10: a row for each run_before, the columns as long as they have it; zerosLeft 1 to 7.
inline const std::vector<std::vector<const char *>> run_before_words = {
    {"1", "1", "11", "11", "11", "11", "111"},
    {"0", "01", "10", "10", "10", "000", "110"},
    {"00", "01", "01", "011", "001", "101"},
    {"00", "001", "010", "011", "100"},
    {"000", "001", "010", "011"},
    {"000", "101", "010"},
    {"100", "001"},
    {"0001"},
    {"00001"},
    {"000001"},
    {"0000001"},
    {"00000001"},
    {"000000001"},
    {"0000000001"},
    {"00000000001"},
};

inline void require(bool condition, const char *what) {
    if (!condition) throw std::runtime_error(what);
}

// Bits of an RBSP, the highest of a byte first.
class BitReader {
  public:
    explicit BitReader(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}
    uint32_t u1() {
        require(at_ < 8 * bytes_.size(), "bits end");
        const uint32_t bit = bytes_[at_ / 8] >> (7 - at_ % 8) & 1;
        at_++;
        return bit;
    }
    uint32_t u(int n) {
        uint32_t value = 0;
        while (n-- > 0) value = value << 1 | u1();
        return value;
    }
    uint32_t ue() {
        int zeros = 0;
        while (!u1()) zeros++;
        return (1u << zeros) - 1 + u(zeros);
    }
    int se() {
        const uint32_t k = ue();
        return k & 1 ? static_cast<int>((k + 1) / 2) : -static_cast<int>(k / 2);
    }
    size_t position() const { return at_; }
    bool aligned() const { return at_ % 8 == 0; }
    // More than rbsp_trailing_bits() is left (7.2).
    bool more_rbsp_data() const {
        size_t last = 8 * bytes_.size();
        while (last > at_ && !(bytes_[(last - 1) / 8] >> (7 - (last - 1) % 8) & 1)) last--;
        return last > at_ + 1;
    }
    void trailing_bits() {
        require(u1() == 1, "rbsp_stop_one_bit");
        while (!aligned()) require(u1() == 0, "rbsp_alignment_zero_bit");
        require(at_ == 8 * bytes_.size(), "bytes after the RBSP");
    }

  private:
    std::vector<uint8_t> bytes_;
    size_t at_ = 0;
};

class CodeTree {
  public:
    void add(const std::string &word, int value) {
        size_t node = 0;
        for (const char c : word) {
            require(nodes_[node].value < 0, "a code word begins another one");
            size_t next = nodes_[node].next[c - '0'];
            if (!next) {
                next = nodes_.size();
                nodes_[node].next[c - '0'] = next;
                nodes_.emplace_back();
            }
            node = next;
        }
        require(nodes_[node].value < 0 && !nodes_[node].next[0] && !nodes_[node].next[1], "two code words are alike");
        nodes_[node].value = value;
    }
    int read(BitReader &in) const {
        size_t node = 0;
        while (nodes_[node].value < 0) require((node = nodes_[node].next[in.u1()]) != 0, "no such code word");
        return nodes_[node].value;
    }

  private:
    struct Node {
        size_t next[2] = {0, 0};
        int value = -1;
    };
    std::vector<Node> nodes_{1};
};

struct CavlcCodes {
    CodeTree tokens[6];     // 16 * trailing ones + total_coeff
    CodeTree zeros[3][16];  // of total_coeff
    CodeTree runs[8];       // of zerosLeft, at most 7
    CavlcCodes() {
        for (int t = 0; t < 6; t++)
            for (int ones = 0; ones < 4; ones++)
                for (size_t i = 0; i < coeff_token_words[t][ones].size(); i++)
                    tokens[t].add(coeff_token_words[t][ones][i], 32 * ones + ones + static_cast<int>(i));
        for (int t = 0; t < 3; t++)
            for (size_t z = 0; z < total_zeros_words[t].size(); z++)
                for (size_t i = 0; i < total_zeros_words[t][z].size(); i++)
                    zeros[t][i + 1].add(total_zeros_words[t][z][i], static_cast<int>(z));
        for (size_t run = 0; run < run_before_words.size(); run++)
            for (size_t i = 0, n = run_before_words[run].size(); i < n; i++)
                runs[8 - n + i].add(run_before_words[run][i], static_cast<int>(run));
    }
};

// 9.2: fills level[0 .. most), returns total_coeff. highest_prefix: the largest level_prefix of what was read.
inline int parse_block(BitReader &in, int nc, int most, int *level, int *highest_prefix = nullptr) {
    static const CavlcCodes codes;
    for (int i = 0; i < most; i++) level[i] = 0;
    const int token = codes.tokens[nc == -2 ? 5 : nc == -1 ? 4 : nc < 2 ? 0 : nc < 4 ? 1 : nc < 8 ? 2 : 3].read(in);
    const int total = token % 32, ones = token / 32;
    require(total <= most, "total_coeff");
    if (!total) return 0;
    std::vector<int> values;
    int suffix_length = total > 10 && ones < 3 ? 1 : 0;
    for (int i = 0; i < total; i++) {
        if (i < ones) {
            values.push_back(in.u1() ? -1 : 1);
            continue;
        }
        int prefix = 0;
        while (!in.u1()) prefix++;
        require(prefix <= 25, "level_prefix");
        if (highest_prefix && prefix > *highest_prefix) *highest_prefix = prefix;
        int code = (prefix < 15 ? prefix : 15) << suffix_length;
        const int size = prefix == 14 && !suffix_length ? 4 : prefix >= 15 ? prefix - 3 : suffix_length;
        if (suffix_length > 0 || prefix >= 14) code += static_cast<int>(in.u(size));
        if (prefix >= 15 && !suffix_length) code += 15;
        if (prefix >= 16) code += (1 << (prefix - 3)) - 4096;
        if (i == ones && ones < 3) code += 2;
        const int value = code % 2 ? (-code - 1) >> 1 : (code + 2) >> 1;
        values.push_back(value);
        if (suffix_length == 0) suffix_length = 1;
        if (std::abs(value) > 3 << (suffix_length - 1) && suffix_length < 6) suffix_length++;
    }
    int zeros_left = 0;
    if (total < most) zeros_left = codes.zeros[most == 4 ? 1 : most == 8 ? 2 : 0][total].read(in);
    int at = zeros_left + total - 1;
    require(at < most, "total_zeros");
    for (int i = 0; i < total; i++) {
        level[at--] = values[static_cast<size_t>(i)];
        if (zeros_left > 0 && i + 1 < total) {
            const int run = codes.runs[zeros_left > 6 ? 7 : zeros_left].read(in);
            require(run <= zeros_left, "run_before");
            zeros_left -= run;
            at -= run;
        }
    }
    return total;
}

// The places of a zig-zag scan of size x size levels, in raster order.
inline std::vector<int> zigzag_scan(int size) {
    std::vector<int> places;
    for (int diagonal = 0; diagonal < 2 * size - 1; diagonal++)
        for (int i = 0; i <= diagonal; i++) {
            const int x = diagonal % 2 ? diagonal - i : i, y = diagonal - x;
            if (x < size && y < size) places.push_back(y * size + x);
        }
    return places;
}

// Those of a field scan (figure 8-8 b, table 8-12), written as columns and rows.
inline std::vector<int> field_scan(int size) {
    static const char *const of_4x4[2] = {"0010011122223333", "0102312301230123"};
    static const char *const of_8x8[2] = {"0001100121000123211123432222345433334565444456655556776666777777",
                                          "0120134203567410256731024567310245673102456731245673014567234567"};
    const char *const *const scan = size == 4 ? of_4x4 : of_8x8;
    std::vector<int> places;
    for (int k = 0; k < size * size; k++) places.push_back((scan[1][k] - '0') * size + scan[0][k] - '0');
    return places;
}

// ---- NAL units

struct Nal {
    int ref_idc, type;
    std::vector<uint8_t> rbsp;
};

// A byte stream of 4-byte start codes. Emulation prevention bytes have to be where 7.4.1 asks for them, and only there.
// zeros_follow: NAL units may have trailing_zero_8bits (B.1).
inline std::vector<Nal> split_stream(const std::vector<uint8_t> &bytes, bool zeros_follow = false) {
    std::vector<Nal> nals;
    size_t at = 0;
    while (at < bytes.size()) {
        require(at + 4 < bytes.size() && !bytes[at] && !bytes[at + 1] && !bytes[at + 2] && bytes[at + 3] == 1,
                "a start code");
        at += 4;
        require((bytes[at] & 0x80) == 0, "forbidden_zero_bit");
        Nal nal{bytes[at] >> 5, bytes[at] & 31, {}};
        at++;
        int zeros = 0;
        for (; at < bytes.size(); at++) {
            if (zeros >= 2) {
                if (bytes[at] <= 1) break;  // a start code
                require(bytes[at] != 2, "00 00 02");
                if (bytes[at] == 3) {
                    require(at + 1 < bytes.size() && bytes[at + 1] <= 3,
                            "emulation_prevention_three_byte without need");
                    zeros = 0;
                    continue;
                }
            }
            zeros = bytes[at] ? 0 : zeros + 1;
            nal.rbsp.push_back(bytes[at]);
        }
        if (at < bytes.size()) {
            at -= 2;  // the zeros are the next start code's
            require(nal.rbsp.size() >= 2, "an empty NAL unit");
            nal.rbsp.resize(nal.rbsp.size() - 2);
        }
        while (zeros_follow && at < bytes.size() && !bytes[at] && !(at + 3 < bytes.size() && bytes[at + 3] == 1)) at++;
        require(!nal.rbsp.empty() && nal.rbsp.back(), "the last byte of a NAL unit is 0");
        nals.push_back(std::move(nal));
    }
    return nals;
}

// ---- Parameter sets and slice headers

// Scaling lists of Intra in raster order (7.3.2.1.1.1): of Y, Cb, Cr, and of 8x8 luma; flat where there are none.
struct ParsedScaling {
    std::vector<int> of_4x4[3]{std::vector<int>(16, 16), std::vector<int>(16, 16), std::vector<int>(16, 16)};
    std::vector<int> luma_8x8 = std::vector<int>(64, 16);
};
// Table 7-2, fall-back rule set A, for what is not there. chroma_format_idc below 3.
inline ParsedScaling parse_scaling_lists(BitReader &in, bool transform_8x8) {
    ParsedScaling lists;
    lists.of_4x4[0] = {6, 13, 20, 28, 13, 20, 28, 32, 20, 28, 32, 37, 28, 32, 37, 42};
    for (int i = 0; i < (transform_8x8 ? 8 : 6); i++) {
        if (!in.u1()) {
            require(i != 6, "an 8x8 list");
            if (i == 1 || i == 2) lists.of_4x4[i] = lists.of_4x4[i - 1];
            continue;
        }
        const int size = i < 6 ? 4 : 8;
        const std::vector<int> scan = zigzag_scan(size);
        std::vector<int> list(scan.size());
        int last = 8, next = 8;
        for (const int place : scan) {
            if (next) next = (last + in.se() + 256) % 256;
            require(next || place, "useDefaultScalingMatrixFlag");
            last = list[static_cast<size_t>(place)] = next ? next : last;
        }
        if (i < 3) lists.of_4x4[i] = list;
        if (i == 6) lists.luma_8x8 = list;
    }
    return lists;
}

struct ParsedSps {
    int profile_idc, constraint_sets, level_idc, chroma_format_idc = 1, luma_depth = 8, chroma_depth = 8;
    int width, height;    // macroblocks; the height is that of a field where there are fields
    bool fields = false;  // frame_mbs_only_flag is 0
    int crop_right = 0, crop_bottom = 0;
    int sar_idc = -1, sar_width = 0, sar_height = 0, full_range = -1, colours[3] = {2, 2, 2}, chroma_location = -1;
    uint32_t num_units_in_tick = 0, time_scale = 0;
    int fixed_frame_rate = -1, pic_struct_present = 0, max_dec_frame_buffering = -1;
    uint64_t hrd_bit_rate = 0, hrd_size = 0;
    int hrd_cbr = 0;
    uint32_t hrd_lengths[3] = {};  // of initial_cpb_removal_delay, cpb_removal_delay, dpb_output_delay
    int frame_num_bits = 4, pic_order_cnt_type = 2, order_bits = 4, reference_frames = 0;
    bool has_scaling = false;
    ParsedScaling scaling;
};
inline bool has_chroma_format(int profile) {
    return profile == 100 || profile == 110 || profile == 122 || profile == 244 || profile == 44;
}
inline ParsedSps parse_sps(const Nal &nal) {
    require(nal.type == 7 && nal.ref_idc, "an SPS");
    BitReader in(nal.rbsp);
    ParsedSps s;
    s.profile_idc = static_cast<int>(in.u(8));
    s.constraint_sets = static_cast<int>(in.u(8));
    s.level_idc = static_cast<int>(in.u(8));
    require(in.ue() == 0, "seq_parameter_set_id");
    if (has_chroma_format(s.profile_idc)) {
        s.chroma_format_idc = static_cast<int>(in.ue());
        if (s.chroma_format_idc == 3) require(!in.u1(), "separate_colour_plane_flag");
        s.luma_depth = 8 + static_cast<int>(in.ue());
        s.chroma_depth = 8 + static_cast<int>(in.ue());
        require(!in.u1(), "qpprime_y_zero_transform_bypass_flag");
        s.has_scaling = in.u1();
        if (s.has_scaling) s.scaling = parse_scaling_lists(in, true);
    }
    s.frame_num_bits = 4 + static_cast<int>(in.ue());
    s.pic_order_cnt_type = static_cast<int>(in.ue());
    require(s.pic_order_cnt_type == 2 || s.pic_order_cnt_type == 0, "pic_order_cnt_type");
    if (s.pic_order_cnt_type == 0) s.order_bits = 4 + static_cast<int>(in.ue());
    s.reference_frames = static_cast<int>(in.ue());
    require(s.reference_frames <= 2 && !in.u1(), "references");
    s.width = 1 + static_cast<int>(in.ue());
    s.height = 1 + static_cast<int>(in.ue());
    s.fields = !in.u1();
    if (s.fields) require(!in.u1(), "mb_adaptive_frame_field_flag");
    require(in.u1(), "direct_8x8_inference_flag");
    if (in.u1()) {
        require(in.ue() == 0, "crop left");
        s.crop_right = static_cast<int>(in.ue());
        require(in.ue() == 0, "crop top");
        s.crop_bottom = static_cast<int>(in.ue());
    }
    if (in.u1()) {
        if (in.u1()) {
            s.sar_idc = static_cast<int>(in.u(8));
            if (s.sar_idc == 255) {
                s.sar_width = static_cast<int>(in.u(16));
                s.sar_height = static_cast<int>(in.u(16));
            }
        }
        require(!in.u1(), "overscan_info_present_flag");
        if (in.u1()) {
            require(in.u(3) == 5, "video_format");
            s.full_range = static_cast<int>(in.u1());
            if (in.u1())
                for (int &colour : s.colours) colour = static_cast<int>(in.u(8));
        }
        if (in.u1()) {
            s.chroma_location = static_cast<int>(in.ue());
            require(static_cast<int>(in.ue()) == s.chroma_location, "locations of both fields");
        }
        if (in.u1()) {
            s.num_units_in_tick = in.u(32);
            s.time_scale = in.u(32);
            s.fixed_frame_rate = static_cast<int>(in.u1());
        }
        if (in.u1()) {
            require(in.ue() == 0, "cpb_cnt_minus1");
            const uint32_t rate_scale = in.u(4), size_scale = in.u(4);
            s.hrd_bit_rate = (uint64_t{in.ue()} + 1) << (6 + rate_scale);
            s.hrd_size = (uint64_t{in.ue()} + 1) << (4 + size_scale);
            s.hrd_cbr = static_cast<int>(in.u1());
            for (uint32_t &length : s.hrd_lengths) length = 1 + in.u(5);
            require(in.u(5) == 24, "time_offset_length");
        }
        require(!in.u1(), "VCL HRD");
        if (s.hrd_bit_rate) require(!in.u1(), "low_delay_hrd_flag");
        s.pic_struct_present = static_cast<int>(in.u1());
        if (in.u1()) {
            in.u1();
            for (int i = 0; i < 5; i++) in.ue();
            s.max_dec_frame_buffering = static_cast<int>(in.ue());
        }
    }
    in.trailing_bits();
    return s;
}

struct ParsedPps {
    int pic_init_qp, chroma_qp_index_offset, second_chroma_qp_index_offset;  // pic_init_qp: without QpBdOffset
    bool constrained_intra = false, transform_8x8_mode = false;
    bool has_scaling = false;
    ParsedScaling scaling;
    bool weighted_pred = false;
};
inline ParsedPps parse_pps(const Nal &nal) {
    require(nal.type == 8 && nal.ref_idc, "a PPS");
    BitReader in(nal.rbsp);
    ParsedPps p;
    require(in.ue() == 0 && in.ue() == 0 && !in.u1() && !in.u1() && in.ue() == 0, "identifiers, CAVLC, slice groups");
    require(in.ue() == 0 && in.ue() == 0, "references");
    p.weighted_pred = in.u1();
    require(in.u(2) == 0, "weighted_bipred_idc");
    p.pic_init_qp = 26 + in.se();
    require(in.se() == 0, "pic_init_qs_minus26");
    p.chroma_qp_index_offset = p.second_chroma_qp_index_offset = in.se();
    require(in.u1(), "deblocking_filter_control_present_flag");
    p.constrained_intra = in.u1();
    require(!in.u1(), "redundant_pic_cnt_present_flag");
    if (in.more_rbsp_data()) {
        p.transform_8x8_mode = in.u1();
        p.has_scaling = in.u1();
        if (p.has_scaling) p.scaling = parse_scaling_lists(in, p.transform_8x8_mode);
        p.second_chroma_qp_index_offset = in.se();
    }
    in.trailing_bits();
    return p;
}

struct ParsedSliceHeader {
    uint32_t first_macroblock, idr_pic_id = 0, frame_num, pic_order_cnt_lsb = 0;
    uint32_t abs_diff_pic_num = 0;  // of ref_pic_list_modification(), which names one; 0: list 0 is the initial one
    bool is_p, is_field = false, is_bottom = false;
    int qp_delta, disable_deblocking_filter_idc, alpha_c0_offset_div2 = 0, beta_offset_div2 = 0;
    decoder::ExplicitWeight weights[3] = {};
};
// What the header depends on.
struct SliceSyntax {
    int nal_type = 5, ref_idc = 3, frame_num_bits = 4, pic_order_cnt_type = 2, order_bits = 4;
    bool fields = false, weighted_pred = false, monochrome = false;
};
inline SliceSyntax syntax_of(const Nal &nal, const ParsedSps &s, const ParsedPps &p = {}) {
    return {nal.type,     nal.ref_idc, s.frame_num_bits, s.pic_order_cnt_type,
            s.order_bits, s.fields,    p.weighted_pred,  has_chroma_format(s.profile_idc) && s.chroma_format_idc == 0};
}
// 7.3.3.2, of one reference picture.
inline void parse_weights(BitReader &in, bool monochrome, decoder::ExplicitWeight (&to)[3]) {
    const int components = monochrome ? 1 : 3;
    for (int c = 0; c < components; c++) {
        if (c < 2) to[c].denominator = static_cast<int>(in.ue());
        if (c == 2) to[c].denominator = to[1].denominator;
        require(to[c].denominator <= 7, "luma_log2_weight_denom, chroma_log2_weight_denom");
        to[c].weight = 1 << to[c].denominator;
    }
    bool has = false;
    for (int c = 0; c < components; c++) {
        if (c < 2) has = in.u1();
        if (!has) continue;
        to[c].weight = in.se(), to[c].offset = in.se();
        require(std::abs(to[c].weight) <= 128 && std::abs(to[c].offset) <= 128, "a weight, an offset");
    }
}
inline ParsedSliceHeader parse_slice_header(BitReader &in, const SliceSyntax &syntax = {}) {
    const bool idr = syntax.nal_type == 5;
    ParsedSliceHeader h;
    h.first_macroblock = in.ue();
    const uint32_t type = in.ue();
    h.is_p = type % 5 == 0;
    require((h.is_p && !idr) || type == 7 || (!idr && type == 2), "slice_type");
    require(in.ue() == 0, "pic_parameter_set_id");
    h.frame_num = in.u(syntax.frame_num_bits);
    require(!idr || !h.frame_num, "frame_num");
    if (syntax.fields) {
        h.is_field = in.u1();
        require(h.is_field, "a frame among fields");
        h.is_bottom = in.u1();
    }
    if (idr) h.idr_pic_id = in.ue();
    if (syntax.pic_order_cnt_type == 0) {
        h.pic_order_cnt_lsb = in.u(syntax.order_bits);
        require(!idr || !h.pic_order_cnt_lsb, "pic_order_cnt_lsb");
    }
    if (h.is_p) {
        if (in.u1()) require(in.ue() == 0, "num_ref_idx_l0_active_minus1");
        if (in.u1()) {
            require(h.is_field && in.ue() == 0, "modification_of_pic_nums_idc");
            h.abs_diff_pic_num = 1 + in.ue();
            require(in.ue() == 3, "a second modification");
        }
        if (syntax.weighted_pred) parse_weights(in, syntax.monochrome, h.weights);
    }
    if (idr)
        require(!in.u1() && !in.u1(), "dec_ref_pic_marking");
    else if (syntax.ref_idc)
        require(!in.u1(), "adaptive_ref_pic_marking_mode_flag");
    h.qp_delta = in.se();
    h.disable_deblocking_filter_idc = static_cast<int>(in.ue());
    require(h.disable_deblocking_filter_idc <= 2, "disable_deblocking_filter_idc");
    if (h.disable_deblocking_filter_idc != 1) {
        h.alpha_c0_offset_div2 = in.se();
        h.beta_offset_div2 = in.se();
    }
    return h;
}

// ---- Slice data

// A picture's macroblocks, as macroblock.h has them: what the syntax does not have is 0.
struct ParsedPicture {
    ParsedPicture(h264::ChromaFormat chroma_format, int luma, int chroma, bool transform_8x8, int w, int h)
        : format(chroma_format),
          luma_depth(luma),
          chroma_depth(chroma),
          transform_8x8_mode(transform_8x8),
          width(w),
          height(h),
          macroblocks(static_cast<size_t>(w * h)),
          inter(static_cast<size_t>(w * h)),
          levels(static_cast<size_t>(w * h * h264::blocks_per_macroblock(chroma_format) * 16)),
          slice_of(static_cast<size_t>(w * h), -1) {
        for (auto &plane : totals) plane.assign(static_cast<size_t>(16 * w * h), 0);
    }
    h264::ChromaFormat format;
    int luma_depth, chroma_depth;
    bool transform_8x8_mode;
    int width, height;
    std::vector<h264::Macroblock> macroblocks;
    std::vector<decoder::InterMacroblock> inter;  // of those that are, `macroblocks` has the pattern and qp_delta alone
    std::vector<int16_t> levels;
    std::vector<int> slice_of;
    std::vector<int> totals[3];  // total_coeff of the 4x4 blocks of each component, in rows of 4 * width
    std::vector<size_t> macroblock_bits;
    int slices = 0, highest_prefix = 0;

    // Of a field picture: its scans.
    void set_field() { scan_4x4_ = field_scan(4), scan_8x8_ = field_scan(8); }

    // slice_data(), until the RBSP ends.
    void parse_slice(BitReader &in, uint32_t first, bool is_p = false) {
        size_t address = first;
        const auto begin = [&] {
            require(address < macroblocks.size() && slice_of[address] < 0, "a macroblock's address");
            slice_of[address] = slices;
            macroblocks[address].slice = static_cast<uint16_t>(slices);
            macroblocks[address].first_in_slice = address == first;
        };
        do {
            const size_t began = in.position();
            for (uint32_t run = is_p ? in.ue() : 0; run > 0; run--, address++) {
                begin();
                inter[address].inter = inter[address].skip = true;
                macroblock_bits.push_back(0);
            }
            if (is_p && !in.more_rbsp_data()) break;
            begin();
            parse_macroblock(in, static_cast<int>(address), macroblocks[address], is_p);
            macroblock_bits.push_back(in.position() - began);
            address++;
        } while (in.more_rbsp_data());
        in.trailing_bits();
        slices++;
    }

  private:
    std::vector<int> scan_4x4_ = zigzag_scan(4), scan_8x8_ = zigzag_scan(8);

    bool subsampled() const { return format == h264::ChromaFormat::c420 || format == h264::ChromaFormat::c422; }

    // Table 9-4: coded_block_pattern of intra types, and of inter types.
    int parse_pattern(BitReader &in, bool inter_type) const {
        static constexpr int patterns[2][48] = {
            {47, 31, 15, 0,  23, 27, 29, 30, 7, 11, 13, 14, 39, 43, 45, 46, 16, 3,  5,  10, 12, 19, 21, 26,
             28, 35, 37, 42, 44, 1,  2,  4,  8, 17, 18, 20, 24, 6,  9,  22, 25, 32, 33, 34, 36, 40, 38, 41},
            {0,  16, 1,  2,  4,  8,  32, 3,  5,  10, 12, 15, 47, 7,  11, 13, 14, 6,  9,  31, 35, 37, 42, 44,
             33, 34, 36, 40, 39, 43, 45, 46, 17, 18, 20, 24, 19, 21, 26, 28, 23, 27, 29, 30, 22, 25, 38, 41}};
        static constexpr int luma_patterns[2][16] = {{15, 0, 7, 11, 13, 14, 3, 5, 10, 12, 1, 2, 4, 8, 6, 9},
                                                     {0, 1, 2, 4, 8, 3, 5, 10, 12, 15, 7, 11, 13, 14, 6, 9}};
        const uint32_t code = in.ue();
        require(code < (subsampled() ? 48 : 16), "coded_block_pattern");
        return subsampled() ? patterns[inter_type][code] : luma_patterns[inter_type][code];
    }

    void parse_pcm(BitReader &in, int address) {
        while (!in.aligned()) require(!in.u1(), "pcm_alignment_zero_bit");
        const int count = 256 + (format == h264::ChromaFormat::c420   ? 128
                                 : format == h264::ChromaFormat::c422 ? 256
                                 : format == h264::ChromaFormat::c444 ? 512
                                                                      : 0);
        for (int i = 0; i < count; i++)
            levels_of(address, 0)[i] = static_cast<int16_t>(in.u(i < 256 ? luma_depth : chroma_depth));
        for (int c = 0; c < 3; c++)
            for (int y = 0; y < 4; y++)
                for (int x = 0; x < 4; x++) total(c, address, x, y) = 16;
    }

    // mb_pred() and sub_mb_pred() of P types. With one reference picture there is no ref_idx_l0.
    void parse_motion(BitReader &in, decoder::InterMacroblock &m) {
        const bool eights = m.mb_type == 3;
        for (int part = 0; part < 4 && eights; part++) {
            m.sub_mb_type[part] = static_cast<int>(in.ue());
            require(m.sub_mb_type[part] <= 3, "sub_mb_type");
        }
        for (int part = 0; part < (m.mb_type == 0 ? 1 : eights ? 4 : 2); part++) {
            const int type = m.sub_mb_type[part];
            for (int i = 0; i < (!eights || type == 0 ? 1 : type == 3 ? 4 : 2); i++)
                for (int &component : m.mvd[4 * part + i]) component = in.se();
        }
    }

    void parse_macroblock(BitReader &in, int address, h264::Macroblock &m, bool is_p) {
        using h264::MacroblockType;
        int type = static_cast<int>(in.ue());
        decoder::InterMacroblock &motion = inter[static_cast<size_t>(address)];
        if (is_p && type < 5) {
            motion.inter = true;
            motion.mb_type = type == 4 ? 3 : type;
            parse_motion(in, motion);
            const int pattern = parse_pattern(in, true);
            m.coded_block_pattern = static_cast<uint8_t>(pattern);
            const bool small =
                motion.mb_type == 3 && std::any_of(std::begin(motion.sub_mb_type), std::end(motion.sub_mb_type),
                                                   [](int sub_type) { return sub_type != 0; });
            motion.transform_8x8 = (pattern & 15) && transform_8x8_mode && !small && in.u1();
            if (pattern) parse_residual(in, address, m, motion.transform_8x8, false);
            return;
        }
        if (is_p) type -= 5;
        require(type <= 25, "mb_type");
        if (type == 25) {
            m.type = MacroblockType::pcm;
            return parse_pcm(in, address);
        }
        if (type == 0) {
            m.type = transform_8x8_mode && in.u1() ? MacroblockType::i8x8 : MacroblockType::i4x4;
            for (int i = 0; i < (m.type == MacroblockType::i8x8 ? 4 : 16); i++)
                m.pred_mode[i] = in.u1() ? h264::kPredictedMode : static_cast<uint8_t>(in.u(3));
        } else {
            m.type = MacroblockType::i16x16;
            m.intra_16x16_pred_mode = static_cast<uint8_t>((type - 1) % 4);
        }
        if (subsampled()) m.intra_chroma_pred_mode = static_cast<uint8_t>(in.ue());
        const int pattern = type == 0 ? parse_pattern(in, false) : (type - 1) / 4 % 3 * 16 + (type >= 13 ? 15 : 0);
        m.coded_block_pattern = static_cast<uint8_t>(pattern);
        if (pattern || type) parse_residual(in, address, m, m.type == MacroblockType::i8x8, type != 0);
    }

    // mb_qp_delta and residual().
    void parse_residual(BitReader &in, int address, h264::Macroblock &m, bool transform_8x8, bool is_16x16) {
        m.qp_delta = static_cast<int8_t>(in.se());
        for (int c = 0; c < (format == h264::ChromaFormat::c444 ? 3 : 1); c++)
            parse_luma(in, address, c, m.coded_block_pattern, transform_8x8, is_16x16);
        if (subsampled()) parse_chroma(in, address, m.coded_block_pattern >> 4);
    }

    void parse_luma(BitReader &in, int address, int c, int pattern, bool transform_8x8, bool is_16x16) {
        int level[16];
        if (is_16x16) {
            parse_block(in, predict(c, address, 0, 0, 4), 16, level, &highest_prefix);
            for (size_t k = 0; k < 16; k++)
                levels_of(address, 17 * c + 16)[scan_4x4_[k]] = static_cast<int16_t>(level[k]);
        }
        for (int i8 = 0; i8 < 4; i8++)
            for (int i4 = 0; i4 < 4; i4++) {
                if (!(pattern >> i8 & 1)) continue;
                const int x = i8 % 2 * 2 + i4 % 2, y = i8 / 2 * 2 + i4 / 2, block = 17 * c + 4 * i8 + i4;
                const bool ac = is_16x16;
                total(c, address, x, y) =
                    parse_block(in, predict(c, address, x, y, 4), ac ? 15 : 16, level, &highest_prefix);
                if (transform_8x8)
                    for (size_t k = 0; k < 16; k++)
                        levels_of(address, block - i4)[scan_8x8_[4 * k + static_cast<size_t>(i4)]] =
                            static_cast<int16_t>(level[k]);
                else
                    for (size_t k = 0; k < (ac ? 15 : 16); k++)
                        levels_of(address, block)[scan_4x4_[k + ac]] = static_cast<int16_t>(level[k]);
            }
    }

    void parse_chroma(BitReader &in, int address, int pattern) {
        static constexpr int places[2][8] = {{0, 1, 2, 3}, {0, 2, 1, 4, 6, 3, 5, 7}};
        const bool tall = format == h264::ChromaFormat::c422;
        const int rows = tall ? 4 : 2;
        int level[16];
        for (int c = 0; c < 2 && pattern; c++) {
            parse_block(in, tall ? -2 : -1, 2 * rows, level, &highest_prefix);
            for (int k = 0; k < 2 * rows; k++)
                levels_of(address, 17)[8 * c + places[tall][k]] = static_cast<int16_t>(level[k]);
        }
        for (int c = 0; c < 2 && pattern == 2; c++)
            for (int i = 0; i < 2 * rows; i++) {
                total(c + 1, address, i % 2, i / 2) =
                    parse_block(in, predict(c + 1, address, i % 2, i / 2, rows), 15, level, &highest_prefix);
                for (size_t k = 0; k < 15; k++)
                    levels_of(address, 18 + 2 * rows * c + i)[scan_4x4_[k + 1]] = static_cast<int16_t>(level[k]);
            }
    }

    int16_t *levels_of(int address, int block) {
        return &levels[static_cast<size_t>((address * h264::blocks_per_macroblock(format) + block) * 16)];
    }
    int &total(int c, int address, int x, int y) {
        return totals[c][static_cast<size_t>((address / width * 4 + y) * 4 * width + address % width * 4 + x)];
    }
    // nC of the block in column x and row y; sub-sampled components have 2 columns and so many rows.
    int predict(int c, int address, int x, int y, int rows) {
        const int columns = c && subsampled() ? 2 : 4;
        const auto there = [&](int neighbour, bool inside) {
            return inside && slice_of[static_cast<size_t>(neighbour)] == slices;
        };
        int left = -1, above = -1;
        if (x > 0)
            left = total(c, address, x - 1, y);
        else if (there(address - 1, address % width > 0))
            left = total(c, address - 1, columns - 1, y);
        if (y > 0)
            above = total(c, address, x, y - 1);
        else if (there(address - width, address >= width))
            above = total(c, address - width, x, rows - 1);
        if (left >= 0 && above >= 0) return (left + above + 1) / 2;
        return left >= 0 ? left : above >= 0 ? above : 0;
    }
};

}  // namespace cudaenc::testing
