// Tier-2, T.800 Annex B.10: what a code-block adds to a packet's header. Everything it writes in any layer follows from
// the tag-tree nodes above it and its own numbers, so blocks can be written in any order, each at its own position.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../../hd.h"
#include "../t1/block.h"
#include "../tables.h"
#include "layers.h"

namespace cudaenc::j2k {

// A node of the two tag trees of a precinct's sub-band (T.800 B.10.2). Leaves that no layer includes do not count.
struct TagNode {
    uint32_t first;        // raster index of the first leaf below the node that `layer` includes
    uint16_t layer;        // the first layer that includes a leaf below the node; kNoLayer: none does
    uint16_t zero_planes;  // the fewest missing bit-planes of an included leaf below the node
};
CUDAENC_HD constexpr TagNode no_leaf() { return {0xFFFFFFFFu, kNoLayer, 0xFFFF}; }

// layer: the first that includes it, or kNoLayer.
CUDAENC_HD TagNode tag_leaf(uint32_t layer, int missing_planes, uint32_t raster) {
    return layer == kNoLayer ? no_leaf()
                             : TagNode{raster, static_cast<uint16_t>(layer), static_cast<uint16_t>(missing_planes)};
}

// The node at (x, y) of `level` from its children, which are columns x rows nodes at `below`.
CUDAENC_HD TagNode tag_parent(const TagNode *below, uint32_t columns, uint32_t rows, uint32_t x, uint32_t y) {
    TagNode node = no_leaf();
    for (uint32_t j = 2 * y; j < min_of(2 * y + 2, rows); j++)
        for (uint32_t i = 2 * x; i < min_of(2 * x + 2, columns); i++) {
            const TagNode &child = below[j * columns + i];
            if (child.layer < node.layer || (child.layer == node.layer && child.first < node.first)) {
                node.first = child.first;
                node.layer = child.layer;
            }
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
CUDAENC_HD void put_zeros(Sink &sink, uint32_t zeros) {
    for (; zeros > 32; zeros -= 32) sink.put(0, 32);
    sink.put(0, static_cast<int>(zeros));
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

// Everything a block writes into the header of its packet of `layer`: inclusion, zero bit-planes, passes, a length for
// each codeword segment (T.800 B.10.4 to B.10.7). nodes: of its precinct's sub-band; empty_before: see
// empty_packets_before(); pass_bytes: see for_each_segment(). An empty packet has nothing of it.
template <class Sink>
CUDAENC_HD void put_block_header(Sink &sink, const PrecinctBand &precinct_band, const TagNode *nodes, uint32_t x,
                                 uint32_t y, const LayerEnds &block, uint32_t layer, uint32_t empty_before,
                                 uint32_t style, const uint32_t *pass_bytes) {
    const int before = block.passes_before(layer), passes = block.passes_before(layer + 1) - before;
    if (before) {
        sink.put(passes != 0, 1);
        if (!passes) return;
    } else {
        const uint32_t raster = y * precinct_band.columns + x;
        const int levels = tag_tree_levels(precinct_band.columns, precinct_band.rows);
        // Both trees are walked from the root; a level's nodes lie behind those of the levels below it.
        uint32_t base = 0;
        for (int level = 0; level < levels - 1; level++)
            base += tag_tree_columns(precinct_band.columns, level) * tag_tree_columns(precinct_band.rows, level);
        const uint32_t root = base;
        const auto down = [&](uint32_t from, int level) {  // where the level below `level` begins
            return level ? from - tag_tree_columns(precinct_band.columns, level - 1) *
                                      tag_tree_columns(precinct_band.rows, level - 1)
                         : 0;
        };
        // Inclusion: a node's value is the first layer that includes a leaf below it. Packets before told the values
        // below `layer`. While a node's value is not told, no leaf below it is included, so the first one to reach the
        // node, in raster order, is its upper left one; it tells whether the value is this layer, and nothing follows
        // below a node where it is not. Of empty packets' layers, which nobody told, the topmost of these nodes says
        // that they are not it; those below begin at its value.
        uint32_t untold = empty_before;
        for (int level = levels - 1; level >= 0; base = down(base, level--)) {
            const TagNode &node =
                nodes[base + (y >> level) * tag_tree_columns(precinct_band.columns, level) + (x >> level)];
            if (node.layer < layer) continue;
            const bool included = node.layer == layer;
            if (!((x | y) & ((1u << level) - 1))) {
                put_zeros(sink, untold);
                sink.put(included, 1);
            }
            if (!included) return;
            untold = 0;
        }
        // Zero bit-planes: the first included leaf below a node tells how much more it is than its parent.
        uint32_t known = 0;
        base = root;
        for (int level = levels - 1; level >= 0; base = down(base, level--)) {
            const TagNode &node =
                nodes[base + (y >> level) * tag_tree_columns(precinct_band.columns, level) + (x >> level)];
            if (node.first == raster) {
                put_zeros(sink, node.zero_planes - known);
                sink.put(1, 1);
            }
            known = node.zero_planes;
        }
    }
    put_passes(sink, static_cast<uint32_t>(passes));
    // Lblock is 3 at first; each 1 adds one to the bits of all lengths, of this layer and those behind it, beyond
    // floor(log2(passes)).
    const auto for_each_length = [&](uint32_t of_layer, const auto &body) {
        for_each_segment(style, block.passes_before(of_layer), block.passes_before(of_layer + 1),
                         block.bytes_before(of_layer), block.bytes_before(of_layer + 1), pass_bytes,
                         [&](int, int segment_passes, uint32_t bytes) {
                             body(bytes, bit_width(static_cast<uint32_t>(segment_passes)) - 1);
                         });
    };
    int lblock = 3, lblock_before = 3;
    for (uint32_t l = 0; l <= layer; l++) {
        lblock_before = lblock;
        for_each_length(l, [&](uint32_t bytes, int more) { lblock = max_of(lblock, bit_width(bytes) - more); });
    }
    const int increase = lblock - lblock_before;
    sink.put((1u << (increase + 1)) - 2, increase + 1);
    for_each_length(layer, [&](uint32_t bytes, int more) { sink.put(bytes, lblock + more); });
}

// The most bits that put_block_header() puts for a block, in all layers together: once 14 levels, 31 zero planes and 20
// for Lblock; 14 levels, 16 for passes and 24 for the length in each layer, and 20 for the length of each further
// segment.
CUDAENC_HD constexpr uint32_t most_block_header_bits(uint32_t style, int passes, uint32_t layers) {
    return 64 * (layers + 1) + 20 * static_cast<uint32_t>(max_of(most_segments(style, passes), 1) - 1);
}

// SOP and EPH marker segments, T.800 A.8.
constexpr uint32_t kSopBytes = 6, kEphBytes = 2;

// Bytes of a packet's length in a PLT marker segment: seven bits each, T.800 A.7.3.
CUDAENC_HD uint32_t plt_bytes(uint64_t length) {
    uint32_t n = 1;
    for (; length >>= 7;) n++;
    return n;
}
constexpr uint32_t kPltHeaderBytes = 5;  // marker, Lplt, Zplt
constexpr uint32_t kSotBytes = 12, kSodBytes = 2;

}  // namespace cudaenc::j2k
