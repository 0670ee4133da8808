// Tier-1 by bit-planes, for rate control that stops early. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../common/j2k/early_stop.h"
#include "t1_params.h"

namespace cudaenc::j2k {

// From the highest plane on: context modelling of a plane of all blocks that have it, its MQ coding, which context
// modelling of the plane below overlaps, and the choice of blocks that stop there. After Martinez-del-Amor et al.
// (2017), who call it CIBO. A plane is counted from the lowest; the style has kCuttable. What is kept between planes:
struct PlaneBuffers {
    Tier1Buffers t1;        // with work_counts of each plane: [plane * kWorkClasses], zero before
    uint32_t *bits;         // [(block * most_planes + plane) * columns + column]: magnitudes, bit y is row y
    uint32_t *negative;     // [block * columns + column]: signs
    uint32_t *significant;  // likewise: of the planes so far; those refined in them
    uint32_t *refined;
    uint32_t *planes;         // [block]: that are not all zero; zero before
    uint32_t *raw_bytes;      // [block]: of raw segments
    uint8_t *stopped;         // [block]: whether no more planes are coded
    MqProgress *progress;     // [block]
    uint32_t *active;         // [plane * count + index]: blocks that have the plane and have not stopped
    uint32_t *active_counts;  // [plane]: how many; zero before
    uint32_t *plane_pairs;    // [plane * count + index]: of active blocks
    uint32_t *taken;          // [plane * kWorkClasses]; zero before
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
    static constexpr KernelName kernel{"j2k/t1_context", "j2k_t1_slice"};
    PlaneBuffers buffers;
    const uint32_t *coefficients;  // CodeBlock::coefficients
};

// The list of active blocks. Grid: ceil(count / kActiveThreads).
constexpr int kActiveThreads = 256;
struct ActiveParams {
    static constexpr KernelName kernel{"j2k/t1_order", "j2k_t1_active"};
    PlaneBuffers buffers;
    int32_t plane;
    bool all;  // blocks, also those that are not active
};

struct PlaneParams {
    PlaneBuffers buffers;
    int32_t plane;
};
// Context modelling of a plane; grids as for all planes at once. With kCuttable alone, and with any style.
struct ContextPlaneParams : PlaneParams {
    static constexpr KernelName kernel{"j2k/t1_context", "j2k_t1_context_plane"};
};
struct StyledContextPlaneParams : PlaneParams {
    static constexpr KernelName kernel{"j2k/t1_context", "j2k_t1_context_plane_styled"};
};
struct ContextPlaneTiledParams : PlaneParams {
    static constexpr KernelName kernel{"j2k/t1_context", "j2k_t1_context_plane_tiled"};
};
struct StyledContextPlaneTiledParams : PlaneParams {
    static constexpr KernelName kernel{"j2k/t1_context", "j2k_t1_context_plane_tiled_styled"};
};

// The order in which a plane's active blocks are coded. Grid: ceil(count / kWorkClasses), of
// kOrderThreads.
struct OrderPlaneParams : PlaneParams {
    static constexpr KernelName kernel{"j2k/t1_order", "j2k_t1_order_plane"};
};

// MQ coding of a plane: a lane a block; no more lanes of a warp than are needed. Grid: at least ceil(count / 32).
struct MqPlaneParams : PlaneParams {
    static constexpr KernelName kernel{"j2k/t1_mq", "j2k_t1_mq_plane"};
};

// What active blocks' plane took, by slope. Grid: ceil(count / kActiveThreads).
struct PlaneCostParams : PlaneParams {
    static constexpr KernelName kernel{"j2k/t1_stop", "j2k_t1_plane_cost"};
    const PrecinctBand *bands;
    uint32_t *table;   // [kStopSlopes]: bytes so far; zero before the first plane
    uint16_t *slopes;  // [block]: of its last plane
};
// Stops blocks. Grid: ceil(count / kStopSlopes).
struct StopParams : PlaneParams {
    static constexpr KernelName kernel{"j2k/t1_stop", "j2k_t1_stop"};
    const uint32_t *table;
    const uint16_t *slopes;
    const uint64_t *budget;  // bytes of the frame; 0: nobody stops
    EarlyStop method;
};

}  // namespace cudaenc::j2k
