// SPDX-License-Identifier: LGPL-2.1-or-later
// HT decoding on a device: its parameters.
#pragma once
#include "../../../common/j2k/t1/ht_decoder.h"
#include "../../../common/kernel_name.h"
#include "block_decoder_params.h"

namespace cudaenc::j2k {

// HT decoding, MEL and VLC: a lane a block. Leaves a word a quad, see HtQuad. Grid: ceil(blocks / vlc_lanes), of
// kHtVlcThreads.
constexpr int kHtVlcThreads = 32;
struct HtDecodeInput {
    CodedBlocks coded;
    const HtDecodeTables *tables;
    uint32_t *quads;  // [block][1 + most_quads]: whether the block is whole, then its quads, row by row
    uint32_t most_quads;
    int32_t vlc_lanes;  // of a warp that take a block
};
using HtVlcParams = KernelOf<HtDecodeInput, "j2k/t1/ht_decode", "j2k_t1_ht_vlc">;
// MagSgn and the refinement passes, a lane a quad: half a warp a block of up to kHtSamplesQuads, a warp a larger one.
// Grid: ceil(blocks / (2 kHtSampleWarps)), or ceil(blocks / kHtSampleWarps).
constexpr int kHtSampleWarps = 4;
constexpr uint32_t kHtSamplesQuads = 256;
using HtSamplesParams = KernelOf<HtDecodeInput, "j2k/t1/ht_decode", "j2k_t1_ht_samples">;
using HtSamplesLargeParams = KernelOf<HtDecodeInput, "j2k/t1/ht_decode", "j2k_t1_ht_samples_large">;

}  // namespace cudaenc::j2k
