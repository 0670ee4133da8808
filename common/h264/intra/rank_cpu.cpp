// SPDX-License-Identifier: LGPL-2.1-or-later
#include "rank_cpu.h"

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

bool rank_modes_below(uint32_t limit_4x4, uint32_t limit_8x8, const ConstBlock *samples, int components,
                      const Available &available, int bit_depth, RankedModes &modes) {
    modes = {};
    int next = 0;
    const auto rank_8x8_blocks = [&](uint32_t limit) {
        for (; next < 4 && modes.satd_8x8 < limit; next++) {
            const LikelyModes of_block = rank_block<8>(samples, components, 8 * (next & 1), 8 * (next >> 1),
                                                       available_8x8(available, next), bit_depth);
            modes.of_8x8[next] = of_block.packed();
            modes.satd_8x8 += of_block.least_satd();
        }
        return modes.satd_8x8 < limit;
    };
    const bool below = rank_8x8_blocks(limit_8x8);
    for (int b = 0; b < 16 && (below || modes.satd_4x4 < limit_4x4); b++) {
        const int x = 4 * luma_block_x(b), y = 4 * luma_block_y(b);
        const LikelyModes of_block = rank_block<4>(samples, components, x, y, available_4x4(available, b), bit_depth);
        modes.of_4x4[b] = of_block.packed();
        modes.satd_4x4 += of_block.least_satd();
    }
    if (!below && modes.satd_4x4 >= limit_4x4) return false;
    rank_8x8_blocks(UINT32_MAX);
    for (int c = 0; c < components; c++) modes.texture += texture_of(samples[c]);
    return true;
}

RankedModes rank_modes(const ConstBlock *samples, int components, const Available &available, int bit_depth) {
    RankedModes modes;
    rank_modes_below(UINT32_MAX, UINT32_MAX, samples, components, available, bit_depth, modes);
    return modes;
}

}  // namespace cudaenc::h264
