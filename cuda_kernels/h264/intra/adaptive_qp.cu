// SPDX-License-Identifier: LGPL-2.1-or-later
// Adaptive quantisation: the QP of each macroblock before, and mb_qp_delta after the intra pipeline.
#include "adaptive_qp_params.h"

#include "../../../common/h264/intra/adaptive_qp.h"
#include "../../device.cuh"

namespace cudaenc::h264 {

// A lane has half a row.
KERNEL(kQpThreads, h264_adaptive_qp, AdaptiveQpParams)
{
    const uint32_t m = static_cast<uint32_t>(block_x()) * (kQpThreads / 32) + static_cast<uint32_t>(warp_id());
    if (m >= p.macroblocks) return;
    const int lane = lane_id();
    const int y = min_of(16 * static_cast<int>(m / p.columns) + lane / 2, p.picture_height - 1);
    const int x = 16 * static_cast<int>(m % p.columns) + 8 * (lane & 1);
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
    if (lane == 0)
        p.qps[m] = static_cast<int8_t>(max_of(p.lowest_qp, adapted_qp(p.qp, p.strength, sum, squares, p.luma.depth)));
}

// What the 32 macroblocks of a warp are. Bits beyond the picture are 0.
struct QpDeltaMasks {
    uint32_t coded, first;  // has_qp_delta(); a slice begins
};
DEVICE QpDeltaMasks masks_of(const Macroblock *macroblocks, uint32_t at, bool present) {
    const Macroblock &m = macroblocks[present ? at : 0];
    return {warp_ballot(present && has_qp_delta(m.type, m.coded_block_pattern)),
            warp_ballot(present && m.first_in_slice != 0)};
}

// The macroblock whose QP the lane's one refers to is the last one before in its slice that is coded: most often of the
// same warp. Else the warp looks back.
KERNEL(kQpThreads, h264_qp_delta, QpDeltaParams)
{
    const uint32_t lane = static_cast<uint32_t>(lane_id());
    const uint32_t begin = static_cast<uint32_t>(block_x()) * kQpThreads + 32 * static_cast<uint32_t>(warp_id());
    if (begin >= p.count) return;
    const uint32_t m = begin + lane;
    const QpDeltaMasks own = masks_of(p.macroblocks, m, m < p.count);
    int before_warp = p.slice_qp;
    if (!(own.first & 1))
        for (uint32_t end = begin; end; end -= min_of(end, 32u)) {  // lane l has macroblock end - 1 - l
            const QpDeltaMasks there = masks_of(p.macroblocks, end - 1 - lane, lane < end);
            // Up to the beginning of the slice.
            const uint32_t in_slice = there.first ? (there.first & (0 - there.first)) * 2 - 1 : ~0u;
            if (const uint32_t coded = there.coded & in_slice) {
                before_warp = p.qps[end - 1 - static_cast<uint32_t>(find_first_set(coded))];
                break;
            }
            if (there.first) break;
        }
    const uint32_t below = (1u << lane) - 1, first = own.first & (below << 1 | 1);
    uint32_t coded = own.coded & below;
    if (first) coded &= ~((1u << floor_log2(first)) - 1);
    const int before = coded   ? p.qps[begin + static_cast<uint32_t>(floor_log2(coded))]
                       : first ? p.slice_qp
                               : before_warp;
    if (own.coded >> lane & 1)
        p.macroblocks[m].qp_delta = static_cast<int8_t>(qp_delta_of(p.qps[m], before, p.bit_depth));
}

}  // namespace cudaenc::h264
