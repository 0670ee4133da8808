// Validated options of JPEG 2000 coding: what the SIZ, COD, QCD and QCC marker segments say (T.800 Annex A).
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../cudaenc.h"
#include "jp2_colour.h"
#include "step.h"
#include "tables.h"
#include "xyz_tables.h"

namespace cudaenc::j2k {

constexpr int kMaxLevels = 32;

// Sub-bands in the order of quantisation step sizes (T.800 A.6.4): LL, then HL, LH, HH of each resolution.
constexpr int band_index(int resolution, int orientation) { return resolution ? 3 * resolution - 3 + orientation : 0; }

struct Quantiser {
    int exponent;        // epsilon_b
    int mantissa;        // mu_b, 11 bits; 0 where reversible
    float inverse_step;  // 1 / Delta_b; 1 where reversible
    int planes;          // M_b = guard bits + epsilon_b - 1: magnitudes are below 2^planes
    int weight;          // log2_code() of a squared step's weight in the picture's squared error
    int spare = 0;       // lowest bit-planes that no frame has, where frames choose their steps
    // As QCD and QCC tell a step that is not reversible (T.800 A.6.4): that of the lowest bit-plane which is not spare.
    uint32_t told() const { return static_cast<uint32_t>((exponent - spare) << 11 | mantissa); }
};

struct Component {
    int dx, dy;  // XRsiz, YRsiz
    int depth;   // bits, unsigned
};
inline double squared_peak(const Component &component) {
    const double peak = (1 << component.depth) - 1;
    return peak * peak;
}

// A progression order's volume of packets, T.800 A.6.6: [first, last) of resolutions and components, layers from 0.
struct ProgressionChange {
    int first_resolution, first_component;
    int last_layer, last_resolution, last_component;
    CudaencJ2kProgression progression;
};

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

struct Params {
    CudaencFormat input;                   // of frames
    CudaencColorModel color_model;         // of what is coded
    std::shared_ptr<const XyzTables> xyz;  // what converts frames; nullptr: nothing does
    int width, height;
    std::vector<Component> components;
    int tile_width, tile_height, tiles_x, tiles_y;
    int levels;
    int cblk_width_log2, cblk_height_log2;
    uint32_t style;    // of code-blocks: the byte of the COD marker segment
    bool truncatable;  // rate allocation truncates codewords
    bool frame_steps;  // frames choose their quantiser steps: see step.h
    StepWeights step_weights;
    std::array<int, kMaxLevels + 1> precinct_width_log2, precinct_height_log2;  // by resolution
    bool default_precincts;
    bool reversible;
    int quality;  // of the quantisers; 0: half of a code value, for a target
    bool mct;
    int layers;
    CudaencJ2kProgression progression;
    std::vector<ProgressionChange> poc;  // empty: `progression` holds for all packets
    int tile_parts;                      // CudaencJ2kTileParts
    int guard_bits;
    bool sop, eph, tlm, plt, jp2;
    int rsiz;                  // Rsiz, T.800 Table A.10
    const char *profile_name;  // of the option `profile`; nullptr: none
    SizeLimits limits;         // by the profile
    int magnitude_bound;       // by the profile: B of T.814 A.3, with 5/3 what it is, with 9/7 at most; 0: none
    uint64_t least_bytes;      // of a packet
    RateControl rate;
    std::string comment;
    Jp2Colour colour;
    std::vector<uint8_t> xmp, iptc;   // of frames that bring none
    double capture_ppi, display_ppi;  // samples an inch; 0: not told
    Roi roi;
    std::vector<std::vector<Quantiser>> quantisers;  // [component][band_index()]
    std::string warning;  // what the options do that their user may not want, in lines; mostly empty

    int tiles() const { return tiles_x * tiles_y; }
    int64_t samples(const Component &c) const { return ceil_div(width, c.dx) * ceil_div(height, c.dy); }
    void warn(const std::string &line) { warning += (warning.empty() || line.empty() ? "" : "\n") + line; }
    // Of a picture, as they are.
    double sample_bytes() const {
        double bits = 0;
        for (const Component &c : components) bits += static_cast<double>(samples(c)) * c.depth;
        return bits / 8;
    }
};

// Checks options and format and derives the rest.
// Throws Error(CUDAENC_ERR_INVALID) with a line that names the option, its value and what is allowed.
Params make_params(const CudaencFormat &format, const CudaencJ2kOptions &options);

// What is coded, in a few words for logs.
std::string summary(const Params &params);

}  // namespace cudaenc::j2k
