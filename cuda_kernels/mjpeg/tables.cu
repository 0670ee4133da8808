// SPDX-License-Identifier: LGPL-2.1-or-later
// Optimal Huffman tables for the symbols of a picture (T.81 Annex K.2, Annex C).
#include "../device.cuh"
#include "tables_params.h"

namespace cudaenc::mjpeg {

// A thread owns a symbol, and a node of the tree. One thread builds the tree.
KERNEL(kTablesThreads, mjpeg_tables, TablesParams)
{
    SHARED(uint32_t, counts, 256);
    SHARED(uint32_t, weights, 257);
    SHARED(uint32_t, lengths, kDeepest + 2);
    SHARED(HuffmanSpec, made, 1);
    const int table = block_x() / 2, thread = thread_x();
    const bool ac = block_x() % 2;
    uint32_t *from = ac ? p.counts->ac[table] : p.counts->dc[table];
    uint32_t *words = ac ? p.codes->ac[table] : p.codes->dc[table];
    HuffmanSpec &spec = made[0];
    const int symbols = ac ? 256 : 16;
    const uint32_t count = thread < symbols ? from[thread] : 0;
    counts[thread] = count;
    if (thread < kDeepest + 2) lengths[thread] = 0;
    if (thread == 0) weights[0] = 1;  // K.2: the code that is reserved
    block_sync();
    int place = 0, used = 0;
    for (int other = 0; other < symbols; other++) {
        place += precedes(counts, other, thread);
        used += counts[other] != 0;
    }
    if (used == 0) return;
    if (count) {
        spec.symbols[place] = static_cast<uint8_t>(thread);
        weights[used - place] = count;
    }
    block_sync();
    if (thread == 0) join_lightest(weights, used);
    block_sync();
    if (thread < used) atomic_add(&lengths[node_depth(weights, used, thread)], 1u);
    block_sync();
    if (thread == 0) limit_code_lengths(lengths, spec.codes);
    block_sync();
    if (thread < symbols) {
        words[thread] = count ? code_word_of(spec, place) : 0;
        from[thread] = 0;
    }
    HuffmanSpec &to = ac ? p.specs->ac[table] : p.specs->dc[table];
    if (thread < 16) to.codes[thread] = spec.codes[thread];
    if (thread < used) to.symbols[thread] = spec.symbols[thread];
}

}  // namespace cudaenc::mjpeg
