// SPDX-License-Identifier: LGPL-2.1-or-later
// CAVLC_SU: CAVLC in several kernels, as Su et al. (2011, 2014) do it and the CAVLCU paper compares itself with,
// written from the description there: for each of four components two scans, then coding, then all is packed. What a
// kernel finds out goes through memory to the next. The baseline of the benchmarks; no encoder uses it.
#include "../../cuda_kernels/bits.cuh"
#include "../../cuda_kernels/device.cuh"
#include "cavlc_su_params.h"

namespace cudaenc::h264 {

DEVICE uint32_t thread_number() {
    return static_cast<uint32_t>(block_x()) * static_cast<uint32_t>(block_threads()) +
           static_cast<uint32_t>(thread_x());
}
DEVICE uint32_t macroblocks_of(const SuBuffers &b) { return static_cast<uint32_t>(b.format.macroblocks()); }
DEVICE uint32_t first_block(const SuBuffers &b, int path) {
    return static_cast<uint32_t>(su_blocks_before(path)) * macroblocks_of(b);
}
// Among the levels of the macroblock.
DEVICE int level_block(int path, int i) {
    return path == kSuLumaDc     ? kLumaDcBlock
           : path == kSuLumaAc   ? i
           : path == kSuChromaDc ? kChromaDcBlock
                                 : kChromaAcBlock + i;
}

// Forward scan. The levels of a thread-block come to shared memory by whole lines; a thread brings a block's into the
// order of the scan and counts them.
KERNEL(kSuThreads, bench_su_forward, SuForwardParams)
{
    constexpr int kPitch = 9;
    SHARED(uint32_t, buffer, kSuThreads *kPitch);
    const SuBuffers &b = p.buffers;
    const uint32_t per_macroblock = static_cast<uint32_t>(su_blocks(p.path)),
                   count = per_macroblock * macroblocks_of(b);
    const uint32_t first = static_cast<uint32_t>(block_x()) * kSuThreads;
    for (int chunk = thread_x(); chunk < 2 * kSuThreads; chunk += kSuThreads) {
        const uint32_t block = first + static_cast<uint32_t>(chunk / 2);
        Uint4 words{0, 0, 0, 0};
        if (block < count) {
            const uint32_t macroblock = block / per_macroblock;
            const int i = static_cast<int>(block % per_macroblock), at = level_block(p.path, i);
            const int half = p.path == kSuChromaDc ? i : chunk & 1;
            const bool wanted = p.path != kSuChromaDc || !(chunk & 1);
            if (wanted && is_coded(b.macroblocks[macroblock], ChromaFormat::c420, at))
                words = load_readonly(reinterpret_cast<const Uint4 *>(
                    b.levels + (uint64_t{macroblock} * 26 + static_cast<uint32_t>(at)) * 16 + 8 * half));
        }
        uint32_t *to = &buffer[chunk / 2 * kPitch + (chunk & 1) * 4];
        to[0] = words.x, to[1] = words.y, to[2] = words.z, to[3] = words.w;
    }
    block_sync();
    const uint32_t block = first + static_cast<uint32_t>(thread_x());
    uint32_t *own = &buffer[thread_x() * kPitch];
    uint32_t scanned[8] = {};
    uint32_t total = 0;
    if (block < count) {
        const bool ac = p.path == kSuChromaAc ||
                        (p.path == kSuLumaAc && b.macroblocks[block / per_macroblock].type == MacroblockType::i16x16);
        CUDAENC_UNROLL
        for (int k = 0; k < 16; k++) {
            const uint32_t zigzag = static_cast<uint32_t>(0xFEB7ADC963258410u >> 4 * k & 15);
            const uint32_t at = p.path == kSuChromaDc ? static_cast<uint32_t>(k) : zigzag;
            const uint32_t level = own[at / 2] >> (at & 1 ? 16 : 0) & 0xFFFF;
            if (ac) {
                if (k > 0) scanned[(k - 1) / 2] |= level << (k & 1 ? 0 : 16);
                total += k > 0 && level;
            } else {
                scanned[k / 2] |= level << (k & 1 ? 16 : 0);
                total += level != 0;
            }
        }
        CUDAENC_UNROLL
        for (int i = 0; i < 8; i++) own[i] = scanned[i];
        b.totals[first_block(b, p.path) + block] = static_cast<uint8_t>(total);
    }
    block_sync();
    for (int i = thread_x(); i < 8 * kSuThreads; i += kSuThreads)
        if (first + static_cast<uint32_t>(i / 8) < count)
            b.zigzag[8 * uint64_t{first_block(b, p.path) + first} + static_cast<uint32_t>(i)] =
                buffer[i / 8 * kPitch + i % 8];
}

// Backward scan, a region of 4x2 macroblocks a thread-block: nC from the TotalCoeff of the region and around it, in
// shared memory; the other symbols from the last level to the first.
KERNEL(kSuThreads, bench_su_backward, SuBackwardParams)
{
    constexpr int kColumns = kSuRegionWidth + 1, kRows = kSuRegionHeight + 1;
    SHARED(uint8_t, totals, kColumns *kRows * 16);
    const SuBuffers &b = p.buffers;
    const int width = b.format.width, height = b.format.height;
    const int regions = (width + kSuRegionWidth - 1) / kSuRegionWidth;
    const int x0 = block_x() % regions * kSuRegionWidth, y0 = block_x() / regions * kSuRegionHeight;
    const int n = su_blocks(p.path), with_nc = p.path == kSuLumaDc ? kSuLumaAc : p.path,
              neighbours = su_blocks(with_nc);
    for (int i = thread_x(); i < kColumns * kRows * neighbours; i += kSuThreads) {
        const int x = x0 - 1 + i / neighbours % kColumns, y = y0 - 1 + i / neighbours / kColumns;
        if (x >= 0 && y >= 0 && x < width && y < height)
            totals[i] = b.totals[first_block(b, with_nc) +
                                 static_cast<uint32_t>((y * width + x) * neighbours + i % neighbours)];
    }
    block_sync();
    const int within = thread_x() / n, i = thread_x() % n;
    const int column = within % kSuRegionWidth, row = within / kSuRegionWidth, x = x0 + column, y = y0 + row;
    if (row >= kSuRegionHeight || x >= width || y >= height) return;
    const uint32_t block = first_block(b, p.path) + static_cast<uint32_t>((y * width + x) * n + i);
    if (p.path != kSuChromaDc) {
        const int base = with_nc == kSuChromaAc ? kChromaAcBlock : 0;
        const BlockNeighbours at = neighbours_of(ChromaFormat::c420, level_block(p.path, i));
        const int own = (row + 1) * kColumns + column + 1;
        int left = -1, above = -1;
        if (!at.left_outside || x > 0) left = totals[(at.left_outside ? own - 1 : own) * neighbours + at.left - base];
        if (!at.above_outside || y > 0)
            above = totals[(at.above_outside ? own - kColumns : own) * neighbours + at.above - base];
        b.nc[block] = static_cast<uint8_t>(predict_total(left, above));
    }
    const Uint4 *from = reinterpret_cast<const Uint4 *>(b.zigzag + 8 * uint64_t{block});
    const Uint4 low = load_readonly(from), high = load_readonly(from + 1);
    const uint32_t words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    int16_t *to_values = b.values + 16 * uint64_t{block};
    uint8_t *to_runs = b.runs + 16 * uint64_t{block};
    uint32_t ones = 0, signs = 0, values = 0, zeros = 0, found = 0, run = 0;
    bool trailing = true;
    CUDAENC_UNROLL
    for (int k = 15; k >= 0; k--) {
        const int32_t level = static_cast<int32_t>(words[k / 2] << (k & 1 ? 0 : 16)) >> 16;
        if (level == 0) {
            run++;
            continue;
        }
        if (found) {
            to_runs[found - 1] = static_cast<uint8_t>(run);
            zeros += run;
        }
        found++;
        run = 0;
        if (trailing && ones < 3 && (level == 1 || level == -1)) {
            signs = signs << 1 | (level < 0);
            ones++;
        } else {
            trailing = false;
            to_values[values++] = static_cast<int16_t>(level);
        }
    }
    if (found) zeros += run;
    b.ones[block] = static_cast<uint8_t>(ones);
    b.signs[block] = static_cast<uint8_t>(signs);
    b.zeros[block] = static_cast<uint8_t>(zeros);
}

constexpr int kSuCellWords = kSuUnitWords - 1;
using UnitWriter = WordWriter<CellWords<kSuCellWords>>;
DEVICE UnitWriter unit_writer(const SuBuffers &b, uint32_t unit) {
    return {{b.codes + uint64_t{unit} * kSuUnitWords, 0}, 0, 0};
}
DEVICE void end_unit(const SuBuffers &b, uint32_t unit, UnitWriter &bits) {
    uint32_t count = bits.bits;
    bits.words.put(bits.pending);
    if (count > kSuCellWords * 32) {
        atomic_add(b.longer, 1u);
        count = kSuCellWords * 32;
    }
    b.bits[unit] = count;
}

DEVICE void put_code(CodeWord word, UnitWriter &bits) { bits.put(code_bits(word), code_length(word)); }

// Coding: a thread a block, tables in shared memory.
KERNEL(kSuThreads, bench_su_code, SuCodeParams)
{
    constexpr int kTokens = kTokenTables * 17 * 4, kZeros = kZerosTables * 15 * 16, kRuns = 7 * 16;
    SHARED(CodeWord, tokens, kTokens);
    SHARED(CodeWord, total_zeros, kZeros);
    SHARED(CodeWord, run_before, kRuns);
    const SuBuffers &b = p.buffers;
    for (int i = thread_x(); i < kTokens; i += kSuThreads) tokens[i] = (&b.tables->coeff_token[0][0])[i];
    for (int i = thread_x(); i < kZeros; i += kSuThreads) total_zeros[i] = (&b.tables->total_zeros[0][0])[i];
    for (int i = thread_x(); i < kRuns; i += kSuThreads) run_before[i] = b.tables->run_before[i];
    block_sync();
    const uint32_t n = static_cast<uint32_t>(su_blocks(p.path)), i = thread_number();
    if (i >= n * macroblocks_of(b)) return;
    const uint32_t macroblock = i / n, block = first_block(b, p.path) + i;
    const uint32_t unit = macroblock * kSuUnits + 1 + static_cast<uint32_t>(su_blocks_before(p.path)) + i % n;
    const Macroblock &m = b.macroblocks[macroblock];
    if (!is_coded(m, ChromaFormat::c420, level_block(p.path, static_cast<int>(i % n)))) {
        b.bits[unit] = 0;
        return;
    }
    const bool chroma_dc = p.path == kSuChromaDc;
    const bool ac = p.path == kSuChromaAc || (p.path == kSuLumaAc && m.type == MacroblockType::i16x16);
    const uint32_t total = b.totals[block], ones = b.ones[block], most = chroma_dc ? 4 : ac ? 15 : 16;
    UnitWriter bits = unit_writer(b, unit);
    put_code(tokens[(chroma_dc ? kTokensDc420 : token_table(b.nc[block])) * 68 + 4 * total + ones], bits);
    if (total) {
        if (ones) bits.put(b.signs[block], ones);
        uint32_t suffix_length = total > 10 && ones < 3;
        for (uint32_t k = 0; k < total - ones; k++) {
            const int32_t level = b.values[16 * uint64_t{block} + k];
            const uint32_t negative = level < 0, magnitude = static_cast<uint32_t>(negative ? -level : level);
            put_level(2 * magnitude - 2 + negative - (k == 0 && ones < 3 ? 2 : 0), suffix_length, 0, bits);
            suffix_length += !suffix_length;
            suffix_length += magnitude > 3u << (suffix_length - 1) && suffix_length < 6;
        }
        uint32_t zeros_left = b.zeros[block];
        if (total < most)
            put_code(total_zeros[(chroma_dc ? kZerosDc420 : kZeros4x4) * 240 + 16 * (total - 1) + zeros_left], bits);
        for (uint32_t k = 0; k + 1 < total && zeros_left; k++) {
            const uint32_t run = b.runs[16 * uint64_t{block} + k];
            put_code(run_before[16 * (min_of(zeros_left, 7u) - 1) + run], bits);
            zeros_left -= run;
        }
    }
    end_unit(b, unit, bits);
}

KERNEL(kSuThreads, bench_su_headers, SuHeadersParams)
{
    const SuBuffers &b = p.buffers;
    const uint32_t macroblock = thread_number(), unit = macroblock * kSuUnits;
    if (macroblock >= macroblocks_of(b)) return;
    UnitWriter bits = unit_writer(b, unit);
    for (uint32_t at = 0; macroblock == 0 && at < b.header->count; at++)
        bits.put(b.header->words[at / 32] >> (31 - at % 32) & 1, 1);
    code_macroblock_header(b.format, b.macroblocks[macroblock], bits);
    end_unit(b, unit, bits);
}

// Lag packing: a thread a unit.
KERNEL(kSuThreads, bench_su_pack, SuPackParams)
{
    const uint32_t unit = thread_number();
    if (unit >= p.units) return;
    const uint32_t count = p.bits[unit];
    if (!count) return;
    const uint64_t begin = p.offsets[unit];
    const uint32_t shift = static_cast<uint32_t>(begin % 32), words = (shift + count + 31) / 32;
    const uint32_t *from = p.codes + uint64_t{unit} * kSuUnitWords;
    uint32_t *to = p.words + begin / 32, last = 0;
    for (uint32_t i = 0; i < words; i++) {
        const uint32_t next = 32 * i < count ? from[i] : 0, word = funnel_shift_right(next, last, shift);
        if (i == 0 || i + 1 == words)
            atomic_or(&to[i], word);
        else
            to[i] = word;
        last = next;
    }
}

}  // namespace cudaenc::h264
