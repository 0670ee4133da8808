// SPDX-License-Identifier: LGPL-2.1-or-later
#include "inter_coder.h"

#include <algorithm>
#include <cstring>

#include "../../simd.h"

namespace cudaenc::h264 {

namespace {

// Estimated; 0: no levels.
CUDAENC_CLONES uint32_t bits_of(const int16_t *levels, int count) {
    uint32_t bits = 0;
    for (int i = 0; i < count; i++)
        bits += inter_level_bits(static_cast<uint32_t>(levels[i] < 0 ? -levels[i] : levels[i]));
    return bits;
}

CUDAENC_CLONES uint32_t error_of_8x8(const Sample *a, const Sample *b) {
    int sum = 0;
    for (int row = 0; row < 8; row++, a += 16, b += 16)
        for (int i = 0; i < 8; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return static_cast<uint32_t>(sum);
}

}  // namespace

// Predicted samples, 16 in a row, or 8 of chroma.
void InterCoder::weigh(int component, int columns, int rows, Sample *samples) const {
    const int32_t offset = component ? weights_.chroma_offset() : weights_.offset;
    const int stride = format_.columns(component);
    for (int y = 0; y < rows; y++, samples += stride)
        for (int x = 0; x < columns; x++)
            samples[x] = static_cast<Sample>(weights_.weigh(samples[x], offset, format_.bit_depth));
}

// A component of the square of so many luma samples from column x and row y of the macroblock on.
void InterCoder::predict_square(const Place &place, int component, Vector v, int x, int y, int size,
                                MacroblockSamples &to) const {
    const int left = 16 * place.x + x, top = 16 * place.y + y;
    const int width = format_.columns(component), height = format_.rows(component);
    Sample *const samples = to.of(component) + width * (y * height / 16) + x * width / 16;
    if (component)
        predict_chroma(reference_, component, left, top, v, chroma_offset_, size, samples);
    else
        predict_luma(reference_, left, top, v, size, samples);
    if (weights_.any()) weigh(component, size * width / 16, size * height / 16, samples);
}

void InterCoder::predict(const Place &place, const MacroblockMotion &motion) {
    const bool whole = motion.shape == Shape::p16x16;
    for (int c = 0; c < format_.components(); c++)
        for (int b = 0; b < (whole ? 1 : 4); b++)
            predict_square(place, c, motion.vectors[b], 8 * (b & 1), 8 * (b >> 1), whole ? 16 : 8, prediction_);
}

// The cost as P_Skip, or any that exceeds `most`.
uint64_t InterCoder::skip_cost(const Place &place, const MacroblockSamples &source, uint64_t most) {
    uint64_t distortion = 0;
    for (int c = 0; c < format_.components() && cost_of(distortion, 0) <= most; c++) {
        predict_square(place, c, place.skipped, 0, 0, 16, skipped_);
        distortion += squared_error(source.of(c), skipped_.of(c), samples_of(c));
    }
    return cost_of(distortion, 0);
}

void InterCoder::copy(const MacroblockSamples &from, MacroblockSamples &to) const {
    for (int c = 0; c < format_.components(); c++) std::copy_n(from.of(c), samples_of(c), to.of(c));
}

// What levels of an 8x8 block, or of chroma, cost at least. Errors that cost no more are left as they are.
uint64_t InterCoder::least_coded() const { return cost_of(0, kBlockBits + inter_level_bits(1)); }

// Blocks whose levels cost more than they gain have none. 4x4 transforms come first.
template <int Size>
void InterCoder::code_luma(const MacroblockSamples &source, Luma &luma) {
    const int components = luma_components(format_.chroma), depth = format_.bit_depth;
    luma.pattern = 0;
    luma.cost = 0;
    luma.bits = 0;
    for (int b = 0; b < 4; b++) {
        const int x = 8 * (b & 1), y = 8 * (b >> 1), at = 16 * y + x;
        if constexpr (Size == 4) {
            errors_[b] = 0;
            for (int c = 0; c < components; c++) errors_[b] += error_of_8x8(source.of(c) + at, prediction_.of(c) + at);
        }
        const uint64_t none = cost_of(errors_[b], 0);
        uint32_t distortion = 0, bits = kBlockBits;
        for (int c = 0; c < components && none > least_coded(); c++) {
            const Quantiser &quantiser = *quantisers_[c ? 1 : 0];
            const Sample *const own = source.of(c) + at, *const predicted = prediction_.of(c) + at;
            int16_t *const levels = luma.levels[c] + 64 * b;
            Sample *const to = luma.reconstruction[c] + at;
            if constexpr (Size == 8) {
                distortion += code_8x8({own, 16}, {predicted, 16}, quantiser, kRoundingInter, depth, levels, {to, 16},
                                       nullptr, 0, 0)
                                  .distortion;
            } else {
                for (int k = 0; k < 4; k += 2)
                    distortion += code_4x4_pair({own + 32 * k, 16}, {predicted + 32 * k, 16}, quantiser, kRoundingInter,
                                                depth, levels + 16 * k, {to + 32 * k, 16})
                                      .distortion;
            }
            bits += bits_of(levels, 64);
        }
        const uint64_t coded = cost_of(distortion, bits);
        if (bits > kBlockBits && coded < none) {
            luma.pattern |= 1 << b;
            luma.cost += coded;
            luma.bits += bits;
            continue;
        }
        luma.cost += none;
        for (int c = 0; c < components; c++) {
            std::fill_n(luma.levels[c] + 64 * b, 64, int16_t{0});
            for (int row = 0; row < 8; row++)
                std::copy_n(prediction_.of(c) + at + 16 * row, 8, luma.reconstruction[c] + at + 16 * row);
        }
    }
}

void InterCoder::code_chroma_blocks(const MacroblockSamples &source) {
    chroma_.pattern = 0;
    chroma_.cost = chroma_.error = 0;
    chroma_.bits = 0;
    const int blocks = chroma_blocks(format_.chroma), height = 2 * blocks, samples = 8 * height;
    if (!blocks) return;
    std::memset(chroma_.dc, 0, sizeof chroma_.dc);
    for (int c = 0; c < 2; c++) chroma_.error += squared_error(source.chroma[c], prediction_.chroma[c], samples);
    chroma_.cost = cost_of(chroma_.error, 0);
    if (chroma_.cost > least_coded()) {
        uint64_t distortion = 0;
        bool any_dc = false, any_ac = false;
        for (int c = 0; c < 2; c++) {
            const CodedMacroblock coded =
                code_chroma({source.chroma[c], 8}, {prediction_.chroma[c], 8}, *quantisers_[1], *quantisers_[2],
                            kRoundingInter, format_.bit_depth, height, chroma_.dc + 8 * c, chroma_.ac + 16 * blocks * c,
                            {chroma_.reconstruction[c], 8}, nullptr);
            distortion += coded.distortion;
            any_dc |= coded.dc;
            any_ac |= coded.ac;
        }
        chroma_.bits = bits_of(chroma_.dc, 16) + bits_of(chroma_.ac, 32 * blocks) + kBlockBits;
        const uint64_t coded = cost_of(distortion, chroma_.bits);
        if ((any_dc || any_ac) && coded < chroma_.cost) {
            chroma_.pattern = any_ac ? 2 : 1;
            chroma_.cost = coded;
            return;
        }
    }
    chroma_.bits = 0;
    std::memset(chroma_.dc, 0, sizeof chroma_.dc);
    std::memset(chroma_.ac, 0, sizeof chroma_.ac);
    for (int c = 0; c < 2; c++) std::copy_n(prediction_.chroma[c], samples, chroma_.reconstruction[c]);
}

InterOutcome InterCoder::code(const Place &place, const MacroblockSamples &source, const MacroblockMotion &motion,
                              Macroblock &macroblock, int16_t *levels, MacroblockSamples &reconstruction) {
    const int offset = qp_bd_offset(format_.bit_depth), of_chroma = chroma_qp(place.qp, format_.bit_depth);
    const int qps[3] = {place.qp + offset, of_chroma, of_chroma + (format_.chroma == ChromaFormat::c422 ? 3 : 0)};
    for (int i = 0; i < 3; i++) {
        quantisers_[i] = &kQuantisers[static_cast<size_t>(qps[i])];
        if (!place.drop_step) continue;
        without_frequencies_[i] = *quantisers_[i];
        drop_frequencies(without_frequencies_[i], place.drop_step);
        quantisers_[i] = &without_frequencies_[i];
    }
    lambda_ = lambda_of(qps[0] + place.drop_step);
    macroblock = {};
    predict(place, motion);
    code_luma<4>(source, luma_[0]);
    Luma *best = &luma_[0];
    if (format_.transform_8x8 && luma_[0].pattern) {
        code_luma<8>(source, luma_[1]);
        if (luma_[1].cost < best->cost) best = &luma_[1];
    }
    code_chroma_blocks(source);
    const int pattern = best->pattern | chroma_.pattern << 4;
    const uint64_t coded = best->cost + chroma_.cost + lambda_ * (place.vector_bits + kInterHeaderBits);
    if (place.can_skip) {
        const bool predicted = motion.shape == Shape::p16x16 && motion.vectors[0] == place.skipped;
        const uint64_t skipped =
            predicted ? cost_of(uint64_t{errors_[0]} + errors_[1] + errors_[2] + errors_[3] + chroma_.error, 0)
                      : skip_cost(place, source, coded);
        if (skipped <= coded) {
            macroblock.type = MacroblockType::p16x16;
            std::fill_n(levels, 16 * blocks_per_macroblock(format_.chroma), int16_t{0});
            copy(predicted ? prediction_ : skipped_, reconstruction);
            return {skipped, true};
        }
    }
    macroblock.type =
        static_cast<MacroblockType>(static_cast<int>(MacroblockType::p16x16) + static_cast<int>(motion.shape));
    macroblock.transform_size_8x8_flag = best == &luma_[1] && best->pattern;
    macroblock.coded_block_pattern = static_cast<uint8_t>(pattern);
    write_levels(*best, levels);
    const int as_luma = luma_components(format_.chroma);
    for (int c = 0; c < format_.components(); c++)
        std::copy_n(c < as_luma ? best->reconstruction[c] : chroma_.reconstruction[c - 1], samples_of(c),
                    reconstruction.of(c));
    return {exceeds_limits(macroblock, levels, best->bits + chroma_.bits) ? kNotAllowed : coded, false};
}

void InterCoder::write_levels(const Luma &luma, int16_t *levels) const {
    for (int c = 0; c < luma_components(format_.chroma); c++) {
        int16_t *const to = levels + 16 * kLumaBlocks * c;
        std::copy_n(luma.levels[c], 256, to);
        std::fill_n(to + 16 * kLumaDcBlock, 16, int16_t{0});
    }
    const int blocks = chroma_blocks(format_.chroma);
    if (!blocks) return;
    std::copy_n(chroma_.dc, 16, levels + 16 * kChromaDcBlock);
    std::copy_n(chroma_.ac, 32 * blocks, levels + 16 * kChromaAcBlock);
}

uint64_t InterCoder::intra_cost(const PictureFormat &format, const MacroblockSamples &source, int qp, int drop_step,
                                const Macroblock &macroblock, const int16_t *levels,
                                const MacroblockSamples &reconstruction) {
    uint64_t distortion = 0;
    for (int c = 0; c < format.components(); c++)
        distortion += squared_error(source.of(c), reconstruction.of(c), format.columns(c) * format.rows(c));
    const uint64_t lambda = lambda_of(qp + qp_bd_offset(format.bit_depth) + drop_step);
    if (macroblock.type == MacroblockType::pcm) return h264::cost_of(lambda, distortion, pcm_bits(format.coded()));
    BitCounter header;
    code_macroblock_header(format.coded(), macroblock, header, kFirstIntraTypeOfP);
    uint32_t bits = header.bits;
    for (int b = 0; b < 4; b++) {
        if (!(macroblock.coded_block_pattern >> b & 1)) continue;
        bits += kBlockBits;
        for (int c = 0; c < luma_components(format.chroma); c++)
            bits += bits_of(levels + 16 * kLumaBlocks * c + 64 * b, 64);
    }
    if (macroblock.type == MacroblockType::i16x16)
        for (int c = 0; c < luma_components(format.chroma); c++)
            bits += bits_of(levels + 16 * (kLumaBlocks * c + kLumaDcBlock), 16);
    const int chroma = macroblock.coded_block_pattern >> 4;
    if (chroma) bits += bits_of(levels + 16 * kChromaDcBlock, 16) + kBlockBits;
    if (chroma > 1) bits += bits_of(levels + 16 * kChromaAcBlock, 32 * chroma_blocks(format.chroma));
    return h264::cost_of(lambda, distortion, bits);
}

// Whether the levels may take more than the limits of a macroblock allow, with the nCs that take most. bits: estimated.
bool InterCoder::exceeds_limits(const Macroblock &m, const int16_t *levels, uint32_t bits) const {
    const ChromaFormat chroma = format_.chroma;
    const int count = 16 * blocks_per_macroblock(chroma), of_chroma = chroma_blocks(chroma);
    if (!may_be_pcm(coded_, {bits, 0})) return false;
    bits = kMostHeaderBits;
    const auto add = [&](const ScannedLevels &scanned, int coefficients) {
        bits += count_block(scanned, {kTokens0, kZeros4x4, coefficients}).bits + kTokenBitsByNc;
    };
    for (int i = 0; i < 16 * luma_components(chroma); i++) {
        const int b = i % 16;
        const int16_t *const of_component = levels + 16 * kLumaBlocks * (i / 16);
        if (!(m.coded_block_pattern >> b / 4 & 1)) continue;
        if (m.transform_size_8x8_flag)
            add(scan_8x8(of_component + 64 * (b / 4), b % 4, coded_.field), 16);
        else
            add(scan_4x4(of_component + 16 * b, coded_.field), 16);
    }
    for (int c = 0; c < 2 && m.coded_block_pattern >> 4; c++)
        bits += count_block(scan_chroma_dc(levels + 16 * kChromaDcBlock + 8 * c, of_chroma), chroma_dc_code(of_chroma))
                    .bits;
    for (int b = kChromaAcBlock; b < kChromaAcBlock + 2 * of_chroma && m.coded_block_pattern >> 5; b++)
        add(scan_ac(levels + 16 * b, coded_.field), 15);
    return bits > most_macroblock_bits(coded_) || std::any_of(levels, levels + count, [](int16_t l) {
               return l > kMaxLevelOfPrefix15 || l < -kMaxLevelOfPrefix15;
           });
}

}  // namespace cudaenc::h264
