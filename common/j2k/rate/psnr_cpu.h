// SPDX-License-Identifier: LGPL-2.1-or-later
// A target of PSNR: the threshold at which a frame just meets it. The host decodes frames, also where a device encodes.
#pragma once
#include <cstdint>
#include <span>

#include "../../load.h"
#include "../../thread_pool.h"
#include "../codestream/geometry.h"
#include "../params.h"
#include "../t1/block.h"
#include "hull_cpu.h"
#include "truncate.h"

namespace cudaenc::j2k {

// A coded frame.
struct PsnrInput {
    std::span<const SampleLayout> layouts;  // [component]
    const uint32_t *coefficients;
    std::span<const CodedBlock> coded;
    const HullTable &hulls;  // of all passes
};

// The highest threshold, but for 0.04 dB, that meets the target. If none does: 1, and the dB that there are.
struct PsnrThreshold {
    uint32_t slope;
    double missed = 0;  // dB; 0: the target is met
};
// scratch: of Geometry::samples.
PsnrThreshold psnr_threshold(ThreadPool &pool, const Params &params, const Geometry &geometry, const PsnrInput &input,
                             uint32_t *scratch);

}  // namespace cudaenc::j2k
