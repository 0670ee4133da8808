// SPDX-License-Identifier: LGPL-2.1-or-later
// The walk through coded data, from symbol to symbol (T.81 F.2.2), in parts that threads take.
#pragma once
#include "../look_back.cuh"
#include "decode_params.h"

namespace cudaenc::mjpeg {

// Bits of words; three words at a time in registers, so that none is waited for.
class BitWindow {
  public:
    DEVICE_MEMBER explicit BitWindow(const uint32_t *words) : words_(words) {}
    DEVICE_MEMBER void seek(uint32_t bit) {
        const uint32_t *from = words_ + bit / 32;
        first_ = load_readonly(from), second_ = load_readonly(from + 1), third_ = load_readonly(from + 2);
        second_bit_ = bit / 32 * 32 + 32;
    }
    // The 32 bits from a bit on, which is at most 32 bits behind that of the call before.
    DEVICE_MEMBER uint32_t at(uint32_t bit) {
        const bool moves = bit >= second_bit_;
        first_ = moves ? second_ : first_, second_ = moves ? third_ : second_;
        load_readonly_if(moves, words_ + second_bit_ / 32 + 2, third_);
        second_bit_ = moves ? second_bit_ + 32 : second_bit_;
        return funnel_shift_left(second_, first_, bit);
    }

  private:
    const uint32_t *words_;
    uint32_t second_bit_ = 0, first_ = 0, second_ = 0, third_ = 0;
};

// The interval in which a bit lies, and where it ends. An interval that is empty ends where it begins.
struct Interval {
    uint32_t number;
    uint32_t end;  // bit
};
DEVICE uint32_t interval_end(const CodedScan &scan, uint32_t interval, uint32_t bytes) {
    return 8 * (interval + 1 < scan.intervals ? min_of(load_readonly(scan.restarts + interval + 1), bytes) : bytes);
}
DEVICE Interval interval_at(const CodedScan &scan, uint32_t bit, uint32_t bytes) {
    uint32_t first = 0, count = scan.intervals;  // the last one that begins at the bit or before it
    while (count > 1) {
        const uint32_t half = count / 2, middle = first + half;
        const bool begun = load_readonly(scan.restarts + middle) <= bit / 8;
        first = begun ? middle : first;
        count = begun ? count - half : half;
    }
    return {first, interval_end(scan, first, bytes)};
}

// What is looked up, in shared memory.
struct LookUps {
    DecodeTable decode[kScanTables];
    uint16_t runs[kRunTables][kRuns];  // for sinks that want no symbols
};
constexpr int kLookUpVectors = sizeof(LookUps) / 16;
static_assert(sizeof(LookUps) == 16 * (kTableVectors + kRunVectors));

// A walk from block to block. Behind the last interval it stands at the last bit, with phase 0.
class Walk {
  public:
    DEVICE_MEMBER Walk(const CodedScan &scan, const LookUps &tables, const BlockStart &start)
        : scan_(scan),
          tables_(tables),
          dc_tables_(load_readonly(&scan.tables->dc_tables)),
          ac_tables_(load_readonly(&scan.tables->ac_tables)),
          dc_runs_(load_readonly(&scan.tables->dc_runs)),
          ac_runs_(load_readonly(&scan.tables->ac_runs)),
          window_(scan.words),
          bits_(8 * scan.state->bytes),
          at_(start) {
        if (at_.bit >= bits_) {
            at_ = {bits_, 0};
            return;
        }
        interval_ = interval_at(scan, at_.bit, bits_ / 8);
        window_.seek(at_.bit);
    }
    DEVICE_MEMBER const BlockStart &at() const { return at_; }

