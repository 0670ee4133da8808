// SPDX-License-Identifier: LGPL-2.1-or-later
// Intra refresh: columns of intra macroblocks that move over P pictures from left to right, so that a decoder which
// begins with garbage has exact pictures in the end. The same on host and device.
#pragma once
#include "motion.h"

namespace cudaenc::h264 {

// Columns of macroblocks of a P picture. Those before `first` were refreshed in pictures before: they refer to such
// columns alone. Those from there on, before `end`, are intra. Others may have anything. {0, 0}: no refresh.
struct RefreshColumns {
    int32_t first, end;

    CUDAENC_HD bool must_be_intra(int x) const { return x >= first && x < end; }
    // Whether an intra macroblock has to do without samples above right, which are garbage: of the types I_16x16 and
    // I_PCM do.
    CUDAENC_HD bool only_16x16(int x, int columns) const { return x + 1 == end && end < columns; }
    // The vectors of a macroblock in column x, of those in `range`. In the reference the deblocking filter has changed
    // three luma samples before column `first`, and one of chroma. Samples between samples take three more to the
    // right.
    CUDAENC_HD VectorRange limited(VectorRange range, int x) const {
        constexpr int kFiltered = 3, kTaps = 3;
        if (x < first) range.right = min_of(range.right, 4 * (16 * (first - x - 1) - kFiltered - kTaps) + 3);
        return range;
    }
};

// Of picture `number`, from 0 on, of a refresh that takes so many.
CUDAENC_HD constexpr RefreshColumns refresh_columns(int number, int pictures, int columns) {
    return {static_cast<int32_t>(int64_t{number} * columns / pictures),
            static_cast<int32_t>((int64_t{number} + 1) * columns / pictures)};
}

}  // namespace cudaenc::h264
