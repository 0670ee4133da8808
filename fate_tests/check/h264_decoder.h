// SPDX-License-Identifier: LGPL-2.1-or-later
// A decoder of macroblocks, written from the formulas of H.264's clauses 8.3 to 8.7 a sample at a time and from nothing
// of the encoder's: what the encoder's reconstruction has to be.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "../../common/h264/syntax/macroblock.h"
#include "h264_inter.h"
#include "h264_loop_filter.h"

namespace cudaenc::testing::decoder {

using h264::ChromaFormat;
using h264::Macroblock;
using h264::MacroblockType;

// ---- 8.5: residuals. weights: weightScale of a component, in raster order.

struct Weights {
    std::vector<int> of_4x4 = std::vector<int>(16, 16), of_8x8 = std::vector<int>(64, 16);
};

inline int level_scale_4x4(const Weights &weights, int m, int i, int j) {
    const int weight = weights.of_4x4[static_cast<size_t>(4 * i + j)];
    const int v[6][3] = {{10, 16, 13}, {11, 18, 14}, {13, 20, 16}, {14, 23, 18}, {16, 25, 20}, {18, 29, 23}};
    if (i % 2 == 0 && j % 2 == 0) return weight * v[m][0];
    return weight * (i % 2 == 1 && j % 2 == 1 ? v[m][1] : v[m][2]);
}
inline int level_scale_8x8(const Weights &weights, int m, int i, int j) {
    const int weight = weights.of_8x8[static_cast<size_t>(8 * i + j)];
    const int v[6][6] = {{20, 18, 32, 19, 25, 24}, {22, 19, 35, 21, 28, 26}, {26, 23, 42, 24, 33, 31},
                         {28, 25, 45, 26, 35, 33}, {32, 28, 51, 30, 40, 38}, {36, 32, 58, 34, 46, 43}};
    if (i % 4 == 0 && j % 4 == 0) return weight * v[m][0];
    if (i % 2 == 1 && j % 2 == 1) return weight * v[m][1];
    if (i % 4 == 2 && j % 4 == 2) return weight * v[m][2];
    if ((i % 4 == 0 && j % 2 == 1) || (i % 2 == 1 && j % 4 == 0)) return weight * v[m][3];
    if ((i % 4 == 0 && j % 4 == 2) || (i % 4 == 2 && j % 4 == 0)) return weight * v[m][4];
    return weight * v[m][5];
}

// 8.5.12: `dc`: its place is taken by this, already scaled, or null.
inline void residual_4x4(const Weights &weights, const int16_t *c, int qp, const int *dc, int32_t *r, int stride) {
    int d[4][4], f[4][4], h[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            const int product = c[4 * i + j] * level_scale_4x4(weights, qp % 6, i, j);
            d[i][j] = qp >= 24 ? product * (1 << (qp / 6 - 4)) : (product + (1 << (3 - qp / 6))) >> (4 - qp / 6);
        }
    if (dc) d[0][0] = *dc;
    for (int i = 0; i < 4; i++) {
        const int e0 = d[i][0] + d[i][2], e1 = d[i][0] - d[i][2];
        const int e2 = (d[i][1] >> 1) - d[i][3], e3 = d[i][1] + (d[i][3] >> 1);
        f[i][0] = e0 + e3, f[i][1] = e1 + e2, f[i][2] = e1 - e2, f[i][3] = e0 - e3;
    }
    for (int j = 0; j < 4; j++) {
        const int g0 = f[0][j] + f[2][j], g1 = f[0][j] - f[2][j];
        const int g2 = (f[1][j] >> 1) - f[3][j], g3 = f[1][j] + (f[3][j] >> 1);
        h[0][j] = g0 + g3, h[1][j] = g1 + g2, h[2][j] = g1 - g2, h[3][j] = g0 - g3;
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) r[i * stride + j] = (h[i][j] + 32) >> 6;
}

// 8.5.13.
inline void residual_8x8(const Weights &weights, const int16_t *c, int qp, int32_t *r, int stride) {
    int d[8][8];
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            const int product = c[8 * i + j] * level_scale_8x8(weights, qp % 6, i, j);
            d[i][j] = qp >= 36 ? product * (1 << (qp / 6 - 6)) : (product + (1 << (5 - qp / 6))) >> (6 - qp / 6);
        }
    const auto line = [](const int(&in)[8], int(&out)[8]) {
        int a[8], b[8];
        a[0] = in[0] + in[4];
        a[1] = -in[3] + in[5] - in[7] - (in[7] >> 1);
        a[2] = in[0] - in[4];
        a[3] = in[1] + in[7] - in[3] - (in[3] >> 1);
        a[4] = (in[2] >> 1) - in[6];
        a[5] = -in[1] + in[7] + in[5] + (in[5] >> 1);
        a[6] = in[2] + (in[6] >> 1);
        a[7] = in[3] + in[5] + in[1] + (in[1] >> 1);
        b[0] = a[0] + a[6];
        b[1] = a[1] + (a[7] >> 2);
        b[2] = a[2] + a[4];
        b[3] = a[3] + (a[5] >> 2);
        b[4] = a[2] - a[4];
        b[5] = (a[3] >> 2) - a[5];
        b[6] = a[0] - a[6];
        b[7] = a[7] - (a[1] >> 2);
        for (int i = 0; i < 4; i++) {
            out[i] = b[2 * i] + b[7 - 2 * i];
            out[7 - i] = b[2 * i] - b[7 - 2 * i];
        }
    };
    for (auto &row : d) {
        int out[8];
        line(row, out);
        std::copy_n(out, 8, row);
    }
    for (int j = 0; j < 8; j++) {
        int in[8], out[8];
        for (int i = 0; i < 8; i++) in[i] = d[i][j];
        line(in, out);
        for (int i = 0; i < 8; i++) r[i * stride + j] = (out[i] + 32) >> 6;
    }
}

