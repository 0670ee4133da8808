// SPDX-License-Identifier: LGPL-2.1-or-later
// Intra macroblocks of P pictures on a device, as of PredictedPictureCoder.
#pragma once
#include <array>
#include <memory>

#include "../intra/intra_coder.h"
#include "device_inter_coder.h"
#include "intra_params.h"

namespace cudaenc::h264 {

class DeviceIntraMacroblocks {
  public:
    // intra: of the same device and format, which codes IDR pictures; it stays.
    DeviceIntraMacroblocks(std::shared_ptr<Device> device, const PictureFormat &format, const DeviceIntraCoder &intra);

    // Of a picture in flight.
    struct Buffers {
        DeviceArray<RankedModes> ranked;
        DeviceArray<uint8_t> candidates;
        DeviceArray<uint32_t> modes_below;
        DeviceArray<uint64_t> coded;
        DeviceArray<uint32_t> tickets;
        uint32_t pictures = 0;  // coded so far; 0, as after errors: buffers are cleared, nothing is in flight
    };
    Buffers make_buffers() const;

    // Arrays in device memory, of all macroblocks.
    struct Picture {
        std::array<SampleLayout, 3> components;  // the source
        MarginPlane luma;                        // the source's of 8 bits, of whole macroblocks
        MarginPlane decoded[3];                  // as DeviceInterCoder leaves it; gets intra macroblocks
        const int8_t *qps;                       // QPY
        const MacroblockSlice *slices;
        int drop_step;                    // is added
        const MotionEstimate *estimates;  // of the refinement
        RefreshColumns refresh = {};      // which are intra, whatever they cost
    };
    // Queues what source samples and slices alone take: before code(), on any stream that it waits for. slices:
    // nullptr: the format's.
    void rank(Device::Stream stream, const std::array<SampleLayout, 3> &components, const Buffers &buffers,
              const MacroblockSlice *slices = nullptr) const;
    // Queues the rest. inter: what DeviceInterCoder leaves; macroblocks that are cheaper as intra become so, with
    // motion that is not inter.
    void code(Device::Stream stream, const Picture &picture, const DeviceInterCoder::Results &inter,
              Buffers &buffers) const;

  private:
    const std::shared_ptr<Device> device_;
    const PictureFormat format_;
    const DeviceIntraCoder &intra_;
};

}  // namespace cudaenc::h264
