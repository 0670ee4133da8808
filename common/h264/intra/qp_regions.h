// SPDX-License-Identifier: LGPL-2.1-or-later
// Regions of interest of a picture: what is added to the QPs of their macroblocks.
#pragma once
#include <cstdint>

#include "../../cudaenc.h"
#include "../../hd.h"

namespace cudaenc::h264 {

constexpr int kMostRegions = CUDAENC_MAX_REGIONS;

struct QpRegion {
    int16_t left, top, right, bottom;  // macroblocks of the picture; right and bottom are the first ones outside
    int16_t offset;                    // of QPs
};

struct QpRegions {
    int32_t count;
    QpRegion regions[kMostRegions];

    // Of a macroblock: that of the first region that has it; 0: none has.
    CUDAENC_HD int offset_at(int x, int y) const {
        for (int i = 0; i < count; i++) {
            const QpRegion &r = regions[i];
            if (x >= r.left && x < r.right && y >= r.top && y < r.bottom) return r.offset;
        }
        return 0;
    }
};

}  // namespace cudaenc::h264
