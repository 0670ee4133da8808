// HT block coding on the CPU. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "block.h"

namespace cudaenc::j2k {

// Codes blocks with the style kHt: a cleanup pass of all bit-planes. Otherwise as code_blocks().
void code_ht_blocks(std::span<const CodeBlock> blocks, const uint32_t *coefficients, std::vector<uint8_t> &bytes,
                    uint32_t *offsets, CodedBlock *coded);

// ... of truncatable blocks: the codewords of all passes of a record lie one behind the other. points, stops: see
// code_blocks(). Passes above those that are worth a trial have no bytes and no reduction.
void code_truncatable_ht_blocks(std::span<const CodeBlock> blocks, const uint32_t *coefficients, int max_passes,
                                const TruncationPoints &points, std::vector<uint8_t> &bytes, uint32_t *offsets,
                                CodedBlock *coded, const StopRule *stops);

}  // namespace cudaenc::j2k