inline int block_x(int b) { return b % 4 % 2 * 4 + b / 4 % 2 * 8; }
inline int block_y(int b) { return b % 4 / 2 * 4 + b / 8 * 8; }

// 8.5.2, 8.5.10: AC levels of 16 blocks, then DC levels; 16 residuals a row.
inline void residual_16x16(const Weights &weights, const int16_t *levels, int qp, int32_t *r) {
    const int a[4][4] = {{1, 1, 1, 1}, {1, 1, -1, -1}, {1, -1, -1, 1}, {1, -1, 1, -1}};
    for (int b = 0; b < 16; b++) {
        const int y = block_y(b) / 4, x = block_x(b) / 4;
        int f = 0;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) f += a[y][i] * levels[256 + 4 * i + j] * a[j][x];
        const int product = f * level_scale_4x4(weights, qp % 6, 0, 0);
        const int dc = qp >= 36 ? product * (1 << (qp / 6 - 6)) : (product + (1 << (5 - qp / 6))) >> (6 - qp / 6);
        residual_4x4(weights, levels + 16 * b, qp, &dc, r + 64 * y + 4 * x, 16);
    }
}

// 8.5.4, 8.5.11: one chroma component of 4:2:0 or 4:2:2; qp is QP'c.
inline void residual_chroma(const Weights &weights, const int16_t *dc_levels, const int16_t *ac, int qp, int height,
                            int32_t *r, int stride) {
    const int a[4][4] = {{1, 1, 1, 1}, {1, 1, -1, -1}, {1, -1, -1, 1}, {1, -1, 1, -1}};
    const int two[2][2] = {{1, 1}, {1, -1}};
    const int rows = height / 4, qp_dc = qp + 3;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < 2; x++) {
            int f = 0;
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < 2; j++) f += (rows == 2 ? two[y][i] : a[y][i]) * dc_levels[2 * i + j] * two[j][x];
            int dc;
            if (rows == 2)
                dc = (f * level_scale_4x4(weights, qp % 6, 0, 0) * (1 << qp / 6)) >> 5;
            else if (qp_dc >= 36)
                dc = f * level_scale_4x4(weights, qp_dc % 6, 0, 0) * (1 << (qp_dc / 6 - 6));
            else
                dc = (f * level_scale_4x4(weights, qp_dc % 6, 0, 0) + (1 << (5 - qp_dc / 6))) >> (6 - qp_dc / 6);
            residual_4x4(weights, ac + 16 * (2 * y + x), qp, &dc, r + 4 * y * stride + 4 * x, stride);
        }
}

// ---- 8.3, 8.4: a picture.

