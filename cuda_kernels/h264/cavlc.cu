// Macroblocks to bits (H.264, 7.3.5, 9.2), after CAVLCU (Fuentes-Alventosa et al., 2021): one kernel, a thread a block.
// A thread holds its levels in registers, reorders them to the scan, and marks the nonzero ones in a bit mask. Its nC
// comes from total_coeff of its neighbours. Those beyond the piece are counted from their levels, by 8 lanes four
// blocks, so pieces wait for nobody. nal.cu joins their bits.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include <cstddef>

#include "../bits.cuh"
#include "../device.cuh"
#include "cavlc_params.h"

namespace cudaenc::h264 {

// ---- Levels

// The 16 levels of a block, two a word, the first in the low half.
struct BlockWords {
    uint32_t words[8];
};
DEVICE BlockWords load_block(const int16_t *levels) {
    const Uint4 *from = reinterpret_cast<const Uint4 *>(levels);
    const Uint4 a = load_readonly(from), b = load_readonly(from + 1);
    return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
}

DEVICE void store_block(const BlockWords &b, uint32_t *to) {
    CUDAENC_UNROLL
    for (int i = 0; i < 8; i++) to[i] = b.words[i];
}

// The highest bit of each nonzero half.
DEVICE uint32_t nonzero_halves(uint32_t word) { return (((word & 0x7FFF7FFFu) + 0x7FFF7FFFu) | word) & 0x80008000u; }
DEVICE uint32_t nonzero_mask(const BlockWords &b) {
    uint32_t mask = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 8; i++) {
        const uint32_t halves = nonzero_halves(b.words[i]);
        mask |= ((halves >> 15 | halves >> 30) & 3) << 2 * i;
    }
    return mask;
}
// kZigzag4x4 as a compile-time constant.
DEVICE constexpr int zigzag_4x4(int k) { return static_cast<int>(0xFEB7ADC963258410u >> 4 * k & 15); }

// The levels at two places of a block in raster order.
DEVICE uint32_t pick_pair(const BlockWords &b, int first, int second) {
    return byte_permute(b.words[first >> 1], b.words[second >> 1],
                        (first & 1 ? 0x32u : 0x10u) | (second & 1 ? 0x7600u : 0x5400u));
}
DEVICE BlockWords zigzag(const BlockWords &raster) {
    BlockWords scanned;
    CUDAENC_UNROLL
    for (int i = 0; i < 8; i++) scanned.words[i] = pick_pair(raster, zigzag_4x4(2 * i), zigzag_4x4(2 * i + 1));
    return scanned;
}
// The chroma DC levels of one component in scan order.
template <ChromaFormat F>
DEVICE BlockWords scan_chroma_dc_words(const BlockWords &raster, int component) {
    BlockWords own{};
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++) own.words[i] = component ? raster.words[4 + i] : raster.words[i];
    if constexpr (F == ChromaFormat::c422)
        return {{pick_pair(own, 0, 2), pick_pair(own, 1, 4), pick_pair(own, 6, 3), pick_pair(own, 5, 7)}};
    return {{own.words[0], own.words[1]}};
}

// A part of an 8x8 block: every fourth level of its scan. Its four threads have stored the raster.
DEVICE BlockWords gather_8x8(const PartTables *tables, const uint32_t *levels, int part) {
    BlockWords scanned;
    const SignedHalf *block = halves_of(opaque_shared(levels + (thread_x() - part) * kLevelPitch));
    const Uint4 places = load_readonly(reinterpret_cast<const Uint4 *>(tables->places[part]));
    const uint32_t words[4] = {places.x, places.y, places.z, places.w};
    CUDAENC_UNROLL
    for (int i = 0; i < 8; i++) {
        const uint32_t two = words[i / 2] >> 16 * (i & 1);
        scanned.words[i] =
            byte_permute(static_cast<uint32_t>(block[two & 255]), static_cast<uint32_t>(block[two >> 8 & 255]), 0x5410);
    }
    return scanned;
}

// Levels in shared memory in scan order.
struct SharedLevels {
    const SignedHalf *levels;
    DEVICE_MEMBER int32_t operator()(int k) const { return levels[k]; }
};

