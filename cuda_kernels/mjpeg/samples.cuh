// SPDX-License-Identifier: LGPL-2.1-or-later
// Levels of a block to samples of its plane, in the registers of a thread.
#pragma once
#include "../../common/mjpeg/idct.h"
#include "../device.cuh"
#include "decode_params.h"

namespace cudaenc::mjpeg {

// Four samples in a word, the first in its lowest byte.
DEVICE uint32_t pack_samples(uint32_t a, uint32_t b, uint32_t c, uint32_t d) { return a | b << 8 | c << 16 | d << 24; }

// Writes a row of `Size` samples at (x, y), as far as the plane reaches.
template <int Size>
DEVICE void store_row(const OutputPlane &plane, int x, int y, const uint32_t (&sample)[Size]) {
    if (y >= plane.height || x >= plane.width) return;
    uint8_t *to = plane.samples + y * plane.stride + x;
    if constexpr (Size == 8) {
        if (x + 8 <= plane.width && !(reinterpret_cast<uintptr_t>(to) & 3)) {
            uint32_t *words = reinterpret_cast<uint32_t *>(to);
            words[0] = pack_samples(sample[0], sample[1], sample[2], sample[3]);
            words[1] = pack_samples(sample[4], sample[5], sample[6], sample[7]);
            return;
        }
    }
    CUDAENC_UNROLL
    for (int i = 0; i < Size; i++)
        if (x + i < plane.width) to[i] = static_cast<uint8_t>(sample[i]);
}

// coefficient(index): dequantised. (x, y): of the block.
template <int Lowres, class Coefficient>
DEVICE void transform_block(const Coefficient &coefficient, const OutputPlane &plane, int x, int y) {
    constexpr int kSize = 8 >> Lowres;
    if constexpr (Lowres == 3) {
        const uint32_t sample[1] = {clamp_sample(idct_dc(coefficient(0)))};
        store_row(plane, x, y, sample);
    } else {
        uint32_t block[8][8];
        CUDAENC_UNROLL
        for (int column = 0; column < 8; column++) {
            uint32_t v[8];
            CUDAENC_UNROLL
            for (int row = 0; row < 8; row++) v[row] = coefficient(8 * row + column);
            reduced_idct<IdctPass::columns, int32_t, Lowres>(v);
            CUDAENC_UNROLL
            for (int row = 0; row < kSize; row++) block[row][column] = v[row];
        }
        CUDAENC_UNROLL
        for (int row = 0; row < kSize; row++) {
            reduced_idct<IdctPass::rows, int32_t, Lowres>(block[row]);
            uint32_t sample[kSize];
            CUDAENC_UNROLL
            for (int i = 0; i < kSize; i++) sample[i] = clamp_sample(block[row][i]);
            store_row(plane, x * kSize, y * kSize + row, sample);
        }
    }
}

template <class Coefficient>
DEVICE void transform_block(const Coefficient &coefficient, int lowres, const OutputPlane &plane, int x, int y) {
    switch (lowres) {
        case 0:
            return transform_block<0>(coefficient, plane, x, y);
        case 1:
            return transform_block<1>(coefficient, plane, x, y);
        case 2:
            return transform_block<2>(coefficient, plane, x, y);
        default:
            return transform_block<3>(coefficient, plane, x, y);
    }
}

}  // namespace cudaenc::mjpeg
