// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <memory>

#include "device.h"
#include "rgb.h"

namespace cudaenc {

// Converts frames in the device's memory, behind the work of a CUDA stream; returns as convert_block().
class DeviceConverter {
  public:
    virtual ~DeviceConverter() = default;
    virtual uint32_t convert(const RgbFrames &frames, const YcbcrWeights &weights, void *cuda_stream) = 0;
};
std::unique_ptr<DeviceConverter> make_device_converter(std::shared_ptr<Device> device);

}  // namespace cudaenc
