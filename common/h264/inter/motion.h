// SPDX-License-Identifier: LGPL-2.1-or-later
// Motion vectors of P macroblocks and their prediction (H.264, 8.4.1), the same on host and device. There is one
// reference picture.
#pragma once
#include <cstdint>

#include "../../hd.h"
#include "../syntax/macroblock.h"

namespace cudaenc::h264 {

// The field that a P field refers to.
struct FieldReference {
    int32_t distance = 1;           // fields before: 1, of the other parity, or 2, of the same one
    int32_t chroma_offset = 0;      // of vertical vectors to chroma of 4:2:0, eighths (table 8-9)
    uint32_t abs_diff_pic_num = 0;  // of ref_pic_list_modification(); 0: list 0 begins with the field
};
// Of a field, the bottom one or the second one of its frame. 8.2.4.1: PicNum of a frame's field is twice FrameNumWrap,
// and one more of the same parity. 8.2.4.2.5: list 0 begins with the same parity.
CUDAENC_HD constexpr FieldReference field_reference(int distance, bool bottom, bool second) {
    if (distance == 2) return {.distance = 2};
    return {.distance = 1, .chroma_offset = bottom ? 2 : -2, .abs_diff_pic_num = second ? 1u : 3u};
}

// How a P macroblock is divided (table 7-13), in the order of mb_type; P_8x8 has no smaller parts.
enum class Shape : uint8_t { p16x16, p16x8, p8x16, p8x8 };
CUDAENC_HD constexpr int parts_of(Shape shape) { return shape == Shape::p16x16 ? 1 : shape == Shape::p8x8 ? 4 : 2; }
// The 8x8 block, in raster order, in which a part begins, and the part's width in 8x8 blocks.
CUDAENC_HD constexpr int first_block_of(Shape shape, int part) { return shape == Shape::p16x8 ? 2 * part : part; }
CUDAENC_HD constexpr int width_of(Shape shape) { return shape == Shape::p16x16 || shape == Shape::p16x8 ? 2 : 1; }
// Whether a part has an 8x8 block.
CUDAENC_HD constexpr int part_of_block(Shape shape, int block) {
    return shape == Shape::p16x16 ? 0 : shape == Shape::p16x8 ? block / 2 : shape == Shape::p8x16 ? block % 2 : block;
}

// The motion of a macroblock.
struct MacroblockMotion {
    Vector vectors[4];  // of its 8x8 blocks, in raster order; 0 of intra macroblocks
    Shape shape;
    bool inter;
    CUDAENC_HD void fill(Vector v) {
        for (Vector &each : vectors) each = v;
        shape = Shape::p16x16;
        inter = true;
    }
};

// A neighbouring block.
struct NeighbourVector {
    Vector vector;  // 0 where not inter
    bool available, inter;
};

CUDAENC_HD constexpr int16_t median_of(int16_t a, int16_t b, int16_t c) {
    return max_of(min_of(a, b), min_of(max_of(a, b), c));
}

// 8.4.1.3: the predicted vector from the blocks to the left, above, above right (c) and above left (d) of the part.
// direct: 0: median; 1, 2, 3: a, b or c if it is inter.
CUDAENC_HD Vector predict_vector(const NeighbourVector &a, NeighbourVector b, NeighbourVector c,
                                 const NeighbourVector &d, int direct) {
    if (!c.available) c = d;
    if (direct == 1 && a.inter) return a.vector;
    if (direct == 2 && b.inter) return b.vector;
    if (direct == 3 && c.inter) return c.vector;
    if (!b.available && !c.available && a.available) b = c = a;
    if (a.inter + b.inter + c.inter == 1) return a.inter ? a.vector : b.inter ? b.vector : c.vector;
    return {median_of(a.vector.x, b.vector.x, c.vector.x), median_of(a.vector.y, b.vector.y, c.vector.y)};
}

// Bits of a difference of vectors (mvd_l0).
CUDAENC_HD uint32_t difference_bits(int d) {
    const uint32_t code = d > 0 ? 2 * static_cast<uint32_t>(d) : 2 * static_cast<uint32_t>(-d) + 1;
    return static_cast<uint32_t>(2 * floor_log2(code) + 1);
}
CUDAENC_HD uint32_t vector_bits(Vector v, Vector predicted) {
    return difference_bits(v.x - predicted.x) + difference_bits(v.y - predicted.y);
}

// The motion of a picture's macroblocks, `columns` a row.
struct MotionField {
    const MacroblockMotion *motion;
    int columns;
    const MacroblockMotion *own = nullptr;  // of macroblock own_at, in place of the one in the field
    int own_at = -1;
    int first = 0;  // macroblock of the slice that has the one asked for; vectors of those before are not available

    // The 8x8 block in column x and row y of the picture.
    CUDAENC_HD NeighbourVector block(int x, int y) const {
        const int at = (y >> 1) * columns + (x >> 1);
        if (x < 0 || x >= 2 * columns || at < first) return {{}, false, false};
        const MacroblockMotion &m = at == own_at ? *own : motion[at];
        return {m.vectors[(y & 1) * 2 + (x & 1)], true, m.inter};
    }

