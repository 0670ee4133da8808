// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../common/j2k/rate.h"
#include "../../common/kernel_name.h"
#include "t1_params.h"
#include "t2_params.h"

namespace cudaenc::j2k {

// What rate control works with. Tier-1 has left planes, passes, and what passes measure; the cuts become what tier-2
// takes: layer_passes, layer_bytes.
struct RateBuffers {
    const CodeBlock *blocks;
    const PrecinctBand *bands;
    const uint8_t *planes, *passes, *certain;  // [block]
    const uint32_t *pass_bytes;                // [block * max_passes + pass]: if the codeword is cut there
    uint32_t *tails;                           // what then ends it: CodewordEnd
    const int32_t *gains;                      // what the pass takes off the squared error
    uint8_t *slots;                            // codewords
    uint16_t *slopes;                          // [pass * blocks + block]: see CutSlopes
    uint32_t *bytes_at;                        // [group][slope]: of cuts with the slope; zero before, and after
    uint32_t *above;                           // [group][slope]: of cuts from that slope on
    RateSearch *search;
    uint8_t *layer_passes;  // [layer * blocks + block]: see BlockLayers
    uint32_t *layer_bytes;  // [layer * blocks + block]
    // What packets measure: bits of headers, bytes of codewords; how many thread-blocks are done. Zero before, and
    // after.
    uint64_t *packet_bits, *packet_bytes;
    uint32_t *done;
    uint32_t block_count, layers, groups;
    uint32_t style;
    int32_t max_passes;
};

// Finds the cuts of all blocks, and what those take by slope that may be taken. A thread owns a block.
constexpr int kRateThreads = 64;
struct CutsParams {
    static constexpr KernelName kernel{"j2k/rate", "j2k_rate_cuts", LaunchPriority::kHigh};
    RateBuffers rate;
    const CutChoice *choice;  // nullptr: all
};
// Sums up from each slope on, and finds the first thresholds, or where headers were measured ahead the last; or those
// of a frame that is to be cut again. Grid: 1.
constexpr int kAboveThreads = 256;
struct AboveParams {
    static constexpr KernelName kernel{"j2k/rate", "j2k_rate_above", LaunchPriority::kHigh};
    RateBuffers rate;
    uint32_t measured;
    RateRevision revision;
};
// Cuts blocks at the thresholds, and builds their tag trees. `last`: their codewords end there, too. A thread-block of
// up to kTagTreeThreads owns a precinct's sub-band. Grid: band_count.
struct CutParams {
    static constexpr KernelName kernel{"j2k/rate", "j2k_rate_cut", LaunchPriority::kHigh};
    RateBuffers rate;
    Tier2Buffers t2;
    uint32_t last;
};
// ... which have been cut: they first go on.
struct CutAgainParams : CutParams {
    static constexpr KernelName kernel{"j2k/rate", "j2k_rate_cut_again", LaunchPriority::kHigh};
};
// Measures packets; the last thread-block finds the next thresholds. ahead: it measures headers alone, and leaves the
// thresholds. A thread owns a contribution.
constexpr int kMeasureThreads = 256;
struct MeasureParams {
    static constexpr KernelName kernel{"j2k/rate", "j2k_rate_measure", LaunchPriority::kHigh};
    RateBuffers rate;
    Tier2Buffers t2;
    uint64_t fixed;        // bytes of the codestream that are in no packet
    uint64_t group_fixed;  // of a tile-part
    uint32_t last;         // whether these thresholds are the last ones
    uint32_t ahead;
};

}  // namespace cudaenc::j2k
