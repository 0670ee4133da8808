// Bits of pieces to NAL units (H.264, 7.3.4, 7.4.1, Annex B): joined, trailing bits, emulation prevention, start codes.
// A thread-block joins a group of pieces. Groups tell those after them how many bits and bytes come before.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../common/h264/nal.h"
#include "../bits.cuh"
#include "../device.cuh"
#include "../look_back.cuh"
#include "nal_params.h"

namespace cudaenc::h264 {

// ---- Bytes

// The bytes of a window: words, the first byte the highest. The word before them holds the zeros that the bytes before
// the window end with (zeros_word()).
struct WindowBytes {
    const uint32_t *words;
    uint32_t before;
    uint32_t count;
    DEVICE_MEMBER uint32_t word(int32_t i) const { return i < 0 ? before : words[i]; }
    DEVICE_MEMBER uint32_t byte(int32_t i) const { return word(i >> 2) >> (24 - 8 * (i & 3)) & 255; }
};
// Zeros at the end of bytes, as emulation prevention sees them: 0, 1 or 2. It ends a run after two zeros.
DEVICE uint32_t zeros_state(uint32_t zeros) { return zeros ? 2 - zeros % 2 : 0; }
DEVICE uint32_t zeros_word(uint32_t state) { return state ? 0xFFFFFFFFu << 8 * state : 0xFFFFFFFFu; }

// Bit k: an emulation_prevention_three_byte goes before byte k of word w. That byte is below 4 and follows an even
// number of zeros.
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

// The share of a warp: consecutive words.
struct WarpWords {
    uint32_t first, end;
};
DEVICE WarpWords words_of_warp(const WindowBytes &b) {
    const uint32_t words = (b.count + 3) / 4, share = (words + kGroupPieces - 1) / kGroupPieces;
    const uint32_t first = min_of(static_cast<uint32_t>(warp_id()) * share, words);
    return {first, min_of(first + share, words)};
}

// Emulation prevention bytes in the shares before the warp's own, in that, and in all. With all threads.
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

// Writes the share of the warp. place: where the first byte of the window goes.
DEVICE void write_bytes(const WindowBytes &b, const Preventions &preventions, uint8_t *place) {
    const WarpWords share = words_of_warp(b);
    if (share.first >= share.end) return;
    const uint32_t lane = static_cast<uint32_t>(lane_id());
    uint8_t *to = place + 4 * share.first + preventions.before;
    if (preventions.own == 0) {  // copies words, aligned at the destination
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

// What `bits` bits leave to those after them: zeros_state() of their bytes, above the bits after the last whole byte.
// Returns whether that depends on the bits before, also on those of the first byte, which `words` may lack.
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

// Where the head and the tail of a piece begin, in bits.
struct PiecePlaces {
    uint32_t head, tail;
};
// Places the pieces of a group from bit `begin` on; tails begin a byte. Returns where the group ends. own: of the
// lane's piece. With a whole warp.
DEVICE uint32_t place_pieces(PieceBits own, uint32_t begin, PiecePlaces &places) {
    if (!warp_any(own.tail != 0)) {
        const uint32_t end = begin + warp_inclusive_add(own.head);
        places = {end - own.head, end};
        return warp_shuffle(end, 31);
    }
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

// Joins `bits` bits, from bit `begin` of the window on, which may lie before or beyond it, to its words. With a whole
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
            word[k] = at < count ? from[at] : 0;
            last[k] = at && at <= count ? from[at - 1] : 0;
        }
        CUDAENC_UNROLL
        for (uint32_t k = 0; k < kLoads; k++)
            if (i + 32 * k < end) atomic_or(&window[first + i + 32 * k], funnel_shift_right(word[k], last[k], shift));
    }
}

// A group counts its bits from the beginning of a byte: `phase` bits of that come before the group.
struct GroupBits {
    uint32_t phase, end;
};
// Stores the pieces of the group and their places. With all threads.
DEVICE GroupBits place_group(const NalParams &p, uint32_t group, const GroupRange &range, auto &pieces, auto &places) {
    SHARED(uint32_t, group_end, 1);
    const bool begins_slice = range.begins_slice != 0;
    const uint32_t serial = p.links.serial, lane = static_cast<uint32_t>(lane_id());
    PieceBits own{0, 0};
    if (warp_id() == 0) {
        if (lane < range.count) own = p.bits[range.first + lane];
        PiecePlaces unused;
        const uint32_t end = place_pieces(own, 0, unused);
        // A tail begins a byte, whatever comes before the group.
        const bool known = warp_any(own.tail != 0) || begins_slice;
        if (lane == 0) {
            publish(p.links.phases + group, serial, known ? Published::sum : Published::own, end);
            group_end[0] = known;
        }
    }
    const uint64_t bits_before = begins_slice ? 0 : block_look_back<kGroupThreads / 32>(p.links.phases, group, serial);
    const uint32_t phase = static_cast<uint32_t>(bits_before) & 7;
    if (warp_id() == 0) {
        PiecePlaces own_places;
        const uint32_t end = place_pieces(own, phase, own_places);
        if (lane < kGroupPieces) {
            pieces[lane] = own;
            places[lane] = own_places;
        }
        warp_sync();
        if (lane == 0) {
            if (!group_end[0]) publish(p.links.phases + group, serial, Published::sum, bits_before - phase + end);
            group_end[0] = end;
        }
    }
    block_sync();
    return {phase, group_end[0]};
}

// With all threads; block_sync() has to follow.
DEVICE void clear(auto &window) {
    for (int i = thread_x(); i <= kWindowWords; i += kGroupThreads) window[i] = 0;
}

// The bits of a group, a window at a time. Most groups fit one.
template <class Window, class Pieces, class Places>
struct GroupWindows {
    const NalParams &p;
    GroupRange range;
    GroupBits bits;
    Window &window;
    Pieces &pieces;
    Places &places;
    const bool ends_slice = range.ends_slice != 0;
    const uint32_t count = (bits.end / 32 + kWindowWords) / kWindowWords;
    // Bytes that end in the group; rbsp_trailing_bits() complete the last one of a slice.
    const uint32_t bytes = ends_slice ? bits.end / 8 + 1 : bits.end / 8;

