// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of R, G and B to Y, Cb and Cr, see rgb.h. A thread owns 2x2 samples.
#include "device.cuh"
#include "rgb_params.h"

namespace cudaenc {

KERNEL(kRgbThreads, rgb_to_ycbcr, RgbParams)
{
    const int column = block_x() * kRgbThreads + thread_x();
    if (column >= p.frames.block_columns()) return;
    const uint32_t wrong = convert_block(p.frames, p.weights, block_z(), block_y(), column);
    if (wrong) atomic_max(p.wrong, wrong);
}

}  // namespace cudaenc
