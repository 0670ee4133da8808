// SPDX-License-Identifier: LGPL-2.1-or-later
// The slice of each macroblock, and which neighbours are in it.
#pragma once
#include <vector>

#include "../syntax/macroblock_layer.h"
#include "intra.h"

namespace cudaenc::h264 {

class SliceMap {
  public:
    // columns: macroblocks in a row; slices: all macroblocks, in order; step: see CodedFormat.
    SliceMap(int columns, const std::vector<Slice> &slices, int step = 1) : columns_(columns), step_(step) {
        set(slices);
    }
    void set(const std::vector<Slice> &slices) {
        slices_ = slices;
        of_.clear();
        for (size_t i = 0; i < slices.size(); i++)
            of_.resize(slices[i].first + slices[i].count, static_cast<uint32_t>(i));
    }
    const std::vector<Slice> &slices() const { return slices_; }
    // Of a macroblock: the slice's number, and its first macroblock.
    uint16_t number(size_t at) const { return static_cast<uint16_t>(of_[at]); }
    uint32_t first(size_t at) const { return slices_[of_[at]].first; }
    // The macroblocks of the same slice around one (6.4.9).
    Available available(int x, int y) const {
        const uint32_t own = of_[static_cast<size_t>(y * columns_ + x)];
        const auto same = [&](int i, int j) {
            return i >= 0 && i < columns_ && j >= 0 && of_[static_cast<size_t>(j * columns_ + i)] == own;
        };
        return {.left = same(x - step_, y),
                .above = same(x, y - 1),
                .above_right = same(x + step_, y - 1),
                .other_corner = !same(x - step_, y - 1)};
    }

  private:
    const int columns_, step_;
    std::vector<Slice> slices_;
    std::vector<uint32_t> of_;  // by macroblock
};

}  // namespace cudaenc::h264
