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
constexpr uint64_t kLambda = 218, kSatdLambda = 256;
constexpr uint64_t lambda_of(int qp) {
    constexpr uint64_t thirds[] = {256, 323, 406};
    return (thirds[qp % 3] * kLambda << qp / 3) >> 12;
}
constexpr uint32_t satd_lambda_of(int qp) {
    constexpr uint64_t sixths[] = {256, 287, 323, 362, 406, 456};
    return static_cast<uint32_t>((sixths[qp % 6] * kSatdLambda << qp / 6) >> 10);
}

// Levels are rounded up from two thirds on: smaller ones cost more bits than they are worth.
constexpr Rounding kRounding = {85, 85};

constexpr uint32_t ue_bits(uint32_t v) { return 2 * (31 - __builtin_clz(v + 1)) + 1; }

// The modes that a block can have, best first, by the cost that ranking gave.
struct Candidates {
    int mode[kModes], count = 0;
    uint32_t cost[kModes];
    void add(int m, uint32_t c) {
        int i = count++;
        for (; i > 0 && cost[i - 1] > c; i--) mode[i] = mode[i - 1], cost[i] = cost[i - 1];
        mode[i] = m, cost[i] = c;
    }
};

template <int Size>
struct BlocksOf;
template <>
struct BlocksOf<4> {
    static constexpr int count = 16, parts = 1, most_tried = 2;
    using Ranking = Ranking4x4;
    static constexpr auto rank = rank_4x4;
    static constexpr auto code = code_4x4;
    static constexpr uint32_t above_right = kAboveRight4x4;
    static constexpr MacroblockType type = MacroblockType::i4x4;
    static ScannedLevels scan(const int16_t *levels, int) { return scan_4x4(levels); }
};
template <>
struct BlocksOf<8> {
    static constexpr int count = 4, parts = 4, most_tried = 2;
    using Ranking = Ranking8x8;
    static constexpr auto rank = rank_8x8;
    static constexpr auto code = code_8x8;
    static constexpr uint32_t above_right = kAboveRight8x8;
    static constexpr MacroblockType type = MacroblockType::i8x8;
    static ScannedLevels scan(const int16_t *levels, int part) { return scan_8x8(levels, part); }
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

void MacroblockCoder::surround_totals(int component, Surrounded &totals) const {
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
    typename Blocks::Ranking ranking[3];
    for (int c = 0; c < components; c++)
        Blocks::rank(constant(at(place_->samples[c], x, y)), available, f_.bit_depth, at(source(c), x, y), ranking[c]);
    Candidates candidates;
    for (int mode = 0; mode < kModes; mode++) {
        if (!mode_available(mode, available)) continue;
        uint32_t cost = (satd_lambda_ * mode_bits(mode)) >> 8;
        for (int c = 0; c < components; c++) cost += ranking[c].satd[mode];
        candidates.add(mode, cost);
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
    for (int i = 0; i < std::min(candidates.count, int{Blocks::most_tried}); i++) {
        const int mode = candidates.mode[i];
        Attempt &attempt = attempts[best == &attempts[0]];
        attempt.bits = mode_bits(mode);
        uint64_t distortion = 0;
        for (int c = 0; c < components; c++) {
            attempt.distortion[c] =
                Blocks::code(at(source(c), x, y), {ranking[c].prediction[mode], Size}, quantiser(c), kRounding,
                             f_.bit_depth, attempt.levels[c], {attempt.reconstruction[c], Size});
            distortion += attempt.distortion[c];
            for (int part = 0; part < Blocks::parts; part++) {
                const int px = quarter.x + part % 2, py = quarter.y + part / 2;
                Surrounded &totals = luma.totals[c];
                const BlockBits counted = count_block(Blocks::scan(attempt.levels[c], part),
                                                      predict_total(totals[1 + py][px], totals[py][1 + px]), 16);
                attempt.bits += counted.bits;
                attempt.totals[c][part] = totals[1 + py][1 + px] = static_cast<int8_t>(counted.total_coeff);
            }
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
                const Surrounded &totals = luma.totals[c];
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
    alignas(32) Sample predictions[2][3][256];
    Sample(*prediction)[256] = nullptr;
    uint32_t best = 0;
    const int components = f_.luma_components();
    for (int mode = 0; mode < k16x16Modes; mode++) {
        if (!mode_16x16_available(mode, place_->available)) continue;
        Sample(*const attempt)[256] = predictions[prediction == predictions[0]];
        uint32_t cost = (satd_lambda_ * ue_bits(static_cast<uint32_t>(1 + mode))) >> 8;
        for (int c = 0; c < components; c++) {
            predict_16x16(mode, place_->samples[c].data, place_->samples[c].stride, place_->available, f_.bit_depth,
                          attempt[c]);
            cost += satd_16(source(c), {attempt[c], 16}, 16);
        }
        if (prediction && cost >= best) continue;
        prediction = attempt;
        best = cost;
        luma.mode_16x16 = static_cast<uint8_t>(mode);
    }

    luma.type = MacroblockType::i16x16;
    luma.bits = 0;
    luma.coded_block_pattern = 0;
    surround(luma);
    for (int y = 1; y <= 4; y++) std::fill_n(luma.modes[y] + 1, 4, int8_t{kDc});
    uint64_t distortion = 0;
    for (int c = 0; c < components; c++) {
        luma.distortion[c] = code_16x16(source(c), {prediction[c], 16}, quantiser(c), kRounding, f_.bit_depth,
                                        luma.levels[c], {luma.reconstruction[c], 16});
        distortion += luma.distortion[c];
        Surrounded &totals = luma.totals[c];
        luma.bits += count_block(scan_4x4(luma.levels[c] + 256), predict_total(totals[1][0], totals[0][1]), 16).bits;
        if (std::any_of(luma.levels[c], luma.levels[c] + 256, [](int16_t level) { return level != 0; }))
            luma.coded_block_pattern = 15;
    }
    for (int c = 0; c < components; c++)
        for (int block = 0; block < 16; block++) {
            const BlockPlace p = place_4x4(block);
            Surrounded &totals = luma.totals[c];
            BlockBits counted{0, 0};
            if (luma.coded_block_pattern)
                counted = count_block(scan_ac(luma.levels[c] + 16 * block),
                                      predict_total(totals[1 + p.y][p.x], totals[p.y][1 + p.x]), 15);
            luma.bits += counted.bits;
            totals[1 + p.y][1 + p.x] = static_cast<int8_t>(counted.total_coeff);
        }
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
    alignas(32) Sample predictions[2][2][8 * 16];
    Sample(*prediction)[8 * 16] = nullptr;
    uint32_t best = 0;
    const int height = f_.rows(1);
    for (int mode = 0; mode < kChromaModes; mode++) {
        if (!chroma_mode_available(mode, place_->available)) continue;
        Sample(*const attempt)[8 * 16] = predictions[prediction == predictions[0]];
        uint32_t cost = (satd_lambda_ * ue_bits(static_cast<uint32_t>(mode))) >> 8;
        for (int c = 0; c < 2; c++) {
            const Block &at = place_->samples[1 + c];
            const auto predict = height == 8 ? predict_chroma<8> : predict_chroma<16>;
            predict(mode, at.data, at.stride, place_->available, f_.bit_depth, attempt[c]);
            cost += satd_8(source(1 + c), {attempt[c], 8}, height);
        }
        if (prediction && cost >= best) continue;
        prediction = attempt;
        best = cost;
        chroma.mode = mode;
    }
    const Quantiser &q = quantiser(1), &dc = kQuantisers[static_cast<size_t>(chroma_qp_ + (height == 16 ? 3 : 0))];
    const int blocks = height / 2;
    uint64_t distortion = 0;
    std::fill_n(chroma.dc, 16, 0);
    for (int c = 0; c < 2; c++)
        distortion += code_chroma(source(1 + c), {prediction[c], 8}, q, dc, kRounding, f_.bit_depth, height,
                                  chroma.dc + 8 * c, chroma.ac + 16 * blocks * c, {chroma.reconstruction[c], 8});
    count_chroma(chroma);
    chroma.cost = cost_of(distortion, chroma.bits + ue_bits(static_cast<uint32_t>(chroma.mode)));
}

void MacroblockCoder::count_chroma(Chroma &chroma) const {
    const int blocks = f_.rows(1) / 2;
    const auto any = [](const int16_t *levels, int count) {
        return std::any_of(levels, levels + count, [](int16_t level) { return level != 0; });
    };
    chroma.coded = any(chroma.ac, 2 * 16 * blocks) ? 2 : any(chroma.dc, 16) ? 1 : 0;
    chroma.bits = 0;
    for (int c = 0; c < 2; c++) {
        Surrounded &totals = chroma.totals[c];
        surround_totals(1 + c, totals);
        if (chroma.coded)
            chroma.bits += count_block(scan_chroma_dc(chroma.dc + 8 * c, blocks), chroma_dc_code(blocks)).bits;
        for (int b = 0; b < blocks; b++) {
            const int x = b % 2, y = b / 2;
            BlockBits counted{0, 0};
            if (chroma.coded == 2)
                counted = count_block(scan_ac(chroma.ac + 16 * (blocks * c + b)),
                                      predict_total(totals[1 + y][x], totals[y][1 + x]), 15);
            chroma.bits += counted.bits;
            totals[1 + y][1 + x] = static_cast<int8_t>(counted.total_coeff);
        }
    }
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
