// SPDX-License-Identifier: LGPL-2.1-or-later
// Bits of pieces to NAL units (H.264, 7.3.4, 7.4.1, Annex B): joined, trailing bits, emulation prevention, start codes.
// A thread-block joins a group of pieces. The sums of h264_cavlc say where it begins, and that few groups have runs of
// zeros. Only these count their emulation_prevention_three_bytes, and tell them to all groups after. Of P slices a
// group may have few bits, or none: then no byte may end in it, and a byte may have bits of several groups.
#include "../../common/h264/syntax/nal.h"
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

// Zeros that the bytes end with, as zeros_state(). Returns whether there is nothing else, so that zeros before count.
DEVICE bool zeros_at_end(const WindowBytes &b, uint32_t state_before, uint32_t &state) {
    uint32_t zeros = 0;
    while (zeros < b.count && b.byte(static_cast<int32_t>(b.count - 1 - zeros)) == 0) zeros++;
    const bool all = zeros == b.count;
    state = zeros_state(all ? zeros + state_before : zeros);
    return all;
}

// ---- Where a group begins

// What bits do to the place where the next ones go. It moves on by `before` and, where `aligns`, to a whole byte and by
// `after`.
struct Advance {
    uint32_t before, after;
    bool aligns;
};
DEVICE uint32_t whole_byte(uint32_t bits) { return (bits + 7) & ~7u; }
DEVICE uint32_t advanced(uint32_t place, const Advance &a) {
    return a.aligns ? whole_byte(place + a.before) + a.after : place + a.before;
}
// a, then b.
DEVICE Advance joined(const Advance &a, const Advance &b) {
    if (a.aligns) return {a.before, advanced(a.after, b), true};
    return {a.before + b.before, b.after, b.aligns};
}
// With a whole warp; in lane 0, of all lanes in turn.
DEVICE Advance warp_joined(Advance a) {
    for (int distance = 1; distance < 32; distance *= 2)
        a = joined(a, {warp_shuffle_down(a.before, distance), warp_shuffle_down(a.after, distance),
                       warp_shuffle_down(uint32_t{a.aligns}, distance) != 0});
    return a;
}
// Of a whole group, before emulation prevention.
DEVICE Advance advance_of(const NalParams &p, uint32_t group) {
    const GroupSum sum{p.links.sums[group]};
    const GroupRange range = load_readonly(p.ranges + group);
    Advance a{range.begins_slice ? 8 * kNalPrefixBytes : 0u, 0, false};
    if (!sum.has_tails()) {
        a.before += sum.bits();
    } else {
        for (uint32_t i = 0; i < range.count; i++) {
            const PieceBits piece = p.bits[range.first + i];
            a = joined(a, {piece.head, piece.tail, piece.tail != 0});
        }
    }
    return range.ends_slice ? joined(a, {1, 0, true}) : a;  // rbsp_trailing_bits()
}
constexpr uint32_t kSerial = 1;  // of what groups publish, as their words are cleared between pictures

// Whether a run of zeros begins in a group.
DEVICE bool begins_zero_run(const NalParams &p, uint32_t group) {
    return GroupSum{p.links.sums[group]}.has_zero_runs();
}
// The last group before that has bits, as the first one of a slice has; group: not 0. Else group 0.
DEVICE uint32_t group_before(const NalParams &p, uint32_t group) {
    do group--;
    while (group && !p.links.sums[group]);
    return group;
}
// Whether a run of zeros may go on from before the group. Where it does, the group's first code ends it with a one, and
// further bits follow: so the last byte of the run ends in the group.
DEVICE bool zero_run_reaches(const NalParams &p, uint32_t group) {
    return group && begins_zero_run(p, group_before(p, group));
}
// Whether a group counts its emulation_prevention_three_bytes.
DEVICE bool counts_preventions(const NalParams &p, uint32_t group) {
    return begins_zero_run(p, group) || zero_run_reaches(p, group);
}

// The groups before that a thread looks at: consecutive ones.
struct GroupShare {
    uint32_t first, end;
};
DEVICE GroupShare share_of_thread(uint32_t group) {
    const uint32_t share = (group + kGroupThreads - 1) / kGroupThreads;
    const uint32_t first = min_of(static_cast<uint32_t>(thread_x()) * share, group);
    return {first, min_of(first + share, group)};
}

// ---- Windows

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

