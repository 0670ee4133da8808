// SPDX-License-Identifier: LGPL-2.1-or-later
// HT block coding on a device, and its parameters.
#pragma once
#include "../../../common/j2k/t1/block.h"
#include "../../../common/j2k/t1/ht.h"
#include "../../../common/j2k/t1/ht_codes.h"
#include "../../../common/kernel_name.h"

namespace cudaenc::j2k {

// A warp a block. Of blocks of at most 1024 samples kHtWarps share a thread-block, of larger ones kHtLargeWarps. Grid:
// ceil(count / warps).
constexpr int kHtWarps = 8, kHtLargeWarps = 4;
struct HtInput {
    const CodeBlock *blocks;       // [count]
    const uint32_t *coefficients;  // CodeBlock::coefficients
    const HtCodes *codes;
    BlockRecords coded;  // codewords, planes, passes; bytes, of truncatable blocks pass_bytes and reductions
    uint32_t count;
    bool is_short;  // coefficients are int16_t, quantisation indices, in the same places
};
using HtParams = KernelOf<HtInput, "j2k/t1/ht", "j2k_t1_ht">;
using HtLargeParams = KernelOf<HtInput, "j2k/t1/ht", "j2k_t1_ht_large">;
using HtShortParams = KernelOf<HtInput, "j2k/t1/ht", "j2k_t1_ht_short">;  // where is_short
using HtShortLargeParams = KernelOf<HtInput, "j2k/t1/ht", "j2k_t1_ht_short_large">;

// Of truncatable blocks. chosen: [block], nullptr: codes the likeliest pass of three, by stop->slope, or measures all,
// each codeword in place of the one before; else the codewords of so many passes of the records go to the rooms,
// where they are not there, and their bytes to the records and to chosen_bytes. Grid: as above; of chosen passes
// ceil(count / kHtChosenBlocks), since few are not there.
constexpr uint32_t kHtChosenBlocks = 128;
struct HtTruncatedInput {
    HtInput ht;
    const BandCoding *bands;
    const StopSlope *stop;
    const uint8_t *chosen;
    uint32_t *chosen_bytes;  // [block]
    uint8_t *coded_planes;   // [block]: the lowest bit-plane of what is in the room
    int32_t max_passes;
};
using HtTruncatedParams = KernelOf<HtTruncatedInput, "j2k/t1/ht", "j2k_t1_ht_truncated">;
using HtTruncatedLargeParams = KernelOf<HtTruncatedInput, "j2k/t1/ht", "j2k_t1_ht_truncated_large">;

// The likeliest pass of each, by a rule of one plane (HtRule::one_plane) and a slope; coefficients are short.
struct HtOnePlaneInput {
    HtTruncatedInput truncated;
};
using HtOnePlaneParams = KernelOf<HtOnePlaneInput, "j2k/t1/ht", "j2k_t1_ht_one_plane">;
using HtOnePlaneLargeParams = KernelOf<HtOnePlaneInput, "j2k/t1/ht", "j2k_t1_ht_one_plane_large">;

}  // namespace cudaenc::j2k
