// SPDX-License-Identifier: LGPL-2.1-or-later
// Inter coding of macroblocks whose motion is known (H.264, 8.4.2 and 8.5, inverted). A warp owns a macroblock. It is
// coded with 4x4 and with 8x8 transforms, a column of a block a lane, and as P_Skip; the cheapest one is kept.
#include "../../../common/h264/inter/refine_steps.h"
#include "../intra/chroma.cuh"
#include "../intra/count_bits.cuh"
#include "code_params.h"
#include "quarter_samples.cuh"

namespace cudaenc::h264 {

// A macroblock's samples, 16 and 8 in a row.
template <ChromaFormat F>
struct InterSamples {
    alignas(16) uint16_t luma[luma_components(F)][256], chroma[2][16 * chroma_blocks(F) + !chroma_blocks(F)];
};
template <ChromaFormat F>
struct InterState {
    static constexpr int kChromaLevels = 16 + 32 * chroma_blocks(F);
    alignas(16) int16_t levels[2][luma_components(F)][256];  // of 4x4 and of 8x8 transforms
    alignas(16) int16_t chroma_levels[kChromaLevels];        // as in macroblock.h, from block 17 on
    InterSamples<F> source, prediction;
    alignas(16) uint16_t luma[2][luma_components(F)][256];  // reconstructions
    uint16_t chroma[2][16 * chroma_blocks(F) + !chroma_blocks(F)];
    int32_t dc[2][8];
};

// Four samples, as words of bytes or of 16 bits.
template <int Bytes>
using FourSamples = std::conditional_t<Bytes == 1, uint32_t, uint64_t>;
DEVICE uint32_t sample_of_four(uint32_t word, int i) { return byte_of(word, i); }
DEVICE uint32_t sample_of_four(uint64_t word, int i) { return static_cast<uint32_t>(word >> 16 * i) & 0xFFFF; }
template <int Bytes>
DEVICE FourSamples<Bytes> with_sample(uint32_t sample, int i) {
    return FourSamples<Bytes>{sample} << 8 * Bytes * i;
}
template <class Word>
DEVICE void store_four(Word word, uint16_t *to) {
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++) to[i] = static_cast<uint16_t>(sample_of_four(word, i));
}
template <int Bytes>
DEVICE FourSamples<Bytes> load_four(const uint16_t *from) {
    FourSamples<Bytes> word = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++) word |= with_sample<Bytes>(from[i], i);
    return word;
}
DEVICE uint32_t square_of(uint32_t a, uint32_t b) {
    const int32_t d = static_cast<int32_t>(a) - static_cast<int32_t>(b);
    return static_cast<uint32_t>(d * d);
}
template <class Word>
DEVICE uint32_t squared_error(Word a, Word b) {
    uint32_t sum = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++) sum += square_of(sample_of_four(a, i), sample_of_four(b, i));
    return sum;
}

// Of luma, and of what is coded as luma, a lane has eight samples of a row; of chroma four in a round.
template <ChromaFormat F>
constexpr int kChromaRounds = chroma_blocks(F) / 4;
template <ChromaFormat F, int Bytes>
struct LaneSamples {
    FourSamples<Bytes> luma[luma_components(F)][2], chroma[kChromaRounds<F> + !kChromaRounds<F>];