    DEVICE_MEMBER bool is_last(uint32_t number) const { return number + 1 == count; }
    // Bits of the group in window `number`.
    DEVICE_MEMBER uint32_t bits_in(uint32_t number) const {
        return is_last(number) ? bits.end - 32 * number * kWindowWords : 32u * kWindowWords;
    }

    // Joins the bits of the pieces in that window, which is 0. With all threads.
    DEVICE_MEMBER void fill(uint32_t number) {
        const uint32_t first = number * kWindowWords;
        const int32_t origin = static_cast<int32_t>(32 * first);
        const uint32_t piece = static_cast<uint32_t>(warp_id());
        if (piece < range.count) {
            const uint32_t *from = p.words + uint64_t{range.first + piece} * p.word_pitch;
            put_bits(from, pieces[piece].head, static_cast<int32_t>(places[piece].head) - origin, window);
            put_bits(from + (pieces[piece].head + 31) / 32, pieces[piece].tail,
                     static_cast<int32_t>(places[piece].tail) - origin, window);
        }
        if (thread_x() == 0 && is_last(number) && ends_slice)
            atomic_or(&window[bits.end / 32 - first], 0x80000000u >> bits.end % 32);  // rbsp_stop_one_bit
        block_sync();
    }

    // Hands the bytes of each window to use(). end_before: what end_of_bits() says of the group before. published_end:
    // whether this group has published the same of itself; the last window does. zeros_before: shared. With all
    // threads.
    template <class Use>
    DEVICE_MEMBER void for_each(uint32_t group, auto &end_before, auto &zeros_before, bool &published_end,
                                const Use &use) {
        const bool first_thread = thread_x() == 0;
        if (first_thread) zeros_before[0] = end_before[0] >> 8;
        for (uint32_t number = 0; number < count; number++) {
            if (count > 1) {
                clear(window);
                block_sync();
                fill(number);
            }
            if (first_thread && number == 0 && bits.phase) window[0] |= (end_before[0] & 255) << (32 - bits.phase);
            block_sync();
            const uint32_t here = min_of(bytes - min_of(bytes, 4 * kWindowWords * number), 4u * kWindowWords);
            use(WindowBytes{window, zeros_word(zeros_before[0]), here});
            if (count > 1) block_sync();
            if (first_thread && (count > 1 || !published_end)) {
                uint32_t own_end;
                end_of_bits(window, bits_in(number), zeros_before[0], own_end);
                if (is_last(number) && !published_end)
                    publish(p.links.ends + group, p.links.serial, Published::own, own_end);
                published_end |= is_last(number);
                zeros_before[0] = own_end >> 8;
            }
            if (count > 1) block_sync();
        }
    }
};

KERNEL(kGroupThreads, h264_nal, NalParams)
{
    SHARED(uint32_t, window, kWindowWords + 1);
    SHARED(PieceBits, pieces, kGroupPieces);
    SHARED(PiecePlaces, places, kGroupPieces);
    SHARED(uint32_t, end_before, 1);    // of the group before: what end_of_bits() says
    SHARED(uint32_t, zeros_before, 1);  // zeros_state() before the window
    const int thread = thread_x();
    const uint32_t group = take_ticket(p.links.tickets), serial = p.links.serial;
    const GroupRange range = p.ranges[group];
    clear(window);
    wait_for_launch_before();
    const bool begins_slice = range.begins_slice != 0;
    const GroupBits bits = place_group(p, group, range, pieces, places);
    GroupWindows<decltype(window), decltype(pieces), decltype(places)> windows{p, range, bits, window, pieces, places};
    windows.fill(windows.count - 1);

    // What this group leaves to the next, and what the one before left. Most groups need not know the latter to tell
    // the former.
    bool published_end = windows.ends_slice;
    if (thread == 0) {
        uint32_t own_end;
        if (!published_end && !end_of_bits(window, windows.bits_in(windows.count - 1), 0, own_end)) {
            publish(p.links.ends + group, serial, Published::own, own_end);
            published_end = true;
        }
        end_before[0] = begins_slice ? 0 : static_cast<uint32_t>(wait_for(p.links.ends + group - 1, serial));
    }
    block_sync();

    // The bytes, counted and then written.
    Preventions preventions{};
    uint32_t size = (begins_slice ? kNalPrefixBytes : 0) + windows.bytes;
    windows.for_each(group, end_before, zeros_before, published_end, [&](const WindowBytes &bytes) {
        preventions = count_preventions(bytes);
        size += preventions.all;
    });
    if (thread == 0) publish(p.links.bytes + group, serial, group ? Published::own : Published::sum, size);
    const uint64_t bytes_before = block_look_back<kGroupThreads / 32>(p.links.bytes, group, serial);
    if (thread == 0) {
        if (group) publish(p.links.bytes + group, serial, Published::sum, bytes_before + size);
        if (group + 1 == static_cast<uint32_t>(grid_x())) {
            p.result->bytes = bytes_before + size;
            p.result->bits = *p.layer_bits;
            *p.layer_bits = 0;
        }
    }
    uint8_t *place = p.bytes + bytes_before;
    if (begins_slice) {
        if (thread < kNalPrefixBytes) place[thread] = thread < 3 ? 0 : thread == 3 ? 1 : nal_header(kNalIdrSlice);
        place += kNalPrefixBytes;
    }
    if (windows.count == 1) {
        write_bytes({window, zeros_word(end_before[0] >> 8), windows.bytes}, preventions, place);
        return;
    }
    windows.for_each(group, end_before, zeros_before, published_end, [&](const WindowBytes &bytes) {
        preventions = count_preventions(bytes);
        write_bytes(bytes, preventions, place);
        place += bytes.count + preventions.all;
    });
}

}  // namespace cudaenc::h264
