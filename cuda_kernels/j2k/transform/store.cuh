// SPDX-License-Identifier: LGPL-2.1-or-later
// What kernels of the inverse transform share: a warp's work, and samples to planes.
#pragma once
#include "../../../common/j2k/transform/dequantise.h"
#include "../../device.cuh"
#include "idwt_params.h"

namespace cudaenc::j2k {

template <class Sample>
DEVICE Sample value_of(uint32_t word) {
    Sample value;
    static_assert(sizeof value == sizeof word);
    __builtin_memcpy(&value, &word, sizeof value);
    return value;
}

// What a warp of the launch works on, and which of that work's warps it is.
struct WarpWork {
    const InverseWork *work;
    int number;
};
DEVICE uint32_t launch_warp() { return static_cast<uint32_t>(block_x() * (kDwtThreads / 32) + warp_id()); }
DEVICE WarpWork find_work(const InverseLaunchInput &p, uint32_t warp) {
    uint32_t first = 0, beyond = p.works;  // the last one that begins at the warp or before is in [first, beyond)
    while (beyond - first > 1) {
        const uint32_t middle = (first + beyond) / 2;
        (p.work[middle].first_warp <= warp ? first : beyond) = middle;
    }
    return {p.work + first, static_cast<int>(warp - p.work[first].first_warp)};
}

template <class Word>
struct alignas(2 * sizeof(Word)) Two {
    Word first, second;
};

// A sample to all channels of its component.
DEVICE void store_sample(const ChannelLayout *channels, const InverseWork &w, int x, int y, int32_t sample) {
    for (uint32_t i = w.first_channel; i < w.last_channel; i++) {
        const ChannelLayout &to = channels[i];
        uint8_t *at = to.data + (y - w.plane_y0) * to.stride + int64_t{x - w.plane_x0} * to.step;
        const uint32_t word = to.word_of(sample);
        if (to.wide())
            *reinterpret_cast<uint16_t *>(at) = static_cast<uint16_t>(word);
        else
            *at = static_cast<uint8_t>(word);
    }
}

}  // namespace cudaenc::j2k
