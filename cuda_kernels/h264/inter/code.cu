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
struct InterSamples {
    alignas(16) uint16_t luma[256], chroma[2][64];
};
struct InterState {
    alignas(16) int16_t levels[2][256];  // of 4x4 and of 8x8 transforms
    int16_t chroma_levels[16 + 128];     // as in macroblock.h, from block 17 on
    InterSamples source, prediction;
    alignas(16) uint16_t luma[2][256], chroma[2][64];  // reconstructions
    int32_t dc[2][4];
};

// Of luma a lane has eight samples of a row, of chroma four: as words of bytes.
struct LaneSamples {
    uint32_t luma[2], chroma;
};
struct LanePlace {
    int x, y, component, chroma_x, chroma_y;
    DEVICE_MEMBER static LanePlace here() {
        const int lane = lane_id();
        return {8 * (lane & 1), lane >> 1, lane >> 4, 4 * (lane & 1), lane >> 1 & 7};
    }
    DEVICE_MEMBER int block() const { return (y >> 3) * 2 + (x >> 3); }  // 8x8
    DEVICE_MEMBER int chroma_block() const { return (chroma_y >> 2) * 2 + (chroma_x >> 2); }
};
DEVICE void store_bytes(uint32_t word, uint16_t *to) {
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++) to[i] = static_cast<uint16_t>(byte_of(word, i));
}
DEVICE uint32_t packed_bytes(const uint16_t *from) {
    return uint32_t{from[0]} | uint32_t{from[1]} << 8 | uint32_t{from[2]} << 16 | uint32_t{from[3]} << 24;
}
DEVICE void put(const LanePlace &place, const LaneSamples &from, InterSamples &to) {
    CUDAENC_UNROLL
    for (int i = 0; i < 2; i++) store_bytes(from.luma[i], to.luma + 16 * place.y + place.x + 4 * i);
    store_bytes(from.chroma, to.chroma[place.component] + 8 * place.chroma_y + place.chroma_x);
}
DEVICE uint32_t square_of(uint32_t a, uint32_t b) {
    const int32_t d = static_cast<int32_t>(a) - static_cast<int32_t>(b);
    return static_cast<uint32_t>(d * d);
}
DEVICE uint32_t squared_error(uint32_t a, uint32_t b) {
    uint32_t sum = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++) sum += square_of(byte_of(a, i), byte_of(b, i));
    return sum;
}

DEVICE LaneSamples load_source(const CodeInterParams &p, const LanePlace &place, int x, int y) {
    LaneSamples s;
    CUDAENC_UNROLL
    for (int i = 0; i < 2; i++)
        s.luma[i] =
            load_readonly(reinterpret_cast<const uint32_t *>(p.source.at(16 * x + place.x + 4 * i, 16 * y + place.y)));
    const SampleLayout &layout = p.chroma_source[place.component];
    s.chroma = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++)
        s.chroma |= static_cast<uint32_t>(load_sample(layout, min_of(8 * x + place.chroma_x + i, p.chroma_width - 1),
                                                      min_of(8 * y + place.chroma_y, p.chroma_height - 1)) +
                                          (1 << (layout.depth - 1)))
                    << 8 * i;
    return s;
}
// 8.4.2.2. luma: the vector of the lane's luma; chroma: of its chroma.
DEVICE LaneSamples predict(const CodeInterParams &p, const LanePlace &place, int x, int y, Vector luma, Vector chroma) {
    LaneSamples s;
    QuarterRows(p.reference, 16 * x + place.x, 16 * y + place.y, luma).load(0, s.luma);
    const MarginPlane &plane = p.chroma_reference[place.component];
    const int fx = chroma.x & 7, fy = chroma.y & 7;
    const int a = (8 - fx) * (8 - fy), b = fx * (8 - fy), c = (8 - fx) * fy, d = fx * fy;
    const uint8_t *const above =
        plane.at(8 * x + place.chroma_x + (chroma.x >> 3), 8 * y + place.chroma_y + (chroma.y >> 3));
    const uint8_t *const below = above + plane.stride;
    s.chroma = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++)
        s.chroma |= static_cast<uint32_t>((a * load_readonly(above + i) + b * load_readonly(above + i + 1) +
                                           c * load_readonly(below + i) + d * load_readonly(below + i + 1) + 32) >>
                                          6)
                    << 8 * i;
    return s;
}

