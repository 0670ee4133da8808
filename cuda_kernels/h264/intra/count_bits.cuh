// Bits of residual blocks. All warps count theirs with the same code, a lane a block.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "state.cuh"

namespace cudaenc::h264 {

// A lane's block: level k of the scan is levels[places[step k]]. total: where its total_coeff goes in its grid; DC
// blocks only look at the neighbours there.
struct CountedBlock {
    const int16_t *levels;
    const uint8_t *places;
    int step, count, pitch;
    int8_t *total;
    CoeffTokenTable tokens;  // of chroma DC
    TotalZerosTable zeros;
    bool present, dc, chroma_dc;
    DEVICE_MEMBER int32_t operator()(int k) const { return levels[places[step * k]]; }
};

// component: of those that are coded as luma.
template <ChromaFormat F>
DEVICE CountedBlock make_counted_block(int part, int component, bool has_8x8, WavefrontState<F> &s) {
    const int lane = lane_id(), b = lane & 15;
    CountedBlock block{};
    block.zeros = kZeros4x4;
    block.step = 1;
    if (part != kPartChroma) {
        CodedComponent &c = s.candidates[part].components[component];
        const bool is_8x8 = part == kPart8x8, is_16x16 = part == kPart16x16;
        block.present = lane < 16 && (has_8x8 || !is_8x8);
        block.dc = is_16x16 && lane == 16;
        block.levels = c.levels + (block.dc ? 256 : is_8x8 ? 64 * (b >> 2) : 16 * b);
        block.places = s.scans + (is_8x8 ? kScan8x8 + (b & 3) : kScan4x4 + (is_16x16 && !block.dc));
        block.step = is_8x8 ? 4 : 1;
        block.count = is_16x16 && !block.dc ? 15 : 16;
        block.pitch = kGrid;
        block.total = c.totals + kGrid * (1 + luma_block_y(b)) + 1 + luma_block_x(b);
    } else if constexpr (chroma_blocks(F) > 0) {
        constexpr int kBlocks = chroma_blocks(F), kAc = 2 * kBlocks;
        block.present = lane < kAc;
        block.dc = block.chroma_dc = lane == kAc || lane == kAc + 1;
        const int item = block.present ? lane : 0, of = block.dc ? lane - kAc : item / kBlocks, own = item % kBlocks;
        block.levels = s.chroma.levels + (block.dc ? 8 * of : 16 * (1 + item));
        block.places = s.scans + (block.dc ? kScanChromaDc : kScan4x4 + 1);
        block.count = block.dc ? kBlocks : 15;
        block.pitch = 3;
        block.total = s.chroma.totals[of] + 3 * (1 + (own >> 1)) + 1 + (own & 1);
        const BlockCode dc = chroma_dc_code(kBlocks);
        block.tokens = dc.tokens;
        block.zeros = block.dc ? dc.zeros : kZeros4x4;
    } else {
        block.levels = s.candidates[0].components[0].levels;
        block.places = s.scans;
        block.total = s.candidates[0].components[0].totals + kGrid + 1;
    }
    return block;
}

// What a part's blocks have.
struct CountedBits {
    uint32_t bits, nonzero;  // bit l: the block of lane l has levels, in any component that is coded as luma
    bool too_large;
};
template <ChromaFormat F>
DEVICE CountedBits count_blocks(int part, bool has_8x8, WavefrontState<F> &s) {
    constexpr int kComponents = luma_components(F);
    CountedBlock blocks[kComponents];
    uint32_t nonzero[kComponents], all = 0;
    bool too_large = false;
    CUDAENC_UNROLL
    for (int component = 0; component < kComponents; component++) {
        const CountedBlock &block = blocks[component] = make_counted_block(part, component, has_8x8, s);
        const bool counts = block.present || block.dc;
        nonzero[component] = 0;
        CUDAENC_UNROLL
        for (int k = 0; k < 16; k++) {
            const int32_t level = counts && k < block.count ? block(k) : 0;
            nonzero[component] |= static_cast<uint32_t>(level != 0) << k;
            too_large |= static_cast<uint32_t>(level + kMaxLevelOfPrefix15) > 2 * kMaxLevelOfPrefix15;
        }
        if (block.present) *block.total = static_cast<int8_t>(count_ones(nonzero[component]));
        all |= warp_ballot(nonzero[component] != 0);
    }
    warp_sync();
    BitCounter counter;
    CUDAENC_UNROLL
    for (int component = 0; component < kComponents; component++) {
        const CountedBlock &block = blocks[component];
        // Which blocks are coded: of each 8x8 block, AC of all blocks, DC of I_16x16 always, DC of both components.
        const uint32_t others =
            part == kPartChroma || part == kPart16x16 ? all & warp_ballot(block.present) : all >> (lane_id() & ~3) & 15;
        const bool coded = block.dc ? part == kPart16x16 || all != 0 : block.present && others != 0;
        if (!coded) continue;
        const int nc = predict_total(block.total[-1], block.total[-block.pitch]);
        const BlockCode code{block.chroma_dc ? block.tokens : token_table(nc), block.zeros, block.count};
        code_block(s.cavlc, code, nonzero[component], block, 0, counter);
    }
    return {warp_add(counter.bits), all, warp_any(too_large)};
}

// Counts the bits of a macroblock as one type, or of its chroma. With a whole warp.
template <ChromaFormat F>
DEVICE void count_candidate(int part, bool has_8x8, WavefrontState<F> &s) {
    const CountedBits counted = count_blocks(part, has_8x8, s);
    if (lane_id() != 0) return;
    if (part != kPartChroma) {
        Candidate<F> &c = s.candidates[part];
        const uint32_t eighths = counted.nonzero | counted.nonzero >> 1, quarters = eighths | eighths >> 2;
        c.residual_bits = counted.bits;
        c.too_large = counted.too_large;
        c.pattern = part == kPart16x16
                        ? (counted.nonzero & 0xFFFF ? 15 : 0)
                        : (quarters & 1) | (quarters >> 3 & 2) | (quarters >> 6 & 4) | (quarters >> 9 & 8);
    } else if constexpr (chroma_blocks(F) > 0) {
        constexpr uint32_t kAc = (1u << 2 * chroma_blocks(F)) - 1;
        s.chroma.bits = counted.bits;
        s.chroma.too_large = counted.too_large;
        s.chroma.coded = counted.nonzero & kAc ? 2 : counted.nonzero ? 1 : 0;
    }
}

}  // namespace cudaenc::h264
