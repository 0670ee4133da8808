// SPDX-License-Identifier: LGPL-2.1-or-later
#include "geometry.h"

#include <algorithm>
#include <limits>

#include "../error.h"
#include "../option_checks.h"
#include "block_coders.h"
#include "dwt.h"

namespace cudaenc::j2k {

namespace {

// A resolution of a tile-component and its grid of precincts (T.800 B.6).
struct Resolution {
    Extent extent;
    int first_column, first_row, columns, rows;
    std::vector<uint32_t> packets = std::vector<uint32_t>(static_cast<size_t>(count()));  // [precinct]: of layer 0
    int layers = 0;  // of which all precincts have packets
    int count() const { return columns * rows; }
};

Resolution make_resolution(const Params &p, const TileComponent &t, int r) {
    const Extent e = extent_at(t, p.levels - r);
    const int width_log2 = p.precinct_width_log2[r], height_log2 = p.precinct_height_log2[r];
    const int column = e.x0 >> width_log2, row = e.y0 >> height_log2;
    return {.extent = e,
            .first_column = column,
            .first_row = row,
            .columns = e.width() > 0 ? ceil_shift(e.x1, width_log2) - column : 0,
            .rows = e.height() > 0 ? ceil_shift(e.y1, height_log2) - row : 0};
}

// A sub-band's part in a precinct, in one direction (T.800 B.5 to B.7).
struct Side {
    int begin, end;
    int place;  // what takes a coordinate to its place in the tile-component's row or column
    int log2;   // of a code-block's side
    bool empty() const { return begin >= end; }
    uint32_t blocks() const { return static_cast<uint32_t>(ceil_shift(end, log2) - (begin >> log2)); }
    Span block(uint32_t i) const {
        const int64_t first = (begin >> log2) + int64_t{i};
        return {std::max<int64_t>(begin, first << log2), std::min<int64_t>(end, (first + 1) << log2)};
    }
};

// A sub-band's region of interest.
struct Region {
    Span x, y;
};

class Builder {
  public:
    Builder(const Params &params, Geometry &geometry) : p_(params), g_(geometry) {}

    void build() {
        for (int ty = 0; ty < p_.tiles_y; ty++)
            for (int tx = 0; tx < p_.tiles_x; tx++) {
                tile_ = static_cast<uint32_t>(ty * p_.tiles_x + tx);
                tile_x0_ = tx * p_.tile_width, tile_y0_ = ty * p_.tile_height;
                add_tile_components();
                add_packets_of_tile();
            }
        if (p_.tlm && g_.tile_parts.size() > size_t{kMaxTlmSegments} * kTlmTileParts)
            refuse(format_string("tlm 1: %zu tile-parts are more than TLM marker segments hold, %u",
                                 g_.tile_parts.size(), kMaxTlmSegments * kTlmTileParts));
    }

  private:
    void add_tile_components() {
        const int x1 = std::min(tile_x0_ + p_.tile_width, p_.width),
                  y1 = std::min(tile_y0_ + p_.tile_height, p_.height);
        resolutions_.assign(p_.components.size(), {});
        regions_.assign(p_.components.size(), {});
        for (size_t c = 0; c < p_.components.size(); c++) {
            const Component &k = p_.components[c];
            const auto at = [](int x, int d) { return static_cast<int32_t>(ceil_div(x, d)); };
            const TileComponent t{.x0 = at(tile_x0_, k.dx),
                                  .y0 = at(tile_y0_, k.dy),
                                  .x1 = at(x1, k.dx),
                                  .y1 = at(y1, k.dy),
                                  .samples = g_.samples,
                                  .ll_odd = g_.ll_odd,
                                  .ll_even = g_.ll_even};
            const int width = t.x1 - t.x0, height = t.y1 - t.y0;
            const auto samples_at = [&](int level) {  // rounded up
                return (uint64_t{1} * ceil_shift(width, level) * ceil_shift(height, level) + 31) / 32 * 32;
            };
            g_.samples += samples_at(0);
            g_.ll_odd += samples_at(1);
            g_.ll_even += samples_at(2);
            g_.widest = std::max(g_.widest, width);
            g_.highest = std::max(g_.highest, height);
            g_.tile_components.push_back(t);
            for (int r = 0; r <= p_.levels; r++) resolutions_[c].push_back(make_resolution(p_, t, r));
            if (p_.roi.shift) add_regions(c, t);
        }
    }

