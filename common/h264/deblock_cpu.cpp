// SPDX-License-Identifier: LGPL-2.1-or-later
#include "deblock_cpu.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "../simd.h"
#include "syntax/sample_vectors.h"

namespace cudaenc::h264 {

namespace {

// bS of the four parts of an edge.
struct Strengths {
    uint8_t of[4];
};

// Which part of an edge each of 16 lines across it belongs to: lines of luma or of a component that has as many; or 8
// lines of Cb and 8 of Cr, two a part.
enum class Parts { by_four, by_two };

template <Parts P>
[[gnu::always_inline]] inline Lanes spread_over_lines(const int16_t (&of)[4]) {
    const Lanes v = {of[0], of[1], of[2], of[3]};
    if constexpr (P == Parts::by_four)
        return __builtin_shufflevector(v, v, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    else
        return __builtin_shufflevector(v, v, 0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 2, 2, 3, 3);
}

template <bool Luma, Parts P>
[[gnu::always_inline]] inline void filter_lines(Lanes (&s)[8], const DeblockPicture &picture, int qp,
                                                const Strengths &strengths) {
    const DeblockTables &t = *picture.tables;
    const Lanes none{}, alpha = none + static_cast<int16_t>(t.alpha[qp]),
                        beta = none + static_cast<int16_t>(t.beta[qp]);
    if (strengths.of[0] == 4) {  // then all are
        filter_strong_edge<Luma>(s, alpha, beta);
        return;
    }
    const int16_t tc0[4] = {t.tc0[qp][strengths.of[0]], t.tc0[qp][strengths.of[1]], t.tc0[qp][strengths.of[2]],
                            t.tc0[qp][strengths.of[3]]};
    const int16_t most = static_cast<int16_t>((1 << picture.bit_depth) - 1);  // a variable, for UBSan's compiler
    filter_edge<Luma>(s, alpha, beta, spread_over_lines<P>(tc0), none + most);
}

// Rows of 8 to columns and back, of the low and of the high lanes by themselves.
template <int Distance>
[[gnu::always_inline]] inline void interleave(const Lanes &a, const Lanes &b, Lanes &low, Lanes &high) {
    if constexpr (Distance == 1) {
        low = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27);
        high = __builtin_shufflevector(a, b, 4, 20, 5, 21, 6, 22, 7, 23, 12, 28, 13, 29, 14, 30, 15, 31);
    } else if constexpr (Distance == 2) {
        low = __builtin_shufflevector(a, b, 0, 1, 16, 17, 2, 3, 18, 19, 8, 9, 24, 25, 10, 11, 26, 27);
        high = __builtin_shufflevector(a, b, 4, 5, 20, 21, 6, 7, 22, 23, 12, 13, 28, 29, 14, 15, 30, 31);
    } else {
        low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
        high = __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
    }
}
[[gnu::always_inline]] inline void transpose(Lanes (&v)[8]) {
    Lanes a[8], b[8];
    for (int i = 0; i < 4; i++) interleave<1>(v[2 * i], v[2 * i + 1], a[2 * i], a[2 * i + 1]);
    for (int i = 0; i < 2; i++) {
        interleave<2>(a[4 * i], a[4 * i + 2], b[4 * i], b[4 * i + 1]);
        interleave<2>(a[4 * i + 1], a[4 * i + 3], b[4 * i + 2], b[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) interleave<4>(b[i], b[4 + i], v[2 * i], v[2 * i + 1]);
}

// Two rows of 8 samples, the edge in their middle or along them.
[[gnu::always_inline]] inline void load(Lanes &v, const Sample *low_lanes, const Sample *high_lanes) {
    Half halves[2];
    std::memcpy(&halves[0], low_lanes, sizeof(Half));
    std::memcpy(&halves[1], high_lanes, sizeof(Half));
    v = join(halves[0], halves[1]);
}
[[gnu::always_inline]] inline void store(const Lanes &v, Sample *low_lanes, Sample *high_lanes) {
    const Half halves[2] = {low(v), high(v)};
    std::memcpy(low_lanes, &halves[0], sizeof(Half));
    std::memcpy(high_lanes, &halves[1], sizeof(Half));
}

// Edges between columns, and between rows. first, second: where q0 of the first 8 lines is, and of the others.
template <bool Luma, Parts P>
[[gnu::always_inline]] inline void filter_columns(const DeblockPicture &picture, const Block &first,
                                                  const Block &second, int qp, const Strengths &strengths) {
    Lanes s[8];
    for (int i = 0; i < 8; i++) load(s[i], first.at(-4, i).data, second.at(-4, i).data);
    transpose(s);
    filter_lines<Luma, P>(s, picture, qp, strengths);
    transpose(s);
    for (int i = 0; i < 8; i++) store(s[i], first.at(-4, i).data, second.at(-4, i).data);
}
template <bool Luma, Parts P>
[[gnu::always_inline]] inline void filter_rows(const DeblockPicture &picture, const Block &first, const Block &second,
                                               int qp, const Strengths &strengths) {
    constexpr int kRead = Luma ? 4 : 2, kWritten = Luma ? 3 : 1;
    Lanes s[8]{};
    for (int i = -kRead; i < kRead; i++) load(s[4 + i], first.at(0, i).data, second.at(0, i).data);
    filter_lines<Luma, P>(s, picture, qp, strengths);
    for (int i = -kWritten; i < kWritten; i++) store(s[4 + i], first.at(0, i).data, second.at(0, i).data);
}

CUDAENC_CLONES void filter_luma_columns(const DeblockPicture &p, Block q0, int qp, Strengths strengths) {
    filter_columns<true, Parts::by_four>(p, q0, q0.at(0, 8), qp, strengths);
}
CUDAENC_CLONES void filter_luma_rows(const DeblockPicture &p, Block q0, int qp, Strengths strengths) {
    filter_rows<true, Parts::by_four>(p, q0, q0.at(8, 0), qp, strengths);
}
// Of 4:2:0: Cb and Cr. Of 4:2:2 a component has 16 rows.
CUDAENC_CLONES void filter_chroma_columns(const DeblockPicture &p, Block cb, Block cr, int qp, Strengths strengths) {
    filter_columns<false, Parts::by_two>(p, cb, cr, qp, strengths);
}
CUDAENC_CLONES void filter_tall_chroma_columns(const DeblockPicture &p, Block q0, int qp, Strengths strengths) {
    filter_columns<false, Parts::by_four>(p, q0, q0.at(0, 8), qp, strengths);
}
CUDAENC_CLONES void filter_chroma_rows(const DeblockPicture &p, Block cb, Block cr, int qp, Strengths strengths) {
    filter_rows<false, Parts::by_two>(p, cb, cr, qp, strengths);
}

// A macroblock, whose direction 0 has edges between columns, and 1 between rows.
class MacroblockFilter {
  public:
    MacroblockFilter(const DeblockPicture &picture, const Block *planes, int x, int y)
        : p_(picture),
          own_(y * picture.columns + x),
          edges_{picture.has_left(x, y) ? own_ - 1 : -1, picture.has_top(x, y) ? own_ - picture.columns : -1} {
        const bool subsampled = p_.format == ChromaFormat::c420 || p_.format == ChromaFormat::c422;
        const int height = p_.format == ChromaFormat::c420 ? 8 : 16;
        planes_[0] = planes[0].at(16 * x, 16 * y);
        for (int c = 1; c < 3 && p_.format != ChromaFormat::c400; c++)
            planes_[c] = subsampled ? planes[c].at(8 * x, height * y) : planes[c].at(16 * x, 16 * y);
    }

    void filter() const {
        const auto of = [&](int at) { return p_.macroblocks[at < 0 ? own_ : at]; };
        const DeblockMacroblock &own = p_.macroblocks[own_];
        const EdgeMasks masks = edge_masks(own, of(edges_[0]), edges_[0] >= 0, of(edges_[1]), edges_[1] >= 0,
                                           own.intra ? 0 : moved_edges(), p_.field);
        const uint32_t any = masks.any();
        for (int direction = 0; direction < 2 && any; direction++)
            for (int edge = 0; edge < 4; edge++) {
                if (!(any & edge_bits(direction, edge))) continue;
                Strengths strengths;
                for (int part = 0; part < 4; part++)
                    strengths.of[part] = static_cast<uint8_t>(masks.strength(direction, edge, part));
                filter_edge_of(direction, edge, edge ? own_ : edges_[direction], strengths);
            }
    }

  private:
    // moved_apart() of all edges, as bits.
    uint32_t moved_edges() const {
        const auto row_of = [&](int at, int y) {
            Half row;
            std::memcpy(&row, p_.vectors + 16 * static_cast<size_t>(at) + 4 * y, sizeof row);
            return row;
        };
        const int16_t vertical = static_cast<int16_t>(vertical_limit(p_.field));
        const Half limits = {4, vertical, 4, vertical, 4, vertical, 4, vertical};
        const auto moved = [&](const Half &a, const Half &b) {
            const Half d = a - b, far = (d >= limits) | (d <= -limits);
            uint64_t pairs[2];
            std::memcpy(pairs, &far, sizeof pairs);
            const auto any = [](uint64_t word) { return uint32_t{static_cast<uint32_t>(word) != 0}; };
            return any(pairs[0]) | any(pairs[0] >> 32) << 1 | any(pairs[1]) << 2 | any(pairs[1] >> 32) << 3;
        };
        Half above = row_of(edges_[1] < 0 ? own_ : edges_[1], 3);
        uint32_t bits = 0;
        for (int y = 0; y < 4; y++) {
            const Half row = row_of(own_, y), left = row_of(edges_[0] < 0 ? own_ : edges_[0], y);
            bits |= moved(row, __builtin_shufflevector(left, row, 6, 7, 8, 9, 10, 11, 12, 13)) << 4 * y;
            bits |= moved(row, above) << (16 + 4 * y);
            above = row;
        }
        return bits;
    }

    // The index of the mean QP of two macroblocks.
    int luma_qp(int other) const {
        return ((p_.macroblocks[other].qp + p_.macroblocks[own_].qp + 1) >> 1) + qp_bd_offset(p_.bit_depth);
    }
    int chroma_qp_of(int other) const {
        const int offset = qp_bd_offset(p_.bit_depth);
        const int8_t *const of = p_.tables->chroma_qp + offset;
        return ((of[p_.macroblocks[other].qp] + of[p_.macroblocks[own_].qp] + 1) >> 1) + offset;
    }

    void filter_edge_of(int direction, int edge, int other, const Strengths &strengths) const {
        const auto at = [=](const Block &block, int distance) {
            return direction ? block.at(0, distance) : block.at(distance, 0);
        };
        const auto filter_as_luma = [&](int c, int qp) {
            (direction ? filter_luma_rows : filter_luma_columns)(p_, at(planes_[c], 4 * edge), qp, strengths);
        };
        if (!(edge & 1) || !p_.macroblocks[own_].transform_8x8) {
            filter_as_luma(0, luma_qp(other));
            for (int c = 1; c < 3 && p_.format == ChromaFormat::c444; c++) filter_as_luma(c, chroma_qp_of(other));
        }
        if (p_.format == ChromaFormat::c400 || p_.format == ChromaFormat::c444) return;
        const int qp = chroma_qp_of(other);
        if (direction && p_.format == ChromaFormat::c422) {  // as many edges as luma
            filter_chroma_rows(p_, planes_[1].at(0, 4 * edge), planes_[2].at(0, 4 * edge), qp, strengths);
        } else if (!(edge & 1)) {
            const Block cb = at(planes_[1], 2 * edge), cr = at(planes_[2], 2 * edge);
            if (direction) return filter_chroma_rows(p_, cb, cr, qp, strengths);
            if (p_.format == ChromaFormat::c420) return filter_chroma_columns(p_, cb, cr, qp, strengths);
            filter_tall_chroma_columns(p_, cb, qp, strengths);
            filter_tall_chroma_columns(p_, cr, qp, strengths);
        }
    }

    const DeblockPicture &p_;
    const int own_;
    const int edges_[2];  // the macroblock beyond the left edge, and the upper one, or -1
    Block planes_[3]{};
};

}  // namespace

void deblock_row(const DeblockPicture &picture, const Block *planes, int y) {
    for (int x = 0; x < picture.columns; x++) MacroblockFilter(picture, planes, x, y).filter();
}

// A macroblock changes the one above as soon as the left edge of the next one there has.
void deblock(const DeblockPicture &picture, const Block *planes, ThreadPool &pool) {
    const auto done = std::make_unique<std::atomic<int>[]>(static_cast<size_t>(picture.rows));  // of rows
    pool.for_each(static_cast<size_t>(picture.rows), [&](size_t row) {
        const int y = static_cast<int>(row);
        for (int x = 0; x < picture.columns; x++) {
            const int wanted = y ? min_of(x + 2, picture.columns) : 0;
            while (y && done[row - 1].load(std::memory_order_acquire) < wanted) std::this_thread::yield();
            MacroblockFilter(picture, planes, x, y).filter();
            done[row].store(x + 1, std::memory_order_release);
        }
    });
}

uint16_t nonzero_blocks(const int16_t *levels, int pattern, bool transform_8x8) {
    uint32_t blocks = 0;
    for (int b = 0; b < 4; b++) {
        if (!(pattern >> b & 1)) continue;
        uint32_t of_8x8 = 0;  // bits 0, 1, 4, 5
        for (int i = 0; i < 4; i++) {
            uint32_t any = 0;
            for (int k = 0; k < 16; k++) any |= static_cast<uint16_t>(levels[64 * b + 16 * i + k]);
            of_8x8 |= uint32_t{any != 0} << (4 * (i >> 1) + (i & 1));
        }
        if (transform_8x8 && of_8x8) of_8x8 = 0x33;
        blocks |= of_8x8 << (8 * (b >> 1) + 2 * (b & 1));
    }
    return static_cast<uint16_t>(blocks);
}

}  // namespace cudaenc::h264
