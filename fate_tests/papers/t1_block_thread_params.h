// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../common/j2k/codestream/tables.h"
#include "../../common/kernel_name.h"

namespace cudaenc::j2k {

// Tier-1 with a thread a code-block. Grid: ceil(count / block threads), of at most kBlockThreadMost.
constexpr int kBlockThreadMost = 128;
struct BlockThreadInput {
    const CodeBlock *blocks;
    const uint32_t *coefficients;
    uint8_t *codewords;
    const uint64_t *rooms;  // [block]: where its codeword begins
    uint16_t *flags;        // [block * flags_stride]: scratch
    uint8_t *planes;        // [block]
    uint8_t *passes;        // [block]
    uint32_t *pass_bytes;   // [block * max_passes + pass]
    uint32_t *bytes;        // [block]
    uint32_t flags_stride;
    uint32_t count;
    int32_t max_passes;
    bool lossy;  // BlockCoding::lossy
};
// With the MQ coder of the encoders, and with that of the standard's flow charts.
using BlockThreadParams = KernelOf<BlockThreadInput, "t1_block_thread", "bench_t1_block_thread">;
using PlainBlockThreadParams = KernelOf<BlockThreadInput, "t1_block_thread", "bench_t1_block_thread_plain">;

}  // namespace cudaenc::j2k
