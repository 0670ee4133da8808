// SPDX-License-Identifier: LGPL-2.1-or-later
// Validated options of H.264 coding, and what follows from them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "../cudaenc.h"
#include "lanes/intra_coder.h"
#include "syntax/headers.h"

namespace cudaenc::h264 {

// RateTarget::delay of efforts that analyse pictures side by side.
inline constexpr uint64_t kRateDelay = 8;

// The targets of the rate control. Rates are in bits/s, sizes of pictures in bytes.
struct RateTarget {
    int qp;                            // the first, or the constant one
    int qp_min, qp_max;                // its range
    int64_t bit_rate;                  // 0: the QP is constant, unless a limit is exceeded
    int64_t max_rate;                  // into the buffer
    int64_t buffer_size;               // bits; 0: none
    int64_t hrd_size;                  // bits of the buffer in HRD parameters; 0: there are none
    bool cbr;                          // filler data keep the rate at bit_rate
    uint64_t picture_bytes;            // of each packet, filled up with zeros; 0: sizes vary
    int64_t rate_num, rate_den;        // frames/s; 0/1: unknown
    uint64_t most_first, most;         // limits for the first picture, and for others (of the level); UINT64_MAX: none
    int64_t level_rate, level_buffer;  // bits/s and bits that the level has; 0: a buffer or limits see to it
    uint64_t delay;                    // see PictureControl::plan(); at least 1
    // Pictures do not depend on those before.
    bool constant() const { return !bit_rate && !buffer_size && !picture_bytes; }
};

struct Params {
    CudaencFormat input;
    PictureFormat picture;
    ParameterSets sets;
    std::vector<Slice> slices;
    RateTarget rate;
    int effort, aq_strength;     // see PictureQuality
    CudaencKeystream keystream;  // nullptr: none
    void *keystream_opaque;
    bool deblock, aud, repeat_headers, timecodes;
    int avc_intra_class, avc_intra_flavor;  // of CudaencH264Options
    std::string warning;                    // what the options do that their user may not want; mostly empty
};

// Checks options and format and derives the rest.
// Throws Error(CUDAENC_ERR_INVALID) with a line that names the option, its value and what is allowed.
Params make_params(const CudaencFormat &format, const CudaencH264Options &options);

// What is coded, in a few words for logs.
std::string summary(const Params &params);

}  // namespace cudaenc::h264
