// SPDX-License-Identifier: LGPL-2.1-or-later
// Intra 16x16 and chroma of macroblocks side by side.
// No includes: see lane_coder.h.
#pragma once

namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE {

namespace {

inline int32_t ue_bits(int v) { return 2 * floor_log2(static_cast<uint32_t>(v + 1)) + 1; }

// The mode of the least cost, the first of equals. order: the modes. available: masks, by mode.
[[gnu::always_inline]] inline Lanes choose_mode(const Work &w, int first_value, const SharedMode (&order)[4],
                                                const Lanes (&available)[4], const Wide (&satds)[kSharedModes]) {
    Wide least = all_wide(INT32_MAX);
    Lanes best{};
#pragma GCC unroll 4
    for (int mode = 0; mode < 4; mode++) {
        const Wide bits = (w.satd_lambda * ue_bits(first_value + mode)) >> 8;
        const Wide cost = select(widen(available[mode]), satds[order[mode]] + bits, all_wide(INT32_MAX));
        const Wide less = cost < least;
        least = select(less, cost, least);
        best = narrow(less) ? all(mode) : best;
    }
    return best;
}

// A component as Intra 16x16. Returns the squared error; adds masks of nonzero AC levels to `coded`.
template <int Depth>
[[gnu::always_inline]] inline Wide code_component_16x16(Work &w, Candidate &c, int component,
                                                        const Lanes (&prediction)[256], Lanes &coded) {
    const int kind = component ? 1 : 0;
    const LaneQuantiser<4> &q = w.quantisers_4x4[kind];
    const Lanes *const source = w.source[component];
    Lanes *const levels = c.levels[component];
    Wide dc[16];
    bool any_ac[16];
    for (int b = 0; b < 16; b++) {
        const int x = luma_block_x(b), y = luma_block_y(b), at = 64 * y + 4 * x;
        Sums sums{};
        dc[4 * y + x] = widen(code_ac<Depth>(source + at, prediction + at, 16, q, levels + 16 * b, sums));
        c.bits += widen(sums.magnitudes + sums.nonzero + sums.nonzero);
        c.nonzero += widen(sums.nonzero);
        coded |= sums.nonzero;
        any_ac[b] = any_of(sums.nonzero);
    }
    const auto transform = [](Wide(&v)[16]) __attribute__((always_inline)) {
        for (int x = 0; x < 4; x++) {
            Wide line[4] = {v[x], v[4 + x], v[8 + x], v[12 + x]};
            apply(line, hadamard_line);
            for (int i = 0; i < 4; i++) v[4 * i + x] = line[i];
        }
        for (int y = 0; y < 4; y++) {
            Wide line[4] = {v[4 * y], v[4 * y + 1], v[4 * y + 2], v[4 * y + 3]};
            apply(line, hadamard_line);
            for (int i = 0; i < 4; i++) v[4 * y + i] = line[i];
        }
    };
    code_dc(dc, w.dc_quantisers[kind], 2, transform, levels + 256, c.bits, c.nonzero);
    Wide distortion = all_wide(0);
    for (int b = 0; b < 16; b++) {
        const int x = luma_block_x(b), y = luma_block_y(b), at = 64 * y + 4 * x;
        const Wide scaled = (dc[4 * y + x] * w.dc_quantisers[kind].scale + 32) >> 6;
        distortion += reconstruct_ac<Depth>(levels + 16 * b, any_ac[b], scaled, q, prediction + at, source + at, 16,
                                            c.reconstruction[component] + at);
    }
    return distortion;
}

template <int Components, int Depth>
[[gnu::always_inline]] inline void code_16x16(Work &w, Candidate &c) {
    const Neighbours &n = w.available;
    Lanes means[Components], planes[Components][256];
#pragma GCC unroll 1
    for (int i = 0; i < Components; i++) predict_16x16<Depth>(w.luma[i], n, means[i], planes[i]);
    const Lanes available[4] = {n.above, n.left, all(-1), n.corner};
    Wide satds[kSharedModes] = {all_wide(0), all_wide(0), all_wide(0), all_wide(0)};
#pragma GCC unroll 1
    for (int i = 0; i < Components; i++)
        add_half_satds<16, 16>(
            w.source[i], w.luma[i], [&](int, int) __attribute__((always_inline)) { return means[i]; }, planes[i],
            satds);
    const Lanes mode = choose_mode(w, 1, {kFromAbove, kFromLeft, kMean, kPlane}, available, satds);
    const Lanes is_vertical = is(mode, k16x16Vertical), is_horizontal = is(mode, k16x16Horizontal),
                is_dc = is(mode, k16x16Dc);
    begin(c);
    c.pred_modes[0] = mode;
    Lanes coded{};
#pragma GCC unroll 1
    for (int i = 0; i < Components; i++) {
        Lanes prediction[256];
        for (int y = 0; y < 16; y++) {
            const Lanes from_left = *w.luma[i].at(-1, y);
            for (int x = 0; x < 16; x++) {
                Lanes p = is_dc ? means[i] : planes[i][16 * y + x];
                p = is_horizontal ? from_left : p;
                prediction[16 * y + x] = is_vertical ? *w.luma[i].at(x, -1) : p;
            }
        }
        c.distortion += code_component_16x16<Depth>(w, c, i, prediction, coded);
        if (!i) c.of_luma = c.distortion;
    }
    c.coded = coded != 0 ? all(15) : Lanes{};
}

// The DC predictions of 4x4 blocks of chroma, in raster order.
template <int Rows, int Depth>
[[gnu::always_inline]] inline void predict_chroma_dc(ChromaSamples &s, const Neighbours &n, Lanes (&dcs)[Rows / 2]) {
    Lanes left[Rows / 4]{}, above[2]{};
    for (int i = 0; i < Rows; i++) left[i / 4] += *s.at(-1, i);
    for (int i = 0; i < 8; i++) above[i / 4] += *s.at(i, -1);
    const auto only = [](const Lanes &sum) __attribute__((always_inline)) { return (sum + 2) >> 2; };
    for (int b = 0; b < Rows / 2; b++) {
        const int x = b % 2, y = b / 2;
        const Lanes mean = mean_of<4, Depth>(left[y] & n.left, above[x] & n.above, n);
        dcs[b] = !x == !y ? mean : x ? (n.above ? only(above[1]) : mean) : (n.left ? only(left[y]) : mean);
    }
}

// 8.5.11.1: 2 columns, 2 or 4 rows.
[[gnu::always_inline]] inline void hadamard_chroma_dc(Wide (&v)[4]) {
    const Wide a = v[0] + v[1], b = v[0] - v[1], c = v[2] + v[3], d = v[2] - v[3];
    v[0] = a + c, v[1] = b + d, v[2] = a - c, v[3] = b - d;
}
[[gnu::always_inline]] inline void hadamard_chroma_dc(Wide (&v)[8]) {
    Wide columns[2][4];
    for (int y = 0; y < 4; y++) {
        columns[0][y] = v[2 * y] + v[2 * y + 1];
        columns[1][y] = v[2 * y] - v[2 * y + 1];
    }
    apply(columns[0], hadamard_line);
    apply(columns[1], hadamard_line);
    for (int i = 0; i < 8; i++) v[i] = columns[i % 2][i / 2];
}

// Levels of Cb or Cr from its prediction, and the reconstruction. Adds masks of nonzero AC levels to `coded`, and how
// many DC levels are nonzero.
template <int Rows, int Depth>
[[gnu::always_inline]] inline void code_chroma_component(Work &w, int component, const Lanes (&prediction)[8 * Rows],
                                                         Lanes &coded, Wide &any_dc) {
    constexpr int blocks = Rows / 2;
    const LaneQuantiser<4> &q = w.quantisers_4x4[1];
    const LaneDcQuantiser &dc_quantiser = w.dc_quantisers[1];
    const Lanes *const source = w.chroma_source[component];
    Wide dc[blocks];
    bool any_ac[blocks];
    Lanes *const ac = w.chroma_levels + 16 + 16 * blocks * component;
    for (int b = 0; b < blocks; b++) {
        const int at = b / 2 * 32 + b % 2 * 4;
        Sums sums{};
        dc[b] = widen(code_ac<Depth>(source + at, prediction + at, 8, q, ac + 16 * b, sums));
        w.chroma_bits += widen(sums.magnitudes + sums.nonzero + sums.nonzero);
        w.chroma_nonzero += widen(sums.nonzero);
        coded |= sums.nonzero;
        any_ac[b] = any_of(sums.nonzero);
    }
    const auto transform = [](Wide(&v)[blocks]) __attribute__((always_inline)) { hadamard_chroma_dc(v); };
    code_dc(dc, dc_quantiser, 1, transform, w.chroma_levels + 8 * component, w.chroma_bits, any_dc);
    for (int b = 0; b < blocks; b++) {
        const int at = b / 2 * 32 + b % 2 * 4;
        const Wide product = dc[b] * dc_quantiser.scale;
        reconstruct_ac<Depth>(ac + 16 * b, any_ac[b], Rows == 8 ? product >> 5 : (product + 32) >> 6, q,
                              prediction + at, source + at, 8, w.chroma_reconstruction[component] + at);
    }
}

template <int Rows, int Depth>
[[gnu::always_inline]] inline void code_chroma(Work &w) {
    const Neighbours &n = w.available;
    const Lanes available[4] = {all(-1), n.left, n.above, n.corner};
    Lanes dcs[2][Rows / 2], planes[2][8 * Rows];
    for (int c = 0; c < 2; c++) {
        predict_chroma_dc<Rows, Depth>(w.chroma[c], n, dcs[c]);
        predict_plane<8, Rows, Depth>(w.chroma[c], planes[c]);
    }
    Wide satds[kSharedModes] = {all_wide(0), all_wide(0), all_wide(0), all_wide(0)};
    for (int c = 0; c < 2; c++)
        add_half_satds<8, Rows>(
            w.chroma_source[c], w.chroma[c],
            [&](int x, int y) __attribute__((always_inline)) { return dcs[c][2 * y + x]; }, planes[c], satds);
    const Lanes mode = choose_mode(w, 0, {kMean, kFromLeft, kFromAbove, kPlane}, available, satds);
    w.chroma_mode = mode;
    const Lanes is_vertical = is(mode, kChromaVertical), is_horizontal = is(mode, kChromaHorizontal),
                is_dc = is(mode, kChromaDc);
    Lanes any_ac{};
    Wide any_dc = all_wide(0);
    for (int i = 0; i < 16; i++) w.chroma_levels[i] = Lanes{};  // DC; all of AC is written
    for (int c = 0; c < 2; c++) {
        Lanes prediction[8 * Rows];
        for (int i = 0; i < 8 * Rows; i++) {
            const int x = i % 8, y = i / 8;
            Lanes p = is_dc ? dcs[c][y / 4 * 2 + x / 4] : planes[c][i];
            p = is_horizontal ? *w.chroma[c].at(-1, y) : p;
            prediction[i] = is_vertical ? *w.chroma[c].at(x, -1) : p;
        }
        code_chroma_component<Rows, Depth>(w, c, prediction, any_ac, any_dc);
    }
    w.chroma_coded = any_ac != 0 ? all(2) : narrow(all_wide(0) < any_dc) ? all(1) : Lanes{};
    w.chroma_nonzero += any_dc;
}

}  // namespace

}  // namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE
