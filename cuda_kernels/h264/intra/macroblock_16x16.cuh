// SPDX-License-Identifier: LGPL-2.1-or-later
// I_16x16, with a warp.
#pragma once
#include "neighbours.cuh"
#include "prediction.cuh"

namespace cudaenc::h264 {

// The predictions but those that are neighbours: plane has 256 samples, mean one. With a whole warp.
DEVICE void predict_16x16(const Place &place, const uint16_t *samples, uint16_t *plane, uint16_t *mean) {
    const int lane = lane_id();
    const Available &a = place.available;
    make_plane<16, 16>(samples, kLumaPitch, place.most, plane);
    const bool counts = lane < 16 ? a.above : a.left;
    const uint32_t sum = warp_add(counts ? uint32_t{samples[lane < 16 ? 1 + lane : (lane - 15) * kLumaPitch]} : 0);
    if (lane == 0)
        *mean = static_cast<uint16_t>(a.left && a.above   ? (sum + 16) >> 5
                                      : a.left || a.above ? (sum + 8) >> 4
                                                          : 1u << (place.bit_depth - 1));
}
// The cheapest mode, below the least cost: 16 cost + mode, of equal costs the first one. satd_of(mode, b): half the
// SATD of 4x4 block b, in raster order; satd_lambda: what the bits of a mode are worth. With a whole warp.
template <class SatdOf>
DEVICE uint32_t cheapest_16x16(const Available &available, uint32_t satd_lambda, const SatdOf &satd_of) {
    uint32_t least = ~0u;
    CUDAENC_NO_UNROLL
    for (int round = 0; round < 2; round++) {
        const int mode = 2 * round + (lane_id() >> 4);
        const uint32_t satd = sum_of_lanes<15>(satd_of(mode, lane_id() & 15));
        const uint32_t cost = mode_16x16_available(mode, available)
                                  ? ((satd_lambda * mode_bits(static_cast<uint32_t>(1 + mode))) >> 8) + satd
                                  : kNotAvailable;
        least = min_of(least, cost << 4 | static_cast<uint32_t>(mode));
    }
    return least_of_lanes<16>(least);
}

// Codes component k as the mode that `predict` is of. Adds the lane's share of the levels to `ac` and `dc_sums`, and
// returns that of the squared error.
template <ChromaFormat F>
DEVICE uint32_t code_component_16x16(const Place &place, WavefrontState<F> &s, int k,
                                     const MacroblockPrediction &predict, CodedComponent &c, LevelSums &ac,
                                     LevelSums &dc_sums) {
    const int lane = lane_id(), column = lane & 3;
    const MacroblockSource<F> &source = s.sources[place.x & 1];
    const Quantiser &quantiser = place.quantiser(k);
    int32_t *dc = s.dc[k];
    const auto column_of = [&](int bx, int by) {
        return AcColumn{predict, source.luma[k], 16, 4 * bx + column, 4 * by, column};
    };
    int32_t rows[2][4];
    CUDAENC_UNROLL
    for (int round = 0; round < 2; round++) {
        const int b = 8 * round + (lane >> 2), bx = luma_block_x(b), by = luma_block_y(b);
        ac = ac + unpacked_sums(column_of(bx, by).code(quantiser, rows[round], dc[4 * by + bx], c.levels + 16 * b));
    }
    warp_sync();
    {
        const auto hadamard = [](auto &line) __attribute__((always_inline)) { hadamard_transform(line); };
        int32_t v[4];
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) v[i] = dc[4 * i + column];
        both_ways(v, hadamard);
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            v[i] = quantise_dc(v[i], load_readonly(quantiser.multiplier_4x4), quantiser.shift_4x4 + 2);
            if (lane < 4) {
                c.levels[256 + 4 * column + i] = static_cast<int16_t>(v[i]);
                dc_sums = dc_sums + unpacked_sums(packed_level(v[i]));
            }
        }
        both_ways(v, hadamard);
        warp_sync();
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++)
            if (lane < 4) dc[4 * i + column] = (v[i] * quantiser.dc_scale + 32) >> 6;
    }
    warp_sync();
    uint32_t distortion = 0;
    CUDAENC_UNROLL
    for (int round = 0; round < 2; round++) {
        const int b = 8 * round + (lane >> 2), bx = luma_block_x(b), by = luma_block_y(b);
        distortion += column_of(bx, by).reconstruct(quantiser, 0, rows[round], dc[4 * by + bx], place.most,
                                                    c.samples + kLumaPitch + 1, kLumaPitch);
    }
    return distortion;
}

template <ChromaFormat F>
DEVICE void code_16x16(const Place &place, WavefrontState<F> &s) {
    constexpr int kComponents = luma_components(F);
    Candidate<F> &c = s.candidates[static_cast<int>(MacroblockType::i16x16)];
    const MacroblockSource<F> &source = s.sources[place.x & 1];
    begin_candidate(place, s, c);
    const int lane = lane_id();
    const QpChoice &qp = *place.qp;
    const auto prediction_of = [&](int mode, int k) {
        return make_prediction(mode, c.components[k].samples, kLumaPitch, s.mean + k, s.plane[k], 16);
    };
    CUDAENC_NO_UNROLL
    for (int k = 0; k < kComponents; k++) predict_16x16(place, c.components[k].samples, s.plane[k], s.mean + k);
    warp_sync();
    const auto satd_of = [&](int mode, int b) __attribute__((always_inline)) {
        uint32_t satd = 0;
        CUDAENC_NO_UNROLL
        for (int k = 0; k < kComponents; k++) {
            uint32_t pairs[4][2];
            get_pairs(prediction_of(mode, k), source.luma[k], 16, 4 * (b & 3), 4 * (b >> 2), pairs);
            satd += half_satd(pairs);
        }
        return satd;
    };
    const int mode = static_cast<int>(cheapest_16x16(place.available, qp.satd_lambda, satd_of) & 15);
    uint32_t distortion = 0;
    LevelSums ac{0, 0}, dc{0, 0};
    CUDAENC_NO_UNROLL
    for (int k = 0; k < kComponents; k++)
        distortion += code_component_16x16(place, s, k, prediction_of(mode, k), c.components[k], ac, dc);

    if (lane < 16) c.modes[kGrid * (1 + (lane >> 2)) + 1 + (lane & 3)] = kDc;
    distortion = warp_add(distortion);
    const uint32_t bits = warp_add(ac.bits + dc.bits), two = warp_add(ac.nonzero << 16 | dc.nonzero);
    if (lane != 0) return;
    c.mode = static_cast<uint32_t>(mode);
    c.mode_bits = 0;
    c.distortion = distortion;
    c.pattern = two >> 16 ? 15 : 0;
    c.sums = {bits, (two >> 16) + (two & 0xFFFF)};
}

}  // namespace cudaenc::h264
