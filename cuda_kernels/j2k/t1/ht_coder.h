// The HT block coder on a device. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <memory>

#include "../../device_objects.h"
#include "block_coder.h"
#include "ht_params.h"

namespace cudaenc::j2k {

// Queues the kernel. most_samples: of a block.
void code_ht_blocks(Device &device, Device::Stream stream, const HtInput &input, int most_samples);

class HtCoder : public BlockCoder {
  public:
    // blocks: `count` ones on the device, of at most `most_samples`; slot_bytes: of all.
    HtCoder(std::shared_ptr<Device> device, const CodeBlock *blocks, uint32_t count, int most_samples,
            uint64_t slot_bytes);
    // All is done at once.
    void analyse(Device::Stream stream, const uint32_t *coefficients, const StopSlope *stop) override;
    void code(Device::Stream) override {}
    const BlockRecords &records() const override { return records_; }

  private:
    const std::shared_ptr<Device> device_;
    const CodeBlock *const blocks_;
    const uint32_t count_;
    const int most_samples_;
    DeviceArray<HtCodes> codes_;
    DeviceArray<uint8_t> slots_, planes_, passes_;
    DeviceArray<uint32_t> bytes_;
    BlockRecords records_{};
};

}  // namespace cudaenc::j2k
