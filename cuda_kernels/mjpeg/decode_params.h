// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of the kernels that decode JPEG: unstuff.cu, synchronise.cu, decode.cu, reconstruct.cu,
// transform_levels.cu.
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
// Long ones save work, since guesses begin before them. Short ones take less time, as few data give as many threads as
// a GPU has. guesses: numbers in the MCU. alone: no other picture is in flight.
constexpr uint32_t kShortBytes = 1u << 22, kFewGuesses = 3;
constexpr uint32_t subsequence_bits(uint32_t bytes, uint32_t guesses, bool alone) {
    if (alone) return bytes < kShortBytes ? 256 : 512;
    return guesses <= kFewGuesses ? 512 : 1024;
}
constexpr int kTileSubsequences = 128;
constexpr uint32_t kLeadBits = 256;  // before a subsequence, in which a decoder that guesses may synchronise
// How often a tile corrects its begin, where the tile before ends. Photographs need one correction, noise two or three.
constexpr uint32_t kCorrections = 3;

constexpr int kMaxCandidates = kMaxMcuBlocks + 1;  // of a subsequence
constexpr int kLeadSubsequences = 16;              // before those whose chain begins with a guess
constexpr int kChainColumns = kTileSubsequences + kLeadSubsequences;

constexpr int kMaxSpeculateThreads = 32 * kMaxMcuBlocks;
constexpr int kReconstructThreads = 128, kTransformThreads = 128;
constexpr int kBlockWords = kBlockSamples / 2 + 1;  // of coefficients, and one that spreads blocks over the banks

constexpr int kScanTables = 4;        // distinct Huffman tables of a scan that a device decodes
constexpr int kRunTables = 4;         // of run_of()
constexpr int kRuns = 1 << kRunBits;  // of a table
constexpr uint32_t kNoTable = ~0u;
constexpr uint32_t kMaxCodedBytes = 1u << 28;  // of a scan: bits have numbers of 32 bits

// ---- Data

// What a scan's kernels look up besides Huffman tables.
struct TableUses {
    uint16_t divisors[kBlockSamples][kMaxStreamComponents];  // by index
    uint32_t dc_tables, ac_tables;                           // 2 bits for each block of an MCU: its table
    uint32_t dc_runs, ac_runs;                             // the same: the table of runs that begin with DC, or with AC
    uint32_t run_first[kRunTables], run_then[kRunTables];  // of each: the tables of its symbols, or kNoTable
    uint32_t block_components;                             // the same: its component's number in the scan
    bool operator==(const TableUses &) const = default;
};
// All of it. It stays on the device for the pictures that follow.
struct alignas(16) ScanTables : TableUses {
    alignas(16) DecodeTable table[kScanTables];
};

constexpr int kTableVectors = kScanTables * sizeof(DecodeTable) / 16;
constexpr int kRunVectors = kRunTables * kRuns * sizeof(uint16_t) / 16;
static_assert(kScanTables * sizeof(DecodeTable) % 16 == 0);

// What a scan's kernels find out.
struct ScanState {
    uint32_t bytes = ~0u;  // of the coded data without stuffing
    uint32_t excess =
        ~0u;  // the byte at which a restart marker stands that is one too many; data that hold it are damaged
    uint32_t damaged = 0;              // whether anything is not as it should be: then the host decodes
    uint32_t blocks = 0;               // decoded, where they belong
    uint32_t extra = 0;                // whether CodedScan::excess_bits follow the last block
    uint32_t tickets = 0;              // of thread-blocks
    uint32_t chained = 0, listed = 0;  // tiles that mjpeg_chain and mjpeg_decode are done with
};

// Between two blocks: where the next one begins, and its number within the MCU.
struct BlockStart {
    uint32_t bit;
    uint32_t phase;
};

// As a number that one load or store moves, as tiles read what others write meanwhile; below 2^54, see publish().
constexpr int kPhaseBits = 4;
static_assert(kMaxMcuBlocks <= 1 << kPhaseBits);
CUDAENC_HD uint64_t packed(const BlockStart &start) { return uint64_t{start.bit} << kPhaseBits | start.phase; }
CUDAENC_HD BlockStart unpacked(uint64_t start) {
    return {static_cast<uint32_t>(start >> kPhaseBits), static_cast<uint32_t>(start) & ((1u << kPhaseBits) - 1)};
}

