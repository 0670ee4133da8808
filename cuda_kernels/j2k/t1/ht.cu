// HT block coding (ITU-T T.814), quad-parallel: a lane a quad, 32 quads at a time in the order in which they are coded.
// Contexts and predictions come from the states of earlier quads; bits get their places from one scan of both
// bit-streams' counts. Only MEL's events are coded one by one, those of all a thread-block's blocks side by side, while
// the other warps stuff their bits. SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../../common/j2k/quantise.h"
#include "../../../common/j2k/t1/ht.h"
#include "../../device.cuh"
#include "ht_params.h"

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

// Bytes in words of the slot. Those of the last, incomplete word are in `pending`, with zeros behind.
struct SlotWriter {
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

// A block's share of shared memory, in words. kQuads: the most that it has, those beside the block counted. States have
// a row of zeros above, a column of them on the left, and one zero behind.
template <int kQuads>
struct HtLayout {
    static constexpr int kStateWords = (kQuads * 3 / 2 + 8) / 2;  // later VLC's bytes
    static constexpr int kVlcWords = (kQuads / 2 * kMostPairBits + kVlcFirstBits + 31) / 32 + 3;
    static constexpr int kRing = 256;                      // of MagSgn
    static constexpr int kEventWords = kQuads / 256 * 32;  // of a mask and its ones each
    static constexpr int kMelWords = (kQuads * 5 / 4 * 3 / 2 + 31) / 32 + 2;
    static constexpr int kStates = 0, kVlc = kStates + kStateWords, kRingAt = kVlc + kVlcWords,
                         kEvents = kRingAt + kRing, kMel = kEvents + kEventWords,
                         kWords = (kMel + kMelWords + 3) / 4 * 4;
};

// U-VLC of an excess in a word: the prefix in three bits and its length in two, the suffix in five and its length in
// three.
constexpr int kMostExcess = 32;
DEVICE uint32_t excess_code(const CodeBits &prefix, const CodeBits &suffix) {
    return prefix.bits | static_cast<uint32_t>(prefix.count) << 3 | suffix.bits << 5 |
           static_cast<uint32_t>(suffix.count) << 10;
}

// What a warp leaves for the lane that codes its MEL events.
struct MelWork {
    uint32_t entries;  // of events
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

// entries: pairs of a mask of quads with an event, and of those whose event is 1.
DEVICE uint32_t code_events(const uint32_t *entries, uint32_t count, uint32_t *words) {
    WordSink sink{words};
    MelCoder mel;
    CUDAENC_NO_UNROLL
    for (uint32_t i = 0; i < count; i++) {
        uint32_t events = entries[2 * i], ones = entries[2 * i + 1];
        while (ones) {
            const uint32_t lowest = ones & (0 - ones);
            mel.zeros(static_cast<uint32_t>(popcount(events & (lowest - 1))), sink);
            mel.one(sink);
            events &= ~(lowest | (lowest - 1));
            ones &= ones - 1;
        }
        mel.zeros(static_cast<uint32_t>(popcount(events)), sink);
    }
    mel.finish(sink);
    words[sink.bits / 32] = static_cast<uint32_t>(sink.pending);
    words[sink.bits / 32 + 1] = 0;
    return sink.bits;
}

// Bit i of a half word at 2 i.
DEVICE uint32_t spread_half(uint32_t x) {
    x = (x | x << 8) & 0x00FF00FF;
    x = (x | x << 4) & 0x0F0F0F0F;
    x = (x | x << 2) & 0x33333333;
    return (x | x << 1) & 0x55555555;
}

using QuadState __attribute__((may_alias)) = uint16_t;  // quad_state() of each quad

// Coefficients of a quad; those outside of the block are 0. kPaired: two at a time, of blocks that has_pairs() tells
// of.
struct Quad {
    uint32_t sample[4];
};
DEVICE bool has_pairs(const CodeBlock &block, const uint32_t *coefficients) {
    return ((reinterpret_cast<uintptr_t>(coefficients) / 4 | block.stride | block.width) & 1) == 0;
}
template <bool kPaired>
DEVICE Quad load_quad(const CodeBlock &block, const uint32_t *coefficients, uint32_t column, uint32_t row) {
    const uint32_t x = 2 * column, y = 2 * row;
    const bool upper = x < block.width && y < block.height, lower = upper && y + 1 < block.height,
               right = x + 1 < block.width;
    const uint32_t *const at = coefficients + static_cast<size_t>(y) * block.stride + x;
    if constexpr (kPaired) {
        const auto pair = [](bool is, const uint32_t *from) {
            return is ? load_readonly(reinterpret_cast<const uint64_t *>(from)) : 0;
        };
        const uint64_t above = pair(upper, at), below = pair(lower, at + block.stride);
        return {{static_cast<uint32_t>(above), static_cast<uint32_t>(below), static_cast<uint32_t>(above >> 32),
                 static_cast<uint32_t>(below >> 32)}};
    } else {
        const auto one = [](bool is, const uint32_t *from) { return is ? load_readonly(from) : 0; };
        return {{one(upper, at), one(lower, at + block.stride), one(upper && right, at + 1),
                 one(lower && right, at + block.stride + 1)}};
    }
}

// With which bit-plane of the frame's steps a truncatable block ends: see HtRule.
struct HtLowest {
    int plane = 0;
    bool lowers = false;
    StepRatio step;
};
DEVICE HtLowest lowest_of(const HtRule &rule, int plane) { return {plane, rule.lowers(), rule.step}; }

// A block in a warp. memory: shared, HtLayout<kQuads>::kWords.
template <int kQuads, bool kTruncated>
struct HtBlock {
    using Layout = HtLayout<kQuads>;
    const CodeBlock block;
    const uint32_t *coefficients;  // of the block
    const HtLowest lowest;         // of what is coded; of kTruncated alone
    const HtCodes *all_codes;
    const uint16_t *codes;         // shared, of other rows than the first
    const uint16_t *excess_codes;  // shared, excess_code() of each excess
    uint32_t *memory;
    SlotWriter slot;
    ByteStream magsgn{0, 0, 0};
    uint32_t magsgn_bits = 0, vlc_bits = kVlcFirstBits, entries = 0;
    bool any = false;

