// SPDX-License-Identifier: LGPL-2.1-or-later
// Samples to Huffman codes to bytes: run-length and Huffman coding, byte stuffing, restart markers. A thread owns a
// block from its samples to its bits. Threads exchange DC levels and numbers of bits; thread-blocks exchange how many
// bits and bytes come before. With optimal tables there are two kernels, and levels in memory between them. mjpeg_join
// makes bytes of bits that either has stored.
#include "../bits.cuh"
#include "../device.cuh"
#include "../look_back.cuh"
#include "levels.cuh"
#include "trellis.cuh"

namespace cudaenc::mjpeg {

// ---- Levels to bits

// The level so many steps further in the zig-zag sequence. The address moves, which saves computing it each time.
struct LevelReader {
    const SignedHalf *at;
    DEVICE_MEMBER int32_t operator()(int steps) { return *(at += steps); }
};

constexpr int kCellWords = 12, kCellPitch = kCellWords + 1;  // the bits of most blocks fit a cell
constexpr uint32_t kWindowWords = 768;                       // words of a piece that are joined at a time

// ---- Bits to bytes

// Bit 8 i + 7: byte i is 0xFF, which a stuffed zero follows.
DEVICE uint32_t bytes_of_ones(uint32_t word) { return ((word & 0x7F7F7F7Fu) + 0x01010101u) & word & 0x80808080u; }

// Who writes a piece: all threads of a thread-block, or a warp.
struct BlockTeam {
    static constexpr int kThreads = kPieceBlocks, kRun = 2;  // kRun: words that a thread stuffs at a time
    DEVICE_MEMBER static int thread() { return thread_x(); }
    DEVICE_MEMBER static void sync() { block_sync(); }
    DEVICE_MEMBER static BlockSums<uint32_t> sums(uint32_t value) { return block_sums<kThreads / 32>(value); }
};
struct WarpTeam {
    static constexpr int kThreads = 32, kRun = 4;
    DEVICE_MEMBER static int thread() { return lane_id(); }
    DEVICE_MEMBER static void sync() { warp_sync(); }
    DEVICE_MEMBER static BlockSums<uint32_t> sums(uint32_t value) {
        const uint32_t scanned = warp_inclusive_add(value);
        return {scanned - value, warp_shuffle(scanned, 31)};
    }
};

// Writes the bytes of a piece with a zero stuffed after each 0xFF (F.1.2.3), in aligned groups of 16. An incomplete
// group waits in `stage`.
template <class Team>
constexpr int kStuffedWords = Team::kRun * Team::kThreads;  // words that append() takes at most
template <class Team>
constexpr int kStageBytes = 2 * 4 * kStuffedWords<Team> + 32;
template <class Team>
class ByteStuffer {
  public:
    // With all threads of the team, as all that follows. to: where the first byte goes.
    DEVICE_MEMBER ByteStuffer(uint8_t *stage, uint8_t *to)
        : stage_(stage),
          skipped_(static_cast<uint32_t>(reinterpret_cast<uint64_t>(to)) & 15),
          held_(skipped_),
          to_(to - skipped_) {}
    // Appends the first `bytes` bytes of words, then a marker if it is not 0. The last call writes all. own: the words
    // of the thread, behind those of the threads before. Bytes behind the last one are not 0xFF.
    DEVICE_MEMBER void append(const uint32_t (&own)[Team::kRun], uint32_t bytes, bool last, uint32_t marker) {
        constexpr uint32_t kRun = Team::kRun;
        const uint32_t thread = static_cast<uint32_t>(Team::thread()), first = thread * kRun;
        uint32_t zeros = 0;
        CUDAENC_UNROLL
        for (uint32_t i = 0; i < kRun; i++) zeros += static_cast<uint32_t>(popcount(bytes_of_ones(own[i])));
        const BlockSums<uint32_t> sums = Team::sums(zeros);
        uint8_t *to = stage_ + held_ + 4 * first + sums.before;
        CUDAENC_UNROLL
        for (uint32_t i = 0; i < kRun; i++) {
            if (4 * (first + i) >= bytes) continue;
            CUDAENC_UNROLL
            for (uint32_t k = 0; k < 4; k++) {
                const uint8_t byte = static_cast<uint8_t>(own[i] >> (24 - 8 * k));
                *to++ = byte;
                if (byte == 0xFF) *to++ = 0;
            }
        }
        uint32_t end = held_ + bytes + sums.all;
        if (marker) {
            Team::sync();
            if (thread == 0)
                stage_[end] = static_cast<uint8_t>(marker >> 8), stage_[end + 1] = static_cast<uint8_t>(marker);
            end += 2;
        }
        Team::sync();
        const uint32_t whole = end & ~15u;
        if (thread >= skipped_ && thread < min_of(end, 16u) && (skipped_ || !whole)) to_[thread] = stage_[thread];
        for (uint32_t i = 16 * thread + (skipped_ ? 16 : 0); i < whole; i += 16 * Team::kThreads)
            *reinterpret_cast<Uint4 *>(to_ + i) = *reinterpret_cast<const Uint4 *>(stage_ + i);
        const uint8_t rest = whole + thread < end ? stage_[whole + thread] : 0;
        if (last) {
            if (whole && whole + thread < end) to_[whole + thread] = rest;
            return;
        }
        Team::sync();
        if (whole + thread < end) stage_[thread] = rest;
        if (whole) skipped_ = 0;
        to_ += whole;
        held_ = end - whole;
    }

