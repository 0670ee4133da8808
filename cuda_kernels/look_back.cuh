// SPDX-License-Identifier: LGPL-2.1-or-later
// Sums over the threads of a block, and over the thread-blocks before, while all of them run: decoupled look-back
// (D. Merrill, M. Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016).
#pragma once
#include "device.cuh"

namespace cudaenc {

// The sum over the threads before, and over all. With all threads; T: of 32 or 64 bits.
template <class T>
struct BlockSums {
    T before, all;
};
template <int Warps, class T>
DEVICE BlockSums<T> block_sums(T value) {
    SHARED(T, warp_sums, Warps);
    const T scanned = warp_inclusive_add(value);
    if (lane_id() == 31) warp_sums[warp_id()] = scanned;
    block_sync();
    BlockSums<T> sums{scanned - value, 0};
    CUDAENC_UNROLL
    for (int i = 0; i < Warps; i++) {
        sums.before += i < warp_id() ? warp_sums[i] : 0;
        sums.all += warp_sums[i];
    }
    return sums;
}

// Numbers the thread-blocks of a launch as they begin, or pieces of work as thread-blocks take them. Those with smaller
// numbers run or have run, so that one may wait for what they publish. With all threads. tickets: 0 before the launch
// and after it; count: so many are taken.
DEVICE uint32_t take_ticket(uint32_t *tickets, uint32_t count = static_cast<uint32_t>(grid_x())) {
    SHARED(uint32_t, ticket, 1);
    if (thread_x() == 0) {
        ticket[0] = atomic_add(tickets, 1u);
        if (ticket[0] == count - 1) atomic_add(tickets, 0u - count);
    }
    block_sync();
    return ticket[0];
}

// The same for a warp; count: of all warps' tickets. A warp takes one after the other.
DEVICE uint32_t take_warp_ticket(uint32_t *tickets, uint32_t count) {
    uint32_t ticket = 0;
    if (lane_id() == 0) {
        ticket = atomic_add(tickets, 1u);
        if (ticket == count - 1) atomic_add(tickets, 0u - count);
    }
    return warp_shuffle(ticket, 0);
}

// A published word: a value below 2^54, what it is, and the serial number of the frame, 1..255 in turn, which saves
// clearing the words between frames. 0 before the first frame.
enum class Published : uint64_t { nothing, own, sum };  // sum: of the own value and all before
constexpr int kPublishedBits = 54;
DEVICE void publish(uint64_t *word, uint32_t serial, Published what, uint64_t value) {
    atomic_store(word, uint64_t{serial} << 56 | static_cast<uint64_t>(what) << kPublishedBits | value);
}
DEVICE Published published(uint64_t word, uint32_t serial) {
    return word >> 56 == serial ? static_cast<Published>(word >> kPublishedBits & 3) : Published::nothing;
}
DEVICE uint64_t published_value(uint64_t word) { return word & ((uint64_t{1} << kPublishedBits) - 1); }

// The sum of the 32 values before `end`, or of all before it where one of these words is a sum. With a whole warp. end:
// at least 1. Word 0 becomes a sum. The sum of 32 values is below 2^32.
DEVICE uint64_t look_back_window(const uint64_t *words, uint32_t end, uint32_t serial, bool &all) {
    const uint32_t lane = static_cast<uint32_t>(lane_id()), at = end > lane ? end - 1 - lane : 0;
    uint64_t word;
    uint32_t sums, nearer;  // lanes with a sum, and lanes below the lowest of these
    for (;; back_off()) {
        word = atomic_load(words + at);
        sums = warp_ballot(published(word, serial) == Published::sum);
        nearer = sums ? (sums & (0 - sums)) - 1 : ~0u;
        if (!(nearer & ~warp_ballot(published(word, serial) != Published::nothing))) break;
    }
    all = sums != 0;
    const uint64_t sum = warp_add(nearer >> lane & 1 ? static_cast<uint32_t>(published_value(word)) : 0);
    return sums ? sum + warp_shuffle(published_value(word), find_first_set(sums)) : sum;
}

// The sum of all values before. With a whole warp. words: one a thread-block.
DEVICE uint64_t look_back(const uint64_t *words, uint32_t index, uint32_t serial) {
    uint64_t sum = 0;
    bool all = index == 0;
    for (uint32_t end = index; !all; end -= 32) sum += look_back_window(words, end, serial, all);
    return sum;
}

// Publishes the own value, and returns the sum of all before it. With a whole warp. Word 0 is a sum.
DEVICE uint64_t sum_before(uint64_t *words, uint32_t index, uint32_t serial, uint32_t own) {
    const uint32_t lane = static_cast<uint32_t>(lane_id());
    if (lane == 0 && index) publish(words + index, serial, Published::own, own);
    const uint64_t sum = look_back(words, index, serial);
    if (lane == 0) publish(words + index, serial, Published::sum, sum + own);
    return sum;
}

// Waits until a thread-block before has published its value, or the sum.
DEVICE uint64_t wait_for(const uint64_t *word, uint32_t serial, Published what = Published::own) {
    uint64_t seen;
    while (seen = atomic_load(word), published(seen, serial) < what) back_off();
    return published_value(seen);
}

}  // namespace cudaenc
