// Intra coding (H.264, 8.3 and 8.5, inverted): samples to macroblocks and levels, with the decisions of effort 0. A
// thread-block owns a row of macroblocks and stays two behind the one above. A macroblock is coded as all types at
// once, a warp each; then the cheapest one is kept. The last rows of its reconstruction go to the row below through
// memory, in words that tell whether they are there.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../common/h264/intra_modes.h"
#include "../../common/h264/transform.h"
#include "../look_back.cuh"
#include "wavefront_params.h"

namespace cudaenc::h264 {

// ---- Shared memory

constexpr int kLumaPitch = 26, kChromaPitch = 10;  // samples in a row
constexpr int kGrid = 5;                           // 4x4 blocks in a row, with those to the left

// A macroblock that is coded as one type. Row 0 and column 0 are of its neighbours; row 0 goes on above right.
struct Candidate {
    alignas(16) int16_t levels[17 * 16];  // as in macroblock.h
    uint16_t samples[17 * kLumaPitch];    // the reconstruction
    int8_t totals[kGrid * kGrid];         // total_coeff; -1: not available
    int8_t modes[kGrid * kGrid];          // likewise
    uint8_t syntax[16];                   // Macroblock::pred_mode
    uint32_t mode_bits, residual_bits, distortion, pattern, mode;
    uint32_t too_large;  // for level_prefix 15
};

template <ChromaFormat F>
struct ChromaCandidate {
    static constexpr int kBlocks = chroma_blocks(F), kHeight = 2 * kBlocks;  // of a component
    alignas(16) int16_t levels[(1 + 2 * kBlocks) * 16 + 16];
    uint16_t samples[2][(1 + kHeight) * kChromaPitch];
    int8_t totals[2][5 * 3];
    int32_t dc[2][8];
    uint32_t mode, coded, bits, distortion, too_large;
};

template <ChromaFormat F>
struct WavefrontState {
    static constexpr int kChromaHeight = 2 * chroma_blocks(F);
    alignas(16) uint16_t source[256];
    alignas(16) uint16_t chroma_source[2][8 * kChromaHeight + 8];
    Candidate candidates[3];  // by MacroblockType
    ChromaCandidate<F> chroma;
    uint16_t records[4][kRecordNumbers + 1];  // of the row above, by column modulo 4
    uint16_t record[kRecordNumbers + 1];      // the own one
    // Of the macroblock to the left.
    uint16_t left[16], left_chroma[2][16];
    int8_t left_totals[4], left_chroma_totals[2][4], left_modes[4];
    uint16_t values_4x4[2][48], values_8x8[96];                       // see intra_lines.h
    alignas(4) uint8_t predicted_4x4[9 * 16], predicted_8x8[9 * 64];  // WavefrontTables
    uint8_t scans[kScans];
    CavlcTables cavlc;
    int32_t dc[16];             // of I_16x16
    uint16_t plane[256], mean;  // its predictions
    uint16_t chroma_plane[2][8 * kChromaHeight + 8], chroma_means[4 * chroma_blocks(F) + 1];
};

// What is the same for a macroblock's warps.
struct Place {
    uint32_t x, address;
    Available available;
    const QpChoice *qp;
    int32_t bit_depth, most;  // the largest sample
};

// ---- Arithmetic

DEVICE uint32_t magnitude_of(int32_t x) { return static_cast<uint32_t>(x < 0 ? -x : x); }

// Two numbers of 16 bits in a word, high 2^16 + low: sums and differences of words are those of both.
DEVICE uint32_t pair_of(uint32_t low, uint32_t high) { return low + (high << 16); }
// The larger magnitude: half of |low + high| + |low - high|, the last step of a Hadamard transform.
DEVICE uint32_t larger_of_pair(uint32_t pair) {
    const int32_t low = static_cast<int16_t>(pair & 0xFFFF);
    const int32_t high = static_cast<int32_t>(pair - static_cast<uint32_t>(low)) >> 16;
    return max_of(magnitude_of(low), magnitude_of(high));
}
DEVICE void butterfly(uint32_t &a, uint32_t &b) {
    const uint32_t sum = a + b;
    b = a - b;
    a = sum;
}

// Half the SATD of four rows of `Pairs` pairs of differences, without the step across pairs of four rows.
template <int Pairs>
DEVICE void hadamard_rows(uint32_t (&v)[4][Pairs]) {
    CUDAENC_UNROLL
    for (int y = 0; y < 4; y++) {
        if constexpr (Pairs == 4) {
            butterfly(v[y][0], v[y][2]);
            butterfly(v[y][1], v[y][3]);
            butterfly(v[y][2], v[y][3]);
        }
        butterfly(v[y][0], v[y][1]);
    }
    CUDAENC_UNROLL
    for (int i = 0; i < Pairs; i++) {
        butterfly(v[0][i], v[1][i]);
        butterfly(v[2][i], v[3][i]);
        butterfly(v[0][i], v[2][i]);
        butterfly(v[1][i], v[3][i]);
    }
}
DEVICE uint32_t half_satd(uint32_t (&v)[4][2]) {
    hadamard_rows(v);
    uint32_t sum = 0;
    CUDAENC_UNROLL
    for (int y = 0; y < 4; y++) sum += larger_of_pair(v[y][0]) + larger_of_pair(v[y][1]);
    return sum;
}

// Lane l of each N lanes has column l; then it has row l. With a whole warp.
template <int N>
DEVICE void transpose_lanes(int32_t (&v)[N]) {
    CUDAENC_UNROLL
    for (int bit = 1; bit < N; bit <<= 1) {
        const bool odd = (lane_id() & bit) != 0;
        CUDAENC_UNROLL
        for (int i = 0; i < N; i++) {
            if (i & bit) continue;
            const int32_t got = warp_shuffle_xor(odd ? v[i] : v[i | bit], bit);
            v[i] = odd ? got : v[i];
            v[i | bit] = odd ? v[i | bit] : got;
        }
    }
}

// The least over the lanes whose numbers differ in the bits of Mask.
template <int Mask>
DEVICE uint32_t least_of_lanes(uint32_t v) {
    CUDAENC_UNROLL
    for (int bit = 1; bit <= Mask; bit <<= 1)
        if (Mask & bit) v = min_of(v, warp_shuffle_xor(v, bit));
    return v;
}
template <int Mask>
DEVICE uint32_t sum_of_lanes(uint32_t v) {
    CUDAENC_UNROLL
    for (int bit = 1; bit <= Mask; bit <<= 1)
        if (Mask & bit) v += warp_shuffle_xor(v, bit);
    return v;
}

DEVICE int32_t rounding_of(int32_t fraction, int32_t shift) { return fraction << (shift - 8); }
DEVICE int32_t quantise(int32_t c, int32_t multiplier, int32_t rounding, int32_t shift) {
    const int32_t sign = c >> 31;
    return ((((c ^ sign) - sign) * multiplier + rounding) >> shift ^ sign) - sign;
}
// The product exceeds 32 bits.
DEVICE int32_t quantise_dc(int32_t c, int32_t multiplier, int32_t shift) {
    const int64_t magnitude = magnitude_of(c);
    const int32_t level = static_cast<int32_t>((magnitude * multiplier + rounding_of(kRounding.dc, shift)) >> shift);
    return c < 0 ? -level : level;
}
DEVICE int32_t clip(int32_t v, int32_t most) { return max_of(min_of(v, most), 0); }
DEVICE uint32_t mode_bits(uint32_t code) { return 2 * static_cast<uint32_t>(floor_log2(code + 1)) + 1; }

DEVICE uint32_t word_of(const uint8_t *bytes, int i) {
    return *reinterpret_cast<const uint32_t *>(__builtin_assume_aligned(bytes + 4 * i, 4));
}
// Two samples from an even place on, which pair_of() would make of them.
DEVICE uint32_t pair_at(const uint16_t *samples) {
    uint32_t pair;
    __builtin_memcpy(&pair, __builtin_assume_aligned(samples, 4), sizeof pair);
    return pair;
}
// Stores N levels at a multiple of 8 bytes.
using AnyWord __attribute__((may_alias)) = uint32_t;
using FourLevels __attribute__((may_alias)) = uint64_t;
template <int N>
DEVICE void store_levels(const int32_t (&v)[N], int16_t *to) {
    const auto pair = [&](int i) {
        return byte_permute(static_cast<uint32_t>(v[i]), static_cast<uint32_t>(v[i + 1]), 0x5410);
    };
    CUDAENC_UNROLL
    for (int i = 0; i < N; i += 4) reinterpret_cast<FourLevels *>(to)[i / 4] = uint64_t{pair(i + 2)} << 32 | pair(i);
}
// A row of a table of the quantiser.
template <int N>
DEVICE void load_row(const int32_t *table, int row, int32_t (&v)[N]) {
    CUDAENC_UNROLL
    for (int i = 0; i < N; i += 4) {
        const Uint4 four = load_readonly(reinterpret_cast<const Uint4 *>(table + N * row + i));
        v[i] = static_cast<int32_t>(four.x), v[i + 1] = static_cast<int32_t>(four.y);
        v[i + 2] = static_cast<int32_t>(four.z), v[i + 3] = static_cast<int32_t>(four.w);
    }
}
// The sample at an offset in bytes.
DEVICE uint32_t sample_at(const uint16_t *samples, uint32_t offset) {
    return *reinterpret_cast<const uint16_t *>(reinterpret_cast<const char *>(samples) + offset);
}
DEVICE uint32_t byte_of(uint32_t word, int i) { return word >> 8 * i & 255; }

// ---- Coding of lines. A lane has column `column` of a block: the source and the prediction.

// From a column of the residual to a row of coefficients.
template <int N>
DEVICE void forward_lines(int32_t (&v)[N]) {
    forward_transform(v);
    transpose_lanes<N>(v);
    forward_transform(v);
}
// Row `row` of coefficients to levels.
template <int N>
DEVICE void quantise_line(int32_t (&v)[N], const int32_t *multipliers, int32_t shift, int row) {
    int32_t multiplier[N];
    load_row(multipliers, row, multiplier);
    CUDAENC_UNROLL
    for (int i = 0; i < N; i++) {
        const int32_t fraction = row == 0 && i == 0 ? kRounding.dc : kRounding.ac;
        v[i] = quantise(v[i], multiplier[i], rounding_of(fraction, shift), shift);
    }
}
// Row `row` of levels, scaled.
template <int N>
DEVICE void scale_line(int32_t (&v)[N], const int32_t *scales, int row) {
    int32_t scale[N];
    load_row(scales, row, scale);
    CUDAENC_UNROLL
    for (int i = 0; i < N; i++) v[i] = N == 8 ? (v[i] * scale[i] + 32) >> 6 : v[i] * scale[i];
}
// Row `row` of scaled levels to a column of the residual, in 1/64.
template <int N>
DEVICE void inverse_lines(int32_t (&v)[N]) {
    inverse_transform(v);
    transpose_lanes<N>(v);
    inverse_transform(v);
}
// Stores a column of the reconstruction; returns the sum of squared differences to the source.
template <int N>
DEVICE uint32_t reconstruct_column(const int32_t (&v)[N], const int32_t (&prediction)[N], const int32_t (&source)[N],
                                   int32_t most, bool stores, uint16_t *to, int pitch) {
    uint32_t squares = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < N; i++) {
        const int32_t r = clip(((v[i] + 32) >> 6) + prediction[i], most), d = r - source[i];
        squares += static_cast<uint32_t>(d * d);
        if (stores) to[i * pitch] = static_cast<uint16_t>(r);
    }
    return squares;
}

