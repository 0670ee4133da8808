// SPDX-License-Identifier: LGPL-2.1-or-later
#include "macroblock_coder.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

namespace cudaenc::h264 {

namespace {

constexpr uint32_t ue_bits(uint32_t v) { return 2 * (31 - __builtin_clz(v + 1)) + 1; }

// Costs of modes, below 2^28. pop_least() removes the least one, the first of equals.
template <int Modes>
class Costs {
  public:
    explicit Costs(uint32_t cost) { std::fill_n(costs_, Modes, cost); }
    uint32_t &operator[](int mode) { return costs_[mode]; }
    uint32_t (&all())[Modes] { return costs_; }
    struct Least {
        int mode;
        uint32_t cost;
    };
    Least pop_least() {
        uint32_t least = UINT32_MAX;
#pragma GCC unroll 9  // not vectorised: costs have just been stored one by one
        for (int mode = 0; mode < Modes; mode++)
            least = std::min(least, costs_[mode] << 4 | static_cast<uint32_t>(mode));
        const int mode = static_cast<int>(least & 15);
        costs_[mode] = (1 << 28) - 1;
        return {mode, least >> 4};
    }

  private:
    uint32_t costs_[Modes];
};

template <int Size>
struct BlocksOf;
template <>
struct BlocksOf<4> {
    static constexpr int count = 16, parts = 1;
    static constexpr auto rank = rank_4x4;
    static constexpr auto predict =
        static_cast<void (&)(ConstBlock, const Available &, int, Predictions<4> &)>(predict_4x4);
    static constexpr auto estimate = estimate_4x4;
    static constexpr auto code = code_4x4;
    static constexpr auto available = available_4x4;
    static uint32_t ranked(const RankedModes &modes, int block) { return modes.of_4x4[block]; }
    static constexpr MacroblockType type = MacroblockType::i4x4;
};
template <>
struct BlocksOf<8> {
    static constexpr int count = 4, parts = 4;
    static constexpr auto rank = rank_8x8;
    static constexpr auto predict =
        static_cast<void (&)(ConstBlock, const Available &, int, Predictions<8> &)>(predict_8x8);
    static constexpr auto estimate = estimate_8x8;
    static constexpr auto code = code_8x8;
    static constexpr auto available = available_8x8;
    static uint32_t ranked(const RankedModes &modes, int block) { return modes.of_8x8[block]; }
    static constexpr MacroblockType type = MacroblockType::i8x8;
};

LevelSums sums_of(const int16_t *levels, int count) {
    uint32_t bits = 0, nonzero = 0;
    for (int i = 0; i < count; i++) {
        const int32_t level = levels[i];
        bits += estimated_level_bits(static_cast<uint32_t>(level < 0 ? -level : level));
        nonzero += level != 0;
    }
    return {bits, nonzero};
}

template <int Width>
void copy(const ConstBlock &from, const Block &to, int height) {
    for (int y = 0; y < height; y++) std::copy_n(from.data + y * from.stride, Width, to.data + y * to.stride);
}
// 8 or 16 wide.
void copy(const ConstBlock &from, const Block &to, int width, int height) {
    if (width == 16)
        copy<16>(from, to, height);
    else
        copy<8>(from, to, height);
}

}  // namespace

void MacroblockCoder::begin(const Place &place) {
    place_ = &place;
    const int qp = place.qp + qp_bd_offset(f_.bit_depth);
    const int of_chroma = chroma_qp(place.qp, f_.bit_depth, f_.chroma_qp_index_offset);
    const int qps[3] = {qp, of_chroma, of_chroma + (f_.chroma == ChromaFormat::c422 ? 3 : 0)};  // QP', of table 8-15
    for (int i = 0; i < 3; i++) {
        quantisers_[i] = (i ? all_quantisers_.chroma : all_quantisers_.luma) + qps[i];
        if (!place.drop_step) continue;
        without_frequencies_[i] = *quantisers_[i];
        drop_frequencies(without_frequencies_[i], place.drop_step);
        quantisers_[i] = &without_frequencies_[i];
    }
    lambda_ = lambda_of(qp + place.drop_step);
    satd_lambda_ = satd_lambda_of(qp + place.drop_step);
    // Nothing is left but modes: those of the fewest bits, whatever they predict.
    if (only_modes()) satd_lambda_ <<= 6;
    candidates_ = place.effort >= kTwoCandidates ? 2 : 1;
    rounding_ = place.effort >= kRoundedByRate ? kRoundingByRate : kRounding;
    rounding_.field = f_.field;
    for (int c = 0; c < f_.components(); c++)
        copy(place.samples[c], {source_[c], f_.columns(c)}, f_.columns(c), f_.rows(c));
}

void MacroblockCoder::surround_totals(int component, Totals &totals) const {
    for (int i = 0; i < 4; i++) {
        totals[0][1 + i] = place_->above ? place_->above->total_below[component][i] : kNone;
        totals[1 + i][0] = place_->left ? place_->left->total_right[component][i] : kNone;
    }
}

void MacroblockCoder::begin(Luma &luma, MacroblockType type) const {
    luma.macroblock = {};
    luma.macroblock.type = type;
    luma.bits = 0;
    luma.cost = 0;
    luma.satd = 0;
    std::fill_n(luma.distortion, 3, 0);
    for (int i = 0; i < 4; i++) {
        luma.modes[0][1 + i] = place_->above ? place_->above->mode_below[i] : kNone;
        luma.modes[1 + i][0] = place_->left ? place_->left->mode_right[i] : kNone;
    }
    for (int c = 0; c < luma_components(f_.chroma); c++) surround_totals(c, luma.totals[c]);
}

void MacroblockCoder::end(Luma &luma) const {
    if (f_.has_chroma_blocks()) {
        luma.macroblock.intra_chroma_pred_mode = static_cast<uint8_t>(chroma_.mode);
        luma.macroblock.coded_block_pattern |= static_cast<uint8_t>(chroma_.coded << 4);
    }
    uint64_t distortion = 0;
    for (int c = 0; c < luma_components(f_.chroma); c++) distortion += luma.distortion[c];
    BitCounter header;
    code_macroblock_header(coded_, luma.macroblock, header);
    luma.bits += header.bits;
    luma.cost = cost_of(distortion, luma.bits);
    if (place_->effort != kAllTypes) return;
    const MacroblockType type = luma.macroblock.type;
    luma.sums = {};
    for (int c = 0; c < luma_components(f_.chroma); c++)
        luma.sums = luma.sums + sums_of(luma.levels[c], type == MacroblockType::i16x16 ? 272 : 256);
    luma.cost = cost_of(distortion, header.bits + estimated_residual_bits(type, luma.sums));
}

// ---- Intra 4x4 and 8x8: block after block, each predicted from the reconstruction of those before.

// Writes the predictions; returns the mode.
template <int Size, int Components>
int MacroblockCoder::estimate_best(int block, int predicted, const Available &available,
                                   Predictions<Size> (&predictions)[Components]) const {
    using Blocks = BlocksOf<Size>;
    const int first = block * Blocks::parts, x = 4 * luma_block_x(first), y = 4 * luma_block_y(first);
    for (int c = 0; c < Components; c++)
        Blocks::predict(place_->samples[c].at(x, y), available, f_.bit_depth, predictions[c]);
    const uint32_t price = estimated_price(lambda_), ranked = Blocks::ranked(*place_->ranked, block);
    int best = predicted;
    uint32_t tried = 0;
    uint64_t least = UINT64_MAX;
    for (int i = -1; i < kRankedModes; i++) {
        const int mode = i < 0 ? predicted : ranked_mode(ranked, i);
        if (tried >> mode & 1) continue;
        tried |= 1u << mode;
        uint64_t cost = price * estimated_mode_bits(mode == predicted);
        for (int c = 0; c < Components; c++)
            cost += Blocks::estimate(source(c).at(x, y), {predictions[c].of_mode[mode], Size}, quantiser(c), rounding_,
                                     f_.bit_depth, price);
        if (cost < least) least = cost, best = mode;
    }
    return best;
}

template <int Size, int Components>
void MacroblockCoder::code_best(Luma &luma, int block) {
    using Blocks = BlocksOf<Size>;
    const int first = block * Blocks::parts, column = luma_block_x(first), row = luma_block_y(first);  // in 4x4 blocks
    const int x = 4 * column, y = 4 * row;
    const Available available = Blocks::available(place_->available, block);
    const int left = luma.modes[1 + row][column], above = luma.modes[row][1 + column];
    const int predicted = left == kNone || above == kNone ? int{kDc} : std::min(left, above);
    Predictions<Size> predictions[Components];
    Costs<kModes> costs((4 * satd_lambda_) >> 8);
    costs[predicted] = satd_lambda_ >> 8;
    const bool estimates = place_->effort == kAllTypes;
    if (!estimates)
        for (int c = 0; c < Components; c++)
            Blocks::rank(place_->samples[c].at(x, y), available, f_.bit_depth, source(c).at(x, y), predictions[c],
                         costs.all());

    struct Attempt {
        int64_t cost;
        uint32_t bits, distortion[Components];
    };
    // Codes the block to levels(c) and reconstruction(c).
    const auto attempt = [&](int mode, auto levels, auto reconstruction) {
        Attempt a{};
        uint64_t distortion = 0;
        for (int c = 0; c < Components; c++) {
            const Coded coded =
                Blocks::code(source(c).at(x, y), {predictions[c].of_mode[mode], Size}, quantiser(c), rounding_,
                             f_.bit_depth, levels(c), reconstruction(c), counted(luma.totals[c]), column, row);
            a.distortion[c] = coded.distortion;
            a.bits += coded.bits;
            distortion += coded.distortion;
        }
        a.cost = cost_of(distortion, a.bits + (mode == predicted ? 1 : 4));
        return a;
    };
    const auto levels = [&](int c) { return luma.levels[c] + Size * Size * block; };
    const auto reconstruction = [&](int c) { return place_->samples[c].at(x, y); };
    auto [mode, cost] =
        estimates
            ? typename Costs<kModes>::Least{estimate_best<Size, Components>(block, predicted, available, predictions),
                                            0}
            : costs.pop_least();
    luma.satd += cost;
    Attempt best = attempt(mode, levels, reconstruction);
    if (candidates_ > 1) {
        const auto [second_mode, second_cost] = costs.pop_least();
        if (second_cost <= cost + cost / 8) {  // a worse one hardly ever wins
            alignas(32) int16_t other_levels[Components][Size * Size];
            alignas(32) Sample other_reconstruction[Components][Size * Size];
            int8_t totals[Components][Blocks::parts];
            const auto total = [&](int c, int part) -> int8_t & {
                return luma.totals[c][1 + row + part / 2][1 + column + part % 2];
            };
            for (int c = 0; c < Components; c++)
                for (int part = 0; part < Blocks::parts; part++) totals[c][part] = total(c, part);
            const Attempt second = attempt(
                second_mode, [&](int c) { return other_levels[c]; },
                [&](int c) { return Block{other_reconstruction[c], Size}; });
            const bool better = second.cost < best.cost;
            for (int c = 0; c < Components; c++) {
                if (better) {
                    std::memcpy(levels(c), other_levels[c], sizeof other_levels[c]);
                    copy<Size>({other_reconstruction[c], Size}, reconstruction(c), Size);
                } else {
                    for (int part = 0; part < Blocks::parts; part++) total(c, part) = totals[c][part];
                }
            }
            if (better) {
                best = second;
                mode = second_mode;
            }
        }
    }

    luma.macroblock.pred_mode[block] = static_cast<uint8_t>(mode == predicted  ? kPredictedMode
                                                            : mode < predicted ? mode
                                                                               : mode - 1);
    luma.bits += best.bits;
    luma.cost += best.cost;
    for (int part = 0; part < Blocks::parts; part++)
        luma.modes[1 + row + part / 2][1 + column + part % 2] = static_cast<int8_t>(mode);
    for (int c = 0; c < Components; c++) luma.distortion[c] += best.distortion[c];
}

// Gives up once the cost exceeds that of `other` by more than the remaining quarters are likely to regain.
template <int Size>
void MacroblockCoder::try_blocks(Luma &luma, const Luma *other) {
    begin(luma, BlocksOf<Size>::type);
    constexpr int quarter = BlocksOf<Size>::count / 4;
    const auto gives_up = [&](int64_t cost, int64_t others) {
        return cost > others + others / 32 + 4 * static_cast<int64_t>(lambda_);
    };
    for (int block = 0; block < BlocksOf<Size>::count; block++) {
        if (f_.chroma == ChromaFormat::c444)
            code_best<Size, 3>(luma, block);
        else
            code_best<Size, 1>(luma, block);
        if ((block + 1) % quarter) continue;
        int64_t &cost = luma.quarters[block / quarter];
        cost = luma.cost;
        if (other && gives_up(cost, other->quarters[block / quarter])) {
            luma.cost = INT64_MAX;
            return;
        }
    }
    // 8x8 blocks without levels are not coded: this subtracts their coeff_tokens.
    const bool counts = place_->effort != kAllTypes;
    for (int b = 0; b < 4; b++) {
        bool coded = false;
        uint32_t bits = 0;
        for (int c = 0; c < luma_components(f_.chroma); c++) {
            if (!counts) coded |= sums_of(luma.levels[c] + 64 * b, 64).nonzero != 0;
            for (int i = 4 * b; i < 4 * b + 4 && counts; i++) {
                const int x = luma_block_x(i), y = luma_block_y(i);
                const Totals &totals = luma.totals[c];
                coded |= totals[1 + y][1 + x] != 0;
                if (coded) break;
                bits += code_length(
                    kCavlcTables.coeff_token[token_table(predict_total(totals[1 + y][x], totals[y][1 + x]))][0]);
            }
        }
        if (coded)
            luma.macroblock.coded_block_pattern |= static_cast<uint8_t>(1 << b);
        else
            luma.bits -= bits;
    }
    for (int c = 0; c < luma_components(f_.chroma); c++) copy(place_->samples[c], {luma.reconstruction[c], 16}, 16, 16);
    end(luma);
}

// ---- Intra 16x16, and chroma of 4:2:0 and 4:2:2.

void MacroblockCoder::choose_16x16(Luma &luma) {
    begin(luma, MacroblockType::i16x16);
    for (int y = 1; y <= 4; y++) std::fill_n(luma.modes[y] + 1, 4, int8_t{kDc});
    Costs<k16x16Modes> costs(0);
    for (int mode = 0; mode < k16x16Modes; mode++)
        costs[mode] = (satd_lambda_ * ue_bits(static_cast<uint32_t>(1 + mode))) >> 8;
    for (int c = 0; c < luma_components(f_.chroma); c++) {
        rank_16x16(place_->samples[c], place_->available, f_.bit_depth, source(c), predictions_16x16_[c], costs.all());
    }
    const auto [mode, cost] = costs.pop_least();
    luma.macroblock.intra_16x16_pred_mode = static_cast<uint8_t>(mode);
    luma.satd = cost;
}

void MacroblockCoder::try_16x16(Luma &luma) {
    const int mode = luma.macroblock.intra_16x16_pred_mode;
    uint32_t ac_bits = 0;
    for (int c = 0; c < luma_components(f_.chroma); c++) {
        const CodedMacroblock coded =
            code_16x16(source(c), {predictions_16x16_[c].of_mode[mode], 16}, quantiser(c), rounding_, f_.bit_depth,
                       luma.levels[c], {luma.reconstruction[c], 16}, counted(luma.totals[c]));
        luma.distortion[c] = coded.distortion;
        luma.bits += coded.dc_bits;
        ac_bits += coded.ac_bits;
        if (coded.ac) luma.macroblock.coded_block_pattern = 15;
    }
    if (luma.macroblock.coded_block_pattern) luma.bits += ac_bits;
    end(luma);
}

void MacroblockCoder::try_chroma() {
    const int height = f_.rows(1), blocks = chroma_blocks(f_.chroma);
    MacroblockPredictions predictions[2];
    Costs<kChromaModes> costs(0);
    for (int mode = 0; mode < kChromaModes; mode++)
        costs[mode] = (satd_lambda_ * ue_bits(static_cast<uint32_t>(mode))) >> 8;
    for (int c = 0; c < 2; c++) {
        rank_chroma(place_->samples[1 + c], place_->available, f_.bit_depth, height, source(1 + c), predictions[c],
                    costs.all());
    }
    chroma_.mode = costs.pop_least().mode;

    uint64_t distortion = 0;
    uint32_t dc_bits = 0, ac_bits = 0;
    bool any_dc = false, any_ac = false;
    std::fill_n(chroma_.dc, 16, 0);
    for (int c = 0; c < 2; c++) {
        surround_totals(1 + c, chroma_.totals[c]);
        const CodedMacroblock coded =
            code_chroma(source(1 + c), {predictions[c].of_mode[chroma_.mode], 8}, quantiser(1), *quantisers_[2],
                        rounding_, f_.bit_depth, height, chroma_.dc + 8 * c, chroma_.ac + 16 * blocks * c,
                        {chroma_.reconstruction[c], 8}, counted(chroma_.totals[c]));
        distortion += coded.distortion;
        dc_bits += coded.dc_bits, ac_bits += coded.ac_bits;
        any_dc |= coded.dc, any_ac |= coded.ac;
    }
    chroma_.coded = any_ac ? 2 : any_dc ? 1 : 0;
    chroma_.bits = (chroma_.coded > 0 ? dc_bits : 0) + (chroma_.coded > 1 ? ac_bits : 0);
    chroma_.distortion = static_cast<uint32_t>(distortion);
    if (place_->effort == kAllTypes) chroma_.sums = sums_of(chroma_.dc, 16) + sums_of(chroma_.ac, 32 * blocks);
}

// ---- A macroblock.

MacroblockCoder::Result MacroblockCoder::code(const Place &place, Macroblock &macroblock, int16_t *levels,
                                              Neighbour &neighbour) {
    begin(place);
    if (f_.has_chroma_blocks()) try_chroma();
    Luma *best = nullptr;
    const auto keep_better = [&](Luma &other) {
        if (!best || other.cost < best->cost) best = &other;
    };
    if (!f_.only_8x8) choose_16x16(luma_[0]);
    const auto try_4x4 = [&](const Luma *other) {
        try_blocks<4>(luma_[2], other);
        keep_better(luma_[2]);
    };
    const auto try_8x8 = [&](const Luma *other) {
        try_blocks<8>(luma_[1], other);
        keep_better(luma_[1]);
    };
    // The likely type comes first: the other one mostly gives up after a quarter or two.
    const auto is_4x4 = [](const Neighbour *n) { return n && n->type == MacroblockType::i4x4; };
    const bool all = place.effort == kAllTypes;
    if (f_.only_8x8) {
        try_8x8(nullptr);
    } else if (only_modes()) {
        try_16x16(luma_[0]);
        keep_better(luma_[0]);
    } else if (all) {
        if (f_.transform_8x8 && place.likely >= kAlso8x8) try_8x8(nullptr);
        if (place.likely >= kAlso4x4) try_4x4(nullptr);
    } else if (!f_.transform_8x8) {
        try_4x4(nullptr);
    } else if (is_4x4(place.left) || is_4x4(place.above)) {
        try_4x4(nullptr);
        try_8x8(best);
    } else {
        try_8x8(nullptr);
        if (best->macroblock.coded_block_pattern & 15) try_4x4(best);
    }
    if (!f_.only_8x8 && !only_modes() && (all || place.drop_step || luma_[0].satd < best->satd * 3 / 2)) {
        try_16x16(luma_[0]);
        keep_better(luma_[0]);
    }
    return must_be_pcm(*best) ? write_pcm(macroblock, levels, neighbour) : write(*best, macroblock, levels, neighbour);
}

// The bits of macroblock_layer() with the nCs that take most.
uint32_t MacroblockCoder::most_bits(const Luma &luma) const {
    BitCounter header;
    code_macroblock_header(coded_, luma.macroblock, header);
    uint32_t bits = header.bits;
    const auto count = [&](const ScannedLevels &levels, int coefficients) {
        bits += count_block(levels, {kTokens0, kZeros4x4, coefficients}).bits + kTokenBitsByNc;
    };
    const MacroblockType type = luma.macroblock.type;
    for (int c = 0; c < luma_components(f_.chroma); c++) {
        const int16_t *levels = luma.levels[c];
        if (type == MacroblockType::i16x16) count(scan_4x4(levels + 256, f_.field), 16);
        for (int b = 0; b < 16; b++) {
            if (!(luma.macroblock.coded_block_pattern >> (b >> 2) & 1)) continue;
            if (type == MacroblockType::i16x16)
                count(scan_ac(levels + 16 * b, f_.field), 15);
            else if (type == MacroblockType::i8x8)
                count(scan_8x8(levels + 64 * (b / 4), b % 4, f_.field), 16);
            else
                count(scan_4x4(levels + 16 * b, f_.field), 16);
        }
    }
    if (!f_.has_chroma_blocks()) return bits;
    const int blocks = chroma_blocks(f_.chroma);
    for (int c = 0; c < 2 && chroma_.coded > 0; c++)
        bits += count_block(scan_chroma_dc(chroma_.dc + 8 * c, blocks), chroma_dc_code(blocks)).bits;
    for (int b = 0; b < 2 * blocks && chroma_.coded > 1; b++) count(scan_ac(chroma_.ac + 16 * b, f_.field), 15);
    return bits;
}

// Whether I_PCM is cheaper, or the only type within the limits of the profile. With kAllTypes that is only asked where
// there are many levels, and as if the nCs were the worst.
bool MacroblockCoder::must_be_pcm(const Luma &luma) const {
    const bool estimates = place_->effort == kAllTypes, has_chroma = f_.has_chroma_blocks();
    if (estimates && !may_be_pcm(coded_, has_chroma ? luma.sums + chroma_.sums : luma.sums)) return false;
    const uint32_t bits = estimates ? most_bits(luma) : luma.bits + (has_chroma ? chroma_.bits : 0);
    if (bits + kMostQpDeltaBits > most_macroblock_bits(coded_)) return true;
    uint64_t distortion = has_chroma ? chroma_.distortion : 0;
    for (int c = 0; c < luma_components(f_.chroma); c++) distortion += luma.distortion[c];
    if (!f_.only_8x8 && cost_of(distortion, bits) > cost_of(0, pcm_bits(coded_))) return true;
    if (f_.long_level_prefix) return false;
    const auto too_large = [](const int16_t *first, int count) {
        return std::any_of(first, first + count, [](int16_t l) { return std::abs(l) > kMaxLevelOfPrefix15; });
    };
    const int blocks = luma.macroblock.type == MacroblockType::i16x16 ? 17 : 16;
    for (int c = 0; c < luma_components(f_.chroma); c++)
        if (too_large(luma.levels[c], 16 * blocks)) return true;
    return f_.has_chroma_blocks() &&
           (too_large(chroma_.dc, 16) || too_large(chroma_.ac, 32 * chroma_blocks(f_.chroma)));
}

MacroblockCoder::Result MacroblockCoder::write(const Luma &luma, Macroblock &macroblock, int16_t *levels,
                                               Neighbour &neighbour) const {
    macroblock = luma.macroblock;
    const bool dc = luma.macroblock.type == MacroblockType::i16x16;
    for (int c = 0; c < luma_components(f_.chroma); c++, levels += 16 * kLumaBlocks) {
        std::copy_n(luma.levels[c], 256, levels);
        if (dc)
            std::copy_n(luma.levels[c] + 256, 16, levels + 256);
        else
            std::fill_n(levels + 256, 16, int16_t{0});
        copy({luma.reconstruction[c], 16}, place_->samples[c], 16, 16);
        for (int i = 0; i < 4; i++) {
            neighbour.total_right[c][i] = luma.totals[c][1 + i][4];
            neighbour.total_below[c][i] = luma.totals[c][4][1 + i];
        }
    }
    neighbour.type = luma.macroblock.type;
    for (int i = 0; i < 4; i++) {
        neighbour.mode_right[i] = luma.modes[1 + i][4];
        neighbour.mode_below[i] = luma.modes[4][1 + i];
    }
    const Result result{luma.bits, luma.distortion[0]};
    if (!f_.has_chroma_blocks()) return result;

    const int blocks = chroma_blocks(f_.chroma), rows = blocks / 2;
    std::memcpy(levels, chroma_.dc, sizeof chroma_.dc);
    std::memcpy(levels + 16, chroma_.ac, static_cast<size_t>(2 * blocks * 16) * sizeof *levels);
    for (int c = 0; c < 2; c++) {
        copy({chroma_.reconstruction[c], 8}, place_->samples[1 + c], 8, f_.rows(1));
        for (int i = 0; i < 4; i++) {
            neighbour.total_right[1 + c][i] = i < rows ? chroma_.totals[c][1 + i][2] : int8_t{0};
            neighbour.total_below[1 + c][i] = i < 2 ? chroma_.totals[c][rows][1 + i] : int8_t{0};
        }
    }
    return {result.bits + chroma_.bits, result.luma_distortion};
}

MacroblockCoder::Result MacroblockCoder::write_pcm(Macroblock &macroblock, int16_t *levels,
                                                   Neighbour &neighbour) const {
    macroblock = {};
    macroblock.type = MacroblockType::pcm;
    std::memset(&neighbour, 16, sizeof neighbour);  // total_coeff (9.2.1)
    neighbour.type = MacroblockType::pcm;
    std::fill_n(neighbour.mode_right, 4, int8_t{kDc});
    std::fill_n(neighbour.mode_below, 4, int8_t{kDc});
    Result result{16, 0};
    int16_t *const end = levels + 16 * blocks_per_macroblock(f_.chroma);
    for (int c = 0; c < f_.components(); c++) {
        const int count = f_.columns(c) * f_.rows(c);
        alignas(32) Sample samples[256];
        for (int i = 0; i < count; i++) {
            samples[i] = f_.pcm_without_zeros ? std::max<Sample>(source_[c][i], 1) : source_[c][i];
            if (c == 0) result.luma_distortion += samples[i] != source_[c][i];
            *levels++ = static_cast<int16_t>(samples[i]);
        }
        copy({samples, f_.columns(c)}, place_->samples[c], f_.columns(c), f_.rows(c));
        result.bits += static_cast<uint32_t>(count * f_.bit_depth);
    }
    std::fill(levels, end, int16_t{0});
    return result;
}

}  // namespace cudaenc::h264