    DEVICE_MEMBER QuadState *states() { return reinterpret_cast<QuadState *>(memory + Layout::kStates); }
    DEVICE_MEMBER uint32_t *vlc() { return memory + Layout::kVlc; }
    DEVICE_MEMBER uint32_t *ring() { return memory + Layout::kRingAt; }
    DEVICE_MEMBER uint32_t *events() { return memory + Layout::kEvents; }
    DEVICE_MEMBER uint32_t *mel() { return memory + Layout::kMel; }

    template <bool kPaired>
    DEVICE_MEMBER Quad load(uint32_t column, uint32_t row) const {
        Quad quad = load_quad<kPaired>(block, coefficients, column, row);
        if constexpr (kTruncated) {
            CUDAENC_UNROLL
            for (uint32_t &x : quad.sample) x = (x & kSignBit) | lowest.step.magnitude(x);
            if (lowest.lowers) lower_largest(quad.sample, lowest.plane);
            CUDAENC_UNROLL
            for (uint32_t &x : quad.sample) x = (x & kSignBit) | (x & ~kSignBit) >> lowest.plane;
        }
        return quad;
    }

    DEVICE_MEMBER void code_quads() {
        const uint32_t lane = static_cast<uint32_t>(lane_id());
        CUDAENC_NO_UNROLL
        for (uint32_t i = lane; i < Layout::kEvents; i += 32) memory[i] = 0;
        warp_sync();
        if (lane == 0) vlc()[0] = (1u << kVlcFirstBits) - 1;
        if (has_pairs(block, coefficients))
            code_all<true>();
        else
            code_all<false>();
    }

    // Whether the quad is there.
    DEVICE_MEMBER bool is_present(uint32_t column, uint32_t row) const {
        return 2 * column < block.width && 2 * row < block.height;
    }

    // Codes all quads. Events are left for code_events().
    template <bool kPaired>
    DEVICE_MEMBER void code_all() {
        // Columns are even: a last, missing quad makes a pair with the last one.
        const uint32_t lane = static_cast<uint32_t>(lane_id()), columns = (block.width + 3u) / 4 * 2,
                       quads = columns * ((block.height + 1u) / 2), more_rows = 32 / columns,
                       more_columns = 32 % columns;
        // Contexts come from so many chunks of 32 quads: this one and those with the row above.
        const uint32_t context_chunks = (2u << (columns + 32) / 32) - 1;
        uint32_t quiet = ~0u;  // bit i: the chunk i before has no significant sample
        uint32_t row = lane / columns, column = lane % columns;
        Quad next = load<kPaired>(column, row);
        CUDAENC_NO_UNROLL
        for (uint32_t first = 0; first < quads; first += 32) {
            const Quad own = next;
            const uint32_t own_row = row, own_column = column;
            column += more_columns;
            row += more_rows;
            if (column >= columns) {
                column -= columns;
                row++;
            }
            next = load<kPaired>(column, row);
            const bool some =
                warp_any(((own.sample[0] | own.sample[1] | own.sample[2] | own.sample[3]) & 0x7FFFFFFFu) != 0);
            quiet = quiet << 1 | !some;
            any |= some;
            if ((quiet & context_chunks) == context_chunks) {
                put_events(warp_any(own_row == 0), is_present(own_column, own_row), false, false, false);
                continue;
            }
            code_32(own, own_column, own_row, columns);
            while (magsgn_bits - magsgn.at >= 33 * 32) take_magsgn(magsgn_bits, false);
        }
    }