// What a P picture has beside an I picture. inter: of each macroblock; reference: the picture before.
class Picture;
struct Prediction {
    const InterMacroblock *inter = nullptr;
    const Picture *reference = nullptr;
    bool constrained_intra = false;  // constrained_intra_pred_flag
    int chroma_offset = 0;           // of vertical vectors to 4:2:0 (table 8-9)
    ExplicitWeight weights[3] = {};  // of components
};
// How a slice is filtered.
struct SliceFilter {
    int disable_deblocking_filter_idc = 0, offset_a = 0, offset_b = 0;
    bool field = false;
};

class Picture {
  public:
    // `qp`: SliceQPY of all slices.
    Picture(int columns, int rows, ChromaFormat format, int bit_depth, int qp)
        : columns_(columns),
          rows_(rows),
          format_(format),
          bit_depth_(bit_depth),
          slice_qp_(qp),
          motion_(columns, rows),
          filtered_of_(static_cast<size_t>(columns * rows)) {
        for (int c = 0; c < components(); c++) {
            planes_[c].assign(static_cast<size_t>(width(c) * height(c)), 0);
            slice_of_[c].assign(planes_[c].size(), -1);
        }
        modes_.assign(static_cast<size_t>(columns * rows * 16), -1);
        mb_slice_.assign(static_cast<size_t>(columns * rows), -1);
    }

    int components() const { return format_ == ChromaFormat::c400 ? 1 : 3; }
    bool luma_like(int c) const { return c == 0 || format_ == ChromaFormat::c444; }
    int mb_width(int c) const { return luma_like(c) ? 16 : 8; }
    int mb_height(int c) const { return luma_like(c) || format_ == ChromaFormat::c422 ? 16 : 8; }
    int width(int c) const { return columns_ * mb_width(c); }
    int height(int c) const { return rows_ * mb_height(c); }
    // Before the deblocking filter, and after it.
    uint16_t sample(int c, int x, int y) const { return planes_[c][static_cast<size_t>(y * width(c) + x)]; }
    uint16_t shown(int c, int x, int y) const { return shown_[c][static_cast<size_t>(y * width(c) + x)]; }

    // Else lists are flat, and offsets 0.
    void set_scaling(int component, const std::vector<int> &of_4x4, const std::vector<int> &of_8x8) {
        weights_[component] = {of_4x4, of_8x8};
    }
    void set_chroma_qp_offsets(int of_cb, int of_cr) { chroma_qp_offsets_[0] = of_cb, chroma_qp_offsets_[1] = of_cr; }

    void decode(const Macroblock *macroblocks, const int16_t *levels, const Prediction &prediction = {}) {
        const int blocks = h264::blocks_per_macroblock(format_);
        int qp = slice_qp_;
        prediction_ = prediction;
        for (address_ = 0; address_ < columns_ * rows_; address_++, macroblocks++, levels += 16 * blocks) {
            m_ = macroblocks;
            if (m_->first_in_slice) qp = slice_qp_;
            mb_slice_[static_cast<size_t>(address_)] = m_->slice;
            if (is_inter(address_))
                motion_.set_inter(address_, m_->slice, prediction_.inter[address_]);
            else
                motion_.set_intra(address_, m_->slice);
            const bool pcm = !is_inter(address_) && m_->type == MacroblockType::pcm;
            const int offset = 6 * (bit_depth_ - 8);
            if (!pcm) qp = (qp + m_->qp_delta + 52 + 2 * offset) % (52 + offset) - offset;
            note_for_filter(levels, qp, pcm);
            if (pcm) {
                for (int c = 0; c < components(); c++)
                    for (int y = 0; y < mb_height(c); y++)
                        for (int x = 0; x < mb_width(c); x++) put(c, x, y, *levels++);
                levels -= samples();
                continue;
            }
            for (int c = 0; c < components(); c++) {
                const int of_chroma = std::clamp(qp + chroma_qp_offsets_[c ? c - 1 : 0], -offset, 51);
                const int qp_prime = c ? chroma_qp_of(of_chroma) + offset : qp + offset;
                if (luma_like(c))
                    luma(c, levels + 17 * 16 * c, qp_prime);
                else
                    chroma(c, levels + 17 * 16, qp_prime);
            }
        }
    }

