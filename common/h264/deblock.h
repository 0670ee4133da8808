// SPDX-License-Identifier: LGPL-2.1-or-later
// The deblocking filter (H.264, 8.7), of frames and of fields whose inter macroblocks have one reference picture, the
// same on host and device. Macroblocks are filtered in the order of addresses: vertical edges from left to right, then
// horizontal ones from top to bottom. V: int32_t, or a vector for as many lines across an edge.
#pragma once
#include <array>
#include <cstdint>

#include "../hd.h"
#include "syntax/macroblock.h"
#include "syntax/quantise.h"

namespace cudaenc::h264 {

// What the filter has to know of a macroblock, beside vectors. Blocks are 4x4 blocks of luma, in raster order.
struct alignas(8) DeblockMacroblock {
    uint8_t intra;          // 1: of an intra type
    uint8_t transform_8x8;  // transform_size_8x8_flag
    int8_t qp;              // QPY; 0 of I_PCM
    uint16_t nonzero;       // bit 4 y + x: the block has levels that are not 0; or its 8x8 block, with transform_8x8
    uint16_t slice;
};
static_assert(sizeof(DeblockMacroblock) == 8);
// A vector of each block, quarter samples.
struct alignas(4) DeblockVector {
    int16_t x, y;
};

// Thresholds by the mean QP of two macroblocks, and QPC by QPY; indices have QpBdOffset added.
struct DeblockTables {
    static constexpr int kQps = kMaxQp + 1 + qp_bd_offset(kMaxBitDepth);
    uint16_t alpha[kQps], beta[kQps];
    int16_t tc0[kQps][4];  // of bS 1 to 3; -1 of bS 0
    int8_t chroma_qp[kQps];
};

namespace detail {

// Table 8-16, by indexA and indexB.
inline constexpr uint8_t kAlpha[52] = {0,  0,  0,  0,  0,  0,  0,   0,   0,   0,   0,   0,   0,   0,   0,   0,  4,  4,
                                       5,  6,  7,  8,  9,  10, 12,  13,  15,  17,  20,  22,  25,  28,  32,  36, 40, 45,
                                       50, 56, 63, 71, 80, 90, 101, 113, 127, 144, 162, 182, 203, 226, 255, 255};
inline constexpr uint8_t kBeta[52] = {0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0, 2,  2,
                                      2,  3,  3,  3,  3,  4,  4,  4,  6,  6,  7,  7,  8,  8,  9,  9, 10, 10,
                                      11, 11, 12, 12, 13, 13, 14, 14, 15, 15, 16, 16, 17, 17, 18, 18};
// Table 8-17, by indexA, of bS 1 to 3.
inline constexpr uint8_t kTc0[3][52] = {
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,  1,  1,
     1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 6, 6, 7, 8, 9, 10, 11, 13},
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  1,  1,  1,  1,  1,
     1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 8, 10, 11, 12, 13, 15, 17},
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,  1,  1,  1,  1,  1,  1,  1,  1,
     1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 6, 6, 7, 8, 9, 10, 11, 13, 14, 16, 18, 20, 23, 25}};

}  // namespace detail

// 8.7.2.2, and tc0 as 8.7.2.3 scales it. offset_a, offset_b: FilterOffsetA and FilterOffsetB, -12 to 12 and
// even; chroma_offset: chroma_qp_index_offset.
constexpr DeblockTables make_deblock_tables(int bit_depth, int offset_a = 0, int offset_b = 0, int chroma_offset = 0) {
    DeblockTables tables{};
    const int scale = 1 << (bit_depth - 8), offset = qp_bd_offset(bit_depth);
    for (int i = 0; i <= kMaxQp + offset; i++) {
        const int qp = i - offset;
        const int a = min_of(max_of(qp + offset_a, 0), 51), b = min_of(max_of(qp + offset_b, 0), 51);
        tables.alpha[i] = static_cast<uint16_t>(detail::kAlpha[a] * scale);
        tables.beta[i] = static_cast<uint16_t>(detail::kBeta[b] * scale);
        tables.tc0[i][0] = -1;
        for (int s = 1; s < 4; s++) tables.tc0[i][s] = static_cast<int16_t>(detail::kTc0[s - 1][a] * scale);
        tables.chroma_qp[i] = static_cast<int8_t>(chroma_qp(qp, bit_depth, chroma_offset) - offset);
    }
    return tables;
}

