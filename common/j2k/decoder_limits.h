// SPDX-License-Identifier: LGPL-2.1-or-later
// What common decoders get wrong.
#pragma once
#include <string>

#include "params.h"

namespace cudaenc::j2k {

// A line that names the decoders, of FFmpeg's jpeg2000 and OpenJPEG, that are known to fail on these streams, and why;
// mostly empty. docs/encoders.md has versions and other decoders, fate_tests/interop/misread.py a case of each.
// Throws what make_geometry() does.
std::string decoder_warning(const Params &params);

}  // namespace cudaenc::j2k
