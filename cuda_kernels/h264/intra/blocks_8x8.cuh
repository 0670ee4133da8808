// SPDX-License-Identifier: LGPL-2.1-or-later
// I_8x8: a block after the other, with a warp: four candidates, eight lanes each.
#pragma once
#include "blocks_nxn.cuh"

namespace cudaenc::h264 {

// The same of an 8x8 block. With a whole warp.
DEVICE void make_values_8x8(const uint16_t *block, const Available &a, int bit_depth, uint16_t *values) {
    const int lane = lane_id();
    int i = min_of(a.other_corner && lane == 8 ? 9 : lane, a.above_right ? 24 : 16);
    if (!a.above) i = min_of(i, 7);
    if (!a.left) i = max_of(i, 9);
    const uint32_t raw = block[i < 8 ? (8 - i) * kLumaPitch : i - 8];
    const auto filtered = [&](uint32_t before, uint32_t own, uint32_t after) {
        return (before + 2 * own + after + 2) >> 2;
    };
    const uint32_t next_raw = warp_shuffle_down(raw, 1);
    const uint32_t own = filtered(warp_shuffle_up(raw, 1), raw, a.other_corner && lane == 7 ? raw : next_raw);
    const uint32_t before = warp_shuffle_up(own, 1), next = warp_shuffle_down(own, 1), after = lane >= 24 ? own : next;
    const bool counts = (a.left && lane < 8) || (a.above && lane > 8 && lane < 17);
    const uint32_t sum = warp_add(counts ? own : 0);
    const uint32_t dc = a.above && a.left ? (sum + 8) >> 4 : a.above || a.left ? (sum + 4) >> 3 : 1u << (bit_depth - 1);
    values[lane] = static_cast<uint16_t>(lane == 25 ? dc : own);
    values[32 + lane] = static_cast<uint16_t>((own + after + 1) >> 1);
    values[64 + lane] = static_cast<uint16_t>(filtered(before, own, after));
}

template <ChromaFormat F>
DEVICE void code_8x8(const Place &place, WavefrontState<F> &s) {
    constexpr int kComponents = luma_components(F);
    Candidate<F> &c = s.candidates[static_cast<int>(MacroblockType::i8x8)];
    const MacroblockSource<F> &source = s.sources[place.x & 1];
    begin_candidate(place, s, c);
    const int lane = lane_id(), candidate = lane >> 3, column = lane & 7;
    const uint32_t price = estimated_price(place.qp->lambda);
    ChosenColumns chosen;
    CUDAENC_NO_UNROLL
    for (int b = 0; b < 4; b++) {
        const int bx = b & 1, by = b >> 1, corner = 8 * by * kLumaPitch + 8 * bx;
        CUDAENC_UNROLL
        for (int k = 0; k < kComponents; k++)
            make_values_8x8(c.components[k].samples + corner, available_8x8(place.available, b), place.bit_depth,
                            s.values_8x8[k]);
        const int predicted = predicted_mode(c, 2 * bx, 2 * by);
        const int mode = mode_of_candidate(candidate, predicted, source.ranked.of_8x8[b]);
        warp_sync();

        const uint32_t offsets[] = {word_of(s.predicted_8x8, (8 * mode + column) * 2),
                                    word_of(s.predicted_8x8, (8 * mode + column) * 2 + 1)};
        CandidateColumn<8> of_candidate[kComponents];
        uint32_t cost = 0;
        CUDAENC_UNROLL
        for (int k = 0; k < kComponents; k++)
            cost += of_candidate[k].code(s.values_8x8[k], offsets, source.luma[k] + 128 * by + 8 * bx + column,
                                         place.quantiser(k), column, place.most, price);
        cost += column == 0 ? price * estimated_mode_bits(mode == predicted) : 0;
        if (is_best<8, kComponents>(cost, candidate)) {
            CUDAENC_UNROLL
            for (int k = 0; k < kComponents; k++) {
                of_candidate[k].store(c.components[k].levels + 64 * b + 8 * column,
                                      c.components[k].samples + corner + kLumaPitch + 1 + column);
                chosen.add(of_candidate[k], b);
            }
            if (column < 4)
                c.modes[kGrid * (1 + 2 * by + (column >> 1)) + 1 + 2 * bx + (column & 1)] = static_cast<int8_t>(mode);
            if (column == 0) {
                c.syntax[b] = mode_syntax(mode, predicted);
                chosen.mode_bits += mode == predicted ? 1 : 4;
            }
        }
        warp_sync();
    }
    chosen.store(c);
}

}  // namespace cudaenc::h264
