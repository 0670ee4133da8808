// SPDX-License-Identifier: LGPL-2.1-or-later
// QPs of macroblocks. Adaptive quantisation: smooth ones, where errors are visible, get a lower QP; regions of
// interest; and mb_qp_delta.
#pragma once
#include <cstdint>

#include "../syntax/cavlc.h"
#include "../syntax/macroblock.h"
#include "../syntax/quantise.h"
#include "qp_regions.h"

namespace cudaenc::h264 {

// log2(x) in 2^-8, linear between powers of 2; x > 0.
CUDAENC_HD int log2_256(uint32_t x) {
    const int whole = floor_log2(x);
    const uint32_t fraction = whole >= 8 ? x >> (whole - 8) : x << (8 - whole);
    return whole * 256 + static_cast<int>(fraction & 255);
}

// The QPY of a macroblock, from the sum of its luma samples and that of their squares. strength: change of QP, in
// 1/256, where the variance doubles. A variance of 2^14.4 / 256 (8 bits) keeps QP.
CUDAENC_HD int adapted_qp(int qp, int strength, uint32_t sum, uint32_t squares, int bit_depth) {
    const uint32_t energy = (squares - static_cast<uint32_t>(uint64_t{sum} * sum / 256)) >> (2 * (bit_depth - 8));
    const int change = log2_256(energy + 1) - 3693;  // 14.427
    qp += (change * strength + (1 << 15)) >> 16;
    return max_of(min_of(qp, kMaxQp), -qp_bd_offset(bit_depth));
}

// By what the QPs of a picture's macroblocks are chosen.
struct MacroblockQps {
    int32_t qp, strength;    // the picture's; see adapted_qp()
    int32_t lowest_adapted;  // by adaptive quantisation
    int32_t lowest;          // with regions
    int32_t bit_depth;
    QpRegions regions;

    // Of the macroblock at (x, y), from its luma samples as for adapted_qp(). offset: beside that of regions.
    CUDAENC_HD int at(int x, int y, uint32_t sum, uint32_t squares, int offset = 0) const {
        const int adapted = max_of(lowest_adapted, adapted_qp(qp, strength, sum, squares, bit_depth));
        const int least = max_of(lowest, -qp_bd_offset(bit_depth));
        return max_of(least, min_of(adapted + offset + regions.offset_at(x, y), kMaxQp));
    }
};

// Whether a macroblock has mb_qp_delta (7.3.5). One without it keeps the QPY before it.
CUDAENC_HD bool has_qp_delta(MacroblockType type, uint32_t pattern) {
    return type != MacroblockType::pcm && (type == MacroblockType::i16x16 || pattern);
}

// mb_qp_delta (7.4.5): modulo the number of QPs. before: QPY of the macroblock before in the slice.
CUDAENC_HD int qp_delta_of(int qp, int before, int bit_depth) {
    const int range = kMaxQp + 1 + qp_bd_offset(bit_depth), delta = qp - before;
    return delta < -range / 2 ? delta + range : delta >= range / 2 ? delta - range : delta;
}
// Its bits beyond those of 0.
CUDAENC_HD uint32_t qp_delta_bits(int delta) {
    BitCounter counter;
    put_se(delta, counter);
    return counter.bits - 1;
}

}  // namespace cudaenc::h264
