// The coder of macroblocks side by side, which is compiled for several levels of x86-64, a file each:
// CUDAENC_LANE_LEVEL is 4 or 3, where the compiler's intrinsics of it are there, or 0. A stage has a file, lane_*.h,
// without includes. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "../simd.h"
#include "../vectors.h"
#include "intra_lines.h"
#include "intra_nxn.h"
#include "macroblock_lanes.h"
#include "transform.h"

#ifdef CUDAENC_LEVELS
#define CUDAENC_LANE_FUNCTION [[gnu::flatten]]
#pragma GCC diagnostic ignored "-Wuninitialized"  // where intrinsics leave something undefined
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#else
#define CUDAENC_LANE_FUNCTION CUDAENC_CLONES
#endif

#pragma GCC push_options
#if CUDAENC_LANE_LEVEL == 4
#pragma GCC target("arch=x86-64-v4")
#define CUDAENC_LANE_NAMESPACE level_4
#elif CUDAENC_LANE_LEVEL == 3
#pragma GCC target("arch=x86-64-v3")
#define CUDAENC_LANE_NAMESPACE level_3
#else
#define CUDAENC_LANE_NAMESPACE level_0
#endif

// clang-format off: a file needs those before it
#include "lane_vectors.h"
#include "lane_samples.h"
#include "lane_intra.h"
#include "lane_rank.h"
#include "lane_quantise.h"
#include "lane_macroblock.h"
#include "lane_nxn.h"
#include "lane_16x16.h"
// clang-format on

namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE {

namespace {

// Per component: the first sample of each lane's macroblock, and the stride.
template <class Number>
struct Places {
    Number *at[3][kLanes];
    ptrdiff_t strides[3];
};

CUDAENC_LANE_FUNCTION void load_lanes(Work &w, const Places<const Sample> &from, const Available (&available)[kLanes]) {
    w.available = neighbours_of(available);
#pragma GCC unroll 1
    for (int i = 0; i < w.components; i++) {
        load_source<16, 16>(from.at[i], from.strides[i], w.source[i]);
        load_neighbours<16, 16>(from.at[i], from.strides[i], available, w.luma[i]);
    }
    for (int i = 0; i < 2 && chroma_blocks(w.coded.chroma); i++) {
        const ptrdiff_t stride = from.strides[1 + i];
        if (w.coded.chroma == ChromaFormat::c420) {
            load_source<8, 8>(from.at[1 + i], stride, w.chroma_source[i]);
            load_neighbours<8, 8>(from.at[1 + i], stride, available, w.chroma[i]);
        } else {
            load_source<8, 16>(from.at[1 + i], stride, w.chroma_source[i]);
            load_neighbours<8, 16>(from.at[1 + i], stride, available, w.chroma[i]);
        }
    }
}

// As each type.
template <int Components, int Depth>
[[gnu::always_inline]] inline void code_luma(Work &w, LikelyTypes likely) {
    code_16x16<Components, Depth>(w, w.candidates[static_cast<int>(MacroblockType::i16x16)]);
    if (likely < kAlso8x8) return;
    Candidate &of_8x8 = w.candidates[static_cast<int>(MacroblockType::i8x8)];
    begin(of_8x8);
#pragma GCC unroll 1
    for (int b = 0; b < 4; b++) code_block<8, Components, Depth>(w, of_8x8, w.quantisers_8x8, b, w.ranked_8x8[b]);
    keep_reconstruction(w, of_8x8);
    if (likely < kAlso4x4) return;
    Candidate &of_4x4 = w.candidates[static_cast<int>(MacroblockType::i4x4)];
    begin(of_4x4);
#pragma GCC unroll 1
    for (int b = 0; b < 16; b++) code_block<4, Components, Depth>(w, of_4x4, w.quantisers_4x4, b, w.ranked_4x4[b]);
    keep_reconstruction(w, of_4x4);
}

template <int Depth>
[[gnu::always_inline]] inline void code_lanes(Work &w, LikelyTypes likely) {
    w.chroma_bits = w.chroma_nonzero = all_wide(0);
    w.chroma_mode = w.chroma_coded = Lanes{};
    if (w.coded.chroma == ChromaFormat::c420) code_chroma<8, Depth>(w);
    if (w.coded.chroma == ChromaFormat::c422) code_chroma<16, Depth>(w);
    if (w.components == 3)
        code_luma<3, Depth>(w, likely);
    else
        code_luma<1, Depth>(w, likely);
}
CUDAENC_LANE_FUNCTION void code_lanes_of_8_bits(Work &w, LikelyTypes likely) { code_lanes<8>(w, likely); }
CUDAENC_LANE_FUNCTION void code_lanes_of_10_bits(Work &w, LikelyTypes likely) { code_lanes<10>(w, likely); }

CUDAENC_LANE_FUNCTION void store_lanes(const Work &w, const Lanes &type, const Places<Sample> &to,
                                       int16_t *const (&levels)[kLanes]) {
    const Lanes is_8x8 = type == static_cast<int16_t>(MacroblockType::i8x8);
    const Lanes is_16x16 = type == static_cast<int16_t>(MacroblockType::i16x16);
    const Candidate *const c = w.candidates;
    Lanes row[16];
#pragma GCC unroll 1
    for (int i = 0; i < w.components; i++) {
        for (int y = 0; y < 16; y++) {
            for (int x = 0; x < 16; x++) {
                const int k = 16 * y + x;
                const Lanes p = is_8x8 ? c[1].reconstruction[i][k] : c[0].reconstruction[i][k];
                row[x] = is_16x16 ? c[2].reconstruction[i][k] : p;
            }
            store_row(row, to.at[i], y * to.strides[i]);
        }
        for (int b = 0; b < kLumaBlocks; b++) {
            for (int x = 0; x < 16; x++) {
                const int k = 16 * b + x;
                const Lanes l = b == kLumaDcBlock ? Lanes{} : is_8x8 ? c[1].levels[i][k] : c[0].levels[i][k];
                row[x] = is_16x16 ? c[2].levels[i][k] : l;
            }
            store_row(row, levels, 16 * (kLumaBlocks * i + b));
        }
    }
    const int blocks = chroma_blocks(w.coded.chroma);
    if (!blocks) return;
    for (int b = 0; b < 1 + 2 * blocks; b++) {
        std::memcpy(row, w.chroma_levels + 16 * b, sizeof row);
        store_row(row, levels, 16 * (kChromaDcBlock + b));
    }
    for (int i = 0; i < 2; i++)
        for (int y = 0; y < 2 * blocks; y += 2) {
            const ptrdiff_t stride = to.strides[1 + i];
            std::memcpy(row, w.chroma_reconstruction[i] + 8 * y, sizeof row);
            to_rows(row, [&](int lane, const Row &r) __attribute__((always_inline)) {
                Sample *const at = to.at[1 + i][lane];
                if (!at) return;
                const Half first = low(r), second = high(r);
                std::memcpy(at + y * stride, &first, sizeof first);
                std::memcpy(at + (y + 1) * stride, &second, sizeof second);
            });
        }
}

class Coder final : public MacroblockLanes {
  public:
    explicit Coder(const PictureFormat &format) : planes_(format.components()), work_() {
        work_.coded = format.coded();
        work_.components = luma_components(format.chroma);
    }
    void code(Task *tasks) override;

  private:
    const int planes_;
    Work work_;
};

void Coder::code(Task *tasks) {
    Work &w = work_;
    bool taken[kLanes];
    int first = -1;
    for (int i = 0; i < kLanes; i++) {
        const Task &t = tasks[i];
        taken[i] = t.macroblock && t.place.qp >= kLeastLaneQp && t.place.qp <= kMostLaneQp;
        if (t.macroblock) t.macroblock->type = MacroblockType::pcm;
        if (taken[i] && first < 0) first = i;
    }
    if (first < 0) return;
    // No cache has the memory that levels go to: it comes while macroblocks are coded.
    for (int i = 0; i < kLanes; i++)
        for (int k = 0; taken[i] && k < 16 * blocks_per_macroblock(w.coded.chroma); k += 32)
            __builtin_prefetch(tasks[i].levels + k, 1, 2);
    Places<const Sample> from;
    Available available[kLanes];
    uint64_t lambdas[kLanes];
    LikelyTypes likely = kOnly16x16;
    Places<Sample> to{};
    for (int c = 0; c < planes_; c++) from.strides[c] = to.strides[c] = tasks[first].place.samples[c].stride;
    for (int i = 0; i < kLanes; i++) {
        const MacroblockCoder::Place &p = tasks[taken[i] ? i : first].place;  // others do the same again
        for (int c = 0; c < planes_; c++) from.at[c][i] = p.samples[c].data;
        available[i] = p.available;
        lambdas[i] = lambda_of(p.qp + qp_bd_offset(w.coded.luma_depth));
        likely = std::max(likely, p.likely);
        set_qp(w, i, p.qp);
        for (int b = 0; b < 16; b++) w.ranked_4x4[b][i] = static_cast<int16_t>(p.ranked->of_4x4[b]);
        for (int b = 0; b < 4; b++) w.ranked_8x8[b][i] = static_cast<int16_t>(p.ranked->of_8x8[b]);
        for (int t = 0; t < 2; t++)
            for (int k = 0; k < 4; k++) {
                w.candidates[t].modes[0][1 + k][i] = p.above ? p.above->mode_below[k] : int8_t{-1};
                w.candidates[t].modes[1 + k][0][i] = p.left ? p.left->mode_right[k] : int8_t{-1};
            }
    }
    load_lanes(w, from, available);
    (w.coded.luma_depth == 8 ? code_lanes_of_8_bits : code_lanes_of_10_bits)(w, likely);

    Lanes types{};
    int16_t *levels[kLanes]{};
    for (int i = 0; i < kLanes; i++) {
        Task &t = tasks[i];
        if (!taken[i]) continue;
        int64_t least = INT64_MAX;
        const LevelSums chroma = {static_cast<uint32_t>(lane_of(w.chroma_bits, i)),
                                  static_cast<uint32_t>(lane_of(w.chroma_nonzero, i))};
        LevelSums sums{};
        for (const MacroblockType type : {MacroblockType::i8x8, MacroblockType::i4x4, MacroblockType::i16x16}) {
            if (type == MacroblockType::i8x8 && t.place.likely < kAlso8x8) continue;
            if (type == MacroblockType::i4x4 && t.place.likely < kAlso4x4) continue;
            Candidate &c = w.candidates[static_cast<int>(type)];
            Macroblock m{};
            m.type = type;
            m.intra_chroma_pred_mode = static_cast<uint8_t>(w.chroma_mode[i]);
            m.coded_block_pattern = static_cast<uint8_t>(c.coded[i] | w.chroma_coded[i] << 4);
            if (type == MacroblockType::i16x16)
                m.intra_16x16_pred_mode = static_cast<uint8_t>(c.pred_modes[0][i]);
            else
                for (int b = 0; b < 16; b++) m.pred_mode[b] = static_cast<uint8_t>(c.pred_modes[b][i]);
            BitCounter header;
            code_macroblock_header(w.coded, m, header);
            const LevelSums of_type = {static_cast<uint32_t>(lane_of(c.bits, i)),
                                       static_cast<uint32_t>(lane_of(c.nonzero, i))};
            const uint32_t distortion = static_cast<uint32_t>(lane_of(c.distortion, i));
            const int64_t cost = static_cast<int64_t>(
                (uint64_t{distortion} << 8) + lambdas[i] * (header.bits + estimated_residual_bits(type, of_type)));
            if (cost >= least) continue;
            least = cost;
            sums = of_type;
            *t.macroblock = m;
            t.result = {0, static_cast<uint32_t>(lane_of(c.of_luma, i))};
        }
        if (may_be_pcm(w.coded, sums + chroma)) {
            t.macroblock->type = MacroblockType::pcm;
            continue;
        }
        const MacroblockType type = t.macroblock->type;
        types[i] = static_cast<int16_t>(type);
        t.neighbour->type = type;
        const Candidate &c = w.candidates[static_cast<int>(type)];
        for (int k = 0; k < 4; k++) {
            const bool dc = type == MacroblockType::i16x16;
            t.neighbour->mode_right[k] = dc ? int8_t{kDc} : static_cast<int8_t>(c.modes[1 + k][4][i]);
            t.neighbour->mode_below[k] = dc ? int8_t{kDc} : static_cast<int8_t>(c.modes[4][1 + k][i]);
        }
        for (int k = 0; k < planes_; k++) to.at[k][i] = t.place.samples[k].data;
        levels[i] = t.levels;
    }
    store_lanes(w, types, to, levels);
}

}  // namespace

extern const LaneVectors kVectors;
constexpr LaneVectors kVectors = {kLanes, rank, [](const PictureFormat &f) -> std::unique_ptr<MacroblockLanes> {
                                      return std::make_unique<Coder>(f);
                                  }};

}  // namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE

#pragma GCC pop_options
