// SPDX-License-Identifier: LGPL-2.1-or-later
// The block of a thread, and its way from samples to levels: load, level shift, colour transform, forward DCT,
// quantisation, DC prediction.
#pragma once
#include "../../common/mjpeg/color.h"
#include "../../common/mjpeg/fdct.h"
#include "../device.cuh"
#include "code_params.h"

namespace cudaenc::mjpeg {

// ---- The blocks of a thread-block

struct PieceMcus {
    uint32_t index;        // of the piece among those of all scans
    int32_t interval;      // of the scan
    int32_t first, count;  // MCUs
    bool begins_interval, ends_interval, ends_scan;
};

// piece: its number in the scan.
DEVICE PieceMcus mcus_of_piece(const ScanPieces &scan, uint32_t piece) {
    const int32_t all = scan.grid.mcus(), interval_mcus = scan.grid.restart_interval ? scan.grid.restart_interval : all;
    const int32_t number = static_cast<int32_t>(piece), interval = scan.by_interval_pieces.quotient(number),
                  within = number - interval * scan.interval_pieces;
    const int32_t begin = interval * interval_mcus, end = min_of(begin + interval_mcus, all),
                  first = begin + within * scan.mcus, count = min_of(scan.mcus, end - first);
    return {scan.first_piece + piece, interval, first, count, within == 0, first + count == end, first + count == all};
}

// The same of a piece.
DEVICE bool begins_interval(const ScanPieces &scan, uint32_t piece) {
    const int32_t number = static_cast<int32_t>(piece);
    return number == scan.by_interval_pieces.quotient(number) * scan.interval_pieces;
}

// The thread's block. Threads are ordered by component, then as the blocks are coded.
struct PieceBlock {
    int component;  // in the scan
    int order;      // of coding in the piece
    bool coded;     // the thread has a block
    bool sampled;   // it has samples
    BlockPlace place;
};

DEVICE PieceBlock block_of_thread(const ScanPieces &scan, const PieceMcus &mcus) {
    int c = 0;
    while (c + 1 < scan.components && thread_x() >= scan.component[c + 1].first_thread) c++;
    const ScanComponent &k = scan.component[c];
    const int within = thread_x() - k.first_thread, blocks = k.grid.h * k.grid.v;
    const int mcu = within >> floor_log2(static_cast<uint32_t>(blocks)), i = within & (blocks - 1);
    const bool coded = mcu < mcus.count;
    const BlockPlace place = block_of_mcu(scan.grid, k.grid, mcus.first + mcu, i);
    return {c, mcu * scan.mcu_blocks + k.first_block + i, coded, coded && has_samples(k.grid, place), place};
}

// ---- Samples to levels

// A row of 8 samples, a byte each, as loaded. operator[]: level-shifted.
constexpr int32_t kLevelShift = 128;
struct SampleRow {
    uint32_t words[2];
    DEVICE_MEMBER int32_t operator[](int x) const {
        return static_cast<int32_t>(words[x >> 2] >> (8 * (x & 3)) & 255) - kLevelShift;
    }
};

// Four level-shifted samples to bytes.
DEVICE uint32_t pack_samples(const int32_t *v) {
    const uint32_t bytes = (v[0] & 255) | (v[1] & 255) << 8 | (v[2] & 255) << 16 | static_cast<uint32_t>(v[3]) << 24;
    return bytes ^ 0x80808080u;
}

// Rows of 8 samples from (x, y) on. The last column and row of the component repeat.
template <int Rows>
DEVICE void load_rows(const SampleLayout &s, const ScanComponent &k, int x, int y, SampleRow (&rows)[Rows]) {
    const int last_x = k.width - 1, last_y = k.height - 1;
    const uint64_t alignment = reinterpret_cast<uint64_t>(s.data) | static_cast<uint64_t>(s.stride);
    const uint8_t *column = s.data + int64_t{x} * s.step;
    const bool bytes = s.shift + s.depth == 8 && s.depth == 8;
    if (bytes && s.step == 1 && x + 7 <= last_x && (alignment & 7) == 0) {
        CUDAENC_UNROLL
        for (int i = 0; i < Rows; i++) {
            const uint64_t word =
                load_readonly(reinterpret_cast<const uint64_t *>(column + min_of(y + i, last_y) * s.stride));
            rows[i] = {{static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)}};
        }
    } else if (bytes && s.step == 2 && x + 8 <= last_x && (alignment & 14) == 0 && (s.stride & 15) == 0) {
        const uint32_t odd = static_cast<uint32_t>(alignment & 1), selector = odd ? 0x7531 : 0x6420;
        CUDAENC_UNROLL
        for (int i = 0; i < Rows; i++) {
            const Uint4 words =
                load_readonly(reinterpret_cast<const Uint4 *>(column + min_of(y + i, last_y) * s.stride - odd));
            rows[i] = {{byte_permute(words.x, words.y, selector), byte_permute(words.z, words.w, selector)}};
        }
    } else {
        CUDAENC_NO_UNROLL
        for (int i = 0; i < Rows; i++) {
            int32_t v[8];
            CUDAENC_UNROLL
            for (int j = 0; j < 8; j++) v[j] = load_sample(s, min_of(x + j, last_x), min_of(y + i, last_y));
            const SampleRow row{{pack_samples(v), pack_samples(v + 4)}};
            CUDAENC_UNROLL
            for (int j = 0; j < Rows; j++)
                if (j == i) rows[j] = row;  // constant indices keep rows[] in registers
        }
    }
}

