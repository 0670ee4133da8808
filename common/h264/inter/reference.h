// SPDX-License-Identifier: LGPL-2.1-or-later
// What a P picture looks at of the picture before, on the CPU: planes that repeat their edges, samples between samples,
// and smaller pictures for the search.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../../lines.h"
#include "../../thread_pool.h"
#include "../intra/block_cpu.h"
#include "../syntax/weights.h"
#include "search_steps.h"

namespace cudaenc::h264 {

// A plane with kMargin samples beyond each edge. T: uint8_t or Sample.
template <class T>
class PaddedPlane {
  public:
    static constexpr int kMargin = 32;
    void resize(int width, int height);
    int width() const { return width_; }
    int height() const { return height_; }
    ptrdiff_t stride() const { return stride_; }
    T *at(int x, int y) { return samples_.data() + (y + kMargin) * stride_ + x + kMargin; }
    const T *at(int x, int y) const { return samples_.data() + (y + kMargin) * stride_ + x + kMargin; }
    // Repeats the first and last samples of rows [first, end), and above the first and below the last row these.
    void extend(int first, int end);

  private:
    LineVector<T> samples_;
    int width_ = 0, height_ = 0;
    ptrdiff_t stride_ = 0;
};
using BytePlane = PaddedPlane<uint8_t>;
using SamplePlane = PaddedPlane<Sample>;

// A picture before it is coded: luma, and the same at 1/2, 1/4 and 1/8 of its width and height. Of samples of 10 bits
// the last two are left out: vectors need no more.
struct SourcePyramid {
    BytePlane levels[kPyramidLevels];
    // luma: whole macroblocks.
    void build(ConstBlock luma, int width, int height, ThreadPool &pool, int bit_depth = 8);
    // Of another picture, whose weights are inverted.
    void build_before(const SourcePyramid &from, const PictureWeights &weights, ThreadPool &pool);

  private:
    void build_halves(ThreadPool &pool);
};
// Of a picture and the one before; without any where they do not pay.
PictureWeights find_weights(const SourcePyramid &now, const SourcePyramid &before);

// A decoded picture, see HalfPlane.
struct ReferencePicture {
    ChromaFormat format = ChromaFormat::c420;
    int bit_depth = 8;
    BytePlane luma[kHalfPlanes];  // as of SourcePyramid
    BytePlane chroma[2];          // of 4:2:0 and 4:2:2 of 8 bits
    SamplePlane samples[3];       // of 10 bits all components, of 4:4:4 chroma: predicted without planes between
    // from: of the components, whole macroblocks.
    void build(const ConstBlock *from, int width, int height, ThreadPool &pool);
    bool predicts_from_samples(int component) const {
        return bit_depth > 8 || (component && format == ChromaFormat::c444);
    }
};

}  // namespace cudaenc::h264
