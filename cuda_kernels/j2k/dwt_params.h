// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../common/j2k/dwt.h"
#include "../../common/j2k/load.h"
#include "../../common/j2k/tables.h"
#include "../../common/kernel_name.h"

namespace cudaenc::j2k {

constexpr int kDwtThreads = 128;

// A warp transforms a strip of columns, of which each lane has a pair, an even one and the odd one right of it. As many
// lanes on either side as the filter reaches pairs only help their neighbours.
template <class W>
constexpr int kStripHelpers = W::kSteps / 2;
template <class W>
constexpr int kStripPairs = 32 - 2 * kStripHelpers<W>;

struct BandQuantiser {
    float inverse_step;
    float limit;
};

// One level of all tile-components. Grid: (thread-blocks across x tiles) x segments x components; in the first level
// the three that the component transform takes are one.
struct DwtParams {
    const TileComponent *tile_components;  // [tile * components + component]
    // The low half of both directions, where it is not coded: rows of W::Sample, the next level's input. Indexed by
    // TileComponent::ll_odd after odd levels, TileComponent::ll_even after even ones.
    uint32_t *low;
    uint32_t *coefficients;                      // sub-bands, quantised
    BandQuantiser quantiser[kMaxComponents][4];  // by orientation
    int32_t components;
    int32_t level;          // 1 for the first
    int32_t last;           // the low half of this level is coded
    int32_t block_columns;  // thread-blocks across a tile-component
    int32_t segment_pairs;  // pairs of rows that a thread-block makes
};

// The first level, from pixels. Strides are below 2^32.
struct LoadDwtParams : DwtParams {
    const SampleLayout *layout;  // [component], of this frame
    int32_t mct;
};
struct LoadDwt53Params : LoadDwtParams {
    static constexpr KernelName kernel{"j2k/dwt", "j2k_load_dwt53"};
};
struct LoadDwt97Params : LoadDwtParams {
    static constexpr KernelName kernel{"j2k/dwt", "j2k_load_dwt97"};
};

// The others, from what the level before wrote to its `low`.
struct LowDwtParams : DwtParams {
    const uint32_t *in;
};
struct Dwt53Params : LowDwtParams {
    static constexpr KernelName kernel{"j2k/dwt", "j2k_dwt53"};
};
struct Dwt97Params : LowDwtParams {
    static constexpr KernelName kernel{"j2k/dwt", "j2k_dwt97"};
};

}  // namespace cudaenc::j2k
