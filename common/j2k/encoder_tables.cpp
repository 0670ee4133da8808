// SPDX-License-Identifier: LGPL-2.1-or-later
#include "encoder_tables.h"

#include <algorithm>

#include "block_coders.h"

namespace cudaenc::j2k {

namespace {

// The region of interest in a tile-component's sub-bands, as in the samples.
struct Region {
    Span x, y;
    bool empty() const { return x.begin >= x.end || y.begin >= y.end; }
};

Region region_of_samples(const Params &p, const TileComponent &t, const Component &component) {
    const auto part = [](int first, int count, int d, int32_t begin, int32_t end) {
        return Span{std::max<int64_t>(first / d, begin), std::min(ceil_div(int64_t{first} + count, d), int64_t{end})};
    };
    return {part(p.x0 + p.roi.x, p.roi.width, component.dx, t.x0, t.x1),
            part(p.y0 + p.roi.y, p.roi.height, component.dy, t.y0, t.y1)};
}

Region region_of_band(const Params &p, Region low, int resolution, int orientation) {
    const auto half = [&](const Span &span, bool high) { return region_of_half(span, high, p.reversible); };
    for (int r = p.levels; r > resolution; r--) low = {half(low.x, false), half(low.y, false)};
    if (!resolution) return low;
    return {half(low.x, orientation != kLH), half(low.y, orientation != kHL)};
}

std::vector<RoiBlock> make_roi_blocks(const Params &p, const Geometry &g) {
    std::vector<RoiBlock> roi_blocks;
    const auto within = [](int64_t at, int32_t begin, int size) {
        return static_cast<uint16_t>(std::clamp<int64_t>(at - begin, 0, size));
    };
    for (const Packet &packet : g.packets) {
        if (packet.layer) continue;
        for (uint32_t k = packet.first_band; k < packet.last_band; k++) {
            const PrecinctBand &band = g.precinct_bands[k];
            const int r = (band.band + 2) / 3, o = band.band - (r ? 3 * r - 3 : 0);
            const TileComponent &t =
                g.tile_components[g.tile_parts[packet.tile_part].tile * p.components.size() + band.component];
            const Region samples = region_of_samples(p, t, p.components[band.component]);
            if (samples.empty()) continue;
            const Region region = region_of_band(p, samples, r, o);
            const SubBand all = sub_band(t, p.levels, r, o);
            for (uint32_t b = band.first_block; b < band.first_block + band.columns * band.rows; b++) {
                const CodeBlock &block = g.blocks[b];
                const uint64_t at = block.coefficients - all.coefficients;
                const int32_t x = all.extent.x0 + static_cast<int32_t>(at % block.stride),
                              y = all.extent.y0 + static_cast<int32_t>(at / block.stride);
                const RoiBlock roi{b, within(region.x.begin, x, block.width), within(region.y.begin, y, block.height),
                                   within(region.x.end, x, block.width), within(region.y.end, y, block.height)};
                if (roi.x0 < roi.x1 && roi.y0 < roi.y1) roi_blocks.push_back(roi);
            }
        }
    }
    return roi_blocks;
}

}  // namespace

EncoderGeometry make_encoder_geometry(const Params &p) {
    EncoderGeometry g{make_geometry(p),
                      {.style = p.style,
                       .truncatable = p.truncatable,
                       .frame_steps = p.frame_steps,
                       .lossy = !p.reversible && !p.rate.target()},
                      {},
                      0};
    g.band_codings.resize(g.precinct_bands.size());
    for (CodeBlock &block : g.blocks) {
        const PrecinctBand &band = g.precinct_bands[block.precinct_band];
        block.planes = static_cast<uint8_t>(block.planes + p.quantisers[band.component][band.band].spare);
        g.max_passes = std::max(g.max_passes, block_coder_traits(p.style).most_passes(block.planes, p.truncatable));
    }
    for (const Packet &packet : g.packets)
        for (uint32_t k = packet.first_band; k < packet.last_band && !packet.layer; k++) {
            const PrecinctBand &band = g.precinct_bands[k];
            const Quantiser &q = p.quantisers[band.component][band.band];
            g.band_codings[k] = {.weight = q.weight,
                                 .group = std::min<uint32_t>(packet.tile_part, kLimitedTileParts),
                                 .step = static_cast<uint16_t>(p.reversible ? 0 : q.size().spqcd()),
                                 .spare = static_cast<uint16_t>(q.spare)};
        }
    return g;
}

TransformPlan make_transform_plan(const Params &p, const Geometry &g) {
    return {.description = p,
            .geometry = g,
            .quantisers = p.quantisers,
            .xyz = p.xyz.get(),
            .keeps_xyz = p.rate.error != 0,
            .roi_blocks = p.roi.shift ? make_roi_blocks(p, g) : std::vector<RoiBlock>()};
}

}  // namespace cudaenc::j2k
