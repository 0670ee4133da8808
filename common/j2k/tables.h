// The rows of a picture's geometry, and what follows from them: plain data that host and device read.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../hd.h"
#include "styles.h"

namespace cudaenc::j2k {

constexpr int kMaxComponents = 4;
// Magnitude bit-planes of a coefficient: a sign and a magnitude share 32 bits.
constexpr int kMaxPlanes = 31;
constexpr int kMostSamples = 4096;  // of a code-block

enum Orientation { kLL, kHL, kLH, kHH };

// A tile-component covers [x0, x1) x [y0, y1) of its component. Its coefficients are rows of x1 - x0 values at
// `samples` in an array of 32-bit values. The low half of both directions goes to `halves` in another array after odd
// levels, to `quarters` in a third one after even levels.
struct TileComponent {
    int32_t x0, y0, x1, y1;
    uint64_t samples;
    uint64_t halves;
    uint64_t quarters;
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
    uint64_t coefficients;  // of its first one
    uint64_t slot;          // where its pairs and then its bytes go: see slot_layout()
    uint32_t stride;        // values from a row to the next
    uint32_t cell;          // its index in Geometry::precinct_bands
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
// Of a lossy block the last two, refinement and clean-up of bit-plane 0, may be left out: where significance
// propagation has taken most off the error, and with a smaller step what they cost does more elsewhere. A block of one
// plane has no more than that clean-up.
constexpr int kLastPasses = 2;

// Where code-block styles are known, a pass's pairs begin at multiples of this, which is what the MQ coder loads at
// once; with the bypass alone those of a codeword segment's first.
constexpr uint32_t kPassAlignment = 16;

// With the bypass alone an MQ segment begins at most so many bytes behind the last one's pending byte, at a multiple of
// four: there is room to end that one in later, and to keep what is needed for it.
constexpr uint32_t kSegmentGap = 16;

// What lies where in a block's slot: from its begin the MQ codewords, which take the place of the pairs that they code;
// the bytes of raw segments at `raw`. Rounded up for vector loads.
struct SlotLayout {
    uint32_t pairs, raw, bytes;
};
CUDAENC_HD SlotLayout slot_layout(int width, int height, int planes, uint32_t style) {
    const auto columns = static_cast<uint32_t>(width), rows = static_cast<uint32_t>(height),
               passes = static_cast<uint32_t>(coding_passes(planes)), all = static_cast<uint32_t>(planes);
    const uint32_t samples = columns * rows, stripes = columns * ((rows + 3) / 4);
    const auto round_up = [](uint32_t bytes) { return (bytes + 63) / 64 * 64; };
    // The most pairs are made when every sample is coded in every plane, every sign once, and once a stripe column
    // three symbols for one in run-length mode; the MQ coder's bytes are fewer.
    SlotLayout slot{0, samples * all + samples + 2 * stripes + 64, 0};
    if (style) {
        // A codeword ends with up to five bytes more, with the bypass alone kSegmentGap lie between segments; passes
        // are filled up to kPassAlignment pairs and have four symbols.
        slot.pairs = round_up(5 * passes + (style == kBypass ? passes / 3 * kSegmentGap : 0));
        slot.raw += slot.pairs + (kPassAlignment - 1) * passes +
                    4 * static_cast<uint32_t>(clean_up_passes(static_cast<int>(passes)));
    }
    slot.raw = slot.bytes = round_up(slot.raw);
    if (style & kBypass) slot.bytes += round_up((samples * all + samples) * 2 / 15 + 3 * passes);
    return slot;
}

// The code-blocks of one sub-band in one precinct, with their tag trees.
struct PrecinctBand {
    uint32_t first_block;      // its blocks are consecutive, in raster order
    uint32_t columns, rows;    // of code-blocks
    uint32_t nodes;            // where its tag-tree nodes begin, leaves first
    int32_t weight;            // of a squared step in the picture's squared error: log2_code() of it, see rate.h
    uint32_t group;            // its tile-part, up to kLimitedTileParts
    uint16_t component, band;  // band: band_index()
};

// A layer of a precinct. What a block adds to a packet, in its header and behind it, is a contribution; they are
// numbered in the order of the codestream, which with one layer is that of the blocks.
struct Packet {
    uint32_t tile_part;                // its index in Geometry::tile_parts
    uint32_t in_tile;                  // its number among its tile's packets
    uint32_t first_block, last_block;  // [first, last)
    uint32_t first_band, last_band;    // of Geometry::precinct_bands
    uint32_t layer;
    uint32_t first_contribution;  // of as many as there are blocks
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
