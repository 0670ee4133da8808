// SPDX-License-Identifier: LGPL-2.1-or-later
// The planes of a picture, in host or device memory.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cudaenc.h"
#include "error.h"
#include "load.h"
#include "option_checks.h"

namespace cudaenc {

// The samples of a component in its plane, which begins at `plane`.
inline SampleLayout layout_of(const CudaencComponent &k, const uint8_t *plane, int64_t stride) {
    return {.data = plane + k.offset, .stride = stride, .step = k.step, .shift = k.shift, .depth = k.depth};
}

// Of more components than a format has descriptions they are alike, each in a plane of its own.
constexpr int kDescribedComponents = 4;
inline CudaencComponent component_of(const CudaencFormat &format, int c) {
    if (format.components <= kDescribedComponents) return format.component[c];
    CudaencComponent k = format.component[0];
    k.plane = c;
    return k;
}

// A plane of a frame.
struct FramePlane {
    const uint8_t *data;
    ptrdiff_t stride;
};
inline FramePlane plane_of(const CudaencFrame &frame, int plane) {
    return frame.plane_data ? FramePlane{frame.plane_data[plane], frame.plane_stride[plane]}
                            : FramePlane{frame.data[plane], frame.stride[plane]};
}

// The part of a plane that components use; 0 rows: none does.
struct PlaneSize {
    size_t row_bytes, rows;
};
inline PlaneSize plane_size(const CudaencFormat &format, int plane) {
    PlaneSize size{};
    const bool alike = format.components > kDescribedComponents;
    for (int c = alike ? plane : 0; c < (alike ? plane + 1 : format.components); c++) {
        const CudaencComponent k = component_of(format, c);
        if (k.plane != plane) continue;
        const size_t width = (static_cast<size_t>(format.width - 1) >> k.log2_subsample_x) + 1,
                     height = (static_cast<size_t>(format.height - 1) >> k.log2_subsample_y) + 1;
        size.row_bytes = std::max(size.row_bytes, k.offset + k.step * (width - 1) + (k.depth + k.shift > 8 ? 2 : 1));
        size.rows = std::max(size.rows, height);
    }
    return size;
}

// The samples of all components.
inline uint64_t sample_count(const CudaencFormat &format) {
    uint64_t count = 0;
    for (int c = 0; c < format.components; c++) {
        const CudaencComponent k = component_of(format, c);
        count += ((static_cast<uint64_t>(format.width - 1) >> k.log2_subsample_x) + 1) *
                 ((static_cast<uint64_t>(format.height - 1) >> k.log2_subsample_y) + 1);
    }
    return count;
}

// Throws Error(CUDAENC_ERR_INVALID) where rows of a plane would lie in each other. The stride of a single row means
// nothing, but for pictures whose depth the caller may not expect.
enum class Rows { several, any };
inline void check_stride(const CudaencFormat &format, int plane, ptrdiff_t stride, Rows rows = Rows::several) {
    const PlaneSize size = plane_size(format, plane);
    if ((size.rows > 1 || rows == Rows::any) && static_cast<size_t>(stride < 0 ? -stride : stride) < size.row_bytes)
        refuse(
            format_string("stride %td of plane %d is not allowed: a row has %zu bytes", stride, plane, size.row_bytes));
}

}  // namespace cudaenc
