// SPDX-License-Identifier: LGPL-2.1-or-later
// Tables of CAVLC and of the macroblock layer (H.264, clause 9).
#pragma once
#include <cstdint>

#include "../../hd.h"

namespace cudaenc::h264 {

// ---- Scans (6.4.3, 8.5.6, 8.5.7, 8.5.11.1): the place of coefficient k of the scan.

inline constexpr uint8_t kZigzag4x4[16] = {0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15};
inline constexpr uint8_t kZigzag8x8[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                           12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                           35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                           58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
// Field scans (figure 8-8 b, table 8-12), of field pictures.
inline constexpr uint8_t kField4x4[16] = {0, 4, 1, 8, 12, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
inline constexpr uint8_t kField8x8[64] = {0,  8,  16, 1,  9,  24, 32, 17, 2,  25, 40, 48, 56, 33, 10, 3,
                                          18, 41, 49, 57, 26, 11, 4,  19, 34, 42, 50, 58, 27, 12, 5,  20,
                                          35, 43, 51, 59, 28, 13, 6,  21, 36, 44, 52, 60, 29, 14, 22, 37,
                                          45, 53, 61, 30, 7,  15, 38, 46, 54, 62, 23, 31, 39, 47, 55, 63};
constexpr const uint8_t (&scan_4x4_of(bool field))[16] { return field ? kField4x4 : kZigzag4x4; }
constexpr const uint8_t (&scan_8x8_of(bool field))[64] { return field ? kField8x8 : kZigzag8x8; }
inline constexpr uint8_t kChromaDcScan420[4] = {0, 1, 2, 3};
inline constexpr uint8_t kChromaDcScan422[8] = {0, 2, 1, 4, 6, 3, 5, 7};

// ---- Codes. A code word has its length above 8 bits of value; 0: no code.

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
};

namespace detail {

// Lengths and values of coeff_token, [trailing ones][total_coeff].
struct TokenColumn {
    uint8_t length[4][17], bits[4][17];
};
inline constexpr TokenColumn kTokenColumns[kTokenTables] = {
    {{{1, 6, 8, 9, 10, 11, 13, 13, 13, 14, 14, 15, 15, 16, 16, 16, 16},
      {0, 2, 6, 8, 9, 10, 11, 13, 13, 14, 14, 15, 15, 15, 16, 16, 16},
      {0, 0, 3, 7, 8, 9, 10, 11, 13, 13, 14, 14, 15, 15, 16, 16, 16},
      {0, 0, 0, 5, 6, 7, 8, 9, 10, 11, 13, 14, 14, 15, 15, 16, 16}},
     {{1, 5, 7, 7, 7, 7, 15, 11, 8, 15, 11, 15, 11, 15, 11, 7, 4},
      {0, 1, 4, 6, 6, 6, 6, 14, 10, 14, 10, 14, 10, 1, 14, 10, 6},
      {0, 0, 1, 5, 5, 5, 5, 5, 13, 9, 13, 9, 13, 9, 13, 9, 5},
      {0, 0, 0, 3, 3, 4, 4, 4, 4, 4, 12, 12, 8, 12, 8, 12, 8}}},
    {{{2, 6, 6, 7, 8, 8, 9, 11, 11, 12, 12, 12, 13, 13, 13, 14, 14},
      {0, 2, 5, 6, 6, 7, 8, 9, 11, 11, 12, 12, 13, 13, 14, 14, 14},
      {0, 0, 3, 6, 6, 7, 8, 9, 11, 11, 12, 12, 13, 13, 13, 14, 14},
      {0, 0, 0, 4, 4, 5, 6, 6, 7, 9, 11, 11, 12, 13, 13, 13, 14}},
     {{3, 11, 7, 7, 7, 4, 7, 15, 11, 15, 11, 8, 15, 11, 7, 9, 7},
      {0, 2, 7, 10, 6, 6, 6, 6, 14, 10, 14, 10, 14, 10, 11, 8, 6},
      {0, 0, 3, 9, 5, 5, 5, 5, 13, 9, 13, 9, 13, 9, 6, 10, 5},
      {0, 0, 0, 5, 4, 6, 8, 4, 4, 4, 12, 8, 12, 12, 8, 1, 4}}},
    {{{4, 6, 6, 6, 7, 7, 7, 7, 8, 8, 9, 9, 9, 10, 10, 10, 10},
      {0, 4, 5, 5, 5, 5, 6, 6, 7, 8, 8, 9, 9, 9, 10, 10, 10},
      {0, 0, 4, 5, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 10},
      {0, 0, 0, 4, 4, 4, 4, 4, 5, 6, 7, 8, 8, 9, 10, 10, 10}},
     {{15, 15, 11, 8, 15, 11, 9, 8, 15, 11, 15, 11, 8, 13, 9, 5, 1},
      {0, 14, 15, 12, 10, 8, 14, 10, 14, 14, 10, 14, 10, 7, 12, 8, 4},
      {0, 0, 13, 14, 11, 9, 13, 9, 13, 10, 13, 9, 13, 9, 11, 7, 3},
      {0, 0, 0, 12, 11, 10, 9, 8, 13, 12, 12, 12, 8, 12, 10, 6, 2}}},
    {},  // 8 <= nC: 6 bits each, see make_cavlc_tables()
    {{{2, 6, 6, 6, 6}, {0, 1, 6, 7, 8}, {0, 0, 3, 7, 8}, {0, 0, 0, 6, 7}},
     {{1, 7, 4, 3, 2}, {0, 1, 6, 3, 3}, {0, 0, 1, 2, 2}, {0, 0, 0, 5}}},
    {{{1, 7, 7, 9, 9, 10, 11, 12, 13},
      {0, 2, 7, 7, 9, 10, 11, 12, 12},
      {0, 0, 3, 7, 7, 9, 10, 11, 12},
      {0, 0, 0, 5, 6, 7, 7, 10, 11}},
     {{1, 15, 14, 7, 6, 7, 7, 7, 7},
      {0, 1, 13, 12, 5, 6, 6, 6, 5},
      {0, 0, 1, 11, 10, 4, 5, 5, 4},
      {0, 0, 0, 1, 1, 9, 8, 4, 4}}},
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
            t.coeff_token[table][i] = detail::code_word(detail::kTokenColumns[table].length[i % 4][i / 4],
                                                        detail::kTokenColumns[table].bits[i % 4][i / 4]);
    // 8 <= nC: total_coeff - 1, then the trailing ones; 000011 for none.
    t.coeff_token[kTokens8][0] = detail::code_word(6, 3);
    for (uint32_t total = 1; total <= 16; total++)
        for (uint32_t ones = 0; ones <= min_of(total, 3u); ones++)
            t.coeff_token[kTokens8][4 * total + ones] = detail::code_word(6, (total - 1) << 2 | ones);
    detail::put_rows(t.total_zeros[kZeros4x4], detail::kTotalZeros4x4, 15);
    detail::put_rows(t.total_zeros[kZerosDc420], detail::kTotalZerosDc420, 3);
    detail::put_rows(t.total_zeros[kZerosDc422], detail::kTotalZerosDc422, 7);
    detail::put_rows(t.run_before, detail::kRunBefore, 7);
    return t;
}
inline constexpr CavlcTables kCavlcTables = make_cavlc_tables();

// Table 9-4, Intra: codeNum of coded_block_pattern, for ChromaArrayType 1 and 2, and for 0 and 3.
CUDAENC_TABLE uint8_t kCodedBlockPatternCodes[48] = {
    3,  29, 30, 17, 31, 18, 37, 8,  32, 38, 19, 9,  20, 10, 11, 2,   // chroma 0
    16, 33, 34, 21, 35, 22, 39, 4,  36, 40, 23, 5,  24, 6,  7,  1,   // 1
    41, 42, 43, 25, 44, 26, 46, 12, 45, 47, 27, 13, 28, 14, 15, 0};  // 2
// The same for Inter.
CUDAENC_TABLE uint8_t kInterCodedBlockPatternCodes[48] = {
    0, 2,  3,  7,  4,  8,  17, 13, 5,  18, 9,  14, 10, 15, 16, 11,   // chroma 0
    1, 32, 33, 36, 34, 37, 44, 40, 35, 45, 38, 41, 39, 42, 43, 19,   // 1
    6, 24, 25, 20, 26, 21, 46, 28, 27, 47, 22, 29, 23, 30, 31, 12};  // 2
CUDAENC_TABLE uint8_t kCodedBlockPatternCodesLuma[16] = {1, 10, 11, 6, 12, 7, 14, 2, 13, 15, 8, 3, 9, 4, 5, 0};
CUDAENC_TABLE uint8_t kInterCodedBlockPatternCodesLuma[16] = {0, 1, 2, 5, 3, 6, 14, 10, 4, 15, 7, 11, 8, 12, 13, 9};

}  // namespace cudaenc::h264
