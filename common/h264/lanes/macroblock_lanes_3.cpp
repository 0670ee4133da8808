// SPDX-License-Identifier: LGPL-2.1-or-later
// Macroblocks side by side, for level 3 of x86-64.
#include "../../simd.h"

#ifdef CUDAENC_LEVELS
#define CUDAENC_LANE_LEVEL 3
#define CUDAENC_LANES 16
#include "lane_coder.h"
#endif
