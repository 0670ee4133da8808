// SPDX-License-Identifier: LGPL-2.1-or-later
// Formats and options at random, with the tables that follow from them. Include it last, as testing.h.
#pragma once
#include <string>

#include "../../common/j2k/encoder_tables.h"
#include "../../common/j2k/params.h"
#include "pictures.h"

namespace cudaenc::testing {

struct Case {
    std::string text;
    CudaencFormat format;
    CudaencJ2kOptions options;
    j2k::Params params;
    j2k::EncoderGeometry geometry;
    Case(Random &random, int longest)
        : format(random_format(random, longest)), options(random_options(random, format, text)) {
        update();
    }
    Case(const CudaencFormat &format, const CudaencJ2kOptions &options) : format(format), options(options) { update(); }
    void begin_at_origin() {
        options = at_origin(options);
        update();
    }
    // After a change of format or options.
    void update() {
        params = j2k::make_params(format, options);
        geometry = j2k::make_encoder_geometry(params);
    }
};

// An RGB picture that is worth its time on a GPU, else a small one.
inline CudaencFormat bench_format(const std::shared_ptr<Device> &device) {
    const bool large = benched_on_gpu(device);
    return make_format(large ? 3840 : 96, large ? 2160 : 96, 3, 8, true, CUDAENC_COLOR_RGB);
}

}  // namespace cudaenc::testing
