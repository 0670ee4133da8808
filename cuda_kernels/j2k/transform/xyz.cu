// SPDX-License-Identifier: LGPL-2.1-or-later
// RGB and YUV to planes of X'Y'Z', where the first level of the 9/7 transform does not convert what it loads itself
// (see dwt.cu): with a LUT, without 9/7, for a target of PSNR.
#include "../../device.cuh"
#include "xyz_params.h"

namespace cudaenc::j2k {

// A thread owns kXyzPixels pixels of a row, and writes them at once. Those right of the picture repeat its last one.
KERNEL(kXyzThreads, j2k_xyz, XyzParams)
{
    const int x0 = (block_x() * kXyzThreads + thread_x()) * kXyzPixels, y = block_y();
    if (x0 >= p.width) return;
    SampleLayout layout[3];
    CUDAENC_UNROLL
    for (int c = 0; c < 3; c++) layout[c] = p.layout[c];
    uint64_t words[3] = {};
    CUDAENC_UNROLL
    for (int i = 0; i < kXyzPixels; i++) {
        uint16_t codes[3];
        load_xyz(p.conversion, layout, p.width, p.height, min_of(x0 + i, p.width - 1), y, codes);
        CUDAENC_UNROLL
        for (int c = 0; c < 3; c++) words[c] |= uint64_t{codes[c]} << 16 * i;
    }
    static_assert(kXyzPixels * sizeof(uint16_t) == sizeof(uint64_t));
    const int64_t stride = xyz_stride(p.width);
    CUDAENC_UNROLL
    for (int c = 0; c < 3; c++)
        *reinterpret_cast<uint64_t *>(p.planes + stride * (static_cast<int64_t>(c) * p.height + y) + x0) = words[c];
}

}  // namespace cudaenc::j2k
