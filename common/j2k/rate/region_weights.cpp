// SPDX-License-Identifier: LGPL-2.1-or-later
#include "region_weights.h"

#include <algorithm>

#include "../t1/slope.h"

namespace cudaenc::j2k {

namespace {

struct WeighedArea {
    Area area;
    int16_t weight;
};

// On the reference grid. A field has every second line.
std::vector<WeighedArea> weighed_areas(const Params &p, const SourcePicture &frame) {
    const int dx = p.components[0].dx, dy = p.components[0].dy, lines = frame.kind == PictureKind::frame ? 1 : 2;
    // 6 QPs are two octaves.
    const int64_t octaves = 17 + 2 * std::max(p.components[0].depth - 8, 0);
    std::vector<WeighedArea> areas;
    for (int i = 0; i < frame.region_count; i++) {
        const CudaencRegion &r = frame.regions[i];
        const int64_t scaled = -2 * octaves * kSlopeOctave * r.offset_num, unit = int64_t{2} * r.offset_den,
                      bottom = (int64_t{r.y} + r.height + lines - 1) / lines;
        const auto at = [](int64_t first, int64_t sample, int step, int size) {
            return std::min(first + sample * step, first + size);
        };
        areas.push_back(
            {.area = {.x0 = at(p.x0, r.x, dx, p.width),
                      .y0 = at(p.y0, r.y / lines, dy, p.height),
                      .x1 = at(p.x0, int64_t{r.x} + r.width, dx, p.width),
                      .y1 = at(p.y0, bottom, dy, p.height)},
             .weight = static_cast<int16_t>((scaled + (scaled < 0 ? -r.offset_den : r.offset_den)) / unit)});
    }
    return areas;
}

}  // namespace

std::vector<int16_t> find_region_weights(const Params &p, const Geometry &g, const SourcePicture &frame) {
    if (!frame.region_count || !p.takes_regions) return {};
    std::vector<int16_t> weights(g.blocks.size());
    const std::vector<WeighedArea> areas = weighed_areas(p, frame);
    std::vector<Extent> needed(areas.size());
    for (const Packet &packet : g.packets) {
        if (packet.layer) continue;
        for (uint32_t k = packet.first_band; k < packet.last_band; k++) {
            const PrecinctBand &band = g.precinct_bands[k];
            const int resolution = resolution_of(band.band), level = p.levels - std::max(resolution - 1, 0);
            const TileComponent &t =
                g.tile_components[g.tile_parts[packet.tile_part].tile * p.components.size() + band.component];
            std::ranges::transform(areas, needed.begin(), [&](const WeighedArea &of) {
                const Extent samples = component_extent(p.components[band.component], of.area, 0);
                return needed_coefficients(common_part(samples, extent_at(t, 0)), 0, level);
            });
            for (uint32_t b = band.first_block; b < band.first_block + band.columns * band.rows; b++) {
                const Extent block = extent_of_block(g.blocks[b], t, p.levels, resolution);
                const auto first =
                    std::ranges::find_if(needed, [&](const Extent &of) { return !is_empty(common_part(block, of)); });
                if (first != needed.end()) weights[b] = areas[static_cast<size_t>(first - needed.begin())].weight;
            }
        }
    }
    return weights;
}

}  // namespace cudaenc::j2k