// In bits before emulation prevention. begin: from the beginning of the first NAL unit. The group counts its own from
// the byte in which it begins, up to `end`.
struct GroupPlace {
    uint32_t begin, end;
    bool zero_run_before;  // a run of zeros begins in a group before
    DEVICE_MEMBER uint32_t phase() const { return begin % 8; }
};
// Stores the pieces of the group and their places. With all threads.
DEVICE GroupPlace place_group(const NalParams &p, uint32_t group, const GroupRange &range, auto &pieces, auto &places) {
    SHARED(uint32_t, begins, 2 * (kGroupThreads / 32));
    SHARED(uint32_t, aligns, kGroupThreads / 32);
    SHARED(uint32_t, begin_and_end, 2);
    const uint32_t lane = static_cast<uint32_t>(lane_id()), warp = static_cast<uint32_t>(warp_id());
    PieceBits own{0, 0};
    if (warp == 0 && lane < range.count) own = p.bits[range.first + lane];
    const GroupShare share = share_of_thread(group);
    Advance before{0, 0, false};
    bool zero_run = false;
    for (uint32_t i = share.first; i < share.end; i++) {
        before = joined(before, advance_of(p, i));
        zero_run |= begins_zero_run(p, i);
    }
    before = warp_joined(before);
    if (lane == 0) {
        begins[2 * warp] = before.before;
        begins[2 * warp + 1] = before.after;
        aligns[warp] = before.aligns;
    }
    zero_run = block_any(zero_run);
    if (warp == 0) {
        const bool present = lane < kGroupThreads / 32;
        const uint32_t at = present ? lane : 0;
        before = warp_joined(present ? Advance{begins[2 * at], begins[2 * at + 1], aligns[at] != 0} : Advance{});
        const uint32_t begin = warp_shuffle(advanced(0, before), 0);
        PiecePlaces own_places;
        const uint32_t end = place_pieces(own, begin % 8, own_places);
        if (lane < kGroupPieces) {
            pieces[lane] = own;
            places[lane] = own_places;
        }
        if (lane == 0) {
            begin_and_end[0] = begin;
            begin_and_end[1] = end;
        }
    }
    block_sync();
    return {begin_and_end[0], begin_and_end[1], zero_run};
}

// The last piece before `end` that has bits; there is one. With a whole warp.
DEVICE uint32_t piece_before(const NalParams &p, uint32_t end) {
    const uint32_t lane = static_cast<uint32_t>(lane_id());
    for (;; end -= 32) {
        const PieceBits piece = lane < end ? p.bits[end - 1 - lane] : PieceBits{0, 0};
        if (const uint32_t found = warp_ballot((piece.head | piece.tail) != 0))
            return end - 1 - static_cast<uint32_t>(find_first_set(found));
    }
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
    GroupPlace place;
    Window &window;
    Pieces &pieces;
    Places &places;
    const uint32_t count = (place.end / 32 + kWindowWords) / kWindowWords;
    // Bytes that end in the group; rbsp_trailing_bits() complete the last one of a slice.
    const uint32_t bytes = place.end / 8 + (range.ends_slice ? 1 : 0);

    // Of window `number`. before: zeros_state() of the bytes before.
    DEVICE_MEMBER WindowBytes window_bytes(uint32_t number, uint32_t before) const {
        return {window, zeros_word(before),
                min_of(bytes - min_of(bytes, 4 * kWindowWords * number), 4u * kWindowWords)};
    }

    // Joins the bits of the pieces in that window, which is 0. With all threads.
    DEVICE_MEMBER void fill(uint32_t number) {
        const uint32_t first = number * kWindowWords, piece = static_cast<uint32_t>(warp_id());
        // Bits before the group, of the byte in which it begins: those of the pieces before, the last one first.
        uint32_t missing = piece || number ? 0 : place.phase(), at = range.first;
        CUDAENC_NO_UNROLL
        for (int part = 0; part < 2 || missing; part++) {
            // The head of the warp's piece, its tail; and the last bits of a piece before the group.
            const bool before = part >= 2;
            if (!before && piece >= range.count) continue;
            at = before ? piece_before(p, at) : range.first + piece;
            const PieceBits bits = before ? p.bits[at] : pieces[piece];
            const bool tail = before ? bits.tail != 0 : part == 1;
            const uint32_t count = tail ? bits.tail : bits.head;
            const uint32_t begin = before ? missing - count : tail ? places[piece].tail : places[piece].head;
            put_bits(p.words + uint64_t{at} * p.word_pitch + (tail ? (bits.head + 31) / 32 : 0), count,
                     static_cast<int32_t>(begin - 32 * first), window);
            if (before) missing -= min_of(missing, count);
        }
        if (thread_x() == 0 && number + 1 == count && range.ends_slice)
            atomic_or(&window[place.end / 32 - first], 0x80000000u >> place.end % 32);  // rbsp_stop_one_bit
        block_sync();
    }

    // Hands the bytes of each window to use(). zeros: zeros_state() before the group. state: shared, becomes that at
    // its end where there are several windows; a single one has been filled. With all threads.
    template <class Use>
    DEVICE_MEMBER void for_each(uint32_t zeros, auto &state, const Use &use) {
        const bool several = count > 1;
        if (several && thread_x() == 0) state[0] = zeros;
        for (uint32_t number = 0; number < count; number++) {
            if (several) {
                clear(window);
                block_sync();
                fill(number);
                zeros = state[0];
            }
            const WindowBytes here = window_bytes(number, zeros);
            use(here);
            if (!several) return;
            block_sync();
            if (thread_x() == 0) zeros_at_end(here, zeros, state[0]);
            block_sync();
        }
    }
};

