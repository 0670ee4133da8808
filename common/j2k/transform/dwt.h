// SPDX-License-Identifier: LGPL-2.1-or-later
// Discrete wavelet transform, T.800 Annex F: the lifting steps of one sample and the symmetric extension. The CPU walks
// rows and columns with them, the kernel registers; a sample's arithmetic, and so its rounding, is the same.
#pragma once
#include <cstdint>

#include "../codestream/tables.h"

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

// Factors of a row's even and odd columns.
template <class Sample>
struct RowScale {
    Sample low, high;
};

// A wavelet: its sample type, its lifting steps in order (odd samples first, then even, ...), its final scaling, and
// how far an output reaches. `centre` is the sample to update, `before` and `after` its neighbours. Scaling is that of
// both directions at once, behind both; `across`, `down`: whether rows and columns have more than one sample.
struct Dwt53 {  // reversible, T.800 F.4.8.1
    using Sample = int32_t;
    static constexpr int kSteps = 2;
    static constexpr int kReach = 2;
    template <int Step>
    CUDAENC_HD static Sample lift(Sample centre, Sample before, Sample after) {
        return Step == 0 ? centre - ((before + after) >> 1) : centre + ((before + after + 2) >> 2);
    }
    template <int Step>
    CUDAENC_HD static Sample unlift(Sample centre, Sample before, Sample after) {  // F.3.8.1
        return centre - lift<Step>(0, before, after);
    }
    CUDAENC_HD static RowScale<Sample> row_scale(bool, bool, bool) { return {1, 1}; }
    CUDAENC_HD static constexpr RowScale<Sample> inverse_scale() { return {1, 1}; }
};

struct Dwt97 {  // irreversible, T.800 F.4.8.2
    using Sample = float;
    static constexpr int kSteps = 4;
    static constexpr int kReach = 4;
    template <int Step>
    static constexpr float kWeight = static_cast<float>(Step == 0   ? kAlpha
                                                        : Step == 1 ? kBeta
                                                        : Step == 2 ? kGamma
                                                                    : kDelta);
    template <int Step>
    CUDAENC_HD static Sample lift(Sample centre, Sample before, Sample after) {
        return multiply_add(kWeight<Step>, before + after, centre);
    }
    template <int Step>
    CUDAENC_HD static Sample unlift(Sample centre, Sample before, Sample after) {  // F.3.8.2
        return centre - kWeight<Step> * (before + after);
    }
    // 1/K for each low half, K for each high half: they cancel in HL and LH.
    CUDAENC_HD static RowScale<Sample> row_scale(bool odd_row, bool across, bool down) {
        const int power = down ? odd_row ? 1 : -1 : 0;
        return {power_of_scale(power - (across ? 1 : 0)), power_of_scale(power + (across ? 1 : 0))};
    }
    // Of a low and a high sample, before the steps are undone in a direction (F.3.8.2).
    CUDAENC_HD static constexpr RowScale<Sample> inverse_scale() {
        return {static_cast<float>(kScale), static_cast<float>(1 / kScale)};
    }

  private:
    CUDAENC_HD static Sample power_of_scale(int power) {
        return static_cast<float>(power == -2   ? 1 / (kScale * kScale)
                                  : power == -1 ? 1 / kScale
                                  : power == 0  ? 1
                                  : power == 1  ? kScale
                                                : kScale * kScale);
    }
};

// The same samples where a processor has no instruction for multiply_add().
struct Dwt97ByDouble : Dwt97 {
    template <int Step>
    CUDAENC_HD static Sample lift(Sample centre, Sample before, Sample after) {
        return multiply_add_by_double(kWeight<Step>, before + after, centre);
    }
};

}  // namespace cudaenc::j2k
