// Source samples of a macroblock, and its ranked modes. A thread has four samples of a row in each round, of luma or of
// a chroma component. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "arithmetic.cuh"

namespace cudaenc::h264 {

constexpr int kSourceThreads = 96;  // a fourth warp has none
constexpr int kRankedWords = sizeof(RankedModes) / 4;

template <ChromaFormat F>
struct SourceSamples {
    static constexpr int kHeight = 2 * chroma_blocks(F);  // of a chroma component
    static constexpr int kLuma = 64 * luma_components(F), kFours = kLuma + 2 * 2 * kHeight;
    static constexpr int kRounds = ceil_div(kFours, kSourceThreads);
    // Where four samples lie in the macroblock.
    struct Four {
        int component, x, y;
        bool present;
    };
    const uint8_t *rows[kRounds];
    uint32_t samples[kRounds][4];
    const RankedModes *ranked_row;
    uint32_t ranked;  // a word of RankedModes

    static DEVICE_MEMBER Four four_of(int round) {
        const int thread = thread_x(), item = thread < kSourceThreads ? thread + round * kSourceThreads : kFours;
        if constexpr (kHeight > 0)
            if (item >= kLuma) {
                const int i = min_of(item, kFours - 1) - kLuma;
                return {1 + i / (2 * kHeight), 4 * (i & 1), i / 2 % kHeight, item < kFours};
            }
        const int i = min_of(item, kLuma - 1);
        return {i / 64, 4 * (i & 3), i / 4 % 16, item < kLuma};
    }
    static DEVICE_MEMBER bool is_chroma(const Four &four) { return kHeight > 0 && four.component > 0; }
    // For row `row` of macroblocks.
    DEVICE_MEMBER void begin(const WavefrontArguments &p, uint32_t row) {
        ranked_row = p.ranked + uint64_t{row} * static_cast<uint32_t>(p.format.width);
        CUDAENC_UNROLL
        for (int round = 0; round < kRounds; round++) {
            const Four four = four_of(round);
            const bool chroma = is_chroma(four);
            const int height = F == ChromaFormat::c420 && chroma ? (p.picture_height + 1) / 2 : p.picture_height;
            const int y = (chroma ? kHeight : 16) * static_cast<int>(row) + four.y;
            rows[round] =
                p.components[four.component].data + min_of(y, height - 1) * p.components[four.component].stride;
        }
    }
    DEVICE_MEMBER void load(const WavefrontArguments &p, uint32_t column) {
        ranked = load_readonly(reinterpret_cast<const uint32_t *>(ranked_row + column) +
                               min_of(thread_x(), kRankedWords - 1));
        CUDAENC_UNROLL
        for (int round = 0; round < kRounds; round++) {
            const Four four = four_of(round);
            const bool chroma = is_chroma(four);
            const int x = (chroma ? 8 : 16) * static_cast<int>(column) + four.x;
            const int last = (chroma ? (p.picture_width + 1) / 2 : p.picture_width) - 1;
            CUDAENC_UNROLL
            for (int i = 0; i < 4; i++)
                samples[round][i] = sample_of(p.components[four.component], rows[round], min_of(x + i, last));
        }
    }
    DEVICE_MEMBER void store(MacroblockSource<F> &s) const {
        if (thread_x() < kRankedWords) reinterpret_cast<AnyWord *>(&s.ranked)[thread_x()] = ranked;
        CUDAENC_UNROLL
        for (int round = 0; round < kRounds; round++) {
            const Four four = four_of(round);
            if (!four.present) continue;
            uint16_t *to = is_chroma(four) ? s.chroma[four.component - 1] + 8 * four.y + four.x
                                           : s.luma[four.component] + 16 * four.y + four.x;
            const uint32_t(&own)[4] = samples[round];
            *reinterpret_cast<FourLevels *>(to) = uint64_t{pair_of(own[2], own[3])} << 32 | pair_of(own[0], own[1]);
        }
    }
};

}  // namespace cudaenc::h264
