// SPDX-License-Identifier: LGPL-2.1-or-later
#include "early_stop_cpu.h"

#include <vector>

namespace cudaenc::j2k {

void stop_early(const Geometry &g, EarlyStop method, uint64_t budget, const PassResults &results,
                std::span<CodedBlock> coded) {
    if (method == EarlyStop::kNone || !budget) return;
    std::vector<uint32_t> table(kStopSlopes), slopes(coded.size());
    std::vector<bool> stopped(coded.size());
    for (int plane = (g.max_passes + 2) / 3 - 1; plane >= 0; plane--) {
        const auto for_each_active = [&](const auto &body) {
            for (size_t b = 0; b < coded.size(); b++)
                if (coded[b].planes > plane && !stopped[b]) body(b);
        };
        for_each_active([&](size_t b) {
            const PassResults own = results.from(b * static_cast<size_t>(g.max_passes));
            const PlaneCost cost =
                plane_cost(own.bytes, own.gains, coded[b].planes, plane, g.precinct_bands[g.blocks[b].cell].weight);
            table[cost.slope] += cost.bytes;
            slopes[b] = cost.slope;
        });
        uint64_t bytes = 0;
        int slope = kStopSlopes - 1;
        while (slope >= 0 && (bytes += table[static_cast<size_t>(slope)]) <= budget) slope--;
        if (slope < 0) continue;
        for_each_active([&](size_t b) {
            if (slopes[b] >= stop_limit(method, slope)) return;
            stopped[b] = true;
            coded[b].passes = static_cast<uint8_t>(coding_passes(coded[b].planes - plane));
        });
    }
}

}  // namespace cudaenc::j2k
