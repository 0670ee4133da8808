// SPDX-License-Identifier: LGPL-2.1-or-later
// Rate control: the QP of each picture, in order, from the sizes of those before. It uses integers, and sizes that are
// known before slices are coded, so that its choices depend neither on threads nor on frames in flight.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

#include "../qp.h"

namespace cudaenc::h264 {

// RateTarget::delay of efforts that analyse pictures side by side.
inline constexpr uint64_t kRateDelay = 8;

// The targets of the rate control. Rates are in bits/s, sizes of pictures in bytes.
struct RateTarget {
    int qp;                            // the first, or the constant one
    int qp_min, qp_max;                // its range
    int64_t bit_rate;                  // 0: the QP is constant, unless a limit is exceeded
    int64_t max_rate;                  // into the buffer
    int64_t buffer_size;               // bits; 0: none
    int64_t hrd_size;                  // bits of the buffer in HRD parameters; 0: there are none
    bool cbr;                          // filler data keep the rate at bit_rate
    uint64_t picture_bytes;            // of each packet, filled up with zeros; 0: sizes vary
    int64_t rate_num, rate_den;        // frames/s; 0/1: unknown
    uint64_t most_first, most;         // limits for the first picture, and for others (of the level); UINT64_MAX: none
    int level_idc;                     // of these limits; 0: the user has been warned of them
    int64_t level_rate, level_buffer;  // bits/s and bits that the level has; 0: a buffer or limits see to it
    uint64_t delay;                    // see QpPlanner::plan(); at least 1
    bool predicted;                    // pictures between key pictures are predicted, and have far fewer bytes
    int key_offset;                    // so much less QP do key pictures have
    uint64_t version;                  // counts changes within a session
    // Pictures do not depend on those before.
    bool constant() const { return !bit_rate && !buffer_size && !picture_bytes; }
};

class RateControl {
  public:
    explicit RateControl(const RateTarget &target) : t_(target), last_qp_(target.qp) {
        // HRD parameters tell of whole ticks of a clock.
        const Bits tick = target.hrd_size ? Bits{t_.max_rate} * t_.rate_num : 1;
        size_ = (target.hrd_size ? t_.hrd_size : t_.buffer_size) * kClock * t_.rate_num / tick * tick;
        fullness_ = size_ / 10 * 9 / tick * tick;
        level_size_ = t_.level_buffer * kClock * t_.rate_num;
        level_fullness_ = level_size_ / 10 * 9;
    }

    // The targets of the next picture and those that follow: with the size of the buffer and the frame rate as they
    // are. The average counts from here.
    void change(const RateTarget &target) {
        if (target.version == t_.version) return;
        t_ = target;
        debt_ = 0;
    }

    // Before the next picture so many frames of a variable rate are left out. Their time counts, up to a second of it.
    void skip(uint64_t skipped) {
        if (first_ || t_.constant() || t_.picture_bytes) return;
        const Bits frames = std::min<Bits>(skipped, t_.rate_num / t_.rate_den);
        fullness_ = std::min(fullness_ + frames * max_per_frame(), size_);
        level_fullness_ = std::min(level_fullness_ + frames * level_per_frame(), level_size_);
        debt_ = std::max(debt_ - frames * mean_per_frame(), -kCreditFrames * mean_per_picture());
        intervals_ = std::min(intervals_ + 1, kIntervals);
        interval_ += ((frames + 1) * kOne - interval_) / intervals_;
    }

