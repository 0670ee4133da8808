// Modes of I_4x4 and I_8x8.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "arithmetic.cuh"

namespace cudaenc::h264 {

DEVICE int predicted_mode(const Candidate &c, int column, int row) {
    const int left = c.modes[kGrid * (1 + row) + column], above = c.modes[kGrid * row + 1 + column];
    return left < 0 || above < 0 ? int{kDc} : min_of(left, above);
}
DEVICE uint8_t mode_syntax(int mode, int predicted) {
    return static_cast<uint8_t>(mode == predicted ? kPredictedMode : mode < predicted ? mode : mode - 1);
}
// The cost of a mode without its SATD, and with it.
DEVICE uint32_t mode_cost(const QpChoice &qp, bool predicted, uint32_t half_satd) {
    return ((predicted ? qp.satd_lambda : 4 * qp.satd_lambda) >> 8) + half_satd;
}

}  // namespace cudaenc::h264