// What a run of blocks adds up to. After a restart marker in it, only what follows counts.
template <int Values>
struct RunSum {
    uint32_t restarted;
    uint32_t value[Values];
};
using BlockCount = RunSum<1>;
using DcDifferences = RunSum<kMaxStreamComponents>;  // modulo 2^32

// A way through a subsequence.
struct Candidate {
    uint64_t begin, end;  // packed(): its first block, and the first behind it
    BlockCount count;
};

constexpr uint64_t kNoBegin = ~uint64_t{0};  // of a candidate that equals another

// The levels of a warp's subsequences, 32 lists side by side: a word each. A level takes 2 bits at least but for DC,
// whose block takes 2, and a block that begins in a subsequence may end behind it.
constexpr uint32_t kListPitch = 32;
CUDAENC_HD uint32_t list_levels(uint32_t subsequence_bits) { return subsequence_bits / 2 + kBlockSamples; }
CUDAENC_HD uint32_t listed_at(uint32_t subsequence_bits, uint32_t subsequence, uint32_t number) {
    return (subsequence / 32 * list_levels(subsequence_bits) + number) * kListPitch + subsequence % 32;
}
CUDAENC_HD uint32_t listed_level(int place, int32_t level) {
    return static_cast<uint32_t>(level) << 16 | static_cast<uint32_t>(place);
}
CUDAENC_HD int listed_place(uint32_t listed) { return static_cast<int>(listed & 0xFFFF); }
CUDAENC_HD int32_t level_of(uint32_t listed) { return static_cast<int32_t>(listed) >> 16; }

// Where a block's levels are listed, DC first: the sum of its differences in the subsequence.
struct alignas(8) BlockLevels {
    uint32_t subsequence;
    uint16_t first;  // number in its list
    uint8_t count;
    uint8_t restarted;  // whether its interval begins in its subsequence; else DC goes on from the one before
};

// A scan as its kernels see it.
struct CodedScan {
    const uint32_t *words;     // coded data without stuffing, the first byte of a word the highest
    const uint32_t *restarts;  // [intervals], from 1 on: the byte at which each begins; ~0 where there is none
    const ScanTables *tables;
    const uint16_t *runs;  // [kRunTables][kRuns]: Step::packed() of run_of()
    ScanState *state;
    uint32_t subsequence_bits;
    uint32_t intervals;
    uint32_t interval_blocks;  // of each but the last
    uint32_t blocks;           // of all
    uint32_t mcu_blocks;
    uint32_t excess_bits;  // excess_bits()
};

// The bits of a tile.
CUDAENC_HD uint32_t tile_bits(const CodedScan &scan) { return scan.subsequence_bits * kTileSubsequences; }

// A field of 2 bits for each block of an MCU.
CUDAENC_HD uint32_t block_field(uint32_t fields, uint32_t number) { return fields >> 2 * number & 3; }

// ---- Kernels
//
// A launch is of up to kLaunchPictures pictures. Row y of its grid is picture y's; the columns are as many as the
// picture with most of them needs, and what is too much for others returns.
constexpr int kLaunchPictures = 8;
constexpr size_t kLaunchBytes = 3u << 19;  // of coded data, which are enough for a launch

// Takes stuffed zeros, fill bytes and markers away. Where the tables are others than those of the picture before, keeps
// them and makes their runs. Grid: a tile of bytes each, and then at least kRunBlocks.
struct UnstuffPicture {
    const uint8_t *data;  // aligned to 16
    uint32_t bytes;
    uint8_t *out;        // CodedScan::words, with room for `bytes` and 4 more
    uint32_t *restarts;  // [intervals]; all ~0 at first
    uint32_t intervals;
    ScanState *state;
    ScanState *next_state;                 // of the slot's next picture: becomes as new
    uint64_t *kept_words, *restart_words;  // [tiles], of look_back.cuh
    uint32_t tiles, serial;
    const ScanTables *uploaded;  // nullptr: those of the picture before
    ScanTables *tables;          // CodedScan::tables
    uint16_t *runs;              // CodedScan::runs
};
struct UnstuffParams {
    static constexpr KernelName kernel{"mjpeg/unstuff", "mjpeg_unstuff"};
    UnstuffPicture picture[kLaunchPictures];
};

