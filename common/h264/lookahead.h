// SPDX-License-Identifier: LGPL-2.1-or-later
// Looks at source pictures before they are coded: macroblocks that many later pictures are predicted from get a lower
// QP. Every pipeline of P pictures finds costs in its own way, and asks for offsets in the order of pictures.
#pragma once
#include <optional>
#include <vector>

#include "gop.h"
#include "inter/predicted_picture.h"
#include "rate/propagation.h"

namespace cudaenc::h264 {

// The QP of the search: vectors and costs do not depend on those of rate control, which come later.
inline constexpr int kLookaheadQp = 26;

// A picture in flight, as the lookahead knows it.
struct LookaheadPicture {
    uint64_t number;  // of the stream's pictures
    bool forced_key;
    std::span<SourceCosts> costs = {};      // of macroblocks
    int8_t *offsets = nullptr;              // of macroblocks, to QPs
    std::optional<uint64_t> end = {};       // behind the last picture that it may look at; else it waits for more
    std::optional<uint64_t> found_by = {};  // the picture with which its offsets were found
    bool has_offsets() const { return found_by && *found_by != number; }  // of a picture before
};

class Lookahead {
  public:
    // pictures: that a picture looks ahead, at most.
    Lookahead(const PictureFormat &format, int pictures);

    // Whether a picture may look at one after it.
    bool sees(const LookaheadPicture &picture, const LookaheadPicture &later) const;
    // Finds offsets of the first picture, unless it has_offsets(). pictures: those in order from that
    // one on, as far as it may look, with their costs. gop: ahead of the first one. Costs are propagated once for half
    // of the pictures. Of the same pictures it may be asked again.
    void find(std::span<LookaheadPicture *const> pictures, const Gop &gop);

  private:
    const uint64_t ahead_;
    const size_t kept_;  // pictures a propagation
    Propagation propagation_;
};

// Finds the costs of pictures on the CPU, in order.
class SourceComparison {
  public:
    // vertical: the level's limit for vectors, in samples.
    SourceComparison(const PictureFormat &format, int vertical);
    // Where the next picture is loaded, see PredictedPictureCoder::load_source().
    SourcePyramid &source() { return source_; }
    // Then its costs, of macroblocks. Of the first picture of a stream all are those of intra.
    void find(std::span<SourceCosts> costs, ThreadPool &pool);

  private:
    const int columns_, rows_;
    MotionSearch search_;
    SourcePyramid source_, before_;
    bool has_before_ = false;
};

}  // namespace cudaenc::h264
