// SPDX-License-Identifier: LGPL-2.1-or-later
// Context modelling by Matela et al. (2010), section 4: a thread a sample, which finds its pass from rho (significant
// before the bit-plane) and tau (becoming significant in significance propagation), then its contexts, by four steps
// that all threads take: MRC, RLC, ZC, SC. Tables 1's conditions stand at each.
//
// The paper's preceding neighbours are those of one column-wise scan; those of stripes are in is_before(). Symbols stay
// where their samples are: the paper does not tell how they come into the order of the MQ coder.
#include "../../cuda_kernels/device.cuh"
#include "../check/t1_sequential.h"
#include "sample_contexts_params.h"

namespace cudaenc::j2k {

enum SampleState : uint32_t { kRho = 1, kTau = 2, kOne = 4, kNegative = 8, kPropagated = 16 };

constexpr int kStateRow = kSampleBlock + 2;  // with a border

// Whether the scan by stripes visits that neighbour earlier.
DEVICE constexpr bool is_before(int neighbour, int y) {
    return neighbour == 0 || neighbour == 2 || neighbour == 4 || (neighbour == 5 && y % 4 == 0) ||
           (neighbour == 6 && y % 4 != 3);
}

struct Neighbourhood {
    uint32_t significant = 0;  // bit i: neighbour i
    uint32_t negative = 0;
    DEVICE_MEMBER int count(uint32_t mask) const { return popcount(significant & mask); }
    // -1, 0 or 1 from two neighbours (T.800 D.3.2).
    DEVICE_MEMBER int contribution(uint32_t mask) const {
        const int positive = popcount(significant & ~negative & mask), minus = popcount(significant & negative & mask);
        return (positive > 0) - (minus > 0);
    }
};

KERNEL(kSampleBlock *kSampleBlock, papers_sample_contexts, SampleContextsParams)
{
    SHARED(uint8_t, state, kStateRow *kStateRow);
    SHARED(uint8_t, runs, kSampleBlock *kSampleBlock / 4);  // of a stripe's column: 0, or 8 | ends << 2 | position
    SHARED(uint32_t, all, 1);
    const uint32_t block = static_cast<uint32_t>(block_x());
    const CodeBlock &b = p.blocks[block];
    const int x = thread_x() % kSampleBlock, y = thread_x() / kSampleBlock;
    const bool inside = x < b.width && y < b.height;
    const uint32_t coefficient =
        inside ? p.coefficients[b.coefficients + static_cast<uint64_t>(y) * b.stride + static_cast<uint32_t>(x)] : 0;
    const uint32_t magnitude = coefficient & ~kSignBit;
    for (int i = thread_x(); i < kStateRow * kStateRow; i += kSampleBlock * kSampleBlock) state[i] = 0;
    if (thread_x() == 0) all[0] = 0;
    block_sync();
    if (const uint32_t warp_all = warp_or(magnitude); lane_id() == 0) atomic_or(&all[0], warp_all);
    block_sync();
    const int planes = all[0] ? floor_log2(all[0]) + 1 : 0, own = (y + 1) * kStateRow + x + 1;
    if (thread_x() == 0) p.planes[block] = static_cast<uint8_t>(planes);

    const auto at = [&](int neighbour) {  // W E N S NW NE SW SE
        constexpr int across[8] = {-1, 1, 0, 0, -1, 1, -1, 1}, down[8] = {0, 0, -1, 1, -1, -1, 1, 1};
        return static_cast<uint32_t>(state[own + down[neighbour] * kStateRow + across[neighbour]]);
    };
    // Neighbours with one of `bits`, and earlier ones with one of `bits_before`.
    const auto around = [&](uint32_t bits, uint32_t bits_before) {
        Neighbourhood n;
        CUDAENC_UNROLL
        for (int i = 0; i < 8; i++) {
            const uint32_t s = at(i);
            const bool is = (s & bits) || (is_before(i, y) && (s & bits_before));
            n.significant |= static_cast<uint32_t>(is) << i;
            n.negative |= static_cast<uint32_t>((s & kNegative) != 0) << i;
        }
        return n;
    };

    for (int plane = planes - 1; plane >= 0; plane--) {
        // rho of the planes above, and the bit.
        uint32_t s = (magnitude >> plane >> 1 ? kRho : 0u) | (magnitude >> plane & 1 ? kOne : 0u) |
                     (coefficient & kSignBit ? kNegative : 0u);
        block_sync();
        state[own] = static_cast<uint8_t>(s);
        block_sync();
        // tau, by induction.
        const bool candidate = inside && !(s & kRho);
        for (;;) {
            const bool near = candidate && around(kRho, kTau).significant;
            const uint32_t next = s | (near ? static_cast<uint32_t>(kPropagated) : 0u) |
                                  (near && (s & kOne) ? static_cast<uint32_t>(kTau) : 0u);
            const bool changed = next != s;
            block_sync();
            s = next;
            state[own] = static_cast<uint8_t>(s);
            if (!block_any(changed)) break;
        }

        SampleSymbols symbols{};
        const bool propagated = s & kPropagated, cleaned_up = candidate && !propagated;
        symbols.pass = !inside ? 3u : s & kRho ? 1u : propagated ? 0u : 2u;
        // MRC
        const Neighbourhood now = around(kRho | kTau, 0);
        if (inside && (s & kRho)) {
            symbols.magnitude = 1;
            symbols.magnitude_decision = magnitude >> plane & 1;
            symbols.magnitude_context = static_cast<uint32_t>(kRefinement) + (magnitude >> plane >> 2 ? 2u
                                                                              : now.significant       ? 1u
                                                                                                      : 0u);
        }
        // RLC, by the first sample of a stripe's column; what the samples of the column have seen goes along.
        const Neighbourhood coded = cleaned_up ? around(kRho | kTau, kOne) : Neighbourhood{};
        if (y % 4 == 0) {
            bool quiet = cleaned_up && y + 4 <= b.height && !coded.significant;
            uint32_t ones = 0;
            for (int row = 0; row < 4; row++) {
                const int sample = own + row * kStateRow;
                const uint32_t column = state[sample], left = state[sample - 1], right = state[sample + 1];
                ones |= (column & kOne ? 1u : 0u) << row;
                quiet =
                    quiet && !((left | right) & (kRho | kTau)) && !(left & kOne) && !(column & (kRho | kPropagated));
            }
            if (quiet) {
                const int below = own + 4 * kStateRow;
                quiet = !((state[below - 1] | state[below] | state[below + 1]) & (kRho | kTau));
            }
            const uint32_t position = ones ? static_cast<uint32_t>(find_first_set(ones)) : 0;
            runs[y / 4 * kSampleBlock + x] = static_cast<uint8_t>(quiet ? 8u | (ones ? 4u : 0u) | position : 0u);
            symbols.run = quiet;
            symbols.run_ends = quiet && ones;
            symbols.run_at = quiet ? position : 0u;
        }
        block_sync();
        // ZC: not where the run-length mode tells the bit.
        const uint32_t run = runs[y / 4 * kSampleBlock + x], row = static_cast<uint32_t>(y) % 4;
        const bool told = cleaned_up && (run & 8) && (!(run & 4) || row <= (run & 3));
        const Neighbourhood seen = propagated ? around(kRho, kTau) : coded;
        if (candidate && !told) {
            symbols.magnitude = 1;
            symbols.magnitude_decision = (s & kOne) != 0;
            symbols.magnitude_context = static_cast<uint32_t>(
                zero_coding_context(b.orientation, seen.count(3), seen.count(12), seen.count(0xF0)));
        }
        // SC
        if (candidate && (s & kOne)) {
            const int context = sign_coding_context(seen.contribution(3), seen.contribution(12));
            symbols.sign = 1;
            symbols.sign_context = static_cast<uint32_t>(context & 127);
            symbols.sign_decision = ((s & kNegative) != 0) ^ (context >> 7 & 1);
        }
        if (inside)
            p.symbols[(static_cast<uint64_t>(block) * static_cast<uint32_t>(p.most_planes) +
                       static_cast<uint32_t>(plane)) *
                          (kSampleBlock * kSampleBlock) +
                      static_cast<uint32_t>(thread_x())] = symbols;
    }
}

}  // namespace cudaenc::j2k
