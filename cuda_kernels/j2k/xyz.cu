// RGB and YUV to X'Y'Z', before all other stages. SPDX-License-Identifier: LGPL-2.1-or-later
#include "../device.cuh"
#include "xyz_params.h"

namespace cudaenc::j2k {

// A thread owns a pixel, a thread-block kXyzThreads of them in a row.
KERNEL(kXyzThreads, j2k_xyz, XyzParams)
{
    const int x = block_x() * kXyzThreads + thread_x(), y = block_y();
    if (x >= p.width) return;
    uint16_t codes[3];
    load_xyz(p.conversion, p.layout, p.width, p.height, x, y, codes);
    const uint64_t plane = static_cast<uint64_t>(p.width) * p.height;
    CUDAENC_UNROLL
    for (int i = 0; i < 3; i++) p.planes[i * plane + static_cast<uint64_t>(y) * p.width + x] = codes[i];
}

}  // namespace cudaenc::j2k
