// SPDX-License-Identifier: LGPL-2.1-or-later
// Modes of I_4x4 and I_8x8.
#pragma once
#include "lines.cuh"
#include "neighbours.cuh"

namespace cudaenc::h264 {

template <ChromaFormat F>
DEVICE int predicted_mode(const Candidate<F> &c, int column, int row) {
    const int left = c.modes[kGrid * (1 + row) + column], above = c.modes[kGrid * row + 1 + column];
    return left < 0 || above < 0 ? int{kDc} : min_of(left, above);
}
DEVICE uint8_t mode_syntax(int mode, int predicted) {
    return static_cast<uint8_t>(mode == predicted ? kPredictedMode : mode < predicted ? mode : mode - 1);
}
// The predicted mode, or one that is likely from source samples.
DEVICE int mode_of_candidate(int candidate, int predicted, uint32_t ranked) {
    return candidate ? ranked_mode(ranked, candidate - 1) : predicted;
}
constexpr uint32_t kModeCandidates = 1 + kRankedModes;
static_assert(kModeCandidates == 4);

// Column `column` of a block that is coded as one of its candidates, which have N lanes each.
template <int N>
struct CandidateColumn {
    int32_t samples[N];
    LevelLine<N> levels;
    uint32_t squares, sums;  // sums: packed_level() of all levels

    // offsets: of the predicted values; source: of the column, in rows of 16. Returns the column's share of the cost.
    DEVICE_MEMBER uint32_t code(const uint16_t *values, const uint32_t (&offsets)[N / 4], const uint16_t *source,
                                const Quantiser &quantiser, int column, int32_t most, uint32_t price) {
        int32_t prediction[N], own[N];
        CUDAENC_UNROLL
        for (int i = 0; i < N; i++) {
            prediction[i] = static_cast<int32_t>(sample_at(values, byte_of(offsets[i / 4], i % 4)));
            own[i] = source[16 * i];
            samples[i] = own[i] - prediction[i];
        }
        forward_lines(samples);
        quantise_line(samples, N == 4 ? quantiser.multiplier_4x4 : quantiser.multiplier_8x8,
                      N == 4 ? quantiser.shift_4x4 : quantiser.shift_8x8, column);
        sums = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < N; i++) sums += packed_level(samples[i]);
        levels.pack(samples);
        scale_line(samples, N == 4 ? quantiser.scale_4x4 : quantiser.scale_8x8, N == 4 ? 0 : 6, column);
        inverse_lines(samples);
        squares = reconstruct_column(samples, prediction, own, most);
        return estimated_cost(squares, price, unpacked_sums(sums).bits);
    }
    DEVICE_MEMBER void store(int16_t *to_levels, uint16_t *to_samples) const {
        levels.store(to_levels);
        store_column(samples, to_samples, kLumaPitch);
    }
};

// What a lane's columns of the chosen candidates add up to.
struct ChosenColumns {
    uint32_t distortion = 0, mode_bits = 0, pattern = 0;
    LevelSums sums{0, 0};

    // quarter: the 8x8 block.
    template <int N>
    DEVICE_MEMBER void add(const CandidateColumn<N> &column, int quarter) {
        distortion += column.squares;
        sums = sums + unpacked_sums(column.sums);
        pattern |= static_cast<uint32_t>(column.sums != 0) << quarter;
    }
    // With a whole warp.
    template <ChromaFormat F>
    DEVICE_MEMBER void store(Candidate<F> &c) const {
        const uint32_t all_distortion = warp_add(distortion), all_bits = warp_add(sums.bits),
                       two = warp_add(sums.nonzero << 16 | mode_bits), coded = warp_or(pattern);
        if (lane_id() != 0) return;
        c.distortion = all_distortion;
        c.mode_bits = two & 0xFFFF;
        c.pattern = coded;
        c.sums = {all_bits, two >> 16};
    }
};
// Whether the lane's candidate is the one of the least cost, of equal ones the first. With a whole warp.
template <int N, int Components>
DEVICE bool is_best(uint32_t cost, int candidate) {
    const uint32_t sum = sum_of_lanes<N - 1>(cost), own = static_cast<uint32_t>(candidate);
    if constexpr (Components == 1) {  // below 2^30
        const uint32_t key = sum << 2 | own;
        return least_of_lanes<3 * N>(key) == key;
    } else {
        const bool least = least_of_lanes<3 * N>(sum) == sum;
        return least_of_lanes<3 * N>(least ? own : kModeCandidates) == own;
    }
}

}  // namespace cudaenc::h264
