// SPDX-License-Identifier: LGPL-2.1-or-later
// What the kernels of both block decoders work on.
#pragma once
#include <cstdint>

#include "../../../common/hd.h"

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
    uint8_t orientation, style;        // of code-blocks
    int16_t planes;                    // M_b less the zero ones
    uint16_t reserved[3];
};
static_assert(sizeof(DecoderBlock) == 32);

// How many lanes of a warp take a block: of the blocks, in their order, `blocks[i]` by warps that take 1 << i each.
// Long blocks get warps of few lanes, which wait less for each other.
constexpr int kLaneShares = 6;
struct LaneShares {
    uint32_t blocks[kLaneShares];
};

// The blocks of a picture for one of the decoders, all in device memory. `bytes` can be read in whole words of four:
// the codestream, or the bytes of segments, joined. `damaged` counts the blocks for which decode_mq_block() or
// decode_ht_block() returns false.
struct CodedBlocks {
    const uint8_t *bytes;  // aligned to 4
    const DecoderSegment *segments;
    const DecoderBlock *blocks;  // [*count]: those with the most work first, see decode_class()
    const uint32_t *count;
    const LaneShares *lanes;  // of the MQ decoder: MqBlockDecoder::share_lanes(), together *count blocks
    uint32_t *coefficients;   // those of the blocks are written, all of them
    uint32_t *damaged;        // is added to
};

// Words of 8 x 4 samples, and quads.
CUDAENC_HD constexpr uint32_t decoder_words(uint32_t width, uint32_t height) {
    return (width + 7) / 8 * ((height + 3) / 4);
}
CUDAENC_HD constexpr uint32_t decoder_quads(uint32_t width, uint32_t height) {
    return (width + 1) / 2 * ((height + 1) / 2);
}

}  // namespace cudaenc::j2k
