// SPDX-License-Identifier: LGPL-2.1-or-later
// Sampled blocks: estimates of what they take by slope, before any block is coded (parallel slope prediction).
#include "../../../common/j2k/transform/quantise.h"
#include "../t1/tile.cuh"
#include "rate_params.h"

namespace cudaenc::j2k {

// Steps of a block with `planes`; a lane's own is the one that has its number. Returns how many.
template <class Tile>
DEVICE int sample_steps(const Tile &tile, uint32_t valid, uint32_t negative, int planes, const SampleLimit &limit,
                        SampledStep &own_step) {
    const Around<uint32_t> signs = tile.around(negative);
    const auto count = [&](uint32_t all, uint32_t ones) {
        return tile.sum(static_cast<uint32_t>(popcount(ones) | popcount(all) << 16));
    };
    constexpr int all_parts = (1 << kReductionPlanes) - 1;  // planes below the lowest count as zeros
    uint32_t words[kReductionPlanes + 1];                   // of the plane and those below
    CUDAENC_UNROLL
    for (int k = 0; k < kReductionPlanes; k++) words[k + 1] = k < planes ? tile.plane(planes - 1 - k) : 0;
    uint32_t significant = 0, sampled = 0;
    int steps = 0;
    CUDAENC_NO_UNROLL
    for (int plane = planes - 1; plane >= 0; plane--) {
        CUDAENC_UNROLL
        for (int k = 0; k < kReductionPlanes; k++) words[k] = words[k + 1];
        words[kReductionPlanes] = plane >= kReductionPlanes ? tile.plane(plane - kReductionPlanes) : 0;
        const uint32_t bits = words[0], left = valid & ~significant, found = left & bits;
        const SampledPlane<uint32_t> classes =
            sample_plane(left, tile.around(significant), tile.around(found), negative, signs);
        const auto parts = [&](uint32_t samples) {  // of alike bits, as alike_below() has them
            int sum = 0;
            CUDAENC_UNROLL
            for (int k = 1; k <= kReductionPlanes; k++)
                sum += popcount(samples & ~(words[k] ^ bits)) << (kReductionPlanes - k);
            return sum;
        };
        const auto take = [&](bool propagation, uint32_t samples) {
            SampledStep step = count_step(classes, propagation, samples, found, count);
            int own = 3 * parts(samples & found);
            if (!propagation) {
                step.refined = count(significant, significant & bits);
                own += parts(significant);
            }
            const int refined_zeros = static_cast<int>((step.refined >> 16) - (step.refined & 0xFFFF));
            step.parts = static_cast<int32_t>(tile.sum(static_cast<uint32_t>(own))) - all_parts * refined_zeros;
            sampled += (step.refined >> 16) + kSignificanceBits * step.newly_significant();
            if (lane_id() == steps) own_step = step;
            steps++;
        };
        if (steps) take(true, classes.reached);
        take(false, left & ~classes.reached);
        if (limit.ends(steps, sampled)) break;
        significant |= found;
    }
    return steps;
}

// Adds a block's estimates to the table, for the blocks that it stands for. All but its first warp end idle.
template <class Tile>
DEVICE void sample_block(const SampleInput &p, const Tile &tile, uint32_t valid, uint32_t negative, int planes,
                         const CodeBlock &b, const SampledBlock &sampled) {
    const uint32_t blocks = sampled.blocks;
    SampledStep step{};
    const SampleLimit limit = sample_limit(p.allocation->budget[p.layers - 1], p.block_count, b.width * b.height);
    const int steps = sample_steps(tile, valid, negative, planes, limit, step);
    if (!tile.is_first_warp()) return;
    // A lane a step.
    const int lane = lane_id(), plane = plane_of_step(planes, lane);
    const bool propagation = is_propagation(lane),
               is_coded = lane < steps && step.is_worth_coding(plane, propagation, p.lossy);
    const uint32_t bytes = step_bytes(warp_inclusive_add(is_coded ? step.bits(lane, p.style) : 0));
    const uint32_t before = warp_shuffle_up(bytes, 1), more = lane ? bytes - before : bytes;
    const int weight = p.bands[b.precinct_band].weight + p.regions[sampled.block];
    uint32_t lowest = is_coded ? step.bin(lane, plane, weight, b.reversible) : 0;
    for (int distance = 1; distance < 32; distance <<= 1) {
        const uint32_t earlier = warp_shuffle_up(lowest, distance);
        if (lane >= distance) lowest = min_of(lowest, earlier);
    }
    if (!is_coded) return;
    atomic_add(&p.table[lowest], uint64_t{more} * blocks);
    if (step.is_held_back(lowest, plane, weight, b.reversible))
        atomic_add(&p.held_back[lowest], uint64_t{more} * blocks);
    if (const uint32_t bits = step.bits_of_likeness()) atomic_add(&p.alike[lowest], likeness_bytes(bits, blocks));
}

// By each thread-block once it has added its estimates; the last one finds the slope. sums, is_last: shared, 32 and 1.
DEVICE void find_stop_slope(const SampleInput &p, uint64_t *sums, uint32_t *is_last) {
    thread_fence();
    block_sync();
    if (thread_x() == 0) is_last[0] = atomic_add(p.done, 1u) + 1 == static_cast<uint32_t>(grid_x());
    block_sync();
    if (!is_last[0]) return;
    thread_fence();
    // A thread has some bins in turn, the first the highest.
    const int each = kStopBins / block_threads(), highest = kStopBins - 1 - thread_x() * each;
    uint64_t own = 0, own_alike = 0;
    for (int bin = highest; bin > highest - each; bin--) own += p.table[bin], own_alike += p.alike[bin];
    uint64_t likeness = block_inclusive_add<uint64_t>(own_alike, sums) - own_alike;
    block_sync();
    const uint64_t budget = p.allocation->budget[p.layers - 1],
                   room = sample_budget(budget, p.block_count, p.style, p.frame_steps);
    uint64_t sum = block_inclusive_add<uint64_t>(own, sums) - own;
    if (p.frame_steps) {
        block_sync();
        if (thread_x() < kStepSums) sums[thread_x()] = p.table[thread_x()];
        block_sync();
        if (thread_x() == 0)
            static_cast<StopSlope &>(p.allocation->stop) =
                stop_at_steps(p.step_weights, room, p.allocation->stop, [&](int of) { return sums[of]; });
    }
    for (int bin = highest; !p.frame_steps && bin > highest - each; bin--) {
        const uint64_t bytes = p.table[bin];
        likeness += p.alike[bin];
        if (sum <= room && sum + bytes > room)
            static_cast<StopSlope &>(p.allocation->stop) = stop_in_bin(
                bin, room - sum, budget, p.block_count, likeness, p.style, p.blocks->reversible, p.allocation->stop,
                [&](int of) { return p.table[of]; }, [&](int of) { return p.held_back[of]; });
        sum += bytes;
        if (!bin && sum <= room)
            static_cast<StopSlope &>(p.allocation->stop) = stop_nowhere(p.style, p.allocation->stop);
    }
    block_sync();
    for (int bin = highest; bin > highest - each; bin--) p.table[bin] = p.held_back[bin] = p.alike[bin] = 0;
    if (thread_x() == 0) *p.done = 0;
}

KERNEL_BLOCKS(kSampleWarps * 32, 8, j2k_rate_sample, SampleParams) {
    SHARED(uint32_t, planes, kSampleWarps *kMaxPlanes * 32);
    SHARED(uint64_t, sums, 32);
    SHARED(uint32_t, is_last, 1);
    const uint32_t index = static_cast<uint32_t>(block_x()) * kSampleWarps + warp_id();
    if (index < p.count) {
        const SampledBlock sampled = p.sampled_blocks[index];
        const CodeBlock &b = p.blocks[sampled.block];
        const int lane = lane_id();
        uint32_t column[32], negative, *own = &planes[warp_id() * kMaxPlanes * 32];
        const int count = read_column(p.coefficients, b, lane, 0, column, negative);
        slice_column(column, count, [&](int plane, uint32_t word) { own[plane * 32 + lane] = word; });
        warp_sync();
        sample_block(p, OneTile{own}, lane < b.width ? first_rows(b.height) : 0, negative, count, b, sampled);
    }
    find_stop_slope(p, sums, is_last);
}

KERNEL(1024, j2k_rate_sample_tiled, SampleTiledParams)
{
    SHARED(uint32_t, words, 1024);
    SHARED(uint32_t, totals, 257);
    SHARED(uint64_t, sums, 32);
    SHARED(uint32_t, is_last, 1);
    const SampledBlock sampled = p.sampled_blocks[block_x()];
    const CodeBlock &b = p.blocks[sampled.block];
    const LargeBlock large = read_large_block(p.coefficients, b, p.tiles_x, p.tiles_y, words, totals);
    sample_block(p, large.tile, first_rows(large.rows), large.negative, large.planes, b, sampled);
    find_stop_slope(p, sums, is_last);
}

// HtWidths of at most kMostRuns runs in a word: 8 bits of quads, 10 of samples, 14 of the largest widths' sum.
constexpr uint32_t kOneQuad = 1u << 24, kOneSample = 1u << 14;
static_assert(kMostRuns * kRunQuads < 1u << 8 && 4 * kMostRuns * kRunQuads * 31 < kOneSample);
DEVICE HtWidths unpack_widths(uint32_t word) {
    return {word / kOneQuad, word / kOneSample & 1023, word & (kOneSample - 1)};
}

// Adds up a block's quads by their widths, and its samples by theirs: of lane i those above width i, as a word.
// columns: shared, [32][32], a column for each lane.
template <class Coefficient>
DEVICE uint32_t count_widths(const Coefficient *coefficients, const CodeBlock &b, const SampledRuns &runs,
                             uint32_t *columns) {
    constexpr uint32_t kWidths = sizeof(Coefficient) == 2 ? kShortPlanes + 1 : 32, kRowFours = 8;
    const uint32_t lane = static_cast<uint32_t>(lane_id()), across = (b.width + 1u) / 2,
                   quads = quads_of(b.width, b.height);
    Uint4 *const fours = reinterpret_cast<Uint4 *>(columns);
    CUDAENC_UNROLL
    for (uint32_t i = 0; i < kWidths * kRowFours; i += 32) fours[i + lane] = {};
    warp_sync();
    CUDAENC_NO_UNROLL
    for (uint32_t run = runs.first; run * kRunQuads < quads; run += runs.step) {
        const uint32_t quad = run * kRunQuads + lane, row = quad / across, y = row * 2, x = (quad - row * across) * 2;
        if (quad >= quads) break;
        const Coefficient *const at = coefficients + b.coefficients + static_cast<size_t>(y) * b.stride + x;
        const auto width_of = [&](bool exists, size_t from) {
            return exists ? bit_width(magnitude(load_readonly(at + from))) : 0;
        };
        const bool right = x + 1 < b.width, lower = y + 1 < b.height;
        const int own[4] = {width_of(true, 0), width_of(lower, b.stride), width_of(right, 1),
                            width_of(right && lower, b.stride + size_t{1})};
        const int most = max_of(max_of(own[0], own[1]), max_of(own[2], own[3]));
        CUDAENC_UNROLL
        for (int k = 0; k < 4; k++) columns[own[k] * 32 + lane] += kOneSample + static_cast<uint32_t>(most);
        columns[most * 32 + lane] += kOneQuad;
    }
    warp_sync();
    // Lanes begin at different columns, which lie in different banks.
    uint32_t above = 0;
    const uint32_t row = (lane + 1) % kWidths;
    CUDAENC_UNROLL
    for (uint32_t i = 0; i < kRowFours; i++) {
        const Uint4 four = fours[row * kRowFours + (lane + i) % kRowFours];
        above += four.x + four.y + four.z + four.w;
    }
    warp_sync();
    if (lane + 1 >= kWidths) above = 0;
    for (int distance = 1; distance < 32; distance <<= 1) {
        const uint32_t more = warp_shuffle_down(above, distance);
        if (lane_id() + distance < 32) above += more;
    }
    return above;
}

// Adds the bytes of a block at each of the sums of steps, a lane each. low: the counts from the lane's bit-plane on.
DEVICE void sample_frame_steps(const SampleInput &p, const CodeBlock &b, uint32_t quads, uint32_t blocks,
                               const HtCounts &low) {
    const int lane = lane_id(), planes = bit_width(warp_ballot(low.samples != 0));
    const HtRule rule = sampled_rule(p.step_weights, lane, p.bands[b.precinct_band], p.block_count);
    const auto from = [&](int plane) {
        const int of = min_of(plane, 31);  // the last lane has none
        HtCounts counts;
        counts.samples = warp_shuffle(low.samples, of);
        counts.quads = warp_shuffle(low.quads, of);
        counts.magnitude = warp_shuffle(low.magnitude, of);
        return counts;
    };
    const HtTriedCounts counts = tried_counts(rule.lowest_plane(), from);
    const uint32_t bytes = ht_trial_bytes(ht_trial(rule, planes, quads, counts), quads, from);
    if (lane < kStepSums && rule.lowest_plane() < planes) atomic_add(&p.table[lane], uint64_t{bytes} * blocks);
}

// As sample_block(), where passes are alternatives. A lane has the step to its bit-plane.
DEVICE void sample_alternatives(const SampleInput &p, const SampledBlock &sampled, uint32_t *columns) {
    const int plane = lane_id();
    const CodeBlock &b = p.blocks[sampled.block];
    const SampledRuns &runs = sampled.runs;
    const uint32_t quads = quads_of(b.width, b.height),
                   above = p.is_short
                               ? count_widths(reinterpret_cast<const int16_t *>(p.coefficients), b, runs, columns)
                               : count_widths(p.coefficients, b, runs, columns);
    const HtCounts low = unpack_widths(above).from(plane).times(runs.scale);
    if (p.frame_steps) return sample_frame_steps(p, b, quads, sampled.blocks, low);
    const SampleLimit limit = sample_limit(p.allocation->budget[p.layers - 1], p.block_count, b.width * b.height);
    HtCounts high;
    high.samples = warp_shuffle_down(low.samples, 1);
    high.quads = warp_shuffle_down(low.quads, 1);
    high.magnitude = warp_shuffle_down(low.magnitude, 1);
    if (plane == 31) high = {};
    const uint32_t before = high.bits(quads);
    const HtStep step = ht_step(quads, low, high);
    const uint32_t higher = warp_shuffle_down(before, 1);
    const bool is_sampled = low.samples && (plane == 31 || higher / 256 <= limit.most);
    uint32_t lowest = low.samples ? ht_bin(step, plane, p.bands[b.precinct_band].weight) : kStopBins;
    for (int distance = 1; distance < 32; distance <<= 1) {
        const uint32_t earlier = warp_shuffle_down(lowest, distance);
        if (plane + distance < 32) lowest = min_of(lowest, earlier);
    }
    if (is_sampled)
        atomic_add(&p.table[lowest], uint64_t{ht_bytes(before + step.bits) - ht_bytes(before)} * sampled.blocks);
}

KERNEL(kSampleWarps * 32, j2k_rate_sample_alternatives, SampleAlternativesParams)
{
    SHARED(Uint4, columns, kSampleWarps * 256);
    SHARED(uint64_t, sums, 32);
    SHARED(uint32_t, is_last, 1);
    const uint32_t index = static_cast<uint32_t>(block_x()) * kSampleWarps + warp_id();
    if (index < p.count)
        sample_alternatives(p, p.sampled_blocks[index], reinterpret_cast<uint32_t *>(columns + warp_id() * 256));
    find_stop_slope(p, sums, is_last);
}

}  // namespace cudaenc::j2k
