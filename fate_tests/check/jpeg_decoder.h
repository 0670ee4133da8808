// SPDX-License-Identifier: LGPL-2.1-or-later
// A baseline JPEG decoder of the tests' own, after T.81 alone: markers, Huffman codes, levels, samples. Whatever the
// standard does not allow fails the test. Include it last, as testing.h.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../../common/error.h"

// What a stream has to be.
#define REQUIRE(condition, ...)                                                                     \
    do {                                                                                            \
        if (!(condition)) throw Error(CUDAENC_ERR_INTERNAL, "JPEG: " + format_string(__VA_ARGS__)); \
    } while (0)

namespace cudaenc::testing {

class JpegDecoder {
  public:
    struct Component {
        int id, h, v, tq, dc = -1, ac = -1;
        int width, height;                        // samples
        int columns = 0, rows = 0;                // blocks that are coded
        std::vector<std::array<int, 64>> blocks;  // levels, by 8 row + column of the coefficient
        const std::array<int, 64> &block(int x, int y) const { return blocks[static_cast<size_t>(y * columns + x)]; }
    };
    struct Segment {
        int marker;
        std::vector<uint8_t> data;
        bool is(const std::string &head) const {
            return data.size() >= head.size() && std::equal(head.begin(), head.end(), data.begin());
        }
    };
    int width = 0, height = 0;
    std::vector<Component> components;
    std::array<std::array<int, 64>, 4> divisors{};  // by 8 row + column
    std::vector<Segment> segments;                  // APPn and COM, in their order
    std::vector<int> markers;                       // all but RSTm
    int restart_interval = 0, restarts = 0, scans = 0;

    JpegDecoder(const uint8_t *data, size_t size) : data_(data), size_(size) {
        expect_marker(0xD8);
        while (next_marker()) {
        }
        REQUIRE(at_ == size_, "%zu bytes follow EOI", size_ - at_);
        for (const Component &c : components) REQUIRE(!c.blocks.empty(), "component %d is in no scan", c.id);
    }

    // Samples of a component before rounding, by A.3.3's inverse.
    std::vector<double> samples(int component) const {
        const Component &c = components[static_cast<size_t>(component)];
        std::vector<double> out(static_cast<size_t>(c.width) * static_cast<size_t>(c.height));
        double cosine[8][8];
        for (int u = 0; u < 8; u++)
            for (int x = 0; x < 8; x++)
                cosine[u][x] = (u ? 0.5 : std::sqrt(0.125)) * std::cos((2 * x + 1) * u * 3.14159265358979323846 / 16);
        for (int by = 0; by < c.rows; by++)
            for (int bx = 0; bx < c.columns; bx++) {
                const auto &levels = c.block(bx, by);
                const auto &q = divisors[static_cast<size_t>(c.tq)];
                double rows[8][8] = {};
                for (int v = 0; v < 8; v++)
                    for (int u = 0; u < 8; u++)
                        for (int x = 0; levels[8 * v + u] && x < 8; x++)
                            rows[v][x] += levels[8 * v + u] * q[8 * v + u] * cosine[u][x];
                for (int y = 0; y < 8 && by * 8 + y < c.height; y++)
                    for (int x = 0; x < 8 && bx * 8 + x < c.width; x++) {
                        double sum = 128;
                        for (int v = 0; v < 8; v++) sum += rows[v][x] * cosine[v][y];
                        out[static_cast<size_t>(by * 8 + y) * static_cast<size_t>(c.width) +
                            static_cast<size_t>(bx * 8 + x)] = sum;
                    }
            }
        return out;
    }

  private:
    struct Table {
        std::array<int, 17> count{};
        std::vector<int> symbols;
    };

    int byte() {
        REQUIRE(at_ < size_, "the end is reached");
        return data_[at_++];
    }
    int word() {
        const int high = byte();
        return high << 8 | byte();
    }
    void expect_marker(int code) {
        const int is = word();
        REQUIRE(is == (0xFF00 | code), "%04x instead of FF%02x at %zu", is, code, at_ - 2);
    }

