// Parameters of cavlc.cu. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../../common/h264/headers.h"
#include "../../common/h264/macroblock_layer.h"
#include "../../common/kernel_name.h"

namespace cudaenc::h264 {

// A piece is what a thread-block codes: consecutive macroblocks of one slice, at most so many.
constexpr int kPieceMacroblocks = 8;
struct alignas(16) PieceRange {
    uint32_t first, count;
    uint32_t slice;
    uint32_t slice_first;  // the first macroblock of the slice
};

// The threads of a piece. A thread owns a unit: a block, or the header of a macroblock. Units of a kind are adjacent:
// luma, chroma AC, luma DC, chroma DC, headers. Headers have their own warp where shared memory allows it.
template <ChromaFormat F>
struct PieceThreads {
    static constexpr int kLuma = 16 * luma_components(F), kChromaAc = 2 * chroma_blocks(F),
                         kLumaDc = luma_components(F), kChromaDc = chroma_blocks(F) ? 2 : 0;  // a macroblock
    static constexpr int kUnits = kLuma + kChromaAc + kLumaDc + kChromaDc + 1;
    static constexpr int kHeaders =
        F == ChromaFormat::c444 ? kPieceMacroblocks * (kUnits - 1) : (kPieceMacroblocks * (kUnits - 1) + 31) / 32 * 32;
    static constexpr int kThreads = (kHeaders + kPieceMacroblocks + 31) / 32 * 32;
};

enum class UnitKind : uint8_t { luma, chroma_ac, luma_dc, chroma_dc, header };
struct alignas(8) Unit {
    UnitKind kind;
    uint8_t macroblock;   // in the piece; kNoMacroblock: the thread has no unit
    uint8_t block;        // its index among the levels of the macroblock
    uint8_t component;    // of chroma DC: 0 or 1
    uint8_t order;        // of its bits in the macroblock, 0 to kUnits - 1
    uint8_t left, above;  // neighbours_of() a luma or chroma AC block
    bool left_outside : 1, above_outside : 1;
};
static_assert(sizeof(Unit) == 8);
constexpr uint8_t kNoMacroblock = 255;

// Words of a piece at most: macroblock_layer(), alignment, a slice header.
CUDAENC_HD constexpr uint32_t most_piece_words(const CodedFormat &f) {
    return (kPieceMacroblocks * (most_macroblock_bits(f) + 8) + 128) / 32 + 4;
}
CUDAENC_HD constexpr uint32_t most_piece_words(ChromaFormat f) { return most_piece_words({f, true, 14, 14, 1, 1}); }

// The bits of a piece: the head ends before the samples of its first I_PCM macroblock, the tail begins a byte with
// them. In memory both begin a word, the tail behind the head. The first bit is a word's highest; zeros follow the
// last.
struct alignas(8) PieceBits {
    uint32_t head, tail;
};

// What the host reads of a picture.
struct NalResult {
    uint64_t bytes;   // of all NAL units
    uint32_t failed;  // number of the last picture with a macroblock beyond most_macroblock_bits()
};

struct CavlcArguments {
    CodedFormat format;
    CodedPicture picture;            // levels begin at a multiple of 16 bytes
    const SliceHeaderBits *headers;  // of the slices
    const PieceRange *ranges;
    const Unit *units;  // of the threads
    const CavlcTables *tables;
    PieceBits *bits;      // of each piece
    uint32_t *words;      // [word_pitch * piece]
    uint32_t word_pitch;  // most_piece_words() of the format
    uint32_t number;      // of the picture, not 0
    NalResult *result;    // in pinned memory; the kernel writes `failed`
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
