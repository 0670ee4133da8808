// SPDX-License-Identifier: LGPL-2.1-or-later
// Planes as they are coded to those of a usual format, or of RGB.
#include "../device.cuh"
#include "upsample_params.h"

namespace cudaenc::mjpeg {

namespace {

DEVICE int upsampled_sample(const UpsampledPlane &plane, int x, int y) {
    return upsampled(y, plane.to.height, plane.double_y, [&](int row) {
        const uint8_t *const from = plane.from + row * plane.from_stride;
        return upsampled(x, plane.to.width, plane.double_x, [&](int column) { return int{from[column]}; });
    });
}

DEVICE int centred_sample(const UpsampledPlane &plane, int x, int y) {
    return centred(x, y, plane.to.width, plane.to.height, plane.double_x, plane.double_y,
                   [&](int column, int row) { return int{plane.from[row * plane.from_stride + column]}; });
}

}  // namespace

// A thread owns a sample of a component.
KERNEL(kUpsampleThreads, mjpeg_upsample, UpsampleParams)
{
    const int c = block_y(), y = block_x() / p.row_blocks;
    const int x = (block_x() - y * p.row_blocks) * kUpsampleThreads + thread_x();
    const OutputPlane &to = p.plane[c].to;
    if (x >= to.width || y >= to.height) return;
    int sample = p.rgb ? rgb_of(c, centred_sample(p.plane[0], x, y), centred_sample(p.plane[1], x, y),
                                centred_sample(p.plane[2], x, y))
                       : upsampled_sample(p.plane[c], x, y);
    if (p.inks != Inks::none) sample = light_of(p.inks, c, sample, upsampled_sample(p.plane[3], x, y));
    to.samples[y * to.stride + x] = static_cast<uint8_t>(sample);
}

}  // namespace cudaenc::mjpeg
