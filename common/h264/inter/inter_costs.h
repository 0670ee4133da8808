// SPDX-License-Identifier: LGPL-2.1-or-later
// What the coders of inter macroblocks decide by, the same on host and device.
#pragma once
#include "../intra/decisions.h"

namespace cudaenc::h264 {

// Levels round up from five sixths on.
inline constexpr Rounding kRoundingInter = {43, 43, 0};
// Estimated bits of a level; of an 8x8 block that is coded, or of chroma, beside its levels; of coded_block_pattern and
// mb_skip_run.
CUDAENC_HD constexpr uint32_t inter_level_bits(uint32_t magnitude) { return magnitude ? magnitude + 3 : 0; }
inline constexpr uint32_t kBlockBits = 4, kInterHeaderBits = 3;
// mb_skip_run, mb_type, sub_mb_type, eight components of mvd, coded_block_pattern, mb_qp_delta, at their most.
inline constexpr uint32_t kMostHeaderBits = 33 + 5 + 4 + 8 * 27 + 11 + 12;

// Bits that intra macroblocks take beside their residual, as source samples tell: modes of I_16x16, I_8x8 and I_4x4.
inline constexpr uint32_t kBits16x16 = 8, kBits8x8 = 18, kBits4x4 = 54;

// motion_lambda_of() of the same QP as QpChoice::satd_lambda is.
CUDAENC_HD constexpr uint32_t motion_lambda_of(uint32_t satd_lambda, int bit_depth) {
    return bit_depth == 8 ? satd_lambda : max_of(satd_lambda >> 2, uint32_t{64});  // QP' is 12 more
}

// A macroblock as inter. cost: kNotAllowed: the levels may exceed the limits of a macroblock; skipped: it has the
// vector of P_Skip, and no levels.
inline constexpr uint64_t kNotAllowed = UINT64_MAX;
struct InterOutcome {
    uint64_t cost;
    bool skipped;
};

}  // namespace cudaenc::h264
