// SPDX-License-Identifier: LGPL-2.1-or-later
// What the kernels of rate allocation work on, and their parameters.
#pragma once
#include "../../../common/j2k/rate/allocate.h"
#include "../../../common/j2k/rate/predict.h"
#include "../../../common/j2k/rate/truncate.h"
#include "../../../common/kernel_name.h"
#include "../t2/t2_params.h"

namespace cudaenc::j2k {

// Block coders have made the records of blocks. Truncation makes t2.layer_passes and t2.layer_bytes.
struct RateBuffers {
    Tier2Buffers t2;
    const BandCoding *bands;  // of t2.bands
    RegionWeights regions;
    uint16_t *slopes;             // [pass * blocks + block]: see HullSlopes
    uint32_t *bytes_at;           // [group][slope]: of truncation points with the slope; zero before, and after
    uint32_t *bytes_at_or_above;  // [group][slope]
    RateAllocation *allocation;
    // Measurements of packets: bits of headers, bytes of codewords; thread-blocks that are done. Zero before, and
    // after.
    uint64_t *packet_bits, *packet_bytes;  // [packet]
    uint32_t *done;
    uint32_t groups;

    CUDAENC_HD uint64_t first_pass(uint32_t block) const {
        return uint64_t{block} * static_cast<uint32_t>(t2.max_passes);
    }
    CUDAENC_HD HullSlopes<uint16_t> slopes_of(uint32_t block) const { return {slopes + block, t2.block_count}; }
    CUDAENC_HD uint32_t group_of(uint32_t band) const { return groups > 1 ? bands[band].group : 0; }
};

// Finds the slope at which tier-1 stops, from sampled blocks (common/j2k/rate/predict.h): it goes to allocation->stop.
// A block of at most 32x32 has a warp, kSampleWarps a thread-block. Grid: ceil(count / kSampleWarps). A larger one
// ("tiled") has a thread-block of tiles_x * tiles_y * 32 threads. Grid: count. Where passes are
// alternatives all are as small ones.
constexpr int kSampleWarps = 4;
struct SampleInput {
    const CodeBlock *blocks;
    const BandCoding *bands;
    RegionWeights regions;                // not where passes are alternatives
    const uint32_t *coefficients;         // CodeBlock::coefficients
    const SampledBlock *sampled_blocks;   // [count]
    uint64_t *table, *held_back, *alike;  // [kStopBins]: bytes; these and done: zero before, and after
    uint32_t *done;                       // thread-blocks
    RateAllocation *allocation;
    uint32_t count, block_count, layers;
    uint32_t style;        // of code-blocks
    bool lossy;            // BlockCoding::lossy
    uint32_t frame_steps;  // Params::frame_steps
    StepWeights step_weights;
    bool is_short;  // coefficients are int16_t, see HtInput
    int32_t tiles_x, tiles_y;
};
using SampleParams = KernelOf<SampleInput, "j2k/rate/sample", "j2k_rate_sample">;
using SampleAlternativesParams = KernelOf<SampleInput, "j2k/rate/sample", "j2k_rate_sample_alternatives">;
using SampleTiledParams = KernelOf<SampleInput, "j2k/rate/sample", "j2k_rate_sample_tiled">;

// Finds the hulls of all blocks, and adds up by slope the bytes of the truncation points that may be taken. A thread
// owns a block.
constexpr int kHullThreads = 64;
struct HullParams {
    static constexpr KernelName kernel{"j2k/rate/hull", "j2k_rate_hull", LaunchPriority::kHigh};
    RateBuffers rate;
    const TruncationChoice *choice;  // nullptr: all
};
// Sums up the bytes from each slope on. Finds the first thresholds; or the last ones, where headers were measured ahead
// (`measured`); or those of a frame that is truncated again (`revision`). Grid: 1.
constexpr int kAllocateThreads = 256;
struct AllocateParams {
    static constexpr KernelName kernel{"j2k/rate/allocate", "j2k_rate_allocate", LaunchPriority::kHigh};
    RateBuffers rate;
    uint32_t measured;
    RateRevision revision;
};
// Measures packets; the last thread-block finds the next thresholds. ahead: headers alone are measured, and the
// thresholds stay. A thread owns a block layer.
constexpr int kMeasureThreads = 256;
struct MeasureParams {
    static constexpr KernelName kernel{"j2k/rate/allocate", "j2k_rate_measure", LaunchPriority::kHigh};
    RateBuffers rate;
    uint64_t fixed;        // bytes of the codestream that are in no packet
    uint64_t group_fixed;  // of a tile-part
    uint32_t last;         // whether these thresholds are the last ones
    uint32_t ahead;
};
// Truncates blocks at the thresholds, and builds their tag trees. last: codewords are terminated. A thread-block of up
// to kTagTreeThreads owns a precinct's sub-band. Grid: band_count.
struct TruncateInput {
    RateBuffers rate;
    uint32_t last;
};
using TruncateParams = KernelOf<TruncateInput, "j2k/rate/truncate", "j2k_rate_truncate", LaunchPriority::kHigh>;
// ... which were truncated before: their codewords go on first.
using TruncateAgainParams =
    KernelOf<TruncateInput, "j2k/rate/truncate", "j2k_rate_truncate_again", LaunchPriority::kHigh>;

}  // namespace cudaenc::j2k
