// SPDX-License-Identifier: LGPL-2.1-or-later
#include "early_stop_cpu.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
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

// Of a lattice that has one of `each` blocks: how much further a row's begins than the one's above. No two of its
// blocks are nearer than they need be, and rows begin everywhere.
static uint32_t lattice_step(uint32_t each) {
    uint32_t best = 1, farthest = 0;
    for (uint32_t step = 1; step < each; step++) {
        if (std::gcd(step, each) != 1) continue;
        uint32_t nearest = each * each;
        for (uint32_t rows = 1; rows * rows < nearest; rows++) {
            const uint32_t right = rows * step % each, columns = std::min(right, each - right);
            nearest = std::min(nearest, rows * rows + columns * columns);
        }
        if (nearest > farthest) best = step, farthest = nearest;
    }
    return best;
}

std::vector<Look> choose_looks(const Params &p, const Geometry &g) {
    const bool has_chroma = p.components.size() >= 3 && (p.mct || p.input.color_model == CUDAENC_COLOR_YUV);
    // In the highest resolution one of so many is looked at: of few blocks all, of many fewer the more there are.
    const double all = static_cast<double>(g.blocks.size()), sparsest = std::min(std::sqrt(all) / 15, all / 1067);
    struct Band {  // of a component, in all precincts and tiles
        uint32_t each, step, rows = 0, blocks = 0;
        std::vector<uint32_t> looked_at = {};
    };
    std::map<std::pair<int, int>, Band> bands;
    const auto band_of = [&](const PrecinctBand &cell) -> Band & {
        const auto found = bands.find({cell.component, cell.band});
        if (found != bands.end()) return found->second;
        const int resolution = (cell.band + 2) / 3;
        const bool is_chroma = has_chroma && (cell.component == 1 || cell.component == 2),
                   is_hh = cell.band && cell.band % 3 == 0;
        const auto highest = static_cast<uint32_t>(sparsest * (is_chroma ? 3 : 1) * (is_hh ? 3 : 1));
        const uint32_t each = std::max(highest >> (p.levels - resolution), 1u);
        return bands[{cell.component, cell.band}] = Band{each, lattice_step(each)};
    };
    for (const PrecinctBand &cell : g.precinct_bands) {
        Band &band = band_of(cell);
        const uint32_t first = 3u * cell.component + cell.band;  // what is in the same place is alike
        band.blocks += cell.columns * cell.rows;
        for (uint32_t y = 0; y < cell.rows; y++) {
            const uint32_t row = band.rows++ * band.step + first;
            for (uint32_t x = (band.each - row % band.each) % band.each; x < cell.columns; x += band.each)
                band.looked_at.push_back(cell.first_block + y * cell.columns + x);
        }
    }
    std::vector<Look> looks;
    for (const auto &[key, band] : bands) {
        uint64_t looked_at = 0, stand_for = 0;
        for (const uint32_t block : band.looked_at) {
            const uint64_t so_far = ++looked_at * band.blocks / band.looked_at.size();
            looks.push_back({block, static_cast<uint32_t>(so_far - stand_for)});
            stand_for = so_far;
        }
    }
    return looks;
}

uint32_t find_stop(ThreadPool &pool, const Geometry &g, std::span<const Look> looks, const uint32_t *coefficients,
                   uint64_t budget) {
    const uint32_t blocks = static_cast<uint32_t>(g.blocks.size());
    std::array<std::atomic<uint64_t>, kStopSlopes> table{};
    constexpr size_t kBatch = 16;
    pool.for_each((looks.size() + kBatch - 1) / kBatch, [&](size_t batch) {
        size_t most_words = 0;
        const auto own = looks.subspan(batch * kBatch, std::min(looks.size() - batch * kBatch, kBatch));
        for (const Look &look : own) {
            const CodeBlock &b = g.blocks[look.block];
            most_words = std::max(most_words, ContextModeller::words(b.width, b.height));
        }
        ContextModeller modeller(most_words);
        for (const Look &look : own) {
            const CodeBlock &b = g.blocks[look.block];
            const LookedAt seen = modeller.look(coefficients, b, look_rule(budget, blocks, b.width * b.height));
            uint32_t bits = 0, before = 0, lowest = kStopSlopes;
            for (int i = 0; i < seen.count; i++) {
                const LookStep &step = seen.steps[i];
                const int plane = plane_of_step(seen.planes, i);
                if (!step.is_worth_coding(plane, is_propagation(i), b.lossy)) break;
                bits += step.bits(is_propagation(i));
                const uint32_t bytes = estimated_bytes(bits);
                lowest = std::min(lowest, step.bin(i, plane, g.precinct_bands[b.cell].weight, b.reversible));
                table[lowest] += uint64_t{bytes - before} * look.blocks;
                before = bytes;
            }
        }
    });
    uint64_t room = look_budget(budget, blocks);
    for (int bin = kStopSlopes - 1; bin >= 0; bin--) {
        const uint64_t bytes = table[static_cast<size_t>(bin)];
        if (bytes > room) return look_slope(bin, bytes, room);
        room -= bytes;
    }
    return 0;  // all is needed
}

}  // namespace cudaenc::j2k