constexpr uint32_t kRunBlocks = kRunTables * kRuns / kUnstuffThreads;

// Decodes each subsequence once for every number in the MCU that its first block may have. A decoder guesses one a lead
// before the subsequence; mostly one of them soon reads the blocks that are there. Grid: 32 subsequences each; a
// thread-block has scan.mcu_blocks warps.
struct SpeculatePicture {
    CodedScan scan;
    uint32_t subsequences;
    Candidate *candidates;  // [scan.mcu_blocks + 1][subsequences]; the last row is made empty
};
struct SpeculateParams {
    static constexpr KernelName kernel{"mjpeg/synchronise", "mjpeg_speculate"};
    SpeculatePicture picture[kLaunchPictures];
};

// Chooses among the candidates, each where the one before ends; decodes where there is none. Tiles guess where they
// begin, and correct that by where the one before ends. The last tile adds up the counts of all. Grid: a tile of
// subsequences each.
struct ChainPicture {
    CodedScan scan;
    uint32_t subsequences;
    uint32_t rows;              // scan.mcu_blocks + 1, the last one of candidates that the chain adds
    Candidate *candidates;      // [rows][subsequences]
    BlockStart *starts;         // [subsequences]
    uint64_t *ends;             // [kCorrections + 1][tiles]: the key of where each tile ends, of look_back.cuh
    uint32_t tiles, serial;     // of these words
    BlockCount *before;         // [subsequences]: of those before in the tile
    BlockCount *counts;         // [tiles]
    BlockCount *counts_before;  // [tiles]: of all tiles before
};
struct ChainParams {
    static constexpr KernelName kernel{"mjpeg/synchronise", "mjpeg_chain"};
    ChainPicture picture[kLaunchPictures];
};

// The plane of a component, in samples of the reduced size.
struct OutputPlane {
    uint8_t *samples;
    int64_t stride;
    int32_t width, height;
};

// From coded data to levels. The last tile adds up the DC differences of all. Where the blocks of an MCU share tables
// in a shorter period, subsequences synchronise within that period, and the number of blocks before tells each one's
// number in the MCU. Grid: a tile of subsequences each.
struct DecodePicture {
    CodedScan scan;
    const BlockStart *starts;  // [subsequences]
    const BlockCount *before;  // [subsequences], within its tile
    const BlockCount *tiles_before;
    uint32_t *levels;                   // of listed_at()
    BlockLevels *blocks;                // [scan.blocks]
    DcDifferences *differences_before;  // [subsequences]: the sum of those before in the tile
    DcDifferences *differences;         // [tiles]
    DcDifferences *all_before;          // [tiles]: of all tiles before
    ScanState *result;                  // in host memory: scan.state as it ends; not written where there are no data
};
struct DecodeParams {
    static constexpr KernelName kernel{"mjpeg/decode", "mjpeg_decode"};
    DecodePicture picture[kLaunchPictures];
};

// From levels to samples, where no data are damaged. Grid: kReconstructThreads blocks each.
struct ReconstructPicture {
    CodedScan scan;
    const uint32_t *levels;
    const BlockLevels *blocks;                // [scan.blocks]
    const DcDifferences *differences_before;  // [subsequences], within its tile
    const DcDifferences *tiles_before;
    ScanGrid grid;
    Divider by_mcu_blocks;
    BlockGrid component_blocks[kMaxStreamComponents];
    uint32_t first_block[kMaxStreamComponents];  // of each component in an MCU
    OutputPlane planes[kMaxStreamComponents];
    int32_t lowres;
};
struct ReconstructParams {
    static constexpr KernelName kernel{"mjpeg/reconstruct", "mjpeg_reconstruct", LaunchPriority::kHigh};
    ReconstructPicture picture[kLaunchPictures];
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
