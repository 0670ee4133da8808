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
struct MqVisit;
struct HtDecodeTables;

// What a session's pictures have at most of blocks for a decoder; of each, words (decoder_words()), quads
// (decoder_quads()) and bit-planes, up to kMaxDecodedPlanes. pictures: that are in flight.
struct DecoderLimits {
    uint32_t blocks = 0, words = 0, quads = 0;
    int planes = 0, pictures = 1;
};

// Of a segment or a block: so many decisions, nearly, by what its passes and bytes are in photographs; and as lanes
// that are in the same pass wait less for each other, somewhat more for the passes.
constexpr uint64_t decode_work(uint64_t bytes, uint64_t passes) { return 7 * bytes + 200 * passes; }
// The order in which kernels take blocks, so that the lanes of a warp end together: most work first, by classes from 0
// on.
constexpr uint32_t kDecodeClasses = 4096;
constexpr uint32_t decode_class(uint64_t work) {
    return kDecodeClasses - 1 - static_cast<uint32_t>(std::min<uint64_t>(work / 16, kDecodeClasses - 1));
}

// Memory for one picture in flight, and the launches. Blocks are within the limits. What the kernels read is read when
// they run, so that a graph may hold them: blocks, their number, segments, bytes.
class MqBlockDecoder {
  public:
    MqBlockDecoder(std::shared_ptr<Device> device, const DecoderLimits &limits);
    // For CodedBlocks::lanes: such that a picture ends early, and with many in flight, that all of them do. blocks: in
    // the order of decode_class().
    LaneShares share_lanes(std::span<const DecoderBlock> blocks, std::span<const DecoderSegment> segments) const;
    void decode(Device::Stream stream, const CodedBlocks &coded) const;

  private:
    const std::shared_ptr<Device> device_;
    const DecoderLimits limits_;
    const int most_lanes_;  // of a warp
    const unsigned warps_;  // that there can be
    DeviceArray<MqDecodeTables> tables_;
    DeviceArray<MqVisit> visits_;
    DeviceArray<uint32_t> planes_;
};

class HtBlockDecoder {
  public:
    HtBlockDecoder(std::shared_ptr<Device> device, const DecoderLimits &limits);
    // most: of the blocks' number. Launches on one stream share the memory.
    void decode(Device::Stream stream, const CodedBlocks &coded, uint32_t most) const;

  private:
    const std::shared_ptr<Device> device_;
    const DecoderLimits limits_;
    DeviceArray<HtDecodeTables> tables_;
    DeviceArray<uint32_t> quads_;
};

}  // namespace cudaenc::j2k
