// SPDX-License-Identifier: LGPL-2.1-or-later
#include "inter_coder.h"

#include <algorithm>
#include <cstring>

namespace cudaenc::h264 {

namespace {

struct Levels {
    uint32_t bits = 0, nonzero = 0, magnitude = 0;
};
Levels sums_of(const int16_t *levels, int count) {
    Levels sums;
    for (int i = 0; i < count; i++) {
        const uint32_t level = static_cast<uint32_t>(levels[i] < 0 ? -levels[i] : levels[i]);
        sums.bits += inter_level_bits(level);
        sums.nonzero += level != 0;
        sums.magnitude += level;
    }
    return sums;
}

uint32_t error_of_8x8(const Sample *a, const Sample *b) {
    alignas(32) Sample x[64], y[64];
    for (int row = 0; row < 8; row++) {
        std::copy_n(a + 16 * row, 8, x + 8 * row);
        std::copy_n(b + 16 * row, 8, y + 8 * row);
    }
    return squared_error(x, y, 64);
}

}  // namespace

void InterCoder::predict(const Place &place, const MacroblockMotion &motion) {
    const auto block = [&](int b, int size) {  // 8x8 block b is the first of a square of so many luma samples
        const int x = 8 * (b & 1), y = 8 * (b >> 1);
        const Vector v = motion.vectors[b];
        predict_luma(reference_, 16 * place.x + x, 16 * place.y + y, v, size, prediction_.luma + 16 * y + x);
        for (int c = 0; c < 2; c++)
            predict_chroma(reference_.chroma[c], 8 * place.x + x / 2, 8 * place.y + y / 2, v, size / 2,
                           prediction_.chroma[c] + 8 * (y / 2) + x / 2);
    };
    if (motion.shape == Shape::p16x16) return block(0, 16);
    for (int b = 0; b < 4; b++) block(b, 8);
}

uint64_t InterCoder::skip_cost(const Place &place, const MacroblockSamples &source) {
    predict_luma(reference_, 16 * place.x, 16 * place.y, place.skipped, 16, skipped_.luma);
    uint64_t distortion = squared_error(source.luma, skipped_.luma, 256);
    for (int c = 0; c < 2; c++) {
        predict_chroma(reference_.chroma[c], 8 * place.x, 8 * place.y, place.skipped, 8, skipped_.chroma[c]);
        distortion += squared_error(source.chroma[c], skipped_.chroma[c], 64);
    }
    return cost_of(distortion, 0);
}

// Blocks whose levels cost more than they gain have none. 4x4 transforms come first.
template <int Size>
void InterCoder::code_luma(const MacroblockSamples &source, Luma &luma) {
    luma.pattern = 0;
    luma.cost = 0;
    luma.bits = 0;
    for (int b = 0; b < 4; b++) {
        const int x = 8 * (b & 1), y = 8 * (b >> 1), at = 16 * y + x;
        uint32_t distortion = 0;
        if constexpr (Size == 8) {
            distortion = code_8x8({source.luma + at, 16}, {prediction_.luma + at, 16}, *luma_quantiser_, kRoundingInter,
                                  8, luma.levels + 64 * b, {luma.reconstruction + at, 16}, nullptr, 0, 0)
                             .distortion;
        } else {
            for (int k = 0; k < 4; k += 2) {
                const int of_pair = at + 32 * k;
                distortion +=
                    code_4x4_pair({source.luma + of_pair, 16}, {prediction_.luma + of_pair, 16}, *luma_quantiser_,
                                  kRoundingInter, 8, luma.levels + 64 * b + 16 * k, {luma.reconstruction + of_pair, 16})
                        .distortion;
            }
        }
        const Levels sums = sums_of(luma.levels + 64 * b, 64);
        const uint32_t bits = sums.bits + kBlockBits;
        const uint64_t coded = cost_of(distortion, bits);
        if constexpr (Size == 4) errors_[b] = error_of_8x8(source.luma + at, prediction_.luma + at);
        const uint64_t none = cost_of(errors_[b], 0);
        if (sums.nonzero && coded < none) {
            luma.pattern |= 1 << b;
            luma.cost += coded;
            luma.bits += bits;
            continue;
        }
        luma.cost += none;
        std::fill_n(luma.levels + 64 * b, 64, int16_t{0});
        for (int row = 0; row < 8; row++)
            std::copy_n(prediction_.luma + at + 16 * row, 8, luma.reconstruction + at + 16 * row);
    }
}

void InterCoder::code_chroma_blocks(const MacroblockSamples &source) {
    chroma_.pattern = 0;
    std::fill_n(chroma_.dc, 16, int16_t{0});
    uint64_t distortion = 0, without = 0;
    bool any_dc = false, any_ac = false;
    for (int c = 0; c < 2; c++) {
        const CodedMacroblock coded = code_chroma({source.chroma[c], 8}, {prediction_.chroma[c], 8}, *chroma_quantiser_,
                                                  *chroma_quantiser_, kRoundingInter, 8, 8, chroma_.dc + 8 * c,
                                                  chroma_.ac + 64 * c, {chroma_.reconstruction[c], 8}, nullptr);
        distortion += coded.distortion;
        any_dc |= coded.dc;
        any_ac |= coded.ac;
        without += squared_error(source.chroma[c], prediction_.chroma[c], 64);
    }
    chroma_.bits = sums_of(chroma_.dc, 16).bits + sums_of(chroma_.ac, 128).bits + kBlockBits;
    const uint64_t none = cost_of(without, 0), coded = cost_of(distortion, chroma_.bits);
    if ((any_dc || any_ac) && coded < none) {
        chroma_.pattern = any_ac ? 2 : 1;
        chroma_.cost = coded;
        return;
    }
    chroma_.cost = none;
    chroma_.bits = 0;
    std::memset(chroma_.dc, 0, sizeof chroma_.dc);
    std::memset(chroma_.ac, 0, sizeof chroma_.ac);
    std::memcpy(chroma_.reconstruction, prediction_.chroma, sizeof chroma_.reconstruction);
}

InterOutcome InterCoder::code(const Place &place, const MacroblockSamples &source, const MacroblockMotion &motion,
                              Macroblock &macroblock, int16_t *levels, MacroblockSamples &reconstruction) {
    const int of_chroma = chroma_qp(place.qp, 8);
    luma_quantiser_ = &kQuantisers[static_cast<size_t>(place.qp)];
    chroma_quantiser_ = &kQuantisers[static_cast<size_t>(of_chroma)];
    if (place.drop_step) {
        without_frequencies_[0] = *luma_quantiser_;
        without_frequencies_[1] = *chroma_quantiser_;
        for (Quantiser &q : without_frequencies_) drop_frequencies(q, place.drop_step);
        luma_quantiser_ = &without_frequencies_[0];
        chroma_quantiser_ = &without_frequencies_[1];
    }
    lambda_ = lambda_of(place.qp + place.drop_step);
    macroblock = {};
    predict(place, motion);
    code_luma<4>(source, luma_[0]);
    Luma *best = &luma_[0];
    if (transform_8x8_ && luma_[0].pattern) {
        code_luma<8>(source, luma_[1]);
        if (luma_[1].cost < best->cost) best = &luma_[1];
    }
    code_chroma_blocks(source);
    const int pattern = best->pattern | chroma_.pattern << 4;
    const uint64_t coded = best->cost + chroma_.cost + lambda_ * (place.vector_bits + kInterHeaderBits);
    if (place.can_skip) {
        const uint64_t skipped = skip_cost(place, source);
        if (skipped <= coded) {
            macroblock.type = MacroblockType::p16x16;
            std::memset(levels, 0,
                        sizeof(int16_t) * 16 * static_cast<size_t>(blocks_per_macroblock(ChromaFormat::c420)));
            reconstruction = skipped_;
            return {skipped, true};
        }
    }
    macroblock.type =
        static_cast<MacroblockType>(static_cast<int>(MacroblockType::p16x16) + static_cast<int>(motion.shape));
    macroblock.transform_size_8x8_flag = best == &luma_[1] && best->pattern;
    macroblock.coded_block_pattern = static_cast<uint8_t>(pattern);
    std::copy_n(best->levels, 256, levels);
    std::fill_n(levels + 256, 16, int16_t{0});
    std::memcpy(levels + 16 * kChromaDcBlock, chroma_.dc, sizeof chroma_.dc);
    std::memcpy(levels + 16 * kChromaAcBlock, chroma_.ac, sizeof chroma_.ac);
    std::memcpy(reconstruction.luma, best->reconstruction, sizeof reconstruction.luma);
    std::memcpy(reconstruction.chroma, chroma_.reconstruction, sizeof reconstruction.chroma);
    return {exceeds_limits(macroblock, levels) ? kNotAllowed : coded, false};
}

uint64_t InterCoder::intra_cost(const CodedFormat &format, const MacroblockSamples &source, int qp, int drop_step,
                                const Macroblock &macroblock, const int16_t *levels,
                                const MacroblockSamples &reconstruction) {
    uint64_t distortion = squared_error(source.luma, reconstruction.luma, 256);
    for (int c = 0; c < 2; c++) distortion += squared_error(source.chroma[c], reconstruction.chroma[c], 64);
    if (macroblock.type == MacroblockType::pcm) return (distortion << 8) + lambda_of(qp + drop_step) * pcm_bits(format);
    BitCounter header;
    code_macroblock_header(format, macroblock, header, kFirstIntraTypeOfP);
    const bool dc = macroblock.type == MacroblockType::i16x16;
    uint32_t bits = header.bits;
    for (int b = 0; b < 4; b++)
        if (macroblock.coded_block_pattern >> b & 1) bits += sums_of(levels + 64 * b, 64).bits + kBlockBits;
    if (dc) bits += sums_of(levels + 256, 16).bits;
    if (macroblock.coded_block_pattern >> 4) bits += sums_of(levels + 16 * kChromaDcBlock, 16).bits + kBlockBits;
    if (macroblock.coded_block_pattern >> 5) bits += sums_of(levels + 16 * kChromaAcBlock, 128).bits;
    return (distortion << 8) + lambda_of(qp + drop_step) * bits;
}

// Whether the levels may take more than the limits of a macroblock allow, with the nCs that take most.
bool InterCoder::exceeds_limits(const Macroblock &m, const int16_t *levels) const {
    constexpr CodedFormat format = {.chroma = ChromaFormat::c420,
                                    .transform_8x8_mode = true,
                                    .luma_depth = 8,
                                    .chroma_depth = 8,
                                    .width = 0,
                                    .height = 0,
                                    .field = false};
    constexpr int count = 16 * blocks_per_macroblock(ChromaFormat::c420);
    const Levels sums = sums_of(levels, count);
    if (!may_be_pcm(format, {sums.bits, 0})) return false;
    uint32_t bits = kMostHeaderBits;
    const auto add = [&](const ScannedLevels &scanned, int coefficients) {
        bits += count_block(scanned, {kTokens0, kZeros4x4, coefficients}).bits + kTokenBitsByNc;
    };
    for (int b = 0; b < 16; b++) {
        if (!(m.coded_block_pattern >> b / 4 & 1)) continue;
        if (m.transform_size_8x8_flag)
            add(scan_8x8(levels + 64 * (b / 4), b % 4), 16);
        else
            add(scan_4x4(levels + 16 * b), 16);
    }
    for (int c = 0; c < 2 && m.coded_block_pattern >> 4; c++)
        bits += count_block(scan_chroma_dc(levels + 16 * kChromaDcBlock + 8 * c, 4), chroma_dc_code(4)).bits;
    for (int b = kChromaAcBlock; b < kChromaAcBlock + 8 && m.coded_block_pattern >> 5; b++)
        add(scan_ac(levels + 16 * b), 15);
    return bits > most_macroblock_bits(format) || std::any_of(levels, levels + count, [](int16_t l) {
               return l > kMaxLevelOfPrefix15 || l < -kMaxLevelOfPrefix15;
           });
}

}  // namespace cudaenc::h264
