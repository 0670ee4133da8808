// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decoder_limits.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "../error.h"
#include "block_coders.h"
#include "encoder_tables.h"

namespace cudaenc::j2k {

namespace {

// A direction of a component's resolution and of the tiles. Sizes are those of the reference grid.
struct Direction {
    int begin, end;        // of the picture
    int tile_begin, tile;  // where the first tile begins, a tile's size
    int d;                 // XRsiz or YRsiz
    int down;              // levels below the full resolution
    int log2;              // of a precinct's side

    // Whether holds(begin, end) for what a tile has of the picture.
    template <class Holds>
    bool any_tile(const Holds &holds) const {
        for (int64_t at = tile_begin; at < end; at += tile)
            if (holds(std::max<int64_t>(at, begin), std::min<int64_t>(at + tile, end))) return true;
        return false;
    }
    // Whether in some tile the resolution begins with a precinct, but the tile itself before it.
    bool begins_late(bool where_empty) const {
        const int64_t step = int64_t{d} << down;
        return any_tile([&](int64_t from, int64_t to) {
            const int64_t first = ceil_div(from, step);
            return from % (step << log2) && first % (int64_t{1} << log2) == 0 &&
                   (!where_empty || first == ceil_div(to, step));
        });
    }
    bool has_empty_tile() const {
        return any_tile([&](int64_t from, int64_t to) { return ceil_div(from, d) == ceil_div(to, d); });
    }
    // Whether a precinct's side takes 32 bits with a sign, or on the reference grid 32 bits.
    bool has_far_precincts() const {
        const int side = log2 + down;
        return side > 30 || side + bit_width(static_cast<uint32_t>(d)) - 1 > 31;
    }
};

std::array<Direction, 2> directions(const Params &p, const Component &c, int resolution) {
    const int down = p.levels - resolution;
    return {Direction{p.x0, p.x0 + p.width, p.tile_x0, p.tile_width, c.dx, down, p.precinct_width_log2[resolution]},
            Direction{p.y0, p.y0 + p.height, p.tile_y0, p.tile_height, c.dy, down, p.precinct_height_log2[resolution]}};
}

// Whether holds(direction) for a direction of some resolution that packets come by position in, in one of the orders.
template <class Holds>
bool any_position(const Params &p, std::initializer_list<CudaencJ2kProgression> orders, const Holds &holds) {
    const auto in = [&](const ProgressionChange &change) {
        if (std::find(orders.begin(), orders.end(), change.progression) == orders.end()) return false;
        for (int c = change.first_component; c < change.last_component; c++)
            for (int r = change.first_resolution; r < change.last_resolution; r++)
                for (const Direction &d : directions(p, p.components[static_cast<size_t>(c)], r))
                    if (holds(d)) return true;
        return false;
    };
    if (!p.poc.empty()) return std::any_of(p.poc.begin(), p.poc.end(), in);
    return in({0, 0, p.layers, p.levels + 1, static_cast<int>(p.components.size()), p.progression});
}

// Whether packets of a change come by position, and no precinct of it has a side below 2^31.
bool has_far_positions(const Params &p, const ProgressionChange &change) {
    if (change.progression != CUDAENC_J2K_PCRL && change.progression != CUDAENC_J2K_CPRL) return false;
    const auto far = [&](const auto &side_log2) {
        for (int r = change.first_resolution; r < change.last_resolution; r++)
            if (side_log2[static_cast<size_t>(r)] + p.levels - r < 31) return false;
        return true;
    };
    return far(p.precinct_width_log2) || far(p.precinct_height_log2);
}

// FFmpeg multiplies a step by the filters' gains that its transform leaves out. A frame may choose steps of nearly
// twice the session's.
bool has_large_step(const Params &p) {
    constexpr double kLowGain = 1.230174104914001, kHighGain = 1.625786132;
    const double most = p.frame_steps ? 65535 / 2. : 65535;
    if (p.reversible) return false;
    for (const auto &bands : p.quantisers)
        for (int r = 0; r <= p.levels; r++)
            for (int o = r ? kHL : kLL; o <= (r ? kHH : kLL); o++) {
                const int highs = o == kLL ? 0 : o == kHH ? 2 : 1;
                const int lows = 2 * (p.levels + 1 - r) - (highs == 1 ? 1 : 2);
                const Quantiser &q = bands[static_cast<size_t>(band_index(r, o))];
                const double step = std::ldexp(1 / q.inverse_step, q.spare);
                if (std::ldexp(step, -highs) * std::pow(kHighGain, highs) * std::pow(kLowGain, lows) > most)
                    return true;
            }
    return false;
}

}  // namespace

std::string decoder_warning(const Params &p) {
    std::string line;
    const auto fails = [&](const char *decoder, const char *why, bool condition) {
        if (condition) line += format_string("%s%s (%s)", line.empty() ? "" : ", ", decoder, why);
    };
    const auto any_component = [&](const auto &holds) {
        return std::any_of(p.components.begin(), p.components.end(), holds);
    };

    fails("FFmpeg", "more than 4 components", p.components.size() > 4);
    fails("FFmpeg", "no pixel format for 4:4:0 of more than 8 bits",
          any_component([](const Component &c) { return c.dx == 1 && c.dy == 2 && c.depth > 8; }));
    fails("FFmpeg", "XYZ is RGB without a profile of digital cinema",
          p.color_model == CUDAENC_COLOR_XYZ && p.rsiz != 3 && p.rsiz != 4);
    fails("FFmpeg", "quantiser steps above 65535", has_large_step(p));
    const bool has_empty_tile = any_component([&](const Component &c) {
        const auto [x, y] = directions(p, c, p.levels);
        return x.has_empty_tile() || y.has_empty_tile();
    });
    fails("FFmpeg", "tiles in which a component has no sample", has_empty_tile);
    fails("OpenJPEG", "offsets and tiles in which a component has no sample", has_empty_tile && (p.x0 || p.y0));
    // av_image_check_size() of the grid up to the picture's end.
    fails("FFmpeg", "a picture far from the grid's origin",
          (p.x0 || p.y0) && (int64_t{p.x0} + p.width + 128) * (int64_t{p.y0} + p.height + 128) >= INT32_MAX / 8);
    const auto late = [](const Direction &d) { return d.begins_late(false); };
    const auto late_and_empty = [](const Direction &d) { return d.begins_late(true); };
    fails("FFmpeg", "cprl and rpcl where precincts of a resolution begin within a tile",
          any_position(p, {CUDAENC_J2K_CPRL}, late) || any_position(p, {CUDAENC_J2K_RPCL}, late_and_empty));
    fails("FFmpeg", "more than 32 progression order changes", p.poc.size() > 32);
    fails("OpenJPEG", "more than 31 progression order changes", p.poc.size() > 31);
    fails("FFmpeg", "pcrl and cprl of precincts of 2^31",
          std::any_of(p.poc.begin(), p.poc.end(), [&](const auto &c) { return has_far_positions(p, c); }));
    if (p.tile_parts || (p.tlm && p.tiles() > 255)) {
        const Geometry g = make_encoder_geometry(p);
        fails("FFmpeg", "more than 32 tile-parts a tile",
              std::any_of(g.tile_parts.begin(), g.tile_parts.end(), [](const TilePart &t) { return t.parts > 32; }));
        fails("FFmpeg", "more than 255 tile-parts in a TLM marker segment", p.tlm && g.tile_parts.size() > 255);
    }
    fails("OpenJPH", "more than one quality layer", p.layers > 1 && block_coder_traits(p.style).part);
    fails("OpenJPEG", "bypass with a region of interest", p.roi.shift && (p.style & CUDAENC_J2K_BYPASS));
    fails("OpenJPEG 2.5.0", "rpcl, pcrl and cprl of precincts of 2^31",
          any_position(p, {CUDAENC_J2K_RPCL, CUDAENC_J2K_PCRL, CUDAENC_J2K_CPRL},
                       [](const Direction &d) { return d.has_far_precincts(); }));
    return line.empty() ? line : "decoders that are known to fail: " + line;
}

}  // namespace cudaenc::j2k
