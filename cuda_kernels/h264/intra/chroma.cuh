// SPDX-License-Identifier: LGPL-2.1-or-later
// Chroma of 4:2:0 and 4:2:2, with a warp.
#pragma once
#include "neighbours.cuh"
#include "prediction.cuh"

namespace cudaenc::h264 {

// 8.5.11.1: 2 columns, 2 or 4 rows.
template <int Rows>
DEVICE void hadamard_chroma_dc(int32_t (&dc)[2 * Rows]) {
    CUDAENC_UNROLL
    for (int y = 0; y < Rows; y++) {
        int32_t row[2] = {dc[2 * y], dc[2 * y + 1]};
        hadamard_transform(row);
        dc[2 * y] = row[0], dc[2 * y + 1] = row[1];
    }
    CUDAENC_UNROLL
    for (int x = 0; x < 2; x++) {
        int32_t column[Rows];
        CUDAENC_UNROLL
        for (int y = 0; y < Rows; y++) column[y] = dc[2 * y + x];
        hadamard_transform(column);
        CUDAENC_UNROLL
        for (int y = 0; y < Rows; y++) dc[2 * y + x] = column[y];
    }
}

// 8.5.11: the DC coefficients of a component become levels, then what these add to each of its blocks. By one lane.
template <int Blocks>
DEVICE LevelSums code_chroma_dc(const QpChoice &qp, int32_t *dc, int16_t *levels, int32_t rounding = kRounding.dc) {
    int32_t v[Blocks];
    CUDAENC_UNROLL
    for (int i = 0; i < Blocks; i++) v[i] = dc[i];
    hadamard_chroma_dc<Blocks / 2>(v);
    LevelSums sums{0, 0};
    CUDAENC_UNROLL
    for (int i = 0; i < Blocks; i++) {
        v[i] = quantise_dc(v[i], load_readonly(qp.chroma_dc.multiplier_4x4), qp.chroma_dc.shift_4x4 + 1, rounding);
        levels[i] = static_cast<int16_t>(v[i]);
        sums = sums + unpacked_sums(packed_level(v[i]));
    }
    hadamard_chroma_dc<Blocks / 2>(v);
    CUDAENC_UNROLL
    for (int i = 0; i < Blocks; i++) {
        const int32_t scaled = v[i] * qp.chroma_dc.dc_scale;
        dc[i] = Blocks == 4 ? scaled >> 5 : (scaled + 32) >> 6;
    }
    return sums;
}

template <ChromaFormat F>
DEVICE void begin_chroma(const Place &place, WavefrontState<F> &s) {
    constexpr int kHeight = ChromaCandidate<F>::kHeight;
    ChromaCandidate<F> &c = s.chroma;
    const int lane = lane_id();
    const uint16_t *above = s.records[place.x & 3], *before = s.records[(place.x + 3) & 3];
    if (lane < 18) {
        const int component = lane / 9, i = lane % 9;
        c.samples[component][i] = i ? above[16 + 8 * component + i - 1] : before[16 + 8 * component + 7];
    }
    if (lane < 2 * kHeight) {
        const int component = lane / kHeight, i = lane % kHeight;
        c.samples[component][(1 + i) * kChromaPitch] = s.left_chroma[component][i];
    }
    warp_sync();
}

// The mean for a 4x4 block of chroma (8.3.4.1 to 8.3.4.3), at column x and row y of blocks.
DEVICE int32_t chroma_dc(const uint16_t *samples, const Available &a, int bit_depth, int x, int y) {
    const bool above = a.above && !(a.left && x == 0 && y > 0), left = a.left && !(a.above && x > 0 && y == 0);
    uint32_t sum = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++) {
        sum += above ? uint32_t{samples[1 + 4 * x + i]} : 0;
        sum += left ? uint32_t{samples[(1 + 4 * y + i) * kChromaPitch]} : 0;
    }
    return static_cast<int32_t>(above && left   ? (sum + 4) >> 3
                                : above || left ? (sum + 2) >> 2
                                                : 1u << (bit_depth - 1));
}

