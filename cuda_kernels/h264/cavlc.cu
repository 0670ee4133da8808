// Macroblocks to bits (H.264, 7.3.5, 9.2), after CAVLCU (Fuentes-Alventosa et al., 2021): one kernel, a thread a block.
// A thread has its levels in registers, brings them into the order of the scan there and tells which are not 0 by a bit
// mask. Its nC comes from the total_coeff of the neighbours in the piece; those of blocks beyond it are counted again
// from their levels, so that no thread-block waits for another. SPDX-License-Identifier: LGPL-2.1-or-later
#include "../bits.cuh"
#include "../device.cuh"
#include "cavlc_params.h"

namespace cudaenc::h264 {

// ---- Which block a thread has

enum class UnitKind { luma, chroma_ac, luma_dc, chroma_dc, header, none };
struct Unit {
    UnitKind kind;
    int macroblock;  // in the piece
    int block;       // among the levels of the macroblock
    int component;   // of chroma DC: 0 or 1
};

template <ChromaFormat F>
DEVICE Unit unit_of_thread() {
    using Threads = PieceThreads<F>;
    int t = thread_x();
    if (t < kPieceMacroblocks * Threads::kLuma) {
        const int within = t % (16 * kPieceMacroblocks);
        return {UnitKind::luma, within / 16, t / (16 * kPieceMacroblocks) * kLumaBlocks + within % 16, 0};
    }
    t -= kPieceMacroblocks * Threads::kLuma;
    if constexpr (Threads::kChromaAc > 0) {
        if (t < kPieceMacroblocks * Threads::kChromaAc)
            return {UnitKind::chroma_ac, t / Threads::kChromaAc, kChromaAcBlock + t % Threads::kChromaAc, 0};
        t -= kPieceMacroblocks * Threads::kChromaAc;
    }
    const int macroblock = t % kPieceMacroblocks, i = t / kPieceMacroblocks;
    if (i < Threads::kLumaDc) return {UnitKind::luma_dc, macroblock, i * kLumaBlocks + kLumaDcBlock, 0};
    if (i < Threads::kLumaDc + Threads::kChromaDc)
        return {UnitKind::chroma_dc, macroblock, kChromaDcBlock, i - Threads::kLumaDc};
    return {i == Threads::kLumaDc + Threads::kChromaDc ? UnitKind::header : UnitKind::none, macroblock, 0, 0};
}

// Where its bits are in the order of the macroblock, 0 to kUnits - 1. Samples of I_PCM are in the order of blocks; the
// thread of Cr's DC has none.
template <ChromaFormat F>
DEVICE int order_in_macroblock(const Unit &u, bool pcm) {
    if (u.kind == UnitKind::header) return 0;
    if (pcm) return u.kind == UnitKind::chroma_dc && u.component ? PieceThreads<F>::kUnits - 1 : 1 + u.block;
    if (u.kind == UnitKind::luma_dc) return 1 + u.block - kLumaDcBlock;
    if (u.kind == UnitKind::luma) return 2 + u.block;
    return 1 + u.block + (u.kind == UnitKind::chroma_dc ? u.component : 1);
}

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
    for (int i = 0; i < 4; i++) own.words[i] = raster.words[component ? 4 + i : i];
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
    const uint32_t *words;
    int first;
    DEVICE_MEMBER int32_t operator()(int k) const {
        const int at = k + first;
        return static_cast<int32_t>(words[at >> 1] << (at & 1 ? 0 : 16)) >> 16;
    }
};

