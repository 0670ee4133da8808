// SPDX-License-Identifier: LGPL-2.1-or-later
// The macroblock layer (H.264, 7.3.5): coded blocks, their neighbours, the bits.
#pragma once
#include <cstdint>

#include "cavlc.h"
#include "macroblock.h"

namespace cudaenc::h264 {

// The format of all macroblocks of a stream.
struct CodedFormat {
    ChromaFormat chroma;
    bool transform_8x8_mode;  // of the picture parameter set
    int32_t luma_depth, chroma_depth;
    int32_t width, height;  // macroblocks
    bool field;             // macroblocks are of fields, with their scans
    // An MBAFF frame of field macroblock pairs alone: macroblocks of the top and of the bottom field in turn, by
    // address. So a row has two macroblocks for each 16 columns, and `height` rows of a field.
    bool field_pairs;
    CUDAENC_HD constexpr int32_t macroblocks() const { return width * height; }
    // From a macroblock to its neighbour to the left or right, in addresses (6.4.12.2).
    CUDAENC_HD constexpr int32_t step() const { return field_pairs ? 2 : 1; }
};

// The input of the CAVLC coder, see macroblock.h. sign_flips: a word a block of levels, see code_block(), or of I_PCM
// samples, see code_pcm_block(); of chroma DC those of Cr begin at bit 8; nullptr: none.
struct CodedPicture {
    const Macroblock *macroblocks;
    const int16_t *levels;
    const uint16_t *sign_flips;
    bool predicted = false;  // of P slices
};

// Macroblocks with consecutive addresses.
struct Slice {
    uint32_t first, count;
};

// ---- Blocks, by index among the levels of a macroblock

constexpr int kLumaDcBlock = 16, kChromaDcBlock = 17, kChromaAcBlock = 18, kLumaBlocks = 17;

// Components that are coded as luma, and AC blocks of each other component.
CUDAENC_HD constexpr int luma_components(ChromaFormat f) { return f == ChromaFormat::c444 ? 3 : 1; }
CUDAENC_HD constexpr int chroma_blocks(ChromaFormat f) {
    return f == ChromaFormat::c420 ? 4 : f == ChromaFormat::c422 ? 8 : 0;
}

// 6.4.3: the block in column x and row y.
CUDAENC_HD constexpr int luma_block(int x, int y) { return (x & 1) | (y & 1) << 1 | (x & 2) << 1 | (y & 2) << 2; }
CUDAENC_HD constexpr int luma_block_x(int b) { return (b & 1) | (b >> 1 & 2); }
CUDAENC_HD constexpr int luma_block_y(int b) { return (b >> 1 & 1) | (b >> 2 & 2); }

// The blocks to the left and above (6.4.11.4 to 6.4.11.6) of a block with an nC; outside: they lie in another
// macroblock.
struct BlockNeighbours {
    int left, above;
    bool left_outside, above_outside;
};
CUDAENC_HD constexpr BlockNeighbours neighbours_of(ChromaFormat f, int block) {
    if (f != ChromaFormat::c444 && block >= kChromaAcBlock) {
        const int count = chroma_blocks(f), within = block - kChromaAcBlock, of_component = within & (count - 1);
        const bool left_outside = !(within & 1), above_outside = of_component < 2;
        return {left_outside ? block + 1 : block - 1, above_outside ? block + count - 2 : block - 2, left_outside,
                above_outside};
    }
    const int base = f == ChromaFormat::c444 ? block / kLumaBlocks * kLumaBlocks : 0;
    const int b = block - base == kLumaDcBlock ? 0 : block - base;
    const int x = luma_block_x(b), y = luma_block_y(b);
    return {base + luma_block((x + 3) & 3, y), base + luma_block(x, (y + 3) & 3), x == 0, y == 0};
}

// Whether residual() has the block (7.3.5.3). pattern: coded_block_pattern.
CUDAENC_HD bool is_coded(MacroblockType type, uint32_t pattern, ChromaFormat f, int block) {
    if (type == MacroblockType::pcm) return false;
    if (f != ChromaFormat::c444 && block >= kChromaDcBlock) return pattern >> 4 >= (block == kChromaDcBlock ? 1u : 2u);
    const int b = f == ChromaFormat::c444 ? block % kLumaBlocks : block;
    if (b == kLumaDcBlock) return type == MacroblockType::i16x16;
    return pattern >> (b >> 2) & 1;
}
CUDAENC_HD bool is_coded(const Macroblock &m, ChromaFormat f, int block) {
    return is_coded(m.type, m.coded_block_pattern, f, block);
}

// ---- Bits

// mb_field_decoding_flag (7.3.4), with which a pair of macroblocks begins.
template <class Bits>
CUDAENC_HD void put_field_decoding_flag(const CodedFormat &f, uint32_t address, Bits &out) {
    if (f.field_pairs && !(address & 1)) out.put(1, 1);
}

// macroblock_layer() up to the samples of I_PCM or up to residual(), of an intra macroblock. first_type: mb_type of
// I_NxN: 0 in I slices, 5 in P slices.
template <class Bits>
CUDAENC_HD void code_macroblock_header(const CodedFormat &f, const Macroblock &m, Bits &out, uint32_t first_type = 0) {
    const bool chroma = f.chroma == ChromaFormat::c420 || f.chroma == ChromaFormat::c422;
    const uint32_t pattern = m.coded_block_pattern;
    if (m.type == MacroblockType::pcm) return put_ue(first_type + 25, out);
    JoinedBits joined{};  // without braces clang 19 omits its constructor in functions with target_clones
    if (m.type == MacroblockType::i16x16) {  // table 7-11
        put_ue(first_type + 1 + m.intra_16x16_pred_mode + 4 * (pattern >> 4) + (pattern & 15 ? 12u : 0u), joined);
    } else {
        put_ue(first_type, joined);
        if (f.transform_8x8_mode) joined.put(m.type == MacroblockType::i8x8, 1);
        CUDAENC_UNROLL
        for (int i = 0; i < 16; i += 4) {
            if (i && m.type == MacroblockType::i8x8) break;
            CUDAENC_UNROLL
            for (int k = i; k < i + 4; k++) {
                const bool predicted = m.pred_mode[k] == kPredictedMode;
                joined.put(predicted ? 1 : m.pred_mode[k], predicted ? 1 : 4);
            }
            out.put(joined.bits, joined.count);
            joined = {};
        }
    }
    if (chroma) put_ue(m.intra_chroma_pred_mode, joined);
    if (m.type != MacroblockType::i16x16)
        put_ue(chroma ? kCodedBlockPatternCodes[pattern] : kCodedBlockPatternCodesLuma[pattern], joined);
    if (m.type == MacroblockType::i16x16 || pattern) put_se(m.qp_delta, joined);
    out.put(joined.bits, joined.count);
}

// mb_skip_run (7.3.4) before a macroblock of a P slice that is not skipped, or at the slice's end where it is not 0.
// Runs of 2^16 - 1 macroblocks and more have more than 32 bits.
template <class Bits>
CUDAENC_HD void put_skip_run(uint32_t run, Bits &out) {
    const uint32_t zeros = static_cast<uint32_t>(floor_log2(run + 1));
    if (zeros) out.put(0, zeros);
    out.put(run + 1, zeros + 1);
}

// mb_type of I_NxN in P slices (7.4.5).
constexpr uint32_t kFirstIntraTypeOfP = 5;
// The same of an inter macroblock that is not skipped, with one reference picture.
template <class Bits>
CUDAENC_HD void code_inter_header(const CodedFormat &f, const Macroblock &m, Bits &out) {
    const uint32_t type = static_cast<uint32_t>(m.type) - static_cast<uint32_t>(MacroblockType::p16x16);
    const uint32_t pattern = m.coded_block_pattern;
    put_ue(type, out);
    if (m.type == MacroblockType::p8x8) out.put(15, 4);  // sub_mb_type: P_L0_8x8, four times
    const int parts = m.type == MacroblockType::p16x16 ? 1 : m.type == MacroblockType::p8x8 ? 4 : 2;
    CUDAENC_UNROLL
    for (int part = 0; part < 4; part++) {
        if (part == parts) break;
        put_se(m.mvd[part].x, out);
        put_se(m.mvd[part].y, out);
    }
    put_ue(chroma_blocks(f.chroma) ? kInterCodedBlockPatternCodes[pattern] : kInterCodedBlockPatternCodesLuma[pattern],
           out);
    if (f.transform_8x8_mode && pattern & 15) out.put(m.transform_size_8x8_flag, 1);
    if (pattern) put_se(m.qp_delta, out);
}

// Blocks of 16 samples of I_PCM.
CUDAENC_HD constexpr int pcm_blocks(ChromaFormat f) {
    return 16 + 2 * chroma_blocks(f) + (luma_components(f) - 1) * 16;
}
// flips: bit i inverts sample i. 0 and the highest value stay: some profiles do not allow 0 (7.4.5).
template <class Bits>
CUDAENC_HD void code_pcm_block(const CodedFormat &f, int block, const int16_t *samples, uint32_t flips, Bits &out) {
    const uint32_t depth = static_cast<uint32_t>(block < 16 ? f.luma_depth : f.chroma_depth), most = (1u << depth) - 1;
    for (int i = 0; i < 16; i++) {
        const uint32_t sample = static_cast<uint16_t>(samples[i]);
        const bool inverted = (flips >> i & 1) && sample != 0 && sample != most;
        out.put(inverted ? sample ^ most : sample, depth);
    }
}

// The limit for bits of macroblock_layer() (A.3.1 n, A.3.2 m, A.3.3 k): 128 + RawMbBits. I_PCM has fewer.
CUDAENC_HD constexpr uint32_t most_macroblock_bits(const CodedFormat &f) {
    return 128 + 16u * static_cast<uint32_t>(16 * f.luma_depth + (pcm_blocks(f.chroma) - 16) * f.chroma_depth);
}

// Of I_PCM: mb_type, alignment at its most, samples.
CUDAENC_HD constexpr uint32_t pcm_bits(const CodedFormat &f) { return most_macroblock_bits(f) - 128 + 16; }
// mb_qp_delta has at most so many bits more than that of 0.
constexpr uint32_t kMostQpDeltaBits = 12;

}  // namespace cudaenc::h264
