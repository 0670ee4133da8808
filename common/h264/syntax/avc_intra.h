// SPDX-License-Identifier: LGPL-2.1-or-later
// AVC-Intra of Panasonic (SMPTE RP 2027) and XAVC Intra of Sony: pictures of one size in bytes each, with fixed
// parameter sets.
#pragma once
#include <cstdint>
#include <vector>

#include "../../cudaenc.h"
#include "headers.h"

namespace cudaenc::h264 {

// What a class asks for in a format.
struct AvcIntra {
    uint64_t picture_bytes;  // of each packet
    const ScalingLists *scaling;
    bool scaling_in_pps;
    int chroma_qp_index_offset;
    int slices;
    bool even_slices;  // see PictureFormat
    int lowest_qp;     // QPY
};

// Of parameter sets, ten times the level.
inline constexpr int kLeastAvcIntraLevel = 41;

// With avc_intra_class. interlaced: frames are of field macroblock pairs. Throws Error(CUDAENC_ERR_INVALID) with a line
// that tells what the class allows.
AvcIntra find_avc_intra(const CudaencFormat &format, const CudaencH264Options &options, bool interlaced);

// The NAL units before the slices and SEI messages of frames, at the places where decoders look for them: access unit
// delimiter, parameter sets and, of Panasonic's flavor, two SEI messages.
std::vector<uint8_t> make_avc_intra_prefix(const ParameterSets &sets, int flavor);

// idr_pic_id of a picture: 5, 3, 4, 5 ...
inline int avc_intra_idr_pic_id(uint64_t picture) { return 3 + static_cast<int>((picture + 2) % 3); }

}  // namespace cudaenc::h264