    // The QP to try for the next picture. key: it is not predicted.
    int begin(bool key = true) {
        key_ = key;
        if (t_.predicted && !first_) {
            last_qp_ = last_of_kind_[key].qp;
            last_bytes_ = last_of_kind_[key].bytes;
        }
        most_ = first_ ? t_.most_first : t_.most;
        if (t_.buffer_size) most_ = std::min(most_, to_bytes(fullness_));
        if (t_.level_buffer) most_ = std::min(most_, to_bytes(level_fullness_));
        if (t_.picture_bytes) most_ = t_.picture_bytes;
        lowest_failed_ = t_.qp_min - 1;
        tries_ = 0;
        if (t_.constant()) {
            most_wanted_ = most_;
            return t_.qp - offset();
        }
        set_wanted();
        if (first_) return clamp_qp(t_.qp - offset());
        int qp = (t_.bit_rate ? average_qp() : t_.qp) - offset();
        const uint64_t bytes = scaled(last_bytes_, last_qp_ - qp);
        const uint64_t wanted = std::clamp(bytes, least_wanted_, most_wanted_);
        // The last picture's QP, where it gives a size within a tenth of the wanted one.
        const bool near = last_bytes_ * 10 <= wanted * 11 && last_bytes_ * 10 >= wanted * 9;
        if (wanted != bytes) qp = near ? last_qp_ : qp_for(last_qp_, last_bytes_, wanted);
        qp = clamp_qp(qp);
        const uint64_t most = qp == kMaxQp ? std::min(most_beyond_, most_on_average_) : most_beyond_;
        qp = std::clamp(qp_for(last_qp_, last_bytes_, most), qp, kLastQp);
        return last_qp_ > kMaxQp ? std::clamp(qp, last_qp_ - 1, std::min(last_qp_ + 1, kLastQp)) : qp;
    }

    // In 1/90000 s: how long the picture that was begun has been arriving when it leaves the buffer, and the same of a
    // buffer that is full, both rounded up.
    uint32_t initial_delay() const { return delay_of(fullness_); }
    uint32_t longest_delay() const { return delay_of(size_); }

    // Whether the picture, of so many bytes at a QP, has to be coded again; then `qp` becomes the one to try next.
    bool recode(int &qp, uint64_t bytes) {
        tries_++;
        if (bytes > most_) {
            if (qp == kLastQp) return false;  // it cannot be smaller
            lowest_failed_ = std::max(lowest_failed_, qp);
            const int better = qp_for(qp, bytes, std::min(most_wanted_, most_ / 16 * 15));
            // Frequencies that are dropped save more than QPs.
            qp = std::clamp(better <= kMaxQp ? better : (better + std::max(qp, kMaxQp)) / 2, qp + 1, kLastQp);
            return true;
        }
        if (t_.constant() || tries_ > (t_.picture_bytes ? 4 : 2)) return false;
        uint64_t low = least_wanted_, high = most_wanted_;
        // The first picture's QP is a guess: it is to have the average size.
        if (first_ && t_.bit_rate)
            low = high = std::clamp(to_bytes(scaled(mean_per_picture(), t_.predicted ? kFirstSixths : 0)), low, high);
        const int better = std::max(clamp_qp(qp_for(qp, bytes, std::clamp(bytes, low, high))), lowest_failed_ + 1);
        if (better == qp || (qp > kMaxQp && bytes > high)) return false;
        if (!t_.picture_bytes && bytes * 5 <= high * 6 && bytes * 6 >= low * 5) return false;
        qp = qp > kMaxQp ? std::max(better, qp - 1) : better;
        return true;
    }

    uint64_t most() const { return most_; }  // bytes of the picture that was begun
    // Whether the average is exceeded, and pictures cannot become smaller: QPs are at their highest.
    bool exceeds_average() const {
        return t_.bit_rate && debt_ > kDebtFrames * mean_per_picture() &&
               last_qp_ >= (t_.qp_max < kMaxQp ? t_.qp_max : kLastQp);
    }

