// SPDX-License-Identifier: LGPL-2.1-or-later
#include "predict_cpu.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "../../simd.h"
#include "../t1/words_cpu.h"
#include "../transform/quantise.h"

namespace cudaenc::j2k {

// Returns how many steps.
CUDAENC_CLONES static int sample_steps(const Words &words, const uint32_t *coefficients, const CodeBlock &block,
                                       int planes, const SampleLimit &limit, SampledStep *steps) {
    slice(words, coefficients, block, planes);
    const Word *valid = words.layer(kValid), *negative = words.layer(kNegative);
    Word *significant = words.layer(kSignificant), *visited = words.layer(kVisited), *found = words.layer(kAhead);
    const auto count = [](Word all, Word ones) {
        return static_cast<uint32_t>(std::popcount(ones) | std::popcount(all) << 16);
    };
    const auto add = [](SampledStep &sum, const SampledStep &s) {
        for (int k = 0; k < 3; k++) sum.decisions[k] += s.decisions[k];
        for (int k = 0; k < 2; k++) sum.signs[k] += s.signs[k];
    };
    int step = 0;
    uint32_t sampled = 0;
    for (int plane = planes - 1; plane >= 0; plane--) {
        const Word *bits = words.layer(kNegative + planes - plane);
        words.scan([&](ptrdiff_t i) { found[i] = valid[i] & ~significant[i] & bits[i]; });
        SampledStep propagation{}, rest{};
        words.scan([&](ptrdiff_t i) {
            const Word left = valid[i] & ~significant[i];
            const SampledPlane<Word> p =
                sample_plane(left, around(significant + i, words.row), around(found + i, words.row), negative[i],
                             around(negative + i, words.row));
            visited[i] = p.reached;
            add(propagation, count_step(p, true, p.reached, found[i], count));
            add(rest, count_step(p, false, left & ~p.reached, found[i], count));
        });
        const PassCounts refined = count_pass(words, kMagnitudeRefinement, bits, plane);
        propagation.parts = 3 * count_pass(words, kSignificancePropagation, bits, plane).parts;
        rest.refined = static_cast<uint32_t>(refined.ones | refined.all << 16);
        rest.parts = refined.parts + 3 * count_pass(words, kCleanUp, bits, plane).parts;
        if (step) steps[step++] = propagation;
        steps[step++] = rest;
        sampled += static_cast<uint32_t>(refined.all) +
                   kSignificanceBits * (propagation.newly_significant() + rest.newly_significant());
        if (limit.ends(step, sampled)) break;
        words.scan([&](ptrdiff_t i) { significant[i] |= found[i]; });
    }
    return step;
}

SampledSteps sample_block(const uint32_t *coefficients, const CodeBlock &block, const SampleLimit &limit,
                          uint64_t *memory) {
    SampledSteps made{};
    coefficients += block.coefficients;
    with_words(memory, coefficients, block, [&](const Words &words, int planes) {
        made.planes = planes;
        made.count = sample_steps(words, coefficients, block, planes, limit, made.steps);
    });
    return made;
}

// Of a lattice that has one of `each` blocks: by how much a row begins further right than the row above. It keeps the
// blocks as far apart as can be, and rows begin everywhere.
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

// Every fourth run, or fewer; other ones from block to block.
static SampledRuns choose_runs(const CodeBlock &b, uint32_t block) {
    const uint32_t quads = quads_of(b.width, b.height), runs = (quads + kRunQuads - 1) / kRunQuads,
                   step = std::max((runs + kMostRuns - 1) / kMostRuns, 4u), first = block % std::min(step, runs);
    uint32_t counted = 0;
    for (uint32_t run = first; run < runs; run += step) counted += std::min(quads - run * kRunQuads, kRunQuads);
    return {first, step, (quads << 12) / counted};
}

std::vector<SampledBlock> choose_sampled_blocks(const Params &p, const Geometry &g) {
    const bool has_chroma = p.components.size() >= 3 && (p.mct || p.color_model == CUDAENC_COLOR_YUV);
    // In the highest resolution one of so many is sampled: the more blocks there are, the fewer.
    // Of HT blocks twice as many, but fewer quads: see SampledRuns.
    const double all = static_cast<double>(g.blocks.size()),
                 sparsest = std::min(std::sqrt(all) / 15, all / 1067) / (are_alternatives(p.style) ? 2 : 1);
    struct Band {  // of a component, in all precincts and tiles
        uint32_t each, step, rows = 0, blocks = 0;
        std::vector<uint32_t> sampled = {};
    };
    std::map<std::pair<int, int>, Band> bands;
    const auto band_of = [&](const PrecinctBand &precinct_band) -> Band & {
        const auto found = bands.find({precinct_band.component, precinct_band.band});
        if (found != bands.end()) return found->second;
        const int resolution = (precinct_band.band + 2) / 3;
        const bool is_chroma = has_chroma && (precinct_band.component == 1 || precinct_band.component == 2),
                   is_hh = precinct_band.band && precinct_band.band % 3 == 0;
        const auto highest = static_cast<uint32_t>(sparsest * (is_chroma ? 3 : 1) * (is_hh ? 3 : 1));
        const uint32_t each = std::max(highest >> std::min(p.levels - resolution, 31), 1u);
        return bands[{precinct_band.component, precinct_band.band}] = Band{each, lattice_step(each)};
    };
    for (const PrecinctBand &precinct_band : g.precinct_bands) {
        Band &band = band_of(precinct_band);
        const uint32_t first =
            3u * precinct_band.component + precinct_band.band;  // the same place would have the same content
        band.blocks += precinct_band.columns * precinct_band.rows;
        for (uint32_t y = 0; y < precinct_band.rows; y++) {
            const uint32_t row = band.rows++ * band.step + first;
            for (uint32_t x = (band.each - row % band.each) % band.each; x < precinct_band.columns; x += band.each)
                band.sampled.push_back(precinct_band.first_block + y * precinct_band.columns + x);
        }
    }
    std::vector<SampledBlock> sampled_blocks;
    for (const auto &[key, band] : bands) {
        uint64_t sampled = 0, stand_for = 0;
        for (const uint32_t block : band.sampled) {
            const uint64_t so_far = ++sampled * band.blocks / band.sampled.size();
            sampled_blocks.push_back({.block = block,
                                      .blocks = static_cast<uint32_t>(so_far - stand_for),
                                      .runs = choose_runs(g.blocks[block], block)});
            stand_for = so_far;
        }
    }
    return sampled_blocks;
}

using BlockWidths = std::array<HtWidths, kMaxPlanes + 2>;  // [width]
static BlockWidths count_widths(const uint32_t *coefficients, const CodeBlock &b, const SampledRuns &runs) {
    BlockWidths widths{};
    coefficients += b.coefficients;
    const uint32_t across = (b.width + 1u) / 2, quads = quads_of(b.width, b.height);
    for (uint32_t from = runs.first * kRunQuads; from < quads; from += runs.step * kRunQuads)
        for (uint32_t quad = from; quad < std::min(from + kRunQuads, quads); quad++) {
            int own[4], most = 0;
            for (uint32_t i = 0; i < 4; i++) {
                const uint32_t column = quad % across * 2 + i / 2, row = quad / across * 2 + i % 2;
                const bool exists = column < b.width && row < b.height;
                own[i] = exists ? bit_width(coefficients[static_cast<size_t>(row) * b.stride + column] & ~kSignBit) : 0;
                most = std::max(most, own[i]);
            }
            for (const int width : own) {
                widths[width].samples++;
                widths[width].largest += most;
            }
            widths[most].quads++;
        }
    return widths;
}

// scale: see SampledRuns; quads: of the block; add(bin, bytes): what a step of it takes.
template <class Add>
static void sample_alternatives(const BlockWidths &widths, uint32_t scale, uint32_t quads, int weight,
                                const SampleLimit &limit, const Add &add) {
    HtWidths above{};
    HtCounts high;
    uint32_t lowest = kStopBins;
    for (int plane = kMaxPlanes - 1; plane >= 0; plane--) {
        above = above + widths[plane + 1];
        const HtCounts low = above.from(plane).times(scale);
        if (low.samples) {
            const uint32_t before = high.bits(quads);
            const HtStep step = ht_step(quads, low, high);
            lowest = std::min(lowest, ht_bin(step, plane, weight));
            add(lowest, ht_bytes(before + step.bits) - ht_bytes(before));
            if (before / 256 > limit.most) break;
        }
        high = low;
    }
}

// add(plane, bytes): what the block takes with the session's steps, by slopes of a plane.
template <class Add>
static void sample_frame_steps(const BlockWidths &widths, uint32_t scale, uint32_t quads, const BandCoding &band,
                               const StepWeights &weights, uint32_t blocks, const Add &add) {
    std::array<HtCounts, kMaxPlanes> from{};
    HtWidths above{};
    int planes = 0;
    for (int plane = kMaxPlanes - 1; plane >= 0; plane--) {
        above = above + widths[static_cast<size_t>(plane) + 1];
        from[static_cast<size_t>(plane)] = above.from(plane).times(scale);
        if (!planes && above.samples) planes = plane + 1;
    }
    const auto counts_from = [&](int plane) {
        return plane < kMaxPlanes ? from[static_cast<size_t>(plane)] : HtCounts();
    };
    for (int sum = 0; sum < kStepSums; sum++) {
        const HtRule rule = sampled_rule(weights, sum, band, blocks);
        if (rule.lowest_plane() >= planes) break;
        const HtTriedCounts counts = tried_counts(rule.lowest_plane(), counts_from);
        add(sum, ht_trial_bytes(ht_trial(rule, planes, quads, counts), quads, counts_from));
    }
}

StopSlope find_stop_slope(ThreadPool &pool, const Params &params, const EncoderGeometry &g,
                          std::span<const SampledBlock> sampled_blocks, const uint32_t *coefficients, uint64_t budget,
                          const StopSlope &stop, RegionWeights regions) {
    const uint32_t blocks = static_cast<uint32_t>(g.blocks.size()), style = params.style;
    std::array<std::atomic<uint64_t>, kStopBins> table{}, held_back{}, alike{};
    constexpr size_t kBatch = 16;
    pool.for_each((sampled_blocks.size() + kBatch - 1) / kBatch, [&](size_t batch) {
        size_t most_words = 0;
        const auto own =
            sampled_blocks.subspan(batch * kBatch, std::min(sampled_blocks.size() - batch * kBatch, kBatch));
        for (const SampledBlock &sample : own) {
            const CodeBlock &b = g.blocks[sample.block];
            most_words = std::max(most_words, scratch_words(b.width, b.height));
        }
        const auto memory = std::make_unique_for_overwrite<uint64_t[]>(most_words);
        for (const SampledBlock &sample : own) {
            const CodeBlock &b = g.blocks[sample.block];
            const SampleLimit limit = sample_limit(budget, blocks, b.width * b.height);
            const BandCoding &band = g.coding_of(b);
            if (are_alternatives(style)) {
                const BlockWidths widths = count_widths(coefficients, b, sample.runs);
                const uint32_t quads = quads_of(b.width, b.height), scale = sample.runs.scale;
                const auto add = [&](size_t at, uint32_t more) { table[at] += uint64_t{more} * sample.blocks; };
                if (params.frame_steps)
                    sample_frame_steps(widths, scale, quads, band, params.step_weights, blocks, add);
                else
                    sample_alternatives(widths, scale, quads, band.weight, limit, add);
                continue;
            }
            const SampledSteps seen = sample_block(coefficients, b, limit, memory.get());
            const int weight = band.weight + regions[sample.block];
            uint32_t bits = 0, before = 0, lowest = kStopBins;
            for (int i = 0; i < seen.count; i++) {
                const SampledStep &step = seen.steps[i];
                const int plane = plane_of_step(seen.planes, i);
                if (!step.is_worth_coding(plane, is_propagation(i), g.coding.lossy)) break;
                bits += step.bits(i, style);
                const uint32_t bytes = step_bytes(bits);
                lowest = std::min(lowest, step.bin(i, plane, weight, b.reversible));
                const uint64_t more = uint64_t{bytes - before} * sample.blocks;
                table[lowest] += more;
                if (step.is_held_back(lowest, plane, weight, b.reversible)) held_back[lowest] += more;
                alike[lowest] += likeness_bytes(step.bits_of_likeness(), sample.blocks);
                before = bytes;
            }
        }
    });
    uint64_t room = sample_budget(budget, blocks, style, params.frame_steps), likeness = 0;
    const auto entry_of = [](const auto &of) { return [&of](int bin) { return of[static_cast<size_t>(bin)].load(); }; };
    if (params.frame_steps) return stop_at_steps(params.step_weights, room, stop, entry_of(table));
    for (int bin = kStopBins - 1; bin >= 0; bin--) {
        const uint64_t bytes = table[static_cast<size_t>(bin)];
        likeness += alike[static_cast<size_t>(bin)];
        if (bytes > room)
            return stop_in_bin(bin, room, budget, blocks, likeness, style, g.blocks.front().reversible, stop,
                               entry_of(table), entry_of(held_back));
        room -= bytes;
    }
    return stop_nowhere(style, stop);
}

}  // namespace cudaenc::j2k
