// What the kernels of rate allocation work on, and their parameters. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../../common/j2k/rate/allocate.h"
#include "../../../common/j2k/rate/truncate.h"
#include "../../../common/kernel_name.h"
#include "../t2/t2_params.h"

namespace cudaenc::j2k {

// Tier-1 has left the records of blocks and their truncation points. Truncation leaves what tier-2 takes: layer_passes
// and layer_bytes.
struct RateBuffers {
    const CodeBlock *blocks;
    const PrecinctBand *bands;
    const uint8_t *planes, *passes, *always_included;  // [block]: see CodedBlock
    const uint32_t *pass_bytes;  // [block * max_passes + pass]: this and two below: see TruncationPoints
    uint32_t *terminations;
    const int32_t *reductions;
    uint8_t *slots;               // codewords
    uint16_t *slopes;             // [pass * blocks + block]: see HullSlopes
    uint32_t *bytes_at;           // [group][slope]: of truncation points with the slope; zero before, and after
    uint32_t *bytes_at_or_above;  // [group][slope]
    RateAllocation *allocation;
    uint8_t *layer_passes;  // [layer * blocks + block]: see LayerEnds
    uint32_t *layer_bytes;  // [layer * blocks + block]
    // Measurements of packets: bits of headers, bytes of codewords; thread-blocks that are done. Zero before, and
    // after.
    uint64_t *packet_bits, *packet_bytes;  // [packet]
    uint32_t *done;
    uint32_t block_count, layers, groups;
    uint32_t style;
    int32_t max_passes;
};

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
    Tier2Buffers t2;
    uint64_t fixed;        // bytes of the codestream that are in no packet
    uint64_t group_fixed;  // of a tile-part
    uint32_t last;         // whether these thresholds are the last ones
    uint32_t ahead;
};
// Truncates blocks at the thresholds, and builds their tag trees. last: codewords are terminated. A thread-block of up
// to kTagTreeThreads owns a precinct's sub-band. Grid: band_count.
struct TruncateInput {
    RateBuffers rate;
    Tier2Buffers t2;
    uint32_t last;
};
struct TruncateParams : TruncateInput {
    static constexpr KernelName kernel{"j2k/rate/truncate", "j2k_rate_truncate", LaunchPriority::kHigh};
};
// ... which were truncated before: their codewords go on first.
struct TruncateAgainParams : TruncateInput {
    static constexpr KernelName kernel{"j2k/rate/truncate", "j2k_rate_truncate_again", LaunchPriority::kHigh};
};

}  // namespace cudaenc::j2k
