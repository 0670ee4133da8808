// SPDX-License-Identifier: LGPL-2.1-or-later
// Tier-2 and the final gather: tag trees, packet headers, tile-part headers, and each codeword in its place. All block
// layers are sized at once. Prefix sums of the sizes (compact.h) give the places.
#include "../../../common/j2k/codestream/markers.h"
#include "../../../common/j2k/t1/step.h"
#include "../../bits.cuh"
#include "../../device.cuh"
#include "t2.cuh"

namespace cudaenc::j2k {

DEVICE uint32_t global_thread() { return static_cast<uint32_t>(block_x()) * kTier2Threads + thread_x(); }
DEVICE uint32_t global_warp() { return global_thread() / 32; }

// The first block layer behind a packet's.
DEVICE uint32_t last_block_layer(const Packet &packet) {
    return packet.first_block_layer + (packet.last_block - packet.first_block);
}

KERNEL(kTagTreeThreads, j2k_t2_tag_trees, TagTreesParams)
{
    SHARED(uint32_t, layers, kLayerWords);
    build_tag_trees(p.t2, static_cast<uint32_t>(block_x()), layers);
}

// A packet's header before stuffing: one bit that says whether anything is coded, then its blocks' bits. Headers begin
// at whole words; one more word a packet makes up for the rounding.
DEVICE uint64_t raw_word(const Tier2Buffers &t2, uint32_t packet) {
    return t2.header_bits_before[t2.packets[packet].first_block_layer] / 32 + packet;
}
DEVICE uint32_t raw_bits(const Tier2Buffers &t2, const Packet &packet) {
    return 1 + static_cast<uint32_t>(t2.header_bits_before[last_block_layer(packet)] -
                                     t2.header_bits_before[packet.first_block_layer]);
}

// Puts bits into words that other threads write too.
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
    if (i >= p.t2.block_layer_count) return;
    const BlockLayer own = block_layer(p.t2, i);
    p.t2.header_bits[i] = header_bits(p.t2, own);
    p.t2.bytes[i] = layers_of(p.t2, own.block).bytes_of(own.packet.layer);
}

KERNEL(kTier2Threads, j2k_t2_write_bits, WriteBitsParams)
{
    const uint32_t i = global_thread();
    if (i >= p.t2.block_layer_count) return;
    const BlockLayer own = block_layer(p.t2, i);
    if (raw_bits(p.t2, own.packet) == 1) return;
    const uint32_t first = own.packet.first_block_layer;
    BitWriter writer{p.t2.raw + raw_word(p.t2, p.t2.block_layers[i]),
                     1 + static_cast<uint32_t>(p.t2.header_bits_before[i] - p.t2.header_bits_before[first])};
    if (i == first) {
        writer.at = 0;
        writer.put(1, 1);
    }
    put_block(writer, p.t2, own);
}

// T.800 B.10.1 stuffs a zero bit after each byte 0xFF, which shifts all that follows. So which bytes are 0xFF depends
// on all bytes before. But a word is a small function. Its argument is the position in the word where the next byte
// begins that can be 0xFF: 0 to 14, since the byte after a 0xFF has seven bits and cannot be one. Its value is that
// position in the next word, and the number of bytes 0xFF on the way. Threads compute the functions of a few words
// each, for all positions. One thread walks the functions. Then the words' positions are known.
constexpr int kPositions = 15;
constexpr uint32_t kStuffingWords = 64;  // of a thread at a time: at most 137 bytes 0xFF, which fit a byte

// A function of position: four bits of each value, and eight bits of each count, two words of them.
struct StuffingFunction {
    uint64_t position;
    uint64_t full[2];
};

// From the position in a word to that in the next. Counts the bytes 0xFF that begin on the way.
DEVICE uint32_t pass_word(uint32_t position, uint32_t runs, uint32_t &full) {
    while (position < 32) {
        const uint32_t found = runs & (0x80808080u >> (position & 7)) & (0xFFFFFFFFu >> position);
        if (!found) return position & 7;
        position = static_cast<uint32_t>(count_leading_zeros(found)) + 15;
        full++;
    }
    return position - 32;
}

// Of a packet's codewords.
DEVICE uint64_t codeword_bytes(const Tier2Buffers &t2, const Packet &packet) {
    return t2.bytes_before[last_block_layer(packet)] - t2.bytes_before[packet.first_block_layer];
}

// The state of a header's word: where in it the next byte begins, and how many bits are stuffed before.
DEVICE uint32_t pack_state(uint32_t position, uint32_t stuffed) { return stuffed << 4 | position; }

