// SPDX-License-Identifier: LGPL-2.1-or-later
#include "geometry.h"

#include <algorithm>
#include <limits>

#include "../error.h"
#include "../option_checks.h"
#include "dwt.h"

namespace cudaenc::j2k {

namespace {

int64_t ceil_shift64(int64_t x, int bits) { return bits >= 62 ? (x > 0) : (x + (int64_t{1} << bits) - 1) >> bits; }
int64_t floor_shift64(int64_t x, int bits) { return bits >= 62 ? 0 : x >> bits; }

// A resolution of a tile-component, cut into precincts (T.800 B.6).
struct Resolution {
    Extent extent;
    int level;  // decompositions above it
    int width_log2, height_log2;
    int64_t first_column, first_row;  // of the precinct grid
    int columns, rows;
    std::vector<uint32_t> packets;  // of each precinct, that of the first layer, once it is there
    int layers;                     // that are there of all precincts
    int count() const { return columns * rows; }
};

Resolution make_resolution(const Params &p, const TileComponent &t, int r) {
    Resolution res{};
    res.level = p.levels - r;
    res.extent = {
        static_cast<int32_t>(ceil_shift64(t.x0, res.level)), static_cast<int32_t>(ceil_shift64(t.y0, res.level)),
        static_cast<int32_t>(ceil_shift64(t.x1, res.level)), static_cast<int32_t>(ceil_shift64(t.y1, res.level))};
    res.width_log2 = p.precinct_width_log2[r];
    res.height_log2 = p.precinct_height_log2[r];
    res.first_column = floor_shift64(res.extent.x0, res.width_log2);
    res.first_row = floor_shift64(res.extent.y0, res.height_log2);
    if (res.extent.width() > 0)
        res.columns = static_cast<int>(ceil_shift64(res.extent.x1, res.width_log2) - res.first_column);
    if (res.extent.height() > 0)
        res.rows = static_cast<int>(ceil_shift64(res.extent.y1, res.height_log2) - res.first_row);
    res.packets.resize(static_cast<size_t>(res.count()));
    return res;
}

// Of a sub-band, by direction.
struct Region {
    Span x, y;
};

class Builder {
  public:
    Builder(const Params &params, Geometry &geometry) : p_(params), g_(geometry) {}

    void build() {
        const int components = static_cast<int>(p_.components.size());
        for (int ty = 0; ty < p_.tiles_y; ty++)
            for (int tx = 0; tx < p_.tiles_x; tx++) {
                const int64_t left = int64_t{tx} * p_.tile_width, top = int64_t{ty} * p_.tile_height;
                const int64_t right = std::min<int64_t>(left + p_.tile_width, p_.width);
                const int64_t bottom = std::min<int64_t>(top + p_.tile_height, p_.height);
                resolutions_.assign(components, {});
                regions_.assign(components, {});
                for (int c = 0; c < components; c++) {
                    const Component &k = p_.components[c];
                    const auto at = [](int64_t x, int d) { return static_cast<int32_t>(ceil_div(x, d)); };
                    TileComponent t{at(left, k.dx), at(top, k.dy), at(right, k.dx), at(bottom, k.dy),
                                    g_.samples,     g_.ll_odd,     g_.ll_even};
                    const uint64_t width = t.x1 - t.x0, height = t.y1 - t.y0;
                    g_.samples += (width * height + 31) / 32 * 32;
                    g_.ll_odd += ((width + 1) / 2 * ((height + 1) / 2) + 31) / 32 * 32;
                    g_.ll_even += ((width + 3) / 4 * ((height + 3) / 4) + 31) / 32 * 32;
                    g_.widest = std::max(g_.widest, t.x1 - t.x0);
                    g_.highest = std::max(g_.highest, t.y1 - t.y0);
                    g_.tile_components.push_back(t);
                    for (int r = 0; r <= p_.levels; r++) resolutions_[c].push_back(make_resolution(p_, t, r));
                    if (p_.roi.shift) add_regions(c, t);
                }
                tile_ = ty * p_.tiles_x + tx;
                tile_x0_ = left, tile_y0_ = top;
                add_packets_of_tile();
            }
        if (p_.tlm && g_.tile_parts.size() > size_t{kMaxTlmSegments} * kTlmTileParts)
            refuse(format_string("tlm 1: %zu tile-parts are more than TLM marker segments hold, %u",
                                 g_.tile_parts.size(), kMaxTlmSegments * kTlmTileParts));
    }

