// Loading and component transforms of load.h, a row at a time. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "load.h"

namespace cudaenc::j2k {

// load_sample() of `count` samples of row y from column x.
void load_row(const SampleLayout &layout, int64_t x, int64_t y, int count, int32_t *row);
void load_row(const SampleLayout &layout, int64_t x, int64_t y, int count, float *row);

// component_transform() of `count` samples.
void component_transform_rows(int32_t *c0, int32_t *c1, int32_t *c2, int count);
void component_transform_rows(float *c0, float *c1, float *c2, int count);

}  // namespace cudaenc::j2k