// The syntax elements of a macroblock that decide how its blocks are coded.
struct BlockSyntax {
    MacroblockType type;
    uint32_t pattern;  // coded_block_pattern
};
DEVICE BlockSyntax block_syntax(const Macroblock *macroblock) {
    struct alignas(4) Begin {
        MacroblockType type;
        uint8_t modes[2], pattern;
    };
    static_assert(offsetof(Macroblock, coded_block_pattern) == offsetof(Begin, pattern));
    const Begin begin = load_readonly(reinterpret_cast<const Begin *>(macroblock));
    return {begin.type, begin.pattern};
}

DEVICE Macroblock load_macroblock(const Macroblock *macroblock) {
    uint64_t words[sizeof(Macroblock) / 8];
    CUDAENC_UNROLL
    for (size_t i = 0; i < sizeof(Macroblock) / 8; i++)
        words[i] = load_readonly(reinterpret_cast<const uint64_t *>(macroblock) + i);
    Macroblock loaded;
    __builtin_memcpy(&loaded, words, sizeof loaded);
    return loaded;
}

// The number of ones of each byte.
DEVICE uint32_t popcount_bytes(uint32_t x) {
    x -= x >> 1 & 0x55555555;
    x = (x & 0x33333333) + (x >> 2 & 0x33333333);
    return (x + (x >> 4)) & 0x0F0F0F0F;
}

// Counts the levels of the blocks beyond the piece. A lane has 8 levels: half a block, or a row of an 8x8 block. With
// all threads.
template <ChromaFormat F>
DEVICE void count_borders(const CavlcArguments &p, const PieceRange &range, auto &totals) {
    constexpr int kBlocks = blocks_per_macroblock(F), kThreads = PieceThreads<F>::kThreads;
    constexpr uint32_t kLanes = 8 * PieceTotals<F>::kBorders;
    const uint32_t width = static_cast<uint32_t>(p.format.width);
    const uint32_t within = static_cast<uint32_t>(thread_x()) & 7;
    CUDAENC_UNROLL
    for (uint32_t first = 0; first < kLanes; first += kThreads) {
        const uint32_t i = first + static_cast<uint32_t>(thread_x());
        uint32_t counts = 0;  // of the four blocks, a byte each
        if (i < kLanes) {
            const Border border = load_readonly(p.borders + i / 8);
            const uint32_t without = border.left ? range.without_left : range.without_above;
            if (border.macroblock < range.count && !(without >> border.macroblock & 1)) {
                const uint32_t address = range.first + border.macroblock - (border.left ? 1 : width);
                const BlockSyntax m = block_syntax(p.picture.macroblocks + address);
                const int block = static_cast<int>(border.blocks >> 8 * (within / 2) & 255);
                const bool chroma = F != ChromaFormat::c444 && block >= kChromaAcBlock;
                if (m.type == MacroblockType::pcm) {
                    counts = 16u << 8 * (within / 2);
                    counts = within & 1 ? 0 : counts;
                } else if (is_coded(m.type, m.pattern, F, block)) {
                    const int16_t *levels = p.picture.levels + address * (16u * kBlocks) +
                                            (16u * static_cast<uint32_t>(block) + 8 * (within & 1));
                    const Uint4 four = load_readonly(reinterpret_cast<const Uint4 *>(levels));
                    const uint32_t words[4] = {four.x, four.y, four.z, four.w};
                    uint32_t nonzero = 0;
                    CUDAENC_UNROLL
                    for (int k = 0; k < 4; k++) {
                        const uint32_t halves = nonzero_halves(words[k]);
                        nonzero |= ((halves >> 15 | halves >> 30) & 3) << 2 * k;
                    }
                    const bool ac = chroma || m.type == MacroblockType::i16x16;
                    if (m.type == MacroblockType::i8x8 && !chroma)
                        counts = popcount_bytes(nonzero * 0x01010101u & load_readonly(&p.parts->rows[within]));
                    else
                        counts = static_cast<uint32_t>(popcount(ac && !(within & 1) ? nonzero & ~1u : nonzero))
                                 << 8 * (within / 2);
                }
            }
        }
        CUDAENC_UNROLL
        for (int distance = 1; distance < 8; distance *= 2) counts += warp_shuffle_xor(counts, distance);
        if (i < kLanes && within < 4)
            totals[PieceTotals<F>::kOwn + i / 8 * 4 + within] = static_cast<uint8_t>(counts >> 8 * within);
    }
}

