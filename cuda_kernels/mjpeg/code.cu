// Pixels to Huffman codes, and these to bytes: run-length and Huffman coding, bits joined to bytes, zeros stuffed,
// restart markers. A thread owns a block from its samples to its bits; what threads tell each other is the DC and how
// many bits there are; what thread-blocks tell each other is how many bits and bytes come before. With tables made for
// the picture there are two kernels, and levels in memory between them. SPDX-License-Identifier: LGPL-2.1-or-later
#include "../bits.cuh"
#include "../device.cuh"
#include "../look_back.cuh"
#include "../scan.cuh"
#include "levels.cuh"

namespace cudaenc::mjpeg {

// ---- Levels to bits

// Levels in the zig-zag sequence, some steps after the one before. What moves is the address, or it would be made anew
// at each of them.
struct LevelReader {
    const SignedHalf *at;
    DEVICE_MEMBER int32_t operator()(int steps) { return *(at += steps); }
};

constexpr int kSlotWords = 12, kSlotPitch = kSlotWords + 1;  // most blocks have no more bits than a slot
constexpr uint32_t kWindowWords = 768;                       // of a piece's bits, at a time

// ---- Bits to bytes

// Bit 8 i + 7: byte i is 0xFF.
DEVICE uint32_t full_bytes(uint32_t word) { return ((word & 0x7F7F7F7Fu) + 0x01010101u) & word & 0x80808080u; }

// Writes a piece's bytes with a zero stuffed after each 0xFF (F.1.2.3), 16 at a time from an address that 16 divides.
// What is left waits in `stage` for the next ones.
constexpr int kStuffedWords = 2 * kPieceBlocks;  // of the window, at a time
constexpr int kStageBytes = 2 * 4 * kStuffedWords + 32;
class StuffedBytes {
  public:
    // With all threads. to: where the first byte goes.
    DEVICE_MEMBER StuffedBytes(uint8_t *stage, uint8_t *to)
        : stage_(stage),
          skipped_(static_cast<uint32_t>(reinterpret_cast<uint64_t>(to)) & 15),
          held_(skipped_),
          to_(to - skipped_) {}
    // The next `bytes` bytes, of kStuffedWords words at most: word(i). Where it is the last part, all is written, after
    // a marker if that is not 0.
    template <class Word>
    DEVICE_MEMBER void append(const Word &word, uint32_t bytes, bool last, uint32_t marker) {
        constexpr uint32_t kRun = kStuffedWords / kPieceBlocks;
        const uint32_t thread = static_cast<uint32_t>(thread_x()), first = thread * kRun;
        uint32_t own[kRun], full = 0;
        CUDAENC_UNROLL
        for (uint32_t i = 0; i < kRun; i++) {
            own[i] = 4 * (first + i) < bytes ? word(first + i) : 0;
            full += static_cast<uint32_t>(popcount(full_bytes(own[i])));
        }
        const BlockSums sums = block_sums<kPieceBlocks / 32>(full);
        uint8_t *to = stage_ + held_ + 4 * first + sums.before;
        CUDAENC_UNROLL
        for (uint32_t i = 0; i < kRun; i++) {
            CUDAENC_UNROLL
            for (uint32_t k = 0; k < 4; k++) {
                if (4 * (first + i) + k >= bytes) continue;
                const uint8_t byte = static_cast<uint8_t>(own[i] >> (24 - 8 * k));
                *to++ = byte;
                if (byte == 0xFF) *to++ = 0;
            }
        }
        uint32_t end = held_ + bytes + sums.all;
        if (marker) {
            if (thread == 0)
                stage_[end] = static_cast<uint8_t>(marker >> 8), stage_[end + 1] = static_cast<uint8_t>(marker);
            end += 2;
        }
        block_sync();
        const uint32_t whole = end & ~15u;
        if (thread >= skipped_ && thread < min_of(end, 16u) && (skipped_ || !whole)) to_[thread] = stage_[thread];
        for (uint32_t i = 16 * thread + (skipped_ ? 16 : 0); i < whole; i += 16 * kPieceBlocks)
            *reinterpret_cast<Uint4 *>(to_ + i) = *reinterpret_cast<const Uint4 *>(stage_ + i);
        const uint8_t rest = whole + thread < end ? stage_[whole + thread] : 0;
        if (last) {
            if (whole && whole + thread < end) to_[whole + thread] = rest;
            return;
        }
        block_sync();
        if (whole + thread < end) stage_[thread] = rest;
        if (whole) skipped_ = 0;
        to_ += whole;
        held_ = end - whole;
    }

