// SPDX-License-Identifier: LGPL-2.1-or-later
// Motion of P macroblocks and their prediction, written from H.264's clause 8.4 and from nothing of the encoder's.
// Frames and fields with one reference picture.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace cudaenc::testing::decoder {

// The syntax of a P macroblock (7.3.5.1, 7.3.5.2).
struct InterMacroblock {
    bool inter = false;  // of a P type
    bool skip = false, transform_8x8 = false;
    int mb_type = 0;          // of table 7-13; 4 is 3
    int sub_mb_type[4] = {};  // of table 7-17
    int mvd[16][2] = {};      // of part p, and part s of it: [4 p + s]
};

struct MotionVector {
    int x = 0, y = 0;
    bool operator==(const MotionVector &) const = default;
};

// Vectors of a picture, a 4x4 block of luma each.
class Motion {
  public:
    Motion(int columns, int rows) : columns_(columns), blocks_(static_cast<size_t>(16 * columns * rows)) {}

    void set_intra(int address, int slice) {
        for (int b = 0; b < 16; b++)
            at(address % columns_ * 4 + b % 4, address / columns_ * 4 + b / 4) = {{}, false, slice};
    }
    void set_inter(int address, int slice, const InterMacroblock &m) {
        const int x = address % columns_ * 4, y = address / columns_ * 4;
        if (m.skip) return set(x, y, 4, 4, slice, skipped(x, y, slice));
        for (int part = 0; part < (m.mb_type == 0 ? 1 : m.mb_type == 3 ? 4 : 2); part++) {
            const int px = x + (m.mb_type == 2 ? 2 * part : m.mb_type == 3 ? part % 2 * 2 : 0);
            const int py = y + (m.mb_type == 1 ? 2 * part : m.mb_type == 3 ? part / 2 * 2 : 0);
            const int width = m.mb_type < 2 ? 4 : 2, height = m.mb_type % 2 ? 2 : 4;  // of 16x16, 16x8, 8x16
            if (m.mb_type != 3) {
                const char directed = m.mb_type == 1 ? (part ? 'a' : 'b') : m.mb_type == 2 ? (part ? 'c' : 'a') : 0;
                set(px, py, width, height, slice, sum(predicted(px, py, width, slice, directed), m.mvd[4 * part]));
                continue;
            }
            const int type = m.sub_mb_type[part], sub_width = type < 2 ? 2 : 1, sub_height = type % 2 ? 1 : 2;
            for (int i = 0; i < 4 / (sub_width * sub_height); i++) {
                const int sx = px + (sub_width == 1 ? i % 2 : 0);
                const int sy = py + (sub_height == 1 ? (sub_width == 1 ? i / 2 : i) : 0);
                set(sx, sy, sub_width, sub_height, slice,
                    sum(predicted(sx, sy, sub_width, slice, 0), m.mvd[4 * part + i]));
            }
        }
    }
    // Of the block in column x and row y.
    MotionVector vector(int x, int y) const { return const_cast<Motion *>(this)->at(x, y).vector; }

  private:
    struct Block {
        MotionVector vector;
        bool inter = false;
        int slice = -1;  // -1: not decoded
    };
    struct Neighbour {
        bool available, inter;
        MotionVector vector;
    };
    Block &at(int x, int y) { return blocks_[static_cast<size_t>(y * 4 * columns_ + x)]; }
    static MotionVector sum(MotionVector v, const int (&mvd)[2]) { return {v.x + mvd[0], v.y + mvd[1]}; }
    void set(int x, int y, int width, int height, int slice, MotionVector v) {
        for (int i = 0; i < width * height; i++) at(x + i % width, y + i / width) = {v, true, slice};
    }
    // 6.4.11.7, 8.4.1.3.2.
    Neighbour neighbour(int x, int y, int slice) {
        if (x < 0 || y < 0 || x >= 4 * columns_ || at(x, y).slice != slice) return {false, false, {}};
        return {true, at(x, y).inter, at(x, y).vector};
    }
    static int median(int a, int b, int c) { return a + b + c - std::min({a, b, c}) - std::max({a, b, c}); }
    // 8.4.1.3. directed: the neighbour that comes first, of 16x8 and 8x16.
    MotionVector predicted(int x, int y, int width, int slice, char directed) {
        const Neighbour a = neighbour(x - 1, y, slice);
        Neighbour b = neighbour(x, y - 1, slice), c = neighbour(x + width, y - 1, slice);
        if (!c.available) c = neighbour(x - 1, y - 1, slice);
        if (directed == 'a' && a.inter) return a.vector;
        if (directed == 'b' && b.inter) return b.vector;
        if (directed == 'c' && c.inter) return c.vector;
        if (!b.available && !c.available && a.available) b = c = a;
        if (a.inter && !b.inter && !c.inter) return a.vector;
        if (b.inter && !a.inter && !c.inter) return b.vector;
        if (c.inter && !a.inter && !b.inter) return c.vector;
        return {median(a.vector.x, b.vector.x, c.vector.x), median(a.vector.y, b.vector.y, c.vector.y)};
    }
    // 8.4.1.1.
    MotionVector skipped(int x, int y, int slice) {
        const Neighbour a = neighbour(x - 1, y, slice), b = neighbour(x, y - 1, slice);
        for (const Neighbour &n : {a, b})
            if (!n.available || (n.inter && n.vector == MotionVector{})) return {};
        return predicted(x, y, 4, slice, 0);
    }

