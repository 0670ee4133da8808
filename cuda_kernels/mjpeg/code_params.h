// Parameters of code.cu. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../../common/kernel_name.h"
#include "../../common/load.h"
#include "../../common/mjpeg/geometry.h"
#include "../../common/mjpeg/huffman.h"
#include "../../common/mjpeg/quantise.h"
#include "../../common/mjpeg/rate.h"

namespace cudaenc::mjpeg {

// A piece is what a thread-block codes: MCUs of one restart interval that follow each other, as many as have this many
// blocks at most. A thread owns a block.
constexpr int kPieceBlocks = 96;

struct ScanComponent {
    BlockGrid grid;
    int32_t width, height;  // samples
    int32_t table;          // kLuma or kChroma
    int32_t layout;         // index into the layouts
    int32_t first_block;    // in the MCU
};

struct ScanPieces {
    ScanGrid grid;
    int32_t components;
    ScanComponent component[kMaxComponents];
    int32_t mcu_blocks;       // of all components
    int32_t mcus;             // of a piece, but the last one of an interval may have fewer
    int32_t interval_pieces;  // of an interval, but the last one may have fewer
    uint32_t first_piece;     // of all scans' pieces
    bool rgb_to_ycbcr;
};

// What a piece became: bits in words, the first one the highest.
struct Piece {
    uint32_t bits;
    uint32_t first_word;
    uint16_t full_bytes[8];  // bytes of 0xFF that lie in it, where a byte begins with its bit 0 to 7
};

// What a frame's thread-blocks add to; 0 before.
struct FrameSums {
    uint32_t words;  // that pieces needed
    SymbolCounts symbols;
    uint32_t bins[kRateBins];  // where a size is to be met: of coefficients
};

// Where pieces put their words: one after the other, in the order in which they are done. Of a piece for which there is
// no room, none are written.
struct CodedWords {
    Piece *pieces;
    uint32_t *words;  // [capacity]
    FrameSums *sums;
    uint32_t capacity;
};

// What a piece's blocks became, [32][kPieceBlocks] words each: word w of a block has the levels at places 2 w and 2 w +
// 1 of the zig-zag sequence, and instead of the DC level its difference.
struct StoredLevels {
    uint32_t *words;
    uint64_t *nonzero;  // [kPieceBlocks] of a piece; bit k: the level at place k is not 0
};
constexpr int kPieceLevelWords = kPieceBlocks * kBlockSamples / 2;

// wide_reciprocal_of() the divisors, by index.
struct WideQuantiser {
    int32_t multiplier[kBlockSamples];
};

// Grid of all: a thread-block a piece of the scan.
struct EncodeParams {  // pixels to bits
    static constexpr KernelName kernel{"mjpeg/code", "mjpeg_encode"};
    const SampleLayout *layouts;
    const CodeTables *codes;
    CodedWords out;
    ScanPieces scan;
    WideQuantiser quantiser[kTables];
};
struct TransformParams {  // pixels to levels, which are counted
    static constexpr KernelName kernel{"mjpeg/code", "mjpeg_transform"};
    const SampleLayout *layouts;
    StoredLevels levels;
    FrameSums *sums;
    ScanPieces scan;
    WideQuantiser quantiser[kTables];
};
struct BinsParams {  // pixels to the histogram of what becomes 0 at which scale
    static constexpr KernelName kernel{"mjpeg/code", "mjpeg_bins"};
    const SampleLayout *layouts;
    FrameSums *sums;
    ScanPieces scan;
    uint32_t threshold[kTables][kBlockSamples];  // rate_threshold() of the matrices, by index
};
struct CodeParams {  // levels to bits
    static constexpr KernelName kernel{"mjpeg/code", "mjpeg_code"};
    StoredLevels levels;
    const CodeTables *codes;
    CodedWords out;
    ScanPieces scan;
};

}  // namespace cudaenc::mjpeg