    DEVICE_MEMBER uint32_t chroma_error(const LaneSamples &other) const {
        uint32_t sum = 0;
        CUDAENC_UNROLL
        for (int round = 0; round < kChromaRounds<F>; round++) sum += squared_error(chroma[round], other.chroma[round]);
        return sum;
    }
    DEVICE_MEMBER uint32_t error(const LaneSamples &other) const {
        uint32_t sum = 0;
        CUDAENC_UNROLL
        for (int k = 0; k < luma_components(F); k++)
            sum += squared_error(luma[k][0], other.luma[k][0]) + squared_error(luma[k][1], other.luma[k][1]);
        return sum + chroma_error(other);
    }
};
template <ChromaFormat F>
struct LanePlace {
    static constexpr int kChromaHeight = 2 * chroma_blocks(F);
    int x, y, half, chroma_x, chroma_y;
    DEVICE_MEMBER static LanePlace here() {
        const int lane = lane_id();
        return {8 * (lane & 1), lane >> 1, lane >> 4, 4 * (lane & 1), lane >> 1 & (kChromaHeight - 1)};
    }
    DEVICE_MEMBER int component(int round) const { return kChromaRounds<F> > 1 ? round : half; }  // of chroma
    DEVICE_MEMBER int block() const { return (y >> 3) * 2 + (x >> 3); }                           // 8x8
    DEVICE_MEMBER int chroma_block() const { return (chroma_y >> (kChromaHeight == 8 ? 2 : 3)) * 2 + (chroma_x >> 2); }
};
template <ChromaFormat F, int Bytes>
DEVICE void put(const LanePlace<F> &place, const LaneSamples<F, Bytes> &from, InterSamples<F> &to) {
    CUDAENC_UNROLL
    for (int k = 0; k < luma_components(F); k++) CUDAENC_UNROLL
    for (int i = 0; i < 2; i++) store_four(from.luma[k][i], to.luma[k] + 16 * place.y + place.x + 4 * i);
    CUDAENC_UNROLL
    for (int round = 0; round < kChromaRounds<F>; round++)
        store_four(from.chroma[round], to.chroma[place.component(round)] + 8 * place.chroma_y + place.chroma_x);
}

