// SPDX-License-Identifier: LGPL-2.1-or-later
// Luma predicted by vectors in quarter samples, from planes between samples.
#pragma once
#include "../../../common/h264/inter/motion.h"
#include "../../device.cuh"
#include "margin_plane.h"

namespace cudaenc::h264 {

// quarter_source() in a byte each: planes in two bits each, then x and y of both.
CUDAENC_HD constexpr uint64_t packed_sources(int first) {
    uint64_t packed = 0;
    for (int i = 0; i < 8; i++) {
        const QuarterSource s = quarter_source(first + i);
        packed |= uint64_t{static_cast<unsigned>(s.plane[0] | s.plane[1] << 2 | s.x[0] << 4 | s.x[1] << 5 |
                                                 s.y[0] << 6 | s.y[1] << 7)}
                  << 8 * i;
    }
    return packed;
}

// Of a vector: that byte.
DEVICE uint32_t packed_source(Vector v) {
    static_assert(kRight == 1 && kBelow == 2 && kCentre == 3);
    constexpr uint64_t kLow = packed_sources(0), kHigh = packed_sources(8);
    const int quarter = 4 * (v.y & 3) + (v.x & 3);
    return static_cast<uint32_t>((quarter & 8 ? kHigh : kLow) >> 8 * (quarter & 7));
}

// Rows of eight predicted samples from (x, y) of the picture, by a vector: means of two planes. reference: of one
// stride; they are not written meanwhile.
class QuarterRows {
  public:
    DEVICE_MEMBER QuarterRows(const MarginPlane (&reference)[kHalfPlanes], int x, int y, Vector v)
        : stride_(reference[kWhole].stride) {
        const uint32_t source = packed_source(v);
        const auto address_of = [&](uint32_t plane, uint32_t dx, uint32_t dy) {
            const uint8_t *whole = reference[kWhole].data, *right = reference[kRight].data,
                          *below = reference[kBelow].data, *centre = reference[kCentre].data;
            const uint8_t *data = plane & 2 ? (plane & 1 ? centre : below) : (plane & 1 ? right : whole);
            return data + int64_t{y + (v.y >> 2) + static_cast<int>(dy & 1)} * stride_ + x + (v.x >> 2) +
                   static_cast<int>(dx & 1);
        };
        const uint8_t *const first = address_of(source, source >> 4, source >> 6);
        const uint8_t *const second = address_of(source >> 2, source >> 5, source >> 7);
        const uint32_t bytes[2] = {static_cast<uint32_t>(reinterpret_cast<uint64_t>(first) & 3),
                                   static_cast<uint32_t>(reinterpret_cast<uint64_t>(second) & 3)};
        words_[0] = first - bytes[0];
        words_[1] = second - bytes[1];
        shifts_[0] = 8 * bytes[0];
        shifts_[1] = 8 * bytes[1];
    }
    DEVICE_MEMBER void load(int row, uint32_t (&to)[2]) const {
        uint32_t of[2][2];
        CUDAENC_UNROLL
        for (int i = 0; i < 2; i++) {  // eight bytes of any alignment
            const uint32_t *words = reinterpret_cast<const uint32_t *>(words_[i] + int64_t{row} * stride_);
            const uint32_t a = load_readonly(words), b = load_readonly(words + 1), c = load_readonly(words + 2);
            of[i][0] = funnel_shift_right(a, b, shifts_[i]);
            of[i][1] = funnel_shift_right(b, c, shifts_[i]);
        }
        CUDAENC_UNROLL
        for (int k = 0; k < 2; k++) to[k] = (of[0][k] | of[1][k]) - ((of[0][k] ^ of[1][k]) >> 1 & 0x7F7F7F7F);
    }

  private:
    const uint8_t *words_[2];
    uint32_t shifts_[2];
    int32_t stride_;
};

// Eight such samples of 16 bits, from whole ones alone. Those half a sample below or above are sums of columns, from
// two before the first one on.
DEVICE void interpolate_eight(const MarginPlane &reference, int x, int y, Vector v, int32_t most, int32_t (&to)[8]) {
    const uint32_t source = packed_source(v);
    const int64_t stride = reference.stride / static_cast<int>(sizeof(uint16_t));
    CUDAENC_NO_UNROLL
    for (int i = 0; i < ((v.x | v.y) & 1 ? 2 : 1); i++) {
        const uint32_t plane = source >> 2 * i & 3;
        const uint16_t *const at =
            reference.samples<const uint16_t>(x + (v.x >> 2) + static_cast<int>(source >> (4 + i) & 1),
                                              y + (v.y >> 2) + static_cast<int>(source >> (6 + i) & 1));
        int32_t line[13];
        CUDAENC_UNROLL
        for (int k = 0; k < 13; k++) {
            const uint16_t *const s = at + k - 2;
            line[k] = plane & kBelow ? six_taps<int32_t>(load_readonly(s - 2 * stride), load_readonly(s - stride),
                                                         load_readonly(s), load_readonly(s + stride),
                                                         load_readonly(s + 2 * stride), load_readonly(s + 3 * stride))
                                     : load_readonly(s);
        }
        const int shift = (plane & kBelow ? 5 : 0) + (plane & kRight ? 5 : 0);
        CUDAENC_UNROLL
        for (int k = 0; k < 8; k++) {
            const int32_t sum = plane & kRight
                                    ? six_taps(line[k], line[k + 1], line[k + 2], line[k + 3], line[k + 4], line[k + 5])
                                    : line[k + 2];
            const int32_t sample = max_of(min_of((sum + (1 << shift >> 1)) >> shift, most), 0);
            to[k] = i ? (to[k] + sample + 1) >> 1 : sample;
        }
    }
}

}  // namespace cudaenc::h264
