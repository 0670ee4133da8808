// SPDX-License-Identifier: LGPL-2.1-or-later
// Encryption of a picture between analysis and CAVLC, beside signs: of prediction modes, and of the places of levels,
// whose code words become others of the same length. Decoders decode it; the same again takes it back.
//
// Places: the last run_before of a block, or total_zeros of a level that stands alone, has a code word whose last bit
// turns, where that is a code word too. So the block's lowest level goes elsewhere, after "codeword indexes" (Mian et
// al., 2007). Modes: rem_intra4x4_pred_mode and its like turn where all neighbours are there, so that every mode is
// allowed; Intra_16x16 and chroma have pairs of modes whose code words are as long.
#pragma once
#include <cstdint>

#include "macroblock_layer.h"

namespace cudaenc::h264 {

enum ScrambledParts : uint32_t { kScramblePlaces = 1, kScrambleModes = 2 };

// The words of a keystream that the modes of a macroblock take.
constexpr int kModeWords = 4;

struct ScrambleTables {
    uint8_t zigzag_4x4[16], zigzag_8x8[64], dc_420[4], dc_422[8];  // see tables.h
    // The run_before, and the total_zeros of one level, whose code word has another last bit; or the own.
    uint8_t run[7][16];               // [min(zerosLeft, 7) - 1][run_before]
    uint8_t zeros[kZerosTables][16];  // [total_zeros]
};
constexpr ScrambleTables make_scramble_tables() {
    ScrambleTables t{};
    for (int k = 0; k < 16; k++) t.zigzag_4x4[k] = kZigzag4x4[k];
    for (int k = 0; k < 64; k++) t.zigzag_8x8[k] = kZigzag8x8[k];
    for (int k = 0; k < 4; k++) t.dc_420[k] = kChromaDcScan420[k];
    for (int k = 0; k < 8; k++) t.dc_422[k] = kChromaDcScan422[k];
    const auto partner = [](const CodeWord *words, int own) {
        for (int i = 0; i < 16; i++)
            if (words[i] && words[own] && words[i] == (words[own] ^ 1)) return static_cast<uint8_t>(i);
        return static_cast<uint8_t>(own);
    };
    for (int row = 0; row < 7; row++)
        for (int i = 0; i < 16; i++) t.run[row][i] = partner(kCavlcTables.run_before + 16 * row, i);
    for (int table = 0; table < kZerosTables; table++)
        for (int i = 0; i < 16; i++) t.zeros[table][i] = partner(kCavlcTables.total_zeros[table], i);
    return t;
}
CUDAENC_TABLE ScrambleTables kScrambleTables = make_scramble_tables();

// Where the lowest level of a scan goes.
struct LevelMove {
    int from, to;
};
// nonzero: see code_block(). flips: a word of the keystream; the bits below the second lowest level, which stays, or
// all of a level that stands alone, decide together. Its own sign has but one of them.
CUDAENC_HD LevelMove move_of(uint32_t nonzero, int size, TotalZerosTable zeros, uint32_t flips) {
    const int total = count_ones(nonzero);
    if (!total || total == size) return {0, 0};
    const int from = floor_log2(nonzero & (0 - nonzero));
    if (total == 1) {
        const bool turns = count_ones(flips & ((1u << size) - 1)) & 1;
        return {from, turns ? kScrambleTables.zeros[zeros][from] : from};
    }
    const uint32_t rest = nonzero & (nonzero - 1);
    const int second = floor_log2(rest & (0 - rest)), zeros_left = second - 1;
    if (!zeros_left || !(count_ones(flips & ((1u << second) - 1)) & 1)) return {from, from};
    const int run = second - from - 1;
    return {from, second - 1 - kScrambleTables.run[min_of(zeros_left, 7) - 1][run]};
}

// Modes of a macroblock whose neighbours to the left, above and between these are in its slice. words: kModeWords.
CUDAENC_HD void scramble_modes(Macroblock &m, const uint16_t *words) {
    const uint64_t bits = words[0] | static_cast<uint64_t>(words[1]) << 16 | static_cast<uint64_t>(words[2]) << 32;
    const uint32_t last = words[3];
    if (m.type == MacroblockType::i16x16) {
        m.intra_16x16_pred_mode ^= last & 1;
    } else {
        for (int k = 0; k < (m.type == MacroblockType::i8x8 ? 4 : 16); k++)
            if (m.pred_mode[k] != kPredictedMode)
                m.pred_mode[k] = static_cast<uint8_t>(m.pred_mode[k] ^ (bits >> 3 * k & 7));
    }
    if ((last & 2) && (m.intra_chroma_pred_mode == 1 || m.intra_chroma_pred_mode == 2)) m.intra_chroma_pred_mode ^= 3;
}

// Levels of a macroblock. flips: a word of the keystream for each block. moved(block, bit, move) learns of each move:
// `bit` is that of level 0 of the scan in the block's word.
template <class Moved>
CUDAENC_HD void scramble_places(ChromaFormat f, const Macroblock &m, int16_t *levels, const uint16_t *flips,
                                const Moved &moved) {
    const auto scramble = [&](int block, int16_t *at, const uint8_t *places, int step, int size, TotalZerosTable zeros,
                              int bit) {
        uint32_t nonzero = 0;
        for (int k = 0; k < size; k++) nonzero |= static_cast<uint32_t>(at[places[step * k]] != 0) << k;
        const LevelMove move = move_of(nonzero, size, zeros, static_cast<uint32_t>(flips[block]) >> bit);
        if (move.from == move.to) return;
        at[places[step * move.to]] = at[places[step * move.from]];
        at[places[step * move.from]] = 0;
        moved(block, bit, move);
    };
    const ScrambleTables &t = kScrambleTables;
    if (m.type == MacroblockType::pcm) return;
    for (int block = 0; block < blocks_per_macroblock(f); block++) {
        if (!is_coded(m, f, block)) continue;
        int16_t *const at = levels + 16 * block;
        const int chroma = f == ChromaFormat::c444 ? 0 : chroma_blocks(f),
                  within = f == ChromaFormat::c444 ? block % kLumaBlocks : block;
        if (chroma && block == kChromaDcBlock) {
            const bool tall = f == ChromaFormat::c422;
            for (int c = 0; c < 2; c++)
                scramble(block, at + 8 * c, tall ? t.dc_422 : t.dc_420, 1, chroma, tall ? kZerosDc422 : kZerosDc420,
                         8 * c);
        } else if ((chroma && block > kChromaDcBlock) || (m.type == MacroblockType::i16x16 && within != kLumaDcBlock)) {
            scramble(block, at, t.zigzag_4x4 + 1, 1, 15, kZeros4x4, 0);
        } else if (m.type == MacroblockType::i8x8) {
            scramble(block, levels + 16 * (block - (within & 3)), t.zigzag_8x8 + (within & 3), 4, 16, kZeros4x4, 0);
        } else {
            scramble(block, at, t.zigzag_4x4, 1, 16, kZeros4x4, 0);
        }
    }
}

// What scramble() takes. words: of the keystream, one for each block, filled up to 8, then kModeWords for each
// macroblock where modes are among the parts.
struct ScrambledPicture {
    CodedFormat format;
    uint32_t parts;
    Macroblock *macroblocks;
    int16_t *levels;
    const uint16_t *words;
};
CUDAENC_HD constexpr uint64_t block_words(uint64_t macroblocks, ChromaFormat f) {
    return (macroblocks * static_cast<uint64_t>(blocks_per_macroblock(f)) + 7) / 8 * 8;
}
template <class Moved>
CUDAENC_HD void scramble(const ScrambledPicture &p, uint32_t address, const Moved &moved) {
    const uint64_t blocks = static_cast<uint64_t>(blocks_per_macroblock(p.format.chroma)) * address;
    Macroblock &m = p.macroblocks[address];
    if (p.parts & kScramblePlaces) scramble_places(p.format.chroma, m, p.levels + 16 * blocks, p.words + blocks, moved);
    const uint32_t width = static_cast<uint32_t>(p.format.width);
    if (!(p.parts & kScrambleModes) || m.type == MacroblockType::pcm || address % width == 0 || address < width ||
        p.macroblocks[address - width - 1].slice != m.slice)
        return;
    scramble_modes(m, p.words + block_words(static_cast<uint64_t>(p.format.macroblocks()), p.format.chroma) +
                          uint64_t{kModeWords} * address);
}

}  // namespace cudaenc::h264
