// Pieces of bits to NAL units (H.264, 7.3.1, Annex B): where each begins, then all of them are joined at once, with
// start codes, NAL unit headers and emulation prevention. SPDX-License-Identifier: LGPL-2.1-or-later
#include "../bits.cuh"
#include "../device.cuh"
#include "nal_params.h"

namespace cudaenc::h264 {

DEVICE uint32_t align_8(uint32_t bit) { return (bit + 7) & ~7u; }

// What a piece, or some in a row, make of the number of bits before: some are added; then, where one of them begins
// with a byte, the sum is filled up, and others are added.
struct BitCount {
    uint32_t before, aligned, after;
};
DEVICE BitCount then(const BitCount &a, const BitCount &b) {
    const uint32_t between = (a.aligned ? a.after : a.before) + b.before;
    if (!b.aligned) return a.aligned ? BitCount{a.before, 1, between} : BitCount{between, 0, 0};
    return a.aligned ? BitCount{a.before, 1, align_8(between) + b.after} : BitCount{between, 1, b.after};
}
DEVICE BitCount count_bits(const PieceBits &bits, bool begins_slice) {
    const BitCount head = begins_slice ? BitCount{0, 1, bits.head} : BitCount{bits.head, 0, 0};
    return bits.tail ? then(head, {0, 1, bits.tail}) : head;
}
DEVICE BitCount shuffle_up(const BitCount &c, int distance) {
    return {warp_shuffle_up(c.before, distance), warp_shuffle_up(c.aligned, distance),
            warp_shuffle_up(c.after, distance)};
}
DEVICE BitCount warp_inclusive(BitCount c) {
    CUDAENC_UNROLL
    for (int distance = 1; distance < 32; distance <<= 1) {
        const BitCount below = shuffle_up(c, distance);
        if (lane_id() >= distance) c = then(below, c);
    }
    return c;
}

// Where a piece is among the bits of all RBSPs.
struct PieceSpan {
    uint32_t begin, head_end, tail_begin, end;  // tail_begin: end, where there is no tail
};
DEVICE PieceSpan span_of(uint32_t begin, const PieceBits &bits) {
    const uint32_t head_end = begin + bits.head, tail_begin = bits.tail ? align_8(head_end) : head_end;
    return {begin, head_end, tail_begin, tail_begin + bits.tail};
}

DEVICE bool begins_slice(const NalBuffers &b, uint32_t piece) {
    return piece == 0 || b.ranges[piece].slice != b.ranges[piece - 1].slice;
}
DEVICE bool ends_slice(const NalBuffers &b, uint32_t piece) {
    return piece + 1 == b.count || b.ranges[piece].slice != b.ranges[piece + 1].slice;
}

// Where the zeros begin that end with a tail, or with a piece.
DEVICE uint32_t zeros_before_tail(const PieceSpan &at, const PieceZeros &zeros) {
    return at.head_end - zeros.head_trailing;
}
DEVICE uint32_t zeros_at_end(const PieceSpan &at, const PieceBits &bits, const PieceZeros &zeros) {
    if (!bits.tail) return at.head_end - zeros.head_trailing;
    return zeros.tail_trailing == bits.tail ? zeros_before_tail(at, zeros) : at.end - zeros.tail_trailing;
}
// ... with the beginning of a piece.
DEVICE uint32_t zeros_before_piece(const NalBuffers &b, uint32_t piece) {
    const uint32_t begin = b.places[piece].bit;
    if (begins_slice(b, piece)) return begin;
    const PieceBits bits = b.pieces.bits[piece - 1];
    return zeros_at_end(span_of(b.places[piece - 1].bit, bits), bits, b.pieces.zeros[piece - 1]);
}

// emulation_prevention_three_bytes before bytes that begin in the piece: what the zeros in the middle of its parts ask
// for was counted with its bits; there remain those where it meets others.
DEVICE uint32_t preventions_of(const NalBuffers &b, uint32_t piece) {
    const PieceBits bits = b.pieces.bits[piece];
    const PieceZeros &zeros = b.pieces.zeros[piece];
    const PieceSpan at = span_of(b.places[piece].bit, bits);
    uint32_t count = zeros.head_preventions[at.begin & 7] + zeros.tail_preventions;
    count += count_preventions(zeros_before_piece(b, piece), at.begin + zeros.head_leading, at.begin, at.end);
    const bool last = ends_slice(b, piece), zero_tail = bits.tail && zeros.tail_leading == bits.tail;
    const uint32_t zeros_end = at.end + (last ? 0 : b.pieces.zeros[piece + 1].head_leading);
    if (bits.tail)
        count += count_preventions(zeros_before_tail(at, zeros),
                                   zero_tail ? zeros_end : at.tail_begin + zeros.tail_leading, at.begin, at.end);
    if (!last && !zero_tail) count += count_preventions(zeros_at_end(at, bits, zeros), zeros_end, at.begin, at.end);
    return count;
}

// A thread has some pieces that follow each other.
KERNEL(kPlaceThreads, h264_place, PlaceParams)
{
    constexpr int kWarps = kPlaceThreads / 32;
    static_assert(kWarps == 32);
    SHARED(BitCount, warp_counts, kWarps);
    SHARED(uint32_t, warp_sums, kWarps);
    const NalBuffers &b = p.buffers;
    const uint32_t run = (b.count + kPlaceThreads - 1) / kPlaceThreads;
    const uint32_t first = min_of(static_cast<uint32_t>(thread_x()) * run, b.count), end = min_of(first + run, b.count);

    BitCount own{0, 0, 0};
    bool failed = false;
    for (uint32_t i = first; i < end; i++) {
        const PieceBits bits = b.pieces.bits[i];
        failed |= bits.head == kTooManyBits;
        own = then(own, count_bits(bits, begins_slice(b, i)));
    }
    failed = block_any(failed);
    const BitCount scanned = warp_inclusive(own);
    if (lane_id() == 31) warp_counts[warp_id()] = scanned;
    block_sync();
    const BitCount warps_scanned = warp_inclusive(warp_counts[lane_id()]);
    const int warp_before = warp_id() - 1;
    const BitCount of_warps{warp_shuffle(warps_scanned.before, warp_before),
                            warp_shuffle(warps_scanned.aligned, warp_before),
                            warp_shuffle(warps_scanned.after, warp_before)};
    const BitCount of_lanes = shuffle_up(scanned, 1);
    BitCount before{0, 0, 0};
    if (warp_id() > 0) before = of_warps;
    if (lane_id() > 0) before = then(before, of_lanes);
    uint32_t bit = before.aligned ? align_8(before.before) + before.after : before.before;
    for (uint32_t i = first; i < end && !failed; i++) {
        if (begins_slice(b, i)) bit = align_8(bit);
        b.places[i].bit = bit;
        bit = span_of(bit, b.pieces.bits[i]).end;
    }
    block_sync();

    uint32_t preventions = 0;
    for (uint32_t i = first; i < end && !failed; i++) {
        b.places[i].preventions = preventions_of(b, i);
        preventions += b.places[i].preventions;
    }
    const uint32_t sums = warp_inclusive_add(preventions);
    if (lane_id() == 31) warp_sums[warp_id()] = sums;
    block_sync();
    const uint32_t warp_sum = warp_sums[lane_id()], warps_summed = warp_inclusive_add(warp_sum);
    uint32_t inserted = warp_shuffle(warps_summed - warp_sum, warp_id()) + sums - preventions;
    for (uint32_t i = first; i < end && !failed; i++) {
        const uint64_t nal_units = uint64_t{b.ranges[i].slice} + 1;
        b.places[i].byte = align_8(b.places[i].bit) / 8 + nal_units * kNalPrefixBytes + inserted;
        inserted += b.places[i].preventions;
        if (i + 1 == b.count) {
            b.result->bytes = align_8(bit) / 8 + nal_units * kNalPrefixBytes + inserted;
            b.result->failed = 0;
        }
    }
    if (thread_x() == 0 && failed) {
        b.result->bytes = 0;
        b.result->failed = 1;
    }
}

// A head or a tail among the bits of all RBSPs; zeros follow it to the end of a byte.
struct BitsInPlace {
    const uint32_t *words;
    uint32_t begin, end;
};
// `count` bits from bit `at` on, 1 to 32.
DEVICE uint32_t read_bits(const BitsInPlace &b, uint32_t at, uint32_t count) {
    const uint32_t *words = b.words + (at - b.begin) / 32;
    return funnel_shift_left(words[1], words[0], at - b.begin) >> (32 - count);
}

DEVICE const uint32_t *words_of(const NalBuffers &b, uint32_t piece) {
    return b.pieces.words + uint64_t{piece} * b.pieces.words_per_piece;
}

// The byte that a piece ends in, where it goes on in the next ones or is filled up with zeros.
DEVICE uint32_t joined_byte(const NalBuffers &b, uint32_t piece, const BitsInPlace &last) {
    const uint32_t in_last = last.end & 7;
    uint32_t byte = read_bits(last, last.end - in_last, in_last), missing = 8 - in_last;
    while (!ends_slice(b, piece)) {
        piece++;
        const PieceBits bits = b.pieces.bits[piece];
        const uint32_t count = min_of(missing, bits.head);
        byte = byte << count | words_of(b, piece)[0] >> (32 - count);
        missing -= count;
        if (!missing || bits.tail) break;
    }
    return byte << missing;
}

// Bytes from `first` to below `end` of the RBSPs, which lie in b, by the threads of a warp: words are aligned in `to`.
DEVICE void copy_bytes(const BitsInPlace &b, uint32_t first, uint32_t end, uint8_t *to) {
    const uint32_t lane = static_cast<uint32_t>(lane_id()), count = end - first;
    const uint32_t unaligned = min_of(static_cast<uint32_t>(0 - reinterpret_cast<uint64_t>(to)) & 3, count);
    if (lane < unaligned) to[lane] = static_cast<uint8_t>(read_bits(b, 8 * (first + lane), 8));
    const uint32_t words = (count - unaligned) / 4, rest = unaligned + 4 * words;
    uint32_t *to_words = reinterpret_cast<uint32_t *>(to + unaligned);
    for (uint32_t i = lane; i < words; i += 32)
        to_words[i] = byte_permute(read_bits(b, 8 * (first + unaligned + 4 * i), 32), 0, 0x0123);
    if (lane < count - rest) to[rest + lane] = static_cast<uint8_t>(read_bits(b, 8 * (first + rest + lane), 8));
}

// The bit after the last one before bit `at`, which is no less than b.begin; `none`: where there is no one.
DEVICE uint32_t zeros_begin(const BitsInPlace &b, uint32_t at, uint32_t none) {
    while (at > b.begin) {
        const uint32_t count = min_of(at - b.begin, 32u), bits = read_bits(b, at - count, count);
        if (bits) return at - static_cast<uint32_t>(find_first_set(bits));
        at -= count;
    }
    return none;
}

// A warp owns a piece: the bytes that begin in it.
KERNEL(kPackThreads, h264_pack, PackParams)
{
    const NalBuffers &b = p.buffers;
    const uint32_t piece = static_cast<uint32_t>(block_x()) * (kPackThreads / 32) + static_cast<uint32_t>(warp_id());
    const uint32_t lane = static_cast<uint32_t>(lane_id());
    if (piece >= b.count || b.result->failed) return;
    const PiecePlace place = b.places[piece];
    const PieceBits bits = b.pieces.bits[piece];
    const PieceSpan at = span_of(place.bit, bits);
    const uint32_t *words = words_of(b, piece);
    const BitsInPlace head{words, at.begin, at.head_end}, tail{words + tail_word(bits.head), at.tail_begin, at.end};
    const BitsInPlace last = bits.tail ? tail : head;
    const uint32_t first = align_8(at.begin) / 8, end = align_8(at.end) / 8;
    uint8_t *to = p.bytes + place.byte;
    if (lane < kNalPrefixBytes && begins_slice(b, piece))
        to[static_cast<int>(lane) - kNalPrefixBytes] = lane < 3 ? 0 : lane == 3 ? 1 : nal_header(kNalIdrSlice);

    if (place.preventions == 0) {
        const uint32_t tail_first = bits.tail ? at.tail_begin / 8 : end, whole_end = at.end / 8;
        if (first < min_of(tail_first, whole_end)) copy_bytes(head, first, min_of(tail_first, whole_end), to);
        if (tail_first < whole_end) copy_bytes(tail, tail_first, whole_end, to + (tail_first - first));
        if (lane == 0 && first < end && whole_end < end)
            to[whole_end - first] = static_cast<uint8_t>(joined_byte(b, piece, last));
        return;
    }
    const uint32_t zeros_before = zeros_before_piece(b, piece);
    for (uint32_t begin = first; begin < end; begin += 32) {
        const uint32_t i = begin + lane;
        uint32_t byte = 255, prevention = 0;
        if (i < end) {
            const bool in_tail = bits.tail && 8 * i >= at.tail_begin;
            const BitsInPlace part = in_tail ? tail : head;
            byte = 8 * i + 8 > at.end ? joined_byte(b, piece, last) : read_bits(part, 8 * i, 8);
            if (byte <= 3) {
                const uint32_t none = in_tail ? zeros_begin(head, at.head_end, zeros_before) : zeros_before;
                const uint32_t zeros = align_8(zeros_begin(part, 8 * i, none)) / 8;
                prevention = i >= zeros + 2 && (i - zeros) % 2 == 0;
            }
        }
        const uint32_t scanned = warp_inclusive_add(prevention);
        uint8_t *own = to + lane + scanned - prevention;
        if (prevention) *own++ = 3;
        if (i < end) *own = static_cast<uint8_t>(byte);
        to += 32 + warp_shuffle(scanned, 31);
    }
}

}  // namespace cudaenc::h264
