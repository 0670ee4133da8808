// SPDX-License-Identifier: LGPL-2.1-or-later
// The interface of a block decoder: codeword segments of a code-block to coefficients. Tier-2 and the pipelines know
// the MQ decoder (T.800 Annexes C, D) and the HT decoder (T.814) by this header alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "../codestream/tables.h"

namespace cudaenc::j2k {

// A decoded coefficient: bit 31 is the sign, below it lies twice the magnitude, in the middle of what it can be. So the
// lowest bit stands for a half. 0: not significant.
constexpr int kMaxDecodedPlanes = kMaxPlanes - 1;

// The coding passes of a codeword segment, and its bytes. Those of the HT coder have a cleanup pass, behind placeholder
// passes of the first one, or the one or two refinement passes that follow it.
struct CodewordSegment {
    uint32_t passes, bytes;
};

// A block as its packets have it.
struct BlockToDecode {
    int width, height;
    int orientation;
    uint32_t style;  // of code-blocks
    int planes;      // magnitude bit-planes from the first that is coded: M_b less the zero ones
    std::span<const CodewordSegment> segments;  // their bytes lie one behind the other
    const uint8_t *bytes;
};

// Where a block's coefficients go, all of which are written: rows of `stride`.
struct BlockSamples {
    uint32_t *coefficients;
    size_t stride;
};

// Decode a block. False: its bytes are damaged, or it has more than kMaxDecodedPlanes; coefficients are then what was
// decoded before the damage showed.
bool decode_mq_block(const BlockToDecode &block, const BlockSamples &to);
bool decode_ht_block(const BlockToDecode &block, const BlockSamples &to);

}  // namespace cudaenc::j2k