  private:
    uint8_t *stage_;
    uint32_t skipped_;  // bytes of the stage before the piece
    uint32_t held_;     // bytes in the stage, those included
    uint8_t *to_;       // where the first byte of the stage goes
};

// ---- Bytes to the packet

// Copies a group of pieces to the host once its last piece is written. With all threads.
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
        begin = wait_for(sums - 1, links.serial, Published::sum);
    else if (scan.first_piece)
        begin += wait_for(sums - 1, links.serial, Published::sum);
    const uint64_t end = wait_for(sums + pieces - 1, links.serial, Published::sum);
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

// The bytes of a piece of so many bits, behind `phase` bits of the piece before. The end of a restart interval is
// padded with ones.
struct PieceBytes {
    uint32_t words, bytes;
    uint32_t padding;  // of the last word
    uint32_t marker;   // behind them; 0: none
};
DEVICE PieceBytes bytes_of_piece(const PieceMcus &mcus, uint32_t phase, uint32_t piece_bits) {
    const uint32_t bits = phase + piece_bits, bytes = mcus.ends_interval ? (bits + 7) / 8 : bits / 8;
    return {(bits + 31) / 32, bytes,
            8 * bytes > bits ? (0xFFFFFFFFu >> (bits & 31)) & ~(0xFFFFFFFFu >> 1 >> ((8 * bytes - 1) & 31)) : 0,
            mcus.ends_interval && !mcus.ends_scan ? static_cast<uint32_t>(kRst0 + mcus.interval % 8) : 0};
}

// Notes where the bytes of a scan begin, and where they end, with EOI behind them. before: bytes of the pieces before,
// and of the headers up to this scan's. size: of the piece. With one thread.
DEVICE void note_bytes(const CodedBytes &out, const ScanPieces &scan, const PieceMcus &mcus, uint64_t before,
                       uint32_t size) {
    if (mcus.index == scan.first_piece) out.result->scan[scan.number] = before;
    if (!mcus.ends_scan) return;
    const uint64_t end = before + size;
    out.result->bytes = end;
    if (end <= out.capacity) out.bytes[end] = kEoi >> 8, out.bytes[end + 1] = kEoi & 0xFF;
}

// Where the `size` bytes of the piece go; nullptr: they do not fit. With all threads.
DEVICE uint8_t *place_of(const CodedBytes &out, const PieceLinks &links, const ScanPieces &scan, const PieceMcus &mcus,
                         uint32_t size) {
    SHARED(uint64_t, place, 1);
    if (warp_id() == 0) {
        const uint32_t header = mcus.index == scan.first_piece ? scan.header_bytes : 0;
        const uint64_t before = sum_before(links.bytes, mcus.index, links.serial, header + size) + header;
        if (lane_id() == 0) {
            note_bytes(out, scan, mcus, before, size);
            place[0] = before;
        }
    }
    block_sync();
    return place[0] + size <= out.capacity ? out.bytes + place[0] : nullptr;
}

// CodeTables in shared memory, DC first.
constexpr int kCodeWords = sizeof(CodeTables) / 4, kDcCodeWords = kTables * 16;
DEVICE void load_codes(const CodeTables *from, uint32_t *codes) {
    for (int i = 4 * thread_x(); i < kCodeWords; i += 4 * kPieceBlocks)
        *reinterpret_cast<Uint4 *>(codes + i) = load_readonly(reinterpret_cast<const Uint4 *>(from) + i / 4);
}

// The block of a thread, for code_block().
struct BlockSymbols {
    const uint32_t *dc_codes, *ac_codes;  // of its table
    const uint32_t *levels;               // in the zig-zag sequence
    LeadingZeroRuns runs;
    int32_t dc_difference;
    template <class Bits>
    DEVICE_MEMBER void put(Bits &bits) const {
        CodeWriter<Bits> writer{dc_codes, ac_codes, bits};
        code_block(dc_difference, runs, LevelReader{halves_of(levels)}, writer);
    }
};

// kWindowWords words of the bits of a piece, and the word before them. Bits that fit their cells come from registers;
// other blocks are coded again.
template <class Window>
struct PieceWindow {
    Window &window;
    const BlockSymbols &symbols;
    uint32_t words;        // of the piece
    uint32_t begin, bits;  // of the thread's block
    uint32_t cell_words[kCellWords];
    const bool several = words >= kWindowWords;  // windows
    // Fills the window with the piece's words from `first` on. With all threads.
    DEVICE_MEMBER void fill(uint32_t first) {
        const uint32_t count = min_of(kWindowWords + 1, words + 2 - first);
        for (uint32_t i = static_cast<uint32_t>(thread_x()); i < count; i += kPieceBlocks) window[i] = 0;
        block_sync();
        const uint32_t shift = begin % 32;
        if (bits <= kCellWords * 32 && !several) {
            uint32_t last = 0, *to = window + 1 + begin / 32;
            CUDAENC_UNROLL
            for (uint32_t i = 0; i <= kCellWords; i++) {
                const uint32_t next = i < kCellWords ? cell_words[i] : 0;
                if (32 * i < shift + bits) atomic_or(to + i, funnel_shift_right(next, last, shift));
                last = next;
            }
        } else if (bits && begin / 32 < first + kWindowWords && begin + bits + 32 > first * 32) {
            WordWriter<WindowWords<kWindowWords + 1>> writer{{window, begin / 32 + 1 - first}, shift, 0};
            symbols.put(writer);
            writer.words.put(writer.pending);
        }
        block_sync();
    }
};

// Writes the bits of the piece as bytes, behind `phase` bits of the piece before. The place of the bytes depends on the
// stuffed zeros of earlier pieces, so one pass counts them and another writes. stage: [kStageBytes<BlockTeam>]. With
// all threads.
template <class Window>
DEVICE void write_piece(const CodedBytes &out, const PieceLinks &links, const ScanPieces &scan, const PieceMcus &mcus,
                        Window &window, uint32_t phase, uint32_t piece_bits, uint8_t *stage) {
    constexpr uint32_t kStuffed = kStuffedWords<BlockTeam>, kRun = BlockTeam::kRun;
    const int thread = thread_x();
    const PieceBytes piece = bytes_of_piece(mcus, phase, piece_bits);
    uint32_t stuffed = 0;  // zeros that the thread counts
    ByteStuffer<BlockTeam> to(stage, nullptr);
    enum Pass { counting, writing };
    CUDAENC_NO_UNROLL
    for (int pass = counting; pass <= writing; pass++) {
        if (pass == writing) {
            const uint32_t size = piece.bytes + BlockTeam::sums(stuffed).all + (piece.marker ? 2 : 0);
            uint8_t *place = place_of(out, links, scan, mcus, size);
            if (!place) break;
            to = ByteStuffer<BlockTeam>(stage, place);
        }
        for (uint32_t first = 0; first < piece.words; first += kWindowWords) {
            const uint32_t count = min_of(kWindowWords, piece.words - first);
            if (window.several && (first || pass == writing)) {
                block_sync();
                window.fill(first);
            }
            const auto word = [&](uint32_t i) {
                return funnel_shift_right(window.window[i + 1], window.window[i], phase) |
                       (first + i + 1 == piece.words ? piece.padding : 0);
            };
            // Only the first thread reads the first word.
            if (thread == 0 && first == 0 && phase)
                window.window[0] = static_cast<uint32_t>(wait_for(links.tails + mcus.index - 1, links.serial));
            if (pass == counting) {
                if (thread == kPieceBlocks - 1 && first + count == piece.words && !mcus.ends_interval) {
                    const uint32_t bits = phase + piece_bits;
                    publish(links.tails + mcus.index, links.serial, Published::own,
                            word(count - 1) >> ((0u - bits) & 31) & ((1u << bits % 8) - 1));
                }
                for (uint32_t i = thread; i < count; i += kPieceBlocks)
                    stuffed += static_cast<uint32_t>(popcount(bytes_of_ones(word(i))));
                continue;
            }
            for (uint32_t i = 0; i < count && 4 * (first + i) < piece.bytes; i += kStuffed) {
                const uint32_t left = piece.bytes - 4 * (first + i), here = min_of(left, 4u * kStuffed);
                uint32_t own[kRun];
                CUDAENC_UNROLL
                for (uint32_t k = 0; k < kRun; k++) {
                    const uint32_t at = kRun * static_cast<uint32_t>(thread) + k;
                    own[k] = 4 * at < here ? word(i + at) : 0;
                }
                to.append(own, here, here == left, here == left ? piece.marker : 0);
            }
        }
        block_sync();
    }
}

// With which bit of a byte a piece of so many bits begins. With all threads.
DEVICE uint32_t phase_of(const PieceLinks &links, const PieceMcus &mcus, uint32_t bits) {
    SHARED(uint32_t, phase, 1);
    if (warp_id() == 0) {
        const uint64_t before = mcus.begins_interval ? 0 : look_back(links.bits, mcus.index, links.serial);
        if (lane_id() == 0) {
            if (!mcus.begins_interval) publish(links.bits + mcus.index, links.serial, Published::sum, before + bits);
            phase[0] = static_cast<uint32_t>(before) & 7;
        }
    }
    block_sync();
    return phase[0];
}

// Stores the bits of a piece, whose first window is filled. With all threads.
template <class Window>
DEVICE void store_piece(const StoredBits &stored, const PieceMcus &mcus, Window &window, uint32_t bits) {
    SHARED(uint32_t, first_word, 1);
    const uint32_t words = StoredBits::words_of(bits);
    if (thread_x() == 0) {
        first_word[0] = atomic_add(stored.used, words);
        stored.pieces[mcus.index] = {first_word[0], bits};
    }
    block_sync();
    if (uint64_t{first_word[0]} + words > stored.capacity) return;
    for (uint32_t first = 0; first < words; first += kWindowWords) {
        if (first) {
            block_sync();
            window.fill(first);
        }
        const uint32_t count = min_of(kWindowWords, words - first);
        for (uint32_t i = static_cast<uint32_t>(thread_x()); i < count; i += kPieceBlocks)
            stored.words[first_word[0] + first + i] = first + i < window.words ? window.window[i + 1] : 0;
    }
}

// The thread-block's piece. Those that only store their bits wait for none, so their order is free. A barrier of all
// threads.
DEVICE uint32_t number_of_piece(const PieceLinks &links, const StoredBits &stored) {
    if (!stored.words) return take_ticket(links.tickets);
    block_sync();
    return static_cast<uint32_t>(block_x());
}

// The bits that a piece ends with, the last one the lowest. It has more than 32.
DEVICE uint32_t last_bits(const StoredBits &stored, const PieceBits &piece) {
    const uint32_t last = piece.first_word + (piece.bits - 1) / 32;
    if (last >= stored.capacity) return 0;
    return funnel_shift_right(stored.words[last], stored.words[last - 1], 0u - piece.bits);
}

// Codes the piece, and writes it or stores its bits. codes: CodeTables. levels: of the thread's block. With all
// threads.
DEVICE void code_piece(const CodedBytes &out, const PieceLinks &links, const StoredBits &stored, const ScanPieces &scan,
                       const PieceMcus &mcus, const uint32_t *codes, const PieceBlock &block, const uint32_t *levels,
                       LeadingZeroRuns runs, int32_t dc_difference) {
    SHARED(uint32_t, cells, kPieceBlocks *kCellPitch);  // later the window, and a stage behind it
    SHARED(uint32_t, bits_before, kPieceBlocks);        // by order: first of the block itself, then of all before it
    constexpr uint32_t kStage = (kWindowWords + 4) / 4 * 4;
    static_assert(4 * kStage + kStageBytes<BlockTeam> <= 4 * kPieceBlocks * kCellPitch);
    const int thread = thread_x();
    if (thread >= mcus.count * scan.mcu_blocks) bits_before[thread] = 0;

    // The block's bits, to its cell.
    const int table = scan.component[block.component].table;
    const BlockSymbols symbols{codes + table * 16, opaque_shared(codes + kDcCodeWords + table * 256), levels, runs,
                               dc_difference};
    uint32_t *cell = opaque_shared(&cells[thread * kCellPitch]);
    uint32_t block_bits = 0;
    if (block.coded) {
        WordWriter<CellWords<kCellWords>> bits{{cell, 0}, 0, 0};
        symbols.put(bits);
        block_bits = bits.bits;
        bits.words.put(bits.pending, true);
        bits_before[block.order] = block_bits;
    }
    block_sync();

    // The bits before each block.
    const BlockSums<uint32_t> sums = block_sums<kPieceBlocks / 32>(bits_before[thread]);
    bits_before[thread] = sums.before;
    PieceWindow<decltype(cells)> window{cells, symbols, (sums.all + 31) / 32, 0, block_bits, {}};
    CUDAENC_UNROLL
    for (uint32_t i = 0; i < kCellWords; i++) window.cell_words[i] = 32 * i < block_bits ? cell[i] : 0;
    if (thread == 0 && !stored.words)
        publish(links.bits + mcus.index, links.serial, mcus.begins_interval ? Published::sum : Published::own,
                sums.all);
    block_sync();
    if (block.coded) window.begin = bits_before[block.order];
    window.fill(0);
    if (stored.words) return store_piece(stored, mcus, window, sums.all);

    // How many bits of the interval come before the piece: asked for late, as earlier pieces may still be coding.
    const uint32_t phase = phase_of(links, mcus, sums.all);
    write_piece(out, links, scan, mcus, window, phase, sums.all, reinterpret_cast<uint8_t *>(&cells[kStage]));
    send_group(out, links, scan, mcus);
}

// The words of a piece behind `phase` bits of the piece before, as many as a warp stuffs at a time.
class PieceWords {
  public:
    // before: its last bits are those of the piece before. words: StoredBits::words_of().
    DEVICE_MEMBER PieceWords(const uint32_t *from, uint32_t words, uint32_t before, uint32_t phase,
                             const PieceBytes &piece)
        : from_(from), words_(words), before_(before), phase_(phase), last_(piece.words - 1), padding_(piece.padding) {}
    // The lane's. With a whole warp.
    DEVICE_MEMBER void next(uint32_t (&own)[WarpTeam::kRun]) {
        const uint32_t at = first_ + WarpTeam::kRun * static_cast<uint32_t>(lane_id());
        Uint4 stored{};
        if (at < words_) stored = load_readonly(reinterpret_cast<const Uint4 *>(from_ + at));
        const uint32_t above = warp_shuffle_up(stored.w, 1), before = lane_id() ? above : before_;
        before_ = warp_shuffle(stored.w, 31);
        own[0] = funnel_shift_right(stored.x, before, phase_);
        own[1] = funnel_shift_right(stored.y, stored.x, phase_);
        own[2] = funnel_shift_right(stored.z, stored.y, phase_);
        own[3] = funnel_shift_right(stored.w, stored.z, phase_);
        if (padding_) {
            CUDAENC_UNROLL
            for (uint32_t i = 0; i < WarpTeam::kRun; i++) own[i] |= at + i == last_ ? padding_ : 0;
        }
        first_ += kStuffedWords<WarpTeam>;
    }

