// SPDX-License-Identifier: LGPL-2.1-or-later
// What follows from a picture's final macroblocks: P_Skip and mvd of P pictures, QPs as decoders have them, the
// deblocking filter's input.
#include "../../../common/h264/intra/adaptive_qp.h"
#include "../../device.cuh"
#include "finish_params.h"

namespace cudaenc::h264 {

KERNEL(kFinishThreads, h264_finish_motion, FinishMotionParams)
{
    const int m = block_x() * kFinishThreads + thread_x();
    if (m < p.columns * p.rows)
        finish_macroblock({p.motion, p.columns}, m % p.columns, m / p.columns, p.macroblocks[m]);
}

// The last macroblock with mb_qp_delta is most often of the same warp. Else the warp looks back.
KERNEL(kFinishThreads, h264_decoded_qps, DecodedQpsParams)
{
    const int lane = lane_id(), begin = block_x() * kFinishThreads + 32 * warp_id(), m = begin + lane;
    if (begin >= p.count) return;
    const auto coded_of = [&](int at, bool present) {
        const Macroblock &macroblock = p.macroblocks[present ? at : 0];
        return warp_ballot(present && has_qp_delta(macroblock.type, macroblock.coded_block_pattern));
    };
    const uint32_t own = coded_of(m, m < p.count);
    const auto qp_of = [&](int at) { return p.qps ? p.qps[at] : p.slice_qp; };
    int before_warp = p.slice_qp;
    if (p.qps && !(own & 1))
        for (int end = begin; end > 0; end -= 32) {  // lane l has macroblock end - 1 - l
            const uint32_t coded = coded_of(end - 1 - lane, lane < end);
            if (coded) {
                before_warp = p.qps[end - 1 - find_first_set(coded)];
                break;
            }
        }
    const uint32_t up_to_here = own & ((2u << lane) - 1);
    if (m < p.count)
        p.decoded[m] = static_cast<int8_t>(up_to_here ? qp_of(begin + floor_log2(up_to_here)) : before_warp);
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
