// The planes of a picture, in host or device memory. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <algorithm>
#include <cstddef>

#include "cudaenc.h"
#include "load.h"

namespace cudaenc {

// The samples of a component in its plane, which begins at `plane`.
inline SampleLayout layout_of(const CudaencComponent &k, const uint8_t *plane, int64_t stride) {
    return {.data = plane + k.offset, .stride = stride, .step = k.step, .shift = k.shift, .depth = k.depth};
}

// The part of a plane that components use; 0 rows: none does.
struct PlaneSize {
    size_t row_bytes, rows;
};
inline PlaneSize plane_size(const CudaencFormat &format, int plane) {
    PlaneSize size{};
    for (int c = 0; c < format.components; c++) {
        const CudaencComponent &k = format.component[c];
        if (k.plane != plane) continue;
        const size_t width = (static_cast<size_t>(format.width - 1) >> k.log2_subsample_x) + 1,
                     height = (static_cast<size_t>(format.height - 1) >> k.log2_subsample_y) + 1;
        size.row_bytes = std::max(size.row_bytes, k.offset + k.step * (width - 1) + (k.depth + k.shift > 8 ? 2 : 1));
        size.rows = std::max(size.rows, height);
    }
    return size;
}

}  // namespace cudaenc
