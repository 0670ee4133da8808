// SPDX-License-Identifier: LGPL-2.1-or-later
// The coder of macroblocks side by side, which is compiled for several levels of x86-64 and numbers of lanes, a file
// each: CUDAENC_LANE_LEVEL is 4 or 3, where the compiler's intrinsics of it are there, or 0; CUDAENC_LANES is 32 with
// level 4, or 16. A stage has a file, lane_*.h, without includes.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "../../simd.h"
#include "../../vectors.h"
#include "../intra/intra_lines.h"
#include "../intra/intra_nxn.h"
#include "../intra/transform.h"
#include "macroblock_lanes.h"

#ifdef CUDAENC_LEVELS
#define CUDAENC_LANE_FUNCTION [[gnu::flatten]]
#pragma GCC diagnostic ignored "-Wuninitialized"  // where intrinsics leave something undefined
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#else
#define CUDAENC_LANE_FUNCTION CUDAENC_CLONES
#endif

#ifndef __clang__  // which is given no level
#pragma GCC push_options
#endif
#if CUDAENC_LANE_LEVEL == 4
#pragma GCC target("arch=x86-64-v4")
#if CUDAENC_LANES == 32
#define CUDAENC_LANE_NAMESPACE level_4
#else
#define CUDAENC_LANE_NAMESPACE level_4_narrow
#endif
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

// The modes of neighbours, and those that are likely.
[[gnu::always_inline]] inline void load_modes(Work &w, const MacroblockLanes::Task *const (&tasks)[kLanes],
                                              LikelyTypes likely) {
    using Modes = int8_t __attribute__((vector_size(8)));
    Lanes rows[16];
    from_rows(rows, [&](int lane) __attribute__((always_inline)) {
        const MacroblockCoder::Place &p = tasks[lane]->place;
        int8_t modes[8] = {-1, -1, -1, -1, -1, -1, -1, -1};  // above, then left
        if (p.above) std::memcpy(modes, p.above->mode_below, 4);
        if (p.left) std::memcpy(modes + 4, p.left->mode_right, 4);
        Modes eight;
        std::memcpy(&eight, modes, sizeof eight);
        Half ranked;  // and what is behind them
        static_assert(offsetof(RankedModes, of_8x8) + sizeof ranked <= sizeof(RankedModes));
        std::memcpy(&ranked, p.ranked->of_8x8, sizeof ranked);
        return join(__builtin_convertvector(eight, Half), ranked);
    });
    for (int k = 0; k < 4; k++) {
        for (int t = 0; t < 2; t++) {
            w.candidates[t].modes[0][1 + k] = rows[k];
            w.candidates[t].modes[1 + k][0] = rows[4 + k];
        }
        w.ranked_8x8[k] = rows[8 + k];
    }
    if (likely < kAlso4x4) return;
    from_rows(w.ranked_4x4, [&](int lane) __attribute__((always_inline)) {
        Row ranked;
        std::memcpy(&ranked, tasks[lane]->place.ranked->of_4x4, sizeof ranked);
        return ranked;
    });
}

template <int Depth>
[[gnu::always_inline]] inline void load_samples(Work &w, const MacroblockLanes::Task *const (&tasks)[kLanes]) {
    Available available[kLanes];
    const uint8_t *source[kLanes];
    for (int i = 0; i < kLanes; i++) {
        available[i] = tasks[i]->place.available;
        source[i] = tasks[i]->source;
    }
    w.available = neighbours_of(available);
    const Sample *at[kLanes];
    const auto find = [&](int component) __attribute__((always_inline)) {
        for (int i = 0; i < kLanes; i++) at[i] = tasks[i]->place.samples[component].data;
        return tasks[0]->place.samples[component].stride;
    };
    const int chroma_rows = 2 * chroma_blocks(w.coded.chroma);
    Lanes left[kMostColumnSamples];
    const int count = 16 * w.components + 2 * chroma_rows;
#pragma GCC unroll 1
    for (int i = 0; i < count; i += 16) {
        Lanes column[16];
        from_rows(column, [&](int lane) __attribute__((always_inline)) {
            Row r;
            std::memcpy(&r, tasks[lane]->columns->samples + i, sizeof r);
            return r;
        });
        std::memcpy(left + i, column, sizeof column);
    }
#pragma GCC unroll 1
    for (int i = 0; i < w.components; i++) {
        load_source<Depth>(source, 256, w.source[i]);
        load_above<16>(at, find(i), available, w.luma[i]);
        for (int y = 0; y < 16; y++) *w.luma[i].at(-1, y) = left[16 * i + y];
    }
#pragma GCC unroll 1
    for (int i = 0; i < 2 && chroma_rows; i++) {
        load_source<Depth>(source, 8 * chroma_rows, w.chroma_source[i]);
        load_above<8>(at, find(1 + i), available, w.chroma[i]);
        for (int y = 0; y < chroma_rows; y++) *w.chroma[i].at(-1, y) = left[16 + chroma_rows * i + y];
    }
}

