// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../cuda_kernels/j2k/t1_params.h"

namespace cudaenc::j2k {

// Tier-1 by bit-planes, from the highest on: context modelling of a plane of all blocks that have it, then its MQ
// coding, which overlaps context modelling of the plane below. After Martinez-del-Amor et al. (2017), who call it CIBO.
// A plane is counted from the lowest. What blocks keep between planes:
struct PlaneBuffers {
    Tier1Buffers t1;        // with work_counts of each plane: [plane * kWorkClasses]
    uint32_t *bits;         // [(block * most_planes + plane) * columns + column]: magnitudes, bit y is row y
    uint32_t *negative;     // [block * columns + column]: signs
    uint32_t *significant;  // likewise: of the planes so far; those refined in them
    uint32_t *refined;
    uint32_t *planes;         // [block]: that are not all zero; zero before
    uint32_t *raw_bytes;      // [block]: of raw segments
    uint8_t *stopped;         // [block]: whether no more planes are coded
    MqProgress *progress;     // [block]
    uint32_t *active;         // [plane * count + index]: blocks that have the plane
    uint32_t *active_counts;  // [plane]: how many; zero before
    uint32_t *plane_pairs;    // [plane * count + index]: of active blocks
    uint32_t *taken;          // [plane * kWorkClasses], zero before
    uint32_t *order;          // [index]: active blocks of the plane that is coded, most pairs first
    int32_t most_planes;
    int32_t tiles_x, tiles_y;  // of 32x32 of a block; `columns` are 32 a tile
    uint32_t style;

    CUDAENC_HD uint32_t columns() const { return static_cast<uint32_t>(tiles_x * tiles_y) * 32; }
    CUDAENC_HD bool is_active(uint32_t block, int plane) const {
        return static_cast<int>(planes[block]) > plane && !stopped[block];
    }
};

// Coefficients to bit-planes: a warp a tile. Grid: ceil(count * tiles / kContextWarps).
struct SliceParams {
    static constexpr KernelName kernel{"t1_planes", "bench_t1_slice"};
    PlaneBuffers buffers;
    const uint32_t *coefficients;  // CodeBlock::coefficients
};

// The list of active blocks. Grid: ceil(count / kActiveThreads).
constexpr int kActiveThreads = 256;
struct ActiveParams {
    static constexpr KernelName kernel{"t1_planes", "bench_t1_active"};
    PlaneBuffers buffers;
    int32_t plane;
    bool all;  // blocks, also those that are not active
};

// Context modelling of a plane; grids as for all planes at once.
struct ContextPlaneParams {
    static constexpr KernelName kernel{"t1_planes", "bench_t1_context_plane"};
    PlaneBuffers buffers;
    int32_t plane;
};
struct ContextPlaneTiledParams : ContextPlaneParams {
    static constexpr KernelName kernel{"t1_planes", "bench_t1_context_plane_tiled"};
};

// The order in which a plane's active blocks are coded. Grid: ceil(count / kWorkClasses).
struct OrderPlaneParams : ContextPlaneParams {
    static constexpr KernelName kernel{"t1_planes", "bench_t1_order_plane"};
};

// MQ coding of a plane: a lane a block; no more lanes of a warp than are needed. Grid: at least ceil(count / 32).
struct MqPlaneParams : ContextPlaneParams {
    static constexpr KernelName kernel{"t1_planes", "bench_t1_mq_plane"};
};

}  // namespace cudaenc::j2k