    DEVICE_MEMBER void code_32(const Quad &own, uint32_t column, uint32_t row, uint32_t columns) {
        const bool first_row = row == 0, present = is_present(column, row);
        HtSample s[4];
        uint32_t significant = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            s[i] = ht_sample(own.sample[i]);
            significant |= static_cast<uint32_t>(own.sample[i] << 1 != 0) << i;
        }
        // Of lanes behind the last quad the state is nobody's.
        QuadState *const state = states() + (present ? (row + 1) * (columns + 1) + column + 1 : columns + 2);
        if (present) *state = static_cast<QuadState>(quad_state(significant, s[1].exponent, s[3].exponent));
        warp_sync();
        const QuadState *const above = state - (columns + 1);
        const QuadNeighbours near{state[-1], above[-1], above[0], above[1]};
        const uint32_t context = quad_context(first_row, near);
        const int most = max_of(max_of(s[0].exponent, s[1].exponent), max_of(s[2].exponent, s[3].exponent));
        uint32_t reaching = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) reaching |= static_cast<uint32_t>(s[i].exponent == most) << i;
        QuadCode code = code_quad(first_row ? all_codes->entries[0] : codes, context, significant, most, reaching,
                                  predicted_exponent(significant, near));
        code.entry = present ? code.entry : 0;
        code.excess = significant ? code.excess : 0;

        // U-VLC, which in the first row depends on the other quad of the pair.
        uint32_t excess = excess_codes[code.excess];
        bool both = false, large = false;
        const bool any_first = warp_any(first_row);
        if (any_first) {
            const int other = warp_shuffle_xor(code.excess, 1);
            both = first_row && code.excess && other;
            large = both && min_of(code.excess, other) > 2;
            if (large)
                excess = excess_codes[code.excess - 2];
            else if (both && other > 2 && lane_id() % 2)
                excess = excess_code({static_cast<uint32_t>(code.excess - 1), 1}, {0, 0});
        }
        put_events(any_first, present && !context, significant != 0, both && lane_id() % 2, large);

