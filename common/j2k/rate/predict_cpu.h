// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "../../thread_pool.h"
#include "../params.h"
#include "../t1/encoder_geometry.h"
#include "predict.h"

namespace cudaenc::j2k {

// The analysis of a sampled block.
struct SampledSteps {
    int planes, count;
    SampledStep steps[kSampledSteps];  // [count]
};
// coefficients: as quantise() makes them, block.coefficients counts from their first; memory: of
// scratch_words(block.width, block.height) words.
SampledSteps sample_block(const uint32_t *coefficients, const CodeBlock &block, const SampleLimit &limit,
                          uint64_t *memory);

// Chooses some 800 blocks, a thousand of 25,000, or all of a few. In a sub-band they form a lattice. Each lower
// resolution, whose blocks have more bytes, has twice as many; HH and chroma have a third as many.
std::vector<SampledBlock> choose_sampled_blocks(const Params &params, const Geometry &geometry);

// The slope at which tier-1 stops, from a frame's sampled blocks; 0: all is needed. budget: in bytes.
StopSlope find_stop_slope(ThreadPool &pool, const Params &params, const EncoderGeometry &geometry,
                          std::span<const SampledBlock> sampled_blocks, const uint32_t *coefficients, uint64_t budget,
                          const StopSlope &stop, RegionWeights regions = {});

}  // namespace cudaenc::j2k
