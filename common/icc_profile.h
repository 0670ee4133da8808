// SPDX-License-Identifier: LGPL-2.1-or-later
// ICC profiles that come with frames.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "error.h"

namespace cudaenc {

// Whether it is a profile of that data colour space, four letters of ICC.1 7.2.6.
inline bool icc_profile_is_of(const uint8_t *profile, size_t size, const char *color_space) {
    return size >= 128 && !std::memcmp(profile + 16, color_space, 4);
}

// Why a picture has none of the frame's profile, in a line; empty: it has it, or there is none. color_space: what is
// written; nullptr: none is, for these samples.
inline std::string icc_profile_left_out(const uint8_t *profile, size_t size, const char *color_space) {
    if (!size || (color_space && icc_profile_is_of(profile, size, color_space))) return {};
    const std::string line = format_string("the frame's ICC profile of %zu bytes is left out: ", size);
    if (size < 128) return line + "its header alone has 128";
    if (!color_space) return line + "the file takes none for YUV and XYZ samples";
    std::string is(reinterpret_cast<const char *>(profile) + 16, 4);
    for (char &letter : is)
        if (letter < ' ' || letter > '~') letter = '?';
    return line + format_string("its colour space is '%s', that of the samples '%s'%s", is.c_str(), color_space,
                                is == "CMYK" ? ": they were converted, without the profile" : "");
}

// Whether it has curves alone, or a matrix and curves, but no tables (A2B0 to A2B2, ICC.1 9.2); of an input device
// (`scnr`) or a display (`mntr`). A profile that is cut off has what is there.
inline bool icc_profile_is_matrix_based(const uint8_t *profile, size_t size) {
    if (size < 132) return false;
    if (std::memcmp(profile + 12, "scnr", 4) != 0 && std::memcmp(profile + 12, "mntr", 4) != 0) return false;
    const uint8_t *const count = profile + 128;
    const size_t tags = size_t{count[0]} << 24 | size_t{count[1]} << 16 | size_t{count[2]} << 8 | size_t{count[3]};
    for (size_t i = 0; i < tags && 132 + 12 * (i + 1) <= size; i++)
        if (!std::memcmp(profile + 132 + 12 * i, "A2B", 3)) return false;
    return true;
}

}  // namespace cudaenc
