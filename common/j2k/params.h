// SPDX-License-Identifier: LGPL-2.1-or-later
// Validated options of JPEG 2000 coding: the description of a codestream, and how it is made.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../cudaenc.h"
#include "codestream/description.h"
#include "jp2_colour.h"
#include "t1/step.h"
#include "transform/quantiser.h"
#include "transform/xyz_tables.h"

namespace cudaenc::j2k {

inline double squared_peak(const Component &component) {
    const double peak = (1 << component.depth) - 1;
    return peak * peak;
}

// Limits of byte budgets, in bytes; 0: none.
struct SizeLimits {
    uint64_t frame;      // the whole codestream
    uint64_t component;  // a component's first tile-part
};

// The region of interest, in samples of the picture. shift: of its coefficients, in bit-planes (SPrgn); 0: no region.
struct Roi {
    int x, y, width, height;
    int shift;
};

// The rate-control method and its targets.
struct RateControl {
    CudaencJ2kRateControl mode;
    int pst_lag;                   // of pst: a frame takes the slope of the frame so many before it, 1 to 64
    std::vector<uint64_t> layers;  // bytes of the packet up to each layer; 0: no limit of its own
    double error;                  // of a target of PSNR: mean squared error of samples from 0 to 1; 0: no such target
    bool predicts_slopes() const { return mode == CUDAENC_J2K_RATE_PSP && layers.back(); }
    bool keeps_slopes() const { return mode == CUDAENC_J2K_RATE_PST && layers.back(); }
    bool limits_bytes() const {
        return std::any_of(layers.begin(), layers.end(), [](uint64_t bytes) { return bytes != 0; });
    }
    bool target() const { return error != 0 || limits_bytes(); }
};

struct Params : Description {
    CudaencFormat input;                   // of frames
    CudaencColorModel color_model;         // of what is coded
    std::shared_ptr<const XyzTables> xyz;  // what converts frames; nullptr: nothing does
    bool truncatable;                      // rate allocation truncates codewords
    bool frame_steps;                      // frames choose their quantiser steps: see step.h
    StepWeights step_weights;
    int quality;  // of the quantisers; 0: half of a code value, for a target
    int guard_bits;
    bool jp2;
    const char *profile_name;  // of the option `profile`; nullptr: none
    SizeLimits limits;         // by the profile
    int magnitude_bound;       // by the profile: B of T.814 A.3, with 5/3 what it is, with 9/7 at most; 0: none
    uint64_t least_bytes;      // of a packet
    RateControl rate;
    Jp2Colour colour;
    std::vector<uint8_t> xmp, iptc;   // of frames that bring none
    double capture_ppi, display_ppi;  // samples an inch; 0: not told
    Roi roi;
    bool visual_weights;  // see set_quantisers()
    Quantisers quantisers;
    bool takes_regions;   // regions of interest of frames weigh errors
    std::string warning;  // what the options do that their user may not want, in lines; mostly empty

    void warn(const std::string &line) { warning += (warning.empty() || line.empty() ? "" : "\n") + line; }
};

// Checks options and format and derives the rest.
// Throws Error(CUDAENC_ERR_INVALID) with a line that names the option, its value and what is allowed.
Params make_params(const CudaencFormat &format, const CudaencJ2kOptions &options);

// What is coded, in a few words for logs.
std::string summary(const Params &params);

}  // namespace cudaenc::j2k
