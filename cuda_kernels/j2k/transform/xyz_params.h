// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../../common/j2k/transform/xyz.h"
#include "../../../common/kernel_name.h"

namespace cudaenc::j2k {

constexpr int kXyzThreads = 128;

// Pixels to planes of X'Y'Z', see xyz_plane(). Grid: chunks of kXyzThreads kXyzPixels columns x rows.
struct XyzParams {
    static constexpr KernelName kernel{"j2k/transform/xyz", "j2k_xyz"};
    const SampleLayout *layout;  // [component], of this frame
    XyzConversion conversion;
    uint16_t *planes;
    int32_t width, height;
};

}  // namespace cudaenc::j2k
