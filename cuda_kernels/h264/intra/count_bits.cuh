// SPDX-License-Identifier: LGPL-2.1-or-later
// The most bits that residual blocks can have, whatever their nC: where a macroblock may have to be I_PCM. A lane has a
// block.
#pragma once
#include "decision.cuh"

namespace cudaenc::h264 {

// A lane's block: level k of the scan is levels[places[step k]].
struct CountedBlock {
    const int16_t *levels;
    const uint8_t *places;
    int step, count;
    bool coded;
    uint32_t nc_bits;  // that an nC may add
    CoeffTokenTable tokens;
    TotalZerosTable zeros;
    DEVICE_MEMBER int32_t operator()(int k) const { return levels[places[step * k]]; }
};

// Luma, or a component that is coded as luma, of the decided type: 16 blocks, and the DC of I_16x16.
template <ChromaFormat F>
DEVICE CountedBlock counted_luma(const WavefrontArguments &p, const WavefrontState<F> &s, const Decision &decision,
                                 int component) {
    const int lane = lane_id(), b = lane & 15;
    const Candidate<F> &c = s.candidates[decision.type];
    const bool is_8x8 = decision.type == static_cast<int>(MacroblockType::i8x8),
               is_16x16 = decision.type == static_cast<int>(MacroblockType::i16x16), dc = is_16x16 && lane == 16;
    return {.levels = c.components[component].levels + (dc       ? 256
                                                        : is_8x8 ? 64 * (b >> 2)
                                                                 : 16 * b),
            .places = p.tables->scans + (is_8x8 ? kScan8x8 + (b & 3) : kScan4x4 + (is_16x16 && !dc)),
            .step = is_8x8 ? 4 : 1,
            .count = is_16x16 && !dc ? 15 : 16,
            .coded = dc || (lane < 16 && (c.pattern >> (b >> 2) & 1)),
            .nc_bits = kTokenBitsByNc,
            .tokens = kTokens0,
            .zeros = kZeros4x4};
}
// Chroma of 4:2:0 and 4:2:2: the AC blocks of both components, then their DC.
template <ChromaFormat F>
DEVICE CountedBlock counted_chroma(const WavefrontArguments &p, const WavefrontState<F> &s) {
    constexpr int kBlocks = chroma_blocks(F), kAc = 2 * kBlocks;
    const int lane = lane_id();
    const bool dc = lane == kAc || lane == kAc + 1;
    const BlockCode code = chroma_dc_code(kBlocks);
    return {.levels = s.chroma.levels + (dc           ? 8 * (lane - kAc)
                                         : lane < kAc ? 16 * (1 + lane)
                                                      : 0),
            .places = p.tables->scans + (dc ? kScanChromaDc : kScan4x4 + 1),
            .step = 1,
            .count = dc ? kBlocks : 15,
            .coded = dc ? s.chroma.coded > 0 : lane < kAc && s.chroma.coded > 1,
            .nc_bits = dc ? 0 : kTokenBitsByNc,
            .tokens = dc ? code.tokens : kTokens0,
            .zeros = dc ? code.zeros : kZeros4x4};
}

// With a whole warp. The sum is of all lanes.
DEVICE MostBits count_most(const CavlcTables &tables, const CountedBlock &block) {
    uint32_t nonzero = 0;
    bool too_large = false;
    CUDAENC_NO_UNROLL
    for (int k = 0; block.coded && k < block.count; k++) {
        const int32_t level = block(k);
        nonzero |= static_cast<uint32_t>(level != 0) << k;
        too_large |= static_cast<uint32_t>(level + kMaxLevelOfPrefix15) > 2 * kMaxLevelOfPrefix15;
    }
    BitCounter counter;
    if (block.coded) {
        code_block(tables, BlockCode{block.tokens, block.zeros, block.count}, nonzero, block, 0, counter);
        counter.bits += block.nc_bits;
    }
    warp_sync();
    return {warp_add(counter.bits), warp_any(too_large)};
}

// Counts the decided type's blocks with one warp, those of chroma with another one. With all threads.
template <ChromaFormat F>
DEVICE void count_decided(const WavefrontArguments &p, const Decision &decision, int warp, int luma_warp,
                          int chroma_warp, WavefrontState<F> &s) {
    if (warp == luma_warp) {
        MostBits sum{0, false};
        CUDAENC_NO_UNROLL
        for (int component = 0; component < luma_components(F); component++) {
            const MostBits own = count_most(p.tables->cavlc, counted_luma(p, s, decision, component));
            sum = {sum.bits + own.bits, sum.too_large || own.too_large};
        }
        if (lane_id() == 0) s.most_bits[0] = sum;
    }
    if constexpr (chroma_blocks(F) > 0)
        if (warp == chroma_warp) {
            const MostBits own = count_most(p.tables->cavlc, counted_chroma(p, s));
            if (lane_id() == 0) s.most_bits[1] = own;
        }
    block_sync();
}

}  // namespace cudaenc::h264
