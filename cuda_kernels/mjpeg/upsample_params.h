// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of upsample.cu.
#pragma once
#include "../../common/mjpeg/upsample.h"
#include "decode_params.h"

namespace cudaenc::mjpeg {

constexpr int kUpsampleThreads = 128;

struct UpsampledPlane {
    const uint8_t *from;  // other memory
    int64_t from_stride;
    OutputPlane to;
    int32_t double_x, double_y;
};
// Grid: row_blocks for each row of the largest plane; components.
struct UpsampleParams {
    static constexpr KernelName kernel{"mjpeg/upsample", "mjpeg_upsample", LaunchPriority::kHigh};
    UpsampledPlane plane[kMaxStreamComponents];
    int32_t row_blocks;
    Inks inks;
    bool rgb;  // of three components of one size
};

}  // namespace cudaenc::mjpeg
