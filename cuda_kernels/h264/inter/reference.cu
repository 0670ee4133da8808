// SPDX-License-Identifier: LGPL-2.1-or-later
// What P pictures look at of the decoded picture before: luma between samples (H.264, 8.4.2.2.1), and margins.
#include "reference_params.h"

#include "../../device.cuh"

namespace cudaenc::h264 {

DEVICE int inside(int at, int size) { return max_of(min_of(at, size - 1), 0); }
DEVICE uint32_t clip_byte(int v) { return static_cast<uint32_t>(max_of(min_of(v, 255), 0)); }

// A thread-block loads its tile, and two samples before and three behind it each way; then sums columns by six taps,
// which centre samples sum by six taps again. A warp has four rows of results, a lane four samples of each.
KERNEL(kReferenceThreads, h264_half_planes, HalfPlanesParams)
{
    constexpr int kBefore = 2, kAround = 5, kColumns = kTileColumns + kAround, kRows = kTileRows + kAround;
    constexpr int kPitch = (kColumns + 3) / 4 * 4;
    SHARED2(uint8_t, samples, kRows, kPitch);
    SHARED2(int16_t, sums, kTileRows, kPitch);
    const MarginPlane &whole = p.planes[kWhole];
    const int left = block_x() * kTileColumns - kPlaneMargin, top = block_y() * kTileRows - kPlaneMargin;
    for (int i = thread_x(); i < kRows * kColumns; i += kReferenceThreads) {
        const int x = i % kColumns, y = i / kColumns;
        samples[y][x] = *whole.at(inside(left + x - kBefore, whole.width), inside(top + y - kBefore, whole.height));
    }
    block_sync();
    for (int i = thread_x(); i < kTileRows * kColumns; i += kReferenceThreads) {
        const int x = i % kColumns, y = i / kColumns;
        sums[y][x] = static_cast<int16_t>(six_taps<int>(samples[y][x], samples[y + 1][x], samples[y + 2][x],
                                                        samples[y + 3][x], samples[y + 4][x], samples[y + 5][x]));
    }
    block_sync();
    const int in_tile = 4 * lane_id(), x = left + in_tile;
    if (x >= whole.width + kPlaneMargin) return;
    CUDAENC_NO_UNROLL
    for (int row = warp_id(); row < kTileRows; row += kReferenceThreads / 32) {
        const int y = top + row;
        if (y >= whole.height + kPlaneMargin) break;
        int across[9], down[9];  // samples of the row, and sums of columns, from two before the first one on
        CUDAENC_UNROLL
        for (int i = 0; i < 9; i++) {
            across[i] = samples[row + kBefore][in_tile + i];
            down[i] = sums[row][in_tile + i];
        }
        uint32_t words[kHalfPlanes] = {};
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            const auto taps = [=](const int(&v)[9]) {
                return six_taps(v[i], v[i + 1], v[i + 2], v[i + 3], v[i + 4], v[i + 5]);
            };
            words[kWhole] |= static_cast<uint32_t>(across[i + kBefore]) << 8 * i;
            words[kRight] |= clip_byte((taps(across) + 16) >> 5) << 8 * i;
            words[kBelow] |= clip_byte((down[i + kBefore] + 16) >> 5) << 8 * i;
            words[kCentre] |= clip_byte((taps(down) + 512) >> 10) << 8 * i;
        }
        const bool is_inside = x >= 0 && x < whole.width && y >= 0 && y < whole.height;
        CUDAENC_UNROLL
        for (int plane = is_inside ? kRight : kWhole; plane < kHalfPlanes; plane++)
            *reinterpret_cast<uint32_t *>(p.planes[plane].at(x, y)) = words[plane];
    }
}

KERNEL(kReferenceThreads, h264_margins, MarginsParams)
{
    const MarginPlane &plane = p.planes[block_z()];
    const int x = 4 * (block_x() * kReferenceThreads + thread_x()) - kPlaneMargin, y = block_y() - kPlaneMargin;
    if (x >= plane.width + kPlaneMargin) return;
    if (x >= 0 && x < plane.width && y >= 0 && y < plane.height) return;
    uint32_t word = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++)
        word |= uint32_t{*plane.at(inside(x + i, plane.width), inside(y, plane.height))} << 8 * i;
    *reinterpret_cast<uint32_t *>(plane.at(x, y)) = word;
}

}  // namespace cudaenc::h264