// Four samples of a source whose last column and row repeat.
template <int Bytes>
DEVICE FourSamples<Bytes> load_repeated(const SampleLayout &layout, int x, int y, int width, int height) {
    FourSamples<Bytes> four = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++)
        four |= with_sample<Bytes>(
            static_cast<uint32_t>(load_sample(layout, min_of(x + i, width - 1), min_of(y, height - 1)) +
                                  (1 << (layout.depth - 1))),
            i);
    return four;
}
template <ChromaFormat F, int Bytes>
DEVICE LaneSamples<F, Bytes> load_source(const CodeInterArguments &p, const LanePlace<F> &place, int x, int y) {
    LaneSamples<F, Bytes> s;
    CUDAENC_UNROLL
    for (int k = 0; k < luma_components(F); k++) CUDAENC_UNROLL
    for (int i = 0; i < 2; i++) {
        const int column = 16 * x + place.x + 4 * i, row = 16 * y + place.y;
        if constexpr (Bytes == 1)
            s.luma[k][i] = load_readonly(reinterpret_cast<const uint32_t *>(p.source.at(column, row)));
        else
            s.luma[k][i] = load_repeated<Bytes>(p.components[k], column, row, p.width, p.height);
    }
    CUDAENC_UNROLL
    for (int round = 0; round < kChromaRounds<F>; round++)
        s.chroma[round] =
            load_repeated<Bytes>(p.components[1 + place.component(round)], 8 * x + place.chroma_x,
                                 LanePlace<F>::kChromaHeight * y + place.chroma_y, p.chroma_width, p.chroma_height);
    return s;
}
// 8.4.2.3.2
template <int Bytes>
DEVICE FourSamples<Bytes> weighed(const PictureWeights &w, FourSamples<Bytes> four, int32_t offset, int bit_depth) {
    FourSamples<Bytes> to = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++) {
        const int32_t sample = static_cast<int32_t>(sample_of_four(four, i));
        to |= with_sample<Bytes>(static_cast<uint32_t>(w.weigh(sample, offset, bit_depth)), i);
    }
    return to;
}
template <ChromaFormat F, int Bytes>
DEVICE void weigh(const CodeInterArguments &p, LaneSamples<F, Bytes> &s) {
    const int bit_depth = Bytes == 1 ? 8 : p.bit_depth;
    const auto weigh_four = [&](FourSamples<Bytes> &four, int32_t offset) {
        four = weighed<Bytes>(p.weights, four, offset, bit_depth);
    };
    CUDAENC_UNROLL
    for (int k = 0; k < luma_components(F); k++) CUDAENC_UNROLL
    for (int i = 0; i < 2; i++) weigh_four(s.luma[k][i], k ? p.weights.chroma_offset() : p.weights.offset);
    CUDAENC_UNROLL
    for (int round = 0; round < kChromaRounds<F>; round++) weigh_four(s.chroma[round], p.weights.chroma_offset());
}
// 8.4.2.2. luma: the vector of the lane's luma; chroma: of its chroma.
template <ChromaFormat F, int Bytes>
DEVICE LaneSamples<F, Bytes> predict(const CodeInterArguments &p, const LanePlace<F> &place, int x, int y, Vector luma,
                                     Vector chroma) {
    using Sample = DecodedSample<Bytes>;
    constexpr bool kTall = F == ChromaFormat::c422;  // vertical vectors are in quarters of a chroma sample
    LaneSamples<F, Bytes> s;
    if constexpr (Bytes == 1) {
        QuarterRows(p.reference, 16 * x + place.x, 16 * y + place.y, luma).load(0, s.luma[0]);
    } else {
        CUDAENC_NO_UNROLL
        for (int k = 0; k < luma_components(F); k++) {
            int32_t eight[8]{};
            interpolate_eight(p.samples[k], 16 * x + place.x, 16 * y + place.y, luma, (1 << p.bit_depth) - 1, eight);
            CUDAENC_UNROLL
            for (int i = 0; i < 2; i++) {
                FourSamples<Bytes> four = 0;
                CUDAENC_UNROLL
                for (int j = 0; j < 4; j++) four |= with_sample<Bytes>(static_cast<uint32_t>(eight[4 * i + j]), j);
                CUDAENC_UNROLL
                for (int j = 0; j < luma_components(F); j++)  // so that they stay in registers
                    if (j == k) s.luma[j][i] = four;
            }
        }
    }
    CUDAENC_UNROLL
    for (int round = 0; round < kChromaRounds<F>; round++) {
        const MarginPlane &plane = p.samples[1 + place.component(round)];
        const int vy = kTall ? 2 * chroma.y : chroma.y + p.chroma_offset, fx = chroma.x & 7, fy = vy & 7;
        const int a = (8 - fx) * (8 - fy), b = fx * (8 - fy), c = (8 - fx) * fy, d = fx * fy;
        const Sample *const above = plane.template samples<const Sample>(
            8 * x + place.chroma_x + (chroma.x >> 3), LanePlace<F>::kChromaHeight * y + place.chroma_y + (vy >> 3));
        const Sample *const below = above + plane.stride / Bytes;
        s.chroma[round] = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++)
            s.chroma[round] |= with_sample<Bytes>(
                static_cast<uint32_t>((a * load_readonly(above + i) + b * load_readonly(above + i + 1) +
                                       c * load_readonly(below + i) + d * load_readonly(below + i + 1) + 32) >>
                                      6),
                i);
    }
    if (p.weights.any()) weigh<F, Bytes>(p, s);
    return s;
}

// What a transform size, or chroma, costs.
struct CodedPart {
    uint64_t cost;
    uint32_t pattern;
    uint32_t bits;  // of levels
};

