// SPDX-License-Identifier: LGPL-2.1-or-later
#include "geometry.h"

#include <algorithm>
#include <limits>

#include "../../error.h"
#include "../../option_checks.h"

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

Resolution make_resolution(const ComponentCoding &coding, const TileComponent &t, int r) {
    const Extent e = extent_at(t, coding.levels - r);
    const int width_log2 = coding.precinct_width_log2[r], height_log2 = coding.precinct_height_log2[r];
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
    int log2;  // of a code-block's side
    bool empty() const { return begin >= end; }
    uint32_t blocks() const { return static_cast<uint32_t>(ceil_shift(end, log2) - (begin >> log2)); }
    int64_t block_begin(uint32_t i) const { return std::max<int64_t>(begin, ((begin >> log2) + int64_t{i}) << log2); }
    int64_t block_end(uint32_t i) const { return std::min<int64_t>(end, ((begin >> log2) + int64_t{i} + 1) << log2); }
};

class Builder {
  public:
    Builder(const Description &description, const TileRange &tiles, Geometry &geometry)
        : d_(description), tiles_(tiles), g_(geometry) {}

    void build() {
        for (int ty = 0; ty < d_.tiles_y; ty++)
            for (int tx = 0; tx < d_.tiles_x; tx++) {
                tile_ = static_cast<uint32_t>(ty * d_.tiles_x + tx);
                coding_ = &d_.of_tile(tile_);
                const bool is_wanted = tiles_.has(tx, ty);
                add_tile_components(tx, ty, is_wanted);
                if (is_wanted)
                    add_packets_of_tile();
                else
                    g_.tile_parts.push_back({});
            }
        if (d_.tlm && g_.tile_parts.size() > size_t{kMaxTlmSegments} * kTlmTileParts)
            refuse(format_string("tlm 1: %zu tile-parts are more than TLM marker segments hold, %u",
                                 g_.tile_parts.size(), kMaxTlmSegments * kTlmTileParts));
    }

  private:
    void add_tile_components(int tx, int ty, bool is_wanted) {  // B-7 to B-10, B-12
        const int64_t x0 = d_.tile_x0 + int64_t{tx} * d_.tile_width, y0 = d_.tile_y0 + int64_t{ty} * d_.tile_height;
        tile_x0_ = std::max<int64_t>(x0, d_.x0), tile_y0_ = std::max<int64_t>(y0, d_.y0);
        const int64_t x1 = std::min(x0 + d_.tile_width, int64_t{d_.x0} + d_.width),
                      y1 = std::min(y0 + d_.tile_height, int64_t{d_.y0} + d_.height);
        resolutions_.assign(d_.components.size(), {});
        for (size_t c = 0; c < d_.components.size(); c++) {
            const Component &k = d_.components[c];
            const auto at = [](int64_t x, int d) { return static_cast<int32_t>(ceil_div(x, d)); };
            const TileComponent t{.x0 = at(tile_x0_, k.dx),
                                  .y0 = at(tile_y0_, k.dy),
                                  .x1 = at(x1, k.dx),
                                  .y1 = at(y1, k.dy),
                                  .samples = g_.samples,
                                  .ll_odd = g_.ll_odd,
                                  .ll_even = g_.ll_even};
            g_.tile_components.push_back(t);
            if (!is_wanted) continue;
            const int width = t.x1 - t.x0, height = t.y1 - t.y0;
            // Rounded up. An LL sub-band that begins at an odd coordinate has no more.
            const auto samples_at = [&](int level) {
                return (uint64_t{1} * ceil_shift(width, level) * ceil_shift(height, level) + 31) / 32 * 32;
            };
            g_.samples += samples_at(0);
            g_.ll_odd += samples_at(1);
            g_.ll_even += samples_at(2);
            g_.widest = std::max(g_.widest, width);
            g_.highest = std::max(g_.highest, height);
            const ComponentCoding &coding = coding_->of_component(c);
            for (int r = 0; r <= coding.levels; r++) resolutions_[c].push_back(make_resolution(coding, t, r));
        }
    }

    void add_packets_of_tile() {
        first_packet_ = static_cast<uint32_t>(g_.packets.size());
        first_part_ = g_.tile_parts.size();
        begin_tile_part();
        if (coding_->poc.empty())
            add_packets(
                {0, 0, coding_->layers, kMaxLevels + 1, static_cast<int>(d_.components.size()), coding_->progression});
        else
            for (const ProgressionChange &change : coding_->poc) add_packets(change);
        g_.tile_parts.back().last_packet = static_cast<uint32_t>(g_.packets.size());
        const size_t parts = g_.tile_parts.size() - first_part_;
        if (parts > kMaxTileParts)
            refuse(format_string("tile_parts cut a tile into %zu: at most %d are allowed", parts, kMaxTileParts));
        for (size_t i = 0; i < parts; i++) {
            TilePart &part = g_.tile_parts[first_part_ + i];
            if (d_.plt && plt_segments(part.last_packet - part.first_packet) > kMaxPltSegments)
                refuse(format_string("plt 1: %u packets are more than PLT marker segments of a tile-part hold, %u",
                                     part.last_packet - part.first_packet, kMaxPltSegments * kPltPackets));
            part.part = static_cast<uint8_t>(i);
            part.parts = static_cast<uint8_t>(parts);
        }
    }

