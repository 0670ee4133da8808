// SPDX-License-Identifier: LGPL-2.1-or-later
// What follows from a picture's final macroblocks: P_Skip and mvd of P pictures, QPs as decoders have them, the
// deblocking filter's input.
#include "../../../common/h264/intra/adaptive_qp.h"
#include "../intra/last_coded_qp.cuh"
#include "finish_params.h"

namespace cudaenc::h264 {

KERNEL(kFinishThreads, h264_finish_motion, FinishMotionParams)
{
    const int m = block_x() * kFinishThreads + thread_x();
    if (m >= p.columns * p.rows) return;
    const int x = m % p.columns, y = m / p.columns;
    const MacroblockSlice slice = p.slices[m];
    finish_macroblock({.motion = p.motion, .columns = p.columns, .first = static_cast<int>(slice.first)}, x, y,
                      p.macroblocks[m], static_cast<int>(slice.number));
}

KERNEL(kFinishThreads, h264_decoded_qps, DecodedQpsParams)
{
    const uint32_t lane = static_cast<uint32_t>(lane_id());
    const uint32_t begin = static_cast<uint32_t>(block_x()) * kFinishThreads + 32 * static_cast<uint32_t>(warp_id());
    const uint32_t m = begin + lane, count = static_cast<uint32_t>(p.count);
    if (begin >= count) return;
    const int qp = p.qps ? last_coded_qp(p.macroblocks, p.qps, begin, count, p.slice_qp, (2u << lane) - 1) : p.slice_qp;
    if (m < count) p.decoded[m] = static_cast<int8_t>(qp);
}

// Lane l has eight levels: half a 4x4 block, or an eighth of an 8x8 one.
KERNEL(kFinishThreads, h264_deblock_input, DeblockInputParams)
{
    const int m = block_x() * (kFinishThreads / 32) + warp_id(), lane = lane_id();
    if (m >= p.count) return;
    const Macroblock macroblock = p.macroblocks[m];
    const bool inter = is_inter(macroblock.type), eight = has_8x8_transform(macroblock);
    const Uint4 levels = load_readonly(reinterpret_cast<const Uint4 *>(p.levels + int64_t{m} * p.levels_each) + lane);
    const bool coded = macroblock.coded_block_pattern >> (lane >> 3) & 1;
    uint32_t nonzero = warp_ballot(coded && (levels.x | levels.y | levels.z | levels.w) != 0);
    nonzero |= nonzero >> 1;  // bit 2 b: 4x4 block b in the order of 6.4.3
    uint32_t blocks = 0;
    CUDAENC_UNROLL
    for (int b = 0; b < 4; b++) {
        const uint32_t four = nonzero >> 8 * b;
        const uint32_t of_8x8 = eight ? ((four & 0x55) ? 0x33u : 0u)
                                      : (four & 1) | (four >> 2 & 1) << 1 | (four >> 4 & 1) << 4 | (four >> 6 & 1) << 5;
        blocks |= of_8x8 << (8 * (b >> 1) + 2 * (b & 1));
    }
    if (lane < 16) {
        const Vector v = inter ? p.motion[m].vectors[lane / 8 * 2 + lane % 4 / 2] : Vector{0, 0};
        p.vectors[int64_t{m} * 16 + lane] = {v.x, v.y};
    }
    if (lane == 0)
        p.to[m] = {.intra = !inter,
                   .transform_8x8 = eight,
                   .qp = macroblock.type == MacroblockType::pcm ? int8_t{0} : p.decoded_qps[m],
                   .nonzero = static_cast<uint16_t>(inter ? blocks : 0),
                   .slice = macroblock.slice};
}

}  // namespace cudaenc::h264
