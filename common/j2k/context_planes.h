// Tier-1's contexts, bit-sliced: after Matela et al. (2010), membership of the passes and contexts of all samples at
// once, by logic on whole words. Bit y of a word is row y of one column, 32 rows; stripes are the word's nibbles. The
// sequential form of the same contexts is in t1.h. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "tables.h"

namespace cudaenc::j2k {

constexpr uint32_t kFirstRows = 0x11111111u;  // of the stripes
constexpr uint32_t kLastRows = 0x88888888u;

// A bit-plane of samples as seen from each: the neighbour in that direction, 0 outside the block.
struct Around {
    uint32_t w, e, n, s, nw, ne, sw, se;
    CUDAENC_HD uint32_t any() const { return w | e | n | s | nw | ne | sw | se; }
};

// What each sample's neighbours are when the scan (T.800 Figure D.1) reaches it: significant before the pass, or made
// so in it at a place that the scan visits earlier. Later are the east, the south, and of the diagonals the north-east
// within the stripe, the south-west beyond it.
CUDAENC_HD Around when_visited(const Around &before, const Around &in_pass) {
    return {before.w | in_pass.w,
            before.e,
            before.n | in_pass.n,
            before.s,
            before.nw | in_pass.nw,
            before.ne | (in_pass.ne & kFirstRows),
            before.sw | (in_pass.sw & ~kLastRows),
            before.se};
}

// A context for each sample, bit i of its number in bit[i].
struct ContextBits {
    uint32_t bit[5];
};

// T.800 Table D.1, contexts 0 to 8.
CUDAENC_HD ContextBits zero_coding_planes(const Around &a, int orientation) {
    const uint32_t diagonal_1 = (a.nw | a.ne) | (a.sw | a.se);  // at least one
    const uint32_t diagonal_2 = (a.nw & a.ne) | (a.sw & a.se) | ((a.nw ^ a.ne) & (a.sw ^ a.se));
    const uint32_t diagonal_3 = ((a.nw & a.ne) & (a.sw | a.se)) | ((a.sw & a.se) & (a.nw | a.ne));
    uint32_t k1, k2, k3, k4, k5, k6, k7, k8;
    if (orientation == kHH) {
        const uint32_t nearest_1 = a.w | a.e | a.n | a.s;
        const uint32_t nearest_2 = (a.w & a.e) | (a.n & a.s) | ((a.w | a.e) & (a.n | a.s));
        const uint32_t one = diagonal_1 & ~diagonal_2, two = diagonal_2 & ~diagonal_3;
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
        const uint32_t a0 = turned ? a.n : a.w, a1 = turned ? a.s : a.e;  // along
        const uint32_t c0 = turned ? a.w : a.n, c1 = turned ? a.e : a.s;  // across
        const uint32_t along_2 = a0 & a1, along_1 = a0 ^ a1, along_0 = ~(a0 | a1);
        const uint32_t across_2 = c0 & c1, across_1 = c0 ^ c1, across = c0 | c1;
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
CUDAENC_HD ContextBits refinement_planes(uint32_t near, uint32_t refined) {
    return {{near & ~refined, ~refined, ~refined, ~refined, refined}};
}

struct SignBits {
    uint32_t decision;
    uint32_t bit[3];  // context, less 9
};

// T.800 Tables D.2 and D.3. a: significance of the neighbours; negative, and around: signs of the samples and their
// neighbours.
CUDAENC_HD SignBits sign_coding_planes(const Around &a, uint32_t negative, const Around &around) {
    const auto positive = [](uint32_t s0, uint32_t g0, uint32_t s1, uint32_t g1) { return (s0 & ~g0) | (s1 & ~g1); };
    const auto minus = [](uint32_t s0, uint32_t g0, uint32_t s1, uint32_t g1) { return (s0 & g0) | (s1 & g1); };
    const uint32_t hp = positive(a.w, around.w, a.e, around.e), hn = minus(a.w, around.w, a.e, around.e);
    const uint32_t vp = positive(a.n, around.n, a.s, around.s), vn = minus(a.n, around.n, a.s, around.s);
    const uint32_t h_plus = hp & ~hn, h_minus = hn & ~hp, v_plus = vp & ~vn, v_minus = vn & ~vp;
    const uint32_t h = h_plus | h_minus, v = v_plus | v_minus;
    const uint32_t same = (h_plus & v_plus) | (h_minus & v_minus), opposite = (h & v) & ~same;
    const uint32_t flip = h_minus | (~h & v_minus);
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
template <int Distance, int Count>
CUDAENC_HD void transpose_stage(uint32_t (&word)[Count], uint32_t mask) {
    CUDAENC_UNROLL
    for (int i = 0; i < Count; i++)
        if (!(i & Distance)) {
            const uint32_t swap = ((word[i] >> Distance) ^ word[i + Distance]) & mask;
            word[i] ^= swap << Distance;
            word[i + Distance] ^= swap;
        }
}

// A number of up to four bits for each of 32 samples, its bit i in word[i], to nibbles: that of row 4 g + j is nibble g
// of word[j].
CUDAENC_HD void planes_to_nibbles(uint32_t (&word)[4]) {
    transpose_stage<2>(word, 0x33333333u);
    transpose_stage<1>(word, 0x55555555u);
}
// ... of up to eight bits, to bytes: that of row 8 g + j is byte g of word[j].
CUDAENC_HD void planes_to_bytes(uint32_t (&word)[8]) {
    transpose_stage<4>(word, 0x0F0F0F0Fu);
    transpose_stage<2>(word, 0x33333333u);
    transpose_stage<1>(word, 0x55555555u);
}
// Rows to planes and back: word[i] bit j <-> word[j] bit i.
CUDAENC_HD void transpose_32x32(uint32_t (&word)[32]) {
    transpose_stage<16>(word, 0x0000FFFFu);
    transpose_stage<8>(word, 0x00FF00FFu);
    transpose_stage<4>(word, 0x0F0F0F0Fu);
    transpose_stage<2>(word, 0x33333333u);
    transpose_stage<1>(word, 0x55555555u);
}

}  // namespace cudaenc::j2k
