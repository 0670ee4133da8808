// SPDX-License-Identifier: LGPL-2.1-or-later
// Macroblocks side by side, few of them, for level 4 of x86-64.
#include "../../simd.h"

#ifdef CUDAENC_LEVELS
#define CUDAENC_LANE_LEVEL 4
#define CUDAENC_LANES 16
#include "lane_coder.h"
#endif
