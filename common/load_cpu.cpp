// SPDX-License-Identifier: LGPL-2.1-or-later
#include "load_cpu.h"

#include <type_traits>

#include "simd.h"

namespace cudaenc {

namespace {

// With a step and a width that the compiler knows, loops of load_sample() become loads and shuffles of vectors.
template <int Step, bool Wide, class Sample>
[[gnu::always_inline]] inline void load_samples(SampleLayout layout, int64_t x, int64_t y, int count,
                                                Sample *__restrict row) {
    if (Step) layout.step = Step;
    if (Wide != (layout.shift + layout.depth > 8)) __builtin_unreachable();
    const int32_t origin = std::is_unsigned_v<Sample> ? 1 << (layout.depth - 1) : 0;
    for (int i = 0; i < count; i++) row[i] = static_cast<Sample>(load_sample(layout, x + i, y) + origin);
}

template <bool Wide, int... Steps, class Sample>
[[gnu::always_inline]] inline void load_by_step(const SampleLayout &layout, int64_t x, int64_t y, int count,
                                                Sample *row) {
    if (!((layout.step == Steps && (load_samples<Steps, Wide>(layout, x, y, count, row), true)) || ...))
        load_samples<0, Wide>(layout, x, y, count, row);
}

template <class Sample>
[[gnu::always_inline]] inline void load(const SampleLayout &layout, int64_t x, int64_t y, int count, Sample *row) {
    if (layout.shift + layout.depth > 8)
        load_by_step<true, 2, 4, 6, 8>(layout, x, y, count, row);
    else
        load_by_step<false, 1, 2, 3, 4>(layout, x, y, count, row);
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
