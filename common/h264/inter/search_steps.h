// SPDX-License-Identifier: LGPL-2.1-or-later
// Steps of the search for motion, the same on host and device: which vectors of a block are tried, in whole samples.
#pragma once
#include "motion.h"

namespace cudaenc::h264 {

// Levels of the pyramid: a picture's luma, and the same at 1/2, 1/4 and 1/8 of its width and height.
inline constexpr int kPyramidLevels = 4;
// 8x8 blocks beside each other of a level, of `macroblocks`.
CUDAENC_HD constexpr int level_blocks(int level, int macroblocks) { return ((16 * macroblocks >> level) + 7) / 8; }

// Of the smallest pictures all vectors are tried that reach so many samples each way.
inline constexpr int kFirstReach = 8;
// Of others the zero vector and those of so many blocks of the level above, nine around the block.
inline constexpr int kSearchCandidates = 10;
// Then those around the best one, as often as one of them is better, but at most so often.
inline constexpr int kSearchRounds = 2;

// Neighbours of a vector: step 0 to 7.
inline constexpr int kSquareSteps = 8;
CUDAENC_HD constexpr Vector square_step(int i) {
    const int16_t odd = i & 1 ? 1 : -1, upper = i & 2 ? 1 : -1;
    return i < 2 ? Vector{odd, 0} : i < 4 ? Vector{0, odd} : Vector{odd, upper};
}
CUDAENC_HD constexpr Vector sum_of(Vector a, Vector b) {
    return {static_cast<int16_t>(a.x + b.x), static_cast<int16_t>(a.y + b.y)};
}
CUDAENC_HD constexpr Vector scaled(Vector v, int by) {
    return {static_cast<int16_t>(by * v.x), static_cast<int16_t>(by * v.y)};
}

// The vectors that the 8x8 block in column x and row y of a level may have, whole samples. columns, rows: macroblocks;
// vertical: the limit for vectors, samples of the picture.
CUDAENC_HD constexpr VectorRange block_range(int level, int x, int y, int columns, int rows, int vertical) {
    vertical >>= level;
    return {-8 * x - kReach, (16 * columns >> level) + kReach - 8 - 8 * x, max_of(-8 * y - kReach, -vertical),
            min_of((16 * rows >> level) + kReach - 8 - 8 * y, vertical - 1)};
}

// Vectors of the blocks of a level, whole samples. Beyond its edges they repeat.
struct VectorGrid {
    const Vector *vectors;
    int columns, rows;
    CUDAENC_HD Vector at(int x, int y) const {
        return vectors[max_of(min_of(y, rows - 1), 0) * columns + max_of(min_of(x, columns - 1), 0)];
    }
    // Candidate i, from 1 on, of a block that lies in block (x, y) of this level; scaled to the level below.
    CUDAENC_HD Vector candidate(int x, int y, int i) const {
        return scaled(at(x + (i - 1) % 3 - 1, y + (i - 1) / 3 - 1), 2);
    }
    // What the vector of macroblock (x, y) is likely to be predicted from, quarter samples. Of level 1.
    CUDAENC_HD Vector likely(int x, int y) const {
        const Vector a = at(x - 1, y), b = at(x, y - 1), c = at(x + 1, y - 1);
        return {static_cast<int16_t>(8 * median_of(a.x, b.x, c.x)), static_cast<int16_t>(8 * median_of(a.y, b.y, c.y))};
    }
};

// Vectors in whole samples: of a macroblock, and of its 8x8 blocks.
struct FoundMotion {
    Vector whole, of_8x8[4];
    uint32_t cost;  // of `whole`: absolute differences, and what its bits are worth
};

// FieldReference::distance, from the costs of all macroblocks by the last field and by the one before, of the same
// parity. Lines of the other parity lie between those of the field, so whole samples show the last field worse than
// it is.
CUDAENC_HD constexpr int field_distance(uint64_t by_last, uint64_t by_same_parity) {
    return 8 * by_last < 9 * by_same_parity ? 1 : 2;
}

}  // namespace cudaenc::h264
