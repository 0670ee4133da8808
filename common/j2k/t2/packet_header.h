// SPDX-License-Identifier: LGPL-2.1-or-later
// A code-block's part of a packet header (T.800 B.10). Its bits in any layer follow from the tag-tree nodes above it
// and its own numbers. So blocks can be written in any order, each at its own position.
#pragma once
#include <cstdint>

#include "../../hd.h"
#include "../codestream/markers.h"
#include "../codestream/tables.h"
#include "../t1/block.h"
#include "layers.h"

namespace cudaenc::j2k {

// A node of the two tag trees of a precinct's sub-band (T.800 B.10.2). Leaves that no layer includes do not count. A
// tree lies level by level, leaves first.
struct TagNode {
    uint32_t first;        // raster index of the first leaf below the node that `layer` includes
    uint16_t layer;        // the first layer that includes a leaf below the node; kNoLayer: none does
    uint16_t zero_planes;  // the fewest missing bit-planes of an included leaf below the node
};
CUDAENC_HD constexpr TagNode no_leaf() { return {0xFFFFFFFFu, kNoLayer, 0xFFFF}; }

// layer: the first that includes the leaf, or kNoLayer.
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

// Makes the nodes above the leaves. for_each(count, body) calls body(i) for i in [0, count) once all earlier bodies
// have returned.
template <class ForEach>
CUDAENC_HD void build_tag_tree(TagNode *leaves, uint32_t columns, uint32_t rows, const ForEach &for_each) {
    for (TagNode *below = leaves; columns * rows > 1;) {
        TagNode *nodes = below + columns * rows;
        const uint32_t half_columns = (columns + 1) / 2, half_rows = (rows + 1) / 2;
        for_each(half_columns * half_rows,
                 [&](uint32_t i) { nodes[i] = tag_parent(below, columns, rows, i % half_columns, i / half_columns); });
        below = nodes;
        columns = half_columns;
        rows = half_rows;
    }
}

// Calls body(node, level) from the root down to the leaf (x, y), as long as it returns true.
template <class Body>
CUDAENC_HD void descend_tag_tree(const PrecinctBand &band, const TagNode *nodes, uint32_t x, uint32_t y,
                                 const Body &body) {
    const auto columns = [&](int level) { return tag_tree_columns(band.columns, level); };
    const auto count = [&](int level) { return columns(level) * tag_tree_columns(band.rows, level); };
    int level = tag_tree_levels(band.columns, band.rows) - 1;
    uint32_t first = 0;  // node of the level
    CUDAENC_NO_UNROLL
    for (int below = 0; below < level; below++) first += count(below);
    while (body(nodes[first + (y >> level) * columns(level) + (x >> level)], level) && level) first -= count(--level);
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

// A block's part of the header of its packet of `layer`: inclusion, zero bit-planes, passes, a length for each codeword
// segment (T.800 B.10.4 to B.10.7). nodes: of its precinct's sub-band; empty_before: see empty_packets_before();
// pass_bytes: see for_each_segment(). An empty packet has no such part.
template <class Sink>
CUDAENC_HD void put_block_header(Sink &sink, const PrecinctBand &band, const TagNode *nodes, uint32_t x, uint32_t y,
                                 const LayerEnds &block, uint32_t layer, uint32_t empty_before, uint32_t style,
                                 const uint32_t *pass_bytes) {
    const auto passes_before = [&](uint32_t l) { return signalled_passes(style, block.passes_before(l)); };
    const int before = passes_before(layer), passes = passes_before(layer + 1) - before;
    if (before) {
        sink.put(passes != 0, 1);
        if (!passes) return;
    } else {
        // Inclusion: a node's value is the first layer that includes a leaf below it. Earlier packets told the values
        // below `layer`. Below a node whose value is not told yet, no leaf is included. So the first leaf to reach the
        // node, in raster order, is its upper left one. It tells whether the value is this layer. If not, the walk ends
        // there. Empty packets told nothing of their layers: the topmost untold node also says that its value is none
        // of these; the nodes below begin at its value.
        bool included = true;
        uint32_t untold = empty_before;
        descend_tag_tree(band, nodes, x, y, [&](const TagNode &node, int level) {
            if (node.layer < layer) return true;
            included = node.layer == layer;
            if (!((x | y) & ((1u << level) - 1))) {
                put_zeros(sink, untold);
                sink.put(included, 1);
            }
            untold = 0;
            return included;
        });
        if (!included) return;
        // Zero bit-planes: the first included leaf below a node tells by how much the node exceeds its parent.
        uint32_t known = 0;
        descend_tag_tree(band, nodes, x, y, [&](const TagNode &node, int) {
            if (node.first == y * band.columns + x) {
                put_zeros(sink, node.zero_planes - known);
                sink.put(1, 1);
            }
            known = node.zero_planes;
            return true;
        });
    }
    put_passes(sink, static_cast<uint32_t>(passes));
    // A length has Lblock + floor(log2(passes)) bits. Lblock is 3 at first. Each 1 adds one to it, for this layer and
    // all later ones.
    const auto for_each_length = [&](uint32_t of_layer, const auto &body) {
        for_each_segment(style, passes_before(of_layer), passes_before(of_layer + 1), block.bytes_before(of_layer),
                         block.bytes_before(of_layer + 1), pass_bytes, [&](int, int segment_passes, uint32_t bytes) {
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

// The most bits that put_block_header() puts for a block, over all layers. Once: 14 levels, 31 zero planes, 20 for
// Lblock. In each layer: 14 levels, 16 for passes, 24 for a length. For each further segment: 20.
CUDAENC_HD constexpr uint32_t most_block_header_bits(uint32_t style, int passes, uint32_t layers) {
    return 64 * (layers + 1) + 20 * static_cast<uint32_t>(max_of(most_segments(style, passes), 1) - 1);
}

}  // namespace cudaenc::j2k