  private:
    // The region of interest in a tile-component, by sub-band: from the samples down.
    void add_regions(int c, const TileComponent &t) {
        const auto of_samples = [](int first, int count, int d, int32_t begin, int32_t end) {
            return Span{std::max<int64_t>(first / d, begin),
                        std::min(ceil_div(int64_t{first} + count, d), int64_t{end})};
        };
        Region low{of_samples(p_.roi.x, p_.roi.width, p_.components[c].dx, t.x0, t.x1),
                   of_samples(p_.roi.y, p_.roi.height, p_.components[c].dy, t.y0, t.y1)};
        if (low.x.begin >= low.x.end || low.y.begin >= low.y.end) return;
        std::vector<Region> &regions = regions_[c];
        regions.resize(static_cast<size_t>(3 * p_.levels) + 1);
        for (int r = p_.levels; r > 0; r--) {
            const auto half = [&](const Span &span, bool high) { return region_of_half(span, high, p_.reversible); };
            for (int o = kHL; o <= kHH; o++) regions[band_index(r, o)] = {half(low.x, o != kLH), half(low.y, o != kHL)};
            low = {half(low.x, false), half(low.y, false)};
        }
        regions[0] = low;
    }

    void add_roi_block(int c, int band, int64_t x0, int64_t y0, int64_t x1, int64_t y1) {
        if (regions_[c].empty()) return;
        const Region &region = regions_[c][band];
        const auto within = [](int64_t x, int64_t begin, int64_t end) {
            return static_cast<uint16_t>(std::clamp(x, begin, end) - begin);
        };
        const RoiBlock roi{static_cast<uint32_t>(g_.blocks.size()), within(region.x.begin, x0, x1),
                           within(region.y.begin, y0, y1), within(region.x.end, x0, x1), within(region.y.end, y0, y1)};
        if (roi.x0 < roi.x1 && roi.y0 < roi.y1) g_.roi_blocks.push_back(roi);
    }

    void add_packets_of_tile() {
        const int components = static_cast<int>(p_.components.size());
        first_packet_ = static_cast<uint32_t>(g_.packets.size());
        first_part_ = static_cast<uint32_t>(g_.tile_parts.size());
        begin_tile_part();
        if (p_.poc.empty())
            add_packets({0, 0, p_.layers, p_.levels + 1, components, p_.progression});
        else
            for (const ProgressionChange &change : p_.poc) add_packets(change);
        g_.tile_parts.back().last_packet = static_cast<uint32_t>(g_.packets.size());
        const size_t parts = g_.tile_parts.size() - first_part_;
        if (parts > kMaxTileParts)
            refuse(format_string("tile_parts cut a tile into %zu: at most %d are allowed", parts, kMaxTileParts));
        for (size_t i = 0; i < parts; i++) {
            const TilePart &part = g_.tile_parts[first_part_ + i];
            if (p_.plt && plt_segments(part.last_packet - part.first_packet) > kMaxPltSegments)
                refuse(format_string("plt 1: %u packets are more than PLT marker segments of a tile-part hold, %u",
                                     part.last_packet - part.first_packet, kMaxPltSegments * kPltPackets));
            g_.tile_parts[first_part_ + i].part = static_cast<uint8_t>(i);
            g_.tile_parts[first_part_ + i].parts = static_cast<uint8_t>(parts);
        }
    }

