// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <memory>

#include "../../device_objects.h"
#include "margin_plane.h"

namespace cudaenc::h264 {

// A plane in device memory.
class DevicePlane {
  public:
    DevicePlane() = default;
    // A word more than rows have is readable behind the last one.
    DevicePlane(const std::shared_ptr<Device> &device, int width, int height, int sample_bytes = 1) {
        const int stride =
            static_cast<int>(ceil_div((width + 2 * kPlaneMargin) * sample_bytes + 3, kRowAlignment)) * kRowAlignment;
        memory_ = {device, static_cast<size_t>(stride) * static_cast<size_t>(height + 2 * kPlaneMargin) + 4};
        plane_ = {memory_.data() + kPlaneMargin * (stride + sample_bytes), stride, width, height};
    }
    const MarginPlane &plane() const { return plane_; }
    const DeviceArray<uint8_t> &memory() const { return memory_; }

  private:
    static constexpr int kRowAlignment = 128;  // bytes
    DeviceArray<uint8_t> memory_;
    MarginPlane plane_{};
};

}  // namespace cudaenc::h264
