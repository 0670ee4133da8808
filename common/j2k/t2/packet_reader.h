// SPDX-License-Identifier: LGPL-2.1-or-later
// Tier-2 backwards (T.800 B.9, B.10): packet headers tell which bytes of the codestream are which block's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "../codestream/description.h"
#include "../codestream/geometry.h"
#include "../t1/block.h"
#include "../t1/block_decoder.h"

namespace cudaenc::j2k {

constexpr uint32_t kMixed = 128;  // of a style: blocks are of either coder (T.814 Table A.4)

// What a packet has of a codeword segment: bytes of the codestream from `at` on.
struct SegmentPiece {
    uint64_t at;
    uint32_t bytes, passes;
    uint32_t next;        // piece of the block; kNoPiece: none
    bool begins_segment;  // else it goes on with that of the piece before
};
constexpr uint32_t kNoPiece = ~uint32_t{0};

// What packets say of a block.
struct alignas(16) BlockPieces {
    uint32_t first = kNoPiece, last = kNoPiece;  // of the tile's pieces
    uint16_t passes = 0;
    uint8_t zero_planes = 0;
    uint8_t length_bits = 3;  // Lblock, B.10.7.1
    bool is_included = false;
    bool is_ht = false;
    bool has_cleanup = false;  // of HT blocks: no placeholder passes follow (T.814 B.3)
};

// Whether it is for the HT decoder: as its packets say, or else its style.
inline bool is_ht_block(const BlockPieces &pieces, uint32_t style) {
    return pieces.is_included ? pieces.is_ht : are_alternatives(style);
}

// What is known of a tag tree's node: what its value is at least, and whether it is that (B.10.2).
class TagTreeNode {
  public:
    TagTreeNode() = default;
    TagTreeNode(uint32_t least, bool is_known) : word_(2 * least + is_known) {}
    uint32_t least() const { return word_ / 2; }
    bool is_known() const { return word_ & 1; }
    // Whether bits are due to tell if it is below the threshold.
    bool is_due(uint32_t threshold) const { return !is_known() && least() < threshold; }

  private:
    uint32_t word_ = 0;
};

// The packets of a tile.
struct TilePackets {
    uint32_t tile = 0, first_block = 0;
    std::vector<BlockPieces> blocks;  // from first_block on
    std::vector<SegmentPiece> pieces;
    std::string damage;  // of headers, or where bytes are missing; what is there counts

    // The reader's: here their memory is kept for the next picture.
    std::vector<TagTreeNode> inclusion, zero_planes;
    std::vector<uint8_t> row_nodes;
    std::vector<std::vector<SegmentPiece>> replaced;  // by larger ones; where PacketsRead::pieces may be

    // The block of blocks[index], which has this style. What it refers to are `segments`, and `bytes` with those of
    // their pieces one behind the other; both are overwritten.
    BlockToDecode gather(size_t index, const CodeBlock &block, uint32_t style, std::span<const uint8_t> codestream,
                         std::vector<CodewordSegment> &segments, std::vector<uint8_t> &bytes) const;
};

// What is read of a tile so far, up to the end of a packet. It stays as it is, unless further packets have more of the
// same blocks.
struct PacketsRead {
    size_t blocks = 0, segments = 0;  // of first layers; pieces, of which [0, segments) are there
    const SegmentPiece *pieces = nullptr;
    size_t end = 0;  // of their bytes, in the codestream
};

class PacketReader {
  public:
    // What is referred to stays the caller's.
    PacketReader(std::span<const uint8_t> codestream, const Description &description, const Geometry &geometry,
                 const WantedPackets &wanted = {});

    // Reads the packets of a tile from its tile-parts. Takes memory for what its bytes have, and for the blocks that
    // the geometry has; what `packets` had before is overwritten. Several threads may read tiles. `told` is called
    // behind each packet that is whole. What it is told of, and blocks, may be read while the reader goes on.
    void read(uint32_t tile, TilePackets &packets, const std::function<void(const PacketsRead &)> &told = {}) const;

  private:
    const std::span<const uint8_t> codestream_;
    const Description &d_;
    const Geometry &g_;
    const WantedPackets wanted_;
    std::vector<uint32_t> parts_;       // indices of tile-parts, by tile
    std::vector<uint32_t> first_part_;  // [tile], and their number
};

}  // namespace cudaenc::j2k
