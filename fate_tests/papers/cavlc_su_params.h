// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of cavlc_su.cu.
#pragma once
#include "../../common/h264/syntax/headers.h"
#include "../../common/h264/syntax/macroblock_layer.h"
#include "../../common/kernel_name.h"

namespace cudaenc::h264 {

// The four ways of CAVLC_SU, one for each component of a frame, and the blocks a macroblock has of each. 4:2:0, 8 bits,
// 4x4 transforms, one slice.
enum SuPath { kSuLumaDc, kSuLumaAc, kSuChromaDc, kSuChromaAc, kSuPaths };
CUDAENC_HD constexpr int su_blocks(int path) {
    return path == kSuLumaDc ? 1 : path == kSuLumaAc ? 16 : path == kSuChromaDc ? 2 : 8;
}
CUDAENC_HD constexpr int su_blocks_before(int path) {
    return path == kSuLumaDc ? 0 : path == kSuLumaAc ? 1 : path == kSuChromaDc ? 17 : 19;
}
constexpr int kSuBlocks = 27;

// Bits: the header of a macroblock, then its blocks, in a unit of memory of 26 short words each.
constexpr int kSuUnits = 1 + kSuBlocks, kSuUnitWords = 13;
constexpr int kSuThreads = 128;

// What kernels hand to each other. Blocks: all of the frame's of a path, in the order of macroblocks, then those of the
// next path.
struct SuBuffers {
    CodedFormat format;
    const Macroblock *macroblocks;
    const int16_t *levels;
    const SliceHeaderBits *header;
    const CavlcTables *tables;
    uint32_t *zigzag;  // [8 * block]: levels in the order of the scan
    uint8_t *totals;   // [block]: TotalCoeff
    uint8_t *nc;       // ... and the other symbols
    uint8_t *ones;
    uint8_t *signs;
    uint8_t *zeros;
    int16_t *values;   // [16 * block]: levels that are no trailing ones, the last one first
    uint8_t *runs;     // [16 * block]
    uint32_t *codes;   // [kSuUnitWords * unit]
    uint32_t *bits;    // [unit]
    uint32_t *longer;  // [1]: blocks with more bits than a unit
};

struct SuForwardParams {  // grid: kSuThreads blocks of the path a thread-block
    static constexpr KernelName kernel{"cavlc_su", "bench_su_forward"};
    SuBuffers buffers;
    int32_t path;
};
constexpr int kSuRegionWidth = 4, kSuRegionHeight = 2;  // macroblocks
struct SuBackwardParams {                               // grid: regions of a frame; kSuThreads
    static constexpr KernelName kernel{"cavlc_su", "bench_su_backward"};
    SuBuffers buffers;
    int32_t path;
};
struct SuCodeParams {  // grid: kSuThreads blocks a thread-block
    static constexpr KernelName kernel{"cavlc_su", "bench_su_code"};
    SuBuffers buffers;
    int32_t path;
};
struct SuHeadersParams {  // grid: kSuThreads macroblocks a thread-block
    static constexpr KernelName kernel{"cavlc_su", "bench_su_headers"};
    SuBuffers buffers;
};
struct SuPackParams {  // grid: kSuThreads units a thread-block
    static constexpr KernelName kernel{"cavlc_su", "bench_su_pack"};
    const uint32_t *codes;
    const uint32_t *bits;
    const uint64_t *offsets;  // [units]: bits before
    uint32_t *words;          // 0 before
    uint32_t units;
};

}  // namespace cudaenc::h264
