// SPDX-License-Identifier: LGPL-2.1-or-later
// A code-block as warps see it: tiles of 32x32 samples, a lane a column, bit i of a word row i.
#pragma once
#include "../../../common/j2k/codestream/coefficient.h"
#include "../../../common/j2k/t1/contexts.h"
#include "../../../common/j2k/t1/raw.h"
#include "../../device.cuh"

namespace cudaenc::j2k {

constexpr int kStripes = 8;  // of a word

// Symbols before a lane's, in each stripe of a pass.
struct StripePositions {
    uint32_t before[kStripes];
};

// Sums up eight counts, a nibble each: `before` over the lanes below, `total` over all lanes.
DEVICE void scan_stripes(uint32_t counts, uint32_t (&before)[kStripes], uint32_t (&total)[kStripes]) {
    // Three counts share a word: 32 lanes of at most 11 stay below 2^10.
    CUDAENC_UNROLL
    for (int i = 0; i < 3; i++) {
        const uint32_t c = counts >> (12 * i);
        const uint32_t packed = (c & 0xF) | (c & 0xF0) << 6 | (i < 2 ? (c & 0xF00) << 12 : 0);
        const uint32_t sum = warp_inclusive_add(packed);
        const uint32_t all = warp_shuffle(sum, 31), less = sum - packed;
        CUDAENC_UNROLL
        for (int k = 0; k < (i < 2 ? 3 : 2); k++) {
            before[3 * i + k] = (less >> (10 * k)) & 1023;
            total[3 * i + k] = (all >> (10 * k)) & 1023;
        }
    }
}

// The stripe whose bits a lane has after columns_of_stripe().
DEVICE int stripe_of_lane() { return static_cast<int>(reverse_bits(static_cast<uint32_t>(lane_id()) & 7) >> 29); }

// Adds to `before` what lanes before have in `total`, and makes that the sum, over the lanes that differ in these bits
// of their number, the lowest digit first.
template <int... kBits>
DEVICE void scan_lane_bits(uint32_t &before, uint32_t &total) {
    const auto add = [&](int bit) {
        const uint32_t other = warp_shuffle_xor(total, bit);
        before += lane_id() & bit ? other : 0;
        total += other;
    };
    (add(kBits), ...);
}

// A block of at most 32x32 in one warp.
struct OneTile {
    const uint32_t *planes;  // [plane][lane], of this warp

    DEVICE_MEMBER Around<uint32_t> around(uint32_t word) const {
        const int lane = lane_id();
        const uint32_t up = warp_shuffle_up(word, 1), down = warp_shuffle_down(word, 1);
        const uint32_t w = lane ? up : 0, e = lane < 31 ? down : 0;
        return {w, e, word << 1, word >> 1, w << 1, e << 1, w >> 1, e >> 1};
    }
    DEVICE_MEMBER bool any(bool condition) const { return warp_any(condition); }
    DEVICE_MEMBER void sync() const { warp_sync(); }
    DEVICE_MEMBER bool is_first_warp() const { return true; }
    DEVICE_MEMBER uint32_t plane(int plane) const { return planes[plane * 32 + lane_id()]; }
    DEVICE_MEMBER uint32_t sum(uint32_t count) const { return warp_add(count); }
    // Positions of this lane's symbols, from `base`, which moves on past the pass.
    DEVICE_MEMBER StripePositions positions(uint32_t counts, uint32_t &base) const {
        StripePositions at;
        uint32_t total[kStripes];
        scan_stripes(counts, at.before, total);
        CUDAENC_UNROLL
        for (int s = 0; s < kStripes; s++) {
            at.before[s] += base;
            base += total[s];
        }
        return at;
    }
    // Position of the bits of this lane's eight columns in its stripe (see columns_of_stripe()), from `base`, which
    // moves on past the pass.
    DEVICE_MEMBER uint32_t position(uint32_t count, uint32_t &base) const {
        uint32_t before = base, total = count;
        scan_lane_bits<8, 16, 4, 2, 1>(before, total);
        base += total;
        return before;
    }
};

// A warp's tile of a larger block; the block's tiles are a thread-block's warps, in raster order.
struct ManyTiles {
    const uint32_t *coefficients;  // of the tile's column of this lane, valid rows only
    uint32_t stride;
    int rows;  // valid ones of this lane's column
    int columns_of_tiles, rows_of_tiles;
    uint32_t *words;   // shared: [tile][lane]
    uint32_t *totals;  // shared: [(tile row * kStripes + stripe) * columns + tile column], then their sum

