// SPDX-License-Identifier: LGPL-2.1-or-later
// What a macroblock becomes for the entropy coder.
#pragma once
#include "decision.cuh"

namespace cudaenc::h264 {

// Copies levels, 8 a load, with one warp.
DEVICE void copy_levels(const int16_t *from, int16_t *to, int count) {
    for (int i = lane_id(); i < count / 8; i += 32) {
        Uint4 words;
        __builtin_memcpy(&words, __builtin_assume_aligned(from + 8 * i, 16), sizeof words);
        *reinterpret_cast<Uint4 *>(to + 8 * i) = words;
    }
}

// Of a component that is coded as luma, with one warp. dc: it has those of I_16x16's DC.
DEVICE void store_luma_levels(const int16_t *from, bool dc, int16_t *to) {
    copy_levels(from, to, dc ? 272 : 256);
    if (!dc && lane_id() < 16) to[256 + lane_id()] = 0;
}

// first: whether the slice begins with it.
template <ChromaFormat F>
DEVICE void write_macroblock(const Place &place, const WavefrontState<F> &s, const Decision &decision, uint32_t slice,
                             bool first) {
    const Candidate<F> &c = s.candidates[decision.type];
    Macroblock m{};
    m.type = decision.pcm ? MacroblockType::pcm : static_cast<MacroblockType>(decision.type);
    if (!decision.pcm) {
        m.coded_block_pattern = static_cast<uint8_t>(c.pattern);
        if constexpr (chroma_blocks(F) > 0) {
            m.intra_chroma_pred_mode = static_cast<uint8_t>(s.chroma.mode);
            m.coded_block_pattern = static_cast<uint8_t>(c.pattern | s.chroma.coded << 4);
        }
        if (m.type == MacroblockType::i16x16) {
            m.intra_16x16_pred_mode = static_cast<uint8_t>(c.mode);
        } else {
            const int count = m.type == MacroblockType::i8x8 ? 4 : 16;
            CUDAENC_UNROLL
            for (int i = 0; i < 16; i++) m.pred_mode[i] = i < count ? c.syntax[i] : uint8_t{0};
        }
    }
    m.first_in_slice = first;
    m.slice = static_cast<uint16_t>(slice);
    s.picture.macroblocks[place.address] = m;
}

// Eight samples of a row, from column x and row y on.
template <int Bytes>
DEVICE void store_eight(const ReconstructedPlane &plane, int x, int y, const uint16_t *from) {
    CUDAENC_UNROLL
    for (int half = 0; half < Bytes; half++) {
        uint64_t word = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < 8 / Bytes; i++) word |= uint64_t{from[8 / Bytes * half + i]} << 8 * Bytes * i;
        reinterpret_cast<FourLevels *>(plane.samples<DecodedSample<Bytes>>(x, y))[half] = word;
    }
}
// The reconstruction of macroblock (x, y), with a whole warp: eight samples of luma, and of what is coded as luma, a
// lane, then of chroma.
template <ChromaFormat F, int Bytes>
DEVICE void store_reconstruction(const ReconstructedPlane (&planes)[3], int x, int y, const Decision &decision,
                                 const WavefrontState<F> &s) {
    constexpr int kHeight = 2 * chroma_blocks(F);
    const int lane = lane_id(), half = 8 * (lane & 1), row = lane >> 1;
    CUDAENC_UNROLL
    for (int k = 0; k < luma_components(F); k++)
        store_eight<Bytes>(planes[k], 16 * x + half, 16 * y + row,
                           s.candidates[decision.type].components[k].samples + (1 + row) * kLumaPitch + 1 + half);
    if constexpr (kHeight > 0) {
        const int component = lane / kHeight, of_chroma = lane & (kHeight - 1);
        if (lane < 2 * kHeight)
            store_eight<Bytes>(planes[1 + component], 8 * x, kHeight * y + of_chroma,
                               s.chroma.samples[component] + (1 + of_chroma) * kChromaPitch + 1);
    }
}

// I_PCM: the samples are the levels and the reconstruction. With all threads.
template <ChromaFormat F>
DEVICE void write_pcm(const WavefrontArguments &p, const Place &place, WavefrontState<F> &s, const Decision &decision,
                      int16_t *levels) {
    constexpr int kLuma = 256 * luma_components(F), kChroma = 8 * 2 * chroma_blocks(F), kAll = kLuma + 2 * kChroma;
    const MacroblockSource<F> &source = s.sources[place.x & 1];
    const auto allowed = [&](uint16_t sample) { return p.pcm_without_zeros ? max_of(sample, uint16_t{1}) : sample; };
    for (int i = thread_x(); i < 16 * blocks_per_macroblock(F); i += block_threads()) {
        uint16_t sample = 0;
        if (i < kLuma) {
            const int component = i / 256, k = i % 256;
            sample = allowed(source.luma[component][k]);
            s.candidates[decision.type].components[component].samples[(1 + k / 16) * kLumaPitch + 1 + k % 16] = sample;
        }
        if constexpr (kChroma > 0) {
            if (i >= kLuma && i < kAll) {
                const int component = (i - kLuma) / kChroma, k = (i - kLuma) % kChroma;
                sample = allowed(source.chroma[component][k]);
                s.chroma.samples[component][(1 + k / 8) * kChromaPitch + 1 + k % 8] = sample;
            }
        }
        levels[i] = static_cast<int16_t>(sample);
    }
}

}  // namespace cudaenc::h264
