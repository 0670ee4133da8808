// SPDX-License-Identifier: LGPL-2.1-or-later
// Blocks of P macroblocks by vectors: differences to a reference, and predictions.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "../syntax/sample_vectors.h"
#include "reference.h"
#include "refine_steps.h"

namespace cudaenc::h264 {

// Bytes in rows.
struct ByteBlock {
    const uint8_t *data;
    ptrdiff_t stride;
    ByteBlock at(int x, int y) const { return {data + y * stride + x, stride}; }
};
inline ByteBlock block_at(const BytePlane &plane, int x, int y) { return {plane.at(x, y), plane.stride()}; }

// Sums of the 8x8 blocks of a macroblock. In registers: pieces that are stored apart would have to be waited for.
struct QuarterSums {
    using Four = uint32_t __attribute__((vector_size(16)));
    Four of;
    uint32_t all() const {
        const Four two = of + __builtin_shufflevector(of, of, 2, 3, 0, 1);
        return two[0] + two[1];
    }
};

// Sums of absolute differences. They are inlined, so that a block's rows stay in registers while vectors are tried.
#ifdef __SSE2__
namespace detail {
inline __m128i two_rows_of_8(ByteBlock block, int y) {
    const auto row = [&](int i) {
        return _mm_loadl_epi64(reinterpret_cast<const __m128i *>(block.data + i * block.stride));
    };
    return _mm_unpacklo_epi64(row(y), row(y + 1));
}
inline __m128i row_of_16(ByteBlock block, int y) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(block.data + y * block.stride));
}
inline uint32_t low_sum(__m128i sums) { return static_cast<uint32_t>(_mm_cvtsi128_si32(sums)); }
inline uint32_t high_sum(__m128i sums) { return low_sum(_mm_srli_si128(sums, 8)); }
}  // namespace detail
inline uint32_t sad_8x8(ByteBlock a, ByteBlock b) {
    __m128i sum = _mm_setzero_si128();
    for (int y = 0; y < 8; y += 2)
        sum = _mm_add_epi32(sum, _mm_sad_epu8(detail::two_rows_of_8(a, y), detail::two_rows_of_8(b, y)));
    return detail::low_sum(sum) + detail::high_sum(sum);
}
inline QuarterSums sad_16x16(ByteBlock a, ByteBlock b) {
    const auto half = [&](int first) {
        __m128i sum = _mm_setzero_si128();
#pragma GCC unroll 8
        for (int y = first; y < first + 8; y++)
            sum = _mm_add_epi32(sum, _mm_sad_epu8(detail::row_of_16(a, y), detail::row_of_16(b, y)));
        return (QuarterSums::Four)sum;
    };
    return {__builtin_shufflevector(half(0), half(8), 0, 2, 4, 6)};
}
#else
inline uint32_t sad_8x8(ByteBlock a, ByteBlock b) {
    uint32_t sum = 0;
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++) {
            const int d = a.at(x, y).data[0] - b.at(x, y).data[0];
            sum += static_cast<uint32_t>(d < 0 ? -d : d);
        }
    return sum;
}
inline QuarterSums sad_16x16(ByteBlock a, ByteBlock b) {
    QuarterSums sums{};
    for (int i = 0; i < 4; i++) {
        const int x = 8 * (i & 1), y = 8 * (i >> 1);
        sums.of[i] = sad_8x8(a.at(x, y), b.at(x, y));
    }
    return sums;
}
#endif

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

// What SATDs by all vectors have in common: the source's transform but for its last stage. Rows 0 to 3 and 8 to 11 of a
// macroblock, or those four below; sums of two columns, or their differences; four rows.
struct TransformedSource {
    alignas(32) int16_t values[2][2][4][16];
};
void transform_source(ByteBlock source, TransformedSource &to);
// Half the SATD over 4x4 blocks: of an 8x8 block, and of the four of a macroblock.
uint32_t satd_8x8(const TransformedSource &source, int block, const QuarterBlock &prediction);
QuarterSums satd_16x16(const TransformedSource &source, const QuarterBlock &prediction);

// What the bits of a vector are worth that is not allowed.
inline constexpr uint32_t kNowhere = UINT32_MAX;
// Every square_step().
inline constexpr auto kSquare = [] {
    std::array<Vector, kSquareSteps> steps{};
    for (int i = 0; i < kSquareSteps; i++) steps[static_cast<size_t>(i)] = square_step(i);
    return steps;
}();

// What bits of vectors are worth, which are in units of so many quarter samples.
class VectorWorth {
  public:
    VectorWorth(const VectorRange &range, Vector predicted, uint32_t lambda, int unit = 1)
        : range_(range), predicted_(predicted), lambda_(lambda), unit_(unit) {}
    uint32_t operator()(Vector v) const {
        v = scaled(v, unit_);
        return range_.has(v) ? worth(lambda_, vector_bits(v, predicted_)) : kNowhere;
    }
    // Of those of kSquare, so many samples around a vector.
    std::array<uint32_t, kSquareSteps> around(Vector middle, int step) const {
        constexpr uint32_t kBeyond = 1 << 16;
        uint32_t columns[3], rows[3];
        for (int i = 0; i < 3; i++) {
            const int x = unit_ * (middle.x + (i - 1) * step), y = unit_ * (middle.y + (i - 1) * step);
            columns[i] = x < range_.left || x > range_.right ? kBeyond : difference_bits(x - predicted_.x);
            rows[i] = y < range_.top || y > range_.bottom ? kBeyond : difference_bits(y - predicted_.y);
        }
        std::array<uint32_t, kSquareSteps> worths;
#pragma GCC unroll 8
        for (size_t i = 0; i < kSquareSteps; i++) {
            const uint32_t bits = columns[kSquare[i].x + 1] + rows[kSquare[i].y + 1];
            worths[i] = bits >= kBeyond ? kNowhere : worth(lambda_, bits);
        }
        return worths;
    }

