// SPDX-License-Identifier: LGPL-2.1-or-later
// The refinement of motion on the decoded picture before: quarter samples, shapes of macroblocks, and vectors that take
// few bits. Each pass takes all macroblocks at once, from what the pass before has found.
#pragma once
#include <vector>

#include "block_inter_cpu.h"
#include "refine_steps.h"
#include "refresh.h"
#include "search.h"

namespace cudaenc::h264 {

class MotionRefinement {
  public:
    // vertical: the level's limit, in samples.
    MotionRefinement(int columns, int rows, int vertical);
    // qps: QPY of macroblocks, to which drop_step is added. refresh: what limits vectors.
    void find(const BytePlane &source, const ReferencePicture &reference, const MotionSearch &search, const int8_t *qps,
              int drop_step, const RefreshColumns &refresh, ThreadPool &pool);
    const MacroblockMotion *motion() const { return motion_[0].data(); }
    const MotionEstimate *estimates() const { return estimates_[0].data(); }

  private:
    size_t index_of(int x, int y) const { return static_cast<size_t>(y * columns_ + x); }
    uint32_t satd_lambda(size_t at) const;
    VectorRange range(int x, int y) const;
    void transform(int x, int y, TransformedSource &to) const {
        transform_source(block_at(*source_, 16 * x, 16 * y), to);
    }
    void refine(int x, int y);
    // Both steps of the refinement together.
    static constexpr int kSquares = 2 + 1;
    template <class Around>
    void divide(int x, int y, Vector whole, const QuarterSums &sums, Around &around, MacroblockMotion &motion,
                uint32_t &cost);
    void spread(int x, int y);

    const int columns_, rows_, vertical_;
    std::vector<MacroblockMotion> motion_[2];  // of a pass and of the one before
    std::vector<MotionEstimate> estimates_[2];
    const BytePlane *source_ = nullptr;
    const ReferencePicture *reference_ = nullptr;
    const MotionSearch *search_ = nullptr;
    const int8_t *qps_ = nullptr;
    int drop_step_ = 0;
    RefreshColumns refresh_{};
};

}  // namespace cudaenc::h264