    // 8.7, once all macroblocks are decoded. slices: by their numbers.
    void filter(const std::vector<SliceFilter> &slices) {
        for (FilteredMacroblock &m : filtered_of_) {
            const SliceFilter &slice = slices.at(static_cast<size_t>(m.slice));
            m.disable_deblocking_filter_idc = slice.disable_deblocking_filter_idc;
            m.offset_a = slice.offset_a;
            m.offset_b = slice.offset_b;
            m.field = slice.field;
        }
        for (int c = 0; c < components(); c++) shown_[c] = planes_[c];
        LoopFilter(columns_, rows_, format_, bit_depth_, chroma_qp_offsets_[0], chroma_qp_offsets_[1])
            .run(filtered_of_, shown_);
    }

    // 8.3.1.1, 8.3.2.1: the mode that a 4x4 block (of the order of 6.4.3) predicts by; -1: none of its own.
    int mode(int address, int block) const { return modes_[static_cast<size_t>(16 * address + block)]; }

  private:
    bool is_inter(int address) const { return prediction_.inter && prediction_.inter[address].inter; }
    bool has_8x8_transform() const {
        return is_inter(address_) ? prediction_.inter[address_].transform_8x8 : m_->type == MacroblockType::i8x8;
    }
    void note_for_filter(const int16_t *levels, int qp, bool pcm) {
        FilteredMacroblock &to = filtered_of_[static_cast<size_t>(address_)];
        to.intra = !is_inter(address_);
        to.pcm = pcm;
        to.transform_8x8 = !pcm && has_8x8_transform();
        to.qp = qp;
        to.slice = m_->slice;
        for (int b = 0; b < 16 && !to.intra; b++) {
            const int at = block_y(b) + block_x(b) / 4, size = to.transform_8x8 ? 64 : 16;
            const int16_t *const first = levels + 16 * b / size * size;
            to.coded[at] = std::any_of(first, first + size, [](int16_t level) { return level != 0; });
            const MotionVector v = motion_.vector(address_ % columns_ * 4 + at % 4, address_ / columns_ * 4 + at / 4);
            to.vectors[at][0] = v.x, to.vectors[at][1] = v.y;
        }
    }
    // 8.4.2.2: a component of a macroblock, in rows.
    void predict_inter(int c, int *to) const {
        const Picture &from = *prediction_.reference;
        const ReferencePlane plane{from.shown_[c].data(), width(c), height(c), (1 << bit_depth_) - 1};
        const int w = mb_width(c), h = mb_height(c);
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                const MotionVector v = motion_.vector((x0(c) + x) * 4 / w, (y0(c) + y) * 4 / h);
                const int sample =
                    luma_like(c)
                        ? plane.luma(4 * (x0(c) + x) + v.x, 4 * (y0(c) + y) + v.y)
                        : plane.chroma(8 * (x0(c) + x) + v.x,
                                       8 * (y0(c) + y) + (h == 16 ? 2 * v.y : v.y + prediction_.chroma_offset));
                to[w * y + x] = prediction_.weights[c].apply(sample, bit_depth_);
            }
    }
    int samples() const {
        int count = 0;
        for (int c = 0; c < components(); c++) count += mb_width(c) * mb_height(c);
        return count;
    }
    int x0(int c) const { return address_ % columns_ * mb_width(c); }
    int y0(int c) const { return address_ / columns_ * mb_height(c); }

    // Samples by their place in the macroblock, or beyond it. There: of this slice, and decoded.
    bool there(int c, int x, int y) const {
        x += x0(c), y += y0(c);
        if (x < 0 || y < 0 || x >= width(c)) return false;
        if (prediction_.constrained_intra && is_inter(y / mb_height(c) * columns_ + x / mb_width(c))) return false;
        return slice_of_[c][static_cast<size_t>(y * width(c) + x)] == m_->slice;
    }
    int p(int c, int x, int y) const { return sample(c, x0(c) + x, y0(c) + y); }
    void put(int c, int x, int y, int value) {
        const size_t at = static_cast<size_t>((y0(c) + y) * width(c) + x0(c) + x);
        planes_[c][at] = static_cast<uint16_t>(value);
        slice_of_[c][at] = m_->slice;
    }
    int clip(int value) const { return std::clamp(value, 0, (1 << bit_depth_) - 1); }
    int middle() const { return 1 << (bit_depth_ - 1); }

    void luma(int c, const int16_t *levels, int qp) {
        int32_t r[256] = {};
        if (is_inter(address_)) {
            int prediction[256];
            predict_inter(c, prediction);
            for (int b = 0; b < 16; b++)
                if (!has_8x8_transform())
                    residual_4x4(weights_[c], levels + 16 * b, qp, nullptr, r + 16 * block_y(b) + block_x(b), 16);
                else if (b % 4 == 0)
                    residual_8x8(weights_[c], levels + 16 * b, qp, r + 16 * block_y(b) + block_x(b), 16);
            for (int i = 0; i < 256; i++) put(c, i % 16, i / 16, clip(prediction[i] + r[i]));
            return;
        }
        if (m_->type == MacroblockType::i16x16) {
            int prediction[256];
            predict_macroblock(c, 16, 16,
                               m_->intra_16x16_pred_mode == 0   ? 'v'
                               : m_->intra_16x16_pred_mode == 1 ? 'h'
                               : m_->intra_16x16_pred_mode == 2 ? 'd'
                                                                : 'p',
                               prediction);
            residual_16x16(weights_[c], levels, qp, r);
            for (int i = 0; i < 256; i++) put(c, i % 16, i / 16, clip(prediction[i] + r[i]));
            return;
        }
        const bool eight = m_->type == MacroblockType::i8x8;
        const int n = eight ? 8 : 4, count = eight ? 4 : 16;
        for (int b = 0; b < count; b++) {
            const int x = eight ? b % 2 * 8 : block_x(b), y = eight ? b / 2 * 8 : block_y(b);
            if (c == 0) derive_mode(b, x, y, eight);
            int prediction[64];
            predict_block(c, x, y, n, mode(address_, eight ? 4 * b : b), prediction);
            int32_t block[64];
            if (eight)
                residual_8x8(weights_[c], levels + 64 * b, qp, block, 8);
            else
                residual_4x4(weights_[c], levels + 16 * b, qp, nullptr, block, 4);
            for (int i = 0; i < n * n; i++) put(c, x + i % n, y + i / n, clip(prediction[i] + block[i]));
        }
    }

    // The mode of the block that covers a place beside this one: 2 where it has none, -1 where it is not available.
    int neighbour_mode(int x, int y) const {
        const int px = x0(0) + x, py = y0(0) + y;
        if (px < 0 || py < 0) return -1;
        const int address = py / 16 * columns_ + px / 16;
        if (mb_slice_[static_cast<size_t>(address)] != m_->slice) return -1;
        if (prediction_.constrained_intra && is_inter(address)) return -1;
        const int bx = px % 16 / 4, by = py % 16 / 4;
        const int found = mode(address, bx % 2 + by % 2 * 2 + bx / 2 * 4 + by / 2 * 8);
        return found < 0 ? 2 : found;
    }
    void derive_mode(int b, int x, int y, bool eight) {
        const int a = neighbour_mode(x - 1, y), above = neighbour_mode(x, y - 1);
        const int predicted = a < 0 || above < 0 ? 2 : std::min(a, above);
        const int written = m_->pred_mode[b];
        const int mode = written == h264::kPredictedMode ? predicted : written < predicted ? written : written + 1;
        for (int i = 0; i < (eight ? 4 : 1); i++)
            modes_[static_cast<size_t>(16 * address_ + (eight ? 4 * b + i : b))] = mode;
    }

    // The samples around an NxN block: above[x] is p[x, -1], left[y] is p[-1, y], from -1 on. 0 where none is there.
    struct BlockNeighbours {
        int n;
        bool has_left, has_above, has_corner;
        int memory[2][18] = {};
        int *above() { return memory[0] + 1; }
        int *left() { return memory[1] + 1; }
    };

    BlockNeighbours neighbours_of(int c, int x0, int y0, int n) const {
        BlockNeighbours b{n, there(c, x0 - 1, y0), there(c, x0, y0 - 1), there(c, x0 - 1, y0 - 1)};
        const bool right = there(c, x0 + n, y0 - 1);
        int *const t = b.above(), *const l = b.left();
        for (int i = 0; i < n; i++) {
            if (b.has_left) l[i] = p(c, x0 - 1, y0 + i);
            if (b.has_above) t[i] = p(c, x0 + i, y0 - 1);
        }
        for (int i = n; i < 2 * n && b.has_above; i++) t[i] = right ? p(c, x0 + i, y0 - 1) : t[n - 1];
        if (b.has_corner) t[-1] = l[-1] = p(c, x0 - 1, y0 - 1);
        return b;
    }

    // 8.3.2.2.1, of 8x8 blocks.
    static BlockNeighbours filtered(BlockNeighbours b) {
        BlockNeighbours to{8, b.has_left, b.has_above, b.has_corner};
        const int *const t = b.above(), *const l = b.left();
        int *const ft = to.above(), *const fl = to.left();
        if (b.has_above) {
            ft[0] = b.has_corner ? (t[-1] + 2 * t[0] + t[1] + 2) >> 2 : (3 * t[0] + t[1] + 2) >> 2;
            for (int i = 1; i < 15; i++) ft[i] = (t[i - 1] + 2 * t[i] + t[i + 1] + 2) >> 2;
            ft[15] = (t[14] + 3 * t[15] + 2) >> 2;
        }
        if (b.has_corner)
            ft[-1] = !b.has_above  ? (3 * t[-1] + l[0] + 2) >> 2
                     : !b.has_left ? (3 * t[-1] + t[0] + 2) >> 2
                                   : (t[0] + 2 * t[-1] + l[0] + 2) >> 2;
        if (b.has_left) {
            fl[0] = b.has_corner ? (l[-1] + 2 * l[0] + l[1] + 2) >> 2 : (3 * l[0] + l[1] + 2) >> 2;
            for (int i = 1; i < 7; i++) fl[i] = (l[i - 1] + 2 * l[i] + l[i + 1] + 2) >> 2;
            fl[7] = (l[6] + 3 * l[7] + 2) >> 2;
        }
        fl[-1] = ft[-1];
        return to;
    }

    // 8.3.1.2.1 to 8.3.1.2.9, and the same of 8.3.2.2, but for DC: t and l from -1 on.
    static int predicted_sample(int mode, int n, int x, int y, const int *t, const int *l) {
        const auto three = [](int a, int b, int c) { return (a + 2 * b + c + 2) >> 2; };
        const auto two = [](int a, int b) { return (a + b + 1) >> 1; };
        switch (mode) {
            case 0:
                return t[x];
            case 1:
                return l[y];
            case 3:
                return x == n - 1 && y == n - 1 ? (t[2 * n - 2] + 3 * t[2 * n - 1] + 2) >> 2
                                                : three(t[x + y], t[x + y + 1], t[x + y + 2]);
            case 4:
                return x > y   ? three(t[x - y - 2], t[x - y - 1], t[x - y])
                       : x < y ? three(l[y - x - 2], l[y - x - 1], l[y - x])
                               : three(t[0], t[-1], l[0]);
            case 5: {
                const int z = 2 * x - y, k = x - (y >> 1);
                return z >= 0 && z % 2 == 0 ? two(t[k - 1], t[k])
                       : z >= 0             ? three(t[k - 2], t[k - 1], t[k])
                       : z == -1            ? three(l[0], l[-1], t[0])
                                            : three(l[y - 2 * x - 1], l[y - 2 * x - 2], l[y - 2 * x - 3]);
            }
            case 6: {
                const int z = 2 * y - x, k = y - (x >> 1);
                return z >= 0 && z % 2 == 0 ? two(l[k - 1], l[k])
                       : z >= 0             ? three(l[k - 2], l[k - 1], l[k])
                       : z == -1            ? three(l[0], l[-1], t[0])
                                            : three(t[x - 2 * y - 1], t[x - 2 * y - 2], t[x - 2 * y - 3]);
            }
            case 7: {
                const int k = x + (y >> 1);
                return y % 2 == 0 ? two(t[k], t[k + 1]) : three(t[k], t[k + 1], t[k + 2]);
            }
            default: {
                const int z = x + 2 * y, k = y + (x >> 1), last = 2 * n - 3;
                return z > last     ? l[n - 1]
                       : z == last  ? (l[n - 2] + 3 * l[n - 1] + 2) >> 2
                       : z % 2 == 0 ? two(l[k], l[k + 1])
                                    : three(l[k], l[k + 1], l[k + 2]);
            }
        }
    }

    // 8.3.1.2 and 8.3.2.2, by their formulas.
    void predict_block(int c, int x0, int y0, int n, int mode, int *to) const {
        BlockNeighbours b = neighbours_of(c, x0, y0, n);
        if (n == 8) b = filtered(b);
        const bool needs_above = mode == 0 || (mode >= 3 && mode != 8),
                   needs_left = mode == 1 || mode == 8 || (mode >= 4 && mode <= 6);
        if ((needs_above && !b.has_above) || (needs_left && !b.has_left) || (mode >= 4 && mode <= 6 && !b.has_corner)) {
            std::fill_n(to, n * n, -100000);  // not allowed: no reconstruction is like that
            return;
        }
        const int *const t = b.above(), *const l = b.left();
        int sum = 0;
        for (int i = 0; i < n; i++) sum += t[i] + l[i];
        const int dc = b.has_above && b.has_left   ? (sum + n) / (2 * n)
                       : b.has_above || b.has_left ? (sum + n / 2) / n
                                                   : middle();
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++) to[n * y + x] = mode == 2 ? dc : predicted_sample(mode, n, x, y, t, l);
    }

    // 8.3.3, 8.3.4: vertical, horizontal, DC of luma or of chroma, plane.
    void predict_macroblock(int c, int w, int h, char mode, int *to) const {
        const bool left = there(c, -1, 0), above = there(c, 0, -1), corner = there(c, -1, -1);
        if ((mode == 'v' && !above) || (mode == 'h' && !left) || (mode == 'p' && !(left && above && corner))) {
            std::fill_n(to, w * h, -100000);
            return;
        }
        int plane_h = 0, plane_v = 0;
        if (mode == 'p') {
            for (int i = 0; i < w / 2; i++) plane_h += (i + 1) * (p(c, w / 2 + i, -1) - p(c, w / 2 - 2 - i, -1));
            for (int i = 0; i < h / 2; i++) plane_v += (i + 1) * (p(c, -1, h / 2 + i) - p(c, -1, h / 2 - 2 - i));
        }
        const int b = ((w == 16 ? 5 : 34) * plane_h + 32) >> 6, g = ((h == 16 ? 5 : 34) * plane_v + 32) >> 6;
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                int v;
                if (mode == 'v')
                    v = p(c, x, -1);
                else if (mode == 'h')
                    v = p(c, -1, y);
                else if (mode == 'p')
                    v = clip((16 * (p(c, -1, h - 1) + p(c, w - 1, -1)) + b * (x - (w / 2 - 1)) + g * (y - (h / 2 - 1)) +
                              16) >>
                             5);
                else if (mode == 'd')
                    v = dc(c, left, above, 0, 0, 16);
                else {
                    const int bx = x / 4 * 4, by = y / 4 * 4;
                    if ((bx == 0 && by == 0) || (bx > 0 && by > 0))
                        v = dc(c, left, above, bx, by, 4);
                    else if (bx > 0 && by == 0)
                        v = dc(c, left && !above, above, bx, by, 4);
                    else
                        v = dc(c, left, above && !left, bx, by, 4);
                }
                to[w * y + x] = v;
            }
    }
    int dc(int c, bool left, bool above, int x, int y, int n) const {
        int sum = 0;
        for (int i = 0; i < n; i++) sum += (above ? p(c, x + i, -1) : 0) + (left ? p(c, -1, y + i) : 0);
        return left && above ? (sum + n) / (2 * n) : left || above ? (sum + n / 2) / n : middle();
    }

    void chroma(int c, const int16_t *levels, int qp) {
        const int h = mb_height(c), blocks = h / 2;
        int prediction[8 * 16];
        if (is_inter(address_))
            predict_inter(c, prediction);
        else
            predict_macroblock(c, 8, h, "chvp"[m_->intra_chroma_pred_mode], prediction);
        int32_t r[8 * 16];
        residual_chroma(weights_[c], levels + 8 * (c - 1), levels + 16 + 16 * blocks * (c - 1), qp, h, r, 8);
        for (int i = 0; i < 8 * h; i++) put(c, i % 8, i / 8, clip(prediction[i] + r[i]));
    }

    const int columns_, rows_;
    const ChromaFormat format_;
    const int bit_depth_, slice_qp_;
    int address_ = 0;
    Weights weights_[3];
    int chroma_qp_offsets_[2] = {};
    const Macroblock *m_ = nullptr;
    Prediction prediction_;
    std::vector<uint16_t> planes_[3], shown_[3];
    std::vector<int> slice_of_[3];  // of samples that are decoded, else -1
    std::vector<int> modes_;        // [16 * macroblock + block]
    std::vector<int> mb_slice_;
    Motion motion_;
    std::vector<FilteredMacroblock> filtered_of_;
};

}  // namespace cudaenc::testing::decoder