    // Decodes whole blocks, until one begins at bit `end` or behind it. Symbols that an interval's end cuts are not
    // decoded. A sink that wants no symbols has kBlocksOnly. The sink gets
    //   symbol(phase, dc, place, bits, step)   place: behind it; above 64: it lies beyond the block's end
    //   end_block(bits)                        that follow it in the interval
    //   end_interval(interval)                 before the next one begins; also with the last one
    template <class Sink>
    DEVICE_MEMBER void run(uint32_t end, Sink &sink) {
        end = min_of(end, bits_);
        walk_to<false>(min_of(end, interval_.end - min_of(interval_.end, kMaxBlockBits)), sink);
        walk_to<true>(end, sink);
    }

  private:
    static constexpr uint32_t kMaxBlockBits = kBlockSamples * kMaxStepBits;

    // Of the symbol at hand. twice: the phase.
    DEVICE_MEMBER const DecodeTable &table(bool dc, uint32_t twice) const {
        return tables_.decode[(dc ? dc_tables_ : ac_tables_) >> twice & 3];
    }
    DEVICE_MEMBER uint32_t next_phase(uint32_t twice) const {
        return twice + 2 == 2 * scan_.mcu_blocks ? 0 : twice + 2;
    }

    // The step of the next bits: of a symbol, or of a run of them. A run that reaches a block's end in its midst begins
    // with a single symbol.
    template <bool Runs>
    DEVICE_MEMBER Step next_step(uint32_t bits, int place, uint32_t twice) const {
        const bool dc = place == 0;
        if constexpr (Runs) {
            const Step run(tables_.runs[(dc ? dc_runs_ : ac_runs_) >> twice & 3][bits >> (32 - kRunBits)]);
            const int most = run.empty() ? kBlockSamples : place + run.places() % kBlockSamples;
            if (most < kBlockSamples) return run;
        }
        return table(dc, twice).find(bits);
    }

    // Decodes whole blocks, until one begins at bit `end` or behind it. Cuts: they may reach the interval's end. Where
    // they surely do not, nobody compares, and a sink that wants no symbols goes from run to run of them.
    template <bool Cuts, class Sink>
    DEVICE_MEMBER void walk_to(uint32_t end, Sink &sink) {
        uint32_t bit = at_.bit, twice = 2 * at_.phase;
        if (bit >= end) return;
        if constexpr (!Cuts) end = opaque(end);
        int place = 0;
        do {
            const uint32_t bits = window_.at(bit);
            const bool dc = place == 0;
            const Step step = next_step < Sink::kBlocksOnly && !Cuts > (bits, place, twice);
            const uint32_t next = bit + static_cast<uint32_t>(step.bits());
            if (!Cuts || next <= interval_.end) {
                bit = next;
                place += step.places();
                if constexpr (Cuts || !Sink::kBlocksOnly) sink.symbol(twice / 2, dc, place, bits, step);
                if (place >= kBlockSamples) {
                    sink.end_block(interval_.end - bit);
                    twice = next_phase(twice);
                    place = 0;
                }
            }
            if (!Cuts || next < interval_.end) continue;
            sink.end_interval(interval_.number);
            twice = 0, place = 0;
            if (++interval_.number >= scan_.intervals) {
                bit = bits_;
                break;
            }
            bit = interval_.end;
            interval_.end = interval_end(scan_, interval_.number, bits_ / 8);
            window_.seek(bit);
        } while (place || bit < end);
        at_ = {bit, twice / 2};
    }

