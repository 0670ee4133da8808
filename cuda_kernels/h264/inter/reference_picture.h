// SPDX-License-Identifier: LGPL-2.1-or-later
// A decoded picture in device memory that the next one refers to, see ReferencePicture.
#pragma once
#include <memory>

#include "device_plane.h"
#include "reference_params.h"

namespace cudaenc::h264 {

struct ReferencePlanes {
    MarginPlane luma[kHalfPlanes];  // of 8 bits, of one stride
    MarginPlane decoded[3];         // of decoded_sample_bytes(), of chroma of one stride; of bytes luma is luma[kWhole]
};
// Queues what follows from the decoded and filtered samples.
void complete_reference(Device &device, Device::Stream stream, const ReferencePlanes &planes, ChromaFormat format,
                        int bit_depth);

// Its memory, of 4:2:0 with 8 bits.
struct DeviceReference {
    DevicePlane luma[kHalfPlanes], chroma[2];

    // columns, rows: macroblocks.
    DeviceReference(const std::shared_ptr<Device> &device, int columns, int rows);
    operator ReferencePlanes() const;
    void complete(Device &device, Device::Stream stream) const {
        complete_reference(device, stream, *this, ChromaFormat::c420, 8);
    }
};

}  // namespace cudaenc::h264
