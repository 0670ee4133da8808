// SPDX-License-Identifier: LGPL-2.1-or-later
// Steps of the refinement of motion, the same on host and device.
#pragma once
#include "search_steps.h"

namespace cudaenc::h264 {

// Estimated bits of mb_type and sub_mb_type.
CUDAENC_HD constexpr uint32_t shape_bits(Shape shape) {
    return shape == Shape::p16x16 ? 1 : shape == Shape::p8x8 ? 9 : 3;
}
// A macroblock is divided only where its difference is worth more than so many bits.
inline constexpr uint32_t kLeastDividedBits = 24;
// Passes that try vectors of the macroblocks around.
inline constexpr int kSpreads = 2;

// What bits are worth, in half SATDs.
CUDAENC_HD constexpr uint32_t worth(uint32_t satd_lambda, uint32_t bits) { return satd_lambda * bits >> 8; }

// A macroblock with its best motion: half the SATD, and what bits are worth as well.
struct MotionEstimate {
    uint32_t satd, cost;
};

// Vectors that parts of a macroblock may have: the macroblock's own, and one of each 8x8 block.
inline constexpr int kPartVectors = 5;

// Shapes of macroblock (x, y) other than 16x16, each part with the cheapest one of the vectors, where they cost less.
// satd: half the SATD of 8x8 blocks by each vector.
CUDAENC_HD void divide(const MotionField &field, int x, int y, uint32_t lambda, const Vector (&vectors)[kPartVectors],
                       const uint32_t (&satd)[kPartVectors][4], MacroblockMotion &motion, uint32_t &cost) {
    uint32_t bits[kPartVectors];
    CUDAENC_UNROLL
    for (int k = 0; k < kPartVectors; k++) bits[k] = worth(lambda, vector_bits(vectors[k], vectors[0]));
    CUDAENC_UNROLL
    for (int s = 1; s < 4; s++) {
        const Shape shape = static_cast<Shape>(s);
        MacroblockMotion other{{}, shape, true};
        uint32_t sum = 0;
        CUDAENC_UNROLL
        for (int part = 0; part < parts_of(shape); part++) {
            uint32_t least = UINT32_MAX, of_part = 0;
            Vector chosen{};
            CUDAENC_UNROLL
            for (int k = 0; k < kPartVectors; k++) {
                if (k && vectors[k] == vectors[0]) continue;
                uint32_t difference = 0;
                CUDAENC_UNROLL
                for (int b = 0; b < 4; b++) difference += part_of_block(shape, b) == part ? satd[k][b] : 0;
                const uint32_t with_bits = difference + bits[k];
                if (with_bits < least) least = with_bits, of_part = difference, chosen = vectors[k];
            }
            sum += of_part;
            CUDAENC_UNROLL
            for (int b = 0; b < 4; b++)
                if (part_of_block(shape, b) == part) other.vectors[b] = chosen;
        }
        // A vector takes two bits at least.
        if (sum + worth(lambda, 2 * static_cast<uint32_t>(parts_of(shape)) + shape_bits(shape)) >= cost) continue;
        const uint32_t with_bits = sum + worth(lambda, field.bits(x, y, other) + shape_bits(shape));
        if (with_bits < cost) cost = with_bits, motion = other;
    }
}

}  // namespace cudaenc::h264
