// One level of the wavelet transform as the CPU walks it: columns in place, rows to their halves (T.800 F.4.2 to
// F.4.8). SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstddef>

#include "dwt.h"

namespace cudaenc::j2k {

template <class W, int Step>
void lift_rows(typename W::Sample *data, size_t stride, int x0, int x1, int y0, int y1) {
    using Sample = typename W::Sample;
    for (int y = y0 + ((y0 & 1) == (Step & 1)); y < y1; y += 2) {  // even steps update odd rows
        Sample *row = data + static_cast<size_t>(y - y0) * stride;
        const Sample *before = data + static_cast<size_t>(mirror(y - 1, y0, y1) - y0) * stride;
        const Sample *after = data + static_cast<size_t>(mirror(y + 1, y0, y1) - y0) * stride;
        for (int x = x0; x < x1; x++) row[x] = W::template lift<Step>(row[x], before[x], after[x]);
    }
}

// Columns [x0, x1) of rows at positions [y0, y1), in place.
template <class W>
void transform_columns(typename W::Sample *data, size_t stride, int x0, int x1, int y0, int y1) {
    if (y1 - y0 == 1) {  // T.800 F.4.6: a single odd sample is doubled
        if (y0 & 1)
            for (int x = x0; x < x1; x++) data[x] *= 2;
        return;
    }
    lift_rows<W, 0>(data, stride, x0, x1, y0, y1);
    lift_rows<W, 1>(data, stride, x0, x1, y0, y1);
    if constexpr (W::kSteps == 4) {
        lift_rows<W, 2>(data, stride, x0, x1, y0, y1);
        lift_rows<W, 3>(data, stride, x0, x1, y0, y1);
        for (int y = y0; y < y1; y++) {
            auto *row = data + static_cast<size_t>(y - y0) * stride;
            if (y & 1)
                for (int x = x0; x < x1; x++) row[x] = W::scale_high(row[x]);
            else
                for (int x = x0; x < x1; x++) row[x] = W::scale_low(row[x]);
        }
    }
}

// A row at positions [x0, x1) to its low and high halves. Both arrays have room for one sample before and one after:
// the symmetric extension, which copies the nearest sample of the other half.
template <class W>
void transform_row(const typename W::Sample *row, int x0, int x1, typename W::Sample *low, typename W::Sample *high) {
    const int odd = x0 & 1;
    const int lows = low_begin(x1) - low_begin(x0), highs = high_begin(x1) - high_begin(x0);
    for (int i = 0; i < lows; i++) low[i] = row[2 * i + odd];
    for (int i = 0; i < highs; i++) high[i] = row[2 * i + 1 - odd];
    if (x1 - x0 == 1) {
        if (odd) high[0] *= 2;
        return;
    }
    const auto extend = [](auto *half, int count) {
        half[-1] = half[0];
        half[count] = half[count - 1];
    };
    const auto lift_high = [&]<int Step>() {
        extend(low, lows);
        const auto *before = low - odd, *after = before + 1;
        for (int i = 0; i < highs; i++) high[i] = W::template lift<Step>(high[i], before[i], after[i]);
    };
    const auto lift_low = [&]<int Step>() {
        extend(high, highs);
        const auto *before = high - 1 + odd, *after = before + 1;
        for (int i = 0; i < lows; i++) low[i] = W::template lift<Step>(low[i], before[i], after[i]);
    };
    lift_high.template operator()<0>();
    lift_low.template operator()<1>();
    if constexpr (W::kSteps == 4) {
        lift_high.template operator()<2>();
        lift_low.template operator()<3>();
        for (int i = 0; i < lows; i++) low[i] = W::scale_low(low[i]);
        for (int i = 0; i < highs; i++) high[i] = W::scale_high(high[i]);
    }
}

}  // namespace cudaenc::j2k
