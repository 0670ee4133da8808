// SPDX-License-Identifier: LGPL-2.1-or-later
// The range of QPs.
#pragma once

namespace cudaenc::h264 {

inline constexpr int kMaxQp = 51;
// Beyond it pictures get smaller still where a buffer asks for it: coded with kMaxQp, each step has fewer frequencies
// of the residual, and the last one none.
inline constexpr int kDropSteps = 15, kLastQp = kMaxQp + kDropSteps;

}  // namespace cudaenc::h264
