// Pixels to Huffman codes: load, level shift, colours, forward DCT, quantisation, DC prediction, run-length and Huffman
// coding. A thread owns a block from its samples to its bits; what threads tell each other is the DC and how many bits
// there are. With tables made for the picture there are two kernels, and levels in memory between them.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../common/mjpeg/color.h"
#include "../../common/mjpeg/fdct.h"
#include "../bits.cuh"
#include "../device.cuh"
#include "code_params.h"

namespace cudaenc::mjpeg {

// ---- Which blocks a thread-block has

struct PieceMcus {
    uint32_t index;  // of the piece
    int32_t first, count;
};

DEVICE PieceMcus mcus_of_piece(const ScanPieces &scan) {
    const int32_t all = scan.grid.mcus(), interval = scan.grid.restart_interval ? scan.grid.restart_interval : all;
    const int32_t begin = block_x() / scan.interval_pieces * interval, within = block_x() % scan.interval_pieces;
    const int32_t end = min_of(begin + interval, all), first = begin + within * scan.mcus;
    return {scan.first_piece + static_cast<uint32_t>(block_x()), first, min_of(scan.mcus, end - first)};
}

// The thread's block. Threads are in the order of components and, within these, of coding.
struct PieceBlock {
    int component;  // in the scan
    int order;      // of coding, in the piece
    bool coded;     // the thread has one
    bool sampled;   // it has samples
    BlockPlace place;
};

// The first of the threads that have a component's blocks.
DEVICE int first_thread(const ScanPieces &scan, int component) {
    return scan.mcus * scan.component[component].first_block;
}

DEVICE PieceBlock block_of_thread(const ScanPieces &scan, const PieceMcus &mcus) {
    int c = 0;
    while (c + 1 < scan.components && thread_x() >= first_thread(scan, c + 1)) c++;
    const ScanComponent &k = scan.component[c];
    const int within = thread_x() - first_thread(scan, c), blocks = k.grid.h * k.grid.v;
    const int mcu = within / blocks, i = within % blocks;
    const bool coded = mcu < mcus.count;
    const BlockPlace place = block_of_mcu(scan.grid, k.grid, mcus.first + mcu, i);
    return {c, mcu * scan.mcu_blocks + k.first_block + i, coded, coded && has_samples(k.grid, place), place};
}

// ---- Samples to levels

// 8 level-shifted samples, a byte each.
struct SampleRow {
    uint32_t words[2];
    DEVICE_MEMBER int32_t operator[](int x) const { return static_cast<int8_t>(words[x >> 2] >> (8 * (x & 3))); }
};

DEVICE uint32_t pack_samples(const int32_t *v) {
    return (v[0] & 255) | (v[1] & 255) << 8 | (v[2] & 255) << 16 | static_cast<uint32_t>(v[3]) << 24;
}

// Rows of 8 samples from (x, y) on; the last column and row of the component are repeated.
template <int Rows>
DEVICE void load_rows(const SampleLayout &s, const ScanComponent &k, int x, int y, SampleRow (&rows)[Rows]) {
    constexpr uint32_t kLevelShift = 0x80808080u;
    const int last_x = k.width - 1, last_y = k.height - 1;
    const uint64_t alignment = reinterpret_cast<uint64_t>(s.data) | static_cast<uint64_t>(s.stride);
    const uint8_t *column = s.data + int64_t{x} * s.step;
    const bool bytes = s.shift + s.depth == 8 && s.depth == 8;
    if (bytes && s.step == 1 && x + 7 <= last_x && (alignment & 7) == 0) {
        CUDAENC_UNROLL
        for (int i = 0; i < Rows; i++) {
            const uint64_t word =
                load_readonly(reinterpret_cast<const uint64_t *>(column + min_of(y + i, last_y) * s.stride));
            rows[i] = {{static_cast<uint32_t>(word) ^ kLevelShift, static_cast<uint32_t>(word >> 32) ^ kLevelShift}};
        }
    } else if (bytes && s.step == 2 && x + 8 <= last_x && (alignment & 14) == 0 && (s.stride & 15) == 0) {
        const uint32_t odd = static_cast<uint32_t>(alignment & 1), selector = odd ? 0x7531 : 0x6420;
        CUDAENC_UNROLL
        for (int i = 0; i < Rows; i++) {
            const Uint4 words =
                load_readonly(reinterpret_cast<const Uint4 *>(column + min_of(y + i, last_y) * s.stride - odd));
            rows[i] = {{byte_permute(words.x, words.y, selector) ^ kLevelShift,
                        byte_permute(words.z, words.w, selector) ^ kLevelShift}};
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
                if (j == i) rows[j] = row;  // keeps rows[] in registers
        }
    }
}

// Rows of a component of the scan, after the colour transform.
template <int Rows>
DEVICE void load_component(const SampleLayout *layouts, const ScanPieces &scan, int component, int x, int y,
                           SampleRow (&rows)[Rows]) {
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

// Coefficients, by index.
DEVICE void transform(const SampleRow (&rows)[kBlockSize], int32_t (&c)[kBlockSamples]) {
    CUDAENC_UNROLL
    for (int y = 0; y < kBlockSize; y++) {
        int32_t v[kBlockSize];
        CUDAENC_UNROLL
        for (int x = 0; x < kBlockSize; x++) v[x] = rows[y][x];
        fdct<FdctPass::rows>(v);
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

// Coefficients by index to levels in the zig-zag sequence. Returns which are not 0, bit k for place k.
DEVICE uint64_t quantise_block(const WideQuantiser &quantiser, const int32_t (&c)[kBlockSamples],
                               int32_t (&levels)[kBlockSamples]) {
    uint32_t low = 0, high = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < kBlockSamples; i++) {
        const int k = zigzag_place(i);
        levels[k] = quantise_wide(c[i], quantiser.multiplier[i]);
        if (levels[k] != 0) (k < 32 ? low : high) |= 1u << (k & 31);
    }
    return uint64_t{high} << 32 | low;
}

// A block's levels in shared memory, in the zig-zag sequence; their pitch spreads blocks over the banks.
constexpr int kLevelPitch = kBlockSamples + 2;

// The coefficients of the thread's block, by index.
DEVICE void transformed_block(const SampleLayout *layouts, const ScanPieces &scan, const PieceBlock &block,
                              int32_t (&c)[kBlockSamples]) {
    SampleRow rows[kBlockSize];
    load_component(layouts, scan, block.component, block.place.x * kBlockSize, block.place.y * kBlockSize, rows);
    transform(rows, c);
}

// The thread's block from samples to levels in the zig-zag sequence. Returns which are not 0, bit k for place k.
DEVICE uint64_t quantised_block(const SampleLayout *layouts, const ScanPieces &scan, const WideQuantiser *quantisers,
                                const PieceBlock &block, int32_t (&levels)[kBlockSamples]) {
    int32_t c[kBlockSamples];
    transformed_block(layouts, scan, block, c);
    // A branch, so that divisors are operands at constant addresses.
    return scan.component[block.component].table == kLuma ? quantise_block(quantisers[kLuma], c, levels)
                                                          : quantise_block(quantisers[kChroma], c, levels);
}

// What predicts the piece's first block of a component: its DC needs no transform. Lanes 8 c to 8 c + 7 of the warp
// are a component's.
DEVICE int32_t dc_before_piece(const SampleLayout *layouts, const ScanPieces &scan, const WideQuantiser *quantisers,
                               const PieceMcus &mcus) {
    const int c = lane_id() / 8;
    int32_t sum = 0;
    const bool predicted = c < scan.components && !scan.grid.begins_interval(mcus.first);
    if (predicted) {
        const BlockPlace place = dc_predictor(scan.grid, scan.component[c].grid, mcus.first, 0);
        SampleRow row[1];
        load_component(layouts, scan, c, place.x * kBlockSize, place.y * kBlockSize + lane_id() % 8, row);
        CUDAENC_UNROLL
        for (int x = 0; x < kBlockSize; x++) sum += row[0][x];
    }
    for (int mask = 4; mask; mask >>= 1) sum += warp_shuffle_xor(sum, mask);
    return predicted ? quantise_wide(fdct_dc(sum), quantisers[scan.component[c].table].multiplier[0]) : 0;
}

// The thread's DC level less its prediction (F.1.1.5.1); 0 without samples. With all threads of the block.
DEVICE int32_t dc_difference(const SampleLayout *layouts, const ScanPieces &scan, const WideQuantiser *quantisers,
                             const PieceMcus &mcus, const PieceBlock &block, int32_t dc) {
    constexpr int32_t kNoSamples = 1 << 16;
    SHARED(int32_t, dcs, kPieceBlocks);
    SHARED(int32_t, before, 4);
    dcs[thread_x()] = block.sampled ? dc : kNoSamples;
    if (warp_id() == 0) {
        const int32_t predictor = dc_before_piece(layouts, scan, quantisers, mcus);
        if (lane_id() % 8 == 0) before[lane_id() / 8] = predictor;
    }
    block_sync();
    if (!block.sampled) return 0;
    int predictor = thread_x() - 1;
    const int first = first_thread(scan, block.component);
    while (predictor >= first && dcs[predictor] == kNoSamples) predictor--;
    return dc - (predictor >= first ? dcs[predictor] : before[block.component]);
}

// ---- Levels to bits

// Levels at places that ascend. What moves is the address, or it would be made anew at each of them.
struct LevelReader {
    const int16_t *at;
    int place;
    DEVICE_MEMBER int32_t operator()(int k) {
        at += k - place;
        place = k;
        return *at;
    }
};

// Joins bits to words; words.put() takes each when it is full, and the caller the last one, `pending`.
template <class Words>
struct WordWriter {
    Words words;
    uint32_t filled;  // bits of `pending`, below 32
    uint32_t pending;
    DEVICE_MEMBER void put(uint32_t bits, uint32_t count) {
        const uint32_t aligned = bits << (32 - count);
        pending |= aligned >> filled;
        filled += count;
        if (filled < 32) return;
        filled -= 32;
        words.put(pending);
        pending = aligned << (count - filled);  // without the bits that went
    }
};

// A block's bits, while nobody knows how many come before: most blocks have no more than a slot.
constexpr int kSlotWords = 12, kSlotPitch = kSlotWords + 1;
struct SlotWords {
    uint32_t *next;
    int room;  // words
    DEVICE_MEMBER void put(uint32_t bits) {
        if (room > 0) *next = bits;
        next++;
        room--;
    }
};

// A part of the piece's bits, in the memory of the slots. Other threads write to the same words; words outside are left
// out.
constexpr uint32_t kWindowWords = kPieceBlocks * kSlotPitch - 1;
struct WindowWords {
    uint32_t *window;  // [kWindowWords + 1]
    uint32_t next;
    DEVICE_MEMBER void put(uint32_t bits) {
        if (next <= kWindowWords) atomic_or(&window[next], bits);
        next++;
    }
};

// Codes the piece, with all threads of the block. levels: of the thread's block.
DEVICE void code_piece(const CodedWords &out, const ScanPieces &scan, const PieceMcus &mcus, const CodeTables *tables,
                       const PieceBlock &block, const int16_t *levels, uint64_t nonzero, int32_t dc_difference) {
    constexpr int kWarps = kPieceBlocks / 32, kDcWords = kTables * 16, kAcWords = kTables * 256;
    SHARED(uint32_t, dc_codes, kDcWords);
    SHARED(uint32_t, ac_codes, kAcWords);
    SHARED(uint32_t, slots, kPieceBlocks *kSlotPitch);
    SHARED(uint32_t, bits_before, kPieceBlocks);  // by order: of the own block, then of all before
    SHARED(uint32_t, warp_bits, kWarps);
    SHARED(uint32_t, full_bytes, 8);
    SHARED(uint32_t, first_word, 1);
    const int thread = thread_x();
    for (int i = thread; i < kDcWords; i += kPieceBlocks) dc_codes[i] = load_readonly(&tables->dc[0][0] + i);
    for (int i = thread; i < kAcWords; i += kPieceBlocks) ac_codes[i] = load_readonly(&tables->ac[0][0] + i);
    if (thread < 8) full_bytes[thread] = 0;
    if (thread >= mcus.count * scan.mcu_blocks) bits_before[thread] = 0;
    block_sync();

    const int table = scan.component[block.component].table;
    const uint32_t *dc = &dc_codes[table * 16], *ac = &ac_codes[table * 256];
    uint32_t *slot = &slots[thread * kSlotPitch];
    uint32_t block_bits = 0;
    if (block.coded) {
        WordWriter<SlotWords> bits{{slot, kSlotWords}, 0, 0};
        CodeWriter<WordWriter<SlotWords>> writer{dc, ac, bits};
        code_block(dc_difference, nonzero, LevelReader{levels, 0}, writer);
        block_bits = static_cast<uint32_t>(kSlotWords - bits.words.room) * 32 + bits.filled;
        bits.words.put(bits.pending);
        bits_before[block.order] = block_bits;
    }
    block_sync();
    const uint32_t own = bits_before[thread], scanned = warp_inclusive_add(own);
    if (lane_id() == 31) warp_bits[warp_id()] = scanned;
    block_sync();
    uint32_t before = scanned - own, total = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < kWarps; i++) {
        before += i < warp_id() ? warp_bits[i] : 0;
        total += warp_bits[i];
    }
    bits_before[thread] = before;
    uint32_t slot_words[kSlotWords];
    CUDAENC_UNROLL
    for (uint32_t i = 0; i < kSlotWords; i++) slot_words[i] = 32 * i < block_bits ? slot[i] : 0;
    const uint32_t words = (total + 31) / 32;
    if (thread == 0) first_word[0] = atomic_add(&out.sums->words, words);
    block_sync();

    const uint32_t first = first_word[0], begin = block.coded ? bits_before[block.order] : 0;
    const bool fits = first + words <= out.capacity;
    uint32_t *window = slots;
    for (uint32_t window_begin = 0; window_begin < words; window_begin += kWindowWords) {
        const uint32_t count = min_of(kWindowWords, words - window_begin);
        for (uint32_t i = thread; i <= count; i += kPieceBlocks) window[i] = 0;
        block_sync();
        WindowWords to{window, begin / 32 - window_begin};
        const uint32_t shift = begin % 32;
        if (block_bits <= kSlotWords * 32) {
            uint32_t last = 0;
            CUDAENC_UNROLL
            for (uint32_t i = 0; i <= kSlotWords; i++) {
                const uint32_t next = i < kSlotWords ? slot_words[i] : 0;
                if (32 * i < shift + block_bits) to.put(funnel_shift_right(next, last, shift));
                last = next;
            }
        } else if (begin / 32 <= window_begin + kWindowWords && begin + block_bits > window_begin * 32) {
            WordWriter<WindowWords> bits{to, shift, 0};
            CodeWriter<WordWriter<WindowWords>> writer{dc, ac, bits};
            code_block(dc_difference, nonzero, LevelReader{levels, 0}, writer);
            bits.words.put(bits.pending);
        }
        block_sync();
        for (uint32_t i = thread; i < count; i += kPieceBlocks) {
            const uint32_t bits = window[i];
            if (fits) out.words[first + window_begin + i] = bits;
            for (uint32_t runs = runs_of_ones(bits, window[i + 1]); runs; runs &= runs - 1)
                atomic_add(&full_bytes[(31 - find_first_set(runs)) & 7], 1u);
        }
        block_sync();
    }
    Piece &piece = out.pieces[mcus.index];
    if (thread < 8) piece.full_bytes[thread] = static_cast<uint16_t>(full_bytes[thread]);
    if (thread == 0) {
        piece.bits = total;
        piece.first_word = first;
    }
}

KERNEL(kPieceBlocks, mjpeg_encode, EncodeParams)
{
    SHARED(int16_t, levels, kPieceBlocks *kLevelPitch);
    const PieceMcus mcus = mcus_of_piece(p.scan);
    const PieceBlock block = block_of_thread(p.scan, mcus);
    int16_t *own = &levels[thread_x() * kLevelPitch];
    uint64_t nonzero = 0;
    int32_t dc = 0;
    if (block.sampled) {
        int32_t values[kBlockSamples];
        nonzero = quantised_block(p.layouts, p.scan, p.quantiser, block, values);
        dc = values[0];
        CUDAENC_UNROLL
        for (int k = 1; k < kBlockSamples; k++) own[k] = static_cast<int16_t>(values[k]);
    }
    const int32_t difference = dc_difference(p.layouts, p.scan, p.quantiser, mcus, block, dc);
    code_piece(p.out, p.scan, mcus, p.codes, block, own, nonzero, difference);
}

// ---- With tables made for the picture

// A sink of code_block(), for counts in shared memory.
struct SharedSymbolCounter {
    uint32_t *dc, *ac;
    DEVICE_MEMBER void put_dc(uint32_t category, uint32_t) { atomic_add(&dc[category], 1u); }
    DEVICE_MEMBER void put_ac(uint32_t symbol, uint32_t) { atomic_add(&ac[symbol], 1u); }
};

DEVICE uint32_t pack_levels(int32_t even, int32_t odd) {
    return (static_cast<uint32_t>(even) & 0xFFFF) | static_cast<uint32_t>(odd) << 16;
}

KERNEL(kPieceBlocks, mjpeg_transform, TransformParams)
{
    constexpr int kDcWords = kTables * 16, kAcWords = kTables * 256;
    SHARED(int16_t, levels, kPieceBlocks *kLevelPitch);
    SHARED(uint32_t, dc_counts, kDcWords);
    SHARED(uint32_t, ac_counts, kAcWords);
    const int thread = thread_x();
    for (int i = thread; i < kDcWords; i += kPieceBlocks) dc_counts[i] = 0;
    for (int i = thread; i < kAcWords; i += kPieceBlocks) ac_counts[i] = 0;

    const PieceMcus mcus = mcus_of_piece(p.scan);
    const PieceBlock block = block_of_thread(p.scan, mcus);
    int16_t *own = &levels[thread * kLevelPitch];
    uint32_t *words = p.levels.words + uint64_t{mcus.index} * kPieceLevelWords + thread;
    uint64_t nonzero = 0;
    int32_t dc = 0, after_dc = 0;
    if (block.sampled) {
        int32_t values[kBlockSamples];
        nonzero = quantised_block(p.layouts, p.scan, p.quantiser, block, values);
        dc = values[0];
        after_dc = values[1];
        CUDAENC_UNROLL
        for (int k = 1; k < kBlockSamples; k++) own[k] = static_cast<int16_t>(values[k]);
        CUDAENC_UNROLL
        for (int i = 1; i < kBlockSamples / 2; i++)
            words[i * kPieceBlocks] = pack_levels(values[2 * i], values[2 * i + 1]);
    }
    const int32_t difference = dc_difference(p.layouts, p.scan, p.quantiser, mcus, block, dc);
    words[0] = pack_levels(difference, after_dc);
    p.levels.nonzero[uint64_t{mcus.index} * kPieceBlocks + thread] = nonzero;

    const int table = p.scan.component[block.component].table;
    SharedSymbolCounter counter{&dc_counts[table * 16], &ac_counts[table * 256]};
    if (block.coded) code_block(difference, nonzero, LevelReader{own, 0}, counter);
    block_sync();
    for (int i = thread; i < kDcWords; i += kPieceBlocks)
        if (dc_counts[i]) atomic_add(&p.sums->symbols.dc[0][0] + i, dc_counts[i]);
    for (int i = thread; i < kAcWords; i += kPieceBlocks)
        if (ac_counts[i]) atomic_add(&p.sums->symbols.ac[0][0] + i, ac_counts[i]);
}

KERNEL(kPieceBlocks, mjpeg_bins, BinsParams)
{
    SHARED(uint32_t, bins, kRateBins);
    for (int i = thread_x(); i < kRateBins; i += kPieceBlocks) bins[i] = 0;
    block_sync();
    const PieceBlock block = block_of_thread(p.scan, mcus_of_piece(p.scan));
    if (block.sampled) {
        int32_t c[kBlockSamples];
        transformed_block(p.layouts, p.scan, block, c);
        const uint32_t *threshold = p.threshold[p.scan.component[block.component].table];
        CUDAENC_UNROLL
        for (int i = 1; i < kBlockSamples; i++)
            if (c[i]) atomic_add(&bins[rate_bin(c[i], threshold[i])], 1u);
    }
    block_sync();
    for (int i = thread_x(); i < kRateBins; i += kPieceBlocks)
        if (bins[i]) atomic_add(&p.sums->bins[i], bins[i]);
}

KERNEL(kPieceBlocks, mjpeg_code, CodeParams)
{
    SHARED(int16_t, levels, kPieceBlocks *kLevelPitch);
    const PieceMcus mcus = mcus_of_piece(p.scan);
    const PieceBlock block = block_of_thread(p.scan, mcus);
    int16_t *own = &levels[thread_x() * kLevelPitch];
    const uint32_t *words = p.levels.words + uint64_t{mcus.index} * kPieceLevelWords + thread_x();
    uint64_t nonzero = 0;
    int32_t difference = 0;
    if (block.sampled) {
        CUDAENC_UNROLL
        for (int i = 0; i < kBlockSamples / 2; i++) {
            const uint32_t word = load_readonly(words + i * kPieceBlocks);
            own[2 * i] = static_cast<int16_t>(word);
            own[2 * i + 1] = static_cast<int16_t>(word >> 16);
        }
        difference = own[0];
        nonzero = load_readonly(p.levels.nonzero + uint64_t{mcus.index} * kPieceBlocks + thread_x());
    }
    code_piece(p.out, p.scan, mcus, p.codes, block, own, nonzero, difference);
}

}  // namespace cudaenc::mjpeg
