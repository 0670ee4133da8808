// SPDX-License-Identifier: LGPL-2.1-or-later
// HT block coding on the CPU.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "block.h"
#include "ht.h"

namespace cudaenc::j2k {

// Codes blocks with the style kHt: a cleanup pass of all bit-planes. Otherwise as code_blocks().
void code_ht_blocks(std::span<const CodeBlock> blocks, const uint32_t *coefficients, std::vector<uint8_t> &bytes,
                    uint32_t *offsets, CodedBlock *coded);

// ... of truncatable blocks: the codeword of a pass that is likely to be chosen, or none. points: see code_blocks();
// rules: [block]. Without a slope records have all passes as they are; else those near it, of which the codeword's has
// its bytes and others have estimates; passes above have no bytes and no reduction. whole, without a slope: blocks are
// truncated nowhere, and the last pass alone has its bytes.
void code_truncatable_ht_blocks(std::span<const CodeBlock> blocks, const uint32_t *coefficients, int max_passes,
                                const TruncationPoints &points, std::vector<uint8_t> &bytes, uint32_t *offsets,
                                CodedBlock *coded, const HtRule *rules, bool whole);

// Adds the codewords of blocks that have so many passes of their records, where they are not there. passes: [block];
// coded: CodedBlock::bytes and codeword_passes change; rules: as there.
void code_chosen_ht_blocks(std::span<const CodeBlock> blocks, const uint32_t *coefficients, const uint8_t *passes,
                           std::vector<uint8_t> &bytes, uint32_t *offsets, CodedBlock *coded, const HtRule *rules);

}  // namespace cudaenc::j2k
