// SPDX-License-Identifier: LGPL-2.1-or-later
#include "xyz_cpu.h"

#include <cstddef>
#include <vector>

#include "../../load_cpu.h"
#include "../../simd.h"

namespace cudaenc::j2k {

namespace {

CUDAENC_CLONES void convert(const XyzConversion &conversion, const float *__restrict c0, const float *__restrict c1,
                            const float *__restrict c2, int count, uint16_t *__restrict x, uint16_t *__restrict y,
                            uint16_t *__restrict z) {
    for (int i = 0; i < count; i++) {
        float v[3] = {c0[i], c1[i], c2[i]};
        to_xyz(conversion, v);
        x[i] = static_cast<uint16_t>(v[0]), y[i] = static_cast<uint16_t>(v[1]), z[i] = static_cast<uint16_t>(v[2]);
    }
}

}  // namespace

void load_xyz_row(const XyzConversion &c, const SampleLayout *layout, int width, int height, int y, uint16_t *planes) {
    static thread_local std::vector<float> samples;
    const size_t columns = static_cast<size_t>(width), stride = static_cast<size_t>(xyz_stride(width)),
                 plane = stride * static_cast<size_t>(height);
    if (samples.size() < 3 * columns) samples.resize(3 * columns);
    for (int i = 0; i < 3; i++) {
        float *row = &samples[columns * static_cast<size_t>(i)];
        if (i && c.is_yuv && (c.log2_subsample_x || c.log2_subsample_y)) {
            for (int x = 0; x < width; x++) row[x] = load_chroma(c, layout[i], width, height, x, y);
        } else {
            load_row(layout[i], 0, y, width, row);
            const float origin = static_cast<float>(1 << (layout[i].depth - 1));
            for (int x = 0; x < width; x++) row[x] += origin;
        }
    }
    uint16_t *to = planes + stride * static_cast<size_t>(y);
    convert(c, samples.data(), &samples[columns], &samples[2 * columns], width, to, to + plane, to + 2 * plane);
}

}  // namespace cudaenc::j2k