    // The picture that was begun has so many bytes at most, and likely_bytes. Returns how many are filled up after it.
    uint64_t end(int qp, uint64_t bytes, uint64_t likely_bytes) {
        last_qp_ = qp;
        last_bytes_ = std::max<uint64_t>(bytes, 1);
        last_of_kind_[key_] = {last_qp_, last_bytes_};
        if (first_) last_of_kind_[!key_] = {last_qp_, std::max<uint64_t>(last_bytes_ / 4, 1)};  // a guess
        first_ = false;
        if (t_.constant() || t_.picture_bytes) return 0;
        const Bits byte = 8 * kClock * t_.rate_num;
        uint64_t filler = 0;
        if (t_.buffer_size) {
            fullness_ = std::max<Bits>(fullness_ - bytes * byte, 0) + max_per_frame();
            if (t_.cbr && fullness_ > size_) {
                filler = static_cast<uint64_t>((fullness_ - size_ + byte - 1) / byte);
                fullness_ -= filler * byte;
            }
            fullness_ = std::min(fullness_, size_);
        }
        level_fullness_ = std::min(std::max<Bits>(level_fullness_ - bytes * byte, 0) + level_per_frame(), level_size_);
        if (!t_.bit_rate) return 0;
        // What cannot be spent for long is not to be spent later.
        debt_ = std::clamp(debt_ + (likely_bytes + filler) * byte - mean_per_frame(),
                           -kCreditFrames * mean_per_picture(), 20 * kDebtFrames * mean_per_picture());
        // What pictures would have at QP 0, on average.
        const Bits complexity = Bits{scaled(last_bytes_, qp + offset() + 24)};
        complexity_ += ((complexity << 16) - complexity_) / ++pictures_;
        pictures_ = std::min(pictures_, kWindow);
        return filler;
    }

    // Whether the last picture had a QP beyond kMaxQp.
    bool is_beyond_max_qp() const { return last_qp_ > kMaxQp; }
    // end() of a picture whose bytes are not known: as if it were like the last one.
    void assume(int qp) {
        const uint64_t bytes = scaled(last_bytes_, last_qp_ - qp);
        end(qp, bytes, bytes);
    }

  private:
    using Bits = __int128;  // by 1 / (kClock rate_num)
    static constexpr Bits kClock = 90000;
    static constexpr Bits kOne = 1 << 16;
    // Frames of debt that halve what pictures may have; frames that the average QP is of, and the average interval.
    // Bits that dark or flat pictures leave are kept for kCreditFrames.
    static constexpr int kFirstSixths = 12;  // a first picture that others refer to: four times the average
    static constexpr int kDebtFrames = 8, kCreditFrames = 240, kWindow = 128, kIntervals = 16;

    int offset() const { return key_ ? t_.key_offset : 0; }

    // Sizes of the next picture that are welcome.
    void set_wanted() {
        Bits least = 0, most = Bits{1} << 96;
        if (t_.bit_rate) {
            // From half to twice the average, so that scenes share a QP; less where too much was spent.
            const Bits mean = mean_per_picture();
            const int sixths = static_cast<int>(std::clamp<Bits>(6 * debt_ / (kDebtFrames * mean), -18, 18));
            least = scaled(mean, (t_.predicted && !key_ ? -30 : -6) - sixths);
            most = scaled(mean, (!t_.predicted ? 6 : key_ ? 24 : 9) - sixths);
        }
        most_beyond_ = most_;
        most_on_average_ = std::clamp<uint64_t>(to_bytes(most), 1, most_);
        if (t_.buffer_size) {
            // Within some frames the buffer returns to where it rests, lower where bits are left. What runs over is
            // filled up with cbr. It is missed where max_rate is the average: there the buffer does not stay full.
            const Bits in = max_per_picture();
            const Bits usual = std::max(size_ / 2, size_ / 10 * 9 - 6 * in);
            const Bits rest = std::max({std::min(in, size_ / 2), size_ / 8, usual + std::min<Bits>(debt_, 0)});
            const Bits above = fullness_ - rest;
            const Bits frames = t_.predicted && key_ ? 1 : std::clamp<Bits>(size_ / in / 2, 1, 8);
            most = std::min({most, std::max(in + above / frames, in / 4 * 3), fullness_ / 16 * 15});
            most_beyond_ = std::clamp<uint64_t>(to_bytes(most + std::max<Bits>(above, 0) / 2), 1, most_);
            if (t_.max_rate / 17 * 16 < t_.bit_rate)
                least = std::max(least, in + (t_.cbr ? fullness_ - size_ : (fullness_ - rest) / 8));
        }
        most_wanted_ = std::clamp<uint64_t>(to_bytes(most), 1, most_);
        least_wanted_ = std::min(to_bytes(least), most_wanted_);
        if (t_.picture_bytes) least_wanted_ = most_wanted_ = most_ / 32 * 31;
    }