        // The even lanes have the pairs' codewords.
        const uint32_t word = (code.entry & 1023) | excess << 10, other_word = warp_shuffle_down(word, 1);
        const CodeBits pair = lane_id() % 2 ? CodeBits{0, 0} : join_words(word, other_word);
        int bits[4];
        uint32_t all = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) all += static_cast<uint32_t>(bits[i] = code.bits(significant, i));
        // Both streams' counts in one scan: of MagSgn below 2^13, of VLC above.
        const uint32_t own_counts = all | static_cast<uint32_t>(pair.count) << 16,
                       up_to = warp_inclusive_add(own_counts), before = up_to - own_counts,
                       total = warp_shuffle(up_to, 31);
        put_vlc(vlc_bits + (before >> 16), pair);
        put_samples(magsgn_bits + (before & 0xFFFF), s, bits);
        vlc_bits += total >> 16;
        magsgn_bits += total & 0xFFFF;
        warp_sync();
    }

    // The VLC bits of a pair, from both quads' codewords and U-VLC codes.
    DEVICE_MEMBER static CodeBits join_words(uint32_t a, uint32_t b) {
        const auto field = [](uint32_t x, int at, int length_at, uint32_t most) {
            return CodeBits{x >> at & ((1u << (length_at - at)) - 1), static_cast<int>(x >> length_at & most)};
        };
        const auto word = [&](uint32_t x) { return field(x, 0, 7, 7); };
        const auto prefix = [&](uint32_t x) { return field(x, 10, 13, 3); };
        const auto suffix = [&](uint32_t x) { return field(x, 15, 20, 7); };
        return word(a).then(word(b)).then(prefix(a)).then(prefix(b)).then(suffix(a)).then(suffix(b));
    }

    // Events of 32 quads: of each whether it has a significant sample; where some are in the first row, behind it, of a
    // pair, whether both excesses are above 2.
    DEVICE_MEMBER void put_events(bool any_first, bool has, bool one, bool of_pair, bool large) {
        const uint32_t mask = warp_ballot(has), ones = warp_ballot(has && one);
        uint32_t *const at = events() + 2 * entries;
        if (!any_first) {
            if (lane_id() == 0) at[0] = mask, at[1] = ones;
            entries++;
            return;
        }
        const uint32_t pairs = warp_ballot(of_pair), larges = warp_ballot(of_pair && large);
        if (lane_id() < 2) {
            const int shift = 16 * lane_id();
            const auto join = [shift](uint32_t quads, uint32_t of_pairs) {
                return spread_half(quads >> shift & 0xFFFF) | spread_half(of_pairs >> shift & 0xFFFF) << 1;
            };
            at[2 * lane_id()] = join(mask, pairs);
            at[2 * lane_id() + 1] = join(ones, larges);
        }
        entries += 2;
    }

    DEVICE_MEMBER void put_vlc(uint32_t at, const CodeBits &code) {
        uint32_t *const words = vlc() + at / 32;
        if (!code.count) return;
        atomic_or(&words[0], code.bits << at % 32);
        atomic_or(&words[1], funnel_shift_left(code.bits, 0, at % 32));
    }
    DEVICE_MEMBER void put_magsgn(uint32_t at, uint32_t bits) {
        if (bits) atomic_or(&ring()[at % Layout::kRing], bits);
    }
    DEVICE_MEMBER void put_samples(uint32_t at, const HtSample (&s)[4], const int (&bits)[4]) {
        const auto low_bits = [&](int i) { return bits[i] < 32 ? s[i].value & ((1u << bits[i]) - 1) : s[i].value; };
        const int left = bits[0] + bits[1], right = bits[2] + bits[3];
        if (warp_all(left < 32 && right < 32)) {
            const uint32_t first = low_bits(0) | low_bits(1) << bits[0], second = low_bits(2) | low_bits(3) << bits[2];
            const uint32_t low = first | second << left,
                           high = funnel_shift_left(second, 0, static_cast<uint32_t>(left)), shift = at % 32;
            if (left + right) atomic_or(&ring()[at / 32 % Layout::kRing], low << shift);
            if (shift + static_cast<uint32_t>(left + right) > 32) {
                atomic_or(&ring()[(at / 32 + 1) % Layout::kRing], funnel_shift_left(low, high, shift));
                put_magsgn(at / 32 + 2, funnel_shift_left(high, 0, shift));
            }
            return;
        }
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            const uint32_t value = low_bits(i);
            put_magsgn(at / 32, value << at % 32);
            put_magsgn(at / 32 + 1, funnel_shift_left(value, 0, at % 32));
            at += static_cast<uint32_t>(bits[i]);
        }
    }

    // Moves up to 128 bytes from the ring to the slot.
    DEVICE_MEMBER bool take_magsgn(uint32_t bits, bool padded) {
        const uint32_t from = magsgn.at / 32;
        const uint32_t *const words = ring();
        const bool more = take_bytes<Stuffing::kForward>(
            magsgn, bits, padded, [&](uint32_t i) { return words[i % Layout::kRing]; },
            [&](uint32_t own, uint32_t count) { slot.put(magsgn.bytes, own, count); });
        warp_sync();
        const uint32_t lane = static_cast<uint32_t>(lane_id());
        if (from + lane < magsgn.at / 32) ring()[(from + lane) % Layout::kRing] = 0;
        warp_sync();
        return more;
    }

    DEVICE_MEMBER uint8_t *bytes() { return reinterpret_cast<uint8_t *>(slot.words); }

    // Ends MagSgn: filled with ones, and without a last 0xFF, since decoders read ones behind its end.
    DEVICE_MEMBER void finish_magsgn() {
        const uint32_t lane = static_cast<uint32_t>(lane_id()), word = magsgn_bits / 32;
        if (lane == 0) {
            ring()[word % Layout::kRing] |= ~0u << magsgn_bits % 32;
            ring()[(word + 1) % Layout::kRing] = ~0u;
        }
        warp_sync();
        while (take_magsgn(magsgn_bits, true)) {
        }
        if (lane < magsgn.bytes % 4)
            bytes()[magsgn.bytes - magsgn.bytes % 4 + lane] = static_cast<uint8_t>(slot.pending >> 8 * lane);
        if (magsgn.bytes && magsgn.last == 0xFF) magsgn.bytes--;
        warp_sync();
    }

    // VLC's bytes, the last of the codeword first, in place of the states.
    DEVICE_MEMBER ByteStream stuff_vlc() {
        ByteStream stream{0, 0, kVlcBefore};
        uint8_t *const out = reinterpret_cast<uint8_t *>(states());
        const uint32_t *const words = vlc();
        const auto word = [&](uint32_t i) { return i < Layout::kVlcWords ? words[i] : 0; };
        const auto put = [&](uint32_t own, uint32_t count) {
            CUDAENC_UNROLL
            for (uint32_t k = 0; k < 4; k++) {
                const uint32_t i = 4 * static_cast<uint32_t>(lane_id()) + k;
                if (i < count) out[stream.bytes + i] = static_cast<uint8_t>(own >> 8 * k);
            }
        };
        while (take_bytes<Stuffing::kBackward>(stream, vlc_bits, false, word, put)) {
        }
        warp_sync();
        return stream;
    }

    // MEL's bytes, behind MagSgn's.
    DEVICE_MEMBER ByteStream stuff_mel(uint32_t bits) {
        ByteStream stream{0, 0, 0};
        uint8_t *const out = bytes() + magsgn.bytes;
        const uint32_t *const words = mel();
        const auto word = [&](uint32_t i) { return 32 * i < bits ? words[i] : 0; };
        const auto put = [&](uint32_t own, uint32_t count) {
            const uint32_t before = warp_shuffle_up(own, 1) >> 24;
            uint32_t last = lane_id() ? before : stream.last;
            CUDAENC_UNROLL
            for (uint32_t k = 0; k < 4; k++) {
                const uint32_t i = 4 * static_cast<uint32_t>(lane_id()) + k, byte = own >> 8 * k & 0xFF;
                if (i < count) out[stream.bytes + i] = static_cast<uint8_t>(mel_byte(byte, last == 0xFF ? 7 : 8));
                last = byte;
            }
        };
        while (take_bytes<Stuffing::kForward>(stream, bits, false, word, put)) {
        }
        return stream;
    }

    // Joins the three streams. Returns the codeword's bytes.
    DEVICE_MEMBER uint32_t join(const ByteStream &vlc_stream, uint32_t mel_bits) {
        const ByteStream mel_stream = stuff_mel(mel_bits);
        const auto rest = [](const uint32_t *words, const ByteStream &stream, uint32_t bits) {
            const uint32_t left = bits - stream.at, shifted = words[stream.at / 32] >> stream.at % 32;
            const uint32_t next = stream.at % 32 > 24 ? words[stream.at / 32 + 1] << (32 - stream.at % 32) : 0;
            return (shifted | next) & ((1u << left) - 1);
        };
        const int width = mel_stream.last == 0xFF ? 7 : 8;
        const LastBytes ends{mel_byte(rest(mel(), mel_stream, mel_bits), width), width,
                             static_cast<int>(mel_bits - mel_stream.at),         rest(vlc(), vlc_stream, vlc_bits),
                             static_cast<int>(vlc_bits - vlc_stream.at),         vlc_stream.bytes != 0};
        const uint32_t lane = static_cast<uint32_t>(lane_id()),
                       last = ends.empty()    ? 0
                              : ends.shared() ? 1
                                              : 2,
                       tail = mel_stream.bytes + last + vlc_stream.bytes + 1, all = magsgn.bytes + tail;
        uint8_t *const out = bytes() + magsgn.bytes + mel_stream.bytes;
        const auto with_length = [tail](uint32_t byte) { return static_cast<uint8_t>((byte & 0xF0) | (tail & 15)); };
        if (lane == 0) {
            if (last == 1) out[0] = static_cast<uint8_t>(ends.mel | ends.vlc);
            if (last == 2) {
                out[0] = static_cast<uint8_t>(ends.mel);
                out[1] = vlc_stream.bytes ? static_cast<uint8_t>(ends.vlc) : with_length(ends.vlc);
            }
            bytes()[all - 1] = static_cast<uint8_t>(tail >> 4);
        }
        const uint8_t *const reversed = reinterpret_cast<const uint8_t *>(states());
        CUDAENC_NO_UNROLL
        for (uint32_t i = lane; i < vlc_stream.bytes; i += 32) {
            const uint32_t byte = reversed[i];
            bytes()[all - 2 - i] = i ? static_cast<uint8_t>(byte) : with_length(byte);
        }
        return all;
    }
};