// Rows of a component of the scan, after the colour transform.
template <int Rows>
DEVICE void load_component(const SampleLayout (&layouts)[kMaxComponents], const ScanPieces &scan, int component, int x,
                           int y, SampleRow (&rows)[Rows]) {
    if (!scan.rgb_to_ycbcr) {
        const ScanComponent &k = scan.component[component];
        return load_rows(layouts[k.layout], k, x, y, rows);
    }
    CUDAENC_NO_UNROLL
    for (int i = 0; i < Rows; i++) {
        SampleRow rgb[kMaxComponents][1];
        CUDAENC_UNROLL
        for (int c = 0; c < kMaxComponents; c++)
            load_rows(layouts[c], scan.component[c], x, min_of(y + i, scan.component[c].height - 1), rgb[c]);
        int32_t v[8];
        CUDAENC_UNROLL
        for (int j = 0; j < 8; j++) {
            int32_t c0 = rgb[0][0][j], c1 = rgb[1][0][j], c2 = rgb[2][0][j];
            rgb_to_ycbcr(c0, c1, c2);
            v[j] = component == 0 ? c0 : component == 1 ? c1 : c2;
        }
        const SampleRow row{{pack_samples(v), pack_samples(v + 4)}};
        CUDAENC_UNROLL
        for (int j = 0; j < Rows; j++)
            if (j == i) rows[j] = row;
    }
}

// The sum of a row's level-shifted samples.
DEVICE int32_t sum_of_row(const SampleRow &row) {
    return dot_bytes(row.words[0], 0x01010101, dot_bytes(row.words[1], 0x01010101, -kBlockSize * kLevelShift));
}

// fdct() of a row: dot products of bytes give its sums and differences. The level shift affects only the first one.
DEVICE void transform_row(const SampleRow &row, int32_t (&v)[kBlockSize]) {
    const uint32_t low = row.words[0], high = row.words[1];
    const auto sum = [&](uint32_t weights, uint32_t high_weights) {  // 1, 0 and -1 (FF), of sample 3 to 0 and 7 to 4
        return dot_bytes(low, weights, dot_bytes(high, high_weights, 0));
    };
    const uint32_t outer = byte_permute(low, high, 0x6170), inner = byte_permute(low, high, 0x4352);
    constexpr uint32_t kFirstPair = 0x0000FF01, kSecondPair = 0xFF010000;
    fdct_rotations<FdctPass::rows, int32_t>(sum_of_row(row), sum(0x01FFFF01, 0x01FFFF01), sum(0xFF000001, 0x010000FF),
                                            sum(0x00FF0100, 0x0001FF00), dot_bytes(outer, kFirstPair, 0),
                                            dot_bytes(outer, kSecondPair, 0), dot_bytes(inner, kFirstPair, 0),
                                            dot_bytes(inner, kSecondPair, 0), v);
}

// The forward DCT of a block; coefficients by index.
DEVICE void transform(const SampleRow (&rows)[kBlockSize], int32_t (&c)[kBlockSamples]) {
    CUDAENC_UNROLL
    for (int y = 0; y < kBlockSize; y++) {
        int32_t v[kBlockSize];
        transform_row(rows[y], v);
        CUDAENC_UNROLL
        for (int x = 0; x < kBlockSize; x++) c[kBlockSize * y + x] = v[x];
    }
    CUDAENC_UNROLL
    for (int x = 0; x < kBlockSize; x++) {
        int32_t v[kBlockSize];
        CUDAENC_UNROLL
        for (int y = 0; y < kBlockSize; y++) v[y] = c[kBlockSize * y + x];
        fdct<FdctPass::columns>(v);
        CUDAENC_UNROLL
        for (int y = 0; y < kBlockSize; y++) c[kBlockSize * y + x] = v[y];
    }
}

// The lowest bit of each half: whether the half is nonzero.
DEVICE uint32_t nonzero_halves(uint32_t word) {
#if CUDAENC_DEVICE_CODE && __CUDA_ARCH__ >= 900
    uint32_t result;
    asm("min.u16x2 %0, %1, %2;" : "=r"(result) : "r"(word), "r"(0x00010001u));
    return result;
#else
    return (((word & 0x7FFF7FFFu) + 0x7FFF7FFFu) | word) >> 15 & 0x00010001u;
#endif
}

// Interleaves the bits of both halves; the highest bit of the low half comes first.
DEVICE uint32_t interleave_halves(uint32_t word) {
    uint32_t x = byte_permute(word, 0, 0x1302);
    const auto exchange = [&](uint32_t bits, int distance) {
        const uint32_t t = (x ^ x >> distance) & bits;
        x ^= t ^ t << distance;
    };
    exchange(0x00F000F0u, 4);
    exchange(0x0C0C0C0Cu, 2);
    exchange(0x22222222u, 1);
    return x;
}

