// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../common/j2k/tables.h"
#include "../../common/kernel_name.h"

namespace cudaenc::j2k {

// A thread-block makes kDwtColumns x kDwtRows outputs, low and high, from that many inputs and kDwtHalo more columns on
// each side; a thread filters one column.
constexpr int kDwtThreads = 128;
constexpr int kDwtHalo = 4;
constexpr int kDwtColumns = kDwtThreads - 2 * kDwtHalo;
constexpr int kDwtRows = 32;

struct BandQuantiser {
    float inverse_step;
    uint32_t limit;
};

// One level of all tile-components. Grid: (columns x rows of thread-blocks) x tiles x components.
struct DwtParams {
    const TileComponent *tile_components;        // [tile * components + component]
    const uint32_t *in;                          // samples of W::Sample: rows of the resolution `level` - 1 down
    uint32_t *out;                               // the next resolution's
    uint32_t *coefficients;                      // sub-bands, quantised
    BandQuantiser quantiser[kMaxComponents][4];  // by orientation
    int32_t components;
    int32_t level;         // 1 for the first; 0: no transform, only quantisation of LL
    int32_t last;          // the low half of this level is coded
    int32_t in_is_halves;  // `in` is indexed by TileComponent::halves, `out` by TileComponent::samples; else vice versa
    int32_t block_columns;  // thread-blocks across
};
struct Dwt53Params : DwtParams {
    static constexpr KernelName kernel{"j2k/dwt", "j2k_dwt53"};
};
struct Dwt97Params : DwtParams {
    static constexpr KernelName kernel{"j2k/dwt", "j2k_dwt97"};
};

}  // namespace cudaenc::j2k
