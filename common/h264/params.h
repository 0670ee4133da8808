// SPDX-License-Identifier: LGPL-2.1-or-later
// Validated options of H.264 coding, and what follows from them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "../cudaenc.h"
#include "../pipeline.h"
#include "rate/rate_control.h"
#include "syntax/headers.h"
#include "syntax/picture_format.h"

namespace cudaenc::h264 {

// With P pictures an IDR picture has so much less QP: what is coded well there is predicted well for long.
inline constexpr int kIdrQpOffset = 3;
inline constexpr int kIdrQpOffsetAhead =
    5;  // with a lookahead, which sees less than pictures up to the next IDR picture

struct Params {
    CudaencFormat input;
    PictureFormat picture;
    ParameterSets sets;
    std::vector<Slice> slices;
    RateTarget rate;
    int effort;                  // of Effort
    int aq_strength;             // see PictureQuality
    CudaencKeystream keystream;  // nullptr: none
    void *keystream_opaque;
    int gop_size;              // pictures from an IDR picture to the next
    int least_gop_size;        // the same where a scene cut begins the next one
    int scene_cut;             // see Gop
    int lookahead;             // pictures that a picture waits for; 0: none
    int slice_max_bytes;       // of a NAL unit; 0: slices are fixed
    bool weighted_prediction;  // P pictures have weights where they pay
    int intra_refresh;         // pictures of a refresh; 0: there is none
    int most_vertical_vector;  // samples, of the level
    uint32_t encrypt_parts;    // ScrambledParts
    int64_t most_bit_rate;     // of the level
    bool deblock, aud, repeat_headers, timecodes;
    int avc_intra_class, avc_intra_flavor;  // of CudaencH264Options
    std::string warning;                    // what the options do that their user may not want; mostly empty
};

// Checks options and format and derives the rest. fields: CudaencFields; with separate fields format and frame rate
// are those of fields.
// Throws Error(CUDAENC_ERR_INVALID) with a line that names the option, its value and what is allowed.
Params make_params(const CudaencFormat &format, const CudaencH264Options &options, int fields = CUDAENC_PROGRESSIVE);

// The rate control's targets after a change. Throws Error(CUDAENC_ERR_INVALID) with a line as make_params().
RateTarget changed_rate(const Params &params, RateTarget rate, const RateChange &change);
// Which pictures CPU threads code also where a device is there; mostly empty: none.
std::string only_on_cpu(const Params &params);

// What is coded, in a few words for logs.
std::string summary(const Params &params);

}  // namespace cudaenc::h264
