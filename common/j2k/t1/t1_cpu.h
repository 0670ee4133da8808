// Tier-1 on the CPU: context modelling, then the MQ coder, two blocks in turns. SPDX-License-Identifier:
// LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "block.h"
#include "stop.h"

namespace cudaenc::j2k {

// Codes blocks. Appends the codeword segments of blocks[i] to `bytes`, at offsets[i]; where blocks are truncatable each
// is followed by kTerminationSlack bytes. points: of the first block on; stops: [block], nullptr: none.
void code_blocks(std::span<const CodeBlock> blocks, const uint32_t *coefficients, const BlockCoding &coding,
                 int max_passes, const TruncationPoints &points, std::vector<uint8_t> &bytes, uint32_t *offsets,
                 CodedBlock *coded, const StopRule *stops = nullptr);

}  // namespace cudaenc::j2k
