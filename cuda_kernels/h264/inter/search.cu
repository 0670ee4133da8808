// SPDX-License-Identifier: LGPL-2.1-or-later
// The search for motion on source pictures: their pyramids, and vectors from the smallest pictures up. A warp owns a
// block. Vectors that are tried one after the other on a CPU are tried at once; of equal costs the first one is kept.
#include "search_params.h"

#include "../../device.cuh"

namespace cudaenc::h264 {

// ---- Pyramids

// The four samples of a thread, at(x, y) of a place inside the plane.
template <class At>
DEVICE void fill_four(const MarginPlane &to, const At &at) {
    const int x = 4 * (block_x() * kPyramidThreads + thread_x()) - kPlaneMargin, y = block_y() - kPlaneMargin;
    if (x >= to.width + kPlaneMargin) return;
    const int row = max_of(min_of(y, to.height - 1), 0);
    uint32_t word = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++) word |= static_cast<uint32_t>(at(max_of(min_of(x + i, to.width - 1), 0), row)) << 8 * i;
    *reinterpret_cast<uint32_t *>(to.at(x, y)) = word;
}

KERNEL(kPyramidThreads, h264_source_plane, SourcePlaneParams)
{
    fill_four(p.to, [&](int x, int y) {
        return load_sample(p.luma, min_of(x, p.picture_width - 1), min_of(y, p.picture_height - 1)) +
               (1 << (p.luma.depth - 1));
    });
}

KERNEL(kPyramidThreads, h264_source_before, SourceBeforeParams)
{
    const PictureWeights weights = *p.weights;
    fill_four(p.to, [&](int x, int y) {
        const uint8_t sample = *p.from.at(x, y);
        return weights.any() ? weights.before(sample) : sample;
    });
}

KERNEL(kPyramidThreads, h264_halve_plane, HalvePlaneParams)
{
    fill_four(p.to, [&](int x, int y) {
        const uint8_t *const above = p.from.at(2 * x, 2 * y), *const below = above + p.from.stride;
        return (above[0] + above[1] + below[0] + below[1] + 2) >> 2;
    });
}

// ---- Costs

constexpr uint32_t kNever = ~0u;

// The sum of absolute differences of rows of bytes; `at` has any alignment, and one more word there is readable.
template <int Words>
DEVICE uint32_t row_sad(const uint32_t (&source)[Words], const uint8_t *at, uint32_t sum) {
    const uint32_t shift = static_cast<uint32_t>(reinterpret_cast<uint64_t>(at) & 3);
    const uint32_t *words = reinterpret_cast<const uint32_t *>(at - shift);
    uint32_t low = load_readonly(words);
    CUDAENC_UNROLL
    for (int i = 0; i < Words; i++) {
        const uint32_t high = load_readonly(words + i + 1);
        sum = sad_bytes(source[i], funnel_shift_right(low, high, 8 * shift), sum);
        low = high;
    }
    return sum;
}

// Rows of a block that a lane compares.
template <int Rows, int Words>
struct SourceRows {
    uint32_t of[Rows][Words];

    DEVICE_MEMBER void load(const uint8_t *at, int32_t stride) {  // words
        CUDAENC_UNROLL
        for (int y = 0; y < Rows; y++) CUDAENC_UNROLL
        for (int i = 0; i < Words; i++)
            of[y][i] = load_readonly(reinterpret_cast<const uint32_t *>(at + int64_t{y} * stride) + i);
    }
    DEVICE_MEMBER uint32_t sad(const uint8_t *at, int32_t stride) const {
        uint32_t sum = 0;
        CUDAENC_UNROLL
        for (int y = 0; y < Rows; y++) sum = row_sad(of[y], at + int64_t{y} * stride, sum);
        return sum;
    }
};

struct BestVector {
    Vector v;
    uint32_t cost;
};
// Keeps the least cost of the lanes, and of equal ones that of the first lane; `best` where none is less.
DEVICE void keep_least(BestVector &best, Vector v, uint32_t cost) {
    const uint32_t least = warp_min(cost);
    const uint32_t first = warp_ballot(cost == least);
    const uint32_t word = warp_shuffle(
        static_cast<uint32_t>(static_cast<uint16_t>(v.x)) | static_cast<uint32_t>(static_cast<uint16_t>(v.y)) << 16,
        find_first_set(first));
    if (least >= best.cost) return;
    best = {{static_cast<int16_t>(word), static_cast<int16_t>(word >> 16)}, least};
}

// Four lanes compare a block by one vector, Rows rows each; eight vectors at once.
template <int Rows, int Words>
struct BlockSearch {
    SourceRows<Rows, Words> source;
    const uint8_t *before;  // where the zero vector leads the lane's rows
    int32_t stride;

    DEVICE_MEMBER static int candidate() { return lane_id() >> 2; }
    // has: whether the vector is allowed; bits: what it costs, scaled.
    template <class Has, class Bits>
    DEVICE_MEMBER void take(BestVector &best, Vector v, const Has &has, const Bits &bits) const {
        const bool allowed = has(v);
        uint32_t sum = allowed ? source.sad(before + int64_t{v.y} * stride + v.x, stride) : 0;
        sum += warp_shuffle_xor(sum, 1);
        sum += warp_shuffle_xor(sum, 2);
        keep_least(best, v, allowed ? sum + bits(v) : kNever);
    }
    // The zero vector, those of the level above, and those around the best one.
    template <class Has, class Bits>
    DEVICE_MEMBER void search(BestVector &best, const VectorGrid &above, int x, int y, const Has &has,
                              const Bits &bits) const {
        CUDAENC_NO_UNROLL
        for (int first = 0; first < kSearchCandidates; first += 8) {
            const int i = min_of(first + candidate(), kSearchCandidates - 1);  // the last one again
            take(best, i ? above.candidate(x, y, i) : Vector{}, has, bits);
        }
        CUDAENC_NO_UNROLL
        for (int round = 0; round < kSearchRounds; round++) {
            const uint32_t before_round = best.cost;
            take(best, sum_of(best.v, square_step(candidate())), has, bits);
            if (best.cost == before_round) break;
        }
    }
};