// ---- Bits of residual blocks. All warps count theirs with the same code, a lane a block.

// A lane's block: level k of the scan is levels[places[step k]]. total: where its total_coeff goes in its grid; DC
// blocks only look at the neighbours there.
struct CountedBlock {
    const int16_t *levels;
    const uint8_t *places;
    int step, count, pitch;
    int8_t *total;
    CoeffTokenTable tokens;  // of chroma DC
    TotalZerosTable zeros;
    bool present, dc, chroma_dc;
    DEVICE_MEMBER int32_t operator()(int k) const { return levels[places[step * k]]; }
};

template <ChromaFormat F>
DEVICE CountedBlock make_counted_block(int warp, bool has_8x8, WavefrontState<F> &s) {
    const int lane = lane_id(), b = lane & 15;
    CountedBlock block{};
    block.zeros = kZeros4x4;
    block.step = 1;
    if (warp != kWarpChroma) {
        Candidate &c = s.candidates[warp];
        const bool is_8x8 = warp == kWarp8x8, is_16x16 = warp == kWarp16x16;
        block.present = lane < 16 && (has_8x8 || !is_8x8);
        block.dc = is_16x16 && lane == 16;
        block.levels = c.levels + (block.dc ? 256 : is_8x8 ? 64 * (b >> 2) : 16 * b);
        block.places = s.scans + (is_8x8 ? kScan8x8 + (b & 3) : kScan4x4 + (is_16x16 && !block.dc));
        block.step = is_8x8 ? 4 : 1;
        block.count = is_16x16 && !block.dc ? 15 : 16;
        block.pitch = kGrid;
        block.total = c.totals + kGrid * (1 + luma_block_y(b)) + 1 + luma_block_x(b);
    } else if constexpr (chroma_blocks(F) > 0) {
        constexpr int kBlocks = chroma_blocks(F), kAc = 2 * kBlocks;
        block.present = lane < kAc;
        block.dc = block.chroma_dc = lane == kAc || lane == kAc + 1;
        const int item = block.present ? lane : 0, component = block.dc ? lane - kAc : item / kBlocks,
                  own = item % kBlocks;
        block.levels = s.chroma.levels + (block.dc ? 8 * component : 16 * (1 + item));
        block.places = s.scans + (block.dc ? kScanChromaDc : kScan4x4 + 1);
        block.count = block.dc ? kBlocks : 15;
        block.pitch = 3;
        block.total = s.chroma.totals[component] + 3 * (1 + (own >> 1)) + 1 + (own & 1);
        const BlockCode dc = chroma_dc_code(kBlocks);
        block.tokens = dc.tokens;
        block.zeros = block.dc ? dc.zeros : kZeros4x4;
    } else {
        block.levels = s.candidates[0].levels;
        block.places = s.scans;
        block.total = s.candidates[0].totals + kGrid + 1;
    }
    return block;
}

// What a warp's blocks have.
struct CountedBits {
    uint32_t bits, nonzero;  // bit l: the block of lane l has levels
    bool too_large;
};
template <class State>
DEVICE CountedBits count_blocks(int warp, bool has_8x8, State &s) {
    const CountedBlock block = make_counted_block(warp, has_8x8, s);
    const bool counts = block.present || block.dc;
    uint32_t nonzero = 0;
    bool too_large = false;
    CUDAENC_UNROLL
    for (int k = 0; k < 16; k++) {
        const int32_t level = counts && k < block.count ? block(k) : 0;
        nonzero |= static_cast<uint32_t>(level != 0) << k;
        too_large |= static_cast<uint32_t>(level + kMaxLevelOfPrefix15) > 2 * kMaxLevelOfPrefix15;
    }
    if (block.present) *block.total = static_cast<int8_t>(count_ones(nonzero));
    warp_sync();
    const uint32_t all = warp_ballot(nonzero != 0);
    // Which blocks are coded: of each 8x8 block, AC of all blocks, DC of I_16x16 always, DC of both components.
    const uint32_t others =
        warp == kWarpChroma || warp == kWarp16x16 ? all & warp_ballot(block.present) : all >> (lane_id() & ~3) & 15;
    const bool coded = block.dc ? warp == kWarp16x16 || all != 0 : block.present && others != 0;
    BitCounter counter;
    if (coded) {
        const int nc = predict_total(block.total[-1], block.total[-block.pitch]);
        const BlockCode code{block.chroma_dc ? block.tokens : token_table(nc), block.zeros, block.count};
        code_block(s.cavlc, code, nonzero, block, 0, counter);
    }
    return {warp_add(counter.bits), all, warp_any(too_large)};
}

