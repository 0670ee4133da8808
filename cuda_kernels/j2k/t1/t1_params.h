// SPDX-License-Identifier: LGPL-2.1-or-later
// What the kernels of tier-1 work on, and their parameters.
#pragma once
#include "../../../common/j2k/t1/block.h"
#include "../../../common/j2k/t1/mq.h"
#include "../../../common/j2k/t1/stop.h"
#include "../../../common/kernel_name.h"

namespace cudaenc::j2k {

// Blocks are coded in the order of their symbols, most first, by classes of kWorkSymbols.
constexpr int kWorkClasses = 1024, kWorkSymbols = 32;
CUDAENC_HD uint32_t work_class(uint32_t symbols) {
    return kWorkClasses - 1 - min_of<uint32_t>(symbols / kWorkSymbols, kWorkClasses - 1);
}
struct WorkOrder {
    uint32_t counts[kWorkClasses];  // blocks of a class; zero before context modelling
    uint32_t taken[kWorkClasses];   // of these, that have a place in the order; zero before
};

// The MQ coder as it is where a pass ends, from which the codeword's end is worked out later: the pending byte's place;
// C below a 1; A | the pending byte << 16.
struct alignas(16) PassCoder {
    uint32_t at, c, rest, unused;
};

// A batch of blocks. A (CX,D) symbol is a byte: context << 1 | decision. A block's symbols lie in its room, and its
// codeword takes their place: see room_layout(). See BlockRecords.
struct Tier1Buffers {
    const CodeBlock *blocks;
    // pass_bytes: with the bypass alone of the last passes of segments; of passes that are always included, of the
    // last.
    BlockRecords coded;
    uint32_t *symbols;       // [block]: how many
    uint32_t *pass_ends;     // [pass]: symbols up to its end; of a raw pass, bytes of raw segments
    PassCoder *pass_coders;  // [pass]: of truncatable blocks without a style or with the bypass alone
    WorkOrder *work;
    uint32_t count;  // of blocks
    int32_t max_passes;
    bool lossy;  // BlockCoding::lossy
};

// Context modelling: coefficients to symbols. A block of at most 32x32 has a warp, kContextWarps a thread-block. Grid:
// ceil(count / kContextWarps). A larger one ("tiled") has a thread-block, with a warp a tile of 32x32. Grid: count, of
// tiles_x * tiles_y * 32 threads.
constexpr int kContextWarps = 4;
struct ContextInput {
    Tier1Buffers t1;
    const uint32_t *coefficients;  // CodeBlock::coefficients
    int32_t tiles_x, tiles_y;      // of the largest block
};
// Neither style nor truncation.
using ContextParams = KernelOf<ContextInput, "j2k/t1/context", "j2k_t1_context">;
using ContextTiledParams = KernelOf<ContextInput, "j2k/t1/context", "j2k_t1_context_tiled">;
// The bypass alone.
using BypassContextParams = KernelOf<ContextInput, "j2k/t1/context", "j2k_t1_context_bypass">;
using BypassContextTiledParams = KernelOf<ContextInput, "j2k/t1/context", "j2k_t1_context_tiled_bypass">;
// Any style. A pass's symbols begin at multiples of kPassAlignment, behind some of
// kNoSymbol, of which the MQ coder makes nothing. Raw passes make no symbols but the bytes of their segments.
constexpr uint32_t kNoSymbol = kContexts << 1;
struct StyledContextInput : ContextInput {
    uint32_t style;
};
using StyledContextParams = KernelOf<StyledContextInput, "j2k/t1/context", "j2k_t1_context_styled">;
using StyledContextTiledParams = KernelOf<StyledContextInput, "j2k/t1/context", "j2k_t1_context_tiled_styled">;
// Truncatable blocks, without a style, with the bypass alone, and with any. They end where the slope says.
struct PredictedContextInput : ContextInput {
    const BandCoding *bands;
    const StopSlope *stop;  // nullptr: none ends before its last pass
    RegionWeights regions;
};
using PredictedContextParams = KernelOf<PredictedContextInput, "j2k/t1/context", "j2k_t1_context_predicted">;
using PredictedContextTiledParams = KernelOf<PredictedContextInput, "j2k/t1/context", "j2k_t1_context_tiled_predicted">;
using BypassPredictedContextParams =
    KernelOf<PredictedContextInput, "j2k/t1/context", "j2k_t1_context_bypass_predicted">;
using BypassPredictedContextTiledParams =
    KernelOf<PredictedContextInput, "j2k/t1/context", "j2k_t1_context_tiled_bypass_predicted">;
struct StyledPredictedContextInput : PredictedContextInput {
    uint32_t style;
};
using StyledPredictedContextParams =
    KernelOf<StyledPredictedContextInput, "j2k/t1/context", "j2k_t1_context_styled_predicted">;
using StyledPredictedContextTiledParams =
    KernelOf<StyledPredictedContextInput, "j2k/t1/context", "j2k_t1_context_tiled_styled_predicted">;

// The order in which blocks are coded. Grid: ceil(count / kWorkClasses), of kOrderThreads.
constexpr int kOrderThreads = 256;
struct OrderParams {
    static constexpr KernelName kernel{"j2k/t1/mq", "j2k_t1_order"};
    const uint32_t *symbols;  // [count]
    WorkOrder *work;
    uint32_t *order;  // [count]
    uint32_t count;
};

// MQ coding: symbols to codewords, a lane a block. Grid: ceil(count / (kMqThreads / 32 * lanes)). The kernels are those
// of context modelling.
constexpr int kMqThreads = 32;
struct MqInput {
    Tier1Buffers t1;
    const uint32_t *order;  // [count]
    int32_t lanes;          // of a warp that take a block, 1 to 32
};
using MqParams = KernelOf<MqInput, "j2k/t1/mq", "j2k_t1_mq">;
// With high priority: 2 % more frames/s with 8 and 16 in flight. Without raw passes there is less in it. With a target
// there are 0.7 % fewer.
using BypassMqParams = KernelOf<MqInput, "j2k/t1/mq", "j2k_t1_mq_bypass", LaunchPriority::kHigh>;
struct StyledMqInput : MqInput {
    uint32_t style;
};
using StyledMqParams = KernelOf<StyledMqInput, "j2k/t1/mq", "j2k_t1_mq_styled">;
using StyledMeasuredMqParams = KernelOf<StyledMqInput, "j2k/t1/mq", "j2k_t1_mq_styled_measured">;
using MeasuredMqParams = KernelOf<MqInput, "j2k/t1/mq", "j2k_t1_mq_measured">;
using BypassMeasuredMqParams = KernelOf<MqInput, "j2k/t1/mq", "j2k_t1_mq_bypass_measured">;

}  // namespace cudaenc::j2k
