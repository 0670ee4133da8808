// SPDX-License-Identifier: LGPL-2.1-or-later
// A decoded picture in device memory that the next one refers to, see ReferencePicture. 4:2:0 of 8 bits.
#pragma once
#include <memory>

#include "device_plane.h"
#include "reference_params.h"

namespace cudaenc::h264 {

struct ReferencePlanes {
    MarginPlane luma[kHalfPlanes];  // of one stride
    MarginPlane chroma[2];          // likewise
};
// Queues what follows from the samples of luma[kWhole] and chroma, which are decoded and filtered.
void complete_reference(Device &device, Device::Stream stream, const ReferencePlanes &planes);

// Its memory.
struct DeviceReference {
    DevicePlane luma[kHalfPlanes], chroma[2];

    // columns, rows: macroblocks.
    DeviceReference(const std::shared_ptr<Device> &device, int columns, int rows);
    operator ReferencePlanes() const;
    void complete(Device &device, Device::Stream stream) const { complete_reference(device, stream, *this); }
};

}  // namespace cudaenc::h264
