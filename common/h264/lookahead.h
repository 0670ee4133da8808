// SPDX-License-Identifier: LGPL-2.1-or-later
// Looks at source pictures before they are coded: macroblocks that many later pictures are predicted from get a lower
// QP.
#pragma once
#include <deque>
#include <functional>
#include <vector>

#include "gop.h"
#include "inter/predicted_picture.h"
#include "rate/propagation.h"

namespace cudaenc::h264 {

class Lookahead {
  public:
    // pictures: that a picture looks ahead, at most. vertical: the level's limit for vectors, in samples.
    Lookahead(const PictureFormat &format, int pictures, int vertical);

    // What is known of a picture that is not coded yet.
    struct Picture {
        uint64_t number;  // of the stream's pictures
        bool forced_key;
        const SampleLayout *luma;
    };
    // Loads a picture: see PredictedPictureCoder::load_source().
    using Load = std::function<void(const SampleLayout &luma, SourcePyramid &source)>;
    // The offsets to QPs of the first picture, until the next call. pictures: those in order from that one on, as far
    // as it may look. Costs are propagated once for half of these pictures, which the next calls have.
    const int8_t *find(const std::vector<Picture> &pictures, const Gop &gop, const Load &load, ThreadPool &pool);

  private:
    void add(const Picture &picture, const Load &load, ThreadPool &pool);

    const int columns_, rows_;
    const size_t kept_;  // pictures a propagation
    MotionSearch search_;
    SourcePyramid source_, before_;
    bool has_before_ = false;
    uint64_t first_ = 0, first_offsets_ = 0;  // numbers of the first ones of what follows
    std::deque<SourcePicture8x8> costs_;
    std::vector<std::vector<int8_t>> offsets_;
    Propagation propagation_;
};

}  // namespace cudaenc::h264
