// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../common/j2k/load.h"
#include "../../common/j2k/tables.h"
#include "../../common/kernel_name.h"

namespace cudaenc::j2k {

constexpr int kLoadThreads = 256;

// Grid: (chunks of kLoadThreads columns x rows) x tiles, of the widest and highest tile-component.
struct LoadParams {
    static constexpr KernelName kernel{"j2k/load", "j2k_load"};
    SampleLayout layout[kMaxComponents];
    const TileComponent *tile_components;  // [tile * components + component]
    uint32_t *samples;                     // int32_t where reversible, else float
    int32_t components;
    int32_t column_chunks;
    int32_t mct;
    int32_t reversible;
};

}  // namespace cudaenc::j2k
