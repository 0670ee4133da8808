// SPDX-License-Identifier: LGPL-2.1-or-later
// Raw segments of the arithmetic coding bypass (T.800 D.6), sample-parallel. Their bits are gathered in shared memory;
// a warp stuffs them, one byte 0xFF after the other, since these are rare.
#pragma once
#include "t1_params.h"
#include "tile.cuh"

namespace cudaenc::j2k {

// Words of a raw segment, which has at most two bits a sample.
constexpr int kTileRawWords = static_cast<int>(raw_words(2 * 32 * 32)),
              kRawWords = static_cast<int>(raw_words(2 * kMostSamples));

// Where a block's raw segments go.
DEVICE uint8_t *raw_place(const Tier1Buffers &t1, uint32_t block, const BlockCoding &coding) {
    return t1.coded.room(block) + room_layout(t1.blocks[block], coding).raw;
}

struct NoSegments {};
// Raw segments: their bits are gathered in shared memory, and stuffed by a warp.
template <class Tile>
struct RawSegments {
    const Tile &tile;
    uint32_t *words;     // shared, zero before the first pass: kTileRawWords for a block of one tile, else kRawWords
    uint8_t *out;        // the segments' place
    uint32_t bits = 0;   // of the segment so far
    uint32_t bytes = 0;  // of those before it

    // A pass's bits: of `members`, and, where they are `becoming`, signs; counts: of each stripe, a nibble each. Until
    // the segment ends its first bit is the lowest.
    DEVICE_MEMBER void put(uint32_t counts, uint32_t members, uint32_t decisions, uint32_t becoming, uint32_t negative,
                           bool has_signs) {
        // A lane's bits of each stripe, a byte each.
        uint32_t upper, lower;  // four stripes each
        if (has_signs) {
            const auto interleaved = [&](int shift) {
                const auto spread = [shift](uint32_t even, uint32_t odd) {
                    return spread_bits(even >> shift & 0xFFFF) | spread_bits(odd >> shift & 0xFFFF) << 1;
                };
                return compress_fields<8>(spread(decisions, negative), spread(members, becoming));
            };
            upper = interleaved(0);
            lower = interleaved(16);
        } else {
            const uint32_t value = compress_fields<4>(decisions, members);
            upper = spread_nibbles(value & 0xFFFF);
            lower = spread_nibbles(value >> 16);
        }
        uint32_t count;
        const uint64_t value = columns_of_stripe(upper, lower, counts, count);
        const uint32_t to = tile.position(count, bits), low = static_cast<uint32_t>(value),
                       high = static_cast<uint32_t>(value >> 32);
        const uint32_t word[3] = {low << (to % 32), funnel_shift_left(low, high, to % 32),
                                  funnel_shift_left(high, 0, to % 32)};
        CUDAENC_UNROLL
        for (int i = 0; i < 3; i++)
            if (word[i]) atomic_or(&words[to / 32 + static_cast<uint32_t>(i)], word[i]);
    }

    // From each lane's bits of eight stripes, a byte each, to those that eight lanes have of one, the first column's
    // the lowest: lanes 8 i to 8 i + 7 have the stripes of their columns, see stripe_of_lane(). count: of those bits.
    DEVICE_MEMBER static uint64_t columns_of_stripe(uint32_t upper, uint32_t lower, uint32_t counts, uint32_t &count) {
        // Of two lanes, one takes the upper four stripes and one the lower; then two each of those; then one.
        const bool odd = lane_id() & 1, second = lane_id() & 2, fourth = lane_id() & 4;
        const auto exchange = [](bool takes_later, uint32_t earlier, uint32_t later, int distance, uint32_t &left,
                                 uint32_t &right) {
            const uint32_t own = takes_later ? later : earlier,
                           other = warp_shuffle_xor(takes_later ? earlier : later, distance);
            left = takes_later ? other : own;
            right = takes_later ? own : other;
        };
        uint32_t left, right, left_counts, right_counts;
        exchange(odd, upper, lower, 1, left, right);
        exchange(odd, spread_nibbles(counts & 0xFFFF), spread_nibbles(counts >> 16), 1, left_counts, right_counts);
        const auto pair = [&](int k) {
            return (left >> 8 * k & 0xFF) | (right >> 8 * k & 0xFF) << (left_counts >> 8 * k & 0xFF);
        };
        uint32_t sums = left_counts + right_counts;
        exchange(second, pair(0) | pair(1) << 16, pair(2) | pair(3) << 16, 2, left, right);
        exchange(second, sums & 0xFFFF, sums >> 16, 2, left_counts, right_counts);
        const uint32_t first = (left & 0xFFFF) | (right & 0xFFFF) << (left_counts & 0xFF),
                       then = left >> 16 | (right >> 16) << (left_counts >> 8);
        sums = left_counts + right_counts;
        exchange(fourth, first, then, 4, left, right);
        exchange(fourth, sums & 0xFF, sums >> 8, 4, left_counts, right_counts);
        count = left_counts + right_counts;
        return left | static_cast<uint64_t>(right) << left_counts;
    }

