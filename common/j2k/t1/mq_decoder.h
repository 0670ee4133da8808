// SPDX-License-Identifier: LGPL-2.1-or-later
// The MQ arithmetic decoder (T.800 Annex C.3) and the reader of raw segments (D.6).
#pragma once
#include <cstdint>
#include <span>

#include "mq.h"

namespace cudaenc::j2k {

// Behind its bytes a codeword segment goes on with ones (C.3.4).
class MqDecoder {
  public:
    explicit MqDecoder(std::span<const uint8_t> bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {  // INITDEC
        byte_ = at_ < end_ ? *at_ : 0xFF;
        c_ = byte_ << 16;
        byte_in();
        c_ <<= 7;
        ct_ -= 7;
    }

    // A decision in a context, which takes its next state (DECODE, C.3.2).
    uint32_t decode(MqState &context) {
        const MqState state = context;
        const uint32_t qe = state >> 17, mps = state & 1;
        a_ -= qe;
        if (c_ >> 16 >= qe) {
            c_ -= qe << 16;
            if (a_ & 0x8000) return mps;
            const uint32_t lps = a_ < qe ? 1 : 0;
            context = kMqTable.row[mq_next_row(state, lps)];
            renormalise();
            return mps ^ lps;
        }
        const uint32_t lps = a_ < qe ? 0 : 1;
        a_ = qe;
        context = kMqTable.row[mq_next_row(state, lps)];
        renormalise();
        return mps ^ lps;
    }

  private:
    void renormalise() {  // RENORMD: as many shifts as there are at once
        int shift = zeros_above(a_) - 16;
        a_ <<= shift;
        while (shift > ct_) {
            c_ <<= ct_;
            shift -= ct_;
            byte_in();
        }
        c_ <<= shift;
        ct_ -= shift;
    }
    void byte_in() {  // BYTEIN: behind 0xFF a byte has seven bits, or is a marker, before which the reader stays
        const uint32_t next = end_ - at_ > 1 ? at_[1] : 0xFF;
        if (byte_ == 0xFF && next > 0x8F) {
            c_ += 0xFF00;
            ct_ = 8;
            return;
        }
        const bool stuffed = byte_ == 0xFF;
        c_ += next << (stuffed ? 9 : 8);
        ct_ = stuffed ? 7 : 8;
        byte_ = next;
        at_++;
    }

    const uint8_t *at_, *end_;  // the byte that was read last
    uint32_t byte_, a_ = 0x8000, c_;
    int ct_ = 0;  // shifts until the next byte is due
};

// Bits of a raw segment, highest first, seven in a byte behind 0xFF. Behind its bytes there are ones.
class RawReader {
  public:
    explicit RawReader(std::span<const uint8_t> bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}
    uint32_t get() {
        if (!left_) {
            left_ = byte_ == 0xFF ? 7 : 8;
            byte_ = at_ < end_ ? *at_++ : 0xFF;
        }
        return byte_ >> --left_ & 1;
    }

  private:
    const uint8_t *at_, *end_;
    uint32_t byte_ = 0;
    int left_ = 0;
};

}  // namespace cudaenc::j2k
