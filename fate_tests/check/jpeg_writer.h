// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes JPEG streams that cudaenc's encoder does not: lossless ones (T.81 Annex H), and of 12 bits with a DCT. Their
// Huffman codes have one length. Include it behind testing.h.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace cudaenc::testing {

// Marker segments, and codes with stuffed zeros between them.
class JpegWriter {
  public:
    std::vector<uint8_t> data;
    void put8(int value) { data.push_back(static_cast<uint8_t>(value)); }
    void put16(int value) { put8(value >> 8), put8(value & 0xFF); }
    void put_code(uint32_t value, int count) {
        for (int i = count - 1; i >= 0; i--) {
            byte_ = byte_ << 1 | (value >> i & 1);
            if (++bits_ < 8) continue;
            put8(static_cast<int>(byte_ & 0xFF));
            if ((byte_ & 0xFF) == 0xFF) put8(0);
            bits_ = 0;
        }
    }
    void end_codes() {
        while (bits_) put_code(1, 1);
    }
    // Symbols 0 to count - 1, each with its own number as a code of `length` bits.
    void put_huffman(int tc_th, int length, int count) {
        put16(0xFFC4), put16(19 + count), put8(tc_th);
        for (int i = 1; i <= 16; i++) put8(i == length ? count : 0);
        for (int i = 0; i < count; i++) put8(i);
    }
    // Figure F.12's values: a category, then its bits.
    static int category_of(int value) { return std::bit_width(static_cast<unsigned>(std::abs(value))); }
    void put_magnitude(int value) {
        put_code(static_cast<uint32_t>(value < 0 ? value - 1 : value), category_of(value));
    }

  private:
    uint32_t byte_ = 0;
    int bits_ = 0;
};

struct LosslessPicture {
    struct Component {
        int h, v, width = 0, height = 0;
        std::vector<uint16_t> samples;
        int at(int x, int y) const {
            return samples[static_cast<size_t>(std::min(y, height - 1) * width + std::min(x, width - 1))];
        }
    };
    int width, height, bits, predictor, point_transform;
    int restart_rows = 0;  // MCU rows of an interval; 0: none
    bool interleaved = true;
    std::vector<Component> components;

    int most_h() const { return std::ranges::max(components, {}, &Component::h).h; }
    int most_v() const { return std::ranges::max(components, {}, &Component::v).v; }
    static int divide(int a, int b) { return (a + b - 1) / b; }

    template <class Random>
    void fill(Random &random) {
        for (Component &c : components) {
            c.width = divide(width * c.h, most_h()), c.height = divide(height * c.v, most_v());
            const bool noise = random.one_in(2);
            for (int y = 0; y < c.height; y++)
                for (int x = 0; x < c.width; x++) {
                    const uint32_t value = noise ? random.word() : static_cast<uint32_t>(x * 37 + y * 91);
                    c.samples.push_back(static_cast<uint16_t>(value & ((1u << bits) - 1)));
                }
        }
    }

    std::vector<uint8_t> encode() const {
        JpegWriter to;
        to.put16(0xFFD8);
        to.put_huffman(0x00, 5, 17);
        to.put16(0xFFC3), to.put16(8 + 3 * count()), to.put8(bits), to.put16(height), to.put16(width);
        to.put8(count());
        for (int c = 0; c < count(); c++) to.put8(c + 1), to.put8(of(c).h << 4 | of(c).v), to.put8(0);
        if (interleaved)
            put_scan(to, 0, count());
        else
            for (int c = 0; c < count(); c++) put_scan(to, c, 1);
        to.put16(0xFFD9);
        return std::move(to.data);
    }

  private:
    int count() const { return static_cast<int>(components.size()); }
    const Component &of(int c) const { return components[static_cast<size_t>(c)]; }

