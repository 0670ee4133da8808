// SPDX-License-Identifier: LGPL-2.1-or-later
#include "compact.h"

#include "../common/error.h"
#include "compact_params.h"

namespace cudaenc {

size_t prefix_sum_partials(uint32_t n) { return n ? (size_t{n} - 1) / prefix_sum_tile + 1 : 1; }

void prefix_sum(Device &device, Device::Stream stream, const uint32_t *sizes, uint64_t *offsets, uint32_t n,
                uint64_t *partials) {
    if (n > uint32_t{1} << 26) throw Error(CUDAENC_ERR_INTERNAL, format_string("a prefix sum of %u sizes", n));
    const Grid tiles{static_cast<unsigned>(prefix_sum_partials(n))};
    if (tiles.x > 1)  // nothing comes before a single tile
        device.launch(stream, tiles, prefix_sum_threads,
                      PrefixSumPartialsParams{.sizes = sizes, .partials = partials, .n = n});
    device.launch(stream, tiles, prefix_sum_threads,
                  PrefixSumOffsetsParams{.sizes = sizes, .partials = partials, .offsets = offsets, .n = n});
}

}  // namespace cudaenc