    // What comes in the time of a frame, at the average rate and into the buffer. fullness_ and debt_ go by it: skip()
    // adds the frames that are left out.
    Bits mean_per_frame() const { return t_.bit_rate * kClock * t_.rate_den; }
    Bits max_per_frame() const { return t_.max_rate * kClock * t_.rate_den; }
    Bits level_per_frame() const { return t_.level_rate * kClock * t_.rate_den; }
    // The same in the mean time between pictures, which has frames that are left out. Wanted sizes go by it.
    Bits mean_per_picture() const { return mean_per_frame() * interval_ / kOne; }
    Bits max_per_picture() const { return max_per_frame() * interval_ / kOne; }
    uint64_t to_bytes(Bits bits) const {
        return static_cast<uint64_t>(std::clamp<Bits>(bits / (8 * kClock * t_.rate_num), 0, Bits{1} << 40));
    }
    uint32_t delay_of(Bits fullness) const {
        const Bits rate = Bits{t_.max_rate} * t_.rate_num;
        return static_cast<uint32_t>(
            std::min<Bits>((fullness + rate - 1) / rate, std::numeric_limits<uint32_t>::max()));
    }
    int clamp_qp(int qp) const { return std::clamp(qp, t_.qp_min, t_.qp_max); }

    // 2^(sixths / 6) times a size.
    template <class T>
    static T scaled(T size, int sixths) {
        constexpr int table[] = {1024, 1149, 1290, 1448, 1625, 1825};
        const int whole = sixths >= 0 ? sixths / 6 : -((5 - sixths) / 6);
        const Bits product = Bits{size} * table[sixths - 6 * whole];
        return static_cast<T>(whole >= 0 ? product << whole >> 10 : product >> (10 - whole));
    }
    // Six more of QP are taken to halve a picture.
    static int qp_for(int qp, uint64_t bytes, uint64_t wanted) {
        int change = 0;
        if (bytes > wanted)
            while (change < 96 && bytes > scaled(wanted, change)) change++;
        else
            while (change > -96 && scaled(bytes, 1 - change) <= wanted) change--;
        return qp + change;
    }
    // At which pictures have the average size, to the nearest QP, and some more or less, so that a debt is paid back.
    int average_qp() const {
        const uint64_t wanted = to_bytes(std::max(mean_per_picture() - debt_ / 32, mean_per_picture() / 4) / 16 * 17);
        return qp_for(-24, static_cast<uint64_t>(complexity_ >> 16), std::max<uint64_t>(wanted, 1));
    }

    RateTarget t_;
    Bits size_ = 0;                             // of the decoder's buffer
    Bits fullness_ = 0;                         // of the decoder's buffer when the next picture leaves it
    Bits level_size_ = 0, level_fullness_ = 0;  // the same of the level's, where there is no other one
    Bits debt_ = 0;                             // what pictures have more than bit_rate gives
    bool first_ = true, key_ = true;
    struct Last {
        int qp;
        uint64_t bytes;
    };
    Last last_of_kind_[2]{};  // of predicted and of key pictures, where there are both
    int last_qp_;
    uint64_t last_bytes_ = 1;
    Bits complexity_ = 0;
    int pictures_ = 0;      // that it is the average of
    Bits interval_ = kOne;  // from picture to picture, on average, by 1 / kOne frames
    int intervals_ = 1;     // that it is the average of
    // Of the picture that was begun: bytes
    uint64_t most_ = 0, least_wanted_ = 0, most_wanted_ = 0;
    uint64_t most_beyond_ = 0, most_on_average_ = 0;  // of QPs beyond qp_max, and beyond kMaxQp
    int lowest_failed_ = 0, tries_ = 0;
};

}  // namespace cudaenc::h264
