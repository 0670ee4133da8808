// SPDX-License-Identifier: LGPL-2.1-or-later
// The likely modes of blocks: of Intra 4x4 and 8x8, ranked on source samples. So all blocks of a picture are ranked at
// once.
#pragma once
#include <cstdint>

#include "../../hd.h"

namespace cudaenc::h264 {

// Of a macroblock: kRankedModes modes a block, of 4 bits each, the best one lowest. Where fewer are available, the best
// one again.
inline constexpr int kRankedModes = 3;
// The types that a macroblock is coded as. Each has those before as well, where the profile has them.
enum LikelyTypes : uint8_t { kOnly16x16, kAlso8x8, kAlso4x4, kLikelyTypes };
struct alignas(8) RankedModes {
    uint16_t of_4x4[16], of_8x8[4];  // in the order of 6.4.3
    uint32_t satd_4x4, satd_8x8;     // of all blocks as their best modes
    uint32_t texture;                // the SATD of 4x4 blocks less their means

    bool operator==(const RankedModes &) const = default;

    // I_16x16 is nearly always the cheapest type where half the texture is not worth more than so many bits. I_4x4
    // hardly ever is where its SATD is not less than that of I_8x8 by more than so many.
    static constexpr uint32_t kBitsOfTexture = 16, kBitsOf4x4 = 36;
    CUDAENC_HD constexpr bool likely_16x16(uint32_t satd_lambda) const {
        return texture / 2 <= kBitsOfTexture * satd_lambda >> 8;
    }
    CUDAENC_HD constexpr LikelyTypes likely_types(uint32_t satd_lambda, bool transform_8x8) const {
        if (likely_16x16(satd_lambda)) return kOnly16x16;
        return transform_8x8 && satd_8x8 <= satd_4x4 + (kBitsOf4x4 * satd_lambda >> 8) ? kAlso8x8 : kAlso4x4;
    }
    // Whatever satd_4x4 is.
    static constexpr bool unlikely_4x4(uint32_t satd_8x8, uint32_t satd_lambda) {
        return satd_8x8 <= kBitsOf4x4 * satd_lambda >> 8;
    }
};
static_assert(sizeof(RankedModes) == 56);
// What the SATDs of a macroblock's blocks have to be below for it to be coded as a type.
struct SatdLimits {
    uint32_t of_16x16, of_8x8, of_4x4;
};
CUDAENC_HD constexpr int ranked_mode(uint32_t modes, int rank) { return static_cast<int>(modes >> 4 * rank & 15); }

// Keeps the modes of the least SATDs, and of equal ones the first.
class LikelyModes {
  public:
    CUDAENC_HD void add(int mode, uint32_t satd) {  // below 2^27
        uint32_t key = satd << 4 | static_cast<uint32_t>(mode);
        CUDAENC_UNROLL
        for (int i = 0; i < kRankedModes; i++) {
            const uint32_t less = key < keys_[i] ? key : keys_[i];
            key = key < keys_[i] ? keys_[i] : key;
            keys_[i] = less;
        }
    }
    CUDAENC_HD uint16_t packed() const {
        uint32_t modes = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < kRankedModes; i++) modes |= ((keys_[i] == ~0u ? keys_[0] : keys_[i]) & 15) << 4 * i;
        return static_cast<uint16_t>(modes);
    }
    CUDAENC_HD uint32_t least_satd() const { return keys_[0] >> 4; }

  private:
    uint32_t keys_[kRankedModes] = {~0u, ~0u, ~0u};
};

}  // namespace cudaenc::h264
