// SPDX-License-Identifier: LGPL-2.1-or-later
// HT decoding on a device: its parameters.
#pragma once
#include "../../../common/j2k/t1/ht_decoder.h"
#include "../../../common/kernel_name.h"
#include "block_decoder_params.h"

namespace cudaenc::j2k {

// HT decoding, MEL and VLC: a lane a block. Leaves a word a quad, see HtQuad. Grid: ceil(blocks / kHtVlcThreads).
constexpr int kHtVlcThreads = 32;
struct HtDecodeInput {
    CodedBlocks coded;
    const HtDecodeTables *tables;
    uint32_t *quads;  // [block][1 + most_quads]: whether the block is whole, then its quads, row by row
    uint32_t most_quads;
};
struct HtVlcParams : HtDecodeInput {
    static constexpr KernelName kernel{"j2k/t1/ht_decode", "j2k_t1_ht_vlc"};
};
// MagSgn and the refinement passes: a warp a block, a lane a quad. Grid: ceil(blocks / kHtSampleWarps).
constexpr int kHtSampleWarps = 4;
struct HtSamplesParams : HtDecodeInput {
    static constexpr KernelName kernel{"j2k/t1/ht_decode", "j2k_t1_ht_samples"};
};

}  // namespace cudaenc::j2k
