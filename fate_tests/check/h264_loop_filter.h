// SPDX-License-Identifier: LGPL-2.1-or-later
// The deblocking filter of frames and of field pictures, written from the text of H.264's clause 8.7 a line of samples
// at a time and from nothing of the encoder's.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "../../common/h264/syntax/macroblock.h"

namespace cudaenc::testing::decoder {

struct FilteredMacroblock {
    bool intra = true, pcm = false, transform_8x8 = false;
    int qp = 0;  // QPY
    int slice = 0, disable_deblocking_filter_idc = 0, offset_a = 0, offset_b = 0;
    bool field = false;   // of a field picture
    bool coded[16] = {};  // 4x4 blocks of luma in raster order: they contain levels that are not 0, with 4x4
                          // transforms; with 8x8 ones: their 8x8 block does
    int vectors[16][2] = {};
    int references[16] = {};  // pictures, of inter macroblocks
};

// Table 8-15: QPC by qPI.
inline int chroma_qp_of(int qp_i) {
    const int from_30[] = {29, 30, 31, 32, 32, 33, 34, 34, 35, 35, 36, 36, 37, 37, 37, 38, 38, 38, 39, 39, 39, 39};
    return qp_i < 30 ? qp_i : from_30[qp_i - 30];
}

class LoopFilter {
  public:
    LoopFilter(int columns, int rows, h264::ChromaFormat format, int bit_depth, int of_cb, int of_cr)
        : columns_(columns), rows_(rows), format_(format), bit_depth_(bit_depth), chroma_offsets_{of_cb, of_cr} {}

    // planes: whole macroblocks, without padding.
    void run(const std::vector<FilteredMacroblock> &macroblocks, std::vector<uint16_t> *planes) {
        macroblocks_ = &macroblocks;
        for (int address = 0; address < columns_ * rows_; address++)
            for (int c = 0; c < (format_ == h264::ChromaFormat::c400 ? 1 : 3); c++) {
                component_ = c;
                plane_ = &planes[c];
                filter_macroblock(address);
            }
    }

  private:
    bool like_luma() const { return component_ == 0 || format_ == h264::ChromaFormat::c444; }
    int sub_width() const { return like_luma() ? 1 : 2; }
    int sub_height() const { return component_ && format_ == h264::ChromaFormat::c420 ? 2 : 1; }
    const FilteredMacroblock &of(int address) const { return (*macroblocks_)[static_cast<size_t>(address)]; }
    uint16_t &sample(int x, int y) const {
        return (*plane_)[static_cast<size_t>(y * columns_ * (16 / sub_width()) + x)];
    }

    void filter_macroblock(int address) {
        const FilteredMacroblock &m = of(address);
        const int idc = m.disable_deblocking_filter_idc, x = address % columns_, y = address / columns_;
        if (idc == 1) return;
        const bool left = x > 0 && (idc == 0 || of(address - 1).slice == m.slice);
        const bool top = y > 0 && (idc == 0 || of(address - columns_).slice == m.slice);
        const int width = 16 / sub_width(), height = 16 / sub_height();
        const int step = like_luma() && m.transform_8x8 ? 8 : 4;
        for (int edge = 0; edge < width; edge += step)
            for (int k = 0; k < height && (edge || left); k++) filter_line(address, edge, k, true);
        for (int edge = 0; edge < height; edge += step)
            for (int k = 0; k < width && (edge || top); k++) filter_line(address, k, edge, false);
    }

    // q0 is sample (x, y) of the macroblock, p0 the one to the left of it or above it.
    void filter_line(int address, int x, int y, bool vertical_edge) {
        const int left = address % columns_ * (16 / sub_width()), top = address / columns_ * (16 / sub_height());
        const int dx = vertical_edge ? 1 : 0, dy = 1 - dx;
        const int px = left + x - dx, py = top + y - dy;
        const int other = py / (16 / sub_height()) * columns_ + px / (16 / sub_width());
        const FilteredMacroblock &q_of = of(address), &p_of = of(other);
        // The luma samples that correspond.
        const int q_block = x * sub_width() / 4 + y * sub_height() / 4 * 4;
        const int p_block = px * sub_width() % 16 / 4 + py * sub_height() % 16 / 4 * 4;
        // Among lines of a field those next to each other are twice as far apart.
        const bool strong = other != address && !(q_of.field && !vertical_edge);
        const int strength = boundary_strength(p_of, p_block, q_of, q_block, strong);
        int p[4], q[4];
        const int reach = like_luma() ? 4 : 2;
        for (int i = 0; i < reach; i++) {
            p[i] = sample(px - i * dx, py - i * dy);
            q[i] = sample(left + x + i * dx, top + y + i * dy);
        }
        filter_samples(p, q, strength, (quantiser(p_of) + quantiser(q_of) + 1) >> 1, q_of);
        for (int i = 0; i < reach; i++) {
            sample(px - i * dx, py - i * dy) = static_cast<uint16_t>(p[i]);
            sample(left + x + i * dx, top + y + i * dy) = static_cast<uint16_t>(q[i]);
        }
    }

    // qPp, qPq.
    int quantiser(const FilteredMacroblock &m) const {
        const int qp = m.pcm ? 0 : m.qp;
        if (component_ == 0) return qp;
        return chroma_qp_of(std::clamp(qp + chroma_offsets_[component_ - 1], -6 * (bit_depth_ - 8), 51));
    }

