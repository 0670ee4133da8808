// SPDX-License-Identifier: LGPL-2.1-or-later
#include "early_stop_cpu.h"

#include <algorithm>

namespace cudaenc::j2k {

EarlyStopping::EarlyStopping(const RateControl &rate)
    : by_planes_(!rate.layers.back()                 ? EarlyStop::kNone
                 : rate.mode == CUDAENC_J2K_RATE_PSB ? EarlyStop::kPsb
                 : rate.mode == CUDAENC_J2K_RATE_BPI ? EarlyStop::kBpi
                                                     : EarlyStop::kNone),
      slopes_(rate.keeps_slopes() ? static_cast<size_t>(rate.pst_lag) : 0) {}

// Less than half of the frame's slope.
void EarlyStopping::note(uint64_t frame, const StopOutcome &stop) {
    constexpr uint32_t kBelow = kSlopeOctave * 5 / 4;
    if (!slopes_.empty()) slopes_[frame % slopes_.size()] = stop.threshold > kBelow ? stop.threshold - kBelow : 0;
}

void EarlyStopping::truncate(const EncoderGeometry &g, uint64_t budget, const uint32_t *bytes,
                             const int32_t *reductions, std::span<CodedBlock> coded) const {
    if (by_planes_ == EarlyStop::kNone || !budget) return;
    std::vector<uint32_t> table(kStopBins), bins(coded.size());
    std::vector<bool> stopped(coded.size());
    for (int plane = (g.max_passes + 2) / 3 - 1; plane >= 0; plane--) {
        const auto for_each_active = [&](const auto &body) {
            for (size_t b = 0; b < coded.size(); b++)
                if (coded[b].planes > plane && !stopped[b]) body(b);
        };
        for_each_active([&](size_t b) {
            const size_t first = b * static_cast<size_t>(g.max_passes);
            const PlaneCost cost =
                plane_cost(bytes + first, reductions + first, coded[b].planes, plane, g.coding_of(g.blocks[b]).weight);
            table[cost.bin] += cost.bytes;
            bins[b] = cost.bin;
        });
        uint64_t sum = 0;
        int bin = kStopBins - 1;
        while (bin >= 0 && (sum += table[static_cast<size_t>(bin)]) <= budget) bin--;
        if (bin < 0) continue;
        for_each_active([&](size_t b) {
            if (bins[b] >= stop_limit(by_planes_, bin)) return;
            stopped[b] = true;
            coded[b].passes = static_cast<uint8_t>(coding_passes(coded[b].planes - plane));
        });
    }
}

}  // namespace cudaenc::j2k