// A thread-block owns a packet.
KERNEL(kStuffingThreads, j2k_t2_packet_sizes, PacketSizesParams)
{
    SHARED(StuffingFunction, functions, kStuffingThreads);
    SHARED(uint32_t, states, kStuffingThreads + 1);
    const uint32_t packet_index = static_cast<uint32_t>(block_x()), thread = static_cast<uint32_t>(thread_x());
    const Packet &packet = p.t2.packets[packet_index];
    const uint64_t raw = raw_word(p.t2, packet_index);
    const uint32_t *words = p.t2.raw + raw;
    const uint32_t bits = raw_bits(p.t2, packet), word_count = (bits + 31) / 32;
    const auto runs_at = [&](uint32_t i) { return runs_of_ones(words[i], i + 1 < word_count ? words[i + 1] : 0); };
    uint32_t state = 0;
    for (uint32_t first = 0; first < word_count;) {
        const uint32_t each = min_of((word_count - first + kStuffingThreads - 1) / kStuffingThreads, kStuffingWords);
        const uint32_t begin = min_of(first + thread * each, word_count), end = min_of(begin + each, word_count);
        StuffingFunction f{0xEDCBA9876543210u, {0, 0}};
        for (uint32_t i = begin; i < end; i++) {
            const uint32_t runs = runs_at(i);
            if (!runs) {
                f.position &= 0x777777777777777u;
                continue;
            }
            for (int k = 0; k < kPositions; k++) {
                uint32_t full = 0;
                const uint64_t position = pass_word(static_cast<uint32_t>(f.position >> (4 * k)) & 15, runs, full);
                f.position = (f.position & ~(uint64_t{15} << (4 * k))) | position << (4 * k);
                f.full[k >> 3] += uint64_t{full} << (8 * (k & 7));
            }
        }
        functions[thread] = f;
        block_sync();
        if (thread == 0) {
            uint32_t position = state & 15, stuffed = state >> 4;
            for (int k = 0; k < kStuffingThreads; k++) {
                states[k] = pack_state(position, stuffed);
                const StuffingFunction &g = functions[k];
                stuffed += static_cast<uint32_t>((position & 8 ? g.full[1] : g.full[0]) >> (8 * (position & 7))) & 255;
                position = static_cast<uint32_t>(g.position >> (4 * position)) & 15;
            }
            states[kStuffingThreads] = pack_state(position, stuffed);
        }
        block_sync();
        uint32_t position = states[thread] & 15, stuffed = states[thread] >> 4;
        for (uint32_t i = begin; i < end; i++) {
            p.t2.raw_states[raw + i] = pack_state(position, stuffed);
            position = pass_word(position, runs_at(i), stuffed);
        }
        state = states[kStuffingThreads];
        first += each * kStuffingThreads;
        block_sync();
    }
    if (thread) return;
    // A header does not end with 0xFF: the bit stuffed after it makes one more byte.
    const uint32_t header = (bits + (state >> 4) + 7) / 8 + (p.t2.sop ? kSopBytes : 0) + (p.t2.eph ? kEphBytes : 0);
    p.t2.segment_bytes[packet_index + packet.tile_part + 1] = header;
    if (p.t2.plt_bytes) p.t2.plt_bytes[packet_index] = plt_bytes(header + codeword_bytes(p.t2, packet));
}

// Writes the bytes of packet `index`'s header, with all threads of the block. Returns how many there are.
DEVICE uint32_t write_stuffed(const Tier2Buffers &t2, uint32_t index, uint8_t *out) {
    const uint64_t raw = raw_word(t2, index);
    const uint32_t *words = t2.raw + raw;
    const uint32_t bits = raw_bits(t2, t2.packets[index]), word_count = (bits + 31) / 32;
    for (uint32_t i = static_cast<uint32_t>(thread_x()); i < word_count; i += kStuffingThreads) {
        const uint32_t word = words[i], next = i + 1 < word_count ? words[i + 1] : 0;
        uint32_t position = t2.raw_states[raw + i] & 15, stuffed = t2.raw_states[raw + i] >> 4;
        while (position < 32 && i * 32 + position < bits) {
            // Fifteen bits: a byte, and should it be 0xFF the seven of the byte after it.
            const uint32_t both = static_cast<uint32_t>((uint64_t{word} << 32 | next) << position >> 49);
            uint8_t *at = out + (i * 32 + position + stuffed) / 8;
            at[0] = static_cast<uint8_t>(both >> 7);
            position += 8;
            if (both >> 7 == 0xFF) {
                at[1] = static_cast<uint8_t>(both & 127);
                position += 7;
                stuffed++;
            }
        }
    }
    return static_cast<uint32_t>(t2.segment_bytes[index + t2.packets[index].tile_part + 1]) - (t2.sop ? kSopBytes : 0) -
           (t2.eph ? kEphBytes : 0);
}

