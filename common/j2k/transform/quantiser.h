// SPDX-License-Identifier: LGPL-2.1-or-later
// The quantiser of a sub-band as an encoder applies it (T.800 E.1).
#pragma once
#include <vector>

#include "../codestream/description.h"

namespace cudaenc::j2k {

struct Quantiser {
    int exponent;        // epsilon_b
    int mantissa;        // mu_b, 11 bits; 0 where reversible
    float inverse_step;  // 1 / Delta_b; 1 where reversible
    int planes;          // M_b = guard bits + epsilon_b - 1: magnitudes are below 2^planes
    int weight;          // log2_code() of a squared step's weight in the picture's squared error
    int spare = 0;       // lowest bit-planes that no frame has, where frames choose their steps
    // As QCD and QCC tell it (T.800 A.6.4): the step of the lowest bit-plane which is not spare.
    StepSize size() const { return {exponent - spare, mantissa}; }
};
using Quantisers = std::vector<std::vector<Quantiser>>;  // [component][band_index()]

}  // namespace cudaenc::j2k