    bool next_marker() {
        const int marker = word();
        REQUIRE(marker >= 0xFF00, "%04x is no marker, at %zu", marker, at_ - 2);
        markers.push_back(marker & 0xFF);
        if (marker == 0xFFD9) return false;
        const int length = word();
        const size_t end = at_ + static_cast<size_t>(length) - 2;
        REQUIRE(length >= 2 && end <= size_, "length %d of marker %04x", length, marker);
        if ((marker >= 0xFFE0 && marker <= 0xFFEF) || marker == 0xFFFE)
            segments.push_back({marker & 0xFF, {data_ + at_, data_ + end}}), at_ = end;
        else if (marker == 0xFFDB)
            while (at_ < end) read_divisors();
        else if (marker == 0xFFC4)
            while (at_ < end) read_table();
        else if (marker == 0xFFC0)
            read_frame();
        else if (marker == 0xFFDD)
            restart_interval = word();
        else if (marker == 0xFFDA)
            read_scan();
        else
            REQUIRE(false, "marker %04x is not one of baseline coding", marker);
        if (marker != 0xFFDA) REQUIRE(at_ == end, "the segment of %04x ends at %zu, not %zu", marker, at_, end);
        return true;
    }

    // The zig-zag sequence as a walk along the anti-diagonals.
    static std::array<int, 64> zigzag() {
        std::array<int, 64> order{};
        size_t n = 0;
        for (int d = 0; d < 15; d++)
            for (int i = 0; i <= d; i++) {
                const int row = d & 1 ? i : d - i, column = d - row;
                if (row < 8 && column < 8) order[n++] = 8 * row + column;
            }
        return order;
    }

    void read_divisors() {
        const int pq_tq = byte();
        REQUIRE(pq_tq < 4, "Pq and Tq %02x", pq_tq);
        for (const int index : zigzag()) {
            const int q = byte();
            REQUIRE(q > 0, "a divisor is 0");
            divisors[static_cast<size_t>(pq_tq)][static_cast<size_t>(index)] = q;
        }
    }

    void read_table() {
        const int tc_th = byte();
        REQUIRE((tc_th & ~0x11) == 0, "Tc and Th %02x are not of baseline coding", tc_th);
        Table &table = tables_[tc_th >> 4][tc_th & 1];
        table.symbols.clear();
        int left = 1;  // codes of this length that no shorter one begins
        for (int length = 1; length <= 16; length++) {
            table.count[static_cast<size_t>(length)] = byte();
            left = 2 * left - table.count[static_cast<size_t>(length)];
            REQUIRE(left >= 1, "codes of %d bits leave none to be all ones", length);
        }
        for (int length = 1; length <= 16; length++)
            for (int i = 0; i < table.count[static_cast<size_t>(length)]; i++) {
                const int symbol = byte();
                for (const int other : table.symbols) REQUIRE(other != symbol, "symbol %02x has two codes", symbol);
                REQUIRE(tc_th >> 4 ? (symbol & 15) <= 10 : symbol <= 11, "symbol %02x", symbol);
                table.symbols.push_back(symbol);
            }
    }

    void read_frame() {
        REQUIRE(components.empty(), "a second SOF");
        REQUIRE(byte() == 8, "precision");
        height = word(), width = word();
        const int count = byte();
        REQUIRE(width > 0 && height > 0 && (count == 1 || count == 3), "%dx%d, %d components", width, height, count);
        for (int i = 0; i < count; i++) {
            Component c{};
            c.dc = c.ac = -1;
            c.id = byte();
            const int hv = byte();
            c.h = hv >> 4, c.v = hv & 15, c.tq = byte();
            REQUIRE(c.h >= 1 && c.h <= 4 && c.v >= 1 && c.v <= 4 && c.tq < 4, "H, V %02x, Tq %d", hv, c.tq);
            most_h_ = std::max(most_h_, c.h), most_v_ = std::max(most_v_, c.v);
            components.push_back(c);
        }
        for (Component &c : components) {
            c.width = (width * c.h + most_h_ - 1) / most_h_;
            c.height = (height * c.v + most_v_ - 1) / most_v_;
        }
    }

