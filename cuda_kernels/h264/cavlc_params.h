// Parameters of cavlc.cu. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../../common/h264/headers.h"
#include "../../common/h264/macroblock_layer.h"
#include "../../common/h264/nal.h"
#include "../../common/kernel_name.h"

namespace cudaenc::h264 {

// A piece is what a thread-block codes: at most so many macroblocks of one slice, with consecutive addresses.
constexpr int kPieceMacroblocks = 8;
struct alignas(16) PieceRange {
    uint32_t first, count;
    uint32_t slice;
    uint32_t slice_first;  // its first macroblock
    uint32_t ends_slice;
};

// The threads of a piece: a thread owns a block or a macroblock's header. Threads of one kind are beside each other:
// luma blocks, AC of chroma, DC of luma, DC of chroma, headers.
template <ChromaFormat F>
struct PieceThreads {
    static constexpr int kLuma = 16 * luma_components(F), kChromaAc = 2 * chroma_blocks(F),
                         kLumaDc = luma_components(F), kChromaDc = chroma_blocks(F) ? 2 : 0;  // of a macroblock
    static constexpr int kUnits = kLuma + kChromaAc + kLumaDc + kChromaDc + 1;
    static constexpr int kThreads = (kPieceMacroblocks * kUnits + 31) / 32 * 32;
};

// Words that the bits of a piece take at most: macroblock_layer() at the largest bit depth, what is filled up, a slice
// header.
CUDAENC_HD constexpr uint32_t most_piece_words(ChromaFormat f) {
    return (kPieceMacroblocks * (most_macroblock_bits({f, true, 14, 14, 1, 1}) + 8) + 128) / 32 + 4;
}

// What pieces tell those after them, see look_back.cuh: a word each.
struct PieceLinks {
    uint64_t *phases;  // bits, counted from a byte's beginning
    uint64_t *ends;    // of the bytes that end in pieces: what follows the last one, and zeros
    uint64_t *bytes;   // that end in the piece, and what goes with them
    uint32_t *tickets;
    uint32_t serial;  // of the picture, 1..255 in turn
};

// What the host learns of a picture.
struct NalResult {
    uint64_t bytes;   // of all NAL units
    uint32_t failed;  // number of the last picture with macroblocks of more bits than they may have
};

struct CavlcArguments {
    CodedFormat format;
    CodedPicture picture;            // levels begin at a multiple of 16 bytes
    const SliceHeaderBits *headers;  // of the slices
    const PieceRange *ranges;
    const CavlcTables *tables;
    PieceLinks links;
    uint8_t *bytes;     // the NAL units of all slices: as many as they have at most
    NalResult *result;  // in pinned memory
    uint32_t number;    // of the picture, not 0
};
// Grid: a thread-block a piece, of PieceThreads<F>::kThreads.
template <ChromaFormat F>
struct CavlcParams : CavlcArguments {
    static constexpr KernelName kernel{"h264/cavlc", F == ChromaFormat::c400   ? "h264_cavlc_400"
                                                     : F == ChromaFormat::c420 ? "h264_cavlc_420"
                                                     : F == ChromaFormat::c422 ? "h264_cavlc_422"
                                                                               : "h264_cavlc_444"};
};

}  // namespace cudaenc::h264
