// Context modelling on the CPU: a block's bit-planes to (CX,D) symbols, contexts bit-sliced over 16 columns of a
// stripe. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "block.h"
#include "stop.h"

namespace cudaenc::j2k {

// The symbols of all passes that are coded, in order: a byte is context << 1 | decision; in raw passes the decision
// alone. symbols: as many as slot_layout() has room for; symbol_ends[pass]: how many up to the end of the pass.
// reductions: [pass], nullptr: passes are not measured. coefficients: as quantise() makes them; block.coefficients
// counts from their first. memory: of scratch_words() words. Returns planes and passes, and the estimate of the bytes.
CodedBlock model_block(const uint32_t *coefficients, const CodeBlock &block, uint32_t style, uint8_t *symbols,
                       uint32_t *symbol_ends, int32_t *reductions, const StopRule &stop, uint64_t *memory);

}  // namespace cudaenc::j2k
