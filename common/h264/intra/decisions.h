// SPDX-License-Identifier: LGPL-2.1-or-later
// What the intra coders decide by.
#pragma once
#include <cstdint>

#include "../syntax/macroblock_layer.h"
#include "../syntax/quantise.h"

namespace cudaenc::h264 {

// How levels are rounded: the offset before the shift, in 2^-8 of a level. Then levels of 1 are dropped where the bits
// they save exceed the squared error: the square of a quantiser step is worth bits_per_step bits.
struct Rounding {
    int32_t dc, ac;
    int32_t bits_per_step;  // 0: none is dropped
    bool field = false;     // with field scans
};

// Levels round up from about five eighths on: smaller ones cost more bits than they gain. Where levels of 1 may be
// dropped again, more of AC are tried. A DC level that overshoots costs the blocks that are predicted from it as well.
inline constexpr Rounding kRounding = {100, 96, 0}, kRoundingByRate = {100, 112, 11};

// What a block costs, estimated, in 1/8 of squared errors: a level l takes |l| + 2 bits, the predicted mode 1 bit,
// others 3. Below 2^30 for a component.
CUDAENC_HD constexpr uint32_t estimated_price(uint64_t lambda) {  // of a bit; lambda: in 2^-8
    return static_cast<uint32_t>((lambda + 16) >> 5);
}
CUDAENC_HD constexpr uint32_t estimated_mode_bits(bool predicted) { return predicted ? 1 : 3; }
CUDAENC_HD constexpr uint32_t estimated_level_bits(uint32_t magnitude) { return magnitude ? magnitude + 2 : 0; }
CUDAENC_HD constexpr uint32_t estimated_cost(uint32_t squared_error, uint32_t price, uint32_t bits) {
    return 8 * squared_error + price * bits;
}

// Squared error and bits, in 2^-8.
CUDAENC_HD constexpr uint64_t cost_of(uint64_t lambda, uint64_t squared_error, uint64_t bits) {
    return (squared_error << 8) + lambda * bits;
}

// What estimates know of levels: their estimated_level_bits(), and how many are nonzero.
struct LevelSums {
    uint32_t bits, nonzero;
    CUDAENC_HD constexpr LevelSums operator+(const LevelSums &other) const {
        return {bits + other.bits, nonzero + other.nonzero};
    }
};
// Of residual(), to compare the types of a macroblock: a level l takes |l| + 3 bits there. A larger transform leaves
// longer runs of zeros, 4 bits of them a type.
CUDAENC_HD constexpr uint32_t estimated_residual_bits(MacroblockType type, const LevelSums &sums) {
    return sums.bits + sums.nonzero + 4 * static_cast<uint32_t>(type);
}
// Whether the limits of a macroblock, or the bits of I_PCM, may be exceeded. A level l has less than 2 |l| + 6 bits, a
// block besides 46 for coeff_token, total_zeros and runs. Else no level exceeds kMaxLevelOfPrefix15 either.
CUDAENC_HD constexpr bool may_be_pcm(const CodedFormat &f, const LevelSums &sums) {
    const uint32_t blocks = static_cast<uint32_t>(blocks_per_macroblock(f.chroma)) + 1;
    return 2 * sums.bits + sums.nonzero + 46 * blocks + 128 > most_macroblock_bits(f) ||
           sums.bits > static_cast<uint32_t>(kMaxLevelOfPrefix15);
}
// coeff_token has at most so many bits more than with an nC of 0.
inline constexpr uint32_t kTokenBitsByNc = 5;

// SATD of modes that are not available; others are below 2^27.
inline constexpr uint32_t kNotAvailable = 1 << 26;

// What a QPY stands for, from -QpBdOffset to kLastQp.
struct alignas(32) QpChoice {
    Quantiser luma, chroma, chroma_dc;
    uint64_t lambda;
    uint32_t satd_lambda;
};

}  // namespace cudaenc::h264
