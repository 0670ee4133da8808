// SPDX-License-Identifier: LGPL-2.1-or-later
#include "refine.h"

#include <algorithm>
#include <cstring>

#include "../intra/qp_choice.h"

namespace cudaenc::h264 {

MotionRefinement::MotionRefinement(int columns, int rows, int vertical)
    : columns_(columns), rows_(rows), vertical_(vertical) {
    for (int i = 0; i < 2; i++) {
        motion_[i].resize(static_cast<size_t>(columns * rows));
        estimates_[i].resize(static_cast<size_t>(columns * rows));
    }
}

uint32_t MotionRefinement::satd_lambda(size_t at) const { return motion_lambda_of(qps_[at] + drop_step_); }

VectorRange MotionRefinement::range(int x, int y) const {
    return refresh_.limited(range_of(x, y, columns_, rows_, vertical_), x);
}

void MotionRefinement::find(const BytePlane &source, const ReferencePicture &reference, const MotionSearch &search,
                            const int8_t *qps, int drop_step, const RefreshColumns &refresh, ThreadPool &pool) {
    source_ = &source;
    reference_ = &reference;
    search_ = &search;
    qps_ = qps;
    drop_step_ = drop_step;
    refresh_ = refresh;
    const auto for_macroblocks = [&](const auto &body) {
        pool.for_each(static_cast<size_t>(rows_), [&](size_t y) {
            for (int x = 0; x < columns_; x++) body(x, static_cast<int>(y));
        });
    };
    for_macroblocks([this](int x, int y) { motion_[1][index_of(x, y)].fill(scaled(search_->found(x, y).whole, 4)); });
    for_macroblocks([this](int x, int y) { refine(x, y); });
    for (int i = 0; i < kSpreads; i++) {
        std::swap(motion_[0], motion_[1]);
        std::swap(estimates_[0], estimates_[1]);
        for_macroblocks([this](int x, int y) { spread(x, y); });
    }
}

void MotionRefinement::refine(int x, int y) {
    const size_t i = index_of(x, y);
    const uint32_t lambda = satd_lambda(i);
    const MotionField field{motion_[1].data(), columns_};
    const VectorRange range = this->range(x, y);
    const Vector predicted = field.predicted(x, y, Shape::p16x16, 0);
    TransformedSource source;
    transform(x, y, source);
    Vector best{};
    QuarterSums least{};
    uint32_t cost = UINT32_MAX;
    const auto satd_of = [&](Vector v) { return satd_16x16(source, quarter_block(*reference_, 16 * x, 16 * y, v)); };
    const VectorWorth bits_of(range, predicted, lambda);
    const auto try_vector = [&](Vector v, uint32_t bits, const auto &sums_of) {
        if (bits >= cost) return;
        const QuarterSums sums = sums_of(v);
        const uint32_t other = sums.all() + bits;
        if (other < cost) cost = other, best = v, least = sums;
    };
    const Vector found = field.motion[i].vectors[0];
    const auto try_clamped = [&](Vector v) {
        v = range.clamp(v.x, v.y);
        try_vector(v, bits_of(v), satd_of);
    };
    try_clamped({});
    if (!(found == Vector{})) try_clamped(found);
    if (!(predicted == Vector{}) && !(predicted == found)) try_clamped(predicted);
    const auto satd_of_block = [&](Vector v, int b) {
        const int left = 16 * x + 8 * (b & 1), top = 16 * y + 8 * (b >> 1);
        return satd_8x8(source, b, quarter_block(*reference_, left, top, v));
    };
    // What 8x8 blocks try lies around what these steps find.
    SumsAround<2 * kSquares, decltype(satd_of), decltype(satd_of_block)> around(best, satd_of, satd_of_block);
    const auto around_of = [&](Vector v) { return around.at(v); };
    for (const int step : {2, 1}) {
        const Vector middle = best;
        const auto bits = bits_of.around(middle, step);
        for (size_t k = 0; k < kSquareSteps; k++)
            try_vector(sum_of(middle, scaled(kSquare[k], step)), bits[k], around_of);
    }
    MacroblockMotion motion;
    motion.fill(best);
    cost += worth(lambda, shape_bits(Shape::p16x16));
    if (least.all() > worth(lambda, kLeastDividedBits)) divide(x, y, best, least, around, motion, cost);
    motion_[0][i] = motion;
    estimates_[0][i].satd = cost - worth(lambda, field.bits(x, y, motion) + shape_bits(motion.shape));
}

// Other shapes, of the macroblock's vector and of those of its 8x8 blocks. sums: of the former.
template <class Around>
void MotionRefinement::divide(int x, int y, Vector whole, const QuarterSums &sums, Around &around,
                              MacroblockMotion &motion, uint32_t &cost) {
    const uint32_t lambda = satd_lambda(index_of(x, y));
    const MotionField field{motion_[1].data(), columns_};
    const VectorWorth bits(range(x, y), whole, lambda);
    const auto sums_of = [&](Vector v, int blocks) { return around.at(v, blocks); };
    BlockVectors blocks(whole, sums);
    for (int b = 0; b < 4; b++) {
        const Vector found = scaled(search_->found(x, y).of_8x8[b], 4);
        if (!(found == whole)) blocks.take(found, b, bits(found), sums_of);
    }
    for (const int step : {2, 1}) blocks.look_around(step, bits, sums_of, [](Vector) { return false; });
    Vector vectors[kPartVectors] = {whole};
    uint32_t satd[kPartVectors][4];
    std::memcpy(satd[0], &sums.of, sizeof satd[0]);
    for (int b = 0; b < 4; b++) {
        vectors[1 + b] = blocks.of(b);
        const auto same = std::find(vectors, vectors + b + 1, blocks.of(b)) - vectors;
        if (same <= b) {
            std::copy_n(satd[same], 4, satd[1 + b]);
        } else {
            const QuarterSums of_block = around.at(blocks.of(b));
            std::memcpy(satd[1 + b], &of_block.of, sizeof satd[0]);
        }
    }
    h264::divide(field, x, y, lambda, vectors, satd, motion, cost);
}

// Vectors of the macroblocks around, and those that take fewest bits.
void MotionRefinement::spread(int x, int y) {
    const size_t i = index_of(x, y);
    const uint32_t lambda = satd_lambda(i);
    const MotionField field{motion_[1].data(), columns_};
    const VectorRange range = this->range(x, y);
    MacroblockMotion best = motion_[1][i];
    uint32_t satd = estimates_[1][i].satd;
    uint32_t cost = satd + worth(lambda, field.bits(x, y, best) + shape_bits(best.shape));
    const Vector predicted = field.predicted(x, y, Shape::p16x16, 0);
    TransformedSource source;
    bool has_source = false;
    Vector tried[7];
    int count = 0;
    if (best.shape == Shape::p16x16) tried[count++] = best.vectors[0];
    const auto try_vector = [&](Vector v) {
        if (!range.has(v)) return;
        for (int k = 0; k < count; k++)
            if (tried[k] == v) return;
        tried[count++] = v;
        const uint32_t bits = worth(lambda, vector_bits(v, predicted) + shape_bits(Shape::p16x16));
        if (bits >= cost) return;
        if (!has_source) transform(x, y, source), has_source = true;
        const uint32_t other = satd_16x16(source, quarter_block(*reference_, 16 * x, 16 * y, v)).all();
        if (other + bits < cost) {
            cost = other + bits;
            satd = other;
            best.fill(v);
        }
    };
    try_vector(field.skipped(x, y));
    try_vector(predicted);
    const auto try_block = [&](int bx, int by) {
        if (by < 2 * rows_ && by >= 0 && bx >= 0 && bx < 2 * columns_) try_vector(field.block(bx, by).vector);
    };
    try_block(2 * x - 1, 2 * y);
    try_block(2 * x, 2 * y - 1);
    try_block(2 * x + 2, 2 * y);
    try_block(2 * x, 2 * y + 2);
    motion_[0][i] = best;
    estimates_[0][i] = {satd, cost};
}

}  // namespace cudaenc::h264
