// SPDX-License-Identifier: LGPL-2.1-or-later
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // no vector crosses a call that is not inlined
#endif
#include "block_cpu.h"

#include <array>
#include <cstring>

#include "../simd.h"
#include "color.h"
#include "fdct.h"

namespace cudaenc::mjpeg {

namespace {

// A row of a block, or a column.
using Row = int32_t __attribute__((vector_size(32)));
using Row16 = int16_t __attribute__((vector_size(16)));
using Row8 = int8_t __attribute__((vector_size(8)));

template <class Narrow>
[[gnu::always_inline]] inline void load(Row &row, const void *from) {
    Narrow narrow;
    std::memcpy(&narrow, from, sizeof narrow);
    row = __builtin_convertvector(narrow, Row);
}

[[gnu::always_inline]] inline void store(int16_t *to, const Row &row) {
    const Row16 narrow = __builtin_convertvector(row, Row16);
    std::memcpy(to, &narrow, sizeof narrow);
}

[[gnu::always_inline]] inline void transpose(Row (&v)[8]) {
    Row pairs[8], quads[8];
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        pairs[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = 0; j < 2; j++) {
            quads[i + 2 * j] = __builtin_shufflevector(pairs[i + j], pairs[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            quads[i + 2 * j + 1] = __builtin_shufflevector(pairs[i + j], pairs[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 4; i++) {
        v[i] = __builtin_shufflevector(quads[i], quads[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        v[i + 4] = __builtin_shufflevector(quads[i], quads[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

// By index: the bit of its place in the zig-zag sequence, the low and the high half of 64.
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
        for (int y = 0; y < 8; y++) load<Row8>(v[y], samples + y * stride);
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
            load<Row16>(c, coefficients + i);
            load<Row>(multiplier, quantiser.multiplier + i);
            load<Row>(bias, quantiser.bias + i);
            load<Row>(shift, quantiser.shift + i);
            load<Row>(low_bits, &kPlaceBits.low[i]);
            load<Row>(high_bits, &kPlaceBits.high[i]);
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
