// SPDX-License-Identifier: LGPL-2.1-or-later
// Tier-1's contexts, bit-sliced: after Matela et al. (2010), passes and contexts of all samples at once, by logic on
// words. A word's nibbles are columns of stripes: on the GPU 32 rows of one column, on the CPU 16 columns of one
// stripe.
#pragma once
#include <cstdint>

#include "../codestream/tables.h"

namespace cudaenc::j2k {

// Contexts, T.800 Table D.1 to D.4.
constexpr int kZeroCoding = 0;   // 0 to 8
constexpr int kSignCoding = 9;   // 9 to 13
constexpr int kRefinement = 14;  // 14 to 16
constexpr int kRunLength = 17;
constexpr int kUniform = 18;
constexpr int kContexts = 19;

template <class Word>
constexpr Word kFirstRows = static_cast<Word>(-1) / 15;  // of the stripes
template <class Word>
constexpr Word kLastRows = kFirstRows<Word> << 3;

// A bit-plane of samples as seen from each: the neighbour in that direction, 0 outside the block.
template <class Word>
struct Around {
    Word w, e, n, s, nw, ne, sw, se;
    CUDAENC_HD Word any() const { return w | e | n | s | nw | ne | sw | se; }
    // At least one, and two, of the horizontal and vertical ones.
    CUDAENC_HD Word nearest() const { return w | e | n | s; }
    CUDAENC_HD Word two_nearest() const { return (w & e) | (n & s) | ((w | e) & (n | s)); }
};

// The same without the next stripe, of which vertically causal contexts know nothing (T.800 D.7).
template <class Word>
CUDAENC_HD Around<Word> causal(const Around<Word> &a) {
    constexpr Word kInside = ~kLastRows<Word>;
    return {a.w, a.e, a.n, a.s & kInside, a.nw, a.ne, a.sw & kInside, a.se & kInside};
}

// What each sample's neighbours are when the scan (T.800 Figure D.1) reaches it: significant before the pass, or made
// so in it at a place that the scan visits earlier. Later are the east, the south, and of the diagonals the north-east
// within the stripe, the south-west beyond it.
template <class Word>
CUDAENC_HD Around<Word> when_visited(const Around<Word> &before, const Around<Word> &in_pass) {
    return {before.w | in_pass.w,
            before.e,
            before.n | in_pass.n,
            before.s,
            before.nw | in_pass.nw,
            before.ne | (in_pass.ne & kFirstRows<Word>),
            before.sw | (in_pass.sw & ~kLastRows<Word>),
            before.se};
}

// Samples that have a neighbour made significant in the pass when the scan reaches them. Membership of the significance
// propagation spreads by it: a fixpoint.
template <class Word>
CUDAENC_HD Word reached_in_pass(const Around<Word> &in_pass) {
    return in_pass.w | in_pass.n | in_pass.nw | (in_pass.ne & kFirstRows<Word>) | (in_pass.sw & ~kLastRows<Word>);
}

// Run-length mode of the clean-up pass (T.800 D.3.4): all four samples of a stripe's column are left, and have no
// significant neighbour when the scan reaches the first.
template <class Word>
struct RunLength {
    Word columns;  // those in run-length mode: their first rows
    Word ended;    // of these, those where a sample becomes significant
    Word members;  // what is left to code sample by sample: in those columns what follows that sample
};
template <class Word>
CUDAENC_HD RunLength<Word> run_length(Word members, Word becoming, const Around<Word> &before,
                                      const Around<Word> &in_pass, const Around<Word> &now) {
    const Word isolated = members & ~(now.w | now.e | now.nw | now.ne | now.sw | now.se | now.s | before.n |
                                      (in_pass.n & kFirstRows<Word>));
    Word run = isolated & isolated >> 1;
    run &= run >> 2;
    run &= kFirstRows<Word>;
    Word seen = becoming;  // in the column so far
    seen |= (seen << 1) & ~kFirstRows<Word>;
    seen |= (seen << 2) & (kLastRows<Word> | kLastRows<Word> >> 1);
    const Word columns = run * 15;
    return {run, run & seen >> 3, (members & ~columns) | (columns & (seen << 1) & ~kFirstRows<Word>)};
}

// A context for each sample, bit i of its number in bit[i].
template <class Word>
struct ContextBits {
    Word bit[5];
};

// T.800 Table D.1, contexts 0 to 8.
template <class Word>
CUDAENC_HD ContextBits<Word> zero_coding_planes(const Around<Word> &a, int orientation) {
    const Word diagonal_1 = (a.nw | a.ne) | (a.sw | a.se);  // at least one
    const Word diagonal_2 = (a.nw & a.ne) | (a.sw & a.se) | ((a.nw ^ a.ne) & (a.sw ^ a.se));
    const Word diagonal_3 = ((a.nw & a.ne) & (a.sw | a.se)) | ((a.sw & a.se) & (a.nw | a.ne));
    Word k1, k2, k3, k4, k5, k6, k7, k8;
    if (orientation == kHH) {
        const Word nearest_1 = a.nearest(), nearest_2 = a.two_nearest();
        const Word one = diagonal_1 & ~diagonal_2, two = diagonal_2 & ~diagonal_3;
        k8 = diagonal_3;
        k7 = two & nearest_1;
        k6 = two & ~nearest_1;
        k5 = one & nearest_2;
        k4 = one & nearest_1 & ~nearest_2;
        k3 = one & ~nearest_1;
        k2 = ~diagonal_1 & nearest_2;
        k1 = ~diagonal_1 & nearest_1 & ~nearest_2;
    } else {
        const bool turned = orientation == kHL;
        const Word a0 = turned ? a.n : a.w, a1 = turned ? a.s : a.e;  // along
        const Word c0 = turned ? a.w : a.n, c1 = turned ? a.e : a.s;  // across
        const Word along_2 = a0 & a1, along_1 = a0 ^ a1, along_0 = ~(a0 | a1);
        const Word across_2 = c0 & c1, across_1 = c0 ^ c1, across = c0 | c1;
        k8 = along_2;
        k7 = along_1 & across;
        k6 = along_1 & ~across & diagonal_1;
        k5 = along_1 & ~across & ~diagonal_1;
        k4 = along_0 & across_2;
        k3 = along_0 & across_1;
        k2 = along_0 & ~across & diagonal_2;
        k1 = along_0 & ~across & diagonal_1 & ~diagonal_2;
    }
    return {{k1 | k3 | k5 | k7, k2 | k3 | k6 | k7, k4 | k5 | k6 | k7, k8, 0}};
}

// T.800 Table D.4, contexts 14 to 16. near: samples with a significant neighbour; refined: not for the first time.
template <class Word>
CUDAENC_HD ContextBits<Word> refinement_planes(Word near, Word refined) {
    return {{near & ~refined, ~refined, ~refined, ~refined, refined}};
}

template <class Word>
struct SignBits {
    Word decision;
    Word bit[3];  // context, less 9
};

// T.800 Tables D.2 and D.3. a: significance of the neighbours; negative, around: signs of samples and neighbours.
template <class Word>
CUDAENC_HD SignBits<Word> sign_coding_planes(const Around<Word> &a, Word negative, const Around<Word> &around) {
    const auto positive = [](Word s0, Word g0, Word s1, Word g1) { return (s0 & ~g0) | (s1 & ~g1); };
    const auto minus = [](Word s0, Word g0, Word s1, Word g1) { return (s0 & g0) | (s1 & g1); };
    const Word hp = positive(a.w, around.w, a.e, around.e), hn = minus(a.w, around.w, a.e, around.e);
    const Word vp = positive(a.n, around.n, a.s, around.s), vn = minus(a.n, around.n, a.s, around.s);
    const Word h_plus = hp & ~hn, h_minus = hn & ~hp, v_plus = vp & ~vn, v_minus = vn & ~vp;
    const Word h = h_plus | h_minus, v = v_plus | v_minus;
    const Word same = (h_plus & v_plus) | (h_minus & v_minus), opposite = (h & v) & ~same;
    const Word flip = h_minus | (~h & v_minus);
    // 13: same; 12: horizontal alone; 11: opposite; 10: vertical alone; 9: neither.
    return {negative ^ flip, {(h ^ v), opposite | (h & ~v), same}};
}

// The sum of each nibble's bits, in the nibble.
CUDAENC_HD uint32_t nibble_sums(uint32_t x) {
    x -= (x >> 1) & 0x55555555u;
    return (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
}

// Stage `Distance` of the transposition of square bit matrices: words apart by it swap the bits apart by it. `mask` has
// the bits of which the distance is no part of the index.
template <int Distance, int Count, class Word>
CUDAENC_HD void transpose_stage(Word (&word)[Count], Word mask) {
    CUDAENC_UNROLL
    for (int i = 0; i < Count; i++)
        if (!(i & Distance)) {
            const Word swap = ((word[i] >> Distance) ^ word[i + Distance]) & mask;
            word[i] ^= swap << Distance;
            word[i + Distance] ^= swap;
        }
}

// A number of up to eight bits for each of 32 samples, its bit i in word[i], to bytes and back: that of bit 8 g + j is
// byte g of word[j].
template <class Word>
CUDAENC_HD void planes_to_bytes(Word (&word)[8]) {
    transpose_stage<4>(word, static_cast<Word>(-1) / 17);
    transpose_stage<2>(word, static_cast<Word>(-1) / 5);
    transpose_stage<1>(word, static_cast<Word>(-1) / 3);
}
}  // namespace cudaenc::j2k
