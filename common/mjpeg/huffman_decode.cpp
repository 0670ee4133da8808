// SPDX-License-Identifier: LGPL-2.1-or-later
#include "huffman_decode.h"

#include <algorithm>

namespace cudaenc::mjpeg {

DecodeTable make_decode_table(const StreamHuffman &huffman, TableUse use) {
    DecodeTable table{};
    std::fill_n(table.by_suffix, DecodeTable::kSuffixes, kNoCode.packed());
    int next = 0;
    uint32_t code = 0;  // of the length at hand (Annex C)
    for (int length = 1; length <= 16; length++, code <<= 1) {
        const int first = next;
        const uint32_t first_code = code;
        for (int i = 0; i < huffman.codes[length - 1]; i++, next++, code++) {
            const int symbol = huffman.symbols[next];
            const Step step = use == TableUse::dc           ? dc_step(length, symbol)
                              : use == TableUse::ac         ? ac_step(length, symbol)
                              : use == TableUse::difference ? difference_step(length, symbol)
                                                            : progressive_ac_step(length, symbol);
            table.by_code[next] = step.packed();
            if (length > DecodeTable::kPrefixBits) {
                const uint32_t begin = code << (16 - length), end = begin + (1u << (16 - length));
                for (uint32_t at = std::max(begin, DecodeTable::kSuffixFirst); at < end; at++)
                    table.by_suffix[at - DecodeTable::kSuffixFirst] = step.packed();
                continue;
            }
            const int spare = DecodeTable::kPrefixBits - length;
            std::fill_n(table.by_prefix + (code << spare), 1 << spare, step.packed());
        }
        if (length <= DecodeTable::kPrefixBits) continue;
        const int i = length - DecodeTable::kPrefixBits - 1;
        table.limit[i] = code << (16 - length);
        table.offset[i] = first - static_cast<int32_t>(first_code);
    }
    return table;
}

}  // namespace cudaenc::mjpeg
