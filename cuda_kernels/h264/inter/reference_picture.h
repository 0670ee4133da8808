// SPDX-License-Identifier: LGPL-2.1-or-later
// A decoded picture in device memory that the next one refers to, see ReferencePicture. 4:2:0 of 8 bits.
#pragma once
#include <memory>

#include "device_plane.h"
#include "reference_params.h"

namespace cudaenc::h264 {

struct DeviceReference {
    DevicePlane luma[kHalfPlanes], chroma[2];

    // columns, rows: macroblocks.
    DeviceReference(const std::shared_ptr<Device> &device, int columns, int rows);
    // Queues what follows from the samples of luma[kWhole] and chroma, which are decoded and filtered.
    void complete(Device &device, Device::Stream stream) const;
};

}  // namespace cudaenc::h264
