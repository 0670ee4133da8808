// SPDX-License-Identifier: LGPL-2.1-or-later
#include "idwt_cpu.h"

#include <algorithm>
#include <vector>

#include "dwt.h"

namespace cudaenc::j2k {

namespace {

// Undoes lifting steps from `Step` down: positions [begin, begin + count) of `width` signals beside each other.
template <class W, int Step>
void undo_step(typename W::Sample *x, int begin, int count, int width) {
    for (int i = (begin + Step + 1) & 1; i < count; i += 2) {
        const auto row = [&](int k) { return x + static_cast<ptrdiff_t>(mirror(k, 0, count)) * width; };
        typename W::Sample *centre = row(i), *before = row(i - 1), *after = row(i + 1);
        for (int k = 0; k < width; k++) centre[k] = W::template unlift<Step>(centre[k], before[k], after[k]);
    }
    if constexpr (Step > 0) undo_step<W, Step - 1>(x, begin, count, width);
}

void unscale(int32_t *, int, int, int) {}
void unscale(float *x, int begin, int count, int width) {
    for (int i = 0; i < count; i++) {
        const float scale = static_cast<float>((begin + i) & 1 ? 1 / kScale : kScale);
        for (int k = 0; k < width; k++) x[static_cast<ptrdiff_t>(i) * width + k] *= scale;
    }
}

template <class W>
void synthesise(typename W::Sample *x, int begin, int count, int width) {
    if (count == 1) {  // T.800 F.3.6: a single odd sample was doubled
        for (int k = 0; k < width && begin & 1; k++) x[k] /= 2;
        return;
    }
    unscale(x, begin, count, width);
    undo_step<W, W::kSteps - 1>(x, begin, count, width);
}

// The place of sample i of [begin, end) in its signal's low half and, behind it, high half.
int place(int begin, int end, int i) {
    const int lows = low_begin(end) - low_begin(begin), at = begin + i;
    return at & 1 ? lows + (at >> 1) - high_begin(begin) : (at >> 1) - low_begin(begin);
}

constexpr int kStrip = 64;  // columns, or rows, in one go

template <class W>
void synthesise_level(ThreadPool &pool, typename W::Sample *samples, const Extent &e, int stride) {
    using Sample = typename W::Sample;
    const size_t width = static_cast<size_t>(e.width()), height = static_cast<size_t>(e.height());
    const auto row_at = [=](size_t y) { return samples + y * static_cast<size_t>(stride); };
    pool.for_each(height, kStrip, [&](size_t y) {
        std::vector<Sample> signal(width);
        for (size_t x = 0; x < width; x++) signal[x] = row_at(y)[place(e.x0, e.x1, static_cast<int>(x))];
        synthesise<W>(signal.data(), e.x0, e.width(), 1);
        std::copy(signal.begin(), signal.end(), row_at(y));
    });
    pool.for_each((width + kStrip - 1) / kStrip, [&](size_t strip) {
        const size_t first = strip * kStrip, columns = std::min<size_t>(kStrip, width - first);
        std::vector<Sample> signal(height * columns);
        for (size_t y = 0; y < height; y++)
            std::copy_n(row_at(static_cast<size_t>(place(e.y0, e.y1, static_cast<int>(y)))) + first, columns,
                        &signal[y * columns]);
        synthesise<W>(signal.data(), e.y0, e.height(), static_cast<int>(columns));
        for (size_t y = 0; y < height; y++) std::copy_n(&signal[y * columns], columns, row_at(y) + first);
    });
}

}  // namespace

void inverse_transform_level(ThreadPool &pool, int32_t *samples, const Extent &e, int stride) {
    synthesise_level<Dwt53>(pool, samples, e, stride);
}
void inverse_transform_level(ThreadPool &pool, float *samples, const Extent &e, int stride) {
    synthesise_level<Dwt97>(pool, samples, e, stride);
}

}  // namespace cudaenc::j2k
