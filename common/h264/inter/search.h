// SPDX-License-Identifier: LGPL-2.1-or-later
// The search for motion on source pictures, whole samples: from 1/8 of the picture's size up to all of it. It needs no
// decoded picture. Every block of a step can be searched at once.
#pragma once
#include <vector>

#include "reference.h"

namespace cudaenc::h264 {

class MotionSearch {
  public:
    // vertical: the level's limit, in samples.
    MotionSearch(int columns, int rows, int vertical);
    // lambda: of half a SATD, which stands for that of absolute differences as well.
    void find(const SourcePyramid &source, const SourcePyramid &before, uint32_t lambda, ThreadPool &pool);
    // The same of levels from 1 on alone, for of_block().
    void find_halves(const SourcePyramid &source, const SourcePyramid &before, uint32_t lambda, ThreadPool &pool);
    const FoundMotion &found(int x, int y) const { return found_[static_cast<size_t>(y * columns_ + x)]; }
    uint64_t cost() const;  // of all macroblocks, see FoundMotion
    // That of an 8x8 block of a level from 1 on, in whole samples of the level.
    Vector of_block(int level, int x, int y) const { return grids_[level].grid().at(x, y); }
    // Vectors of macroblocks around, which a vector is likely to be predicted from; quarter samples.
    Vector likely(int x, int y) const { return grids_[1].grid().likely(x, y); }

  private:
    struct Grid {  // of 8x8 blocks of a level
        int columns, rows;
        std::vector<Vector> vectors;
        VectorGrid grid() const { return {vectors.data(), columns, rows}; }
    };
    void find_block(int level, int x, int y);
    void find_macroblock(int x, int y);

    const int columns_, rows_, vertical_;
    Grid grids_[kPyramidLevels];
    std::vector<FoundMotion> found_;
    const SourcePyramid *source_ = nullptr, *before_ = nullptr;
    uint32_t lambda_ = 0;
};

}  // namespace cudaenc::h264