// A column of a block of N x N samples of luma, and of what is coded as luma. Blocks whose levels cost more than they
// gain have none: 8x8 blocks alike, whose columns Group lanes have.
template <int N, int Group, ChromaFormat F>
DEVICE CodedPart code_columns(const QpChoice &qp, InterState<F> &s, int b, int x, int y, int column, int32_t most) {
    constexpr int kVariant = N == 8, kComponents = luma_components(F);
    int32_t v[kComponents][N], prediction[kComponents][N];
    uint32_t without = 0, bits = 0, squares = 0;
    LevelLine<N> line[kComponents];
    CUDAENC_UNROLL
    for (int k = 0; k < kComponents; k++) {
        const uint16_t *source = s.source.luma[k] + 16 * y + x + column,
                       *predicted = s.prediction.luma[k] + 16 * y + x + column;
        int32_t own[N];
        CUDAENC_UNROLL
        for (int i = 0; i < N; i++) {
            own[i] = source[16 * i];
            prediction[k][i] = predicted[16 * i];
            v[k][i] = own[i] - prediction[k][i];
            without += static_cast<uint32_t>(v[k][i] * v[k][i]);
        }
        const Quantiser &q = k ? qp.chroma : qp.luma;
        forward_lines(v[k]);
        quantise_line(v[k], N == 4 ? q.multiplier_4x4 : q.multiplier_8x8, N == 4 ? q.shift_4x4 : q.shift_8x8, column,
                      kRoundingInter.dc, kRoundingInter.ac);
        CUDAENC_UNROLL
        for (int i = 0; i < N; i++) bits += inter_level_bits(magnitude_of(v[k][i]));
        line[k].pack(v[k]);
        scale_line(v[k], N == 4 ? q.scale_4x4 : q.scale_8x8, N == 4 ? 0 : 6, column);
        inverse_lines(v[k]);
        squares += reconstruct_column(v[k], prediction[k], own, most);
    }
    squares = sum_of_lanes<Group - 1>(squares);
    without = sum_of_lanes<Group - 1>(without);
    bits = sum_of_lanes<Group - 1>(bits);
    const uint64_t coded = cost_of(qp.lambda, squares, bits + kBlockBits), none = cost_of(0, without, 0);
    const bool keeps = bits != 0 && coded < none;
    CUDAENC_UNROLL
    for (int k = 0; k < kComponents; k++) {
        if (!keeps) {
            CUDAENC_UNROLL
            for (int i = 0; i < N / 4; i++) line[k].fours[i] = 0;
            CUDAENC_UNROLL
            for (int i = 0; i < N; i++) v[k][i] = prediction[k][i];
        }
        line[k].store(s.levels[kVariant][k] + N * N * b + N * column);
        store_column(v[k], s.luma[kVariant][k] + 16 * y + x + column, 16);
    }
    return {keeps ? coded : none, keeps, keeps ? bits : 0};
}
// Sums over 8x8 blocks of a round, which Group lanes have each; the first one is `first`.
template <int Group>
DEVICE void add_blocks(CodedPart &sum, CodedPart own, int first) {
    sum.pattern |= warp_or(own.pattern << (first + lane_id() / Group));
    CUDAENC_UNROLL
    for (int mask = Group; mask < 32; mask *= 2) {
        own.cost += warp_shuffle_xor(own.cost, mask);
        own.bits += warp_shuffle_xor(own.bits, mask);
    }
    sum.cost += own.cost;
    sum.bits += own.bits;
}
template <ChromaFormat F>
DEVICE CodedPart code_luma_4x4(const QpChoice &qp, InterState<F> &s, int32_t most) {
    CodedPart sum{};
    CUDAENC_UNROLL
    for (int round = 0; round < 2; round++) {
        const int b = 8 * round + (lane_id() >> 2);
        add_blocks<16>(sum,
                       code_columns<4, 16>(qp, s, b, 4 * luma_block_x(b), 4 * luma_block_y(b), lane_id() & 3, most),
                       2 * round);
    }
    return sum;
}
template <ChromaFormat F>
DEVICE CodedPart code_luma_8x8(const QpChoice &qp, InterState<F> &s, int32_t most) {
    CodedPart sum{};
    const int b = lane_id() >> 3;
    add_blocks<8>(sum, code_columns<8, 8>(qp, s, b, 8 * (b & 1), 8 * (b >> 1), lane_id() & 7, most), 0);
    return sum;
}

