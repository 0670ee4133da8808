// A target of PSNR: where a frame is cut so that it just has it. Frames are decoded, on the host's threads also where a
// device encodes. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "../load.h"
#include "../thread_pool.h"
#include "geometry.h"
#include "rate_cpu.h"
#include "t1_cpu.h"

namespace cudaenc::j2k {

class PsnrSearch {
  public:
    PsnrSearch(const Params &params, const Geometry &geometry);

    // The highest threshold, but for 0.04 dB, with which a frame has the target; 1 where it can not. layouts: of the
    // components' samples; cuts: of all passes.
    uint32_t threshold(ThreadPool &pool, std::span<const SampleLayout> layouts, const uint32_t *coefficients,
                       std::span<const CodedBlock> coded, const CutTable &cuts);

  private:
    // Mean squared errors over what the target allows, of frames that are cut at a threshold.
    double error(ThreadPool &pool, std::span<const SampleLayout> layouts, const uint32_t *coefficients,
                 std::span<const CodedBlock> coded, const CutTable &cuts, uint32_t threshold);
    template <class W>
    void decode(ThreadPool &pool, const uint32_t *coefficients, std::span<const CodedBlock> coded, const CutTable &cuts,
                uint32_t threshold);
    template <class W>
    double compare(ThreadPool &pool, std::span<const SampleLayout> layouts);
    template <class Sample>
    Sample *samples(const TileComponent &t) {
        return reinterpret_cast<Sample *>(&decoded_[t.samples]);
    }

    const Params &p_;
    const Geometry &g_;
    std::vector<uint32_t> decoded_;  // as coefficients lie: int32_t or float
};

}  // namespace cudaenc::j2k