// What a thread-block has in shared memory. codes: [2048], and excess_code() of each excess; memory:
// HtLayout<kQuads>::kWords a warp; work: [kWarps].
struct HtShared {
    uint16_t *codes;
    uint32_t *memory;
    MelWork *work;
};

// Begins with all threads.
template <int kWarps>
DEVICE void load_codes(const HtInput &p, const HtShared &shared) {
    const Uint4 *const table = reinterpret_cast<const Uint4 *>(p.codes->entries[1]);
    for (int i = thread_x(); i < 2048 / 8; i += kWarps * 32)
        reinterpret_cast<Uint4 *>(shared.codes)[i] = load_readonly(table + i);
    if (thread_x() <= kMostExcess)
        shared.codes[2048 + thread_x()] =
            static_cast<uint16_t>(excess_code(excess_prefix(thread_x()), excess_suffix(thread_x())));
}

// Codes a thread-block's blocks, one a warp, where `exists`. lowest: of the warp. Returns the codeword's bytes, 0
// if no sample is significant.
template <int kQuads, int kWarps, bool kTruncated>
DEVICE uint32_t code_block(const HtInput &p, const HtShared &shared, const CodeBlock &block, bool exists,
                           const HtLowest &lowest) {
    using Layout = HtLayout<kQuads>;
    HtBlock<kQuads, kTruncated> own{.block = block,
                                    .coefficients = p.coefficients + block.coefficients,
                                    .lowest = lowest,
                                    .all_codes = p.codes,
                                    .codes = shared.codes,
                                    .excess_codes = shared.codes + 2048,
                                    .memory = shared.memory + warp_id() * Layout::kWords,
                                    .slot = {reinterpret_cast<uint32_t *>(p.coded.slots + block.slot), 0}};
    MelWork *const work = shared.work;
    if (exists) own.code_quads();
    if (lane_id() == 0) work[warp_id()].entries = own.any ? own.entries : 0;
    block_sync();
    // The first warp's lanes code the events of all.
    if (thread_x() < kWarps) {
        uint32_t *const words = shared.memory + thread_x() * Layout::kWords;
        const uint32_t entries = work[thread_x()].entries;
        work[thread_x()].bits = entries ? code_events(words + Layout::kEvents, entries, words + Layout::kMel) : 0;
    }
    warp_sync();
    ByteStream vlc{};
    if (own.any) {
        own.finish_magsgn();
        vlc = own.stuff_vlc();
    }
    block_sync();
    const uint32_t bytes = own.any ? own.join(vlc, work[warp_id()].bits) : 0;
    warp_sync();  // the memory is free for the next one
    return bytes;
}

