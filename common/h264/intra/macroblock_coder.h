// SPDX-License-Identifier: LGPL-2.1-or-later
// The intra coder of a macroblock: type, modes, levels, reconstruction.
#pragma once
#include <cstdint>

#include "../syntax/macroblock_layer.h"
#include "../syntax/picture_format.h"
#include "block_rank_cpu.h"
#include "qp_choice.h"
#include "rank.h"

namespace cudaenc::h264 {

// The option `effort`.
// kAllTypes codes each macroblock as all types, so that the types need not wait for each other, and keeps the one of
// the least estimated cost. I_4x4 and I_8x8 are left out where source samples tell that they are unlikely. A block's
// modes are the predicted one and those that are likely from source samples; likewise, the one with the least estimated
// cost is coded. The others rank all modes on reconstructed samples. They code the likely type first, and give up on
// what is behind.
enum Effort { kAllTypes, kOneCandidate, kTwoCandidates, kRoundedByRate, kEfforts = kRoundedByRate };

// What the macroblocks below and to the right need: the last row and column of 4x4 blocks.
struct Neighbour {
    int8_t mode_right[4], mode_below[4];          // Intra4x4PredMode or Intra8x8PredMode, DC for other types
    int8_t total_right[3][4], total_below[3][4];  // total_coeff of a component's blocks
    MacroblockType type;
};

class MacroblockCoder {
  public:
    MacroblockCoder(const PictureFormat &format, const Quantisers &quantisers)
        : f_(format), coded_(format.coded()), all_quantisers_(quantisers) {}

    struct Place {
        Block samples[3];  // the source, then the reconstruction; around it are those of other macroblocks
        Available available;
        const Neighbour *left, *above;
        int qp;         // QPY
        int drop_step;  // see kDropSteps; 0: all frequencies
        int effort;
        const RankedModes *ranked;  // kAllTypes
        LikelyTypes likely;         // kAllTypes
    };
    struct Result {
        uint32_t bits;  // of macroblock_layer(), mb_qp_delta of 0 assumed; 0 with kAllTypes
        uint32_t luma_distortion;
    };
    // Writes all of `macroblock` but qp_delta and the members for slices.
    Result code(const Place &place, Macroblock &macroblock, int16_t *levels, Neighbour &neighbour);

  private:
    static constexpr int8_t kNone = -1;  // beyond the slice
    using Modes = Totals;                // of 4x4 blocks, likewise

    // A candidate for the components that are coded as luma.
    struct Luma {
        Macroblock macroblock;
        uint32_t bits;  // of residual(); after end() of macroblock_layer(), without mb_qp_delta and levels of chroma
        uint32_t distortion[3];
        LevelSums sums;  // kAllTypes
        int64_t cost;
        int64_t quarters[4];  // the cost after each 8x8 block
        uint32_t satd;        // the rank of its modes
        Modes modes;
        Totals totals[3];
        alignas(32) int16_t levels[3][17 * 16];
        alignas(32) Sample reconstruction[3][256];
    };
    struct Chroma {
        int mode, coded;  // intra_chroma_pred_mode, CodedBlockPatternChroma
        uint32_t bits, distortion;
        LevelSums sums;  // kAllTypes
        Totals totals[2];
        alignas(32) int16_t dc[16];
        alignas(32) int16_t ac[2 * 8 * 16];
        alignas(32) Sample reconstruction[2][8 * 16];
    };

    void begin(const Place &place);
    ConstBlock source(int component) const { return {source_[component], f_.columns(component)}; }
    const Quantiser &quantiser(int component) const { return *quantisers_[component ? 1 : 0]; }
    // Whether all levels are dropped. kAllTypes, which GPUs have as well, decides as at other QPs.
    bool only_modes() const { return place_->drop_step == kDropSteps && place_->effort != kAllTypes; }
    int64_t cost_of(uint64_t distortion, uint64_t bits) const {
        return static_cast<int64_t>((distortion << 8) + lambda_ * bits);
    }
    void begin(Luma &luma, MacroblockType type) const;
    void end(Luma &luma) const;
    // Estimates need no total_coeff.
    Totals *counted(Totals &totals) const { return place_->effort == kAllTypes ? nullptr : &totals; }
    void surround_totals(int component, Totals &totals) const;

    // Components: that are coded as luma.
    template <int Size>
    void try_blocks(Luma &luma, const Luma *other);
    template <int Size, int Components>
    int estimate_best(int block, int predicted, const Available &available,
                      Predictions<Size> (&predictions)[Components]) const;
    template <int Size, int Components>
    void code_best(Luma &luma, int block);
    void choose_16x16(Luma &luma);
    void try_16x16(Luma &luma);
    void try_chroma();
    uint32_t most_bits(const Luma &luma) const;
    bool must_be_pcm(const Luma &luma) const;
    Result write_pcm(Macroblock &macroblock, int16_t *levels, Neighbour &neighbour) const;
    Result write(const Luma &luma, Macroblock &macroblock, int16_t *levels, Neighbour &neighbour) const;

    const PictureFormat f_;
    const CodedFormat coded_;
    const Quantisers all_quantisers_;
    const Place *place_ = nullptr;
    const Quantiser *quantisers_[3]{};  // of luma, chroma and the DC of chroma
    Quantiser without_frequencies_[3]{};
    uint64_t lambda_ = 0;       // Lagrange multipliers in 2^-8, for squared errors
    uint32_t satd_lambda_ = 0;  // and for half a SATD
    int candidates_ = 1;        // modes that are tried for a block
    Rounding rounding_{};
    alignas(32) Sample source_[3][256];
    Luma luma_[3];
    MacroblockPredictions predictions_16x16_[3];
    Chroma chroma_;
};

}  // namespace cudaenc::h264
