// SPDX-License-Identifier: LGPL-2.1-or-later
#include "region.h"

#include <algorithm>

#include "../../error.h"

namespace cudaenc::j2k {

namespace {

// Samples to each side of one that its lifting steps read: four of 9/7, two of 5/3.
constexpr int kReach = 4;

}  // namespace

Area area_of(const Description &d, const Region &region) {
    const int64_t x1 = int64_t{d.x0} + d.width, y1 = int64_t{d.y0} + d.height;
    if (!region.width) return {d.x0, d.y0, x1, y1};
    const int dx = std::ranges::min(d.components, {}, &Component::dx).dx,
              dy = std::ranges::min(d.components, {}, &Component::dy).dy;
    const int64_t column = ceil_div(int64_t{d.x0}, dx), columns = ceil_div(x1, dx) - column,
                  row = ceil_div(int64_t{d.y0}, dy), rows = ceil_div(y1, dy) - row;
    if (region.x > columns - region.width || region.y > rows - region.height)
        throw Error(
            CUDAENC_ERR_INVALID,
            format_string("JPEG 2000: region %d,%d,%d,%d is not allowed: it lies within the picture of %lldx%lld",
                          region.x, region.y, region.width, region.height, static_cast<long long>(columns),
                          static_cast<long long>(rows)));
    return {.x0 = std::max<int64_t>(d.x0, (column + region.x) * dx),
            .y0 = std::max<int64_t>(d.y0, (row + region.y) * dy),
            .x1 = std::min(x1, (column + region.x + region.width) * dx),
            .y1 = std::min(y1, (row + region.y + region.height) * dy)};
}

Extent component_extent(const Component &k, const Area &area, int lowres) {
    const auto at = [lowres](int64_t x, int step) {
        return ceil_shift(static_cast<int32_t>(ceil_div(x, step)), lowres);
    };
    return {at(area.x0, k.dx), at(area.y0, k.dy), at(area.x1, k.dx), at(area.y1, k.dy)};
}

TileRange tiles_of(const Description &d, const Area &area) {
    const auto last = [](int64_t end, int64_t origin, int64_t side) {
        return static_cast<int>(ceil_div(end - origin, side));
    };
    return {.x0 = static_cast<int>((area.x0 - d.tile_x0) / d.tile_width),
            .y0 = static_cast<int>((area.y0 - d.tile_y0) / d.tile_height),
            .x1 = std::min(last(area.x1, d.tile_x0, d.tile_width), d.tiles_x),
            .y1 = std::min(last(area.y1, d.tile_y0, d.tile_height), d.tiles_y)};
}

Extent needed_coefficients(Extent wanted, int lowres, int level) {
    if (is_empty(wanted)) return {};
    for (int i = lowres; i < level; i++)
        wanted = {.x0 = (wanted.x0 - kReach) >> 1,
                  .y0 = (wanted.y0 - kReach) >> 1,
                  .x1 = ceil_shift(wanted.x1, 1) + kReach / 2,
                  .y1 = ceil_shift(wanted.y1, 1) + kReach / 2};
    return wanted;
}

Extent extent_of_block(const CodeBlock &b, const TileComponent &t, int levels, int resolution) {
    const SubBand band = sub_band(t, levels, resolution, b.orientation);
    const uint64_t at = b.coefficients - band.coefficients;
    const int x0 = band.extent.x0 + static_cast<int32_t>(at % b.stride),
              y0 = band.extent.y0 + static_cast<int32_t>(at / b.stride);
    return {x0, y0, x0 + b.width, y0 + b.height};
}

bool is_needed(const CodeBlock &b, const TileComponent &t, int levels, int resolution, const Extent &wanted,
               int lowres) {
    const int level = resolution ? levels - resolution + 1 : levels;
    return resolution <= levels - lowres && !is_empty(common_part(extent_of_block(b, t, levels, resolution),
                                                                  needed_coefficients(wanted, lowres, level)));
}

TileComponent window_of(const TileComponent &t, const Extent &wanted, int levels, int lowres) {
    const Extent part = common_part(wanted, extent_at(t, lowres));
    TileComponent window = t;
    if (is_empty(part)) {
        window.x1 = t.x0, window.y1 = t.y0;
        return window;
    }
    // A level's samples at the edges lack neighbours, kReach of them and those that read them at the level above.
    const int64_t margin = int64_t{kReach} << levels;
    const auto first = [&](int begin, int least) {
        return static_cast<int32_t>(std::max<int64_t>((int64_t{begin} << lowres) - margin, least));
    };
    const auto last = [&](int end, int most) {
        return static_cast<int32_t>(std::min<int64_t>((int64_t{end} << lowres) + margin, most));
    };
    window.x0 = first(part.x0, t.x0), window.y0 = first(part.y0, t.y0);
    window.x1 = last(part.x1, t.x1), window.y1 = last(part.y1, t.y1);
    return window;
}

}  // namespace cudaenc::j2k