// What a block hands on: levels, or the AC coefficients that they are chosen for.
enum class BlockValues { levels, coefficients };

// Coefficients by index to values in the zig-zag sequence, two a word. Returns which levels are nonzero.
template <BlockValues Values>
DEVICE NonzeroPlaces quantise_block(const WideQuantiser &quantiser, const int32_t (&c)[kBlockSamples],
                                    uint32_t (&values)[kBlockSamples / 2]) {
    int32_t level[kBlockSamples], coefficient[kBlockSamples];
    CUDAENC_UNROLL
    for (int i = 0; i < kBlockSamples; i++) {
        level[zigzag_place(i)] = quantise_wide(c[i], quantiser.multiplier[i]);
        coefficient[zigzag_place(i)] = c[i];
    }
    const auto pair = [](int32_t even, int32_t odd) {
        return byte_permute(static_cast<uint32_t>(even), static_cast<uint32_t>(odd), 0x5410);
    };
    // A word for 32 places: even ones in its low half, odd ones in its high half.
    uint32_t nonzero[2] = {0, 0};
    CUDAENC_UNROLL
    for (int i = 0; i < kBlockSamples / 2; i++) {
        const uint32_t levels = pair(level[2 * i], level[2 * i + 1]);
        nonzero[i / 16] = 2 * nonzero[i / 16] + nonzero_halves(levels);
        values[i] =
            Values == BlockValues::levels ? levels : pair(i ? coefficient[2 * i] : level[0], coefficient[2 * i + 1]);
    }
    return {interleave_halves(nonzero[0]), interleave_halves(nonzero[1])};
}

// Words between the levels of blocks in shared memory; odd, against bank conflicts.
constexpr int kLevelPitch = kBlockSamples / 2 + 1;

// The samples of the thread's block.
using BlockRows = SampleRow[kBlockSize];
DEVICE void load_block(const SampleLayout (&layouts)[kMaxComponents], const ScanPieces &scan, const PieceBlock &block,
                       BlockRows &rows) {
    load_component(layouts, scan, block.component, block.place.x * kBlockSize, block.place.y * kBlockSize, rows);
}

// The thread's block from samples to values in the zig-zag sequence, two a word. Returns which levels are nonzero.
template <BlockValues Values>
DEVICE NonzeroPlaces quantised_block(const ScanPieces &scan, const WideQuantiser *quantisers, const PieceBlock &block,
                                     const BlockRows &rows, uint32_t (&values)[kBlockSamples / 2]) {
    int32_t c[kBlockSamples];
    transform(rows, c);
    // A branch: with constant addresses the multipliers become operands.
    return scan.component[block.component].table == kLuma ? quantise_block<Values>(quantisers[kLuma], c, values)
                                                          : quantise_block<Values>(quantisers[kChroma], c, values);
}

// The DC level that predicts the piece's first block of a component. It is the sum of the samples, without a transform.
// Lanes 8 c to 8 c + 7 of a warp get that of component c.
DEVICE int32_t dc_before_piece(const SampleLayout (&layouts)[kMaxComponents], const ScanPieces &scan,
                               const WideQuantiser *quantisers, const PieceMcus &mcus) {
    const int c = lane_id() / 8;
    int32_t sum = 0;
    const bool predicted = c < scan.components && !mcus.begins_interval;
    if (predicted) {
        const BlockPlace place = dc_predictor(scan.grid, scan.component[c].grid, mcus.first, 0);
        SampleRow row[1];
        load_component(layouts, scan, c, place.x * kBlockSize, place.y * kBlockSize + lane_id() % 8, row);
        sum = sum_of_row(row[0]);
    }
    for (int mask = 4; mask; mask >>= 1) sum += warp_shuffle_xor(sum, mask);
    return predicted ? quantise_wide(fdct_dc(sum), quantisers[scan.component[c].table].multiplier[0]) : 0;
}

// The thread's DC level less its prediction (F.1.1.5.1); 0 without samples. before: dc_before_piece() in the first
// warp. With all threads.
DEVICE int32_t dc_difference(const ScanPieces &scan, const PieceBlock &block, int32_t dc, int32_t before) {
    constexpr int32_t kNoSamples = 1 << 16;
    SHARED(int32_t, dcs, kPieceBlocks);
    SHARED(int32_t, dcs_before, 4);
    dcs[thread_x()] = block.sampled ? dc : kNoSamples;
    if (warp_id() == 0 && lane_id() % 8 == 0) dcs_before[lane_id() / 8] = before;
    block_sync();
    if (!block.sampled) return 0;
    int predictor = thread_x() - 1;
    const int first = scan.component[block.component].first_thread;
    while (predictor >= first && dcs[predictor] == kNoSamples) predictor--;
    return dc - (predictor >= first ? dcs[predictor] : dcs_before[block.component]);
}

}  // namespace cudaenc::mjpeg
