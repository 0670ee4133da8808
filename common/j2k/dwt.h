// Discrete wavelet transform, T.800 Annex F: the lifting steps of one sample and the symmetric extension. The CPU walks
// rows and columns with them, the kernel registers; a sample's arithmetic, and so its rounding, is the same.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../hd.h"

namespace cudaenc::j2k {

// T.800 Table F.4.
constexpr double kAlpha = -1.586134342059924;
constexpr double kBeta = -0.052980118572961;
constexpr double kGamma = 0.882911075530934;
constexpr double kDelta = 0.443506852043971;
constexpr double kScale = 1.230174104914001;

// Where position i of a signal on [begin, end) is found after whole-sample symmetric extension (T.800 F.4.7).
CUDAENC_HD int mirror(int i, int begin, int end) {
    while (i < begin || i >= end) {
        if (end - begin == 1) return begin;
        i = i < begin ? 2 * begin - i : 2 * (end - 1) - i;
    }
    return i;
}

// A wavelet: its sample type, its lifting steps in order (odd samples first, then even, ...), its final scaling, and
// how far an output reaches. `centre` is the sample to update, `before` and `after` its neighbours.
struct Dwt53 {  // reversible, T.800 F.4.8.1
    using Sample = int32_t;
    static constexpr int kSteps = 2;
    static constexpr int kReach = 2;
    template <int Step>
    CUDAENC_HD static Sample lift(Sample centre, Sample before, Sample after) {
        return Step == 0 ? centre - ((before + after) >> 1) : centre + ((before + after + 2) >> 2);
    }
    CUDAENC_HD static Sample scale_low(Sample x) { return x; }
    CUDAENC_HD static Sample scale_high(Sample x) { return x; }
};

struct Dwt97 {  // irreversible, T.800 F.4.8.2
    using Sample = float;
    static constexpr int kSteps = 4;
    static constexpr int kReach = 4;
    template <int Step>
    CUDAENC_HD static Sample lift(Sample centre, Sample before, Sample after) {
        constexpr float weight = static_cast<float>(Step == 0   ? kAlpha
                                                    : Step == 1 ? kBeta
                                                    : Step == 2 ? kGamma
                                                                : kDelta);
        return centre + weight * (before + after);
    }
    CUDAENC_HD static Sample scale_low(Sample x) { return x * static_cast<float>(1 / kScale); }
    CUDAENC_HD static Sample scale_high(Sample x) { return x * static_cast<float>(kScale); }
};

// Lengths of the low and high halves of a signal on [begin, end): even positions are low.
CUDAENC_HD int low_begin(int begin) { return (begin + 1) >> 1; }
CUDAENC_HD int high_begin(int begin) { return begin >> 1; }

}  // namespace cudaenc::j2k
