// SPDX-License-Identifier: LGPL-2.1-or-later
// The quantiser step of a sub-band as a decoder applies it.
#pragma once
#include <cmath>

#include "../codestream/description.h"

namespace cudaenc::j2k {

// Delta_b (T.800 E-3) of a sub-band, band_index(), of component c; 1 where reversible.
inline float step_size(const TileCoding &coding, const Component &component, size_t c, int band) {
    if (coding.of_component(c).reversible) return 1;
    const StepSize &step = coding.quantisation[c].steps[static_cast<size_t>(band)];
    constexpr int kGains[] = {1, 1, 2};  // log2, of HL, LH, HH: Table E.1
    const int gain = band ? kGains[(band - 1) % 3] : 0;
    return std::ldexp(1 + static_cast<float>(step.mantissa) / 2048, component.depth + gain - step.exponent);
}

}  // namespace cudaenc::j2k
