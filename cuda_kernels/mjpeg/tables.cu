// Huffman tables for the symbols of a picture (T.81 Annex K.2, Annex C).
// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../device.cuh"
#include "tables_params.h"

namespace cudaenc::mjpeg {

// A thread owns a symbol, until lengths are made, which one thread does.
KERNEL(kTablesThreads, mjpeg_tables, TablesParams)
{
    SHARED(uint32_t, counts, 256);
    SHARED(uint32_t, weights, 257);
    const int table = block_x() / 2, symbol = thread_x();
    const bool ac = block_x() % 2;
    const uint32_t *from = ac ? p.counts->ac[table] : p.counts->dc[table];
    SHARED(HuffmanSpec, made, 1);
    HuffmanSpec &spec = made[0];
    const int symbols = ac ? 256 : 16;
    counts[symbol] = symbol < symbols ? from[symbol] : 0;
    block_sync();
    int place = 0, used = 0;
    for (int other = 0; other < symbols; other++) {
        place += precedes(counts, other, symbol);
        used += counts[other] != 0;
    }
    if (counts[symbol]) {
        spec.symbols[place] = static_cast<uint8_t>(symbol);
        weights[used - place] = counts[symbol];
    }
    if (symbol == 0) weights[0] = 1;  // K.2: the code that is reserved
    block_sync();
    if (symbol == 0 && used) {
        make_code_lengths(weights, used, spec.codes);
        make_code_words(spec, ac ? p.codes->ac[table] : p.codes->dc[table], symbols);
    }
    block_sync();
    if (symbol == 0) (ac ? p.specs->ac[table] : p.specs->dc[table]) = spec;
}

}  // namespace cudaenc::mjpeg