// Counts the bits of the warp's candidate. With a whole warp.
template <ChromaFormat F>
DEVICE void count_candidate(int warp, bool has_8x8, WavefrontState<F> &s) {
    const CountedBits counted = count_blocks(warp, has_8x8, s);
    if (lane_id() != 0) return;
    if (warp != kWarpChroma) {
        Candidate &c = s.candidates[warp];
        const uint32_t eighths = counted.nonzero | counted.nonzero >> 1, quarters = eighths | eighths >> 2;
        c.residual_bits = counted.bits;
        c.too_large = counted.too_large;
        c.pattern = warp == kWarp16x16
                        ? (counted.nonzero & 0xFFFF ? 15 : 0)
                        : (quarters & 1) | (quarters >> 3 & 2) | (quarters >> 6 & 4) | (quarters >> 9 & 8);
    } else if constexpr (chroma_blocks(F) > 0) {
        constexpr uint32_t kAc = (1u << 2 * chroma_blocks(F)) - 1;
        s.chroma.bits = counted.bits;
        s.chroma.too_large = counted.too_large;
        s.chroma.coded = counted.nonzero & kAc ? 2 : counted.nonzero ? 1 : 0;
    }
}

// ---- Neighbours

DEVICE int8_t record_byte(const uint16_t *record, int first, int i) {
    return static_cast<int8_t>(record[first + i / 2] >> 8 * (i & 1) & 255);
}

// Copies the neighbours of a macroblock. With a whole warp.
template <class State>
DEVICE void begin_candidate(const Place &place, State &s, Candidate &c) {
    const int lane = lane_id();
    const uint16_t *above = s.records[place.x & 3], *before = s.records[(place.x + 3) & 3],
                   *after = s.records[(place.x + 1) & 3];
    if (lane < 25) c.samples[lane] = lane == 0 ? before[15] : lane <= 16 ? above[lane - 1] : after[lane - 17];
    if (lane < 16) c.samples[(1 + lane) * kLumaPitch] = s.left[lane];
    if (lane < 4) {
        c.totals[1 + lane] = place.available.above ? record_byte(above, kRecordTotals, lane) : int8_t{-1};
        c.modes[1 + lane] = place.available.above ? record_byte(above, kRecordModes, lane) : int8_t{-1};
        c.totals[kGrid * (1 + lane)] = place.available.left ? s.left_totals[lane] : int8_t{-1};
        c.modes[kGrid * (1 + lane)] = place.available.left ? s.left_modes[lane] : int8_t{-1};
    }
    warp_sync();
}

DEVICE int predicted_mode(const Candidate &c, int column, int row) {
    const int left = c.modes[kGrid * (1 + row) + column], above = c.modes[kGrid * row + 1 + column];
    return left < 0 || above < 0 ? int{kDc} : min_of(left, above);
}
DEVICE uint8_t mode_syntax(int mode, int predicted) {
    return static_cast<uint8_t>(mode == predicted ? kPredictedMode : mode < predicted ? mode : mode - 1);
}
// The cost of a mode without its SATD, and with it.
DEVICE uint32_t mode_cost(const QpChoice &qp, bool predicted, uint32_t half_satd) {
    return ((predicted ? qp.satd_lambda : 4 * qp.satd_lambda) >> 8) + half_satd;
}

// ---- I_4x4: a step codes the one or two blocks of a diagonal, a half of the warp each.

// Stores the values that predictions of the block consist of. lane: of 16.
DEVICE void make_values_4x4(const uint16_t *block, const Available &a, int bit_depth, int lane, uint16_t *values) {
    // block: the corner, in rows of kLumaPitch.
    const int last = a.above_right ? 12 : 8;
    const auto neighbour = [&](int i) {
        i = max_of(min_of(i, last), 0);
        return uint32_t{block[i < 4 ? (4 - i) * kLumaPitch : i - 4]};
    };
    const uint32_t before = neighbour(lane - 1), own = neighbour(lane), after = neighbour(lane + 1);
    uint32_t value = own;
    if (lane == 13) {
        uint32_t sum = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            sum += a.above ? uint32_t{block[1 + i]} : 0;
            sum += a.left ? uint32_t{block[(1 + i) * kLumaPitch]} : 0;
        }
        value = a.above && a.left ? (sum + 4) >> 3 : a.above || a.left ? (sum + 2) >> 2 : 1u << (bit_depth - 1);
    }
    values[lane] = static_cast<uint16_t>(value);
    values[16 + lane] = static_cast<uint16_t>((own + after + 1) >> 1);
    values[32 + lane] = static_cast<uint16_t>((before + 2 * own + after + 2) >> 2);
}

template <class State>
DEVICE void code_4x4(const Place &place, State &s) {
    Candidate &c = s.candidates[static_cast<int>(MacroblockType::i4x4)];
    begin_candidate(place, s, c);
    const int lane = lane_id(), half = lane >> 4, in_half = lane & 15, column = lane & 3;
    const int mode = min_of(in_half, 8);
    const uint32_t half_offset = half ? 0x01010101u * sizeof s.values_4x4[0] : 0;
    uint32_t own_values[4];
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++) own_values[i] = word_of(s.predicted_4x4, 4 * mode + i) + half_offset;
    const QpChoice &qp = *place.qp;
    uint16_t *values = s.values_4x4[half];
    const auto value_at = [&](uint32_t offsets, int i) { return sample_at(s.values_4x4[0], byte_of(offsets, i)); };
    uint32_t distortion = 0, bits = 0;
    CUDAENC_NO_UNROLL
    for (int step = 0; step < 10; step++) {
        const int first = step > 3 ? (step - 2) >> 1 : 0, last = min_of(3, step >> 1);
        const bool coded = first + half <= last;
        const int by = coded ? first + half : first, bx = step - 2 * by, b = luma_block(bx, by);
        const Available a{bx > 0 || place.available.left, by > 0 || place.available.above,
                          by == 0 && bx == 3 ? place.available.above_right : (kAboveRight4x4 >> b & 1) != 0};
        uint16_t *block = c.samples + 4 * by * kLumaPitch + 4 * bx;
        make_values_4x4(block, a, place.bit_depth, in_half, values);
        const int predicted = predicted_mode(c, bx, by);
        warp_sync();

        const uint16_t *source = s.source + 64 * by + 4 * bx;
        uint32_t pairs[4][2];
        CUDAENC_UNROLL
        for (int y = 0; y < 4; y++) CUDAENC_UNROLL
        for (int i = 0; i < 2; i++)
            pairs[y][i] = pair_of(value_at(own_values[2 * i], y), value_at(own_values[2 * i + 1], y)) -
                          pair_at(source + 16 * y + 2 * i);
        const uint32_t cost =
            mode_available(mode, a) ? mode_cost(qp, mode == predicted, half_satd(pairs)) : kNotAvailable;
        const uint32_t key = in_half < kModes ? cost << 4 | static_cast<uint32_t>(mode) : ~0u;
        const int best = static_cast<int>(least_of_lanes<15>(key) & 15);

        const uint32_t of_column = word_of(s.predicted_4x4, 4 * best + column) + half_offset;
        int32_t prediction[4], own[4], v[4];
        CUDAENC_UNROLL
        for (int y = 0; y < 4; y++) {
            prediction[y] = static_cast<int32_t>(value_at(of_column, y));
            own[y] = source[16 * y + column];
            v[y] = own[y] - prediction[y];
        }
        forward_lines(v);
        quantise_line(v, qp.luma.multiplier_4x4, qp.luma.shift_4x4, column);
        const bool stores = coded && in_half < 4;
        if (stores) store_levels(v, c.levels + 16 * b + 4 * column);
        scale_line(v, qp.luma.scale_4x4, column);
        inverse_lines(v);
        const uint32_t squares =
            reconstruct_column(v, prediction, own, place.most, stores, block + kLumaPitch + 1 + column, kLumaPitch);
        if (stores) distortion += squares;
        if (coded && in_half == 0) {
            c.modes[kGrid * (1 + by) + 1 + bx] = static_cast<int8_t>(best);
            c.syntax[b] = mode_syntax(best, predicted);
            bits += best == predicted ? 1 : 4;
        }
        warp_sync();
    }
    const uint32_t all = warp_add(distortion), mode_bits = warp_add(bits);
    if (lane == 0) {
        c.distortion = all;
        c.mode_bits = mode_bits;
    }
}

