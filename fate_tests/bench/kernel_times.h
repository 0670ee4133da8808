// SPDX-License-Identifier: LGPL-2.1-or-later
// What each kernel of h264_cavlc_cuda takes.
#pragma once
#include <memory>

#include "measure.h"

namespace cudaenc::bench {

// Codes all frames twice, on one stream, and prints each kernel's launches and microseconds a frame of the second time.
// config: of H.264; its frames are in the memory of `device`.
void print_kernel_times(const std::shared_ptr<Device> &device, const CudaencConfig &config, const Frames &frames);

}  // namespace cudaenc::bench
