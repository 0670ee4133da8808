// SPDX-License-Identifier: LGPL-2.1-or-later
// What an HT decoder reads (ITU-T T.814 Clause 7): the bit-streams of cleanup and refinement passes, CxtVLC codewords.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "block_decoder.h"
#include "ht.h"

namespace cudaenc::j2k {

struct HtBytes {
    const uint8_t *begin;
    size_t size;
};

// Bits of a stream, first one lowest, of which at least kHtWindow are there after fill().
constexpr int kHtWindow = 56;
class HtWindow {
  public:
    CUDAENC_HD uint32_t peek() const { return static_cast<uint32_t>(bits_); }
    CUDAENC_HD void skip(int count) { bits_ >>= count, count_ -= count; }
    CUDAENC_HD uint32_t get(int count) {  // at most 32
        const uint32_t value = static_cast<uint32_t>(bits_ & ((uint64_t{1} << count) - 1));
        skip(count);
        return value;
    }
    CUDAENC_HD int count() const { return count_; }

  protected:
    CUDAENC_HD void put(uint32_t byte, int bits) { put_bits(byte, bits); }
    CUDAENC_HD void put_bits(uint64_t bits, int count) { bits_ |= bits << count_, count_ += count; }
    CUDAENC_HD bool is_low() const { return count_ < kHtWindow; }

  private:
    uint64_t bits_ = 0;
    int count_ = 0;
};

// MagSgn, and the bits of the significance propagation: forwards, seven bits behind 0xFF. Behind its end the stream has
// the bytes `beyond`, ones for MagSgn and zeros for the propagation (7.1.2, 7.1.5).
class HtForwards : public HtWindow {
  public:
    CUDAENC_HD HtForwards(const HtBytes &bytes, uint32_t beyond)
        : at_(bytes.begin), end_(bytes.begin + bytes.size), beyond_(beyond) {}
    CUDAENC_HD void fill() {
        if (is_low() && end_ - at_ >= 8 && last_ != 0xFF && fill_at_once()) return;
        while (is_low()) {
            const uint32_t byte = at_ < end_ ? *at_++ : beyond_;
            const int bits = last_ == 0xFF ? 7 : 8;
            put(byte & ((1u << bits) - 1), bits);
            last_ = byte;
        }
    }

  private:
    // Takes as many of the next eight bytes as there is room for, if none is 0xFF.
    CUDAENC_HD bool fill_at_once() {
        uint64_t next = 0;
        for (int i = 0; i < 8; i++) next |= uint64_t{at_[i]} << 8 * i;
        constexpr uint64_t kOnes = ~uint64_t{0} / 255;
        if ((~next - kOnes) & next & kOnes << 7) return false;
        const int bytes = (63 - count()) / 8;
        put_bits(next & ((uint64_t{1} << 8 * bytes) - 1), 8 * bytes);
        at_ += bytes;
        last_ = at_[-1];
        return true;
    }

    const uint8_t *at_, *end_;
    const uint32_t beyond_;
    uint32_t last_ = 0;
};

// VLC, and the bits of the magnitude refinement: backwards. A byte of seven ones that follows one above 0x8F has seven
// bits. Before its beginning the stream has zeros (7.1.4, 7.1.6).
class HtBackwards : public HtWindow {
  public:
    CUDAENC_HD HtBackwards(const HtBytes &bytes, uint32_t last)
        : begin_(bytes.begin), at_(bytes.begin + bytes.size), last_(last) {}
    // With the upper half of a byte before (7.1.4).
    CUDAENC_HD void begin_with_nibble(uint32_t byte) {
        const uint32_t nibble = byte >> 4;
        const int bits = (nibble & 7) == 7 ? 3 : 4;
        put(nibble & ((1u << bits) - 1), bits);
        last_ = byte;
    }
    CUDAENC_HD void fill() {
        while (is_low()) {
            const bool inside = at_ > begin_;
            const uint32_t byte = inside ? *--at_ : 0;
            const int bits = last_ > 0x8F && (byte & 0x7F) == 0x7F ? 7 : 8;
            put(byte & ((1u << bits) - 1), bits);
            last_ = byte;
            if (!inside) before_ += bits;
        }
    }
    // Whether more was taken than the stream has.
    CUDAENC_HD bool is_exceeded() const { return count() < before_; }

