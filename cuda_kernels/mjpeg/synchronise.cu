// SPDX-License-Identifier: LGPL-2.1-or-later
// Where in coded data threads can begin to decode. Huffman codes synchronise themselves: a decoder that begins anywhere
// soon reads the symbols that are there (S. T. Klein, Y. Wiseman, "Parallel Huffman decoding with applications to JPEG
// files", 2003; A. Weissenberger, B. Schmidt, "Massively parallel Huffman decoding on GPUs", 2018).
#include "walk.cuh"

namespace cudaenc::mjpeg {

namespace {

// A sink of a walk.
struct BlockCounter {
    static constexpr bool kBlocksOnly = true;
    BlockCount count{};
    DEVICE_MEMBER void symbol(uint32_t, bool, int, uint32_t, Step) {}
    DEVICE_MEMBER void end_block(uint32_t) { count.value[0]++; }
    DEVICE_MEMBER void end_interval(uint32_t) { count = {.restarted = 1, .value = {}}; }
};

DEVICE Candidate walk_subsequence(const CodedScan &scan, uint32_t number, Walk &walk) {
    const uint64_t begin = packed(walk.at());
    BlockCounter counter;
    walk.run((number + 1) * scan.subsequence_bits, counter);
    return {.begin = begin, .end = packed(walk.at()), .count = counter.count};
}

// Where a block begins, as a number of 32 bits among those of subsequences nearby: the phase, and the last bits of
// where it begins.
constexpr int kKeyBits = 32 - kPhaseBits;
constexpr uint32_t kNoKey = ~0u;  // of a candidate that equals another: no such phase
static_assert(kMaxMcuBlocks < 1 << kPhaseBits);
DEVICE uint32_t key_of(uint64_t start) {
    const BlockStart at = unpacked(start);
    return start == kNoBegin ? kNoKey : at.phase << kKeyBits | (at.bit & ((1u << kKeyBits) - 1));
}
// near: a bit in the neighbourhood.
DEVICE BlockStart start_of(uint32_t key, uint32_t near) {
    const int32_t distance = static_cast<int32_t>((key - near) << kPhaseBits) >> kPhaseBits;
    return {near + static_cast<uint32_t>(distance), key >> kKeyBits};
}

// The candidates of a thread-block's tile and of the subsequences before it, and which of them are chosen.
struct TileChain {
    const ChainPicture &picture;
    const LookUps &tables;
    uint32_t *begins, *ends;  // [rows][kChainColumns]: keys
    uint8_t *chosen;          // [kTileSubsequences]: row
    uint32_t first;           // subsequence of the tile

    DEVICE_MEMBER static int column(int i) { return i + kLeadSubsequences; }
    DEVICE_MEMBER int place(int i) const { return chosen[i] * kChainColumns + column(i); }

    // The row of the candidate of a subsequence that begins at a state, among the first `rows`; -1: none does. With a
    // warp.
    DEVICE_MEMBER int find(int i, uint32_t state, int rows) const {
        const bool is = lane_id() < rows && begins[lane_id() * kChainColumns + column(i)] == state;
        const uint32_t found = warp_ballot(is);
        return found ? find_first_set(found) : -1;
    }

    // Where subsequence `i` may begin, by what the candidates of those before agree on. Others add theirs meanwhile,
    // which do not count. With a warp.
    DEVICE_MEMBER uint32_t guess(int i) const {
        int before = i - kLeadSubsequences;
        uint32_t state = ends[column(before)];
        while (++before < i) {
            const int found = find(before, state, static_cast<int>(picture.rows) - 1);
            state = ends[max_of(found, 0) * kChainColumns + column(before)];
        }
        return state;
    }

