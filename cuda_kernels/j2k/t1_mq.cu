// Tier-1's arithmetic coding: pairs to codewords. The codeword takes the place of the pairs that it codes, which it
// never overtakes. SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../common/j2k/t1.h"

#include "../device.cuh"
#include "t1_params.h"

namespace cudaenc::j2k {

// A lane owns a block; its contexts are a column of shared memory.
KERNEL(kMqThreads, j2k_t1_mq, MqParams)
{
    SHARED2(MqState, contexts, kContexts, kMqThreads);
    SHARED(MqState, table, kMqRows);
    const int thread = thread_x();
    for (int i = thread; i < kMqRows; i += kMqThreads) table[i] = kMqTable.row[i];
    block_sync();
    for (int i = 0; i < kContexts; i++) contexts[i][thread] = table[mq_initial_row(i)];

    const uint32_t index = (static_cast<uint32_t>(block_x()) * (kMqThreads / 32) + warp_id()) * p.lanes + lane_id();
    if (lane_id() >= p.lanes || index >= p.t1.count) return;
    const uint32_t block = p.order[index];
    uint8_t *slot = p.t1.slots + p.t1.blocks[block].slot;
    const uint32_t count = p.t1.pairs[block];
    if (!count) {
        p.t1.bytes[block] = 0;
        return;
    }
    uint32_t *ends = p.t1.pass_ends + static_cast<uint64_t>(block) * p.t1.max_passes;
    const int passes = coding_passes(p.t1.planes[block]);
    int pass = 0;
    uint32_t end = ends[0];
    const MqState *rows = table;
    MqEncoder mq(slot);
    const auto encode = [&](uint32_t pair) { mq.encode(contexts[(pair >> 1) & 31][thread], pair & 1, rows); };

    // Sixteen pairs a load, the next ones in flight; bytes are written behind what was loaded. Slots have room beyond
    // the last pair.
    const Uint4 *pairs = reinterpret_cast<const Uint4 *>(slot);
    Uint4 next = pairs[0];
    uint32_t i = 0;
    while (i + 16 <= count) {
        const uint32_t words[4] = {next.x, next.y, next.z, next.w};
        next = pairs[i / 16 + 1];
        CUDAENC_UNROLL
        for (int k = 0; k < 4; k++) {
            encode(words[k]);
            encode(words[k] >> 8);
            encode(words[k] >> 16);
            encode(words[k] >> 24);
            i += kPassGranule;
            while (end <= i) {  // a pass may be empty
                ends[pass++] = mq.sufficient_bytes();
                end = pass < passes ? ends[pass] : 0xFFFFFFFFu;
            }
        }
    }
    for (uint64_t low = uint64_t{next.y} << 32 | next.x, high = uint64_t{next.w} << 32 | next.z; i < count;) {
        encode(static_cast<uint32_t>(low));
        low = low >> 8 | high << 56;
        high >>= 8;
        if (++i % kPassGranule) continue;
        while (end <= i) {
            ends[pass++] = mq.sufficient_bytes();
            end = pass < passes ? ends[pass] : 0xFFFFFFFFu;
        }
    }
    while (pass < passes) ends[pass++] = mq.sufficient_bytes();
    const uint32_t bytes = mq.flush();
    for (int k = 0; k < passes; k++) ends[k] = min_of(ends[k], bytes);
    ends[passes - 1] = bytes;
    p.t1.bytes[block] = bytes;
}

}  // namespace cudaenc::j2k
