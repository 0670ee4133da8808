// Parameters of cavlc.cu. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../../common/h264/headers.h"
#include "../../common/h264/macroblock_layer.h"
#include "../../common/kernel_name.h"

namespace cudaenc::h264 {

// A piece is what a thread-block codes: at most so many macroblocks of one slice, with consecutive addresses.
constexpr int kPieceMacroblocks = 8;
struct PieceRange {
    uint32_t first, count;
    uint32_t slice;
};

// What a piece became: bits in words, the first one the highest, and zeros after them to the end of a byte, wherever it
// begins in one. The samples of the first I_PCM macroblock begin with a byte; from there on it is the tail, which
// begins at word tail_word() of the piece. The slice header is in its first piece, rbsp_stop_one_bit in its last.
struct PieceBits {
    uint32_t head, tail;  // tail 0: none. head kTooManyBits: macroblocks had more bits than they may
};
constexpr uint32_t kTooManyBits = UINT32_MAX;
CUDAENC_HD constexpr uint32_t tail_word(uint32_t head) { return (head + 7) / 32 + 1; }

// What emulation prevention asks to know of it: zero bits at the ends (all of them, where there is no one), and how
// many bytes the zeros in between ask for, where the head begins with bit 0 to 7 of a byte.
struct PieceZeros {
    uint32_t head_leading, head_trailing, tail_leading, tail_trailing;
    uint16_t head_preventions[8];
    uint32_t tail_preventions;
};

struct CodedPieces {
    PieceBits *bits;
    PieceZeros *zeros;
    uint32_t *words;  // [piece * words_per_piece]
    uint32_t words_per_piece;
};

// Words that a piece takes at most, with all that may be filled up.
constexpr uint32_t most_piece_words(const CodedFormat &f) {
    constexpr uint32_t kSliceBits = 128 + 1;
    return (kPieceMacroblocks * (most_macroblock_bits(f) + 7) + kSliceBits) / 32 + 4;
}

// The threads of a piece: a thread owns a block or a macroblock's header. Threads of one kind are beside each other:
// luma blocks, AC of chroma, DC of luma, DC of chroma, headers.
template <ChromaFormat F>
struct PieceThreads {
    static constexpr int kLuma = 16 * luma_components(F), kChromaAc = 2 * chroma_blocks(F),
                         kLumaDc = luma_components(F), kChromaDc = chroma_blocks(F) ? 2 : 0;  // of a macroblock
    static constexpr int kUnits = kLuma + kChromaAc + kLumaDc + kChromaDc + 1;
    static constexpr int kThreads = (kPieceMacroblocks * kUnits + 31) / 32 * 32;
};

struct CavlcArguments {
    CodedFormat format;
    CodedPicture picture;            // levels begin at a multiple of 16 bytes
    const SliceHeaderBits *headers;  // of the slices
    const Slice *slices;
    const PieceRange *ranges;
    const CavlcTables *tables;
    CodedPieces out;
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
