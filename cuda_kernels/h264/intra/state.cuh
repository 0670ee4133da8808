// SPDX-License-Identifier: LGPL-2.1-or-later
// What a thread-block of the wavefront keeps in shared memory: a macroblock coded as each type.
#pragma once
#include "../../../common/h264/intra/intra_modes.h"
#include "../../device.cuh"
#include "wavefront_params.h"

namespace cudaenc::h264 {

constexpr int kLumaPitch = 26, kChromaPitch = 10;  // samples in a row
constexpr int kGrid = 5;                           // 4x4 blocks in a row, with those to the left

// A component that is coded as luma. Row 0 and column 0 are of its neighbours; row 0 goes on above right.
struct CodedComponent {
    alignas(16) int16_t levels[17 * 16];  // as in macroblock.h
    uint16_t samples[17 * kLumaPitch];    // the reconstruction
};
// A macroblock that is coded as one type.
template <ChromaFormat F>
struct Candidate {
    CodedComponent components[luma_components(F)];
    int8_t modes[kGrid * kGrid];  // -1: not available
    uint8_t syntax[16];           // Macroblock::pred_mode
    LevelSums sums;
    uint32_t mode_bits, distortion, pattern, mode;
};

template <ChromaFormat F>
struct ChromaCandidate {
    static constexpr int kBlocks = chroma_blocks(F), kHeight = 2 * kBlocks;  // of a component
    alignas(16) int16_t levels[(1 + 2 * kBlocks) * 16 + 16];
    uint16_t samples[2][(1 + kHeight) * kChromaPitch];
    int32_t dc[2][8];
    LevelSums sums;
    uint32_t mode, coded, distortion;
};

// Of blocks, whatever their nC.
struct MostBits {
    uint32_t bits;
    bool too_large;  // for level_prefix 15
};

template <ChromaFormat F>
struct MacroblockSource {
    alignas(16) uint16_t luma[luma_components(F)][256];
    RankedModes ranked;
    alignas(16) uint16_t chroma[2][16 * chroma_blocks(F) + 8];
};

template <ChromaFormat F>
struct WavefrontState {
    static constexpr int kComponents = luma_components(F), kChromaHeight = 2 * chroma_blocks(F);
    WavefrontPicture picture;        // of the row
    MacroblockSource<F> sources[2];  // by column modulo 2
    Candidate<F> candidates[3];      // by MacroblockType
    ChromaCandidate<F> chroma;
    uint16_t records[4][3 * record_words(F) + 1];  // of the row above, by column modulo 4
    uint16_t record[3 * record_words(F) + 1];      // the own one
    uint32_t longest_ends;                         // the warp that takes longest has coded its type
    MostBits most_bits[2];                         // of luma, of chroma; where a macroblock may have too many
    // Of the macroblock to the left.
    uint16_t left[kComponents][16], left_chroma[2][16];
    int8_t left_modes[4];
    uint16_t values_4x4[kComponents][2][48], values_8x8[kComponents][96];  // see intra_lines.h
    alignas(4) uint8_t predicted_4x4[9 * 16], predicted_8x8[9 * 64];       // WavefrontTables
    // Of I_16x16: coefficients, predictions.
    int32_t dc[kComponents][16];
    uint16_t plane[kComponents][256], mean[kComponents];
    uint16_t chroma_plane[2][8 * kChromaHeight + 8], chroma_means[4 * chroma_blocks(F) + 1];
};

// What is the same for a macroblock's warps.
struct Place {
    uint32_t x;
    uint32_t index;    // of the macroblock in the picture, see WavefrontPicture
    uint32_t address;  // the same but of field pairs
    Available available;
    const QpChoice *qp;
    int32_t bit_depth, most;  // the largest sample
    LikelyTypes likely;       // not of AVC-Intra
    DEVICE_MEMBER const Quantiser &quantiser(int component) const { return component ? qp->chroma : qp->luma; }
};

}  // namespace cudaenc::h264
