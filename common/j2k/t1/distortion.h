// SPDX-License-Identifier: LGPL-2.1-or-later
// What coding passes take off the squared error, and what their decisions cost, from counts of samples.
#pragma once
#include <cstdint>

#include "../../hd.h"

namespace cudaenc::j2k {

constexpr uint32_t kBit = 256;  // entropies and estimates of bits are in 1/256

// x log2(x) in 1/256; x below 2^16. Between powers of two log2 is a parabola, at most 0.017 off.
CUDAENC_HD uint32_t x_log2_x(uint32_t x) {
    const int whole = bit_width(x) - 1;
    const uint32_t rest = (x << (16 - whole) & 0xFFFF) >> 8;
    return x * (static_cast<uint32_t>(whole) * 256 + rest + (rest * (256 - rest) * 88 >> 16));
}

// The entropy, in 1/256 bits, of `all` decisions of which `ones` are 1; `all` at most 4096.
CUDAENC_HD uint32_t entropy(uint32_t ones, uint32_t all) {
    return x_log2_x(all) - x_log2_x(ones) - x_log2_x(all - ones);
}

// A pass's decisions but signs, in two classes. Significance propagation: without and with a significant horizontal or
// vertical neighbour; clean-up: without and with any. Refinement: all in the first. `ones` of `all` are 1.
struct DecisionCounts {
    uint32_t ones[2], all[2];
    CUDAENC_HD uint32_t newly_significant() const { return ones[0] + ones[1]; }
};
// Their entropy, a context a class. A parameter of the functions below, since a warp computes it with all lanes.
struct EntropyOf {
    CUDAENC_HD uint32_t operator()(const DecisionCounts &c) const {
        return entropy(c.ones[0], c.all[0]) + entropy(c.ones[1], c.all[1]);
    }
};

// Samples that are coded next: `refined` ones, and the decisions of others (DecisionCounts or alike).
template <class Decisions = DecisionCounts>
struct NextSamples {
    uint32_t refined;
    Decisions decisions;
};

// Of a lossy block the last two passes, refinement and clean-up of bit-plane 0, may be left out. Significance
// propagation has taken most off the error by then, and with a smaller step the bits do more elsewhere. A block of one
// bit-plane has that clean-up alone.
constexpr int kLastPasses = 2;
// Whether refinement and clean-up of bit-plane 0 are worth their bits where the quantiser loses anyway. Samples lie
// anywhere in their steps of size 1 and decode to the middle. Then one that becomes significant takes 9/4 off the
// squared error, for its sign and its search; one that is refined takes 1/4, for a bit. The bar is 3/8 a bit: by trial
// the most PSNR at equal bytes over photographs, video and screens.
template <class Decisions, class Entropy = EntropyOf>
CUDAENC_HD bool worth_coding(const NextSamples<Decisions> &next, const Entropy &entropy_of = {}) {
    return kBit * (15 * next.decisions.newly_significant()) > kBit * next.refined + 3 * entropy_of(next.decisions);
}

// ---- Distortion reduction of a pass, in 1/64 of 4^plane squared steps. It is exact where decoders reconstruct to the
// middle of what they know. It is linear in a sample's bits below the plane. kReductionPlanes of these count, as parts
// of 2^-kReductionPlanes; the bits below are taken to be half, of the sixth plane none. Over many samples their errors
// cancel. Where all samples are alike they do not: with fewer planes they hid what the planes below those give.
constexpr int kReductionPlanes = 6;

struct ReductionRounding {
    int half;   // of a sample: what no bit says
    int whole;  // of a sample that is known to the last bit
};
CUDAENC_HD ReductionRounding reduction_rounding(int plane, bool reversible) {
    return {reversible && plane <= kReductionPlanes ? 0 : 32 >> min_of(plane, kReductionPlanes),
            reversible && !plane ? 16 : 0};
}
// A sample's most parts.
CUDAENC_HD int all_parts_below(int plane) {
    return (1 << kReductionPlanes) - (1 << (kReductionPlanes - min_of(plane, kReductionPlanes)));
}
// Of `count` samples that become significant. parts: the sum of theirs.
CUDAENC_HD int32_t reduction_of_significance(const ReductionRounding &r, int count, int parts) {
    return (48 + 3 * r.half + r.whole) * count + (192 >> kReductionPlanes) * parts;
}
// Of refined samples, by whether their bit is 1 or 0. parts: of the ones, less that of the zeros.
CUDAENC_HD int32_t reduction_of_refinement(const ReductionRounding &r, int ones, int zeros, int parts) {
    return (r.half + r.whole - 16) * ones + (48 - r.half + r.whole) * zeros + (64 >> kReductionPlanes) * parts;
}

}  // namespace cudaenc::j2k
