// SPDX-License-Identifier: LGPL-2.1-or-later
// The bit-streams of an HT codeword: bits become bytes, and MEL's events bits (T.814 Clause 7).
#pragma once
#include "../../../common/j2k/t1/ht.h"
#include "../../device.cuh"

namespace cudaenc::j2k {

// A bit-stream that becomes bytes.
struct ByteStream {
    uint32_t at;     // the bit with which the next byte begins
    uint32_t bytes;  // so far
    uint32_t last;   // of them; before the first: what counts as such
};

// Takes up to 128 bytes of the stream, which has `bits`, with a whole warp; a lane takes four. word(i): bits 32 i to
// 32 i + 31. A stream that is padded with ones ends with an incomplete byte. put(bytes, count): the lane's four bytes,
// and how many all lanes have together, from stream.bytes on. Returns whether there may be more.
template <Stuffing kStuffing, class Word, class Put>
DEVICE bool take_bytes(ByteStream &stream, uint32_t bits, bool padded, const Word &word, const Put &put) {
    if (stream.at >= bits) return false;
    const uint32_t lane = static_cast<uint32_t>(lane_id()), first = stream.at / 32 + lane, left = bits - stream.at;
    uint32_t own = funnel_shift_right(word(first), word(first + 1), stream.at % 32);
    const uint32_t neighbour = warp_shuffle_up(own, 1), before = own << 8 | (lane ? neighbour >> 24 : stream.last);
    const uint32_t shorts = short_bytes<kStuffing>(own, before), lanes = warp_ballot(shorts != 0);
    uint32_t whole = 128;  // bytes before the first short one
    if (lanes) {
        const int of = find_first_set(lanes);
        whole = static_cast<uint32_t>(4 * of + find_first_set(warp_shuffle(shorts, of)) / 8);
    }
    const bool takes_short = lanes && 8 * whole + 7 <= left + (padded ? 6 : 0);
    const uint32_t count = takes_short ? whole + 1 : min_of(whole, (left + (padded ? 7 : 0)) / 8);
    if (takes_short && lane == whole / 4) own &= ~(0x80u << 8 * (whole % 4));
    put(own, count);
    if (count) stream.last = warp_shuffle(own, static_cast<int>((count - 1) / 4)) >> 8 * ((count - 1) % 4) & 0xFF;
    stream.at += takes_short ? 8 * whole + 7 : 8 * count;
    stream.bytes += count;
    return takes_short || count == 128;
}

// Bytes in words of the room. Those of the last, incomplete word are in `pending`, with zeros behind.
struct RoomWriter {
    uint32_t *words;
    uint32_t pending;
    DEVICE_MEMBER void put(uint32_t bytes_before, uint32_t own, uint32_t count) {
        const uint32_t lane = static_cast<uint32_t>(lane_id()), held = bytes_before % 4, filled = held + count;
        const uint32_t neighbour = warp_shuffle_up(own, 1);
        // The lane's word, of which the first `held` bytes are the lane's before.
        uint32_t aligned = own << 8 * held;
        if (held) aligned |= lane ? neighbour >> (32 - 8 * held) : pending;
        if (lane < filled / 4) words[bytes_before / 4 + lane] = aligned;
        const uint32_t rest = filled % 4;
        if (filled / 4 == 32) {  // behind the last lane's word
            pending = held ? warp_shuffle(own, 31) >> (32 - 8 * held) : 0;
        } else {
            pending = warp_shuffle(aligned, static_cast<int>(filled / 4));
        }
        pending &= (1u << 8 * rest) - 1;
    }
};

// Events of 32 pairs of quads, a bit a pair: of the quads with context 0, and whether they have a significant sample;
// where both quads of a pair in the first row have a u, whether both are above 2.
constexpr int kEntryWords = 6;
struct Events {
    bool has[2], one[2], of_pair, large;
};

// A block's share of shared memory, in words. kQuads: the most that it has, those beside the block counted. States have
// a row of zeros above, a column of them on the left, and one zero behind. kKeeps: samples of coded pairs stay there.
template <int kQuads, bool kKeeps>
struct HtLayout {
    static constexpr int kStateWords = kQuads + 3;  // of a pair each; later VLC's bytes
    static constexpr int kVlcWords = (kQuads / 2 * kMostPairBits + kVlcFirstBits + 31) / 32 + 3;
    static constexpr int kRing = 256;  // of MagSgn
    static constexpr int kEventWords = kQuads / 64 * kEntryWords;
    static constexpr int kMelWords = (kQuads * 5 / 4 * 3 / 2 + 31) / 32 + 2;
    static constexpr int kCodedWords = kQuads / 4;  // of pairs two each
    static constexpr int kKeptWords = kKeeps ? 2 * kQuads : 0;
    static constexpr int kStates = 0, kVlc = kStates + kStateWords, kRingAt = kVlc + kVlcWords,
                         kCleared = (kRingAt + kRing + 3) / 4 * 4, kEvents = kCleared, kMel = kEvents + kEventWords,
                         kCoded = kMel + kMelWords, kKept = (kCoded + kCodedWords + 3) / 4 * 4,
                         kWords = kKept + kKeptWords;
};

// U-VLC of a u in a word: u_pfx in three bits and its length in two, u_sfx in five and its length in three.
constexpr int kMostU = 32;
DEVICE uint32_t uvlc_word(const CodeBits &pfx, const CodeBits &sfx) {
    return pfx.bits | static_cast<uint32_t>(pfx.count) << 3 | sfx.bits << 5 | static_cast<uint32_t>(sfx.count) << 10;
}

// What a warp leaves for the lane that codes its MEL events.
struct MelWork {
    uint32_t entries;  // of events
    uint32_t pairs;    // that the warp codes itself
    uint32_t bits;     // that come out
};

struct WordSink {
    uint32_t *words;
    uint32_t bits = 0;
    uint64_t pending = 0;
    DEVICE_MEMBER void put(uint32_t value, int count) {
        pending |= static_cast<uint64_t>(value) << bits % 32;
        const uint32_t before = bits / 32;
        bits += static_cast<uint32_t>(count);
        if (bits / 32 > before) {
            words[before] = static_cast<uint32_t>(pending);
            pending >>= 32;
        }
    }
};

// Bit i of eight at 4 i.
DEVICE uint32_t spread_eight(uint32_t x) {
    x = (x | x << 12) & 0x000F000F;
    x = (x | x << 6) & 0x03030303;
    return (x | x << 3) & 0x11111111;
}

// entries: Events of 32 pairs each, in kEntryWords ballots.
DEVICE uint32_t code_events(const uint32_t *entries, uint32_t count, const uint32_t *mel_entries, uint32_t *words) {
    WordSink sink{words};
    MelCoder mel;
    CUDAENC_NO_UNROLL
    for (uint32_t i = 0; i < count; i++, entries += kEntryWords) {
        if (!(entries[2] | entries[3] | entries[4])) {
            mel.put_zeros(static_cast<uint32_t>(popcount(entries[0]) + popcount(entries[1])));
            continue;
        }
        CUDAENC_NO_UNROLL
        for (int shift = 0; shift < 32; shift += 8) {  // eight pairs
            const auto eight = [entries, shift](int k) { return entries[k] >> shift & 0xFF; };
            if (!(eight(2) | eight(3) | eight(4))) {
                mel.put_zeros(static_cast<uint32_t>(popcount(eight(0) | eight(1) << 8)));
                continue;
            }
            const auto join = [eight](int first, int second, int of_pair) {
                return spread_eight(eight(first)) | spread_eight(eight(second)) << 1 |
                       spread_eight(eight(of_pair)) << 2;
            };
            uint32_t events = join(0, 1, 4), ones = join(2, 3, 5);
            while (ones) {
                const uint32_t lowest = ones & (0 - ones);
                mel.put_zeros(static_cast<uint32_t>(popcount(events & (lowest - 1))));
                mel.put_one(mel_entries, sink);
                events &= ~(lowest | (lowest - 1));
                ones &= ones - 1;
            }
            mel.put_zeros(static_cast<uint32_t>(popcount(events)));
        }
    }
    mel.finish(mel_entries, sink);
    words[sink.bits / 32] = static_cast<uint32_t>(sink.pending);
    words[sink.bits / 32 + 1] = 0;
    return sink.bits;
}

}  // namespace cudaenc::j2k
