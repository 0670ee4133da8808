// A parser of H.264 slices for tests, after 7.3 and clause 9, independent of what the encoder writes them with: codes
// are strings of bits in trees, neighbours are looked up in planes of the whole picture. SPDX-License-Identifier:
// LGPL-2.1-or-later
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../common/h264/macroblock.h"

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

}  // namespace cudaenc::testing