// ---- I_8x8

// The same of an 8x8 block. With a whole warp.
DEVICE void make_values_8x8(const uint16_t *block, const Available &a, int bit_depth, uint16_t *values) {
    const int lane = lane_id();
    int i = min_of(lane, a.above_right ? 24 : 16);
    if (!a.above) i = min_of(i, 7);
    if (!a.left) i = max_of(i, 9);
    const uint32_t raw = block[i < 8 ? (8 - i) * kLumaPitch : i - 8];
    const auto filtered = [&](uint32_t before, uint32_t own, uint32_t after) {
        return (before + 2 * own + after + 2) >> 2;
    };
    const uint32_t own = filtered(warp_shuffle_up(raw, 1), raw, warp_shuffle_down(raw, 1));
    const uint32_t before = warp_shuffle_up(own, 1), next = warp_shuffle_down(own, 1), after = lane >= 24 ? own : next;
    const bool counts = (a.left && lane < 8) || (a.above && lane > 8 && lane < 17);
    const uint32_t sum = warp_add(counts ? own : 0);
    const uint32_t dc = a.above && a.left ? (sum + 8) >> 4 : a.above || a.left ? (sum + 4) >> 3 : 1u << (bit_depth - 1);
    values[lane] = static_cast<uint16_t>(lane == 25 ? dc : own);
    values[32 + lane] = static_cast<uint16_t>((own + after + 1) >> 1);
    values[64 + lane] = static_cast<uint16_t>(filtered(before, own, after));
}

template <class State>
DEVICE void code_8x8(const Place &place, State &s) {
    Candidate &c = s.candidates[static_cast<int>(MacroblockType::i8x8)];
    begin_candidate(place, s, c);
    const int lane = lane_id(), column = lane & 7, lower = lane & 1, mode = min_of(lane >> 1, 8);
    const QpChoice &qp = *place.qp;
    const auto value_at = [&](uint32_t offsets, int i) { return sample_at(s.values_8x8, byte_of(offsets, i)); };
    uint32_t distortion = 0, bits = 0;
    CUDAENC_NO_UNROLL
    for (int b = 0; b < 4; b++) {
        const int bx = b & 1, by = b >> 1;
        const Available a{bx > 0 || place.available.left, by > 0 || place.available.above,
                          b == 1 ? place.available.above_right : (kAboveRight8x8 >> b & 1) != 0};
        uint16_t *block = c.samples + 8 * by * kLumaPitch + 8 * bx;
        make_values_8x8(block, a, place.bit_depth, s.values_8x8);
        const int predicted = predicted_mode(c, 2 * bx, 2 * by);
        warp_sync();

        // A lane has four rows of a mode.
        const uint16_t *source = s.source + 128 * by + 8 * bx;
        uint32_t pairs[4][4];
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            const uint32_t even = word_of(s.predicted_8x8, (8 * mode + 2 * i) * 2 + lower),
                           odd = word_of(s.predicted_8x8, (8 * mode + 2 * i + 1) * 2 + lower);
            CUDAENC_UNROLL
            for (int y = 0; y < 4; y++) {
                const uint16_t *row = source + 16 * (4 * lower + y) + 2 * i;
                pairs[y][i] = pair_of(value_at(even, y), value_at(odd, y)) - pair_at(row);
            }
        }
        hadamard_rows(pairs);
        uint32_t sum = 0;
        CUDAENC_UNROLL
        for (int y = 0; y < 4; y++) CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            const uint32_t other = warp_shuffle_xor(pairs[y][i], 1);
            sum += larger_of_pair(lower ? other - pairs[y][i] : other + pairs[y][i]);
        }
        sum = (sum + warp_shuffle_xor(sum, 1)) / 2;
        const uint32_t cost = mode_available(mode, a) ? mode_cost(qp, mode == predicted, sum) : kNotAvailable;
        const uint32_t key = lane < 2 * kModes ? cost << 4 | static_cast<uint32_t>(mode) : ~0u;
        const int best = static_cast<int>(warp_min(key) & 15);

        int32_t prediction[8], own[8], v[8];
        CUDAENC_UNROLL
        for (int half = 0; half < 2; half++) {
            const uint32_t of_column = word_of(s.predicted_8x8, (8 * best + column) * 2 + half);
            CUDAENC_UNROLL
            for (int i = 0; i < 4; i++) {
                const int y = 4 * half + i;
                prediction[y] = static_cast<int32_t>(value_at(of_column, i));
                own[y] = source[16 * y + column];
                v[y] = own[y] - prediction[y];
            }
        }
        forward_lines(v);
        quantise_line(v, qp.luma.multiplier_8x8, qp.luma.shift_8x8, column);
        const bool stores = lane < 8;
        if (stores) store_levels(v, c.levels + 64 * b + 8 * column);
        scale_line(v, qp.luma.scale_8x8, column);
        inverse_lines(v);
        const uint32_t squares =
            reconstruct_column(v, prediction, own, place.most, stores, block + kLumaPitch + 1 + column, kLumaPitch);
        if (stores) distortion += squares;
        if (lane < 4) c.modes[kGrid * (1 + 2 * by + (lane >> 1)) + 1 + 2 * bx + (lane & 1)] = static_cast<int8_t>(best);
        if (lane == 0) c.syntax[b] = mode_syntax(best, predicted);
        bits += best == predicted ? 1 : 4;
        warp_sync();
    }
    const uint32_t all = warp_add(distortion);
    if (lane == 0) {
        c.distortion = all;
        c.mode_bits = bits;
    }
}

// ---- I_16x16, and chroma

// A prediction of a macroblock's component: the sample of column x and row y is at[x step_x + y step_y].
struct MacroblockPrediction {
    const uint16_t *at;
    int step_x, step_y;
    DEVICE_MEMBER int32_t operator()(int x, int y) const { return at[x * step_x + y * step_y]; }
};
// samples: with row 0 above and column 0 to the left, in rows of `pitch`; mean: one sample; plane: in rows of `width`.
DEVICE MacroblockPrediction make_prediction(int mode, const uint16_t *samples, int pitch, const uint16_t *mean,
                                            const uint16_t *plane, int width) {
    MacroblockPrediction p{mean, 0, 0};
    if (mode == k16x16Vertical) p = {samples + 1, 1, 0};
    if (mode == k16x16Horizontal) p = {samples + pitch, 0, pitch};
    if (mode == k16x16Plane) p = {plane, 1, width};
    return p;
}
// The sums of (i + 1) (sample[middle + i] - sample[middle - 2 - i]), of 4 or 8 terms a direction; sample -1 is the
// corner.
DEVICE int32_t slope_of(const uint16_t *corner, int step, int size) {
    int32_t sum = 0;
    CUDAENC_NO_UNROLL
    for (int i = 0; i < size / 2; i++)
        sum += (i + 1) * (int32_t{corner[(size / 2 + 1 + i) * step]} - int32_t{corner[(size / 2 - 1 - i) * step]});
    return ((size == 16 ? 5 : 34) * sum + 32) >> 6;
}
// Plane prediction (8.3.3.4, 8.3.4.4). One lane finds the slope of columns, another one that of rows. With a whole
// warp.
template <int Width, int Height>
DEVICE void make_plane(const uint16_t *samples, int pitch, int32_t most, uint16_t *plane) {
    const int lane = lane_id();
    int32_t slope = 0;
    if (lane < 2) slope = slope_of(samples, lane ? pitch : 1, lane ? Height : Width);
    const int32_t a = 16 * (int32_t{samples[Height * pitch]} + int32_t{samples[Width]}) + 16,
                  b = warp_shuffle(slope, 0), c = warp_shuffle(slope, 1);
    CUDAENC_NO_UNROLL
    for (int i = lane; i < Width * Height; i += 32)
        plane[i] = static_cast<uint16_t>(
            clip((a + b * (i % Width - Width / 2 + 1) + c * (i / Width - Height / 2 + 1)) >> 5, most));
}
// Differences of a 4x4 block at (x, y) to the source.
DEVICE void get_pairs(const MacroblockPrediction &predict, const uint16_t *source, int source_pitch, int x, int y,
                      uint32_t (&pairs)[4][2]) {
    CUDAENC_UNROLL
    for (int j = 0; j < 4; j++) CUDAENC_UNROLL
    for (int i = 0; i < 2; i++)
        pairs[j][i] = pair_of(static_cast<uint32_t>(predict(x + 2 * i, y + j)),
                              static_cast<uint32_t>(predict(x + 2 * i + 1, y + j))) -
                      pair_at(source + (y + j) * source_pitch + x + 2 * i);
}