    void read_scan() {
        scans++;
        const int count = byte();
        std::vector<Component *> in_scan;
        int blocks = 0;
        for (int i = 0; i < count; i++) {
            const int id = byte(), td_ta = byte();
            for (Component &c : components)
                if (c.id == id) {
                    in_scan.push_back(&c);
                    c.dc = td_ta >> 4, c.ac = td_ta & 15;
                    REQUIRE(c.dc < 2 && c.ac < 2, "Td and Ta %02x", td_ta);
                    blocks += c.h * c.v;
                }
        }
        REQUIRE(static_cast<int>(in_scan.size()) == count && count > 0, "components of a scan");
        REQUIRE(byte() == 0 && byte() == 63 && byte() == 0, "Ss, Se, Ah and Al");
        REQUIRE(count == 1 || blocks <= 10, "an MCU of %d blocks", blocks);
        const bool single = count == 1;
        int mcus_x = (width + 8 * most_h_ - 1) / (8 * most_h_), mcus_y = (height + 8 * most_v_ - 1) / (8 * most_v_);
        if (single) mcus_x = (in_scan[0]->width + 7) / 8, mcus_y = (in_scan[0]->height + 7) / 8;
        for (Component *c : in_scan) {
            REQUIRE(c->blocks.empty(), "component %d is in two scans", c->id);
            c->columns = mcus_x * (single ? 1 : c->h), c->rows = mcus_y * (single ? 1 : c->v);
            c->blocks.resize(static_cast<size_t>(c->columns) * static_cast<size_t>(c->rows));
        }
        filled_ = 0;
        std::array<int, 4> predictions{};
        for (int mcu = 0; mcu < mcus_x * mcus_y; mcu++) {
            if (restart_interval && mcu && mcu % restart_interval == 0) {
                end_of_bits();
                expect_marker(0xD0 + (mcu / restart_interval - 1) % 8);
                restarts++;
                predictions = {};
            }
            for (Component *c : in_scan) {
                const int h = single ? 1 : c->h, v = single ? 1 : c->v;
                int &prediction = predictions[static_cast<size_t>(c - components.data())];
                for (int i = 0; i < h * v; i++) {
                    const int x = mcu % mcus_x * h + i % h, y = mcu / mcus_x * v + i / h;
                    read_block(*c, c->blocks[static_cast<size_t>(y * c->columns + x)], prediction);
                }
            }
        }
        end_of_bits();
    }

    void read_block(const Component &c, std::array<int, 64> &block, int &prediction) {
        static const std::array<int, 64> order = zigzag();
        prediction += extend(symbol(tables_[0][c.dc]));
        REQUIRE(prediction >= -1024 && prediction <= 1023 * 2, "DC %d", prediction);
        block[0] = prediction;
        for (int k = 1; k < 64; k++) {
            const int rs = symbol(tables_[1][c.ac]), run = rs >> 4, size = rs & 15;
            if (size == 0 && run == 0) return;
            REQUIRE(size != 0 || run == 15, "symbol %02x", rs);
            k += run;
            REQUIRE(k < 64, "a run beyond the block's end");
            if (size) block[static_cast<size_t>(order[static_cast<size_t>(k)])] = extend(size);
        }
    }

    int bit() {
        if (!filled_) {
            current_ = byte();
            if (current_ == 0xFF) REQUIRE(byte() == 0, "a marker within coded data, at %zu", at_);
            filled_ = 8;
        }
        return current_ >> --filled_ & 1;
    }
    void end_of_bits() {
        while (filled_) REQUIRE(bit() == 1, "padding is not of ones");
    }
    int symbol(const Table &table) {
        int code = 0, first = 0;
        size_t index = 0;
        for (size_t length = 1; length <= 16; length++) {
            code = code << 1 | bit();
            first <<= 1;
            if (code - first < table.count[length]) return table.symbols[index + static_cast<size_t>(code - first)];
            index += static_cast<size_t>(table.count[length]);
            first += table.count[length];
        }
        REQUIRE(false, "a code that no symbol has");
    }
    // F.2.2.1
    int extend(int size) {
        int value = 0;
        for (int i = 0; i < size; i++) value = value << 1 | bit();
        return size && value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
    }

    const uint8_t *data_;
    size_t size_, at_ = 0;
    Table tables_[2][2];
    int most_h_ = 1, most_v_ = 1;
    int current_ = 0, filled_ = 0;
};

#undef REQUIRE

}  // namespace cudaenc::testing
