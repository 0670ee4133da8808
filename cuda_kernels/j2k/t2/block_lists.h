// SPDX-License-Identifier: LGPL-2.1-or-later
// What the block decoders' kernels take of a picture: its code-blocks and codeword segments, out of what headers and
// packets say.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../../../common/j2k/t2/packet_reader.h"
#include "../../../common/thread_pool.h"
#include "../t1/block_decoder.h"

namespace cudaenc::j2k {

// The blocks that are decoded, as headers have them.
struct DecodedBlocks {
    std::vector<uint32_t> tiles;       // that have samples of the region
    std::vector<size_t> first;         // [tile of `tiles`], and the number of blocks
    std::vector<DecoderBlock> blocks;  // by tile; without segments; planes: M_b
    std::vector<uint32_t> indices;     // [block], in TilePackets::blocks
    DecoderLimits limits;              // of these blocks, for either decoder
    bool are_all = false;              // coefficients that are read
    bool in_place = false;  // packets do not cut segments, and all are decoded: bytes of the codestream need no copy
    bool in_order = false;  // the same, of one tile, with HT blocks alone, which are decoded as their packets are read
};

// lowres: resolutions that are left out. No tile has fewer.
DecodedBlocks list_decoded_blocks(const Description &description, const Geometry &geometry, const Region &region,
                                  int lowres);

// Blocks [first, last) of the decoded ones, whose segments begin at first_segment of the picture's.
struct BlockRun {
    size_t first, last, first_segment;
};

// Those of one picture after the other, whose memory is used again.
class BlockLists {
  public:
    // Reads the packets of the blocks' tiles. told: see PacketReader::read(), of blocks in order; these may be written.
    void read(ThreadPool &pool, std::span<const uint8_t> codestream, const Description &description,
              const Geometry &geometry, const WantedPackets &wanted, const DecodedBlocks &decoded,
              const std::function<void(const PacketsRead &)> &told = {});
    const std::string &damage() const { return damage_; }  // of packets
    size_t segments() const { return first_segment_.back(); }

    // bytes: nullptr for blocks that are in place, else as many as the codestream has: for those of the segments. Bytes
    // are told from there on, or from the codestream's beginning. run: all, but of blocks in order. segments: those of
    // the run; blocks: the same, those of the MQ decoder before those of the HT decoder, of each the ones with the most
    // work first. pieces: as told; nullptr: read() is done. Returns how many blocks each has.
    std::array<uint32_t, 2> write(ThreadPool &pool, std::span<const uint8_t> codestream, const DecodedBlocks &decoded,
                                  const BlockRun &run, const SegmentPiece *pieces, uint8_t *bytes,
                                  DecoderSegment *segments, DecoderBlock *blocks);
    uint64_t bytes() const { return first_byte_.back(); }  // that were copied

  private:
    // What packets say of a block.
    struct Listed {
        uint32_t first_segment;
        uint16_t segments;
        uint16_t order;  // by list and decode_class()
        int16_t planes;
        uint32_t place;  // in the order of kernels
    };
    struct Copy {
        const uint8_t *from;
        uint64_t to;
        size_t bytes;
    };
    struct Tile {
        TilePackets packets;
        std::vector<Copy> copies;
        uint64_t bytes;
        uint32_t segments;
    };
    // [first_block, last_block) of the decoded ones: a part of a tile where they are in place, else all of its blocks.
    // first_segment: of the tile, in `segments`; below 0 of a run, modulo 2^32.
    void list_blocks(std::span<const uint8_t> codestream, const DecodedBlocks &decoded, size_t tile, size_t first_block,
                     size_t last_block, uint32_t first_segment, const SegmentPiece *all_pieces,
                     DecoderSegment *segments);
    void join_segments(ThreadPool &pool, uint8_t *bytes, DecoderSegment *segments);

    std::vector<Tile> tiles_;
    std::vector<size_t> first_segment_;  // [tile], and behind the last one
    std::vector<uint64_t> first_byte_;   // the same
    std::vector<Listed> listed_;         // [block]
    std::string damage_;
};

}  // namespace cudaenc::j2k
