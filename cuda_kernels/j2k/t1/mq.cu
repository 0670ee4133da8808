// SPDX-License-Identifier: LGPL-2.1-or-later
// MQ coding of whole blocks: their order, then a lane a block.
#include "mq.cuh"
#include "order.cuh"

namespace cudaenc::j2k {

KERNEL(kOrderThreads, j2k_t1_order, OrderParams)
{
    order_by_work(p.symbols, *p.work, p.count, [&](uint32_t place, uint32_t block) { p.order[place] = block; });
}

// memory: the table's rows, then contexts; one array, since a second address costs instructions in the inner loop.
template <StyleVariant kStyle, bool kMeasures>
DEVICE void code_blocks(const MqInput &p, uint32_t style, MqState *memory) {
    load_mq_table(memory);
    const uint32_t index = (static_cast<uint32_t>(block_x()) * (kMqThreads / 32) + warp_id()) * p.lanes + lane_id();
    if (lane_id() >= p.lanes || index >= p.t1.count) return;
    MqBlock<kStyle, kMeasures>(p.t1, p.order[index], style, memory, memory + kMqTableRows + thread_x(), WholeBlock{})
        .run();
}

KERNEL(kMqThreads, j2k_t1_mq, MqParams)
{
    SHARED(MqState, memory, kMqWords);
    code_blocks<StyleVariant::kNone, false>(p, 0, memory);
}

KERNEL(kMqThreads, j2k_t1_mq_measured, MeasuredMqParams)
{
    SHARED(MqState, memory, kMqWords);
    code_blocks<StyleVariant::kNone, true>(p, 0, memory);
}

KERNEL(kMqThreads, j2k_t1_mq_bypass, BypassMqParams)
{
    SHARED(MqState, memory, kMqWords);
    code_blocks<StyleVariant::kBypass, false>(p, kBypass, memory);
}

KERNEL(kMqThreads, j2k_t1_mq_bypass_measured, BypassMeasuredMqParams)
{
    SHARED(MqState, memory, kMqWords);
    code_blocks<StyleVariant::kBypass, true>(p, kBypass, memory);
}

KERNEL(kMqThreads, j2k_t1_mq_styled, StyledMqParams)
{
    SHARED(MqState, memory, kMqWords);
    code_blocks<StyleVariant::kAny, false>(p, p.style, memory);
}

KERNEL(kMqThreads, j2k_t1_mq_styled_measured, StyledMeasuredMqParams)
{
    SHARED(MqState, memory, kMqWords);
    code_blocks<StyleVariant::kAny, true>(p, p.style, memory);
}

}  // namespace cudaenc::j2k
