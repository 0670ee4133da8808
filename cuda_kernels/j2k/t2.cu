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

// A warp's view of a packet header's bits: a window of it in shared memory, since every step of the stuffing depends on
// the one before and must not wait for device memory.
constexpr uint32_t kWindowWords = 256;
struct HeaderWindow {
    const uint32_t *words;  // the header's
    uint32_t count;         // bits; those beyond are zero up to the end of their word
    uint32_t *window;       // shared: kWindowWords + 1
    uint32_t first, end;    // words in the window

    // Makes the 32 bytes from bit `from` readable.
    DEVICE_MEMBER void reach(uint32_t from) {
        const uint32_t last = (count + 31) / 32, need = min_of(from / 32 + 9, last);
        if (need <= end) return;
        warp_sync();
        first = from / 32;
        end = min_of(first + kWindowWords, last);
        for (uint32_t i = static_cast<uint32_t>(lane_id()); i <= kWindowWords; i += 32)
            window[i] = first + i < last ? words[first + i] : 0;
        warp_sync();
    }
    DEVICE_MEMBER uint32_t byte_at(uint32_t bit) const {
        const uint32_t *at = &window[bit / 32 - first];
        return funnel_shift_left(at[1], at[0], bit % 32) >> 24;
    }
};

// T.800 B.10.1: bytes of the header, a zero bit stuffed after each 0xFF. The warp takes 32 bytes at a time up to the
// first 0xFF. Returns how many bytes there are, and writes them where `out` is not nullptr.
DEVICE uint32_t stuff_bits(HeaderWindow header, uint8_t *out) {
    uint32_t from = 0, size = 0;
    bool stuffed = false;
    while (from < header.count) {
        header.reach(from);
        // Lane 0's byte has seven bits after a 0xFF.
        const uint32_t shorter = stuffed ? 1 : 0, lane = static_cast<uint32_t>(lane_id());
        const uint32_t begin = from + 8 * lane - (lane ? shorter : 0);
        const bool present = begin < header.count;
        const uint32_t byte = present ? header.byte_at(begin) >> (lane ? 0 : shorter) : 0;
        const uint32_t all = warp_ballot(present), full = warp_ballot(byte == 0xFF);
        const uint32_t used = static_cast<uint32_t>(full ? find_first_set(full) + 1 : popcount(all));
        if (out && lane < used) out[size + lane] = static_cast<uint8_t>(byte);
        size += used;
        from += 8 * used - shorter;
        stuffed = full != 0;
    }
    if (stuffed) {  // a header does not end with 0xFF
        if (out && lane_id() == 0) out[size] = 0;
        size++;
    }
    return size;
}

DEVICE HeaderWindow header_window(const Tier2Buffers &t2, uint32_t packet, uint32_t *window) {
    return {t2.raw + raw_word(t2, packet), raw_bits(t2, t2.packets[packet]), window, 0, 0};
}

KERNEL(kTier2Threads, j2k_t2_packet_sizes, PacketSizesParams)
{
    SHARED2(uint32_t, windows, kTier2Threads / 32, kWindowWords + 1);
    const uint32_t i = global_warp();
    if (i >= p.t2.packet_count) return;
    const Packet &packet = p.t2.packets[i];
    const uint32_t header = stuff_bits(header_window(p.t2, i, &windows[warp_id()][0]), nullptr) +
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
    SHARED2(uint32_t, windows, kTier2Threads / 32, kWindowWords + 1);
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
    at += stuff_bits(header_window(t2, i, &windows[warp_id()][0]), at);
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