    // T.800 B.12.1: the five orders of packets. A change goes through what those before it left of its resolutions,
    // components and layers (B.12.2).
    void add_packets(const ProgressionChange &volume) {
        const int r0 = volume.first_resolution, r1 = volume.last_resolution;
        const int c0 = volume.first_component, c1 = volume.last_component;
        const int layers = volume.last_layer;
        const auto add_layer = [&](int layer, int r) {
            for (int c = c0; c < c1; c++)
                for (int k = 0; layer >= resolutions_[c][r].layers && k < resolutions_[c][r].count(); k++)
                    add_packet(c, r, k, layer);
        };
        const auto add_layers = [&](int c, int r, int k) {
            for (int layer = resolutions_[c][r].layers; layer < layers; layer++) add_packet(c, r, k, layer);
        };
        switch (volume.progression) {
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

    void begin_tile_part() {
        const uint32_t packet = static_cast<uint32_t>(g_.packets.size());
        if (g_.tile_parts.size() > first_part_) g_.tile_parts.back().last_packet = packet;
        g_.tile_parts.push_back({packet, packet, tile_, 0, 0, {}});
    }

    // A tile-part has packets of one resolution, or one component, where p_.tile_parts says so.
    void cut_tile_part(int c, int r) {
        if (g_.packets.size() > g_.tile_parts.back().first_packet &&
            (((p_.tile_parts & CUDAENC_J2K_TILE_PART_RESOLUTION) && r != last_resolution_) ||
             ((p_.tile_parts & CUDAENC_J2K_TILE_PART_COMPONENT) && c != last_component_)))
            begin_tile_part();
        last_resolution_ = r;
        last_component_ = c;
    }

    // Precincts by the position on the reference grid of their upper left corner, then component, then resolution. The
    // standard walks every position; only those where a precinct begins matter, so they are gathered and sorted.
    template <class F>
    void by_position(int c0, int c1, int r0, int r1, F add) {
        struct Corner {
            int64_t y, x;
            int component, resolution, precinct;
        };
        std::vector<Corner> corners;
        for (int c = c0; c < c1; c++)
            for (int r = r0; r < r1; r++) {
                const Resolution &res = resolutions_[c][r];
                for (int k = 0; k < res.count(); k++) {
                    const int64_t px = res.first_column + k % res.columns, py = res.first_row + k / res.columns;
                    // On the reference grid; the first ones, cut by the tile's edge, count as beginning there.
                    const auto corner = [&](int64_t index, int log2, int d, int64_t edge) {
                        return std::max(saturated_shift(index, log2 + res.level) * d, edge);
                    };
                    corners.push_back({corner(py, res.height_log2, p_.components[c].dy, tile_y0_),
                                       corner(px, res.width_log2, p_.components[c].dx, tile_x0_), c, r, k});
                }
            }
        std::stable_sort(corners.begin(), corners.end(), [](const Corner &a, const Corner &b) {
            if (a.y != b.y) return a.y < b.y;
            if (a.x != b.x) return a.x < b.x;
            if (a.component != b.component) return a.component < b.component;
            return a.resolution < b.resolution;
        });
        for (const Corner &k : corners) add(k.component, k.resolution, k.precinct);
    }

    static int64_t saturated_shift(int64_t x, int bits) {
        return x == 0 ? 0 : bits > 40 ? int64_t{1} << 55 : x << bits;
    }

    void add_packet(int c, int r, int precinct, int layer) {
        Resolution &res = resolutions_[c][r];
        cut_tile_part(c, r);
        const uint32_t index = static_cast<uint32_t>(g_.packets.size());
        Packet packet{};
        if (layer) {
            packet = g_.packets[res.packets[precinct]];
        } else {
            res.packets[precinct] = index;
            packet.first_block = static_cast<uint32_t>(g_.blocks.size());
            packet.first_band = static_cast<uint32_t>(g_.precinct_bands.size());
            const int64_t px = res.first_column + precinct % res.columns, py = res.first_row + precinct / res.columns;
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
        if (g_.block_layers.size() > std::numeric_limits<int32_t>::max() ||
            g_.packets.size() > std::numeric_limits<int32_t>::max())
            throw Error(CUDAENC_ERR_MEMORY, "the picture has more code-blocks and layers than a session holds");
    }

    // T.800 B.5 to B.7: the part of a sub-band in a precinct, cut into code-blocks.
    void add_band(int c, int r, int o, const Resolution &res, int64_t px, int64_t py) {
        const TileComponent &t = g_.tile_components[tile_ * p_.components.size() + c];
        // A sub-band's coordinates, and the precinct's in it, are those of its resolution, halved (not at the lowest).
        const bool right = o == kHL || o == kHH, lower = o == kLH || o == kHH;
        const auto begin = [&](int32_t x, bool high) { return r ? (high ? high_begin(x) : low_begin(x)) : x; };
        const Extent band{begin(res.extent.x0, right), begin(res.extent.y0, lower), begin(res.extent.x1, right),
                          begin(res.extent.y1, lower)};
        const int width_log2 = res.width_log2 - (r ? 1 : 0), height_log2 = res.height_log2 - (r ? 1 : 0);
        const int64_t x0 = std::max<int64_t>(band.x0, px << width_log2),
                      x1 = std::min<int64_t>(band.x1, (px + 1) << width_log2);
        const int64_t y0 = std::max<int64_t>(band.y0, py << height_log2),
                      y1 = std::min<int64_t>(band.y1, (py + 1) << height_log2);
        if (x0 >= x1 || y0 >= y1) return;
        const int cw = std::min(p_.cblk_width_log2, width_log2), ch = std::min(p_.cblk_height_log2, height_log2);

        PrecinctBand precinct_band{};
        precinct_band.first_block = static_cast<uint32_t>(g_.blocks.size());
        precinct_band.columns = static_cast<uint32_t>(((x1 + (1 << cw) - 1) >> cw) - (x0 >> cw));
        precinct_band.rows = static_cast<uint32_t>(((y1 + (1 << ch) - 1) >> ch) - (y0 >> ch));
        precinct_band.nodes = g_.tag_tree_nodes;
        for (int level = 0; level < tag_tree_levels(precinct_band.columns, precinct_band.rows); level++)
            g_.tag_tree_nodes +=
                tag_tree_columns(precinct_band.columns, level) * tag_tree_columns(precinct_band.rows, level);

        // In the tile-component's rows, the low half of a resolution lies left of and above its high half.
        const uint64_t stride = t.x1 - t.x0;
        const uint64_t left = right ? low_begin(res.extent.x1) - low_begin(res.extent.x0) : 0;
        const uint64_t top = lower ? low_begin(res.extent.y1) - low_begin(res.extent.y0) : 0;
        const Quantiser &q = p_.quantisers[c][band_index(r, o)];
        precinct_band.weight = q.weight;
        precinct_band.component = static_cast<uint16_t>(c);
        precinct_band.band = static_cast<uint16_t>(band_index(r, o));
        precinct_band.group = std::min<uint32_t>(static_cast<uint32_t>(g_.tile_parts.size()) - 1, kLimitedTileParts);
        for (uint32_t j = 0; j < precinct_band.rows; j++)
            for (uint32_t i = 0; i < precinct_band.columns; i++) {
                const int64_t bx0 = std::max(x0, ((x0 >> cw) + i) << cw),
                              bx1 = std::min(x1, ((x0 >> cw) + i + 1) << cw);
                const int64_t by0 = std::max(y0, ((y0 >> ch) + j) << ch),
                              by1 = std::min(y1, ((y0 >> ch) + j + 1) << ch);
                CodeBlock b{};
                b.coefficients = t.samples + (top + by0 - band.y0) * stride + left + bx0 - band.x0;
                b.stride = static_cast<uint32_t>(stride);
                b.width = static_cast<uint16_t>(bx1 - bx0);
                b.height = static_cast<uint16_t>(by1 - by0);
                b.x = static_cast<uint16_t>(i);
                b.y = static_cast<uint16_t>(j);
                b.orientation = static_cast<uint8_t>(o);
                b.planes = static_cast<uint8_t>(q.planes + p_.roi.shift);
                b.reversible = p_.reversible;
                b.lossy = !p_.reversible && !p_.rate.target();
                b.precinct_band = static_cast<uint32_t>(g_.precinct_bands.size());
                add_roi_block(c, band_index(r, o), bx0, by0, bx1, by1);
                g_.blocks.push_back(b);
            }
        g_.max_passes = std::max(g_.max_passes, coding_passes(q.planes + p_.roi.shift));
        g_.precinct_bands.push_back(precinct_band);
    }

    const Params &p_;
    Geometry &g_;
    uint32_t tile_ = 0, first_packet_ = 0, first_part_ = 0;  // of the tile
    int last_resolution_ = 0, last_component_ = 0;           // whose packet was added last
    int64_t tile_x0_ = 0, tile_y0_ = 0;
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
