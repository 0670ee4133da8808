// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_cpu.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "../../simd.h"
#include "../../vectors.h"
#include "../syntax/macroblock_layer.h"
#include "../syntax/nonzero.h"
#include "transform.h"

namespace cudaenc::h264 {

namespace {

// ---- Bits of blocks.

// The levels of a 4x4 block in scan order, and the same before rounding, in 2^-8.
struct Scanned {
    alignas(32) int16_t levels[16], exact[16];
    uint32_t nonzero;  // bit k: level k is nonzero
    uint32_t ones;     // bit k: level k may be dropped
};

// Rate-distortion optimised quantisation: drops levels of 1 and -1 that cost more than they gain, from the highest
// frequency on, and calls dropped(k) for each. Returns the bits of the block.
template <class Dropped>
[[gnu::always_inline]] inline uint32_t round_by_rate(Scanned &s, int first, int32_t bits_per_step, Totals &totals,
                                                     int x, int y, const Dropped &dropped) {
    const BlockCode code = {token_table(predict_total(totals[1 + y][x], totals[y][1 + x])), kZeros4x4, 16 - first};
    const auto count = [&](uint32_t nonzero) {
        BitCounter counter;
        code_block(kCavlcTables, code, nonzero >> first, [&](int k) { return s.levels[first + k]; }, 0, counter);
        return counter.bits;
    };
    uint32_t bits = count(s.nonzero);
    for (uint32_t rest = s.ones; rest;) {
        const int k = floor_log2(rest);
        rest ^= 1u << k;
        const uint32_t fewer = count(s.nonzero ^ 1u << k);
        // The squared error grows from (exact - 1)^2 to exact^2.
        if (static_cast<int32_t>(bits - fewer) * 256 <= (2 * s.exact[k] - 256) * bits_per_step) continue;
        bits = fewer;
        s.nonzero ^= 1u << k;
        dropped(k);
    }
    totals[1 + y][1 + x] = static_cast<int8_t>(count_ones(s.nonzero));
    return bits;
}

constexpr Lanes kOnes = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
// Levels of 1 and -1 that may gain less than their bits cost.
[[gnu::always_inline]] inline Lanes droppable(const Lanes &levels, const Lanes &exact) {
    return ((levels == kOnes) | (levels == -kOnes)) & (exact < 240);
}

// The place of an index in the sequence of the scan: [field][index].
constexpr auto kPlace8x8 = [] {
    std::array<std::array<uint8_t, 64>, 2> places{};
    for (int field = 0; field < 2; field++)
        for (int k = 0; k < 64; k++)
            places[static_cast<size_t>(field)][scan_8x8_of(field)[k]] = static_cast<uint8_t>(k);
    return places;
}();

// A block after round_by_rate(): whether it dropped a level, and the bits.
struct Rounded {
    bool changed;
    uint32_t bits;
};

template <bool Field>
[[gnu::always_inline]] inline Rounded round_4x4(int16_t *levels, const Lanes &level, const Lanes &exact, int first,
                                                int32_t bits_per_step, Totals &totals, int x, int y) {
    static constexpr const auto &z = scan_4x4_of(Field);
    const auto scan = [](const Lanes &v) __attribute__((always_inline)) {
        return __builtin_shufflevector(v, v, z[0], z[1], z[2], z[3], z[4], z[5], z[6], z[7], z[8], z[9], z[10], z[11],
                                       z[12], z[13], z[14], z[15]);
    };
    const Lanes level_scan = scan(level);
    Scanned s;
    std::memcpy(s.levels, &level_scan, sizeof s.levels);
    s.nonzero = nonzero_of(level_scan);
    s.ones = 0;
    if (bits_per_step && s.nonzero) {
        const Lanes exact_scan = scan(exact);
        std::memcpy(s.exact, &exact_scan, sizeof s.exact);
        s.ones = nonzero_of(droppable(level_scan, exact_scan));
    }
    Rounded r{false, 0};
    r.bits = round_by_rate(s, first, bits_per_step, totals, x, y, [&](int k) {
        levels[z[k]] = 0;
        r.changed = true;
    });
    return r;
}

[[gnu::always_inline]] inline Rounded round_8x8(int16_t *levels, const Lanes (&level)[4], const Lanes (&exact)[4],
                                                const Rounding &rounding, Totals &totals, int x, int y) {
    const int32_t bits_per_step = rounding.bits_per_step;
    const auto &place_of = kPlace8x8[rounding.field];
    const auto &scan = scan_8x8_of(rounding.field);
    Scanned s[4];
    for (Scanned &part : s) part.nonzero = part.ones = 0;
    alignas(32) int16_t exact_levels[64];
    std::memcpy(exact_levels, exact, sizeof exact_levels);
    for (int i = 0; i < 4; i++) {
        const uint32_t ones = bits_per_step ? nonzero_of(droppable(level[i], exact[i])) : 0;
        for (uint32_t rest = nonzero_of(level[i]); rest; rest &= rest - 1) {
            const int lane = count_trailing_zeros(rest), at = 16 * i + lane, place = place_of[static_cast<size_t>(at)],
                      k = place / 4;
            Scanned &part = s[place % 4];
            part.levels[k] = levels[at];
            part.exact[k] = exact_levels[at];
            part.nonzero |= 1u << k;
            part.ones |= (ones >> lane & 1) << k;
        }
    }
    Rounded r{false, 0};
    for (int i = 0; i < 4; i++)
        r.bits += round_by_rate(s[i], 0, bits_per_step, totals, x + i % 2, y + i / 2, [&](int k) {
            levels[scan[4 * k + i]] = 0;
            r.changed = true;
        });
    return r;
}

// ---- Transforms. A vector is a line of a block, or of two adjacent 4x4 blocks. Tables are symmetric, so they fit
// transposed blocks.

template <class Line, int N>
constexpr int kBlocks = static_cast<int>(sizeof(Line)) / (4 * N);

template <class Line, int N>
[[gnu::always_inline]] inline void get_residual(Line (&v)[N], const ConstBlock &source, const ConstBlock &prediction) {
    for (int y = 0; y < N; y++) {
        Line p;
        load<Sample>(v[y], source.data + y * source.stride);
        load<Sample>(p, prediction.data + y * prediction.stride);
        v[y] -= p;
    }
}

// From a residual to coefficients, transposed.
template <class Line, int N>
[[gnu::always_inline]] inline void forward(Line (&v)[N]) {
    forward_transform(v);
    transpose(v);
    forward_transform(v);
}

template <class Line>
[[gnu::always_inline]] inline uint32_t sum_of_lanes(const Line &v) {
    uint32_t sum = 0;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) sum += static_cast<uint32_t>(v[i]);
    return sum;
}

// Writes rows of the reconstruction, row(y, prediction), and returns their sum of squared differences to the source.
template <class Line, int N, class Row>
[[gnu::always_inline]] inline uint32_t reconstruct(const ConstBlock &source, const ConstBlock &prediction,
                                                   const Block &to, const Row &row) {
    Line squares{};
    for (int y = 0; y < N; y++) {
        Line p, s;
        load<Sample>(p, prediction.data + y * prediction.stride);
        load<Sample>(s, source.data + y * source.stride);
        const Line r = row(y, p);
        store(to.data + y * to.stride, r);
        squares += (r - s) * (r - s);
    }
    return sum_of_lanes(squares);
}

// The same from transposed coefficients.
template <class Line, int N>
[[gnu::always_inline]] inline uint32_t inverse(Line (&v)[N], const ConstBlock &source, const ConstBlock &prediction,
                                               int bit_depth, const Block &to) {
    inverse_transform(v);
    transpose(v);
    inverse_transform(v);
    const int32_t most = (1 << bit_depth) - 1;
    return reconstruct<Line, N>(source, prediction, to, [&](int y, const Line &p) __attribute__((always_inline)) {
        const Line r = ((v[y] + 32) >> 6) + p, above_0 = r < 0 ? Line{} : r;
        return above_0 > most ? Line{} + most : above_0;
    });
}

constexpr int32_t rounding_of(int32_t fraction, int32_t shift) { return fraction << (shift - 8); }

// The level of a DC coefficient, whose product exceeds 32 bits.
[[gnu::always_inline]] inline int32_t quantise_dc(int32_t c, int32_t multiplier, int32_t rounding, int32_t shift) {
    const int64_t magnitude = c < 0 ? -int64_t{c} : c;
    const int32_t level = static_cast<int32_t>((magnitude * multiplier + rounding) >> shift);
    return c < 0 ? -level : level;
}

// Rows of a block to 16 bits, two or four a vector.
[[gnu::always_inline]] inline void narrow(const Row4 (&v)[4], Lanes (&to)[1]) {
    const Row8 a = __builtin_shufflevector(v[0], v[1], 0, 1, 2, 3, 4, 5, 6, 7);
    const Row8 b = __builtin_shufflevector(v[2], v[3], 0, 1, 2, 3, 4, 5, 6, 7);
    to[0] = join(__builtin_convertvector(a, Half), __builtin_convertvector(b, Half));
}
[[gnu::always_inline]] inline void narrow(const Row8 (&v)[4], Lanes (&to)[2]) {
    Row4 halves[2][4];
    for (int i = 0; i < 4; i++) {
        halves[0][i] = __builtin_shufflevector(v[i], v[i], 0, 1, 2, 3);
        halves[1][i] = __builtin_shufflevector(v[i], v[i], 4, 5, 6, 7);
    }
    for (int b = 0; b < 2; b++) {
        Lanes one[1];
        narrow(halves[b], one);
        to[b] = one[0];
    }
}
[[gnu::always_inline]] inline void narrow(const Row8 (&v)[8], Lanes (&to)[4]) {
    for (int i = 0; i < 4; i++)
        to[i] = join(__builtin_convertvector(v[2 * i], Half), __builtin_convertvector(v[2 * i + 1], Half));
}

// A line of a table, once for each block.
template <class Line, int N>
[[gnu::always_inline]] inline void load_table(Line &v, const int32_t *line) {
    if constexpr (kBlocks<Line, N> == 1) {
        load<int32_t>(v, line);
    } else {
        Row4 one;
        load<int32_t>(one, line);
        v = __builtin_shufflevector(one, one, 0, 1, 2, 3, 0, 1, 2, 3);
    }
}

// Levels from memory, transposed. Blocks follow each other.
template <class Line, int N>
[[gnu::always_inline]] inline void reload(Line (&v)[N], const int16_t *levels) {
    for (int i = 0; i < N; i++) {
        if constexpr (kBlocks<Line, N> == 1) {
            load<int16_t>(v[i], levels + N * i);
        } else {
            Row4 a, b;
            load<int16_t>(a, levels + N * i);
            load<int16_t>(b, levels + N * N + N * i);
            v[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
        }
    }
    transpose(v);
}

// From transposed coefficients to transposed levels, and to their magnitudes before rounding and shift. first: 1 leaves
// DC out.
template <class Line, int N>
[[gnu::always_inline]] inline void quantise_lines(Line (&v)[N], const int32_t *multipliers, int32_t shift,
                                                  const Rounding &rounding, int first, Line (&products)[N]) {
    for (int i = 0; i < N; i++) {
        Line multiplier, round = Line{} + rounding_of(rounding.ac, shift);
        load_table<Line, N>(multiplier, multipliers + N * i);
        for (int b = 0; b < kBlocks<Line, N> && i == 0; b++) {
            if (first) v[0][N * b] = 0;
            round[N * b] = rounding_of(rounding.dc, shift);
        }
        const Line sign = v[i] >> 31;
        products[i] = ((v[i] ^ sign) - sign) * multiplier;
        v[i] = (((products[i] + round) >> shift) ^ sign) - sign;
    }
}

// From transposed coefficients to transposed levels, and to levels in raster order in memory. first: 1 leaves DC out.
// Returns the bits of the blocks.
template <class Line, int N>
[[gnu::always_inline]] inline uint32_t quantise_block(Line (&v)[N], const int32_t *multipliers, int32_t shift,
                                                      const Rounding &rounding, int first, int16_t *levels,
                                                      Totals *totals, int x, int y) {
    constexpr int blocks = kBlocks<Line, N>;
    const bool by_rate = rounding.bits_per_step;
    Line rows[N], products[N];
    quantise_lines(v, multipliers, shift, rounding, first, products);
    std::copy_n(v, N, rows);
    transpose(rows);
    Lanes level[blocks * N * N / 16], exact[blocks * N * N / 16] = {};
    narrow(rows, level);
    if (by_rate) {
        for (Line &p : products) {
            p >>= shift - 8;
            p = p > INT16_MAX ? Line{} + INT16_MAX : p;
        }
        transpose(products);
        narrow(products, exact);
    }
    std::memcpy(levels, level, sizeof level);
    if (!totals) return 0;
    Rounded rounded{false, 0};
    if constexpr (N == 4) {
        for (int b = 0; b < blocks; b++) {
            const auto round = [&]<bool Field>() __attribute__((always_inline)) {
                return round_4x4<Field>(levels + 16 * b, level[b], exact[b], first, rounding.bits_per_step, *totals,
                                        x + b, y);
            };
            const Rounded one = rounding.field ? round.template operator()<true>() : round.template operator()<false>();
            rounded.changed |= one.changed;
            rounded.bits += one.bits;
        }
    } else {
        rounded = round_8x8(levels, level, exact, rounding, *totals, x, y);
    }
    if (rounded.changed) reload(v, levels);
    return rounded.bits;
}

template <class Line, int N>
[[gnu::always_inline]] inline void scale_block(Line (&v)[N], const Quantiser &quantiser) {
    const int32_t *scales = N == 4 ? quantiser.scale_4x4 : quantiser.scale_8x8;
    const int32_t shift = N == 4 ? quantiser.scale_shift_4x4 : 6, half = 1 << shift >> 1;
    for (int i = 0; i < N; i++) {
        Line scale;
        load_table<Line, N>(scale, scales + N * i);
        v[i] = (v[i] * scale + half) >> shift;
    }
}

[[gnu::always_inline]] inline bool any_of(const int16_t *levels, int count) {
    int16_t any = 0;
    for (int i = 0; i < count; i++) any |= levels[i];
    return any != 0;
}

template <class Line, int N>
[[gnu::always_inline]] inline Coded code_nxn(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                                             const Rounding &rounding, int bit_depth, int16_t *levels,
                                             Block reconstruction, Totals *totals, int x, int y) {
    Line v[N];
    get_residual(v, source, prediction);
    forward(v);
    const uint32_t bits =
        quantise_block(v, N == 4 ? quantiser.multiplier_4x4 : quantiser.multiplier_8x8,
                       N == 4 ? quantiser.shift_4x4 : quantiser.shift_8x8, rounding, 0, levels, totals, x, y);
    if (!any_of(levels, kBlocks<Line, N> * N * N))
        return {reconstruct<Line, N>(source, prediction, reconstruction,
                                     [](int, const Line &p) __attribute__((always_inline)) { return p; }),
                bits};
    scale_block(v, quantiser);
    return {inverse(v, source, prediction, bit_depth, reconstruction), bits};
}

template <class Line, int N>
[[gnu::always_inline]] inline uint32_t estimate_nxn(ConstBlock source, ConstBlock prediction,
                                                    const Quantiser &quantiser, const Rounding &rounding, int bit_depth,
                                                    uint32_t price) {
    Line v[N], products[N], bits{};
    get_residual(v, source, prediction);
    forward(v);
    quantise_lines(v, N == 4 ? quantiser.multiplier_4x4 : quantiser.multiplier_8x8,
                   N == 4 ? quantiser.shift_4x4 : quantiser.shift_8x8, rounding, 0, products);
    for (const Line &line : v) {
        const Line magnitude = line < 0 ? -line : line;
        bits += line == 0 ? Line{} : magnitude + 2;  // estimated_level_bits()
    }
    scale_block(v, quantiser);
    alignas(32) Sample reconstruction[N * N];
    const uint32_t squares = inverse(v, source, prediction, bit_depth, {reconstruction, N});
    return estimated_cost(squares, price, sum_of_lanes(bits));
}

}  // namespace

CUDAENC_CLONES LumaSums sums_of(ConstBlock luma) {
    Row8 samples{}, squares{};
    for (int y = 0; y < 16; y++)
        for (int x = 0; x < 16; x += 8) {
            Row8 v;
            load<Sample>(v, luma.at(x, y).data);
            samples += v;
            squares += v * v;
        }
    return {sum_of_lanes(samples), sum_of_lanes(squares)};
}

CUDAENC_CLONES uint32_t estimate_4x4(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                                     const Rounding &rounding, int bit_depth, uint32_t price) {
    return estimate_nxn<Row4, 4>(source, prediction, quantiser, rounding, bit_depth, price);
}

CUDAENC_CLONES uint32_t estimate_8x8(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                                     const Rounding &rounding, int bit_depth, uint32_t price) {
    return estimate_nxn<Row8, 8>(source, prediction, quantiser, rounding, bit_depth, price);
}

CUDAENC_CLONES Coded code_4x4(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                              const Rounding &rounding, int bit_depth, int16_t *levels, Block reconstruction,
                              Totals *totals, int x, int y) {
    return code_nxn<Row4, 4>(source, prediction, quantiser, rounding, bit_depth, levels, reconstruction, totals, x, y);
}

CUDAENC_CLONES Coded code_4x4_pair(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                                   const Rounding &rounding, int bit_depth, int16_t *levels, Block reconstruction) {
    return code_nxn<Row8, 4>(source, prediction, quantiser, rounding, bit_depth, levels, reconstruction, nullptr, 0, 0);
}

CUDAENC_CLONES Coded code_8x8(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                              const Rounding &rounding, int bit_depth, int16_t *levels, Block reconstruction,
                              Totals *totals, int x, int y) {
    return code_nxn<Row8, 8>(source, prediction, quantiser, rounding, bit_depth, levels, reconstruction, totals, x, y);
}

namespace {

[[gnu::always_inline]] inline void hadamard_4x4(Row4 (&v)[4]) {
    for (int i = 0; i < 2; i++) {
        hadamard_transform(v);
        transpose(v);
    }
}

[[gnu::always_inline]] inline uint32_t count_dc(const int16_t *levels, const uint8_t *places, const BlockCode &code) {
    return count_block(ScannedLevels{levels, places, 1}, code).bits;
}

}  // namespace

CUDAENC_CLONES CodedMacroblock code_16x16(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                                          const Rounding &rounding, int bit_depth, int16_t *levels,
                                          Block reconstruction, Totals *totals) {
    CodedMacroblock coded{};
    alignas(16) int32_t dc[4][4];
    for (int b = 0; b < 16; b += 2) {
        const int x = luma_block_x(b), y = luma_block_y(b);
        Row8 v[4];
        get_residual(v, source.at(4 * x, 4 * y), prediction.at(4 * x, 4 * y));
        forward(v);
        dc[y][x] = v[0][0], dc[y][x + 1] = v[0][4];
        coded.ac_bits += quantise_block(v, quantiser.multiplier_4x4, quantiser.shift_4x4, rounding, 1, levels + 16 * b,
                                        totals, x, y);
    }
    Row4 v[4];
    for (int y = 0; y < 4; y++) std::memcpy(&v[y], dc[y], sizeof v[y]);
    hadamard_4x4(v);
    const int32_t shift = quantiser.shift_4x4 + 2;
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++) {
            const int32_t level =
                quantise_dc(v[y][x], quantiser.multiplier_4x4[0], rounding_of(rounding.dc, shift), shift);
            levels[256 + 4 * y + x] = static_cast<int16_t>(level);
            v[y][x] = level;
        }
    hadamard_4x4(v);
    for (int y = 0; y < 4; y++) {
        v[y] = (v[y] * quantiser.dc_scale + 32) >> 6;
        std::memcpy(dc[y], &v[y], sizeof v[y]);
    }
    for (int b = 0; b < 16; b += 2) {
        const int x = luma_block_x(b), y = luma_block_y(b);
        Row8 two[4];
        reload(two, levels + 16 * b);
        scale_block(two, quantiser);
        two[0][0] = dc[y][x], two[0][4] = dc[y][x + 1];
        coded.distortion += inverse(two, source.at(4 * x, 4 * y), prediction.at(4 * x, 4 * y), bit_depth,
                                    reconstruction.at(4 * x, 4 * y));
    }
    coded.dc = true;
    coded.ac = any_of(levels, 256);
    if (!totals) return coded;
    coded.dc_bits = count_dc(levels + 256, scan_4x4_of(rounding.field),
                             {token_table(predict_total((*totals)[1][0], (*totals)[0][1])), kZeros4x4, 16});
    return coded;
}

