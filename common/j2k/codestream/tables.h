// SPDX-License-Identifier: LGPL-2.1-or-later
// The rows of Geometry's tables: plain data that host and device read.
#pragma once
#include <cstdint>

#include "../../hd.h"

namespace cudaenc::j2k {

constexpr int kMaxComponents = 4;
// Components whose quantisers may differ: those behind have the last one's, since they are alike.
constexpr int kQuantisedComponents = 4;
// Magnitude bit-planes of a coefficient: a sign and a magnitude share 32 bits.
constexpr int kMaxPlanes = 31;
constexpr int kMostSamples = 4096;  // of a code-block
constexpr int kMaxLayers = 100;

// Packets whose lengths share a PLT marker segment, and tile-parts whose lengths share a TLM marker segment (T.800
// A.7.1, A.7.3). A length takes up to five bytes of at most 65535.
constexpr uint32_t kPltPackets = 13000, kMaxPltSegments = 256;  // the latter in a tile-part
CUDAENC_HD uint32_t plt_segments(uint32_t packets) { return (packets + kPltPackets - 1) / kPltPackets; }
constexpr uint32_t kTlmTileParts = 10000, kMaxTlmSegments = 256;

enum Orientation { kLL, kHL, kLH, kHH };

// A tile-component: [x0, x1) x [y0, y1) of its component. Its coefficients are rows of x1 - x0 values from `samples`
// on, in an array of 32-bit values. Its LL sub-bands of odd and even levels begin at `ll_odd` and `ll_even` of two
// other arrays.
struct TileComponent {
    int32_t x0, y0, x1, y1;
    uint64_t samples, ll_odd, ll_even;
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

// Where the low and high halves of a signal from `begin` on begin (T.800 B-15): even positions are low.
CUDAENC_HD int low_begin(int begin) { return (begin + 1) >> 1; }
CUDAENC_HD int high_begin(int begin) { return begin >> 1; }

// A sub-band of a tile-component. In the tile-component's rows, the low half of a resolution lies left of and above its
// high half.
struct SubBand {
    Extent extent;
    uint64_t coefficients;  // index of its first one
};
CUDAENC_HD SubBand sub_band(const TileComponent &t, int levels, int resolution, int orientation) {
    const Extent e = extent_at(t, levels - resolution);
    if (!resolution) return {e, t.samples};
    const bool right = orientation != kLH, below = orientation != kHL;
    const auto half = [](int x, bool high) { return high ? high_begin(x) : low_begin(x); };
    return {{half(e.x0, right), half(e.y0, below), half(e.x1, right), half(e.y1, below)},
            t.samples + (right ? static_cast<uint32_t>(low_begin(e.x1) - low_begin(e.x0)) : 0) +
                (below ? static_cast<uint64_t>(low_begin(e.y1) - low_begin(e.y0)) * static_cast<uint32_t>(t.x1 - t.x0)
                       : 0)};
}

// A code-block: a rectangle of a sub-band, in the order of the codestream.
struct CodeBlock {
    uint64_t coefficients;   // index of its first one
    uint32_t stride;         // values from a row to the next
    uint32_t precinct_band;  // index in Geometry::precinct_bands
    uint16_t width, height;
    uint16_t x, y;  // column and row among the code-blocks of its PrecinctBand
    uint8_t orientation;
    uint8_t planes;  // M_b
    bool reversible;
};

// Coding passes of `planes` magnitude bit-planes, the highest not all zero (T.800 D.3): a clean-up, then three a plane.
CUDAENC_HD constexpr int coding_passes(int planes) { return max_of(3 * planes - 2, 0); }

// The code-blocks of one sub-band in one precinct, with their tag trees.
struct PrecinctBand {
    uint32_t first_block;      // its blocks are consecutive, in raster order
    uint32_t columns, rows;    // of code-blocks
    uint32_t nodes;            // where its tag-tree nodes begin
    uint16_t component, band;  // band: band_index()
};

// A layer of a precinct. A block layer is a code-block's part of a packet, of its header and of its codewords. Block
// layers are numbered in the order of the codestream. With one layer they are the blocks.
struct Packet {
    uint32_t tile_part;                // index in Geometry::tile_parts
    uint32_t in_tile;                  // number among its tile's packets
    uint32_t first_block, last_block;  // [first, last)
    uint32_t first_band, last_band;    // of Geometry::precinct_bands
    uint32_t layer;
    uint32_t first_block_layer;  // a block layer a block
};

// In the order of the codestream: tile by tile.
struct TilePart {
    uint32_t first_packet, last_packet;  // [first, last)
    uint32_t tile;
    uint8_t part, parts;  // its number among the tile's (TPsot), and how many these are (TNsot)
    uint8_t reserved[2];
};
// Profiles limit the first tile-parts one by one: those of the components' 2K portion.
constexpr int kLimitedTileParts = 3;
constexpr int kMaxTileParts = 255;  // of a tile, T.800 A.4.2

// A step in the main header: where its bytes are, and StepSize::spqcd().
struct SpqcdField {
    uint32_t at, spqcd;
};

// Levels of a tag tree over columns x rows leaves.
CUDAENC_HD int tag_tree_levels(uint32_t columns, uint32_t rows) { return bit_width(max_of(columns, rows) - 1) + 1; }
// Columns of nodes at `level`, 0 for the leaves.
CUDAENC_HD uint32_t tag_tree_columns(uint32_t columns, int level) { return (columns + (1u << level) - 1) >> level; }

}  // namespace cudaenc::j2k
