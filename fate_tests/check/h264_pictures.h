// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures of random macroblocks, of all types, for the coders of slices.
#pragma once
#include <algorithm>
#include <vector>

#include "../../common/h264/syntax/code_macroblock.h"
#include "../../common/h264/syntax/headers.h"
#include "testing.h"

namespace cudaenc::testing {

// What macroblocks are like.
struct Mix {
    int density;  // 0 to 8: how many levels are not 0
    int range;    // the largest level
    int pcm;      // one macroblock in so many is I_PCM; 0: none
    int sample;   // the largest sample of I_PCM
};

struct CodedMacroblocks {
    h264::CodedFormat format;
    std::vector<h264::Slice> slices;
    std::vector<h264::SliceHeaderBits> headers;
    std::vector<h264::Macroblock> macroblocks;
    std::vector<int16_t> levels;
    std::vector<uint16_t> sign_flips;  // may be empty
    bool predicted = false;
    h264::CodedPicture picture() const {
        return {macroblocks.data(), levels.data(), sign_flips.empty() ? nullptr : sign_flips.data(), predicted};
    }
};

inline std::vector<h264::Slice> random_slices(Random &random, uint32_t macroblocks, uint32_t most) {
    std::vector<h264::Slice> slices;
    for (uint32_t first = 0; first < macroblocks;) {
        const uint32_t count = slices.size() + 1 == most
                                   ? macroblocks - first
                                   : 1 + random.below(std::max(1u, 2 * macroblocks / std::max(1u, most)));
        slices.push_back({first, std::min(count, macroblocks - first)});
        first += slices.back().count;
    }
    return slices;
}

inline uint8_t random_mode(Random &random) {
    return random.one_in(3) ? h264::kPredictedMode : static_cast<uint8_t>(random.below(8));
}

inline CodedMacroblocks random_picture(Random &random, const h264::CodedFormat &f, uint32_t most_slices,
                                       const Mix &mix) {
    using namespace h264;
    const uint32_t step = static_cast<uint32_t>(f.step());
    CodedMacroblocks p{
        f, random_slices(random, static_cast<uint32_t>(f.macroblocks()) / step, most_slices), {}, {}, {}, {}, false};
    for (Slice &slice : p.slices) slice.first *= step, slice.count *= step;
    const int blocks = blocks_per_macroblock(f.chroma);
    const bool subsampled = chroma_blocks(f.chroma) > 0;
    p.levels.resize(static_cast<size_t>(f.macroblocks() * blocks * 16));
    for (size_t s = 0; s < p.slices.size(); s++) {
        SliceHeader header{p.slices[s].first, random.between(0, 1), random.between(-30, 25)};
        header.disable_deblocking_filter_idc = random.between(0, 2);
        p.headers.push_back(make_slice_header(header));
        for (uint32_t i = 0; i < p.slices[s].count; i++) {
            const size_t address = p.macroblocks.size();
            int16_t *levels = &p.levels[address * static_cast<size_t>(blocks) * 16];
            Macroblock m{};
            m.first_in_slice = i == 0;
            m.slice = static_cast<uint16_t>(s);
            if (mix.pcm && random.one_in(static_cast<uint32_t>(mix.pcm))) {
                m.type = MacroblockType::pcm;
                for (int k = 0; k < 16 * pcm_blocks(f.chroma); k++)
                    levels[k] = static_cast<int16_t>(random.between(0, mix.sample));
                p.macroblocks.push_back(m);
                continue;
            }
            m.type = static_cast<MacroblockType>(random.below(3));
            if (m.type == MacroblockType::i8x8 && !f.transform_8x8_mode) m.type = MacroblockType::i4x4;
            if (m.type == MacroblockType::i16x16) {
                m.intra_16x16_pred_mode = static_cast<uint8_t>(random.below(4));
                m.coded_block_pattern = random.one_in(2) ? 15 : 0;
            } else {
                for (int k = 0; k < (m.type == MacroblockType::i8x8 ? 4 : 16); k++)
                    m.pred_mode[k] = random_mode(random);
                m.coded_block_pattern = static_cast<uint8_t>(random.one_in(4) ? 0 : random.below(16));
            }
            if (subsampled) {
                m.intra_chroma_pred_mode = static_cast<uint8_t>(random.below(4));
                m.coded_block_pattern = static_cast<uint8_t>(m.coded_block_pattern | random.below(3) << 4);
            }
            if (m.type == MacroblockType::i16x16 || m.coded_block_pattern)
                m.qp_delta = static_cast<int8_t>(random.one_in(2) ? 0 : random.between(-26, 25));
            // Levels as many and as large as the bits of a macroblock allow.
            for (int range = mix.range, density = mix.density;; range = (range + 1) / 2, density -= range == 1) {
                std::fill_n(levels, 16 * blocks, int16_t{0});
                for (int b = 0; b < blocks; b++) {
                    if (!is_coded(m, f.chroma, b)) continue;
                    const bool chroma_dc = subsampled && b == kChromaDcBlock;
                    const bool ac = subsampled && b > kChromaDcBlock
                                        ? true
                                        : m.type == MacroblockType::i16x16 && b % kLumaBlocks != kLumaDcBlock;
                    for (int k = ac; k < 16; k++) {
                        if (chroma_dc && (k & 7) >= chroma_blocks(f.chroma)) continue;
                        if (random.between(0, 7) < density)
                            levels[16 * b + k] = static_cast<int16_t>(random.between(-range, range));
                    }
                }
                std::vector<uint8_t> totals(static_cast<size_t>(blocks));
                // Of a macroblock without neighbours: those may cost it some bits more.
                CodedFormat alone = f;
                alone.width = alone.height = 1;
                BitCounter counter;
                code_macroblock(alone, {&m, levels, nullptr}, 0, 0, totals.data(), counter, [] {});
                if (counter.bits + 16 * static_cast<uint32_t>(blocks) <= most_macroblock_bits(f)) break;
            }
            p.macroblocks.push_back(m);
        }
    }
    return p;
}

// ---- P pictures

inline h264::SliceHeaderBits p_slice_header(uint32_t first, int qp_delta) {
    h264::SliceHeader header{.first_macroblock = first, .idr_pic_id = 0, .qp_delta = qp_delta};
    header.nal_unit_type = h264::kNalSlice;
    header.slice_type = h264::SliceType::p;
    header.frame_num = 1;
    return h264::make_slice_header(header);
}

// 1 in so many macroblocks that are not skipped stays intra. Those of I_4x4 and I_8x8 become inter with the same
// levels. skipped(address): whether that macroblock is.
template <class Skipped>
void make_predicted(Random &random, CodedMacroblocks &p, uint32_t intra, const Skipped &skipped) {
    using namespace h264;
    p.predicted = true;
    for (size_t s = 0; s < p.slices.size(); s++)
        p.headers[s] = p_slice_header(p.slices[s].first, random.between(-30, 25));
    for (size_t i = 0; i < p.macroblocks.size(); i++) {
        Macroblock &m = p.macroblocks[i];
        const bool skip = skipped(i), eight = m.type == MacroblockType::i8x8;
        if (!skip && ((!eight && m.type != MacroblockType::i4x4) || random.one_in(intra))) continue;
        m.type = skip ? MacroblockType::skip
                      : static_cast<MacroblockType>(static_cast<int>(MacroblockType::p16x16) + random.between(0, 3));
        if (skip) m.coded_block_pattern = 0, m.qp_delta = 0;
        m.intra_chroma_pred_mode = 0;
        m.transform_size_8x8_flag = eight && (m.coded_block_pattern & 15);
        const int range = random.of({0, 0, 2, 100, 8000, 32767});
        for (Vector &mvd : m.mvd) mvd = {};
        const int parts = skip ? 0 : m.type == MacroblockType::p16x16 ? 1 : m.type == MacroblockType::p8x8 ? 4 : 2;
        for (int part = 0; part < parts; part++)
            m.mvd[part] = {static_cast<int16_t>(random.between(-range, range)),
                           static_cast<int16_t>(random.between(-range, range))};
    }
}

// Runs of skipped and of other macroblocks, up to so long.
inline CodedMacroblocks random_p_picture(Random &random, const h264::CodedFormat &f, uint32_t most_slices,
                                         const Mix &mix, int most_skipped, int most_coded) {
    CodedMacroblocks p = random_picture(random, f, most_slices, mix);
    bool skips = random.one_in(2);
    int left = 0;
    make_predicted(random, p, 5, [&](size_t) {
        while (left-- <= 0) {
            skips = !skips;
            const int most = skips ? most_skipped : most_coded;
            left = random.one_in(3) ? random.between(0, std::min(most, 3)) : random.between(0, most);
        }
        return skips;
    });
    return p;
}

// Every chroma format with depths that a profile has.
inline const h264::CodedFormat h264_formats[] = {
    {h264::ChromaFormat::c420, false, 8, 8, 0, 0, false, false},
    {h264::ChromaFormat::c420, true, 8, 8, 0, 0, false, false},
    {h264::ChromaFormat::c420, true, 10, 10, 0, 0, false, false},
    {h264::ChromaFormat::c422, true, 8, 8, 0, 0, false, false},
    {h264::ChromaFormat::c422, true, 10, 10, 0, 0, false, false},
    {h264::ChromaFormat::c444, true, 8, 8, 0, 0, false, false},
    {h264::ChromaFormat::c444, true, 10, 10, 0, 0, false, false},
    {h264::ChromaFormat::c400, true, 8, 8, 0, 0, false, false},
    {h264::ChromaFormat::c400, true, 10, 10, 0, 0, false, false},
    {h264::ChromaFormat::c444, true, 14, 12, 0, 0, false, false},
};
inline h264::CodedFormat h264_format(size_t index, int width, int height) {
    h264::CodedFormat f = h264_formats[index];
    f.width = width;
    f.height = height;
    return f;
}
inline std::string describe(const h264::CodedFormat &f) {
    return format_string("chroma %d, %d and %d bits, 8x8 %d, %dx%d macroblocks", static_cast<int>(f.chroma),
                         f.luma_depth, f.chroma_depth, f.transform_8x8_mode, f.width, f.height);
}

}  // namespace cudaenc::testing
