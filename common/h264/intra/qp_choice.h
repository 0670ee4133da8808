// SPDX-License-Identifier: LGPL-2.1-or-later
// Quantisers and Lagrange multipliers by QP.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "decisions.h"

namespace cudaenc::h264 {

inline constexpr int kQps = kMaxQp + qp_bd_offset(kMaxBitDepth) + 1;

// By QP'; the DC of 4:2:2 chroma has QP'c + 3.
inline constexpr auto kQuantisers = [] {
    std::array<Quantiser, kQps + 3> q{};
    for (int qp = 0; qp < static_cast<int>(q.size()); qp++) q[static_cast<size_t>(qp)] = make_quantiser(qp);
    return q;
}();

// Of luma and of chroma, by QP'.
struct Quantisers {
    const Quantiser *luma = kQuantisers.data(), *chroma = kQuantisers.data();
};

// Those of scaling lists.
class WeightedQuantisers {
  public:
    explicit WeightedQuantisers(const ScalingLists &lists) {
        for (int qp = 0; qp < static_cast<int>(kQuantisers.size()); qp++) {
            luma_.push_back(make_quantiser(qp, lists.luma_4x4, lists.luma_8x8));
            chroma_.push_back(make_quantiser(qp, lists.chroma_4x4));
        }
    }
    operator Quantisers() const { return {luma_.data(), chroma_.data()}; }

  private:
    std::vector<Quantiser> luma_, chroma_;
};

// The Lagrange multipliers, in 2^-8: kLambda / 256 2^((QP' - 12) / 3) for squared errors, and
// kSatdLambda / 256 2^((QP' - 12) / 6) for half a SATD.
inline constexpr uint64_t kLambda = 135, kSatdLambda = 256;
constexpr uint64_t lambda_of(int qp) {
    constexpr uint64_t thirds[] = {256, 323, 406};
    return (thirds[qp % 3] * kLambda << qp / 3) >> 12;
}
constexpr uint32_t satd_lambda_of(int qp) {
    constexpr uint64_t sixths[] = {256, 287, 323, 362, 406, 456};
    return static_cast<uint32_t>((sixths[qp % 6] * kSatdLambda << qp / 6) >> 10);
}

// That of motion, by QPY: vectors are found in samples of 8 bits, whatever the picture has.
constexpr uint32_t motion_lambda_of(int qp) { return satd_lambda_of(qp > 0 ? qp : 0); }

inline QpChoice make_qp_choice(int qp, int bit_depth, ChromaFormat format, int chroma_qp_index_offset,
                               const Quantisers &quantisers) {
    const int drop_step = qp > kMaxQp ? qp - kMaxQp : 0;
    qp -= drop_step;
    // QP', of table 8-15
    const int luma = qp + qp_bd_offset(bit_depth), chroma = chroma_qp(qp, bit_depth, chroma_qp_index_offset);
    QpChoice q{.luma = quantisers.luma[luma],
               .chroma = quantisers.chroma[chroma],
               .chroma_dc = quantisers.chroma[chroma + (format == ChromaFormat::c422 ? 3 : 0)],
               .lambda = lambda_of(luma + drop_step),
               .satd_lambda = satd_lambda_of(luma + drop_step)};
    if (!drop_step) return q;
    // The CPU multiplies transposed blocks.
    for (Quantiser *quantiser : {&q.luma, &q.chroma, &q.chroma_dc}) drop_frequencies(*quantiser, drop_step, true);
    return q;
}

}  // namespace cudaenc::h264
