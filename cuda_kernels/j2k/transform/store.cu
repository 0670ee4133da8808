// SPDX-License-Identifier: LGPL-2.1-or-later
// Resolutions as they are to planes: dequantisation where they are coded, inverse component transform, rounding and
// clipping.
#include "store.cuh"

namespace cudaenc::j2k {

template <class Sample, int N>
DEVICE void store(const IdwtStoreInput &p, const WarpWork &warp) {
    const InverseWork *w = warp.work;
    const int width = w->extent.width(), height = w->extent.height();
    const int strips = (width + kStoreColumns - 1) / kStoreColumns;
    const int x = warp.number % strips * kStoreColumns + lane_id(),
              first = warp.number / strips * p.launch.segment_rows;
    if (x >= width) return;
    for (int y = first; y < min_of(first + p.launch.segment_rows, height); y++) {
        Sample v[N];
        CUDAENC_UNROLL
        for (int c = 0; c < N; c++) {
            const ResolutionRows &in = w[c].in;
            const uint64_t at = in.first + static_cast<uint64_t>(w[c].extent.y0 + y - in.y0) * in.stride +
                                static_cast<uint32_t>(w[c].extent.x0 + x - in.x0);
            if (w[c].low_is_coded)
                dequantise_decoded(p.launch.coefficients[at], w[c].region_shift, w[c].step[kLL], v[c]);
            else
                v[c] = value_of<Sample>(p.launch.in[at]);
        }
        if constexpr (N == 3) inverse_component_transform(v[0], v[1], v[2]);
        CUDAENC_UNROLL
        for (int c = 0; c < N; c++) {
            const int own_x = w[c].extent.x0 + x, own_y = w[c].extent.y0 + y;
            const Extent &part = w[c].part;
            if (own_x >= part.x0 && own_x < part.x1 && own_y >= part.y0 && own_y < part.y1)
                store_sample(p.channels, w[c], own_x, own_y, to_sample(v[c], w[c].depth) + w[c].level);
        }
    }
}

// A lane owns a column of a segment.
KERNEL(kDwtThreads, j2k_store, StoreParams)
{
    const uint32_t number = launch_warp();
    if (number >= p.launch.warps) return;
    const WarpWork warp = find_work(p.launch, number);
    if (warp.work->reversible)
        warp.work->transformed ? store<int32_t, 3>(p, warp) : store<int32_t, 1>(p, warp);
    else
        warp.work->transformed ? store<float, 3>(p, warp) : store<float, 1>(p, warp);
}

}  // namespace cudaenc::j2k