    DEVICE_MEMBER int tile_x() const { return warp_id() % columns_of_tiles; }
    DEVICE_MEMBER int tile_y() const { return warp_id() / columns_of_tiles; }
    // The word of the column `dx` to the right in the tile row `dy` below; 0 outside.
    DEVICE_MEMBER uint32_t word_at(int dx, int dy) const {
        const int lane = lane_id() + dx, tx = tile_x() + (lane < 0 ? -1 : lane > 31 ? 1 : 0), ty = tile_y() + dy;
        if (tx < 0 || tx >= columns_of_tiles || ty < 0 || ty >= rows_of_tiles) return 0;
        return words[(ty * columns_of_tiles + tx) * 32 + (lane & 31)];
    }
    DEVICE_MEMBER Around<uint32_t> around(uint32_t word) const {
        words[thread_x()] = word;
        block_sync();
        uint32_t here[3], above[3], below[3];
        CUDAENC_UNROLL
        for (int dx = -1; dx <= 1; dx++) {
            here[dx + 1] = word_at(dx, 0);
            above[dx + 1] = here[dx + 1] << 1 | word_at(dx, -1) >> 31;
            below[dx + 1] = here[dx + 1] >> 1 | word_at(dx, 1) << 31;
        }
        block_sync();
        return {here[0], here[2], above[1], below[1], above[0], above[2], below[0], below[2]};
    }
    DEVICE_MEMBER bool any(bool condition) const { return block_any(condition); }
    DEVICE_MEMBER void sync() const { block_sync(); }
    DEVICE_MEMBER bool is_first_warp() const { return warp_id() == 0; }
    DEVICE_MEMBER uint32_t plane(int plane) const {
        uint32_t word = 0;
        for (int y = 0; y < rows; y++) word |= ((coefficients[static_cast<uint64_t>(y) * stride] >> plane) & 1) << y;
        return word;
    }
    DEVICE_MEMBER uint32_t sum(uint32_t count) const {
        const uint32_t own = warp_add(count);
        if (lane_id() == 0) totals[warp_id()] = own;
        block_sync();
        const uint32_t all = warp_add(lane_id() < columns_of_tiles * rows_of_tiles ? totals[lane_id()] : 0);
        block_sync();
        return all;
    }
    DEVICE_MEMBER StripePositions positions(uint32_t counts, uint32_t &base) const {
        StripePositions at;
        uint32_t total[kStripes];
        scan_stripes(counts, at.before, total);
        if (lane_id() == 0) {
            CUDAENC_UNROLL
            for (int s = 0; s < kStripes; s++) totals[stripe_index(s)] = total[s];
        }
        scan_totals();
        CUDAENC_UNROLL
        for (int s = 0; s < kStripes; s++) at.before[s] += base + totals[stripe_index(s)];
        base += totals[256];
        block_sync();
        return at;
    }
    DEVICE_MEMBER uint32_t position(uint32_t count, uint32_t &base) const {
        uint32_t before = base, total = count;
        scan_lane_bits<8, 16>(before, total);
        const int index = stripe_index(stripe_of_lane());
        if (lane_id() < 8) totals[index] = total;
        scan_totals();
        before += totals[index];
        base += totals[256];
        block_sync();
        return before;
    }
    DEVICE_MEMBER int stripe_index(int stripe) const {
        return (tile_y() * kStripes + stripe) * columns_of_tiles + tile_x();
    }
    // Sums of the totals before each, and behind them the sum of all.
    DEVICE_MEMBER void scan_totals() const {
        block_sync();
        const int count = columns_of_tiles * rows_of_tiles * kStripes;  // at most 256
        if (warp_id() == 0) {
            uint32_t own[8], sum = 0;
            CUDAENC_UNROLL
            for (int k = 0; k < 8; k++) {
                const int i = lane_id() * 8 + k;
                own[k] = i < count ? totals[i] : 0;
                sum += own[k];
            }
            uint32_t before = warp_inclusive_add(sum) - sum;
            CUDAENC_UNROLL
            for (int k = 0; k < 8; k++) {
                const int i = lane_id() * 8 + k;
                if (i < count) totals[i] = before;
                before += own[k];
            }
            if (lane_id() == 31) totals[256] = before;
        }
        block_sync();
    }
};

// The lowest `rows` bits, of 32 at most.
DEVICE uint32_t first_rows(int rows) { return rows == 32 ? 0xFFFFFFFFu : (1u << rows) - 1; }

// Reads the column of a tile that begins at (x, y) of the block, and its signs, bit i row i. Returns how many magnitude
// bit-planes the tile has.
DEVICE int read_column(const uint32_t *coefficients, const CodeBlock &b, int x, int y, uint32_t (&column)[32],
                       uint32_t &negative) {
    uint32_t all = 0, signs = 0;
    const int rows = x < b.width ? b.height - y : 0;
    const uint32_t *from = coefficients + b.coefficients + static_cast<uint64_t>(y) * b.stride + x;
    const auto read = [&](const auto &has) {
        CUDAENC_UNROLL
        for (uint32_t i = 0; i < 32; i++) {
            column[i] = has(static_cast<int>(i)) ? from[uint64_t{i} * b.stride] : 0;
            signs = funnel_shift_left(column[i], signs, 1);
            all |= column[i];
        }
    };
    if (x - lane_id() + 32 <= b.width && y + 32 <= b.height)
        read([](int) { return true; });
    else
        read([rows](int i) { return i < rows; });
    negative = reverse_bits(signs);
    return bit_width(warp_or(all & ~kSignBit));
}

// Its bit-planes, bit i of a word row i: store(plane, word) for planes below `count`.
template <class Store>
DEVICE void slice_column(const uint32_t (&column)[32], int count, const Store &store) {
    // Eight planes a turn: of each row a byte, rows that are eight apart in a word.
    uint32_t byte = 0x40;  // of one word, and of another
    CUDAENC_NO_UNROLL
    for (int plane = 0; plane < count; plane += 8, byte += 0x11) {
        uint32_t words[8];
        CUDAENC_UNROLL
        for (int i = 0; i < 8; i++)
            words[i] = byte_permute(byte_permute(column[i], column[i + 8], byte),
                                    byte_permute(column[i + 16], column[i + 24], byte), 0x5410);
        planes_to_bytes(words);
        CUDAENC_UNROLL
        for (int i = 0; i < 8; i++)
            if (plane + i < count) store(plane + i, words[i]);
    }
}

// A larger block as its thread-block's warps see it.
struct LargeBlock {
    ManyTiles tile;
    uint32_t negative;
    int rows, planes;
};
// A thread-block owns a block, a warp a tile of 32x32 of it. words, totals: see ManyTiles.
DEVICE LargeBlock read_large_block(const uint32_t *coefficients, const CodeBlock &b, int tiles_x, int tiles_y,
                                   uint32_t *words, uint32_t *totals) {
    const int x = warp_id() % tiles_x * 32 + lane_id(), y0 = warp_id() / tiles_x * 32;
    const int rows = x < b.width ? max_of(min_of(b.height - y0, 32), 0) : 0;
    const uint32_t *column = coefficients + b.coefficients + static_cast<uint64_t>(y0) * b.stride + x;
    uint32_t all = 0, negative = 0;
    for (int y = 0; y < rows; y++) {
        const uint32_t c = column[static_cast<uint64_t>(y) * b.stride];
        negative |= c >> 31 << y;
        all |= c & ~kSignBit;
    }
    // The block's planes: every warp's, through the array that serves for neighbours later.
    words[thread_x()] = all;
    block_sync();
    all = 0;
    for (int tile = 0; tile < tiles_x * tiles_y; tile++) all |= words[tile * 32 + lane_id()];
    block_sync();
    return {{column, b.stride, rows, tiles_x, tiles_y, words, totals}, negative, rows, bit_width(warp_or(all))};
}

}  // namespace cudaenc::j2k
