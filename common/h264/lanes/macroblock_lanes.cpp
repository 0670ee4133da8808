// SPDX-License-Identifier: LGPL-2.1-or-later
// Macroblocks side by side, for any processor, and the choice of a level.
#include "macroblock_lanes.h"

#include <span>

#include "../../simd.h"

// Where there are levels, this one is for processors of before 2013. GCC takes more than two minutes at its full
// effort, and 50 seconds where all is one function.
#if defined(CUDAENC_LEVELS) && !defined(__clang__)
#pragma GCC optimize("O1")
#define always_inline noinline
#endif
#define CUDAENC_LANE_LEVEL 0
#define CUDAENC_LANES 16
#include "lane_coder.h"

namespace cudaenc::h264 {

#ifdef CUDAENC_LEVELS
namespace level_3 {
extern const LaneVectors kVectors;
}
namespace level_4 {
extern const LaneVectors kVectors;
}
namespace level_4_narrow {
extern const LaneVectors kVectors;
}
#endif

std::span<const LaneVectors> lane_vectors() {
#ifdef CUDAENC_LEVELS
    static const LaneVectors vectors[] = {level_4::kVectors, level_4_narrow::kVectors, level_3::kVectors,
                                          level_0::kVectors};
    static const size_t first = __builtin_cpu_supports("x86-64-v4") ? 0 : __builtin_cpu_supports("x86-64-v3") ? 2 : 3;
#else
    static const LaneVectors vectors[] = {level_0::kVectors};
    constexpr size_t first = 0;
#endif
    return std::span(vectors).subspan(first);
}

}  // namespace cudaenc::h264