template <int kQuads, int kWarps>
DEVICE void code_blocks(const HtInput &p, const HtShared &shared) {
    load_codes<kWarps>(p, shared);
    const uint32_t index = static_cast<uint32_t>(block_x() * kWarps + warp_id());
    const bool exists = index < p.count;
    const CodeBlock block = p.blocks[exists ? index : p.count - 1];
    block_sync();
    const uint32_t bytes = code_block<kQuads, kWarps, false>(p, shared, block, exists, HtLowest{});
    if (exists && lane_id() == 0) {
        p.coded.bytes[index] = bytes;
        p.coded.planes[index] = p.coded.passes[index] = bytes ? 1 : 0;
    }
}

// ---- Truncation: see HtTruncatedInput.

// Calls body(magnitude) for the lane's share of a block's samples, and for some that are 0.
template <class Body>
DEVICE void for_each_magnitude(const CodeBlock &block, const uint32_t *coefficients, const Body &body) {
    const uint32_t lane = static_cast<uint32_t>(lane_id()), width = block.width, more_rows = 32 / width,
                   more_columns = 32 % width;
    uint32_t row = lane / width, column = lane % width;
    constexpr int kTogether = 4;  // loads that wait for each other's latency
    CUDAENC_NO_UNROLL
    while (row < block.height) {
        uint32_t magnitudes[kTogether];
        CUDAENC_UNROLL
        for (int i = 0; i < kTogether; i++) {
            const uint32_t *const at = coefficients + static_cast<size_t>(row) * block.stride + column;
            magnitudes[i] = row < block.height ? load_readonly(at) & 0x7FFFFFFFu : 0;
            column += more_columns;
            row += more_rows;
            if (column >= width) {
                column -= width;
                row++;
            }
        }
        CUDAENC_UNROLL
        for (int i = 0; i < kTogether; i++) body(magnitudes[i]);
    }
}

// A sum of numbers below 2^40 over the warp's lanes.
DEVICE int64_t warp_add_wide(int64_t v) {
    const uint32_t low = warp_add(static_cast<uint32_t>(v) & 0xFFFFF);
    return static_cast<int64_t>(static_cast<int32_t>(warp_add(static_cast<uint32_t>(v >> 20)))) * (1 << 20) + low;
}

