// Wavelet transform: one level, both directions and the quantisation of its sub-bands in one pass over memory. The
// vertical filter comes first (T.800 F.4.2), in registers, a column a thread; rows cross threads through shared memory.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../common/j2k/dwt.h"

#include "../../common/j2k/quantise.h"
#include "../device.cuh"
#include "dwt_params.h"

namespace cudaenc::j2k {

// Step `Step` of the lifting of v, whose first element is at an even position and whose outer ones have no neighbour.
template <class W, int Step, int N>
DEVICE void lift(typename W::Sample (&v)[N]) {
    CUDAENC_UNROLL
    for (int i = Step + 1; i < N - 1 - Step; i += 2) v[i] = W::template lift<Step>(v[i], v[i - 1], v[i + 1]);
}

// Lifting and scaling of a stretch of a signal on [begin, end) with W::kReach more elements on either side, already
// extended. The stretch begins at an even position. A signal of one sample passes, doubled at an odd position
// (T.800 F.4.6).
template <class W, int N>
DEVICE void transform(typename W::Sample (&v)[N], int begin, int end) {
    if (end - begin == 1) {
        if (begin & 1) CUDAENC_UNROLL
        for (int i = 0; i < N; i++) v[i] *= 2;
        return;
    }
    lift<W, 0>(v);
    lift<W, 1>(v);
    if constexpr (W::kSteps == 4) {
        lift<W, 2>(v);
        lift<W, 3>(v);
        CUDAENC_UNROLL
        for (int i = 0; i < N; i += 2) {
            v[i] = W::scale_low(v[i]);
            v[i + 1] = W::scale_high(v[i + 1]);
        }
    }
}

template <class W>
DEVICE void dwt_level(const DwtParams &p) {
    using Sample = typename W::Sample;
    constexpr int kReach = W::kReach;
    const TileComponent &t = p.tile_components[block_y() * p.components + block_z()];
    const BandQuantiser *quantiser = p.quantiser[block_z()];
    const Extent e = extent_at(t, p.level ? p.level - 1 : 0);
    const int x_first = (e.x0 & ~1) + block_x() % p.block_columns * kDwtColumns;
    const int y_first = (e.y0 & ~1) + block_x() / p.block_columns * kDwtRows;
    if (x_first >= e.x1 || y_first >= e.y1 || e.width() <= 0 || e.height() <= 0) return;
    const int width = e.width(), thread = thread_x();
    const Sample *in = reinterpret_cast<const Sample *>(p.in) + (p.in_is_halves ? t.halves : t.samples);
    SHARED2(Sample, tile, kDwtRows, kDwtThreads + 1);

    {
        // Threads whose column lies beyond the extension of the signal read some valid column and are not used.
        const int x = min_of(x_first - kDwtHalo + thread, e.x1 + kDwtHalo);
        const Sample *column = in + (mirror(x, e.x0, e.x1) - e.x0);
        constexpr int kCount = kDwtRows + 2 * kReach;
        const int top = y_first - kReach;
        Sample v[kCount];
        if (top >= e.y0 && top + kCount <= e.y1) {
            CUDAENC_UNROLL
            for (int i = 0; i < kCount; i++) v[i] = column[static_cast<int64_t>(top + i - e.y0) * width];
        } else {
            CUDAENC_UNROLL
            for (int i = 0; i < kCount; i++)
                v[i] = column[static_cast<int64_t>(mirror(min_of(top + i, e.y1 + kReach), e.y0, e.y1) - e.y0) * width];
        }
        if (p.level) transform<W>(v, e.y0, e.y1);
        CUDAENC_UNROLL
        for (int i = 0; i < kDwtRows; i++) tile[i][thread] = v[i + kReach];
    }
    block_sync();

    // Four threads share a row; each writes its stretch back with low and high samples apart.
    constexpr int kStretch = kDwtColumns / 4, kHalf = kDwtColumns / 2;
    static_assert(kStretch % 2 == 0 && kDwtRows * 4 == kDwtThreads);
    {
        const int row = thread / 4, from = thread % 4 * kStretch;
        Sample h[kStretch + 2 * kReach];
        CUDAENC_UNROLL
        for (int i = 0; i < kStretch + 2 * kReach; i++) h[i] = tile[row][from + kDwtHalo - kReach + i];
        if (p.level) transform<W>(h, e.x0, e.x1);
        block_sync();
        CUDAENC_UNROLL
        for (int i = 0; i < kStretch; i++) tile[row][(i & 1) * kHalf + (from + i) / 2] = h[i + kReach];
    }
    block_sync();

    const int high_column = thread >= kHalf, x = x_first + 2 * (thread - high_column * kHalf) + high_column;
    if (thread >= kDwtColumns || x < e.x0 || x >= e.x1) return;
    const int64_t stride = t.x1 - t.x0;
    if (!p.level) {
        for (int i = 0; i < kDwtRows; i++)
            if (const int y = y_first + i; y >= e.y0 && y < e.y1)
                p.coefficients[t.samples + (y - e.y0) * stride + (x - e.x0)] =
                    quantise(tile[i][thread], quantiser[kLL].inverse_step, quantiser[kLL].limit);
        return;
    }
    const int lows = low_begin(e.x1) - low_begin(e.x0), low_rows = low_begin(e.y1) - low_begin(e.y0);
    const int column = high_column ? high_begin(x) - high_begin(e.x0) : low_begin(x) - low_begin(e.x0);
    Sample *next = reinterpret_cast<Sample *>(p.out) + (p.in_is_halves ? t.samples : t.halves);
    for (int i = 0; i < kDwtRows; i++) {
        const int y = y_first + i, high_row = i & 1;
        if (y < e.y0 || y >= e.y1) continue;
        const int row = high_row ? high_begin(y) - high_begin(e.y0) : low_begin(y) - low_begin(e.y0);
        const Sample value = tile[i][thread];
        if (!high_row && !high_column && !p.last) {
            next[static_cast<int64_t>(row) * lows + column] = value;
        } else {
            const BandQuantiser &q = quantiser[2 * high_row + high_column];
            p.coefficients[t.samples + (row + (high_row ? low_rows : 0)) * stride + column + (high_column ? lows : 0)] =
                quantise(value, q.inverse_step, q.limit);
        }
    }
}

KERNEL(kDwtThreads, j2k_dwt53, Dwt53Params)
{
    dwt_level<Dwt53>(p);
}
KERNEL(kDwtThreads, j2k_dwt97, Dwt97Params)
{
    dwt_level<Dwt97>(p);
}

}  // namespace cudaenc::j2k
