// SPDX-License-Identifier: LGPL-2.1-or-later
// Weights of a fade, see common/h264/inter/fade.h.
#include "../../device.cuh"
#include "../../look_back.cuh"
#include "fade_params.h"

namespace cudaenc::h264 {

// Over the thread-block, in every thread.
DEVICE uint64_t sum_of_threads(uint64_t own) {
    block_sync();  // block_sums() has one array
    return block_sums<kFadeThreads / 32>(own).all;
}

KERNEL(kFadeThreads, h264_find_weights, FindWeightsParams)
{
    const int count = p.now.width * p.now.height;
    const auto for_samples = [&](const auto &body) {
        CUDAENC_NO_UNROLL
        for (int i = thread_x(); i < count; i += kFadeThreads) {
            const int x = i % p.now.width, y = i / p.now.width;
            body(load_readonly(p.now.at(x, y)), load_readonly(p.before.at(x, y)));
        }
    };
    FadeSums sums;
    for_samples([&](uint8_t now, uint8_t before) { sums.add(now, before); });
    sums = {.now = sum_of_threads(sums.now),
            .now_squares = sum_of_threads(sums.now_squares),
            .before = sum_of_threads(sums.before),
            .before_squares = sum_of_threads(sums.before_squares)};
    const PictureWeights weights = weights_of(sums, static_cast<uint64_t>(count));
    FadeDifferences differences;
    if (weights.any()) for_samples([&](uint8_t now, uint8_t before) { differences.add(weights, now, before); });
    differences = {.plain = sum_of_threads(differences.plain), .weighed = sum_of_threads(differences.weighed)};
    if (thread_x() == 0) *p.weights = *p.host_weights = differences.pays() ? weights : PictureWeights{};
}

}  // namespace cudaenc::h264
