// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of plane_coder.cu.
#pragma once
#include "../../common/h264/plane_coder.h"
#include "../../common/kernel_name.h"

namespace cudaenc::h264 {

constexpr int kPlaneThreads = 128;  // blocks of a thread-block

struct PlaneArguments {
    BlockPlane plane;
    const int16_t *coefficients;  // [blocks][16]
    const CavlcTables *tables;
};
struct PlaneCountParams : PlaneArguments {
    static constexpr KernelName kernel{"h264/plane_coder", "h264_plane_count"};
    uint32_t *sizes;    // [blocks]: bits
    uint16_t *lengths;  // the same, or nullptr
};
struct PlaneCodeParams : PlaneArguments {
    static constexpr KernelName kernel{"h264/plane_coder", "h264_plane_code"};
    const uint64_t *offsets;  // [blocks]: bits before
    uint32_t *words;          // 0 before
};

}  // namespace cudaenc::h264