  private:
    const uint8_t *const begin_, *at_;
    uint32_t last_;
    int64_t before_ = 0;  // bits from before its beginning
};

// MEL's events (7.3.3), from bits that are highest first, seven behind 0xFF. Of its last byte the lower half, which has
// a part of the length of MEL and VLC, counts as ones. Behind its end the stream has ones.
class MelDecoder {
  public:
    CUDAENC_HD explicit MelDecoder(const HtBytes &bytes) : at_(bytes.begin), end_(bytes.begin + bytes.size) {}
    CUDAENC_HD bool event() {
        if (!run_ && !one_follows_) begin_run();
        if (!run_) {
            one_follows_ = false;
            return true;
        }
        run_--;
        return false;
    }

  private:
    CUDAENC_HD void begin_run() {
        if (left_ < 6) fill();
        const int exponent = static_cast<int>(0x5433222111000 >> 4 * state_ & 15);
        one_follows_ = !(bits_ >> 31);
        run_ = one_follows_ ? (bits_ & 0x7FFFFFFF) >> (31 - exponent) : 1u << exponent;
        state_ = one_follows_ ? max_of(state_ - 1, 0) : min_of(state_ + 1, kMelStates - 1);
        const int count = one_follows_ ? 1 + exponent : 1;
        bits_ <<= count;
        left_ -= count;
    }
    CUDAENC_HD void fill() {
        while (left_ <= 24) {
            const int width = byte_ == 0xFF ? 7 : 8;
            byte_ = at_ < end_ ? *at_++ : 0xFF;
            if (at_ == end_) byte_ |= 15;
            bits_ |= (byte_ & ((1u << width) - 1)) << (32 - width - left_);
            left_ += width;
        }
    }

