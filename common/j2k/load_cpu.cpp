// SPDX-License-Identifier: LGPL-2.1-or-later
#include "load_cpu.h"

#include "../simd.h"

namespace cudaenc::j2k {

namespace {

template <class Sample>
[[gnu::always_inline]] inline void transform(Sample *__restrict c0, Sample *__restrict c1, Sample *__restrict c2,
                                             int count) {
    for (int i = 0; i < count; i++) component_transform(c0[i], c1[i], c2[i]);
}

}  // namespace

CUDAENC_CLONES void component_transform_rows(int32_t *c0, int32_t *c1, int32_t *c2, int count) {
    transform(c0, c1, c2, count);
}
CUDAENC_CLONES void component_transform_rows(float *c0, float *c1, float *c2, int count) {
    transform(c0, c1, c2, count);
}

}  // namespace cudaenc::j2k
