// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of reference.cu.
#pragma once
#include "../../../common/h264/inter/motion.h"
#include "../../../common/kernel_name.h"
#include "margin_plane.h"

namespace cudaenc::h264 {

constexpr int kReferenceThreads = 128;
// A thread-block's tile: 128 columns and 16 rows.
constexpr int kTileColumns = 128, kTileRows = 16;

// Samples between samples of luma, see HalfPlane, and margins of all planes. Grid: a thread-block a tile, from the
// margins' first column and row on.
// Bytes: of a decoded sample; of 2 bytes the whole samples are made as well.
template <int Bytes>
struct HalfPlanesParams {
    static constexpr KernelName kernel{"h264/inter/reference",
                                       Bytes == 1 ? "h264_half_planes" : "h264_half_planes_wide"};
    MarginPlane planes[kHalfPlanes];
    MarginPlane decoded;  // of bytes the plane of whole samples
    int32_t shift;        // of decoded samples to 8 bits
};
// Margins of decoded planes. Grid: a thread four samples of a row, in thread-blocks of kReferenceThreads; a row of
// thread-blocks a row with margins; planes.
template <int Bytes>
struct MarginsParams {
    static constexpr KernelName kernel{"h264/inter/reference", Bytes == 1 ? "h264_margins" : "h264_margins_wide"};
    MarginPlane planes[2];
};

}  // namespace cudaenc::h264
