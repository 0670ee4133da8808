// SPDX-License-Identifier: LGPL-2.1-or-later
// What a codestream is, as its marker segments say (T.800 Annex A). An encoder makes a description out of options, a
// decoder out of markers. Geometry and headers follow from it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "../../cudaenc.h"
#include "tables.h"

namespace cudaenc::j2k {

constexpr int kMaxLevels = 32;

// Sub-bands in the order of quantisation step sizes (T.800 A.6.4): LL, then HL, LH, HH of each resolution.
constexpr int band_index(int resolution, int orientation) { return resolution ? 3 * resolution - 3 + orientation : 0; }
constexpr int resolution_of(int band) { return (band + 2) / 3; }

struct Component {
    int dx, dy;  // XRsiz, YRsiz
    int depth;   // bits
    bool is_signed = false;
    uint32_t flipped() const { return is_signed ? 1u << (depth - 1) : 0; }  // as of load_sample()
    bool operator==(const Component &) const = default;
};

// COD and COC: the decomposition and the code-blocks of a tile-component (A.6.1, A.6.2).
struct ComponentCoding {
    int levels;
    int cblk_width_log2, cblk_height_log2;
    uint32_t style;  // of code-blocks: the byte of the marker segment
    bool reversible;
    bool default_precincts;
    std::array<int, kMaxLevels + 1> precinct_width_log2, precinct_height_log2;  // by resolution
    bool operator==(const ComponentCoding &) const = default;
};

// A step, or with reversible transforms its exponent alone: epsilon_b, and mu_b of 11 bits (A.6.4).
struct StepSize {
    int exponent, mantissa;
    uint32_t spqcd() const { return static_cast<uint32_t>(exponent << 11 | mantissa); }
    bool operator==(const StepSize &) const = default;
};

// QCD and QCC: the sub-bands of a tile-component (A.6.4, A.6.5).
struct Quantisation {
    int guard_bits;
    std::vector<StepSize> steps;                                                                       // [band_index()]
    int planes(int band) const { return guard_bits + steps[static_cast<size_t>(band)].exponent - 1; }  // M_b, E-2
    bool operator==(const Quantisation &) const = default;
};

// A progression order's volume of packets (A.6.6): [first, last) of resolutions and components, layers from 0.
struct ProgressionChange {
    int first_resolution, first_component;
    int last_layer, last_resolution, last_component;
    CudaencJ2kProgression progression;
    bool operator==(const ProgressionChange &) const = default;
};

// How a tile is coded. What is inherited is that of components without a COC.
struct TileCoding : ComponentCoding {
    std::map<size_t, ComponentCoding> coc;  // by component
    int layers;
    CudaencJ2kProgression progression;
    std::vector<ProgressionChange> poc;  // empty: `progression` holds for all packets
    bool mct, sop, eph;
    std::vector<Quantisation> quantisation;  // [component]
    std::vector<int> region_shifts;          // [component]: SPrgn, in bit-planes; empty: no region of interest

    const ComponentCoding &of_component(size_t c) const {
        const auto own = coc.find(c);
        return own == coc.end() ? *this : own->second;
    }
    int region_shift(size_t c) const { return region_shifts.empty() ? 0 : region_shifts[c]; }
    bool operator==(const TileCoding &) const = default;
};

// A tile-part of a codestream that is read: what SOT says, where its packets are in the codestream, [begin, end), and
// the packet headers of PPM or PPT (A.4.2, A.7.4, A.7.5).
struct CodedTilePart {
    uint32_t tile;
    uint8_t part, parts;  // TPsot; TNsot, 0: not said
    bool is_cut;          // the codestream ends before it does
    size_t begin, end;
    bool has_packed_headers;  // else they are among the packets
    std::vector<uint8_t> packet_headers;
    bool operator==(const CodedTilePart &) const = default;
};

// What is inherited is that of tiles without marker segments of their own.
struct Description : TileCoding {
    int width, height;   // Xsiz - XOsiz, Ysiz - YOsiz
    int x0 = 0, y0 = 0;  // XOsiz, YOsiz
    int tile_width, tile_height;
    int tile_x0 = 0, tile_y0 = 0;  // XTOsiz, YTOsiz
    int tiles_x, tiles_y;          // T.800 B-5
    std::vector<Component> components;
    std::map<uint32_t, TileCoding> own_coding;    // by tile
    int rsiz;                                     // Rsiz without its flag of CAP, Table A.10
    int part = 0;                                 // of the standard that CAP tells of (A.5.2); 0: there is none
    uint32_t capabilities = 0;                    // Ccap of that part
    int tile_parts;                               // where an encoder cuts tiles: CudaencJ2kTileParts
    std::vector<CodedTilePart> coded_tile_parts;  // in the order of the codestream; an encoder has none
    std::string damage;                           // why tile-parts behind these are left out; mostly empty
    bool tlm, plt;
    std::string comment;

    int64_t samples(const Component &c) const { return ceil_div(width, c.dx) * ceil_div(height, c.dy); }
    // The coordinates of a component's first sample (T.800 B-11).
    int first_column(const Component &c) const { return static_cast<int>(ceil_div(x0, c.dx)); }
    int first_row(const Component &c) const { return static_cast<int>(ceil_div(y0, c.dy)); }
    // Of a picture, as they are.
    double sample_bytes() const {
        double bits = 0;
        for (const Component &c : components) bits += static_cast<double>(samples(c)) * c.depth;
        return bits / 8;
    }
    int tiles() const { return tiles_x * tiles_y; }
    const TileCoding &of_tile(uint32_t tile) const {
        const auto own = own_coding.find(tile);
        return own == own_coding.end() ? *this : own->second;
    }
    bool operator==(const Description &) const = default;
};

}  // namespace cudaenc::j2k
