// SPDX-License-Identifier: LGPL-2.1-or-later
// What the colour specification box of a JP2 file says (T.800 I.5.3.3).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "../cudaenc.h"

namespace cudaenc::j2k {

struct Jp2Colour {
    int enumerated;            // EnumCS: 16 sRGB, 17 greyscale, 18 sYCC
    std::vector<uint8_t> icc;  // a restricted profile in place of that
    std::string untrue;        // what the box does not say of the samples, in words; mostly empty
};
// model: of what is coded; format: its range and colours.
Jp2Colour jp2_colour(const CudaencFormat &format, CudaencColorModel model);

}  // namespace cudaenc::j2k
