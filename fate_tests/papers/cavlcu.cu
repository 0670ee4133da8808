// SPDX-License-Identifier: LGPL-2.1-or-later
// CAVLCU as Fuentes-Alventosa et al. (2021) describe it: one kernel, a thread a luma block, a half-warp a macroblock.
// A thread loads its coefficients by vectors, puts them in zigzag order in registers, and codes into memory of its own.
// nC comes from neighbours: by shuffles within a macroblock, by shared memory within a region, and by words in memory
// that thread-blocks wait for (section 4.5). h264_cavlc_cuda waits for nobody: it counts neighbours itself.
//
// Two things differ. Thread-blocks take numbers as they begin, since CUDA promises no order. A word is read and then
// set to 0; the paper exchanges it, but each word has one reader.
#include "../../cuda_kernels/h264/block_words.cuh"
#include "../../cuda_kernels/look_back.cuh"
#include "cavlcu_params.h"

namespace cudaenc::h264 {

constexpr uint32_t kWritten = 32;  // the sixth bit, so that no word is 0
DEVICE uint64_t info_of(uint32_t total, uint32_t slice) { return uint64_t{slice} << 6 | kWritten | total; }

// Waits for a word, and leaves 0.
DEVICE uint32_t take_info(uint64_t *word) {
    uint64_t info;
    while (!(info = atomic_load(word))) back_off();
    atomic_store(word, 0);
    return static_cast<uint32_t>(info);
}
// total_coeff of a neighbour, or -1: another slice has it.
DEVICE int total_of(uint32_t info, uint32_t slice) { return info >> 6 == slice ? static_cast<int>(info & 31) : -1; }

// The coefficient at place k of the scan, from the registers of the vector load.
DEVICE int32_t coefficient_at(const BlockWords &block, int k) {
    const uint32_t place = static_cast<uint32_t>(0xFEB7ADC963258410u >> 4 * k) & 15;
    uint32_t word = block.words[0];
    CUDAENC_UNROLL
    for (uint32_t i = 1; i < 8; i++) word = place / 2 == i ? block.words[i] : word;
    return static_cast<int32_t>(word << (place & 1 ? 0 : 16)) >> 16;
}

KERNEL(kCavlcuThreads, papers_cavlcu, CavlcuParams)
{
    SHARED(uint32_t, right_in_region, kRegionMacroblocks * 4);
    const uint32_t region = take_ticket(p.tickets);
    const uint32_t t = static_cast<uint32_t>(thread_x()), x = t % 4, y = t / 4 % 4, z = t / 16;
    const uint32_t block = region * kCavlcuThreads + t, macroblock = block / 16;
    const bool present = macroblock < p.macroblocks;
    const BlockWords coefficients = present ? load_block(p.coefficients + 16 * uint64_t{block}) : BlockWords{};
    const uint32_t without_dc = present ? p.intra_16x16[macroblock] : 0, slice = present ? p.slices[macroblock] : 0;
    const uint32_t nonzero = nonzero_mask(zigzag(coefficients)) >> without_dc;
    const uint32_t own = static_cast<uint32_t>(info_of(static_cast<uint32_t>(popcount(nonzero)), slice));

    // What others need, before anything is waited for.
    const bool last_in_region = z == kRegionMacroblocks - 1 && macroblock + 1 < p.macroblocks;
    if (present && x == 3) {
        right_in_region[4 * z + y] = own;
        if (last_in_region) atomic_store(&p.right[4 * region + y], own);
    }
    if (present && y == 3 && macroblock + p.width < p.macroblocks) atomic_store(&p.below[4 * macroblock + x], own);
    block_sync();

    uint32_t left = warp_shuffle_up(own, 1), above = warp_shuffle_up(own, 4);
    bool has_left = true, has_above = true;
    if (present && x == 0) {
        has_left = macroblock % p.width != 0;
        if (z)
            left = right_in_region[4 * (z - 1) + y];
        else if (region)
            left = take_info(&p.right[4 * (region - 1) + y]);
    }
    if (present && y == 0) {
        has_above = macroblock >= p.width;
        if (has_above) above = take_info(&p.below[4 * (macroblock - p.width) + x]);
    }
    if (!present) return;
    const int nc = predict_total(has_left ? total_of(left, slice) : -1, has_above ? total_of(above, slice) : -1);

    WordWriter<CellWords<kCavlcuBlockWords - 1>> bits{{p.words + uint64_t{block} * kCavlcuBlockWords, 0}, 0, 0};
    const auto level = [&](int k) { return coefficient_at(coefficients, k + static_cast<int>(without_dc)); };
    code_block(*p.tables, {token_table(nc), kZeros4x4, without_dc ? 15 : 16}, nonzero, level, 0, bits);
    bits.words.put(bits.pending);
    p.lengths[block] = static_cast<uint16_t>(bits.bits);
}

}  // namespace cudaenc::h264
