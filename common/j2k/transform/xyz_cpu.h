// SPDX-License-Identifier: LGPL-2.1-or-later
// Conversion to X'Y'Z' on the CPU.
#pragma once
#include <cstdint>

#include "../../load.h"
#include "xyz.h"

namespace cudaenc::j2k {

// load_xyz() of row y. planes: see xyz_plane().
void load_xyz_row(const XyzConversion &conversion, const SampleLayout *layout, int width, int height, int y,
                  uint16_t *planes);

}  // namespace cudaenc::j2k
