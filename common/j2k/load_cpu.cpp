// SPDX-License-Identifier: LGPL-2.1-or-later
#include "load_cpu.h"

#include "../simd.h"

namespace cudaenc::j2k {

namespace {

// With a step that the compiler knows, loops of load_sample() become loads and shuffles of vectors.
template <int Step, bool Wide, class Sample>
[[gnu::always_inline]] inline void load_samples(SampleLayout layout, int64_t x, int64_t y, int count,
                                                Sample *__restrict row) {
    if (Step) layout.step = Step;
    // A sample is of 16 bits where the sum below says so: again something that the compiler has to know.
    if (Wide != (layout.shift + layout.depth > 8)) __builtin_unreachable();
    for (int i = 0; i < count; i++) row[i] = static_cast<Sample>(load_sample(layout, x + i, y));
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

template <class Sample>
[[gnu::always_inline]] inline void transform(Sample *__restrict c0, Sample *__restrict c1, Sample *__restrict c2,
                                             int count) {
    for (int i = 0; i < count; i++) component_transform(c0[i], c1[i], c2[i]);
}

}  // namespace

CUDAENC_CLONES void load_row(const SampleLayout &layout, int64_t x, int64_t y, int count, int32_t *row) {
    load(layout, x, y, count, row);
}
CUDAENC_CLONES void load_row(const SampleLayout &layout, int64_t x, int64_t y, int count, float *row) {
    load(layout, x, y, count, row);
}
CUDAENC_CLONES void component_transform_rows(int32_t *c0, int32_t *c1, int32_t *c2, int count) {
    transform(c0, c1, c2, count);
}
CUDAENC_CLONES void component_transform_rows(float *c0, float *c1, float *c2, int count) {
    transform(c0, c1, c2, count);
}

}  // namespace cudaenc::j2k
