// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of sample_contexts.cu.
#pragma once
#include "../../common/j2k/codestream/tables.h"
#include "../../common/kernel_name.h"

namespace cudaenc::j2k {

// What a sample makes of a bit-plane, in a word: its decisions and their contexts, in the order of the bits.
struct SampleSymbols {
    uint32_t pass : 2;  // PassKind; 3: no pass codes it
    // Run-length mode, of the first row of a stripe's column.
    uint32_t run : 1, run_ends : 1, run_at : 2;
    // Magnitude, then sign.
    uint32_t magnitude : 1, magnitude_context : 5, magnitude_decision : 1;
    uint32_t sign : 1, sign_context : 5, sign_decision : 1;
    uint32_t : 12;
};
static_assert(sizeof(SampleSymbols) == 4);

constexpr int kSampleBlock = 32;  // blocks are at most 32x32
// Grid: blocks; kSampleBlock^2 threads.
struct SampleContextsParams {
    static constexpr KernelName kernel{"sample_contexts", "papers_sample_contexts"};
    const CodeBlock *blocks;
    const uint32_t *coefficients;
    SampleSymbols *symbols;  // [(block * most_planes + plane) * kSampleBlock^2 + row * kSampleBlock + column]
    uint8_t *planes;         // [block]
    int32_t most_planes;
};

}  // namespace cudaenc::j2k
