// SPDX-License-Identifier: LGPL-2.1-or-later
// Predictions of blocks by vectors, and their ranks.
#pragma once
#include "block_cpu.h"

namespace cudaenc::h264 {

// Predictions are ranked by SATD, the sum of absolute Hadamard transformed differences to the source: half of it over
// 4x4 blocks, or a quarter of that of an 8x8 block. It is added to the other costs of the mode.

// The predictions of an NxN block, in rows.
template <int N>
struct Predictions {
    alignas(32) Sample of_mode[kModes][N * N];
};
// at: the place of the block among reconstructed samples.
void rank_4x4(ConstBlock at, const Available &available, int bit_depth, ConstBlock source, Predictions<4> &predictions,
              uint32_t (&costs)[kModes]);
void rank_8x8(ConstBlock at, const Available &available, int bit_depth, ConstBlock source, Predictions<8> &predictions,
              uint32_t (&costs)[kModes]);
// The same predictions without ranks.
void predict_4x4(ConstBlock at, const Available &available, int bit_depth, Predictions<4> &predictions);
void predict_8x8(ConstBlock at, const Available &available, int bit_depth, Predictions<8> &predictions);

// The SATD over 4x4 blocks of a macroblock's component, without what the blocks' means have.
uint32_t texture_of(ConstBlock source);

// The predictions of a macroblock's component: Intra 16x16, or chroma, 8 wide.
struct MacroblockPredictions {
    alignas(32) Sample of_mode[4][256];
};
void rank_16x16(ConstBlock at, const Available &available, int bit_depth, ConstBlock source,
                MacroblockPredictions &predictions, uint32_t (&costs)[k16x16Modes]);
void rank_chroma(ConstBlock at, const Available &available, int bit_depth, int height, ConstBlock source,
                 MacroblockPredictions &predictions, uint32_t (&costs)[kChromaModes]);

}  // namespace cudaenc::h264