    // The region of interest in a tile-component, from its samples down to its sub-bands.
    void add_regions(size_t c, const TileComponent &t) {
        const auto of_samples = [](int first, int count, int d, int32_t begin, int32_t end) {
            return Span{std::max<int64_t>(first / d, begin),
                        std::min(ceil_div(int64_t{first} + count, d), int64_t{end})};
        };
        Region low{of_samples(p_.roi.x, p_.roi.width, p_.components[c].dx, t.x0, t.x1),
                   of_samples(p_.roi.y, p_.roi.height, p_.components[c].dy, t.y0, t.y1)};
        if (low.x.begin >= low.x.end || low.y.begin >= low.y.end) return;
        std::vector<Region> &regions = regions_[c];
        regions.resize(static_cast<size_t>(3 * p_.levels) + 1);
        const auto half = [&](const Span &span, bool high) { return region_of_half(span, high, p_.reversible); };
        for (int r = p_.levels; r > 0; r--) {
            for (int o = kHL; o <= kHH; o++) regions[band_index(r, o)] = {half(low.x, o != kLH), half(low.y, o != kHL)};
            low = {half(low.x, false), half(low.y, false)};
        }
        regions[0] = low;
    }

    void add_roi_block(const Region &region, const Span &x, const Span &y) {
        const auto within = [](int64_t at, const Span &span) {
            return static_cast<uint16_t>(std::clamp(at, span.begin, span.end) - span.begin);
        };
        const RoiBlock roi{static_cast<uint32_t>(g_.blocks.size()), within(region.x.begin, x),
                           within(region.y.begin, y), within(region.x.end, x), within(region.y.end, y)};
        if (roi.x0 < roi.x1 && roi.y0 < roi.y1) g_.roi_blocks.push_back(roi);
    }

    void add_packets_of_tile() {
        first_packet_ = static_cast<uint32_t>(g_.packets.size());
        first_part_ = g_.tile_parts.size();
        begin_tile_part();
        if (p_.poc.empty())
            add_packets({0, 0, p_.layers, p_.levels + 1, static_cast<int>(p_.components.size()), p_.progression});
        else
            for (const ProgressionChange &change : p_.poc) add_packets(change);
        g_.tile_parts.back().last_packet = static_cast<uint32_t>(g_.packets.size());
        const size_t parts = g_.tile_parts.size() - first_part_;
        if (parts > kMaxTileParts)
            refuse(format_string("tile_parts cut a tile into %zu: at most %d are allowed", parts, kMaxTileParts));
        for (size_t i = 0; i < parts; i++) {
            TilePart &part = g_.tile_parts[first_part_ + i];
            if (p_.plt && plt_segments(part.last_packet - part.first_packet) > kMaxPltSegments)
                refuse(format_string("plt 1: %u packets are more than PLT marker segments of a tile-part hold, %u",
                                     part.last_packet - part.first_packet, kMaxPltSegments * kPltPackets));
            part.part = static_cast<uint8_t>(i);
            part.parts = static_cast<uint8_t>(parts);
        }
    }

    // Adds packets in one of five orders (T.800 B.12.1). What earlier changes added is not added again (B.12.2).
    void add_packets(const ProgressionChange &change) {
        const int r0 = change.first_resolution, r1 = change.last_resolution;
        const int c0 = change.first_component, c1 = change.last_component;
        const int layers = change.last_layer;
        const auto add_layer = [&](int layer, int r) {
            for (int c = c0; c < c1; c++)
                for (int k = 0; layer >= resolutions_[c][r].layers && k < resolutions_[c][r].count(); k++)
                    add_packet(c, r, k, layer);
        };
        const auto add_layers = [&](int c, int r, int k) {
            for (int layer = resolutions_[c][r].layers; layer < layers; layer++) add_packet(c, r, k, layer);
        };
        switch (change.progression) {
            case CUDAENC_J2K_LRCP:
                for (int layer = 0; layer < layers; layer++)
                    for (int r = r0; r < r1; r++) add_layer(layer, r);
                break;
            case CUDAENC_J2K_RLCP:
                for (int r = r0; r < r1; r++)
                    for (int layer = 0; layer < layers; layer++) add_layer(layer, r);
                break;
            case CUDAENC_J2K_RPCL:
                for (int r = r0; r < r1; r++) by_position(c0, c1, r, r + 1, add_layers);
                break;
            case CUDAENC_J2K_PCRL:
                by_position(c0, c1, r0, r1, add_layers);
                break;
            case CUDAENC_J2K_CPRL:
                for (int c = c0; c < c1; c++) by_position(c, c + 1, r0, r1, add_layers);
                break;
        }
        for (int c = c0; c < c1; c++)
            for (int r = r0; r < r1; r++) resolutions_[c][r].layers = std::max(resolutions_[c][r].layers, layers);
    }

