// SPDX-License-Identifier: LGPL-2.1-or-later
// What a P picture looks at of the picture before, on the CPU: planes of bytes that repeat their edges, samples between
// samples, and smaller pictures for the search. 4:2:0 of 8 bits.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../../lines.h"
#include "../../thread_pool.h"
#include "../intra/block_cpu.h"
#include "search_steps.h"

namespace cudaenc::h264 {

// A plane with kMargin samples beyond each edge.
class BytePlane {
  public:
    static constexpr int kMargin = 32;
    void resize(int width, int height);
    int width() const { return width_; }
    int height() const { return height_; }
    ptrdiff_t stride() const { return stride_; }
    uint8_t *at(int x, int y) { return samples_.data() + (y + kMargin) * stride_ + x + kMargin; }
    const uint8_t *at(int x, int y) const { return samples_.data() + (y + kMargin) * stride_ + x + kMargin; }
    // Repeats the first and last samples of rows [first, end), and above the first and below the last row these.
    void extend(int first, int end);

  private:
    LineVector<uint8_t> samples_;
    int width_ = 0, height_ = 0;
    ptrdiff_t stride_ = 0;
};

// A picture before it is coded: luma, and the same at 1/2, 1/4 and 1/8 of its width and height.
struct SourcePyramid {
    BytePlane levels[kPyramidLevels];
    // luma: whole macroblocks.
    void build(ConstBlock luma, int width, int height, ThreadPool &pool);
};

// A decoded picture, see HalfPlane.
struct ReferencePicture {
    BytePlane luma[kHalfPlanes], chroma[2];
    // samples: of the components, whole macroblocks.
    void build(const ConstBlock *samples, int width, int height, ThreadPool &pool);
};

}  // namespace cudaenc::h264