template <class State>
DEVICE void code_16x16(const Place &place, State &s) {
    Candidate &c = s.candidates[static_cast<int>(MacroblockType::i16x16)];
    begin_candidate(place, s, c);
    const int lane = lane_id(), column = lane & 3;
    const Available &a = place.available;
    const QpChoice &qp = *place.qp;
    make_plane<16, 16>(c.samples, kLumaPitch, place.most, s.plane);
    const bool counts = lane < 16 ? a.above : a.left;
    const uint32_t sum = warp_add(counts ? uint32_t{c.samples[lane < 16 ? 1 + lane : (lane - 15) * kLumaPitch]} : 0);
    if (lane == 0)
        s.mean = static_cast<uint16_t>(a.left && a.above   ? (sum + 16) >> 5
                                       : a.left || a.above ? (sum + 8) >> 4
                                                           : 1u << (place.bit_depth - 1));
    warp_sync();
    uint32_t least = ~0u;
    CUDAENC_NO_UNROLL
    for (int round = 0; round < 2; round++) {
        const int mode = 2 * round + (lane >> 4), b = lane & 15;
        uint32_t pairs[4][2];
        get_pairs(make_prediction(mode, c.samples, kLumaPitch, &s.mean, s.plane, 16), s.source, 16, 4 * (b & 3),
                  4 * (b >> 2), pairs);
        const uint32_t satd = sum_of_lanes<15>(half_satd(pairs));
        const uint32_t cost = mode_16x16_available(mode, a)
                                  ? ((qp.satd_lambda * mode_bits(static_cast<uint32_t>(1 + mode))) >> 8) + satd
                                  : kNotAvailable;
        least = min_of(least, cost << 4 | static_cast<uint32_t>(mode));
    }
    const int mode = static_cast<int>(least_of_lanes<16>(least) & 15);
    const MacroblockPrediction predict = make_prediction(mode, c.samples, kLumaPitch, &s.mean, s.plane, 16);

    const int32_t shift = qp.luma.shift_4x4;
    int32_t rows[2][4];
    CUDAENC_UNROLL
    for (int round = 0; round < 2; round++) {
        const int b = 8 * round + (lane >> 2), bx = luma_block_x(b), by = luma_block_y(b), x = 4 * bx + column;
        int32_t(&v)[4] = rows[round];
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) v[i] = s.source[16 * (4 * by + i) + x] - predict(x, 4 * by + i);
        forward_lines(v);
        if (column == 0) s.dc[4 * by + bx] = v[0];
        quantise_line(v, qp.luma.multiplier_4x4, shift, column);
        if (column == 0) v[0] = 0;
        store_levels(v, c.levels + 16 * b + 4 * column);
    }
    warp_sync();
    {
        int32_t v[4];
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) v[i] = s.dc[4 * i + column];
        hadamard_transform(v);
        transpose_lanes<4>(v);
        hadamard_transform(v);
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            v[i] = quantise_dc(v[i], load_readonly(qp.luma.multiplier_4x4), shift + 2);
            if (lane < 4) c.levels[256 + 4 * column + i] = static_cast<int16_t>(v[i]);
        }
        hadamard_transform(v);
        transpose_lanes<4>(v);
        hadamard_transform(v);
        warp_sync();
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++)
            if (lane < 4) s.dc[4 * i + column] = (v[i] * qp.luma.dc_scale + 32) >> 6;
    }
    warp_sync();
    uint32_t distortion = 0;
    CUDAENC_UNROLL
    for (int round = 0; round < 2; round++) {
        const int b = 8 * round + (lane >> 2), bx = luma_block_x(b), by = luma_block_y(b), x = 4 * bx + column;
        int32_t(&v)[4] = rows[round];
        int32_t prediction[4], own[4];
        scale_line(v, qp.luma.scale_4x4, column);
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            prediction[i] = predict(x, 4 * by + i);
            own[i] = s.source[16 * (4 * by + i) + x];
        }
        if (column == 0) v[0] = s.dc[4 * by + bx];
        inverse_lines(v);
        distortion += reconstruct_column(v, prediction, own, place.most, true,
                                         c.samples + (1 + 4 * by) * kLumaPitch + 1 + x, kLumaPitch);
    }
    distortion = warp_add(distortion);

    if (lane < 16) c.modes[kGrid * (1 + (lane >> 2)) + 1 + (lane & 3)] = kDc;
    if (lane != 0) return;
    c.mode = static_cast<uint32_t>(mode);
    c.mode_bits = 0;
    c.distortion = distortion;
}

// 8.5.11.1: 2 columns, 2 or 4 rows.
template <int Rows>
DEVICE void hadamard_chroma_dc(int32_t (&dc)[2 * Rows]) {
    CUDAENC_UNROLL
    for (int y = 0; y < Rows; y++) {
        int32_t row[2] = {dc[2 * y], dc[2 * y + 1]};
        hadamard_transform(row);
        dc[2 * y] = row[0], dc[2 * y + 1] = row[1];
    }
    CUDAENC_UNROLL
    for (int x = 0; x < 2; x++) {
        int32_t column[Rows];
        CUDAENC_UNROLL
        for (int y = 0; y < Rows; y++) column[y] = dc[2 * y + x];
        hadamard_transform(column);
        CUDAENC_UNROLL
        for (int y = 0; y < Rows; y++) dc[2 * y + x] = column[y];
    }
}

template <ChromaFormat F>
DEVICE void begin_chroma(const Place &place, WavefrontState<F> &s) {
    constexpr int kHeight = ChromaCandidate<F>::kHeight;
    ChromaCandidate<F> &c = s.chroma;
    const int lane = lane_id();
    const uint16_t *above = s.records[place.x & 3], *before = s.records[(place.x + 3) & 3];
    if (lane < 18) {
        const int component = lane / 9, i = lane % 9;
        c.samples[component][i] = i ? above[16 + 8 * component + i - 1] : before[16 + 8 * component + 7];
    }
    if (lane < 2 * kHeight) {
        const int component = lane / kHeight, i = lane % kHeight;
        c.samples[component][(1 + i) * kChromaPitch] = s.left_chroma[component][i];
    }
    if (lane < 4) {
        const int component = lane >> 1, i = lane & 1;
        c.totals[component][1 + i] =
            place.available.above ? record_byte(above, kRecordTotals + 2 + component, i) : int8_t{-1};
    }
    if (lane < 2 * kHeight / 4) {
        const int component = lane / (kHeight / 4), i = lane % (kHeight / 4);
        c.totals[component][3 * (1 + i)] = place.available.left ? s.left_chroma_totals[component][i] : int8_t{-1};
    }
    warp_sync();
}

