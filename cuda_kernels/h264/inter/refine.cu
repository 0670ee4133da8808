// SPDX-License-Identifier: LGPL-2.1-or-later
// The refinement of motion: half the SATD of a macroblock by vectors in quarter samples. A warp owns a macroblock. It
// tries eight vectors at once, four lanes each, a quarter of the macroblock a lane; or vectors of the quarters.
#include "../intra/arithmetic.cuh"
#include "quarter_samples.cuh"
#include "refine_params.h"

namespace cudaenc::h264 {

constexpr uint32_t kNever = ~0u;

DEVICE uint32_t word_of(Vector v) {
    return static_cast<uint32_t>(static_cast<uint16_t>(v.x)) | static_cast<uint32_t>(static_cast<uint16_t>(v.y)) << 16;
}
DEVICE Vector vector_of(uint32_t word) { return {static_cast<int16_t>(word), static_cast<int16_t>(word >> 16)}; }
DEVICE Vector vector_of_lane(Vector v, int lane) { return vector_of(warp_shuffle(word_of(v), lane)); }

// An 8x8 block of a lane, whose samples are pairs, see pair_of().
struct PairedBlock {
    uint32_t of[8][4];

    DEVICE_MEMBER static uint32_t low_pair(uint32_t word) { return byte_permute(word, 0, 0x4140); }
    DEVICE_MEMBER static uint32_t high_pair(uint32_t word) { return byte_permute(word, 0, 0x4342); }
    DEVICE_MEMBER void load(const MarginPlane &plane, int x, int y) {
        CUDAENC_UNROLL
        for (int row = 0; row < 8; row++) {
            const uint32_t *words = reinterpret_cast<const uint32_t *>(plane.at(x, y + row));
            CUDAENC_UNROLL
            for (int i = 0; i < 2; i++) {
                const uint32_t word = load_readonly(words + i);
                of[row][2 * i] = low_pair(word);
                of[row][2 * i + 1] = high_pair(word);
            }
        }
    }
    // Half its SATD by a vector. x, y: its place.
    DEVICE_MEMBER uint32_t satd(const RefineArguments &p, int x, int y, Vector v) const {
        const QuarterRows rows(p.reference, x, y, v);
        uint32_t sum = 0;
        CUDAENC_UNROLL
        for (int half = 0; half < 2; half++) {
            uint32_t d[2][4][2];  // of two 4x4 blocks
            CUDAENC_UNROLL
            for (int row = 0; row < 4; row++) {
                uint32_t predicted[2];
                rows.load(4 * half + row, predicted);
                CUDAENC_UNROLL
                for (int i = 0; i < 2; i++) {
                    d[i][row][0] = of[4 * half + row][2 * i] - low_pair(predicted[i]);
                    d[i][row][1] = of[4 * half + row][2 * i + 1] - high_pair(predicted[i]);
                }
            }
            sum += half_satd(d[0]) + half_satd(d[1]);
        }
        return sum;
    }
};

// The best vector of a macroblock. satd: of the lane's quarter by it.
struct BestMotion {
    Vector v;
    uint32_t cost, satd;

    DEVICE_MEMBER uint32_t satd_of_all() const { return sum_of_lanes<3>(satd); }
};
// Tries a vector for each four lanes: costs are sums and what bits are worth. Of equals the first one is kept.
DEVICE void try_vector(const RefineArguments &p, const PairedBlock &source, int x, int y, Vector v, bool allowed,
                       uint32_t bits_worth, BestMotion &best) {
    const uint32_t satd = source.satd(p, x, y, allowed ? v : Vector{});
    const uint32_t sum = sum_of_lanes<3>(satd), cost = allowed ? sum + bits_worth : kNever;
    const uint32_t least = warp_min(cost);
    const int winner = find_first_set(warp_ballot(cost == least)) & ~3;
    const Vector of_winner = vector_of_lane(v, winner);
    const uint32_t satd_of_winner = warp_shuffle(satd, winner + (lane_id() & 3));
    if (least < best.cost) best = {of_winner, least, satd_of_winner};
}

KERNEL(kRefineThreads, h264_start_motion, StartMotionParams)
{
    const int m = block_x() * kRefineThreads + thread_x();
    if (m < p.macroblocks) p.motion[m].fill(scaled(p.found[m].whole, 4));
}

// The place of a lane's quarter, and what the macroblock has.
struct RefinedMacroblock {
    int at, x, y;
    int quarter_x, quarter_y;  // samples
    uint32_t lambda;
    VectorRange range;
    MotionField field;
};
DEVICE RefinedMacroblock refined_macroblock(const RefineArguments &p) {
    const int at = block_x() * (kRefineThreads / 32) + warp_id(), x = at % p.columns, y = at / p.columns;
    const int b = lane_id() & 3, in_picture = min_of(at, p.columns * p.rows - 1);
    return {.at = at,
            .x = x,
            .y = y,
            .quarter_x = 16 * x + 8 * (b & 1),
            .quarter_y = 16 * y + 8 * (b >> 1),
            .lambda = p.lambdas[p.qps[in_picture]],
            .range = p.refresh.limited(range_of(x, y, p.columns, p.rows, p.vertical), x),
            .field = {p.before, p.columns}};
}

// Vectors of 8x8 blocks: a lane tries one of the eight around its block's best. Then the shapes that they make.
DEVICE void divide_macroblock(const RefineArguments &p, const RefinedMacroblock &m, const FoundMotion &found,
                              const PairedBlock &source, const BestMotion &whole, MacroblockMotion &motion,
                              uint32_t &cost) {
    const int lane = lane_id(), b = lane & 3;
    Vector best = whole.v;
    uint32_t least = whole.satd;
    const auto cost_of = [&](Vector v) {
        const bool allowed = m.range.has(v);
        const uint32_t satd = source.satd(p, m.quarter_x, m.quarter_y, allowed ? v : Vector{});
        return allowed ? satd + worth(m.lambda, vector_bits(v, whole.v)) : kNever;
    };
    const Vector of_block = scaled(found.of_8x8[b], 4);
    const uint32_t cost_found = cost_of(of_block);
    if (cost_found < least) least = cost_found, best = of_block;
    CUDAENC_NO_UNROLL
    for (int step = 2; step > 0; step--) {
        int i = lane >> 2;
        uint32_t least_around = cost_of(sum_of(best, scaled(square_step(i), step)));
        CUDAENC_UNROLL
        for (int mask = 4; mask < 32; mask *= 2) {
            const uint32_t other = warp_shuffle_xor(least_around, mask);
            const int other_i = warp_shuffle_xor(i, mask);
            if (other < least_around || (other == least_around && other_i < i)) least_around = other, i = other_i;
        }
        if (least_around < least) least = least_around, best = sum_of(best, scaled(square_step(i), step));
    }
    // Lane 4 k + b: block b by the vector of block k.
    const Vector of_k = vector_of_lane(best, lane >> 2 & 3);
    const uint32_t satd = source.satd(p, m.quarter_x, m.quarter_y, of_k);
    Vector vectors[kPartVectors] = {whole.v};
    uint32_t satds[kPartVectors][4];
    CUDAENC_UNROLL
    for (int k = 0; k < 4; k++) {
        vectors[1 + k] = vector_of_lane(best, k);
        satds[0][k] = warp_shuffle(whole.satd, k);
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) satds[1 + k][i] = warp_shuffle(satd, 4 * k + i);
    }
    divide(m.field, m.x, m.y, m.lambda, vectors, satds, motion, cost);
}

