// SPDX-License-Identifier: LGPL-2.1-or-later
#include "search.h"

#include <algorithm>
#include <cstdlib>

#include "block_inter_cpu.h"

namespace cudaenc::h264 {

namespace {

bool beside(Vector a, Vector b) { return std::max(std::abs(a.x - b.x), std::abs(a.y - b.y)) <= 1; }

// Keeps the vector of the least cost; the first one of equals. difference(v): what is added to what bits are worth. It
// is not asked for where it cannot change the result.
template <class Difference>
class Best {
  public:
    Best(const VectorWorth &bits, const Difference &difference) : bits_(bits), difference_(difference) {}
    // Goes on from another one, with another way to the same differences.
    template <class Other>
    Best(const Best<Other> &before, const Difference &difference)
        : bits_(before.bits_), difference_(difference), best_(before.best_), least_(before.least_) {}
    void add(Vector v) {
        for (int i = 0; i < count_; i++)
            if (tried_[i] == v) return;
        if (count_ < kSearchCandidates) tried_[count_++] = v;
        take(v);
    }
    // Looks around until nothing is better. What lies around the middle of the round before was tried then.
    void look_around() {
        Vector before = best_;
        for (int round = 0; round < kSearchRounds; round++) {
            const Vector middle = best_;
            if (round && middle == before) return;
            const auto bits = bits_.around(middle, 1);
            for (size_t i = 0; i < kSquareSteps; i++) {
                const Vector v = sum_of(middle, kSquare[i]);
                if (!round || !beside(v, before)) take(v, bits[i]);
            }
            before = middle;
        }
    }
    void take(Vector v) { take(v, bits_(v)); }
    void take(Vector v, uint32_t bits) {
        if (bits >= least_) return;
        const uint32_t cost = difference_(v) + bits;
        if (cost < least_) least_ = cost, best_ = v;
    }
    Vector vector() const { return best_; }
    uint32_t cost() const { return least_; }

  private:
    template <class>
    friend class Best;
    const VectorWorth &bits_;
    const Difference &difference_;
    Vector tried_[kSearchCandidates];
    int count_ = 0;
    Vector best_{};
    uint32_t least_ = kNowhere;
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

void MotionSearch::find_halves(const SourcePyramid &source, const SourcePyramid &before, uint32_t lambda,
                               ThreadPool &pool) {
    source_ = &source;
    before_ = &before;
    lambda_ = lambda;
    for (int level = kPyramidLevels - 1; level > 0; level--) {
        const Grid &g = grids_[level];
        pool.for_each(static_cast<size_t>(g.rows), [&](size_t y) {
            for (int x = 0; x < g.columns; x++) find_block(level, x, static_cast<int>(y));
        });
    }
}

void MotionSearch::find(const SourcePyramid &source, const SourcePyramid &before, uint32_t lambda, ThreadPool &pool) {
    find_halves(source, before, lambda, pool);
    pool.for_each(static_cast<size_t>(rows_), [&](size_t y) {
        for (int x = 0; x < columns_; x++) find_macroblock(x, static_cast<int>(y));
    });
}

uint64_t MotionSearch::cost() const {
    uint64_t sum = 0;
    for (const FoundMotion &each : found_) sum += each.cost;
    return sum;
}

void MotionSearch::find_block(int level, int x, int y) {
    const BytePlane &plane = before_->levels[level];
    const ByteBlock block = block_at(source_->levels[level], 8 * x, 8 * y);
    const VectorWorth bits(block_range(level, x, y, columns_, rows_, vertical_), {}, lambda_);
    const auto difference = [&](Vector v) { return sad_8x8(block, block_at(plane, 8 * x + v.x, 8 * y + v.y)); };
    Best best(bits, difference);
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
    const VectorWorth bits(range_of(x, y, columns_, rows_, vertical_), likely(x, y), lambda_, 4);
    const auto sums_of = [&](Vector v) { return sad_16x16(block, block_at(plane, 16 * x + v.x, 16 * y + v.y)); };
    const auto difference = [&](Vector v) { return sums_of(v).all(); };
    Best candidates(bits, difference);
    candidates.add({});
    const VectorGrid above = grids_[1].grid();
    for (int i = 1; i < kSearchCandidates; i++) candidates.add(above.candidate(x, y, i));
    // Rounds around it, then those of 8x8 blocks, share sums.
    const auto of_block = [&](Vector v, int b) {
        const int dx = 8 * (b & 1), dy = 8 * (b >> 1);
        return sad_8x8(block.at(dx, dy), block_at(plane, 16 * x + dx + v.x, 16 * y + dy + v.y));
    };
    SumsAround<kSearchRounds + 1, decltype(sums_of), decltype(of_block)> around(candidates.vector(), sums_of, of_block);
    const auto around_of = [&](Vector v) { return around.at(v).all(); };
    Best best(candidates, around_of);
    best.look_around();
    FoundMotion &found = found_[static_cast<size_t>(y * columns_ + x)];
    const Vector whole = found.whole = best.vector();
    found.cost = best.cost();
    QuarterSums costs = around.at(whole);
    costs.of += bits(whole);
    BlockVectors blocks(whole, costs);
    for (int round = 0; round < kSearchRounds; round++)
        blocks.look_around(
            1, bits, [&](Vector v, int of_blocks) { return around.at(v, of_blocks); },
            [&](Vector v) { return round && beside(v, whole); });
    for (int b = 0; b < 4; b++) found.of_8x8[b] = blocks.of(b);
}

}  // namespace cudaenc::h264
