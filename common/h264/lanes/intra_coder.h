// SPDX-License-Identifier: LGPL-2.1-or-later
// The intra pipeline on the CPU: samples to macroblocks, levels and the reconstruction (H.264, 8.3 and 8.5, inverted).
// Its decisions do not depend on the number of threads.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../../lines.h"
#include "../../load.h"
#include "../../thread_pool.h"
#include "../intra/macroblock_coder.h"
#include "../intra/qp_regions.h"
#include "../intra/slice_map.h"
#include "macroblock_lanes.h"

namespace cudaenc::h264 {

struct PictureQuality {
    int qp;                           // QPY: from -QpBdOffset to 51, or up to kLastQp
    int effort;                       // of Effort
    int aq_strength;                  // change of QP, in 1/256, where the variance doubles; 0: no adaptive quantisation
    const int8_t *offsets = nullptr;  // to QPs, [macroblock]; nullptr: none
    bool counts = true;               // bits() are asked for
    bool reconstructs = true;         // reconstruction() is asked for
    QpRegions regions = {};           // of interest

    // Whether QPs of macroblocks differ.
    bool is_adaptive() const { return (aq_strength || offsets || regions.count) && qp <= kMaxQp; }
};

// Rows of macroblocks, the one above first. Runs of rows that wait for each other advance side by side.
std::vector<int> order_rows(const PictureFormat &format);

// Codes pictures of a format, one at a time.
class IntraCoder {
  public:
    explicit IntraCoder(const PictureFormat &format);

    // The slices of pictures from the next one on, in place of the format's.
    void set_slices(const std::vector<Slice> &slices);
    // Codes a picture to macroblocks() Macroblocks with blocks_per_macroblock() blocks of levels each. components: of
    // the format, of its bit depth.
    void encode(const SampleLayout *components, const PictureQuality &quality, ThreadPool &pool,
                Macroblock *macroblocks, int16_t *levels);

    // Of the last encode(): bits of all macroblock_layer(), those of I_PCM at their limit; squared errors of luma, over
    // whole macroblocks.
    uint64_t bits() const { return bits_; }
    void count();  // makes bits() where quality.counts was false
    uint64_t luma_distortion() const { return luma_distortion_; }

    // The reconstruction, of whole macroblocks.
    ConstBlock reconstruction(int component) const { return {planes_[component].at(0, 0), planes_[component].stride}; }

  private:
    struct Plane {
        LineVector<Sample> samples;
        ptrdiff_t stride = 0;
        Sample *at(ptrdiff_t x, ptrdiff_t y) { return samples.data() + y * stride + x; }
        const Sample *at(ptrdiff_t x, ptrdiff_t y) const { return samples.data() + y * stride + x; }
    };
    // What threads look for work by; of many rows, so it is small.
    struct Row {
        std::atomic<int> done;            // macroblocks
        std::atomic<bool> taken = false;  // a thread codes one of them
        bool begins_slice;
    };
    struct CodedRow {
        uint64_t bits, luma_distortion;
        LastColumns columns;  // of the last macroblock coded, in lanes
    };
    size_t index_of(int x, int y) const { return static_cast<size_t>(y * format_.macroblock_columns() + x); }
    int16_t *levels_of(size_t at) const {
        return levels_ + at * 16 * static_cast<size_t>(blocks_per_macroblock(format_.chroma));
    }
    Block samples_of(int component, int x, int y);
    MacroblockCoder::Place place_of(int x, int y);
    void keep(CodedRow &row, size_t at, int qp, const MacroblockCoder::Result &result);
    void encode_row(int y);
    void encode_rows();
    void encode_alone(MacroblockCoder &coder, MacroblockLanes::Task &task) const;
    void load_lines(int component, int first, int count, Sample *to) const;
    void analyse_rows(std::atomic<int> &next, bool in_lanes);
    void measure_row(int y, const ConstBlock *samples);
    void rank_row(int y, const ConstBlock *samples);
    void rank_in_lanes(int y, const ConstBlock *samples, std::span<const int> columns);
    void keep_source(int y, const ConstBlock *samples);
    int macroblock_qp(int x, int y, const ConstBlock &luma) const;
    uint32_t satd_lambda(size_t at) const;
    uint32_t count_bits(size_t at);
    void write_qp_deltas(const Slice &slice);

    const PictureFormat format_;
    // Source samples until a macroblock is coded, its reconstruction from then on. In lanes the latter only.
    Plane planes_[3];
    bool only_last_rows_ = false;  // of macroblocks are in planes_, a line each behind an empty one
    LineVector<uint8_t> source_;   // source_bytes() of each macroblock, in lanes
    std::vector<Neighbour> neighbours_;
    std::vector<int8_t> qp_;  // QPY
    SliceMap slices_;
    bool divides_rows_ = false;  // slices begin within rows, which lanes do not take
    std::unique_ptr<WeightedQuantisers> weighted_;
    std::vector<RankedModes> ranked_;  // kAllTypes
    std::vector<LikelyTypes> likely_;  // by macroblock, kAllTypes
    std::vector<uint8_t> totals_;      // total_coeff of all blocks, kAllTypes
    std::unique_ptr<Row[]> rows_;
    std::unique_ptr<CodedRow[]> coded_rows_;
    std::vector<int> order_;  // of rows
    const SampleLayout *components_ = nullptr;
    PictureQuality quality_{};
    Macroblock *macroblocks_ = nullptr;
    int16_t *levels_ = nullptr;
    uint64_t bits_ = 0, luma_distortion_ = 0;
};

}  // namespace cudaenc::h264