// Chroma of 4:2:0 or 4:2:2. Items are the 4x4 blocks of Cb, then of Cr, 8 a round. Scaled: there are scaling lists.
template <bool Scaled, ChromaFormat F>
DEVICE void code_chroma(const Place &place, WavefrontState<F> &s) {
    constexpr int kBlocks = chroma_blocks(F), kHeight = 2 * kBlocks, kRounds = kBlocks / 4;
    ChromaCandidate<F> &c = s.chroma;
    const MacroblockSource<F> &source = s.sources[place.x & 1];
    begin_chroma(place, s);
    const int lane = lane_id(), column = lane & 3;
    const Available &a = place.available;
    const QpChoice &qp = *place.qp;
    make_plane<8, kHeight>(c.samples[0], kChromaPitch, place.most, s.chroma_plane[0]);
    make_plane<8, kHeight>(c.samples[1], kChromaPitch, place.most, s.chroma_plane[1]);
    if (lane < 2 * kBlocks)
        s.chroma_means[lane] = static_cast<uint16_t>(
            chroma_dc(c.samples[lane / kBlocks], a, place.bit_depth, lane % kBlocks & 1, lane % kBlocks >> 1));
    warp_sync();
    const auto prediction_of = [&](int mode, int item) {
        const int component = item / kBlocks;
        return make_prediction(mode, c.samples[component], kChromaPitch, s.chroma_means + item,
                               s.chroma_plane[component], 8);
    };

    int chroma_mode = lane >> 3;
    uint32_t satd = 0;
    const int own_mode = mode_of_chroma(chroma_mode);
    CUDAENC_NO_UNROLL
    for (int round = 0; round < kRounds; round++) {
        const int item = 8 * round + (lane & 7), component = item / kBlocks, b = item % kBlocks;
        uint32_t pairs[4][2];
        get_pairs(prediction_of(own_mode, item), source.chroma[component], 8, 4 * (b & 1), 4 * (b >> 1), pairs);
        satd += half_satd(pairs);
    }
    satd = sum_of_lanes<7>(satd);
    const uint32_t mode_cost = mode_16x16_available(own_mode, a)
                                   ? ((qp.satd_lambda * mode_bits(static_cast<uint32_t>(chroma_mode))) >> 8) + satd
                                   : kNotAvailable;
    chroma_mode = static_cast<int>(least_of_lanes<24>(mode_cost << 4 | static_cast<uint32_t>(chroma_mode)) & 15);
    const int mode = mode_of_chroma(chroma_mode);

    const auto column_of = [&](int item) {
        const int component = item / kBlocks, b = item % kBlocks;
        return AcColumn{
            prediction_of(mode, item), source.chroma[component], 8, 4 * (b & 1) + column, 4 * (b >> 1), column};
    };
    if (lane < 16) c.levels[lane] = 0;
    LevelSums ac{0, 0}, dc_sums{0, 0};
    int32_t rows[kRounds][4];
    CUDAENC_UNROLL
    for (int round = 0; round < kRounds; round++) {
        const int item = 8 * round + (lane >> 2);
        ac = ac + unpacked_sums(column_of(item).code(qp.chroma, rows[round], c.dc[item / kBlocks][item % kBlocks],
                                                     c.levels + 16 * (1 + item)));
    }
    warp_sync();
    if (lane < 2) dc_sums = code_chroma_dc<kBlocks>(qp, c.dc[lane], c.levels + 8 * lane);
    warp_sync();
    uint32_t distortion = 0;
    CUDAENC_UNROLL
    for (int round = 0; round < kRounds; round++) {
        const int item = 8 * round + (lane >> 2), component = item / kBlocks;
        distortion += column_of(item).reconstruct(qp.chroma, Scaled ? qp.chroma.scale_shift_4x4 : 0, rows[round],
                                                  c.dc[component][item % kBlocks], place.most,
                                                  c.samples[component] + kChromaPitch + 1, kChromaPitch);
    }
    distortion = warp_add(distortion);
    const uint32_t bits = warp_add(ac.bits + dc_sums.bits), two = warp_add(ac.nonzero << 16 | dc_sums.nonzero);
    if (lane == 0) {
        c.mode = static_cast<uint32_t>(chroma_mode);
        c.distortion = distortion;
        c.coded = two >> 16 ? 2 : two ? 1 : 0;
        c.sums = {bits, (two >> 16) + (two & 0xFFFF)};
    }
}

}  // namespace cudaenc::h264
