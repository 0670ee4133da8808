// SPDX-License-Identifier: LGPL-2.1-or-later
// The boxes of a JP2 file (T.800 Annex I).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "params.h"

namespace cudaenc::j2k {

// The boxes before a codestream of `codestream` bytes: signature, file type, header with colour, and the head of the
// codestream's box. Empty unless params.jp2. Ignores a profile of other colours.
std::vector<uint8_t> make_jp2_boxes(const Params &params, const CudaencFrame &frame, uint64_t codestream);
// What of the frame's metadata the packet has not, or has and a JP2 file must not have, in a line; mostly empty.
std::string metadata_warning(const Params &params, const CudaencFrame &frame);

}  // namespace cudaenc::j2k
