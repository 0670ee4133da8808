// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames in host memory that is not pinned, on their way to a device. The driver would copy them by one thread.
#pragma once
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "../common/planes.h"
#include "../common/thread_pool.h"
#include "device_objects.h"

namespace cudaenc {

// The place of an uploaded plane among a frame's pixels.
struct UploadedPlane {
    size_t offset, pitch;
    PlaneSize size;
};

class FrameStaging {
  public:
    // planes: of `bytes` pixels. threads: that copy; 0: one per core, at most kMostThreads.
    FrameStaging(const std::shared_ptr<Device> &device, std::span<const UploadedPlane> planes, size_t bytes,
                 int threads);

    // Copies the frame to pinned memory, and queues its upload to `pixels` in the device's memory. The frame's memory
    // is free on return. What lies between rows is not defined.
    void upload(Device::Stream stream, uint8_t *pixels, const CudaencFrame &frame);

    static constexpr int kMostThreads = 8;  // enough for the rate of a link

  private:
    struct Piece {
        size_t plane, row, rows;
    };
    struct Buffer {
        PinnedArray<uint8_t> pixels;
        Event uploaded;
    };
    const std::shared_ptr<Device> device_;
    const std::vector<UploadedPlane> planes_;
    const size_t bytes_;
    std::vector<Piece> pieces_;      // that a thread copies at a time
    std::array<Buffer, 2> buffers_;  // one is filled while the other is read
    size_t next_ = 0;
    ThreadPool pool_;
};

}  // namespace cudaenc
