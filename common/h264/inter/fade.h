// SPDX-License-Identifier: LGPL-2.1-or-later
// How a fade is found: weights of a P picture follow from the smallest pictures of both pyramids. The same on host and
// device.
#pragma once
#include "../syntax/weights.h"

namespace cudaenc::h264 {

// Of `count` samples of a picture and of the one before.
struct FadeSums {
    uint64_t now = 0, now_squares = 0, before = 0, before_squares = 0;

    CUDAENC_HD void add(uint32_t now_sample, uint32_t before_sample) {
        now += now_sample, now_squares += now_sample * now_sample;
        before += before_sample, before_squares += before_sample * before_sample;
    }
};
// Weights by which mean and deviation become the picture's, if any can.
CUDAENC_HD PictureWeights weights_of(const FadeSums &sums, uint64_t count) {
    uint64_t now = count * sums.now_squares - sums.now * sums.now;
    uint64_t before = count * sums.before_squares - sums.before * sums.before;
    while (now >> 44 || before >> 44) now >>= 1, before >>= 1;  // room for products below
    if (!before) return {};
    PictureWeights w{.log2_denominator = 64 * now < 63 * before ? 7 : 6, .weight = 0, .offset = 0};
    // The root of now / before, rounded: (2 weight - 1)^2 before <= (2 denominator)^2 now.
    for (uint64_t bit = 64; bit; bit /= 2) {
        const uint64_t twice = 2 * (static_cast<uint64_t>(w.weight) + bit) - 1;
        if (twice * twice * before <= now << (2 * w.log2_denominator + 2)) w.weight += static_cast<int32_t>(bit);
    }
    constexpr int32_t kLeastWeight = 16;  // below it little of the picture before is left
    if (w.weight < kLeastWeight) return {};
    const int64_t scaled = static_cast<int64_t>(count) << w.log2_denominator;
    const int64_t twice =
        2 * ((static_cast<int64_t>(sums.now) << w.log2_denominator) - static_cast<int64_t>(sums.before) * w.weight);
    const int64_t offset = (twice + (twice < 0 ? -scaled : scaled)) / (2 * scaled);
    if (offset < -128 || offset > 127) return {};
    w.offset = static_cast<int32_t>(offset);
    return w;
}

// Differences of the same samples from those before, as they are and weighed. Weights pay where an eighth is saved.
struct FadeDifferences {
    uint64_t plain = 0, weighed = 0;

    CUDAENC_HD void add(const PictureWeights &w, int32_t now_sample, int32_t before_sample) {
        const int32_t d = now_sample - before_sample, e = now_sample - w.weigh(before_sample, w.offset, 8);
        plain += static_cast<uint32_t>(d < 0 ? -d : d);
        weighed += static_cast<uint32_t>(e < 0 ? -e : e);
    }
    CUDAENC_HD bool pays() const { return 8 * weighed < 7 * plain; }
};

}  // namespace cudaenc::h264
