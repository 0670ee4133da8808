// SPDX-License-Identifier: LGPL-2.1-or-later
// The coder of an inter macroblock whose motion is known: transform, levels, reconstruction; or P_Skip.
#pragma once
#include "../intra/macroblock_coder.h"
#include "block_inter_cpu.h"
#include "inter_costs.h"

namespace cudaenc::h264 {

// A macroblock's samples, 16 in a row, or 8 of chroma of 4:2:0 and 4:2:2.
struct MacroblockSamples {
    alignas(32) Sample luma[256];
    alignas(32) Sample chroma[2][256];
    Sample *of(int component) { return component ? chroma[component - 1] : luma; }
    const Sample *of(int component) const { return component ? chroma[component - 1] : luma; }
};

class InterCoder {
  public:
    // chroma_offset: see FieldReference.
    InterCoder(const PictureFormat &format, const ReferencePicture &reference, int chroma_offset = 0,
               const PictureWeights &weights = {})
        : format_(format),
          coded_(format.coded()),
          reference_(reference),
          chroma_offset_(chroma_offset),
          weights_(weights) {}

    struct Place {
        int x, y;  // macroblocks
        int qp;    // QPY
        int drop_step;
        Vector skipped;        // P_Skip's vector
        bool can_skip;         // it is within range
        uint32_t vector_bits;  // of the macroblock's vectors
    };
    // Of an intra macroblock, comparable with InterOutcome::cost.
    static uint64_t intra_cost(const PictureFormat &format, const MacroblockSamples &source, int qp, int drop_step,
                               const Macroblock &macroblock, const int16_t *levels,
                               const MacroblockSamples &reconstruction);
    // Writes type, transform and pattern of the macroblock, its levels and its reconstruction.
    InterOutcome code(const Place &place, const MacroblockSamples &source, const MacroblockMotion &motion,
                      Macroblock &macroblock, int16_t *levels, MacroblockSamples &reconstruction);

  private:
    struct Luma {
        int pattern;  // of 8x8 blocks
        uint64_t cost;
        uint32_t bits;
        alignas(32) int16_t levels[3][256];  // of components that are coded as luma
        alignas(32) Sample reconstruction[3][256];
    };
    struct Chroma {
        int pattern;
        uint64_t cost;
        uint64_t error;  // without levels
        uint32_t bits;
        alignas(32) int16_t dc[16], ac[256];
        alignas(32) Sample reconstruction[2][128];
    };
    uint64_t cost_of(uint64_t distortion, uint64_t bits) const { return h264::cost_of(lambda_, distortion, bits); }
    int samples_of(int component) const { return format_.columns(component) * format_.rows(component); }
    void weigh(int component, int columns, int rows, Sample *samples) const;
    void predict_square(const Place &place, int component, Vector v, int x, int y, int size,
                        MacroblockSamples &to) const;
    void predict(const Place &place, const MacroblockMotion &motion);
    void copy(const MacroblockSamples &from, MacroblockSamples &to) const;
    uint64_t least_coded() const;
    uint64_t skip_cost(const Place &place, const MacroblockSamples &source, uint64_t most);
    template <int Size>
    void code_luma(const MacroblockSamples &source, Luma &luma);
    void code_chroma_blocks(const MacroblockSamples &source);
    void write_levels(const Luma &luma, int16_t *levels) const;
    bool exceeds_limits(const Macroblock &m, const int16_t *levels, uint32_t bits) const;

    const PictureFormat format_;
    const CodedFormat coded_;
    const ReferencePicture &reference_;
    const int chroma_offset_;
    const PictureWeights weights_;
    const Quantiser *quantisers_[3]{};  // of luma, chroma and the DC of chroma
    Quantiser without_frequencies_[3]{};
    uint64_t lambda_ = 0;
    MacroblockSamples prediction_, skipped_;
    Luma luma_[2];
    uint32_t errors_[4] = {};  // of 8x8 blocks without levels
    Chroma chroma_;
};

}  // namespace cudaenc::h264
