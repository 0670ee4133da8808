// SPDX-License-Identifier: LGPL-2.1-or-later
// The HT block coder on a device.
#pragma once
#include <memory>

#include "../../device_objects.h"
#include "block_coder.h"
#include "ht_params.h"

namespace cudaenc::j2k {

// Queues the kernel. most_samples: of a block.
void code_ht_blocks(Device &device, Device::Stream stream, const HtInput &input, int most_samples);
void code_ht_blocks(Device &device, Device::Stream stream, const HtTruncatedInput &input, int most_samples);
void code_ht_blocks(Device &device, Device::Stream stream, const HtOnePlaneInput &input, int most_samples);

// The blocks of a session's frames, in device memory.
struct HtBlocks {
    const CodeBlock *blocks;  // [count]
    const BandCoding *bands;  // these of truncatable blocks
    uint32_t count;
    int most_samples;  // of a block
    int max_passes;    // of a record
    bool truncatable;
    bool is_short;   // see HtInput
    bool one_plane;  // see HtOnePlaneInput
};

class HtCoder : public BlockCoder {
  public:
    HtCoder(std::shared_ptr<Device> device, const HtBlocks &blocks, const CodewordRooms &rooms);
    // Makes the codewords; of truncatable blocks records as well, see HtTruncatedInput.
    void analyse(Device::Stream stream, const uint32_t *coefficients, const StopSlope *stop) override;
    void code(Device::Stream) override {}
    void code_truncated(Device::Stream stream, const uint8_t *passes, uint32_t *bytes) override;
    const BlockRecords &records() const override { return records_; }

  private:
    HtInput input(const uint32_t *coefficients) const;
    HtTruncatedInput truncated(const uint8_t *passes, uint32_t *bytes) const;

    const std::shared_ptr<Device> device_;
    const HtBlocks blocks_;
    DeviceArray<HtCodes> codes_;
    DeviceArray<uint8_t> codewords_, planes_, passes_, always_included_, coded_planes_;
    DeviceArray<uint32_t> bytes_, pass_bytes_, terminations_;
    DeviceArray<int32_t> reductions_;
    const uint32_t *coefficients_ = nullptr;  // of the frame, and where it stops
    const StopSlope *stop_ = nullptr;
    BlockRecords records_{};
};

}  // namespace cudaenc::j2k
