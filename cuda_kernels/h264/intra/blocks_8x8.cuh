// I_8x8: a block after the other, with a warp.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "blocks_nxn.cuh"
#include "lines.cuh"
#include "neighbours.cuh"

namespace cudaenc::h264 {

// The same of an 8x8 block. With a whole warp.
DEVICE void make_values_8x8(const uint16_t *block, const Available &a, int bit_depth, uint16_t *values) {
    const int lane = lane_id();
    int i = min_of(lane, a.above_right ? 24 : 16);
    if (!a.above) i = min_of(i, 7);
    if (!a.left) i = max_of(i, 9);
    const uint32_t raw = block[i < 8 ? (8 - i) * kLumaPitch : i - 8];
    const auto filtered = [&](uint32_t before, uint32_t own, uint32_t after) {
        return (before + 2 * own + after + 2) >> 2;
    };
    const uint32_t own = filtered(warp_shuffle_up(raw, 1), raw, warp_shuffle_down(raw, 1));
    const uint32_t before = warp_shuffle_up(own, 1), next = warp_shuffle_down(own, 1), after = lane >= 24 ? own : next;
    const bool counts = (a.left && lane < 8) || (a.above && lane > 8 && lane < 17);
    const uint32_t sum = warp_add(counts ? own : 0);
    const uint32_t dc = a.above && a.left ? (sum + 8) >> 4 : a.above || a.left ? (sum + 4) >> 3 : 1u << (bit_depth - 1);
    values[lane] = static_cast<uint16_t>(lane == 25 ? dc : own);
    values[32 + lane] = static_cast<uint16_t>((own + after + 1) >> 1);
    values[64 + lane] = static_cast<uint16_t>(filtered(before, own, after));
}

template <class State>
DEVICE void code_8x8(const Place &place, State &s) {
    Candidate &c = s.candidates[static_cast<int>(MacroblockType::i8x8)];
    begin_candidate(place, s, c);
    const int lane = lane_id(), column = lane & 7, lower = lane & 1, mode = min_of(lane >> 1, 8);
    const QpChoice &qp = *place.qp;
    const auto value_at = [&](uint32_t offsets, int i) { return sample_at(s.values_8x8, byte_of(offsets, i)); };
    uint32_t distortion = 0, bits = 0;
    CUDAENC_NO_UNROLL
    for (int b = 0; b < 4; b++) {
        const int bx = b & 1, by = b >> 1;
        const Available a{bx > 0 || place.available.left, by > 0 || place.available.above,
                          b == 1 ? place.available.above_right : (kAboveRight8x8 >> b & 1) != 0};
        uint16_t *block = c.samples + 8 * by * kLumaPitch + 8 * bx;
        make_values_8x8(block, a, place.bit_depth, s.values_8x8);
        const int predicted = predicted_mode(c, 2 * bx, 2 * by);
        warp_sync();

        // A lane has four rows of a mode.
        const uint16_t *source = s.source + 128 * by + 8 * bx;
        uint32_t pairs[4][4];
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            const uint32_t even = word_of(s.predicted_8x8, (8 * mode + 2 * i) * 2 + lower),
                           odd = word_of(s.predicted_8x8, (8 * mode + 2 * i + 1) * 2 + lower);
            CUDAENC_UNROLL
            for (int y = 0; y < 4; y++) {
                const uint16_t *row = source + 16 * (4 * lower + y) + 2 * i;
                pairs[y][i] = pair_of(value_at(even, y), value_at(odd, y)) - pair_at(row);
            }
        }
        hadamard_rows(pairs);
        uint32_t sum = 0;
        CUDAENC_UNROLL
        for (int y = 0; y < 4; y++) CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            const uint32_t other = warp_shuffle_xor(pairs[y][i], 1);
            sum += larger_of_pair(lower ? other - pairs[y][i] : other + pairs[y][i]);
        }
        sum = (sum + warp_shuffle_xor(sum, 1)) / 2;
        const uint32_t cost = mode_available(mode, a) ? mode_cost(qp, mode == predicted, sum) : kNotAvailable;
        const uint32_t key = lane < 2 * kModes ? cost << 4 | static_cast<uint32_t>(mode) : ~0u;
        const int best = static_cast<int>(warp_min(key) & 15);

        int32_t prediction[8], own[8], v[8];
        CUDAENC_UNROLL
        for (int half = 0; half < 2; half++) {
            const uint32_t of_column = word_of(s.predicted_8x8, (8 * best + column) * 2 + half);
            CUDAENC_UNROLL
            for (int i = 0; i < 4; i++) {
                const int y = 4 * half + i;
                prediction[y] = static_cast<int32_t>(value_at(of_column, i));
                own[y] = source[16 * y + column];
                v[y] = own[y] - prediction[y];
            }
        }
        forward_lines(v);
        quantise_line(v, qp.luma.multiplier_8x8, qp.luma.shift_8x8, column);
        const bool stores = lane < 8;
        if (stores) store_levels(v, c.levels + 64 * b + 8 * column);
        scale_line(v, qp.luma.scale_8x8, column);
        inverse_lines(v);
        const uint32_t squares =
            reconstruct_column(v, prediction, own, place.most, stores, block + kLumaPitch + 1 + column, kLumaPitch);
        if (stores) distortion += squares;
        if (lane < 4) c.modes[kGrid * (1 + 2 * by + (lane >> 1)) + 1 + 2 * bx + (lane & 1)] = static_cast<int8_t>(best);
        if (lane == 0) c.syntax[b] = mode_syntax(best, predicted);
        bits += best == predicted ? 1 : 4;
        warp_sync();
    }
    const uint32_t all = warp_add(distortion);
    if (lane == 0) {
        c.distortion = all;
        c.mode_bits = bits;
    }
}

}  // namespace cudaenc::h264
