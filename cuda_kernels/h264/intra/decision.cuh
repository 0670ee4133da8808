// A macroblock's type.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "arithmetic.cuh"

namespace cudaenc::h264 {

// Which type is cheapest, and the bits of macroblock_layer(). All threads find the same.
struct Decision {
    int type;
    bool pcm;
    uint32_t bits;
};

DEVICE uint64_t cost_of(uint64_t lambda, uint64_t distortion, uint64_t bits) {
    return (distortion << 8) + lambda * bits;
}

template <ChromaFormat F>
DEVICE Decision decide(const WavefrontArguments &p, const Place &place, const WavefrontState<F> &s) {
    constexpr bool has_chroma = chroma_blocks(F) > 0;
    const uint64_t lambda = place.qp->lambda;
    uint32_t chroma_pattern = 0, chroma_mode_bits = 0, chroma_bits = 0, chroma_distortion = 0, too_large = 0;
    if constexpr (has_chroma) {
        chroma_pattern = s.chroma.coded << 4;
        chroma_mode_bits = mode_bits(s.chroma.mode);
        chroma_bits = s.chroma.bits;
        chroma_distortion = s.chroma.distortion;
        too_large = s.chroma.too_large;
    }
    Decision best{0, false, 0};
    uint64_t least = ~uint64_t{0};
    const auto consider = [&](int type, uint32_t header) {
        const Candidate<F> &c = s.candidates[type];
        const uint32_t bits = c.residual_bits + header + chroma_mode_bits;
        const uint64_t cost = cost_of(lambda, c.distortion, bits);
        if (cost >= least) return;
        least = cost;
        best.type = type;
        best.bits = bits;
    };
    const auto consider_nxn = [&](int type) {  // mb_type, transform_size_8x8_flag, modes, coded_block_pattern
        const uint32_t pattern = s.candidates[type].pattern | chroma_pattern;
        const uint32_t code = has_chroma ? kCodedBlockPatternCodes[pattern] : kCodedBlockPatternCodesLuma[pattern];
        consider(type,
                 1 + p.format.transform_8x8_mode + s.candidates[type].mode_bits + mode_bits(code) + (pattern ? 1 : 0));
    };
    if (p.format.transform_8x8_mode) consider_nxn(static_cast<int>(MacroblockType::i8x8));
    consider_nxn(static_cast<int>(MacroblockType::i4x4));
    const Candidate<F> &whole = s.candidates[static_cast<int>(MacroblockType::i16x16)];
    consider(static_cast<int>(MacroblockType::i16x16),
             mode_bits(1 + whole.mode + 4 * (chroma_pattern >> 4) + (whole.pattern ? 12 : 0)) + 1);

    // See MacroblockCoder::must_be_pcm().
    const uint32_t most = most_macroblock_bits(p.format);
    too_large |= s.candidates[best.type].too_large;
    best.bits += chroma_bits;
    best.pcm = best.bits + 12 > most ||
               least + cost_of(lambda, chroma_distortion, chroma_bits) > cost_of(lambda, 0, most - 128 + 16) ||
               (too_large && !p.long_level_prefix);
    if (best.pcm) best.bits = most - 128 + 16;
    return best;
}

}  // namespace cudaenc::h264
