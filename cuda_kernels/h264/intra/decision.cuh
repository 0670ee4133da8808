// SPDX-License-Identifier: LGPL-2.1-or-later
// A macroblock's type.
#pragma once
#include "arithmetic.cuh"

namespace cudaenc::h264 {

// Which type is cheapest, by estimated bits. All threads find the same.
struct Decision {
    int type;
    bool pcm;
    bool counts;      // its bits have to be counted, as I_PCM may be the better or the only one
    uint32_t header;  // bits up to residual()
};

template <bool Only8x8, ChromaFormat F>
DEVICE Decision decide(const WavefrontArguments &p, const Place &place, const WavefrontState<F> &s) {
    constexpr bool has_chroma = chroma_blocks(F) > 0;
    const uint64_t lambda = place.qp->lambda;
    uint32_t chroma_pattern = 0, chroma_mode_bits = 0;
    LevelSums chroma_sums{0, 0};
    if constexpr (has_chroma) {
        chroma_pattern = s.chroma.coded << 4;
        chroma_mode_bits = mode_bits(s.chroma.mode);
        chroma_sums = s.chroma.sums;
    }
    Decision best{0, false, false, 0};
    uint64_t least = ~uint64_t{0};
    const auto consider = [&](MacroblockType type, uint32_t header) {
        const Candidate<F> &c = s.candidates[static_cast<int>(type)];
        header += chroma_mode_bits;
        const uint64_t cost = cost_of(lambda, c.distortion, header + estimated_residual_bits(type, c.sums));
        if (cost >= least) return;
        least = cost;
        best.type = static_cast<int>(type);
        best.header = header;
    };
    const auto consider_nxn =
        [&](MacroblockType type) {  // mb_type, transform_size_8x8_flag, modes, coded_block_pattern
            const Candidate<F> &c = s.candidates[static_cast<int>(type)];
            const uint32_t pattern = c.pattern | chroma_pattern;
            const uint32_t code = has_chroma ? kCodedBlockPatternCodes[pattern] : kCodedBlockPatternCodesLuma[pattern];
            consider(type, 1 + p.format.transform_8x8_mode + c.mode_bits + mode_bits(code) + (pattern ? 1 : 0));
        };
    if (Only8x8 || (p.format.transform_8x8_mode && place.likely >= kAlso8x8)) consider_nxn(MacroblockType::i8x8);
    if constexpr (!Only8x8) {
        if (place.likely >= kAlso4x4) consider_nxn(MacroblockType::i4x4);
        const Candidate<F> &whole = s.candidates[static_cast<int>(MacroblockType::i16x16)];
        consider(MacroblockType::i16x16,
                 mode_bits(1 + whole.mode + 4 * (chroma_pattern >> 4) + (whole.pattern ? 12 : 0)) + 1);
    }
    best.counts = may_be_pcm(p.format, s.candidates[best.type].sums + chroma_sums);
    return best;
}

// See MacroblockCoder::must_be_pcm().
template <bool Only8x8, ChromaFormat F>
DEVICE bool must_be_pcm(const WavefrontArguments &p, const Place &place, const WavefrontState<F> &s,
                        const Decision &decision) {
    const uint32_t most = most_macroblock_bits(p.format);
    uint32_t bits = decision.header + s.most_bits[0].bits, distortion = s.candidates[decision.type].distortion;
    bool too_large = s.most_bits[0].too_large;
    if constexpr (chroma_blocks(F) > 0) {
        bits += s.most_bits[1].bits;
        distortion += s.chroma.distortion;
        too_large |= s.most_bits[1].too_large;
    }
    return bits + kMostQpDeltaBits > most ||
           (!Only8x8 &&
            cost_of(place.qp->lambda, distortion, bits) > cost_of(place.qp->lambda, 0, pcm_bits(p.format))) ||
           (too_large && !p.long_level_prefix);
}

}  // namespace cudaenc::h264
