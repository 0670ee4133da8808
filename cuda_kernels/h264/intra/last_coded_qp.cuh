// SPDX-License-Identifier: LGPL-2.1-or-later
// The QP that mb_qp_delta refers to (7.4.5).
#pragma once
#include "../../../common/h264/intra/adaptive_qp.h"
#include "../../device.cuh"

namespace cudaenc::h264 {

// What the 32 macroblocks of a warp are. Bits beyond the picture are 0.
struct CodedMasks {
    uint32_t coded, first;  // has_qp_delta(); a slice begins
};
DEVICE CodedMasks coded_masks(const Macroblock *macroblocks, uint32_t at, bool present) {
    const Macroblock &m = macroblocks[present ? at : 0];
    return {warp_ballot(present && has_qp_delta(m.type, m.coded_block_pattern)),
            warp_ballot(present && m.first_in_slice != 0)};
}

// The QP of the last macroblock with mb_qp_delta in the slice; slice_qp: there is none. Looked at are those of a warp
// from `begin` on that are in `lanes`, up to the lane's own, and those before. It is most often of the same warp. Else
// the warp looks back. With a whole warp. masks: gets those of the warp.
DEVICE int last_coded_qp(const Macroblock *macroblocks, const int8_t *qps, uint32_t begin, uint32_t count, int slice_qp,
                         uint32_t lanes, CodedMasks *masks = nullptr) {
    const uint32_t lane = static_cast<uint32_t>(lane_id());
    const CodedMasks own = coded_masks(macroblocks, begin + lane, begin + lane < count);
    if (masks) *masks = own;
    int before_warp = slice_qp;
    if (!(own.first & 1))
        for (uint32_t end = begin; end; end -= min_of(end, 32u)) {  // lane l has macroblock end - 1 - l
            const CodedMasks there = coded_masks(macroblocks, end - 1 - lane, lane < end);
            // Up to the beginning of the slice.
            const uint32_t in_slice = there.first ? (there.first & (0 - there.first)) * 2 - 1 : ~0u;
            if (const uint32_t coded = there.coded & in_slice) {
                before_warp = qps[end - 1 - static_cast<uint32_t>(find_first_set(coded))];
                break;
            }
            if (there.first) break;
        }
    const uint32_t first = own.first & ((2u << lane) - 1);
    uint32_t coded = own.coded & lanes;
    if (first) coded &= ~((1u << floor_log2(first)) - 1);
    return coded ? qps[begin + static_cast<uint32_t>(floor_log2(coded))] : first ? slice_qp : before_warp;
}

}  // namespace cudaenc::h264
