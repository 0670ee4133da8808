// SPDX-License-Identifier: LGPL-2.1-or-later
// Intra macroblocks of P pictures, with the decisions of effort 0. Source samples say which macroblocks are candidates.
// All others are final before. A thread-block owns candidates that follow each other in a row and codes them from left
// to right, from reconstructed samples, as all types at once, a warp each. One waits for those of its neighbours above
// that are candidates as well.
#include "../../look_back.cuh"
#include "../intra/blocks_4x4.cuh"
#include "../intra/blocks_8x8.cuh"
#include "../intra/chroma.cuh"
#include "../intra/count_bits.cuh"
#include "../intra/macroblock.cuh"
#include "../intra/macroblock_16x16.cuh"
#include "../intra/source.cuh"
#include "intra_params.h"

namespace cudaenc::h264 {

constexpr uint32_t kDcModes = kDc * 0x01010101u;

DEVICE Available available_at(const MacroblockSlice &slice, int m, int x, int columns) {
    return available_in(slice, static_cast<uint32_t>(m), static_cast<uint32_t>(x), static_cast<uint32_t>(columns));
}

// ---- Candidates

struct CandidateState {
    alignas(16) uint16_t source[256];
    uint16_t plane[256], samples[17 * kLumaPitch], mean;
};
// Half the SATD of I_16x16, predicted from source samples.
template <int BitDepth>
DEVICE uint32_t satd_16x16(const IntraCandidatesParams<BitDepth> &p, const Available &available, int x, int y,
                           CandidateState &s) {
    const int lane = lane_id();
    const uint8_t *const own = p.source.at(16 * x, 16 * y);
    for (int i = lane; i < 256; i += 32) s.source[i] = load_readonly(own + (i >> 4) * p.source.stride + (i & 15));
    if (lane < 17) s.samples[lane] = load_readonly(own - p.source.stride - 1 + lane);
    if (lane < 16) s.samples[(1 + lane) * kLumaPitch] = load_readonly(own + lane * p.source.stride - 1);
    warp_sync();
    const Place place{.x = static_cast<uint32_t>(x),
                      .index = 0,
                      .address = 0,
                      .available = available,
                      .qp = nullptr,
                      .bit_depth = 8,
                      .most = 255,
                      .likely = kOnly16x16};
    predict_16x16(place, s.samples, s.plane, &s.mean);
    warp_sync();
    return cheapest_16x16(available, 0,
                          [&](int mode, int b) {
                              uint32_t pairs[4][2];
                              get_pairs(make_prediction(mode, s.samples, kLumaPitch, &s.mean, s.plane, 16), s.source,
                                        16, 4 * (b & 3), 4 * (b >> 2), pairs);
                              return half_satd(pairs);
                          }) >>
           4;
}

template <int BitDepth>
DEVICE void find_candidates(const IntraCandidatesParams<BitDepth> &p) {
    SHARED(CandidateState, states, kIntraCandidateThreads / 32);
    const int x = block_x() * (kIntraCandidateThreads / 32) + warp_id(), y = block_y();
    if (x >= p.columns) return;
    const int m = y * p.columns + x;
    uint8_t candidate = kOnlyInter;
    if (p.outcomes[m].cost == kNotAllowed || p.refresh.must_be_intra(x)) {
        candidate = kMustBeIntra;
    } else {
        const uint32_t lambda = motion_lambda_of(p.qp_choices[p.qps[m]].satd_lambda, BitDepth),
                       inter = p.estimates[m].cost;
        if (inter >= worth(lambda, kBits16x16)) {  // no block is predicted better than that
            const RankedModes &ranked = p.ranked[m];
            const bool smaller = ranked.satd_4x4 + worth(lambda, kBits4x4) < inter ||
                                 (p.transform_8x8 && ranked.satd_8x8 + worth(lambda, kBits8x8) < inter);
            if (smaller || satd_16x16(p, available_at(p.slices[m], m, x, p.columns), x, y, states[warp_id()]) +
                                   worth(lambda, kBits16x16) <
                               inter)
                candidate = kMayBeIntra;
        }
    }
    if (lane_id() == 0) p.candidates[m] = candidate;
}
KERNEL(kIntraCandidateThreads, h264_intra_candidates, IntraCandidatesParams<8>)
{
    find_candidates(p);
}
KERNEL(kIntraCandidateThreads, h264_intra_candidates_10, IntraCandidatesParams<10>)
{
    find_candidates(p);
}

// ---- Neighbours, from the decoded picture

template <int Bytes>
DEVICE uint16_t decoded_at(const IntraMacroblocksArguments &p, int component, int x, int y) {
    return *p.decoded[component].samples<const DecodedSample<Bytes>>(x, y);
}

// The column to the left. With a whole warp.
template <ChromaFormat F, int Bytes>
DEVICE void load_left(const IntraMacroblocksArguments &p, int x, int y, WavefrontState<F> &s) {
    constexpr int kHeight = 2 * chroma_blocks(F);
    const int lane = lane_id();
    if constexpr (F == ChromaFormat::c420) {
        const int component = lane >> 3 & 1, row = lane & 7;
        if (lane < 16)
            s.left[0][lane] = decoded_at<Bytes>(p, 0, 16 * x - 1, 16 * y + lane);
        else
            s.left_chroma[component][row] = decoded_at<Bytes>(p, 1 + component, 8 * x - 1, 8 * y + row);
        return;
    }
    if (lane >= 16) return;
    CUDAENC_UNROLL
    for (int k = 0; k < luma_components(F); k++) s.left[k][lane] = decoded_at<Bytes>(p, k, 16 * x - 1, 16 * y + lane);
    CUDAENC_UNROLL
    for (int k = 0; k < 2 && kHeight > 0; k++)
        s.left_chroma[k][lane] = decoded_at<Bytes>(p, 1 + k, 8 * x - 1, kHeight * y + lane);
}

// Waits until those of the macroblocks above that are candidates are coded. Returns whether the one in the same column
// is. With a whole warp.
template <ChromaFormat F>
DEVICE bool wait_for_above(const IntraMacroblocksArguments &p, const WavefrontState<F> &s, int x, int y) {
    const int columns = p.format.width, lane = lane_id(), of_lane = x - 1 + lane;
    const bool present = lane < 3 && of_lane >= 0 && of_lane < columns;
    const uint32_t candidates =
        warp_ballot(present && p.candidates[(y - 1) * columns + (present ? of_lane : 0)] != kOnlyInter);
    if (candidates) {
        const bool waits = candidates >> lane & 1;
        const uint64_t *const of_above = p.coded + (y - 1) * columns + (waits ? of_lane : x);
        while (!warp_all(!waits || atomic_load(of_above) == s.picture.serial)) back_off();
        thread_fence();  // before samples and modes are loaded
    }
    return candidates >> 1 & 1;
}

// The rows above, as a row of the wavefront receives them. With a whole warp.
template <ChromaFormat F, int Bytes>
DEVICE void load_above(const IntraMacroblocksArguments &p, int x, int y, bool has_modes, WavefrontState<F> &s) {
    constexpr int kHeight = 2 * chroma_blocks(F);
    const int lane = lane_id(), columns = p.format.width;
    uint16_t *const above = s.records[x & 3], *const before = s.records[(x + 3) & 3],
                    *const after = s.records[(x + 1) & 3];
    const int component = lane >> 3 & 1, of_chroma = 8 * x + (lane & 7);
    if (kHeight > 0 || lane < 16)
        above[lane] = lane < 16 ? decoded_at<Bytes>(p, 0, 16 * x + lane, 16 * y - 1)
                                : decoded_at<Bytes>(p, 1 + component, of_chroma, kHeight * y - 1);
    if (x > 0 && lane < (kHeight > 0 ? 3 : 1))
        before[8 * lane + 15] = lane ? decoded_at<Bytes>(p, lane, 8 * x - 1, kHeight * y - 1)
                                     : decoded_at<Bytes>(p, 0, 16 * x - 1, 16 * y - 1);
    if (x + 1 < columns && lane < 8) after[lane] = decoded_at<Bytes>(p, 0, 16 * x + 16 + lane, 16 * y - 1);
    CUDAENC_UNROLL
    for (int k = 1; k < luma_components(F); k++) {
        if (lane < 16) above[16 * k + lane] = decoded_at<Bytes>(p, k, 16 * x + lane, 16 * y - 1);
        if (x > 0 && lane == 0) before[16 * k + 15] = decoded_at<Bytes>(p, k, 16 * x - 1, 16 * y - 1);
        if (x + 1 < columns && lane < 8) after[16 * k + lane] = decoded_at<Bytes>(p, k, 16 * x + 16 + lane, 16 * y - 1);
    }
    if (lane < 2) {
        const uint32_t modes = has_modes ? p.modes_below[(y - 1) * columns + x] : kDcModes;
        above[record_modes(F) + lane] = static_cast<uint16_t>(modes >> 16 * lane);
    }
}

// ---- Coding

// What the macroblock costs as intra, comparable with InterOutcome::cost. With a whole warp; all have the same.
template <ChromaFormat F>
DEVICE uint64_t intra_cost(const IntraMacroblocksArguments &p, const Place &place, const Decision &decision,
                           const WavefrontState<F> &s) {
    constexpr int kChroma = 16 * chroma_blocks(F);
    if (decision.pcm) {
        const MacroblockSource<F> &source = s.sources[place.x & 1];
        uint32_t zeros = 0;  // samples that I_PCM changes by one
        for (int i = lane_id(); i < 256 && p.pcm_without_zeros; i += 32) {
            CUDAENC_UNROLL
            for (int k = 0; k < luma_components(F); k++) zeros += source.luma[k][i] == 0;
            if constexpr (kChroma > 0)
                zeros += i < 2 * kChroma && source.chroma[i / kChroma & 1][i & (kChroma - 1)] == 0;
        }
        return cost_of(place.qp->lambda, warp_add(zeros), pcm_bits(p.format));
    }
    const Candidate<F> &c = s.candidates[decision.type];
    const auto residual = [](const LevelSums &sums) { return sums.bits + sums.nonzero; };  // as inter_level_bits()
    uint32_t bits = decision.header + residual(c.sums), coded_chroma = 0;
    uint64_t distortion = c.distortion;
    if constexpr (kChroma > 0) {
        coded_chroma = s.chroma.coded;
        bits += residual(s.chroma.sums);
        distortion += s.chroma.distortion;
    }
    bits += kBlockBits * (static_cast<uint32_t>(popcount(c.pattern)) + (coded_chroma != 0));
    // mb_type is larger in P slices.
    const uint32_t type = decision.type == static_cast<int>(MacroblockType::i16x16)
                              ? 1 + c.mode + 4 * coded_chroma + (c.pattern ? 12 : 0)
                              : 0;
    bits += mode_bits(type + kFirstIntraTypeOfP) - mode_bits(type);
    return cost_of(place.qp->lambda, distortion, bits);
}

// The macroblock becomes intra. With all threads.
template <ChromaFormat F, int Bytes>
DEVICE void keep_intra(const IntraMacroblocksArguments &p, const MacroblockRow &row, const MacroblockSlice &slice,
                       const Place &place, const Decision &decision, WavefrontState<F> &s) {
    constexpr int kLevels = 16 * blocks_per_macroblock(F);
    int16_t *const levels = s.picture.levels + uint64_t{place.address} * kLevels;
    const int warp = warp_id(), lane = lane_id();
    const Candidate<F> &c = s.candidates[decision.type];
    if (decision.pcm) {
        write_pcm(p, place, s, decision, levels);
        block_sync();
    } else if (warp == kPart4x4) {
        CUDAENC_UNROLL
        for (int k = 0; k < luma_components(F); k++)
            store_luma_levels(c.components[k].levels, decision.type == static_cast<int>(MacroblockType::i16x16),
                              levels + 16 * kLumaBlocks * k);
    } else if (warp == kPart8x8) {
        if constexpr (chroma_blocks(F) > 0) copy_levels(s.chroma.levels, levels + 272, kLevels - 272);
    }
    const auto mode_of = [&](int i) { return decision.pcm ? int8_t{kDc} : c.modes[i]; };
    if (warp == kPart8x8) {
        if (lane < 4) s.left_modes[lane] = mode_of(kGrid * (1 + lane) + 4);
        if (lane == 4) {
            uint32_t modes = 0;
            CUDAENC_UNROLL
            for (int i = 0; i < 4; i++) modes |= static_cast<uint32_t>(mode_of(4 * kGrid + 1 + i)) << 8 * i;
            p.modes_below[place.address] = modes;
        }
    }
    if (warp == kPart16x16 && lane == 0) {
        write_macroblock(place, s, decision, slice.number, slice.first == place.address);
        p.motion[place.address] = {};
    }
    if (warp == kPartChroma)
        store_reconstruction<F, Bytes>(p.decoded, static_cast<int>(place.x), static_cast<int>(row.y), decision, s);
}
// The macroblock stays as it is. With a whole warp.
template <ChromaFormat F>
DEVICE void keep_inter(const IntraMacroblocksArguments &p, const Place &place, WavefrontState<F> &s) {
    if (lane_id() < 4) s.left_modes[lane_id()] = kDc;
    if (lane_id() == 0) p.modes_below[place.address] = kDcModes;
}

// after_candidate: the macroblock to the left is one.
template <ChromaFormat F, int Bytes>
DEVICE void code_candidate(const IntraMacroblocksArguments &p, const MacroblockRow &row, int x, bool after_candidate,
                           WavefrontState<F> &s) {
    const int warp = warp_shuffle(warp_id(), 0), columns = p.format.width, y = static_cast<int>(row.y);
    Place place{};
    place.bit_depth = Bytes == 1 ? 8 : p.format.luma_depth;
    place.most = (1 << place.bit_depth) - 1;
    place.x = static_cast<uint32_t>(x);
    place.address = static_cast<uint32_t>(y * columns + x);
    const MacroblockSlice slice = p.slices[place.address];
    place.available = available_at(slice, static_cast<int>(place.address), x, columns);
    place.qp = p.qp_choices + s.picture.qps[place.address];
    if (warp == kPart16x16) load_source(p, s.picture, row.y, place.x, s.sources[x & 1]);
    if (warp == kPart8x8) {
        if (place.available.left) load_left<F, Bytes>(p, x, y, s);
        if (!after_candidate && lane_id() < 4) s.left_modes[lane_id()] = kDc;
    }
    if (warp == kPartChroma && place.available.above) {
        const bool has_modes = wait_for_above(p, s, x, y);
        load_above<F, Bytes>(p, x, y, has_modes, s);
    }
    block_sync();
    place.likely = p.refresh.only_16x16(x, columns)
                       ? kOnly16x16
                       : s.sources[x & 1].ranked.likely_types(motion_lambda_of(place.qp->satd_lambda, place.bit_depth),
                                                              p.format.transform_8x8_mode);
    if (warp == kPart4x4) {
        if (place.likely >= kAlso4x4) code_4x4(place, s);
    } else if (warp == kPart8x8) {
        if (p.format.transform_8x8_mode && place.likely >= kAlso8x8) code_8x8(place, s);
    } else if (warp == kPart16x16) {
        code_16x16(place, s);
    } else if constexpr (chroma_blocks(F) > 0) {
        code_chroma<false>(place, s);
    }
    block_sync();
    Decision decision = decide<false>(p, place, s);
    if (decision.counts) {
        count_decided(p, decision, warp, kPart4x4, kPartChroma, s);
        decision.pcm = must_be_pcm<false>(p, place, s, decision);
    }
    const uint64_t cost = intra_cost(p, place, decision, s);
    if (p.candidates[place.address] == kMustBeIntra || cost < p.outcomes[place.address].cost)
        keep_intra<F, Bytes>(p, row, slice, place, decision, s);
    else if (warp == kPart8x8)
        keep_inter(p, place, s);
    block_sync();
    if (thread_x() == 0) {
        thread_fence();  // behind what all threads stored
        atomic_store(p.coded + place.address, uint64_t{s.picture.serial});
    }
}

template <ChromaFormat F, int Bytes>
DEVICE void code_candidates(const IntraMacroblocksArguments &p) {
    SHARED(WavefrontState<F>, state, 1);
    copy_tables(p, state[0]);
    copy_picture(p.pictures[0], state[0].picture);
    const int columns = p.format.width;
    const uint32_t parts = static_cast<uint32_t>(ceil_div(columns, kCandidateColumns)), count = parts * p.row_count;
    uint32_t ticket;
    CUDAENC_NO_UNROLL
    while ((ticket = take_ticket(p.tickets, count + static_cast<uint32_t>(grid_x()))) < count) {
        const MacroblockRow row = p.rows[ticket / parts];
        const uint8_t *const candidates = p.candidates + int64_t{row.y} * columns;
        // Those that begin here: lane l looks at column first - 1 + l.
        const int first = static_cast<int>(ticket % parts) * kCandidateColumns, of_lane = first - 1 + lane_id();
        const bool present = of_lane >= 0 && of_lane < columns;
        const uint32_t all = warp_ballot(present && candidates[present ? of_lane : 0] != kOnlyInter);
        uint32_t begins = (all & ~(all << 1)) >> 1 & ((1u << kCandidateColumns) - 1);  // the same in all warps
        CUDAENC_NO_UNROLL
        for (; begins; begins &= begins - 1) {
            const int begin = first + find_first_set(begins);
            int x = begin;
            CUDAENC_NO_UNROLL
            do code_candidate<F, Bytes>(p, row, x, x > begin, state[0]);
            while (++x < columns && candidates[x] != kOnlyInter);
        }
        block_sync();  // before the next ticket
    }
}

// Registers count for more than thread-blocks, which mostly wait.
#define INTRA_KERNEL(format, bytes, name)                                      \
    using name##_params = IntraMacroblocksParams<ChromaFormat::format, bytes>; \
    KERNEL_BLOCKS(kWavefrontThreads, kIntraBlocks, name, name##_params) {      \
        code_candidates<ChromaFormat::format, bytes>(p);                       \
    }
INTRA_KERNEL(c420, 1, h264_intra_macroblocks)
INTRA_KERNEL(c400, 2, h264_intra_macroblocks_400_wide)
INTRA_KERNEL(c420, 2, h264_intra_macroblocks_420_wide)
INTRA_KERNEL(c422, 2, h264_intra_macroblocks_422_wide)
INTRA_KERNEL(c444, 2, h264_intra_macroblocks_444_wide)
#undef INTRA_KERNEL

}  // namespace cudaenc::h264
