// SPDX-License-Identifier: LGPL-2.1-or-later
// Tier-1 by bit-planes, for rate control that stops early.
#pragma once
#include "../../../../common/j2k/rate/research/early_stop.h"
#include "../../t1/t1_params.h"

namespace cudaenc::j2k {

// CIBO of Martinez-del-Amor et al. (2017): from the highest bit-plane on, context modelling of a plane of all blocks
// that have it; its MQ coding, which context modelling of the plane below overlaps; and the choice of blocks that stop
// there. A plane is counted from the lowest. Blocks are truncatable.

// The state of MQ coding between two of a block's passes.
struct alignas(16) MqProgress {
    uint32_t a, c, byte, word;  // of MqEncoder
    int32_t ct, at;
    uint32_t symbols;                       // that are coded
    uint32_t coded, raw;                    // bytes of segments that have ended
    uint32_t segment_symbol, segment_pass;  // where the one that is coded began
    MqState contexts[kContexts];
};

// Where symbols lie. In rooms those of all planes have a place, and codewords take it, as where all planes are coded at
// once. Or those of two planes have memory of their own, as in the paper: one is coded, one is modelled. Then rooms
// have codewords alone, and place_codewords() tells how large they are. That is without raw passes.
enum class SymbolMemory { kRooms, kTwoPlanes };

// Bytes for the symbols of a plane: at most as many as room_layout() counts for one, filled up behind each pass, and
// what is loaded behind them.
CUDAENC_HD uint32_t plane_symbols_room(int width, int height) {
    const auto columns = static_cast<uint32_t>(width), rows = static_cast<uint32_t>(height);
    return round_up_room(2 * columns * rows + 2 * columns * ((rows + 3) / 4) + 3 * (kPassAlignment - 1) + 4 + 64);
}

// A room for a codeword alone: a quarter more than the samples take as they are, and what a plane can add. All that is
// certain of the MQ coder is that it makes fewer bytes than there are symbols. So a block that may not have room for
// its next plane ends there, and is counted.
constexpr uint32_t kMostEndingBytes = 5;  // of a segment, beyond its symbols
CUDAENC_HD uint32_t codeword_alone_room(int width, int height, int planes) {
    const auto samples = static_cast<uint32_t>(width * height), all = static_cast<uint32_t>(planes);
    return round_up_room(samples * (all + 1) * 5 / 32 + plane_symbols_room(width, height) +
                         kMostEndingBytes * static_cast<uint32_t>(coding_passes(planes)));
}

// What is kept between planes. `columns` are 32 a tile.
struct PlaneBuffers {
    Tier1Buffers t1;        // with `work` of each plane
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
    uint32_t *plane_symbols;  // [plane * count + index]: of active blocks
    uint32_t *order;          // [index]: active blocks of the plane that is coded, most symbols first
    uint8_t *symbols;         // [(plane % 2 * count + block) * symbols_stride]: of two planes; nullptr: in rooms
    uint32_t *overflowed;     // of two planes: blocks whose room was too small; zero before
    uint32_t symbols_stride;  // see plane_symbols_room()
    int32_t most_planes;
    int32_t tiles_x, tiles_y;  // of 32x32 of a block
    uint32_t style;

    CUDAENC_HD uint32_t columns() const { return static_cast<uint32_t>(tiles_x * tiles_y) * 32; }
    CUDAENC_HD uint8_t *symbols_of(uint32_t block, int plane) const {
        const uint64_t half = plane % 2 ? t1.count : 0;
        return symbols + (half + block) * symbols_stride;
    }
    CUDAENC_HD bool is_active(uint32_t block, int plane) const {
        return static_cast<int>(planes[block]) > plane && !stopped[block];
    }
};

// Coefficients to bit-planes: a warp a tile. Grid: ceil(count * tiles / kContextWarps).
struct SliceParams {
    static constexpr KernelName kernel{"j2k/rate/research/cibo", "j2k_cibo_slice"};
    PlaneBuffers buffers;
    const uint32_t *coefficients;  // CodeBlock::coefficients
};

struct PlaneInput {
    PlaneBuffers buffers;
    int32_t plane;
};
// The list of active blocks. Grid: ceil(count / kActiveThreads).
constexpr int kActiveThreads = 256;
struct ActiveParams : PlaneInput {
    static constexpr KernelName kernel{"j2k/rate/research/cibo", "j2k_cibo_active"};
    bool all;  // blocks, also those that are not active
};
// Context modelling of a plane; grids as for all planes at once. Without a style, and with any.
using ContextPlaneParams = KernelOf<PlaneInput, "j2k/rate/research/cibo", "j2k_cibo_context">;
using StyledContextPlaneParams = KernelOf<PlaneInput, "j2k/rate/research/cibo", "j2k_cibo_context_styled">;
using ContextPlaneTiledParams = KernelOf<PlaneInput, "j2k/rate/research/cibo", "j2k_cibo_context_tiled">;
using StyledContextPlaneTiledParams = KernelOf<PlaneInput, "j2k/rate/research/cibo", "j2k_cibo_context_tiled_styled">;
// The order in which a plane's active blocks are coded. Grid: ceil(count / kWorkClasses), of kOrderThreads.
using OrderPlaneParams = KernelOf<PlaneInput, "j2k/rate/research/cibo", "j2k_cibo_order">;
// MQ coding of a plane: a lane a block; no more lanes of a warp than are needed. Grid: at least ceil(count / 32).
using MqPlaneParams = KernelOf<PlaneInput, "j2k/rate/research/cibo", "j2k_cibo_mq">;
// What active blocks' plane took, by slope. Grid: ceil(count / kActiveThreads).
struct PlaneCostParams : PlaneInput {
    static constexpr KernelName kernel{"j2k/rate/research/cibo", "j2k_cibo_plane_cost"};
    const BandCoding *bands;
    uint32_t *table;  // [kStopBins]: bytes so far; zero before the first plane
    uint16_t *bins;   // [block]: of its last plane
};
// Stops blocks. Grid: ceil(count / kStopBins), of kStopBins.
struct StopParams : PlaneInput {
    static constexpr KernelName kernel{"j2k/rate/research/cibo", "j2k_cibo_stop"};
    const uint32_t *table;
    const uint16_t *bins;
    const uint64_t *budget;  // bytes of the frame; 0: nobody stops
    EarlyStop method;
};

}  // namespace cudaenc::j2k
