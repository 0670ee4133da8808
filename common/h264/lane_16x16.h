// Intra 16x16 and chroma of macroblocks side by side. SPDX-License-Identifier: LGPL-2.1-or-later
// No include guard, no includes: see lane_coder.h.

namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE {

namespace {

inline int32_t ue_bits(int v) { return 2 * floor_log2(static_cast<uint32_t>(v + 1)) + 1; }

// The mode of the least cost, the first of equals: satd(mode), and masks of those that are available.
template <class Satd>
[[gnu::always_inline]] inline Lanes choose_mode(const Work &w, int first_value, const Lanes (&available)[4],
                                                const Satd &satd) {
    Wide least = all_wide(INT32_MAX);
    Lanes best{};
#pragma GCC unroll 4
    for (int mode = 0; mode < 4; mode++) {
        const Wide bits = (w.satd_lambda * ue_bits(first_value + mode)) >> 8;
        const Wide cost = select(widen(available[mode]), satd(mode) + bits, all_wide(INT32_MAX));
        const Wide less = cost < least;
        least = select(less, cost, least);
        best = narrow(less) ? all(mode) : best;
    }
    return best;
}

// A component as Intra 16x16. Returns the squared error; adds masks of nonzero AC levels to `coded`.
[[gnu::always_inline]] inline Wide code_component_16x16(Work &w, Candidate &c, int component,
                                                        const Lanes (&prediction)[256], Lanes &coded) {
    const int kind = component ? 1 : 0;
    const LaneQuantiser<4> &q = w.quantisers_4x4[kind];
    const Lanes *const source = w.source[component];
    Lanes *const levels = c.levels[component];
    Wide dc[16];
    for (int b = 0; b < 16; b++) {
        const int x = luma_block_x(b), y = luma_block_y(b), at = 64 * y + 4 * x;
        Sums sums{};
        dc[4 * y + x] = widen(code_ac(source + at, prediction + at, 16, q, levels + 16 * b, sums));
        c.bits += widen(sums.magnitudes + sums.nonzero + sums.nonzero);
        c.nonzero += widen(sums.nonzero);
        coded |= sums.nonzero;
    }
    const auto transform = [](Wide(&v)[16]) __attribute__((always_inline)) {
        for (int x = 0; x < 4; x++) {
            Wide line[4] = {v[x], v[4 + x], v[8 + x], v[12 + x]};
            hadamard(line);
            for (int i = 0; i < 4; i++) v[4 * i + x] = line[i];
        }
        for (int y = 0; y < 4; y++) {
            Wide line[4] = {v[4 * y], v[4 * y + 1], v[4 * y + 2], v[4 * y + 3]};
            hadamard(line);
            for (int i = 0; i < 4; i++) v[4 * y + i] = line[i];
        }
    };
    code_dc(dc, q, 2, transform, levels + 256, c.bits, c.nonzero);
    Wide distortion = all_wide(0);
    for (int b = 0; b < 16; b++) {
        const int x = luma_block_x(b), y = luma_block_y(b), at = 64 * y + 4 * x;
        const Lanes scaled = narrow((dc[4 * y + x] * w.dc_scales[kind] + 32) >> 6);
        distortion += reconstruct_ac(levels + 16 * b, scaled, q, prediction + at, source + at, 16,
                                     c.reconstruction[component] + at);
    }
    return distortion;
}

template <int Components>
[[gnu::always_inline]] inline void code_16x16(Work &w, Candidate &c) {
    const Neighbours &n = w.available;
    Lanes means[Components], planes[Components][256];
#pragma GCC unroll 1
    for (int i = 0; i < Components; i++) {
        Lanes left{}, above{};
        for (int k = 0; k < 16; k++) left += *w.luma[i].at(-1, k), above += *w.luma[i].at(k, -1);
        means[i] = mean_of<16>(left & n.left, above & n.above, n);
        predict_plane<16>(w.luma[i], planes[i]);
    }
    const Lanes available[4] = {n.above, n.left, all(-1), n.corner};
    const Lanes mode = choose_mode(w, 1, available, [&](int m) __attribute__((always_inline)) {
        Wide sum = all_wide(0);
#pragma GCC unroll 1
        for (int i = 0; i < Components; i++)
            sum += half_satds<16>(w.source[i], [&](int x, int y) __attribute__((always_inline)) {
                return m == k16x16Vertical     ? *w.luma[i].at(x, -1)
                       : m == k16x16Horizontal ? *w.luma[i].at(-1, y)
                       : m == k16x16Dc         ? means[i]
                                               : planes[i][16 * y + x];
            });
        return sum;
    });
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
        c.distortion += code_component_16x16(w, c, i, prediction, coded);
        if (!i) c.of_luma = c.distortion;
    }
    c.coded = coded != 0 ? all(15) : Lanes{};
}

[[gnu::always_inline]] inline void code_chroma(Work &w) {
    const Neighbours &n = w.available;
    const Lanes available[4] = {all(-1), n.left, n.above, n.corner};
    Lanes dcs[2][4], planes[2][64];
    for (int c = 0; c < 2; c++) {
        ChromaSamples &s = w.chroma[c];
        Lanes left[2]{}, above[2]{};
        for (int i = 0; i < 8; i++) left[i / 4] += *s.at(-1, i), above[i / 4] += *s.at(i, -1);
        const auto only = [](const Lanes &sum) __attribute__((always_inline)) { return (sum + 2) >> 2; };
        const auto mean = [&](int x, int y) __attribute__((always_inline)) {
            return mean_of<4>(left[y] & n.left, above[x] & n.above, n);
        };
        dcs[c][0] = mean(0, 0), dcs[c][3] = mean(1, 1);
        dcs[c][1] = n.above ? only(above[1]) : mean(1, 0);
        dcs[c][2] = n.left ? only(left[1]) : mean(0, 1);
        predict_plane<8>(s, planes[c]);
    }
    const Lanes mode = choose_mode(w, 0, available, [&](int m) __attribute__((always_inline)) {
        Wide sum = all_wide(0);
        for (int c = 0; c < 2; c++)
            sum += half_satds<8>(w.chroma_source[c], [&](int x, int y) __attribute__((always_inline)) {
                return m == kChromaVertical     ? *w.chroma[c].at(x, -1)
                       : m == kChromaHorizontal ? *w.chroma[c].at(-1, y)
                       : m == kChromaDc         ? dcs[c][y / 4 * 2 + x / 4]
                                                : planes[c][8 * y + x];
            });
        return sum;
    });
    w.chroma_mode = mode;
    const Lanes is_vertical = is(mode, kChromaVertical), is_horizontal = is(mode, kChromaHorizontal),
                is_dc = is(mode, kChromaDc);
    w.chroma_bits = w.chroma_nonzero = all_wide(0);
    Lanes any_ac{};
    Wide any_dc = all_wide(0);
    for (Lanes &l : w.chroma_levels) l = Lanes{};
    for (int c = 0; c < 2; c++) {
        Lanes prediction[64];
        for (int i = 0; i < 64; i++) {
            const int x = i % 8, y = i / 8;
            Lanes p = is_dc ? dcs[c][y / 4 * 2 + x / 4] : planes[c][i];
            p = is_horizontal ? *w.chroma[c].at(-1, y) : p;
            prediction[i] = is_vertical ? *w.chroma[c].at(x, -1) : p;
        }
        Wide dc[4];
        Lanes *const ac = w.chroma_levels + 16 + 64 * c;
        for (int b = 0; b < 4; b++) {
            const int at = b / 2 * 32 + b % 2 * 4;
            Sums sums{};
            dc[b] = widen(code_ac(w.chroma_source[c] + at, prediction + at, 8, w.quantisers_4x4[1], ac + 16 * b, sums));
            w.chroma_bits += widen(sums.magnitudes + sums.nonzero + sums.nonzero);
            w.chroma_nonzero += widen(sums.nonzero);
            any_ac |= sums.nonzero;
        }
        const auto transform = [](Wide(&v)[4]) __attribute__((always_inline)) {
            const Wide a = v[0] + v[1], b = v[0] - v[1], c = v[2] + v[3], d = v[2] - v[3];
            v[0] = a + c, v[1] = b + d, v[2] = a - c, v[3] = b - d;
        };
        code_dc(dc, w.quantisers_4x4[1], 1, transform, w.chroma_levels + 8 * c, w.chroma_bits, any_dc);
        for (int b = 0; b < 4; b++) {
            const int at = b / 2 * 32 + b % 2 * 4;
            reconstruct_ac(ac + 16 * b, narrow((dc[b] * w.dc_scales[1]) >> 5), w.quantisers_4x4[1], prediction + at,
                           w.chroma_source[c] + at, 8, w.chroma_reconstruction[c] + at);
        }
    }
    w.chroma_coded = any_ac != 0 ? all(2) : narrow(all_wide(0) < any_dc) ? all(1) : Lanes{};
    w.chroma_nonzero += any_dc;
}

}  // namespace

}  // namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE
