// SPDX-License-Identifier: LGPL-2.1-or-later
// A decoder of code-blocks for tests, from T.800 Annex D and its tables, sample by sample, and nothing of the library's
// block decoders. Include it behind testing.h.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../../common/j2k/codestream/coefficient.h"
#include "../../common/j2k/t1/styles.h"
#include "mq_decoder.h"
#include "testing.h"

namespace cudaenc::testing {

using namespace cudaenc::j2k;

// T.800 Table D.1: the first row that fits. {least and most of the horizontal, vertical, diagonal ones, context}
struct ZeroRow {
    int h0, h1, v0, v1, d0, d1, context;
};
constexpr ZeroRow kLowRows[] = {{2, 2, 0, 2, 0, 4, 8}, {1, 1, 1, 2, 0, 4, 7}, {1, 1, 0, 0, 1, 4, 6},
                                {1, 1, 0, 0, 0, 0, 5}, {0, 0, 2, 2, 0, 4, 4}, {0, 0, 1, 1, 0, 4, 3},
                                {0, 0, 0, 0, 2, 4, 2}, {0, 0, 0, 0, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 0}};
struct DiagonalRow {
    int hv0, hv1, d0, d1, context;
};
constexpr DiagonalRow kDiagonalRows[] = {{0, 4, 3, 4, 8}, {1, 4, 2, 2, 7}, {0, 0, 2, 2, 6},
                                         {2, 4, 1, 1, 5}, {1, 1, 1, 1, 4}, {0, 0, 1, 1, 3},
                                         {2, 4, 0, 0, 2}, {1, 1, 0, 0, 1}, {0, 0, 0, 0, 0}};
inline int table_d1(int orientation, int h, int v, int d) {
    if (orientation == kHH) {
        for (const DiagonalRow &r : kDiagonalRows)
            if (h + v >= r.hv0 && h + v <= r.hv1 && d >= r.d0 && d <= r.d1) return r.context;
    } else {
        if (orientation == kHL) std::swap(h, v);
        for (const ZeroRow &r : kLowRows)
            if (h >= r.h0 && h <= r.h1 && v >= r.v0 && v <= r.v1 && d >= r.d0 && d <= r.d1) return r.context;
    }
    return -1;
}

// T.800 Table D.3: [horizontal + 1][vertical + 1] to context and XOR bit.
struct SignRow {
    int context, flip;
};
constexpr SignRow kTableD3[3][3] = {
    {{13, 1}, {12, 1}, {11, 1}}, {{10, 1}, {9, 0}, {10, 0}}, {{11, 0}, {12, 0}, {13, 0}}};

// Bits of a raw segment, T.800 D.6. Behind its last byte there are ones.
class RawDecoder {
  public:
    RawDecoder(const uint8_t *data, size_t size) : data_(data), size_(size) {}
    int bit() {
        if (!left_) {
            left_ = byte_ == 0xFF ? 7 : 8;
            byte_ = at_ < size_ ? data_[at_] : 0xFF;
            at_++;
        }
        return byte_ >> --left_ & 1;
    }
    // Whether what is left is as D.6 wants it with the predictable termination.
    bool ends_predictably() {
        for (int expected = 0; left_ || (at_ < size_ && byte_ == 0xFF); expected ^= 1)
            if (bit() != expected) return false;
        return at_ == size_;
    }

  private:
    const uint8_t *data_;
    size_t size_, at_ = 0;
    int byte_ = 0, left_ = 0;
};

// A decoder of code-blocks, T.800 D.3 sample by sample, with contexts looked up in the tables above. `ends`: where the
// codeword ends after the passes that Tables D.8 and D.9 have terminated.
class BlockDecoder {
  public:
    BlockDecoder(int width, int height, int orientation, const uint8_t *data, size_t size, uint32_t style = 0,
                 const std::vector<uint32_t> &ends = {})
        : width_(width),
          height_(height),
          orientation_(orientation),
          style_(style),
          ends_(ends),
          data_(data),
          size_(size),
          samples_(static_cast<size_t>((width + 2) * (height + 2))),
          mq_(data, size),
          raw_(data, size) {
        begin_contexts();
    }
    // Tables D.8 and D.9, for `pass` passes behind the first clean-up pass; whether raw, and terminated.
    static bool bypassed(uint32_t style, int pass) {
        const int plane = (pass + 2) / 3 + 1;  // 1: the first one
        return (style & 1) && plane >= 5 && pass % 3 != 0;
    }
    static bool terminated(uint32_t style, int pass) {
        if (style & 4) return true;
        if (!(style & 1)) return false;
        const int plane = (pass + 2) / 3 + 1;
        return (plane == 4 && pass % 3 == 0) || (plane > 4 && pass % 3 != 1);
    }
    bool check_end = false;  // whether these are all passes
    // all: passes that the codeword has; 0: no more.
    std::vector<uint32_t> decode(int planes, int passes, int all = 0) {
        size_t from = 0;
        const auto begin = [&](int pass) {  // the segment that begins with the pass
            size_t to = size_;
            for (int i = pass; i < std::max(passes, all); i++)
                if (terminated(style_, i)) {
                    to = std::min<size_t>(to, ends_[static_cast<size_t>(i)]);
                    break;
                }
            mq_ = MqDecoder(data_ + from, to - from);
            raw_ = RawDecoder(data_ + from, to - from);
            from = to;
        };
        for (int pass = 0, kind = 2; pass < passes; pass++, kind = (kind + 1) % 3) {
            plane_ = planes - 1 - (pass + 2) / 3;
            if (!pass || terminated(style_, pass - 1)) begin(pass);
            is_raw_ = bypassed(style_, pass);
            EXPECT(is_raw_ == is_raw(style_, pass), "pass %d", pass);
            EXPECT(terminated(style_, pass) == ends_segment(style_, pass), "pass %d", pass);
            for (int y0 = 0; y0 < height_; y0 += 4)
                for (int x = 0; x < width_; x++)
                    if (kind == 2)
                        clean_up_column(x, y0);
                    else
                        for (int y = y0; y < std::min(y0 + 4, height_); y++) kind ? refine(x, y) : propagate(x, y);
            if (kind == 2)
                for (Sample &s : samples_) s.coded = false;
            if (kind == 2 && (style_ & 32))
                for (int i = 0; i < 4; i++) EXPECT(get(18) == 1 - i % 2, "segmentation symbols of pass %d", pass);
            if (is_raw_ && (pass + 1 == passes ? check_end : terminated(style_, pass)))
                EXPECT(raw_.ends_predictably(), "the end of a raw segment, pass %d", pass);
            if (style_ & 2) begin_contexts();
        }
        std::vector<uint32_t> out;
        for (int y = 0; y < height_; y++)
            for (int x = 0; x < width_; x++)
                out.push_back(at(x, y).magnitude | (at(x, y).magnitude && at(x, y).negative ? kSignBit : 0));
        return out;
    }
    // What decode() gives, as block_decoder.h has it: twice the magnitude in the middle of what is known, and the sign.
    std::vector<uint32_t> decode_middles(int planes, int passes, int all = 0) {
        std::vector<uint32_t> out = decode(planes, passes, all);
        for (int y = 0; y < height_; y++)
            for (int x = 0; x < width_; x++)
                if (uint32_t &c = out[static_cast<size_t>(y * width_ + x)])
                    c = (c & kSignBit) | (2 * (c & ~kSignBit) + (1u << at(x, y).plane));
        return out;
    }
    // What decode() would leave of the squared error: a sample is in the middle of what is known of it. Quantised ones
    // are taken for the middle of their steps.
    double squared_error(int planes, int passes, const std::vector<uint32_t> &coefficients, bool quantised) {
        decode(planes, passes);
        double sum = 0;
        for (int y = 0; y < height_; y++)
            for (int x = 0; x < width_; x++) {
                const Sample &s = at(x, y);
                const uint32_t magnitude = coefficients[static_cast<size_t>(y * width_ + x)] & ~kSignBit;
                const double is = magnitude + (quantised && magnitude ? 0.5 : 0.0);
                const double middle = quantised || s.plane ? std::ldexp(0.5, s.plane) : 0;
                const double error = is - (s.significant ? s.magnitude + middle : 0);
                sum += error * error;
            }
        return sum;
    }