    const uint8_t *at_, *end_;
    uint32_t byte_ = 0, run_ = 0;
    uint32_t bits_ = 0;  // the next ones, first one highest
    int left_ = 0, state_ = 0;
    bool one_follows_ = false;
};

// The codeword that the next seven bits begin with. length 0: there is none.
struct HtDecoded {
    uint16_t length : 3, u_off : 1, rho : 4, e_k : 4, e_1 : 4;
};
struct HtDecodeTables {
    HtDecoded entries[2][8][128]{};  // [first row ? 0 : 1][context][bits]
    constexpr HtDecodeTables() {
        const auto fill = [](std::span<const HtCodeword> list, HtDecoded(&to)[8][128]) {
            for (const HtCodeword &c : list)
                for (uint32_t above = 0; above < 128u >> c.length; above++)
                    to[c.context][above << c.length | c.codeword] = {
                        .length = c.length, .u_off = c.u_off, .rho = c.rho, .e_k = c.e_k, .e_1 = c.e_1};
        };
        fill(kHtFirstRowCodes, entries[0]);
        fill(kHtOtherRowCodes, entries[1]);
    }
};
inline constexpr HtDecodeTables kHtDecodeTables;

// u of a quad by u_pfx and u_sfx (7.3.6): what the prefix says, and the bits of the suffix.
struct HtPrefix {
    int u, suffix_bits;
};
CUDAENC_HD HtPrefix read_u_pfx(HtWindow &vlc) {
    const uint32_t bits = vlc.peek();
    if (bits & 1) return vlc.skip(1), HtPrefix{1, 0};
    if (bits & 2) return vlc.skip(2), HtPrefix{2, 0};
    vlc.skip(3);
    return bits & 4 ? HtPrefix{3, 1} : HtPrefix{5, 5};
}

// A quad's codeword, where its context or a MEL event says that there is one (7.3.5). entries: of the row and the
// context. False: there is no such codeword.
CUDAENC_HD bool read_codeword(const HtDecoded *entries, uint32_t context, MelDecoder &mel, HtWindow &vlc,
                              HtDecoded &quad) {
    if (!context && !mel.event()) return true;
    quad = entries[vlc.peek() & 127];
    vlc.skip(quad.length);
    return quad.length != 0;
}

// u of a pair of quads (7.3.6). False: u_ext is of more bit-planes than there are here.
template <bool FirstRow>
CUDAENC_HD bool read_u(const HtDecoded (&quad)[2], MelDecoder &mel, HtWindow &vlc, int (&u)[2]) {
    const auto add_suffix = [&](const HtPrefix &prefix, int &of) {
        const int suffix = static_cast<int>(vlc.get(prefix.suffix_bits));
        of = prefix.u + suffix;
        return suffix < 28;
    };
    const bool both = quad[0].u_off && quad[1].u_off;
    const bool both_large = FirstRow && both && mel.event();
    HtPrefix prefix[2]{};
    if (quad[0].u_off) prefix[0] = read_u_pfx(vlc);
    if (FirstRow && both && !both_large && prefix[0].u > 2) {
        u[1] = static_cast<int>(vlc.get(1)) + 1;
        return add_suffix(prefix[0], u[0]);
    }
    if (quad[1].u_off) prefix[1] = read_u_pfx(vlc);
    if (!add_suffix(prefix[0], u[0]) || !add_suffix(prefix[1], u[1])) return false;
    if (both_large) u[0] += 2, u[1] += 2;
    return true;
}

// A significant sample by its MagSgn bits. e_1: what the codeword has above them. plane: the lowest of the pass.
// exceeding: not 0 if it is of more than kMaxDecodedPlanes.
struct HtDecodedSample {
    uint32_t coefficient, exponent;
    uint64_t exceeding;
};
CUDAENC_HD HtDecodedSample ht_decoded_sample(uint32_t bits, int count, uint32_t e_1, int plane) {
    const uint64_t value = bits | uint64_t{e_1} << count, magnitude = (value >> 1) + 1;
    const uint32_t low = static_cast<uint32_t>(value);
    return {low << 31 | static_cast<uint32_t>(magnitude << 1 | 1) << plane, static_cast<uint32_t>(bit_width(low | 1)),
            value >> 32 | magnitude >> (kMaxDecodedPlanes - plane)};
}

// The passes of a block that count: a cleanup pass, and those that refine it; segments by their numbers.
struct HtSet {
    int cleanup = -1, refinement = -1;
    int plane = 0;  // the lowest of the cleanup pass
    uint32_t refinement_passes = 0;
};
// A cleanup pass has all that those before it have. Placeholder passes come before and have no bytes (T.814 B.3).
// segments: with `passes` and `bytes`.
template <class Segment>
CUDAENC_HD HtSet last_set(const Segment *segments, int count, int planes) {
    HtSet set;
    uint32_t pass = 0;
    for (int i = 0; i < count; i++) {
        const uint32_t passes = segments[i].passes;
        if (pass % 3 == 0 && segments[i].bytes) {
            set = {i, -1, planes - 1 - static_cast<int>(pass / 3 + (passes - 1) / 3), 0};
        } else if (pass % 3) {
            set.refinement = i;
            set.refinement_passes = passes;
        }
        pass += passes;
    }
    return set;
}

// The length of MEL and VLC together, Scup of 7.1.1, by the last two bytes of a cleanup pass of `size`; 0: there is
// none.
CUDAENC_HD uint32_t ht_suffix(const uint8_t *bytes, uint32_t size) {
    if (size < 2) return 0;
    const uint32_t suffix = uint32_t{bytes[size - 1]} << 4 | (bytes[size - 2] & 15);
    return suffix < 2 || suffix > size || suffix > 4079 ? 0 : suffix;
}

}  // namespace cudaenc::j2k