// ---- A thread's unit

// Words of a unit at most: a coeff_token of 16 bits and 16 levels of 36 bits, or a slice header and a macroblock
// header. Odd, against bank conflicts.
constexpr int kSlotWords = 19;

// The unit of a thread: a block, or a macroblock header. First, what memory says of it.
template <ChromaFormat F>
struct ThreadUnit {
    static constexpr int kBlocks = blocks_per_macroblock(F), kUnits = PieceThreads<F>::kUnits;
    static constexpr int kBlockThreads = kPieceMacroblocks * (kUnits - 1);

    const CavlcArguments &p;
    const PieceRange range = load_readonly(p.ranges + block_x());
    const Unit unit = load_readonly(p.units + thread_x());
    const bool present = unit.macroblock < range.count;
    const uint32_t address = range.first + (present ? unit.macroblock : 0);
    const Macroblock *const macroblock = p.picture.macroblocks + address;
    const int16_t *const macroblock_levels = p.picture.levels + address * (16u * kBlocks);
    const BlockSyntax m = block_syntax(macroblock);
    const bool is_header = unit.kind == UnitKind::header;
    const bool pcm = present && m.type == MacroblockType::pcm;
    const bool coded = present && !is_header && is_coded(m.type, m.pattern, F, unit.block);
    const bool part_of_8x8 = coded && unit.kind == UnitKind::luma && m.type == MacroblockType::i8x8;
    const bool ac =
        unit.kind == UnitKind::chroma_ac || (unit.kind == UnitKind::luma && m.type == MacroblockType::i16x16);
    // The place of its bits among the units of the piece. Samples of I_PCM come in the order of blocks.
    const int order = unit.macroblock * kUnits + (pcm && !is_header ? 1 + unit.block : unit.order);

    // Then, what scan_levels() finds.
    uint32_t nonzero = 0;  // bit k: level k of the scan is nonzero

    static DEVICE_MEMBER int level_place() { return min_of(thread_x(), kBlockThreads - 1) * kLevelPitch; }

    DEVICE_MEMBER BlockWords load_levels() const {
        return coded ? load_block(macroblock_levels + 16 * unit.block) : BlockWords{};
    }
    // Stores the levels in scan order to `levels` and total_coeff to `totals`. block: of load_levels(). With all
    // threads.
    DEVICE_MEMBER void scan_levels(BlockWords block, auto &levels, auto &totals) {
        uint32_t *own = &levels[level_place()];
        if (warp_any(part_of_8x8)) {
            const int part = (F == ChromaFormat::c444 ? unit.block % kLumaBlocks : unit.block) & 3;
            if (part_of_8x8) store_block(block, own);
            warp_sync();
            if (part_of_8x8) block = gather_8x8(p.parts, levels, part);
            warp_sync();
        }
        if (coded) {
            if (unit.kind == UnitKind::chroma_dc)
                block = scan_chroma_dc_words<F>(block, unit.component);
            else if (!part_of_8x8)
                block = zigzag(block);
            nonzero = nonzero_mask(block) >> ac;
            store_block(block, own);
        }
        if (present && (unit.kind == UnitKind::luma || unit.kind == UnitKind::chroma_ac))
            totals[unit.macroblock * kBlocks + unit.block] = static_cast<uint8_t>(pcm ? 16 : popcount(nonzero));
    }

    // The tables of the block. totals: of the piece, and beyond.
    DEVICE_MEMBER BlockCode block_code(auto &totals) const {
        if (unit.kind == UnitKind::chroma_dc) return chroma_dc_code(F == ChromaFormat::c422 ? 8 : 4);
        const bool no_left = unit.left_outside && range.without_left >> unit.macroblock & 1;
        const bool no_above = unit.above_outside && range.without_above >> unit.macroblock & 1;
        const int left = no_left ? -1 : totals[unit.left], above = no_above ? -1 : totals[unit.above];
        return {token_table(predict_total(left, above)), kZeros4x4, ac ? 15 : 16};
    }

    // Of the block's signs, or of samples of I_PCM.
    DEVICE_MEMBER uint32_t flips() const {
        return p.picture.sign_flips ? p.picture.sign_flips[address * kBlocks + static_cast<uint32_t>(unit.block)] : 0;
    }

