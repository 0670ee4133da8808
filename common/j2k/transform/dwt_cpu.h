// SPDX-License-Identifier: LGPL-2.1-or-later
// The wavelet transform on the CPU, a level at a time (T.800 F.4.2 to F.4.8), and what rows go through before and
// after. Rows come in pairs and are lifted with the pairs before them. Then each row is split into its halves. So
// memory is read and written once.
#pragma once
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "../codestream/tables.h"
#include "dwt.h"
#include "load.h"
#include "quantiser.h"

namespace cudaenc::j2k {

// component_transform() of `count` samples.
void component_transform_rows(int32_t *c0, int32_t *c1, int32_t *c2, int count);
void component_transform_rows(float *c0, float *c1, float *c2, int count);

// Of samples that were loaded as unsigned ones, the signed ones. half: of their range.
void flip_row(int32_t *row, int count, int half);
void flip_row(float *row, int count, int half);

// Splits a row at positions [x0, x1) into its low and high halves, by 5/3 or 9/7, and scales them. Both arrays have
// room for one sample before and one after: the symmetric extension.
void transform_row(const int32_t *row, int x0, int x1, RowScale<int32_t>, int32_t *low, int32_t *high);
void transform_row(const float *row, int x0, int x1, RowScale<float> scale, float *low, float *high);

// The vertical filter's next step, `width` columns wide, without scaling. Takes the rows at positions 2k, 2k + 1 and 2k
// + 2. Gives the low and the high row at 2(k - d) and 2(k - d) + 1; d is 0 for 5/3 and 1 for 9/7. lifted: the last row
// of each lifting step but the last, of the rows before; becomes that of these rows.
void lift_row_pair(const int32_t *even, const int32_t *odd, const int32_t *next, const std::array<int32_t *, 1> &lifted,
                   int width, int32_t *low, int32_t *high);
void lift_row_pair(const float *even, const float *odd, const float *next, const std::array<float *, 3> &lifted,
                   int width, float *low, float *high);

// Quantises a row of a sub-band to sign and magnitude.
void quantise_row(const int32_t *row, int count, const Quantiser &quantiser, uint32_t *out);
void quantise_row(const float *row, int count, const Quantiser &quantiser, uint32_t *out);

// The components of a component transform.
constexpr int kTransformedTogether = 3;

// Transforms row pairs [from, to) of one level, of `count` components with the same extent e. Pair k is at positions 2k
// and 2k + 1. load(y, memory, rows) sets rows[component] to the row at position y, which it may put into
// memory[component]. store(component, y, low, high) takes the halves of each row.
template <class W, class Load, class Store>
void transform_row_pairs(const Extent &e, int count, int from, int to, Load load, Store store) {
    using Sample = typename W::Sample;
    constexpr int kDelay = W::kSteps / 2 - 1;
    constexpr int kWarmUp = W::kSteps - 1;  // pairs until no lifted row depends on the scratch's content
    constexpr int kLifted = W::kSteps - 1, kLoaded = 3;
    const int width = e.width();
    // Kept by a thread: it is so large that each strip would get it from the system anew.
    static thread_local std::vector<Sample> scratch;
    const size_t needed = static_cast<size_t>(width) * (count * (kLifted + kLoaded) + 3) + 4;
    if (scratch.size() < needed) scratch.resize(needed);
    Sample *at = scratch.data();
    const auto take = [&](int samples) { return std::exchange(at, at + samples); };
    std::array<Sample *, kTransformedTogether> memory[kLoaded]{};
    std::array<const Sample *, kTransformedTogether> loaded[kLoaded]{};
    std::array<Sample *, kLifted> lifted[kTransformedTogether]{};
    for (int c = 0; c < count; c++) {
        for (auto &rows : memory) rows[c] = take(width);
        for (Sample *&row : lifted[c]) row = take(width);
    }
    Sample *const pair[2] = {take(width), take(width)};
    const int lows = low_begin(e.x1) - low_begin(e.x0);
    Sample *const low = take(lows + 2) + 1, *const high = take(width - lows + 2) + 1;

    const auto store_row = [&](int component, int y, const Sample *row) {
        transform_row(row, e.x0, e.x1, W::row_scale(y & 1, width > 1, e.height() > 1), low, high);
        store(component, y, low, high);
    };
    if (e.height() == 1) {  // T.800 F.4.6: a single odd sample is doubled
        load(e.y0, memory[0], loaded[0]);
        for (int c = 0; c < count; c++) {
            for (int x = 0; x < width; x++) pair[0][x] = loaded[0][c][x] * (1 + (e.y0 & 1));
            store_row(c, e.y0, pair[0]);
        }
        return;
    }
    int k = from + kDelay - kWarmUp, next = 0;  // where the last row was loaded
    const auto load_row = [&](int y) {
        next = (next + 1) % kLoaded;
        load(mirror(y, e.y0, e.y1), memory[next], loaded[next]);
    };
    for (load_row(2 * k); k < to + kDelay; k++) {
        const auto &even = loaded[next];
        load_row(2 * k + 1);
        const auto &odd = loaded[next];
        load_row(2 * k + 2);
        for (int c = 0; c < count; c++) {
            lift_row_pair(even[c], odd[c], loaded[next][c], lifted[c], width, pair[0], pair[1]);
            for (int i = 0; i < 2; i++)
                if (const int y = 2 * (k - kDelay) + i; y >= max_of(2 * from, e.y0) && y < e.y1)
                    store_row(c, y, pair[i]);
        }
    }
}

}  // namespace cudaenc::j2k
