// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_cpu.h"

#include <array>

#include "../simd.h"
#include "../vectors.h"
#include "color.h"
#include "fdct.h"

namespace cudaenc::mjpeg {

namespace {

using Row = Row8;  // a row of a block, or a column

// By index: the bit of its place in the zig-zag sequence, as low and high halves of 64 bits.
struct PlaceBits {
    alignas(32) std::array<int32_t, kBlockSamples> low{}, high{};
};
constexpr PlaceBits make_place_bits() {
    PlaceBits bits;
    for (int i = 0; i < kBlockSamples; i++) {
        const uint64_t bit = uint64_t{1} << zigzag_place(i);
        bits.low[i] = static_cast<int32_t>(bit);
        bits.high[i] = static_cast<int32_t>(bit >> 32);
    }
    return bits;
}
constexpr PlaceBits kPlaceBits = make_place_bits();

[[gnu::always_inline]] inline uint32_t any_of(const Row &row) {
    uint32_t bits = 0;
    for (int i = 0; i < 8; i++) bits |= static_cast<uint32_t>(row[i]);
    return bits;
}

}  // namespace

CUDAENC_CLONES void fdct_blocks(const int8_t *samples, ptrdiff_t stride, size_t count, int16_t *coefficients) {
    for (size_t b = 0; b < count; b++, samples += kBlockSize, coefficients += kBlockSamples) {
        Row v[8];
        for (int y = 0; y < 8; y++) load<int8_t>(v[y], samples + y * stride);
        transpose(v);
        fdct<FdctPass::rows>(v);
        transpose(v);
        fdct<FdctPass::columns>(v);
        for (int y = 0; y < 8; y++) store(coefficients + 8 * y, v[y]);
    }
}

CUDAENC_CLONES void quantise_blocks(const int16_t *coefficients, size_t count, const Quantiser &quantiser,
                                    int16_t *levels, uint64_t *nonzero) {
    for (size_t b = 0; b < count; b++, coefficients += kBlockSamples, levels += kBlockSamples) {
        Row low{}, high{};
        for (int i = 0; i < kBlockSamples; i += 8) {
            Row c, multiplier, bias, shift, low_bits, high_bits;
            load<int16_t>(c, coefficients + i);
            load<int32_t>(multiplier, quantiser.multiplier + i);
            load<int32_t>(bias, quantiser.bias + i);
            load<int32_t>(shift, quantiser.shift + i);
            load<int32_t>(low_bits, &kPlaceBits.low[i]);
            load<int32_t>(high_bits, &kPlaceBits.high[i]);
            quantise(c, multiplier, bias, shift);
            store(levels + i, c);
            low |= (c != 0) & low_bits;
            high |= (c != 0) & high_bits;
        }
        nonzero[b] = uint64_t{any_of(high)} << 32 | any_of(low);
    }
}

CUDAENC_CLONES void rgb_to_ycbcr_rows(int8_t *__restrict c0, int8_t *__restrict c1, int8_t *__restrict c2,
                                      size_t count) {
    for (size_t i = 0; i < count; i++) {
        int32_t v0 = c0[i], v1 = c1[i], v2 = c2[i];
        rgb_to_ycbcr(v0, v1, v2);
        c0[i] = static_cast<int8_t>(v0);
        c1[i] = static_cast<int8_t>(v1);
        c2[i] = static_cast<int8_t>(v2);
    }
}

}  // namespace cudaenc::mjpeg
