// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures of a sequence on the CPU, each one behind the other: intra ones, and those that refer to the one before.
#pragma once
#include <vector>

#include "deblock_cpu.h"
#include "gop.h"
#include "inter/predicted_picture.h"

namespace cudaenc::h264 {

class SequenceCoder {
  public:
    // vertical: the level's limit for vectors, in samples. deblock: references are filtered (8.7).
    SequenceCoder(const PictureFormat &format, int vertical, bool deblock);

    // The slices of what is encoded from here on, in place of the format's.
    void set_slices(const std::vector<Slice> &slices) {
        intra_coder_.set_slices(slices);
        predicted_coder_.set_slices(slices);
    }
    // Loads a picture that comes later, before begin().
    void load_source(const SampleLayout &luma, SourcePyramid &source, ThreadPool &pool) {
        predicted_coder_.load_source(luma, source, pool);
    }
    // The next picture, before all that follows.
    void begin(const SampleLayout *components, ThreadPool &pool);
    // Of the picture, by the last one that was kept, before what follows; else it has no weights. Not of fields.
    const PictureWeights &choose_weights(ThreadPool &pool) {
        return predicted_coder_.choose_weights(before_.back(), source_, pool);
    }
    // Of the picture, and the last one that was kept, of fields that of the same parity: by a search as encode() at
    // this QP has it.
    SceneCosts scene_costs(int qp, ThreadPool &pool);
    // Which field the picture had best refer to at this QP: see FieldReference::distance.
    int find_distance(int qp, ThreadPool &pool);
    // As IntraCoder::encode(). predicted: from the last picture that was kept; then refresh tells of
    // intra refresh, refers_to of the field that it is. A picture may be encoded again.
    void encode(const SampleLayout *components, const PictureQuality &quality, bool predicted, ThreadPool &pool,
                Macroblock *macroblocks, int16_t *levels, const RefreshColumns &refresh = {},
                const FieldReference &refers_to = {});
    uint64_t bits() const { return predicted_ ? predicted_coder_.bits() : intra_coder_.bits(); }
    void count() { predicted_ ? predicted_coder_.count() : intra_coder_.count(); }
    // The last picture encoded is one that the next ones may refer to.
    void keep(ThreadPool &pool);
    // After keep(): what decoders show, of whole macroblocks.
    ConstBlock decoded(int component) const { return {planes_[component].data(), strides_[component]}; }

  private:
    const MotionSearch &search_by(int distance, int qp, ThreadPool &pool);
    void deblock(ThreadPool &pool);

    const PictureFormat format_;
    const bool deblock_;
    IntraCoder intra_coder_;
    PredictedPictureCoder predicted_coder_;
    std::vector<PictureBefore> before_;  // the last one first; of fields two
    SourcePyramid source_;
    LineVector<Sample> planes_[3];
    ptrdiff_t strides_[3];
    std::vector<DeblockMacroblock> deblock_macroblocks_;
    std::vector<DeblockVector> deblock_vectors_;
    bool predicted_ = false;
    int qp_ = 0;
    const Macroblock *macroblocks_ = nullptr;
    const int16_t *levels_ = nullptr;
};

}  // namespace cudaenc::h264
