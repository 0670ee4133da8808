// SPDX-License-Identifier: LGPL-2.1-or-later
// A block of 4x4 levels in a thread's registers.
#pragma once
#include "../bits.cuh"

namespace cudaenc::h264 {

// The 16 levels of a block, two a word, the first in the low half.
struct BlockWords {
    uint32_t words[8];
};
DEVICE BlockWords load_block(const int16_t *levels) {
    const Uint4 *from = reinterpret_cast<const Uint4 *>(levels);
    const Uint4 a = load_readonly(from), b = load_readonly(from + 1);
    return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
}

DEVICE void store_block(const BlockWords &b, uint32_t *to) {
    CUDAENC_UNROLL
    for (int i = 0; i < 8; i++) to[i] = b.words[i];
}

// The highest bit of each nonzero half.
DEVICE uint32_t nonzero_halves(uint32_t word) { return (((word & 0x7FFF7FFFu) + 0x7FFF7FFFu) | word) & 0x80008000u; }
DEVICE uint32_t nonzero_mask(const BlockWords &b) {
    uint32_t mask = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 8; i++) {
        const uint32_t halves = nonzero_halves(b.words[i]);
        mask |= ((halves >> 15 | halves >> 30) & 3) << 2 * i;
    }
    return mask;
}
// kZigzag4x4 as a compile-time constant.
DEVICE constexpr int zigzag_4x4(int k) { return static_cast<int>(0xFEB7ADC963258410u >> 4 * k & 15); }

// The levels at two places of a block in raster order.
DEVICE uint32_t pick_pair(const BlockWords &b, int first, int second) {
    return byte_permute(b.words[first >> 1], b.words[second >> 1],
                        (first & 1 ? 0x32u : 0x10u) | (second & 1 ? 0x7600u : 0x5400u));
}
DEVICE BlockWords zigzag(const BlockWords &raster) {
    BlockWords scanned;
    CUDAENC_UNROLL
    for (int i = 0; i < 8; i++) scanned.words[i] = pick_pair(raster, zigzag_4x4(2 * i), zigzag_4x4(2 * i + 1));
    return scanned;
}
// The same with kField4x4.
DEVICE constexpr int field_4x4(int k) { return static_cast<int>(0xFB73EA62D95C8140u >> 4 * k & 15); }
DEVICE BlockWords field_scan(const BlockWords &raster) {
    BlockWords scanned;
    CUDAENC_UNROLL
    for (int i = 0; i < 8; i++) scanned.words[i] = pick_pair(raster, field_4x4(2 * i), field_4x4(2 * i + 1));
    return scanned;
}
// Levels in shared memory in scan order.
struct SharedLevels {
    const SignedHalf *levels;
    DEVICE_MEMBER int32_t operator()(int k) const { return levels[k]; }
};

}  // namespace cudaenc::h264
