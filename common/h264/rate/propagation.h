// SPDX-License-Identifier: LGPL-2.1-or-later
// How much later pictures are predicted from each macroblock, and how much lower its QP is then.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace cudaenc::h264 {

// The costs of a macroblock of a source picture, at half of its width and height: half the SATD of an 8x8 block.
struct SourceCosts {
    uint16_t intra;
    uint16_t inter;  // from the picture before; at most `intra`
    int16_t x, y;    // the vector, in samples of that size
};
struct SourcePicture8x8 {
    bool key;                            // it refers to no picture
    std::span<const SourceCosts> costs;  // of macroblocks in raster order
};

// Of an 8x8 block, what is taken for noise: it is not predicted from the picture before.
inline constexpr uint64_t kNoiseCost = 32;
// QP less where the cost doubles; of macroblocks that are predicted perfectly half of it.
inline constexpr int kPropagationStrength = 2;
inline constexpr int kMostPropagation = 10;

class Propagation {
  public:
    // Of pictures of so many macroblocks.
    Propagation(int columns, int rows);
    // offsets: where those of the first pictures go: [picture][macroblock], -kMostPropagation to 0, to be added to QPs.
    // pictures: in order, at least as many.
    void find(std::span<const SourcePicture8x8> pictures, std::span<int8_t *const> offsets);

  private:
    void pass_on(const SourcePicture8x8 &picture);

    const int columns_, rows_;
    std::vector<uint64_t> later_, before_;  // costs of later pictures that come from a macroblock: of one, and the next
};

}  // namespace cudaenc::h264
