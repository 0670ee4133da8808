// SPDX-License-Identifier: LGPL-2.1-or-later
// The deblocking filter on a device.
#pragma once
#include <array>
#include <memory>

#include "../device_objects.h"
#include "deblock_params.h"

namespace cudaenc::h264 {

// Of a picture in flight.
struct DeblockBuffers {
    DeviceArray<uint64_t> luma_records, chroma_records;
    DeviceArray<uint32_t> tickets;
    uint32_t pictures = 0;  // filtered so far; 0, as after errors: buffers are cleared, nothing is in flight
};

class DeviceDeblocker {
  public:
    // picture: its format and size; tables, macroblocks and vectors are not read. sample_bytes: 1 or 2, of 10 bits 2.
    DeviceDeblocker(std::shared_ptr<Device> device, const DeblockPicture &picture, const DeblockTables &tables,
                    int sample_bytes);
    DeblockBuffers make_buffers() const;

    struct Picture {
        std::array<DeblockPlane, 3> planes;    // filtered in place, of sample_bytes
        const DeblockMacroblock *macroblocks;  // in device memory, as the vectors
        const DeblockVector *vectors;
    };
    // Queues the filter of a picture. Not for graphs: parameters change with pictures.
    void filter(Device::Stream stream, DeblockBuffers &buffers, const Picture &picture) const;

  private:
    const std::shared_ptr<Device> device_;
    const DeblockPicture picture_;
    const int sample_bytes_;
    DeviceArray<DeblockTables> tables_;
};

}  // namespace cudaenc::h264
