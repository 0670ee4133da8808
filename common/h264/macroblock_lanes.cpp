// SPDX-License-Identifier: LGPL-2.1-or-later
#include "macroblock_lanes.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "../simd.h"
#include "../vectors.h"
#include "intra_lines.h"
#include "intra_nxn.h"
#include "transform.h"

#ifdef CUDAENC_LEVELS
#define CUDAENC_LANE_FUNCTION [[gnu::flatten]]
#pragma GCC diagnostic ignored "-Wuninitialized"  // where intrinsics leave something undefined
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
#define CUDAENC_LANE_NAMESPACE level_4
#define CUDAENC_LANE_LEVEL 4
#include "lane_coder.h"
#undef CUDAENC_LANE_NAMESPACE
#undef CUDAENC_LANE_LEVEL
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#define CUDAENC_LANE_NAMESPACE level_3
#define CUDAENC_LANE_LEVEL 3
#include "lane_coder.h"
#undef CUDAENC_LANE_NAMESPACE
#undef CUDAENC_LANE_LEVEL
#pragma GCC pop_options
#else
#define CUDAENC_LANE_FUNCTION CUDAENC_CLONES
#endif

#define CUDAENC_LANE_NAMESPACE level_0
#define CUDAENC_LANE_LEVEL 0
#include "lane_coder.h"

namespace cudaenc::h264 {

std::span<const LaneVectors> lane_vectors() {
#ifdef CUDAENC_LEVELS
    static const LaneVectors vectors[] = {level_4::kVectors, level_3::kVectors, level_0::kVectors};
    static const size_t first = __builtin_cpu_supports("x86-64-v4") ? 0 : __builtin_cpu_supports("x86-64-v3") ? 1 : 2;
#else
    static const LaneVectors vectors[] = {level_0::kVectors};
    constexpr size_t first = 0;
#endif
    return std::span(vectors).subspan(first);
}

}  // namespace cudaenc::h264