  private:
    const VectorRange range_;
    const Vector predicted_;
    const uint32_t lambda_;
    const int unit_;
};

// Sums of a macroblock by vectors of at most Reach around one of them, computed when they are asked for first: its 8x8
// blocks share them. of_macroblock(v): all four sums; of_block(v, b): that of a block.
template <int Reach, class OfMacroblock, class OfBlock>
class SumsAround {
  public:
    SumsAround(Vector middle, const OfMacroblock &of_macroblock, const OfBlock &of_block)
        : middle_(middle), of_macroblock_(of_macroblock), of_block_(of_block) {}
    QuarterSums at(Vector v) {
        if (!has(v)) return of_macroblock_(v);
        const uint32_t i = index_of(v);
        if (!known_[i]) sums_[i] = of_macroblock_(v), known_[i] = true;
        return sums_[i];
    }
    // At least those of blocks in the mask. Two blocks take as long as a macroblock.
    QuarterSums at(Vector v, int blocks) {
        if (blocks & (blocks - 1) || (has(v) && known_[index_of(v)])) return at(v);
        return {QuarterSums::Four{} + of_block_(v, std::countr_zero(static_cast<uint32_t>(blocks)))};
    }

  private:
    static constexpr uint32_t kSide = 2 * Reach + 1;
    bool has(Vector v) const {
        return static_cast<uint32_t>(v.x - middle_.x + Reach) < kSide &&
               static_cast<uint32_t>(v.y - middle_.y + Reach) < kSide;
    }
    uint32_t index_of(Vector v) const {
        return kSide * static_cast<uint32_t>(v.y - middle_.y + Reach) + static_cast<uint32_t>(v.x - middle_.x + Reach);
    }
    const Vector middle_;
    const OfMacroblock &of_macroblock_;
    const OfBlock &of_block_;
    bool known_[kSide * kSide]{};
    QuarterSums sums_[kSide * kSide];
};

// The best vectors of the 8x8 blocks of a macroblock, of equals the first. Blocks with the same vector go on together.
// sums(v, blocks): those of blocks in a mask, at least.
class BlockVectors {
  public:
    // costs: of the blocks by v.
    BlockVectors(Vector v, const QuarterSums &costs) : vectors_(Four{} + word_of(v)), costs_((Four)costs.of) {}
    Vector of(int b) const { return std::bit_cast<Vector>(static_cast<int32_t>(vectors_[b])); }
    // bits: what those of v are worth.
    template <class Sums>
    void take(Vector v, int b, uint32_t bits, const Sums &sums) {
        take(v, 1 << b, costs_[b], bits, sums);
    }
    // The vectors so many samples around each block's, but for those known to be no better.
    template <class Sums, class Known>
    void look_around(int step, const VectorWorth &bits, const Sums &sums, const Known &known) {
        const BlockVectors before = *this;
        for (int b = 0, done = 0; b < 4; b++) {
            if (done >> b & 1) continue;
            int blocks = 0, most = 0;
            for (int other = b; other < 4; other++)
                if (before.vectors_[other] == before.vectors_[b])
                    blocks |= 1 << other, most = std::max(most, before.costs_[other]);
            done |= blocks;
            const auto around = bits.around(before.of(b), step);
            for (size_t i = 0; i < kSquareSteps; i++) {
                const Vector v = sum_of(before.of(b), scaled(kSquare[i], step));
                if (!known(v)) take(v, blocks, most, around[i], sums);
            }
        }
    }

  private:
    using Four = int32_t __attribute__((vector_size(16)));
    static int32_t word_of(Vector v) { return std::bit_cast<int32_t>(v); }
    // most: what none of the blocks exceeds.
    template <class Sums>
    void take(Vector v, int blocks, int most, uint32_t bits, const Sums &sums) {
        if (bits >= static_cast<uint32_t>(most)) return;
        const Four costs = (Four)sums(v, blocks).of + static_cast<int32_t>(bits);
        const Four less = (costs < costs_) & (((Four{} + blocks) & Four{1, 2, 4, 8}) != 0);
        costs_ = less ? costs : costs_;
        vectors_ = less ? Four{} + word_of(v) : vectors_;
    }
    Four vectors_, costs_;
};

// Predictions of a square of 8 or 16 columns and rows of luma, whose first sample is in column x and row y.
// Luma, to rows of 16.
void predict_luma(const ReferencePicture &reference, int x, int y, Vector v, int size, Sample *to);
// Component 1 or 2 of the same: of 4:4:4 as luma, of others (8.4.2.2.2) to rows of 8. offset: see FieldReference.
void predict_chroma(const ReferencePicture &reference, int component, int x, int y, Vector v, int offset, int size,
                    Sample *to);

// The sum of squared differences of `count` samples, a multiple of 16.
uint32_t squared_error(const Sample *a, const Sample *b, int count);

}  // namespace cudaenc::h264
