// SPDX-License-Identifier: LGPL-2.1-or-later
// What a macroblock of a P picture has once all vectors are known, the same on host and device.
#pragma once
#include "motion.h"

namespace cudaenc::h264 {

// P_Skip, or mvd. field: final, of the slice, which has a number; m: with type, pattern and transform. qp_delta gets 0.
CUDAENC_HD void finish_macroblock(const MotionField &field, int x, int y, Macroblock &m, int slice = 0) {
    m.qp_delta = 0;
    m.first_in_slice = y * field.columns + x == field.first;
    m.slice = static_cast<decltype(m.slice)>(slice);
    const MacroblockMotion &motion = field.motion[y * field.columns + x];
    if (!motion.inter) return;
    if (motion.shape == Shape::p16x16 && !m.coded_block_pattern && motion.vectors[0] == field.skipped(x, y)) {
        m.type = MacroblockType::skip;
        return;
    }
    for (int part = 0; part < parts_of(motion.shape); part++) {
        const Vector v = motion.vectors[first_block_of(motion.shape, part)];
        const Vector predicted = field.predicted(x, y, motion.shape, part);
        m.mvd[part] = {static_cast<int16_t>(v.x - predicted.x), static_cast<int16_t>(v.y - predicted.y)};
    }
}

}  // namespace cudaenc::h264
