// Where in coded data threads can begin to decode. Huffman codes synchronise themselves: a decoder that begins anywhere
// soon reads the symbols that are there (S. T. Klein, Y. Wiseman, "Parallel Huffman decoding with applications to JPEG
// files", 2003; A. Weissenberger, B. Schmidt, "Massively parallel Huffman decoding on GPUs", 2018).
// SPDX-License-Identifier: LGPL-2.1-or-later
#include "walk.cuh"

namespace cudaenc::mjpeg {

namespace {

// A sink of walk().
struct RunCounter {
    RunSum sum{};
    DEVICE_MEMBER bool pauses() const { return false; }
    DEVICE_MEMBER void dc(uint32_t component, int32_t difference, bool) {
        CUDAENC_UNROLL
        for (uint32_t c = 0; c < kMaxStreamComponents; c++)
            sum.dc[c] += c == component ? static_cast<uint32_t>(difference) : 0;
    }
    DEVICE_MEMBER void ac(int, int32_t) {}
    DEVICE_MEMBER void broken() {}
    DEVICE_MEMBER void end_block() { sum.blocks++; }
    DEVICE_MEMBER void end_interval(uint32_t) { sum = {.restarted = 1, .blocks = 0, .dc = {}}; }
};

DEVICE bool same(const BlockStart &a, const BlockStart &b) { return a.bit == b.bit && a.phase == b.phase; }

}  // namespace

// A thread owns a subsequence. It decodes from a guess, then anew from where the one before ends, until no end moves
// within the tile.
KERNEL(kTileSubsequences, mjpeg_synchronise, SynchroniseParams)
{
    SHARED(DecodeTable, tables, kScanTables);
    SHARED(BlockStart, ends, kTileSubsequences);
    const uint32_t tile = static_cast<uint32_t>(block_x());
    const uint32_t own = tile * kTileSubsequences + static_cast<uint32_t>(thread_x());
    if (tile * kTileBits >= 8 * p.scan.state->bytes) return;
    BlockStart first{tile * kTileBits, 0};  // of the tile
    if (p.again) {
        SHARED(uint64_t, end_before, 1);
        if (tile == 0) return;
        if (thread_x() == 0) end_before[0] = atomic_load(p.ends + tile - 1);
        block_sync();
        first = unpacked(end_before[0]);
        if (same(first, p.starts[tile * kTileSubsequences])) return;
    }
    load_tables(p.scan, tables);
    BlockStart start = thread_x() == 0 ? first : p.again ? p.starts[own] : BlockStart{own * kSubsequenceBits, 0};
    BlockStart end = start;
    RunCounter counter;
    for (bool moved = true; block_any(moved);) {
        if (moved) {
            counter = {};
            end = walk(p.scan, tables, start, (own + 1) * kSubsequenceBits, counter);
        }
        ends[thread_x()] = end;
        block_sync();
        const BlockStart now = thread_x() ? ends[thread_x() - 1] : first;
        moved = !same(start, now);
        start = now;
    }
    const RunSums sums = sum_runs<kTileSubsequences / 32>(counter.sum);
    p.starts[own] = start;
    p.before[own] = sums.before;
    if (thread_x() == kTileSubsequences - 1) {
        atomic_store(p.ends + tile, packed(end));
        p.sums[tile] = sums.all;
    }
}

// A thread owns a subsequence.
KERNEL(kTileSubsequences, mjpeg_sum_runs, SumRunsParams)
{
    SHARED(DecodeTable, tables, kScanTables);
    const uint32_t tile = static_cast<uint32_t>(block_x());
    const uint32_t own = tile * kTileSubsequences + static_cast<uint32_t>(thread_x());
    if (tile * kTileBits >= 8 * p.scan.state->bytes) return;
    load_tables(p.scan, tables);
    BlockStart start = p.starts[own];
    if (start.bit < 8 * p.scan.state->bytes)
        start.phase = joined(p.tiles_before[tile], p.before[own]).blocks % p.scan.mcu_blocks;
    RunCounter counter;
    walk(p.scan, tables, start, (own + 1) * kSubsequenceBits, counter);
    const RunSums sums = sum_runs<kTileSubsequences / 32>(counter.sum);
    p.starts[own] = start;
    p.before[own] = sums.before;
    if (thread_x() == kTileSubsequences - 1) p.sums[tile] = sums.all;
}

// A thread owns a tile of each round.
KERNEL(kSumTilesThreads, mjpeg_sum_tiles, SumTilesParams)
{
    const uint32_t tiles = min_of<uint32_t>(p.tiles, (8 * p.state->bytes + kTileBits - 1) / kTileBits);
    RunSum before{};
    for (uint32_t round = 0; round < tiles; round += kSumTilesThreads) {
        const uint32_t tile = round + static_cast<uint32_t>(thread_x());
        const RunSum own = tile < tiles ? p.sums[tile] : RunSum{};
        if (p.ends && tile && tile < tiles && !same(p.starts[tile * kTileSubsequences], unpacked(p.ends[tile - 1])))
            atomic_or(&p.state->damaged, 1u);
        const RunSums sums = sum_runs<kSumTilesThreads / 32>(own);
        if (tile < tiles) p.before[tile] = joined(before, sums.before);
        before = joined(before, sums.all);
    }
}

}  // namespace cudaenc::mjpeg
