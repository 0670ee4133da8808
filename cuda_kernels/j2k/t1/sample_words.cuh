// SPDX-License-Identifier: LGPL-2.1-or-later
// Words of samples of a code-block: bit 4 x + y is row y of column x, of 4 rows and 8 columns. So bits are in the order
// of the scan (T.800 Figure D.1).
#pragma once
#include "../../../common/j2k/t1/contexts.h"
#include "../../device.cuh"

namespace cudaenc::j2k {

constexpr uint32_t kFirst = kFirstRows<uint32_t>, kLast = kLastRows<uint32_t>;

// A word of samples and the columns beside it: bit 4 + i is sample i.
struct Widened {
    uint32_t lo, hi;
    DEVICE_MEMBER void add(uint32_t samples) {
        lo |= samples << 4;
        hi |= samples >> 28;
    }
    // Of sample i's row: bit 0 is west of it, 4 the sample, 8 east. And so on for the rows below.
    DEVICE_MEMBER uint32_t from(int i) const { return funnel_shift_right(lo, hi, static_cast<uint32_t>(i)); }
};
DEVICE Widened operator|(const Widened &a, const Widened &b) { return {a.lo | b.lo, a.hi | b.hi}; }

// What lies above and below each sample. rows: the stripe above, or below.
DEVICE uint32_t north_of(uint32_t own, uint32_t rows) { return (own << 1 & ~kFirst) | (rows >> 3 & kFirst); }
DEVICE uint32_t south_of(uint32_t own, uint32_t rows) { return (own >> 1 & ~kLast) | (rows << 3 & kLast); }
DEVICE Widened north_of(const Widened &own, const Widened &rows) {
    return {north_of(own.lo, rows.lo), north_of(own.hi, rows.hi)};
}
DEVICE Widened south_of(const Widened &own, const Widened &rows) {
    return {south_of(own.lo, rows.lo), south_of(own.hi, rows.hi)};
}

// A word between those left and right of it.
struct Window {
    uint32_t left = 0, own = 0, right = 0;
    DEVICE_MEMBER void shift(uint32_t next) {
        left = own;
        own = right;
        right = next;
    }
    DEVICE_MEMBER Widened widened() const { return {left >> 28 | own << 4, own >> 28 | (right & 15) << 4}; }
};

// What the neighbours of sample i are, from it: bits 0, 4 and 8 are west, middle and east of it.
struct Neighbours {
    uint32_t north, middle, south;
    // Bit 3 * column + row of the 3 x 3 samples.
    DEVICE_MEMBER uint32_t around() const {
        const uint32_t all = (north & 0x111) | (middle & 0x101) << 1 | (south & 0x111) << 2;
        return (all & 7) | (all >> 1 & 0x38) | (all >> 2 & 0x1C0);
    }
};

// A word in a pass: which samples are significant, which of them negative.
struct Word {
    uint32_t index, valid;  // of the block's; samples that are in the block
    Widened own, north, south;
    Widened negative;
    uint32_t negative_north, negative_south;
    uint32_t added = 0;  // became significant

    DEVICE_MEMBER uint32_t significant() const { return funnel_shift_right(own.lo, own.hi, 4); }
    DEVICE_MEMBER uint32_t signs() const { return funnel_shift_right(negative.lo, negative.hi, 4); }
    // Samples that have a significant neighbour.
    DEVICE_MEMBER uint32_t near() const {
        const Widened vertical = north | south, all = own | vertical;
        return all.lo | funnel_shift_right(vertical.lo, vertical.hi, 4) | funnel_shift_right(all.lo, all.hi, 8);
    }
    DEVICE_MEMBER Neighbours neighbours(int i) const { return {north.from(i), own.from(i), south.from(i)}; }
    // See ContextTables::sign.
    DEVICE_MEMBER uint32_t sign_index(int i, const Neighbours &n) const {
        const uint32_t beside = negative.from(i);
        return (n.north >> 4 & 1) | (negative_north >> i & 1) << 1 | (n.middle & 1) << 2 | (beside & 1) << 3 |
               (n.middle >> 4 & 16) | (beside >> 8 & 1) << 5 | (n.south << 2 & 64) | (negative_south >> i & 1) << 7;
    }
    // Sample `bit` does, with its sign. The result: neighbours that the scan has yet to reach, in this word.
    DEVICE_MEMBER uint32_t add(uint32_t bit, uint32_t is_negative) {
        const uint32_t below = (bit & ~kLast) << 1, above = (bit & ~kFirst) >> 1;
        own.add(bit);
        north.add(below);
        south.add(above);
        if (is_negative) {
            negative.add(bit);
            negative_north |= below;
            negative_south |= above;
        }
        added |= bit;
        return below | above << 4 | bit << 4 | below << 4;
    }
};

// The samples of a word of which so many columns and rows are in the block.
DEVICE uint32_t samples_within(int columns, int rows) {
    return (columns < 8 ? (1u << 4 * columns) - 1 : ~0u) & (rows < 4 ? kFirst * ((1u << rows) - 1) : ~0u);
}

}  // namespace cudaenc::j2k