// What a block's quads tell of it.
struct QuadSums {
    HtTriedCounts counts;
    int planes;  // of all magnitudes
};
template <bool kPaired>
DEVICE QuadSums count_quads(const CodeBlock &block, const uint32_t *coefficients, const StepRatio &step, int plane) {
    const uint32_t lane = static_cast<uint32_t>(lane_id()), columns = (block.width + 1u) / 2,
                   rows = (block.height + 1u) / 2, more_rows = 32 / columns, more_columns = 32 % columns;
    uint32_t row = lane / columns, column = lane % columns, bits = 0;
    HtTriedCounts counts;
    constexpr int kTogether = 2;  // quads that wait for each other's latency
    CUDAENC_NO_UNROLL
    while (row < rows) {
        Quad quads[kTogether];
        CUDAENC_UNROLL
        for (int i = 0; i < kTogether; i++) {
            quads[i] = load_quad<kPaired>(block, coefficients, column, row);
            column += more_columns;
            row += more_rows;
            if (column >= columns) {
                column -= columns;
                row++;
            }
        }
        CUDAENC_UNROLL
        for (int i = 0; i < kTogether; i++) {
            uint32_t m[4];
            CUDAENC_UNROLL
            for (int k = 0; k < 4; k++) {
                m[k] = step.magnitude(quads[i].sample[k]);
                bits |= m[k];
                m[k] >>= plane;
            }
            counts.add(m[0], m[1], m[2], m[3]);
        }
    }
    CUDAENC_UNROLL
    for (HtCounts &own : counts.from) {
        const uint32_t both = warp_add(own.samples | own.quads << 16);
        own.samples = both & 0xFFFF;
        own.quads = both >> 16;
        own.magnitude = warp_add(own.magnitude);
    }
    return {counts, bit_width(warp_or(bits))};
}

DEVICE HtRule rule_of(const HtTruncatedInput &p, const CodeBlock &block) {
    const PrecinctBand &band = p.bands[block.precinct_band];
    return ht_rule(*p.stop, band.weight, band.step, block.planes);
}

constexpr uint8_t kNoPlane = 0xFF;  // in slot_planes: the slot has no codeword

// Codes the likeliest pass of each block, and makes its record.
template <int kQuads, int kWarps>
DEVICE void try_blocks(const HtTruncatedInput &p, const HtShared &shared, uint32_t index, bool exists,
                       const CodeBlock &block) {
    const uint32_t *const coefficients = p.input.coefficients + block.coefficients;
    const HtRule rule = rule_of(p, block);
    const int lowest = rule.lowest_plane();
    const QuadSums sums = has_pairs(block, coefficients) ? count_quads<true>(block, coefficients, rule.step, lowest)
                                                         : count_quads<false>(block, coefficients, rule.step, lowest);
    const HtTrial trial = ht_trial(rule, sums.planes, quads_of(block.width, block.height), sums.counts);
    const bool is_coded = exists && trial.coded < sums.planes;
    const uint32_t bytes =
        code_block<kQuads, kWarps, true>(p.input, shared, block, is_coded, lowest_of(rule, trial.coded));
    if (!exists) return;
    const int passes = max_of(sums.planes - lowest, 0);
    const uint64_t first = static_cast<uint64_t>(index) * static_cast<uint32_t>(p.max_passes);
    if (const int pass = lane_id(); pass < passes) {
        const int plane = sums.planes - 1 - pass;
        const bool is_tried = plane <= trial.highest;
        p.input.coded.pass_bytes[first + static_cast<uint32_t>(pass)] = is_tried ? trial.bytes(plane, bytes) : 0;
        p.input.coded.reductions[first + static_cast<uint32_t>(pass)] = is_tried ? trial.reduction(plane) : 0;
    }
    if (lane_id() == 0) {
        p.input.coded.planes[index] = static_cast<uint8_t>(sums.planes);
        p.input.coded.passes[index] = static_cast<uint8_t>(passes);
        p.slot_planes[index] = is_coded ? static_cast<uint8_t>(trial.coded) : kNoPlane;
    }
}

// Codes all passes of each block, one in place of the other, and makes its record.
template <int kQuads, int kWarps>
DEVICE void measure_blocks(const HtTruncatedInput &p, const HtShared &shared, uint32_t index, bool exists,
                           const CodeBlock &block) {
    const uint32_t *const coefficients = p.input.coefficients + block.coefficients;
    const uint64_t first = static_cast<uint64_t>(index) * static_cast<uint32_t>(p.max_passes);
    uint32_t bits = 0;
    if (exists) for_each_magnitude(block, coefficients, [&](uint32_t magnitude) { bits |= magnitude; });
    const int planes = bit_width(warp_or(bits));
    CUDAENC_NO_UNROLL
    for (int pass = 0; pass < p.max_passes; pass++) {
        const bool is_there = exists && pass < planes;
        const int plane = is_there ? planes - 1 - pass : 0;
        if (!block_any(is_there)) break;
        const uint32_t bytes = code_block<kQuads, kWarps, true>(p.input, shared, block, is_there, lowest_of({}, plane));
        if (!is_there) continue;
        int64_t reduction = 0;
        for_each_magnitude(block, coefficients,
                           [&](uint32_t magnitude) { reduction += ht_reduction(magnitude, plane, block.reversible); });
        reduction = warp_add_wide(reduction);
        if (lane_id() == 0) {
            p.input.coded.pass_bytes[first + static_cast<uint32_t>(pass)] = bytes;
            p.input.coded.reductions[first + static_cast<uint32_t>(pass)] = record_reduction(reduction);
        }
    }
    if (exists && lane_id() == 0) {
        p.input.coded.planes[index] = p.input.coded.passes[index] = static_cast<uint8_t>(planes);
        p.slot_planes[index] = planes ? 0 : kNoPlane;
    }
}

