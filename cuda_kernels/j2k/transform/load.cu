// SPDX-License-Identifier: LGPL-2.1-or-later
// Without wavelet transform (no levels): pixels of any layout to quantised coefficients, with level shift and component
// transform.
#include "../../../common/j2k/transform/quantise.h"
#include "../../device.cuh"
#include "dwt_params.h"

namespace cudaenc::j2k {

template <class Sample>
DEVICE void load(const LoadParams &p) {
    const TileComponent *tile = p.tile_components + block_y() * p.components;
    const int x = (block_x() % p.column_chunks) * kLoadThreads + thread_x(), y = block_x() / p.column_chunks;
    const bool mct = p.mct && block_z() == 0;
    const int first = p.mct && !mct ? block_z() + 2 : block_z(), count = mct ? 3 : 1;
    Sample c[3] = {};
    CUDAENC_UNROLL
    for (int i = 0; i < 3; i++) {
        if (i >= count) break;
        const TileComponent &t = tile[first + i];
        const SampleLayout &layout = p.layout[first + i];
        if (x < t.x1 - t.x0 && y < t.y1 - t.y0)
            c[i] = static_cast<Sample>(
                load_sample(layout, t.x0 + x, t.y0 + y, p.is_signed ? 1u << (layout.depth - 1) : 0));
    }
    if (mct) component_transform(c[0], c[1], c[2]);
    CUDAENC_UNROLL
    for (int i = 0; i < 3; i++) {
        if (i >= count) break;
        const TileComponent &t = tile[first + i];
        const BandQuantiser &q = p.quantiser[quantiser_of(first + i)];
        const int width = t.x1 - t.x0;
        if (x < width && y < t.y1 - t.y0)
            p.coefficients[t.samples + static_cast<uint64_t>(y) * width + x] = quantise(c[i], q.inverse_step, q.limit);
    }
}

// A thread owns one position of a tile-component, or of the component transform's three; a thread-block kLoadThreads
// positions of a row.
KERNEL(kLoadThreads, j2k_load, LoadParams)
{
    if (p.reversible)
        load<int32_t>(p);
    else
        load<float>(p);
}

}  // namespace cudaenc::j2k