  private:
    const uint32_t *from_;
    uint32_t words_, before_, phase_, last_, padding_, first_ = 0;
};

// A thread-block owns a group of pieces, a warp one of them. So one warp looks back for all of them.
KERNEL(kJoinThreads, mjpeg_join, JoinParams)
{
    constexpr int kStage = kStageBytes<WarpTeam>;
    SHARED(uint8_t, stages, kGroupPieces *kStage);
    SHARED(uint32_t, sizes, kGroupPieces);  // bytes
    SHARED(uint64_t, before_group, 2);      // bits, bytes
    const uint32_t group = take_ticket(p.links.tickets), index = p.scan.first_group + group;
    const uint32_t first = group * kGroupPieces, pieces = min_of(kGroupPieces, p.scan.pieces - first);
    const uint32_t lane = static_cast<uint32_t>(lane_id()), warp = static_cast<uint32_t>(warp_id());

    // With which bit of a byte the pieces begin. A lane has the bits of a piece.
    const PieceBits *stored = p.stored.pieces + p.scan.first_piece + first;
    const uint32_t own_bits = lane < pieces ? stored[lane].bits : 0, up_to = warp_inclusive_add(own_bits);
    const uint32_t begun = warp_ballot(lane < pieces && begins_interval(p.scan, first + lane));
    if (warp == 0) {
        // Since the last interval began.
        const uint32_t all = warp_shuffle(up_to, 31);
        const uint32_t since = begun ? all - warp_shuffle(up_to - own_bits, floor_log2(begun)) : all;
        if (lane == 0) publish(p.links.bits + index, p.links.serial, begun ? Published::sum : Published::own, since);
        const uint64_t before = begun & 1 ? 0 : look_back(p.links.bits, index, p.links.serial);
        if (lane == 0) {
            if (!begun) publish(p.links.bits + index, p.links.serial, Published::sum, before + since);
            before_group[0] = before;
        }
    }
    block_sync();
    const uint32_t nearest = begun & ((2u << warp) - 1), begin = nearest ? floor_log2(nearest) : 0;
    const uint32_t since = warp_shuffle(up_to - own_bits, warp) - warp_shuffle(up_to - own_bits, begin);
    const uint32_t phase = (since + (nearest ? 0 : static_cast<uint32_t>(before_group[0]))) & 7;

    // How many bytes the own piece has.
    const bool exists = warp < pieces;
    const PieceMcus mcus = mcus_of_piece(p.scan, first + (exists ? warp : 0));
    const PieceBits bits = exists ? stored[warp] : PieceBits{0, 0};
    const PieceBytes piece = bytes_of_piece(mcus, phase, bits.bits);
    const uint32_t stored_words = StoredBits::words_of(bits.bits);
    const bool fits = uint64_t{bits.first_word} + stored_words <= p.stored.capacity;
    if (exists && mcus.ends_scan && lane == 0) *p.stored.used = 0;
    const uint32_t tail = exists && phase ? last_bits(p.stored, stored[static_cast<int>(warp) - 1]) : 0;
    const PieceWords begin_words(p.stored.words + bits.first_word, fits ? stored_words : 0, tail, phase, piece);
    PieceWords words = begin_words;
    uint32_t own[WarpTeam::kRun], zeros = 0;
    for (uint32_t i = 0; i < piece.words; i += kStuffedWords<WarpTeam>) {
        words.next(own);
        CUDAENC_UNROLL
        for (int k = 0; k < WarpTeam::kRun; k++) zeros += static_cast<uint32_t>(popcount(bytes_of_ones(own[k])));
    }
    const uint32_t header = mcus.index == p.scan.first_piece ? p.scan.header_bytes : 0;
    const uint32_t size = piece.bytes + warp_add(zeros) + (piece.marker ? 2 : 0);
    if (lane == 0) sizes[warp] = exists ? header + size : 0;
    block_sync();

    // Where they go.
    const uint32_t own_size = lane < kGroupPieces ? sizes[lane] : 0, sizes_up_to = warp_inclusive_add(own_size);
    if (warp == 0) {
        const uint64_t before = sum_before(p.links.bytes, index, p.links.serial, warp_shuffle(sizes_up_to, 31));
        if (lane == 0) before_group[1] = before;
    }
    block_sync();
    const uint64_t place = before_group[1] + warp_shuffle(sizes_up_to - own_size, warp) + header;
    if (!exists) return;
    if (lane == 0) note_bytes(p.out, p.scan, mcus, place, size);
    if (place + size > p.out.capacity) return;
    words = begin_words;
    ByteStuffer<WarpTeam> to(&stages[warp * kStage], p.out.bytes + place);
    for (uint32_t left = piece.bytes; left;) {
        const uint32_t here = min_of(left, 4u * kStuffedWords<WarpTeam>);
        left -= here;
        words.next(own);
        to.append(own, here, left == 0, left ? 0 : piece.marker);
    }
}

template <class P>
constexpr bool kHasTrellis = requires(P p) { p.trellis; };

// The thread's block from samples to levels, two a word, at `own`; store(words) gets them too. Those that `nonzero`
// does not name are anything. Returns the DC difference. With all threads.
template <class P, class Store>
DEVICE int32_t transform_block(const P &p, const PieceMcus &mcus, const PieceBlock &block, uint32_t *own,
                               NonzeroPlaces &nonzero, const Store &store) {
    constexpr BlockValues kValues = kHasTrellis<P> ? BlockValues::coefficients : BlockValues::levels;
    [[maybe_unused]] const TrellisTables *tables = nullptr;
    if constexpr (kHasTrellis<P>) tables = &load_tables(p.trellis.tables);
    int32_t dc = 0, dc_before = 0;
    SampleRow rows[kBlockSize];
    if (block.sampled) load_block(p.layouts, p.scan, block, rows);
    if (warp_id() == 0) dc_before = dc_before_piece(p.layouts, p.scan, p.quantiser, mcus);
    if (block.sampled) {
        uint32_t pairs[kBlockSamples / 2];
        nonzero = quantised_block<kValues>(p.scan, p.quantiser, block, rows, pairs);
        dc = static_cast<int16_t>(pairs[0]);
        CUDAENC_UNROLL
        for (int i = 0; i < kBlockSamples / 2; i++) own[i] = pairs[i];
        if constexpr (kHasTrellis<P>) {
            nonzero =
                choose_block_levels(*tables, p.scan.component[block.component].table, p.trellis.lambda, own, nonzero);
            CUDAENC_UNROLL
            for (int i = 0; i < kBlockSamples / 2; i++) pairs[i] = own[i];
        }
        store(pairs);
    }
    return dc_difference(p.scan, block, dc, dc_before);
}

template <class P>
DEVICE void encode_piece(const P &p) {
    SHARED(uint32_t, codes, kCodeWords);
    SHARED(uint32_t, levels, kPieceBlocks *kLevelPitch);
    load_codes(p.codes, codes);
    const PieceMcus mcus = mcus_of_piece(p.scan, number_of_piece(p.links, p.stored));
    const PieceBlock block = block_of_thread(p.scan, mcus);
    uint32_t *own = &levels[thread_x() * kLevelPitch];
    NonzeroPlaces nonzero{};
    const int32_t difference = transform_block(p, mcus, block, own, nonzero, [](const uint32_t *) {});
    code_piece(p.out, p.links, p.stored, p.scan, mcus, codes, block, own, nonzero.runs(), difference);
}
KERNEL_BLOCKS(kPieceBlocks, 9, mjpeg_encode, EncodeParams) { encode_piece(p); }
KERNEL_BLOCKS(kPieceBlocks, 8, mjpeg_encode_trellis, EncodeTrellisParams) { encode_piece(p); }

// ---- With optimal tables

// A sink of code_block() that counts in shared memory.
struct SharedSymbolCounter {
    uint32_t *dc, *ac;
    DEVICE_MEMBER void put_dc(uint32_t category, uint32_t) { atomic_add(&dc[category], 1u); }
    DEVICE_MEMBER void put_ac(uint32_t symbol, uint32_t) { atomic_add(&ac[symbol], 1u); }
};

template <class P>
DEVICE void transform_piece(const P &p) {
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
    uint32_t first_pair = 0;
    const int32_t difference = transform_block(p, mcus, block, own, nonzero, [&](const uint32_t *pairs) {
        first_pair = pairs[0];
        CUDAENC_UNROLL
        for (int i = 1; i < kBlockSamples / 2; i++) words[i * kPieceBlocks] = pairs[i];
    });
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

KERNEL_BLOCKS(kPieceBlocks, 8, mjpeg_transform, TransformParams) { transform_piece(p); }
KERNEL_BLOCKS(kPieceBlocks, 8, mjpeg_transform_trellis, TransformTrellisParams) { transform_piece(p); }

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
    const PieceMcus mcus = mcus_of_piece(p.scan, number_of_piece(p.links, p.stored));
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
    code_piece(p.out, p.links, p.stored, p.scan, mcus, codes, block, own, nonzero.runs(), difference);
}

}  // namespace cudaenc::mjpeg
