// Parameters of the kernels that decode JPEG: unstuff.cu, synchronise.cu, decode.cu, transform.cu.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../../common/kernel_name.h"
#include "../../common/mjpeg/geometry.h"
#include "../../common/mjpeg/huffman_decode.h"

namespace cudaenc::mjpeg {

// ---- Shapes

constexpr int kUnstuffThreads = 256, kUnstuffBytes = 16;  // a thread
constexpr int kUnstuffTile = kUnstuffThreads * kUnstuffBytes;

// Coded data are cut into subsequences, at whose begin decoding starts anywhere. A tile of them is a thread-block's.
constexpr uint32_t kSubsequenceBits = 512;
constexpr int kTileSubsequences = 128;
constexpr uint32_t kTileBits = kSubsequenceBits * kTileSubsequences;
constexpr int kSumTilesThreads = 256;

constexpr int kDecodeWarps = 2, kDecodeThreads = 32 * kDecodeWarps;
constexpr int kWindowBlocks = 128;                  // whose levels a warp holds
constexpr int kBlockWords = kBlockSamples / 2 + 1;  // of a block's levels, and one that spreads blocks over the banks
constexpr int kTransformThreads = 128;

constexpr int kScanTables = 4;                 // distinct Huffman tables of a scan that a device decodes
constexpr uint32_t kMaxCodedBytes = 1u << 28;  // of a scan: bits have numbers of 32 bits

// ---- Data

// What a scan's kernels look up; uploaded with its data.
struct ScanTables {
    DecodeTable table[kScanTables];
    uint16_t divisors[kBlockSamples][kMaxStreamComponents];  // by index
};

// What a scan's kernels find out; 0 at first, but for the first two, which are ~0.
struct ScanState {
    uint32_t bytes;    // of the coded data without stuffing
    uint32_t excess;   // the byte at which a restart marker stands that is one too many; data that hold it are damaged
    uint32_t damaged;  // whether anything is not as it should be: then the host decodes
    uint32_t blocks;   // decoded, where they belong
    uint32_t tickets;  // of thread-blocks
};

// Between two blocks: where the next one begins, and its number within the MCU.
struct BlockStart {
    uint32_t bit;
    uint32_t phase;
};

// As a number that one load or store moves, as tiles read what others write meanwhile.
CUDAENC_HD uint64_t packed(const BlockStart &start) { return uint64_t{start.bit} << 32 | start.phase; }
CUDAENC_HD BlockStart unpacked(uint64_t start) {
    return {static_cast<uint32_t>(start >> 32), static_cast<uint32_t>(start)};
}

// What a run of blocks adds up to. After a restart marker in it, only what follows counts.
struct RunSum {
    uint32_t restarted;
    uint32_t blocks;
    uint32_t dc[kMaxStreamComponents];  // differences, modulo 2^32
};

// A scan as its kernels see it.
struct CodedScan {
    const uint32_t *words;     // coded data without stuffing, in the order of bytes
    const uint32_t *restarts;  // [intervals], from 1 on: the byte at which each begins; ~0 where there is none
    const ScanTables *tables;
    ScanState *state;
    uint32_t intervals;
    uint32_t interval_blocks;  // of each but the last
    uint32_t blocks;           // of all
    uint32_t mcu_blocks;
    uint32_t dc_tables, ac_tables;  // 2 bits for each block of an MCU: its table
    uint32_t block_components;      // the same: its component's number in the scan
};

// ---- Kernels

// Takes stuffed zeros, fill bytes and markers away. Grid: a tile of bytes each.
struct UnstuffParams {
    static constexpr KernelName kernel{"mjpeg/unstuff", "mjpeg_unstuff"};
    const uint8_t *data;  // aligned to 16
    uint32_t bytes;
    uint8_t *out;        // aligned to 4, with room for `bytes` and 4 more
    uint32_t *restarts;  // [intervals]; all ~0 at first
    uint32_t intervals;
    ScanState *state;
    uint64_t *kept_words, *restart_words;  // [tiles], of look_back.cuh
    uint32_t serial;
};

// Where subsequences begin to decode, and what their blocks add up to. Grid: a tile of subsequences each. The first
// launch guesses where tiles begin; each further one corrects those whose predecessor ends elsewhere.
struct SynchroniseParams {
    static constexpr KernelName kernel{"mjpeg/synchronise", "mjpeg_synchronise"};
    CodedScan scan;
    uint32_t again;      // whether this is a further launch
    BlockStart *starts;  // [subsequences]
    uint64_t *ends;      // [tiles]: packed(): where each one's last subsequence ends
    RunSum *before;      // [subsequences]: the sum of those before in the tile
    RunSum *sums;        // [tiles]
};

// Where the blocks of an MCU share tables in a shorter period, subsequences synchronise within that period. The number
// of blocks before then tells each one's number in the MCU, and a further walk adds up DC differences by component.
// Grid: a tile of subsequences each.
struct SumRunsParams {
    static constexpr KernelName kernel{"mjpeg/synchronise", "mjpeg_sum_runs"};
    CodedScan scan;
    BlockStart *starts;          // [subsequences]
    RunSum *before;              // [subsequences]
    const RunSum *tiles_before;  // [tiles]
    RunSum *sums;                // [tiles]
};

// From the sums of tiles to the sums of all tiles before. Finds tiles that do not begin where the one before ends.
// Grid: one thread-block.
struct SumTilesParams {
    static constexpr KernelName kernel{"mjpeg/synchronise", "mjpeg_sum_tiles"};
    uint32_t tiles;
    const BlockStart *starts;
    const uint64_t *ends;  // nullptr: tiles are known to fit
    const RunSum *sums;    // [tiles]
    RunSum *before;        // [tiles]
    ScanState *state;
};

// The plane of a component, in samples of the reduced size.
struct OutputPlane {
    uint8_t *samples;
    int64_t stride;
    int32_t width, height;
};

// From coded data to samples. Grid: kDecodeThreads subsequences each.
struct DecodeParams {
    static constexpr KernelName kernel{"mjpeg/decode", "mjpeg_decode", LaunchPriority::kHigh};
    CodedScan scan;
    const BlockStart *starts;  // [subsequences]
    const RunSum *before;      // [subsequences], within its tile
    const RunSum *tiles_before;
    ScanGrid grid;
    Divider by_mcu_blocks;
    BlockGrid component_blocks[kMaxStreamComponents];
    uint32_t first_block[kMaxStreamComponents];  // of each component in an MCU
    OutputPlane planes[kMaxStreamComponents];
    int32_t lowres;
};

// From levels that the host has decoded to samples. Grid: kTransformThreads blocks of a component each.
struct TransformLevelsParams {
    static constexpr KernelName kernel{"mjpeg/transform_levels", "mjpeg_transform_levels", LaunchPriority::kHigh};
    const int16_t *levels;  // [blocks][64], by index
    uint16_t divisors[kBlockSamples];
    uint32_t blocks;
    int32_t columns;  // blocks of a row
    Divider by_columns;
    OutputPlane plane;
    int32_t lowres;
};

}  // namespace cudaenc::mjpeg
