// Tier-2, T.800 Annex B.10: what a code-block adds to its packet's header. With one layer everything a block writes
// follows from the tag-tree nodes above it and its own numbers, so blocks can be written in any order, each at its own
// position. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../hd.h"
#include "styles.h"
#include "tables.h"

namespace cudaenc::j2k {

// What tier-1 found out about a block.
struct CodedBlock {
    uint32_t bytes;  // of its codeword, all segments
    uint8_t planes;  // magnitude bit-planes from the first that is coded; 0: nothing is
    uint8_t passes;  // coding passes
    uint8_t reserved[2];
};

// A node of the two tag trees of a precinct's sub-band (T.800 B.10.2). Leaves that have nothing coded do not count.
struct TagNode {
    uint32_t first;        // raster index of the first included leaf below the node; kNoLeaf: none is
    uint32_t zero_planes;  // the fewest missing bit-planes of an included leaf below the node
};
constexpr uint32_t kNoLeaf = 0xFFFFFFFFu;

CUDAENC_HD TagNode tag_leaf(const CodedBlock &coded, int planes, uint32_t raster) {
    return coded.planes ? TagNode{raster, static_cast<uint32_t>(planes - coded.planes)} : TagNode{kNoLeaf, 0xFFFFFFFFu};
}

// The node at (x, y) of `level` from its children, which are columns x rows nodes at `below`.
CUDAENC_HD TagNode tag_parent(const TagNode *below, uint32_t columns, uint32_t rows, uint32_t x, uint32_t y) {
    TagNode node{kNoLeaf, 0xFFFFFFFFu};
    for (uint32_t j = 2 * y; j < min_of(2 * y + 2, rows); j++)
        for (uint32_t i = 2 * x; i < min_of(2 * x + 2, columns); i++) {
            const TagNode &child = below[j * columns + i];
            node.first = min_of(node.first, child.first);
            node.zero_planes = min_of(node.zero_planes, child.zero_planes);
        }
    return node;
}

// Sinks: put(value, count) takes `count` bits (0 to 32), the highest first.
struct BitCounter {
    uint32_t bits = 0;
    CUDAENC_HD void put(uint32_t, int count) { bits += static_cast<uint32_t>(count); }
};

template <class Sink>
CUDAENC_HD void put_zeros_and_one(Sink &sink, uint32_t zeros) {
    for (; zeros >= 32; zeros -= 32) sink.put(0, 32);
    sink.put(0, static_cast<int>(zeros));
    sink.put(1, 1);
}

// Number of coding passes, T.800 Table B.4: 1 to 164.
template <class Sink>
CUDAENC_HD void put_passes(Sink &sink, uint32_t passes) {
    if (passes == 1)
        sink.put(0, 1);
    else if (passes == 2)
        sink.put(2, 2);
    else if (passes <= 5)
        sink.put(0xC | (passes - 3), 4);
    else if (passes <= 36)
        sink.put(0x1E0 | (passes - 6), 9);
    else
        sink.put(0xFF80 | (passes - 37), 16);
}

// Everything block `block` writes into its packet's header: inclusion, zero bit-planes, passes, a length for each
// codeword segment (T.800 B.10.4 to B.10.7). nodes: of its precinct's sub-band; pass_bytes: see for_each_segment().
template <class Sink>
CUDAENC_HD void put_block_header(Sink &sink, const PrecinctBand &cell, const TagNode *nodes, uint32_t x, uint32_t y,
                                 const CodedBlock &coded, uint32_t style = 0, const uint32_t *pass_bytes = nullptr) {
    const uint32_t raster = y * cell.columns + x;
    const int levels = tag_tree_levels(cell.columns, cell.rows);
    // Both trees are walked from the root; a level's nodes lie behind those of the levels below it.
    uint32_t base = 0;
    for (int level = 0; level < levels - 1; level++)
        base += tag_tree_columns(cell.columns, level) * tag_tree_columns(cell.rows, level);
    const uint32_t root = base;
    const auto down = [&](uint32_t from, int level) {  // where the level below `level` begins
        return level ? from - tag_tree_columns(cell.columns, level - 1) * tag_tree_columns(cell.rows, level - 1) : 0;
    };
    // Inclusion in layer 0: a node is 0 where a leaf below it is included, else 1. The first leaf to reach a node in
    // raster order is its upper left one, and it tells one bit; nothing follows below a 1.
    for (int level = levels - 1; level >= 0; base = down(base, level--)) {
        const TagNode &node = nodes[base + (y >> level) * tag_tree_columns(cell.columns, level) + (x >> level)];
        const bool included = node.first != kNoLeaf;
        if (!((x | y) & ((1u << level) - 1))) sink.put(included, 1);
        if (!included) return;
    }
    // Zero bit-planes: the first included leaf below a node tells how much more it is than its parent.
    uint32_t known = 0;
    base = root;
    for (int level = levels - 1; level >= 0; base = down(base, level--)) {
        const TagNode &node = nodes[base + (y >> level) * tag_tree_columns(cell.columns, level) + (x >> level)];
        if (node.first == raster) put_zeros_and_one(sink, node.zero_planes - known);
        known = node.zero_planes;
    }
    put_passes(sink, coded.passes);
    // Lblock is 3; each 1 adds one to the bits of all lengths, beyond floor(log2(passes)).
    const auto more = [](int segment_passes) { return bit_width(static_cast<uint32_t>(segment_passes)) - 1; };
    int lblock = 3;
    for_each_segment(style, coded.passes, coded.bytes, pass_bytes, [&](int, int segment_passes, uint32_t bytes) {
        lblock = max_of(lblock, bit_width(bytes) - more(segment_passes));
    });
    sink.put((1u << (lblock - 3 + 1)) - 2, lblock - 3 + 1);
    for_each_segment(style, coded.passes, coded.bytes, pass_bytes,
                     [&](int, int segment_passes, uint32_t bytes) { sink.put(bytes, lblock + more(segment_passes)); });
}

// The most bits that put_block_header() puts: 14 levels twice, 31 zero planes, 16 for passes, 2 x 20 for the length and
// 20 for that of each further segment.
CUDAENC_HD constexpr uint32_t most_block_header_bits(uint32_t style, int passes) {
    return 128 + 20 * static_cast<uint32_t>(max_of(most_segments(style, passes), 1) - 1);
}

// SOP and EPH marker segments, T.800 A.8.
constexpr uint32_t kSopBytes = 6, kEphBytes = 2;

// Bytes of a packet's length in a PLT marker segment: seven bits each, T.800 A.7.3.
CUDAENC_HD uint32_t plt_bytes(uint64_t length) {
    uint32_t n = 1;
    for (; length >>= 7;) n++;
    return n;
}
// Packets whose lengths share a PLT marker segment: five bytes each fit its 65535 in every case.
constexpr uint32_t kPltPackets = 13000;
constexpr uint32_t kPltHeaderBytes = 5;  // marker, Lplt, Zplt
constexpr uint32_t kSotBytes = 12, kSodBytes = 2;
CUDAENC_HD uint32_t plt_segments(uint32_t packets) { return (packets + kPltPackets - 1) / kPltPackets; }

}  // namespace cudaenc::j2k
