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
    uint32_t first;
    uint8_t count;
    uint8_t begins_slice;                 // 1: with the first macroblock of its slice
    uint8_t without_left, without_above;  // bit i: macroblock i has no such neighbour in its slice
    uint32_t slice;
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
    uint8_t macroblock;                // in the piece; kNoMacroblock: the thread has no unit
    uint8_t block;                     // its index among the levels of the macroblock
    uint8_t component : 1, order : 7;  // of chroma DC: 0 or 1; of its bits in the macroblock, 0 to kUnits - 1
    // The places of its neighbours' total_coeff, see PieceTotals. outside: they lie in another macroblock.
    uint16_t left : 15, left_outside : 1;
    uint16_t above : 15, above_outside : 1;
};
static_assert(sizeof(Unit) == 8);
constexpr uint8_t kNoMacroblock = 255;

// Four blocks of a macroblock beyond the piece that blocks of the piece have as neighbours: to the left of its first
// macroblock, or above any one. 8 lanes count their levels. Of luma they are a whole 8x8 block.
struct alignas(8) Border {
    uint32_t blocks;      // a byte each
    uint16_t macroblock;  // of the piece, that has the neighbour
    uint16_t left;        // 1: to the left; 0: above
};

// The total_coeff of the blocks of a piece, [blocks_per_macroblock() * macroblock + block], and then those of borders,
// [kOwn + 4 * border + i].
template <ChromaFormat F>
struct PieceTotals {
    static constexpr int kOwn = kPieceMacroblocks * blocks_per_macroblock(F);
    static constexpr int kAbove = 2 * luma_components(F) + (chroma_blocks(F) ? 1 : 0);  // borders of a macroblock
    static constexpr int kLeft = 2 * luma_components(F) + chroma_blocks(F) / 4;
    static constexpr int kBorders = kPieceMacroblocks * kAbove + kLeft;
    static constexpr int kCount = kOwn + 4 * kBorders;
};

// Of an 8x8 block, whose level k of part i is level 4 k + i of its scan.
constexpr int kLevelPitch = 9;  // words between blocks of 16 levels in shared memory; odd, against bank conflicts
struct alignas(16) PartTables {
    uint8_t places[4][16];  // of level k of part i, in 16-bit numbers, where the raster lies in blocks of that pitch
    uint32_t rows[8];       // bit x of byte i of row y: the level in column x belongs to part i
};

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
    uint64_t bits;    // PictureCoder::bits()
    uint32_t failed;  // number of the last picture with a macroblock beyond most_macroblock_bits()
};

struct CavlcArguments {
    CodedFormat format;
    CodedPicture picture;            // levels begin at a multiple of 16 bytes
    const SliceHeaderBits *headers;  // of the slices
    const PieceRange *ranges;
    const Unit *units;      // of the threads
    const Border *borders;  // [PieceTotals::kBorders]
    const CavlcTables *tables;
    const PartTables *parts;
    PieceBits *bits;  // of each piece
    uint64_t
        *layer_bits;  // of all macroblock_layer(), with 7 bits of alignment where there are samples of I_PCM; 0 before
    uint32_t *words;  // [word_pitch * piece]
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
