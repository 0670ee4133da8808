// SPDX-License-Identifier: LGPL-2.1-or-later
// The convex hulls of blocks' truncation points (PCRD-opt, T.800 J.14.3).
#include "../../../common/j2k/rate/hull.h"

#include "../../device.cuh"
#include "rate_params.h"

namespace cudaenc::j2k {

// A block's passes are staged in shared memory, since a thread goes back and forth on them, but where they are many.
constexpr int kStagedPasses = 32, kStagedPitch = kStagedPasses + 1;  // so that each block begins in a bank of its own

KERNEL(kHullThreads, j2k_rate_hull, HullParams)
{
    SHARED(uint32_t, staged_bytes, kHullThreads *kStagedPitch);
    SHARED(int32_t, staged_reductions, kHullThreads *kStagedPitch);
    SHARED(uint16_t, staged_slopes, kHullThreads *kStagedPasses);
    const RateBuffers &rate = p.rate;
    const int thread = thread_x();
    const uint32_t block = static_cast<uint32_t>(block_x()) * kHullThreads + thread;
    const int passes = block < rate.t2.block_count ? rate.t2.coded.passes[block] : 0,
              included = passes ? rate.t2.coded.always_included[block] : 0, first_point = max_of(included - 1, 0);
    const bool staged = passes <= kStagedPasses;
    const uint64_t first = rate.first_pass(block);
    CUDAENC_NO_UNROLL
    for (int from = first_point & ~3; from < min_of(passes, kStagedPasses); from += 4) {
        uint32_t loaded_bytes[4];
        int32_t loaded_reductions[4];
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            const uint64_t at = first + min_of(from + i, passes - 1);
            loaded_bytes[i] = rate.t2.coded.pass_bytes[at];
            loaded_reductions[i] = rate.t2.coded.reductions[at];
        }
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            staged_bytes[thread * kStagedPitch + from + i] = loaded_bytes[i];
            staged_reductions[thread * kStagedPitch + from + i] = loaded_reductions[i];
        }
    }
    if (!passes) return;
    const CodeBlock &code_block = rate.t2.blocks[block];
    const uint32_t *bytes = staged ? &staged_bytes[thread * kStagedPitch] : rate.t2.coded.pass_bytes + first;
    const int32_t *reductions = staged ? &staged_reductions[thread * kStagedPitch] : rate.t2.coded.reductions + first;
    const HullSlopes<uint16_t> own = rate.slopes_of(block),
                               slopes = staged ? HullSlopes<uint16_t>{&staged_slopes[thread], kHullThreads} : own;
    convex_hull({.coded = {.bytes = 0,
                           .planes = rate.t2.coded.planes[block],
                           .passes = static_cast<uint8_t>(passes),
                           .always_included = static_cast<uint8_t>(included)},
                 .bytes = bytes,
                 .reductions = reductions,
                 .weight = rate.bands[code_block.precinct_band].weight + rate.regions[block],
                 .style = rate.t2.coding.style,
                 .number = block,
                 .samples = code_block.width * code_block.height,
                 .whole = are_whole(rate.t2.coding.style, static_cast<int>(rate.t2.layers))},
                slopes);
    uint32_t *bytes_at = rate.bytes_at + rate.group_of(code_block.precinct_band) * kSlopes;
    for_each_truncation_point({slopes.first, slopes.stride}, included, passes, bytes,
                              p.choice ? *p.choice : TruncationChoice{},
                              [&](uint32_t slope, uint32_t more) { atomic_add(&bytes_at[slope], more); });
    if (staged)
        for (int pass = first_point; pass < passes; pass++) own[pass] = slopes[pass];
}

}  // namespace cudaenc::j2k
