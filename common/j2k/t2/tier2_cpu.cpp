// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tier2_cpu.h"

#include <algorithm>

#include "../t1/step.h"

namespace cudaenc::j2k {

void Tier2Cpu::build_tag_trees(Buffers &buffers, const Tier2Blocks &blocks) const {
    const uint32_t layers = static_cast<uint32_t>(d_.layers);
    for (size_t k = 0; k < g_.precinct_bands.size(); k++) {
        const PrecinctBand &band = g_.precinct_bands[k];
        LayerSet &set = buffers.layer_sets[k] = {};
        TagNode *leaves = &buffers.nodes[band.nodes];
        for (uint32_t i = 0; i < band.columns * band.rows; i++) {
            const uint32_t b = band.first_block + i;
            const LayerEnds block = layers_of(blocks, b);
            leaves[i] = tag_leaf(block.first(layers),
                                 missing_planes(g_.coding.style, g_.blocks[b].planes, blocks.coded[b].planes,
                                                block.passes_before(layers)),
                                 i);
            for (uint32_t layer = 0; layer < layers; layer++)
                if (block.adds(layer)) set.add(layer);
        }
        build_tag_tree(leaves, band.columns, band.rows, [](uint32_t count, const auto &body) {
            for (uint32_t i = 0; i < count; i++) body(i);
        });
    }
}

// The blocks' parts of the packet's header; none if the packet is empty.
template <class Sink>
void Tier2Cpu::put_blocks(Sink &sink, const Buffers &buffers, const Tier2Blocks &blocks, const Packet &packet) const {
    if (!has_codewords(buffers.layer_sets.data(), packet, packet.layer)) return;
    const uint32_t empty_before = empty_packets_before(buffers.layer_sets.data(), packet);
    for (uint32_t b = packet.first_block; b < packet.last_block; b++) {
        const CodeBlock &block = g_.blocks[b];
        const PrecinctBand &band = g_.precinct_bands[block.precinct_band];
        put_block_header(sink, band, &buffers.nodes[band.nodes], block.x, block.y, layers_of(blocks, b), packet.layer,
                         empty_before, d_.style, blocks.pass_bytes + b * static_cast<size_t>(g_.max_passes));
    }
}

uint32_t Tier2Cpu::header_bits(const Buffers &buffers, const Tier2Blocks &blocks, const Packet &packet) const {
    BitCounter counter;
    put_blocks(counter, buffers, blocks, packet);
    return counter.bits;
}

uint64_t Tier2Cpu::codeword_bytes(const Tier2Blocks &blocks, const Packet &packet) const {
    uint64_t bytes = 0;
    for (uint32_t b = packet.first_block; b < packet.last_block; b++)
        bytes += layers_of(blocks, b).bytes_of(packet.layer);
    return bytes;
}

std::vector<uint8_t> Tier2Cpu::packet_header(const Buffers &buffers, const Tier2Blocks &blocks,
                                             const Packet &packet) const {
    HeaderBytes header;
    // B.10.3: an empty packet is one bit.
    header.put(has_codewords(buffers.layer_sets.data(), packet, packet.layer), 1);
    put_blocks(header, buffers, blocks, packet);
    header.finish();
    if (d_.sop) {
        uint8_t sop[kSopBytes];
        put_sop(sop, packet.in_tile);
        header.bytes.insert(header.bytes.begin(), sop, sop + kSopBytes);
    }
    if (d_.eph) header.bytes.insert(header.bytes.end(), {kEph >> 8, kEph & 0xFF});
    return std::move(header.bytes);
}

Packets Tier2Cpu::assemble_packets(ThreadPool &pool, Buffers &buffers, const Tier2Blocks &blocks) const {
    build_tag_trees(buffers, blocks);
    const uint32_t packets = static_cast<uint32_t>(g_.packets.size());
    const size_t parts = g_.tile_parts.size();
    Packets made{.headers = std::vector<std::vector<uint8_t>>(packets),
                 .lengths = std::vector<uint64_t>(packets),
                 .plt = std::vector<uint64_t>(packets + 1),
                 .part_at = std::vector<uint64_t>(parts + 1, header_.bytes.size()),
                 .body_at = std::vector<uint64_t>(parts)};
    pool.for_each(packets, 64, [&](size_t i) {
        made.headers[i] = packet_header(buffers, blocks, g_.packets[i]);
        made.lengths[i] = made.headers[i].size() + codeword_bytes(blocks, g_.packets[i]);
    });
    for (size_t t = 0; t < parts; t++) {
        const TilePart &part = g_.tile_parts[t];
        uint64_t packet_bytes = 0;
        for (uint32_t i = part.first_packet; i < part.last_packet; i++) {
            made.plt[i + 1] = made.plt[i] + (d_.plt ? plt_bytes(made.lengths[i]) : 0);
            packet_bytes += made.lengths[i];
        }
        made.body_at[t] = tile_part_overhead(part, d_.plt) + made.plt[part.last_packet] - made.plt[part.first_packet];
        check_tile_part_length(made.body_at[t] + packet_bytes);
        made.part_at[t + 1] = made.part_at[t] + made.body_at[t] + packet_bytes;
    }
    return made;
}

WrittenSizes Tier2Cpu::written(const Packets &packets) const {
    WrittenSizes written{};
    written.bytes = packets.codestream_bytes();
    for (size_t t = 0; t < std::min<size_t>(kLimitedTileParts, g_.tile_parts.size()); t++)
        written.tile_parts[t] = packets.part_at[t + 1] - packets.part_at[t];
    for (size_t i = 0; i < g_.packets.size(); i++)
        written.packets[g_.packets[i].layer] += packets.lengths[i] + packets.plt[i + 1] - packets.plt[i];
    return written;
}

void Tier2Cpu::write_codestream(ThreadPool &pool, const Tier2Blocks &blocks, const Packets &packets,
                                std::span<const uint8_t> filler, uint32_t frame_step,
                                const std::function<const uint8_t *(uint32_t)> &codeword, uint8_t *out) const {
    std::copy(filler.begin(), filler.end(), std::copy(header_.bytes.begin(), header_.bytes.end(), out));
    for (size_t i = 0; g_.coding.frame_steps && i < header_.steps.size(); i++)
        put_be16(out + header_.steps[i].at, j2k::frame_step(header_.steps[i].spqcd, frame_step));
    pool.for_each(g_.tile_parts.size(), [&](size_t t) {
        const TilePart &part = g_.tile_parts[t];
        uint8_t *at = out + filler.size() + packets.part_at[t];
        const uint64_t length = packets.part_at[t + 1] - packets.part_at[t], *plt = &packets.plt[part.first_packet];
        put_tile_part_header(at, part, length, d_.plt ? plt : nullptr);
        if (header_.tlm)
            put_be32(out + header_.tlm + tlm_entry(static_cast<uint32_t>(t)) + 2, static_cast<uint32_t>(length));
        uint8_t *body = at + packets.body_at[t];
        for (uint32_t i = part.first_packet; i < part.last_packet; i++) {
            const Packet &packet = g_.packets[i];
            if (d_.plt) put_plt_length(at, i - part.first_packet, packets.plt[i] - plt[0], packets.lengths[i]);
            body = std::copy(packets.headers[i].begin(), packets.headers[i].end(), body);
            for (uint32_t b = packet.first_block; b < packet.last_block; b++) {
                const LayerEnds layers = layers_of(blocks, b);
                const uint8_t *bytes = codeword(b);
                body = std::copy(bytes + layers.bytes_before(packet.layer),
                                 bytes + layers.bytes_before(packet.layer + 1), body);
            }
        }
    });
    put_be16(out + filler.size() + packets.codestream_bytes() - 2, kEoc);
}

}  // namespace cudaenc::j2k