    // Calls add(c, r, k) for precincts in the order of their upper left corners on the reference grid, then component,
    // then resolution. The standard walks every position. Only those where a precinct begins matter.
    template <class F>
    void by_position(int c0, int c1, int r0, int r1, F add) {
        struct Corner {
            int64_t y, x;
            int component, resolution, precinct;
            auto operator<=>(const Corner &) const = default;
        };
        // A precinct that the tile's edge cuts begins there.
        const auto on_grid = [](int64_t index, int shift, int d, int64_t edge) {
            return std::max((index << shift) * d, edge);
        };
        std::vector<Corner> corners;
        for (int c = c0; c < c1; c++)
            for (int r = r0; r < r1; r++) {
                const Resolution &res = resolutions_[c][r];
                const Component &component = p_.components[c];
                const int shift_x = p_.precinct_width_log2[r] + p_.levels - r,
                          shift_y = p_.precinct_height_log2[r] + p_.levels - r;
                for (int k = 0; k < res.count(); k++)
                    corners.push_back(
                        {.y = on_grid(res.first_row + k / res.columns, shift_y, component.dy, tile_y0_),
                         .x = on_grid(res.first_column + k % res.columns, shift_x, component.dx, tile_x0_),
                         .component = c,
                         .resolution = r,
                         .precinct = k});
            }
        std::sort(corners.begin(), corners.end());
        for (const Corner &k : corners) add(k.component, k.resolution, k.precinct);
    }

    void begin_tile_part() {
        const uint32_t packet = static_cast<uint32_t>(g_.packets.size());
        if (g_.tile_parts.size() > first_part_) g_.tile_parts.back().last_packet = packet;
        g_.tile_parts.push_back({packet, packet, tile_, 0, 0, {}});
    }

    void add_packet(int c, int r, int precinct, int layer) {
        Resolution &res = resolutions_[c][r];
        // A tile-part has packets of one resolution, or one component, where p_.tile_parts says so.
        if (g_.packets.size() > g_.tile_parts.back().first_packet &&
            (((p_.tile_parts & CUDAENC_J2K_TILE_PART_RESOLUTION) && r != last_resolution_) ||
             ((p_.tile_parts & CUDAENC_J2K_TILE_PART_COMPONENT) && c != last_component_)))
            begin_tile_part();
        last_resolution_ = r;
        last_component_ = c;
        const uint32_t index = static_cast<uint32_t>(g_.packets.size());
        Packet packet{};
        if (layer) {
            packet = g_.packets[res.packets[precinct]];
        } else {
            res.packets[precinct] = index;
            packet.first_block = static_cast<uint32_t>(g_.blocks.size());
            packet.first_band = static_cast<uint32_t>(g_.precinct_bands.size());
            const int px = res.first_column + precinct % res.columns, py = res.first_row + precinct / res.columns;
            for (int o = r ? kHL : kLL; o <= (r ? kHH : kLL); o++) add_band(c, r, o, res, px, py);
            packet.last_block = static_cast<uint32_t>(g_.blocks.size());
            packet.last_band = static_cast<uint32_t>(g_.precinct_bands.size());
        }
        packet.tile_part = static_cast<uint32_t>(g_.tile_parts.size() - 1);
        packet.in_tile = index - first_packet_;
        packet.layer = static_cast<uint32_t>(layer);
        packet.first_block_layer = static_cast<uint32_t>(g_.block_layers.size());
        g_.block_layers.insert(g_.block_layers.end(), packet.last_block - packet.first_block, index);
        g_.packets.push_back(packet);
        if (std::max(g_.block_layers.size(), g_.packets.size()) > std::numeric_limits<int32_t>::max())
            throw Error(CUDAENC_ERR_MEMORY, "the picture has more code-blocks and layers than a session holds");
    }