    void put_scan(JpegWriter &to, int first, int in_scan) const {
        const bool alone = in_scan == 1;
        const int columns = alone ? of(first).width : divide(width, most_h());
        const int rows = alone ? of(first).height : divide(height, most_v());
        if (restart_rows) to.put16(0xFFDD), to.put16(4), to.put16(restart_rows * columns);
        to.put16(0xFFDA), to.put16(6 + 2 * in_scan), to.put8(in_scan);
        for (int c = first; c < first + in_scan; c++) to.put8(c + 1), to.put8(0);
        to.put8(predictor), to.put8(0), to.put8(point_transform);
        for (int row = 0; row < rows; row++) {
            const bool begins = row == 0 || (restart_rows && row % restart_rows == 0);
            if (begins && row) to.end_codes(), to.put16(0xFFD0 + (row / restart_rows - 1) % 8);
            for (int column = 0; column < columns; column++)
                for (int c = first; c < first + in_scan; c++) {
                    const int h = alone ? 1 : of(c).h, v = alone ? 1 : of(c).v;
                    for (int i = 0; i < h * v; i++)
                        put_sample(to, of(c), column * h + i % h, row * v + i / h, begins && i / h == 0);
                }
        }
        to.end_codes();
    }

    void put_sample(JpegWriter &to, const Component &c, int x, int y, bool first_row) const {
        const auto at = [&](int dx, int dy) { return c.at(x + dx, y + dy) >> point_transform; };
        int prediction = 1 << (bits - 1) >> point_transform;
        if (first_row && x) prediction = at(-1, 0);
        if (!first_row && !x) prediction = at(0, -1);
        if (!first_row && x) {
            const int a = at(-1, 0), b = at(0, -1), o = at(-1, -1);
            const int by_number[] = {0, a, b, o, a + b - o, a + ((b - o) >> 1), b + ((a - o) >> 1), (a + b) / 2};
            prediction = by_number[predictor];
        }
        const int difference = static_cast<int16_t>(at(0, 0) - prediction);
        const int category = JpegWriter::category_of(difference);
        to.put_code(static_cast<uint32_t>(category), 5);
        if (category < 16) to.put_magnitude(difference);
    }
};

// A gray picture of 12 bits: levels by 8 row + column, of divisor 3.
struct DeepPicture {
    static constexpr int kDivisor = 3;
    int columns, rows;  // blocks
    bool progressive;   // one scan of DC, one of AC
    std::vector<std::array<int, 64>> blocks;

    template <class Random>
    void fill(Random &random) {
        blocks.resize(static_cast<size_t>(columns * rows));
        for (auto &block : blocks) {
            block = {};
            block[0] = random.between(-6000, 6000);
            for (int i = random.between(0, 12); i > 0; i--) block[random.below(64)] = random.between(-900, 900);
        }
    }

    std::vector<uint8_t> encode() const {
        JpegWriter to;
        to.put16(0xFFD8);
        to.put16(0xFFDB), to.put16(67), to.put8(0);
        for (int i = 0; i < 64; i++) to.put8(kDivisor);
        to.put_huffman(0x00, 5, 16), to.put_huffman(0x10, 8, 255);
        to.put16(progressive ? 0xFFC2 : 0xFFC1), to.put16(11), to.put8(12), to.put16(8 * rows), to.put16(8 * columns);
        to.put8(1), to.put8(1), to.put8(0x11), to.put8(0);
        if (progressive)
            put_scan(to, 0, 0), put_scan(to, 1, 63);
        else
            put_scan(to, 0, 63);
        to.put16(0xFFD9);
        return std::move(to.data);
    }

  private:
    void put_scan(JpegWriter &to, int first, int last) const {
        to.put16(0xFFDA), to.put16(8), to.put8(1), to.put8(1), to.put8(0), to.put8(first), to.put8(last), to.put8(0);
        int before = 0;
        for (const auto &block : blocks) {
            if (first == 0) {
                const int difference = block[0] - before;
                before = block[0];
                to.put_code(static_cast<uint32_t>(JpegWriter::category_of(difference)), 5);
                to.put_magnitude(difference);
            }
            int run = 0;
            for (int k = std::max(first, 1); k <= last; k++) {
                const int level = block[static_cast<size_t>(zigzag(k))];
                if (!level) {
                    run++;
                    continue;
                }
                for (; run > 15; run -= 16) to.put_code(0xF0, 8);
                to.put_code(static_cast<uint32_t>(run << 4 | JpegWriter::category_of(level)), 8);
                to.put_magnitude(level);
                run = 0;
            }
            if (run) to.put_code(0, 8);
        }
        to.end_codes();
    }
    static int zigzag(int place) {
        int n = 0;
        for (int d = 0; d < 15; d++)
            for (int i = 0; i <= d; i++) {
                const int row = d & 1 ? i : d - i, column = d - row;
                if (row < 8 && column < 8 && n++ == place) return 8 * row + column;
            }
        return 0;
    }
};

}  // namespace cudaenc::testing
