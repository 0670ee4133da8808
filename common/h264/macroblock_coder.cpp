// SPDX-License-Identifier: LGPL-2.1-or-later
#include "macroblock_coder.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

namespace cudaenc::h264 {

namespace {

constexpr int kQps = kMaxQp + qp_bd_offset(kMaxBitDepth) + 1;

constexpr auto kQuantisers = [] {
    std::array<Quantiser, kQps + 3> q{};  // the DC of 4:2:2 chroma has QP'c + 3
    for (int qp = 0; qp < static_cast<int>(q.size()); qp++) q[qp] = make_quantiser(qp);
    return q;
}();

// What a bit is worth in squared errors, 2^((QP' - 12) / 3) times kLambda / 256, and in half a SATD, 2^((QP' - 12) / 6)
// times kSatdLambda / 256; both by 2^-8.
constexpr uint64_t kLambda = 135, kSatdLambda = 256;
constexpr uint64_t lambda_of(int qp) {
    constexpr uint64_t thirds[] = {256, 323, 406};
    return (thirds[qp % 3] * kLambda << qp / 3) >> 12;
}
constexpr uint32_t satd_lambda_of(int qp) {
    constexpr uint64_t sixths[] = {256, 287, 323, 362, 406, 456};
    return static_cast<uint32_t>((sixths[qp % 6] * kSatdLambda << qp / 6) >> 10);
}

// Levels are rounded up from two thirds on: smaller ones cost more bits than they are worth.
constexpr Rounding kRounding = {112, 112, 11};

constexpr uint32_t ue_bits(uint32_t v) { return 2 * (31 - __builtin_clz(v + 1)) + 1; }

// The mode of the least cost, whose cost is then the largest.
template <size_t N>
int take_least(uint32_t (&costs)[N]) {
    int least = 0;
    for (int mode = 1; mode < static_cast<int>(N); mode++)
        if (costs[mode] < costs[least]) least = mode;
    costs[least] = UINT32_MAX;
    return least;
}

template <int Size>
struct BlocksOf;
template <>
struct BlocksOf<4> {
    static constexpr int count = 16, parts = 1, most_tried = 2;
    static constexpr auto rank = rank_4x4;
    static constexpr auto code = code_4x4;
    static constexpr uint32_t above_right = kAboveRight4x4;
    static constexpr MacroblockType type = MacroblockType::i4x4;
};
template <>
struct BlocksOf<8> {
    static constexpr int count = 4, parts = 4, most_tried = 2;
    static constexpr auto rank = rank_8x8;
    static constexpr auto code = code_8x8;
    static constexpr uint32_t above_right = kAboveRight8x8;
    static constexpr MacroblockType type = MacroblockType::i8x8;
};

ConstBlock constant(const Block &b) { return {b.data, b.stride}; }
Block at(const Block &b, int x, int y) { return {b.data + y * b.stride + x, b.stride}; }
ConstBlock at(const ConstBlock &b, int x, int y) { return {b.data + y * b.stride + x, b.stride}; }

void copy(const ConstBlock &from, const Block &to, int width, int height) {
    for (int y = 0; y < height; y++) std::memcpy(to.data + y * to.stride, from.data + y * from.stride, 2 * width);
}

}  // namespace

const Quantiser &MacroblockCoder::quantiser(int component) const {
    return kQuantisers[static_cast<size_t>(component ? chroma_qp_ : qp_)];
}

void MacroblockCoder::begin(const Place &place) {
    place_ = &place;
    qp_ = place.qp + qp_bd_offset(f_.bit_depth);
    chroma_qp_ = chroma_qp(place.qp, f_.bit_depth);
    lambda_ = lambda_of(qp_);
    satd_lambda_ = satd_lambda_of(qp_);
    for (int c = 0; c < f_.components(); c++)
        copy(constant(place.samples[c]), {source_[c], f_.columns(c)}, f_.columns(c), f_.rows(c));
}

void MacroblockCoder::surround_totals(int component, Totals &totals) const {
    for (int i = 0; i < 4; i++) {
        totals[0][1 + i] = place_->above ? place_->above->total_below[component][i] : kNone;
        totals[1 + i][0] = place_->left ? place_->left->total_right[component][i] : kNone;
    }
}

void MacroblockCoder::surround(Luma &luma) const {
    for (int i = 0; i < 4; i++) {
        luma.modes[0][1 + i] = place_->above ? place_->above->mode_below[i] : kNone;
        luma.modes[1 + i][0] = place_->left ? place_->left->mode_right[i] : kNone;
    }
    for (int c = 0; c < f_.luma_components(); c++) surround_totals(c, luma.totals[c]);
}

// ---- Intra 4x4 and 8x8: a block after the other, each predicted from the reconstruction of those before.

template <int Size>
void MacroblockCoder::code_best(Luma &luma, int block) {
    using Blocks = BlocksOf<Size>;
    const BlockPlace quarter = place_4x4(block * Blocks::parts);  // its first 4x4 block
    const int x = 4 * quarter.x, y = 4 * quarter.y;
    const bool last_column = x + Size == 16;
    const Available available = {
        x > 0 || place_->available.left, y > 0 || place_->available.above,
        y == 0 && last_column ? place_->available.above_right : (Blocks::above_right >> block & 1) != 0};
    const int left = luma.modes[1 + quarter.y][quarter.x], above = luma.modes[quarter.y][1 + quarter.x];
    const int predicted = left == kNone || above == kNone ? int{kDc} : std::min(left, above);
    const auto mode_bits = [&](int mode) { return mode == predicted ? 1u : 4u; };

    const int components = f_.luma_components();
    Ranking<Size> ranking[3];
    uint32_t costs[kModes];
    for (int mode = 0; mode < kModes; mode++) costs[mode] = (satd_lambda_ * mode_bits(mode)) >> 8;
    for (int c = 0; c < components; c++) {
        Blocks::rank(constant(at(place_->samples[c], x, y)), available, f_.bit_depth, at(source(c), x, y), ranking[c]);
        for (int mode = 0; mode < kModes; mode++) costs[mode] += ranking[c].satd[mode];
    }

    struct Attempt {
        int64_t cost;
        uint32_t bits;
        uint32_t distortion[3];
        int8_t totals[3][Blocks::parts];
        alignas(32) int16_t levels[3][Size * Size];
        alignas(32) Sample reconstruction[3][Size * Size];
    } attempts[2];
    Attempt *best = nullptr;
    int best_mode = 0;
    for (int i = 0; i < Blocks::most_tried; i++) {
        const int mode = take_least(costs);
        if (!mode_available(mode, available)) break;
        Attempt &attempt = attempts[best == &attempts[0]];
        attempt.bits = mode_bits(mode);
        uint64_t distortion = 0;
        for (int c = 0; c < components; c++) {
            alignas(32) Sample prediction[Size * Size];
            for (int i = 0; i < Size; i++)
                std::copy_n(ranking[c].predictions.row(mode, i), Size, prediction + Size * i);
            Totals &totals = luma.totals[c];
            const Coded coded =
                Blocks::code(at(source(c), x, y), {prediction, Size}, quantiser(c), kRounding, f_.bit_depth,
                             attempt.levels[c], {attempt.reconstruction[c], Size}, totals, quarter.x, quarter.y);
            attempt.distortion[c] = coded.distortion;
            attempt.bits += coded.bits;
            distortion += coded.distortion;
            for (int part = 0; part < Blocks::parts; part++)
                attempt.totals[c][part] = totals[1 + quarter.y + part / 2][1 + quarter.x + part % 2];
        }
        attempt.cost = cost_of(distortion, attempt.bits);
        if (best && best->cost <= attempt.cost) continue;
        best = &attempt;
        best_mode = mode;
    }

    luma.pred_mode[block] = static_cast<uint8_t>(best_mode == predicted  ? kPredictedMode
                                                 : best_mode < predicted ? best_mode
                                                                         : best_mode - 1);
    luma.bits += best->bits;
    luma.cost += best->cost;
    for (int part = 0; part < Blocks::parts; part++) {
        const int px = 1 + quarter.x + part % 2, py = 1 + quarter.y + part / 2;
        luma.modes[py][px] = static_cast<int8_t>(best_mode);
        for (int c = 0; c < components; c++) luma.totals[c][py][px] = best->totals[c][part];
    }
    for (int c = 0; c < components; c++) {
        luma.distortion[c] += best->distortion[c];
        std::memcpy(luma.levels[c] + Size * Size * block, best->levels[c], sizeof best->levels[c]);
        copy({best->reconstruction[c], Size}, at(place_->samples[c], x, y), Size, Size);
    }
}

// Stops where its cost reaches `limit`: then the cost is more than that.
template <int Size>
void MacroblockCoder::try_blocks(Luma &luma, int64_t limit) {
    luma.type = BlocksOf<Size>::type;
    luma.bits = 0;
    luma.cost = 0;
    luma.coded_block_pattern = 0;
    std::fill_n(luma.distortion, 3, 0);
    surround(luma);
    for (int block = 0; block < BlocksOf<Size>::count; block++) {
        code_best<Size>(luma, block);
        if (luma.cost >= limit) return;
    }
    // 8x8 blocks without levels are not coded: coeff_token of total_coeff 0 is taken off again.
    for (int b = 0; b < 4; b++) {
        const int x = b % 2 * 2, y = b / 2 * 2;
        bool coded = false;
        uint32_t bits = 0;
        for (int c = 0; c < f_.luma_components(); c++)
            for (int i = 0; i < 4; i++) {
                const int px = x + i % 2, py = y + i / 2;
                const Totals &totals = luma.totals[c];
                coded |= totals[1 + py][1 + px] != 0;
                bits += code_length(
                    kCavlcTables.coeff_token[token_table(predict_total(totals[1 + py][px], totals[py][1 + px]))][0]);
            }
        if (coded)
            luma.coded_block_pattern |= static_cast<uint8_t>(1 << b);
        else
            luma.bits -= bits;
    }
    uint64_t distortion = 0;
    for (int c = 0; c < f_.luma_components(); c++) {
        distortion += luma.distortion[c];
        copy(constant(place_->samples[c]), {luma.reconstruction[c], 16}, 16, 16);
    }
    luma.cost = cost_of(distortion, luma.bits + header_bits(luma));
}

// ---- Intra 16x16.

void MacroblockCoder::try_16x16(Luma &luma) {
    const int components = f_.luma_components();
    MacroblockRanking ranking[3];
    uint32_t costs[k16x16Modes];
    for (int mode = 0; mode < k16x16Modes; mode++)
        costs[mode] = (satd_lambda_ * ue_bits(static_cast<uint32_t>(1 + mode))) >> 8;
    for (int c = 0; c < components; c++) {
        rank_16x16(constant(place_->samples[c]), place_->available, f_.bit_depth, source(c), ranking[c]);
        for (int mode = 0; mode < k16x16Modes; mode++) costs[mode] += ranking[c].satd[mode];
    }
    const int mode = take_least(costs);

    luma.type = MacroblockType::i16x16;
    luma.mode_16x16 = static_cast<uint8_t>(mode);
    luma.bits = 0;
    luma.coded_block_pattern = 0;
    surround(luma);
    for (int y = 1; y <= 4; y++) std::fill_n(luma.modes[y] + 1, 4, int8_t{kDc});
    uint64_t distortion = 0;
    uint32_t ac_bits = 0;
    for (int c = 0; c < components; c++) {
        const CodedMacroblock coded =
            code_16x16(source(c), {ranking[c].predictions[mode], 16}, quantiser(c), kRounding, f_.bit_depth,
                       luma.levels[c], {luma.reconstruction[c], 16}, luma.totals[c]);
        luma.distortion[c] = coded.distortion;
        distortion += coded.distortion;
        luma.bits += coded.dc_bits;
        ac_bits += coded.ac_bits;
        if (coded.ac) luma.coded_block_pattern = 15;
    }
    if (luma.coded_block_pattern) luma.bits += ac_bits;
    luma.cost = cost_of(distortion, luma.bits + header_bits(luma));
}

// mb_type, transform_size_8x8_flag, intra_chroma_pred_mode, coded_block_pattern and mb_qp_delta of 0.
uint32_t MacroblockCoder::header_bits(const Luma &luma) const {
    const uint32_t chroma = best_chroma_ ? static_cast<uint32_t>(best_chroma_->coded) : 0;
    const uint32_t chroma_mode_bits = best_chroma_ ? ue_bits(static_cast<uint32_t>(best_chroma_->mode)) : 0;
    if (luma.type == MacroblockType::i16x16)
        return ue_bits(1 + luma.mode_16x16 + 4 * chroma + (luma.coded_block_pattern ? 12 : 0)) + chroma_mode_bits + 1;
    const uint32_t pattern = luma.coded_block_pattern | chroma << 4;
    const uint32_t code =
        best_chroma_ ? kCodedBlockPatternCodes[pattern] : kCodedBlockPatternCodesLuma[luma.coded_block_pattern];
    return 1 + f_.transform_8x8 + chroma_mode_bits + ue_bits(code) + (pattern != 0);
}

// ---- Chroma of 4:2:0 and 4:2:2.

void MacroblockCoder::try_chroma(Chroma &chroma) {
    const int height = f_.rows(1);
    MacroblockRanking ranking[2];
    uint32_t costs[kChromaModes];
    for (int mode = 0; mode < kChromaModes; mode++)
        costs[mode] = (satd_lambda_ * ue_bits(static_cast<uint32_t>(mode))) >> 8;
    for (int c = 0; c < 2; c++) {
        rank_chroma(constant(place_->samples[1 + c]), place_->available, f_.bit_depth, height, source(1 + c),
                    ranking[c]);
        for (int mode = 0; mode < kChromaModes; mode++) costs[mode] += ranking[c].satd[mode];
    }
    chroma.mode = take_least(costs);
    const Quantiser &q = quantiser(1), &dc = kQuantisers[static_cast<size_t>(chroma_qp_ + (height == 16 ? 3 : 0))];
    const int blocks = height / 2;
    uint64_t distortion = 0;
    uint32_t dc_bits = 0, ac_bits = 0;
    bool any_dc = false, any_ac = false;
    std::fill_n(chroma.dc, 16, 0);
    for (int c = 0; c < 2; c++) {
        surround_totals(1 + c, chroma.totals[c]);
        const CodedMacroblock coded = code_chroma(
            source(1 + c), {ranking[c].predictions[chroma.mode], 8}, q, dc, kRounding, f_.bit_depth, height,
            chroma.dc + 8 * c, chroma.ac + 16 * blocks * c, {chroma.reconstruction[c], 8}, chroma.totals[c]);
        distortion += coded.distortion;
        dc_bits += coded.dc_bits, ac_bits += coded.ac_bits;
        any_dc |= coded.dc, any_ac |= coded.ac;
    }
    chroma.coded = any_ac ? 2 : any_dc ? 1 : 0;
    chroma.bits = (chroma.coded > 0 ? dc_bits : 0) + (chroma.coded > 1 ? ac_bits : 0);
    chroma.cost = cost_of(distortion, chroma.bits + ue_bits(static_cast<uint32_t>(chroma.mode)));
}

// ---- All of it.

MacroblockCoder::Result MacroblockCoder::code(const Place &place, Macroblock &macroblock, int16_t *levels,
                                              Neighbour &neighbour) {
    begin(place);
    best_chroma_ = nullptr;
    if (f_.has_chroma_blocks()) {
        try_chroma(chroma_[0]);
        best_chroma_ = &chroma_[0];
    }
    try_16x16(luma_[0]);
    const Luma *best = &luma_[0];
    if (f_.transform_8x8) {
        try_blocks<8>(luma_[1], best->cost);
        if (luma_[1].cost < best->cost) best = &luma_[1];
    }
    try_blocks<4>(luma_[2], best->cost);
    if (luma_[2].cost < best->cost) best = &luma_[2];

    // A.3.1: macroblock_layer() is at most 128 bits longer than the samples. mb_qp_delta may take 12 bits more.
    uint32_t samples = 0;
    for (int c = 0; c < f_.components(); c++) samples += static_cast<uint32_t>(f_.columns(c) * f_.rows(c));
    const uint32_t raw_bits = samples * static_cast<uint32_t>(f_.bit_depth);
    const uint32_t bits = best->bits + header_bits(*best) + (best_chroma_ ? best_chroma_->bits : 0);
    bool pcm = bits + 12 > 128 + raw_bits;
    const int64_t cost = best->cost + (best_chroma_ ? best_chroma_->cost : 0);
    pcm |= cost > cost_of(0, raw_bits + 16);
    if (!f_.long_level_prefix) {
        const auto too_large = [](const int16_t *first, size_t count) {
            return std::any_of(first, first + count, [](int16_t l) { return std::abs(l) > kMaxLevelOfPrefix15; });
        };
        const size_t count = best->type == MacroblockType::i16x16 ? 17 * 16 : 16 * 16;
        for (int c = 0; c < f_.luma_components(); c++) pcm |= too_large(best->levels[c], count);
        if (best_chroma_) pcm |= too_large(best_chroma_->dc, 16) || too_large(best_chroma_->ac, 32 * f_.rows(1) / 2);
    }
    return pcm ? write_pcm(macroblock, levels, neighbour) : write(*best, macroblock, levels, neighbour);
}

MacroblockCoder::Result MacroblockCoder::write(const Luma &luma, Macroblock &macroblock, int16_t *levels,
                                               Neighbour &neighbour) const {
    macroblock.type = luma.type;
    macroblock.intra_chroma_pred_mode = static_cast<uint8_t>(best_chroma_ ? best_chroma_->mode : 0);
    macroblock.intra_16x16_pred_mode = luma.type == MacroblockType::i16x16 ? luma.mode_16x16 : uint8_t{0};
    macroblock.coded_block_pattern =
        static_cast<uint8_t>(luma.coded_block_pattern | (best_chroma_ ? best_chroma_->coded << 4 : 0));
    std::fill_n(macroblock.pred_mode, 16, 0);
    if (luma.type != MacroblockType::i16x16)
        std::copy_n(luma.pred_mode, luma.type == MacroblockType::i4x4 ? 16 : 4, macroblock.pred_mode);

    const bool dc = luma.type == MacroblockType::i16x16;
    for (int c = 0; c < f_.luma_components(); c++, levels += 17 * 16) {
        std::memcpy(levels, luma.levels[c], (dc ? 17 : 16) * 16 * sizeof *levels);
        if (!dc) std::fill_n(levels + 256, 16, int16_t{0});
        copy({luma.reconstruction[c], 16}, place_->samples[c], 16, 16);
    }
    for (int i = 0; i < 4; i++) {
        neighbour.mode_right[i] = luma.modes[1 + i][4];
        neighbour.mode_below[i] = luma.modes[4][1 + i];
        for (int c = 0; c < f_.luma_components(); c++) {
            neighbour.total_right[c][i] = luma.totals[c][1 + i][4];
            neighbour.total_below[c][i] = luma.totals[c][4][1 + i];
        }
    }
    if (best_chroma_) {
        const Chroma &chroma = *best_chroma_;
        const int rows = f_.rows(1) / 4;
        std::memcpy(levels, chroma.dc, sizeof chroma.dc);
        std::memcpy(levels + 16, chroma.ac, static_cast<size_t>(4 * rows) * 16 * sizeof *levels);
        for (int c = 0; c < 2; c++) {
            copy({chroma.reconstruction[c], 8}, place_->samples[1 + c], 8, f_.rows(1));
            for (int i = 0; i < 4; i++) {
                neighbour.total_right[1 + c][i] = i < rows ? chroma.totals[c][1 + i][2] : kNone;
                neighbour.total_below[1 + c][i] = i < 2 ? chroma.totals[c][rows][1 + i] : kNone;
            }
        }
    }
    return {luma.bits + header_bits(luma) + (best_chroma_ ? best_chroma_->bits : 0), luma.distortion[0]};
}

MacroblockCoder::Result MacroblockCoder::write_pcm(Macroblock &macroblock, int16_t *levels,
                                                   Neighbour &neighbour) const {
    std::memset(&macroblock, 0, sizeof macroblock);
    macroblock.type = MacroblockType::pcm;
    std::memset(&neighbour, 16, sizeof neighbour);  // total_coeff (9.2.1)
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