KERNEL(kRefineThreads, h264_refine, RefineParams)
{
    const RefinedMacroblock m = refined_macroblock(p);
    if (m.y >= p.rows) return;
    const int candidate = lane_id() >> 2;
    const Vector predicted = m.field.predicted(m.x, m.y, Shape::p16x16, 0);
    const FoundMotion &found = p.found[m.at];
    PairedBlock source;
    source.load(p.source, m.quarter_x, m.quarter_y);
    BestMotion best{{}, kNever, 0};
    const auto take = [&](Vector v) {
        try_vector(p, source, m.quarter_x, m.quarter_y, v, m.range.has(v), worth(m.lambda, vector_bits(v, predicted)),
                   best);
    };
    const Vector first = candidate == 0 ? Vector{} : candidate == 1 ? scaled(found.whole, 4) : predicted;
    take(m.range.clamp(first.x, first.y));
    CUDAENC_NO_UNROLL
    for (int step = 2; step > 0; step--) take(sum_of(best.v, scaled(square_step(candidate), step)));
    MacroblockMotion motion;
    motion.fill(best.v);
    uint32_t cost = best.cost + worth(m.lambda, shape_bits(Shape::p16x16));
    if (best.satd_of_all() > worth(m.lambda, kLeastDividedBits))
        divide_macroblock(p, m, found, source, best, motion, cost);
    if (lane_id() == 0) {
        p.motion[m.at] = motion;
        p.estimates[m.at] = {cost - worth(m.lambda, m.field.bits(m.x, m.y, motion) + shape_bits(motion.shape)), cost};
    }
}

// The vectors of P_Skip, predicted, and of the blocks to the left, above, to the right and below.
KERNEL(kRefineThreads, h264_spread, SpreadParams)
{
    const RefinedMacroblock m = refined_macroblock(p);
    if (m.y >= p.rows) return;
    const int candidate = lane_id() >> 2;
    MacroblockMotion motion = p.before[m.at];
    const uint32_t satd = p.estimates_before[m.at].satd;
    const Vector predicted = m.field.predicted(m.x, m.y, Shape::p16x16, 0);
    PairedBlock source;
    source.load(p.source, m.quarter_x, m.quarter_y);
    Vector v = candidate == 0 ? m.field.skipped(m.x, m.y) : predicted;
    bool allowed = candidate < 6;
    if (candidate >= 2 && allowed) {
        const int x = 2 * m.x + (candidate == 2 ? -1 : candidate == 4 ? 2 : 0);
        const int y = 2 * m.y + (candidate == 3 ? -1 : candidate == 5 ? 2 : 0);
        allowed = x >= 0 && y >= 0 && x < 2 * p.columns && y < 2 * p.rows;
        if (allowed) v = m.field.block(x, y).vector;
    }
    const uint32_t cost = satd + worth(m.lambda, m.field.bits(m.x, m.y, motion) + shape_bits(motion.shape));
    BestMotion best{{}, cost, 0};
    try_vector(p, source, m.quarter_x, m.quarter_y, v, allowed && m.range.has(v),
               worth(m.lambda, vector_bits(v, predicted) + shape_bits(Shape::p16x16)), best);
    const bool better = best.cost < cost;
    const uint32_t satd_of_better = best.satd_of_all();
    if (better) motion.fill(best.v);
    if (lane_id() == 0) {
        p.motion[m.at] = motion;
        p.estimates[m.at] = {better ? satd_of_better : satd, best.cost};
    }
}

}  // namespace cudaenc::h264