// A picture and how it is filtered.
struct DeblockPicture {
    ChromaFormat format;
    int32_t bit_depth;
    int32_t columns, rows;  // macroblocks
    bool field;             // rows are twice as far apart as those of a frame
    bool across_slices;     // disable_deblocking_filter_idc is 0, else 2
    const DeblockTables *tables;
    const DeblockMacroblock *macroblocks;  // in raster order
    const DeblockVector *vectors;          // of 16 blocks a macroblock; of intra ones any

    // Whether the left or the upper edge of a macroblock is filtered.
    CUDAENC_HD bool has_left(int x, int y) const { return x > 0 && joins(y * columns + x, y * columns + x - 1); }
    CUDAENC_HD bool has_top(int x, int y) const { return y > 0 && joins(y * columns + x, (y - 1) * columns + x); }

  private:
    CUDAENC_HD bool joins(int a, int b) const { return across_slices || macroblocks[a].slice == macroblocks[b].slice; }
};

// 8.7.2.1: bS of edges to the left of blocks and above them. (What else the clause has is of MBAFF frames, of
// other references and of other pictures.) Bit 16 direction + 4 y + x is of the edge of the block in column x and row
// y: to the left of it in direction 0, above it in direction 1.
struct EdgeMasks {
    uint32_t intra;  // bS 3, or 4 where it is strong too: the edge is a macroblock's and, of fields, in direction 0
    uint32_t strong;
    uint32_t coded;  // 2
    uint32_t moved;  // 1

    CUDAENC_HD uint32_t any() const { return intra | coded | moved; }
    // Of edge 0 to 3 of a direction, part 0 to 3 of it.
    CUDAENC_HD int strength(int direction, int edge, int part) const {
        const int bit = 16 * direction + (direction ? 4 * edge + part : edge + 4 * part);
        return intra >> bit & 1   ? 3 + static_cast<int>(strong >> bit & 1)
               : coded >> bit & 1 ? 2
                                  : static_cast<int>(moved >> bit & 1);
    }
};
// Bits of an edge, and those of a direction's first edge.
CUDAENC_HD constexpr uint32_t edge_bits(int direction, int edge) {
    return direction ? 0xF0000u << 4 * edge : 0x1111u << edge;
}
// Whether the blocks on both sides have levels, of all edges. own, left, above: DeblockMacroblock::nonzero.
CUDAENC_HD constexpr uint32_t coded_edges(uint32_t own, uint32_t left, uint32_t above) {
    const uint32_t from_left = (own & 0x7777) << 1 | (left & 0x8888) >> 3,
                   from_above = (own & 0xFFF) << 4 | above >> 12;
    return (own | from_above) << 16 | own | from_left;
}
// From how many quarter samples on vectors differ vertically, which is a sample of a frame.
CUDAENC_HD constexpr int vertical_limit(bool field) { return field ? 2 : 4; }
CUDAENC_HD constexpr bool moved_apart(DeblockVector a, DeblockVector b, bool field) {
    const int x = a.x - b.x, y = a.y - b.y, limit = vertical_limit(field);
    return x >= 4 || x <= -4 || y >= limit || y <= -limit;
}
// has_left, has_top: whether these edges are filtered; moved: of moved_apart(), of others any. field: as of
// DeblockPicture.
CUDAENC_HD EdgeMasks edge_masks(const DeblockMacroblock &own, const DeblockMacroblock &left, bool has_left,
                                const DeblockMacroblock &above, bool has_top, uint32_t moved, bool field) {
    const uint32_t first_column = has_left ? edge_bits(0, 0) : 0, first_row = has_top ? edge_bits(1, 0) : 0;
    const uint32_t filtered = ~(edge_bits(0, 0) | edge_bits(1, 0)) | first_column | first_row;
    EdgeMasks masks{};
    masks.intra = own.intra ? filtered : (left.intra ? first_column : 0) | (above.intra ? first_row : 0);
    masks.strong = masks.intra & (edge_bits(0, 0) | (field ? 0 : edge_bits(1, 0)));
    masks.coded = coded_edges(own.nonzero, left.nonzero, above.nonzero) & filtered;
    masks.moved = moved & filtered;
    return masks;
}

