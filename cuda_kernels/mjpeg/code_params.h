// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of code.cu.
#pragma once
#include <cstdint>

#include "../../common/kernel_name.h"
#include "../../common/load.h"
#include "../../common/mjpeg/geometry.h"
#include "../../common/mjpeg/huffman.h"
#include "../../common/mjpeg/markers.h"
#include "../../common/mjpeg/quantise.h"
#include "../../common/mjpeg/rate.h"
#include "../../common/mjpeg/trellis.h"

namespace cudaenc::mjpeg {

// A piece is what a thread-block codes: consecutive MCUs of one restart interval, with at most this many blocks. A
// thread owns a block.
constexpr int kPieceBlocks = 96;

// Pieces whose bytes go to the host together: whole lines move at full speed, parts of them at a third of it. Or those
// that a thread-block joins.
constexpr uint32_t kGroupPieces = 16;

// Of a frame: its fields.
constexpr size_t kMostPictures = 2;

// So that eight thread-blocks of mjpeg_encode fit a multiprocessor.
constexpr int kSharedMemoryPercent = 86;

struct ScanComponent {
    BlockGrid grid;
    int32_t width, height;  // samples
    int32_t table;          // kLuma or kChroma
    int32_t layout;         // index into the layouts
    int32_t first_block;    // in the MCU
    int32_t first_thread;   // of those with its blocks
};

struct ScanPieces {
    ScanGrid grid;
    int32_t components;
    ScanComponent component[kMaxComponents];
    int32_t mcu_blocks;       // of all components
    int32_t mcus;             // of a piece; the last one of an interval may have fewer
    int32_t interval_pieces;  // of an interval; the last one may have fewer
    Divider by_interval_pieces;
    uint32_t first_piece;   // among those of all scans, of both fields
    uint32_t pieces;        // of the scan
    uint32_t first_group;   // of pieces, among those of all scans
    uint32_t number;        // of the scan
    uint32_t header_bytes;  // of the markers before the scan, which the host writes; 0 for the first one of a picture
    bool rgb_to_ycbcr;
    CUDAENC_HD uint32_t groups() const { return (pieces + kGroupPieces - 1) / kGroupPieces; }
};

// Counts over a frame; 0 before.
struct FrameSums {
    SymbolCounts symbols;
    uint32_t bins[kRateBins];  // of rate_bin(), for a target size
};

// What pieces publish for later ones (look_back.cuh), or groups of them for later groups where mjpeg_join does;
// [pieces] each; 0 before the first frame.
struct PieceLinks {
    uint32_t *tickets;
    uint32_t *written;  // [groups of pieces]: written pieces of the group
    uint64_t *bits;     // of the interval up to the piece, modulo 8
    uint64_t *tails;    // the bits after the last whole byte, where the interval goes on
    uint64_t *bytes;    // of all scans up to the piece
    uint32_t serial;    // of the frame, 1..255 in turn
};

// What the host reads of a frame.
struct FrameResult {
    uint64_t bytes;                                 // of the entropy-coded data, and of the scan headers between them
    uint64_t scan[kMostPictures * kMaxComponents];  // where the data of each scan begin
    HuffmanSpecs huffman[kMostPictures];            // optimal tables
};

// Where coded bytes go, and EOI behind each scan's. Pieces that do not fit are not written.
struct CodedBytes {
    uint8_t *bytes;       // in device memory, aligned to kLineBytes as the packet; a line more is readable
    uint8_t *packet;      // behind its headers, in host memory; nullptr: it is copied later, or `bytes` is the packet
    uint64_t capacity;    // of both
    FrameResult *result;  // in host memory
};

// The bits of pieces, which mjpeg_join makes bytes of. Pieces take words as they are coded, so their order varies.
// Each begins at a multiple of 16 bytes, and zero words are behind it. Where the packet has room for the bytes, there
// is room for the words.
struct PieceBits {
    uint32_t first_word, bits;
};
struct StoredBits {
    uint32_t *words;  // the first bit the highest; nullptr: each piece is joined where it is coded
    uint64_t capacity;
    uint32_t *used;     // words; 0 before, and behind mjpeg_join
    PieceBits *pieces;  // [pieces]
    CUDAENC_HD static uint32_t words_of(uint32_t bits) { return (bits + 127) / 128 * 4; }  // of a piece
    static constexpr uint64_t words_for(uint64_t bytes, uint32_t pieces) { return bytes / 4 + 4 * uint64_t{pieces}; }
};

constexpr uint64_t kLineBytes = 128;

// The nonzero levels of a block: bit 31 - k of `low` is place k of the zig-zag sequence, of `high` place 32 + k.
struct alignas(8) NonzeroPlaces {
    uint32_t low, high;
    CUDAENC_HD LeadingZeroRuns runs() const { return {low, high}; }
    // As PlaceSet.
    CUDAENC_HD bool any() const { return (low | high) != 0; }
    CUDAENC_HD int first() const { return (low ? 0 : 32) + zeros_above(low ? low : high); }
    CUDAENC_HD void add(int place) {
        low |= bit_of(place, 0);
        high |= bit_of(place, 32);
    }
    CUDAENC_HD void remove(int place) {
        low &= ~bit_of(place, 0);
        high &= ~bit_of(place, 32);
    }
    // Of a word for 32 places from `begin` on.
    CUDAENC_HD static uint32_t bit_of(int place, int begin) {
        return place >> 5 == begin >> 5 ? 0x80000000u >> (place & 31) : 0;
    }
};

// Quantised pieces, [32][kPieceBlocks] words each. Word w of a block holds the levels at places 2 w and 2 w + 1 of the
// zig-zag sequence, with the DC difference in place of the DC level.
struct StoredLevels {
    uint32_t *words;
    NonzeroPlaces *nonzero;  // [kPieceBlocks] of a piece
};
constexpr int kPieceLevelWords = kPieceBlocks * kBlockSamples / 2;

// wide_reciprocal_of() the divisors, by index.
struct WideQuantiser {
    int32_t multiplier[kBlockSamples];
};

// For choose_levels().
struct alignas(8) QuantiserStep {
    int32_t multiplier;  // wide_reciprocal_of() the divisor
    int32_t step;        // 8 times the divisor
};
struct alignas(16) TrellisTables {
    QuantiserStep steps[kTables][kBlockSamples];  // in the zig-zag sequence
    AcLengths lengths;
};
struct Trellis {
    TrellisTables tables;
    int32_t lambda;
};

// Grid of all: a thread-block a piece of the scan.
struct EncodeParams {  // samples to bytes
    static constexpr KernelName kernel{"mjpeg/code", "mjpeg_encode", LaunchPriority::kNormal, kSharedMemoryPercent};
    const CodeTables *codes;
    CodedBytes out;
    PieceLinks links;
    StoredBits stored;
    ScanPieces scan;
    SampleLayout layouts[kMaxComponents];
    WideQuantiser quantiser[kTables];
};
struct TransformParams {  // samples to levels, and counts of their symbols
    static constexpr KernelName kernel{"mjpeg/code", "mjpeg_transform", LaunchPriority::kNormal, kSharedMemoryPercent};
    StoredLevels levels;
    FrameSums *sums;
    ScanPieces scan;
    SampleLayout layouts[kMaxComponents];
    WideQuantiser quantiser[kTables];
};
// The same two with the choice of levels.
struct EncodeTrellisParams : EncodeParams {
    static constexpr KernelName kernel{"mjpeg/code", "mjpeg_encode_trellis", LaunchPriority::kNormal,
                                       kSharedMemoryPercent};
    Trellis trellis;
};
struct TransformTrellisParams : TransformParams {
    static constexpr KernelName kernel{"mjpeg/code", "mjpeg_transform_trellis", LaunchPriority::kNormal,
                                       kSharedMemoryPercent};
    Trellis trellis;
};
struct BinsParams {  // samples to the histogram of rate.h
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
    StoredBits stored;
    ScanPieces scan;
};
constexpr int kJoinThreads = 32 * kGroupPieces;
struct JoinParams {  // bits that the kernels before have stored to bytes
    static constexpr KernelName kernel{"mjpeg/code", "mjpeg_join", LaunchPriority::kHigh, kSharedMemoryPercent};
    CodedBytes out;
    PieceLinks links;
    StoredBits stored;
    ScanPieces scan;
};

}  // namespace cudaenc::mjpeg