    // Adds packets in one of five orders (T.800 B.12.1). What earlier changes added is not added again (B.12.2).
    void add_packets(const ProgressionChange &change) {
        const int c0 = change.first_component, c1 = change.last_component, r0 = change.first_resolution;
        int most = 0;  // resolutions of a component
        for (int c = c0; c < c1; c++) most = std::max(most, resolutions(c));
        const int r1 = std::min(change.last_resolution, most);
        const int layers = change.last_layer;
        const auto add_layer = [&](int layer, int r) {
            for (int c = c0; c < c1; c++)
                for (int k = 0;
                     r < resolutions(c) && layer >= resolutions_[c][r].layers && k < resolutions_[c][r].count(); k++)
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
            for (int r = r0; r < std::min(r1, resolutions(c)); r++)
                resolutions_[c][r].layers = std::max(resolutions_[c][r].layers, layers);
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
            for (int r = r0; r < std::min(r1, resolutions(c)); r++) {
                const Resolution &res = resolutions_[c][r];
                const Component &component = d_.components[c];
                const ComponentCoding &coding = coding_->of_component(c);
                const int shift_x = coding.precinct_width_log2[r] + coding.levels - r,
                          shift_y = coding.precinct_height_log2[r] + coding.levels - r;
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
        // A tile-part has packets of one resolution, or one component, where d_.tile_parts says so.
        if (g_.packets.size() > g_.tile_parts.back().first_packet &&
            (((d_.tile_parts & CUDAENC_J2K_TILE_PART_RESOLUTION) && r != last_resolution_) ||
             ((d_.tile_parts & CUDAENC_J2K_TILE_PART_COMPONENT) && c != last_component_)))
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
            for (int o = r ? kHL : kLL; o <= (r ? kHH : kLL); o++) add_band(c, r, o, px, py);
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
    void add_band(int c, int r, int o, int px, int py) {
        const ComponentCoding &coding = coding_->of_component(c);
        const TileComponent &t = g_.tile_components[tile_ * d_.components.size() + c];
        const SubBand all = sub_band(t, coding.levels, r, o);
        // A precinct's coordinates in a sub-band are half of the resolution's, but at the lowest.
        const auto side = [r](int begin, int end, int precinct, int precinct_log2, int block_log2) {
            const int log2 = precinct_log2 - (r ? 1 : 0);
            return Side{.begin = static_cast<int>(std::max<int64_t>(begin, int64_t{precinct} << log2)),
                        .end = static_cast<int>(std::min<int64_t>(end, (int64_t{precinct} + 1) << log2)),
                        .log2 = std::min(block_log2, log2)};
        };
        const Side x = side(all.extent.x0, all.extent.x1, px, coding.precinct_width_log2[r], coding.cblk_width_log2),
                   y = side(all.extent.y0, all.extent.y1, py, coding.precinct_height_log2[r], coding.cblk_height_log2);
        if (x.empty() || y.empty()) return;
        const int index = band_index(r, o);
        const PrecinctBand band{.first_block = static_cast<uint32_t>(g_.blocks.size()),
                                .columns = x.blocks(),
                                .rows = y.blocks(),
                                .nodes = g_.tag_tree_nodes,
                                .component = static_cast<uint16_t>(c),
                                .band = static_cast<uint16_t>(index)};
        for (int level = 0; level < tag_tree_levels(band.columns, band.rows); level++)
            g_.tag_tree_nodes += tag_tree_columns(band.columns, level) * tag_tree_columns(band.rows, level);

        const uint32_t stride = static_cast<uint32_t>(t.x1 - t.x0);
        const int planes = coding_->quantisation[c].planes(index) + coding_->region_shift(c);
        for (uint32_t j = 0; j < band.rows; j++)
            for (uint32_t i = 0; i < band.columns; i++)
                g_.blocks.push_back({.coefficients = all.coefficients +
                                                     static_cast<uint64_t>((y.block_begin(j) - all.extent.y0) * stride +
                                                                           x.block_begin(i) - all.extent.x0),
                                     .stride = stride,
                                     .precinct_band = static_cast<uint32_t>(g_.precinct_bands.size()),
                                     .width = static_cast<uint16_t>(x.block_end(i) - x.block_begin(i)),
                                     .height = static_cast<uint16_t>(y.block_end(j) - y.block_begin(j)),
                                     .x = static_cast<uint16_t>(i),
                                     .y = static_cast<uint16_t>(j),
                                     .orientation = static_cast<uint8_t>(o),
                                     .planes = static_cast<uint8_t>(planes),
                                     .reversible = coding.reversible});
        g_.precinct_bands.push_back(band);
    }

    int resolutions(int c) const { return static_cast<int>(resolutions_[c].size()); }

    const Description &d_;
    const TileRange tiles_;
    Geometry &g_;
    // Of the tile.
    uint32_t tile_ = 0, first_packet_ = 0;
    size_t first_part_ = 0;
    const TileCoding *coding_ = nullptr;
    int64_t tile_x0_ = 0, tile_y0_ = 0;
    int last_resolution_ = 0, last_component_ = 0;      // of the packet added last
    std::vector<std::vector<Resolution>> resolutions_;  // [component][resolution]
};

}  // namespace

Geometry make_geometry(const Description &description) {
    return make_geometry(description, {0, 0, description.tiles_x, description.tiles_y});
}
Geometry make_geometry(const Description &description, const TileRange &tiles) {
    Geometry geometry{};
    Builder(description, tiles, geometry).build();
    return geometry;
}

}  // namespace cudaenc::j2k
