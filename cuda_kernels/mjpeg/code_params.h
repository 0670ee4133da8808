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

// So that eight thread-blocks of mjpeg_encode fit a multiprocessor.
constexpr int kSharedMemoryPercent = 86;

struct ScanComponent {
    BlockGrid grid;
    int32_t width, height;  // samples
    int32_t table;          // kLuma or kChroma
    int32_t layout;         // index into the layouts
    int32_t first_block;    // in the MCU
    int32_t first_thread;   // of those that have its blocks
};

struct ScanPieces {
    ScanGrid grid;
    int32_t components;
    ScanComponent component[kMaxComponents];
    int32_t mcu_blocks;       // of all components
    int32_t mcus;             // of a piece, but the last one of an interval may have fewer
    int32_t interval_pieces;  // of an interval, but the last one may have fewer
    Divider by_interval_pieces;
    uint32_t first_piece;   // of all scans' pieces
    uint32_t pieces;        // of the scan
    uint32_t first_group;   // of all scans' groups of pieces
    uint32_t number;        // of the scan
    uint32_t header_bytes;  // in front of the scan, of its marker segments, which the host writes; none for scan 0
    bool rgb_to_ycbcr;
};

// What a frame's thread-blocks add to; 0 before.
struct FrameSums {
    SymbolCounts symbols;
    uint32_t bins[kRateBins];  // where a size is to be met: of coefficients
};

// What pieces tell those that follow, see look_back.cuh. 0 before the first frame, [pieces] each.
struct PieceLinks {
    uint32_t *tickets;
    uint32_t *written;  // [groups of pieces]: how many of a group are done
    uint64_t *bits;     // of an interval; all that matters is how many go beyond the last whole byte
    uint64_t *tails;    // those, where the interval goes on
    uint64_t *bytes;
    uint32_t serial;  // of the frame, 1..255 in turn
};

// What the host learns of a frame.
struct FrameResult {
    uint64_t bytes;                 // of all scans' entropy-coded data, and what the host writes between these
    uint64_t scan[kMaxComponents];  // where each one's data begin
    HuffmanSpecs huffman;           // where they were made for the picture
};

// The packet behind its headers, and what is told of it, in memory of the host; before that, the packet in memory of
// the device, at an address of the same alignment to kLineBytes, of which as many follow. Pieces that do not fit are
// not written.
struct CodedBytes {
    uint8_t *bytes;
    uint8_t *packet;  // nullptr: it is copied later
    uint64_t capacity;
    FrameResult *result;
};

// Pieces whose bytes go to the host together: it takes whole lines at full speed, and parts of them at a third of it.
constexpr uint32_t kGroupPieces = 16;
constexpr uint64_t kLineBytes = 128;

// Which levels of a block are not 0: bit 31 - k of `low` tells of place k of the zig-zag sequence, of `high` of 32 + k.
struct alignas(8) NonzeroPlaces {
    uint32_t low, high;
    CUDAENC_HD LeadingZeroRuns runs() const { return {low, high}; }
};

// What a piece's blocks became, [32][kPieceBlocks] words each: word w of a block has the levels at places 2 w and 2 w +
// 1 of the zig-zag sequence, and instead of the DC level its difference.
struct StoredLevels {
    uint32_t *words;
    NonzeroPlaces *nonzero;  // [kPieceBlocks] of a piece
};
constexpr int kPieceLevelWords = kPieceBlocks * kBlockSamples / 2;

// wide_reciprocal_of() the divisors, by index.
struct WideQuantiser {
    int32_t multiplier[kBlockSamples];
};

// Grid of all: a thread-block a piece of the scan.
struct EncodeParams {  // pixels to bytes
    static constexpr KernelName kernel{"mjpeg/code", "mjpeg_encode", LaunchPriority::kNormal, kSharedMemoryPercent};
    const CodeTables *codes;
    CodedBytes out;
    PieceLinks links;
    ScanPieces scan;
    SampleLayout layouts[kMaxComponents];
    WideQuantiser quantiser[kTables];
};
struct TransformParams {  // pixels to levels, which are counted
    static constexpr KernelName kernel{"mjpeg/code", "mjpeg_transform", LaunchPriority::kNormal, kSharedMemoryPercent};
    StoredLevels levels;
    FrameSums *sums;
    ScanPieces scan;
    SampleLayout layouts[kMaxComponents];
    WideQuantiser quantiser[kTables];
};
struct BinsParams {  // pixels to the histogram of what becomes 0 at which scale
    static constexpr KernelName kernel{"mjpeg/code", "mjpeg_bins", LaunchPriority::kNormal, kSharedMemoryPercent};
    FrameSums *sums;
    ScanPieces scan;
    SampleLayout layouts[kMaxComponents];
    uint32_t threshold[kTables][kBlockSamples];  // rate_threshold() of the matrices, by index
};
struct CodeParams {  // levels to bytes
    static constexpr KernelName kernel{"mjpeg/code", "mjpeg_code", LaunchPriority::kNormal, kSharedMemoryPercent};
    StoredLevels levels;
    const CodeTables *codes;
    CodedBytes out;
    PieceLinks links;
    ScanPieces scan;
};

}  // namespace cudaenc::mjpeg
