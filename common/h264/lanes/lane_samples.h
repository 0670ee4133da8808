// SPDX-License-Identifier: LGPL-2.1-or-later
// Samples of macroblocks side by side, from and to planes.
// No includes: see lane_coder.h.
#pragma once

namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE {

namespace {

// Samples with their neighbours: from column -1 and row -1 on.
template <int Width, int Height, int Right>
struct Samples {
    static constexpr int pitch = 1 + Width + Right;
    Lanes lanes[pitch * (1 + Height)];
    [[gnu::always_inline]] Lanes *at(int x, int y) { return lanes + (y + 1) * pitch + x + 1; }
};
using LumaSamples = Samples<16, 16, 8>;
using ChromaSamples = Samples<8, 16, 0>;  // in 4:2:0 the upper half

// Masks of neighbours.
struct Neighbours {
    Lanes left, above, above_right, corner;
};
[[gnu::always_inline]] inline Neighbours neighbours_of(const Available *available) {
    Neighbours n;
    for (int i = 0; i < kLanes; i++) {
        n.left[i] = available[i].left ? -1 : 0;
        n.above[i] = available[i].above ? -1 : 0;
        n.above_right[i] = available[i].above_right ? -1 : 0;
        n.corner[i] = available[i].corner() ? -1 : 0;
    }
    return n;
}
template <int N>
[[gnu::always_inline]] inline Neighbours neighbours_of_block(const Neighbours &n, int b) {
    const auto either = [](const Lanes &mask, bool always) { return always ? all(-1) : mask; };
    constexpr uint32_t above_right = N == 4 ? kAboveRight4x4 : kAboveRight8x8;
    const bool left = N == 4 ? b & 5 : b & 1, above = N == 4 ? b & 10 : b & 2;
    Neighbours of_block;
    of_block.left = either(n.left, left);
    of_block.above = either(n.above, above);
    of_block.above_right = b == (N == 4 ? 5 : 1) ? n.above_right : all(above_right >> b & 1 ? -1 : 0);
    of_block.corner = of_block.left & of_block.above;
    return of_block;
}

// Rows of 16 samples of each lane to Lanes.
[[gnu::always_inline]] inline void load_row(const Sample *const (&at)[kLanes], ptrdiff_t offset, Lanes (&row)[16]) {
    from_rows(row, [&](int lane) __attribute__((always_inline)) {
        Row r;
        std::memcpy(&r, at[lane] + offset, sizeof r);
        return r;
    });
}
// `count` samples of each lane's source, from the first one on, which it moves on. Two samples of 8 bits move as one
// number, the first one in its lower half.
template <int Depth>
[[gnu::always_inline]] inline void load_source(const uint8_t *(&at)[kLanes], int count, Lanes *to) {
    constexpr int held = Depth == 8 ? 32 : 16;  // by a row of 16 numbers
    for (; count; count -= held, to += held) {
        Lanes row[16];
        from_rows(row, [&](int lane) __attribute__((always_inline)) {
            Row r;
            std::memcpy(&r, at[lane], sizeof r);
            at[lane] += sizeof r;
            return r;
        });
        for (int i = 0; i < 16; i++) {
            if (Depth == 8)
                to[2 * i] = row[i] & int16_t{0xFF}, to[2 * i + 1] = (Lanes)((Shorts)row[i] >> 8);
            else
                to[i] = row[i];
        }
    }
}
// Neighbours above, with the corner; zeros where they are missing.
constexpr Sample kMissing[32]{};
template <int Width, class S>
[[gnu::always_inline]] inline void load_above(const Sample *const (&at)[kLanes], ptrdiff_t stride,
                                              const Available *available, S &s) {
    const Sample *above[kLanes];
    alignas(Lanes) int16_t corner[kLanes];
    for (int i = 0; i < kLanes; i++) {
        above[i] = available[i].above ? at[i] - stride : kMissing;
        corner[i] = static_cast<int16_t>(available[i].corner() ? at[i][-stride - 1] : 0);
    }
    Lanes row[16];
    load_row(above, 0, row);
    std::memcpy(s.at(0, -1), row, sizeof(Lanes) * Width);
    if constexpr (Width == 16) {
        load_row(above, 16, row);
        std::memcpy(s.at(16, -1), row, sizeof(Lanes) * 8);
    }
    std::memcpy(s.at(-1, -1), corner, sizeof corner);
}

// Rows of 16 numbers to each lane that has a pointer, `offset` from it on.
template <class Number>
[[gnu::always_inline]] inline void store_row(Lanes (&row)[16], Number *const (&to)[kLanes], ptrdiff_t offset) {
    to_rows(row, [&](int lane, const Row &r) __attribute__((always_inline)) {
        if (to[lane]) std::memcpy(to[lane] + offset, &r, sizeof r);
    });
}

}  // namespace

}  // namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE
