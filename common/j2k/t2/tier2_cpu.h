// SPDX-License-Identifier: LGPL-2.1-or-later
// Tier-2 on the CPU: packet headers, and the codestream from codewords.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "../../thread_pool.h"
#include "../codestream/main_header.h"
#include "../t1/encoder_geometry.h"
#include "packet_header.h"

namespace cudaenc::j2k {

// A packet header, as a sink of put_block_header(): a zero bit is stuffed after each byte 0xFF (T.800 B.10.1).
class HeaderBytes {
  public:
    std::vector<uint8_t> bytes;
    void put(uint32_t value, int count) {
        while (count--) {
            current_ = current_ << 1 | ((value >> count) & 1);
            if (++filled_ == room_) emit();
        }
    }
    void finish() {
        if (filled_) {
            current_ <<= room_ - filled_;
            emit();
        }
        if (!bytes.empty() && bytes.back() == 0xFF) bytes.push_back(0);  // a header does not end with 0xFF
    }

  private:
    void emit() {
        bytes.push_back(static_cast<uint8_t>(current_));
        room_ = current_ == 0xFF ? 7 : 8;
        current_ = 0;
        filled_ = 0;
    }
    uint32_t current_ = 0;
    int filled_ = 0, room_ = 8;
};

// A frame's blocks as tier-2 reads them.
struct Tier2Blocks {
    std::span<const CodedBlock> coded;
    const uint32_t *pass_bytes;   // [block * max_passes + pass]
    const uint8_t *layer_passes;  // [layer * blocks + block], this and the next: see LayerEnds
    const uint32_t *layer_bytes;
};

// A codestream but for its bytes.
struct Packets {
    std::vector<std::vector<uint8_t>> headers;  // [packet]
    std::vector<uint64_t> lengths;              // [packet]
    std::vector<uint64_t> plt;                  // [packet]: bytes of PLT entries before its own
    std::vector<uint64_t> part_at, body_at;     // [tile-part]: where it begins; its packets, from there on
    uint64_t codestream_bytes() const { return part_at.back() + 2; }
};

class Tier2Cpu {
  public:
    // Of a frame in flight.
    struct Buffers {
        std::vector<LayerSet> layer_sets;  // [precinct's sub-band]
        std::vector<TagNode> nodes;
    };

    // What it refers to lives longer.
    Tier2Cpu(const Description &description, const EncoderGeometry &geometry, const MainHeader &header)
        : d_(description), g_(geometry), header_(header) {}
    Buffers make_buffers() const {
        return {.layer_sets = std::vector<LayerSet>(g_.precinct_bands.size()),
                .nodes = std::vector<TagNode>(g_.tag_tree_nodes)};
    }

    // First of all: tag trees, and the layers that have codewords.
    void build_tag_trees(Buffers &buffers, const Tier2Blocks &blocks) const;
    // Bits of a packet's header, without those that are stuffed and the first; bytes of its codewords.
    uint32_t header_bits(const Buffers &buffers, const Tier2Blocks &blocks, const Packet &packet) const;
    uint64_t codeword_bytes(const Tier2Blocks &blocks, const Packet &packet) const;

    Packets assemble_packets(ThreadPool &pool, Buffers &buffers, const Tier2Blocks &blocks) const;
    WrittenSizes written(const Packets &packets) const;
    // Writes the codestream to `out`. filler: ends the main header, see make_filler(); frame_step: see step.h;
    // codeword(block): its bytes.
    void write_codestream(ThreadPool &pool, const Tier2Blocks &blocks, const Packets &packets,
                          std::span<const uint8_t> filler, uint32_t frame_step,
                          const std::function<const uint8_t *(uint32_t)> &codeword, uint8_t *out) const;

  private:
    LayerEnds layers_of(const Tier2Blocks &blocks, uint32_t block) const {
        return {&blocks.layer_passes[block], &blocks.layer_bytes[block], g_.blocks.size()};
    }
    template <class Sink>
    void put_blocks(Sink &sink, const Buffers &buffers, const Tier2Blocks &blocks, const Packet &packet) const;
    std::vector<uint8_t> packet_header(const Buffers &buffers, const Tier2Blocks &blocks, const Packet &packet) const;

    const Description &d_;
    const EncoderGeometry &g_;
    const MainHeader &header_;
};

}  // namespace cudaenc::j2k
