// SPDX-License-Identifier: LGPL-2.1-or-later
// From markers to a description: main header and headers of tile-parts (T.800 Annex A).
#pragma once
#include <cstdint>
#include <span>

#include "description.h"

namespace cudaenc::j2k {

// codestream: from SOC on. Its last tile-part may be cut. Throws Error(CUDAENC_ERR_INVALID) where headers are damaged,
// with the byte, or Error(CUDAENC_ERR_UNSUPPORTED) where they need another part of the standard than 1 and 15.
Description read_headers(std::span<const uint8_t> codestream);

}  // namespace cudaenc::j2k
