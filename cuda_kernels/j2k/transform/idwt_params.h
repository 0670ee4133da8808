// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../../common/j2k/codestream/tables.h"
#include "../../../common/j2k/transform/store.h"
#include "../../../common/kernel_name.h"
#include "dwt_params.h"

namespace cudaenc::j2k {

// Where a resolution lies in an array of 32-bit values: column x of row y at first + (y - y0) * stride + x - x0.
struct ResolutionRows {
    uint64_t first;
    int32_t x0, y0;
    uint32_t stride;
};

// A resolution of a tile-component that a launch makes. Columns and rows are counted from the even ones at or before
// the first of `extent`, so that they keep their parity and extent begins at 0 or 1.
struct InverseWork {
    Extent extent;                         // of the resolution
    Extent part;                           // what of it is wanted
    uint64_t coefficients;                 // TileComponent::samples: HL, LH and HH as sub_band() has them
    uint32_t stride;                       // of the coefficients
    int32_t region_shift;                  // TileCoding::region_shift()
    ResolutionRows in, out;                // its low half; where it goes, unless to planes
    float step[4];                         // Delta_b by orientation: step_size()
    uint32_t first_warp;                   // the launch's warps from this one on make it
    uint32_t first_channel, last_channel;  // of its component
    int32_t depth, level;                  // of its samples: bits, and the DC level shift
    int32_t plane_x0, plane_y0;            // the column and row that are first in planes
    bool low_is_coded;                     // the low half is in the coefficients, not in an array of low halves
    bool transformed;                      // with the two behind it: a component transform's
    bool reversible;
};

// Of all launches. A warp makes a strip of columns, from top to bottom of a segment.
struct InverseLaunchInput {
    const InverseWork *work;
    uint32_t works, warps;
    int32_t segment_rows;  // of a warp; row pairs of the wavelet
    const uint32_t *coefficients;
    const uint32_t *in;  // what InverseWork::in indexes, where that is not in the coefficients
};

// A resolution of many tile-components, of one wavelet. Grid: their warps.
struct IdwtInput {
    InverseLaunchInput launch;
    uint32_t *out;  // rows of W::Sample
};
using Idwt53Params = KernelOf<IdwtInput, "j2k/transform/idwt", "j2k_idwt53">;
using Idwt97Params = KernelOf<IdwtInput, "j2k/transform/idwt", "j2k_idwt97">;

// The last one, with rounding and clipping, to planes; of one component, or of three by inverse component transform.
struct IdwtStoreInput {
    InverseLaunchInput launch;
    const ChannelLayout *channels;  // of this picture
};
using Idwt53StoreParams = KernelOf<IdwtStoreInput, "j2k/transform/idwt", "j2k_idwt53_store">;
using Idwt97StoreParams = KernelOf<IdwtStoreInput, "j2k/transform/idwt", "j2k_idwt97_store">;
using Idwt53MctStoreParams = KernelOf<IdwtStoreInput, "j2k/transform/idwt", "j2k_idwt53_mct_store">;
using Idwt97MctStoreParams = KernelOf<IdwtStoreInput, "j2k/transform/idwt", "j2k_idwt97_mct_store">;
// Thread-blocks of them that fit a multiprocessor: one component leaves room for more.
constexpr int kIdwtBlocks = 6, kIdwtMctBlocks = 4;

// Resolutions as they are to planes: those without wavelet transform, and components of a component transform that
// begin at different coordinates. InverseWork::in is the resolution itself.
constexpr int kStoreColumns = 32;  // of a warp
using StoreParams = KernelOf<IdwtStoreInput, "j2k/transform/store", "j2k_store">;

}  // namespace cudaenc::j2k
