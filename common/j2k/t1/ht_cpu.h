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

}  // namespace cudaenc::j2k
