// SPDX-License-Identifier: LGPL-2.1-or-later
#include "search.h"

#include <algorithm>

#include "block_inter_cpu.h"

namespace cudaenc::h264 {

namespace {

// Keeps the vector of the least cost; the first one of equals.
template <class Cost>
class Best {
  public:
    explicit Best(const Cost &cost) : cost_(cost) {}
    void add(Vector v) {
        for (int i = 0; i < count_; i++)
            if (tried_[i] == v) return;
        if (count_ < kSearchCandidates) tried_[count_++] = v;
        take(v);
    }
    // Looks around until nothing is better.
    void look_around() {
        bool better = true;
        for (int round = 0; better && round < kSearchRounds; round++) {
            const Vector middle = best_;
            for (int i = 0; i < kSquareSteps; i++) take(sum_of(middle, square_step(i)));
            better = !(middle == best_);
        }
    }
    void take(Vector v) {
        const uint32_t cost = cost_(v);
        if (cost < least_) least_ = cost, best_ = v;
    }
    Vector vector() const { return best_; }

  private:
    const Cost &cost_;
    Vector tried_[kSearchCandidates];
    int count_ = 0;
    Vector best_{};
    uint32_t least_ = UINT32_MAX;
};

}  // namespace

MotionSearch::MotionSearch(int columns, int rows, int vertical)
    : columns_(columns), rows_(rows), vertical_(vertical), found_(static_cast<size_t>(columns * rows)) {
    for (int level = 1; level < kPyramidLevels; level++) {
        Grid &g = grids_[level];
        g.columns = level_blocks(level, columns);
        g.rows = level_blocks(level, rows);
        g.vectors.resize(static_cast<size_t>(g.columns * g.rows));
    }
}

void MotionSearch::find(const SourcePyramid &source, const SourcePyramid &before, uint32_t lambda, ThreadPool &pool) {
    source_ = &source;
    before_ = &before;
    lambda_ = lambda;
    for (int level = kPyramidLevels - 1; level > 0; level--) {
        const Grid &g = grids_[level];
        pool.for_each(static_cast<size_t>(g.rows), [&](size_t y) {
            for (int x = 0; x < g.columns; x++) find_block(level, x, static_cast<int>(y));
        });
    }
    pool.for_each(static_cast<size_t>(rows_), [&](size_t y) {
        for (int x = 0; x < columns_; x++) find_macroblock(x, static_cast<int>(y));
    });
}

void MotionSearch::find_block(int level, int x, int y) {
    const BytePlane &plane = before_->levels[level];
    const ByteBlock block = block_at(source_->levels[level], 8 * x, 8 * y);
    const VectorRange range = block_range(level, x, y, columns_, rows_, vertical_);
    const auto cost = [&](Vector v) -> uint32_t {
        if (!range.has(v)) return UINT32_MAX;
        return sad_8x8(block, block_at(plane, 8 * x + v.x, 8 * y + v.y)) + (lambda_ * vector_bits(v, {}) >> 8);
    };
    Best best(cost);
    best.add({});
    if (level == kPyramidLevels - 1) {
        for (int dy = -kFirstReach; dy <= kFirstReach; dy++)
            for (int dx = -kFirstReach; dx <= kFirstReach; dx++)
                best.take({static_cast<int16_t>(dx), static_cast<int16_t>(dy)});
    } else {
        const VectorGrid above = grids_[level + 1].grid();
        for (int i = 1; i < kSearchCandidates; i++) best.add(above.candidate(x / 2, y / 2, i));
        best.look_around();
    }
    Grid &g = grids_[level];
    g.vectors[static_cast<size_t>(y * g.columns + x)] = best.vector();
}

void MotionSearch::find_macroblock(int x, int y) {
    const BytePlane &plane = before_->levels[0];
    const ByteBlock block = block_at(source_->levels[0], 16 * x, 16 * y);
    const VectorRange range = range_of(x, y, columns_, rows_, vertical_);
    const Vector predicted = likely(x, y);
    const auto bits_of = [&](Vector v) { return lambda_ * vector_bits(scaled(v, 4), predicted) >> 8; };
    const auto has = [&](Vector v) { return range.has(scaled(v, 4)); };
    const auto cost = [&](Vector v) -> uint32_t {
        return has(v) ? sad_16x16(block, block_at(plane, 16 * x + v.x, 16 * y + v.y)) + bits_of(v) : UINT32_MAX;
    };
    Best best(cost);
    best.add({});
    const VectorGrid above = grids_[1].grid();
    for (int i = 1; i < kSearchCandidates; i++) best.add(above.candidate(x, y, i));
    best.look_around();
    FoundMotion &found = found_[static_cast<size_t>(y * columns_ + x)];
    found.whole = best.vector();
    for (int b = 0; b < 4; b++) {
        const int bx = 16 * x + 8 * (b & 1), by = 16 * y + 8 * (b >> 1);
        const auto cost_8x8 = [&](Vector v) -> uint32_t {
            return has(v)
                       ? sad_8x8(block.at(8 * (b & 1), 8 * (b >> 1)), block_at(plane, bx + v.x, by + v.y)) + bits_of(v)
                       : UINT32_MAX;
        };
        Best best_8x8(cost_8x8);
        best_8x8.add(found.whole);
        best_8x8.look_around();
        found.of_8x8[b] = best_8x8.vector();
    }
}

}  // namespace cudaenc::h264