// ---- Emulation prevention of groups

// Of the emulation_prevention_three_bytes of a group.
struct GroupPreventions {
    Preventions of_window;  // of a single window
    uint32_t all;
    uint32_t zeros;  // zeros_state() before the group
};
// Counts them for the groups after, and tells the next one the zeros at the end. state: shared. With all threads, which
// have filled the last window.
DEVICE GroupPreventions count_in_group(const NalParams &p, uint32_t group, auto &windows, auto &state) {
    const bool first_thread = thread_x() == 0;
    GroupPreventions preventions{};
    if (!windows.bytes && !begins_zero_run(p, group)) {
        if (first_thread) publish(p.links.preventions + group, kSerial, Published::own, 0);
        return preventions;
    }
    uint32_t end = 0;
    bool depends = false;  // on the zeros before, as hardly ever
    if (first_thread) {
        depends = zeros_at_end(windows.window_bytes(windows.count - 1, 0), 0, end);
        if (!depends) publish(p.links.ends + group, kSerial, Published::own, end);
    }
    if (!windows.range.begins_slice && zero_run_reaches(p, group)) {
        if (first_thread) state[0] = static_cast<uint32_t>(wait_for(p.links.ends + group_before(p, group), kSerial));
        block_sync();
        preventions.zeros = state[0];
        block_sync();
    }
    windows.for_each(preventions.zeros, state, [&](const WindowBytes &bytes) {
        preventions.of_window = count_preventions(bytes);
        preventions.all += preventions.of_window.all;
    });
    if (first_thread) {
        publish(p.links.preventions + group, kSerial, Published::own, preventions.all);
        if (windows.count > 1)
            end = state[0];
        else if (depends)
            zeros_at_end(windows.window_bytes(0, preventions.zeros), preventions.zeros, end);
        if (depends) publish(p.links.ends + group, kSerial, Published::own, end);
    }
    return preventions;
}

// In the groups before. With all threads.
DEVICE uint32_t count_before(const NalParams &p, uint32_t group) {
    const GroupShare share = share_of_thread(group);
    uint32_t own = 0;
    for (uint32_t i = share.first; i < share.end; i++)
        if (counts_preventions(p, i)) own += static_cast<uint32_t>(wait_for(p.links.preventions + i, kSerial));
    return block_sums<kGroupThreads / 32>(own).all;
}

// ---- The kernel

KERNEL(kGroupThreads, h264_nal, NalParams)
{
    SHARED(uint32_t, window, kWindowWords + 1);
    SHARED(PieceBits, pieces, kGroupPieces);
    SHARED(PiecePlaces, places, kGroupPieces);
    SHARED(uint32_t, state, 1);
    const uint32_t group = take_ticket(p.tickets);
    const GroupRange range = load_readonly(p.ranges + group);
    clear(window);
    wait_for_launch_before();
    const bool zero_run = begins_zero_run(p, group);
    const GroupPlace place = place_group(p, group, range, pieces, places);
    GroupWindows<decltype(window), decltype(pieces), decltype(places)> windows{p, range, place, window, pieces, places};
    const bool counts = zero_run || (place.zero_run_before && zero_run_reaches(p, group));
    if (windows.bytes && (windows.count == 1 || counts)) windows.fill(windows.count - 1);
    GroupPreventions preventions{};
    if (counts) preventions = count_in_group(p, group, windows, state);

    const uint32_t prefix = range.begins_slice ? kNalPrefixBytes : 0;
    const uint64_t bytes_before = place.begin / 8 + (place.zero_run_before ? count_before(p, group) : 0);
    if (thread_x() == 0) {
        if (p.begins) p.begins[group] = bytes_before;
        p.next_links.sums[group] = p.next_links.ends[group] = p.next_links.preventions[group] = 0;
        if (group + 1 == static_cast<uint32_t>(grid_x())) {
            p.result->bytes = bytes_before + prefix + windows.bytes + preventions.all;
            p.result->bits = *p.layer_bits;
            *p.layer_bits = 0;
        }
    }
    uint8_t *to = p.bytes + bytes_before;
    if (thread_x() < static_cast<int>(prefix))
        to[thread_x()] = thread_x() < 3 ? 0 : thread_x() == 3 ? 1 : static_cast<uint8_t>(p.headers->nal_header);
    to += prefix;
    windows.for_each(preventions.zeros, state, [&](const WindowBytes &bytes) {
        if (counts && windows.count > 1) preventions.of_window = count_preventions(bytes);
        write_bytes(bytes, preventions.of_window, to);
        to += bytes.count + preventions.of_window.all;
    });
}

}  // namespace cudaenc::h264