// What a transform size, or chroma, costs.
struct CodedPart {
    uint64_t cost;
    uint32_t pattern;
    uint32_t bits;  // of levels
};

// A column of a block of N x N luma samples. Blocks whose levels cost more than they gain have none: 8x8 blocks alike,
// whose columns Group lanes have.
template <int N, int Group>
DEVICE CodedPart code_columns(const QpChoice &qp, InterState &s, int b, int x, int y, int column) {
    constexpr int kVariant = N == 8;
    const uint16_t *source = s.source.luma + 16 * y + x + column, *predicted = s.prediction.luma + 16 * y + x + column;
    int32_t v[N], own[N], prediction[N];
    uint32_t without = 0, bits = 0, squares;
    CUDAENC_UNROLL
    for (int i = 0; i < N; i++) {
        own[i] = source[16 * i];
        prediction[i] = predicted[16 * i];
        v[i] = own[i] - prediction[i];
        without += static_cast<uint32_t>(v[i] * v[i]);
    }
    const Quantiser &q = qp.luma;
    forward_lines(v);
    quantise_line(v, N == 4 ? q.multiplier_4x4 : q.multiplier_8x8, N == 4 ? q.shift_4x4 : q.shift_8x8, column,
                  kRoundingInter.dc, kRoundingInter.ac);
    CUDAENC_UNROLL
    for (int i = 0; i < N; i++) bits += inter_level_bits(magnitude_of(v[i]));
    LevelLine<N> line;
    line.pack(v);
    scale_line(v, N == 4 ? q.scale_4x4 : q.scale_8x8, N == 4 ? 0 : 6, column);
    inverse_lines(v);
    squares = reconstruct_column(v, prediction, own, 255);
    squares = sum_of_lanes<Group - 1>(squares);
    without = sum_of_lanes<Group - 1>(without);
    bits = sum_of_lanes<Group - 1>(bits);
    const uint64_t coded = cost_of(qp.lambda, squares, bits + kBlockBits), none = cost_of(0, without, 0);
    const bool keeps = bits != 0 && coded < none;
    if (!keeps) {
        CUDAENC_UNROLL
        for (int i = 0; i < N / 4; i++) line.fours[i] = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < N; i++) v[i] = prediction[i];
    }
    line.store(s.levels[kVariant] + N * N * b + N * column);
    store_column(v, s.luma[kVariant] + 16 * y + x + column, 16);
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
DEVICE CodedPart code_luma_4x4(const QpChoice &qp, InterState &s) {
    CodedPart sum{};
    CUDAENC_UNROLL
    for (int round = 0; round < 2; round++) {
        const int b = 8 * round + (lane_id() >> 2);
        add_blocks<16>(sum, code_columns<4, 16>(qp, s, b, 4 * luma_block_x(b), 4 * luma_block_y(b), lane_id() & 3),
                       2 * round);
    }
    return sum;
}
DEVICE CodedPart code_luma_8x8(const QpChoice &qp, InterState &s) {
    CodedPart sum{};
    const int b = lane_id() >> 3;
    add_blocks<8>(sum, code_columns<8, 8>(qp, s, b, 8 * (b & 1), 8 * (b >> 1), lane_id() & 7), 0);
    return sum;
}

