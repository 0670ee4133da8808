// SPDX-License-Identifier: LGPL-2.1-or-later
// The seam between the pipeline and block coders on a device.
#pragma once
#include "../../../common/device.h"
#include "../../../common/j2k/t1/block.h"
#include "../../../common/j2k/t1/stop.h"

namespace cudaenc::j2k {

// A block coder of one frame at a time. Both calls queue their work.
// Rooms of codewords on a device: see place_rooms().
struct CodewordRooms {
    const uint64_t *begins;  // [block]
    uint64_t bytes;          // of all
};

class BlockCoder {
  public:
    virtual ~BlockCoder() = default;
    // Finds planes, passes and estimated bytes. coefficients: CodeBlock::coefficients; stop: on the device, where
    // blocks end before their last pass.
    virtual void analyse(Device::Stream stream, const uint32_t *coefficients, const StopSlope *stop) = 0;
    // Makes the codewords, and all else in the records.
    virtual void code(Device::Stream stream) = 0;
    // Makes the codewords of blocks that have `passes` of their records, where code() does not. bytes: of what is made.
    // Both are [block].
    virtual void code_truncated(Device::Stream, const uint8_t *passes, uint32_t *bytes) {
        static_cast<void>(passes), static_cast<void>(bytes);
    }
    virtual void settle() noexcept {}  // waits for streams of its own, after an error
    virtual const BlockRecords &records() const = 0;
};

}  // namespace cudaenc::j2k