    // Chooses the candidates of 32 subsequences, from `first_of_warp` on, each where the one before ends. again: until
    // one begins where it did. Where no candidate begins, the next subsequence begins with any of its own for now, so
    // that lanes decode all that are missing at once. Then the chain goes on behind the first of them. With a warp.
    // Returns where the last one ends.
    DEVICE_MEMBER uint32_t choose(int first_of_warp, uint32_t state, bool again) const {
        const int last = first_of_warp + 31, added = static_cast<int>(picture.rows) - 1;
        for (int i = first_of_warp;; i++) {
            uint32_t missing = 0;
            for (; i <= last && !(again && begins[place(i)] == state); i++) {
                const int found = find(i, state, added + 1), row = found < 0 ? added : found;
                warp_sync();
                if (lane_id() == 0) {
                    if (found < 0) begins[row * kChainColumns + column(i)] = state;
                    chosen[i] = static_cast<uint8_t>(row);
                }
                warp_sync();
                if (found < 0) {
                    missing |= 1u << (i - first_of_warp);
                    again = false;
                }
                state = found < 0 ? begins[column(min_of(i + 1, last))] : ends[row * kChainColumns + column(i)];
            }
            if (!missing) return ends[place(last)];
            if (missing >> lane_id() & 1) decode(added, first_of_warp + lane_id());
            warp_sync();
            i = first_of_warp + find_first_set(missing);
            state = ends[added * kChainColumns + column(i)];
        }
    }