namespace detail {

template <class V>
CUDAENC_HD void clamp(V &v, const V &low, const V &high) {
    v = v < low ? low : v;
    v = v > high ? high : v;
}

// Distances of samples from those beside them on their side, and across the edge.
template <class V>
struct Distances {
    V p0_q0, p1_p0, q1_q0, p2_p0, q2_q0;
    CUDAENC_HD explicit Distances(const V (&s)[8]) {
        set(p0_q0, s[3] - s[4]);
        set(p1_p0, s[2] - s[3]);
        set(q1_q0, s[5] - s[4]);
        set(p2_p0, s[1] - s[3]);
        set(q2_q0, s[6] - s[4]);
    }

  private:
    CUDAENC_HD static void set(V &to, const V &d) { to = d < 0 ? -d : d; }
};

}  // namespace detail

// The samples across an edge: p3, p2, p1, p0, q0, q1, q2, q3. Chroma has neither of the outer two on each side.
//
// 8.7.2.3, bS 1 to 3. Luma: chromaStyleFilteringFlag is 0, as of all components of 4:4:4. tc0: below 0: bS is 0; most:
// the largest sample.
template <bool Luma, class V>
CUDAENC_HD void filter_edge(V (&s)[8], const V &alpha, const V &beta, const V &tc0, const V &most) {
    const V p1 = s[2], p0 = s[3], q0 = s[4], q1 = s[5], zero = p0 - p0;
    const detail::Distances<V> d(s);
    const auto filtered = (tc0 >= 0) & (d.p0_q0 < alpha) & (d.p1_p0 < beta) & (d.q1_q0 < beta);
    V tc = tc0 + 1;
    if constexpr (Luma) {
        const V p2 = s[1], q2 = s[6], mean = (p0 + q0 + 1) >> 1;
        const auto near_p = d.p2_p0 < beta, near_q = d.q2_q0 < beta;
        tc = tc0 + (near_p ? zero + 1 : zero) + (near_q ? zero + 1 : zero);
        V to_p1 = (p2 + mean - p1 - p1) >> 1, to_q1 = (q2 + mean - q1 - q1) >> 1;
        detail::clamp<V>(to_p1, -tc0, tc0);
        detail::clamp<V>(to_q1, -tc0, tc0);
        s[2] = (filtered & near_p) ? p1 + to_p1 : p1;
        s[5] = (filtered & near_q) ? q1 + to_q1 : q1;
    }
    V delta = (((q0 - p0) << 2) + (p1 - q1) + 4) >> 3;
    detail::clamp<V>(delta, -tc, tc);
    V p0_to = p0 + delta, q0_to = q0 - delta;
    detail::clamp<V>(p0_to, zero, most);
    detail::clamp<V>(q0_to, zero, most);
    s[3] = filtered ? p0_to : p0;
    s[4] = filtered ? q0_to : q0;
}

// 8.7.2.4: bS 4.
template <bool Luma, class V>
CUDAENC_HD void filter_strong_edge(V (&s)[8], const V &alpha, const V &beta) {
    const V p1 = s[2], p0 = s[3], q0 = s[4], q1 = s[5];
    const detail::Distances<V> d(s);
    const auto filtered = (d.p0_q0 < alpha) & (d.p1_p0 < beta) & (d.q1_q0 < beta);
    const V p0_weak = (p1 + p1 + p0 + q1 + 2) >> 2, q0_weak = (q1 + q1 + q0 + p1 + 2) >> 2;
    s[3] = filtered ? p0_weak : p0;
    s[4] = filtered ? q0_weak : q0;
    if constexpr (Luma) {
        const V p3 = s[0], p2 = s[1], q2 = s[6], q3 = s[7], both = p0 + q0;
        const auto close = filtered & (d.p0_q0 < (alpha >> 2) + 2);
        const auto flat_p = close & (d.p2_p0 < beta), flat_q = close & (d.q2_q0 < beta);
        s[1] = flat_p ? (p3 + p3 + p2 + p2 + p2 + p1 + both + 4) >> 3 : p2;
        s[2] = flat_p ? (p2 + p1 + both + 2) >> 2 : p1;
        s[3] = flat_p ? (p2 + p1 + p1 + both + both + q1 + 4) >> 3 : s[3];
        s[4] = flat_q ? (p1 + both + both + q1 + q1 + q2 + 4) >> 3 : s[4];
        s[5] = flat_q ? (both + q1 + q2 + 2) >> 2 : q1;
        s[6] = flat_q ? (q3 + q3 + q2 + q2 + q2 + q1 + both + 4) >> 3 : q2;
    }
}

}  // namespace cudaenc::h264
