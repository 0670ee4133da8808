// SPDX-License-Identifier: LGPL-2.1-or-later
// What macroblocks leave to the row below and to the next one.
#pragma once
#include "decision.cuh"

namespace cudaenc::h264 {

template <ChromaFormat F>
DEVICE int8_t recorded_mode(const uint16_t *record, int i) {
    return static_cast<int8_t>(record[record_modes(F) + i / 2] >> 8 * (i & 1) & 255);
}

// Copies the neighbours of a macroblock. With a whole warp.
template <ChromaFormat F>
DEVICE void begin_candidate(const Place &place, WavefrontState<F> &s, Candidate<F> &c) {
    const int lane = lane_id();
    const uint16_t *above = s.records[place.x & 3], *before = s.records[(place.x + 3) & 3],
                   *after = s.records[(place.x + 1) & 3];
    CUDAENC_UNROLL
    for (int k = 0; k < luma_components(F); k++) {
        CodedComponent &component = c.components[k];
        if (lane < 25)
            component.samples[lane] = lane == 0    ? before[16 * k + 15]
                                      : lane <= 16 ? above[16 * k + lane - 1]
                                                   : after[16 * k + lane - 17];
        if (lane < 16) component.samples[(1 + lane) * kLumaPitch] = s.left[k][lane];
    }
    if (lane < 4) {
        c.modes[1 + lane] = place.available.above ? recorded_mode<F>(above, lane) : int8_t{-1};
        c.modes[kGrid * (1 + lane)] = place.available.left ? s.left_modes[lane] : int8_t{-1};
    }
    warp_sync();
}

// The last row, for the row below. With a whole warp.
template <ChromaFormat F>
DEVICE void leave_record(const Place &place, WavefrontState<F> &s, const Decision &decision) {
    constexpr int kHeight = 2 * chroma_blocks(F), kWords = record_words(F);
    const int lane = lane_id();
    const Candidate<F> &c = s.candidates[decision.type];
    if (lane < 16) {
        CUDAENC_UNROLL
        for (int k = 0; k < luma_components(F); k++)
            s.record[16 * k + lane] = c.components[k].samples[16 * kLumaPitch + 1 + lane];
    } else if constexpr (kHeight > 0) {
        s.record[lane] = s.chroma.samples[(lane - 16) >> 3][kHeight * kChromaPitch + 1 + (lane & 7)];
    }
    if (lane < 2) {
        const int8_t *modes = c.modes + 4 * kGrid + 1 + 2 * lane;
        s.record[record_modes(F) + lane] =
            decision.pcm ? uint16_t{kDc | kDc << 8}
                         : static_cast<uint16_t>(static_cast<uint8_t>(modes[0]) | static_cast<uint8_t>(modes[1]) << 8);
    }
    warp_sync();
    if (lane < kWords)
        atomic_store(s.picture.records + uint64_t{place.index} * kWords + static_cast<uint32_t>(lane),
                     uint64_t{s.picture.serial} << 48 | uint64_t{s.record[3 * lane + 2]} << 32 |
                         uint64_t{s.record[3 * lane + 1]} << 16 | s.record[3 * lane]);
}

// The last column, for the next macroblock. With a whole warp.
template <ChromaFormat F>
DEVICE void leave_column(WavefrontState<F> &s, const Decision &decision) {
    constexpr int kHeight = 2 * chroma_blocks(F);
    const int lane = lane_id();
    const Candidate<F> &c = s.candidates[decision.type];
    CUDAENC_UNROLL
    for (int k = 0; k < luma_components(F); k++)
        if (lane < 16) s.left[k][lane] = c.components[k].samples[(1 + lane) * kLumaPitch + 16];
    if (lane < 4) s.left_modes[lane] = decision.pcm ? int8_t{kDc} : c.modes[kGrid * (1 + lane) + 4];
    if constexpr (kHeight > 0)
        for (int i = lane; i < 2 * kHeight; i += 32)
            s.left_chroma[i / kHeight][i % kHeight] =
                s.chroma.samples[i / kHeight][(1 + i % kHeight) * kChromaPitch + 8];
}

// Waits for what the macroblocks of the row above leave, from column 0 on. One warp has it.
template <ChromaFormat F>
struct Receiver {
    static constexpr int kWords = record_words(F);
    const uint64_t *records;  // of the row above
    uint32_t serial, columns, next;

    // Receives column x, if the row has it and it has not been received, unless gives_up() after a poll.
    template <class GivesUp>
    DEVICE_MEMBER void receive(uint32_t x, WavefrontState<F> &s, const GivesUp &gives_up) {
        if (x != next || x >= columns) return;
        const int lane = lane_id(), i = min_of(lane, kWords - 1);
        const uint64_t *from = records + uint64_t{x} * kWords + static_cast<uint32_t>(i);
        uint64_t word;
        while (word = atomic_load(from), !warp_all(word >> 48 == serial)) {
            if (gives_up()) return;
            back_off();
        }
        uint16_t *to = s.records[x & 3] + 3 * i;
        if (lane < kWords) {
            to[0] = static_cast<uint16_t>(word);
            to[1] = static_cast<uint16_t>(word >> 16);
            to[2] = static_cast<uint16_t>(word >> 32);
        }
        next++;
    }
};

}  // namespace cudaenc::h264
