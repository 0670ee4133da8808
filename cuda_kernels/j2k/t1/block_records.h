// What a block coder leaves on a device. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

namespace cudaenc::j2k {

// Records of a batch of blocks, as common/j2k/t1/block.h has them: arrays of [block], or of [block * max_passes +
// pass], which is [pass] here. nullptr: the coder has none.
struct BlockRecords {
    uint8_t *slots;             // codewords: CodeBlock::slot
    uint8_t *planes;            // [block]: as CodedBlock has this and the next four
    uint8_t *passes;            // [block]
    uint32_t *bytes;            // [block]
    uint32_t *estimated_bytes;  // [block]: this and the next of truncatable blocks
    uint8_t *always_included;   // [block]
    uint32_t *pass_bytes;       // [pass]: as TruncationPoints has this and the next two
    uint32_t *terminations;     // [pass]: this and the next of truncatable blocks
    int32_t *reductions;        // [pass]: not of passes that are always included
    uint32_t *segment_begins;   // [pass]: where the MQ segment that ends there begins; nullptr: one behind the other
};

}  // namespace cudaenc::j2k