// As code_chroma() of the intra pipeline, by the prediction that there is: 8 blocks a round.
template <ChromaFormat F>
DEVICE CodedPart code_chroma(const QpChoice &qp, InterState<F> &s, uint32_t without, int32_t most) {
    constexpr int kBlocks = chroma_blocks(F), kRounds = kChromaRounds<F>, kShift = kBlocks == 4 ? 2 : 3;
    const int lane = lane_id(), column = lane & 3;
    const auto item_of = [&](int round) { return 8 * round + (lane >> 2); };
    const auto column_of = [&](int item) {
        const int component = item >> kShift, b = item & (kBlocks - 1);
        return AcColumn{{s.prediction.chroma[component], 1, 8},
                        s.source.chroma[component],
                        8,
                        4 * (b & 1) + column,
                        4 * (b >> 1),
                        column};
    };
    const auto dc_of = [&](int item) -> int32_t & { return s.dc[item >> kShift][item & (kBlocks - 1)]; };
    if (lane < 16) s.chroma_levels[lane] = 0;
    warp_sync();
    int32_t v[kRounds][4];
    LevelSums ac{0, 0};
    CUDAENC_UNROLL
    for (int round = 0; round < kRounds; round++) {
        const int item = item_of(round);
        ac = ac + unpacked_sums(column_of(item).code(qp.chroma, v[round], dc_of(item),
                                                     s.chroma_levels + 16 * (1 + item), kRoundingInter.ac));
    }
    warp_sync();
    LevelSums dc_sums{0, 0};
    if (lane < 2) dc_sums = code_chroma_dc<kBlocks>(qp, s.dc[lane], s.chroma_levels + 8 * lane, kRoundingInter.dc);
    warp_sync();
    uint32_t squares = 0;
    CUDAENC_UNROLL
    for (int round = 0; round < kRounds; round++) {
        const int item = item_of(round);
        squares += column_of(item).reconstruct(qp.chroma, 0, v[round], dc_of(item), most, s.chroma[item >> kShift], 8);
    }
    squares = warp_add(squares);
    const uint32_t nonzero = warp_add(ac.nonzero), nonzero_dc = warp_add(dc_sums.nonzero);
    const uint32_t bits = warp_add(ac.bits + dc_sums.bits) + nonzero + nonzero_dc;
    const uint64_t coded = cost_of(qp.lambda, squares, bits + kBlockBits), none = cost_of(0, without, 0);
    if ((nonzero || nonzero_dc) && coded < none) return {coded, nonzero ? 2u : 1u, bits};
    warp_sync();  // other lanes wrote what these write again
    constexpr int kSamples = 16 * kBlocks;
    for (int i = lane; i < InterState<F>::kChromaLevels; i += 32) s.chroma_levels[i] = 0;
    for (int i = lane; i < 2 * kSamples; i += 32)
        s.chroma[i / kSamples][i % kSamples] = s.prediction.chroma[i / kSamples][i % kSamples];
    warp_sync();
    return {none, 0, 0};
}

// Whether the levels may exceed the limits of a macroblock. A lane has a block in a round: of luma and of what is coded
// as luma, then of chroma's AC, then two of its DC.
template <ChromaFormat F>
DEVICE bool exceeds_limits(const WavefrontTables &tables, const InterState<F> &s, int bit_depth, int variant,
                           uint32_t pattern, uint32_t bits) {
    constexpr int kLuma = 16 * luma_components(F), kAc = 2 * chroma_blocks(F), kAll = kLuma + kAc + (kAc ? 2 : 0);
    const CodedFormat format = {.chroma = F,
                                .transform_8x8_mode = true,
                                .luma_depth = bit_depth,
                                .chroma_depth = bit_depth,
                                .width = 0,
                                .height = 0,
                                .field = false,
                                .field_pairs = false};
    if (!may_be_pcm(format, {bits, 0})) return false;
    uint32_t most_bits = kMostHeaderBits;
    bool too_large = false;
    CUDAENC_NO_UNROLL
    for (int first = 0; first < kAll; first += 32) {
        const int item = first + lane_id(), b = item & 15, component = min_of(item / 16, luma_components(F) - 1);
        const bool luma = item < kLuma, dc = item >= kLuma + kAc;
        const BlockCode of_dc = chroma_dc_code(chroma_blocks(F));
        const int16_t *of_chroma = s.chroma_levels;
        if constexpr (kAc > 0) of_chroma += dc ? 8 * (item & 1) : 16 * (1 + ((item - kLuma) & (kAc - 1)));
        const CountedBlock block{
            .levels = luma ? s.levels[variant][component] + (variant ? 64 * (b >> 2) : 16 * b) : of_chroma,
            .places = tables.scans + (luma ? (variant ? kScan8x8 + (b & 3) : kScan4x4)
                                      : dc ? kScanChromaDc
                                           : kScan4x4 + 1),
            .step = luma && variant ? 4 : 1,
            .count = luma ? 16
                     : dc ? chroma_blocks(F)
                          : 15,
            .coded = luma  ? (pattern >> (b >> 2) & 1) != 0
                     : !dc ? pattern >> 5 != 0
                           : item < kAll && pattern >> 4 != 0,
            .nc_bits = dc ? 0 : kTokenBitsByNc,
            .tokens = dc ? of_dc.tokens : kTokens0,
            .zeros = dc ? of_dc.zeros : kZeros4x4};
        const MostBits most = count_most(tables.cavlc, block);
        most_bits += most.bits;
        too_large |= most.too_large;
    }
    return most_bits > most_macroblock_bits(format) || too_large;
}

