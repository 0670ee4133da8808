// SPDX-License-Identifier: LGPL-2.1-or-later
// Coded data without stuffed zeros, fill bytes and restart markers (T.81 B.1.1.5).
#include "../device.cuh"
#include "../look_back.cuh"
#include "decode_params.h"

namespace cudaenc::mjpeg {

namespace {

using Byte __attribute__((may_alias)) = uint8_t;

constexpr int kWarps = kUnstuffThreads / 32;

// The bytes of a thread, and what each is: bit i is byte i.
struct Bytes {
    uint32_t word[kUnstuffBytes / 4];
    uint32_t kept, restarts, ends;
    DEVICE_MEMBER uint32_t byte(int i) const { return word[i / 4] >> 8 * (i % 4) & 0xFF; }
};

// With all threads. The data may lie in the host's memory, from which nothing is read twice but at a warp's ends.
DEVICE Bytes load_bytes(const UnstuffPicture &p, uint32_t place) {
    Bytes b{};
    const bool any = place < p.bytes;
    if (any) {
        const Uint4 four = load_readonly(reinterpret_cast<const Uint4 *>(p.data + place));
        b.word[0] = four.x, b.word[1] = four.y, b.word[2] = four.z, b.word[3] = four.w;
    }
    uint32_t before = warp_shuffle_up(b.byte(kUnstuffBytes - 1), 1), behind = warp_shuffle_down(b.byte(0), 1);
    if (!any) return b;
    if (lane_id() == 0) before = place ? p.data[place - 1] : 0;
    if (lane_id() == 31 && place + kUnstuffBytes < p.bytes) behind = p.data[place + kUnstuffBytes];
    const int count = static_cast<int>(min_of<uint32_t>(p.bytes - place, kUnstuffBytes));
    CUDAENC_UNROLL
    for (int i = 0; i < kUnstuffBytes; i++) {
        const uint32_t byte = b.byte(i);
        const bool here = i < count;
        // What follows the last byte is like another 0xFF, which keeps nothing.
        const uint32_t next = place + static_cast<uint32_t>(i) + 1 >= p.bytes ? 0xFF
                              : i + 1 < kUnstuffBytes                         ? b.byte(i + 1)
                                                                              : behind;
        const bool code = here && before == 0xFF && byte != 0xFF && byte != 0;
        const bool restart = code && (byte & 0xF8) == 0xD0;
        b.kept |= static_cast<uint32_t>(here && (byte == 0xFF ? next == 0 : before != 0xFF)) << i;
        b.restarts |= static_cast<uint32_t>(restart) << i;
        b.ends |= static_cast<uint32_t>(code && !restart) << i;
        before = byte;
    }
    return b;
}

// The place of a byte in words whose first byte is the highest.
DEVICE uint32_t in_word(uint32_t place) { return place ^ 3; }

// Writes a tile's bytes, `staged` from byte base % 4 on, to out[base]. Adjacent tiles share words.
DEVICE void copy_staged(const uint32_t *staged, uint8_t *out, uint32_t base, uint32_t count) {
    const uint32_t head = base & 3;
    const Byte *bytes = reinterpret_cast<const Byte *>(staged);
    uint8_t *to = out + (base - head);
    for (uint32_t word = static_cast<uint32_t>(thread_x()); 4 * word < head + count; word += kUnstuffThreads) {
        const uint32_t first = 4 * word, last = first + 4;
        if (first >= head && last <= head + count)
            reinterpret_cast<uint32_t *>(to)[word] = staged[word];
        else
            for (uint32_t i = max_of(first, head); i < min_of(last, head + count); i++)
                to[in_word(i)] = bytes[in_word(i)];
    }
}

// A thread owns 16 bytes. Thread-blocks find their places by look-back.
DEVICE void unstuff(const UnstuffPicture &p, uint32_t tile) {
    SHARED(uint32_t, staged, kUnstuffTile / 4 + 1);
    SHARED(uint64_t, sums_before, 2);
    const uint32_t place = tile * kUnstuffTile + static_cast<uint32_t>(thread_x()) * kUnstuffBytes;
    const Bytes b = load_bytes(p, place);
    const BlockSums<uint32_t> kept = block_sums<kWarps>(static_cast<uint32_t>(popcount(b.kept)));
    block_sync();  // block_sums() has one array
    const BlockSums<uint32_t> restarts = block_sums<kWarps>(static_cast<uint32_t>(popcount(b.restarts)));
    if (warp_id() == 0) {
        const uint64_t before = sum_before(p.kept_words, tile, p.serial, kept.all);
        const uint64_t restarts_before =
            p.intervals > 1 ? sum_before(p.restart_words, tile, p.serial, restarts.all) : 0;
        if (lane_id() == 0) sums_before[0] = before, sums_before[1] = restarts_before;
    }
    block_sync();
    const uint32_t base = static_cast<uint32_t>(sums_before[0]);
    uint32_t *const words = staged;
    Byte *const bytes = reinterpret_cast<Byte *>(words);
    uint32_t local = kept.before, interval = static_cast<uint32_t>(sums_before[1]) + restarts.before;
    for (int i = 0; i < kUnstuffBytes; i++) {
        if (b.kept >> i & 1) bytes[in_word((base & 3) + local++)] = static_cast<uint8_t>(b.byte(i));
        if (b.restarts >> i & 1) {
            if (++interval >= p.intervals)
                atomic_min(&p.state->excess, base + local);
            else
                p.restarts[interval] = base + local;
            if (interval < p.intervals && ((interval - 1) & 7) != (b.byte(i) & 7)) atomic_or(&p.state->damaged, 1u);
        }
        if (b.ends >> i & 1) atomic_min(&p.state->bytes, base + local);
    }
    if (tile == p.tiles - 1 && thread_x() == 0) atomic_min(&p.state->bytes, base + kept.all);
    block_sync();
    copy_staged(words, p.out, base, kept.all);
}

// Each of kRunBlocks thread-blocks copies some words of the tables and makes some runs.
DEVICE void keep_tables(const UnstuffPicture &p, uint32_t block) {
    const uint32_t run = block * kUnstuffThreads + static_cast<uint32_t>(thread_x()), table = run / kRuns;
    constexpr uint32_t kVectors = sizeof(ScanTables) / sizeof(Uint4);
    static_assert(kVectors <= kRunBlocks * kUnstuffThreads);
    if (run < kVectors)
        reinterpret_cast<Uint4 *>(p.tables)[run] = load_readonly(reinterpret_cast<const Uint4 *>(p.uploaded) + run);
    const uint32_t first = p.uploaded->run_first[table], then = p.uploaded->run_then[table];
    if (first == kNoTable) return;
    const DecodeTable *const tables = p.uploaded->table;
    p.runs[run] = run_of(tables + first, then == kNoTable ? nullptr : tables + then, run % kRuns).packed();
}

}  // namespace

// A thread-block owns a tile.
KERNEL(kUnstuffThreads, mjpeg_unstuff, UnstuffParams)
{
    const UnstuffPicture &picture = p.picture[block_y()];
    const uint32_t tile = take_ticket(&picture.state->tickets);
    if (tile == 0 && thread_x() == 0) *picture.next_state = ScanState{};
    if (tile < picture.tiles) unstuff(picture, tile);
    if (picture.uploaded && tile < kRunBlocks) keep_tables(picture, tile);
}

}  // namespace cudaenc::mjpeg
