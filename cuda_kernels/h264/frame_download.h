// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames in device memory, for coders that read samples on the host.
#pragma once
#include <memory>

#include "../../common/planes.h"
#include "../device_objects.h"

namespace cudaenc::h264 {

class FrameDownload {
  public:
    // Waits for the frame's producer and for its planes, one after the other. layouts: of its components; they get
    // pointers to what was downloaded, which stays until the next call.
    void download(const std::shared_ptr<Device> &device, const Stream &stream, const CudaencFormat &format,
                  const CudaencFrame &frame, SampleLayout *layouts) {
        size_t offsets[4], bytes[4], end = 0;
        for (int plane = 0; plane < format.planes; plane++) {
            const PlaneSize size = plane_size(format, plane);
            bytes[plane] = size.rows ? (size.rows - 1) * static_cast<size_t>(frame.stride[plane]) + size.row_bytes : 0;
            offsets[plane] = end;
            end += (bytes[plane] + 255) / 256 * 256;
        }
        if (end > bytes_) {
            pixels_ = std::make_unique<PinnedArray<uint8_t>>(device, end);
            bytes_ = end;
        }
        device->wait_foreign(stream, frame.cuda_stream);
        for (int plane = 0; plane < format.planes; plane++)
            if (bytes[plane])
                device->download(stream, pixels_->data() + offsets[plane], frame.data[plane], bytes[plane]);
        device->synchronize(stream);
        for (int c = 0; c < format.components; c++) {
            const CudaencComponent &k = format.component[c];
            layouts[c].data = pixels_->data() + offsets[k.plane] + k.offset;
        }
    }

  private:
    std::unique_ptr<PinnedArray<uint8_t>> pixels_;
    size_t bytes_ = 0;
};

}  // namespace cudaenc::h264
