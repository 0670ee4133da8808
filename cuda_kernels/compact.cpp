// SPDX-License-Identifier: LGPL-2.1-or-later
#include "compact.h"

#include <algorithm>

#include "../common/error.h"

namespace cudaenc {

size_t prefix_sum_partials(uint32_t n) { return n ? (size_t{n} - 1) / prefix_sum_tile + 1 : 1; }

void prefix_sum(Device &device, Device::Stream stream, std::initializer_list<PrefixSumArray> arrays, uint32_t n,
                uint64_t *partials) {
    if (n > uint32_t{1} << 26) throw Error(CUDAENC_ERR_INTERNAL, format_string("a prefix sum of %u sizes", n));
    const Grid tiles{static_cast<unsigned>(prefix_sum_partials(n)), static_cast<unsigned>(arrays.size())};
    PrefixSumPartialsParams sums{.arrays = {}, .partials = partials, .n = n};
    PrefixSumOffsetsParams offsets{.arrays = {}, .partials = partials, .n = n};
    std::copy(arrays.begin(), arrays.end(), sums.arrays);
    std::copy(arrays.begin(), arrays.end(), offsets.arrays);
    if (tiles.x > 1) device.launch(stream, tiles, prefix_sum_threads, sums);  // else nothing comes before a tile
    device.launch(stream, tiles, prefix_sum_threads, offsets);
}

}  // namespace cudaenc
