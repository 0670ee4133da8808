// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "dwt_params.h"

namespace cudaenc::j2k {

constexpr int kLoadThreads = 256;

// Grid: (chunks of kLoadThreads columns x rows) x tiles, of the widest and highest tile-component.
struct LoadParams {
    static constexpr KernelName kernel{"j2k/load", "j2k_load"};
    const SampleLayout *layout;            // [component], of this frame
    const TileComponent *tile_components;  // [tile * components + component]
    uint32_t *coefficients;
    BandQuantiser quantiser[kMaxComponents];
    int32_t components;
    int32_t column_chunks;
    int32_t mct;
    int32_t reversible;
};

}  // namespace cudaenc::j2k