// total_coeff of a block that has an nC, counted from the levels of its macroblock.
template <ChromaFormat F>
DEVICE int count_total(const CavlcTables *tables, const Macroblock &m, const int16_t *levels, int block) {
    if (m.type == MacroblockType::pcm) return 16;
    if (!is_coded(m, F, block)) return 0;
    const bool chroma = F != ChromaFormat::c444 && block >= kChromaAcBlock;
    if (m.type == MacroblockType::i8x8 && !chroma) {
        const int part = block % kLumaBlocks & 3;
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

// What a thread puts: its block's code, or samples, or what comes before the blocks.
struct UnitCode {
    bool header, pcm, coded;
    int block;
    const Macroblock *macroblock;
    const SliceHeaderBits *slice_header;  // of a macroblock that begins a slice, else nullptr
    const int16_t *samples;               // of I_PCM
    BlockCode code;
    uint32_t nonzero, sign_flips;
    SharedLevels levels;
};

template <ChromaFormat F, class Bits>
DEVICE void code_unit(const CavlcArguments &p, const UnitCode &u, Bits &out) {
    if (u.header) {
        if (u.slice_header) {
            const uint32_t count = u.slice_header->count;
            for (uint32_t at = 0; at < count; at += 16) {
                const uint32_t bits = u.slice_header->words[at / 32] << at % 32, part = min_of(count - at, 16u);
                out.put(bits >> (32 - part), part);
            }
        }
        code_macroblock_header(p.format, *u.macroblock, out);
    } else if (u.pcm) {
        if (u.block < pcm_blocks(F)) code_pcm_block(p.format, u.block, u.samples, out);
    } else if (u.coded) {
        code_block(*p.tables, u.code, u.nonzero, u.levels, u.sign_flips, out);
    }
}

// Most units have no more bits than a slot.
constexpr int kSlotWords = 8, kSlotPitch = kSlotWords + 1;

// ---- Zero bits, for emulation prevention

// Bits of a head or a tail, after which there are zeros to the end of the last word.
struct PlacedBits {
    const uint32_t *words;
    uint32_t count;
};
// All of them, where there is no one.
DEVICE uint32_t leading_zeros(const PlacedBits &b) {
    uint32_t w = 0;
    while (32 * w < b.count && b.words[w] == 0) w++;
    return 32 * w < b.count ? 32 * w + static_cast<uint32_t>(count_leading_zeros(b.words[w])) : b.count;
}
DEVICE uint32_t trailing_zeros(const PlacedBits &b) {
    uint32_t w = (b.count + 31) / 32;
    while (w > 0 && b.words[w - 1] == 0) w--;
    return w ? b.count - 32 * w + static_cast<uint32_t>(find_first_set(b.words[w - 1])) : b.count;
}
// Adds what zeros ask for that begin in word w, where the bits begin with bit 0 to phases - 1 of a byte. Those before
// the first one and after the last one are left out.
DEVICE void add_preventions(const PlacedBits &b, uint32_t w, uint32_t phases, uint32_t *sums) {
    const uint64_t zeros = ~(uint64_t{b.words[w]} << 32 | b.words[w + 1]);
    static_assert(kLeastPreventionBits == 22);
    uint64_t runs = zeros & zeros << 1;
    runs &= runs << 2;
    runs &= runs << 4;
    runs &= runs << 8;
    runs &= runs << 6;
    runs &= ~(zeros >> 1);
    if (w == 0 || !(b.words[w - 1] & 1)) runs &= ~(uint64_t{1} << 63);
    for (uint32_t found = static_cast<uint32_t>(runs >> 32); found;) {
        const uint32_t place = static_cast<uint32_t>(count_leading_zeros(found));
        found &= ~(0x80000000u >> place);
        uint32_t end_word = w, bits = b.words[w] & (0xFFFFFFFFu >> place);
        while (!bits && 32 * ++end_word < b.count) bits = b.words[end_word];
        const uint32_t begin = 32 * w + place, end = 32 * end_word + static_cast<uint32_t>(count_leading_zeros(bits));
        if (end >= b.count) return;
        for (uint32_t phase = 0; phase < phases; phase++) {
            const uint32_t count = count_preventions(phase + begin, phase + end, 0, phase + end);
            if (count) atomic_add(&sums[phase], count);
        }
    }
}

// ---- The kernel

template <ChromaFormat F>
DEVICE void code_piece(const CavlcArguments &p) {
    constexpr int kBlocks = blocks_per_macroblock(F), kThreads = PieceThreads<F>::kThreads, kWarps = kThreads / 32;
    constexpr int kUnits = PieceThreads<F>::kUnits, kAbove = kPieceMacroblocks, kLeft = 2 * kPieceMacroblocks;
    constexpr uint32_t kWindowWords = kThreads * kSlotPitch;
    using Window = WindowWords<kWindowWords>;
    SHARED(Macroblock, macroblocks, kLeft + 1);  // of the piece, those above them, the one to the left
    SHARED(uint8_t, totals, kPieceMacroblocks *kBlocks);
    SHARED(uint32_t, levels, kThreads *kLevelPitch);
    SHARED(uint32_t, slots, kThreads *kSlotPitch);
    SHARED(uint32_t, bits_before, kThreads);  // by order: of the own unit, then of all before
    SHARED(uint32_t, warp_bits, kWarps);
    SHARED(uint32_t, preventions, 9);  // of the head, by phase, and of the tail
    const int thread = thread_x();
    const PieceRange range = p.ranges[block_x()];
    const Slice slice = p.slices[range.slice];
    const uint32_t width = static_cast<uint32_t>(p.format.width);
    const uint32_t count = range.count, slice_first = slice.first;
    const bool has_left = range.first % width && range.first > slice_first;

    if (thread < kAbove) {
        if (static_cast<uint32_t>(thread) < count)
            macroblocks[thread] = p.picture.macroblocks[range.first + static_cast<uint32_t>(thread)];
    } else if (thread < kLeft) {
        const uint32_t address = range.first + static_cast<uint32_t>(thread - kAbove);
        if (address < range.first + count && address >= slice_first + width)
            macroblocks[thread] = p.picture.macroblocks[address - width];
    } else if (thread == kLeft) {
        if (has_left) macroblocks[thread] = p.picture.macroblocks[range.first - 1];
    }
    bits_before[thread] = 0;
    if (thread < 9) preventions[thread] = 0;
    block_sync();

    // Levels to registers, in the order of the scan.
    const Unit unit = unit_of_thread<F>();
    const bool present = unit.kind != UnitKind::none && static_cast<uint32_t>(unit.macroblock) < count;
    const uint32_t address = range.first + static_cast<uint32_t>(unit.macroblock);
    const uint64_t first_block = uint64_t{address} * kBlocks;
    const int16_t *macroblock_levels = p.picture.levels + 16 * first_block;
    const Macroblock &m = macroblocks[present ? unit.macroblock : 0];
    const bool pcm = present && m.type == MacroblockType::pcm;
    const bool coded = present && unit.kind != UnitKind::header && is_coded(m, F, unit.block);
    const bool part_of_8x8 = coded && unit.kind == UnitKind::luma && m.type == MacroblockType::i8x8;
    const bool ac =
        unit.kind == UnitKind::chroma_ac || (unit.kind == UnitKind::luma && m.type == MacroblockType::i16x16);
    uint32_t *own_levels = &levels[thread * kLevelPitch];
    BlockWords block{};
    if (coded) block = load_block(macroblock_levels + 16 * unit.block);
    if (warp_any(part_of_8x8)) {
        const int part = unit.block % kLumaBlocks & 3;
        if (part_of_8x8) {
            CUDAENC_UNROLL
            for (int i = 0; i < 8; i++) own_levels[i] = block.words[i];
        }
        warp_sync();
        if (part_of_8x8) block = gather_8x8(p.tables, levels, part);
        warp_sync();
    }
    if (unit.kind == UnitKind::chroma_dc)
        block = scan_chroma_dc_words<F>(block, unit.component);
    else if (!part_of_8x8)
        block = zigzag(block);
    uint32_t nonzero = 0;
    if (coded) {
        nonzero = nonzero_mask(block);
        if (ac) nonzero >>= 1;
        CUDAENC_UNROLL
        for (int i = 0; i < 8; i++) own_levels[i] = block.words[i];
    }

    // nC
    int left = -1, above = -1;
    BlockNeighbours neighbours{};
    if (coded && unit.kind != UnitKind::chroma_dc) {
        neighbours = neighbours_of(F, unit.block);
        if (neighbours.above_outside && address >= slice_first + width)
            above = count_total<F>(p.tables, macroblocks[kAbove + unit.macroblock],
                                   macroblock_levels - uint64_t{16 * kBlocks} * width, neighbours.above);
        if (neighbours.left_outside && unit.macroblock == 0 && has_left)
            left = count_total<F>(p.tables, macroblocks[kLeft], macroblock_levels - 16 * kBlocks, neighbours.left);
    }
    if (present && (unit.kind == UnitKind::luma || unit.kind == UnitKind::chroma_ac))
        totals[unit.macroblock * kBlocks + unit.block] = static_cast<uint8_t>(pcm ? 16 : popcount(nonzero));
    block_sync();
    UnitCode code{unit.kind == UnitKind::header,
                  pcm && unit.component == 0,
                  coded,
                  unit.block,
                  &m,
                  nullptr,
                  nullptr,
                  {},
                  nonzero,
                  0,
                  {}};
    if (coded) {
        if (unit.kind == UnitKind::chroma_dc) {
            constexpr bool k420 = F != ChromaFormat::c422;
            code.code = {k420 ? kTokensDc420 : kTokensDc422, k420 ? kZerosDc420 : kZerosDc422, k420 ? 4 : 8};
        } else {
            if (!neighbours.above_outside) above = totals[unit.macroblock * kBlocks + neighbours.above];
            if (!neighbours.left_outside)
                left = totals[unit.macroblock * kBlocks + neighbours.left];
            else if (unit.macroblock > 0 && address % width)
                left = totals[(unit.macroblock - 1) * kBlocks + neighbours.left];
            code.code = {token_table(predict_total(left, above)), kZeros4x4, ac ? 15 : 16};
        }
        code.levels = {own_levels, ac};
        if (p.picture.sign_flips)
            code.sign_flips =
                static_cast<uint32_t>(p.picture.sign_flips[first_block + static_cast<uint32_t>(unit.block)]) >>
                8 * unit.component;
    }
    if (pcm) code.samples = macroblock_levels + 16 * unit.block;
    if (address == slice_first) code.slice_header = p.headers + range.slice;

    // Each unit into its slot; then it is known where its bits begin.
    uint32_t *slot = &slots[thread * kSlotPitch];
    const int order = unit.macroblock * kUnits + order_in_macroblock<F>(unit, pcm);
    uint32_t own_bits = 0;
    if (present) {
        WordWriter<SlotWords> bits{{slot, kSlotWords}, 0, 0};
        code_unit<F>(p, code, bits);
        own_bits = static_cast<uint32_t>(kSlotWords - bits.words.room) * 32 + bits.filled;
        bits.words.put(bits.pending);
        bits_before[order] = own_bits;
    }
    block_sync();
    const uint32_t bits_by_order = bits_before[thread], scanned = warp_inclusive_add(bits_by_order);
    if (lane_id() == 31) warp_bits[warp_id()] = scanned;
    block_sync();
    uint32_t before = scanned - bits_by_order, total = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < kWarps; i++) {
        before += i < warp_id() ? warp_bits[i] : 0;
        total += warp_bits[i];
    }
    bits_before[thread] = before;
    uint32_t slot_words[kSlotWords];
    CUDAENC_UNROLL
    for (uint32_t i = 0; i < kSlotWords; i++) slot_words[i] = 32 * i < own_bits ? slot[i] : 0;
    block_sync();

    // The head ends where the samples of the first I_PCM macroblock begin; those of the others are aligned in the tail.
    uint32_t first_pcm = 0;
    while (first_pcm < count && macroblocks[first_pcm].type != MacroblockType::pcm) first_pcm++;
    const bool has_tail = first_pcm < count, ends_slice = range.first + count == slice_first + slice.count;
    const uint32_t tail_order = first_pcm * kUnits + 1;
    uint32_t head = has_tail ? bits_before[tail_order] : total, tail = has_tail ? total - head : 0;
    const uint32_t tail_begin = 32 * tail_word(head);
    uint32_t begin = present ? bits_before[order] : 0;
    if (has_tail) {
        const bool in_tail = static_cast<uint32_t>(order) >= tail_order;
        uint32_t padding = 0;
        if (in_tail) begin += tail_begin - head;
        for (uint32_t i = first_pcm + 1; i < count; i++) {
            if (macroblocks[i].type != MacroblockType::pcm) continue;
            const uint32_t samples_order = i * kUnits + 1;
            const uint32_t alignment = (0 - (bits_before[samples_order] - head + padding)) & 7;
            padding += alignment;
            if (static_cast<uint32_t>(order) >= samples_order) begin += alignment;
        }
        tail += padding;
    }
    const uint32_t stop_bit = has_tail ? tail_begin + tail : head;
    if (ends_slice) (has_tail ? tail : head)++;
    const uint32_t words = has_tail ? tail_begin / 32 + tail_word(tail) : tail_word(head);
    const bool fits = words <= p.out.words_per_piece && words < kWindowWords;

    uint32_t *window = slots;
    for (uint32_t i = static_cast<uint32_t>(thread); i < min_of(words + 1, kWindowWords); i += kThreads) window[i] = 0;
    block_sync();
    Window to{window, begin / 32};
    const uint32_t shift = begin % 32;
    if (own_bits <= kSlotWords * 32) {
        uint32_t last = 0;
        CUDAENC_UNROLL
        for (uint32_t i = 0; i <= kSlotWords; i++) {
            const uint32_t next = i < kSlotWords ? slot_words[i] : 0;
            if (own_bits && 32 * i < shift + own_bits) to.put(funnel_shift_right(next, last, shift));
            last = next;
        }
    } else {
        WordWriter<Window> bits{to, shift, 0};
        code_unit<F>(p, code, bits);
        bits.words.put(bits.pending);
    }
    if (thread == 0 && ends_slice && fits) atomic_or(&window[stop_bit / 32], 0x80000000u >> stop_bit % 32);
    block_sync();

    const uint32_t piece = static_cast<uint32_t>(block_x());
    const PlacedBits head_bits{window, head}, tail_bits{window + tail_begin / 32, tail};
    if (fits) {
        uint32_t *out = p.out.words + uint64_t{piece} * p.out.words_per_piece;
        for (uint32_t i = static_cast<uint32_t>(thread); i < words; i += kThreads) {
            out[i] = window[i];
            if (32 * i < head)
                add_preventions(head_bits, i, 8, preventions);
            else if (has_tail && i >= tail_begin / 32 && 32 * i < tail_begin + tail)
                add_preventions(tail_bits, i - tail_begin / 32, 1, &preventions[8]);
        }
    }
    block_sync();
    if (thread == 0) {
        p.out.bits[piece] = {fits ? head : kTooManyBits, tail};
        if (fits) {
            PieceZeros zeros{leading_zeros(head_bits), trailing_zeros(head_bits), 0, 0, {}, preventions[8]};
            CUDAENC_UNROLL
            for (int i = 0; i < 8; i++) zeros.head_preventions[i] = static_cast<uint16_t>(preventions[i]);
            if (has_tail) {
                zeros.tail_leading = leading_zeros(tail_bits);
                zeros.tail_trailing = trailing_zeros(tail_bits);
            }
            p.out.zeros[piece] = zeros;
        }
    }
}

KERNEL(PieceThreads<ChromaFormat::c400>::kThreads, h264_cavlc_400, CavlcParams<ChromaFormat::c400>)
{
    code_piece<ChromaFormat::c400>(p);
}
KERNEL(PieceThreads<ChromaFormat::c420>::kThreads, h264_cavlc_420, CavlcParams<ChromaFormat::c420>)
{
    code_piece<ChromaFormat::c420>(p);
}
KERNEL(PieceThreads<ChromaFormat::c422>::kThreads, h264_cavlc_422, CavlcParams<ChromaFormat::c422>)
{
    code_piece<ChromaFormat::c422>(p);
}
KERNEL(PieceThreads<ChromaFormat::c444>::kThreads, h264_cavlc_444, CavlcParams<ChromaFormat::c444>)
{
    code_piece<ChromaFormat::c444>(p);
}

}  // namespace cudaenc::h264