    // 8.7.2.1. strong: whether bS of intra macroblocks is 4.
    static int boundary_strength(const FilteredMacroblock &p, int p_block, const FilteredMacroblock &q, int q_block,
                                 bool strong) {
        if (p.intra || q.intra) return strong ? 4 : 3;
        if (p.coded[p_block] || q.coded[q_block]) return 2;
        if (p.references[p_block] != q.references[q_block]) return 1;
        // A sample of a frame, vertically two quarters of one of a field.
        const int x = std::abs(p.vectors[p_block][0] - q.vectors[q_block][0]);
        const int y = std::abs(p.vectors[p_block][1] - q.vectors[q_block][1]);
        return x >= 4 || y >= (q.field ? 2 : 4);
    }

    // 8.7.2.2 to 8.7.2.4.
    void filter_samples(int *p, int *q, int strength, int qp, const FilteredMacroblock &of_q) const {
        static const int alphas[52] = {0,  0,  0,  0,  0,  0,  0,   0,   0,   0,   0,   0,   0,   0,   0,   0,  4,  4,
                                       5,  6,  7,  8,  9,  10, 12,  13,  15,  17,  20,  22,  25,  28,  32,  36, 40, 45,
                                       50, 56, 63, 71, 80, 90, 101, 113, 127, 144, 162, 182, 203, 226, 255, 255};
        static const int tc0s[52][3] = {
            {0, 0, 0},   {0, 0, 0},    {0, 0, 0},    {0, 0, 0},   {0, 0, 0},  {0, 0, 0},  {0, 0, 0},   {0, 0, 0},
            {0, 0, 0},   {0, 0, 0},    {0, 0, 0},    {0, 0, 0},   {0, 0, 0},  {0, 0, 0},  {0, 0, 0},   {0, 0, 0},
            {0, 0, 0},   {0, 0, 1},    {0, 0, 1},    {0, 0, 1},   {0, 0, 1},  {0, 1, 1},  {0, 1, 1},   {1, 1, 1},
            {1, 1, 1},   {1, 1, 1},    {1, 1, 1},    {1, 1, 2},   {1, 1, 2},  {1, 1, 2},  {1, 1, 2},   {1, 2, 3},
            {1, 2, 3},   {2, 2, 3},    {2, 2, 4},    {2, 3, 4},   {2, 3, 4},  {3, 3, 5},  {3, 4, 6},   {3, 4, 6},
            {4, 5, 7},   {4, 5, 8},    {4, 6, 9},    {5, 7, 10},  {6, 8, 11}, {6, 8, 13}, {7, 10, 14}, {8, 11, 16},
            {9, 12, 18}, {10, 13, 20}, {11, 15, 23}, {13, 17, 25}};
        const int scale = 1 << (bit_depth_ - 8);
        const int index_a = std::clamp(qp + of_q.offset_a, 0, 51), index_b = std::clamp(qp + of_q.offset_b, 0, 51);
        const int alpha = alphas[index_a] * scale;
        // beta' is 2, then 3, 3, 3, 3, 4, 4, 4, then every number twice.
        const int beta_prime = index_b < 16   ? 0
                               : index_b < 19 ? 2
                               : index_b < 23 ? 3
                               : index_b < 26 ? 4
                                              : 6 + (index_b - 26) / 2;
        const int beta = beta_prime * scale;
        if (!strength || std::abs(p[0] - q[0]) >= alpha || std::abs(p[1] - p[0]) >= beta ||
            std::abs(q[1] - q[0]) >= beta)
            return;
        const bool chroma_style = !like_luma();
        const int p0 = p[0], p1 = p[1], q0 = q[0], q1 = q[1];
        const bool near_p = !chroma_style && std::abs(p[2] - p0) < beta;
        const bool near_q = !chroma_style && std::abs(q[2] - q0) < beta;
        if (strength < 4) {
            const int tc0 = tc0s[index_a][strength - 1] * scale, tc = chroma_style ? tc0 + 1 : tc0 + near_p + near_q;
            const int delta = std::clamp((((q0 - p0) * 4) + (p1 - q1) + 4) >> 3, -tc, tc), most = 256 * scale - 1;
            p[0] = std::clamp(p0 + delta, 0, most);
            q[0] = std::clamp(q0 - delta, 0, most);
            if (near_p) p[1] = p1 + std::clamp((p[2] + ((p0 + q0 + 1) >> 1) - 2 * p1) >> 1, -tc0, tc0);
            if (near_q) q[1] = q1 + std::clamp((q[2] + ((p0 + q0 + 1) >> 1) - 2 * q1) >> 1, -tc0, tc0);
            return;
        }
        const bool close = std::abs(p0 - q0) < (alpha >> 2) + 2;
        strong_side(p, q0, q1, near_p && close, p0, p1);
        strong_side(q, p0, p1, near_q && close, q0, q1);
    }
    // a: the samples of one side, whose first two are a0 and a1; b0 and b1 those of the other one.
    static void strong_side(int *a, int b0, int b1, bool smooth, int a0, int a1) {
        if (!smooth) {
            a[0] = (2 * a1 + a0 + b1 + 2) >> 2;
            return;
        }
        const int a2 = a[2], a3 = a[3];
        a[0] = (a2 + 2 * a1 + 2 * a0 + 2 * b0 + b1 + 4) >> 3;
        a[1] = (a2 + a1 + a0 + b0 + 2) >> 2;
        a[2] = (2 * a3 + 3 * a2 + a1 + a0 + b0 + 4) >> 3;
    }

    const int columns_, rows_;
    const h264::ChromaFormat format_;
    const int bit_depth_, chroma_offsets_[2];
    const std::vector<FilteredMacroblock> *macroblocks_ = nullptr;
    int component_ = 0;
    std::vector<uint16_t> *plane_ = nullptr;
};

}  // namespace cudaenc::testing::decoder
