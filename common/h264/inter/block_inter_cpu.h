// SPDX-License-Identifier: LGPL-2.1-or-later
// Blocks of P macroblocks by vectors: differences to a reference, and predictions.
#pragma once
#include "reference.h"

namespace cudaenc::h264 {

// Bytes in rows.
struct ByteBlock {
    const uint8_t *data;
    ptrdiff_t stride;
    ByteBlock at(int x, int y) const { return {data + y * stride + x, stride}; }
};
inline ByteBlock block_at(const BytePlane &plane, int x, int y) { return {plane.at(x, y), plane.stride()}; }

// Sums of absolute differences.
uint32_t sad_8x8(ByteBlock a, ByteBlock b);
uint32_t sad_16x16(ByteBlock a, ByteBlock b);

// The two blocks whose mean is the prediction of luma from (x, y), in whole samples, by a vector. They have one stride.
struct QuarterBlock {
    const uint8_t *first, *second;
    ptrdiff_t stride;
};
inline QuarterBlock quarter_block(const ReferencePicture &reference, int x, int y, Vector v) {
    const QuarterSource s = quarter_source(4 * (v.y & 3) + (v.x & 3));
    x += v.x >> 2;
    y += v.y >> 2;
    return {reference.luma[s.plane[0]].at(x + s.x[0], y + s.y[0]),
            reference.luma[s.plane[1]].at(x + s.x[1], y + s.y[1]), reference.luma[kWhole].stride()};
}

// Half the SATD over 4x4 blocks: of an 8x8 block, and of the four of a macroblock.
uint32_t satd_8x8(ByteBlock source, const QuarterBlock &prediction);
struct QuarterSums {
    uint32_t of[4];
    uint32_t all() const { return of[0] + of[1] + of[2] + of[3]; }
};
QuarterSums satd_16x16(ByteBlock source, const QuarterBlock &prediction);

// Predictions: luma of 8 or 16 columns and rows each, to rows of 16; chroma (8.4.2.2.2) of 4 or 8, to rows of 8. x and
// y: of the block in its plane; the vector is luma's.
void predict_luma(const ReferencePicture &reference, int x, int y, Vector v, int width, int height, Sample *to);
void predict_chroma(const BytePlane &plane, int x, int y, Vector v, int size, Sample *to);

// The sum of squared differences of `count` samples, a multiple of 16.
uint32_t squared_error(const Sample *a, const Sample *b, int count);

}  // namespace cudaenc::h264
