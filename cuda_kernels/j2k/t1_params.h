// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../common/j2k/early_stop.h"
#include "../../common/j2k/mq.h"
#include "../../common/j2k/rate.h"
#include "../../common/j2k/tables.h"
#include "../../common/kernel_name.h"

namespace cudaenc::j2k {

// A context-decision pair is a byte: context << 1 | decision. A block's pairs lie in its slot, and its codeword takes
// their place. Styled kernels take any code-block style; those without do nothing for one.
struct Tier1Buffers {
    const CodeBlock *blocks;
    uint8_t *slots;   // CodeBlock::slot
    uint32_t *pairs;  // [block]: how many
    uint8_t *planes;  // [block]: magnitude bit-planes from the first that is coded; 0: nothing is
    uint8_t *passes;  // [block]: that are coded
    // [block * max_passes + pass]: pairs up to the end of a pass, then the bytes it needs, with the bypass alone only
    // where segments end.
    uint32_t *pass_ends;
    uint32_t *bytes;        // [block]: of the codeword, all segments
    uint32_t *work_counts;  // [kWorkClasses]: blocks of a class of work; zero before context modelling
    uint32_t count;         // of blocks
    int32_t max_passes;
    // With kCuttable, [block * max_passes + pass]; pass_ends are then the codeword's bytes if it is cut behind a pass.
    uint32_t *tails;      // what ends it there: CodewordEnd
    int32_t *gains;       // what the pass takes off the squared error: see rate.h
    uint32_t *registers;  // with kCuttable alone: scratch of MQ coding
    // With kCuttable alone, [block].
    uint8_t *certain;   // passes that are: see StopRule. Of these, pass_ends are of the last only, gains of none
    uint32_t *guesses;  // guessed_bytes()
    // With the bypass alone, [block * max_passes + pass], of an MQ segment's last pass: where it begins in the slot.
    uint32_t *segment_begins;
};

// What a kernel is made for: blocks without a style, those that are to be cut and have no other, the bypass alone, any
// style; or to look at blocks, of which it makes no pairs.
enum class Kind { kPlain, kCuttable, kBypass, kStyled, kLook };

// Blocks are coded in the order of their pairs, most first, by classes of kWorkPairs.
constexpr int kWorkClasses = 1024, kWorkPairs = 32;
CUDAENC_HD uint32_t work_class(uint32_t pairs) {
    return kWorkClasses - 1 - min_of<uint32_t>(pairs / kWorkPairs, kWorkClasses - 1);
}

// Context modelling of blocks of at most 32x32: a warp a block. Grid: ceil(count / kContextWarps).
constexpr int kContextWarps = 4;
struct ContextParams {
    static constexpr KernelName kernel{"j2k/t1_context", "j2k_t1_context"};
    Tier1Buffers t1;
    const uint32_t *coefficients;  // CodeBlock::coefficients
};
// ... with kCuttable alone. Blocks are left where search->stop says.
struct CuttableContextParams : ContextParams {
    static constexpr KernelName kernel{"j2k/t1_context", "j2k_t1_context_cuttable"};
    const PrecinctBand *bands;
    const RateSearch *search;  // nullptr: none is left
};
// ... of larger blocks: a warp a tile of 32x32, columns x rows warps a block. Grid: count.
struct ContextTiledParams {
    static constexpr KernelName kernel{"j2k/t1_context", "j2k_t1_context_tiled"};
    Tier1Buffers t1;
    const uint32_t *coefficients;
    int32_t columns, rows;  // of tiles; the block has columns * rows * 32 threads
};

struct CuttableContextTiledParams : ContextTiledParams {
    static constexpr KernelName kernel{"j2k/t1_context", "j2k_t1_context_tiled_cuttable"};
    const PrecinctBand *bands;
    const RateSearch *search;
};

// Finds the slope to stop at from a look at some blocks (early_stop.h); the last thread-block does.
struct LookBuffers {
    const Look *looks;  // [count]
    const PrecinctBand *bands;
    uint64_t *table;  // [kStopSlopes]: bytes; this and done: zero before, and after
    uint32_t *done;   // thread-blocks
    RateSearch *search;
    uint32_t count, layers;
};
// Grid: ceil(look.count / kContextWarps).
struct LookParams : ContextParams {
    static constexpr KernelName kernel{"j2k/t1_context", "j2k_t1_look"};
    LookBuffers look;
};
// ... of larger blocks. Grid: look.count.
struct LookTiledParams : ContextTiledParams {
    static constexpr KernelName kernel{"j2k/t1_context", "j2k_t1_look_tiled"};
    LookBuffers look;
};

// With a style a pass's pairs begin at multiples of kPassAlignment, behind some of kNoPair. Raw passes make no pairs
// but the bytes of their segments; their pass_ends count these.
constexpr uint32_t kNoPair = kContexts << 1;  // a context that the MQ coder makes nothing of
struct StyledContextParams : ContextParams {
    static constexpr KernelName kernel{"j2k/t1_context", "j2k_t1_context_styled"};
    uint32_t style;
};
// ... and for kBypass, with less to ask.
struct BypassContextParams : ContextParams {
    static constexpr KernelName kernel{"j2k/t1_context", "j2k_t1_context_bypass"};
};
struct StyledContextTiledParams : ContextTiledParams {
    static constexpr KernelName kernel{"j2k/t1_context", "j2k_t1_context_tiled_styled"};
    uint32_t style;
};
struct BypassContextTiledParams : ContextTiledParams {
    static constexpr KernelName kernel{"j2k/t1_context", "j2k_t1_context_tiled_bypass"};
};

// The order in which blocks are coded. Grid: ceil(count / kWorkClasses), of kOrderThreads.
constexpr int kOrderThreads = 256;
struct OrderParams {
    static constexpr KernelName kernel{"j2k/t1_order", "j2k_t1_order"};
    const uint32_t *pairs;        // [count]
    const uint32_t *work_counts;  // [kWorkClasses]
    uint32_t *taken;              // [kWorkClasses], zero before
    uint32_t *order;              // [count]
    uint32_t count;
};

// MQ coding: a lane a block. Grid: ceil(count / (kMqThreads / 32 * lanes)).
constexpr int kMqThreads = 32;
struct MqParams {
    static constexpr KernelName kernel{"j2k/t1_mq", "j2k_t1_mq"};
    Tier1Buffers t1;
    const uint32_t *order;  // [count]
    int32_t lanes;          // of a warp that take a block, 1 to 32
};
// What MQ coding of some of a block's passes leaves to those that follow.
struct alignas(16) MqProgress {
    uint32_t a, c, byte, word;  // of MqEncoder
    int32_t ct, at;
    uint32_t pairs;                       // that are coded
    uint32_t coded, raw;                  // bytes of segments that have ended
    uint32_t segment_pair, segment_pass;  // where the one that is coded began
    MqState contexts[kContexts];
};
struct StyledMqParams : MqParams {
    static constexpr KernelName kernel{"j2k/t1_mq", "j2k_t1_mq_styled"};
    uint32_t style;
};
struct CuttableMqParams : MqParams {
    static constexpr KernelName kernel{"j2k/t1_mq", "j2k_t1_mq_cuttable"};
};
// First: 2 % more frames/s with 8 and 16 in flight; where no pass is raw there is less in it (docs/benchmarks.md).
struct BypassMqParams : MqParams {
    static constexpr KernelName kernel{"j2k/t1_mq", "j2k_t1_mq_bypass", LaunchPriority::kHigh};
};

}  // namespace cudaenc::j2k
