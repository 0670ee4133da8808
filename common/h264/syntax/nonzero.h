// SPDX-License-Identifier: LGPL-2.1-or-later
// Which levels of a block in memory are nonzero, by vectors.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>

#include "../../hd.h"
#include "sample_vectors.h"
#include "tables.h"

namespace cudaenc::h264 {

// Bit i: lane i is not 0.
[[gnu::always_inline]] inline uint32_t nonzero_of(const Lanes &x) {
    constexpr Lanes bits = {1,      1 << 1, 1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,
                            1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, INT16_MIN};
    const Lanes marked = (x != 0) & bits;
    Half v = low(marked) | high(marked);
    v |= __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
    uint64_t four;
    std::memcpy(&four, &v, sizeof four);
    four |= four >> 32;
    return static_cast<uint32_t>(four | four >> 16) & 0xFFFF;
}
[[gnu::always_inline]] inline uint32_t nonzero_of_16(const int16_t *levels) {
    Lanes l;
    std::memcpy(&l, levels, sizeof l);
    return nonzero_of(l);
}

namespace detail {

// Bits of 8 levels in raster order, the first and the last ones, in the order of the scan: [field][half][levels].
inline constexpr auto kScanBits = [] {
    std::array<std::array<std::array<uint16_t, 256>, 2>, 2> bits{};
    for (int field = 0; field < 2; field++)
        for (uint32_t i = 0; i < 256; i++)
            for (uint32_t k = 0; k < 16; k++) {
                const uint8_t place = scan_4x4_of(field)[k];
                bits[static_cast<size_t>(field)][place / 8][i] |= static_cast<uint16_t>((i >> place % 8 & 1) << k);
            }
    return bits;
}();
// The place of a level of an 8x8 block, in raster order, among the scans of its four 4x4 blocks: [field][level].
inline constexpr auto kPlacesInScans = [] {
    std::array<std::array<uint8_t, 64>, 2> places{};
    for (int field = 0; field < 2; field++)
        for (uint32_t k = 0; k < 64; k++)
            places[static_cast<size_t>(field)][scan_8x8_of(field)[k]] = static_cast<uint8_t>(k % 4 * 16 + k / 4);
    return places;
}();

}  // namespace detail

// Bit k: level k of the scan is nonzero.
[[gnu::always_inline]] inline uint32_t nonzero_4x4(const int16_t *levels, bool field = false) {
    const uint32_t raster = nonzero_of_16(levels);
    const auto &bits = detail::kScanBits[field];
    return uint32_t{bits[0][raster & 255]} | bits[1][raster >> 8];
}
// Bit 16 i + k: level k of the scan of 4x4 block i is nonzero, see scan_8x8().
[[gnu::always_inline]] inline uint64_t nonzero_8x8(const int16_t *levels, bool field = false) {
    uint64_t rest = 0, nonzero = 0;
    for (int i = 0; i < 4; i++) rest |= uint64_t{nonzero_of_16(levels + 16 * i)} << 16 * i;
    for (; rest; rest &= rest - 1) nonzero |= uint64_t{1} << detail::kPlacesInScans[field][__builtin_ctzll(rest)];
    return nonzero;
}

}  // namespace cudaenc::h264
