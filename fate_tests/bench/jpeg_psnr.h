// SPDX-License-Identifier: LGPL-2.1-or-later
// PSNR of JPEG streams, by the tests' own decoder.
#pragma once
#include <vector>

#include "picture.h"

namespace cudaenc::bench {

// Against the frame, which is in host memory: over all samples of all components, which are decoded in double precision
// and rounded once. Throws Error where the stream is not as the standard has it.
double jpeg_psnr(const FrameFormat &format, const CudaencFrame &frame, const std::vector<uint8_t> &stream);

}  // namespace cudaenc::bench
