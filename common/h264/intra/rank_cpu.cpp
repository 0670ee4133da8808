// SPDX-License-Identifier: LGPL-2.1-or-later
#include "rank_cpu.h"

#include <algorithm>

#include "../syntax/macroblock_layer.h"

namespace cudaenc::h264 {

namespace {

template <int N>
LikelyModes rank_block(const ConstBlock *samples, int components, int x, int y, const Available &available,
                       int bit_depth) {
    Predictions<N> predictions;
    uint32_t satds[kModes]{};
    for (int c = 0; c < components; c++) {
        const ConstBlock at = samples[c].at(x, y);
        if constexpr (N == 4)
            rank_4x4(at, available, bit_depth, at, predictions, satds);
        else
            rank_8x8(at, available, bit_depth, at, predictions, satds);
    }
    LikelyModes modes;
    for (int mode = 0; mode < kModes; mode++)
        if (mode_available(mode, available)) modes.add(mode, satds[mode]);
    return modes;
}

}  // namespace

RankedModes rank_modes(const ConstBlock *samples, int components, const Available &available, int bit_depth) {
    RankedModes modes{};
    for (int b = 0; b < 4; b++) {
        const LikelyModes of_block =
            rank_block<8>(samples, components, 8 * (b & 1), 8 * (b >> 1), available_8x8(available, b), bit_depth);
        modes.of_8x8[b] = of_block.packed();
        modes.satd_8x8 += of_block.least_satd();
    }
    for (int b = 0; b < 16; b++) {
        const int x = 4 * luma_block_x(b), y = 4 * luma_block_y(b);
        const LikelyModes of_block = rank_block<4>(samples, components, x, y, available_4x4(available, b), bit_depth);
        modes.of_4x4[b] = of_block.packed();
        modes.satd_4x4 += of_block.least_satd();
    }
    for (int c = 0; c < components; c++) modes.texture += texture_of(samples[c]);
    return modes;
}

uint32_t least_satd_16x16(const ConstBlock &luma, const Available &available, int bit_depth) {
    MacroblockPredictions predictions;
    uint32_t satds[k16x16Modes]{};
    rank_16x16(luma, available, bit_depth, luma, predictions, satds);
    return *std::min_element(satds, satds + k16x16Modes);
}

}  // namespace cudaenc::h264