    // mvp of a part of macroblock (x, y), whose own shape and vectors before the part are in the field.
    CUDAENC_HD Vector predicted(int x, int y, Shape shape, int part) const {
        const int block_in = first_block_of(shape, part), width = width_of(shape);
        const int bx = 2 * x + (block_in & 1), by = 2 * y + (block_in >> 1);
        NeighbourVector c = block(bx + width, by - 1);
        // Behind the part in the order of coding: inside the macroblock, or in the one to the right.
        if ((by & 1) && !(shape == Shape::p8x8 && part == 2)) c = {{}, false, false};
        const int direct = shape == Shape::p16x8 ? (part ? 1 : 2) : shape == Shape::p8x16 ? (part ? 3 : 1) : 0;
        return predict_vector(block(bx - 1, by), block(bx, by - 1), c, block(bx - 1, by - 1), direct);
    }

    // Bits of the vectors of macroblock (x, y).
    CUDAENC_HD uint32_t bits(int x, int y, const MacroblockMotion &m) const {
        MotionField with = *this;
        with.own = &m;
        with.own_at = y * columns + x;
        uint32_t sum = 0;
        for (int part = 0; part < parts_of(m.shape); part++)
            sum += vector_bits(m.vectors[first_block_of(m.shape, part)], with.predicted(x, y, m.shape, part));
        return sum;
    }

    // 8.4.1.1: the vector of P_Skip.
    CUDAENC_HD Vector skipped(int x, int y) const {
        const NeighbourVector a = block(2 * x - 1, 2 * y), b = block(2 * x, 2 * y - 1);
        if (!a.available || !b.available || (a.inter && a.vector == Vector{}) || (b.inter && b.vector == Vector{}))
            return {};
        return predicted(x, y, Shape::p16x16, 0);
    }
};

// The vectors that a macroblock may have, in quarter samples.
struct VectorRange {
    int left, right, top, bottom;
    CUDAENC_HD bool has(Vector v) const { return v.x >= left && v.x <= right && v.y >= top && v.y <= bottom; }
    CUDAENC_HD Vector clamp(int x, int y) const {
        return {static_cast<int16_t>(max_of(left, min_of(right, x))),
                static_cast<int16_t>(max_of(top, min_of(bottom, y)))};
    }
};
// So far a macroblock's prediction may lie outside the picture, in samples.
inline constexpr int kReach = 24;
// vertical: the level's limit (table A-1), in samples. Of macroblock (x, y).
CUDAENC_HD VectorRange range_of(int x, int y, int columns, int rows, int vertical) {
    return {-4 * (16 * x + kReach), 4 * (16 * (columns - x - 1) + kReach),
            max_of(-4 * (16 * y + kReach), -4 * vertical),
            min_of(4 * (16 * (rows - y - 1) + kReach), 4 * vertical - 1)};
}

// ---- Quarter samples (8.4.2.2.1). Planes of a reference: whole samples, those half a sample to the right (b), those
// half a sample below (h), and both (j). A quarter sample is the mean of two of them.

enum HalfPlane : uint8_t { kWhole, kRight, kBelow, kCentre, kHalfPlanes };
struct QuarterSource {
    HalfPlane plane[2];  // the same ones: no mean
    uint8_t x[2], y[2];  // where it lies beside the whole sample
};
// By 4 (y & 3) + (x & 3).
CUDAENC_HD constexpr QuarterSource quarter_source(int quarter) {
    switch (quarter) {
        case 0:
            return {{kWhole, kWhole}, {0, 0}, {0, 0}};
        case 1:
            return {{kWhole, kRight}, {0, 0}, {0, 0}};
        case 2:
            return {{kRight, kRight}, {0, 0}, {0, 0}};
        case 3:
            return {{kRight, kWhole}, {0, 1}, {0, 0}};
        case 4:
            return {{kWhole, kBelow}, {0, 0}, {0, 0}};
        case 5:
            return {{kRight, kBelow}, {0, 0}, {0, 0}};
        case 6:
            return {{kRight, kCentre}, {0, 0}, {0, 0}};
        case 7:
            return {{kRight, kBelow}, {0, 1}, {0, 0}};
        case 8:
            return {{kBelow, kBelow}, {0, 0}, {0, 0}};
        case 9:
            return {{kBelow, kCentre}, {0, 0}, {0, 0}};
        case 10:
            return {{kCentre, kCentre}, {0, 0}, {0, 0}};
        case 11:
            return {{kCentre, kBelow}, {0, 1}, {0, 0}};
        case 12:
            return {{kBelow, kWhole}, {0, 0}, {0, 1}};
        case 13:
            return {{kBelow, kRight}, {0, 0}, {0, 1}};
        case 14:
            return {{kCentre, kRight}, {0, 0}, {0, 1}};
        default:
            return {{kBelow, kRight}, {1, 0}, {0, 1}};
    }
}

// (8-241), before rounding.
template <class T>
CUDAENC_HD constexpr T six_taps(const T &a, const T &b, const T &c, const T &d, const T &e, const T &f) {
    return (a + f) - 5 * (b + e) + 20 * (c + d);
}

}  // namespace cudaenc::h264
