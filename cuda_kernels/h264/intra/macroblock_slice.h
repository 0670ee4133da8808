// SPDX-License-Identifier: LGPL-2.1-or-later
// The slice of each macroblock of a picture on a device. Slices may begin within rows.
#pragma once
#include <vector>

#include "../../../common/h264/intra/intra_modes.h"
#include "../../../common/h264/syntax/macroblock_layer.h"

namespace cudaenc::h264 {

struct alignas(8) MacroblockSlice {
    uint32_t number, first;  // first: its first macroblock
};
// slices: all macroblocks, in order.
inline std::vector<MacroblockSlice> macroblock_slices(const std::vector<Slice> &slices) {
    std::vector<MacroblockSlice> result;
    for (uint32_t i = 0; i < slices.size(); i++)
        result.resize(slices[i].first + slices[i].count, {.number = i, .first = slices[i].first});
    return result;
}

// The neighbours of macroblock `address` of the slice, in column x of `columns`.
CUDAENC_HD constexpr Available available_in(const MacroblockSlice &slice, uint32_t address, uint32_t x,
                                            uint32_t columns) {
    const bool above = address >= slice.first + columns;
    return {.left = x > 0 && address != slice.first,
            .above = above,
            .above_right = above && x + 1 < columns,
            .other_corner = address == slice.first + columns};
}

}  // namespace cudaenc::h264