    // Writes the unit's bits to its slot and returns their number.
    DEVICE_MEMBER uint32_t code_header(uint32_t *slot) const {
        WordWriter<StoredWords> bits{{slot}, 0, 0};
        if (range.begins_slice && unit.macroblock == 0) code_slice_header(p.headers[range.slice], bits);
        code_macroblock_header(p.format, load_macroblock(macroblock), bits);
        if (bits.bits) bits.words.put(bits.pending);
        return bits.bits;
    }
    DEVICE_MEMBER uint32_t code(auto &levels, auto &totals, uint32_t *slot) const {
        WordWriter<StoredWords> bits{{slot}, 0, 0};
        if (coded) {
            const BlockCode tables = block_code(totals);
            const uint32_t sign_flips = flips() >> 8 * unit.component;
            const SharedLevels scanned{halves_of(opaque_shared(&levels[level_place()])) + ac};
            code_block(*p.tables, tables, nonzero, scanned, sign_flips, bits);
        } else if (pcm && unit.component == 0 && unit.block < pcm_blocks(F)) {
            code_pcm_block(p.format, unit.block, macroblock_levels + 16 * unit.block, flips(), bits);
        }
        if (bits.bits) bits.words.put(bits.pending);
        return bits.bits;
    }
};

// ---- A piece

// Replaces the number of bits of each unit by the number of bits before it, and clears the words of the window that
// they take. Returns the sum. With one warp.
template <int LaneUnits, uint32_t WindowWords>
DEVICE uint32_t sum_bits(auto &bits, auto &window) {
    uint32_t own[LaneUnits], sum = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < LaneUnits; i++) sum += own[i] = bits[lane_id() * LaneUnits + i];
    const uint32_t scanned = warp_inclusive_add(sum), all = warp_shuffle(scanned, 31);
    uint32_t before = scanned - sum;
    CUDAENC_UNROLL
    for (int i = 0; i < LaneUnits; i++) {
        bits[lane_id() * LaneUnits + i] = before;
        before += own[i];
    }
    const uint32_t words = min_of((all + 8 * kPieceMacroblocks) / 32 + 3, WindowWords);
    for (uint32_t i = static_cast<uint32_t>(lane_id()); i < words; i += 32) window[i] = 0;
    return all;
}

// Splits the `all` bits of the piece at the samples of its first I_PCM macroblock, which begin a byte. In this tail,
// samples of further I_PCM macroblocks are aligned to its beginning. pcm_mask: bit i: macroblock i is I_PCM. begin: the
// bits before the unit; becomes its place in the window, where the tail begins a word.
template <int Units>
DEVICE PieceBits align_pcm(uint32_t pcm_mask, auto &bits_before, uint32_t all, int unit_order, uint32_t &begin) {
    if (!pcm_mask) return {all, 0};
    const uint32_t order = static_cast<uint32_t>(unit_order), first = static_cast<uint32_t>(find_first_set(pcm_mask));
    const uint32_t head = bits_before[first * Units + 1];
    uint32_t padding = 0;
    if (order > first * Units) begin += (0 - head) & 31;
    for (uint32_t i = first + 1; i < kPieceMacroblocks; i++) {
        if (!(pcm_mask >> i & 1)) continue;
        const uint32_t alignment = (0 - (bits_before[i * Units + 1] - head + padding)) & 7;
        padding += alignment;
        if (order > i * Units) begin += alignment;
    }
    return {head, all - head + padding};
}

