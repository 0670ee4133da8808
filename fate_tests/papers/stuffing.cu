// SPDX-License-Identifier: LGPL-2.1-or-later
// Bit-stuffing of raw segments: algorithm 2 of Bruns and Martinez-del-Amor (2016), a thread a byte; and the encoder's
// way, a warp a segment, one byte 0xFF after the other.
//
// The paper's listing has two slips: `insert` takes the value of insertNew in each turn, and the mask of line 17 is
// 0x7F. It does not tell where segments end: here with the padding of T.800 D.6.
#include "../../cuda_kernels/j2k/t1/raw.cuh"
#include "../../cuda_kernels/look_back.cuh"
#include "stuffing_params.h"

namespace cudaenc::j2k {

// Eight bits from a place on; those that are not there are 0.
DEVICE uint32_t read_8_bits(auto &words, int32_t at) {
    if (at <= -8) return 0;
    if (at < 0) return words[0] >> (24 - at);
    if (at >= 32 * static_cast<int32_t>(kSegmentWords - 1)) return 0;
    const uint32_t i = static_cast<uint32_t>(at) / 32, shift = static_cast<uint32_t>(at) % 32;
    return (words[i] << shift | (shift ? words[i + 1] >> (32 - shift) : 0)) >> 24;
}

// How many of a thread's predecessors, one by one, have the flag; at most up to the first thread. With all threads.
DEVICE uint32_t run_before(bool flag, auto &ballots) {
    const uint32_t mask = warp_ballot(flag);
    block_sync();
    if (lane_id() == 0) ballots[warp_id()] = mask;
    block_sync();
    uint32_t run = 0;
    for (int t = thread_x() - 1; t >= 0; run++, t--)
        if (!(ballots[t / 32] >> (t % 32) & 1)) break;
    return run;
}

KERNEL(kStuffThreads, papers_stuff, StuffParams)
{
    SHARED(uint32_t, words, kSegmentWords);
    SHARED(uint32_t, ballots, kStuffThreads / 32);
    const uint32_t segment = static_cast<uint32_t>(block_x()), bits = p.lengths[segment];
    const int32_t tid = thread_x();
    for (uint32_t i = static_cast<uint32_t>(tid); i < kSegmentWords; i += kStuffThreads)
        words[i] = p.bits[segment * kSegmentWords + i];
    block_sync();
    if (tid == 0) {  // padding
        const uint64_t padding = static_cast<uint64_t>(kRawPadding) << (64 - kRawPaddingBits) >> bits % 32;
        words[bits / 32] |= static_cast<uint32_t>(padding >> 32);
        words[bits / 32 + 1] |= static_cast<uint32_t>(padding);
    }
    block_sync();
    bool insert = false;
    int32_t inserts_before = 0;
    uint32_t iterations = 0;
    for (;;) {
        iterations++;
        const int32_t left_at = (tid - 1) * 8 - inserts_before;
        const bool left_full = tid && left_at < static_cast<int32_t>(bits) && read_8_bits(words, left_at) == 0xFF;
        const uint32_t run = run_before(left_full, ballots);  // segmented exclusive scan
        const bool insert_now = left_full && run % 2 == 0;
        const bool changed = insert_now != insert;
        insert = insert_now;
        if (!block_any(changed)) break;
        inserts_before = static_cast<int32_t>(block_sums<kStuffThreads / 32>(insert ? 1u : 0u).before);
        block_sync();
    }
    const int32_t at = tid * 8 - inserts_before;
    uint32_t value = read_8_bits(words, at);
    if (insert) value = value >> 1 & 0x7F;
    // Bytes that have bits of the segment, and one behind 0xFF.
    const bool used = at < static_cast<int32_t>(bits) || insert;
    if (used) p.bytes[segment * kStuffThreads + static_cast<uint32_t>(tid)] = static_cast<uint8_t>(value);
    const uint32_t sizes = block_sums<kStuffThreads / 32>(used ? 1u : 0u).all;
    block_sync();
    const uint32_t stuffed = block_sums<kStuffThreads / 32>(insert ? 1u : 0u).all;
    if (tid == 0) {
        p.sizes[segment] = sizes;
        p.iterations[segment] = iterations;
        p.stuffed[segment] = stuffed;
    }
}

KERNEL(32 * kStuffWarps, papers_stuff_by_warp, WarpStuffParams)
{
    SHARED(uint32_t, raw, kStuffWarps *kTileRawWords);
    uint32_t *words = &raw[warp_id() * kTileRawWords];
    const uint32_t segment = static_cast<uint32_t>(block_x()) * kStuffWarps + static_cast<uint32_t>(warp_id());
    if (segment >= p.count) return;
    for (int i = lane_id(); i < kTileRawWords; i += 32)
        words[i] = static_cast<uint32_t>(i) < kSegmentWords
                       ? reverse_bits(p.bits[segment * kSegmentWords + static_cast<uint32_t>(i)])
                       : 0;
    warp_sync();
    const OneTile tile{nullptr};
    RawSegments<OneTile> segments{tile, words, p.bytes + segment * kStuffThreads};
    segments.bits = p.lengths[segment];
    const auto ends = segments.end(segments.bits);
    if (lane_id() == 0) p.sizes[segment] = ends.segment;
}

}  // namespace cudaenc::j2k