    // Adds the code-blocks of a sub-band in the precinct (px, py).
    void add_band(int c, int r, int o, const Resolution &res, int px, int py) {
        // A sub-band's coordinates, and the precinct's in it, are half of the resolution's, but at the lowest. In the
        // tile-component's rows, the low half of a resolution lies left of and above its high half.
        const auto side = [r](int begin, int end, bool high, int precinct, int precinct_log2, int block_log2) {
            const auto halved = [&](int x) { return !r ? x : high ? high_begin(x) : low_begin(x); };
            const int log2 = precinct_log2 - (r ? 1 : 0);
            return Side{.begin = std::max(halved(begin), precinct << log2),
                        .end = std::min(halved(end), (precinct + 1) << log2),
                        .place = (high ? low_begin(end) - low_begin(begin) : 0) - halved(begin),
                        .log2 = std::min(block_log2, log2)};
        };
        const Extent &e = res.extent;
        const Side x = side(e.x0, e.x1, o == kHL || o == kHH, px, p_.precinct_width_log2[r], p_.cblk_width_log2),
                   y = side(e.y0, e.y1, o == kLH || o == kHH, py, p_.precinct_height_log2[r], p_.cblk_height_log2);
        if (x.empty() || y.empty()) return;
        const int index = band_index(r, o);
        const Quantiser &q = p_.quantisers[c][index];
        const PrecinctBand band{
            .first_block = static_cast<uint32_t>(g_.blocks.size()),
            .columns = x.blocks(),
            .rows = y.blocks(),
            .nodes = g_.tag_tree_nodes,
            .weight = q.weight,
            .group = std::min<uint32_t>(static_cast<uint32_t>(g_.tile_parts.size()) - 1, kLimitedTileParts),
            .component = static_cast<uint16_t>(c),
            .band = static_cast<uint16_t>(index),
            .step = static_cast<uint16_t>(p_.reversible ? 0 : q.told()),
            .spare = static_cast<uint16_t>(q.spare)};
        for (int level = 0; level < tag_tree_levels(band.columns, band.rows); level++)
            g_.tag_tree_nodes += tag_tree_columns(band.columns, level) * tag_tree_columns(band.rows, level);

        const TileComponent &t = g_.tile_components[tile_ * p_.components.size() + c];
        const uint32_t stride = static_cast<uint32_t>(t.x1 - t.x0);
        const int planes = q.planes + p_.roi.shift;
        for (uint32_t j = 0; j < band.rows; j++)
            for (uint32_t i = 0; i < band.columns; i++) {
                const Span across = x.block(i), down = y.block(j);
                if (!regions_[c].empty()) add_roi_block(regions_[c][index], across, down);
                g_.blocks.push_back(
                    {.coefficients = t.samples + (y.place + down.begin) * stride + x.place + across.begin,
                     .slot = 0,
                     .stride = stride,
                     .precinct_band = static_cast<uint32_t>(g_.precinct_bands.size()),
                     .width = static_cast<uint16_t>(across.end - across.begin),
                     .height = static_cast<uint16_t>(down.end - down.begin),
                     .x = static_cast<uint16_t>(i),
                     .y = static_cast<uint16_t>(j),
                     .orientation = static_cast<uint8_t>(o),
                     .planes = static_cast<uint8_t>(planes),
                     .lossy = !p_.reversible && !p_.rate.target(),
                     .reversible = p_.reversible});
            }
        g_.max_passes = std::max(g_.max_passes, block_coder_traits(p_.style).most_passes(planes, p_.truncatable));
        g_.precinct_bands.push_back(band);
    }

    const Params &p_;
    Geometry &g_;
    // Of the tile.
    uint32_t tile_ = 0, first_packet_ = 0;
    size_t first_part_ = 0;
    int tile_x0_ = 0, tile_y0_ = 0;
    int last_resolution_ = 0, last_component_ = 0;      // of the packet added last
    std::vector<std::vector<Resolution>> resolutions_;  // [component][resolution]
    std::vector<std::vector<Region>> regions_;          // [component][band_index()]; empty: not in this tile
};

}  // namespace

Geometry make_geometry(const Params &params) {
    Geometry geometry{};
    Builder(params, geometry).build();
    return geometry;
}

}  // namespace cudaenc::j2k
