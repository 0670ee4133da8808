// SPDX-License-Identifier: LGPL-2.1-or-later
// Quantiser steps that a frame chooses: those of the session, times less than 2. Coefficients have the session's, which
// are small; the HT coder multiplies them by the ratio of both. The frame's main header tells its steps.
#pragma once
#include <cstdint>

#include "slope.h"

namespace cudaenc::j2k {

// A frame's steps are those of the session times 2^(step / kFrameSteps).
constexpr uint32_t kFrameSteps = 32;

// Weights of such steps in the picture's squared error, as Quantiser::weight.
struct StepWeights {
    int32_t finest;  // of the finest that a frame may have
    int32_t exact;   // of those below which most samples are exact once they are rounded
};

// A step as QCD and QCC have it, SPqcd (T.800 A.6.4): its exponent, and a mantissa of 11 bits. spqcd: of the session;
// its exponent is not 0.
CUDAENC_HD uint32_t frame_step(uint32_t spqcd, uint32_t step) {
    const uint32_t mantissa = 2048 + (spqcd & 2047),
                   more = (mantissa * exp2_code(static_cast<int>(step * kSlopeOctave / kFrameSteps)) + 16384) >> 15;
    return more < 4096 ? (spqcd & ~2047u) + more - 2048 : (spqcd & ~2047u) - 2048 + (more + 1) / 2 - 2048;
}

// What makes magnitudes of the frame's steps of those of the session's. Both have as many bit-planes in a sub-band,
// which a packet header counts; so where the exponent is less by one, magnitudes are twice those of the frame's steps.
struct StepRatio {
    uint32_t ratio = 1 << 24;       // of magnitudes, in 2^-24
    uint32_t square = 1 << 12;      // of a squared step of theirs to one of the session's, in 2^-12
    uint32_t most = (1 << 24) - 1;  // the largest magnitude
    int lowest_plane = 0;           // that may be coded; one more where magnitudes are doubled

    // coefficient: as quantise() makes it, of at most 24 bit-planes. It lies in the middle of its step, on average.
    CUDAENC_HD uint32_t magnitude(uint32_t coefficient) const {
        return min_of(static_cast<uint32_t>(uint64_t{coefficient << 8 | 128} * ratio >> 32), most);
    }
    // Coefficients below it are 0 from the plane on; a few above it may be.
    CUDAENC_HD uint32_t least(int plane) const {
        return max_of((1u << (min_of(plane, 15) + 16)) / ((ratio >> 8) + 1), 1u);
    }
    // log2_code() of the square.
    CUDAENC_HD int weight() const { return log2_code(square) - 12 * kSlopeOctave; }
};
// planes: of the sub-band; spare: of these the lowest ones, which no frame has.
CUDAENC_HD StepRatio step_ratio(uint32_t spqcd, uint32_t step, int planes, int spare) {
    StepRatio r;
    r.lowest_plane = spare;
    r.most = (1u << planes) - 1;
    if (!step) return r;
    const uint32_t own = 2048 + (spqcd & 2047), frames = 2048 + (frame_step(spqcd, step) & 2047),
                   inverse = (frames << 12) / own;
    r.ratio = (own << 20) / frames << 4;
    r.square = inverse * inverse >> 12;
    r.lowest_plane += frames < own;
    return r;
}

}  // namespace cudaenc::j2k
