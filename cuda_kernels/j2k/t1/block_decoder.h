// SPDX-License-Identifier: LGPL-2.1-or-later
// The block decoders on a device: codeword segments to coefficients.
#pragma once
#include <memory>
#include <span>

#include "../../device_objects.h"
#include "block_decoder_params.h"

namespace cudaenc::j2k {

// What a session's pictures have at most.
struct DecoderLimits {
    uint32_t mq_blocks = 0, ht_blocks = 0;
    uint32_t mq_words = 0;  // decoder_words() of a block
    int mq_planes = 0;      // of a block
    uint32_t ht_quads = 0;  // decoder_quads() of a block
};

// The order in which kernels take blocks, so that the lanes of a warp end together: most bytes first.
void most_work_first(std::span<DecoderBlock> blocks, std::span<const DecoderSegment> segments);

// Memory for one picture in flight, and the launches.
class BlockDecoder {
  public:
    BlockDecoder(std::shared_ptr<Device> device, const DecoderLimits &limits);
    // Queue the kernels. The blocks are within the limits. What they read is read when they run, so that a graph may
    // hold them: blocks, their number, segments, bytes.
    void decode_mq(Device::Stream stream, const CodedBlocks &coded) const;
    void decode_ht(Device::Stream stream, const CodedBlocks &coded) const;

  private:
    const std::shared_ptr<Device> device_;
    const DecoderLimits limits_;
    const int mq_lanes_;
    DeviceArray<MqDecodeTables> mq_tables_;
    DeviceArray<HtDecodeTables> ht_tables_;
    DeviceArray<uint32_t> mq_planes_, ht_quads_;
};

}  // namespace cudaenc::j2k
