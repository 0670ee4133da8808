// SPDX-License-Identifier: LGPL-2.1-or-later
#include "load_cpu.h"

#include <type_traits>

#include "simd.h"

namespace cudaenc {

namespace {

// With a step that the compiler knows, loops of load_sample() become loads and shuffles of vectors.
template <int Step, bool Wide, class Sample>
[[gnu::always_inline]] inline void load_samples(SampleLayout layout, int64_t x, int64_t y, int count,
                                                Sample *__restrict row) {
    if (Step) layout.step = Step;
    // A sample is of 16 bits where the sum below says so: again something that the compiler has to know.
    if (Wide != (layout.shift + layout.depth > 8)) __builtin_unreachable();
    const int32_t origin = std::is_unsigned_v<Sample> ? 1 << (layout.depth - 1) : 0;
    for (int i = 0; i < count; i++) row[i] = static_cast<Sample>(load_sample(layout, x + i, y) + origin);
}

template <class Sample>
[[gnu::always_inline]] inline void load(const SampleLayout &layout, int64_t x, int64_t y, int count, Sample *row) {
    if (layout.shift + layout.depth > 8) switch (layout.step) {
            case 2:
                return load_samples<2, true>(layout, x, y, count, row);
            case 4:
                return load_samples<4, true>(layout, x, y, count, row);
            case 6:
                return load_samples<6, true>(layout, x, y, count, row);
            case 8:
                return load_samples<8, true>(layout, x, y, count, row);
            default:
                return load_samples<0, true>(layout, x, y, count, row);
        }
    switch (layout.step) {
        case 1:
            return load_samples<1, false>(layout, x, y, count, row);
        case 2:
            return load_samples<2, false>(layout, x, y, count, row);
        case 3:
            return load_samples<3, false>(layout, x, y, count, row);
        case 4:
            return load_samples<4, false>(layout, x, y, count, row);
        default:
            return load_samples<0, false>(layout, x, y, count, row);
    }
}

}  // namespace

CUDAENC_CLONES void load_row(const SampleLayout &layout, int64_t x, int64_t y, int count, int8_t *row) {
    load(layout, x, y, count, row);
}
CUDAENC_CLONES void load_row(const SampleLayout &layout, int64_t x, int64_t y, int count, int32_t *row) {
    load(layout, x, y, count, row);
}
CUDAENC_CLONES void load_row(const SampleLayout &layout, int64_t x, int64_t y, int count, float *row) {
    load(layout, x, y, count, row);
}
CUDAENC_CLONES void load_row(const SampleLayout &layout, int64_t x, int64_t y, int count, uint16_t *row) {
    load(layout, x, y, count, row);
}

}  // namespace cudaenc
