// SPDX-License-Identifier: LGPL-2.1-or-later
// Tier-1 on the CPU: context modelling, then the MQ coder, two blocks in turns.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "block.h"
#include "stop.h"

namespace cudaenc::j2k {

// Context modelling of a block's bit-planes, contexts bit-sliced over 16 columns of a stripe. Makes the (CX,D) symbols
// of all coded passes, in order. A symbol is a byte: context << 1 | decision; in raw passes the decision alone.
// symbols: as many as room_layout() has room for; symbol_ends[pass]: how many up to the end of the pass. reductions:
// [pass]; nullptr: passes are not measured. coefficients: as quantise() makes them; block.coefficients counts from
// their first. memory: of scratch_words() words. Returns planes, passes and estimated bytes.
CodedBlock model_block(const uint32_t *coefficients, const CodeBlock &block, const BlockCoding &coding,
                       uint8_t *symbols, uint32_t *symbol_ends, int32_t *reductions, const StopRule &stop,
                       uint64_t *memory);

// Codes blocks. Appends the codeword segments of blocks[i] to `bytes`, at offsets[i]; of truncatable blocks with
// kTerminationSlack bytes behind each. points: of the first block on; stops: [block], nullptr: none.
void code_blocks(std::span<const CodeBlock> blocks, const uint32_t *coefficients, const BlockCoding &coding,
                 int max_passes, const TruncationPoints &points, std::vector<uint8_t> &bytes, uint32_t *offsets,
                 CodedBlock *coded, const StopRule *stops = nullptr);

}  // namespace cudaenc::j2k
