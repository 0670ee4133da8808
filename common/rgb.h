// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of R, G and B, or gray, as Y, Cb and Cr of 8 bits in 4:2:0 (ITU-T H.273, equations 38 to 40, 8.3).
#pragma once
#include <cstddef>
#include <cstdint>

#include "cudaenc.h"
#include "hd.h"

namespace cudaenc {

// Frames in memory; planes have even rows and columns, with the last ones twice where the frames have odd ones.
struct RgbFrames {
    const uint8_t *samples;
    int type;  // CudaencSampleType
    int count, height, width;
    bool gray;
    ptrdiff_t step[4];  // bytes from a frame, row, column and channel to the next one
    uint8_t *planes[3];
    CUDAENC_HD int block_rows() const { return (height + 1) / 2; }
    CUDAENC_HD int block_columns() const { return (width + 1) / 2; }
};

// 16 bits of fraction: of a sample, and of four.
struct YcbcrWeights {
    int luma[3], cb[3], cr[3];
    int black;
};
YcbcrWeights ycbcr_weights(double kr, double kb, bool full_range, bool gray);

CUDAENC_HD float float_of_half(uint32_t half) {
    const uint32_t magnitude = half & 0x7fff, sign = (half & 0x8000) << 16;
    if (magnitude < 0x0400) {  // 0, or without a leading one
        const float value = static_cast<float>(magnitude) * (1.0f / 16777216);
        return sign ? -value : value;
    }
    const uint32_t bits = sign | ((magnitude << 13) + (magnitude < 0x7c00 ? 112u << 23 : 224u << 23));
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

// A sample as 0 to 255. One of floating point that is not 0 to 1, or nearly so, is noted in `wrong` by its bits.
CUDAENC_HD int rgb_sample(const uint8_t *at, int type, uint32_t &wrong) {
    if (type == CUDAENC_SAMPLE_UINT8) return *at;
    float value;
    if (type == CUDAENC_SAMPLE_FLOAT16)
        value = float_of_half(*reinterpret_cast<const uint16_t *>(at));
    else
        value = *reinterpret_cast<const float *>(at);
    if (!(value >= -1.0f / 510 && value <= 1 + 1.0f / 510)) {
        uint32_t bits;
        __builtin_memcpy(&bits, &value, sizeof bits);
        wrong = max_of(wrong, bits);
        return 0;
    }
    value = value * 255;
    value = value + 0.5f;
    return static_cast<int>(min_of(max_of(value, 0.0f), 255.0f));
}

CUDAENC_HD uint8_t ycbcr_sample(const int (&weights)[3], const int (&rgb)[3], int constant, int bits) {
    const int sum = weights[0] * rgb[0] + weights[1] * rgb[1] + weights[2] * rgb[2] + constant;
    return static_cast<uint8_t>(min_of(max_of(sum >> bits, 0), 255));
}

// Converts 2x2 samples. Returns the largest bits of a sample that is not allowed; 0: there is none.
CUDAENC_HD uint32_t convert_block(const RgbFrames &f, const YcbcrWeights &w, int frame, int row, int column) {
    const size_t block_row =
        static_cast<size_t>(frame) * static_cast<size_t>(f.block_rows()) + static_cast<size_t>(row);
    const size_t columns = static_cast<size_t>(f.block_columns());
    int sums[3] = {0, 0, 0};
    uint32_t wrong = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++) {
        const int y = 2 * row + i / 2, x = 2 * column + i % 2;
        const uint8_t *at =
            f.samples + frame * f.step[0] + min_of(y, f.height - 1) * f.step[1] + min_of(x, f.width - 1) * f.step[2];
        int rgb[3];
        CUDAENC_UNROLL
        for (int c = 0; c < 3; c++) {
            rgb[c] = f.gray && c ? 0 : rgb_sample(at + c * f.step[3], f.type, wrong);
            sums[c] += rgb[c];
        }
        f.planes[0][(2 * block_row + static_cast<size_t>(i / 2)) * 2 * columns + static_cast<size_t>(x)] =
            ycbcr_sample(w.luma, rgb, (w.black << 16) + (1 << 15), 16);
    }
    const size_t at = block_row * columns + static_cast<size_t>(column);
    f.planes[1][at] = ycbcr_sample(w.cb, sums, (128 << 18) + (1 << 17), 18);
    f.planes[2][at] = ycbcr_sample(w.cr, sums, (128 << 18) + (1 << 17), 18);
    return wrong;
}

}  // namespace cudaenc
