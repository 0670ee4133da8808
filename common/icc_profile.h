// ICC profiles that come with frames. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cudaenc {

// Whether it is a profile of that data colour space, four letters of ICC.1 7.2.6.
inline bool icc_profile_is_of(const uint8_t *profile, size_t size, const char *color_space) {
    return size >= 128 && !std::memcmp(profile + 16, color_space, 4);
}

}  // namespace cudaenc
