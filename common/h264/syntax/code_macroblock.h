// SPDX-License-Identifier: LGPL-2.1-or-later
// macroblock_layer() (H.264, 7.3.5) of macroblocks in memory, on the host.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>

#include "macroblock_layer.h"
#include "nonzero.h"

namespace cudaenc::h264 {

namespace detail {

// [format][block]
inline constexpr auto kBlockNeighbours = [] {
    std::array<std::array<BlockNeighbours, blocks_per_macroblock(ChromaFormat::c444)>, 4> neighbours{};
    for (size_t f = 0; f < neighbours.size(); f++)
        for (int b = 0; b < blocks_per_macroblock(static_cast<ChromaFormat>(f)); b++)
            neighbours[f][static_cast<size_t>(b)] = neighbours_of(static_cast<ChromaFormat>(f), b);
    return neighbours;
}();

}  // namespace detail

// Of a macroblock that is skipped nothing is written; mb_skip_run is the caller's.
// totals: total_coeff, [macroblock * blocks_per_macroblock + block]: reads those of macroblocks before in the slice,
// writes its own. first: the first macroblock of the slice. align(): pcm_alignment_zero_bits.
template <class Bits, class Align>
void code_macroblock(const CodedFormat &f, const CodedPicture &picture, uint32_t address, uint32_t first,
                     uint8_t *totals, Bits &out, const Align &align) {
    const int blocks = blocks_per_macroblock(f.chroma);
    const uint32_t width = static_cast<uint32_t>(f.width), step = static_cast<uint32_t>(f.step());
    const Macroblock &m = picture.macroblocks[address];
    const size_t begin = size_t{address} * static_cast<size_t>(blocks);
    const int16_t *const levels = picture.levels + 16 * begin;
    uint8_t *const own = totals + begin;
    const auto flips_of = [&](int b) -> uint32_t {
        return picture.sign_flips ? picture.sign_flips[begin + static_cast<size_t>(b)] : 0;
    };
    if (m.type == MacroblockType::skip) {
        std::memset(own, 0, static_cast<size_t>(blocks));
        return;
    }
    put_field_decoding_flag(f, address, out);
    if (is_inter(m.type))
        code_inter_header(f, m, out);
    else
        code_macroblock_header(f, m, out, picture.predicted ? kFirstIntraTypeOfP : 0);
    if (m.type == MacroblockType::pcm) {
        align();
        for (int b = 0; b < pcm_blocks(f.chroma); b++) code_pcm_block(f, b, levels + 16 * b, flips_of(b), out);
        std::memset(own, 16, static_cast<size_t>(blocks));
        return;
    }
    std::memset(own, 0, static_cast<size_t>(blocks));
    if (m.type != MacroblockType::i16x16 && !m.coded_block_pattern) return;

    const uint8_t *left =
        address % width >= step && address >= first + step ? own - size_t{step} * static_cast<size_t>(blocks) : nullptr;
    const uint8_t *above = address >= first + width ? own - size_t{width} * static_cast<size_t>(blocks) : nullptr;
    const auto code = [&](int b, uint32_t nonzero, const ScannedLevels &scanned, const BlockCode &block_code,
                          uint32_t flips) {
        code_block(kCavlcTables, block_code, nonzero, scanned, flips, out);
        own[b] = static_cast<uint8_t>(count_ones(nonzero));
    };
    const auto nc_code = [&](int b, int coefficients) -> BlockCode {
        const BlockNeighbours &n = detail::kBlockNeighbours[static_cast<size_t>(f.chroma)][static_cast<size_t>(b)];
        const auto total = [&](bool outside, const uint8_t *there, int block) {
            return !outside ? own[block] : there ? there[block] : -1;
        };
        const int nc = predict_total(total(n.left_outside, left, n.left), total(n.above_outside, above, n.above));
        return {token_table(nc), kZeros4x4, coefficients};
    };
    const auto code_4x4 = [&](int b) {
        const int16_t *const at = levels + 16 * b;
        code(b, nonzero_4x4(at, f.field), scan_4x4(at, f.field), nc_code(b, 16), flips_of(b));
    };
    const auto code_ac = [&](int b) {
        const int16_t *const at = levels + 16 * b;
        code(b, nonzero_4x4(at, f.field) >> 1, scan_ac(at, f.field), nc_code(b, 15), flips_of(b));
    };
    const bool with_8x8 = has_8x8_transform(m);
    for (int base = 0; base < luma_components(f.chroma) * kLumaBlocks; base += kLumaBlocks) {
        if (m.type == MacroblockType::i16x16) code_4x4(base + kLumaDcBlock);
        for (int b = base; b < base + 16; b += 4) {
            if (!is_coded(m, f.chroma, b)) continue;
            const int16_t *const at = levels + 16 * b;
            const uint64_t nonzero = with_8x8 ? nonzero_8x8(at, f.field) : 0;
            for (int k = 0; k < 4; k++)
                if (m.type == MacroblockType::i16x16)
                    code_ac(b + k);
                else if (with_8x8)
                    code(b + k, nonzero >> 16 * k & 0xFFFF, scan_8x8(at, k, f.field), nc_code(b + k, 16),
                         flips_of(b + k));
                else
                    code_4x4(b + k);
        }
    }
    if (const int count = chroma_blocks(f.chroma); count && is_coded(m, f.chroma, kChromaDcBlock)) {
        for (int c = 0; c < 2; c++) {
            const ScannedLevels dc = scan_chroma_dc(levels + 16 * kChromaDcBlock + 8 * c, count);
            code(kChromaDcBlock, nonzero_of(dc, count), dc, chroma_dc_code(count), flips_of(kChromaDcBlock) >> 8 * c);
        }
        if (is_coded(m, f.chroma, kChromaAcBlock))
            for (int b = kChromaAcBlock; b < kChromaAcBlock + 2 * count; b++) code_ac(b);
    }
}

}  // namespace cudaenc::h264
