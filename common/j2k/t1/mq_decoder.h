// SPDX-License-Identifier: LGPL-2.1-or-later
// The MQ arithmetic decoder (T.800 Annex C.3) and the reader of raw segments (D.6).
#pragma once
#include <cstdint>
#include <span>

#include "mq.h"

namespace cudaenc::j2k {

// The bytes of a codeword segment. Behind them it goes on with ones (C.3.4).
class CodewordBytes {
  public:
    explicit CodewordBytes(std::span<const uint8_t> bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}
    uint32_t peek() const { return at_ < end_ ? *at_ : 0xFF; }
    void skip() { at_ += at_ < end_; }

  private:
    const uint8_t *at_, *end_;  // the next one
};

// Bytes: such as CodewordBytes.
//
// A and C, both with 16 bits below the binary point, are a base and what they have in common. A more probable symbol
// takes Qe off both. It neither renormalises nor is it the less probable one as long as A stays at 0x8000 or above and
// C at 0 or above. So the smaller of these distances is what they have in common, and one comparison is enough.
template <class Bytes>
class MqDecoderOf {
  public:
    CUDAENC_HD explicit MqDecoderOf(const Bytes &bytes) : bytes_(bytes) {  // INITDEC
        byte_ = bytes_.peek();
        bytes_.skip();
        c_ = byte_ << 16;
        byte_in();
        c_ <<= 7;
        ct_ -= 7;
        a_ = kHalf;
        share();
    }

    // A decision in a context, which takes its next state (DECODE, C.3.2). rows: of kMqTable.
    [[gnu::always_inline]] CUDAENC_HD uint32_t decode(MqState &context, const MqState *rows) {
        const MqState state = context;
        common_ -= static_cast<int32_t>(state >> 17 << 16);
        if (common_ >= 0) [[likely]]
            return state & 1;
        return renormalise(context, rows);
    }

  private:
    static constexpr uint32_t kHalf = 0x80000000u;

    CUDAENC_HD void share() {
        common_ = static_cast<int32_t>(min_of(a_ - kHalf, min_of(c_, kHalf - 1)));
        a_ -= static_cast<uint32_t>(common_);
        c_ -= static_cast<uint32_t>(common_);
    }

    [[gnu::always_inline]] CUDAENC_HD uint32_t renormalise(MqState &context, const MqState *rows) {
        const MqState state = context;
        const uint32_t qe = state >> 17 << 16, below = 0u - static_cast<uint32_t>(common_);
        a_ -= below;
        uint32_t lps = a_ < qe ? 1 : 0;  // the exchange of C.3.2: the larger interval is the more probable one's
        if (c_ < below) {
            lps ^= 1;
            a_ = qe;
            c_ += qe;
        }
        c_ -= below;
        context = rows[mq_next_row(state, lps)];
        int shift = zeros_above(a_);  // RENORMD: as many shifts as there are at once
        a_ <<= shift;
        while (shift > ct_) {
            c_ <<= ct_;
            shift -= ct_;
            byte_in();
        }
        c_ <<= shift;
        ct_ -= shift;
        share();
        return (state & 1) ^ lps;
    }
    CUDAENC_HD void byte_in() {  // BYTEIN: behind 0xFF a byte has seven bits, or is a marker, where the reader stays
        const uint32_t next = bytes_.peek();
        if (byte_ == 0xFF && next > 0x8F) {
            c_ += 0xFF00;
            ct_ = 8;
            return;
        }
        const bool stuffed = byte_ == 0xFF;
        c_ += next << (stuffed ? 9 : 8);
        ct_ = stuffed ? 7 : 8;
        byte_ = next;
        bytes_.skip();
    }

    Bytes bytes_;  // behind the one that was read last
    uint32_t byte_, a_, c_;
    int32_t common_;
    int ct_ = 0;  // shifts until the next byte is due
};
using MqDecoder = MqDecoderOf<CodewordBytes>;

// Bits of a raw segment, highest first, seven in a byte behind 0xFF. Behind its bytes there are ones.
template <class Bytes>
class RawReaderOf {
  public:
    CUDAENC_HD explicit RawReaderOf(const Bytes &bytes) : bytes_(bytes) {}
    CUDAENC_HD uint32_t get() {
        if (!left_) {
            left_ = byte_ == 0xFF ? 7 : 8;
            byte_ = bytes_.peek();
            bytes_.skip();
        }
        return byte_ >> --left_ & 1;
    }

  private:
    Bytes bytes_;
    uint32_t byte_ = 0;
    int left_ = 0;
};
using RawReader = RawReaderOf<CodewordBytes>;

}  // namespace cudaenc::j2k
