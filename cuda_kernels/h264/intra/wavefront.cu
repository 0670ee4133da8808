// SPDX-License-Identifier: LGPL-2.1-or-later
// Intra coding (H.264, 8.3 and 8.5, inverted): samples to macroblocks and levels, with the decisions of effort 0. A
// thread-block owns a row of macroblocks and stays two behind the one above. A macroblock is coded as all types at
// once, a warp each, I_4x4 and I_8x8 where they are likely; then the cheapest one is kept. The last rows of its
// reconstruction go to the row below through memory, in words that tell whether they are there.
#include "../../look_back.cuh"
#include "blocks_4x4.cuh"
#include "blocks_8x8.cuh"
#include "chroma.cuh"
#include "count_bits.cuh"
#include "macroblock.cuh"
#include "macroblock_16x16.cuh"
#include "source.cuh"

namespace cudaenc::h264 {

// Who does what, by the parts that warps code.
template <bool AvcIntra>
struct Warps {
    int own;   // the part of the calling one
    int last;  // codes chroma, in place of luma or after it
    DEVICE_MEMBER static Warps here() {
        const int warp = warp_shuffle(warp_id(), 0);  // the same in all lanes
        if constexpr (AvcIntra) return {warp ? kPartChroma : kPart8x8, kPartChroma};
        return {warp, block_threads() / 32 - 1};
    }
    DEVICE_MEMBER static int first() { return AvcIntra ? kPart8x8 : kPart4x4; }
    DEVICE_MEMBER static int longest(const Place &place) {
        return AvcIntra || place.likely == kAlso8x8 ? kPart8x8 : place.likely == kAlso4x4 ? kPart4x4 : kPart16x16;
    }
    DEVICE_MEMBER static int chroma_levels() { return AvcIntra ? kPartChroma : kPart8x8; }
    // One that ends before the longest one loads what the next macroblock needs.
    DEVICE_MEMBER int source() const { return AvcIntra ? kPartChroma : last > kPart16x16 ? kPart16x16 : kPart8x8; }
    DEVICE_MEMBER int syntax() const { return AvcIntra ? kPartChroma : last > kPart16x16 ? kPart16x16 : kPart4x4; }
};

// What a macroblock's decision leaves, by all warps.
template <bool AvcIntra, ChromaFormat F, class Params>
DEVICE void leave_macroblock(const Params &p, const MacroblockRow &row, const Place &place, const Decision &decision,
                             const Warps<AvcIntra> &warp, WavefrontState<F> &s) {
    constexpr int kBlocks = blocks_per_macroblock(F), kComponents = luma_components(F);
    int16_t *levels = s.picture.levels + uint64_t{place.address} * (16 * kBlocks);
    if (decision.pcm) {
        write_pcm(p, place, s, decision, levels);
        block_sync();
    } else {
        const bool dc = decision.type == static_cast<int>(MacroblockType::i16x16);
        if (warp.own >= warp.first() && warp.own < warp.first() + kComponents) {
            const int component = kComponents > 1 ? warp.own : 0;
            store_luma_levels(s.candidates[decision.type].components[component].levels, dc,
                              levels + 16 * kLumaBlocks * component);
        }
        if constexpr (chroma_blocks(F) > 0)
            if (warp.own == warp.chroma_levels()) copy_levels(s.chroma.levels, levels + 272, 16 * (kBlocks - 17));
    }
    if (warp.own == warp.syntax() && lane_id() == 0) {
        if constexpr (Params::kReconstructs) {
            const MacroblockSlice slice = p.slices[place.address];
            write_macroblock(place, s, decision, slice.number, slice.first == place.address);
        } else {
            const bool next = AvcIntra && place.x >= row.next;
            const bool first = next ? place.x == row.next : row.first_in_slice && place.x == 0;
            write_macroblock(place, s, decision, row.slice + next, first && !(AvcIntra && s.picture.field));
        }
    }
    if (warp.own == warp.last) leave_record(place, s, decision);
    if (warp.own == kPart8x8) leave_column(s, decision);
    if constexpr (Params::kReconstructs)
        if (warp.own == warp.syntax())
            store_reconstruction<F, Params::kBytes>(p.reconstruction, static_cast<int>(place.x),
                                                    static_cast<int>(row.y), decision, s);
}

template <bool AvcIntra, ChromaFormat F, class Params>
DEVICE void code_row(const Params &p, const MacroblockRow &row, const Warps<AvcIntra> &warp, WavefrontState<F> &s) {
    const int thread = thread_x();
    const uint32_t columns = static_cast<uint32_t>(p.format.width);
    if (warp.own == warp.source()) load_source(p, s.picture, row.y, 0, s.sources[0]);
    const bool above = row.first_in_slice == 0;
    const auto never = [] { return false; };
    const uint64_t row_above = above ? uint64_t{row.y - 1} * columns : 0;
    Receiver<F> receiver{s.picture.records + row_above * record_words(F), s.picture.serial, above ? columns : 0, 0};
    if (warp.own == warp.last) receiver.receive(0, s, never);
    Place place{};
    place.bit_depth = p.format.luma_depth;
    place.most = (1 << place.bit_depth) - 1;
    CUDAENC_NO_UNROLL
    for (uint32_t x = 0; x < columns; x++) {
        place.x = x;
        place.index = row.y * columns + x;
        place.address = AvcIntra ? place.index * s.picture.step + s.picture.field : place.index;
        if constexpr (Params::kReconstructs)
            place.available = available_in(p.slices[place.address], place.address, x, columns);
        else if constexpr (AvcIntra)
            place.available = available_in(row, x, columns);
        else
            place.available = {x > 0, above, above && x + 1 < columns};
        place.qp = p.qp_choices + (s.picture.qps ? s.picture.qps[place.address] : s.picture.qp) +
                   qp_bd_offset(place.bit_depth);
        if (warp.own == warp.last) receiver.receive(x + 1, s, never);
        if (thread == 0) s.longest_ends = 0;
        block_sync();
        if constexpr (!AvcIntra)
            place.likely = s.sources[x & 1].ranked.likely_types(place.qp->satd_lambda, p.format.transform_8x8_mode);
        if (!AvcIntra && warp.own == kPart4x4) {
            if (place.likely >= kAlso4x4) code_4x4(place, s);
        } else if (warp.own == kPart8x8) {
            if (AvcIntra || (p.format.transform_8x8_mode && place.likely >= kAlso8x8)) code_8x8(place, s);
        } else {
            if (!AvcIntra && warp.own == kPart16x16) code_16x16(place, s);
            if constexpr (chroma_blocks(F) > 0)
                if (warp.own == warp.last) code_chroma<AvcIntra>(place, s);
        }
        warp_sync();
        if (warp.own == warp.source() && x + 1 < columns)
            load_source(p, s.picture, row.y, x + 1, s.sources[(x + 1) & 1]);
        // Polls while others code: one takes as long as a tenth of a macroblock.
        if (warp.own == warp.longest(place) && lane_id() == 0) atomic_or(&s.longest_ends, 1u);
        if (warp.own == warp.last)
            receiver.receive(x + 2, s, [&] { return warp_any(lane_id() == 0 && atomic_or(&s.longest_ends, 0u) != 0); });
        block_sync();
        Decision decision = decide<AvcIntra>(p, place, s);
        if (decision.counts) {
            count_decided(p, decision, warp.own, warp.first(), warp.last, s);
            decision.pcm = must_be_pcm<AvcIntra>(p, place, s, decision);
        }
        leave_macroblock(p, row, place, decision, warp, s);
    }
}

template <ChromaFormat F, bool AvcIntra, class Params>
DEVICE void code_rows(const Params &p) {
    SHARED(WavefrontState<F>, state, 1);
    copy_tables(p, state[0]);
    const Warps<AvcIntra> warp = Warps<AvcIntra>::here();
    const uint32_t rows = p.row_count * p.picture_count;
    uint32_t ticket;
    CUDAENC_NO_UNROLL
    while ((ticket = take_ticket(p.tickets, rows + static_cast<uint32_t>(grid_x()))) < rows) {
        copy_picture(p.pictures[ticket % p.picture_count], state[0].picture);
        block_sync();
        code_row(p, p.rows[ticket / p.picture_count], warp, state[0]);
    }
}

#define WAVEFRONT_KERNEL(format, name)                                                              \
    KERNEL_BLOCKS(kWavefrontThreads, wavefront_blocks(ChromaFormat::format, kWavefrontParts), name, \
                  WavefrontParams<ChromaFormat::format>) {                                          \
        code_rows<ChromaFormat::format, false>(p);                                                  \
    }
WAVEFRONT_KERNEL(c400, h264_wavefront_400)
WAVEFRONT_KERNEL(c420, h264_wavefront_420)
WAVEFRONT_KERNEL(c422, h264_wavefront_422)
WAVEFRONT_KERNEL(c444, h264_wavefront_444)
#undef WAVEFRONT_KERNEL
using AvcIntraParams = WavefrontParams<ChromaFormat::c422, true>;
KERNEL_BLOCKS(32 * kAvcIntraWarps, wavefront_blocks(ChromaFormat::c422, kAvcIntraWarps), h264_wavefront_avc_intra,
              AvcIntraParams) {
    code_rows<ChromaFormat::c422, true>(p);
}
#define RECONSTRUCTING_KERNEL(format, bytes, name)                                                                   \
    using name##_params = ReconstructingWavefrontParams<ChromaFormat::format, bytes>;                                \
    KERNEL_BLOCKS(kWavefrontThreads, wavefront_blocks(ChromaFormat::format, kWavefrontParts), name, name##_params) { \
        code_rows<ChromaFormat::format, false>(p);                                                                   \
    }
RECONSTRUCTING_KERNEL(c420, 1, h264_wavefront_420_reconstructing)
RECONSTRUCTING_KERNEL(c400, 2, h264_wavefront_400_reconstructing_wide)
RECONSTRUCTING_KERNEL(c420, 2, h264_wavefront_420_reconstructing_wide)
RECONSTRUCTING_KERNEL(c422, 2, h264_wavefront_422_reconstructing_wide)
RECONSTRUCTING_KERNEL(c444, 2, h264_wavefront_444_reconstructing_wide)
#undef RECONSTRUCTING_KERNEL

}  // namespace cudaenc::h264
