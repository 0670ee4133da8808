// A target of PSNR: the threshold at which a frame just has it. Frames are decoded on the host, also where a
// device encodes. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "../../load.h"
#include "../../thread_pool.h"
#include "../geometry.h"
#include "../t1/block.h"
#include "hull_cpu.h"
#include "truncate.h"

namespace cudaenc::j2k {

class PsnrSearch {
  public:
    PsnrSearch(const Params &params, const Geometry &geometry);

    // The highest threshold, but for 0.04 dB, with which a frame has the target; 1 where it can not. layouts: of the
    // components' samples; hulls: of all passes.
    uint32_t threshold(ThreadPool &pool, std::span<const SampleLayout> layouts, const uint32_t *coefficients,
                       std::span<const CodedBlock> coded, const HullTable &hulls);

  private:
    // Mean squared errors over what the target allows, of a frame that is truncated at a threshold.
    double error(ThreadPool &pool, std::span<const SampleLayout> layouts, const uint32_t *coefficients,
                 std::span<const CodedBlock> coded, const HullTable &hulls, uint32_t threshold);
    template <class W>
    void decode(ThreadPool &pool, const uint32_t *coefficients, std::span<const CodedBlock> coded,
                const HullTable &hulls, uint32_t threshold);
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
