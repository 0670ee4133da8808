// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of stuffing.cu.
#pragma once
#include "../../common/j2k/t1/raw.h"
#include "../../common/kernel_name.h"

namespace cudaenc::j2k {

// Raw segments, at most as many bits as a block of 32x32 has: two a sample.
constexpr uint32_t kMostSegmentBits = 2 * 32 * 32;
constexpr uint32_t kSegmentWords = raw_words(kMostSegmentBits);
constexpr int kStuffThreads = 288;  // at least most_raw_bytes(kMostSegmentBits)
static_assert(most_raw_bytes(kMostSegmentBits) <= kStuffThreads);

struct StuffArguments {
    const uint32_t *bits;     // [segment * kSegmentWords]: the first bit the highest, zeros behind the last one
    const uint32_t *lengths;  // [segment]: bits
    uint8_t *bytes;           // [segment * kStuffThreads]: the segment
    uint32_t *sizes;          // [segment]: its bytes
    uint32_t count;
};
struct StuffParams : StuffArguments {  // grid: segments
    static constexpr KernelName kernel{"stuffing", "papers_stuff"};
    uint32_t *iterations;  // [segment]
    uint32_t *stuffed;     // [segment]: bits
};
constexpr int kStuffWarps = 4;
struct WarpStuffParams : StuffArguments {  // grid: kStuffWarps segments each
    static constexpr KernelName kernel{"stuffing", "papers_stuff_by_warp"};
};

}  // namespace cudaenc::j2k
