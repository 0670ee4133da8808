// SPDX-License-Identifier: LGPL-2.1-or-later
// From a codestream of Part 1 to one of Part 15 (HT), and back, by coefficients: no wavelet, no samples.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../thread_pool.h"

namespace cudaenc::j2k {

struct Recoded {
    std::vector<uint8_t> codestream;  // or packet
    std::string note;                 // what it does not keep; mostly empty
};

// Codes the blocks of a codestream anew, by the HT coder or by the MQ coder, without style but for vertically causal
// contexts. Headers stay but for what tells of the coder; each tile becomes a tile-part. Coefficients stay the same,
// with what is known of each: a block that ends within a bit-plane does so again. A block goes to the last layer that
// had bytes of it. Throws Error: CUDAENC_ERR_INVALID where headers, packets or blocks are damaged,
// CUDAENC_ERR_UNSUPPORTED for more than 100 layers.
Recoded recode(std::span<const uint8_t> codestream, bool to_ht, ThreadPool &pool);

// Of a JP2 or JPH file too, whose other boxes stay, but for its brand; or of the two fields of a frame.
Recoded recode_packet(std::span<const uint8_t> packet, bool to_ht, ThreadPool &pool);

}  // namespace cudaenc::j2k
