// Tier-2 and the final gather: tag trees, packet headers, tile-part headers, and every codeword at its place. What a
// block adds is computed for all blocks at once; prefix sums of sizes in between (compact.h) give the places.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../common/j2k/codestream.h"
#include "../device.cuh"
#include "t2_params.h"

namespace cudaenc::j2k {

DEVICE uint32_t global_thread() { return static_cast<uint32_t>(block_x()) * kTier2Threads + thread_x(); }
DEVICE uint32_t global_warp() { return global_thread() / 32; }

DEVICE CodedBlock coded_block(const Tier2Buffers &t2, uint32_t block) {
    return {t2.bytes[block], t2.planes[block], {}};
}

KERNEL(kTier2Threads, j2k_t2_tag_trees, TagTreesParams)
{
    const PrecinctBand cell = p.t2.bands[block_x()];
    TagNode *below = p.t2.nodes + cell.nodes;
    for (uint32_t i = thread_x(); i < cell.columns * cell.rows; i += kTier2Threads) {
        const uint32_t block = cell.first_block + i;
        below[i] = tag_leaf(coded_block(p.t2, block), p.t2.blocks[block].planes, i);
    }
    for (int level = 1; level < tag_tree_levels(cell.columns, cell.rows); level++) {
        block_sync();
        const uint32_t below_columns = tag_tree_columns(cell.columns, level - 1),
                       below_rows = tag_tree_columns(cell.rows, level - 1);
        const uint32_t columns = tag_tree_columns(cell.columns, level), rows = tag_tree_columns(cell.rows, level);
        TagNode *nodes = below + below_columns * below_rows;
        for (uint32_t i = thread_x(); i < columns * rows; i += kTier2Threads)
            nodes[i] = tag_parent(below, below_columns, below_rows, i % columns, i / columns);
        below = nodes;
    }
}

// Whether anything is coded in a packet: the roots of its trees know.
DEVICE bool has_codewords(const Tier2Buffers &t2, const Packet &packet) {
    for (uint32_t i = packet.first_band; i < packet.last_band; i++) {
        const PrecinctBand &cell = t2.bands[i];
        uint32_t root = cell.nodes;
        for (int level = 0; level < tag_tree_levels(cell.columns, cell.rows) - 1; level++)
            root += tag_tree_columns(cell.columns, level) * tag_tree_columns(cell.rows, level);
        if (t2.nodes[root].first != kNoLeaf) return true;
    }
    return false;
}

// A packet's header before stuffing: one bit that says whether anything is coded, then its blocks' bits. Headers begin
// at whole words; one more word a packet makes up for the rounding.
DEVICE uint64_t raw_word(const Tier2Buffers &t2, uint32_t packet) {
    return t2.header_bits_before[t2.packets[packet].first_block] / 32 + packet;
}
DEVICE uint32_t raw_bits(const Tier2Buffers &t2, const Packet &packet) {
    return 1 +
           static_cast<uint32_t>(t2.header_bits_before[packet.last_block] - t2.header_bits_before[packet.first_block]);
}

// Bits into words that others write too.
struct BitWriter {
    uint32_t *words;
    uint32_t at;  // bits from words
    DEVICE_MEMBER void put(uint32_t value, int count) {
        if (!count) return;
        // The first bit is the highest of a word.
        const uint64_t bits = static_cast<uint64_t>(value) << (64 - count) >> (at % 32);
        const uint32_t high = static_cast<uint32_t>(bits >> 32), low = static_cast<uint32_t>(bits);
        if (high) atomic_or(&words[at / 32], high);
        if (low) atomic_or(&words[at / 32 + 1], low);
        at += static_cast<uint32_t>(count);
    }
};

KERNEL(kTier2Threads, j2k_t2_header_bits, HeaderBitsParams)
{
    const uint32_t i = global_thread();
    if (i >= p.t2.block_count) return;
    const CodeBlock &block = p.t2.blocks[i];
    BitCounter counter;
    if (has_codewords(p.t2, p.t2.packets[block.packet])) {
        const PrecinctBand &cell = p.t2.bands[block.cell];
        put_block_header(counter, cell, p.t2.nodes + cell.nodes, block.x, block.y, coded_block(p.t2, i));
    }
    p.t2.header_bits[i] = counter.bits;
}

KERNEL(kTier2Threads, j2k_t2_write_bits, WriteBitsParams)
{
    const uint32_t i = global_thread();
    if (i >= p.t2.block_count) return;
    const CodeBlock &block = p.t2.blocks[i];
    const Packet &packet = p.t2.packets[block.packet];
    if (raw_bits(p.t2, packet) == 1) return;
    BitWriter writer{
        p.t2.raw + raw_word(p.t2, block.packet),
        1 + static_cast<uint32_t>(p.t2.header_bits_before[i] - p.t2.header_bits_before[packet.first_block])};
    if (i == packet.first_block) {
        writer.at = 0;
        writer.put(1, 1);
    }
    const PrecinctBand &cell = p.t2.bands[block.cell];
    put_block_header(writer, cell, p.t2.nodes + cell.nodes, block.x, block.y, coded_block(p.t2, i));
}

// T.800 B.10.1: a zero bit is stuffed after each byte 0xFF, and shifts all that follows. Which bytes those are depends
// on the ones before, but few words have eight ones in a row at all: the warp finds these together, walks them one
// after the other, and then takes the bytes together again, window by window.
constexpr uint32_t kWindowWords = 256;
struct StuffingWindow {
    uint32_t words[kWindowWords + 1];   // the header's bits, and the word after them
    uint32_t runs[kWindowWords];        // words in which runs of eight ones begin, and where:
    uint32_t run_starts[kWindowWords];  // the first bit is the highest
    uint32_t full[kWindowWords * 4];    // bytes 0xFF of the window, by their number in the output
};

// Returns how many bytes the header of `count` bits takes, and writes them where `out` is not nullptr. Bits beyond
// `count` are zero up to the end of their word.
DEVICE uint32_t stuff_bits(const uint32_t *words, uint32_t count, StuffingWindow &window, uint8_t *out) {
    const uint32_t lane = static_cast<uint32_t>(lane_id()), below = (1u << lane) - 1, word_count = (count + 31) / 32;
    uint32_t next = 0;  // where the next byte that can be 0xFF begins
    uint32_t stuffed = 0, written = 0;
    for (uint32_t first = 0; first < word_count; first += kWindowWords) {
        for (uint32_t i = lane; i <= kWindowWords; i += 32)
            window.words[i] = first + i < word_count ? words[first + i] : 0;
        warp_sync();
        uint32_t run_count = 0;
        for (uint32_t i = lane; i < kWindowWords; i += 32) {
            uint64_t ones = uint64_t{window.words[i]} << 32 | window.words[i + 1];
            ones &= ones << 1;
            ones &= ones << 2;
            ones &= ones << 4;
            const uint32_t starts = static_cast<uint32_t>(ones >> 32), found = warp_ballot(starts != 0);
            if (starts) {
                const uint32_t at = run_count + static_cast<uint32_t>(popcount(found & below));
                window.runs[at] = first + i;
                window.run_starts[at] = starts;
            }
            run_count += static_cast<uint32_t>(popcount(found));
        }
        warp_sync();
        uint32_t full_count = 0;
        for (uint32_t r = 0; r < run_count; r++) {
            const uint32_t begin = window.runs[r] * 32;
            for (uint32_t starts = window.run_starts[r]; starts;) {
                const uint32_t bit = static_cast<uint32_t>(count_leading_zeros(starts)), at = begin + bit;
                starts &= ~(0x80000000u >> bit);
                if (at < next || (at - next) % 8) continue;
                if (lane == 0) window.full[full_count] = (at + stuffed + full_count) / 8;
                full_count++;
                next = at + 15;  // the byte after it has seven bits
            }
        }
        warp_sync();
        if (out) {
            const uint32_t end = min_of(count, (first + kWindowWords) * 32);
            uint32_t own = 0;
            for (uint32_t byte = written + lane;; byte += 32) {
                // Stuffed bits before this byte, by bisection; its own is the highest of one that follows 0xFF.
                uint32_t low = 0, high = full_count;
                while (low < high) {
                    const uint32_t middle = (low + high) / 2;
                    if (window.full[middle] < byte)
                        low = middle + 1;
                    else
                        high = middle;
                }
                const bool follows = low && window.full[low - 1] + 1 == byte;
                const uint32_t from = 8 * byte - stuffed - low + (follows ? 1 : 0);
                if (from >= end) break;
                const uint32_t *at = &window.words[from / 32 - first];
                out[byte] = static_cast<uint8_t>(funnel_shift_left(at[1], at[0], from % 32) >> (follows ? 25 : 24));
                own++;
            }
            written += warp_add(own);
        }
        stuffed += full_count;
        warp_sync();
    }
    // A header does not end with 0xFF: the bit stuffed after it makes one more byte.
    const uint32_t size = (count + stuffed + 7) / 8;
    if (out && lane == 0 && written < size) out[size - 1] = 0;
    return size;
}

KERNEL(kTier2Threads, j2k_t2_packet_sizes, PacketSizesParams)
{
    SHARED(StuffingWindow, windows, kTier2Threads / 32);
    const uint32_t i = global_warp();
    if (i >= p.t2.packet_count) return;
    const Packet &packet = p.t2.packets[i];
    const uint32_t header =
        stuff_bits(p.t2.raw + raw_word(p.t2, i), raw_bits(p.t2, packet), windows[warp_id()], nullptr) +
        (p.t2.sop ? kSopBytes : 0) + (p.t2.eph ? kEphBytes : 0);
    if (lane_id()) return;
    p.t2.segment_bytes[i + packet.tile + 1] = header;
    if (p.t2.plt_bytes)
        p.t2.plt_bytes[i] =
            plt_bytes(header + p.t2.bytes_before[packet.last_block] - p.t2.bytes_before[packet.first_block]);
}

KERNEL(kTier2Threads, j2k_t2_tile_sizes, TileSizesParams)
{
    const uint32_t i = global_thread();
    if (i >= p.t2.tile_count) return;
    const Tile &tile = p.t2.tiles[i];
    uint32_t size = kSotBytes + kSodBytes;
    if (p.t2.plt_bytes)
        size += static_cast<uint32_t>(p.t2.plt_before[tile.last_packet] - p.t2.plt_before[tile.first_packet]) +
                plt_segments(tile.last_packet - tile.first_packet) * kPltHeaderBytes;
    p.t2.segment_bytes[tile.first_packet + i] = size;
}

// Where a segment begins in the codestream; first_block: the first that lies behind its beginning.
DEVICE uint64_t segment_at(const Tier2Buffers &t2, const Codestream &out, uint32_t segment, uint32_t first_block) {
    return out.main_header + t2.segments_before[segment] + t2.bytes_before[first_block];
}
DEVICE uint64_t codestream_bytes(const Tier2Buffers &t2, const Codestream &out) {
    return segment_at(t2, out, t2.packet_count + t2.tile_count, t2.block_count) + 2;
}
// The first block of a tile, or of what follows it.
DEVICE uint32_t first_block_of(const Tier2Buffers &t2, uint32_t packet) {
    return packet < t2.packet_count ? t2.packets[packet].first_block : t2.block_count;
}

KERNEL(kTier2Threads, j2k_t2_write_headers, WriteHeadersParams)
{
    SHARED(StuffingWindow, windows, kTier2Threads / 32);
    const Tier2Buffers &t2 = p.t2;
    const uint64_t total = codestream_bytes(t2, p.out);
    const bool fits = total <= p.out.capacity;
    const uint32_t t = global_thread();
    if (t == 0) {
        p.out.result->bytes = total;
        if (fits) put_be16(p.out.data + total - 2, kEoc);
    }
    if (t < t2.tile_count) {
        const Tile &tile = t2.tiles[t];
        const uint64_t begin = segment_at(t2, p.out, tile.first_packet + t, first_block_of(t2, tile.first_packet));
        const uint64_t end = segment_at(t2, p.out, tile.last_packet + t + 1, first_block_of(t2, tile.last_packet));
        if (end - begin > 0xFFFFFFFFu) p.out.result->longest = end - begin;
        if (fits) {
            put_tile_header(p.out.data + begin, t, end - begin, tile.last_packet - tile.first_packet,
                            t2.plt_bytes ? t2.plt_before + tile.first_packet : nullptr);
            if (p.out.tlm) put_be32(p.out.data + p.out.tlm + tlm_entry(t) + 2, static_cast<uint32_t>(end - begin));
        }
    }
    const uint32_t i = global_warp();
    if (i >= t2.packet_count || !fits) return;
    const Packet &packet = t2.packets[i];
    uint8_t *at = p.out.data + segment_at(t2, p.out, i + packet.tile + 1, packet.first_block);
    if (t2.sop) {
        if (lane_id() == 0) put_sop(at, packet.in_tile);
        at += kSopBytes;
    }
    at += stuff_bits(t2.raw + raw_word(t2, i), raw_bits(t2, packet), windows[warp_id()], at);
    if (lane_id()) return;
    if (t2.eph) put_be16(at, kEph);
    if (t2.plt_bytes) {
        const uint32_t first = t2.tiles[packet.tile].first_packet;
        uint8_t *header = p.out.data + segment_at(t2, p.out, first + packet.tile, first_block_of(t2, first));
        put_plt_length(header, packet.in_tile, t2.plt_before[i] - t2.plt_before[first],
                       t2.segment_bytes[i + packet.tile + 1] + t2.bytes_before[packet.last_block] -
                           t2.bytes_before[packet.first_block]);
    }
}

KERNEL(kTier2Threads, j2k_t2_gather, GatherParams)
{
    const Tier2Buffers &t2 = p.t2;
    const uint32_t i = global_warp();
    if (i >= t2.block_count || codestream_bytes(t2, p.out) > p.out.capacity) return;
    const CodeBlock &block = t2.blocks[i];
    const Packet &packet = t2.packets[block.packet];
    // Behind the packet's header: where the segment after it would begin without the packet's codewords.
    uint8_t *to = p.out.data + segment_at(t2, p.out, block.packet + packet.tile + 2, i);
    const uint8_t *from = t2.slots + block.slot;
    const uint32_t size = t2.bytes[i], lane = static_cast<uint32_t>(lane_id());
    // Slots are aligned; the place is not. Bytes up to its first whole word, then words made of two, then bytes.
    const uint32_t head = min_of<uint32_t>(static_cast<uint32_t>(-reinterpret_cast<uintptr_t>(to)) & 3, size);
    if (lane < head) to[lane] = from[lane];
    const uint32_t words = (size - head) / 4;
    const uint32_t *source = reinterpret_cast<const uint32_t *>(from);
    uint32_t *target = reinterpret_cast<uint32_t *>(to + head);
    for (uint32_t k = lane; k < words; k += 32) target[k] = funnel_shift_right(source[k], source[k + 1], 8 * head);
    const uint32_t tail = head + 4 * words;
    if (lane < size - tail) to[tail + lane] = from[tail + lane];
}

}  // namespace cudaenc::j2k