    // A candidate, from where it begins.
    DEVICE_MEMBER void decode(int row, int i) const {
        const uint32_t own = first + static_cast<uint32_t>(i);
        const int at = row * kChainColumns + column(i);
        Walk walk(picture.scan, tables, start_of(begins[at], own * picture.scan.subsequence_bits));
        const Candidate found = walk_subsequence(picture.scan, own, walk);
        ends[at] = key_of(found.end);
        picture.candidates[static_cast<uint32_t>(row) * picture.subsequences + own] = found;
    }
};

}  // namespace

// A warp owns a number in the MCU, a lane a subsequence. Threads go through those that begin differently.
KERNEL(kMaxSpeculateThreads, mjpeg_speculate, SpeculateParams)
{
    SHARED(TableVector, table_memory, kLookUpVectors);
    SHARED(uint64_t, begins, kMaxSpeculateThreads);
    SHARED(uint16_t, distinct, kMaxSpeculateThreads);  // numbers of threads
    SHARED(int, counts, kMaxMcuBlocks);                // of each warp
    const SpeculatePicture &picture = p.picture[block_y()];
    const uint32_t first = static_cast<uint32_t>(block_x()) * 32, own = first + static_cast<uint32_t>(lane_id());
    if (first / kTileSubsequences * tile_bits(picture.scan) >= 8 * picture.scan.state->bytes)
        return;  // the tile holds no data
    const LookUps &tables = load_tables<kLookUpVectors>(picture.scan, table_memory);
    {
        const uint32_t phase = static_cast<uint32_t>(warp_id()), bit = own * picture.scan.subsequence_bits;
        Walk walk(picture.scan, tables, own ? BlockStart{bit - kLeadBits, phase} : BlockStart{0, 0});
        BlockCounter ignored;
        walk.run(bit, ignored);
        begins[thread_x()] = packed(walk.at());
    }
    if (warp_id() == 0) picture.candidates[picture.scan.mcu_blocks * picture.subsequences + own].begin = kNoBegin;
    block_sync();
    bool is_first = true;
    for (int i = lane_id(); i < thread_x(); i += 32) is_first &= begins[i] != begins[thread_x()];
    const uint32_t firsts = warp_ballot(is_first);
    if (lane_id() == 0) counts[warp_id()] = popcount(firsts);
    block_sync();
    int before = 0, all = 0;
    for (int i = 0; i < block_threads() / 32; i++) {
        before += i < warp_id() ? counts[i] : 0;
        all += counts[i];
    }
    if (is_first)
        distinct[before + popcount(firsts & ((1u << lane_id()) - 1))] = static_cast<uint16_t>(thread_x());
    else
        picture.candidates[static_cast<uint32_t>(warp_id()) * picture.subsequences + own].begin = kNoBegin;
    block_sync();
    if (thread_x() >= all) return;
    const uint32_t from = distinct[thread_x()], number = first + from % 32;
    Walk walk(picture.scan, tables, unpacked(begins[from]));
    picture.candidates[from / 32 * picture.subsequences + number] = walk_subsequence(picture.scan, number, walk);
}

// A thread owns a subsequence, a warp the chain of 32.
KERNEL(kTileSubsequences, mjpeg_chain, ChainParams)
{
    SHARED(TableVector, table_memory, kLookUpVectors);
    SHARED(uint32_t, begins, kMaxCandidates *kChainColumns);
    SHARED(uint32_t, ends, kMaxCandidates *kChainColumns);
    SHARED(uint32_t, warp_ends, kTileSubsequences / 32);
    SHARED(uint32_t, end_before, 1);
    SHARED(uint8_t, chosen, kTileSubsequences);
    const ChainPicture &picture = p.picture[block_y()];
    const uint32_t tile = take_ticket(&picture.scan.state->tickets), first = tile * kTileSubsequences;
    const uint32_t own = first + static_cast<uint32_t>(thread_x());
    if (tile >= tiles_of(picture.scan)) return;
    for (int column = thread_x(); column < kChainColumns; column += kTileSubsequences) {
        const bool lead = column < kLeadSubsequences;  // in which another thread-block adds candidates
        if (tile == 0 && lead) continue;
        const uint32_t number = first + static_cast<uint32_t>(column) - kLeadSubsequences;
        constexpr uint32_t kLoads = 4;  // under way at once
        for (uint32_t first_row = 0; first_row < picture.rows - lead; first_row += kLoads) {
            uint64_t begin[kLoads] = {}, end[kLoads] = {};
            CUDAENC_UNROLL
            for (uint32_t k = 0; k < kLoads; k++) {
                if (first_row + k >= picture.rows - lead) continue;
                const Candidate &candidate = picture.candidates[(first_row + k) * picture.subsequences + number];
                begin[k] = candidate.begin, end[k] = candidate.end;
            }
            CUDAENC_UNROLL
            for (uint32_t k = 0; k < kLoads; k++) {
                if (first_row + k >= picture.rows - lead) continue;
                begins[static_cast<int>(first_row + k) * kChainColumns + column] = key_of(begin[k]);
                ends[static_cast<int>(first_row + k) * kChainColumns + column] = key_of(end[k]);
            }
        }
    }
    chosen[thread_x()] = 0;
    const LookUps &tables = load_tables<kLookUpVectors>(picture.scan, table_memory);
    uint32_t *const all_begins = begins, *const all_ends = ends;
    uint8_t *const all_chosen = chosen;
    const TileChain chain{.picture = picture,
                          .tables = tables,
                          .begins = all_begins,
                          .ends = all_ends,
                          .chosen = all_chosen,
                          .first = first};
    const int warp_first = 32 * warp_id();
    uint32_t begin = own < 32 ? 0 : chain.guess(warp_first);
    bool moved = true;
    CUDAENC_NO_UNROLL
    for (uint32_t correction = 0;; correction++) {
        // The first time, all warps choose at once; then each where the one before ends elsewhere than before.
        bool again = correction != 0;
        while (block_any(moved)) {
            if (moved) {
                const uint32_t end = chain.choose(warp_first, begin, again);
                if (lane_id() == 0) warp_ends[warp_id()] = end;
            }
            block_sync();
            if (warp_id()) begin = warp_ends[warp_id() - 1];
            moved = warp_id() && begin != all_begins[chain.place(warp_first)];
            again = true;
        }
        uint64_t *words = picture.ends + correction * picture.tiles + tile;
        if (thread_x() == 0) {
            publish(words, picture.serial, Published::own, warp_ends[kTileSubsequences / 32 - 1]);
            end_before[0] = tile ? static_cast<uint32_t>(wait_for(words - 1, picture.serial)) : 0;
        }
        block_sync();
        if (warp_id() == 0) begin = end_before[0];
        moved = warp_id() == 0 && tile && begin != all_begins[chain.place(0)];
        if (correction == kCorrections) break;
    }
    if (moved && lane_id() == 0) atomic_or(&picture.scan.state->damaged, 1u);
    const RunSums<1> sums =
        sum_runs<kTileSubsequences / 32>(picture.candidates[chosen[thread_x()] * picture.subsequences + own].count);
    picture.starts[own] = start_of(all_begins[chain.place(thread_x())], own * picture.scan.subsequence_bits);
    picture.before[own] = sums.before;
    if (thread_x() == 0) picture.counts[tile] = sums.all;
    if (is_last_tile(picture.scan, &picture.scan.state->chained))
        sum_tiles(picture.counts, picture.counts_before, tiles_of(picture.scan));
}

}  // namespace cudaenc::mjpeg
