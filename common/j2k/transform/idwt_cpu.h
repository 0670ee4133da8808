// SPDX-License-Identifier: LGPL-2.1-or-later
// The inverse wavelet transform on the CPU (T.800 F.3).
#pragma once
#include <cstdint>

#include "../../thread_pool.h"
#include "../codestream/tables.h"

namespace cudaenc::j2k {

// One level by 5/3 or 9/7: in place of its four sub-bands, which lie as sub_band() has them, the resolution e in rows
// of `stride` samples. e is not empty. Rows come first, since the steps of 5/3 round.
void inverse_transform_level(ThreadPool &pool, int32_t *samples, const Extent &e, int stride);
void inverse_transform_level(ThreadPool &pool, float *samples, const Extent &e, int stride);

}  // namespace cudaenc::j2k
