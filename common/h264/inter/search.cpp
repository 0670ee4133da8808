// SPDX-License-Identifier: LGPL-2.1-or-later
#include "search.h"

#include <algorithm>

#include "block_inter_cpu.h"

namespace cudaenc::h264 {

namespace {

constexpr int kSquare[8][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, -1}, {1, -1}, {-1, 1}, {1, 1}};
constexpr int kFirstReach = 8;  // of the smallest pictures, samples each way
constexpr int kMostCandidates = 10;

Vector moved(Vector v, int x, int y) { return {static_cast<int16_t>(v.x + x), static_cast<int16_t>(v.y + y)}; }

// Keeps the vector of the least cost; the first one of equals.
template <class Cost>
class Best {
  public:
    explicit Best(const Cost &cost) : cost_(cost) {}
    void add(Vector v) {
        for (int i = 0; i < count_; i++)
            if (tried_[i] == v) return;
        if (count_ < kMostCandidates) tried_[count_++] = v;
        take(v);
    }
    // Looks around until nothing is better.
    void look_around(int rounds) {
        for (bool better = true; better && rounds > 0; rounds--) {
            const Vector middle = best_;
            for (const auto &step : kSquare) take(moved(middle, step[0], step[1]));
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
    Vector tried_[kMostCandidates];
    int count_ = 0;
    Vector best_{};
    uint32_t least_ = UINT32_MAX;
};

}  // namespace

MotionSearch::MotionSearch(int columns, int rows, int vertical)
    : columns_(columns), rows_(rows), vertical_(vertical), found_(static_cast<size_t>(columns * rows)) {
    for (int level = 1; level < kPyramidLevels; level++) {
        Grid &g = grids_[level];
        g.columns = ((16 * columns >> level) + 7) / 8;
        g.rows = ((16 * rows >> level) + 7) / 8;
        g.vectors.resize(static_cast<size_t>(g.columns * g.rows));
    }
}

Vector MotionSearch::Grid::at(int x, int y) const {
    return vectors[static_cast<size_t>(std::clamp(y, 0, rows - 1) * columns + std::clamp(x, 0, columns - 1))];
}

Vector MotionSearch::likely(int x, int y) const {
    const Grid &g = grids_[1];
    const Vector a = g.at(x - 1, y), b = g.at(x, y - 1), c = g.at(x + 1, y - 1);
    return {static_cast<int16_t>(8 * median_of(a.x, b.x, c.x)), static_cast<int16_t>(8 * median_of(a.y, b.y, c.y))};
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
    const int vertical = vertical_ >> level, left = -8 * x - kReach, top = std::max(-8 * y - kReach, -vertical);
    const int right = plane.width() + kReach - 8 - 8 * x;
    const int bottom = std::min(plane.height() + kReach - 8 - 8 * y, vertical - 1);
    const auto cost = [&](Vector v) -> uint32_t {
        if (v.x < left || v.x > right || v.y < top || v.y > bottom) return UINT32_MAX;
        return sad_8x8(block, block_at(plane, 8 * x + v.x, 8 * y + v.y)) + (lambda_ * vector_bits(v, {}) >> 8);
    };
    Best best(cost);
    best.add({});
    if (level == kPyramidLevels - 1) {
        for (int dy = -kFirstReach; dy <= kFirstReach; dy++)
            for (int dx = -kFirstReach; dx <= kFirstReach; dx++) best.take(moved({}, dx, dy));
    } else {
        const Grid &above = grids_[level + 1];
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                const Vector v = above.at(x / 2 + dx, y / 2 + dy);
                best.add({static_cast<int16_t>(2 * v.x), static_cast<int16_t>(2 * v.y)});
            }
        best.look_around(2);
    }
    Grid &g = grids_[level];
    g.vectors[static_cast<size_t>(y * g.columns + x)] = best.vector();
}

void MotionSearch::find_macroblock(int x, int y) {
    const BytePlane &plane = before_->levels[0];
    const ByteBlock block = block_at(source_->levels[0], 16 * x, 16 * y);
    const VectorRange range = range_of(x, y, columns_, rows_, vertical_);
    const Vector predicted = likely(x, y);
    const auto bits_of = [&](Vector v) {
        return lambda_ * vector_bits({static_cast<int16_t>(4 * v.x), static_cast<int16_t>(4 * v.y)}, predicted) >> 8;
    };
    const auto has = [&](Vector v) {
        return range.has({static_cast<int16_t>(4 * v.x), static_cast<int16_t>(4 * v.y)});
    };
    const auto cost = [&](Vector v) -> uint32_t {
        return has(v) ? sad_16x16(block, block_at(plane, 16 * x + v.x, 16 * y + v.y)) + bits_of(v) : UINT32_MAX;
    };
    Best best(cost);
    best.add({});
    const Grid &above = grids_[1];
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            const Vector v = above.at(x + dx, y + dy);
            best.add({static_cast<int16_t>(2 * v.x), static_cast<int16_t>(2 * v.y)});
        }
    best.look_around(2);
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
        best_8x8.look_around(2);
        found.of_8x8[b] = best_8x8.vector();
    }
}

}  // namespace cudaenc::h264