CUDAENC_LANE_FUNCTION void load_lanes(Work &w, const MacroblockLanes::Task *const (&tasks)[kLanes],
                                      LikelyTypes likely) {
    if (w.coded.luma_depth == 8)
        load_samples<8>(w, tasks);
    else
        load_samples<10>(w, tasks);
    if (likely >= kAlso8x8) load_modes(w, tasks, likely);
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

// What is stored of each lane.
struct Stored {
    Lanes type;
    LikelyTypes likely;     // the most types of a lane
    Sample *to[3][kLanes];  // of each component; nullptr: nothing is stored
    ptrdiff_t strides[3];
    Sample *columns[kLanes];   // likewise
    int16_t *levels[kLanes];   // likewise
    uint8_t patterns[kLanes];  // coded_block_pattern
};

// 16 numbers of each lane's type. of(candidate): the first one
template <int Step = 1, class Of>
[[gnu::always_inline]] inline void get_row(const Work &w, const Stored &s, Lanes (&row)[16], const Of &of) {
    const Candidate *const c = w.candidates;
    get_line<16>(of(c[static_cast<int>(MacroblockType::i16x16)]), Step, row);
    for (const MacroblockType t : {MacroblockType::i8x8, MacroblockType::i4x4}) {
        if (s.likely < (t == MacroblockType::i8x8 ? kAlso8x8 : kAlso4x4)) return;
        const Lanes is_type = s.type == static_cast<int16_t>(t);
        const Lanes *const of_type = of(c[static_cast<int>(t)]);
#pragma GCC unroll 16
        for (int x = 0; x < 16; x++) row[x] = is_type ? of_type[Step * x] : row[x];
    }
}

// Levels of `count` blocks, of the lanes in which they are coded. is_coded_in(lane); get(block, row)
template <class IsCoded, class GetRow>
[[gnu::always_inline]] inline void store_levels(const Stored &s, int first, int count, const IsCoded &is_coded_in,
                                                const GetRow &get) {
    int16_t *levels[kLanes];
    bool any = false;
    for (int i = 0; i < kLanes; i++) {
        const bool coded = s.levels[i] && is_coded_in(i);
        levels[i] = coded ? s.levels[i] : nullptr;
        any |= coded;
    }
    if (!any) return;
#pragma GCC unroll 1
    for (int b = first; b < first + count; b++) {
        Lanes row[16];
        get(b, row);
        store_row(row, levels, 16 * b);
    }
}

CUDAENC_LANE_FUNCTION void store_lanes(const Work &w, const Stored &s) {
    Lanes row[16];
#pragma GCC unroll 1
    for (int i = 0; i < w.components; i++) {
        const int base = kLumaBlocks * i;
#pragma GCC unroll 1
        for (int y = w.all_rows ? 0 : 15; y < 16; y++) {
            get_row(w, s, row,
                    [&](const Candidate &c) __attribute__((always_inline)) { return c.reconstruction[i] + 16 * y; });
            store_row(row, s.to[i], y * s.strides[i]);
        }
        get_row<16>(w, s, row,
                    [&](const Candidate &c) __attribute__((always_inline)) { return c.reconstruction[i] + 15; });
        store_row(row, s.columns, 16 * i);
#pragma GCC unroll 1
        for (int b = 0; b < 16; b += 4)
            store_levels(
                s, base + b, 4, [&](int lane) __attribute__((always_inline)) { return s.patterns[lane] >> b / 4 & 1; },
                [&](int block, Lanes(&r)[16]) __attribute__((always_inline)) {
                    get_row(w, s, r, [&](const Candidate &c) __attribute__((always_inline)) {
                        return c.levels[i] + 16 * (block - base);
                    });
                });
        store_levels(
            s, base + kLumaDcBlock, 1,
            [&](int lane)
                __attribute__((always_inline)) { return s.type[lane] == static_cast<int16_t>(MacroblockType::i16x16); },
            [&](int, Lanes(&r)[16]) __attribute__((always_inline)) {
                const Candidate &c = w.candidates[static_cast<int>(MacroblockType::i16x16)];
                std::memcpy(r, c.levels[i] + 16 * kLumaDcBlock, sizeof r);
            });
    }
    const int blocks = chroma_blocks(w.coded.chroma);
    if (!blocks) return;
    for (int ac = 0; ac < 2; ac++)
        store_levels(
            s, ac ? kChromaAcBlock : kChromaDcBlock, ac ? 2 * blocks : 1,
            [&](int lane) __attribute__((always_inline)) { return s.patterns[lane] >> 4 > ac; },
            [&](int block, Lanes(&r)[16]) __attribute__((always_inline)) {
                std::memcpy(r, w.chroma_levels + 16 * (block - kChromaDcBlock), sizeof r);
            });
    const int rows = 2 * blocks;
    for (int i = 0; i < 2 * rows; i += 16) {
        for (int k = 0; k < 16; k++) row[k] = w.chroma_reconstruction[(i + k) / rows][(i + k) % rows * 8 + 7];
        store_row(row, s.columns, 16 + i);
    }
    for (int i = 0; i < 2; i++)
        for (int y = w.all_rows ? 0 : rows - 2; y < rows; y += 2) {
            const ptrdiff_t stride = s.strides[1 + i];
            std::memcpy(row, w.chroma_reconstruction[i] + 8 * y, sizeof row);
            to_rows(row, [&](int lane, const Row &r) __attribute__((always_inline)) {
                Sample *const at = s.to[1 + i][lane];
                if (!at) return;
                const Half first = low(r), second = high(r);
                if (w.all_rows) std::memcpy(at + y * stride, &first, sizeof first);
                std::memcpy(at + (y + 1) * stride, &second, sizeof second);
            });
        }
}

// Bits of code_macroblock_header() where all modes are the predicted ones. Another one has kOtherModeBits more.
constexpr uint32_t kOtherModeBits = 3;
class HeaderBits {
  public:
    explicit HeaderBits(const CodedFormat &f) : bits_() {
        for (size_t i = 0; i < sizeof bits_; i++) {
            const size_t modes = i / kPatterns, pattern = i % kPatterns;
            Macroblock m{};
            m.type = static_cast<MacroblockType>(modes / 16);
            m.intra_chroma_pred_mode = static_cast<uint8_t>(modes / 4 % 4);
            m.intra_16x16_pred_mode = static_cast<uint8_t>(modes % 4);
            m.coded_block_pattern = static_cast<uint8_t>(chroma_blocks(f.chroma) ? pattern : pattern % 16);
            std::fill_n(m.pred_mode, 16, kPredictedMode);
            BitCounter counter;
            code_macroblock_header(f, m, counter);
            bits_[i] = static_cast<uint8_t>(counter.bits);
        }
    }
    uint32_t of(MacroblockType type, int intra_chroma_pred_mode, int intra_16x16_pred_mode, int pattern) const {
        const int modes = (static_cast<int>(type) * 4 + intra_chroma_pred_mode) * 4 + intra_16x16_pred_mode;
        return bits_[modes * kPatterns + pattern];
    }

  private:
    static constexpr int kPatterns = 48;
    uint8_t bits_[3 * 4 * 4 * kPatterns];
};

class Coder final : public MacroblockLanes {
  public:
    explicit Coder(const PictureFormat &format)
        : planes_(format.components()), source_bytes_(source_bytes(format)), header_bits_(format.coded()), work_() {
        work_.coded = format.coded();
        work_.components = luma_components(format.chroma);
    }
    void code(Task *tasks, bool all_rows) override;

  private:
    int pattern_of(const Candidate &c, int lane) const { return c.coded[lane] | work_.chroma_coded[lane] << 4; }
    void decide(Task &task, int lane) const;
    void finish(Task &task, int lane, Stored &stored) const;

    const int planes_;
    const size_t source_bytes_;
    const HeaderBits header_bits_;
    Work work_;
};

void Coder::code(Task *tasks, bool all_rows) {
    const Task *of_lanes[kLanes]{}, *first = nullptr;
    LikelyTypes likely = kOnly16x16;
    for (int i = 0; i < kLanes; i++) {
        const Task &t = tasks[i];
        if (!t.macroblock) continue;
        t.macroblock->type = MacroblockType::pcm;
        if (t.place.qp < kLeastLaneQp || t.place.qp > kMostLaneQp) continue;
        of_lanes[i] = &t;
        likely = std::max(likely, t.place.likely);
        if (!first) first = &t;
    }
    if (!first) return;
    for (int i = 0; i < kLanes; i++) {
        if (!of_lanes[i]) of_lanes[i] = first;  // it does the same again
        set_qp(work_, i, of_lanes[i]->place.qp);
    }
    work_.all_rows = all_rows;
    load_lanes(work_, of_lanes, likely);
    (work_.coded.luma_depth == 8 ? code_lanes_of_8_bits : code_lanes_of_10_bits)(work_, likely);

    Stored stored{};
    stored.likely = likely;
    for (int c = 0; c < planes_; c++) stored.strides[c] = first->place.samples[c].stride;
    for (int i = 0; i < kLanes; i++) {
        if (of_lanes[i] != &tasks[i]) continue;
        decide(tasks[i], i);
        if (tasks[i].macroblock->type != MacroblockType::pcm) finish(tasks[i], i, stored);
    }
    store_lanes(work_, stored);
}

// The cheapest type, and its syntax.
void Coder::decide(Task &task, int lane) const {
    const Work &w = work_;
    const uint64_t lambda = lambda_of(task.place.qp + qp_bd_offset(w.coded.luma_depth));
    const auto sums_of = [lane](const Wide &bits, const Wide &nonzero) -> LevelSums {
        return {static_cast<uint32_t>(lane_of(bits, lane)), static_cast<uint32_t>(lane_of(nonzero, lane))};
    };
    MacroblockType best = MacroblockType::i16x16;
    LevelSums sums{};
    int64_t least = INT64_MAX;
    for (const MacroblockType type : {MacroblockType::i8x8, MacroblockType::i4x4, MacroblockType::i16x16}) {
        if (type == MacroblockType::i8x8 && task.place.likely < kAlso8x8) continue;
        if (type == MacroblockType::i4x4 && task.place.likely < kAlso4x4) continue;
        const Candidate &c = w.candidates[static_cast<int>(type)];
        const int mode = type == MacroblockType::i16x16 ? c.pred_modes[0][lane] : 0;
        const uint32_t header = header_bits_.of(type, w.chroma_mode[lane], mode, pattern_of(c, lane)) +
                                kOtherModeBits * static_cast<uint32_t>(c.other_modes[lane]);
        const LevelSums of_type = sums_of(c.bits, c.nonzero);
        const uint64_t distortion = static_cast<uint32_t>(lane_of(c.distortion, lane));
        const int64_t cost =
            static_cast<int64_t>((distortion << 8) + lambda * (header + estimated_residual_bits(type, of_type)));
        if (cost >= least) continue;
        least = cost;
        sums = of_type;
        best = type;
    }
    const Candidate &c = w.candidates[static_cast<int>(best)];
    task.result = {0, static_cast<uint32_t>(lane_of(c.of_luma, lane))};
    Macroblock &m = *task.macroblock;
    m = {};
    m.type = may_be_pcm(w.coded, sums + sums_of(w.chroma_bits, w.chroma_nonzero)) ? MacroblockType::pcm : best;
    m.intra_chroma_pred_mode = static_cast<uint8_t>(w.chroma_mode[lane]);
    m.coded_block_pattern = static_cast<uint8_t>(pattern_of(c, lane));
    if (best == MacroblockType::i16x16) m.intra_16x16_pred_mode = static_cast<uint8_t>(c.pred_modes[0][lane]);
    const int blocks = best == MacroblockType::i4x4 ? 16 : best == MacroblockType::i8x8 ? 4 : 0;
    for (int b = 0; b < blocks; b++) m.pred_mode[b] = static_cast<uint8_t>(c.pred_modes[b][lane]);
}

// What neighbours need, and where to store.
void Coder::finish(Task &task, int lane, Stored &stored) const {
    const Macroblock &m = *task.macroblock;
    const Candidate &c = work_.candidates[static_cast<int>(m.type)];
    Neighbour &n = *task.neighbour;
    n.type = m.type;
    for (int k = 0; k < 4; k++) {
        const bool dc = m.type == MacroblockType::i16x16;
        n.mode_right[k] = dc ? int8_t{kDc} : static_cast<int8_t>(c.modes[1 + k][4][lane]);
        n.mode_below[k] = dc ? int8_t{kDc} : static_cast<int8_t>(c.modes[4][1 + k][lane]);
    }
    stored.type[lane] = static_cast<int16_t>(m.type);
    for (int k = 0; k < planes_; k++) stored.to[k][lane] = task.place.samples[k].data;
    stored.columns[lane] = task.columns->samples;
    stored.levels[lane] = task.levels;
    stored.patterns[lane] = m.coded_block_pattern;
    // No cache has the memory that levels go to, nor the row's next source: they come while samples are stored.
    const int16_t *const levels = task.levels;
    const uint8_t *const next = task.source + source_bytes_;
    for (size_t i = 0; i < source_bytes_; i += 64) __builtin_prefetch(next + i, 0, 2);
    for (int b = 0; b < 16; b += 2)
        if (m.coded_block_pattern >> b / 4 & 1) __builtin_prefetch(levels + 16 * b, 1, 2);
}

}  // namespace

extern const LaneVectors kVectors;
constexpr LaneVectors kVectors = {kLanes, rank, [](const PictureFormat &f) -> std::unique_ptr<MacroblockLanes> {
                                      return std::make_unique<Coder>(f);
                                  }};

}  // namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE

#ifndef __clang__
#pragma GCC pop_options
#endif
