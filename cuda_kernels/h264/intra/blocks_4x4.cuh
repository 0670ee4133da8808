// SPDX-License-Identifier: LGPL-2.1-or-later
// I_4x4: a step codes the one or two blocks of a diagonal, a half of the warp each: four candidates, four
// lanes each.
#pragma once
#include "blocks_nxn.cuh"

namespace cudaenc::h264 {

// Where neighbour i of a block lies from the corner on; `last` is the last one that there is.
DEVICE int neighbour_4x4(int i, int last) {
    i = min_of(i, last);
    return i < 4 ? (4 - i) * kLumaPitch : i - 4;
}
// Stores the values that predictions consist of, of two blocks. own: the lane's neighbour; lane: of 16. With a whole
// warp.
DEVICE void make_values_4x4(uint32_t own, const Available &a, int bit_depth, int lane, uint16_t *values) {
    const uint32_t previous = warp_shuffle_up(own, 1), next = warp_shuffle_down(own, 1);
    const uint32_t before = lane ? previous : own, after = lane < 12 ? next : own;
    const bool counts = (a.left && lane < 4) || (a.above && lane > 4 && lane < 9);
    const int shift = lane_id() & 16;  // both sums in a word
    const uint32_t sum = warp_add(counts ? own << shift : 0) >> shift & 0xFFFF;
    const uint32_t mean = a.above && a.left   ? (sum + 4) >> 3
                          : a.above || a.left ? (sum + 2) >> 2
                                              : 1u << (bit_depth - 1);
    values[lane] = static_cast<uint16_t>(lane == 13 ? mean : own);
    values[16 + lane] = static_cast<uint16_t>((own + after + 1) >> 1);
    values[32 + lane] = static_cast<uint16_t>((before + 2 * own + after + 2) >> 2);
}

// Blocks of the halves by step, in the order of 6.4.3, 4 bits each. In the first and the last two steps both have the
// same one, which the lower half codes.
constexpr uint64_t kLowerBlocks = 0xFE'DC76'5410, kUpperBlocks = 0xFE'BA98'3210;

template <ChromaFormat F>
DEVICE void code_4x4(const Place &place, WavefrontState<F> &s) {
    constexpr int kComponents = luma_components(F);
    Candidate<F> &c = s.candidates[static_cast<int>(MacroblockType::i4x4)];
    const MacroblockSource<F> &source = s.sources[place.x & 1];
    begin_candidate(place, s, c);
    const int lane = lane_id(), half = lane >> 4, in_half = lane & 15, candidate = in_half >> 2, column = lane & 3;
    const uint32_t half_offset = half ? 0x01010101u * sizeof s.values_4x4[0][0] : 0;
    const uint64_t blocks = half ? kUpperBlocks : kLowerBlocks;
    const int neighbour = neighbour_4x4(in_half, 12), neighbour_without_right = neighbour_4x4(in_half, 8);
    const uint32_t price = estimated_price(place.qp->lambda);
    ChosenColumns chosen;
    CUDAENC_NO_UNROLL
    for (int step = 0; step < 10; step++) {
        const int b = static_cast<int>(blocks >> 4 * step & 15), bx = luma_block_x(b), by = luma_block_y(b);
        const bool coded = half == 0 || (step > 1 && step < 8);
        const int corner = 4 * by * kLumaPitch + 4 * bx;
        const Available a = available_4x4(place.available, b);
        CUDAENC_UNROLL
        for (int k = 0; k < kComponents; k++)
            make_values_4x4(c.components[k].samples[corner + (a.above_right ? neighbour : neighbour_without_right)], a,
                            place.bit_depth, in_half, s.values_4x4[k][half]);
        const int predicted = predicted_mode(c, bx, by);
        const int mode = mode_of_candidate(candidate, predicted, source.ranked.of_4x4[b]);
        warp_sync();

        const uint32_t offsets[] = {word_of(s.predicted_4x4, 4 * mode + column) + half_offset};
        CandidateColumn<4> of_candidate[kComponents];
        uint32_t cost = 0;
        CUDAENC_UNROLL
        for (int k = 0; k < kComponents; k++)
            cost += of_candidate[k].code(s.values_4x4[k][0], offsets, source.luma[k] + 64 * by + 4 * bx + column,
                                         place.quantiser(k), column, place.most, price);
        cost += column == 0 ? price * estimated_mode_bits(mode == predicted) : 0;
        if (is_best<4, kComponents>(cost, candidate) && coded) {
            CUDAENC_UNROLL
            for (int k = 0; k < kComponents; k++) {
                of_candidate[k].store(c.components[k].levels + 16 * b + 4 * column,
                                      c.components[k].samples + corner + kLumaPitch + 1 + column);
                chosen.add(of_candidate[k], b >> 2);
            }
            if (column == 0) {
                c.modes[kGrid * (1 + by) + 1 + bx] = static_cast<int8_t>(mode);
                c.syntax[b] = mode_syntax(mode, predicted);
                chosen.mode_bits += mode == predicted ? 1 : 4;
            }
        }
        warp_sync();
    }
    chosen.store(c);
}

}  // namespace cudaenc::h264
