// SPDX-License-Identifier: LGPL-2.1-or-later
// CMYK that was decoded to planes, to RGB.
#include "../../device.cuh"
#include "inks_params.h"

namespace cudaenc::j2k {

// A thread owns a column of kInksRows rows.
KERNEL(kInksThreads, j2k_inks, InksParams)
{
    const int x = block_x() % p.pieces_a_row * kInksThreads + thread_x(), y0 = block_x() / p.pieces_a_row * kInksRows;
    if (x >= p.planes.width) return;
    for (int y = y0; y < min_of(y0 + kInksRows, p.planes.height); y++) inks_to_light(p.planes, x, y);
}

}  // namespace cudaenc::j2k
