// SPDX-License-Identifier: LGPL-2.1-or-later
// What an encoder's options add to the geometry of a codestream.
#pragma once
#include "params.h"
#include "t1/encoder_geometry.h"
#include "transform/transform_plan.h"

namespace cudaenc::j2k {

// The geometry of the parameters' codestream. Throws what make_geometry() does. Blocks have the sub-band's spare
// bit-planes too.
EncoderGeometry make_encoder_geometry(const Params &params);

// params and geometry live longer.
TransformPlan make_transform_plan(const Params &params, const Geometry &geometry);

}  // namespace cudaenc::j2k
