// SPDX-License-Identifier: LGPL-2.1-or-later
// Encryption of places and modes, see scramble.h. A thread owns a macroblock.
#include "../device.cuh"
#include "scramble_params.h"

namespace cudaenc::h264 {

KERNEL(kScrambleThreads, h264_scramble, ScrambleParams)
{
    const uint32_t address = static_cast<uint32_t>(block_x()) * kScrambleThreads + static_cast<uint32_t>(thread_x());
    if (address >= static_cast<uint32_t>(p.picture.format.macroblocks())) return;
    scramble(p.picture, address, [](int, int, LevelMove) {});
}

}  // namespace cudaenc::h264