namespace {

// 8.5.11.1: 2 columns, 2 or 4 rows.
template <int Height>
[[gnu::always_inline]] inline void hadamard_chroma_dc(int32_t (&dc)[8]) {
    for (int y = 0; y < Height; y++) {
        int32_t row[2] = {dc[2 * y], dc[2 * y + 1]};
        hadamard_transform(row);
        dc[2 * y] = row[0], dc[2 * y + 1] = row[1];
    }
    for (int x = 0; x < 2; x++) {
        int32_t column[Height];
        for (int y = 0; y < Height; y++) column[y] = dc[2 * y + x];
        hadamard_transform(column);
        for (int y = 0; y < Height; y++) dc[2 * y + x] = column[y];
    }
}

}  // namespace

CUDAENC_CLONES CodedMacroblock code_chroma(ConstBlock source, ConstBlock prediction, const Quantiser &quantiser,
                                           const Quantiser &dc_quantiser, const Rounding &rounding, int bit_depth,
                                           int height, int16_t *dc_levels, int16_t *ac, Block reconstruction,
                                           Totals *totals) {
    CodedMacroblock coded{};
    int32_t dc[8] = {};
    const int blocks = height / 2;
    for (int b = 0; b < blocks; b += 2) {
        const int y = b / 2;
        Row8 v[4];
        get_residual(v, source.at(0, 4 * y), prediction.at(0, 4 * y));
        forward(v);
        dc[b] = v[0][0], dc[b + 1] = v[0][4];
        coded.ac_bits +=
            quantise_block(v, quantiser.multiplier_4x4, quantiser.shift_4x4, rounding, 1, ac + 16 * b, totals, 0, y);
    }
    const auto hadamard = [&] {
        if (height == 8)
            hadamard_chroma_dc<2>(dc);
        else
            hadamard_chroma_dc<4>(dc);
    };
    hadamard();
    const int32_t shift = dc_quantiser.shift_4x4 + 1;
    for (int b = 0; b < blocks; b++) {
        dc[b] = quantise_dc(dc[b], dc_quantiser.multiplier_4x4[0], rounding_of(rounding.dc, shift), shift);
        dc_levels[b] = static_cast<int16_t>(dc[b]);
    }
    hadamard();
    for (int b = 0; b < blocks; b += 2) {
        const int y = b / 2 * 4;
        Row8 v[4];
        reload(v, ac + 16 * b);
        scale_block(v, quantiser);
        for (int i = 0; i < 2; i++) {
            const int32_t scaled = dc[b + i] * dc_quantiser.dc_scale;
            v[0][4 * i] = height == 8 ? scaled >> 5 : (scaled + 32) >> 6;
        }
        coded.distortion += inverse(v, source.at(0, y), prediction.at(0, y), bit_depth, reconstruction.at(0, y));
    }
    coded.dc = any_of(dc_levels, blocks);
    coded.ac = any_of(ac, 16 * blocks);
    if (!totals) return coded;
    coded.dc_bits = count_dc(dc_levels, blocks == 4 ? kChromaDcScan420 : kChromaDcScan422, chroma_dc_code(blocks));
    return coded;
}

}  // namespace cudaenc::h264