KERNEL(kTier2Threads, j2k_t2_tile_part_sizes, TilePartSizesParams)
{
    const uint32_t i = global_thread();
    if (i >= p.t2.tile_part_count) return;
    const TilePart &part = p.t2.tile_parts[i];
    const bool plt = p.t2.plt_bytes;
    const uint64_t lengths = plt ? p.t2.plt_before[part.last_packet] - p.t2.plt_before[part.first_packet] : 0;
    p.t2.segment_bytes[part.first_packet + i] = static_cast<uint32_t>(tile_part_overhead(part, plt) + lengths);
}

// Where a segment begins in the codestream. first: the first block layer behind that place.
DEVICE uint64_t segment_at(const Tier2Buffers &t2, const Codestream &out, uint32_t segment, uint32_t first) {
    return out.main_header + t2.segments_before[segment] + t2.bytes_before[first];
}
DEVICE uint64_t codestream_bytes(const Tier2Buffers &t2, const Codestream &out) {
    return segment_at(t2, out, t2.packet_count + t2.tile_part_count, t2.block_layer_count) + 2;
}
// The first block layer from a packet on.
DEVICE uint32_t first_block_layer_of(const Tier2Buffers &t2, uint32_t packet) {
    return packet < t2.packet_count ? t2.packets[packet].first_block_layer : t2.block_layer_count;
}

// A thread-block owns a packet and, its first thread, a tile-part.
KERNEL(kStuffingThreads, j2k_t2_write_headers, WriteHeadersParams)
{
    const Tier2Buffers &t2 = p.t2;
    const uint64_t total = codestream_bytes(t2, p.out);
    const bool fits = total <= p.out.capacity;
    const uint32_t i = static_cast<uint32_t>(block_x());
    if (thread_x() == 0 && i == 0) {
        p.out.result->bytes = total;
        if (fits) put_be16(p.out.data + total - 2, kEoc);
    }
    for (uint32_t k = static_cast<uint32_t>(thread_x()); !i && k < p.out.note_words; k += kStuffingThreads)
        p.out.result->note[k] = p.out.note[k];
    for (uint32_t k = static_cast<uint32_t>(thread_x()); !i && fits && k < p.out.step_count; k += kStuffingThreads)
        put_be16(p.out.data + p.out.steps[k].at, frame_step(p.out.steps[k].spqcd, *p.out.frame_step));
    if (thread_x() == 0 && i < t2.tile_part_count) {
        const TilePart &part = t2.tile_parts[i];
        const uint64_t begin =
            segment_at(t2, p.out, part.first_packet + i, first_block_layer_of(t2, part.first_packet));
        const uint64_t end =
            segment_at(t2, p.out, part.last_packet + i + 1, first_block_layer_of(t2, part.last_packet));
        if (end - begin > 0xFFFFFFFFu) p.out.result->longest = end - begin;
        if (i < kLimitedTileParts) p.out.result->tile_parts[i] = end - begin;
        if (fits) {
            put_tile_part_header(p.out.data + begin, part, end - begin,
                                 t2.plt_bytes ? t2.plt_before + part.first_packet : nullptr);
            if (p.out.tlm) put_be32(p.out.data + p.out.tlm + tlm_entry(i) + 2, static_cast<uint32_t>(end - begin));
        }
    }
    if (i >= t2.packet_count) return;
    const Packet &packet = t2.packets[i];
    if (thread_x() == 0 && t2.layers > 1)
        atomic_add(&p.out.result->packets[packet.layer], uint64_t{t2.segment_bytes[i + packet.tile_part + 1]} +
                                                             codeword_bytes(t2, packet) +
                                                             (t2.plt_bytes ? t2.plt_bytes[i] : 0));
    if (!fits) return;
    uint8_t *at = p.out.data + segment_at(t2, p.out, i + packet.tile_part + 1, packet.first_block_layer);
    const uint32_t size = write_stuffed(t2, i, at + (t2.sop ? kSopBytes : 0));
    if (thread_x()) return;
    if (t2.sop) {
        put_sop(at, packet.in_tile);
        at += kSopBytes;
    }
    if (t2.eph) put_be16(at + size, kEph);
    if (t2.plt_bytes) {
        const uint32_t first = t2.tile_parts[packet.tile_part].first_packet;
        uint8_t *header = p.out.data + segment_at(t2, p.out, first + packet.tile_part, first_block_layer_of(t2, first));
        put_plt_length(header, i - first, t2.plt_before[i] - t2.plt_before[first],
                       t2.segment_bytes[i + packet.tile_part + 1] + codeword_bytes(t2, packet));
    }
}

