// SPDX-License-Identifier: LGPL-2.1-or-later
// The region of interest: shifts its coefficients above all others.
#include "../../device.cuh"
#include "roi_params.h"

namespace cudaenc::j2k {

KERNEL(kRoiThreads, j2k_roi, RoiParams)
{
    const RoiBlock roi = p.roi_blocks[block_x()];
    const CodeBlock &block = p.blocks[roi.block];
    uint32_t *from = p.coefficients + block.coefficients + static_cast<uint64_t>(roi.y0) * block.stride + roi.x0;
    const int width = roi.x1 - roi.x0, count = width * (roi.y1 - roi.y0);
    for (int i = thread_x(); i < count; i += kRoiThreads) {
        uint32_t &coefficient = from[static_cast<uint64_t>(i / width) * block.stride + i % width];
        coefficient = shift_up(coefficient, p.shift);
    }
}

}  // namespace cudaenc::j2k