template <ChromaFormat F>
DEVICE void write_levels(const InterState<F> &s, int variant, bool skipped, int16_t *levels) {
    // A block of zeros, and chroma.
    constexpr int kRest = 2 + (chroma_blocks(F) ? InterState<F>::kChromaLevels / 8 : 0);
    Uint4 *to = reinterpret_cast<Uint4 *>(levels);
    const int lane = lane_id();
    const auto eight = [&](const int16_t *from, bool zero) {
        const AnyWord *words = reinterpret_cast<const AnyWord *>(from);
        return zero ? Uint4{0, 0, 0, 0} : Uint4{words[0], words[1], words[2], words[3]};
    };
    CUDAENC_UNROLL
    for (int k = 0; k < luma_components(F); k++, to += 2 * kLumaBlocks) {
        to[lane] = eight(s.levels[variant][k] + 8 * lane, skipped);
        CUDAENC_UNROLL
        for (int first = 0; first < kRest; first += 32) {
            const int i = first + lane;
            if (i < kRest) to[32 + i] = eight(s.chroma_levels + 8 * max_of(i - 2, 0), skipped || i < 2);
        }
    }
}

template <int Bytes>
DEVICE void store_samples(const MarginPlane &plane, int x, int y, FourSamples<Bytes> four) {
    using Word __attribute__((may_alias)) = FourSamples<Bytes>;
    *reinterpret_cast<Word *>(plane.samples<DecodedSample<Bytes>>(x, y)) = four;
}

