// Macroblocks to bits (H.264, 7.3.5, 9.2), after CAVLCU (Fuentes-Alventosa et al., 2021): one kernel, a thread a block.
// A thread has its levels in registers, brings them into the order of the scan there and tells which are not 0 by a bit
// mask. Its nC comes from the total_coeff of the neighbours in the piece; those of blocks beyond it are counted again
// from their levels. So pieces wait for nobody; nal.cu joins what they make.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include <cstddef>

#include "../bits.cuh"
#include "../device.cuh"
#include "cavlc_params.h"

namespace cudaenc::h264 {

// ---- Levels

// 16 levels of a block, two a word, the first one the lower half.
struct BlockWords {
    uint32_t words[8];
};
DEVICE BlockWords load_block(const int16_t *levels) {
    const Uint4 *from = reinterpret_cast<const Uint4 *>(levels);
    const Uint4 a = load_readonly(from), b = load_readonly(from + 1);
    return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
}

// The highest bit of each half that is not 0.
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
DEVICE int count_nonzero(const BlockWords &b) {
    uint32_t halves = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 8; i++) halves |= nonzero_halves(b.words[i]) >> i;
    return popcount(halves);
}

// kZigzag4x4, for places that are known where the code is compiled.
DEVICE constexpr int zigzag_4x4(int k) { return static_cast<int>(0xFEB7ADC963258410u >> 4 * k & 15); }

// Levels at two places of a block in raster order.
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
// Of one component; the others are left out.
template <ChromaFormat F>
DEVICE BlockWords scan_chroma_dc_words(const BlockWords &raster, int component) {
    BlockWords own{};
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++) own.words[i] = component ? raster.words[4 + i] : raster.words[i];
    if constexpr (F == ChromaFormat::c422)
        return {{pick_pair(own, 0, 2), pick_pair(own, 1, 4), pick_pair(own, 6, 3), pick_pair(own, 5, 7)}};
    return {{own.words[0], own.words[1]}};
}

// Words between blocks in shared memory: neighbours do not meet in a bank.
constexpr int kLevelPitch = 9;

// A part of an 8x8 block: every fourth level of its scan. Its threads have stored a fourth of the raster each.
DEVICE BlockWords gather_8x8(const CavlcTables *tables, const uint32_t *levels, int part) {
    BlockWords scanned;
    const uint32_t *block = levels + (thread_x() - part) * kLevelPitch;
    CUDAENC_UNROLL
    for (int i = 0; i < 8; i++) {
        uint32_t halves[2];
        CUDAENC_UNROLL
        for (int j = 0; j < 2; j++) {
            const uint32_t at = load_readonly(&tables->zigzag_8x8[2 * i + j]) >> 8 * part & 63;
            halves[j] = block[at / 16 * kLevelPitch + at % 16 / 2] >> (at & 1 ? 16 : 0);
        }
        scanned.words[i] = byte_permute(halves[0], halves[1], 0x5410);
    }
    return scanned;
}

// Levels in shared memory, in the order of the scan.
struct SharedLevels {
    const SignedHalf *levels;
    DEVICE_MEMBER int32_t operator()(int k) const { return levels[k]; }
};