// ---- Search

// All vectors of a small reach: a lane compares a block by one of them. Of equals the zero vector is first.
DEVICE Vector search_all(const LevelSearchParams &p, int x, int y, const VectorRange &range) {
    SourceRows<8, 2> source;
    source.load(p.source.at(8 * x, 8 * y), p.source.stride);
    constexpr int kSide = 2 * kFirstReach + 1, kZero = kSide * kFirstReach + kFirstReach;
    uint32_t least = kNever;
    int order = 0;  // 0: the zero vector, else 1 and more
    const auto vector_of = [](int i) {
        return Vector{static_cast<int16_t>(i % kSide - kFirstReach), static_cast<int16_t>(i / kSide - kFirstReach)};
    };
    CUDAENC_NO_UNROLL
    for (int i = lane_id(); i < kSide * kSide; i += 32) {
        const Vector v = vector_of(i);
        if (!range.has(v)) continue;
        const uint32_t cost =
            source.sad(p.before.at(8 * x + v.x, 8 * y + v.y), p.before.stride) + (p.lambda * vector_bits(v, {}) >> 8);
        const int place = i == kZero ? 0 : i + 1;
        if (cost < least || (cost == least && place < order)) least = cost, order = place;
    }
    const uint32_t least_of_all = warp_min(least);
    const uint32_t first = warp_min(least == least_of_all ? static_cast<uint32_t>(order) : kNever);
    return first ? vector_of(static_cast<int>(first) - 1) : Vector{};
}

KERNEL(kSearchThreads, h264_search_level, LevelSearchParams)
{
    const int columns = level_blocks(p.level, p.columns), rows = level_blocks(p.level, p.rows);
    const int block = block_x() * (kSearchThreads / 32) + warp_id(), x = block % columns, y = block / columns;
    if (y >= rows) return;
    const VectorRange range = block_range(p.level, x, y, p.columns, p.rows, p.vertical);
    BestVector best{{}, kNever};
    if (!p.above.vectors) {
        best.v = search_all(p, x, y, range);
    } else {
        const int row = 8 * y + 2 * (lane_id() & 3);
        BlockSearch<2, 2> search;
        search.source.load(p.source.at(8 * x, row), p.source.stride);
        search.before = p.before.at(8 * x, row);
        search.stride = p.before.stride;
        search.search(
            best, p.above, x / 2, y / 2, [&](Vector v) { return range.has(v); },
            [&](Vector v) { return p.lambda * vector_bits(v, {}) >> 8; });
    }
    if (lane_id() == 0) p.found[block] = best.v;
}

KERNEL(kSearchThreads, h264_search_macroblocks, MacroblockSearchParams)
{
    const int macroblock = block_x() * (kSearchThreads / 32) + warp_id();
    const int x = macroblock % p.columns, y = macroblock / p.columns, lane = lane_id();
    if (y >= p.rows) return;
    const VectorRange range = range_of(x, y, p.columns, p.rows, p.vertical);
    const Vector predicted = p.above.likely(x, y);
    const auto has = [&](Vector v) { return range.has(scaled(v, 4)); };
    const auto bits = [&](Vector v) { return p.lambda * vector_bits(scaled(v, 4), predicted) >> 8; };
    BestVector best{{}, kNever};
    {
        const int row = 16 * y + 4 * (lane & 3);
        BlockSearch<4, 4> search;
        search.source.load(p.source.at(16 * x, row), p.source.stride);
        search.before = p.before.at(16 * x, row);
        search.stride = p.before.stride;
        search.search(best, p.above, x, y, has, bits);
    }
    FoundMotion *const found = p.found + macroblock;
    if (lane == 0) found->whole = best.v, found->cost = best.cost;
    // A lane compares an 8x8 block, the four of them by eight vectors at once, around the macroblock's vector.
    const int b = lane & 3, column = 16 * x + 8 * (b & 1), row = 16 * y + 8 * (b >> 1);
    SourceRows<8, 2> source;
    source.load(p.source.at(column, row), p.source.stride);
    const auto cost_of = [&](Vector v) {
        return has(v) ? source.sad(p.before.at(column + v.x, row + v.y), p.before.stride) + bits(v) : kNever;
    };
    Vector of_block = best.v;
    uint32_t least = cost_of(of_block);
    CUDAENC_NO_UNROLL
    for (int round = 0; round < kSearchRounds; round++) {
        // Of lanes with the same block: the least cost, then the first vector.
        int step = lane >> 2;
        uint32_t cost = cost_of(sum_of(of_block, square_step(step)));
        CUDAENC_UNROLL
        for (int mask = 4; mask < 32; mask *= 2) {
            const uint32_t other = warp_shuffle_xor(cost, mask);
            const int step_of_other = warp_shuffle_xor(step, mask);
            if (other < cost || (other == cost && step_of_other < step)) cost = other, step = step_of_other;
        }
        const bool better = cost < least;
        if (better) least = cost, of_block = sum_of(of_block, square_step(step));
        if (!warp_any(better)) break;
    }
    if (lane < 4) found->of_8x8[b] = of_block;
}

}  // namespace cudaenc::h264
