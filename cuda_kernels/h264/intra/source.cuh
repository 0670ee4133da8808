// SPDX-License-Identifier: LGPL-2.1-or-later
// Tables, what a picture is, source samples of a macroblock and its ranked modes. Of the latter a lane has four samples
// of a row in each round, of luma or of a chroma component.
#pragma once
#include "arithmetic.cuh"

namespace cudaenc::h264 {

template <class State>
DEVICE void copy_tables(const WavefrontArguments &p, State &s) {
    const int thread = thread_x(), threads = block_threads();
    for (int i = thread; i < 9 * 16; i += threads) s.predicted_4x4[i] = p.tables->predicted_4x4[i];
    for (int i = thread; i < 9 * 64; i += threads) s.predicted_8x8[i] = p.tables->predicted_8x8[i];
}
// From parameters to shared memory. With all threads.
DEVICE void copy_picture(const WavefrontPicture &from, WavefrontPicture &to) {
    constexpr int kWords = sizeof(WavefrontPicture) / 4;
    static_assert(kWords <= 32 * kAvcIntraWarps, "each word has a thread");
    if (thread_x() < kWords)
        reinterpret_cast<AnyWord *>(&to)[thread_x()] = reinterpret_cast<const AnyWord *>(&from)[thread_x()];
}

// Loads those of column `column` and row `row` of macroblocks. With a whole warp.
template <ChromaFormat F>
DEVICE void load_source(const WavefrontArguments &p, const WavefrontPicture &picture, uint32_t row, uint32_t column,
                        MacroblockSource<F> &s) {
    constexpr int kHeight = 2 * chroma_blocks(F);  // of a chroma component
    constexpr int kLuma = 64 * luma_components(F), kFours = kLuma + 2 * 2 * kHeight, kRounds = kFours / 32;
    static_assert(kFours % 32 == 0);
    constexpr int kRankedWords = sizeof(RankedModes) / 4;
    const int lane = lane_id();
    uint32_t samples[kRounds][4];
    uint16_t *to[kRounds];
    const uint32_t ranked =
        load_readonly(reinterpret_cast<const uint32_t *>(
                          picture.ranked + uint64_t{row} * static_cast<uint32_t>(p.format.width) + column) +
                      min_of(lane, kRankedWords - 1));
    CUDAENC_UNROLL
    for (int round = 0; round < kRounds; round++) {
        const int item = 32 * round + lane;
        const bool chroma = kHeight > 0 && 32 * round >= kLuma;  // the same in all lanes
        int component = item / 64, x = 4 * (item & 3), y = item / 4 % 16;
        if constexpr (kHeight > 0)
            if (chroma) {
                const int i = item - kLuma;
                component = 1 + i / (2 * kHeight), x = 4 * (i & 1), y = i / 2 % kHeight;
            }
        to[round] = chroma ? s.chroma[component - 1] + 8 * y + x : s.luma[chroma ? 0 : component] + 16 * y + x;
        const int height = F == ChromaFormat::c420 && chroma ? (p.picture_height + 1) / 2 : p.picture_height;
        const int last = (chroma ? (p.picture_width + 1) / 2 : p.picture_width) - 1;
        x += (chroma ? 8 : 16) * static_cast<int>(column);
        y += (chroma ? kHeight : 16) * static_cast<int>(row);
        const SampleLayout &layout = picture.components[component];
        const uint8_t *samples_row = layout.data + min_of(y, height - 1) * layout.stride;
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) samples[round][i] = sample_of(layout, samples_row, min_of(x + i, last));
    }
    if (lane < kRankedWords) reinterpret_cast<AnyWord *>(&s.ranked)[lane] = ranked;
    CUDAENC_UNROLL
    for (int round = 0; round < kRounds; round++) {
        const uint32_t(&own)[4] = samples[round];
        *reinterpret_cast<FourLevels *>(to[round]) = uint64_t{pair_of(own[2], own[3])} << 32 | pair_of(own[0], own[1]);
    }
}

}  // namespace cudaenc::h264
