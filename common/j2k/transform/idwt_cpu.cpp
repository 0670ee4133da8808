// SPDX-License-Identifier: LGPL-2.1-or-later
#include "idwt_cpu.h"

#include <algorithm>
#include <vector>

#include "../../simd.h"
#include "dwt.h"

namespace cudaenc::j2k {

namespace {

// Lines that lie beside each other: samples of a row, or rows of some columns. Low and high ones lie apart.
template <class Sample>
struct Lines {
    Sample *first;
    int count;
    Sample *at(int i, int width) const { return first + static_cast<ptrdiff_t>(i) * width; }
};

// Undoes a lifting step: of line k by lines k + offset - 1 and k + offset of the other half. Beyond its ends the other
// neighbour stands for both (whole-sample symmetric extension).
template <class W, int Step>
[[gnu::always_inline]] inline void undo_step(const Lines<typename W::Sample> &half,
                                             const Lines<typename W::Sample> &other, int offset, int width) {
    using Sample = typename W::Sample;
    const auto undo_line = [&](int k, int before, int after) {
        Sample *__restrict centre = half.at(k, width);
        const Sample *b = other.at(before, width), *a = other.at(after, width);
        for (int i = 0; i < width; i++) centre[i] = W::template unlift<Step>(centre[i], b[i], a[i]);
    };
    const int first = 1 - offset, last = std::min(half.count, other.count - offset);  // [first, last) have both
    if (first && half.count) undo_line(0, 0, 0);
    if (width == 1) {
        Sample *__restrict centre = half.first;
        const Sample *b = other.first + offset - 1;
        for (int k = first; k < last; k++) centre[k] = W::template unlift<Step>(centre[k], b[k], b[k + 1]);
    } else {
        for (int k = first; k < last; k++) undo_line(k, k + offset - 1, k + offset);
    }
    for (int k = std::max(last, first); k < half.count; k++) undo_line(k, k + offset - 1, k + offset - 1);
}

// Undoes steps from `Step` down.
template <class W, int Step>
[[gnu::always_inline]] inline void undo_steps(const Lines<typename W::Sample> &low,
                                              const Lines<typename W::Sample> &high, bool is_odd, int width) {
    if constexpr (Step & 1)
        undo_step<W, Step>(low, high, is_odd ? 1 : 0, width);
    else
        undo_step<W, Step>(high, low, is_odd ? 0 : 1, width);
    if constexpr (Step > 0) undo_steps<W, Step - 1>(low, high, is_odd, width);
}

[[gnu::always_inline]] inline void unscale(const Lines<int32_t> &, const Lines<int32_t> &, int) {}
[[gnu::always_inline]] inline void unscale(const Lines<float> &low, const Lines<float> &high, int width) {
    const auto factors = Dwt97::inverse_scale();
    for (ptrdiff_t i = 0; i < ptrdiff_t{low.count} * width; i++) low.first[i] *= factors.low;
    for (ptrdiff_t i = 0; i < ptrdiff_t{high.count} * width; i++) high.first[i] *= factors.high;
}

// Lines of a signal from `begin` on, low ones first and high ones behind them, in place.
template <class W>
[[gnu::always_inline]] inline void synthesise(typename W::Sample *lines, int begin, int count, int width) {
    if (count == 1) {  // T.800 F.3.6: a single odd sample was doubled
        for (int k = 0; k < width && begin & 1; k++) lines[k] /= 2;
        return;
    }
    const int lows = low_begin(begin + count) - low_begin(begin);
    const Lines<typename W::Sample> low{lines, lows}, high{low.at(lows, width), count - lows};
    unscale(low, high, width);
    undo_steps<W, W::kSteps - 1>(low, high, begin & 1, width);
}

template <class Sample>
[[gnu::always_inline]] inline void interleave(const Sample *halves, int begin, int count, Sample *row) {
    const int lows = low_begin(begin + count) - low_begin(begin), odd = begin & 1;
    for (int k = 0; k < lows; k++) row[2 * k + odd] = halves[k];
    for (int k = 0; k < count - lows; k++) row[2 * k + 1 - odd] = halves[lows + k];
}

CUDAENC_CLONES void synthesise_row(int32_t *row, int begin, int count, int32_t *scratch) {
    std::copy_n(row, count, scratch);
    synthesise<Dwt53>(scratch, begin, count, 1);
    interleave(scratch, begin, count, row);
}
CUDAENC_CLONES void synthesise_row(float *row, int begin, int count, float *scratch) {
    std::copy_n(row, count, scratch);
    synthesise<Dwt97>(scratch, begin, count, 1);
    interleave(scratch, begin, count, row);
}
CUDAENC_CLONES void synthesise_columns(int32_t *lines, int begin, int count, int width) {
    synthesise<Dwt53>(lines, begin, count, width);
}
CUDAENC_CLONES void synthesise_columns(float *lines, int begin, int count, int width) {
    synthesise<Dwt97>(lines, begin, count, width);
}

constexpr int kStrip = 64;  // columns, or rows, in one go

template <class Sample>
void synthesise_level(ThreadPool &pool, Sample *samples, const Extent &e, int stride) {
    const size_t width = static_cast<size_t>(e.width()), height = static_cast<size_t>(e.height());
    const auto row_at = [=](size_t y) { return samples + y * static_cast<size_t>(stride); };
    pool.for_each((height + kStrip - 1) / kStrip, [&](size_t strip) {
        std::vector<Sample> scratch(width);
        for (size_t y = strip * kStrip; y < std::min(height, (strip + 1) * kStrip); y++)
            synthesise_row(row_at(y), e.x0, e.width(), scratch.data());
    });
    const size_t lows = static_cast<size_t>(low_begin(e.y1) - low_begin(e.y0)), odd = e.y0 & 1;
    pool.for_each((width + kStrip - 1) / kStrip, [&](size_t strip) {
        const size_t first = strip * kStrip, columns = std::min<size_t>(kStrip, width - first);
        std::vector<Sample> lines(height * columns);
        for (size_t y = 0; y < height; y++) std::copy_n(row_at(y) + first, columns, &lines[y * columns]);
        synthesise_columns(lines.data(), e.y0, e.height(), static_cast<int>(columns));
        for (size_t y = 0; y < height; y++)
            std::copy_n(&lines[y * columns], columns,
                        row_at(y < lows ? 2 * y + odd : 2 * (y - lows) + 1 - odd) + first);
    });
}

}  // namespace

void inverse_transform_level(ThreadPool &pool, int32_t *samples, const Extent &e, int stride) {
    synthesise_level(pool, samples, e, stride);
}
void inverse_transform_level(ThreadPool &pool, float *samples, const Extent &e, int stride) {
    synthesise_level(pool, samples, e, stride);
}

}  // namespace cudaenc::j2k