template <ChromaFormat F, int Bytes>
DEVICE void code_inter(const CodeInterArguments &p) {
    using Samples = LaneSamples<F, Bytes>;
    SHARED(InterState<F>, states, kCodeThreads / 32);
    const int m = block_x() * (kCodeThreads / 32) + warp_id(), x = m % p.columns, y = m / p.columns, lane = lane_id();
    if (y >= p.rows) return;
    InterState<F> &s = states[warp_id()];
    const LanePlace<F> place = LanePlace<F>::here();
    const int bit_depth = Bytes == 1 ? 8 : p.bit_depth, most = (1 << bit_depth) - 1;
    const MotionField field{p.field, p.columns};
    MacroblockMotion motion = p.field[m];
    const QpChoice &qp = p.qp_choices[p.qps[m]];
    const Vector skipped_vector = field.skipped(x, y);
    const bool can_skip = p.refresh.limited(range_of(x, y, p.columns, p.rows, p.vertical), x).has(skipped_vector);

    const Samples source = load_source<F, Bytes>(p, place, x, y);
    const Samples prediction =
        predict<F, Bytes>(p, place, x, y, p.field[m].vectors[place.block()], p.field[m].vectors[place.chroma_block()]);
    put(place, source, s.source);
    put(place, prediction, s.prediction);
    Samples as_skipped{};
    uint64_t skip_cost = kNotAllowed;
    if (can_skip) {
        as_skipped = predict<F, Bytes>(p, place, x, y, skipped_vector, skipped_vector);
        skip_cost = cost_of(0, warp_add(source.error(as_skipped)), 0);
    }
    uint32_t chroma_without = 0;
    if constexpr (kChromaRounds<F> > 0) chroma_without = warp_add(source.chroma_error(prediction));
    warp_sync();

    CodedPart luma = code_luma_4x4(qp, s, most);
    int variant = 0;
    if (p.transform_8x8 && luma.pattern) {
        const CodedPart eight = code_luma_8x8(qp, s, most);
        if (eight.cost < luma.cost) luma = eight, variant = 1;
    }
    CodedPart chroma{};
    if constexpr (kChromaRounds<F> > 0) chroma = code_chroma(qp, s, chroma_without, most);
    warp_sync();
    const uint32_t pattern = luma.pattern | chroma.pattern << 4;
    const uint32_t vector_bits = field.bits(x, y, motion) + shape_bits(motion.shape);
    const uint64_t coded = luma.cost + chroma.cost + cost_of(qp.lambda, 0, vector_bits + kInterHeaderBits);
    const bool skipped = can_skip && skip_cost <= coded;
    const bool too_many =
        !skipped && exceeds_limits(*p.tables, s, bit_depth, variant, pattern, luma.bits + chroma.bits);

    CUDAENC_UNROLL
    for (int k = 0; k < luma_components(F); k++) CUDAENC_UNROLL
    for (int i = 0; i < 2; i++) {
        const FourSamples<Bytes> four =
            skipped ? as_skipped.luma[k][i] : load_four<Bytes>(s.luma[variant][k] + 16 * place.y + place.x + 4 * i);
        store_samples<Bytes>(p.decoded[k], 16 * x + place.x + 4 * i, 16 * y + place.y, four);
    }
    CUDAENC_UNROLL
    for (int round = 0; round < kChromaRounds<F>; round++) {
        const int component = place.component(round);
        const FourSamples<Bytes> four =
            skipped ? as_skipped.chroma[round]
                    : load_four<Bytes>(s.chroma[component] + 8 * place.chroma_y + place.chroma_x);
        store_samples<Bytes>(p.decoded[1 + component], 8 * x + place.chroma_x,
                             LanePlace<F>::kChromaHeight * y + place.chroma_y, four);
    }
    write_levels(s, variant, skipped, p.levels + int64_t{m} * 16 * blocks_per_macroblock(F));
    if (lane != 0) return;
    Macroblock macroblock{};
    if (skipped) {
        macroblock.type = MacroblockType::p16x16;
        motion.fill(skipped_vector);
    } else {
        macroblock.type =
            static_cast<MacroblockType>(static_cast<int>(MacroblockType::p16x16) + static_cast<int>(motion.shape));
        macroblock.transform_size_8x8_flag = variant && luma.pattern;
        macroblock.coded_block_pattern = static_cast<uint8_t>(pattern);
    }
    p.macroblocks[m] = macroblock;
    p.motion[m] = motion;
    p.outcomes[m] = {skipped ? skip_cost : too_many ? kNotAllowed : coded, skipped};
}

#define CODE_KERNEL(format, bytes, name)                                \
    using name##_params = CodeInterParams<ChromaFormat::format, bytes>; \
    KERNEL(kCodeThreads, name, name##_params)                           \
    {                                                                   \
        code_inter<ChromaFormat::format, bytes>(p);                     \
    }
CODE_KERNEL(c420, 1, h264_code_inter)
CODE_KERNEL(c400, 2, h264_code_inter_400_wide)
CODE_KERNEL(c420, 2, h264_code_inter_420_wide)
CODE_KERNEL(c422, 2, h264_code_inter_422_wide)
CODE_KERNEL(c444, 2, h264_code_inter_444_wide)
#undef CODE_KERNEL

}  // namespace cudaenc::h264