    const int columns_;
    std::vector<Block> blocks_;
};

// Weights of a component, explicit (8.4.2.3).
struct ExplicitWeight {
    int denominator = 0, weight = 1, offset = 0;  // denominator: its logarithm; offset: of samples of 8 bits
    int apply(int sample, int bit_depth) const {
        const int rounded = denominator ? (sample * weight + (1 << denominator >> 1)) >> denominator : sample * weight;
        return std::clamp(rounded + offset * (1 << (bit_depth - 8)), 0, (1 << bit_depth) - 1);
    }
};

// A plane of a reference picture, whose edges repeat.
struct ReferencePlane {
    const uint16_t *samples;
    int width, height, most;

    int at(int x, int y) const { return samples[std::clamp(y, 0, height - 1) * width + std::clamp(x, 0, width - 1)]; }
    // 8.4.2.2.1: the sample at (x, y), in quarters. The names are those of figure 8-4.
    int luma(int x, int y) const {
        const int fraction_x = x & 3, fraction_y = y & 3, gx = x >> 2, gy = y >> 2;
        const auto half = [&](int sum) { return std::clamp((sum + 16) >> 5, 0, most); };
        const auto row = [&](int rx, int ry) { return taps([&](int i) { return at(rx + i, ry); }); };
        const auto column = [&](int cx, int cy) { return taps([&](int i) { return at(cx, cy + i); }); };
        const auto b = [&] { return half(row(gx, gy)); };
        const auto h = [&] { return half(column(gx, gy)); };
        const auto s = [&] { return half(row(gx, gy + 1)); };
        const auto m = [&] { return half(column(gx + 1, gy)); };
        const auto j = [&] { return std::clamp((taps([&](int i) { return row(gx, gy + i); }) + 512) >> 10, 0, most); };
        const auto mean = [](int p, int q) { return (p + q + 1) >> 1; };
        const int g = at(gx, gy);
        switch (4 * fraction_x + fraction_y) {
            case 0:
                return g;
            case 1:
                return mean(g, h());
            case 2:
                return h();
            case 3:
                return mean(at(gx, gy + 1), h());
            case 4:
                return mean(g, b());
            case 5:
                return mean(b(), h());
            case 6:
                return mean(h(), j());
            case 7:
                return mean(h(), s());
            case 8:
                return b();
            case 9:
                return mean(b(), j());
            case 10:
                return j();
            case 11:
                return mean(j(), s());
            case 12:
                return mean(at(gx + 1, gy), b());
            case 13:
                return mean(b(), m());
            case 14:
                return mean(j(), m());
            default:
                return mean(s(), m());
        }
    }
    // 8.4.2.2.2: at (x, y), in eighths.
    int chroma(int x, int y) const {
        const int fx = x & 7, fy = y & 7, ix = x >> 3, iy = y >> 3;
        return ((8 - fx) * (8 - fy) * at(ix, iy) + fx * (8 - fy) * at(ix + 1, iy) + (8 - fx) * fy * at(ix, iy + 1) +
                fx * fy * at(ix + 1, iy + 1) + 32) >>
               6;
    }

  private:
    template <class At>
    static int taps(const At &value) {
        return value(-2) - 5 * value(-1) + 20 * value(0) + 20 * value(1) - 5 * value(2) + value(3);
    }
};

}  // namespace cudaenc::testing::decoder