// The mean for a 4x4 block of chroma (8.3.4.1 to 8.3.4.3), at column x and row y of blocks.
DEVICE int32_t chroma_dc(const uint16_t *samples, const Available &a, int bit_depth, int x, int y) {
    const bool above = a.above && !(a.left && x == 0 && y > 0), left = a.left && !(a.above && x > 0 && y == 0);
    uint32_t sum = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++) {
        sum += above ? uint32_t{samples[1 + 4 * x + i]} : 0;
        sum += left ? uint32_t{samples[(1 + 4 * y + i) * kChromaPitch]} : 0;
    }
    return static_cast<int32_t>(above && left   ? (sum + 4) >> 3
                                : above || left ? (sum + 2) >> 2
                                                : 1u << (bit_depth - 1));
}

// Chroma of 4:2:0 or 4:2:2. Items are the 4x4 blocks of Cb, then of Cr, 8 a round.
template <ChromaFormat F>
DEVICE void code_chroma(const Place &place, WavefrontState<F> &s) {
    constexpr int kBlocks = chroma_blocks(F), kHeight = 2 * kBlocks, kRounds = kBlocks / 4;
    ChromaCandidate<F> &c = s.chroma;
    begin_chroma(place, s);
    const int lane = lane_id(), column = lane & 3;
    const Available &a = place.available;
    const QpChoice &qp = *place.qp;
    make_plane<8, kHeight>(c.samples[0], kChromaPitch, place.most, s.chroma_plane[0]);
    make_plane<8, kHeight>(c.samples[1], kChromaPitch, place.most, s.chroma_plane[1]);
    if (lane < 2 * kBlocks)
        s.chroma_means[lane] = static_cast<uint16_t>(
            chroma_dc(c.samples[lane / kBlocks], a, place.bit_depth, lane % kBlocks & 1, lane % kBlocks >> 1));
    warp_sync();
    const auto prediction_of = [&](int mode, int item) {
        const int component = item / kBlocks;
        return make_prediction(mode, c.samples[component], kChromaPitch, s.chroma_means + item,
                               s.chroma_plane[component], 8);
    };

    int chroma_mode = lane >> 3;
    uint32_t satd = 0;
    const int own_mode = mode_of_chroma(chroma_mode);
    CUDAENC_NO_UNROLL
    for (int round = 0; round < kRounds; round++) {
        const int item = 8 * round + (lane & 7), component = item / kBlocks, b = item % kBlocks;
        uint32_t pairs[4][2];
        get_pairs(prediction_of(own_mode, item), s.chroma_source[component], 8, 4 * (b & 1), 4 * (b >> 1), pairs);
        satd += half_satd(pairs);
    }
    satd = sum_of_lanes<7>(satd);
    const uint32_t mode_cost = mode_16x16_available(own_mode, a)
                                   ? ((qp.satd_lambda * mode_bits(static_cast<uint32_t>(chroma_mode))) >> 8) + satd
                                   : kNotAvailable;
    chroma_mode = static_cast<int>(least_of_lanes<24>(mode_cost << 4 | static_cast<uint32_t>(chroma_mode)) & 15);
    const int mode = mode_of_chroma(chroma_mode);

    if (lane < 16) c.levels[lane] = 0;
    int32_t rows[kRounds][4];
    CUDAENC_UNROLL
    for (int round = 0; round < kRounds; round++) {
        const int item = 8 * round + (lane >> 2), component = item / kBlocks, b = item % kBlocks;
        const MacroblockPrediction predict = prediction_of(mode, item);
        const int x = 4 * (b & 1) + column, y = 4 * (b >> 1);
        int32_t(&v)[4] = rows[round];
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) v[i] = s.chroma_source[component][8 * (y + i) + x] - predict(x, y + i);
        forward_lines(v);
        if (column == 0) c.dc[component][b] = v[0];
        quantise_line(v, qp.chroma.multiplier_4x4, qp.chroma.shift_4x4, column);
        if (column == 0) v[0] = 0;
        store_levels(v, c.levels + 16 * (1 + item) + 4 * column);
    }
    warp_sync();
    if (lane < 2) {
        int32_t dc[kBlocks];
        CUDAENC_UNROLL
        for (int i = 0; i < kBlocks; i++) dc[i] = c.dc[lane][i];
        hadamard_chroma_dc<kBlocks / 2>(dc);
        CUDAENC_UNROLL
        for (int i = 0; i < kBlocks; i++) {
            dc[i] = quantise_dc(dc[i], load_readonly(qp.chroma_dc.multiplier_4x4), qp.chroma_dc.shift_4x4 + 1);
            c.levels[8 * lane + i] = static_cast<int16_t>(dc[i]);
        }
        hadamard_chroma_dc<kBlocks / 2>(dc);
        CUDAENC_UNROLL
        for (int i = 0; i < kBlocks; i++) {
            const int32_t scaled = dc[i] * qp.chroma_dc.dc_scale;
            c.dc[lane][i] = kHeight == 8 ? scaled >> 5 : (scaled + 32) >> 6;
        }
    }
    warp_sync();
    uint32_t distortion = 0;
    CUDAENC_UNROLL
    for (int round = 0; round < kRounds; round++) {
        const int item = 8 * round + (lane >> 2), component = item / kBlocks, b = item % kBlocks;
        const MacroblockPrediction predict = prediction_of(mode, item);
        const int x = 4 * (b & 1) + column, y = 4 * (b >> 1);
        int32_t(&v)[4] = rows[round];
        int32_t prediction[4], own[4];
        scale_line(v, qp.chroma.scale_4x4, column);
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            prediction[i] = predict(x, y + i);
            own[i] = s.chroma_source[component][8 * (y + i) + x];
        }
        if (column == 0) v[0] = c.dc[component][b];
        inverse_lines(v);
        distortion += reconstruct_column(v, prediction, own, place.most, true,
                                         c.samples[component] + (1 + y) * kChromaPitch + 1 + x, kChromaPitch);
    }
    distortion = warp_add(distortion);

    if (lane == 0) {
        c.mode = static_cast<uint32_t>(chroma_mode);
        c.distortion = distortion;
    }
}

// ---- A macroblock's type

// Which type is cheapest, and the bits of macroblock_layer(). All threads find the same.
struct Decision {
    int type;
    bool pcm;
    uint32_t bits;
};

DEVICE uint64_t cost_of(uint64_t lambda, uint64_t distortion, uint64_t bits) {
    return (distortion << 8) + lambda * bits;
}

template <ChromaFormat F>
DEVICE Decision decide(const WavefrontArguments &p, const Place &place, const WavefrontState<F> &s) {
    constexpr bool has_chroma = chroma_blocks(F) > 0;
    const uint64_t lambda = place.qp->lambda;
    uint32_t chroma_pattern = 0, chroma_mode_bits = 0, chroma_bits = 0, chroma_distortion = 0, too_large = 0;
    if constexpr (has_chroma) {
        chroma_pattern = s.chroma.coded << 4;
        chroma_mode_bits = mode_bits(s.chroma.mode);
        chroma_bits = s.chroma.bits;
        chroma_distortion = s.chroma.distortion;
        too_large = s.chroma.too_large;
    }
    Decision best{0, false, 0};
    uint64_t least = ~uint64_t{0};
    const auto consider = [&](int type, uint32_t header) {
        const Candidate &c = s.candidates[type];
        const uint32_t bits = c.residual_bits + header + chroma_mode_bits;
        const uint64_t cost = cost_of(lambda, c.distortion, bits);
        if (cost >= least) return;
        least = cost;
        best.type = type;
        best.bits = bits;
    };
    const auto consider_nxn = [&](int type) {  // mb_type, transform_size_8x8_flag, modes, coded_block_pattern
        const uint32_t pattern = s.candidates[type].pattern | chroma_pattern;
        const uint32_t code = has_chroma ? kCodedBlockPatternCodes[pattern] : kCodedBlockPatternCodesLuma[pattern];
        consider(type,
                 1 + p.format.transform_8x8_mode + s.candidates[type].mode_bits + mode_bits(code) + (pattern ? 1 : 0));
    };
    if (p.format.transform_8x8_mode) consider_nxn(static_cast<int>(MacroblockType::i8x8));
    consider_nxn(static_cast<int>(MacroblockType::i4x4));
    const Candidate &whole = s.candidates[static_cast<int>(MacroblockType::i16x16)];
    consider(static_cast<int>(MacroblockType::i16x16),
             mode_bits(1 + whole.mode + 4 * (chroma_pattern >> 4) + (whole.pattern ? 12 : 0)) + 1);

    // See MacroblockCoder::must_be_pcm().
    const uint32_t most = most_macroblock_bits(p.format);
    too_large |= s.candidates[best.type].too_large;
    best.bits += chroma_bits;
    best.pcm = best.bits + 12 > most ||
               least + cost_of(lambda, chroma_distortion, chroma_bits) > cost_of(lambda, 0, most - 128 + 16) ||
               (too_large && !p.long_level_prefix);
    if (best.pcm) best.bits = most - 128 + 16;
    return best;
}