    const CodedScan &scan_;
    const LookUps &tables_;
    uint32_t dc_tables_, ac_tables_, dc_runs_, ac_runs_;
    BitWindow window_;
    uint32_t bits_;
    BlockStart at_;
    Interval interval_{};
};

struct TableVector {
    alignas(16) uint32_t word[4];
} __attribute__((may_alias));

// Copies a scan's tables to shared memory, with its runs where there is room for them. With all threads. memory:
// [kTableVectors], or [kLookUpVectors].
template <int Vectors>
DEVICE const LookUps &load_tables(const CodedScan &scan, TableVector *memory) {
    const TableVector *const tables = reinterpret_cast<const TableVector *>(scan.tables->table);
    const TableVector *const runs = reinterpret_cast<const TableVector *>(scan.runs) - kTableVectors;
    constexpr int kLoads = 8;  // under way at once
    for (int first = thread_x(); first < Vectors; first += kLoads * block_threads()) {
        TableVector vectors[kLoads];
        CUDAENC_UNROLL
        for (int k = 0; k < kLoads; k++) {
            const int i = first + k * block_threads();
            if (i < Vectors) vectors[k] = load_readonly((i < kTableVectors ? tables : runs) + i);
        }
        CUDAENC_UNROLL
        for (int k = 0; k < kLoads; k++)
            if (first + k * block_threads() < Vectors) memory[first + k * block_threads()] = vectors[k];
    }
    block_sync();
    return *opaque_shared(reinterpret_cast<const LookUps *>(memory));
}

// The sum of two runs, the second behind the first.
template <int Values>
DEVICE RunSum<Values> joined(const RunSum<Values> &a, const RunSum<Values> &b) {
    RunSum<Values> sum = b;
    if (b.restarted) return sum;
    sum.restarted = a.restarted;
    CUDAENC_UNROLL
    for (int i = 0; i < Values; i++) sum.value[i] += a.value[i];
    return sum;
}

template <int Values>
DEVICE RunSum<Values> shuffle_up(const RunSum<Values> &run, int distance) {
    RunSum<Values> from{.restarted = warp_shuffle_up(run.restarted, distance), .value = {}};
    CUDAENC_UNROLL
    for (int i = 0; i < Values; i++) from.value[i] = warp_shuffle_up(run.value[i], distance);
    return from;
}

// The tiles that hold data.
DEVICE uint32_t tiles_of(const CodedScan &scan) {
    return (8 * scan.state->bytes + tile_bits(scan) - 1) / tile_bits(scan);
}

// Whether this thread-block is the last one of a tile that gets here. What others wrote before is seen then. With all
// threads. done: 0 at first.
DEVICE bool is_last_tile(const CodedScan &scan, uint32_t *done) {
    SHARED(uint32_t, last, 1);
    thread_fence();
    block_sync();
    if (thread_x() == 0) {
        last[0] = atomic_add(done, 1u) == tiles_of(scan) - 1;
        thread_fence();
    }
    block_sync();
    return last[0] != 0;
}

// The sum of the runs of all threads before, and of all. With all threads.
template <int Values>
struct RunSums {
    RunSum<Values> before, all;
};
template <int Warps, int Values>
DEVICE RunSums<Values> sum_runs(const RunSum<Values> &own) {
    SHARED(RunSum<Values>, warp_sums, Warps);
    RunSum<Values> through = own;
    for (int distance = 1; distance < 32; distance <<= 1) {
        const RunSum<Values> below = shuffle_up(through, distance);
        if (lane_id() >= distance) through = joined(below, through);
    }
    if (lane_id() == 31) warp_sums[warp_id()] = through;
    block_sync();
    RunSums<Values> sums{};
    for (int i = 0; i < Warps; i++) {
        if (i == warp_id()) sums.before = sums.all;
        sums.all = joined(sums.all, warp_sums[i]);
    }
    const RunSum<Values> below = shuffle_up(through, 1);
    if (lane_id()) sums.before = joined(sums.before, below);
    block_sync();
    return sums;
}

// From the sums of tiles to the sums of all before each. With the threads of a tile.
template <int Values>
DEVICE void sum_tiles(const RunSum<Values> *tile_sums, RunSum<Values> *tiles_before, uint32_t tiles) {
    RunSum<Values> before{};
    for (uint32_t round = 0; round < tiles; round += kTileSubsequences) {
        const uint32_t tile = round + static_cast<uint32_t>(thread_x());
        const RunSums<Values> sums =
            sum_runs<kTileSubsequences / 32>(tile < tiles ? tile_sums[tile] : RunSum<Values>{});
        if (tile < tiles) tiles_before[tile] = joined(before, sums.before);
        before = joined(before, sums.all);
    }
}

}  // namespace cudaenc::mjpeg
