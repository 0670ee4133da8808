// Load: pixels of any layout to planes of tile-components, level-shifted, with the component transform.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../device.cuh"
#include "load_params.h"

namespace cudaenc::j2k {

template <class Sample>
DEVICE void load(const LoadParams &p) {
    const TileComponent *tile = p.tile_components + block_y() * p.components;
    const int x = (block_x() % p.column_chunks) * kLoadThreads + thread_x(), y = block_x() / p.column_chunks;
    Sample *samples = reinterpret_cast<Sample *>(p.samples);
    int first = 0;
    if (p.mct) {
        const TileComponent &t = tile[0];
        const int width = t.x1 - t.x0;
        if (x < width && y < t.y1 - t.y0) {
            Sample c[3];
            for (int i = 0; i < 3; i++) c[i] = static_cast<Sample>(load_sample(p.layout[i], t.x0 + x, t.y0 + y));
            component_transform(c[0], c[1], c[2]);
            const uint64_t at = static_cast<uint64_t>(y) * width + x;
            for (int i = 0; i < 3; i++) samples[tile[i].samples + at] = c[i];
        }
        first = 3;
    }
    for (int i = first; i < p.components; i++) {
        const TileComponent &t = tile[i];
        const int width = t.x1 - t.x0;
        if (x < width && y < t.y1 - t.y0)
            samples[t.samples + static_cast<uint64_t>(y) * width + x] =
                static_cast<Sample>(load_sample(p.layout[i], t.x0 + x, t.y0 + y));
    }
}

// A thread owns one position of every component of a tile, a block kLoadThreads positions of a row.
KERNEL(kLoadThreads, j2k_load, LoadParams)
{
    if (p.reversible)
        load<int32_t>(p);
    else
        load<float>(p);
}

}  // namespace cudaenc::j2k
