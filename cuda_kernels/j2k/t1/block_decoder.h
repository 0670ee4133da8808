// SPDX-License-Identifier: LGPL-2.1-or-later
// The block decoders on a device: codeword segments to coefficients.
#pragma once
#include <algorithm>
#include <memory>
#include <span>

#include "../../device_objects.h"
#include "block_decoder_params.h"

namespace cudaenc::j2k {

struct MqDecodeTables;
struct HtDecodeTables;

// What a session's pictures have at most of blocks for a decoder; of each, words (decoder_words()), quads
// (decoder_quads()) and bit-planes, up to kMaxDecodedPlanes. pictures: that are in flight.
struct DecoderLimits {
    uint32_t blocks = 0, words = 0, quads = 0;
    int planes = 0, pictures = 1;
};

// The order in which kernels take blocks, so that the lanes of a warp end together: most bytes first, by classes of
// work from 0 on.
constexpr uint32_t kWorkClasses = 1024;
constexpr uint32_t work_class(uint32_t bytes) { return kWorkClasses - 1 - std::min(bytes / 8, kWorkClasses - 1); }
void most_work_first(std::span<DecoderBlock> blocks, std::span<const DecoderSegment> segments);

// Memory for one picture in flight, and the launches. Blocks are within the limits. What the kernels read is read when
// they run, so that a graph may hold them: blocks, their number, segments, bytes.
class MqBlockDecoder {
  public:
    MqBlockDecoder(std::shared_ptr<Device> device, const DecoderLimits &limits);
    // For CodedBlocks::lanes: such that a picture ends early, and with many in flight, that all of them do. blocks: in
    // the order of most_work_first().
    LaneShares share_lanes(std::span<const DecoderBlock> blocks, std::span<const DecoderSegment> segments) const;
    void decode(Device::Stream stream, const CodedBlocks &coded) const;

  private:
    const std::shared_ptr<Device> device_;
    const DecoderLimits limits_;
    const unsigned warps_;  // that there can be
    DeviceArray<MqDecodeTables> tables_;
    DeviceArray<uint32_t> planes_;
};

class HtBlockDecoder {
  public:
    HtBlockDecoder(std::shared_ptr<Device> device, const DecoderLimits &limits);
    void decode(Device::Stream stream, const CodedBlocks &coded) const;

  private:
    const std::shared_ptr<Device> device_;
    const DecoderLimits limits_;
    DeviceArray<HtDecodeTables> tables_;
    DeviceArray<uint32_t> quads_;
};

}  // namespace cudaenc::j2k
