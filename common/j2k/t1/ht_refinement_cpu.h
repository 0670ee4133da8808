// SPDX-License-Identifier: LGPL-2.1-or-later
// The passes that refine an HT cleanup pass by a part of the bit-plane below it (ITU-T T.814 7.4, 7.5), on the CPU.
#pragma once
#include <cstdint>
#include <vector>

#include "../codestream/tables.h"

namespace cudaenc::j2k {

// Appends the segment of a block's refinement passes. coefficients: as quantise() makes them; block.coefficients counts
// from their first. The cleanup pass has all bit-planes but the lowest. passes: 1: of the lowest the significance
// propagation; 2: the magnitude refinement too. causal: contexts know nothing of the next stripe. Returns its bytes.
uint32_t code_ht_refinement(const uint32_t *coefficients, const CodeBlock &block, int passes, bool causal,
                            std::vector<uint8_t> &bytes);

}  // namespace cudaenc::j2k
