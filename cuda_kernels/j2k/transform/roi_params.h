// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../../common/j2k/codestream/tables.h"
#include "../../../common/j2k/transform/roi.h"
#include "../../../common/kernel_name.h"

namespace cudaenc::j2k {

constexpr int kRoiThreads = 256;

// Shifts up the coefficients of the region of interest. A thread-block owns a RoiBlock. Grid: their number.
struct RoiParams {
    static constexpr KernelName kernel{"j2k/transform/roi", "j2k_roi"};
    const RoiBlock *roi_blocks;
    const CodeBlock *blocks;
    uint32_t *coefficients;
    int32_t shift;
};

}  // namespace cudaenc::j2k
