// SPDX-License-Identifier: LGPL-2.1-or-later
// The one- and three-kernel strategies of Bruns (2016) for the arithmetic coding bypass. The encoder has the two-kernel
// strategy, of whose device functions these are made.
#include "../../cuda_kernels/j2k/t1/mq.cuh"
#include "t1_bypass_params.h"

namespace cudaenc::j2k {

KERNEL(kContextWarps * 32, bench_t1_one_kernel, OneKernelParams)
{
    SHARED(uint32_t, planes, kContextWarps *kMaxPlanes * 32);
    SHARED(uint32_t, raw, kContextWarps *kTileRawWords);
    SHARED(MqState, memory, kMqWords);
    for (int i = thread_x(); i < kMqRows; i += kContextWarps * 32) memory[i] = kMqTable.row[i];
    block_sync();
    model_small_block<StyleVariant::kAny, KeepAll>(
        p, block_of_warp(), p.style, planes, MakeRawSegments{p.t1, {p.style, false}, &raw[warp_id() * kTileRawWords]});
    warp_sync();
    const uint32_t block = block_of_warp();
    if (lane_id() || block >= p.t1.count) return;
    MqBlock<StyleVariant::kAny, false>(p.t1, block, p.style, memory, memory + kMqTableRows + warp_id(), WholeBlock{})
        .run();
}

// Bits of raw segments as bytes.
struct RawBits {
    const OneTile &tile;
    uint8_t *out;
    uint32_t bits = 0;   // of the segment so far
    uint32_t total = 0;  // of those before it
    struct Ends {
        uint32_t first_pass, segment;
    };
    DEVICE_MEMBER void put(uint32_t counts, uint32_t members, uint32_t decisions, uint32_t becoming, uint32_t negative,
                           bool) {
        const StripePositions at = tile.positions(counts, bits);
        CUDAENC_UNROLL
        for (int s = 0; s < kStripes; s++) {
            uint8_t *to = out + total + at.before[s];
            CUDAENC_UNROLL
            for (int row = 4 * s; row < 4 * s + 4; row++) {
                if (members >> row & 1) *to++ = decisions >> row & 1;
                if (becoming >> row & 1) *to++ = negative >> row & 1;
            }
        }
    }
    DEVICE_MEMBER Ends end(uint32_t first_bits) {
        const Ends ends{total + first_bits, total + bits};
        total += bits;
        bits = 0;
        return ends;
    }
};

KERNEL(kContextWarps * 32, bench_t1_context, BitsContextParams)
{
    SHARED(uint32_t, planes, kContextWarps *kMaxPlanes * 32);
    model_small_block<StyleVariant::kAny, KeepAll>(
        p, block_of_warp(), p.style, planes,
        [&](const OneTile &tile, uint32_t block, int) { return RawBits{tile, p.bits + p.t1.coded.rooms[block]}; });
}

KERNEL(kContextWarps * 32, bench_t1_raw, RawParams)
{
    SHARED(uint32_t, raw, kContextWarps *kTileRawWords);
    uint32_t *words = &raw[warp_id() * kTileRawWords];
    for (int i = lane_id(); i < kTileRawWords; i += 32) words[i] = 0;
    warp_sync();
    const uint32_t block = block_of_warp();
    if (block >= p.t1.count) return;
    const OneTile tile{nullptr};
    RawSegments<OneTile> segments{tile, words, raw_place(p.t1, block, {p.style, false})};
    uint32_t *ends = p.t1.pass_ends + static_cast<uint64_t>(block) * p.t1.max_passes;
    const int passes = p.t1.coded.passes[block];
    uint32_t before = 0;  // bits of the segments before
    for (int pass = 0, first = 0; pass < passes; pass++) {
        const bool last = pass == passes - 1 || ends_segment(p.style, pass);
        if (!last) continue;
        if (is_raw(p.style, pass)) {
            const uint8_t *from = p.bits + p.t1.coded.rooms[block] + before;
            segments.bits = ends[pass] - before;
            const uint32_t first_bits = ends[first] - before;
            before = ends[pass];
            for (uint32_t i = static_cast<uint32_t>(lane_id()); 32 * i < segments.bits; i += 32) {
                uint32_t word = 0;
                for (uint32_t k = 0; k < min_of(segments.bits - 32 * i, 32u); k++)
                    word |= static_cast<uint32_t>(from[32 * i + k]) << k;
                words[i] = word;
            }
            const auto [first_pass, segment] = segments.end(first_bits);
            if (lane_id() == 0) {
                ends[first] = first_pass;
                ends[pass] = segment;
            }
        }
        first = pass + 1;
    }
}

}  // namespace cudaenc::j2k
