// SPDX-License-Identifier: LGPL-2.1-or-later
// The quantisers of sub-bands (T.800 E.1): exponents and steps from the filters' norms, and what a step weighs in the
// picture's squared error.
#pragma once
#include "params.h"

namespace cudaenc::j2k {

// Sets Params::quantisers, and with frame_steps step_weights. With visual_weights the weights are those of errors that
// the eye sees.
void set_quantisers(Params &params);

}  // namespace cudaenc::j2k
