// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "../thread_pool.h"
#include "early_stop.h"
#include "geometry.h"
#include "t1_cpu.h"

namespace cudaenc::j2k {

// Of blocks that were coded with all passes, leaves those that are coded where tier-1 stops early. budget: of the
// frame, in bytes; 0: none, and nobody stops.
void stop_early(const Geometry &geometry, EarlyStop method, uint64_t budget, const PassResults &results,
                std::span<CodedBlock> coded);

// Some 800 blocks to look at, a thousand of 25,000, or all of a few: one of so many consecutive ones of a sub-band,
// twice as many of each lower resolution, whose blocks have more bytes, a third as many of HH and of chroma.
std::vector<Look> choose_looks(const Params &params, const Geometry &geometry);

// The slope to stop at, from these looks at a frame's coefficients; 0: all is needed. budget: of the codestream.
uint32_t find_stop(ThreadPool &pool, const Geometry &geometry, std::span<const Look> looks,
                   const uint32_t *coefficients, uint64_t budget);

}  // namespace cudaenc::j2k
