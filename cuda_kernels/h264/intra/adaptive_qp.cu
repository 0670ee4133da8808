// SPDX-License-Identifier: LGPL-2.1-or-later
// The QP of each macroblock before, and mb_qp_delta after the intra pipeline.
#include "adaptive_qp_params.h"

#include "last_coded_qp.cuh"

namespace cudaenc::h264 {

// A lane has half a row.
KERNEL(kQpThreads, h264_adaptive_qp, AdaptiveQpParams)
{
    const uint32_t m = static_cast<uint32_t>(block_x()) * (kQpThreads / 32) + static_cast<uint32_t>(warp_id());
    if (m >= p.macroblocks) return;
    const int lane = lane_id();
    const int column = static_cast<int>(m % p.columns), row = static_cast<int>(m / p.columns);
    const int y = min_of(16 * row + lane / 2, p.picture_height - 1);
    const int x = 16 * column + 8 * (lane & 1);
    uint32_t sum = 0, squares = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 8; i++) {
        const uint32_t sample = static_cast<uint32_t>(load_sample(p.luma, min_of(x + i, p.picture_width - 1), y) +
                                                      (1 << (p.luma.depth - 1)));
        sum += sample;
        squares += sample * sample;
    }
    sum = warp_add(sum);
    squares = warp_add(squares);
    const int offset = p.offsets ? p.offsets[m * p.step] : 0;
    if (lane == 0) p.qps[m * p.step] = static_cast<int8_t>(p.choice.at(column, row, sum, squares, offset));
}

KERNEL(kQpThreads, h264_qp_delta, QpDeltaParams)
{
    const uint32_t lane = static_cast<uint32_t>(lane_id());
    const uint32_t begin = static_cast<uint32_t>(block_x()) * kQpThreads + 32 * static_cast<uint32_t>(warp_id());
    if (begin >= p.count) return;
    CodedMasks own;
    const int before = last_coded_qp(p.macroblocks, p.qps, begin, p.count, p.slice_qp, (1u << lane) - 1, &own);
    const uint32_t m = begin + lane;
    if (own.coded >> lane & 1)
        p.macroblocks[m].qp_delta = static_cast<int8_t>(qp_delta_of(p.qps[m], before, p.bit_depth));
}

}  // namespace cudaenc::h264