// Copies with a warp's lanes. Rooms are aligned and have room behind what is copied; `to` is not, and has none.
DEVICE void copy_bytes(uint8_t *to, const uint8_t *from, uint32_t size) {
    const uint32_t lane = static_cast<uint32_t>(lane_id());
    if (size <= 64) {
        if (lane < size) to[lane] = from[lane];
        if (lane + 32 < size) to[lane + 32] = from[lane + 32];
        return;
    }
    // Bytes up to the first whole word of `to`, then words made of two, then bytes.
    const uint32_t head = min_of<uint32_t>(static_cast<uint32_t>(-reinterpret_cast<uintptr_t>(to)) & 3, size);
    if (lane < head) to[lane] = from[lane];
    const uint32_t words = (size - head) / 4;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(from + head);
    const uint32_t shift = 8 * static_cast<uint32_t>(begin & 3);
    const uint32_t *source = reinterpret_cast<const uint32_t *>(begin & ~uintptr_t{3});
    uint32_t *target = reinterpret_cast<uint32_t *>(to + head);
    for (uint32_t k = lane; k < words; k += 32) target[k] = funnel_shift_right(source[k], source[k + 1], shift);
    const uint32_t copied = head + 4 * words;
    if (lane < size - copied) to[copied + lane] = from[copied + lane];
}

// Where block layer i's codewords go: behind its packet's header. Without the packet's codewords the next segment would
// begin there.
DEVICE uint8_t *codeword_place(const CodestreamInput &p, uint32_t i, const Packet &packet) {
    return p.out.data + segment_at(p.t2, p.out, p.t2.block_layers[i] + packet.tile_part + 2, i);
}

KERNEL(kTier2Threads, j2k_t2_gather, GatherParams)
{
    const Tier2Buffers &t2 = p.t2;
    const uint32_t i = global_warp();
    if (i >= t2.block_layer_count || !t2.bytes[i] || codestream_bytes(t2, p.out) > p.out.capacity) return;
    const BlockLayer own = block_layer(t2, i);
    copy_bytes(codeword_place(p, i, own.packet),
               t2.coded.room(own.block) + layers_of(t2, own.block).bytes_before(own.packet.layer), t2.bytes[i]);
}

KERNEL_BLOCKS(kTier2Threads, 12, j2k_t2_gather_with_raw, GatherWithRawParams) {
    const Tier2Buffers &t2 = p.t2;
    const uint32_t i = global_warp();
    if (i >= t2.block_layer_count || !t2.bytes[i] || codestream_bytes(t2, p.out) > p.out.capacity) return;
    const BlockLayer own = block_layer(t2, i);
    const CodeBlock &block = t2.blocks[own.block];
    uint8_t *to = codeword_place(p, i, own.packet);
    const uint8_t *const room = t2.coded.room(own.block), *mq = room;
    const LayerEnds ends = layers_of(t2, own.block);
    const uint32_t layer = own.packet.layer;
    const int passes = ends.passes_before(layer + 1);
    if (passes <= kFirstRawPass) {
        copy_bytes(to, mq + ends.bytes_before(layer), t2.bytes[i]);
        return;
    }
    const uint8_t *raw = mq + room_layout(block, t2.coding).raw;
    const uint64_t first_pass = static_cast<uint64_t>(own.block) * t2.max_passes;
    const uint32_t *pass_bytes = t2.coded.pass_bytes + first_pass;
    uint32_t earlier = ends.bytes_before(layer);  // bytes from here on that earlier layers have
    uint32_t before = 0;                          // bytes up to here
    int first = 0;                                // pass of the segment
    // As for_each_segment(), a lane a pass.
    for (int from = 0; from < passes; from += 32) {
        const int pass = from + lane_id();
        const bool last = pass == passes - 1;
        const uint32_t end = last ? ends.bytes_before(layer + 1) : pass < passes ? pass_bytes[pass] : 0;
        for (uint32_t rest = warp_ballot(last || (pass < passes && ends_segment(t2.coding.style, pass))); rest;
             rest &= rest - 1) {
            const int lane = find_first_set(rest);
            const uint32_t bytes = warp_shuffle(end, lane) - before, skipped = min_of(earlier, bytes);
            const bool in_raw = is_raw(t2.coding.style, first);
            if (t2.coded.segment_begins && !in_raw) mq = room + t2.coded.segment_begins[first_pass + from + lane];
            copy_bytes(to, (in_raw ? raw : mq) + skipped, bytes - skipped);
            to += bytes - skipped;
            raw += in_raw ? bytes : 0;
            mq += in_raw ? 0 : bytes;
            earlier -= skipped;
            before += bytes;
            first = from + lane + 1;
        }
    }
}

}  // namespace cudaenc::j2k
