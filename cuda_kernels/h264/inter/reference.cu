// SPDX-License-Identifier: LGPL-2.1-or-later
// What P pictures look at of the decoded picture before: luma between samples (H.264, 8.4.2.2.1), and margins.
#include "reference_params.h"

#include "../../device.cuh"

namespace cudaenc::h264 {

DEVICE int inside(int at, int size) { return max_of(min_of(at, size - 1), 0); }
DEVICE uint32_t clip_byte(int v) { return static_cast<uint32_t>(max_of(min_of(v, 255), 0)); }

// A thread-block loads its tile, and two samples before and three behind it each way; then sums columns by six taps,
// which centre samples sum by six taps again. A warp has four rows of results, a lane four samples of each.
template <int Bytes>
DEVICE void fill_half_planes(const HalfPlanesParams<Bytes> &p) {
    constexpr int kBefore = 2, kAround = 5, kColumns = kTileColumns + kAround, kRows = kTileRows + kAround;
    constexpr int kPitch = (kColumns + 3) / 4 * 4;
    SHARED2(uint8_t, samples, kRows, kPitch);
    SHARED2(int16_t, sums, kTileRows, kPitch);
    const MarginPlane &whole = p.planes[kWhole];
    const int left = block_x() * kTileColumns - kPlaneMargin, top = block_y() * kTileRows - kPlaneMargin;
    for (int i = thread_x(); i < kRows * kColumns; i += kReferenceThreads) {
        const int x = i % kColumns, y = i / kColumns;
        const int column = inside(left + x - kBefore, whole.width), row = inside(top + y - kBefore, whole.height);
        if constexpr (Bytes == 1)
            samples[y][x] = *whole.at(column, row);
        else
            samples[y][x] = static_cast<uint8_t>(*p.decoded.template samples<const uint16_t>(column, row) >> p.shift);
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
        const bool is_inside = Bytes == 1 && x >= 0 && x < whole.width && y >= 0 && y < whole.height;
        CUDAENC_UNROLL
        for (int plane = is_inside ? kRight : kWhole; plane < kHalfPlanes; plane++)
            *reinterpret_cast<uint32_t *>(p.planes[plane].at(x, y)) = words[plane];
    }
}

template <int Bytes>
DEVICE void fill_margins(const MarginsParams<Bytes> &p) {
    using Sample = DecodedSample<Bytes>;
    using Four = std::conditional_t<Bytes == 1, uint32_t, uint64_t>;
    using AnyFour __attribute__((may_alias)) = Four;
    const MarginPlane &plane = p.planes[block_z()];
    const int x = 4 * (block_x() * kReferenceThreads + thread_x()) - kPlaneMargin, y = block_y() - kPlaneMargin;
    if (x >= plane.width + kPlaneMargin) return;
    if (x >= 0 && x < plane.width && y >= 0 && y < plane.height) return;
    Four word = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++)
        word |= Four{*plane.template samples<const Sample>(inside(x + i, plane.width), inside(y, plane.height))}
                << 8 * Bytes * i;
    *reinterpret_cast<AnyFour *>(plane.template samples<Sample>(x, y)) = word;
}

KERNEL(kReferenceThreads, h264_half_planes, HalfPlanesParams<1>)
{
    fill_half_planes(p);
}
KERNEL(kReferenceThreads, h264_half_planes_wide, HalfPlanesParams<2>)
{
    fill_half_planes(p);
}
KERNEL(kReferenceThreads, h264_margins, MarginsParams<1>)
{
    fill_margins(p);
}
KERNEL(kReferenceThreads, h264_margins_wide, MarginsParams<2>)
{
    fill_margins(p);
}

}  // namespace cudaenc::h264
