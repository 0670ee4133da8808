// SPDX-License-Identifier: LGPL-2.1-or-later
// The convex hull of a block's truncation points (PCRD-opt, T.800 J.14.3).
#pragma once
#include <cstddef>
#include <cstdint>

#include "../t1/block.h"
#include "../t1/distortion.h"
#include "../t1/slope.h"

namespace cudaenc::j2k {

// A block's passes as rate allocation sees them.
struct BlockPasses {
    CodedBlock coded;
    const uint32_t *bytes;      // [pass]: of the codeword that is truncated behind the pass
    const int32_t *reductions;  // [pass]: of distortion, from the first that is not always included on
    int weight;                 // of the sub-band and the block
    uint32_t style;
    uint32_t number;     // of the block. It dithers slopes: blocks that are all alike would else all end together
    int samples;         // of the block
    bool whole = false;  // see are_whole()
};

// Whether blocks are truncated nowhere: a block whose passes are alternatives is in one of several layers as a whole.
CUDAENC_HD bool are_whole(uint32_t style, int layers) { return are_alternatives(style) && layers > 1; }

// In blocks of so few samples errors of estimated distortions do not cancel.
constexpr int kFewSamples = 64;

// The slopes of a block's hull, by pass; 0 where no truncation point of it lies.
template <class T>
struct HullSlopes {
    T *first;
    size_t stride;
    CUDAENC_HD T &operator[](int pass) const { return first[static_cast<size_t>(pass) * stride]; }
};

// The convex hull. A truncation point's slope is that from the point before it; slopes fall from point to point. Passes
// come one by one, and remove points that are less steep than the way from them on. A codeword can be shorter with more
// passes. The first point is behind the passes that are always included, with the highest slope.
CUDAENC_HD void convex_hull(const BlockPasses &b, const HullSlopes<uint16_t> &slopes) {
    const int planes = b.coded.planes, passes = b.coded.passes, included = b.coded.always_included;
    // What reductions of the lowest planes count in, so that the sum of all fits.
    const int lowest = max_of(planes - 20, 0);
    const int dither = static_cast<int>(b.number * 0x9E3779B1u >> 27);
    const int weight = b.weight + 2 * lowest * kSlopeOctave + dither;
    // An estimated refinement is at most 1/64 a sample off (distortion.h). That can exceed all that planes from the
    // third below on take off. With the most that it may be, the hull does not end above them.
    const int error = b.samples <= kFewSamples ? b.samples : 0;
    const auto reduction_of = [&](int pass) {
        const int plane = plane_of_pass(b.style, planes, pass), shift = 2 * (plane - lowest);
        const bool is_estimated = plane > kReductionPlanes && kind_of_pass(b.style, pass) == kMagnitudeRefinement;
        const int64_t reduction = b.reductions[pass] + (is_estimated ? error : 0);
        return shift >= 0 ? reduction << shift : reduction >> -shift;
    };
    int fixed = included - 1, top = fixed;  // the first point if it stays in any case, and the last
    int64_t reduction = 0;                  // from it on
    if (top >= 0) slopes[top] = kSlopes - 1;
    for (int pass = included; pass < passes; pass++) {
        slopes[pass] = 0;
        reduction += reduction_of(pass);
        if ((b.whole || !can_truncate(b.style, pass)) && pass < passes - 1) continue;
        while (reduction > 0) {
            const uint32_t bytes = b.bytes[pass], before = top < 0 ? 0 : b.bytes[top];
            const uint32_t slope =
                slope_of(static_cast<uint64_t>(reduction), bytes > before ? bytes - before : 0, weight);
            if (top < 0 || slope < slopes[top]) {
                slopes[pass] = static_cast<uint16_t>(slope);
                top = pass;
                reduction = 0;
                break;
            }
            slopes[top] = 0;
            if (top == fixed) {  // the pass takes no more bytes
                slopes[pass] = kSlopes - 1;
                fixed = top = pass;
                reduction = 0;
                break;
            }
            do reduction += reduction_of(top--);
            while (top >= 0 && !slopes[top]);
        }
    }
}

// Which truncation points are taken: all down to a slope; then those of at most `small` bytes from the point before.
struct TruncationChoice {
    uint32_t all_from = 1, small = 0;
    CUDAENC_HD bool takes(uint32_t slope, uint32_t more) const {
        return slope >= all_from || static_cast<int32_t>(more) <= static_cast<int32_t>(small);
    }
};

// Calls body(slope, more) for each truncation point that may be taken. more: bytes from the point before; may be
// negative.
template <class Body>
CUDAENC_HD void for_each_truncation_point(const HullSlopes<const uint16_t> &slopes, int always_included, int passes,
                                          const uint32_t *bytes, const TruncationChoice &choice, const Body &body) {
    uint32_t before = 0;
    for (int pass = max_of(always_included - 1, 0); pass < passes; pass++) {
        if (!slopes[pass]) continue;
        if (!choice.takes(slopes[pass], bytes[pass] - before)) break;
        body(slopes[pass], bytes[pass] - before);
        before = bytes[pass];
    }
}

}  // namespace cudaenc::j2k
