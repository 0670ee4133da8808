// The software intra pipeline: samples to macroblocks, levels and the reconstruction (H.264, 8.3 and 8.5, backwards).
// What it decides does not depend on threads. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "../load.h"
#include "../thread_pool.h"
#include "macroblock_coder.h"

namespace cudaenc::h264 {

struct PictureQuality {
    int qp;           // QPY: from -QpBdOffset to 51, or up to kLastQp
    int effort;       // of Effort
    int aq_strength;  // how much QP changes, by 1/256, where a macroblock's variance doubles; 0: no adaptive
                      // quantisation
};

// A picture's way through the pipeline, used again for others of the format.
class PictureCoder {
  public:
    explicit PictureCoder(const PictureFormat &format);

    // Codes a picture to macroblocks() Macroblocks, and as many times blocks_per_macroblock() blocks of levels.
    // components: as many as the format has, of its bit depth. May be called again, for another quality too.
    void encode(const SampleLayout *components, const PictureQuality &quality, ThreadPool &pool,
                Macroblock *macroblocks, int16_t *levels);

    // Of the last encode(): bits of all macroblock_layer(), where those of I_PCM are taken for the longest; luma's
    // squared errors, over whole macroblocks.
    uint64_t bits() const { return bits_; }
    uint64_t luma_distortion() const { return luma_distortion_; }

    // The reconstruction, of whole macroblocks.
    ConstBlock reconstruction(int component) const { return {planes_[component].at(0, 0), planes_[component].stride}; }

  private:
    struct Plane {
        std::vector<Sample> samples;
        ptrdiff_t stride = 0;
        Sample *at(ptrdiff_t x, ptrdiff_t y) { return samples.data() + y * stride + x; }
        const Sample *at(ptrdiff_t x, ptrdiff_t y) const { return samples.data() + y * stride + x; }
    };
    struct Row {
        int slice;
        bool first_in_slice;
        std::atomic<int> done;  // macroblocks
        uint64_t bits, luma_distortion;
    };
    void encode_row(int y);
    void load_rows(int y);
    int macroblock_qp(int x, int y) const;
    void write_qp_deltas(int slice);

    const PictureFormat format_;
    Plane planes_[3];  // source samples until a macroblock is coded, its reconstruction from then on
    std::vector<Neighbour> neighbours_;
    std::vector<int8_t> qp_;  // QPY
    std::unique_ptr<Row[]> rows_;
    std::vector<int> order_;  // of rows: those of all slices side by side
    const SampleLayout *components_ = nullptr;
    PictureQuality quality_{};
    Macroblock *macroblocks_ = nullptr;
    int16_t *levels_ = nullptr;
    uint64_t bits_ = 0, luma_distortion_ = 0;
};

}  // namespace cudaenc::h264
