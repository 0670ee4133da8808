// SPDX-License-Identifier: LGPL-2.1-or-later
// Blocks and MCUs (T.81 A.2).
#pragma once
#include <cstdint>

#include "../hd.h"

namespace cudaenc::mjpeg {

// Divides n of 0 to 2^31 - 1 by d of 1 to 2^31 - 1 with a multiplication. With d <= 2^s < 2 d,
// m = floor(2^(31 + s) / d) + 1 exceeds 2^(31 + s) / d by 1 at most, so that n m / 2^(31 + s) exceeds n / d by less
// than 1 / d.
class Divider {
  public:
    Divider() = default;
    CUDAENC_HD constexpr explicit Divider(int32_t d) {
        shift_ = 31;
        while ((int64_t{1} << (shift_ - 31)) < d) shift_++;
        multiplier_ = static_cast<uint32_t>((uint64_t{1} << shift_) / static_cast<uint32_t>(d)) + 1;
    }
    CUDAENC_HD constexpr int32_t quotient(int32_t n) const {
        return static_cast<int32_t>((uint64_t{static_cast<uint32_t>(n)} * multiplier_) >> shift_);
    }

  private:
    uint32_t multiplier_ = 0;
    int32_t shift_ = 0;
};

// A component in its scan. An MCU has h x v of its blocks. At the right and lower edges of the picture, some have no
// samples: they are not among columns x rows, are not transformed, and repeat the DC before, which takes the fewest
// bits. Blocks with samples repeat the last column and row of the component.
struct BlockGrid {
    int32_t h, v;           // 1 to 4; 1 and 1 where the scan has one component
    int32_t columns, rows;  // of blocks with samples
};

struct ScanGrid {
    int32_t mcus_x, mcus_y;
    int32_t restart_interval;  // MCUs; 0: none
    Divider by_mcus_x;

    CUDAENC_HD int32_t mcus() const { return mcus_x * mcus_y; }
    // Whether predictions begin anew at an MCU: at the first one, and behind restart markers.
    CUDAENC_HD bool begins_interval(int32_t mcu) const {
        return mcu == 0 || (restart_interval && mcu % restart_interval == 0);
    }
};

// Block i, 0 to h v - 1, of an MCU, which has ten at most.
struct BlockPlace {
    int32_t x, y;
};
CUDAENC_HD BlockPlace block_of_mcu(const ScanGrid &scan, const BlockGrid &grid, int32_t mcu, int i) {
    const int32_t y = scan.by_mcus_x.quotient(mcu), x = mcu - y * scan.mcus_x;
    const int32_t row = grid.h == 3 ? i * 11 >> 5 : i >> floor_log2(static_cast<uint32_t>(grid.h));
    return {x * grid.h + i - row * grid.h, y * grid.v + row};
}
CUDAENC_HD bool has_samples(const BlockGrid &grid, const BlockPlace &b) {
    return b.x < grid.columns && b.y < grid.rows;
}

// The block whose DC predicts that of block i of an MCU (F.1.1.5.1): the last one before it with samples, in the same
// interval. x is -1 if there is none: then the prediction is 0. Each MCU begins with a block with samples.
CUDAENC_HD BlockPlace dc_predictor(const ScanGrid &scan, const BlockGrid &grid, int32_t mcu, int i) {
    for (;;) {
        while (--i >= 0) {
            const BlockPlace b = block_of_mcu(scan, grid, mcu, i);
            if (has_samples(grid, b)) return b;
        }
        if (scan.begins_interval(mcu)) return {-1, -1};
        mcu--;
        i = grid.h * grid.v;
    }
}

}  // namespace cudaenc::mjpeg
