// Where a block has its part of the arrays of rate allocation. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../device.cuh"
#include "rate_params.h"

namespace cudaenc::j2k {

DEVICE uint64_t first_pass(const RateBuffers &rate, uint32_t block) {
    return static_cast<uint64_t>(block) * rate.max_passes;
}
template <class T>
DEVICE HullSlopes<T> slopes_of(const RateBuffers &rate, uint32_t block) {
    return {rate.slopes + block, rate.block_count};
}
DEVICE uint32_t group_of(const RateBuffers &rate, const PrecinctBand &band) { return rate.groups > 1 ? band.group : 0; }

}  // namespace cudaenc::j2k
