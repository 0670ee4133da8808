// Tables of CAVLC and of the macroblock layer (H.264, clause 9). SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../hd.h"

namespace cudaenc::h264 {

// ---- Scans (6.4.3, 8.5.6, 8.5.7, 8.5.11.1): the place of the coefficient that is coded k-th.

inline constexpr uint8_t kZigzag4x4[16] = {0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15};
inline constexpr uint8_t kZigzag8x8[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                           12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                           35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                           58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
inline constexpr uint8_t kChromaDcScan420[4] = {0, 1, 2, 3};
inline constexpr uint8_t kChromaDcScan422[8] = {0, 2, 1, 4, 6, 3, 5, 7};

// ---- Codes. A code word is its length above 8 bits of value; 0: there is none.

using CodeWord = uint16_t;
CUDAENC_HD constexpr uint32_t code_length(CodeWord word) { return word >> 8; }
CUDAENC_HD constexpr uint32_t code_bits(CodeWord word) { return word & 255; }

// Columns of table 9-5.
enum CoeffTokenTable { kTokens0, kTokens2, kTokens4, kTokens8, kTokensDc420, kTokensDc422, kTokenTables };
// Tables of total_zeros: 9-7 and 9-8, 9-9 (a), 9-9 (b).
enum TotalZerosTable { kZeros4x4, kZerosDc420, kZerosDc422, kZerosTables };

struct CavlcTables {
    CodeWord coeff_token[kTokenTables][17 * 4];   // [4 * total_coeff + trailing ones]
    CodeWord total_zeros[kZerosTables][15 * 16];  // [16 * (total_coeff - 1) + total_zeros]
    CodeWord run_before[7 * 16];                  // [16 * (min(zerosLeft, 7) - 1) + run_before]
    uint32_t zigzag_8x8[16];                      // byte i of word k: kZigzag8x8[4 * k + i]
};

namespace detail {

// Lengths and values, for 0 to 3 trailing ones, of each total_coeff.
struct TokenColumn {
    uint8_t length[17][4], bits[17][4];
};
inline constexpr TokenColumn kTokenColumns[kTokenTables] = {
    {{{1},
      {6, 2},
      {8, 6, 3},
      {9, 8, 7, 5},
      {10, 9, 8, 6},
      {11, 10, 9, 7},
      {13, 11, 10, 8},
      {13, 13, 11, 9},
      {13, 13, 13, 10},
      {14, 14, 13, 11},
      {14, 14, 14, 13},
      {15, 15, 14, 14},
      {15, 15, 15, 14},
      {16, 15, 15, 15},
      {16, 16, 16, 15},
      {16, 16, 16, 16},
      {16, 16, 16, 16}},
     {{1},
      {5, 1},
      {7, 4, 1},
      {7, 6, 5, 3},
      {7, 6, 5, 3},
      {7, 6, 5, 4},
      {15, 6, 5, 4},
      {11, 14, 5, 4},
      {8, 10, 13, 4},
      {15, 14, 9, 4},
      {11, 10, 13, 12},
      {15, 14, 9, 12},
      {11, 10, 13, 8},
      {15, 1, 9, 12},
      {11, 14, 13, 8},
      {7, 10, 9, 12},
      {4, 6, 5, 8}}},
    {{{2},
      {6, 2},
      {6, 5, 3},
      {7, 6, 6, 4},
      {8, 6, 6, 4},
      {8, 7, 7, 5},
      {9, 8, 8, 6},
      {11, 9, 9, 6},
      {11, 11, 11, 7},
      {12, 11, 11, 9},
      {12, 12, 12, 11},
      {12, 12, 12, 11},
      {13, 13, 13, 12},
      {13, 13, 13, 13},
      {13, 14, 13, 13},
      {14, 14, 14, 13},
      {14, 14, 14, 14}},
     {{3},
      {11, 2},
      {7, 7, 3},
      {7, 10, 9, 5},
      {7, 6, 5, 4},
      {4, 6, 5, 6},
      {7, 6, 5, 8},
      {15, 6, 5, 4},
      {11, 14, 13, 4},
      {15, 10, 9, 4},
      {11, 14, 13, 12},
      {8, 10, 9, 8},
      {15, 14, 13, 12},
      {11, 10, 9, 12},
      {7, 11, 6, 8},
      {9, 8, 10, 1},
      {7, 6, 5, 4}}},
    {{{4},
      {6, 4},
      {6, 5, 4},
      {6, 5, 5, 4},
      {7, 5, 5, 4},
      {7, 5, 5, 4},
      {7, 6, 6, 4},
      {7, 6, 6, 4},
      {8, 7, 7, 5},
      {8, 8, 7, 6},
      {9, 8, 8, 7},
      {9, 9, 8, 8},
      {9, 9, 9, 8},
      {10, 9, 9, 9},
      {10, 10, 10, 10},
      {10, 10, 10, 10},
      {10, 10, 10, 10}},
     {{15},
      {15, 14},
      {11, 15, 13},
      {8, 12, 14, 12},
      {15, 10, 11, 11},
      {11, 8, 9, 10},
      {9, 14, 13, 9},
      {8, 10, 9, 8},
      {15, 14, 13, 13},
      {11, 14, 10, 12},
      {15, 10, 13, 12},
      {11, 14, 9, 12},
      {8, 10, 13, 8},
      {13, 7, 9, 12},
      {9, 12, 11, 10},
      {5, 8, 7, 6},
      {1, 4, 3, 2}}},
    {},  // 6 bits each, see make_cavlc_tables()
    {{{2}, {6, 1}, {6, 6, 3}, {6, 7, 7, 6}, {6, 8, 8, 7}}, {{1}, {7, 1}, {4, 6, 1}, {3, 3, 2, 5}, {2, 3, 2, 0}}},
    {{{1},
      {7, 2},
      {7, 7, 3},
      {9, 7, 7, 5},
      {9, 9, 7, 6},
      {10, 10, 9, 7},
      {11, 11, 10, 7},
      {12, 12, 11, 10},
      {13, 12, 12, 11}},
     {{1},
      {15, 1},
      {14, 13, 1},
      {7, 12, 11, 1},
      {6, 5, 10, 1},
      {7, 6, 4, 9},
      {7, 6, 5, 8},
      {7, 6, 5, 4},
      {7, 5, 4, 4}}},
};

// Lengths and values for 0, 1, ... zeros.
struct ZerosRow {
    uint8_t length[16], bits[16];
};
inline constexpr ZerosRow kTotalZeros4x4[15] = {
    {{1, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 9}, {1, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 1}},
    {{3, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 6, 6, 6, 6}, {7, 6, 5, 4, 3, 5, 4, 3, 2, 3, 2, 3, 2, 1, 0}},
    {{4, 3, 3, 3, 4, 4, 3, 3, 4, 5, 5, 6, 5, 6}, {5, 7, 6, 5, 4, 3, 4, 3, 2, 3, 2, 1, 1, 0}},
    {{5, 3, 4, 4, 3, 3, 3, 4, 3, 4, 5, 5, 5}, {3, 7, 5, 4, 6, 5, 4, 3, 3, 2, 2, 1, 0}},
    {{4, 4, 4, 3, 3, 3, 3, 3, 4, 5, 4, 5}, {5, 4, 3, 7, 6, 5, 4, 3, 2, 1, 1, 0}},
    {{6, 5, 3, 3, 3, 3, 3, 3, 4, 3, 6}, {1, 1, 7, 6, 5, 4, 3, 2, 1, 1, 0}},
    {{6, 5, 3, 3, 3, 2, 3, 4, 3, 6}, {1, 1, 5, 4, 3, 3, 2, 1, 1, 0}},
    {{6, 4, 5, 3, 2, 2, 3, 3, 6}, {1, 1, 1, 3, 3, 2, 2, 1, 0}},
    {{6, 6, 4, 2, 2, 3, 2, 5}, {1, 0, 1, 3, 2, 1, 1, 1}},
    {{5, 5, 3, 2, 2, 2, 4}, {1, 0, 1, 3, 2, 1, 1}},
    {{4, 4, 3, 3, 1, 3}, {0, 1, 1, 2, 1, 3}},
    {{4, 4, 2, 1, 3}, {0, 1, 1, 1, 1}},
    {{3, 3, 1, 2}, {0, 1, 1, 1}},
    {{2, 2, 1}, {0, 1, 1}},
    {{1, 1}, {0, 1}},
};
inline constexpr ZerosRow kTotalZerosDc420[3] = {
    {{1, 2, 3, 3}, {1, 1, 1, 0}},
    {{1, 2, 2}, {1, 1, 0}},
    {{1, 1}, {1, 0}},
};
inline constexpr ZerosRow kTotalZerosDc422[7] = {
    {{1, 3, 3, 4, 4, 4, 5, 5}, {1, 2, 3, 2, 3, 1, 1, 0}},
    {{3, 2, 3, 3, 3, 3, 3}, {0, 1, 1, 4, 5, 6, 7}},
    {{3, 3, 2, 2, 3, 3}, {0, 1, 1, 2, 6, 7}},
    {{3, 2, 2, 2, 3}, {6, 0, 1, 2, 7}},
    {{2, 2, 2, 2}, {0, 1, 2, 3}},
    {{2, 2, 1}, {0, 1, 1}},
    {{1, 1}, {0, 1}},
};
inline constexpr ZerosRow kRunBefore[7] = {
    {{1, 1}, {1, 0}},
    {{1, 2, 2}, {1, 1, 0}},
    {{2, 2, 2, 2}, {3, 2, 1, 0}},
    {{2, 2, 2, 3, 3}, {3, 2, 1, 1, 0}},
    {{2, 2, 3, 3, 3, 3}, {3, 2, 3, 2, 1, 0}},
    {{2, 3, 3, 3, 3, 3, 3}, {3, 0, 1, 3, 2, 5, 4}},
    {{3, 3, 3, 3, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {7, 6, 5, 4, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
};

constexpr CodeWord code_word(uint32_t length, uint32_t bits) { return static_cast<CodeWord>(length << 8 | bits); }
constexpr void put_rows(CodeWord *words, const ZerosRow *rows, int count) {
    for (int i = 0; i < 16 * count; i++) words[i] = code_word(rows[i / 16].length[i % 16], rows[i / 16].bits[i % 16]);
}

}  // namespace detail

// Tables 9-5, 9-7 to 9-10.
constexpr CavlcTables make_cavlc_tables() {
    CavlcTables t{};
    for (int table = 0; table < kTokenTables; table++)
        for (int i = 0; i < 17 * 4; i++)
            t.coeff_token[table][i] = detail::code_word(detail::kTokenColumns[table].length[i / 4][i % 4],
                                                        detail::kTokenColumns[table].bits[i / 4][i % 4]);
    // 8 <= nC: total_coeff - 1, then the trailing ones; 000011 for none.
    t.coeff_token[kTokens8][0] = detail::code_word(6, 3);
    for (uint32_t total = 1; total <= 16; total++)
        for (uint32_t ones = 0; ones <= min_of(total, 3u); ones++)
            t.coeff_token[kTokens8][4 * total + ones] = detail::code_word(6, (total - 1) << 2 | ones);
    detail::put_rows(t.total_zeros[kZeros4x4], detail::kTotalZeros4x4, 15);
    detail::put_rows(t.total_zeros[kZerosDc420], detail::kTotalZerosDc420, 3);
    detail::put_rows(t.total_zeros[kZerosDc422], detail::kTotalZerosDc422, 7);
    detail::put_rows(t.run_before, detail::kRunBefore, 7);
    for (int i = 0; i < 64; i++) t.zigzag_8x8[i / 4] |= uint32_t{kZigzag8x8[i]} << 8 * (i % 4);
    return t;
}
inline constexpr CavlcTables kCavlcTables = make_cavlc_tables();

// Table 9-4, Intra: codeNum of coded_block_pattern, for ChromaArrayType 1 and 2, and for 0 and 3.
CUDAENC_TABLE uint8_t kCodedBlockPatternCodes[48] = {
    3,  29, 30, 17, 31, 18, 37, 8,  32, 38, 19, 9,  20, 10, 11, 2,   // chroma 0
    16, 33, 34, 21, 35, 22, 39, 4,  36, 40, 23, 5,  24, 6,  7,  1,   // 1
    41, 42, 43, 25, 44, 26, 46, 12, 45, 47, 27, 13, 28, 14, 15, 0};  // 2
CUDAENC_TABLE uint8_t kCodedBlockPatternCodesLuma[16] = {1, 10, 11, 6, 12, 7, 14, 2, 13, 15, 8, 3, 9, 4, 5, 0};

}  // namespace cudaenc::h264
