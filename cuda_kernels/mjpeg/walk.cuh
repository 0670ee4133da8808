// The walk through coded data, from symbol to symbol (T.81 F.2.2), in parts that threads take.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../device.cuh"
#include "decode_params.h"

namespace cudaenc::mjpeg {

// Bits of words in the order of bytes; two words at a time in registers.
class BitWindow {
  public:
    DEVICE_MEMBER BitWindow(const uint32_t *words, uint32_t bit) : words_(words) { load(bit >> 5); }
    // The 32 bits from a bit on, in the window's first word or the next one.
    DEVICE_MEMBER uint32_t at(uint32_t bit) {
        const uint32_t word = bit >> 5;
        if (word != word_) {
            if (word == word_ + 1) {
                high_ = low_;
                low_ = swapped(word + 1);
                word_ = word;
            } else {
                load(word);
            }
        }
        return funnel_shift_left(low_, high_, bit);
    }

  private:
    DEVICE_MEMBER uint32_t swapped(uint32_t word) const {
        const uint32_t bytes = load_readonly(words_ + word);
        return byte_permute(bytes, bytes, 0x0123);
    }
    DEVICE_MEMBER void load(uint32_t word) {
        word_ = word;
        high_ = swapped(word);
        low_ = swapped(word + 1);
    }
    const uint32_t *words_;
    uint32_t word_, high_, low_;
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

// The fields of 2 bits for each block of an MCU.
DEVICE uint32_t field(uint32_t fields, uint32_t phase) { return fields >> 2 * phase & 3; }

// Decodes whole blocks from `start` on, until one begins at bit `end` or behind it, or until sink.pauses(). Behind the
// last interval, the walk ends at the last bit. Symbols that an interval's end cuts are not decoded. The sink gets
//   dc(component, difference, whole)   at the begin of a block; whole: no level of it lies beyond its end so far
//   ac(place, level)                   place: 1 to 63
//   broken()                           a level beyond the block's end, which is dropped
//   end_block()
//   end_interval(interval)             before the next one begins; also with the last one
template <class Sink>
DEVICE BlockStart walk(const CodedScan &scan, const DecodeTable *tables, BlockStart start, uint32_t end, Sink &sink) {
    const uint32_t bytes = scan.state->bytes;
    end = min_of(end, 8 * bytes);
    uint32_t bit = start.bit, phase = start.phase;
    if (bit >= end) return start;
    Interval interval = interval_at(scan, bit, bytes);
    BitWindow window(scan.words, bit);
    int place = 0;
    while (place || (bit < end && !sink.pauses())) {
        const bool dc = place == 0;
        const uint32_t bits = window.at(bit);
        const Step step = tables[field(dc ? scan.dc_tables : scan.ac_tables, phase)].find(bits);
        const bool whole = bit + static_cast<uint32_t>(step.bits()) <= interval.end;
        if (whole) {
            bit += static_cast<uint32_t>(step.bits());
            place += step.places();
            if (dc)
                sink.dc(field(scan.block_components, phase), magnitude_of(bits, step), place == 1);
            else if (step.magnitude_bits())
                place <= kBlockSamples ? sink.ac(place - 1, magnitude_of(bits, step)) : sink.broken();
            if (place < kBlockSamples) continue;
            sink.end_block();
            place = 0;
            phase = phase + 1 == scan.mcu_blocks ? 0 : phase + 1;
        }
        if (whole && bit < interval.end) continue;
        sink.end_interval(interval.number);
        if (++interval.number >= scan.intervals) return {8 * bytes, 0};
        bit = interval.end;
        phase = 0, place = 0;
        interval.end = interval_end(scan, interval.number, bytes);
    }
    return {bit, phase};
}

// Copies a scan's Huffman tables to shared memory. With all threads.
DEVICE void load_tables(const CodedScan &scan, DecodeTable *tables) {
    const uint32_t *from = reinterpret_cast<const uint32_t *>(scan.tables->table);
    uint32_t *to = reinterpret_cast<uint32_t *>(tables);
    for (int i = thread_x(); i < static_cast<int>(kScanTables * sizeof(DecodeTable) / 4); i += block_threads())
        to[i] = load_readonly(from + i);
    block_sync();
}

// The sum of two runs, the second behind the first.
DEVICE RunSum joined(const RunSum &a, const RunSum &b) {
    RunSum sum = b;
    if (b.restarted) return sum;
    sum.restarted = a.restarted;
    sum.blocks += a.blocks;
    CUDAENC_UNROLL
    for (int c = 0; c < kMaxStreamComponents; c++) sum.dc[c] += a.dc[c];
    return sum;
}

DEVICE RunSum shuffle_up(const RunSum &run, int distance) {
    RunSum from{.restarted = warp_shuffle_up(run.restarted, distance),
                .blocks = warp_shuffle_up(run.blocks, distance),
                .dc = {}};
    CUDAENC_UNROLL
    for (int c = 0; c < kMaxStreamComponents; c++) from.dc[c] = warp_shuffle_up(run.dc[c], distance);
    return from;
}

// The sum of the runs of all threads before, and of all. With all threads.
struct RunSums {
    RunSum before, all;
};
template <int Warps>
DEVICE RunSums sum_runs(const RunSum &own) {
    SHARED(RunSum, warp_sums, Warps);
    RunSum through = own;
    for (int distance = 1; distance < 32; distance <<= 1) {
        const RunSum below = shuffle_up(through, distance);
        if (lane_id() >= distance) through = joined(below, through);
    }
    if (lane_id() == 31) warp_sums[warp_id()] = through;
    block_sync();
    RunSums sums{};
    for (int i = 0; i < Warps; i++) {
        if (i == warp_id()) sums.before = sums.all;
        sums.all = joined(sums.all, warp_sums[i]);
    }
    const RunSum below = shuffle_up(through, 1);
    if (lane_id()) sums.before = joined(sums.before, below);
    block_sync();
    return sums;
}

}  // namespace cudaenc::mjpeg
