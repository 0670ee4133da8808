// Pieces of bits to bytes (T.81 F.1.2.3): they are joined, restart intervals filled up with ones, a zero is stuffed
// after each 0xFF. Sums of sizes come first, then all pieces are written at once.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../device.cuh"
#include "pack_params.h"

namespace cudaenc::mjpeg {

// Where a piece lies in its scan.
struct PiecePosition {
    const ScanData *scan;
    int number;            // of the scan
    uint32_t first, last;  // pieces of its restart interval
    uint32_t interval;     // in the scan
    DEVICE_MEMBER bool ends_scan() const { return last == scan->first_piece + scan->pieces - 1; }
};

DEVICE PiecePosition position_of(const PackBuffers &b, uint32_t piece) {
    int s = 0;
    while (s + 1 < static_cast<int>(b.scans) && piece >= b.scan[s + 1].first_piece) s++;
    const ScanData &scan = b.scan[s];
    const uint32_t interval = (piece - scan.first_piece) / scan.interval_pieces;
    const uint32_t first = scan.first_piece + interval * scan.interval_pieces;
    return {&scan, s, first, min_of(first + scan.interval_pieces, scan.first_piece + scan.pieces) - 1, interval};
}

// `count` bits of a piece from bit `at` on, 1..32; where it has fewer, others follow.
DEVICE uint32_t bits_of(const CodedWords &coded, const Piece &piece, uint32_t at, uint32_t count) {
    const uint32_t word = piece.first_word + at / 32;
    const uint32_t low = word + 1 < coded.capacity ? coded.words[word + 1] : 0;
    return funnel_shift_left(low, coded.words[word], at) >> (32 - count);
}

// The bytes that begin in a piece.
struct PieceBytes {
    uint32_t skipped;  // bits before the first one
    uint32_t count;
    uint32_t in_last;  // bits of the last one that are the piece's, below 8; 0: all
};
// phase: bits of the byte that the piece begins in that come before it.
DEVICE PieceBytes bytes_of(uint32_t phase, uint32_t bits) {
    const uint32_t skipped = (8 - phase) & 7;
    if (bits <= skipped) return {skipped, 0, 0};
    return {skipped, (bits - skipped + 7) / 8, (bits - skipped) & 7};
}

// The last byte that begins in a piece, where it goes on in the next ones or is filled up with ones.
DEVICE uint32_t joined_byte(const CodedWords &coded, uint32_t piece, uint32_t last, uint32_t in_last) {
    const Piece *from = &coded.pieces[piece];
    uint32_t byte = bits_of(coded, *from, from->bits - in_last, in_last);
    for (uint32_t missing = 8 - in_last; missing;) {
        if (piece == last) return byte << missing | ((1u << missing) - 1);
        from = &coded.pieces[++piece];
        const uint32_t count = min_of(missing, from->bits);
        byte = byte << count | bits_of(coded, *from, 0, count);
        missing -= count;
    }
    return byte;
}

// The sum of the values of all threads before, to which `before` is added; `before` then is that of all.
DEVICE uint64_t exclusive_sum(uint64_t value, uint64_t &before) {
    constexpr int kWarps = kPlaceThreads / 32;
    static_assert(kWarps == 32);
    SHARED(uint64_t, sums, kWarps);
    const uint64_t scanned = warp_inclusive_add(value);
    if (lane_id() == 31) sums[warp_id()] = scanned;
    block_sync();
    const uint64_t sum = sums[lane_id()], scanned_sums = warp_inclusive_add(sum);
    const uint64_t result = before + warp_shuffle(scanned_sums - sum, warp_id()) + scanned - value;
    before += warp_shuffle(scanned_sums, kWarps - 1);
    block_sync();
    return result;
}

// A thread has a piece of each kPlaceThreads.
KERNEL(kPlaceThreads, mjpeg_place, PlaceParams)
{
    const PackBuffers &b = p.buffers;
    const uint32_t words = b.coded.sums->words;
    uint64_t bits = 0, bytes = 0;
    for (uint32_t begin = 0; words <= b.coded.capacity && begin < b.pieces; begin += kPlaceThreads) {
        const uint32_t i = begin + static_cast<uint32_t>(thread_x());
        const uint32_t own = i < b.pieces ? b.coded.pieces[i].bits : 0;
        const uint64_t before = exclusive_sum(own, bits);
        if (i < b.pieces) b.bits_before[i] = before;
        block_sync();
        uint32_t size = 0;
        PiecePosition at{};
        if (i < b.pieces) {
            at = position_of(b, i);
            const uint32_t phase = static_cast<uint32_t>(before - b.bits_before[at.first]) & 7;
            const PieceBytes of = bytes_of(phase, own);
            size = of.count + b.coded.pieces[i].full_bytes[of.skipped];
            if (of.in_last) size += joined_byte(b.coded, i, at.last, of.in_last) == 0xFF;
            if (i == at.last && !at.ends_scan()) size += 2;
        }
        const uint64_t place = exclusive_sum(size, bytes);
        if (i < b.pieces) {
            b.places[i] = place;
            if (i == at.scan->first_piece) b.result->scan[at.number] = place;
        }
    }
    if (thread_x() == 0) {
        b.result->bytes = bytes;
        b.result->words = words;
    }
}

// A warp owns a piece, a lane 4 bytes of each 128.
KERNEL(kPackThreads, mjpeg_pack, PackParams)
{
    const PackBuffers &b = p.buffers;
    const uint32_t i = static_cast<uint32_t>(block_x()) * (kPackThreads / 32) + static_cast<uint32_t>(warp_id());
    const uint32_t lane = static_cast<uint32_t>(lane_id());
    if (i >= b.pieces || b.result->words > b.coded.capacity || b.result->bytes > p.capacity) return;
    const PiecePosition at = position_of(b, i);
    const Piece &piece = b.coded.pieces[i];
    const PieceBytes of = bytes_of(static_cast<uint32_t>(b.bits_before[i] - b.bits_before[at.first]) & 7, piece.bits);
    uint8_t *to = p.bytes + b.places[i];
    for (uint32_t begin = 0; begin < of.count; begin += 128) {
        const uint32_t first = begin + 4 * lane, count = min_of(of.count, first + 4) - min_of(of.count, first);
        uint32_t word = 0, full = 0;
        if (count) {
            word = bits_of(b.coded, piece, of.skipped + 8 * first, 32);
            if (of.in_last && first + count == of.count) {
                const uint32_t shift = 8 * (4 - count);
                word = (word & ~(255u << shift)) | joined_byte(b.coded, i, at.last, of.in_last) << shift;
            }
            for (uint32_t k = 0; k < count; k++) full += (word >> (24 - 8 * k) & 255) == 255;
        }
        const uint32_t full_scanned = warp_inclusive_add(full);
        uint8_t *own = to + 4 * lane + full_scanned - full;
        for (uint32_t k = 0; k < count; k++) {
            const uint8_t byte = static_cast<uint8_t>(word >> (24 - 8 * k));
            *own++ = byte;
            if (byte == 0xFF) *own++ = 0;
        }
        to += min_of(of.count - begin, 128u) + warp_shuffle(full_scanned, 31);
    }
    if (lane == 0 && i == at.last && !at.ends_scan()) {
        to[0] = kRst0 >> 8;
        to[1] = static_cast<uint8_t>(kRst0 + at.interval % 8);
    }
}

}  // namespace cudaenc::mjpeg
