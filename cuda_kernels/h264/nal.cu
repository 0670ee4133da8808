// Bits of pieces to NAL units (H.264, 7.3.4, 7.4.1, Annex B): joined, trailing bits, emulation prevention, start codes.
// A thread-block joins a group of pieces; groups tell each other how many bits and bytes come before.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../common/h264/nal.h"
#include "../bits.cuh"
#include "../device.cuh"
#include "../look_back.cuh"
#include "nal_params.h"

namespace cudaenc::h264 {

// ---- Bytes

// Bytes that are written at a time: words, the first byte the highest, and before them a word for the zeros that the
// bytes before end with (zeros_word()).
struct WindowBytes {
    const uint32_t *words;
    uint32_t before;
    uint32_t count;
    DEVICE_MEMBER uint32_t word(int32_t i) const { return i < 0 ? before : words[i]; }
    DEVICE_MEMBER uint32_t byte(int32_t i) const { return word(i >> 2) >> (24 - 8 * (i & 3)) & 255; }
};
// Zeros in a row count modulo 2 from the third on, as emulation prevention ends the row there.
DEVICE uint32_t zeros_state(uint32_t zeros) { return zeros ? 2 - zeros % 2 : 0; }
DEVICE uint32_t zeros_word(uint32_t state) { return state ? 0xFFFFFFFFu << 8 * state : 0xFFFFFFFFu; }

// Bit k: 3 goes before byte k of word w: where that is below 4 and an even number of zeros is before it.
DEVICE uint32_t preventions_in(const WindowBytes &b, uint32_t w) {
    const uint32_t word = b.words[w], last = b.word(static_cast<int32_t>(w) - 1);
    const uint32_t around = last << 16 | word >> 16;
    if ((around & 0xFFFF0000u) && (around & 0x00FFFF00u) && (around & 0x0000FFFFu) && (word & 0x00FFFF00u)) return 0;
    uint32_t found = 0;
    for (uint32_t k = 0; k < 4 && 4 * w + k < b.count; k++) {
        const int32_t i = static_cast<int32_t>(4 * w + k);
        if (b.byte(i) > 3) continue;
        int32_t zeros = 0;
        while (b.byte(i - 1 - zeros) == 0) zeros++;
        if (zeros >= 2 && zeros % 2 == 0) found |= 1u << k;
    }
    return found;
}

// A warp's share of them: words that follow each other.
struct WarpWords {
    uint32_t first, end;
};
DEVICE WarpWords words_of_warp(const WindowBytes &b) {
    const uint32_t words = (b.count + 3) / 4, share = (words + kGroupPieces - 1) / kGroupPieces;
    const uint32_t first = min_of(static_cast<uint32_t>(warp_id()) * share, words);
    return {first, min_of(first + share, words)};
}

// How many bytes go before them: in the warps' shares before the own one, in that, and in all. With all threads.
struct Preventions {
    uint32_t before, own, all;
};
DEVICE Preventions count_preventions(const WindowBytes &b) {
    SHARED(uint32_t, counts, kGroupPieces);
    const WarpWords share = words_of_warp(b);
    uint32_t own = 0;
    for (uint32_t i = share.first + static_cast<uint32_t>(lane_id()); i < share.end; i += 32)
        own += static_cast<uint32_t>(popcount(preventions_in(b, i)));
    own = warp_add(own);
    if (lane_id() == 0) counts[warp_id()] = own;
    block_sync();
    Preventions sums{0, own, 0};
    CUDAENC_UNROLL
    for (int i = 0; i < kGroupPieces; i++) {
        sums.before += i < warp_id() ? counts[i] : 0;
        sums.all += counts[i];
    }
    return sums;
}

// Writes the warp's share. place: where the first byte of all goes.
DEVICE void write_bytes(const WindowBytes &b, const Preventions &preventions, uint8_t *place) {
    const WarpWords share = words_of_warp(b);
    if (share.first >= share.end) return;
    const uint32_t lane = static_cast<uint32_t>(lane_id());
    uint8_t *to = place + 4 * share.first + preventions.before;
    if (preventions.own == 0) {  // words that are aligned there
        const uint32_t *from = b.words + share.first;
        const uint32_t count = min_of(4 * share.end, b.count) - 4 * share.first;
        const uint32_t unaligned = min_of(static_cast<uint32_t>(0 - reinterpret_cast<uint64_t>(to)) & 3, count);
        const uint32_t words = (count - unaligned) / 4, rest = unaligned + 4 * words;
        const auto byte = [&](uint32_t i) { return static_cast<uint8_t>(from[i >> 2] >> (24 - 8 * (i & 3))); };
        uint32_t *to_words = reinterpret_cast<uint32_t *>(to + unaligned);
        for (uint32_t i = lane; i < words; i += 32)
            to_words[i] = byte_permute(funnel_shift_left(from[i + 1], from[i], 8 * unaligned), 0, 0x0123);
        if (lane < unaligned) to[lane] = byte(lane);
        if (rest + lane < count) to[rest + lane] = byte(rest + lane);
        return;
    }
    for (uint32_t first = share.first; first < share.end; first += 32) {
        const uint32_t w = first + lane, found = w < share.end ? preventions_in(b, w) : 0;
        const uint32_t own = static_cast<uint32_t>(popcount(found)), sum = warp_inclusive_add(own);
        uint8_t *at = to + 4 * lane + sum - own;
        for (uint32_t k = 0; w < share.end && k < 4 && 4 * w + k < b.count; k++) {
            if (found >> k & 1) *at++ = 3;
            *at++ = static_cast<uint8_t>(b.byte(static_cast<int32_t>(4 * w + k)));
        }
        to += 4 * 32 + warp_shuffle(sum, 31);
    }
}

// What `bits` bits leave for those that follow: the bits after the last byte, below the zeros_state() of the bytes.
// Returns whether this depends on what comes before, in the first byte too, which may be missing in `words`.
DEVICE bool end_of_bits(const uint32_t *words, uint32_t bits, uint32_t zeros_before, uint32_t &end) {
    const uint32_t bytes = bits / 8, left = bits % 8;
    const WindowBytes b{words, zeros_word(zeros_before), bytes};
    uint32_t zeros = 0;
    while (zeros < bytes && b.byte(static_cast<int32_t>(bytes - 1 - zeros)) == 0) zeros++;
    const bool all = zeros == bytes;
    end = zeros_state(all ? zeros + zeros_before : zeros) << 8;
    if (left) end |= b.byte(static_cast<int32_t>(bytes)) >> (8 - left);
    return all;
}

// ---- The kernel

// Where the heads and tails of a group's pieces begin, if its first bit has number `begin` and tails begin with a byte.
// With a whole warp; own: of the piece that the lane has. Returns where the group ends.
struct PiecePlaces {
    uint32_t head, tail;
};
DEVICE uint32_t place_pieces(PieceBits own, uint32_t begin, PiecePlaces &places) {
    uint32_t at = begin;
    CUDAENC_UNROLL
    for (int i = 0; i < kGroupPieces; i++) {
        const uint32_t head = warp_shuffle(own.head, i), tail = warp_shuffle(own.tail, i);
        const uint32_t tail_begin = tail ? (at + head + 7) & ~7u : at + head;
        if (lane_id() == i) places = {at, tail_begin};
        at = tail_begin + tail;
    }
    return at;
}

constexpr int32_t kWindowWords = 8192;

// The words of a window that `bits` bits fall into, which begin with bit `begin` of it, maybe before it. With a whole
// warp.
DEVICE void put_bits(const uint32_t *from, uint32_t bits, int32_t begin, uint32_t *window) {
    if (!bits) return;
    const int32_t first = begin >> 5;
    const uint32_t shift = static_cast<uint32_t>(begin) & 31, count = (bits + 31) / 32,
                   to_count = (shift + bits + 31) / 32;
    const uint32_t skipped = first < 0 ? static_cast<uint32_t>(-first) : 0;
    const uint32_t end = first < kWindowWords ? min_of(to_count, static_cast<uint32_t>(kWindowWords - first)) : 0;
    constexpr uint32_t kLoads = 4;
    for (uint32_t i = skipped + static_cast<uint32_t>(lane_id()); i < end; i += 32 * kLoads) {
        uint32_t word[kLoads], last[kLoads];
        CUDAENC_UNROLL
        for (uint32_t k = 0; k < kLoads; k++) {
            const uint32_t at = i + 32 * k;
            word[k] = at < count ? load_readonly(from + at) : 0;
            last[k] = at && at <= count ? load_readonly(from + at - 1) : 0;
        }
        CUDAENC_UNROLL
        for (uint32_t k = 0; k < kLoads; k++)
            if (i + 32 * k < end) atomic_or(&window[first + i + 32 * k], funnel_shift_right(word[k], last[k], shift));
    }
}

KERNEL(kGroupThreads, h264_nal, NalParams)
{
    constexpr int kWarps = kGroupThreads / 32;
    SHARED(uint32_t, window, kWindowWords + 1);
    SHARED(PieceBits, pieces, kGroupPieces);
    SHARED(PiecePlaces, places, kGroupPieces);
    SHARED(uint32_t, group_end, 1);
    SHARED(uint32_t, left_before, 1);  // of the last byte of the group before, and its zeros: what it told
    SHARED(uint32_t, zeros_before, 1);
    const int thread = thread_x();
    const uint32_t group = take_ticket(p.links.tickets), serial = p.links.serial;
    const GroupRange range = p.ranges[group];
    const bool begins_slice = range.begins_slice != 0, ends_slice = range.ends_slice != 0;

    // How many bits come before in the byte that the group begins in.
    PieceBits own{0, 0};
    if (warp_id() == 0) {
        if (static_cast<uint32_t>(lane_id()) < range.count)
            own = p.bits[range.first + static_cast<uint32_t>(lane_id())];
        PiecePlaces unused;
        const uint32_t end = place_pieces(own, 0, unused);
        const bool known = warp_any(own.tail != 0) || begins_slice;
        if (thread == 0) {
            publish(p.links.phases + group, serial, known ? Published::sum : Published::own, end);
            group_end[0] = known;
        }
    }
    const uint64_t bits_before = begins_slice ? 0 : block_look_back<kWarps>(p.links.phases, group, serial);
    const uint32_t phase = static_cast<uint32_t>(bits_before) & 7;
    if (warp_id() == 0) {
        PiecePlaces own_places;
        const uint32_t end = place_pieces(own, phase, own_places);
        if (thread < kGroupPieces) {
            pieces[thread] = own;
            places[thread] = own_places;
        }
        warp_sync();
        if (thread == 0) {
            if (!group_end[0]) publish(p.links.phases + group, serial, Published::sum, bits_before - phase + end);
            group_end[0] = end;
        }
    }
    block_sync();

    // The bits of the group, `phase` others before them, through the window; most come at once.
    const uint32_t end = group_end[0], windows = (end / 32 + kWindowWords) / kWindowWords;
    const uint32_t count = ends_slice ? end / 8 + 1 : end / 8;
    const auto fill_window = [&](uint32_t number) {
        const uint32_t first = number * kWindowWords, words = min_of(end / 32 + 1 - first, uint32_t{kWindowWords});
        for (uint32_t i = static_cast<uint32_t>(thread); i <= words; i += kGroupThreads) window[i] = 0;
        block_sync();
        const int32_t origin = static_cast<int32_t>(32 * first);
        const uint32_t piece = static_cast<uint32_t>(warp_id());
        if (piece < range.count) {
            const uint32_t *from = p.words + uint64_t{range.first + piece} * p.word_pitch;
            put_bits(from, pieces[piece].head, static_cast<int32_t>(places[piece].head) - origin, window);
            put_bits(from + (pieces[piece].head + 31) / 32, pieces[piece].tail,
                     static_cast<int32_t>(places[piece].tail) - origin, window);
        }
        if (thread == 0 && number + 1 == windows && ends_slice)
            atomic_or(&window[end / 32 - first], 0x80000000u >> end % 32);  // rbsp_stop_one_bit
        block_sync();
    };
    fill_window(windows - 1);

    // What the group before left in its last byte, and what this one leaves: most do not wait to know that.
    const uint32_t last_first = (windows - 1) * kWindowWords;
    bool told = ends_slice;
    if (thread == 0) {
        uint32_t left;
        if (!told && !end_of_bits(window, end - 32 * last_first, 0, left)) {
            publish(p.links.ends + group, serial, Published::own, left);
            told = true;
        }
        left_before[0] = begins_slice ? 0 : static_cast<uint32_t>(wait_for(p.links.ends + group - 1, serial));
    }
    block_sync();

    // The bytes that end in the group, window by window: counted, then written.
    const auto for_windows = [&](const auto &use) {
        if (thread == 0) zeros_before[0] = left_before[0] >> 8;
        for (uint32_t number = 0; number < windows; number++) {
            const uint32_t first = number * kWindowWords;
            if (windows > 1) fill_window(number);
            if (thread == 0 && number == 0 && phase) window[0] |= (left_before[0] & 255) << (32 - phase);
            block_sync();
            const uint32_t here = min_of(count - min_of(count, 4 * first), 4u * kWindowWords);
            use(WindowBytes{window, zeros_word(zeros_before[0]), here});
            if (windows > 1) block_sync();
            if (thread == 0 && (windows > 1 || !told)) {
                const bool last = number + 1 == windows;
                uint32_t left;
                end_of_bits(window, last ? end - 32 * first : 32u * kWindowWords, zeros_before[0], left);
                if (last && !told) publish(p.links.ends + group, serial, Published::own, left);
                told |= last;
                zeros_before[0] = left >> 8;
            }
            if (windows > 1) block_sync();
        }
    };
    Preventions preventions{};
    uint32_t size = (begins_slice ? kNalPrefixBytes : 0) + count;
    for_windows([&](const WindowBytes &bytes) {
        preventions = count_preventions(bytes);
        size += preventions.all;
    });
    if (thread == 0) publish(p.links.bytes + group, serial, group ? Published::own : Published::sum, size);
    const uint64_t bytes_before = block_look_back<kWarps>(p.links.bytes, group, serial);
    if (thread == 0) {
        if (group) publish(p.links.bytes + group, serial, Published::sum, bytes_before + size);
        if (group + 1 == static_cast<uint32_t>(grid_x())) p.result->bytes = bytes_before + size;
    }
    uint8_t *place = p.bytes + bytes_before;
    if (begins_slice) {
        if (thread < kNalPrefixBytes) place[thread] = thread < 3 ? 0 : thread == 3 ? 1 : nal_header(kNalIdrSlice);
        place += kNalPrefixBytes;
    }
    if (windows == 1) {
        write_bytes({window, zeros_word(left_before[0] >> 8), count}, preventions, place);
        return;
    }
    for_windows([&](const WindowBytes &bytes) {
        preventions = count_preventions(bytes);
        write_bytes(bytes, preventions, place);
        place += bytes.count + preventions.all;
    });
}

}  // namespace cudaenc::h264