// ---- What a macroblock leaves

// Its last row for the row below, and its last column for the next one. With the last warp.
template <ChromaFormat F>
DEVICE void leave_neighbours(const WavefrontArguments &p, const Place &place, WavefrontState<F> &s,
                             const Decision &decision) {
    constexpr int kHeight = 2 * chroma_blocks(F);
    const int lane = lane_id();
    const Candidate &c = s.candidates[decision.type];
    const bool pcm = decision.pcm;
    if (lane < 16)
        s.record[lane] = c.samples[16 * kLumaPitch + 1 + lane];
    else if constexpr (kHeight > 0)
        s.record[lane] = s.chroma.samples[(lane - 16) >> 3][kHeight * kChromaPitch + 1 + (lane & 7)];
    const auto two = [&](const int8_t *bytes) {
        return static_cast<uint16_t>(static_cast<uint8_t>(bytes[0]) | static_cast<uint8_t>(bytes[1]) << 8);
    };
    if (lane < 2) {
        s.record[kRecordTotals + lane] = pcm ? uint16_t{0x1010} : two(c.totals + 4 * kGrid + 1 + 2 * lane);
        s.record[kRecordModes + lane] = pcm ? uint16_t{kDc | kDc << 8} : two(c.modes + 4 * kGrid + 1 + 2 * lane);
    }
    if constexpr (kHeight > 0)
        if (lane < 2)
            s.record[kRecordTotals + 2 + lane] =
                pcm ? uint16_t{0x1010} : two(s.chroma.totals[lane] + 3 * kHeight / 4 + 1);
    warp_sync();
    if (lane < kRecordWords)
        atomic_store(p.records + uint64_t{place.address} * kRecordWords + static_cast<uint32_t>(lane),
                     uint64_t{p.serial} << 48 | uint64_t{s.record[3 * lane + 2]} << 32 |
                         uint64_t{s.record[3 * lane + 1]} << 16 | s.record[3 * lane]);
    if (lane < 16) s.left[lane] = c.samples[(1 + lane) * kLumaPitch + 16];
    if (lane < 4) {
        s.left_totals[lane] = pcm ? int8_t{16} : c.totals[kGrid * (1 + lane) + 4];
        s.left_modes[lane] = pcm ? int8_t{kDc} : c.modes[kGrid * (1 + lane) + 4];
    }
    if constexpr (kHeight > 0) {
        for (int i = lane; i < 2 * kHeight; i += 32)
            s.left_chroma[i / kHeight][i % kHeight] =
                s.chroma.samples[i / kHeight][(1 + i % kHeight) * kChromaPitch + 8];
        if (lane < 2 * kHeight / 4) {
            const int component = lane / (kHeight / 4), i = lane % (kHeight / 4);
            s.left_chroma_totals[component][i] = pcm ? int8_t{16} : s.chroma.totals[component][3 * (1 + i) + 2];
        }
    }
}

// Waits for what the macroblock in column x of the row above leaves. With a whole warp.
template <class State>
DEVICE void receive_record(const WavefrontArguments &p, uint32_t address, uint32_t x, State &s) {
    const int lane = lane_id(), i = min_of(lane, kRecordWords - 1);
    const uint64_t *from = p.records + uint64_t{address} * kRecordWords + static_cast<uint32_t>(i);
    uint64_t word;
    while (word = atomic_load(from), !warp_all(word >> 48 == p.serial)) back_off();
    uint16_t *to = s.records[x & 3] + 3 * i;
    if (lane < kRecordWords) {
        to[0] = static_cast<uint16_t>(word);
        to[1] = static_cast<uint16_t>(word >> 16);
        to[2] = static_cast<uint16_t>(word >> 32);
    }
}

// Copies levels, 8 a load, with one warp.
DEVICE void copy_levels(const int16_t *from, int16_t *to, int count) {
    for (int i = lane_id(); i < count / 8; i += 32) {
        Uint4 words;
        __builtin_memcpy(&words, __builtin_assume_aligned(from + 8 * i, 16), sizeof words);
        *reinterpret_cast<Uint4 *>(to + 8 * i) = words;
    }
}

template <ChromaFormat F>
DEVICE void write_macroblock(const WavefrontArguments &p, const Place &place, const WavefrontState<F> &s,
                             const Decision &decision, const MacroblockRow &row) {
    const Candidate &c = s.candidates[decision.type];
    Macroblock m{};
    m.type = decision.pcm ? MacroblockType::pcm : static_cast<MacroblockType>(decision.type);
    if (!decision.pcm) {
        m.coded_block_pattern = static_cast<uint8_t>(c.pattern);
        if constexpr (chroma_blocks(F) > 0) {
            m.intra_chroma_pred_mode = static_cast<uint8_t>(s.chroma.mode);
            m.coded_block_pattern = static_cast<uint8_t>(c.pattern | s.chroma.coded << 4);
        }
        if (m.type == MacroblockType::i16x16) {
            m.intra_16x16_pred_mode = static_cast<uint8_t>(c.mode);
        } else {
            const int count = m.type == MacroblockType::i8x8 ? 4 : 16;
            CUDAENC_UNROLL
            for (int i = 0; i < 16; i++) m.pred_mode[i] = i < count ? c.syntax[i] : uint8_t{0};
        }
    }
    m.first_in_slice = row.first_in_slice && place.x == 0;
    m.slice = static_cast<uint16_t>(row.slice);
    p.macroblocks[place.address] = m;
}

// I_PCM: the samples are the levels and the reconstruction. With all threads; returns the squared error of luma, of the
// thread.
template <ChromaFormat F>
DEVICE uint32_t write_pcm(const WavefrontArguments &p, WavefrontState<F> &s, const Decision &decision,
                          int16_t *levels) {
    constexpr int kChroma = 8 * 2 * chroma_blocks(F), kAll = 256 + 2 * kChroma;
    uint32_t distortion = 0;
    for (int i = thread_x(); i < 16 * blocks_per_macroblock(F); i += kWavefrontThreads) {
        uint16_t sample = 0;
        if (i < 256) {
            sample = p.pcm_without_zeros ? max_of(s.source[i], uint16_t{1}) : s.source[i];
            distortion += sample != s.source[i];
            s.candidates[decision.type].samples[(1 + i / 16) * kLumaPitch + 1 + i % 16] = sample;
        }
        if constexpr (kChroma > 0) {
            if (i >= 256 && i < kAll) {
                const int component = (i - 256) / kChroma, k = (i - 256) % kChroma;
                sample = s.chroma_source[component][k];
                sample = p.pcm_without_zeros ? max_of(sample, uint16_t{1}) : sample;
                s.chroma.samples[component][(1 + k / 8) * kChromaPitch + 1 + k % 8] = sample;
            }
        }
        levels[i] = static_cast<int16_t>(sample);
    }
    return distortion;
}