// As code_chroma() of the intra pipeline, by the prediction that there is.
DEVICE CodedPart code_chroma(const QpChoice &qp, InterState &s, uint32_t without) {
    const int lane = lane_id(), component = lane >> 4, b = lane >> 2 & 3, column = lane & 3;
    const AcColumn of_lane{{s.prediction.chroma[component], 1, 8},
                           s.source.chroma[component],
                           8,
                           4 * (b & 1) + column,
                           4 * (b >> 1),
                           column};
    if (lane < 16) s.chroma_levels[lane] = 0;
    warp_sync();
    int32_t v[4];
    int16_t *const levels = s.chroma_levels + 16 * (1 + (lane >> 2));
    const LevelSums ac = unpacked_sums(of_lane.code(qp.chroma, v, s.dc[component][b], levels, kRoundingInter.ac));
    warp_sync();
    LevelSums dc_sums{0, 0};
    if (lane < 2) {
        int32_t dc[4];
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) dc[i] = s.dc[lane][i];
        hadamard_chroma_dc<2>(dc);
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            dc[i] = quantise_dc(dc[i], load_readonly(qp.chroma_dc.multiplier_4x4), qp.chroma_dc.shift_4x4 + 1,
                                kRoundingInter.dc);
            s.chroma_levels[8 * lane + i] = static_cast<int16_t>(dc[i]);
            dc_sums = dc_sums + unpacked_sums(packed_level(dc[i]));
        }
        hadamard_chroma_dc<2>(dc);
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) s.dc[lane][i] = dc[i] * qp.chroma_dc.dc_scale >> 5;
    }
    warp_sync();
    const uint32_t squares =
        warp_add(of_lane.reconstruct(qp.chroma, 0, v, s.dc[component][b], 255, s.chroma[component], 8));
    const uint32_t nonzero = warp_add(ac.nonzero), nonzero_dc = warp_add(dc_sums.nonzero);
    const uint32_t bits = warp_add(ac.bits + dc_sums.bits) + nonzero + nonzero_dc;
    const uint64_t coded = cost_of(qp.lambda, squares, bits + kBlockBits), none = cost_of(0, without, 0);
    if ((nonzero || nonzero_dc) && coded < none) return {coded, nonzero ? 2u : 1u, bits};
    warp_sync();  // other lanes wrote what these write again
    for (int i = lane; i < 16 + 128; i += 32) s.chroma_levels[i] = 0;
    for (int i = lane; i < 2 * 64; i += 32) s.chroma[i >> 6][i & 63] = s.prediction.chroma[i >> 6][i & 63];
    warp_sync();
    return {none, 0, 0};
}

// Whether the levels may exceed the limits of a macroblock. A lane has a block: 16 of luma, then 8 of chroma's AC, then
// two of its DC.
DEVICE bool exceeds_limits(const WavefrontTables &tables, const InterState &s, int variant, uint32_t pattern,
                           uint32_t bits) {
    constexpr CodedFormat kFormat = {.chroma = ChromaFormat::c420,
                                     .transform_8x8_mode = true,
                                     .luma_depth = 8,
                                     .chroma_depth = 8,
                                     .width = 0,
                                     .height = 0,
                                     .field = false,
                                     .field_pairs = false};
    if (!may_be_pcm(kFormat, {bits, 0})) return false;
    const int lane = lane_id(), b = lane & 15;
    const bool luma = lane < 16, dc = lane >= 24;
    const BlockCode of_dc = chroma_dc_code(4);
    const CountedBlock block{.levels = luma ? s.levels[variant] + (variant ? 64 * (b >> 2) : 16 * b)
                                            : s.chroma_levels + (dc ? 8 * (lane & 1) : 16 * (1 + (lane & 7))),
                             .places = tables.scans + (luma ? (variant ? kScan8x8 + (b & 3) : kScan4x4)
                                                       : dc ? kScanChromaDc
                                                            : kScan4x4 + 1),
                             .step = luma && variant ? 4 : 1,
                             .count = luma ? 16
                                      : dc ? 4
                                           : 15,
                             .coded = luma  ? (pattern >> (b >> 2) & 1) != 0
                                      : !dc ? pattern >> 5 != 0
                                            : lane < 26 && pattern >> 4 != 0,
                             .nc_bits = dc ? 0 : kTokenBitsByNc,
                             .tokens = dc ? of_dc.tokens : kTokens0,
                             .zeros = dc ? of_dc.zeros : kZeros4x4};
    const MostBits most = count_most(tables.cavlc, block);
    return kMostHeaderBits + most.bits > most_macroblock_bits(kFormat) || most.too_large;
}

