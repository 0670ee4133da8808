// SPDX-License-Identifier: LGPL-2.1-or-later
// How pictures are divided into slices of at most so many bytes. What a macroblock takes depends on where slices begin,
// and is known once it is coded. So a picture begins with the slices that the one before would have. While a slice
// is too large, it is divided, and the picture is coded again. A slice of one macroblock is never too large.
#pragma once
#include <vector>

#include "syntax/slice_cpu.h"

namespace cudaenc::h264 {

// Bytes of a NAL unit of one macroblock at most: its bits (A.3.1), the slice's header and mb_skip_run, and a byte of
// emulation prevention behind every other one.
constexpr int least_slice_bytes(const CodedFormat &format, bool weighted_prediction) {
    return (weighted_prediction ? 60 : 40) + static_cast<int>(most_macroblock_bits(format)) / 8 * 3 / 2;
}

class SliceDivision {
  public:
    // most_bytes: of a slice's NAL unit, at least least_slice_bytes().
    SliceDivision(int macroblocks, int most_bytes)
        : most_bytes_(static_cast<size_t>(most_bytes)), slices_{{0, static_cast<uint32_t>(macroblocks)}} {}
    const std::vector<Slice> &slices() const { return slices_; }
    // Behind a picture, which fits: slices() become those of the next one.
    void next(const SliceSizes &sizes);
    // Whether all slices, as they were just coded, have room. Where not, slices() become others, to be tried.
    bool fits(const SliceSizes &sizes);

  private:
    void add(const SliceSizes &sizes, const Slice &slice, std::vector<Slice> &to) const;

    const size_t most_bytes_;
    std::vector<Slice> slices_;
};

}  // namespace cudaenc::h264
