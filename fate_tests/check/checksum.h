// SPDX-License-Identifier: LGPL-2.1-or-later
// A checksum of samples.
#pragma once
#include <cstdint>

namespace cudaenc::testing {

struct Checksum {  // FNV-1a
    uint64_t value = 0xCBF29CE484222325u;
    void add(uint16_t sample) {
        for (int shift : {0, 8}) value = (value ^ (sample >> shift & 255)) * 0x100000001B3u;
    }
};

}  // namespace cudaenc::testing
