// Rate control: the QP of each picture, in order, from the sizes of those before. It uses integers, and sizes that are
// known before slices are coded, so that its choices depend neither on threads nor on frames in flight.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

#include "params.h"

namespace cudaenc::h264 {

class RateControl {
  public:
    explicit RateControl(const RateTarget &target) : t_(target), last_qp_(target.qp) {
        fullness_ = t_.buffer_size * t_.rate_num / 10 * 9;
    }

    // The QP to try for the next picture.
    int begin() {
        most_ = first_ ? t_.most_first : t_.most;
        if (t_.buffer_size) most_ = std::min(most_, static_cast<uint64_t>(fullness_ / t_.rate_num / 8));
        wanted_ = 0;
        lowest_failed_ = t_.qp_min - 1;
        tries_ = 0;
        if (!t_.bit_rate) return t_.qp;
        // A debt is repaid within a second, a credit spent.
        const int64_t frame = t_.bit_rate * t_.rate_den;  // all in bits / rate_num
        const int64_t frames = std::max<int64_t>(1, t_.rate_num / t_.rate_den);
        int64_t bits = std::clamp(frame - debt_ / frames, frame / 4, 4 * frame);
        if (t_.buffer_size) {
            // An overflow would waste bits.
            bits = std::max(bits, fullness_ + t_.max_rate * t_.rate_den - t_.buffer_size * t_.rate_num);
            bits = std::min(bits, fullness_ / 16 * 15);
        }
        wanted_ = std::clamp<uint64_t>(static_cast<uint64_t>(bits / t_.rate_num / 8), 1, most_);
        if (first_) return t_.qp;
        // The QP of the last picture, if its size is within a tenth of the wanted one.
        if (last_bytes_ * 10 <= wanted_ * 11 && last_bytes_ * 10 >= wanted_ * 9) return last_qp_;
        return clamp_qp(qp_for(last_qp_, last_bytes_, wanted_));
    }

    // Delays from the arrival of the picture's first bit to its removal, and the same of a full buffer, in 1/90000 s,
    // rounded up.
    uint32_t initial_delay() const { return delay_of(fullness_); }
    uint32_t longest_delay() const { return delay_of(t_.buffer_size * t_.rate_num); }

    // Whether the picture, of so many bytes at a QP, must be coded again; then `qp` becomes the QP to try next.
    bool again(int &qp, uint64_t bytes) {
        tries_++;
        if (bytes > most_) {
            if (qp == kMaxQp) return false;  // it cannot be smaller
            lowest_failed_ = std::max(lowest_failed_, qp);
            qp = std::clamp(qp_for(qp, bytes, std::min(most_, std::max(wanted_, most_ / 16 * 15))), qp + 1, kMaxQp);
            return true;
        }
        if (!wanted_ || tries_ > 2) return false;
        const bool off =
            first_ ? bytes * 5 > wanted_ * 6 || bytes * 6 < wanted_ * 5 : bytes > wanted_ * 2 || bytes * 2 < wanted_;
        const int better = std::max(clamp_qp(qp_for(qp, bytes, wanted_)), lowest_failed_ + 1);
        if (!off || better == qp) return false;
        qp = better;
        return true;
    }

    // Ends the picture, of so many bytes. Returns the bytes of filler data behind it, 0 or at least kLeastFillerBytes.
    uint64_t end(int qp, uint64_t bytes) {
        first_ = false;
        last_qp_ = qp;
        last_bytes_ = std::max<uint64_t>(bytes, 1);
        if (t_.constant()) return 0;
        const int64_t num = t_.rate_num, size = t_.buffer_size * num;
        uint64_t filler = 0;
        if (t_.buffer_size) {
            fullness_ =
                std::max<int64_t>(fullness_ - static_cast<int64_t>(bytes) * 8 * num, 0) + t_.max_rate * t_.rate_den;
            if (t_.cbr && fullness_ > size) {
                filler = std::max<uint64_t>(static_cast<uint64_t>((fullness_ - size + 8 * num - 1) / (8 * num)),
                                            kLeastFillerBytes);
                fullness_ -= static_cast<int64_t>(filler) * 8 * num;
            }
            fullness_ = std::min(fullness_, size);
        }
        // At most two seconds: bits that cannot be spent expire.
        debt_ += static_cast<int64_t>(bytes + filler) * 8 * num - t_.bit_rate * t_.rate_den;
        debt_ = std::clamp(debt_, -2 * t_.bit_rate * num, 2 * t_.bit_rate * num);
        return filler;
    }

  private:
    uint32_t delay_of(int64_t fullness) const {
        const auto rate = __int128{t_.max_rate} * t_.rate_num;
        return static_cast<uint32_t>(
            std::min<__int128>((__int128{fullness} * 90000 + rate - 1) / rate, std::numeric_limits<uint32_t>::max()));
    }
    int clamp_qp(int qp) const { return std::clamp(qp, t_.qp_min, t_.qp_max); }

    // Assumes that QP + 6 halves the size.
    static int qp_for(int qp, uint64_t bytes, uint64_t wanted) {
        constexpr uint64_t sixths[] = {1024, 1149, 1290, 1448, 1625, 1825};  // 2^(i / 6)
        const auto times = [&](uint64_t size, int change) { return (size * sixths[change % 6] << change / 6) >> 10; };
        int change = 0;
        if (bytes > wanted)
            while (change < 63 && bytes > times(wanted, change)) change++;
        else
            while (change > -63 && times(bytes, 1 - change) <= wanted) change--;
        return qp + change;
    }

    const RateTarget t_;
    int64_t fullness_ = 0;  // of the decoder's buffer when the next picture leaves it, bits / rate_num
    int64_t debt_ = 0;      // of pictures beyond bit_rate, bits / rate_num
    bool first_ = true;
    int last_qp_;
    uint64_t last_bytes_ = 1;
    // Of the picture since begin():
    uint64_t most_ = 0, wanted_ = 0;  // bytes; wanted_ 0: any
    int lowest_failed_ = 0, tries_ = 0;
};

}  // namespace cudaenc::h264
