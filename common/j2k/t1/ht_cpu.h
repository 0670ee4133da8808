// HT block coding on the CPU. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "block.h"

namespace cudaenc::j2k {

// Codes blocks with the style kHt, otherwise as code_blocks(). passes: [block], nullptr: a cleanup pass of all
// bit-planes, and the block's record. Else that many passes of the record in `coded`, which measure_ht_blocks() made.
void code_ht_blocks(std::span<const CodeBlock> blocks, const uint32_t *coefficients, const uint8_t *passes,
                    std::vector<uint8_t> &bytes, uint32_t *offsets, CodedBlock *coded);

// Measures truncation points: the records of blocks, without their codewords. points, stops: see code_blocks(). Passes
// above those that are worth a trial have no bytes and no reduction.
void measure_ht_blocks(std::span<const CodeBlock> blocks, const uint32_t *coefficients, int max_passes,
                       const TruncationPoints &points, CodedBlock *coded, const StopRule *stops);

}  // namespace cudaenc::j2k
