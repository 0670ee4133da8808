// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../../common/j2k/codestream/tables.h"
#include "../../../common/j2k/transform/dwt.h"
#include "../../../common/j2k/transform/load.h"
#include "../../../common/j2k/transform/xyz.h"
#include "../../../common/kernel_name.h"

namespace cudaenc::j2k {

constexpr int kDwtThreads = 128;

// A warp transforms a strip of columns. A lane has a column pair: an even column and the odd one right of it. On either
// side, as many lanes as the filter reaches pairs only help their neighbours.
template <class W>
constexpr int kStripHelpers = W::kSteps / 2;
template <class W>
constexpr int kStripPairs = 32 - 2 * kStripHelpers<W>;

// A component's place among the quantisers of parameters.
CUDAENC_HD int quantiser_of(int component) { return min_of(component, kQuantisedComponents - 1); }

struct BandQuantiser {
    float inverse_step;
    float limit;
};

// One level of all tile-components. Grid: (thread-blocks across x tiles) x segments x components. In the first level
// the component transform's three components are one.
struct DwtLevel {
    const TileComponent *tile_components;  // [tile * components + component]
    // The low half of both directions, where it is not coded: rows of W::Sample, the next level's input. Indexed by
    // TileComponent::ll_odd after odd levels, TileComponent::ll_even after even ones.
    uint32_t *low;
    uint32_t *coefficients;                            // sub-bands, quantised
    BandQuantiser quantiser[kQuantisedComponents][4];  // [quantiser_of()][orientation]
    int32_t components;
    int32_t level;              // 1 for the first
    int32_t last;               // the low half of this level is coded
    int32_t block_columns;      // thread-blocks across a tile-component
    int32_t segment_row_pairs;  // row pairs of a thread-block
    bool is_short;              // coefficients are int16_t, quantisation indices, in the same places
};

// The first level, from pixels. Strides are below 2^32.
struct LoadDwtInput {
    DwtLevel dwt;
    const SampleLayout *layout;  // [component], of this frame
    int32_t mct;
};
using LoadDwt53Params = KernelOf<LoadDwtInput, "j2k/transform/dwt", "j2k_load_dwt53">;
using LoadDwt97Params = KernelOf<LoadDwtInput, "j2k/transform/dwt", "j2k_load_dwt97">;
// Of signed samples, in kernels of their own, so that the others' take no more registers.
using LoadSignedDwt53Params = KernelOf<LoadDwtInput, "j2k/transform/dwt", "j2k_load_signed_dwt53">;
using LoadSignedDwt97Params = KernelOf<LoadDwtInput, "j2k/transform/dwt", "j2k_load_signed_dwt97">;

// The first level of X'Y'Z', from pixels of RGB or YUV. Chroma has at most half the columns.
struct LoadXyzDwtInput {
    LoadDwtInput load;
    XyzConversion conversion;  // without a LUT
    int32_t width, height;     // of the picture
};
using LoadRgbXyzDwt97Params = KernelOf<LoadXyzDwtInput, "j2k/transform/dwt", "j2k_load_rgb_xyz_dwt97">;
using LoadYuvXyzDwt97Params = KernelOf<LoadXyzDwtInput, "j2k/transform/dwt", "j2k_load_yuv_xyz_dwt97">;

// The others, from what the level before wrote to its `low`.
struct LowDwtInput {
    DwtLevel dwt;
    const uint32_t *in;
};
using Dwt53Params = KernelOf<LowDwtInput, "j2k/transform/dwt", "j2k_dwt53">;
using Dwt97Params = KernelOf<LowDwtInput, "j2k/transform/dwt", "j2k_dwt97">;

// Without levels: pixels to coefficients. Grid: (chunks of kLoadThreads columns x rows) x tiles x components, of the
// widest and highest tile-component. The component transform's three components are one.
constexpr int kLoadThreads = 256;
struct LoadParams {
    static constexpr KernelName kernel{"j2k/transform/load", "j2k_load"};
    const SampleLayout *layout;            // [component], of this frame
    const TileComponent *tile_components;  // [tile * components + component]
    uint32_t *coefficients;
    BandQuantiser quantiser[kQuantisedComponents];  // [quantiser_of()]
    int32_t components;
    int32_t column_chunks;
    int32_t mct;
    int32_t reversible;
    int32_t is_signed;
};

}  // namespace cudaenc::j2k
