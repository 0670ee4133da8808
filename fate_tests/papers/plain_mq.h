// SPDX-License-Identifier: LGPL-2.1-or-later
// The MQ coder as the flow charts of T.800 C.2 have it: a branch for each case, a shift at a time, a byte stored when
// it is complete. Coders that give a code-block to a thread have it so.
#pragma once
#include "../../common/j2k/t1/mq.h"

namespace cudaenc::j2k {

class PlainMq {
  public:
    CUDAENC_HD explicit PlainMq(uint8_t *bytes) : out_(bytes) {}

    // ENCODE. Returns the context's next state; table: MqTable::row.
    CUDAENC_HD MqState code(MqState state, uint32_t decision, const MqState *table) {
        const uint32_t qe = state >> 17, lps = (decision ^ state) & 1;
        a_ -= qe;
        if (!lps && (a_ & 0x8000)) {
            c_ += qe;
            return state;
        }
        if ((a_ < qe) == (lps != 0))
            c_ += qe;
        else
            a_ = qe;
        do {
            a_ <<= 1;
            c_ <<= 1;
            if (--ct_ == 0) byte_out();
        } while (!(a_ & 0x8000));
        return table[mq_next_row(state, lps)];
    }

    // As of MqEncoder, which has the same registers.
    CUDAENC_HD uint32_t sufficient_bytes() const { return static_cast<uint32_t>(at_ + 5); }
    CUDAENC_HD CodewordEnd end(bool predictable) const {
        MqEncoder mq(out_);
        mq.a = a_, mq.c = c_, mq.byte = byte_, mq.ct = ct_, mq.at = at_;
        return mq.end(predictable);
    }
    CUDAENC_HD uint32_t flush(bool predictable) {
        const CodewordEnd e = end(predictable);
        for (uint32_t n = e.termination & 0xFF, rest = e.termination >> 8; n; n--, rest >>= 8)
            out_[e.bytes - n] = static_cast<uint8_t>(rest);
        return e.bytes;
    }

  private:
    // BYTEOUT; no carry leaves the first byte.
    CUDAENC_HD void byte_out() {
        if (byte_ != 0xFF && (c_ & 0x8000000)) {
            byte_++;
            c_ &= 0x7FFFFFF;
        }
        if (at_ >= 0) out_[at_] = static_cast<uint8_t>(byte_);
        at_++;
        ct_ = byte_ == 0xFF ? 7 : 8;
        const int width = 27 - ct_;
        byte_ = c_ >> width;
        c_ &= (1u << width) - 1;
    }

    uint8_t *out_;
    uint32_t a_ = 0x8000, c_ = 0, byte_ = MqEncoder::kNoByte;
    int ct_ = 12, at_ = -1;
};

CUDAENC_HD MqState encode_decision(PlainMq &mq, MqState state, uint32_t decision, const MqState *table) {
    return mq.code(state, decision, table);
}

}  // namespace cudaenc::j2k
