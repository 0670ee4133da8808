// SPDX-License-Identifier: LGPL-2.1-or-later
// Tier-1 as it is ported first: a thread runs the sequential coder of a whole code-block, contexts and MQ coder at
// once, as in the GPU coders that Matela et al. (2010) set theirs against. The baseline of the benchmarks; no encoder
// uses it.
#include "../check/t1_sequential.h"

#include "../../cuda_kernels/device.cuh"
#include "plain_mq.h"
#include "t1_block_thread_params.h"

namespace cudaenc::j2k {

// table: shared, kMqRows.
template <class Mq>
DEVICE void code_by_thread(const BlockThreadInput &p, MqState *table) {
    for (int i = thread_x(); i < kMqRows; i += block_threads()) table[i] = kMqTable.row[i];
    block_sync();
    const uint32_t block = static_cast<uint32_t>(block_x()) * static_cast<uint32_t>(block_threads()) + thread_x();
    if (block >= p.count) return;
    const CodeBlock &b = p.blocks[block];
    const MqState *rows = table;
    using Sink = MqSinkOf<Mq>;
    Sink sink(p.codewords + p.rooms[block], p.pass_bytes + static_cast<uint64_t>(block) * p.max_passes, rows, {});
    SequentialCoder<Sink> coder(p.coefficients + b.coefficients, b.stride, b.width, b.height, b.orientation, 0,
                                p.flags + static_cast<uint64_t>(block) * p.flags_stride, sink);
    const CodedBlock coded = coder.code(p.lossy);
    p.planes[block] = coded.planes;
    p.passes[block] = coded.passes;
    p.bytes[block] = sink.finish();
}

KERNEL(kBlockThreadMost, bench_t1_block_thread, BlockThreadParams)
{
    SHARED(MqState, table, kMqRows);
    code_by_thread<MqEncoder>(p, table);
}

KERNEL(kBlockThreadMost, bench_t1_block_thread_plain, PlainBlockThreadParams)
{
    SHARED(MqState, table, kMqRows);
    code_by_thread<PlainMq>(p, table);
}

}  // namespace cudaenc::j2k
