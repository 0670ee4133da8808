// SPDX-License-Identifier: LGPL-2.1-or-later
// An MQ decoder for tests, from the flow charts of T.800 Annex C and nothing of the library's.
#pragma once
#include <cstddef>
#include <cstdint>

namespace cudaenc::testing {

struct MqContext {
    uint8_t index, mps;
};

// Beyond its `size` bytes the codeword goes on with 0xFF, as C.3.4 has it for a truncated one.
class MqDecoder {
  public:
    MqDecoder(const uint8_t *data, size_t size) : data_(data), size_(size) {  // INITDEC, Figure C.10
        c_ = static_cast<uint32_t>(byte(0)) << 16;
        byte_in();
        c_ <<= 7;
        ct_ -= 7;
        a_ = 0x8000;
    }

    int decode(MqContext &cx) {  // DECODE, Figure C.15, with the exchanges of C.16 and C.17
        const uint32_t qe = kQe[cx.index];
        int d;
        a_ -= qe;
        if ((c_ >> 16) < qe) {
            d = a_ < qe ? more_probable(cx) : less_probable(cx);
            a_ = qe;
            renormalise();
        } else {
            c_ -= qe << 16;
            if (a_ & 0x8000) return cx.mps;
            d = a_ < qe ? less_probable(cx) : more_probable(cx);
            renormalise();
        }
        return d;
    }

    // The state after the less or the more probable symbol with renormalisation.
    static MqContext next(MqContext cx, bool lps) {
        if (!lps) return {kNextMps[cx.index], cx.mps};
        const bool switches = cx.index == 0 || cx.index == 6 || cx.index == 14;
        return {kNextLps[cx.index], static_cast<uint8_t>(switches ? 1 - cx.mps : cx.mps)};
    }

  private:
    static int more_probable(MqContext &cx) {
        const int d = cx.mps;
        cx = next(cx, false);
        return d;
    }
    static int less_probable(MqContext &cx) {
        const int d = 1 - cx.mps;
        cx = next(cx, true);
        return d;
    }
    void renormalise() {  // Figure C.18
        do {
            if (!ct_) byte_in();
            a_ <<= 1;
            c_ <<= 1;
            ct_--;
        } while (!(a_ & 0x8000));
    }
    void byte_in() {  // Figure C.19
        if (byte(at_) == 0xFF) {
            if (byte(at_ + 1) > 0x8F) {
                c_ += 0xFF00;
                ct_ = 8;
            } else {
                at_++;
                c_ += static_cast<uint32_t>(byte(at_)) << 9;
                ct_ = 7;
            }
        } else {
            at_++;
            c_ += static_cast<uint32_t>(byte(at_)) << 8;
            ct_ = 8;
        }
    }
    uint8_t byte(size_t i) const { return i < size_ ? data_[i] : 0xFF; }

    // T.800 Table C.2.
    static constexpr uint16_t kQe[47] = {0x5601, 0x3401, 0x1801, 0x0AC1, 0x0521, 0x0221, 0x5601, 0x5401, 0x4801, 0x3801,
                                         0x3001, 0x2401, 0x1C01, 0x1601, 0x5601, 0x5401, 0x5101, 0x4801, 0x3801, 0x3401,
                                         0x3001, 0x2801, 0x2401, 0x2201, 0x1C01, 0x1801, 0x1601, 0x1401, 0x1201, 0x1101,
                                         0x0AC1, 0x09C1, 0x08A1, 0x0521, 0x0441, 0x02A1, 0x0221, 0x0141, 0x0111, 0x0085,
                                         0x0049, 0x0025, 0x0015, 0x0009, 0x0005, 0x0001, 0x5601};
    static constexpr uint8_t kNextMps[47] = {1,  2,  3,  4,  5,  38, 7,  8,  9,  10, 11, 12, 13, 29, 15, 16,
                                             17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
                                             33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 45, 46};
    static constexpr uint8_t kNextLps[47] = {1,  6,  9,  12, 29, 33, 6,  14, 14, 14, 17, 18, 20, 21, 14, 14,
                                             15, 16, 17, 18, 19, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
                                             30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 46};
    const uint8_t *data_;
    size_t size_, at_ = 0;
    uint32_t a_, c_;
    int ct_;
};

}  // namespace cudaenc::testing
