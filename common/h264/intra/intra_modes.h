// SPDX-License-Identifier: LGPL-2.1-or-later
// Modes of intra prediction, and which neighbours they need (H.264, 8.3).
#pragma once
#include <cstdint>

#include "../../hd.h"

namespace cudaenc::h264 {

using Sample = uint16_t;  // of 8 and of 10 bits

// Intra4x4PredMode and Intra8x8PredMode, Intra16x16PredMode, intra_chroma_pred_mode (tables 8-2 to 8-5).
enum Mode {
    kVertical,
    kHorizontal,
    kDc,
    kDownLeft,
    kDownRight,
    kVerticalRight,
    kHorizontalDown,
    kVerticalLeft,
    kHorizontalUp,
    kModes
};
enum Mode16x16 { k16x16Vertical, k16x16Horizontal, k16x16Dc, k16x16Plane, k16x16Modes };
enum ChromaMode { kChromaDc, kChromaHorizontal, kChromaVertical, kChromaPlane, kChromaModes };

// The neighbours of a block in its slice that are decoded before it (6.4.11).
struct Available {
    bool left, above, above_right;
    // Above left is another slice, as may be where slices begin within a row of macroblocks. The predicted mode does
    // not need that corner: the block to the left has none above, and the one above has none to the left.
    bool other_corner = false;
    CUDAENC_HD constexpr bool corner() const { return left && above && !other_corner; }
};

// Bit b: the block above right of the 4x4 (8x8) block b of 6.4.3 is decoded before it. In the first row of a macroblock
// that depends on its neighbours, for the last column on the one above right.
inline constexpr uint32_t kAboveRight4x4 = 0x5757, kAboveRight8x8 = 0x5;

// The neighbours of block b of 6.4.3, in a macroblock with these.
CUDAENC_HD constexpr Available available_4x4(const Available &a, int b) {
    return {a.left || (b & 5), a.above || (b & 10), b == 5 ? a.above_right : (kAboveRight4x4 >> b & 1) != 0,
            a.other_corner && b == 0};
}
CUDAENC_HD constexpr Available available_8x8(const Available &a, int b) {
    return {a.left || (b & 1), a.above || (b & 2), b == 1 ? a.above_right : (kAboveRight8x8 >> b & 1) != 0,
            a.other_corner && b == 0};
}

CUDAENC_HD constexpr bool mode_available(int mode, const Available &a) {
    switch (mode) {
        case kVertical:
        case kDownLeft:
        case kVerticalLeft:
            return a.above;
        case kHorizontal:
        case kHorizontalUp:
            return a.left;
        case kDc:
            return true;
        default:
            return a.corner();
    }
}

CUDAENC_HD constexpr bool mode_16x16_available(int mode, const Available &a) {
    return mode == k16x16Dc || (mode == k16x16Vertical ? a.above : mode == k16x16Horizontal ? a.left : a.corner());
}
// The Mode16x16 of the same kind.
CUDAENC_HD constexpr int mode_of_chroma(int mode) {
    return mode == kChromaDc           ? k16x16Dc
           : mode == kChromaHorizontal ? k16x16Horizontal
           : mode == kChromaVertical   ? k16x16Vertical
                                       : k16x16Plane;
}

}  // namespace cudaenc::h264
