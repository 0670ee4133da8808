// Entropy decoding, dequantisation and inverse DCT (T.81 F.2.2, A.3.3): from coded data to planes.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include "samples.cuh"
#include "walk.cuh"

namespace cudaenc::mjpeg {

namespace {

using Half __attribute__((may_alias)) = int16_t;

// A sink of walk() that writes the levels of a warp's window.
struct LevelWriter {
    const CodedScan &scan;
    const uint8_t *zigzag;
    uint32_t *window;     // [kWindowBlocks][kBlockWords]
    uint32_t window_end;  // the number of the first block behind it
    uint32_t block;       // the number of the next block
    uint32_t limit;       // the first block behind the interval
    uint32_t dc_before[kMaxStreamComponents];
    uint32_t decoded = 0;
    bool damaged = false;

    DEVICE_MEMBER bool pauses() const { return block >= window_end; }
    DEVICE_MEMBER uint32_t place() const { return block - (window_end - kWindowBlocks); }
    // Blocks of broken data may have none.
    DEVICE_MEMBER bool has_place() const { return block < limit && place() < kWindowBlocks; }
    DEVICE_MEMBER Half *levels() const { return reinterpret_cast<Half *>(window + place() * kBlockWords); }
    DEVICE_MEMBER void dc(uint32_t component, int32_t difference, bool whole) {
        uint32_t dc = 0;
        CUDAENC_UNROLL
        for (uint32_t c = 0; c < kMaxStreamComponents; c++) {
            if (c != component) continue;
            dc_before[c] += static_cast<uint32_t>(difference);
            dc = dc_before[c];
        }
        if (!has_place()) return;
        levels()[0] = static_cast<int16_t>(dc);
        damaged |= !whole;
    }
    DEVICE_MEMBER void ac(int place, int32_t level) {
        if (has_place()) levels()[zigzag[place]] = static_cast<int16_t>(level);
    }
    DEVICE_MEMBER void broken() { damaged |= has_place(); }
    DEVICE_MEMBER void end_block() {
        decoded += has_place();
        block++;
    }
    // Blocks that are missing are missed in the sum of all.
    DEVICE_MEMBER void end_interval(uint32_t interval) { begin_interval(interval + 1, {}); }
    DEVICE_MEMBER void begin_interval(uint32_t interval, const RunSum &before) {
        const uint32_t first = min_of(interval, scan.intervals) * scan.interval_blocks;
        limit = min_of(first + scan.interval_blocks, scan.blocks);
        block = first + before.blocks;
        CUDAENC_UNROLL
        for (int c = 0; c < kMaxStreamComponents; c++) dc_before[c] = before.dc[c];
    }
};

// The samples of a block of the scan. levels: of its place in the window.
DEVICE void transform(const DecodeParams &p, const uint32_t *divisors, const Half *levels, uint32_t block) {
    const int32_t mcu = p.by_mcu_blocks.quotient(static_cast<int32_t>(block));
    const uint32_t in_mcu = block - static_cast<uint32_t>(mcu) * p.scan.mcu_blocks;
    const uint32_t c = field(p.scan.block_components, in_mcu);
    const BlockPlace place =
        block_of_mcu(p.grid, p.component_blocks[c], mcu, static_cast<int>(in_mcu - p.first_block[c]));
    transform_block([&](int index) { return dequantise(levels[index], static_cast<int32_t>(divisors[4 * index + c])); },
                    p.lowres, p.planes[c], place.x, place.y);
}

}  // namespace

// A thread owns a subsequence, a warp those of 32 threads. It decodes their blocks into its window, transforms them,
// and moves the window on.
KERNEL(kDecodeThreads, mjpeg_decode, DecodeParams)
{
    SHARED(DecodeTable, tables, kScanTables);
    SHARED(uint32_t, windows, kDecodeWarps *kWindowBlocks *kBlockWords);
    SHARED(uint32_t, divisors, kBlockSamples *kMaxStreamComponents);
    SHARED(uint8_t, zigzag, kBlockSamples);
    const uint32_t bits = 8 * p.scan.state->bytes;
    const uint32_t own = static_cast<uint32_t>(block_x() * kDecodeThreads + thread_x());
    if (static_cast<uint32_t>(block_x() * kDecodeThreads) * kSubsequenceBits >= bits) return;
    for (int i = thread_x(); i < kBlockSamples * kMaxStreamComponents; i += kDecodeThreads)
        divisors[i] = p.scan.tables->divisors[i / kMaxStreamComponents][i % kMaxStreamComponents];
    for (int i = thread_x(); i < kBlockSamples; i += kDecodeThreads) zigzag[i] = kZigzag[i];
    load_tables(p.scan, tables);

    uint32_t *window = &windows[warp_id() * kWindowBlocks * kBlockWords];
    const uint8_t *zigzag_places = zigzag;
    const uint32_t *all_divisors = divisors;
    LevelWriter writer{.scan = p.scan,
                       .zigzag = zigzag_places,
                       .window = window,
                       .window_end = 0,
                       .block = ~0u,
                       .limit = 0,
                       .dc_before = {}};
    BlockStart start{bits, 0};
    if (own * kSubsequenceBits < bits) {
        start = p.starts[own];
        const RunSum before = joined(p.tiles_before[own / kTileSubsequences], p.before[own]);
        if (start.bit < bits) writer.begin_interval(interval_at(p.scan, start.bit, bits / 8).number, before);
    }
    const uint32_t end = min_of((own + 1) * kSubsequenceBits, bits);
    for (bool active = start.bit < end; warp_any(active);) {
        // From the first block that is not decoded on.
        const uint32_t first = warp_min(active ? writer.block : ~0u);
        writer.window_end = first + kWindowBlocks;
        for (int i = lane_id(); i < kWindowBlocks * kBlockWords; i += 32) window[i] = 0;
        warp_sync();
        if (active) start = walk(p.scan, tables, start, end, writer);
        const uint32_t done = min_of(warp_max(active ? writer.block : 0), min_of(writer.window_end, p.scan.blocks));
        warp_sync();
        for (uint32_t block = first + static_cast<uint32_t>(lane_id()); block < done; block += 32)
            transform(p, all_divisors, reinterpret_cast<const Half *>(window + (block - first) * kBlockWords), block);
        warp_sync();
        active = active && start.bit < end;
    }
    const uint32_t decoded = warp_add(writer.decoded), damaged = warp_or(writer.damaged);
    if (lane_id() == 0) {
        atomic_add(&p.scan.state->blocks, decoded);
        if (damaged) atomic_or(&p.scan.state->damaged, 1u);
    }
}

}  // namespace cudaenc::mjpeg