  private:
    struct Sample {
        uint32_t magnitude = 0;
        int plane = 0;  // the lowest that is known
        bool significant = false, negative = false, refined = false, coded = false;
    };
    Sample &at(int x, int y) { return samples_[static_cast<size_t>((y + 1) * (width_ + 2) + x + 1)]; }
    void begin_contexts() {
        contexts_ = {};
        contexts_[0].index = 4;
        contexts_[17].index = 3;
        contexts_[18].index = 46;
    }
    int get(int context) { return is_raw_ ? raw_.bit() : mq_.decode(contexts_[static_cast<size_t>(context)]); }
    // D.7: the next stripe is insignificant.
    bool sees(int y, int dy) const { return !((style_ & 8) && y % 4 == 3 && dy == 1); }
    int zero_context(int x, int y) {
        const auto sum = [&](int dx, int dy) { return sees(y, dy) && at(x + dx, y + dy).significant ? 1 : 0; };
        return table_d1(orientation_, sum(-1, 0) + sum(1, 0), sum(0, -1) + sum(0, 1),
                        sum(-1, -1) + sum(1, -1) + sum(-1, 1) + sum(1, 1));
    }
    void become_significant(int x, int y) {
        const auto part = [&](int dx, int dy) {
            const Sample &s = at(x + dx, y + dy);
            return s.significant && sees(y, dy) ? (s.negative ? -1 : 1) : 0;
        };
        const SignRow row =
            kTableD3[std::clamp(part(-1, 0) + part(1, 0), -1, 1) + 1][std::clamp(part(0, -1) + part(0, 1), -1, 1) + 1];
        Sample &s = at(x, y);
        s.negative = (get(row.context) ^ (is_raw_ ? 0 : row.flip)) != 0;
        s.significant = true;
        s.magnitude = 1u << plane_;
        s.plane = plane_;
    }
    void propagate(int x, int y) {
        Sample &s = at(x, y);
        const int context = zero_context(x, y);
        if (s.significant || !context) return;
        s.coded = true;
        if (get(context)) become_significant(x, y);
    }
    void refine(int x, int y) {
        Sample &s = at(x, y);
        if (!s.significant || s.coded) return;
        const uint32_t bit = static_cast<uint32_t>(get(s.refined ? 16 : zero_context(x, y) ? 15 : 14));  // Table D.4
        s.magnitude |= bit << plane_;
        s.plane = plane_;
        s.refined = true;
    }
    void clean_up_column(int x, int y0) {
        int y = y0;
        bool runs = y0 + 4 <= height_;
        for (int i = 0; runs && i < 4; i++)
            runs = !at(x, y0 + i).significant && !at(x, y0 + i).coded && !zero_context(x, y0 + i);
        if (runs) {
            if (!get(17)) return;
            y += get(18) * 2;
            y += get(18);
            become_significant(x, y);
            y++;
        }
        for (; y < std::min(y0 + 4, height_); y++) {
            const Sample &s = at(x, y);
            if (!s.significant && !s.coded && get(zero_context(x, y))) become_significant(x, y);
        }
    }

    int width_, height_, orientation_, plane_ = 0;
    uint32_t style_;
    std::vector<uint32_t> ends_;
    const uint8_t *data_;
    size_t size_;
    std::vector<Sample> samples_;
    std::array<MqContext, 19> contexts_{};
    MqDecoder mq_;
    RawDecoder raw_;
    bool is_raw_ = false;
};

}  // namespace cudaenc::testing
