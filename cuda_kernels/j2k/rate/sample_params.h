// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../../common/j2k/rate/allocate.h"
#include "../../../common/j2k/rate/predict.h"
#include "../../../common/kernel_name.h"

namespace cudaenc::j2k {

// Finds the slope at which tier-1 stops, from sampled blocks (common/j2k/rate/predict.h): it goes to allocation->stop.
// A block of at most 32x32 has a warp, kSampleWarps a thread-block; the grid is ceil(count / kSampleWarps). A larger
// one
// ("tiled") has a thread-block of tiles_x * tiles_y * 32 threads; the grid is count.
constexpr int kSampleWarps = 4;
struct SampleInput {
    const CodeBlock *blocks;
    const PrecinctBand *bands;
    const uint32_t *coefficients;        // CodeBlock::coefficients
    const SampledBlock *sampled_blocks;  // [count]
    uint64_t *table;                     // [kStopBins]: bytes; this and done: zero before, and after
    uint32_t *done;                      // thread-blocks
    RateAllocation *allocation;
    uint32_t count, block_count, layers;
    int32_t tiles_x, tiles_y;
};
struct SampleParams : SampleInput {
    static constexpr KernelName kernel{"j2k/rate/sample", "j2k_rate_sample"};
};
struct SampleTiledParams : SampleInput {
    static constexpr KernelName kernel{"j2k/rate/sample", "j2k_rate_sample_tiled"};
};

}  // namespace cudaenc::j2k
