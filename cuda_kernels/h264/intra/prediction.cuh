// SPDX-License-Identifier: LGPL-2.1-or-later
// Predictions of whole macroblocks: I_16x16 and chroma.
#pragma once
#include "lines.cuh"

namespace cudaenc::h264 {

// A prediction of a macroblock's component: the sample of column x and row y is at[x step_x + y step_y].
struct MacroblockPrediction {
    const uint16_t *at;
    int step_x, step_y;
    DEVICE_MEMBER int32_t operator()(int x, int y) const { return at[x * step_x + y * step_y]; }
};
// samples: with row 0 above and column 0 to the left, in rows of `pitch`; mean: one sample; plane: in rows of `width`.
DEVICE MacroblockPrediction make_prediction(int mode, const uint16_t *samples, int pitch, const uint16_t *mean,
                                            const uint16_t *plane, int width) {
    MacroblockPrediction p{mean, 0, 0};
    if (mode == k16x16Vertical) p = {samples + 1, 1, 0};
    if (mode == k16x16Horizontal) p = {samples + pitch, 0, pitch};
    if (mode == k16x16Plane) p = {plane, 1, width};
    return p;
}
// The sums of (i + 1) (sample[middle + i] - sample[middle - 2 - i]), of 4 or 8 terms a direction; sample -1 is the
// corner.
DEVICE int32_t slope_of(const uint16_t *corner, int step, int size) {
    int32_t sum = 0;
    CUDAENC_NO_UNROLL
    for (int i = 0; i < size / 2; i++)
        sum += (i + 1) * (int32_t{corner[(size / 2 + 1 + i) * step]} - int32_t{corner[(size / 2 - 1 - i) * step]});
    return ((size == 16 ? 5 : 34) * sum + 32) >> 6;
}
// Plane prediction (8.3.3.4, 8.3.4.4). One lane finds the slope of columns, another one that of rows. With a whole
// warp.
template <int Width, int Height>
DEVICE void make_plane(const uint16_t *samples, int pitch, int32_t most, uint16_t *plane) {
    const int lane = lane_id();
    int32_t slope = 0;
    if (lane < 2) slope = slope_of(samples, lane ? pitch : 1, lane ? Height : Width);
    const int32_t a = 16 * (int32_t{samples[Height * pitch]} + int32_t{samples[Width]}) + 16,
                  b = warp_shuffle(slope, 0), c = warp_shuffle(slope, 1);
    CUDAENC_NO_UNROLL
    for (int i = lane; i < Width * Height; i += 32)
        plane[i] = static_cast<uint16_t>(
            clip((a + b * (i % Width - Width / 2 + 1) + c * (i / Width - Height / 2 + 1)) >> 5, most));
}
// Differences of a 4x4 block at (x, y) to the source.
DEVICE void get_pairs(const MacroblockPrediction &predict, const uint16_t *source, int source_pitch, int x, int y,
                      uint32_t (&pairs)[4][2]) {
    CUDAENC_UNROLL
    for (int j = 0; j < 4; j++) CUDAENC_UNROLL
    for (int i = 0; i < 2; i++)
        pairs[j][i] = pair_of(static_cast<uint32_t>(predict(x + 2 * i, y + j)),
                              static_cast<uint32_t>(predict(x + 2 * i + 1, y + j))) -
                      pair_at(source + (y + j) * source_pitch + x + 2 * i);
}

// A column of a 4x4 block whose DC is coded apart. x, y: its first sample.
struct AcColumn {
    MacroblockPrediction predict;
    const uint16_t *source;
    int source_pitch, x, y, column;
    DEVICE_MEMBER int32_t sample(int i) const { return source[(y + i) * source_pitch + x]; }

    // To row `column` of levels, in v and in memory, without that of DC; to its coefficient. Returns packed_level() of
    // all.
    DEVICE_MEMBER uint32_t code(const Quantiser &quantiser, int32_t (&v)[4], int32_t &dc, int16_t *levels,
                                int32_t rounding = kRounding.ac) const {
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) v[i] = sample(i) - predict(x, y + i);
        forward_lines(v);
        if (column == 0) dc = v[0];
        quantise_line(v, quantiser.multiplier_4x4, quantiser.shift_4x4, column, rounding, rounding);
        if (column == 0) v[0] = 0;
        LevelLine<4> line;
        line.pack(v);
        line.store(levels + 4 * column);
        uint32_t sums = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) sums += packed_level(v[i]);
        return sums;
    }
    // From there, with the DC scaled, to the reconstruction; returns the sum of squared differences to the source.
    // scale_shift: that of the quantiser.
    DEVICE_MEMBER uint32_t reconstruct(const Quantiser &quantiser, int32_t scale_shift, int32_t (&v)[4], int32_t dc,
                                       int32_t most, uint16_t *to, int pitch) const {
        int32_t prediction[4], own[4];
        scale_line(v, quantiser.scale_4x4, scale_shift, column);
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            prediction[i] = predict(x, y + i);
            own[i] = sample(i);
        }
        if (column == 0) v[0] = dc;
        inverse_lines(v);
        const uint32_t squares = reconstruct_column(v, prediction, own, most);
        store_column(v, to + y * pitch + x, pitch);
        return squares;
    }
};

}  // namespace cudaenc::h264
