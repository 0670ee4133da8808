// Component transforms of load.h, a row at a time. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../load_cpu.h"
#include "load.h"

namespace cudaenc::j2k {

// component_transform() of `count` samples.
void component_transform_rows(int32_t *c0, int32_t *c1, int32_t *c2, int count);
void component_transform_rows(float *c0, float *c1, float *c2, int count);

}  // namespace cudaenc::j2k