// ---- Source samples of a macroblock: a thread has two of luma and some of chroma.

template <ChromaFormat F>
struct SourceSamples {
    static constexpr int kChroma = chroma_blocks(F) / 4, kHeight = 2 * chroma_blocks(F);  // a thread has kChroma
    const uint8_t *luma_row, *chroma_rows[kChroma + 1];
    uint16_t luma[2], chroma[kChroma + 1];

    static DEVICE_MEMBER int chroma_item(int i) { return thread_x() + i * kWavefrontThreads; }
    static DEVICE_MEMBER uint16_t sample(const SampleLayout &s, const uint8_t *row, int x) {
        const uint8_t *at = row + x * s.step;
        const uint32_t word = s.shift + s.depth > 8 ? *reinterpret_cast<const uint16_t *>(at) : *at;
        return static_cast<uint16_t>(word >> s.shift & ((1u << s.depth) - 1));
    }
    // For row `row` of macroblocks.
    DEVICE_MEMBER void begin(const WavefrontArguments &p, uint32_t row) {
        const int y = 16 * static_cast<int>(row) + (thread_x() >> 3);
        luma_row = p.components[0].data + min_of(y, p.picture_height - 1) * p.components[0].stride;
        if constexpr (kChroma > 0) {
            const int rows = F == ChromaFormat::c420 ? (p.picture_height + 1) / 2 : p.picture_height;
            CUDAENC_UNROLL
            for (int i = 0; i < kChroma; i++) {
                const int item = chroma_item(i), chroma_y = kHeight * static_cast<int>(row) + item / 8 % kHeight;
                const SampleLayout &s = item / 8 < kHeight ? p.components[1] : p.components[2];
                chroma_rows[i] = s.data + min_of(chroma_y, rows - 1) * s.stride;
            }
        }
    }
    DEVICE_MEMBER void load(const WavefrontArguments &p, uint32_t column) {
        const int x = 16 * static_cast<int>(column) + 2 * (thread_x() & 7), last = p.picture_width - 1;
        luma[0] = sample(p.components[0], luma_row, min_of(x, last));
        luma[1] = sample(p.components[0], luma_row, min_of(x + 1, last));
        if constexpr (kChroma > 0) {
            const int chroma_x = min_of(8 * static_cast<int>(column) + (thread_x() & 7), (p.picture_width + 1) / 2 - 1);
            CUDAENC_UNROLL
            for (int i = 0; i < kChroma; i++)
                chroma[i] =
                    sample(chroma_item(i) / 8 < kHeight ? p.components[1] : p.components[2], chroma_rows[i], chroma_x);
        }
    }
    DEVICE_MEMBER void store(WavefrontState<F> &s) const {
        const int thread = thread_x();
        s.source[2 * thread] = luma[0];
        s.source[2 * thread + 1] = luma[1];
        if constexpr (kChroma > 0) {
            CUDAENC_UNROLL
            for (int i = 0; i < kChroma; i++) {
                const int item = chroma_item(i);
                s.chroma_source[item / (8 * kHeight)][item % (8 * kHeight)] = chroma[i];
            }
        }
    }
};

// ---- A row

template <ChromaFormat F>
DEVICE void code_row(const WavefrontArguments &p) {
    using State = WavefrontState<F>;
    constexpr int kBlocks = blocks_per_macroblock(F);
    SHARED(State, state, 1);
    State &s = state[0];
    const MacroblockRow row = p.rows[take_ticket(p.tickets)];
    const int thread = thread_x(), warp = warp_shuffle(warp_id(), 0);  // the same in all lanes
    const uint32_t columns = static_cast<uint32_t>(p.format.width);
    for (int i = thread; i < 9 * 16; i += kWavefrontThreads) s.predicted_4x4[i] = p.tables->predicted_4x4[i];
    for (int i = thread; i < 9 * 64; i += kWavefrontThreads) s.predicted_8x8[i] = p.tables->predicted_8x8[i];
    for (int i = thread; i < kScans; i += kWavefrontThreads) s.scans[i] = p.tables->scans[i];
    for (int i = thread; i < static_cast<int>(sizeof(CavlcTables) / 4); i += kWavefrontThreads)
        reinterpret_cast<AnyWord *>(&s.cavlc)[i] = reinterpret_cast<const AnyWord *>(&p.tables->cavlc)[i];
    SourceSamples<F> source;
    source.begin(p, row.y);
    source.load(p, 0);
    const bool above = row.first_in_slice == 0;
    if (above && warp == kWarpChroma) receive_record(p, (row.y - 1) * columns, 0, s);
    uint64_t bits = 0, distortion = 0;
    Place place{};
    place.bit_depth = p.format.luma_depth;
    place.most = (1 << place.bit_depth) - 1;
    CUDAENC_NO_UNROLL
    for (uint32_t x = 0; x < columns; x++) {
        place.x = x;
        place.address = row.y * columns + x;
        place.available = {x > 0, above, above && x + 1 < columns};
        place.qp = p.qp_choices + (p.qps ? p.qps[place.address] : p.qp) + qp_bd_offset(place.bit_depth);
        if (place.available.above_right && warp == kWarpChroma)
            receive_record(p, (row.y - 1) * columns + x + 1, x + 1, s);
        source.store(s);
        block_sync();
        if (x + 1 < columns) source.load(p, x + 1);
        if (warp == kWarp4x4) {
            code_4x4(place, s);
        } else if (warp == kWarp8x8) {
            if (p.format.transform_8x8_mode) code_8x8(place, s);
        } else if (warp == kWarp16x16) {
            code_16x16(place, s);
        } else if constexpr (chroma_blocks(F) > 0) {
            code_chroma(place, s);
        }
        warp_sync();
        count_candidate(warp, p.format.transform_8x8_mode, s);
        block_sync();
        const Decision decision = decide(p, place, s);
        bits += decision.bits;
        int16_t *levels = p.levels + uint64_t{place.address} * (16 * kBlocks);
        if (decision.pcm) {
            distortion += write_pcm(p, s, decision, levels);
            block_sync();
        } else {
            const Candidate &c = s.candidates[decision.type];
            distortion += thread == 0 ? c.distortion : 0;
            const bool dc = decision.type == static_cast<int>(MacroblockType::i16x16);
            if (warp == kWarp4x4) copy_levels(c.levels, levels, dc ? 272 : 256);
            if (warp == kWarp8x8 && !dc && lane_id() < 16) levels[256 + lane_id()] = 0;
            if constexpr (chroma_blocks(F) > 0)
                if (warp == kWarp8x8) copy_levels(s.chroma.levels, levels + 272, 16 * (kBlocks - 17));
        }
        if (warp == kWarp16x16 && lane_id() == 0) write_macroblock(p, place, s, decision, row);
        if (warp == kWarpChroma) leave_neighbours(p, place, s, decision);
    }
    // The squared errors of I_PCM are the threads' own.
    SHARED(uint64_t, sums, kWavefrontThreads / 32);
    const uint64_t all = warp_inclusive_add(distortion);
    if (lane_id() == 31) sums[warp] = all;
    block_sync();
    if (thread == 0) p.results[row.y] = {bits, sums[0] + sums[1] + sums[2] + sums[3]};
}

#define WAVEFRONT_KERNEL(format, name)                                                 \
    KERNEL_BLOCKS(kWavefrontThreads, 6, name, WavefrontParams<ChromaFormat::format>) { \
        code_row<ChromaFormat::format>(p);                                             \
    }
WAVEFRONT_KERNEL(c400, h264_wavefront_400)
WAVEFRONT_KERNEL(c420, h264_wavefront_420)
WAVEFRONT_KERNEL(c422, h264_wavefront_422)
#undef WAVEFRONT_KERNEL

}  // namespace cudaenc::h264
