// SPDX-License-Identifier: LGPL-2.1-or-later
// CAVLC of a block of levels (H.264, 9.2), written or only counted.
#pragma once
#include <cstdint>

#include "../../hd.h"
#include "tables.h"

namespace cudaenc::h264 {

// Sinks have put(bits, count): the low `count` bits, 1..32; those above are 0. BitCounter counts.
struct BitCounter {
    uint32_t bits = 0;
    CUDAENC_HD void put(uint32_t, uint32_t count) { bits += count; }
};

// Joins codes of 32 bits at most, to be put at once.
struct JoinedBits {
    uint32_t bits = 0, count = 0;
    CUDAENC_HD void put(uint32_t value, uint32_t value_bits) {
        bits = bits << value_bits | value;
        count += value_bits;
    }
};

// ---- Exp-Golomb codes (9.1)

// ue(v), v below 2^16 - 1
template <class Bits>
CUDAENC_HD void put_ue(uint32_t v, Bits &out) {
    out.put(v + 1, static_cast<uint32_t>(2 * floor_log2(v + 1) + 1));
}
// se(v), |v| below 2^15
template <class Bits>
CUDAENC_HD void put_se(int32_t v, Bits &out) {
    put_ue(v > 0 ? static_cast<uint32_t>(2 * v - 1) : static_cast<uint32_t>(-2 * v), out);
}

// ---- Levels

// The largest level where level_prefix is at most 15 (A.2.1 to A.2.3: Baseline, Main and Extended profile).
constexpr int kMaxLevelOfPrefix15 = 2063;

// level_prefix and level_suffix (9.2.2.1) of a levelCode, computed. flip: 1 inverts the sign if it has a bit of its
// own.
template <class Bits>
CUDAENC_HD void put_level(uint32_t level_code, uint32_t suffix_length, uint32_t flip, Bits &out) {
    uint32_t value, count;
    if (level_code < (suffix_length ? 15u << suffix_length : 14)) {
        const uint32_t prefix = level_code >> suffix_length;
        value = level_code - ((prefix - 1) << suffix_length);  // the suffix behind a one
        value ^= suffix_length ? flip : 0;
        count = prefix + 1 + suffix_length;
    } else if (!suffix_length && level_code < 30) {  // level_prefix 14 always has a suffix
        value = (16 + level_code - 14) ^ flip;
        count = 19;
    } else {  // level_prefix 15 has 12 bits of suffix, each further one a bit more
        value = (level_code - (suffix_length ? 15u << suffix_length : 30) + 4096) ^ flip;
        const uint32_t size = static_cast<uint32_t>(floor_log2(value));
        count = 2 * size + 4;
        if (size > 13) {
            out.put(0, size);
            count -= size;
        }
    }
    out.put(value, count);
}

// ---- Blocks

// The tables of a block.
struct BlockCode {
    CoeffTokenTable tokens;
    TotalZerosTable zeros;
    int coefficients;  // maxNumCoeff: 4, 8, 15 or 16
};

// residual_block_cavlc() (7.3.5.3.2). nonzero: bit k: level k of the scan is nonzero. levels(k) returns it, for such k
// only. sign_flips: bit k inverts the sign of level k if it has a bit of its own, so that lengths do not depend on it.
template <class Levels, class Bits>
CUDAENC_HD void code_block(const CavlcTables &tables, const BlockCode &code, uint32_t nonzero, Levels levels,
                           uint32_t sign_flips, Bits &out) {
    const uint32_t total = static_cast<uint32_t>(count_ones(nonzero));
    uint32_t rest = nonzero, ones = 0, signs = 0;
    while (rest && ones < 3) {
        const int k = floor_log2(rest);
        const int32_t level = levels(k);
        if (level != 1 && level != -1) break;
        signs = signs << 1 | (static_cast<uint32_t>(level < 0) ^ (sign_flips >> k & 1));
        rest ^= 1u << k;
        ones++;
    }
    const CodeWord token = tables.coeff_token[code.tokens][4 * total + ones];
    out.put(code_bits(token) << ones | signs, code_length(token) + ones);
    if (!total) return;

    if (rest) {
        const auto put_next = [&](uint32_t suffix_length, uint32_t offset) {
            const int k = floor_log2(rest);
            rest ^= 1u << k;
            const int32_t level = levels(k);
            const uint32_t negative = level < 0, magnitude = static_cast<uint32_t>(negative ? -level : level);
            put_level(2 * magnitude - 2 + negative - offset, suffix_length, sign_flips >> k & 1, out);
            return magnitude;
        };
        uint32_t suffix_length = put_next(total > 10 && ones < 3, ones < 3 ? 2 : 0) > 3 ? 2 : 1;
        CUDAENC_NO_UNROLL
        while (rest) {
            if (!suffix_length) __builtin_unreachable();
            const uint32_t magnitude = put_next(suffix_length, 0);
            suffix_length += magnitude > 3u << (suffix_length - 1) && suffix_length < 6;
        }
    }

    // total_zeros and run_before have 30 bits at most.
    if (total == static_cast<uint32_t>(code.coefficients)) return;
    int last = floor_log2(nonzero);
    uint32_t zeros_left = static_cast<uint32_t>(last) + 1 - total;
    const CodeWord zeros = tables.total_zeros[code.zeros][16 * (total - 1) + zeros_left];
    JoinedBits joined{code_bits(zeros), code_length(zeros)};
    CUDAENC_NO_UNROLL
    for (rest = nonzero ^ 1u << last; rest && zeros_left; rest ^= 1u << last) {
        const int next = floor_log2(rest);
        const uint32_t run = static_cast<uint32_t>(last - next - 1);
        const CodeWord word = tables.run_before[16 * (min_of(zeros_left, 7u) - 1) + run];
        joined.put(code_bits(word), code_length(word));
        zeros_left -= run;
        last = next;
    }
    out.put(joined.bits, joined.count);
}

// The column of table 9-5 for the nC of a luma or chroma AC block.
CUDAENC_HD CoeffTokenTable token_table(int nc) {
    return nc < 2 ? kTokens0 : nc < 4 ? kTokens2 : nc < 8 ? kTokens4 : kTokens8;
}

// nC (9.2.1) from the total_coeff of the blocks to the left and above; -1: not available.
CUDAENC_HD int predict_total(int left, int above) {
    if (left < 0) return above < 0 ? 0 : above;
    return above < 0 ? left : (left + above + 1) >> 1;
}

// A block of levels in memory: level k of the scan is levels[places[step * k]].
struct ScannedLevels {
    const int16_t *levels;
    const uint8_t *places;
    int step;
    CUDAENC_HD int32_t operator()(int k) const { return levels[places[step * k]]; }
};
inline uint32_t nonzero_of(const ScannedLevels &levels, int size) {
    uint32_t nonzero = 0;
    for (int k = 0; k < size; k++) nonzero |= static_cast<uint32_t>(levels(k) != 0) << k;
    return nonzero;
}

// The scans of blocks in memory. An 8x8 block is coded as four 4x4 blocks, each with every fourth level of its scan
// (7.3.5.3.1).
inline ScannedLevels scan_4x4(const int16_t *levels, bool field = false) { return {levels, scan_4x4_of(field), 1}; }
inline ScannedLevels scan_ac(const int16_t *levels, bool field = false) { return {levels, scan_4x4_of(field) + 1, 1}; }
inline ScannedLevels scan_8x8(const int16_t *levels, int part, bool field = false) {
    return {levels, scan_8x8_of(field) + part, 4};
}
inline ScannedLevels scan_chroma_dc(const int16_t *levels, int size) {
    return {levels, size == 4 ? kChromaDcScan420 : kChromaDcScan422, 1};
}
CUDAENC_HD constexpr BlockCode chroma_dc_code(int size) {
    return size == 4 ? BlockCode{kTokensDc420, kZerosDc420, 4} : BlockCode{kTokensDc422, kZerosDc422, 8};
}

// The bits and total_coeff of a block with levels in memory, for decisions by rate.
struct BlockBits {
    uint32_t bits;
    int total_coeff;
};
inline BlockBits count_block(const ScannedLevels &levels, const BlockCode &code) {
    const uint32_t nonzero = nonzero_of(levels, code.coefficients);
    BitCounter counter;
    code_block(kCavlcTables, code, nonzero, levels, 0, counter);
    return {counter.bits, count_ones(nonzero)};
}

}  // namespace cudaenc::h264