  private:
    uint8_t *stage_;
    uint32_t skipped_;  // bytes of the stage that are not the piece's
    uint32_t held_;     // bytes of it in use
    uint8_t *to_;       // where its first byte goes
};

// ---- Bytes to the packet

// When the piece is the last one of its group to be written, the group goes to the host. With all threads.
DEVICE void send_group(const CodedBytes &out, const PieceLinks &links, const ScanPieces &scan, const PieceMcus &mcus) {
    SHARED(uint32_t, complete, 1);
    if (!out.packet) return;
    const uint32_t group = (mcus.index - scan.first_piece) / kGroupPieces, first = group * kGroupPieces;
    const uint32_t pieces = min_of(kGroupPieces, scan.pieces - first);
    block_sync();
    if (thread_x() == 0) {
        uint32_t *written = links.written + scan.first_group + group;
        thread_fence();
        complete[0] = atomic_add(written, 1u) == pieces - 1;
        if (complete[0]) {
            atomic_add(written, 0u - pieces);
            thread_fence();
        }
    }
    block_sync();
    if (!complete[0]) return;
    const uint64_t *sums = links.bytes + scan.first_piece + first;
    uint64_t begin = scan.header_bytes;
    if (first)
        begin = wait_for_sum(sums - 1, links.serial);
    else if (scan.first_piece)
        begin += wait_for_sum(sums - 1, links.serial);
    const uint64_t end = wait_for_sum(sums + pieces - 1, links.serial);
    if (end > out.capacity) return;
    constexpr int kLoads = 4;
    constexpr uint64_t kStep = 16 * kPieceBlocks;
    for (uint64_t at = begin / kLineBytes * kLineBytes + 16 * static_cast<uint64_t>(thread_x()); at < end;
         at += kLoads * kStep) {
        Uint4 bytes[kLoads];
        CUDAENC_UNROLL
        for (int i = 0; i < kLoads; i++)
            if (at + i * kStep < end)
                bytes[i] = load_coherent(reinterpret_cast<const Uint4 *>(out.bytes + at + i * kStep));
        CUDAENC_UNROLL
        for (int i = 0; i < kLoads; i++) {
            const uint64_t to = at + i * kStep;
            if (to >= begin && to + 16 <= end) {
                *reinterpret_cast<Uint4 *>(out.packet + to) = bytes[i];
            } else {
                CUDAENC_NO_UNROLL
                for (uint64_t k = max_of(to, begin); k < min_of(to + 16, end); k++) {
                    const uint32_t byte = static_cast<uint32_t>(k - to), word = byte < 4    ? bytes[i].x
                                                                                : byte < 8  ? bytes[i].y
                                                                                : byte < 12 ? bytes[i].z
                                                                                            : bytes[i].w;
                    out.packet[k] = static_cast<uint8_t>(word >> 8 * (byte & 3));
                }
            }
        }
    }
}

// ---- A piece

// Where the piece's `size` bytes go; nullptr: there is no room. With all threads.
DEVICE uint8_t *place_of(const CodedBytes &out, const PieceLinks &links, const ScanPieces &scan, const PieceMcus &mcus,
                         uint32_t size) {
    SHARED(uint64_t, place, 1);
    if (warp_id() == 0) {
        const bool begins_scan = mcus.index == scan.first_piece;
        const uint32_t header = begins_scan ? scan.header_bytes : 0;
        uint64_t before = 0;
        if (mcus.index)
            before = sum_before(links.bytes, mcus.index, links.serial, header + size);
        else if (lane_id() == 0)
            publish(links.bytes, links.serial, Published::sum, size);
        if (lane_id() == 0) {
            place[0] = before + header;
            if (begins_scan) out.result->scan[scan.number] = before + header;
            if (mcus.ends_scan) out.result->bytes = before + header + size;
        }
    }
    block_sync();
    return place[0] + size <= out.capacity ? out.bytes + place[0] : nullptr;
}

// Code words in shared memory, those of DC first.
constexpr int kCodeWords = sizeof(CodeTables) / 4, kDcCodeWords = kTables * 16;
DEVICE void load_codes(const CodeTables *from, uint32_t *codes) {
    for (int i = 4 * thread_x(); i < kCodeWords; i += 4 * kPieceBlocks)
        *reinterpret_cast<Uint4 *>(codes + i) = load_readonly(reinterpret_cast<const Uint4 *>(from) + i / 4);
}

// Codes the piece and writes it, with all threads of the block. levels: of the thread's block.
DEVICE void code_piece(const CodedBytes &out, const PieceLinks &links, const ScanPieces &scan, const PieceMcus &mcus,
                       const uint32_t *codes, const PieceBlock &block, const uint32_t *levels, LeadingZeroRuns runs,
                       int32_t dc_difference) {
    constexpr int kWarps = kPieceBlocks / 32;
    SHARED(uint32_t, slots, kPieceBlocks *kSlotPitch);
    SHARED(uint32_t, bits_before, kPieceBlocks);  // by order: of the own block, then of all before
    SHARED(uint32_t, phase_of_piece, 1);
    SHARED(uint32_t, full, 1);
    constexpr uint32_t kStage = (kWindowWords + 4) / 4 * 4;  // behind the window
    static_assert(4 * kStage + kStageBytes <= 4 * kPieceBlocks * kSlotPitch);
    const int thread = thread_x();
    if (thread == 0) full[0] = 0;
    if (thread >= mcus.count * scan.mcu_blocks) bits_before[thread] = 0;

    // Blocks to bits.
    const int table = scan.component[block.component].table;
    const uint32_t *dc = codes + table * 16, *ac = opaque_shared(codes + kDcCodeWords + table * 256);
    uint32_t *slot = opaque_shared(&slots[thread * kSlotPitch]);
    uint32_t block_bits = 0;
    if (block.coded) {
        WordWriter<SlotWords<kSlotWords>> bits{{slot, 0}, 0, 0};
        CodeWriter<WordWriter<SlotWords<kSlotWords>>> writer{dc, ac, bits};
        code_block(dc_difference, runs, LevelReader{halves_of(levels)}, writer);
        block_bits = bits.bits;
        bits.words.put(bits.pending, true);
        bits_before[block.order] = block_bits;
    }
    block_sync();

    // How many come before each block.
    const BlockSums sums = block_sums<kWarps>(bits_before[thread]);
    bits_before[thread] = sums.before;
    uint32_t slot_words[kSlotWords];
    CUDAENC_UNROLL
    for (uint32_t i = 0; i < kSlotWords; i++) slot_words[i] = 32 * i < block_bits ? slot[i] : 0;
    // Earlier pieces may code yet: what they have is asked for when there is nothing else to do.
    if (thread == 0)
        publish(links.bits + mcus.index, links.serial, mcus.begins_interval ? Published::sum : Published::own,
                sums.all);
    block_sync();

    // A part of the piece's bits: the words from `first` on, and the one before.
    const uint32_t begin = block.coded ? bits_before[block.order] : 0, own_words = (sums.all + 31) / 32;
    const bool several = own_words >= kWindowWords;  // parts
    uint32_t *window = slots;
    uint8_t *stage = reinterpret_cast<uint8_t *>(&slots[kStage]);
    const auto fill_window = [&](uint32_t first) {
        const uint32_t count = min_of(kWindowWords + 1, own_words + 2 - first);
        for (uint32_t i = thread; i < count; i += kPieceBlocks) window[i] = 0;
        block_sync();
        const uint32_t shift = begin % 32;
        if (block_bits <= kSlotWords * 32 && !several) {
            uint32_t last = 0, *to = window + 1 + begin / 32;
            CUDAENC_UNROLL
            for (uint32_t i = 0; i <= kSlotWords; i++) {
                const uint32_t next = i < kSlotWords ? slot_words[i] : 0;
                if (32 * i < shift + block_bits) atomic_or(to + i, funnel_shift_right(next, last, shift));
                last = next;
            }
        } else if (block_bits && begin / 32 < first + kWindowWords && begin + block_bits + 32 > first * 32) {
            using Window = WindowWords<kWindowWords + 1>;
            WordWriter<Window> bits_to{{window, begin / 32 + 1 - first}, shift, 0};
            CodeWriter<WordWriter<Window>> writer{dc, ac, bits_to};
            code_block(dc_difference, runs, LevelReader{halves_of(levels)}, writer);
            bits_to.words.put(bits_to.pending);
        }
        block_sync();
    };
    fill_window(0);
    if (warp_id() == 0) {
        const uint64_t before = mcus.begins_interval ? 0 : look_back(links.bits, mcus.index, links.serial);
        if (lane_id() == 0) {
            if (!mcus.begins_interval)
                publish(links.bits + mcus.index, links.serial, Published::sum, before + sums.all);
            phase_of_piece[0] = static_cast<uint32_t>(before) & 7;
        }
    }
    block_sync();

    // What goes before the piece's bits, in the byte that it begins in, and behind them, to fill up the last byte.
    const uint32_t phase = phase_of_piece[0], bits = phase + sums.all;
    const uint32_t bytes = mcus.ends_interval ? (bits + 7) / 8 : bits / 8, words = (bits + 31) / 32;
    const uint32_t padding =
        8 * bytes > bits ? (0xFFFFFFFFu >> (bits & 31)) & ~(0xFFFFFFFFu >> 1 >> ((8 * bytes - 1) & 31)) : 0;

    // Where its bytes begin depends on how many are stuffed, so that these are counted before any is written. What
    // takes several windows is put there twice.
    const uint32_t marker = mcus.ends_interval && !mcus.ends_scan ? kRst0 + mcus.interval % 8 : 0;
    StuffedBytes to(stage, nullptr);
    enum Pass { counting, writing };
    CUDAENC_NO_UNROLL
    for (int pass = counting; pass <= writing; pass++) {
        if (pass == writing) {
            const uint32_t size = bytes + full[0] + (marker ? 2 : 0);
            uint8_t *place = place_of(out, links, scan, mcus, size);
            if (!place) break;
            to = StuffedBytes(stage, place);
        }
        for (uint32_t first = 0; first < words; first += kWindowWords) {
            const uint32_t count = min_of(kWindowWords, words - first);
            if (several && (first || pass == writing)) {
                block_sync();
                fill_window(first);
            }
            const auto word = [&](uint32_t i) {
                return funnel_shift_right(window[i + 1], window[i], phase) | (first + i + 1 == words ? padding : 0);
            };
            // The first word is the first thread's.
            if (thread == 0 && first == 0 && phase)
                window[0] = static_cast<uint32_t>(wait_for(links.tails + mcus.index - 1, links.serial));
            if (pass == counting) {
                if (thread == kPieceBlocks - 1 && first + count == words && !mcus.ends_interval)
                    publish(links.tails + mcus.index, links.serial, Published::own,
                            word(count - 1) >> ((0u - bits) & 31) & ((1u << bits % 8) - 1));
                uint32_t own = 0;
                for (uint32_t i = thread; i < count; i += kPieceBlocks)
                    own += static_cast<uint32_t>(popcount(full_bytes(word(i))));
                own = warp_add(own);
                if (lane_id() == 0 && own) atomic_add(&full[0], own);
                continue;
            }
            for (uint32_t i = 0; i < count && 4 * (first + i) < bytes; i += kStuffedWords) {
                const uint32_t left = bytes - 4 * (first + i), here = min_of(left, 4u * kStuffedWords);
                to.append([&](uint32_t k) { return word(i + k); }, here, here == left, here == left ? marker : 0);
            }
        }
        block_sync();
    }
    send_group(out, links, scan, mcus);
}

KERNEL_BLOCKS(kPieceBlocks, 9, mjpeg_encode, EncodeParams) {
    SHARED(uint32_t, codes, kCodeWords);
    SHARED(uint32_t, levels, kPieceBlocks *kLevelPitch);
    load_codes(p.codes, codes);
    const PieceMcus mcus = mcus_of_piece(p.scan, take_ticket(p.links.tickets));
    const PieceBlock block = block_of_thread(p.scan, mcus);
    uint32_t *own = &levels[thread_x() * kLevelPitch];
    NonzeroPlaces nonzero{};
    int32_t dc = 0, dc_before = 0;
    SampleRow rows[kBlockSize];
    if (block.sampled) load_block(p.layouts, p.scan, block, rows);
    if (warp_id() == 0) dc_before = dc_before_piece(p.layouts, p.scan, p.quantiser, mcus);
    if (block.sampled) {
        uint32_t pairs[kBlockSamples / 2];
        nonzero = quantised_block(p.scan, p.quantiser, block, rows, pairs);
        dc = static_cast<int16_t>(pairs[0]);
        CUDAENC_UNROLL
        for (int i = 0; i < kBlockSamples / 2; i++) own[i] = pairs[i];
    }
    const int32_t difference = dc_difference(p.scan, block, dc, dc_before);
    code_piece(p.out, p.links, p.scan, mcus, codes, block, own, nonzero.runs(), difference);
}

// ---- With tables made for the picture

// A sink of code_block(), for counts in shared memory.
struct SharedSymbolCounter {
    uint32_t *dc, *ac;
    DEVICE_MEMBER void put_dc(uint32_t category, uint32_t) { atomic_add(&dc[category], 1u); }
    DEVICE_MEMBER void put_ac(uint32_t symbol, uint32_t) { atomic_add(&ac[symbol], 1u); }
};

KERNEL_BLOCKS(kPieceBlocks, 8, mjpeg_transform, TransformParams) {
    constexpr int kDcWords = kTables * 16, kAcWords = kTables * 256;
    SHARED(uint32_t, levels, kPieceBlocks *kLevelPitch);
    SHARED(uint32_t, dc_counts, kDcWords);
    SHARED(uint32_t, ac_counts, kAcWords);
    const int thread = thread_x();
    for (int i = thread; i < kDcWords; i += kPieceBlocks) dc_counts[i] = 0;
    for (int i = thread; i < kAcWords; i += kPieceBlocks) ac_counts[i] = 0;

    const PieceMcus mcus = mcus_of_piece(p.scan, static_cast<uint32_t>(block_x()));
    const PieceBlock block = block_of_thread(p.scan, mcus);
    uint32_t *own = &levels[thread * kLevelPitch];
    uint32_t *words = p.levels.words + uint64_t{mcus.index} * kPieceLevelWords + thread;
    NonzeroPlaces nonzero{};
    int32_t dc = 0, dc_before = 0;
    uint32_t first_pair = 0;
    SampleRow rows[kBlockSize];
    if (block.sampled) load_block(p.layouts, p.scan, block, rows);
    if (warp_id() == 0) dc_before = dc_before_piece(p.layouts, p.scan, p.quantiser, mcus);
    if (block.sampled) {
        uint32_t pairs[kBlockSamples / 2];
        nonzero = quantised_block(p.scan, p.quantiser, block, rows, pairs);
        first_pair = pairs[0];
        dc = static_cast<int16_t>(first_pair);
        CUDAENC_UNROLL
        for (int i = 0; i < kBlockSamples / 2; i++) own[i] = pairs[i];
        CUDAENC_UNROLL
        for (int i = 1; i < kBlockSamples / 2; i++) words[i * kPieceBlocks] = pairs[i];
    }
    const int32_t difference = dc_difference(p.scan, block, dc, dc_before);
    words[0] = byte_permute(static_cast<uint32_t>(difference), first_pair, 0x7610);
    p.levels.nonzero[uint64_t{mcus.index} * kPieceBlocks + thread] = nonzero;

    const int table = p.scan.component[block.component].table;
    SharedSymbolCounter counter{&dc_counts[table * 16], &ac_counts[table * 256]};
    if (block.coded) code_block(difference, nonzero.runs(), LevelReader{halves_of(own)}, counter);
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
    const PieceBlock block = block_of_thread(p.scan, mcus_of_piece(p.scan, static_cast<uint32_t>(block_x())));
    if (block.sampled) {
        SampleRow rows[kBlockSize];
        load_block(p.layouts, p.scan, block, rows);
        int32_t c[kBlockSamples];
        transform(rows, c);
        const uint32_t *threshold = p.threshold[p.scan.component[block.component].table];
        CUDAENC_UNROLL
        for (int i = 1; i < kBlockSamples; i++)
            if (c[i]) atomic_add(&bins[rate_bin(c[i], threshold[i])], 1u);
    }
    block_sync();
    for (int i = thread_x(); i < kRateBins; i += kPieceBlocks)
        if (bins[i]) atomic_add(&p.sums->bins[i], bins[i]);
}

KERNEL_BLOCKS(kPieceBlocks, 8, mjpeg_code, CodeParams) {
    SHARED(uint32_t, codes, kCodeWords);
    SHARED(uint32_t, levels, kPieceBlocks *kLevelPitch);
    load_codes(p.codes, codes);
    const PieceMcus mcus = mcus_of_piece(p.scan, take_ticket(p.links.tickets));
    const PieceBlock block = block_of_thread(p.scan, mcus);
    uint32_t *own = &levels[thread_x() * kLevelPitch];
    const uint32_t *words = p.levels.words + uint64_t{mcus.index} * kPieceLevelWords + thread_x();
    NonzeroPlaces nonzero{};
    int32_t difference = 0;
    if (block.sampled) {
        CUDAENC_UNROLL
        for (int i = 0; i < kBlockSamples / 2; i++) own[i] = load_readonly(words + i * kPieceBlocks);
        difference = *halves_of(own);
        nonzero = load_readonly(p.levels.nonzero + uint64_t{mcus.index} * kPieceBlocks + thread_x());
    }
    code_piece(p.out, p.links, p.scan, mcus, codes, block, own, nonzero.runs(), difference);
}

}  // namespace cudaenc::mjpeg
