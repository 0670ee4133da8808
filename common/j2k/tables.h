// The rows of a picture's geometry, and what follows from them: plain data that host and device read.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../hd.h"

namespace cudaenc::j2k {

constexpr int kMaxComponents = 4;
// Magnitude bit-planes of a coefficient: a sign and a magnitude share 32 bits.
constexpr int kMaxPlanes = 31;
constexpr int kMostSamples = 4096;  // of a code-block
constexpr int kMaxLayers = 100;

// Packets whose lengths share a PLT marker segment: five bytes each fit its 65535 in every case. Tile-parts whose
// lengths share a TLM marker segment. T.800 A.7.1, A.7.3.
constexpr uint32_t kPltPackets = 13000, kMaxPltSegments = 256;  // the latter of a tile-part
CUDAENC_HD uint32_t plt_segments(uint32_t packets) { return (packets + kPltPackets - 1) / kPltPackets; }
constexpr uint32_t kTlmTileParts = 10000, kMaxTlmSegments = 256;

enum Orientation { kLL, kHL, kLH, kHH };

// A tile-component covers [x0, x1) x [y0, y1) of its component. Its coefficients are rows of x1 - x0 values at
// `samples` in an array of 32-bit values. The LL sub-bands of odd levels begin at `ll_odd` in another array, those of
// even levels at `ll_even` in a third one.
struct TileComponent {
    int32_t x0, y0, x1, y1;
    uint64_t samples;
    uint64_t ll_odd;
    uint64_t ll_even;
};

// The resolution `level` decompositions below the samples of a tile-component (T.800 B-14).
struct Extent {
    int32_t x0, y0, x1, y1;
    CUDAENC_HD int32_t width() const { return x1 - x0; }
    CUDAENC_HD int32_t height() const { return y1 - y0; }
};
CUDAENC_HD int32_t ceil_shift(int32_t x, int bits) {
    return static_cast<int32_t>((int64_t{x} + (int64_t{1} << bits) - 1) >> bits);
}
CUDAENC_HD Extent extent_at(const TileComponent &t, int level) {
    return {ceil_shift(t.x0, level), ceil_shift(t.y0, level), ceil_shift(t.x1, level), ceil_shift(t.y1, level)};
}

// A code-block: a rectangle of a sub-band, in the order of the codestream.
struct CodeBlock {
    uint64_t coefficients;   // of its first one
    uint64_t slot;           // of its symbols, then its codeword: see place_slots()
    uint32_t stride;         // values from a row to the next
    uint32_t precinct_band;  // its index in Geometry::precinct_bands
    uint16_t width, height;
    uint16_t x, y;  // its column and row in the grid of its precinct's code-blocks
    uint8_t orientation;
    uint8_t planes;  // M_b
    bool lossy;      // its last passes are coded where they are worth their bits: worth_coding()
    bool reversible;
};

// The coding passes of a block with `planes` magnitude bit-planes from the first that is not all zero (T.800 D.3): one
// clean-up, then three a plane.
CUDAENC_HD constexpr int coding_passes(int planes) { return max_of(3 * planes - 2, 0); }

// The code-blocks of one sub-band in one precinct, with their tag trees.
struct PrecinctBand {
    uint32_t first_block;      // its blocks are consecutive, in raster order
    uint32_t columns, rows;    // of code-blocks
    uint32_t nodes;            // where its tag-tree nodes begin, leaves first
    int32_t weight;            // log2_code() of what a squared step weighs in the picture's squared error
    uint32_t group;            // its tile-part, up to kLimitedTileParts
    uint16_t component, band;  // band: band_index()
};

// A layer of a precinct. What a block has in a layer, in the packet's header and behind it, is a block layer. Block
// layers are numbered in the order of the codestream, which with one layer is that of the blocks.
struct Packet {
    uint32_t tile_part;                // its index in Geometry::tile_parts
    uint32_t in_tile;                  // its number among its tile's packets
    uint32_t first_block, last_block;  // [first, last)
    uint32_t first_band, last_band;    // of Geometry::precinct_bands
    uint32_t layer;
    uint32_t first_block_layer;  // of as many as there are blocks
};

// In the order of the codestream: tile by tile.
struct TilePart {
    uint32_t first_packet, last_packet;  // [first, last)
    uint32_t tile;
    uint8_t part, parts;  // its number among the tile's (TPsot), how many the tile has (TNsot)
    uint8_t reserved[2];
};
// Profiles limit tile-parts one by one, those of the components' 2K portion, which come first.
constexpr int kLimitedTileParts = 3;
constexpr int kMaxTileParts = 255;  // of a tile, T.800 A.4.2

// Levels of a tag tree over columns x rows leaves: from the leaves to the one root.
CUDAENC_HD int tag_tree_levels(uint32_t columns, uint32_t rows) { return bit_width(max_of(columns, rows) - 1) + 1; }
// Nodes at `level`, 0 for the leaves.
CUDAENC_HD uint32_t tag_tree_columns(uint32_t columns, int level) { return (columns + (1u << level) - 1) >> level; }

}  // namespace cudaenc::j2k
