// SPDX-License-Identifier: LGPL-2.1-or-later
// Targets of PSNR: the host decodes what the device has coded, one frame at a time.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "../../../common/j2k/rate/psnr_cpu.h"
#include "../../../common/thread_pool.h"
#include "../t1/tier1.h"

namespace cudaenc::j2k {

class PsnrTarget {
  public:
    // params and geometry live longer.
    PsnrTarget(std::shared_ptr<Device> device, const Params &params, const EncoderGeometry &geometry);

    // The threshold at which a frame has its PSNR. Waits for the stream. coefficients, coded: in device memory.
    // layouts: of the samples that were coded, of each component, in device memory or the host's.
    PsnrThreshold find(Device::Stream stream, const uint32_t *coefficients, const BlockRecords &coded,
                       std::span<SampleLayout> layouts, bool in_device_memory);

  private:
    void download_samples(Device::Stream stream, std::span<SampleLayout> layouts);

    const std::shared_ptr<Device> device_;
    const Params &params_;
    const Geometry &geometry_;
    ThreadPool threads_;
    HullTable hulls_;
    // Copies in the host's memory.
    std::vector<uint32_t> coefficients_, decoded_, pass_bytes_;
    std::vector<int32_t> reductions_;
    std::vector<uint8_t> planes_, passes_;
    std::vector<CodedBlock> coded_;
    std::vector<std::vector<uint8_t>> samples_;  // [component]
};

}  // namespace cudaenc::j2k
