// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dwt_cpu.h"

#include "../../simd.h"
#include "quantise.h"

namespace cudaenc::j2k {

namespace {

template <class Sample>
[[gnu::always_inline]] inline void transform_components(Sample *__restrict c0, Sample *__restrict c1,
                                                        Sample *__restrict c2, int count) {
    for (int i = 0; i < count; i++) component_transform(c0[i], c1[i], c2[i]);
}

// Lifting step `Step` of one half of a row, from the other half.
template <class W, int Step, class Sample>
[[gnu::always_inline]] inline void lift_half(Sample *__restrict centre, const Sample *__restrict before, int count) {
    for (int i = 0; i < count; i++) centre[i] = W::template lift<Step>(centre[i], before[i], before[i + 1]);
}

template <class W, class Sample = typename W::Sample>
[[gnu::always_inline]] inline void transform(const Sample *__restrict row, int x0, int x1,
                                             const RowScale<Sample> &scale, Sample *__restrict low,
                                             Sample *__restrict high) {
    const int odd = x0 & 1;
    const int lows = low_begin(x1) - low_begin(x0), highs = high_begin(x1) - high_begin(x0);
    if (x1 - x0 == 1) {  // T.800 F.4.6: a single odd sample is doubled
        if (odd)
            high[0] = row[0] * 2 * scale.high;
        else
            low[0] = row[0] * scale.low;
        return;
    }
    for (int i = 0; i < lows; i++) low[i] = row[2 * i + odd];
    for (int i = 0; i < highs; i++) high[i] = row[2 * i + 1 - odd];
    const auto extend = [](Sample *half, int count) {
        half[-1] = half[0];
        half[count] = half[count - 1];
    };
    extend(low, lows);
    lift_half<W, 0>(high, low - odd, highs);
    extend(high, highs);
    lift_half<W, 1>(low, high - 1 + odd, lows);
    if constexpr (W::kSteps == 4) {
        extend(low, lows);
        lift_half<W, 2>(high, low - odd, highs);
        extend(high, highs);
        const Sample *before = high - 1 + odd;  // the last step and the scaling in one pass
        for (int i = 0; i < lows; i++) low[i] = W::template lift<3>(low[i], before[i], before[i + 1]) * scale.low;
        for (int i = 0; i < highs; i++) high[i] *= scale.high;
    }
}

// once, twice, thrice: by the lifting steps that the row has been through.
[[gnu::always_inline]] inline void lift_columns(const int32_t *__restrict even, const int32_t *__restrict odd,
                                                const int32_t *__restrict next, int32_t *__restrict once, int width,
                                                int32_t *__restrict low, int32_t *__restrict high) {
    for (int x = 0; x < width; x++) {
        const int32_t step0 = Dwt53::lift<0>(odd[x], even[x], next[x]);
        low[x] = Dwt53::lift<1>(even[x], once[x], step0);
        high[x] = once[x] = step0;
    }
}

template <class W>
[[gnu::always_inline]] inline void lift_columns(const float *__restrict even, const float *__restrict odd,
                                                const float *__restrict next, float *__restrict once,
                                                float *__restrict twice, float *__restrict thrice, int width,
                                                float *__restrict low, float *__restrict high) {
    for (int x = 0; x < width; x++) {
        const float step0 = W::template lift<0>(odd[x], even[x], next[x]);
        const float step1 = W::template lift<1>(even[x], once[x], step0);
        const float step2 = W::template lift<2>(once[x], twice[x], step1);
        const float step3 = W::template lift<3>(twice[x], thrice[x], step2);
        once[x] = step0, twice[x] = step1, thrice[x] = step2;
        low[x] = step3;
        high[x] = step2;
    }
}

template <class Sample>
[[gnu::always_inline]] inline void quantise_samples(const Sample *__restrict row, int count, const Quantiser &quantiser,
                                                    uint32_t *__restrict out) {
    const float inverse_step = quantiser.inverse_step;
    const uint32_t limit = (1u << quantiser.planes) - 1;
    for (int i = 0; i < count; i++) out[i] = quantise(row[i], inverse_step, limit);
}

template <class Sample>
[[gnu::always_inline]] inline void flip_samples(Sample *row, int count, Sample half) {
    for (int i = 0; i < count; i++) row[i] += row[i] < 0 ? half : -half;
}

}  // namespace

CUDAENC_CLONES void flip_row(int32_t *row, int count, int half) { flip_samples(row, count, half); }

CUDAENC_CLONES void flip_row(float *row, int count, int half) { flip_samples(row, count, static_cast<float>(half)); }

CUDAENC_CLONES void component_transform_rows(int32_t *c0, int32_t *c1, int32_t *c2, int count) {
    transform_components(c0, c1, c2, count);
}

CUDAENC_CLONES void component_transform_rows(float *c0, float *c1, float *c2, int count) {
    transform_components(c0, c1, c2, count);
}

CUDAENC_CLONES void transform_row(const int32_t *row, int x0, int x1, RowScale<int32_t> scale, int32_t *low,
                                  int32_t *high) {
    transform<Dwt53>(row, x0, x1, scale, low, high);
}

CUDAENC_CLONES void transform_row(const float *row, int x0, int x1, RowScale<float> scale, float *low, float *high) {
    if (has_multiply_add())
        transform<Dwt97>(row, x0, x1, scale, low, high);
    else
        transform<Dwt97ByDouble>(row, x0, x1, scale, low, high);
}

CUDAENC_CLONES void lift_row_pair(const int32_t *even, const int32_t *odd, const int32_t *next,
                                  const std::array<int32_t *, 1> &lifted, int width, int32_t *low, int32_t *high) {
    lift_columns(even, odd, next, lifted[0], width, low, high);
}

CUDAENC_CLONES void lift_row_pair(const float *even, const float *odd, const float *next,
                                  const std::array<float *, 3> &lifted, int width, float *low, float *high) {
    if (has_multiply_add())
        lift_columns<Dwt97>(even, odd, next, lifted[0], lifted[1], lifted[2], width, low, high);
    else
        lift_columns<Dwt97ByDouble>(even, odd, next, lifted[0], lifted[1], lifted[2], width, low, high);
}

CUDAENC_CLONES void quantise_row(const int32_t *row, int count, const Quantiser &quantiser, uint32_t *out) {
    quantise_samples(row, count, quantiser, out);
}

CUDAENC_CLONES void quantise_row(const float *row, int count, const Quantiser &quantiser, uint32_t *out) {
    quantise_samples(row, count, quantiser, out);
}

}  // namespace cudaenc::j2k
