// SPDX-License-Identifier: LGPL-2.1-or-later
// Which part of a picture is decoded, and what that takes: tiles, samples of tile-components, coefficients.
#pragma once
#include <cstdint>

#include "description.h"
#include "tables.h"

namespace cudaenc::j2k {

// A part of a picture, in samples of its densest components from the upper left one on. width 0: all.
struct Region {
    int x = 0, y = 0, width = 0, height = 0;
};

// The same on the reference grid, as the image area of SIZ (T.800 B.2): [x0, x1) x [y0, y1).
struct Area {
    int64_t x0, y0, x1, y1;
};
// Throws Error(CUDAENC_ERR_INVALID) where the region is not within the picture.
Area area_of(const Description &description, const Region &region);

// A component's samples in an area, with `lowres` resolutions left out (B-2, B-14).
Extent component_extent(const Component &component, const Area &area, int lowres);
// All of them.
inline Extent component_extent(const Description &d, size_t component, int lowres) {
    return component_extent(d.components[component], area_of(d, {}), lowres);
}

// Tiles with samples of an area: columns [x0, x1) of rows [y0, y1).
struct TileRange {
    int x0, y0, x1, y1;
    bool has(int tx, int ty) const { return tx >= x0 && tx < x1 && ty >= y0 && ty < y1; }
};
TileRange tiles_of(const Description &description, const Area &area);

// Of the packets. Those behind the last one that has any of it are not read.
struct WantedPackets {
    int lowres = 0;         // resolutions that are left out
    uint32_t layers = ~0u;  // that are decoded
};

inline Extent common_part(const Extent &a, const Extent &b) {
    return {max_of(a.x0, b.x0), max_of(a.y0, b.y0), min_of(a.x1, b.x1), min_of(a.y1, b.y1)};
}
inline bool is_empty(const Extent &e) { return e.x0 >= e.x1 || e.y0 >= e.y1; }

// What the inverse transform to the samples `wanted`, `lowres` levels below a tile-component's, reads `level` levels
// below it: columns and rows of each of the four sub-bands, also beyond their ends.
Extent needed_coefficients(Extent wanted, int lowres, int level);

// A code-block's coefficients, in its sub-band's coordinates.
Extent extent_of_block(const CodeBlock &block, const TileComponent &t, int levels, int resolution);

// Whether the samples `wanted`, `lowres` levels below a tile-component's, are made of a code-block's coefficients.
bool is_needed(const CodeBlock &block, const TileComponent &t, int levels, int resolution, const Extent &wanted,
               int lowres);

// A tile-component's part that is transformed alone to give the samples `wanted`, `lowres` levels below it: with what
// the filters of all levels read around them. Without samples where `wanted` has none in it.
TileComponent window_of(const TileComponent &t, const Extent &wanted, int levels, int lowres);

}  // namespace cudaenc::j2k
