// SPDX-License-Identifier: LGPL-2.1-or-later
#include "propagation.h"

#include <algorithm>
#include <bit>

namespace cudaenc::h264 {

namespace {

// log2(x) in 2^-8, linear between powers of 2; x from 2^8 on.
int log2_256(uint64_t x) {
    const int whole = std::bit_width(x) - 1;
    return whole * 256 + static_cast<int>(x >> (whole - 8) & 255);
}

int8_t offset_of(const SourceCosts &costs, uint64_t later) {
    if (!costs.intra) return 0;
    const int more = log2_256(256 * (costs.intra + later) / costs.intra) - 8 * 256;
    // What is predicted well was coded before, with the lower QP of another picture.
    const int change = kPropagationStrength * more * (costs.intra + costs.inter) / (2 * costs.intra);
    return static_cast<int8_t>(-std::min((change + 128) >> 8, kMostPropagation));
}

}  // namespace

Propagation::Propagation(int columns, int rows)
    : columns_(columns),
      rows_(rows),
      later_(static_cast<size_t>(columns * rows)),
      before_(static_cast<size_t>(columns * rows)) {}

void Propagation::find(std::span<const SourcePicture8x8> pictures, std::span<int8_t *const> offsets) {
    std::fill(later_.begin(), later_.end(), 0);
    for (size_t i = pictures.size(); i-- > 0;) {
        const std::span<const SourceCosts> costs = pictures[i].costs;
        if (i < offsets.size()) std::transform(costs.begin(), costs.end(), later_.begin(), offsets[i], offset_of);
        if (i) pass_on(pictures[i]);
    }
}

// What a macroblock and later pictures have from the picture before goes to the macroblocks that its vector points at,
// up to four, by their share of its area. Beyond the picture's edges it is lost.
void Propagation::pass_on(const SourcePicture8x8 &picture) {
    std::fill(before_.begin(), before_.end(), 0);
    for (int y = 0; !picture.key && y < rows_; y++)
        for (int x = 0; x < columns_; x++) {
            const size_t i = static_cast<size_t>(y * columns_ + x);
            const SourceCosts &costs = picture.costs[i];
            if (costs.intra <= costs.inter + kNoiseCost) continue;
            const uint64_t amount = (costs.intra + later_[i]) * (costs.intra - costs.inter - kNoiseCost) / costs.intra;
            const int left = 8 * x + costs.x, top = 8 * y + costs.y;
            for (int part = 0; part < 4; part++) {
                const int column = (left >> 3) + part % 2, row = (top >> 3) + part / 2;
                const int width = part % 2 ? left & 7 : 8 - (left & 7), height = part / 2 ? top & 7 : 8 - (top & 7);
                if (column < 0 || row < 0 || column >= columns_ || row >= rows_) continue;
                before_[static_cast<size_t>(row * columns_ + column)] +=
                    amount * static_cast<uint64_t>(width * height) >> 6;
            }
        }
    later_.swap(before_);
}

}  // namespace cudaenc::h264
