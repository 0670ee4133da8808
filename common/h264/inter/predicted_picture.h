// SPDX-License-Identifier: LGPL-2.1-or-later
// P pictures on the CPU: samples to macroblocks, levels and the reconstruction. Decisions do not depend on the number
// of threads. Each stage takes all macroblocks at once, but for intra ones.
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "../lanes/intra_coder.h"
#include "inter_coder.h"
#include "refine.h"
#include "search.h"

namespace cudaenc::h264 {

// What a P picture refers to: the picture before, as it was and as a decoder has it.
struct PictureBefore {
    SourcePyramid source;
    ReferencePicture decoded;
};

class PredictedPictureCoder {
  public:
    // vertical: the level's limit for vectors, in samples.
    PredictedPictureCoder(const PictureFormat &format, int vertical);

    // As of IntraCoder.
    void set_slices(const std::vector<Slice> &slices) { slices_.set(slices); }
    // The next picture, an intra one too, which the one after it is compared with.
    void load_source(const SampleLayout &luma, SourcePyramid &source, ThreadPool &pool);
    // Finds weights of the picture, which search() and encode() have then.
    const PictureWeights &choose_weights(const PictureBefore &before, const SourcePyramid &source, ThreadPool &pool);
    // What motion is searched for.
    const SourcePyramid &compared(const SourcePyramid &source) const { return weights_.any() ? weighed_ : source; }
    // The search that encode() has at a QP, ahead of it. distance: `before` is so many pictures before, see
    // FieldReference.
    const MotionSearch &search(int qp, const PictureBefore &before, const SourcePyramid &source, ThreadPool &pool,
                               int distance = 1);

    // As IntraCoder::encode(). source: the picture's own, see load_source(). refers_to: how `before` lies to it.
    void encode(const SampleLayout *components, const PictureQuality &quality, const PictureBefore &before,
                const SourcePyramid &source, ThreadPool &pool, Macroblock *macroblocks, int16_t *levels,
                const RefreshColumns &refresh = {}, const FieldReference &refers_to = {});

    // Of the last encode(), as of IntraCoder.
    uint64_t bits() const { return bits_; }
    void count();
    ConstBlock reconstruction(int component) const { return {planes_[component].data(), strides_[component]}; }
    const MacroblockMotion *motion() const { return motion_.data(); }

  private:
    size_t index_of(int x, int y) const { return static_cast<size_t>(y * columns_ + x); }
    Block at(int component, int x, int y) {
        return Block{planes_[component].data(), strides_[component]}.at(format_.columns(component) * x,
                                                                        format_.rows(component) * y);
    }
    int16_t *levels_of(size_t at) const {
        return levels_ + at * 16 * static_cast<size_t>(blocks_per_macroblock(format_.chroma));
    }
    uint32_t satd_lambda(size_t at) const { return motion_lambda_of(qp_[at] + drop_step_); }
    ByteBlock source_at(int x, int y) const { return block_at(source_->levels[0], x, y); }
    Available available(int x, int y) const { return slices_.available(x, y); }

    void load_lines(const SampleLayout &layout, int component, int y);
    void choose_qps(const PictureQuality &quality, int y);
    uint32_t inter_cost(int x, int y) const {
        return refresh_.must_be_intra(x) ? UINT32_MAX : refinement_.estimates()[index_of(x, y)].cost;
    }
    SatdLimits limits_of(size_t at, uint32_t inter) const;
    bool rank(int x, int y, const SatdLimits &limits);
    void find_intra(int y);
    void rank_in_lanes(int y, ConstBlock luma, std::span<const int> columns);
    void code_inter(InterCoder &coder, int x, int y);
    void code_intra_row(int y);
    void code_intra(MacroblockCoder &coder, int x, int y);
    void get_samples(int x, int y, MacroblockSamples &to);
    void put_samples(int x, int y, const MacroblockSamples &from);
    void finish_motion(int x, int y);
    void write_qp_deltas();
    template <class Body>
    void for_rows(ThreadPool &pool, const Body &body);

    const PictureFormat format_;
    const int columns_, rows_, vertical_;
    SliceMap slices_;
    struct Search {
        MotionSearch search;
        std::optional<uint32_t> lambda;  // with which the picture was searched
    };
    std::vector<Search> searches_;  // by distance, from 1 on; of frames one
    PictureWeights weights_;
    SourcePyramid weighed_;  // with weights: the source as the picture before has it
    MotionRefinement refinement_;
    LineVector<Sample> planes_[3];
    ptrdiff_t strides_[3];
    std::vector<int8_t> qp_;
    std::vector<MacroblockMotion> motion_;
    std::vector<RankedModes> ranked_;
    // What may be coded as intra: the same as inter.
    struct Inter {
        bool allowed;  // to be kept
        uint64_t cost;
        Macroblock macroblock;
        MacroblockSamples reconstruction;
        std::vector<int16_t> levels;
    };
    std::vector<uint8_t> maybe_intra_;
    std::vector<std::unique_ptr<Inter>> inter_;
    std::vector<Neighbour> neighbours_;
    std::vector<uint8_t> totals_;
    std::unique_ptr<std::atomic<int>[]> intra_done_;  // macroblocks of rows
    const PictureBefore *before_ = nullptr;
    const SourcePyramid *source_ = nullptr;
    RefreshColumns refresh_{};
    Macroblock *macroblocks_ = nullptr;
    int16_t *levels_ = nullptr;
    int picture_qp_ = 0, drop_step_ = 0;
    uint64_t bits_ = 0;
};

}  // namespace cudaenc::h264
