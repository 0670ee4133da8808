// SPDX-License-Identifier: LGPL-2.1-or-later
// Marker codes (T.81 Table B.1).
#pragma once
#include <cstdint>

namespace cudaenc::mjpeg {

constexpr uint32_t kSof0 = 0xFFC0, kSof1 = 0xFFC1, kSof2 = 0xFFC2, kSof3 = 0xFFC3, kDht = 0xFFC4, kJpg = 0xFFC8,
                   kDac = 0xFFCC, kSof15 = 0xFFCF, kRst0 = 0xFFD0, kSoi = 0xFFD8, kEoi = 0xFFD9, kSos = 0xFFDA,
                   kDqt = 0xFFDB, kDnl = 0xFFDC, kDri = 0xFFDD, kApp0 = 0xFFE0, kApp1 = 0xFFE1, kApp2 = 0xFFE2,
                   kApp14 = 0xFFEE, kCom = 0xFFFE, kTem = 0xFF01;

constexpr bool is_restart(uint32_t marker) { return (marker & ~7u) == kRst0; }

}  // namespace cudaenc::mjpeg
