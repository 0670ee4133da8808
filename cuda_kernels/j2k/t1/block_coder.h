// The seam between the pipeline and block coders on a device. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../../common/device.h"
#include "../../../common/j2k/t1/stop.h"

namespace cudaenc::j2k {

// What a block coder leaves of a frame's blocks, as common/j2k/t1/block.h says: [block], and [block * max_passes +
// pass] where it says [pass]. nullptr: the coder has none.
struct BlockRecords {
    uint8_t *slots;         // codewords: CodeBlock::slot
    const uint8_t *planes;  // [block]: this and the next three: see CodedBlock
    const uint8_t *passes;
    const uint32_t *bytes;
    const uint32_t *estimated_bytes;  // where blocks are truncatable; so are always_included, terminations, reductions
    uint8_t *always_included;         // [block]
    const uint32_t *pass_bytes;       // [pass]: this and the next two: see TruncationPoints
    uint32_t *terminations;
    const int32_t *reductions;
    const uint32_t *segment_begins;  // [pass]: where a segment begins in the slot; nullptr: one behind the other
};

// A block coder of one frame at a time. Both calls queue their work.
class BlockCoder {
  public:
    virtual ~BlockCoder() = default;
    // What is known before there are codewords: planes, passes, estimated bytes. coefficients: CodeBlock::coefficients;
    // stop: on the device, where blocks end before their last pass.
    virtual void analyse(Device::Stream stream, const uint32_t *coefficients, const StopSlope *stop) = 0;
    // Codewords, and all else in the records.
    virtual void code(Device::Stream stream) = 0;
    virtual BlockRecords records() const = 0;
};

}  // namespace cudaenc::j2k
