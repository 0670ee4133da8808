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

// Rows of eight predicted samples from (x, y) of the picture, by a vector: means of two planes. reference: of one
// stride; they are not written meanwhile.
class QuarterRows {
  public:
    DEVICE_MEMBER QuarterRows(const MarginPlane (&reference)[kHalfPlanes], int x, int y, Vector v)
        : stride_(reference[kWhole].stride) {
        static_assert(kRight == 1 && kBelow == 2 && kCentre == 3);
        constexpr uint64_t kLow = packed_sources(0), kHigh = packed_sources(8);
        const int quarter = 4 * (v.y & 3) + (v.x & 3);
        const uint32_t source = static_cast<uint32_t>((quarter & 8 ? kHigh : kLow) >> 8 * (quarter & 7));
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

}  // namespace cudaenc::h264
