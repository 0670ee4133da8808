// SPDX-License-Identifier: LGPL-2.1-or-later
// Macroblocks to bits (H.264, 7.3.5, 9.2), after CAVLCU (Fuentes-Alventosa et al., 2021): one kernel, a thread a block.
// A thread holds its levels in registers, reorders them to the scan, and marks the nonzero ones in a bit mask. Its nC
// comes from total_coeff of its neighbours. Those beyond the piece are counted from their levels, by 8 lanes four
// blocks, so pieces wait for nobody. Of P slices a map of skipped macroblocks says how many there are before a piece.
// nal.cu joins the bits of pieces.
#include <cstddef>

#include "../bits.cuh"
#include "../device.cuh"
#include "block_words.cuh"
#include "cavlc_params.h"

namespace cudaenc::h264 {

// ---- Levels

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

// The syntax elements of a macroblock that decide how its blocks are coded.
struct BlockSyntax {
    MacroblockType type;  // of an inter macroblock with 8x8 transforms I_8x8, whose blocks are the same
    uint32_t pattern;     // coded_pattern()
};
template <bool Predicted>
DEVICE BlockSyntax block_syntax(const Macroblock *macroblock) {
    if constexpr (Predicted) {
        static_assert(offsetof(Macroblock, coded_block_pattern) == 1 &&
                      offsetof(Macroblock, transform_size_8x8_flag) == 7);
        const uint64_t begin = load_readonly(reinterpret_cast<const uint64_t *>(macroblock));
        const auto type = static_cast<MacroblockType>(begin & 255);
        if (type == MacroblockType::skip) return {type, 0};
        return {is_inter(type) && begin >> 56 ? MacroblockType::i8x8 : type,
                coded_pattern(type, static_cast<uint32_t>(begin >> 8 & 255))};
    }
    struct alignas(4) Begin {
        MacroblockType type;
        uint8_t pattern;
    };
    static_assert(offsetof(Macroblock, coded_block_pattern) == offsetof(Begin, pattern));
    const Begin begin = load_readonly(reinterpret_cast<const Begin *>(macroblock));
    return {begin.type, coded_pattern(begin.type, begin.pattern)};
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

// A lane's 8 levels beyond the piece. They are loaded along with those of the lane's own unit, so that both wait once.
template <ChromaFormat F, bool Predicted>
struct BorderLevels {
    const BorderShare share;
    BlockSyntax m{};
    Uint4 levels{};
    bool present = false, coded = false;

    DEVICE_MEMBER BorderLevels(const CavlcArguments &p, int lane) : share(load_readonly(p.borders + lane)) {}
    DEVICE_MEMBER uint32_t address(const PieceRange &range) const {
        return range.first + static_cast<uint32_t>(share.macroblock);
    }
    DEVICE_MEMBER void load_macroblock(const CavlcArguments &p, const PieceRange &range) {
        present = !(range.without_border >> share.outside & 1);
        if (present) m = block_syntax<Predicted>(p.picture.macroblocks + address(range));
    }
    DEVICE_MEMBER void load_levels(const CavlcArguments &p, const PieceRange &range) {
        coded = present && m.pattern & share.coded_by;
        if (!coded) return;
        const int16_t *from = p.picture.levels + address(range) * (16u * blocks_per_macroblock(F)) + share.level;
        levels = load_readonly(reinterpret_cast<const Uint4 *>(from));
    }
    // Stores total_coeff of the blocks. With all threads.
    DEVICE_MEMBER void count(const CavlcArguments &p, int lane, auto &totals) const {
        const uint32_t within = static_cast<uint32_t>(lane) & 7;
        uint32_t counts = 0;  // of the four blocks, a byte each
        if (coded) {
            const uint32_t words[4] = {levels.x, levels.y, levels.z, levels.w};
            uint32_t nonzero = 0;
            CUDAENC_UNROLL
            for (int k = 0; k < 4; k++) {
                const uint32_t halves = nonzero_halves(words[k]);
                nonzero |= ((halves >> 15 | halves >> 30) & 3) << 2 * k;
            }
            const bool ac = share.chroma || m.type == MacroblockType::i16x16;
            if (m.type == MacroblockType::i8x8 && !share.chroma)
                counts = popcount_bytes(nonzero * 0x01010101u & load_readonly(&p.parts->rows[within]));
            else
                counts = static_cast<uint32_t>(popcount(ac && !(within & 1) ? nonzero & ~1u : nonzero))
                         << 8 * (within / 2);
        } else if (present && m.type == MacroblockType::pcm && !(within & 1)) {
            counts = 16u << 8 * (within / 2);
        }
        CUDAENC_UNROLL
        for (int distance = 1; distance < 8; distance *= 2) counts += warp_shuffle_xor(counts, distance);
        if (lane < 8 * PieceTotals<F>::kBorders && within < 4)
            totals[PieceTotals<F>::kOwn + lane / 8 * 4 + static_cast<int>(within)] =
                static_cast<uint8_t>(counts >> 8 * within);
    }
};

// ---- A thread's unit

// Words of a unit at most: a coeff_token of 16 bits and 16 levels of 36 bits, or a slice header and a macroblock
// header. Odd, against bank conflicts.
constexpr int kSlotWords = 19;

// The unit of a thread: a block, or a macroblock header. First, what memory says of it.
template <ChromaFormat F, bool Predicted>
struct ThreadUnit {
    static constexpr int kBlocks = blocks_per_macroblock(F), kUnits = PieceThreads<F>::kUnits;
    static constexpr int kBlockThreads = kPieceMacroblocks * (kUnits - 1);

    const CavlcArguments &p;
    const PieceRange &range;
    const Unit unit = load_readonly(p.units + thread_x());
    const bool present = unit.macroblock < range.count;
    const uint32_t address = range.first + (present ? unit.macroblock : 0);
    const Macroblock *const macroblock = p.picture.macroblocks + address;
    const int16_t *const macroblock_levels = p.picture.levels + address * (16u * kBlocks);
    const BlockSyntax m = block_syntax<Predicted>(macroblock);
    const bool is_header = unit.kind == UnitKind::header;
    const bool pcm = present && m.type == MacroblockType::pcm;
    const bool coded = present && m.pattern & unit.coded_by;
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
                block = p.format.field ? field_scan(block) : zigzag(block);
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

    // Writes the unit's bits to its slot and returns their number. skip_run: skip_run_of(), of P slices.
    DEVICE_MEMBER uint32_t code_header(uint32_t *slot, int32_t skip_run) const {
        WordWriter<StoredWords> bits{{slot}, 0, 0};
        if (range.begins_slice && unit.macroblock == 0) code_slice_header(p.headers[range.slice], bits);
        if constexpr (Predicted) {
            if (skip_run >= 0) put_skip_run(static_cast<uint32_t>(skip_run), bits);
            if (m.type != MacroblockType::skip) {
                const Macroblock loaded = load_macroblock(macroblock);
                if (is_inter(loaded.type))
                    code_inter_header(p.format, loaded, bits);
                else
                    code_macroblock_header(p.format, loaded, bits, kFirstIntraTypeOfP);
            }
        } else {
            if constexpr (F == ChromaFormat::c422) put_field_decoding_flag(p.format, address, bits);  // of AVC-Intra
            code_macroblock_header(p.format, load_macroblock(macroblock), bits);
        }
        if (bits.bits) bits.words.put(bits.pending);
        return bits.bits;
    }
    // The word of MacroblockBits. bits_before: by order, of a piece with `all` bits. Of a header's thread.
    DEVICE_MEMBER uint32_t bits_of_macroblock(auto &bits_before, uint32_t all) const {
        if (m.type == MacroblockType::skip) return 0;  // behind the last one of a slice may be mb_skip_run
        const uint32_t at = unit.macroblock, end = at + 1 < kPieceMacroblocks ? bits_before[(at + 1) * kUnits] : all;
        const uint32_t header = range.begins_slice && at == 0 ? p.headers[range.slice].count : 0;
        return (end - bits_before[at * kUnits] - header) | (pcm ? MacroblockBits::kPcm : 0);
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

// ---- Skipped macroblocks

KERNEL(kSkipMapThreads, h264_skip_map, SkipMapParams)
{
    const uint32_t m = static_cast<uint32_t>(block_x() * kSkipMapThreads + thread_x());
    const uint32_t coded = warp_ballot(m < p.count && p.macroblocks[m].type != MacroblockType::skip);
    if (lane_id() == 0 && m < p.count) p.coded[m / 32] = coded;
}

// The skipped macroblocks of the slice just before the piece. With a whole warp, which looks at 1024 at once.
DEVICE uint32_t skipped_before(const CavlcArguments &p, const PieceRange &range) {
    if (range.begins_slice) return 0;
    const uint32_t slice_first = range.first - range.before * uint32_t{kPieceMacroblocks};
    const int32_t first_word = static_cast<int32_t>(slice_first / 32);
    for (int32_t word = static_cast<int32_t>((range.first - 1) / 32); word >= first_word; word -= 32) {
        const int32_t own = word - lane_id();
        uint32_t coded = own >= first_word ? load_readonly(p.coded + own) : 0;
        if (own == first_word) coded &= ~0u << slice_first % 32;
        if (own == static_cast<int32_t>(range.first / 32)) coded &= (1u << range.first % 32) - 1;
        const uint32_t lanes = warp_ballot(coded != 0);
        if (!lanes) continue;
        const int nearest = find_first_set(lanes);
        const int32_t last = 32 * (word - nearest) + floor_log2(warp_shuffle(coded, nearest));
        return range.first - 1 - static_cast<uint32_t>(last);
    }
    return range.first - slice_first;
}

// mb_skip_run before the macroblock of the lane, or, of the last one of a slice, behind it; -1: there is none. With a
// whole warp, whose lane First + i has macroblock i of the piece where that is present.
template <int First>
DEVICE int32_t skip_run_of(const CavlcArguments &p, const PieceRange &range, bool present, bool skipped) {
    const int32_t lane = First ? max_of(lane_id() - First, 0) : lane_id();
    const auto ends_slice = [&] {
        return block_x() + 1 == grid_x() || load_readonly(p.ranges + block_x() + 1).begins_slice;
    };
    const bool has_run = present && (!skipped || (lane + 1 == range.count && ends_slice()));
    const uint32_t coded = warp_ballot(present && !skipped) >> First & ((1u << lane) - 1);
    int32_t run = coded ? lane - 1 - floor_log2(coded) : lane;
    if (warp_any(has_run && !coded)) {
        const uint32_t before = skipped_before(p, range);
        if (!coded) run += static_cast<int32_t>(before);
    }
    return has_run ? run + skipped : -1;
}

// ---- A piece

// Replaces the number of bits of each unit by the number of bits before it. Returns the sum. With one warp.
template <int LaneUnits>
DEVICE uint32_t sum_bits(auto &bits) {
    uint32_t own[LaneUnits], sum = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < LaneUnits; i++) sum += own[i] = bits[lane_id() * LaneUnits + i];
    const uint32_t scanned = warp_inclusive_add(sum);
    uint32_t before = scanned - sum;
    CUDAENC_UNROLL
    for (int i = 0; i < LaneUnits; i++) {
        bits[lane_id() * LaneUnits + i] = before;
        before += own[i];
    }
    return scanned;
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

// An emulation_prevention_three_byte goes after two bytes of 0, before a third below 4: in a run of so many zeros.
constexpr int kZeroRun = 22;
// A piece within a slice that has bits begins with at most so many zeros: those of mb_type from 15 on, or of
// mb_skip_run.
template <bool Predicted>
DEVICE uint32_t most_first_zeros(const CodedFormat &f) {
    return Predicted ? static_cast<uint32_t>(floor_log2(static_cast<uint32_t>(f.macroblocks()) + 1)) : 4;
}
// Whether such a run begins in the first of two words.
DEVICE bool begins_zero_run(uint32_t word, uint32_t next) {
    uint64_t zeros = ~(uint64_t{word} << 32 | next);
    for (int run = 1; run < 16; run *= 2) zeros &= zeros << run;
    return (zeros & zeros << (kZeroRun - 16)) != 0;
}
// Whether word i of a piece of `bits` bits has a part of such a run, with zeros that the next bits may begin with.
DEVICE bool has_zero_run(const uint32_t *window, uint32_t i, uint32_t bits, uint32_t first_zeros) {
    const uint32_t all = bits + first_zeros;
    const auto word_then_ones = [&](uint32_t k) {
        return 32 * k >= all ? ~0u : 32 * (k + 1) > all ? window[k] | ~0u >> all % 32 : window[k];
    };
    // Of a run over the end of a word, eleven zeros are on one side. Any other one takes the middle of its word.
    const uint32_t word = word_then_ones(i);
    if ((word & 0x7FF) && word >> 21 && (word & 0x003FFC00)) return false;
    return begins_zero_run(word, word_then_ones(i + 1)) || (i && begins_zero_run(window[i - 1], word));
}

template <ChromaFormat F, bool Predicted>
DEVICE void code_piece(const CavlcArguments &p) {
    using Threads = ThreadUnit<F, Predicted>;
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
    const PieceRange range = load_readonly(p.ranges + block_x());
    BorderLevels<F, Predicted> border(p, thread);
    border.load_macroblock(p, range);
    Threads unit{p, range};
    const BlockWords block = unit.load_levels();
    border.load_levels(p, range);
    border.count(p, thread, totals);
    for (int round = 1; round * PieceThreads<F>::kThreads < border_lanes<F>(); round++) {
        const int lane = round * PieceThreads<F>::kThreads + thread;
        BorderLevels<F, Predicted> more(p, lane);
        more.load_macroblock(p, range);
        more.load_levels(p, range);
        more.count(p, lane, totals);
    }
    unit.scan_levels(block, levels, totals);
    const int slot_number =
        unit.is_header ? Threads::kBlockThreads + unit.unit.macroblock : min_of(thread, Threads::kBlockThreads - 1);
    uint32_t *slot = opaque_shared(&slots[slot_number * kSlotWords]);
    uint32_t bits = 0;
    if (unit.is_header) pcm_macroblocks[unit.unit.macroblock] = unit.pcm;
    const bool any_pcm = block_any(unit.pcm);

    int32_t skip_run = -1;
    if constexpr (Predicted) {
        constexpr int kFirst = PieceThreads<F>::kHeaders % 32;
        static_assert(kFirst + kPieceMacroblocks <= 32);
        if (warp_id() == PieceThreads<F>::kHeaders / 32)
            skip_run =
                skip_run_of<kFirst>(p, range, unit.is_header && unit.present, unit.m.type == MacroblockType::skip);
    }
    if (!unit.is_header)
        bits = unit.code(levels, totals, slot);
    else if (unit.present)
        bits = unit.code_header(slot, skip_run);
    if (bits) bits_before[unit.order] = bits;
    block_sync();

    uint32_t *window = levels;
    if (warp_id() == 0) {
        const uint32_t all = sum_bits<kLaneUnits>(bits_before);
        if (lane_id() == 31) all_bits[0] = all;
    } else {
        constexpr uint32_t kOthers = PieceThreads<F>::kThreads - 32, kRounds = (kWindowWords + kOthers - 1) / kOthers;
        static_assert(kRounds * kOthers <= Threads::kBlockThreads * kLevelPitch);
        CUDAENC_UNROLL
        for (uint32_t i = 0; i < kRounds; i++) window[i * kOthers + static_cast<uint32_t>(thread) - 32] = 0;
    }
    block_sync();
    const bool fits = all_bits[0] + 8 * kPieceMacroblocks + 32 * 2 < 32 * p.word_pitch;
    uint32_t pcm_mask = 0, begin = bits ? bits_before[unit.order] : 0;
    for (uint32_t i = 0; any_pcm && i < kPieceMacroblocks; i++) pcm_mask |= uint32_t{pcm_macroblocks[i]} << i;
    if (p.macroblock_bits && unit.is_header && unit.present)
        p.macroblock_bits[unit.address] = unit.bits_of_macroblock(bits_before, all_bits[0]);
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
    bool zero_run = thread == 0 && piece.tail;
    const uint32_t first_zeros = most_first_zeros<Predicted>(p.format);
    // Of more than eleven zeros in the next bits most may lie beyond the last word.
    const uint32_t checked = Predicted ? words + 1 : words;
    CUDAENC_NO_UNROLL
    for (uint32_t i = static_cast<uint32_t>(thread); i < checked; i += PieceThreads<F>::kThreads) {
        if (!Predicted || i < words) piece_words[i] = window[i];
        if (!piece.tail) zero_run |= has_zero_run(window, i, piece.head, first_zeros);
    }
    uint64_t *group_sum = p.sums + range.group;
    if (zero_run) atomic_add(group_sum, GroupSum::kZeroRun);
    if (thread == 0) {
        p.bits[block_x()] = piece;
        atomic_add(group_sum, (piece.tail ? GroupSum::kTail : 0) + piece.head + piece.tail);
        const uint32_t header = range.begins_slice ? p.headers[range.slice].count : 0;
        atomic_add(p.layer_bits, uint64_t{all_bits[0] - header + 7 * static_cast<uint32_t>(popcount(pcm_mask))});
        if (!fits) p.result->failed = p.number;
    }
}

// Threads of a multiprocessor at most, which set how many registers a thread has.
#if !CUDAENC_DEVICE_CODE || __CUDA_ARCH__ == 800 || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1100)
constexpr int kMultiprocessorThreads = 2048;
#elif __CUDA_ARCH__ < 800
constexpr int kMultiprocessorThreads = 1024;
#else
constexpr int kMultiprocessorThreads = 1536;
#endif
#define CAVLC_KERNEL(format, predicted, name)                                                                   \
    using name##_params = CavlcParams<ChromaFormat::format, predicted>;                                         \
    KERNEL_BLOCKS(PieceThreads<ChromaFormat::format>::kThreads,                                                 \
                  kMultiprocessorThreads / PieceThreads<ChromaFormat::format>::kThreads, name, name##_params) { \
        code_piece<ChromaFormat::format, predicted>(p);                                                         \
    }
CAVLC_KERNEL(c400, false, h264_cavlc_400)
CAVLC_KERNEL(c420, false, h264_cavlc_420)
CAVLC_KERNEL(c422, false, h264_cavlc_422)
CAVLC_KERNEL(c444, false, h264_cavlc_444)
CAVLC_KERNEL(c400, true, h264_cavlc_400_p)
CAVLC_KERNEL(c420, true, h264_cavlc_420_p)
CAVLC_KERNEL(c422, true, h264_cavlc_422_p)
CAVLC_KERNEL(c444, true, h264_cavlc_444_p)
#undef CAVLC_KERNEL

}  // namespace cudaenc::h264
