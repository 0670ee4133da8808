// SPDX-License-Identifier: LGPL-2.1-or-later
// The refinement of motion on a device, as MotionRefinement.
#pragma once
#include <memory>

#include "motion_search.h"
#include "reference_picture.h"
#include "refine_params.h"

namespace cudaenc::h264 {

class DeviceMotionRefinement {
  public:
    // columns, rows: macroblocks; vertical: the level's limit, in samples.
    DeviceMotionRefinement(std::shared_ptr<Device> device, int columns, int rows, int vertical);
    // Of a picture in flight. Results lie in motion[0] and estimates[0].
    struct Buffers {
        DeviceArray<MacroblockMotion> motion[2];
        DeviceArray<MotionEstimate> estimates[2];
    };
    Buffers make_buffers() const;

    // Queues the passes. qps: QPY of macroblocks, in device memory; drop_step is added. refresh: what
    // limits vectors.
    void find(Device::Stream stream, const DevicePlane &source, const ReferencePlanes &reference,
              const FoundMotion *found, const int8_t *qps, int drop_step, const RefreshColumns &refresh,
              const Buffers &buffers) const;

  private:
    const std::shared_ptr<Device> device_;
    const int columns_, rows_, vertical_;
    DeviceArray<uint32_t> lambdas_;
};

}  // namespace cudaenc::h264
