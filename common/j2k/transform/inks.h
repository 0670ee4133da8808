// SPDX-License-Identifier: LGPL-2.1-or-later
// From cyan, magenta, yellow and black to red, green, blue and opacity (T.801, Annex M: 0 is no ink).
#pragma once
#include <cstdint>

#include "../../hd.h"

namespace cudaenc::j2k {

// Planes of four inks, which become light in place: samples of `depth` bits, shifted, in words of 1 or 2 bytes.
struct InkPlanes {
    uint8_t *data[4];
    int64_t stride[4];  // bytes
    int32_t width, height;
    int32_t depth, shift;

    CUDAENC_HD bool wide() const { return depth + shift > 8; }
    CUDAENC_HD uint32_t get(int plane, int x, int y) const {
        const uint8_t *row = data[plane] + y * stride[plane];
        if (!wide()) return row[x] >> shift;
        uint16_t word;
        __builtin_memcpy(&word, row + 2 * static_cast<int64_t>(x), sizeof word);
        return word >> shift;
    }
    CUDAENC_HD void put(int plane, int x, int y, uint32_t sample) const {
        uint8_t *row = data[plane] + y * stride[plane];
        if (!wide()) {
            row[x] = static_cast<uint8_t>(sample << shift);
            return;
        }
        const auto word = static_cast<uint16_t>(sample << shift);
        __builtin_memcpy(row + 2 * static_cast<int64_t>(x), &word, sizeof word);
    }
};

// A pixel: what an ink and black let through, rounded to the nearest; opaque.
CUDAENC_HD void inks_to_light(const InkPlanes &planes, int x, int y) {
    const uint32_t most = (1u << planes.depth) - 1, through = most - planes.get(3, x, y);
    for (int c = 0; c < 3; c++) planes.put(c, x, y, ((most - planes.get(c, x, y)) * through + most / 2) / most);
    planes.put(3, x, y, most);
}

}  // namespace cudaenc::j2k
