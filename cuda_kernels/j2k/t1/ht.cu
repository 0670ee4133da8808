// SPDX-License-Identifier: LGPL-2.1-or-later
// HT block coding of whole blocks: all bit-planes, or the passes that a target needs.
#include "ht_block.cuh"

namespace cudaenc::j2k {

template <int kQuads, int kWarps, HtKind kKind>
DEVICE void code_blocks(const HtInput &p, const HtShared &shared) {
    load_codes<kWarps>(p, shared);
    const uint32_t index = static_cast<uint32_t>(block_x() * kWarps + warp_id());
    const bool exists = index < p.count;
    const CodeBlock block = p.blocks[exists ? index : p.count - 1];
    block_sync();
    const uint32_t bytes = code_block<kQuads, kWarps, kKind>(p, shared, block, index, HtLowest{}, [exists](auto &own) {
        if (exists) own.scan();
    });
    if (exists && lane_id() == 0) {
        p.coded.bytes[index] = bytes;
        p.coded.planes[index] = p.coded.passes[index] = bytes ? 1 : 0;
    }
}

// ---- Truncation: see HtTruncatedInput.

// Calls body(magnitude) for the lane's share of a block's samples, and for some that are 0.
template <class Coefficient, class Body>
DEVICE void for_each_magnitude(const CodeBlock &block, const Coefficient *coefficients, const Body &body) {
    const uint32_t lane = static_cast<uint32_t>(lane_id()), width = block.width, more_rows = 32 / width,
                   more_columns = 32 % width;
    uint32_t row = lane / width, column = lane % width;
    constexpr int kTogether = 4;  // loads that wait for each other's latency
    CUDAENC_NO_UNROLL
    while (row < block.height) {
        uint32_t magnitudes[kTogether];
        CUDAENC_UNROLL
        for (int i = 0; i < kTogether; i++) {
            const Coefficient *const at = coefficients + static_cast<size_t>(row) * block.stride + column;
            magnitudes[i] = row < block.height ? magnitude(load_readonly(at)) : 0;
            column += more_columns;
            row += more_rows;
            if (column >= width) {
                column -= width;
                row++;
            }
        }
        CUDAENC_UNROLL
        for (int i = 0; i < kTogether; i++) body(magnitudes[i]);
    }
}

// A sum of numbers below 2^40 over the warp's lanes.
DEVICE int64_t warp_add_wide(int64_t v) {
    const uint32_t low = warp_add(static_cast<uint32_t>(v) & 0xFFFFF);
    return static_cast<int64_t>(static_cast<int32_t>(warp_add(static_cast<uint32_t>(v >> 20)))) * (1 << 20) + low;
}

DEVICE HtRule rule_of(const HtTruncatedInput &p, const CodeBlock &block) {
    return ht_rule(*p.stop, p.bands[block.precinct_band], block.planes, p.ht.count);
}

constexpr uint8_t kNoPlane = 0xFF;  // in coded_planes: the room has no codeword

// Codes the likeliest pass of each block, and makes its record.
template <int kQuads, int kWarps, HtKind kKind>
DEVICE void try_blocks(const HtTruncatedInput &p, const HtShared &shared, uint32_t index, bool exists,
                       const CodeBlock &block) {
    const HtRule rule = rule_of(p, block);
    const int lowest = rule.lowest_plane(), pass = lane_id();
    const uint64_t at =
        static_cast<uint64_t>(index) * static_cast<uint32_t>(p.max_passes) + static_cast<uint32_t>(pass);
    bool has_bytes = false, is_above = false;  // of the lane's pass
    uint32_t between = 0;
    // The record, but for its bytes; the codeword is coded behind it, since registers are few.
    const auto scan = [&](HtBlock<kQuads, kKind> &own) {
        if (!exists) return;
        constexpr bool kOne = kKind == HtKind::kOnePlane;
        const QuadSums sums = own.scan_and_count(lowest, kOne || rule.one_plane);
        const uint32_t quads = quads_of(block.width, block.height);
        const HtTrial trial = kOne ? ht_one_plane(rule, sums.planes, quads, sums.counts)
                                   : ht_trial(rule, sums.planes, quads, sums.counts);
        const int passes = ht_passes(trial, sums.planes), plane = sums.planes - 1 - pass;
        const bool is_coded = trial.coded < sums.planes && passes;
        has_bytes = pass < passes && plane <= trial.highest;
        is_above = plane > trial.coded;
        between = trial.between(plane);
        if (pass < passes) p.ht.coded.reductions[at] = has_bytes ? trial.reduction(plane) : 0;
        if (pass < passes && !has_bytes) p.ht.coded.pass_bytes[at] = 0;
        if (pass == 0) {
            p.ht.coded.planes[index] = static_cast<uint8_t>(passes ? sums.planes : 0);
            p.ht.coded.passes[index] = static_cast<uint8_t>(passes);
            p.coded_planes[index] = is_coded ? static_cast<uint8_t>(trial.coded) : kNoPlane;
        }
        if (!is_coded) {
            own.any = false;
        } else if (!kOne && trial.coded != own.lowest.plane) {
            own.lowest.plane = trial.coded;
            own.scan();
        }
    };
    const uint32_t bytes =
        code_block<kQuads, kWarps, kKind>(p.ht, shared, block, index, lowest_of(rule, rule.likeliest_plane()), scan);
    if (has_bytes) p.ht.coded.pass_bytes[at] = ht_plane_bytes(is_above, between, bytes);
}

// Codes all passes of each block, one in place of the other, and makes its record.
template <int kQuads, int kWarps>
DEVICE void measure_blocks(const HtTruncatedInput &p, const HtShared &shared, uint32_t index, bool exists,
                           const CodeBlock &block) {
    const auto for_each = [&](const auto &body) {
        const HtInput &in = p.ht;
        if (in.is_short)
            for_each_magnitude(block, reinterpret_cast<const int16_t *>(in.coefficients) + block.coefficients, body);
        else
            for_each_magnitude(block, in.coefficients + block.coefficients, body);
    };
    const uint64_t first = static_cast<uint64_t>(index) * static_cast<uint32_t>(p.max_passes);
    uint32_t bits = 0;
    if (exists) for_each([&](uint32_t own) { bits |= own; });
    const int planes = bit_width(warp_or(bits));
    CUDAENC_NO_UNROLL
    for (int pass = 0; pass < p.max_passes; pass++) {
        const bool is_there = exists && pass < planes;
        const int plane = is_there ? planes - 1 - pass : 0;
        if (!block_any(is_there)) break;
        const uint32_t bytes = code_block<kQuads, kWarps, HtKind::kTruncated>(
            p.ht, shared, block, index, lowest_of({}, plane), [is_there](auto &own) {
                if (is_there) own.scan();
            });
        if (!is_there) continue;
        int64_t reduction = 0;
        for_each([&](uint32_t own) { reduction += ht_reduction(own, plane, block.reversible); });
        reduction = warp_add_wide(reduction);
        if (lane_id() == 0) {
            p.ht.coded.pass_bytes[first + static_cast<uint32_t>(pass)] = bytes;
            p.ht.coded.reductions[first + static_cast<uint32_t>(pass)] = record_reduction(reduction);
        }
    }
    if (exists && lane_id() == 0) {
        p.ht.coded.planes[index] = p.ht.coded.passes[index] = static_cast<uint8_t>(planes);
        p.coded_planes[index] = planes ? 0 : kNoPlane;
    }
}

// Codes the passes that were chosen, where codewords have others: first collects these blocks of the thread-block's.
template <int kQuads, int kWarps>
DEVICE void code_chosen_blocks(const HtTruncatedInput &p, const HtShared &shared) {
    SHARED(uint32_t, missing, kHtChosenBlocks);
    SHARED(uint32_t, count, 1);
    const uint32_t own = static_cast<uint32_t>(block_x()) * kHtChosenBlocks + thread_x();
    const auto plane_of = [&](uint32_t index) { return p.ht.coded.planes[index] - p.chosen[index]; };
    if (thread_x() == 0) count[0] = 0;
    block_sync();
    if (static_cast<uint32_t>(thread_x()) < kHtChosenBlocks && own < p.ht.count && p.chosen[own] &&
        plane_of(own) != p.coded_planes[own])
        missing[atomic_add(&count[0], 1u)] = own;
    block_sync();
    if (!count[0]) return;
    load_codes<kWarps>(p.ht, shared);
    block_sync();
    CUDAENC_NO_UNROLL
    for (uint32_t first = 0; first < count[0]; first += kWarps) {
        const uint32_t i = first + static_cast<uint32_t>(warp_id());
        const bool exists = i < count[0];
        const uint32_t index = missing[exists ? i : 0];
        const int plane = plane_of(index);
        const CodeBlock &block = p.ht.blocks[index];
        const uint32_t bytes = code_block<kQuads, kWarps, HtKind::kTruncated>(
            p.ht, shared, block, index, lowest_of(rule_of(p, block), plane), [exists](auto &own) {
                if (exists) own.scan();
            });
        if (!exists || lane_id() != 0) continue;
        p.coded_planes[index] = static_cast<uint8_t>(plane);
        p.chosen_bytes[index] = bytes;
        p.ht.coded
            .pass_bytes[static_cast<uint64_t>(index) * static_cast<uint32_t>(p.max_passes) + p.chosen[index] - 1u] =
            bytes;
    }
}

template <int kQuads, int kWarps, HtKind>
DEVICE void code_blocks(const HtTruncatedInput &p, const HtShared &shared) {
    if (p.chosen) return code_chosen_blocks<kQuads, kWarps>(p, shared);
    const uint32_t index = static_cast<uint32_t>(block_x() * kWarps + warp_id());
    const bool exists = index < p.ht.count;
    const CodeBlock block = p.ht.blocks[exists ? index : p.ht.count - 1];
    load_codes<kWarps>(p.ht, shared);
    block_sync();
    if (p.stop->slope)
        try_blocks<kQuads, kWarps, HtKind::kTruncated>(p, shared, index, exists, block);
    else
        measure_blocks<kQuads, kWarps>(p, shared, index, exists, block);
}

template <int kQuads, int kWarps, HtKind kKind>
DEVICE void code_blocks(const HtOnePlaneInput &p, const HtShared &shared) {
    const uint32_t index = static_cast<uint32_t>(block_x() * kWarps + warp_id());
    const bool exists = index < p.truncated.ht.count;
    const CodeBlock block = p.truncated.ht.blocks[exists ? index : p.truncated.ht.count - 1];
    load_codes<kWarps>(p.truncated.ht, shared);
    block_sync();
    try_blocks<kQuads, kWarps, kKind>(p.truncated, shared, index, exists, block);
}

// A kernel's thread-block: its shared memory, and its blocks by the input's kind.
template <int kQuads, int kWarps, HtKind kKind, class Input>
DEVICE void run_thread_block(const Input &p) {
    SHARED(uint16_t, codes, 2048 + kMostU + 1);
    SHARED(uint32_t, mel_entries, kMelEnd);
    using Layout = typename HtBlock<kQuads, kKind>::Layout;
    SHARED(uint32_t, memory, kWarps *Layout::kWords);
    SHARED(MelWork, work, kWarps);
    code_blocks<kQuads, kWarps, kKind>(p, {codes, mel_entries, memory, work});
}

KERNEL_BLOCKS(kHtWarps * 32, 4, j2k_t1_ht, HtParams) { run_thread_block<256, kHtWarps, HtKind::kWhole>(p); }

KERNEL(kHtLargeWarps * 32, j2k_t1_ht_large, HtLargeParams)
{
    run_thread_block<1024, kHtLargeWarps, HtKind::kWhole>(p);
}

KERNEL_BLOCKS(kHtWarps * 32, 4, j2k_t1_ht_short, HtShortParams) { run_thread_block<256, kHtWarps, HtKind::kShort>(p); }

KERNEL(kHtLargeWarps * 32, j2k_t1_ht_short_large, HtShortLargeParams)
{
    run_thread_block<1024, kHtLargeWarps, HtKind::kShort>(p);
}

// 24 warps a multiprocessor fit 85 registers a thread.
KERNEL_BLOCKS(kHtWarps * 32, 24 / kHtWarps, j2k_t1_ht_truncated, HtTruncatedParams) {
    run_thread_block<256, kHtWarps, HtKind::kTruncated>(p);
}

KERNEL_BLOCKS(kHtLargeWarps * 32, 24 / kHtLargeWarps, j2k_t1_ht_truncated_large, HtTruncatedLargeParams) {
    run_thread_block<1024, kHtLargeWarps, HtKind::kTruncated>(p);
}

// 32 warps a multiprocessor fit 64, of which few are spilled.
KERNEL_BLOCKS(kHtWarps * 32, 4, j2k_t1_ht_one_plane, HtOnePlaneParams) {
    run_thread_block<256, kHtWarps, HtKind::kOnePlane>(p);
}

KERNEL_BLOCKS(kHtLargeWarps * 32, 24 / kHtLargeWarps, j2k_t1_ht_one_plane_large, HtOnePlaneLargeParams) {
    run_thread_block<1024, kHtLargeWarps, HtKind::kOnePlane>(p);
}

}  // namespace cudaenc::j2k
