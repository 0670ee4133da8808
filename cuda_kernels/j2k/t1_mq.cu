// Tier-1's arithmetic coding: pairs to codewords. The codeword takes the place of the pairs that it codes, which it
// never overtakes. SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../common/j2k/t1.h"

#include "../device.cuh"
#include "t1_params.h"

namespace cudaenc::j2k {

// A lane owns a block; its contexts are a column of shared memory, read for the next pair while this one is coded.
// Behind the last pair anything may stand, so there are 32.
KERNEL(kMqThreads, j2k_t1_mq, MqParams)
{
    // One array, since a second one's address costs instructions in the innermost loop.
    constexpr int kRows = 96;
    SHARED(MqState, memory, kRows + 32 * kMqThreads);
    const int thread = thread_x();
    for (int i = thread; i < kMqRows; i += kMqThreads) memory[i] = kMqTable.row[i];
    block_sync();
    MqState *const rows = memory, *const contexts = rows + kRows + thread;
    for (int i = 0; i < 32; i++) contexts[i * kMqThreads] = rows[mq_initial_row(i)];

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
    MqEncoder mq(slot);
    // Sixteen pairs a load, the next ones in flight; bytes are written behind what was loaded. Slots have room beyond
    // the last pair.
    const Uint4 *pairs = reinterpret_cast<const Uint4 *>(slot);
    Uint4 next = pairs[0];
    const auto context_of = [](uint32_t pair) { return (pair & 62) * (kMqThreads / 2); };
    MqState state = contexts[context_of(next.x)];
    const auto encode = [&](uint32_t pair, uint32_t following) {
        const uint32_t own = context_of(pair), other = context_of(following);
        const MqState ahead = contexts[other], after = mq.encode(state, pair, rows);
        contexts[own] = after;
        state = other == own ? after : ahead;
    };
    uint32_t i = 0;
    while (i + 16 <= count) {
        const Uint4 now = next;
        next = pairs[i / 16 + 1];
        const uint32_t words[5] = {now.x, now.y, now.z, now.w, next.x};
        CUDAENC_UNROLL
        for (int k = 0; k < 4; k++) {
            encode(words[k], words[k] >> 8);
            encode(words[k] >> 8, words[k] >> 16);
            encode(words[k] >> 16, words[k] >> 24);
            encode(words[k] >> 24, words[k + 1]);
            i += kPassGranule;
            while (end <= i) {  // a pass may be empty
                ends[pass++] = mq.sufficient_bytes();
                end = pass < passes ? ends[pass] : 0xFFFFFFFFu;
            }
        }
    }
    for (uint64_t low = uint64_t{next.y} << 32 | next.x, high = uint64_t{next.w} << 32 | next.z; i < count;) {
        encode(static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 8));
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
