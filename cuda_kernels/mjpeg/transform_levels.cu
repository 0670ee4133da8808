// SPDX-License-Identifier: LGPL-2.1-or-later
// Levels in memory to samples.
#include "samples.cuh"

namespace cudaenc::mjpeg {

// A thread owns a block.
KERNEL(kTransformThreads, mjpeg_transform_levels, TransformLevelsParams)
{
    const uint32_t block = static_cast<uint32_t>(block_x() * kTransformThreads + thread_x());
    if (block >= p.blocks) return;
    const int y = p.by_columns.quotient(static_cast<int32_t>(block)), x = static_cast<int>(block) - y * p.columns;
    const int16_t *levels = p.levels + size_t{block} * kBlockSamples;
    transform_block([&](int index) { return dequantise(levels[index], p.divisors[index]); }, p.lowres, p.plane, x, y);
}

}  // namespace cudaenc::mjpeg