// What blocks ask to know of a macroblock.
struct Kind {
    MacroblockType type;
    uint32_t pattern;  // coded_block_pattern
};
DEVICE Kind kind_of(const Macroblock *macroblock) {
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

// total_coeff of a block that has an nC, counted from the levels of its macroblock.
template <ChromaFormat F>
DEVICE int count_total(const CavlcTables *tables, const Kind &m, const int16_t *levels, int block) {
    if (m.type == MacroblockType::pcm) return 16;
    if (!is_coded(m.type, m.pattern, F, block)) return 0;
    const bool chroma = F != ChromaFormat::c444 && block >= kChromaAcBlock;
    if (m.type == MacroblockType::i8x8 && !chroma) {
        const int part = (F == ChromaFormat::c444 ? block % kLumaBlocks : block) & 3;
        const int16_t *from = levels + 16 * (block - part);
        int total = 0;
        CUDAENC_UNROLL
        for (int k = 0; k < 16; k++)
            total += load_readonly(from + (load_readonly(&tables->zigzag_8x8[k]) >> 8 * part & 63)) != 0;
        return total;
    }
    BlockWords b = load_block(levels + 16 * block);
    if (m.type == MacroblockType::i16x16 || chroma) b.words[0] &= 0xFFFF0000u;  // AC
    return count_nonzero(b);
}

// ---- Bits

DEVICE void put_slice_header(const SliceHeaderBits &header, WordWriter<StoredWords> &out) {
    const uint32_t count = header.count;
    for (uint32_t at = 0; at < count; at += 16) {
        const uint32_t bits = header.words[at / 32] << at % 32, part = min_of(count - at, 16u);
        out.put(bits >> (32 - part), part);
    }
}

// Words that a unit takes at most: 16 levels of 36 bits each, behind a coeff_token of 16 bits; a slice header and a
// macroblock's. Neighbours do not meet in a bank.
constexpr int kSlotWords = 19;

// ---- The kernel

template <ChromaFormat F>
DEVICE void code_piece(const CavlcArguments &p) {
    constexpr int kBlocks = blocks_per_macroblock(F), kThreads = PieceThreads<F>::kThreads;
    constexpr int kUnits = PieceThreads<F>::kUnits, kBlockThreads = kPieceMacroblocks * (kUnits - 1),
                  kLaneUnits = (kPieceMacroblocks * kUnits + 31) / 32;  // odd, so that lanes do not meet in a bank
    constexpr uint32_t kWindowWords = most_piece_words(F);
    SHARED(uint8_t, totals, kPieceMacroblocks *kBlocks);
    SHARED(uint32_t, levels, kBlockThreads *kLevelPitch);  // then the bits of the piece
    static_assert(kWindowWords <= kBlockThreads * kLevelPitch);
    SHARED(uint32_t, slots, kPieceMacroblocks *kUnits *kSlotWords);
    SHARED(uint32_t, bits_before, 32 * kLaneUnits);  // by order: of the own unit, then of all before
    SHARED(uint32_t, all_bits, 1);
    SHARED(uint8_t, pcm_macroblocks, kPieceMacroblocks);
    const int thread = thread_x();
    if (thread < 32 * kLaneUnits) bits_before[thread] = 0;
    const uint32_t piece = static_cast<uint32_t>(block_x());
    const PieceRange range = load_readonly(p.ranges + piece);
    const uint32_t width = static_cast<uint32_t>(p.format.width);
    const bool begins_slice = range.first == range.slice_first;

    // Levels to registers, in the order of the scan.
    const Unit unit = load_readonly(p.units + thread);
    const bool present = unit.macroblock < range.count;
    const uint32_t address = range.first + (present ? unit.macroblock : 0);
    const Macroblock *macroblock = p.picture.macroblocks + address;
    const int16_t *macroblock_levels = p.picture.levels + address * (16u * kBlocks);
    // Beyond the piece; left of it for its first macroblock only.
    const bool has_above = unit.above_outside && address >= range.slice_first + width;
    const bool has_left =
        unit.left_outside && address == range.first && address > range.slice_first && address % width != 0;
    const Macroblock *macroblock_above = macroblock - (has_above ? width : 0);
    const Kind m = kind_of(macroblock), m_above = kind_of(macroblock_above);
    const bool pcm = present && m.type == MacroblockType::pcm;
    const bool coded = present && unit.kind != UnitKind::header && is_coded(m.type, m.pattern, F, unit.block);
    const bool part_of_8x8 = coded && unit.kind == UnitKind::luma && m.type == MacroblockType::i8x8;
    const bool ac =
        unit.kind == UnitKind::chroma_ac || (unit.kind == UnitKind::luma && m.type == MacroblockType::i16x16);
    uint32_t *own_levels = &levels[min_of(thread, kBlockThreads - 1) * kLevelPitch];
    BlockWords block{};
    if (coded) block = load_block(macroblock_levels + 16 * unit.block);
    int left = -1, above = -1;  // total_coeff
    if (coded && has_above)
        above = count_total<F>(p.tables, m_above, macroblock_levels - width * (16u * kBlocks), unit.above);
    if (coded && has_left)
        left = count_total<F>(p.tables, kind_of(macroblock - 1), macroblock_levels - 16 * kBlocks, unit.left);
    if (unit.kind == UnitKind::header) pcm_macroblocks[unit.macroblock] = pcm;
    if (warp_any(part_of_8x8)) {
        const int part = (F == ChromaFormat::c444 ? unit.block % kLumaBlocks : unit.block) & 3;
        if (part_of_8x8) {
            CUDAENC_UNROLL
            for (int i = 0; i < 8; i++) own_levels[i] = block.words[i];
        }
        warp_sync();
        if (part_of_8x8) block = gather_8x8(p.tables, levels, part);
        warp_sync();
    }
    uint32_t nonzero = 0;
    if (coded) {
        if (unit.kind == UnitKind::chroma_dc)
            block = scan_chroma_dc_words<F>(block, unit.component);
        else if (!part_of_8x8)
            block = zigzag(block);
        nonzero = nonzero_mask(block);
        if (ac) nonzero >>= 1;
        CUDAENC_UNROLL
        for (int i = 0; i < 8; i++) own_levels[i] = block.words[i];
    }
    if (present && (unit.kind == UnitKind::luma || unit.kind == UnitKind::chroma_ac))
        totals[unit.macroblock * kBlocks + unit.block] = static_cast<uint8_t>(pcm ? 16 : popcount(nonzero));
    const bool any_pcm = block_any(pcm);

    // Each unit into its slot.
    const int number =
        unit.kind == UnitKind::header ? kBlockThreads + unit.macroblock : min_of(thread, kBlockThreads - 1);
    uint32_t *slot = opaque_shared(&slots[number * kSlotWords]);
    WordWriter<StoredWords> bits{{slot}, 0, 0};
    if (coded) {
        BlockCode code;
        if (unit.kind == UnitKind::chroma_dc) {
            constexpr bool k420 = F != ChromaFormat::c422;
            code = {k420 ? kTokensDc420 : kTokensDc422, k420 ? kZerosDc420 : kZerosDc422, k420 ? 4 : 8};
        } else {
            const uint8_t *own_totals = &totals[unit.macroblock * kBlocks];
            if (!unit.above_outside) above = own_totals[unit.above];
            if (!unit.left_outside)
                left = own_totals[unit.left];
            else if (unit.macroblock > 0 && address % width)
                left = own_totals[unit.left - kBlocks];
            code = {token_table(predict_total(left, above)), kZeros4x4, ac ? 15 : 16};
        }
        uint32_t sign_flips = 0;
        if (p.picture.sign_flips)
            sign_flips = uint32_t{p.picture.sign_flips[address * kBlocks + static_cast<uint32_t>(unit.block)]} >>
                         8 * unit.component;
        code_block(*p.tables, code, nonzero, SharedLevels{halves_of(opaque_shared(own_levels)) + ac}, sign_flips, bits);
    } else if (present && unit.kind == UnitKind::header) {
        if (begins_slice && unit.macroblock == 0) put_slice_header(p.headers[p.ranges[piece].slice], bits);
        code_macroblock_header(p.format, load_macroblock(macroblock), bits);
    } else if (pcm && unit.component == 0 && unit.block < pcm_blocks(F)) {
        code_pcm_block(p.format, unit.block, macroblock_levels + 16 * unit.block, bits);
    }
    uint32_t own_bits = bits.bits;
    // Samples of I_PCM are in the order of blocks.
    const int order = unit.macroblock * kUnits + (pcm && unit.kind != UnitKind::header ? 1 + unit.block : unit.order);
    if (own_bits) {
        bits.words.put(bits.pending);
        bits_before[order] = own_bits;
    }
    block_sync();

    // Then it is known where its bits begin.
    uint32_t *window = levels;
    if (warp_id() == 0) {
        uint32_t own[kLaneUnits], sum = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < kLaneUnits; i++) sum += own[i] = bits_before[lane_id() * kLaneUnits + i];
        const uint32_t scanned = warp_inclusive_add(sum), all = warp_shuffle(scanned, 31);
        uint32_t before = scanned - sum;
        CUDAENC_UNROLL
        for (int i = 0; i < kLaneUnits; i++) {
            bits_before[lane_id() * kLaneUnits + i] = before;
            before += own[i];
        }
        if (lane_id() == 0) all_bits[0] = all;
        const uint32_t words = min_of((all + 8 * kPieceMacroblocks) / 32 + 3, kWindowWords);
        for (uint32_t i = static_cast<uint32_t>(lane_id()); i < words; i += 32) window[i] = 0;
    }
    block_sync();
    const uint32_t all = all_bits[0];
    const bool fits = all + 8 * kPieceMacroblocks + 32 * 2 < 32 * p.word_pitch;

    // The samples of the first I_PCM macroblock begin with a byte, whatever comes before; what follows is the tail.
    // From there on samples of others are aligned to the tail's beginning.
    uint32_t pcms = 0;
    for (uint32_t i = 0; any_pcm && i < kPieceMacroblocks; i++) pcms |= uint32_t{pcm_macroblocks[i]} << i;
    const bool has_tail = fits && pcms;
    const uint32_t first_pcm = pcms ? static_cast<uint32_t>(find_first_set(pcms)) : 0;
    const uint32_t tail_order = first_pcm * kUnits + 1, head = !fits ? 0 : has_tail ? bits_before[tail_order] : all;
    uint32_t tail = has_tail ? all - head : 0, begin = own_bits ? bits_before[order] : 0;
    if (!fits) own_bits = 0;
    const bool in_tail = has_tail && static_cast<uint32_t>(order) >= tail_order;
    if (has_tail) {
        uint32_t padding = 0;
        for (uint32_t i = first_pcm + 1; i < kPieceMacroblocks; i++) {
            if (!(pcms >> i & 1)) continue;
            const uint32_t samples_order = i * kUnits + 1;
            const uint32_t alignment = (0 - (bits_before[samples_order] - head + padding)) & 7;
            padding += alignment;
            if (static_cast<uint32_t>(order) >= samples_order) begin += alignment;
        }
        tail += padding;
    }

    // The tail begins a word.
    if (in_tail) begin += (0 - head) & 31;
    const uint32_t shift = begin % 32;
    uint32_t *to = window + begin / 32, last = 0;
    CUDAENC_NO_UNROLL
    for (uint32_t i = 0; own_bits && 32 * i < shift + own_bits; i++) {
        const uint32_t next = 32 * i < own_bits ? slot[i] : 0;
        atomic_or(to + i, funnel_shift_right(next, last, shift));
        last = next;
    }
    block_sync();
    const uint32_t words = (head + 31) / 32 + (tail + 31) / 32;
    uint32_t *piece_words = p.words + uint64_t{piece} * p.word_pitch;
    for (uint32_t i = static_cast<uint32_t>(thread); i < words; i += kThreads) piece_words[i] = window[i];
    if (thread == 0) {
        p.bits[piece] = {head, tail};
        if (!fits) p.result->failed = p.number;
    }
}

// Thread-blocks that fit a multiprocessor by their threads, which Turing has fewer of. More of them would have fewer
// registers each, and were no faster.
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
