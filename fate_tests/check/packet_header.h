// SPDX-License-Identifier: LGPL-2.1-or-later
// Packet headers for tests: tag trees as T.800 B.10.2 tells them, sequentially, to write and to read; and a reader of
// headers. Nothing of the library's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cudaenc::testing {

// Bits of a packet header, without those stuffed after 0xFF. Reading beyond the end gives zeros and sets `overrun`.
class HeaderReader {
  public:
    HeaderReader(const uint8_t *data, size_t size) : data_(data), size_(size) {}
    bool overrun = false;
    int bit() {
        if (!left_) {
            const bool after_ff = at_ && at_ <= size_ && data_[at_ - 1] == 0xFF;
            overrun |= at_ >= size_;
            byte_ = at_ < size_ ? data_[at_] : 0;
            at_++;
            left_ = after_ff ? 7 : 8;
        }
        left_--;
        return (byte_ >> left_) & 1;
    }
    uint32_t bits(int count) {
        uint32_t value = 0;
        while (count--) value = value << 1 | static_cast<uint32_t>(bit());
        return value;
    }
    // Bytes up to the header's end: rounded up, and one more behind 0xFF.
    size_t finish() {
        left_ = 0;
        if (at_ && at_ <= size_ && data_[at_ - 1] == 0xFF) at_++;
        return at_;
    }

  private:
    const uint8_t *data_;
    size_t size_, at_ = 0;
    int byte_ = 0, left_ = 0;
};

// Both directions share the walk: a node's lower bound grows until it passes the threshold or the value is known.
class TagTree {
  public:
    TagTree(uint32_t columns, uint32_t rows) {
        for (;;) {
            levels_.push_back({columns, std::vector<Node>(size_t{columns} * rows)});
            if (columns * rows == 1) break;
            columns = (columns + 1) / 2;
            rows = (rows + 1) / 2;
        }
    }
    // For writing: values of leaves first, then fill() for their parents'.
    void set(uint32_t x, uint32_t y, uint32_t value) { node(0, x, y).value = value; }
    void fill() {
        for (size_t level = 1; level < levels_.size(); level++)
            for (Node &n : levels_[level].nodes) n.value = 0xFFFFFFFFu;
        for (size_t level = 1; level < levels_.size(); level++) {
            const Level &below = levels_[level - 1];
            for (size_t i = 0; i < below.nodes.size(); i++) {
                Node &parent = node(level, static_cast<uint32_t>(i % below.columns) / 2,
                                    static_cast<uint32_t>(i / below.columns) / 2);
                if (below.nodes[i].value < parent.value) parent.value = below.nodes[i].value;
            }
        }
    }
    // Tells whether the leaf's value is below the threshold.
    template <class PutBit>
    void write(uint32_t x, uint32_t y, uint32_t threshold, PutBit put) {
        uint32_t low = 0;
        for (size_t level = levels_.size(); level-- > 0;) {
            Node &n = node(level, x >> level, y >> level);
            if (n.low < low) n.low = low;
            while (n.low < threshold && !n.known) {
                n.known = n.low == n.value;
                put(n.known);
                if (!n.known) n.low++;
            }
            low = n.low;
        }
    }
    template <class GetBit>
    bool read(uint32_t x, uint32_t y, uint32_t threshold, GetBit get) {
        uint32_t low = 0;
        for (size_t level = levels_.size(); level-- > 0;) {
            Node &n = node(level, x >> level, y >> level);
            if (n.low < low) n.low = low;
            while (n.low < threshold && !n.known) {
                n.known = get();
                if (!n.known) n.low++;
            }
            low = n.low;
        }
        return node(0, x, y).known && low < threshold;
    }

  private:
    struct Node {
        uint32_t value = 0, low = 0;
        bool known = false;
    };
    struct Level {
        uint32_t columns;
        std::vector<Node> nodes;
    };
    Node &node(size_t level, uint32_t x, uint32_t y) {
        return levels_[level].nodes[size_t{y} * levels_[level].columns + x];
    }
    std::vector<Level> levels_;
};

struct HeaderBlock {
    bool included = false;  // in any layer so far
    uint32_t zero_planes = 0;
    uint32_t passes = 0;             // in the layers before the packet's
    uint32_t added = 0;              // in the packet
    std::vector<uint32_t> segments;  // bytes that the packet has of each segment of which it has passes
    int lblock = 3;
};

inline uint32_t read_passes(HeaderReader &in) {  // Table B.4
    if (!in.bit()) return 1;
    if (!in.bit()) return 2;
    if (const uint32_t n = in.bits(2); n < 3) return 3 + n;
    if (const uint32_t n = in.bits(5); n < 31) return 6 + n;
    return 37 + in.bits(7);
}

// Passes of each codeword segment of a block, by its style (A.6.1): with termination on each pass, one; with the
// bypass, ten, then two raw ones and a clean-up in turns.
inline std::vector<uint32_t> segment_passes(uint32_t style, uint32_t passes) {
    std::vector<uint32_t> segments;
    for (uint32_t most = style & 4 ? 1 : style & 1 ? 10 : passes; passes; passes -= segments.back()) {
        segments.push_back(passes < most ? passes : most);
        if (!(style & 4) && style & 1) most = most == 2 ? 1 : 2;
    }
    return segments;
}

// The same of passes [first, last) alone: segments that begin before or end behind them are cut.
inline std::vector<uint32_t> segment_passes(uint32_t style, uint32_t first, uint32_t last) {
    std::vector<uint32_t> segments;
    uint32_t at = 0;
    for (uint32_t passes : segment_passes(style, last)) {
        at += passes;
        if (at > first) segments.push_back(at - first < passes ? at - first : passes);
    }
    return segments;
}

// A sub-band's blocks in the packets of a precinct, in raster order, a layer after the other (B.10.3 to B.10.7).
class BandReader {
  public:
    BandReader(uint32_t columns, uint32_t rows, uint32_t style)
        : columns_(columns),
          style_(style),
          inclusion_(columns, rows),
          zero_planes_(columns, rows),
          blocks(size_t{columns} * rows) {}
    void read(HeaderReader &in, uint32_t layer) {
        const auto get = [&] { return in.bit() != 0; };
        for (size_t i = 0; i < blocks.size() && !in.overrun; i++) {
            HeaderBlock &block = blocks[i];
            const uint32_t x = static_cast<uint32_t>(i % columns_), y = static_cast<uint32_t>(i / columns_);
            block.passes += block.added;
            block.added = 0;
            block.segments.clear();
            if (block.included) {
                if (!in.bit()) continue;
            } else {
                block.included = inclusion_.read(x, y, layer + 1, get);
                if (!block.included) continue;
                while (!zero_planes_.read(x, y, block.zero_planes + 1, get) && !in.overrun) block.zero_planes++;
            }
            block.added = read_passes(in);
            while (in.bit() && !in.overrun) block.lblock++;
            for (uint32_t passes : segment_passes(style_, block.passes, block.passes + block.added)) {
                int length_bits = block.lblock;
                while (passes >>= 1) length_bits++;
                block.segments.push_back(in.bits(length_bits));
            }
        }
    }

  private:
    uint32_t columns_, style_;
    TagTree inclusion_, zero_planes_;

  public:
    std::vector<HeaderBlock> blocks;
};

}  // namespace cudaenc::testing
