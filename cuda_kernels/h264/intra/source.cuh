// Source samples of a macroblock, and its ranked modes: a thread has two samples of each component that is coded as
// luma, and some of chroma.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "arithmetic.cuh"

namespace cudaenc::h264 {

constexpr int kRankedWords = sizeof(RankedModes) / 4;

template <ChromaFormat F>
struct SourceSamples {
    static constexpr int kComponents = luma_components(F);
    static constexpr int kChroma = chroma_blocks(F) / 4, kHeight = 2 * chroma_blocks(F);  // a thread has kChroma
    const uint8_t *luma_rows[kComponents], *chroma_rows[kChroma + 1];
    uint16_t luma[kComponents][2], chroma[kChroma + 1];
    const uint32_t *ranked_row;
    uint32_t ranked;  // a word of RankedModes

    static DEVICE_MEMBER int chroma_item(int i) { return thread_x() + i * kWavefrontThreads; }
    static DEVICE_MEMBER uint16_t sample(const SampleLayout &s, const uint8_t *row, int x) {
        return static_cast<uint16_t>(sample_of(s, row, x));
    }
    // For row `row` of macroblocks.
    DEVICE_MEMBER void begin(const WavefrontArguments &p, uint32_t row) {
        const int y = 16 * static_cast<int>(row) + (thread_x() >> 3);
        CUDAENC_UNROLL
        for (int k = 0; k < kComponents; k++)
            luma_rows[k] = p.components[k].data + min_of(y, p.picture_height - 1) * p.components[k].stride;
        const RankedModes *first = p.ranked + uint64_t{row} * static_cast<uint32_t>(p.format.width);
        ranked_row = reinterpret_cast<const uint32_t *>(first) + min_of(thread_x(), kRankedWords - 1);
        if constexpr (kChroma > 0) {
            const int rows = F == ChromaFormat::c420 ? (p.picture_height + 1) / 2 : p.picture_height;
            CUDAENC_UNROLL
            for (int i = 0; i < kChroma; i++) {
                const int item = chroma_item(i), chroma_y = kHeight * static_cast<int>(row) + item / 8 % kHeight;
                const SampleLayout &s = item / 8 < kHeight ? p.components[1] : p.components[2];
                chroma_rows[i] = s.data + min_of(chroma_y, rows - 1) * s.stride;
            }
        }
    }
    DEVICE_MEMBER void load(const WavefrontArguments &p, uint32_t column) {
        const int x = 16 * static_cast<int>(column) + 2 * (thread_x() & 7), last = p.picture_width - 1;
        CUDAENC_UNROLL
        for (int k = 0; k < kComponents; k++) {
            luma[k][0] = sample(p.components[k], luma_rows[k], min_of(x, last));
            luma[k][1] = sample(p.components[k], luma_rows[k], min_of(x + 1, last));
        }
        ranked = load_readonly(ranked_row + kRankedWords * column);
        if constexpr (kChroma > 0) {
            const int chroma_x = min_of(8 * static_cast<int>(column) + (thread_x() & 7), (p.picture_width + 1) / 2 - 1);
            CUDAENC_UNROLL
            for (int i = 0; i < kChroma; i++)
                chroma[i] =
                    sample(chroma_item(i) / 8 < kHeight ? p.components[1] : p.components[2], chroma_rows[i], chroma_x);
        }
    }
    DEVICE_MEMBER void store(WavefrontState<F> &s) const {
        const int thread = thread_x();
        CUDAENC_UNROLL
        for (int k = 0; k < kComponents; k++) {
            s.source[k][2 * thread] = luma[k][0];
            s.source[k][2 * thread + 1] = luma[k][1];
        }
        if (thread < kRankedWords) reinterpret_cast<AnyWord *>(&s.ranked)[thread] = ranked;
        if constexpr (kChroma > 0) {
            CUDAENC_UNROLL
            for (int i = 0; i < kChroma; i++) {
                const int item = chroma_item(i);
                s.chroma_source[item / (8 * kHeight)][item % (8 * kHeight)] = chroma[i];
            }
        }
    }
};

}  // namespace cudaenc::h264
