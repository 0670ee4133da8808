// SPDX-License-Identifier: LGPL-2.1-or-later
// load_sample() a row at a time.
#pragma once
#include "load.h"

namespace cudaenc {

// load_sample() of `count` samples of row y from column x on. int8_t: for depths up to 8.
void load_row(const SampleLayout &layout, int64_t x, int64_t y, int count, int8_t *row);
void load_row(const SampleLayout &layout, int64_t x, int64_t y, int count, int32_t *row);
void load_row(const SampleLayout &layout, int64_t x, int64_t y, int count, float *row);

// Without the level shift.
void load_row(const SampleLayout &layout, int64_t x, int64_t y, int count, uint16_t *row);

}  // namespace cudaenc