DEVICE void write_levels(const InterState &s, int variant, bool skipped, int16_t *levels) {
    Uint4 *const to = reinterpret_cast<Uint4 *>(levels);
    const int lane = lane_id();
    const auto eight = [&](const int16_t *from, bool zero) {
        const AnyWord *words = reinterpret_cast<const AnyWord *>(from);
        return zero ? Uint4{0, 0, 0, 0} : Uint4{words[0], words[1], words[2], words[3]};
    };
    to[lane] = eight(s.levels[variant] + 8 * lane, skipped);
    // A block of zeros, and chroma.
    if (lane < 20) to[32 + lane] = eight(s.chroma_levels + 8 * max_of(lane - 2, 0), skipped || lane < 2);
}

KERNEL(kCodeThreads, h264_code_inter, CodeInterParams)
{
    SHARED(InterState, states, kCodeThreads / 32);
    const int m = block_x() * (kCodeThreads / 32) + warp_id(), x = m % p.columns, y = m / p.columns, lane = lane_id();
    if (y >= p.rows) return;
    InterState &s = states[warp_id()];
    const LanePlace place = LanePlace::here();
    const MotionField field{p.field, p.columns};
    MacroblockMotion motion = p.field[m];
    const QpChoice &qp = p.qp_choices[p.qps[m]];
    const Vector skipped_vector = field.skipped(x, y);
    const bool can_skip = p.refresh.limited(range_of(x, y, p.columns, p.rows, p.vertical), x).has(skipped_vector);

    const LaneSamples source = load_source(p, place, x, y);
    const LaneSamples prediction =
        predict(p, place, x, y, p.field[m].vectors[place.block()], p.field[m].vectors[place.chroma_block()]);
    put(place, source, s.source);
    put(place, prediction, s.prediction);
    LaneSamples as_skipped{};
    uint64_t skip_cost = kNotAllowed;
    if (can_skip) {
        as_skipped = predict(p, place, x, y, skipped_vector, skipped_vector);
        skip_cost = cost_of(0,
                            warp_add(squared_error(source.luma[0], as_skipped.luma[0]) +
                                     squared_error(source.luma[1], as_skipped.luma[1]) +
                                     squared_error(source.chroma, as_skipped.chroma)),
                            0);
    }
    const uint32_t chroma_without = warp_add(squared_error(source.chroma, prediction.chroma));
    warp_sync();

    CodedPart luma = code_luma_4x4(qp, s);
    int variant = 0;
    if (p.transform_8x8 && luma.pattern) {
        const CodedPart eight = code_luma_8x8(qp, s);
        if (eight.cost < luma.cost) luma = eight, variant = 1;
    }
    const CodedPart chroma = code_chroma(qp, s, chroma_without);
    warp_sync();
    const uint32_t pattern = luma.pattern | chroma.pattern << 4;
    const uint32_t vector_bits = field.bits(x, y, motion) + shape_bits(motion.shape);
    const uint64_t coded = luma.cost + chroma.cost + cost_of(qp.lambda, 0, vector_bits + kInterHeaderBits);
    const bool skipped = can_skip && skip_cost <= coded;
    const bool too_many = !skipped && exceeds_limits(*p.tables, s, variant, pattern, luma.bits + chroma.bits);

    const LaneSamples decoded =
        skipped ? as_skipped
                : LaneSamples{{packed_bytes(s.luma[variant] + 16 * place.y + place.x),
                               packed_bytes(s.luma[variant] + 16 * place.y + place.x + 4)},
                              packed_bytes(s.chroma[place.component] + 8 * place.chroma_y + place.chroma_x)};
    CUDAENC_UNROLL
    for (int i = 0; i < 2; i++)
        *reinterpret_cast<uint32_t *>(p.decoded[0].at(16 * x + place.x + 4 * i, 16 * y + place.y)) = decoded.luma[i];
    *reinterpret_cast<uint32_t *>(p.decoded[1 + place.component].at(8 * x + place.chroma_x, 8 * y + place.chroma_y)) =
        decoded.chroma;
    write_levels(s, variant, skipped, p.levels + int64_t{m} * 16 * blocks_per_macroblock(ChromaFormat::c420));
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

}  // namespace cudaenc::h264
