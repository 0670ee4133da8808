// I_4x4: a step codes the one or two blocks of a diagonal, a half of the warp each.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "blocks_nxn.cuh"
#include "lines.cuh"
#include "neighbours.cuh"

namespace cudaenc::h264 {

// Stores the values that predictions of the block consist of. lane: of 16.
DEVICE void make_values_4x4(const uint16_t *block, const Available &a, int bit_depth, int lane, uint16_t *values) {
    // block: the corner, in rows of kLumaPitch.
    const int last = a.above_right ? 12 : 8;
    const auto neighbour = [&](int i) {
        i = max_of(min_of(i, last), 0);
        return uint32_t{block[i < 4 ? (4 - i) * kLumaPitch : i - 4]};
    };
    const uint32_t before = neighbour(lane - 1), own = neighbour(lane), after = neighbour(lane + 1);
    uint32_t value = own;
    if (lane == 13) {
        uint32_t sum = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            sum += a.above ? uint32_t{block[1 + i]} : 0;
            sum += a.left ? uint32_t{block[(1 + i) * kLumaPitch]} : 0;
        }
        value = a.above && a.left ? (sum + 4) >> 3 : a.above || a.left ? (sum + 2) >> 2 : 1u << (bit_depth - 1);
    }
    values[lane] = static_cast<uint16_t>(value);
    values[16 + lane] = static_cast<uint16_t>((own + after + 1) >> 1);
    values[32 + lane] = static_cast<uint16_t>((before + 2 * own + after + 2) >> 2);
}

template <class State>
DEVICE void code_4x4(const Place &place, State &s) {
    Candidate &c = s.candidates[static_cast<int>(MacroblockType::i4x4)];
    begin_candidate(place, s, c);
    const int lane = lane_id(), half = lane >> 4, in_half = lane & 15, column = lane & 3;
    const int mode = min_of(in_half, 8);
    const uint32_t half_offset = half ? 0x01010101u * sizeof s.values_4x4[0] : 0;
    uint32_t own_values[4];
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++) own_values[i] = word_of(s.predicted_4x4, 4 * mode + i) + half_offset;
    const QpChoice &qp = *place.qp;
    uint16_t *values = s.values_4x4[half];
    const auto value_at = [&](uint32_t offsets, int i) { return sample_at(s.values_4x4[0], byte_of(offsets, i)); };
    uint32_t distortion = 0, bits = 0;
    CUDAENC_NO_UNROLL
    for (int step = 0; step < 10; step++) {
        const int first = step > 3 ? (step - 2) >> 1 : 0, last = min_of(3, step >> 1);
        const bool coded = first + half <= last;
        const int by = coded ? first + half : first, bx = step - 2 * by, b = luma_block(bx, by);
        const Available a{bx > 0 || place.available.left, by > 0 || place.available.above,
                          by == 0 && bx == 3 ? place.available.above_right : (kAboveRight4x4 >> b & 1) != 0};
        uint16_t *block = c.samples + 4 * by * kLumaPitch + 4 * bx;
        make_values_4x4(block, a, place.bit_depth, in_half, values);
        const int predicted = predicted_mode(c, bx, by);
        warp_sync();

        const uint16_t *source = s.source + 64 * by + 4 * bx;
        uint32_t pairs[4][2];
        CUDAENC_UNROLL
        for (int y = 0; y < 4; y++) CUDAENC_UNROLL
        for (int i = 0; i < 2; i++)
            pairs[y][i] = pair_of(value_at(own_values[2 * i], y), value_at(own_values[2 * i + 1], y)) -
                          pair_at(source + 16 * y + 2 * i);
        const uint32_t cost =
            mode_available(mode, a) ? mode_cost(qp, mode == predicted, half_satd(pairs)) : kNotAvailable;
        const uint32_t key = in_half < kModes ? cost << 4 | static_cast<uint32_t>(mode) : ~0u;
        const int best = static_cast<int>(least_of_lanes<15>(key) & 15);

        const uint32_t of_column = word_of(s.predicted_4x4, 4 * best + column) + half_offset;
        int32_t prediction[4], own[4], v[4];
        CUDAENC_UNROLL
        for (int y = 0; y < 4; y++) {
            prediction[y] = static_cast<int32_t>(value_at(of_column, y));
            own[y] = source[16 * y + column];
            v[y] = own[y] - prediction[y];
        }
        forward_lines(v);
        quantise_line(v, qp.luma.multiplier_4x4, qp.luma.shift_4x4, column);
        const bool stores = coded && in_half < 4;
        if (stores) store_levels(v, c.levels + 16 * b + 4 * column);
        scale_line(v, qp.luma.scale_4x4, column);
        inverse_lines(v);
        const uint32_t squares =
            reconstruct_column(v, prediction, own, place.most, stores, block + kLumaPitch + 1 + column, kLumaPitch);
        if (stores) distortion += squares;
        if (coded && in_half == 0) {
            c.modes[kGrid * (1 + by) + 1 + bx] = static_cast<int8_t>(best);
            c.syntax[b] = mode_syntax(best, predicted);
            bits += best == predicted ? 1 : 4;
        }
        warp_sync();
    }
    const uint32_t all = warp_add(distortion), mode_bits = warp_add(bits);
    if (lane == 0) {
        c.distortion = all;
        c.mode_bits = mode_bits;
    }
}

}  // namespace cudaenc::h264
