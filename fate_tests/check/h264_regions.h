// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../common/h264/intra/qp_regions.h"
#include "testing.h"

namespace cudaenc::testing {

// Regions of interest at random, often none; of a picture of columns x rows macroblocks.
inline h264::QpRegions random_regions(Random &random, int columns, int rows) {
    h264::QpRegions to{.count = random.one_in(2) ? 0 : random.between(1, 3), .regions = {}};
    for (int i = 0; i < to.count; i++) {
        const int x = random.between(0, columns), y = random.between(0, rows);
        to.regions[i] = {.left = static_cast<int16_t>(x),
                         .top = static_cast<int16_t>(y),
                         .right = static_cast<int16_t>(random.between(x, columns + 1)),
                         .bottom = static_cast<int16_t>(random.between(y, rows + 1)),
                         .offset = static_cast<int16_t>(random.between(-63, 63))};
    }
    return to;
}

}  // namespace cudaenc::testing
