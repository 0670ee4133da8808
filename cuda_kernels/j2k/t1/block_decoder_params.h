// SPDX-License-Identifier: LGPL-2.1-or-later
// What the kernels of the block decoders work on, and their parameters.
#pragma once
#include "../../../common/j2k/t1/context_tables.h"
#include "../../../common/j2k/t1/ht_decoder.h"
#include "../../../common/j2k/t1/mq.h"
#include "../../../common/kernel_name.h"

namespace cudaenc::j2k {

// A codeword segment: bytes [at, at + bytes) of CodedBlocks::bytes. See CodewordSegment.
struct DecoderSegment {
    uint32_t at, bytes, passes;
};

// A code-block as its packets have it: see BlockToDecode. A block that no packet includes has no segments.
struct DecoderBlock {
    uint64_t coefficients;             // index of its first one
    uint32_t stride;                   // coefficients from a row to the next
    uint32_t first_segment;            // of CodedBlocks::segments
    uint16_t segments, width, height;  // at most 4096 samples
    uint8_t orientation, style;        // of code-blocks; of HT blocks with kHt or without
    int16_t planes;                    // M_b less the zero ones
    uint16_t reserved[3];
};
static_assert(sizeof(DecoderBlock) == 32);

// The blocks of a picture for one of the decoders, all in device memory. `bytes` can be read in whole words of four:
// the codestream, and behind it the segments that packets cut into pieces, joined. `damaged` counts the blocks for
// which decode_mq_block() or decode_ht_block() returns false.
struct CodedBlocks {
    const uint8_t *bytes;  // aligned to 4
    const DecoderSegment *segments;
    const DecoderBlock *blocks;  // [*count]: those with the most work first, see most_work_first()
    const uint32_t *count;
    uint32_t *coefficients;  // those of the blocks are written, all of them
    uint32_t *damaged;       // is added to
};

// MQ decoding: a lane a block. Samples go by words: bit 4 x + y is row y of column x, 4 rows and 8 columns, in the
// order of the scan (T.800 Figure D.1). Grid: ceil(blocks / lanes), of kMqDecodeThreads.
constexpr int kMqDecodeThreads = 32;
constexpr int kMqDecodeWords = 32, kMqDecodeMostWords = 256;  // of a block: 32 x 32, 4 x 1024
constexpr int kMqDecodeLanes = 32, kMqDecodeLargeLanes = 16;  // that are there for one
CUDAENC_HD constexpr uint32_t decoder_words(uint32_t width, uint32_t height) {
    return (width + 7) / 8 * ((height + 3) / 4);
}
struct MqDecodeTables {
    ContextTables contexts;
    MqTable rows;
};
struct MqDecodeInput {
    CodedBlocks coded;
    const MqDecodeTables *tables;
    uint32_t *planes;  // [warp][mq_planes_words()]
    int32_t lanes;     // of a warp that take a block
    uint32_t most_words;
    int32_t most_planes;  // of a block; others count as damaged
};
using MqDecodeParams = KernelOf<MqDecodeInput, "j2k/t1/mq_decode", "j2k_t1_mq_decode">;
using MqDecodeLargeParams = KernelOf<MqDecodeInput, "j2k/t1/mq_decode", "j2k_t1_mq_decode_large">;
// Of each lane's words: what is visited, what is refined, and the bit-planes.
CUDAENC_HD constexpr uint64_t mq_planes_words(int lanes, uint32_t most_words, int most_planes) {
    return static_cast<uint64_t>(lanes) * most_words * static_cast<uint32_t>(most_planes + 2);
}

CUDAENC_HD constexpr uint32_t decoder_quads(uint32_t width, uint32_t height) {
    return (width + 1) / 2 * ((height + 1) / 2);
}
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
