// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../cuda_kernels/j2k/t1/t1_params.h"

namespace cudaenc::j2k {

// One kernel: a warp models a block's contexts and codes its raw segments, then its first lane does the MQ coding.
// Blocks of at most 32x32. Grid: ceil(count / kContextWarps).
struct OneKernelParams : StyledContextInput {
    static constexpr KernelName kernel{"t1_bypass", "bench_t1_one_kernel"};
};

// Three kernels: context modelling, which leaves the bits of raw passes in memory, a byte each at CodeBlock::room of
// `bits`; their segments, a warp a block; MQ coding. Grid of the first two: ceil(count / kContextWarps).
struct BitsContextParams : StyledContextInput {
    static constexpr KernelName kernel{"t1_bypass", "bench_t1_context"};
    uint8_t *bits;
};
struct RawParams : StyledContextInput {
    static constexpr KernelName kernel{"t1_bypass", "bench_t1_raw"};
    const uint8_t *bits;
};

}  // namespace cudaenc::j2k