    // Ends the segment, whose first pass made `first_bits`. All lanes call it. Returns the bytes up to the end of the
    // first pass, and of the segment, both with those before it; in the first warp only.
    struct Ends {
        uint32_t first_pass, segment;
    };
    DEVICE_MEMBER Ends end(uint32_t first_bits) {
        tile.sync();
        Ends ends{};
        if (tile.is_first_warp()) {
            const uint32_t lane = static_cast<uint32_t>(lane_id()), all = raw_words(bits);
            bool full = false;
            CUDAENC_NO_UNROLL
            for (uint32_t i = lane; 32 * i < bits; i += 32) {
                words[i] = reverse_bits(words[i]);
                full |= full_bytes(words[i]) != 0;
            }
            warp_sync();
            if (lane == 0) {
                const uint64_t padding = static_cast<uint64_t>(kRawPadding) << (64 - kRawPaddingBits) >> bits % 32;
                words[bits / 32] |= static_cast<uint32_t>(padding >> 32);
                words[bits / 32 + 1] |= static_cast<uint32_t>(padding);
            }
            if (warp_any(full)) stuff(first_bits);
            warp_sync();
            ends = {bytes + (first_bits + 7) / 8, bytes + (bits + 7) / 8};
            CUDAENC_NO_UNROLL
            for (uint32_t i = lane; bytes + i < ends.segment; i += 32)
                out[bytes + i] = static_cast<uint8_t>(words[i / 4] >> (24 - 8 * (i % 4)));
            bytes = ends.segment;
            warp_sync();
            CUDAENC_NO_UNROLL
            for (uint32_t i = lane; i < all; i += 32) words[i] = 0;
        }
        bits = 0;
        tile.sync();
        return ends;
    }

    // Puts a 0 behind each byte 0xFF, one by one, since they are rare: all bits behind it move on by one. The ends, in
    // bits, move as well; they do not lie behind a byte 0xFF without what is stuffed.
    DEVICE_MEMBER void stuff(uint32_t &first_bits) {
        const uint32_t lane = static_cast<uint32_t>(lane_id());
        for (uint32_t from = 0;;) {  // bytes before it are as they stay
            warp_sync();
            uint32_t found = ~0u;
            CUDAENC_NO_UNROLL
            for (uint32_t i = from / 4 + lane; 32 * i < bits && found == ~0u; i += 32) {
                const uint32_t full = full_bytes(words[i]) & (i == from / 4 ? ~0u >> 8 * (from % 4) : ~0u);
                if (full) found = 4 * i + static_cast<uint32_t>(count_leading_zeros(full)) / 8;
            }
            found = warp_min(found);
            if (found == ~0u) return;
            const uint32_t at = 8 * found + 8;  // of the stuffed bit
            // From the last word on, since each takes a bit of the one before.
            CUDAENC_NO_UNROLL
            for (uint32_t end = (bits + kRawPaddingBits) / 32 + 1; end > at / 32;) {
                const uint32_t begin = max_of(end, at / 32 + 32) - 32, i = begin + lane;
                uint32_t word = 0;
                if (i < end) {
                    const uint32_t stays = i == at / 32 ? ~(~0u >> at % 32) : 0;
                    const uint32_t carried = i == at / 32 ? 0 : words[i - 1] << 31;
                    word = (words[i] & stays) | (words[i] & ~stays) >> 1 | carried;
                }
                warp_sync();
                if (i < end) words[i] = word;
                warp_sync();
                end = begin;
            }
            if (8 * found < first_bits) first_bits = max_of(first_bits, at) + 1;
            bits = max_of(bits, at) + 1;
            from = found + 2;
        }
    }
};

}  // namespace cudaenc::j2k
