// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../../common/hd.h"
#include "../intra/decoded_samples.h"

namespace cudaenc::h264 {

// A plane with kPlaneMargin samples beyond each edge, which repeat the edge. Rows begin with a word
// there, and the plane itself with 32 samples. Samples are bytes; of decoded pictures see decoded_sample_bytes().
constexpr int kPlaneMargin = 32;
struct MarginPlane {
    uint8_t *data;   // of sample (0, 0)
    int32_t stride;  // bytes, a multiple of 128
    int32_t width, height;

    CUDAENC_HD uint8_t *at(int x, int y) const { return data + int64_t{y} * stride + x; }
    template <class T>
    CUDAENC_HD T *samples(int x, int y) const {
        return reinterpret_cast<T *>(data + int64_t{y} * stride) + x;
    }
};

}  // namespace cudaenc::h264