// Codes the passes that were chosen, where slots have others: first collects these blocks of the thread-block's.
template <int kQuads, int kWarps>
DEVICE void code_chosen_blocks(const HtTruncatedInput &p, const HtShared &shared) {
    SHARED(uint32_t, missing, kHtChosenBlocks);
    SHARED(uint32_t, count, 1);
    const uint32_t own = static_cast<uint32_t>(block_x()) * kHtChosenBlocks + thread_x();
    const auto plane_of = [&](uint32_t index) { return p.input.coded.planes[index] - p.chosen[index]; };
    if (thread_x() == 0) count[0] = 0;
    block_sync();
    if (static_cast<uint32_t>(thread_x()) < kHtChosenBlocks && own < p.input.count && p.chosen[own] &&
        plane_of(own) != p.slot_planes[own])
        missing[atomic_add(&count[0], 1u)] = own;
    block_sync();
    if (!count[0]) return;
    load_codes<kWarps>(p.input, shared);
    block_sync();
    CUDAENC_NO_UNROLL
    for (uint32_t first = 0; first < count[0]; first += kWarps) {
        const uint32_t i = first + static_cast<uint32_t>(warp_id());
        const bool exists = i < count[0];
        const uint32_t index = missing[exists ? i : 0];
        const int plane = plane_of(index);
        const CodeBlock &block = p.input.blocks[index];
        const uint32_t bytes =
            code_block<kQuads, kWarps, true>(p.input, shared, block, exists, lowest_of(rule_of(p, block), plane));
        if (!exists || lane_id() != 0) continue;
        p.slot_planes[index] = static_cast<uint8_t>(plane);
        p.chosen_bytes[index] = bytes;
        p.input.coded
            .pass_bytes[static_cast<uint64_t>(index) * static_cast<uint32_t>(p.max_passes) + p.chosen[index] - 1u] =
            bytes;
    }
}

template <int kQuads, int kWarps>
DEVICE void code_blocks(const HtTruncatedInput &p, const HtShared &shared) {
    if (p.chosen) return code_chosen_blocks<kQuads, kWarps>(p, shared);
    const uint32_t index = static_cast<uint32_t>(block_x() * kWarps + warp_id());
    const bool exists = index < p.input.count;
    const CodeBlock block = p.input.blocks[exists ? index : p.input.count - 1];
    load_codes<kWarps>(p.input, shared);
    block_sync();
    if (p.stop->slope)
        try_blocks<kQuads, kWarps>(p, shared, index, exists, block);
    else
        measure_blocks<kQuads, kWarps>(p, shared, index, exists, block);
}

// A kernel's thread-block: its shared memory, and its blocks by the input's kind.
template <int kQuads, int kWarps, class Input>
DEVICE void run_thread_block(const Input &p) {
    SHARED(uint16_t, codes, 2048 + kMostExcess + 1);
    SHARED(uint32_t, memory, kWarps *HtLayout<kQuads>::kWords);
    SHARED(MelWork, work, kWarps);
    code_blocks<kQuads, kWarps>(p, {codes, memory, work});
}

KERNEL(kHtWarps * 32, j2k_t1_ht, HtParams)
{
    run_thread_block<256, kHtWarps>(p);
}

KERNEL(kHtLargeWarps * 32, j2k_t1_ht_large, HtLargeParams)
{
    run_thread_block<1024, kHtLargeWarps>(p);
}

// 24 warps a multiprocessor fit 85 registers a thread.
KERNEL_BLOCKS(kHtWarps * 32, 24 / kHtWarps, j2k_t1_ht_truncated, HtTruncatedParams) {
    run_thread_block<256, kHtWarps>(p);
}

KERNEL_BLOCKS(kHtLargeWarps * 32, 24 / kHtLargeWarps, j2k_t1_ht_truncated_large, HtTruncatedLargeParams) {
    run_thread_block<1024, kHtLargeWarps>(p);
}

}  // namespace cudaenc::j2k
