// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of cavlc.cu.
#pragma once
#include <cstdint>

#include "../../common/h264/syntax/headers.h"
#include "../../common/h264/syntax/macroblock_layer.h"
#include "../../common/kernel_name.h"

namespace cudaenc::h264 {

// A piece is what a thread-block codes: consecutive macroblocks of one slice, at most so many.
constexpr int kPieceMacroblocks = 8;
struct alignas(16) PieceRange {
    uint32_t first;
    uint8_t count;
    uint8_t begins_slice;                 // 1: with the first macroblock of its slice
    uint8_t without_left, without_above;  // bit i: macroblock i has no such neighbour in its slice
    uint16_t slice, group;                // group: of nal_params.h
    uint16_t without_border;              // bit i: BorderShare::outside has no macroblock
    uint16_t before;                      // pieces of its slice before it, of kPieceMacroblocks each
};
static_assert(sizeof(PieceRange) == 16);

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

enum class UnitKind : uint32_t { luma, chroma_ac, luma_dc, chroma_dc, header };
struct alignas(8) Unit {
    uint32_t block : 6;  // its index among the levels of the macroblock
    uint32_t : 2;
    uint32_t coded_by : 8;  // the bits of coded_pattern() of which any one says that it has levels
    uint32_t order : 6;     // of its bits in the macroblock, 0 to kUnits - 1
    uint32_t : 2;
    uint32_t macroblock : 4;  // in the piece; kNoMacroblock: the thread has no unit
    uint32_t component : 1;   // of chroma DC: 0 or 1
    UnitKind kind : 3;
    // The places of its neighbours' total_coeff, see PieceTotals. outside: they lie in another macroblock.
    uint16_t left : 15, left_outside : 1;
    uint16_t above : 15, above_outside : 1;
};
static_assert(sizeof(Unit) == 8);
constexpr uint32_t kNoMacroblock = 15;

// coded_block_pattern with a bit for luma DC, so that one mask says whether a block has levels (is_coded()).
constexpr uint32_t kLumaDcPattern = 64;
CUDAENC_HD constexpr uint32_t coded_pattern(MacroblockType type, uint32_t pattern) {
    return type == MacroblockType::pcm ? 0 : pattern | (type == MacroblockType::i16x16 ? kLumaDcPattern : 0);
}

// Beyond the piece, blocks of the piece have neighbours: to the left of its first macroblock, of field pairs of its
// first two, or above any one. They come by four; of luma these are a whole 8x8 block. 8 lanes count their levels, each
// one half a block, or a row of an 8x8 block.
struct alignas(8) BorderShare {
    int32_t macroblock;     // from the first one of the piece on
    uint32_t level : 10;    // its first one within the macroblock
    uint32_t coded_by : 8;  // as in Unit
    uint32_t chroma : 1;
    uint32_t outside : 5;  // 0 to 7: above that macroblock of the piece; 8, 9: to the left of the first, of the second;
                           // kNoBorder: the lane has none
};
constexpr int kMostLefts = 2;
constexpr uint32_t kNoBorder = kPieceMacroblocks + kMostLefts;

// The total_coeff of the blocks of a piece, [blocks_per_macroblock() * macroblock + block], and then those of borders,
// [kOwn + 4 * border + i].
template <ChromaFormat F>
struct PieceTotals {
    static constexpr int kOwn = kPieceMacroblocks * blocks_per_macroblock(F);
    static constexpr int kAbove = 2 * luma_components(F) + (chroma_blocks(F) ? 1 : 0);  // borders of a macroblock
    static constexpr int kLeft = 2 * luma_components(F) + chroma_blocks(F) / 4;
    static constexpr int kBorders = kPieceMacroblocks * kAbove + kMostLefts * kLeft;
    static constexpr int kCount = kOwn + 4 * kBorders;
};

// Lanes for borders: whole rounds of all threads.
template <ChromaFormat F>
CUDAENC_HD constexpr int border_lanes() {
    constexpr int kThreads = PieceThreads<F>::kThreads;
    return (8 * PieceTotals<F>::kBorders + kThreads - 1) / kThreads * kThreads;
}

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
CUDAENC_HD constexpr uint32_t most_piece_words(ChromaFormat f) {
    return most_piece_words({f, true, 14, 14, 1, 1, false, false});
}

// The bits of a piece: the head ends before the samples of its first I_PCM macroblock, the tail begins a byte with
// them. In memory both begin a word, the tail behind the head. The first bit is a word's highest; zeros follow the
// last.
struct alignas(8) PieceBits {
    uint32_t head, tail;
};

// What nal.cu has to know of a group of pieces before it joins them, as one number to which pieces add: the sum of
// their bits, pieces with a tail, and places that may need an emulation_prevention_three_byte (has_zero_run()).
struct GroupSum {
    static constexpr uint64_t kTail = 1 << 24, kZeroRun = uint64_t{1} << 32;
    uint64_t sum;
    CUDAENC_HD uint32_t bits() const { return static_cast<uint32_t>(sum % kTail); }
    CUDAENC_HD bool has_tails() const { return sum % kZeroRun >= kTail; }
    CUDAENC_HD bool has_zero_runs() const { return sum >= kZeroRun; }
};

// Of a macroblock, with mb_skip_run before it: bits without pcm_alignment_zero_bits, and whether it is I_PCM.
struct MacroblockBits {
    static constexpr uint32_t kPcm = 1u << 31;
    uint32_t word;
    CUDAENC_HD uint32_t bits() const { return word % kPcm; }
    CUDAENC_HD bool pcm() const { return word >= kPcm; }
};

// What the host reads of a picture.
struct NalResult {
    uint64_t bytes;   // of all NAL units
    uint64_t bits;    // IntraCoder::bits()
    uint32_t failed;  // number of the last picture with a macroblock beyond most_macroblock_bits()
};

struct CavlcArguments {
    CodedFormat format;
    CodedPicture picture;            // levels begin at a multiple of 16 bytes
    const SliceHeaderBits *headers;  // of the slices
    const PieceRange *ranges;
    const Unit *units;           // of the threads
    const BorderShare *borders;  // of lanes, see border_lanes()
    const CavlcTables *tables;
    const PartTables *parts;
    PieceBits *bits;  // of each piece
    uint64_t *sums;   // GroupSum of each group, 0 before
    uint64_t
        *layer_bits;  // of all macroblock_layer(), with 7 bits of alignment where there are samples of I_PCM; 0 before
    uint32_t *words;  // [word_pitch * piece]
    uint32_t word_pitch;        // most_piece_words() of the format
    uint32_t number;            // of the picture, not 0
    NalResult *result;          // in pinned memory; the kernel writes `failed`
    const uint32_t *coded;      // SkipMapParams::coded, of P slices
    uint32_t *macroblock_bits;  // gets MacroblockBits of each macroblock; nullptr: nobody asks
};
// Grid: a thread-block a piece, of PieceThreads<F>::kThreads. Predicted: of P slices.
template <ChromaFormat F, bool Predicted>
struct CavlcParams : CavlcArguments {
    static constexpr KernelName kernel{"h264/cavlc",
                                       F == ChromaFormat::c400   ? (Predicted ? "h264_cavlc_400_p" : "h264_cavlc_400")
                                       : F == ChromaFormat::c420 ? (Predicted ? "h264_cavlc_420_p" : "h264_cavlc_420")
                                       : F == ChromaFormat::c422 ? (Predicted ? "h264_cavlc_422_p" : "h264_cavlc_422")
                                                                 : (Predicted ? "h264_cavlc_444_p" : "h264_cavlc_444")};
};

// Which macroblocks of P slices are not skipped. Grid: a thread a macroblock, in thread-blocks of kSkipMapThreads.
constexpr int kSkipMapThreads = 256;
struct SkipMapParams {
    static constexpr KernelName kernel{"h264/cavlc", "h264_skip_map"};
    uint32_t count;  // macroblocks
    const Macroblock *macroblocks;
    uint32_t *coded;  // bit m % 32 of word m / 32: of macroblock m; bits beyond the last one are 0
};

}  // namespace cudaenc::h264
