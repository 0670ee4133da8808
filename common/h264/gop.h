// SPDX-License-Identifier: LGPL-2.1-or-later
// Which pictures of a sequence are IDR pictures, and their numbers. Every pipeline of P pictures asks it, in the order
// of pictures, before a picture is coded.
#pragma once
#include <cstdint>
#include <optional>

#include "../hd.h"

namespace cudaenc::h264 {

// What a picture shares with the one before, both as sources at half of their width and height: sums over 8x8 blocks,
// one a macroblock.
struct SceneCosts {
    uint64_t inter, intra;
    uint64_t found;  // of whole pictures: FoundMotion::cost of macroblocks
    // inter: the sum of absolute differences by the block's vector of MotionSearch, level 1, without bits of the
    // vector. vertical, horizontal, dc: the same of predictions from the samples around the block (8.3.3), from the
    // source; those beyond the picture's edges repeat them.
    CUDAENC_HD void add(uint32_t inter_sad, uint32_t vertical, uint32_t horizontal, uint32_t dc) {
        const uint32_t intra_sad = min_of(min_of(vertical, horizontal), dc);
        inter += min_of(inter_sad, intra_sad);
        intra += intra_sad;
    }
    CUDAENC_HD void add(const SceneCosts &other) { inter += other.inter, intra += other.intra, found += other.found; }
};
// The value of `dc`, of eight samples above and eight to the left.
CUDAENC_HD constexpr uint32_t scene_dc(uint32_t sum) { return (sum + 8) >> 4; }

class Gop {
  public:
    // size: pictures from an IDR picture to the next. least: the same where a scene cut begins the next one.
    // scene_cut: percent of the intra costs that prediction has to save; 0: no cut is looked for. blocks: of
    // SceneCosts. fields: a picture is a field, and two are a frame, which counts as one. Then an IDR picture is a
    // first field, and `second` tells of second ones.
    Gop(int size, int least, int scene_cut, int blocks, bool fields = false)
        : size_(size),
          least_(least),
          scene_cut_(scene_cut),
          flat_(kFlat * static_cast<uint64_t>(blocks)),
          fields_(fields) {}

    // Whether the next picture is an IDR picture, whatever it shows. If not, and looks_for_cuts(), is_cut() tells.
    // A second field has nothing to refer to where the first one failed.
    bool begins(bool forced, bool second = false) const {
        return !reference_ || within_ != second || (!second && (forced || pictures_ >= size_));
    }
    bool looks_for_cuts() const { return scene_cut_ > 0; }
    // Keeps the costs: a cut stands out from the picture before, whose costs are known. So noise, and what moves too
    // much, are no cuts.
    bool is_cut(const SceneCosts &costs) {
        ratio_ = costs.intra < flat_ ? 0 : static_cast<int>(kOne * costs.inter / costs.intra);
        return pictures_ >= least_ && 100 * *ratio_ >= (100 - scene_cut_) * kOne && *ratio_ >= ratio_before_ + kJump;
    }

    int size() const { return size_; }
    int pictures() const { return pictures_; }             // from the last IDR picture on
    int frame_num() const { return pictures_ - within_; }  // of the next picture, if it is no IDR picture
    int idr_pic_id() const { return idr_pic_id_; }         // of the next IDR picture

    // The picture is coded, and the next one may refer to it; or it failed, and none may.
    void end(bool key, bool second = false) {
        if (second && !within_) return;  // its frame failed
        within_ = fields_ && !second;
        if (!second) {
            pictures_ = key ? 1 : pictures_ + 1;
            reference_ = true;
            ratio_before_ = ratio_.value_or(kOne);
            ratio_.reset();
        }
        if (!within_ && pictures_ == 1) idr_pic_id_ ^= 1;
    }
    void forget() {
        reference_ = within_ = false;
        ratio_.reset();
    }

  private:
    static constexpr int kOne = 1024, kJump = kOne / 4;
    static constexpr uint64_t kFlat = 16;  // a quarter of a code value a sample: too little to tell

    const int size_, least_, scene_cut_;
    const uint64_t flat_;
    const bool fields_;
    bool reference_ = false;
    bool within_ = false;  // a frame, whose first field was the last picture
    int pictures_ = 0, idr_pic_id_ = 0;
    std::optional<int> ratio_;  // of inter to intra costs, of the next picture
    int ratio_before_ = kOne;
};

}  // namespace cudaenc::h264
