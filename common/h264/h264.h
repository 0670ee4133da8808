// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <memory>

#include "../pipeline.h"
#include "params.h"

namespace cudaenc::h264 {

// The pipeline on CPU threads. threads 0: one per core.
std::unique_ptr<Encoder> make_cpu_encoder(const Params &params, int slots, int threads, bool stage_times);

// The same on a device, implemented in cuda_kernels/h264/h264_cuda.cpp.
std::unique_ptr<Encoder> make_device_encoder(const Params &params, int slots, int threads,
                                             std::shared_ptr<Device> device, bool device_frames, bool stage_times);

}  // namespace cudaenc::h264