template <ChromaFormat F>
DEVICE void code_piece(const CavlcArguments &p) {
    using Threads = ThreadUnit<F>;
    constexpr int kLaneUnits = (kPieceMacroblocks * Threads::kUnits + 31) / 32;  // odd, against bank conflicts
    constexpr uint32_t kWindowWords = most_piece_words(F);
    SHARED(uint8_t, totals, PieceTotals<F>::kCount);
    SHARED(uint32_t, levels, Threads::kBlockThreads *kLevelPitch);  // later the window: the bits of the piece
    static_assert(kWindowWords <= Threads::kBlockThreads * kLevelPitch);
    SHARED(uint32_t, slots, kPieceMacroblocks *Threads::kUnits *kSlotWords);
    SHARED(uint32_t, bits_before, 32 * kLaneUnits);  // by order: first of the unit itself, then of all before it
    SHARED(uint32_t, all_bits, 1);
    SHARED(uint8_t, pcm_macroblocks, kPieceMacroblocks);
    allow_next_launch();
    const int thread = thread_x();
    if (thread < 32 * kLaneUnits) bits_before[thread] = 0;
    ThreadUnit<F> unit{p};
    const BlockWords block = unit.load_levels();
    count_borders<F>(p, unit.range, totals);
    unit.scan_levels(block, levels, totals);
    const int slot_number =
        unit.is_header ? Threads::kBlockThreads + unit.unit.macroblock : min_of(thread, Threads::kBlockThreads - 1);
    uint32_t *slot = opaque_shared(&slots[slot_number * kSlotWords]);
    uint32_t bits = 0;
    if (unit.is_header) {  // while others wait for their levels
        pcm_macroblocks[unit.unit.macroblock] = unit.pcm;
        if (unit.present) bits = unit.code_header(slot);
    }
    const bool any_pcm = block_any(unit.pcm);

    if (!unit.is_header) bits = unit.code(levels, totals, slot);
    if (bits) bits_before[unit.order] = bits;
    block_sync();

    uint32_t *window = levels;
    if (warp_id() == 0) {
        const uint32_t all = sum_bits<kLaneUnits, kWindowWords>(bits_before, levels);
        if (lane_id() == 0) all_bits[0] = all;
    }
    block_sync();
    const bool fits = all_bits[0] + 8 * kPieceMacroblocks + 32 * 2 < 32 * p.word_pitch;
    uint32_t pcm_mask = 0, begin = bits ? bits_before[unit.order] : 0;
    for (uint32_t i = 0; any_pcm && i < kPieceMacroblocks; i++) pcm_mask |= uint32_t{pcm_macroblocks[i]} << i;
    PieceBits piece{0, 0};
    if (fits)
        piece = align_pcm<Threads::kUnits>(pcm_mask, bits_before, all_bits[0], unit.order, begin);
    else
        bits = 0;

    const uint32_t shift = begin % 32;
    uint32_t *to = window + begin / 32, last = 0;
    CUDAENC_NO_UNROLL
    for (uint32_t i = 0; bits && 32 * i < shift + bits; i++) {
        const uint32_t next = 32 * i < bits ? slot[i] : 0;
        atomic_or(to + i, funnel_shift_right(next, last, shift));
        last = next;
    }
    block_sync();
    const uint32_t words = (piece.head + 31) / 32 + (piece.tail + 31) / 32;
    uint32_t *piece_words = p.words + uint64_t{static_cast<uint32_t>(block_x())} * p.word_pitch;
    CUDAENC_NO_UNROLL
    for (uint32_t i = static_cast<uint32_t>(thread); i < words; i += PieceThreads<F>::kThreads)
        piece_words[i] = window[i];
    if (thread == 0) {
        p.bits[block_x()] = piece;
        const uint32_t header = unit.range.begins_slice ? p.headers[unit.range.slice].count : 0;
        atomic_add(p.layer_bits, uint64_t{all_bits[0] - header + 7 * static_cast<uint32_t>(popcount(pcm_mask))});
        if (!fits) p.result->failed = p.number;
    }
}

// Threads of a multiprocessor that set how many registers a thread has. More threads with fewer registers each were no
// faster. Turing has fewer threads.
#if CUDAENC_DEVICE_CODE && __CUDA_ARCH__ < 800
constexpr int kMultiprocessorThreads = 1024;
#else
constexpr int kMultiprocessorThreads = 1536;
#endif
#define CAVLC_KERNEL(format, name)                                                             \
    KERNEL_BLOCKS(PieceThreads<ChromaFormat::format>::kThreads,                                \
                  kMultiprocessorThreads / PieceThreads<ChromaFormat::format>::kThreads, name, \
                  CavlcParams<ChromaFormat::format>) {                                         \
        code_piece<ChromaFormat::format>(p);                                                   \
    }
CAVLC_KERNEL(c400, h264_cavlc_400)
CAVLC_KERNEL(c420, h264_cavlc_420)
CAVLC_KERNEL(c422, h264_cavlc_422)
CAVLC_KERNEL(c444, h264_cavlc_444)
#undef CAVLC_KERNEL

}  // namespace cudaenc::h264
