// SPDX-License-Identifier: LGPL-2.1-or-later
// HT block coding (ITU-T T.814), quad-parallel: a lane has a pair of quads. First all pairs leave what others read of
// them, and their MEL events. Then those with a codeword, most often few, are coded, 32 at a time in the order of the
// standard; bits get their places from one scan of both bit-streams' counts. Only MEL's events are coded one by one,
// those of all a thread-block's blocks side by side in the warp with the fewest pairs, while others code theirs.
#pragma once
#include "../../../common/j2k/codestream/coefficient.h"
#include "ht_params.h"
#include "ht_streams.cuh"

namespace cudaenc::j2k {

// Coefficients of a quad; those outside of the block are 0.
struct Quad {
    uint32_t sample[4];
};

// With which bit-plane of the frame's steps a truncatable block ends: see HtRule.
struct HtLowest {
    int plane = 0;
    bool lowers = false;
    StepRatio step;
    // Magnitudes of the frame's steps, of coefficients or magnitudes of the session's.
    DEVICE_MEMBER Quad scaled(Quad quad) const {
        CUDAENC_UNROLL
        for (uint32_t &x : quad.sample) x = step.magnitude(x);
        return quad;
    }
    // What is coded of magnitudes that are scaled.
    DEVICE_MEMBER Quad coded(const Quad &scaled) const {
        Quad quad;
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) quad.sample[i] = scaled.sample[i] >> plane;
        if (lowers) lower_largest(scaled.sample, plane, quad.sample);
        return quad;
    }
};
DEVICE HtLowest lowest_of(const HtRule &rule, int plane) { return {plane, rule.lowers(), rule.step}; }

// The pairs of a block that are coded, by number.
using CodedPair __attribute__((may_alias)) = uint16_t;

// Four coefficients side by side, of 32 or of 16 bits.
template <class Coefficient>
struct FourOf;
template <>
struct FourOf<uint32_t> {
    using Type = Uint4;
};
template <>
struct FourOf<int16_t> {
    using Type = uint64_t;
};
DEVICE uint32_t coefficient(const Uint4 &four, int i) {
    return i == 0 ? four.x : i == 1 ? four.y : i == 2 ? four.z : four.w;
}
DEVICE uint32_t coefficient(uint64_t four, int i) { return sign_and_magnitude(static_cast<int16_t>(four >> 16 * i)); }
DEVICE uint32_t magnitude(const Uint4 &four, int i) { return magnitude(coefficient(four, i)); }
DEVICE uint32_t magnitude(uint64_t four, int i) { return magnitude(static_cast<int16_t>(four >> 16 * i)); }
DEVICE bool has_significant(const Uint4 &four) { return ((four.x | four.y | four.z | four.w) & ~kSignBit) != 0; }
DEVICE bool has_significant(uint64_t four) { return four != 0; }

DEVICE bool has_significant(const Quad &quad) {
    return ((quad.sample[0] | quad.sample[1] | quad.sample[2] | quad.sample[3]) & ~kSignBit) != 0;
}

// Two quads side by side. Missing samples are 0.
template <class Coefficient>
struct QuadPair {
    using Four = typename FourOf<Coefficient>::Type;
    Four upper, lower;
    DEVICE_MEMBER bool is_significant() const { return has_significant(upper) || has_significant(lower); }
    DEVICE_MEMBER uint32_t largest_magnitude() const {
        uint32_t most = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) most = max_of(most, max_of(magnitude(upper, i), magnitude(lower, i)));
        return most;
    }
    DEVICE_MEMBER Quad magnitudes(int q) const {
        return {{magnitude(upper, 2 * q), magnitude(lower, 2 * q), magnitude(upper, 2 * q + 1),
                 magnitude(lower, 2 * q + 1)}};
    }
    DEVICE_MEMBER Quad quad(int q) const {
        return {{coefficient(upper, 2 * q), coefficient(lower, 2 * q), coefficient(upper, 2 * q + 1),
                 coefficient(lower, 2 * q + 1)}};
    }
};

// A pair's samples as they are coded: those in the left columns of its quads, and in their right ones, are halves of a
// word, with their signs on top.
struct __attribute__((may_alias, aligned(16))) PackedPair {
    uint32_t upper[2], lower[2];  // [quad]
    // magnitudes: of at most 15 bits; signs: of whom they are.
    DEVICE_MEMBER PackedPair(const Quad (&magnitudes)[2], const QuadPair<int16_t> &signs) {
        constexpr uint32_t kSigns = 0x80008000u;
        CUDAENC_UNROLL
        for (int q = 0; q < 2; q++) {
            const uint32_t(&m)[4] = magnitudes[q].sample;
            upper[q] = m[0] | m[2] << 16 | (static_cast<uint32_t>(signs.upper >> 32 * q) & kSigns);
            lower[q] = m[1] | m[3] << 16 | (static_cast<uint32_t>(signs.lower >> 32 * q) & kSigns);
        }
    }
    DEVICE_MEMBER Quad quad(int q) const {
        const auto left = [](uint32_t word) { return (word & 0x7FFF) | (word << 16 & kSignBit); };
        const auto right = [](uint32_t word) { return (word >> 16 & 0x7FFF) | (word & kSignBit); };
        return {{left(upper[q]), left(lower[q]), right(upper[q]), right(lower[q])}};
    }
};
// A block's coefficients. is_aligned: four at a time.
template <class Coefficient>
struct BlockSamples {
    using Four = typename FourOf<Coefficient>::Type;
    const Coefficient *at;
    uint32_t stride, width, height;
    bool is_aligned;

    DEVICE_MEMBER BlockSamples(const CodeBlock &block, const uint32_t *coefficients)
        : at(reinterpret_cast<const Coefficient *>(coefficients) + block.coefficients),
          stride(block.stride),
          width(block.width),
          height(block.height),
          is_aligned(((reinterpret_cast<uintptr_t>(at) / sizeof(Coefficient) | stride | width) & 3) == 0) {}
    DEVICE_MEMBER Four four(uint32_t x, uint32_t y) const {
        const uint32_t count = x < width && y < height ? width - x : 0;
        const Coefficient *const from = at + static_cast<size_t>(y) * stride + x;
        if (is_aligned) return count ? load_readonly(reinterpret_cast<const Four *>(from)) : Four{};
        constexpr uint32_t kMask = sizeof(Coefficient) == 4 ? ~0u : 0xFFFF;
        const auto one = [from, count](uint32_t i) {
            return i < count ? static_cast<uint32_t>(load_readonly(from + i)) & kMask : 0;
        };
        if constexpr (sizeof(Coefficient) == 4)
            return {one(0), one(1), one(2), one(3)};
        else
            return one(0) | one(1) << 16 | static_cast<uint64_t>(one(2) | one(3) << 16) << 32;
    }
    DEVICE_MEMBER QuadPair<Coefficient> pair(uint32_t column, uint32_t row) const {
        return {four(4 * column, 2 * row), four(4 * column, 2 * row + 1)};
    }
};

// What a block's quads tell of it.
struct QuadSums {
    HtTriedCounts counts;
    int planes;  // of all magnitudes; 0 where none counts
};
// The lane's share of them.
struct LaneSums {
    HtTriedCounts counts;
    uint32_t bits = 0;
    // scaled: with HtLowest::scaled(). plane: from which on samples count.
    DEVICE_MEMBER void add(const Quad &scaled, int plane, bool one_plane) {
        uint32_t m[4];
        CUDAENC_UNROLL
        for (int k = 0; k < 4; k++) {
            bits |= scaled.sample[k];
            m[k] = scaled.sample[k] >> plane;
        }
        counts.add(m[0], m[1], m[2], m[3], one_plane);
    }
    // The same where one plane is tried, in two parts. significant: SeenPair's.
    DEVICE_MEMBER void add_energy(const Quad &scaled, int plane) {
        CUDAENC_UNROLL
        for (const uint32_t x : scaled.sample) {
            bits |= x;
            counts.energy += ht_energy(x >> plane);
        }
    }
    DEVICE_MEMBER void add_significant(uint32_t significant) {
        counts.from[0].samples += static_cast<uint32_t>(popcount(significant));
        counts.from[0].quads += uint32_t{(significant & 15) != 0} + (significant > 15);
    }
    DEVICE_MEMBER QuadSums sums(bool one_plane) const {
        QuadSums all{counts, bit_width(warp_or(bits))};
        CUDAENC_UNROLL
        for (int i = 0; i < kHtTried; i++) {
            if (one_plane && i) break;
            HtCounts &of = all.counts.from[i];
            const uint32_t both = warp_add(of.samples | of.quads << 16);
            of.samples = both & 0xFFFF;
            of.quads = both >> 16;
            if (!one_plane) of.magnitude = warp_add(of.magnitude);
        }
        if (one_plane) all.counts.energy = warp_add(counts.energy);
        return all;
    }
};

// Which pair of quads a lane has: the lane's, then every 32nd.
struct PairPlace {
    uint32_t row, column;
    DEVICE_MEMBER void advance(uint32_t pairs_of_row, uint32_t more_rows, uint32_t more_columns) {
        row += more_rows;
        column += more_columns;
        if (column >= pairs_of_row) {
            column -= pairs_of_row;
            row++;
        }
    }
};

// How blocks are coded: with all bit-planes, of coefficients of 32 or of 16 bits; as a truncatable block's rule says;
// or, with coefficients of 16 bits, by such a rule of one plane.
enum class HtKind { kWhole, kShort, kTruncated, kOnePlane };

// A block in a warp. memory: shared, HtLayout::kWords.
template <int kQuads, HtKind kKind>
struct HtBlock {
    static constexpr bool kTruncated = kKind == HtKind::kTruncated || kKind == HtKind::kOnePlane,
                          kShort = kKind == HtKind::kShort || kKind == HtKind::kOnePlane;
    // Samples of coded pairs stay in shared memory, where a multiprocessor has 164 kB of it or more: then it has 2048
    // threads. With 100 kB only two thread-blocks would fit.
    static constexpr bool kKeeps = kKind == HtKind::kOnePlane && kQuads <= 256 && blocks_that_fit(32, 64) == 64;
    using Layout = HtLayout<kQuads, kKeeps>;
    const CodeBlock block;
    const uint32_t *coefficients;  // of all blocks; of 16 bits where is_short
    const bool is_short;
    HtLowest lowest;  // of what is coded; of kTruncated alone
    const HtCodes *all_codes;
    const uint16_t *codes;       // shared, of other rows than the first
    const uint16_t *uvlc_words;  // shared, uvlc_word() of each u
    uint32_t *memory;
    RoomWriter room;
    ByteStream magsgn{0, 0, 0};
    uint32_t magsgn_bits = 0, vlc_bits = kVlcFirstBits, entries = 0, coded = 0;
    bool any = false;

    DEVICE_MEMBER uint32_t *states() { return memory + Layout::kStates; }
    DEVICE_MEMBER uint32_t *vlc() { return memory + Layout::kVlc; }
    DEVICE_MEMBER uint32_t *ring() { return memory + Layout::kRingAt; }
    DEVICE_MEMBER uint32_t *events() { return memory + Layout::kEvents; }
    DEVICE_MEMBER uint32_t *mel() { return memory + Layout::kMel; }
    DEVICE_MEMBER CodedPair *coded_pairs() { return reinterpret_cast<CodedPair *>(memory + Layout::kCoded); }
    DEVICE_MEMBER PackedPair *kept_pairs() { return reinterpret_cast<PackedPair *>(memory + Layout::kKept); }

    DEVICE_MEMBER Quad from_plane(const Quad &quad) const {
        if constexpr (!kTruncated || kKeeps) return quad;
        Quad coded = lowest.coded(lowest.scaled(quad));
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) coded.sample[i] |= quad.sample[i] & kSignBit;
        return coded;
    }

    // Calls body(samples) with the coefficients of the block.
    template <class Body>
    DEVICE_MEMBER void with_samples(const Body &body) const {
        if constexpr (kShort)
            body(BlockSamples<int16_t>(block, coefficients));
        else if (kTruncated && is_short)
            body(BlockSamples<int16_t>(block, coefficients));
        else
            body(BlockSamples<uint32_t>(block, coefficients));
    }
    // Leaves states of all quads, events for code_events(), and lists the pairs that are coded.
    DEVICE_MEMBER void scan() {
        with_samples([&](const auto &samples) { scan_samples<false>(samples, nullptr, 0, false); });
    }
    // As scan(), and counts what the block has from `plane` on, which is not above the one that is coded. one_plane:
    // see HtRule.
    DEVICE_MEMBER QuadSums scan_and_count(int plane, bool one_plane) {
        LaneSums own;
        with_samples([&](const auto &samples) { scan_samples<true>(samples, &own, plane, one_plane); });
        return own.sums(one_plane);
    }
    template <bool kCounts, class Coefficient>
    DEVICE_MEMBER void scan_samples(const BlockSamples<Coefficient> &samples, LaneSums *sums, int from,
                                    bool one_plane) {
        constexpr int kAtOnce = kTruncated ? 2 : 4;  // loads of a lane
        const uint32_t lane = static_cast<uint32_t>(lane_id()), pairs_of_row = (block.width + 3u) / 4,
                       pairs = pairs_of_row * ((block.height + 1u) / 2), more_rows = 32 / pairs_of_row,
                       more_columns = 32 % pairs_of_row;
        PairPlace to_load{lane / pairs_of_row, lane % pairs_of_row}, at = to_load;
        // Contexts come from so many chunks of 32 pairs: this one and those with the row above.
        const uint32_t context_chunks = (2u << (pairs_of_row + 32) / 32) - 1;
        const uint32_t least = lowest.step.least(kCounts ? from : lowest.plane);
        uint32_t insignificant = ~0u;  // bit i: the chunk i before has no significant sample
        any = false;
        entries = coded = 0;
        CUDAENC_NO_UNROLL
        for (uint32_t first = 0; first < pairs; first += 32 * kAtOnce) {
            QuadPair<Coefficient> loaded[kAtOnce];
            CUDAENC_UNROLL
            for (QuadPair<Coefficient> &pair : loaded) {
                pair = samples.pair(to_load.column, to_load.row);
                to_load.advance(pairs_of_row, more_rows, more_columns);
            }
            // Not unrolled: code that misses the instruction cache costs more than the moves.
            CUDAENC_NO_UNROLL
            for (uint32_t i = 0; i < kAtOnce && first + 32 * i < pairs; i++) {
                const QuadPair<Coefficient> own = loaded[0];
                CUDAENC_UNROLL
                for (int k = 1; k < kAtOnce; k++) loaded[k - 1] = loaded[k];
                Quad quads[2] = {};
                bool some = warp_any(kTruncated ? own.largest_magnitude() >= least : own.is_significant());
                if (!kTruncated) quads[0] = own.magnitudes(0), quads[1] = own.magnitudes(1);
                if (kTruncated && some) {  // signs tell nothing here
                    CUDAENC_UNROLL
                    for (int q = 0; q < 2; q++) {
                        Quad &quad = quads[q];
                        quad = lowest.scaled(own.magnitudes(q));
                        if constexpr (kCounts && kKind == HtKind::kOnePlane)
                            sums->add_energy(quad, lowest.plane);
                        else if constexpr (kCounts)
                            sums->add(quad, from, one_plane);
                        quad = lowest.coded(quad);
                    }
                    some = warp_any(has_significant(quads[0]) || has_significant(quads[1]));
                }
                insignificant = insignificant << 1 | !some;
                if (some && !any) clear();
                any |= some;
                if ((insignificant & context_chunks) == context_chunks) {
                    put_events({{is_present(at, 0), is_present(at, 1)}, {false, false}, false, false});
                } else {
                    const SeenPair seen = look_at(quads, at, pairs_of_row, first + 32 * i + lane);
                    if constexpr (kCounts && kKind == HtKind::kOnePlane) sums->add_significant(seen.significant);
                    if constexpr (kKeeps) {
                        if (seen.is_coded) kept_pairs()[seen.number] = PackedPair(quads, own);
                    }
                }
                at.advance(pairs_of_row, more_rows, more_columns);
            }
        }
    }

    // Codes the pairs of the list.
    DEVICE_MEMBER void code_pairs() {
        if constexpr (kKeeps)
            code_pairs([this](uint32_t number, const PairPlace &) { return kept_pairs()[number]; });
        else
            with_samples([this](const auto &samples) {
                this->code_pairs([&samples](uint32_t, const PairPlace &at) { return samples.pair(at.column, at.row); });
            });
    }
    // pair_of(number, place): a pair of the list.
    template <class PairOf>
    DEVICE_MEMBER void code_pairs(const PairOf &pair_of) {
        const uint32_t lane = static_cast<uint32_t>(lane_id()), pairs_of_row = (block.width + 3u) / 4,
                       reciprocal = (1u << 20) / pairs_of_row + 1;
        CUDAENC_NO_UNROLL
        for (uint32_t first = 0; first < coded; first += 32) {
            const bool is_coded = first + lane < coded;
            const uint32_t number = is_coded ? first + lane : 0, index = is_coded ? coded_pairs()[number] : 0u,
                           row = index * reciprocal >> 20;
            const PairPlace pair{row, index - row * pairs_of_row};
            const auto own = pair_of(number, pair);
            code_32({from_plane(own.quad(0)), from_plane(own.quad(1))}, pair, pairs_of_row, is_coded);
            take_whole_magsgn(magsgn_bits);
        }
    }

    DEVICE_MEMBER void clear() {
        CUDAENC_NO_UNROLL
        for (int i = lane_id(); i < Layout::kCleared / 4; i += 32) reinterpret_cast<Uint4 *>(memory)[i] = {0, 0, 0, 0};
        warp_sync();
        if (lane_id() == 0) vlc()[0] = (1u << kVlcFirstBits) - 1;
    }

    // Whether a quad is there.
    DEVICE_MEMBER bool is_present(const PairPlace &at, int quad) const {
        return 4 * at.column + 2 * static_cast<uint32_t>(quad) < block.width && 2 * at.row < block.height;
    }
    DEVICE_MEMBER static uint32_t significance(const Quad &quad) {
        uint32_t significant = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) significant |= static_cast<uint32_t>(quad.sample[i] << 1 != 0) << i;
        return significant;
    }

    // What is known around a pair.
    struct PairNeighbours {
        QuadNeighbours of[2];
        // state: the pair's, of which that of the first quad is `first`.
        DEVICE_MEMBER PairNeighbours(const uint32_t *state, uint32_t pairs_of_row, uint32_t first) {
            const uint32_t *const above = state - (pairs_of_row + 1);
            of[0] = {state[-1] >> 16, above[-1] >> 16, above[0] & 0xFFFF, above[0] >> 16};
            of[1] = {first, above[0] & 0xFFFF, above[0] >> 16, above[1] & 0xFFFF};
        }
    };
    DEVICE_MEMBER uint32_t *state_of(const PairPlace &at, uint32_t pairs_of_row) {
        return states() + (at.row + 1) * (pairs_of_row + 1) + at.column + 1;
    }

    // The lane's pair: its significant samples, those of the second quad from bit 4 on; its number in the list.
    struct SeenPair {
        uint32_t significant, number;
        bool is_coded;
    };
    // Leaves the states and events of 32 pairs, and which of them are to be coded. index: of the lane's pair.
    DEVICE_MEMBER SeenPair look_at(const Quad (&own)[2], const PairPlace &at, uint32_t pairs_of_row, uint32_t index) {
        const bool first_row = at.row == 0, present[2] = {is_present(at, 0), is_present(at, 1)};
        uint32_t significant[2], of[2];
        CUDAENC_UNROLL
        for (int q = 0; q < 2; q++) {
            significant[q] = significance(own[q]);
            of[q] =
                quad_state(significant[q], ht_sample(own[q].sample[1]).exponent, ht_sample(own[q].sample[3]).exponent);
        }
        // Of lanes behind the last pair the state is nobody's.
        uint32_t *const state = present[0] ? state_of(at, pairs_of_row) : states() + pairs_of_row + 2;
        if (present[0]) *state = of[0] | of[1] << 16;
        warp_sync();
        const PairNeighbours near(state, pairs_of_row, of[0]);
        const uint32_t context[2] = {quad_context(first_row, near.of[0]), quad_context(first_row, near.of[1])};
        bool both = false, large = false;
        if (warp_any(first_row)) {
            const int u[2] = {largest_exponent(own[0]) - 1, largest_exponent(own[1]) - 1};
            both = first_row && min_of(u[0], u[1]) > 0;
            large = both && min_of(u[0], u[1]) > 2;
        }
        put_events({{present[0] && !context[0], present[1] && !context[1]},
                    {significant[0] != 0, significant[1] != 0},
                    both,
                    large});
        const bool is_coded =
            present[0] && (context[0] | (present[1] ? context[1] : 0) | significant[0] | significant[1]);
        const uint32_t all = warp_ballot(is_coded),
                       number = coded + static_cast<uint32_t>(popcount(all & ((1u << lane_id()) - 1)));
        if (is_coded) coded_pairs()[number] = static_cast<CodedPair>(index);
        coded += static_cast<uint32_t>(popcount(all));
        warp_sync();
        return {significant[0] | significant[1] << 4, number, is_coded};
    }
    DEVICE_MEMBER static int largest_exponent(const Quad &quad) {
        uint32_t most = 0;
        CUDAENC_UNROLL
        for (const uint32_t x : quad.sample) most = max_of(most, x & ~kSignBit);
        return ht_sample(most).exponent;
    }

    // Codes 32 pairs. Of lanes without one, which have some pair, nothing is coded.
    DEVICE_MEMBER void code_32(const Quad (&own)[2], const PairPlace &at, uint32_t pairs_of_row, bool is_coded) {
        const uint32_t *const state = state_of(at, pairs_of_row);
        const PairNeighbours near(state, pairs_of_row, state[0] & 0xFFFF);
        const bool first_row = at.row == 0;
        HtSample s[2][4];
        QuadCode code[2];
        uint32_t significant[2];
        CUDAENC_UNROLL
        for (int q = 0; q < 2; q++) {
            CUDAENC_UNROLL
            for (int i = 0; i < 4; i++) s[q][i] = ht_sample(own[q].sample[i]);
            significant[q] = is_coded ? significance(own[q]) : 0;
            const int most =
                max_of(max_of(s[q][0].exponent, s[q][1].exponent), max_of(s[q][2].exponent, s[q][3].exponent));
            uint32_t e_1 = 0;
            CUDAENC_UNROLL
            for (int i = 0; i < 4; i++) e_1 |= static_cast<uint32_t>(s[q][i].exponent == most) << i;
            code[q] = code_quad(first_row ? all_codes->entries[0] : codes, quad_context(first_row, near.of[q]),
                                significant[q], most, e_1, predicted_exponent(significant[q], near.of[q]));
            code[q].entry = is_coded && is_present(at, q) ? code[q].entry : 0;
            code[q].u = significant[q] ? code[q].u : 0;
        }
        const CodeBits vlc_code = join_words(pair_words(warp_any(first_row), first_row, code));

        int bits[2][4];
        uint32_t count[2] = {0, 0};
        CUDAENC_UNROLL
        for (int q = 0; q < 2; q++) {
            CUDAENC_UNROLL
            for (int i = 0; i < 4; i++) count[q] += static_cast<uint32_t>(bits[q][i] = code[q].bits(significant[q], i));
        }
        // Both streams' counts in one scan: of MagSgn below 2^13, of VLC above.
        const uint32_t own_counts = count[0] + count[1] + (static_cast<uint32_t>(vlc_code.count) << 16),
                       up_to = warp_inclusive_add(own_counts), before = up_to - own_counts,
                       total = warp_shuffle(up_to, 31);
        put_vlc(vlc_bits + (before >> 16), vlc_code);
        put_samples(magsgn_bits + (before & 0xFFFF), s, bits, count);
        vlc_bits += total >> 16;
        magsgn_bits += total & 0xFFFF;
        warp_sync();
    }

    // Of each quad the codeword and the U-VLC code, which in the first row depends on the other quad.
    struct PairWords {
        uint32_t quad[2];
    };
    DEVICE_MEMBER PairWords pair_words(bool any_first, bool first_row, const QuadCode (&code)[2]) const {
        uint32_t uvlc[2] = {uvlc_words[code[0].u], uvlc_words[code[1].u]};
        if (any_first && first_row && code[0].u && code[1].u) {
            if (min_of(code[0].u, code[1].u) > 2) {
                uvlc[0] = uvlc_words[code[0].u - 2];
                uvlc[1] = uvlc_words[code[1].u - 2];
            } else if (code[0].u > 2) {
                uvlc[1] = uvlc_word({static_cast<uint32_t>(code[1].u - 1), 1}, {0, 0});
            }
        }
        return {{(code[0].entry & 1023) | uvlc[0] << 10, (code[1].entry & 1023) | uvlc[1] << 10}};
    }

    // The VLC bits of a pair, from both quads' codewords and U-VLC codes.
    DEVICE_MEMBER static CodeBits join_words(const PairWords &pair) {
        const uint32_t a = pair.quad[0], b = pair.quad[1];
        const auto field = [](uint32_t x, int at, int length_at, uint32_t most) {
            return CodeBits{x >> at & ((1u << (length_at - at)) - 1), static_cast<int>(x >> length_at & most)};
        };
        const auto word = [&](uint32_t x) { return field(x, 0, 7, 7); };
        const auto prefix = [&](uint32_t x) { return field(x, 10, 13, 3); };
        const auto suffix = [&](uint32_t x) { return field(x, 15, 20, 7); };
        return word(a).then(word(b)).then(prefix(a)).then(prefix(b)).then(suffix(a)).then(suffix(b));
    }

    DEVICE_MEMBER void put_events(const Events &e) {
        const uint32_t words[kEntryWords] = {warp_ballot(e.has[0]),
                                             warp_ballot(e.has[1]),
                                             warp_ballot(e.has[0] && e.one[0]),
                                             warp_ballot(e.has[1] && e.one[1]),
                                             warp_ballot(e.of_pair),
                                             warp_ballot(e.large)};
        if (lane_id() == 0) {
            CUDAENC_UNROLL
            for (uint32_t i = 0; i < kEntryWords; i++) events()[kEntryWords * entries + i] = words[i];
        }
        entries++;
    }

    DEVICE_MEMBER void put_vlc(uint32_t at, const CodeBits &code) {
        uint32_t *const words = vlc() + at / 32;
        if (!code.count) return;
        atomic_or(&words[0], code.bits << at % 32);
        if (at % 32 + static_cast<uint32_t>(code.count) > 32)
            atomic_or(&words[1], funnel_shift_left(code.bits, 0, at % 32));
    }
    // At most 64 bits of MagSgn.
    DEVICE_MEMBER void put_magsgn(uint32_t at, uint64_t bits, uint32_t count) {
        if (!count) return;
        const uint32_t low = static_cast<uint32_t>(bits), high = static_cast<uint32_t>(bits >> 32), word = at / 32,
                       shift = at % 32;
        atomic_or(&ring()[word % Layout::kRing], low << shift);
        if (shift + count <= 32) return;
        atomic_or(&ring()[(word + 1) % Layout::kRing], funnel_shift_left(low, high, shift));
        if (shift + count > 64) atomic_or(&ring()[(word + 2) % Layout::kRing], funnel_shift_left(high, 0, shift));
    }
    DEVICE_MEMBER void put_samples(uint32_t at, const HtSample (&s)[2][4], const int (&bits)[2][4],
                                   const uint32_t (&count)[2]) {
        bool fits = true;  // two samples in 31 bits
        CUDAENC_UNROLL
        for (int q = 0; q < 2; q++) fits = fits && bits[q][0] + bits[q][1] < 32 && bits[q][2] + bits[q][3] < 32;
        if (warp_all(fits)) {
            uint64_t quad[2];
            CUDAENC_UNROLL
            for (int q = 0; q < 2; q++) {
                const auto low_bits = [&](int i) { return s[q][i].value & ~(~0u << bits[q][i]); };
                const uint32_t left = low_bits(0) | low_bits(1) << bits[q][0], right = low_bits(2) | low_bits(3)
                                                                                                         << bits[q][2];
                quad[q] = left | static_cast<uint64_t>(right) << (bits[q][0] + bits[q][1]);
            }
            if (warp_all(count[0] + count[1] <= 64))
                return put_magsgn(at, quad[0] | quad[1] << count[0], count[0] + count[1]);
            put_magsgn(at, quad[0], count[0]);
            put_magsgn(at + count[0], quad[1], count[1]);
            return;
        }
        // Half of the lanes at a time, which fit the ring.
        const uint32_t end = at + count[0] + count[1];
        CUDAENC_NO_UNROLL
        for (int half = 0; half < 2; half++) {
            if (lane_id() / 16 == half) {
                CUDAENC_UNROLL
                for (int i = 0; i < 8; i++) {
                    const int own = bits[i / 4][i % 4];
                    put_magsgn(at, s[i / 4][i % 4].value & ((uint64_t{1} << own) - 1), static_cast<uint32_t>(own));
                    at += static_cast<uint32_t>(own);
                }
            }
            warp_sync();
            take_whole_magsgn(warp_shuffle(end, 16 * half + 15));
        }
    }
    // All but the last words.
    DEVICE_MEMBER void take_whole_magsgn(uint32_t bits) {
        while (bits - magsgn.at >= 33 * 32) take_magsgn(bits, false);
    }

    // Moves up to 128 bytes from the ring to the room.
    DEVICE_MEMBER bool take_magsgn(uint32_t bits, bool padded) {
        const uint32_t from = magsgn.at / 32;
        const uint32_t *const words = ring();
        const bool more = take_bytes<Stuffing::kForward>(
            magsgn, bits, padded, [&](uint32_t i) { return words[i % Layout::kRing]; },
            [&](uint32_t own, uint32_t count) { room.put(magsgn.bytes, own, count); });
        warp_sync();
        const uint32_t lane = static_cast<uint32_t>(lane_id());
        if (from + lane < magsgn.at / 32) ring()[(from + lane) % Layout::kRing] = 0;
        warp_sync();
        return more;
    }

    DEVICE_MEMBER uint8_t *bytes() { return reinterpret_cast<uint8_t *>(room.words); }

    // Ends MagSgn: filled with ones, and without a last 0xFF, since decoders read ones behind its end.
    DEVICE_MEMBER void finish_magsgn() {
        const uint32_t lane = static_cast<uint32_t>(lane_id()), word = magsgn_bits / 32;
        if (lane == 0) {
            ring()[word % Layout::kRing] |= ~0u << magsgn_bits % 32;
            ring()[(word + 1) % Layout::kRing] = ~0u;
        }
        warp_sync();
        while (take_magsgn(magsgn_bits, true)) {
        }
        if (lane < magsgn.bytes % 4)
            bytes()[magsgn.bytes - magsgn.bytes % 4 + lane] = static_cast<uint8_t>(room.pending >> 8 * lane);
        if (magsgn.bytes && magsgn.last == 0xFF) magsgn.bytes--;
        warp_sync();
    }

    // VLC's bytes, the last of the codeword first, in place of the states.
    DEVICE_MEMBER ByteStream stuff_vlc() {
        ByteStream stream{0, 0, kVlcBefore};
        uint8_t *const out = reinterpret_cast<uint8_t *>(states());
        const uint32_t *const words = vlc();
        const auto word = [&](uint32_t i) { return i < Layout::kVlcWords ? words[i] : 0; };
        const auto put = [&](uint32_t own, uint32_t count) {
            CUDAENC_UNROLL
            for (uint32_t k = 0; k < 4; k++) {
                const uint32_t i = 4 * static_cast<uint32_t>(lane_id()) + k;
                if (i < count) out[stream.bytes + i] = static_cast<uint8_t>(own >> 8 * k);
            }
        };
        while (take_bytes<Stuffing::kBackward>(stream, vlc_bits, false, word, put)) {
        }
        warp_sync();
        return stream;
    }

    // MEL's bytes, behind MagSgn's.
    DEVICE_MEMBER ByteStream stuff_mel(uint32_t bits) {
        ByteStream stream{0, 0, 0};
        uint8_t *const out = bytes() + magsgn.bytes;
        const uint32_t *const words = mel();
        const auto word = [&](uint32_t i) { return 32 * i < bits ? words[i] : 0; };
        const auto put = [&](uint32_t own, uint32_t count) {
            const uint32_t before = warp_shuffle_up(own, 1) >> 24;
            uint32_t last = lane_id() ? before : stream.last;
            CUDAENC_UNROLL
            for (uint32_t k = 0; k < 4; k++) {
                const uint32_t i = 4 * static_cast<uint32_t>(lane_id()) + k, byte = own >> 8 * k & 0xFF;
                if (i < count) out[stream.bytes + i] = static_cast<uint8_t>(mel_byte(byte, last == 0xFF ? 7 : 8));
                last = byte;
            }
        };
        while (take_bytes<Stuffing::kForward>(stream, bits, false, word, put)) {
        }
        return stream;
    }

    // Joins the three streams. Returns the codeword's bytes.
    DEVICE_MEMBER uint32_t join(const ByteStream &vlc_stream, uint32_t mel_bits) {
        const ByteStream mel_stream = stuff_mel(mel_bits);
        const auto rest = [](const uint32_t *words, const ByteStream &stream, uint32_t bits) {
            const uint32_t left = bits - stream.at, shifted = words[stream.at / 32] >> stream.at % 32;
            const uint32_t next = stream.at % 32 > 24 ? words[stream.at / 32 + 1] << (32 - stream.at % 32) : 0;
            return (shifted | next) & ((1u << left) - 1);
        };
        const int width = mel_stream.last == 0xFF ? 7 : 8;
        const LastBytes ends{mel_byte(rest(mel(), mel_stream, mel_bits), width), width,
                             static_cast<int>(mel_bits - mel_stream.at),         rest(vlc(), vlc_stream, vlc_bits),
                             static_cast<int>(vlc_bits - vlc_stream.at),         vlc_stream.bytes != 0};
        const uint32_t lane = static_cast<uint32_t>(lane_id()),
                       last = ends.empty()    ? 0
                              : ends.shared() ? 1
                                              : 2,
                       tail = mel_stream.bytes + last + vlc_stream.bytes + 1, all = magsgn.bytes + tail;
        uint8_t *const out = bytes() + magsgn.bytes + mel_stream.bytes;
        const auto with_length = [tail](uint32_t byte) { return static_cast<uint8_t>((byte & 0xF0) | (tail & 15)); };
        if (lane == 0) {
            if (last == 1) out[0] = static_cast<uint8_t>(ends.mel | ends.vlc);
            if (last == 2) {
                out[0] = static_cast<uint8_t>(ends.mel);
                out[1] = vlc_stream.bytes ? static_cast<uint8_t>(ends.vlc) : with_length(ends.vlc);
            }
            bytes()[all - 1] = static_cast<uint8_t>(tail >> 4);
        }
        const uint8_t *const reversed = reinterpret_cast<const uint8_t *>(states());
        CUDAENC_NO_UNROLL
        for (uint32_t i = lane; i < vlc_stream.bytes; i += 32) {
            const uint32_t byte = reversed[i];
            bytes()[all - 2 - i] = i ? static_cast<uint8_t>(byte) : with_length(byte);
        }
        return all;
    }
};

// What a thread-block has in shared memory. codes: [2048], and uvlc_word() of each u; mel_entries: [kMelEnd];
// memory: HtLayout::kWords a warp; work: [kWarps].
struct HtShared {
    uint16_t *codes;
    uint32_t *mel_entries, *memory;
    MelWork *work;
};

// Begins with all threads.
template <int kWarps>
DEVICE void load_codes(const HtInput &p, const HtShared &shared) {
    const Uint4 *const table = reinterpret_cast<const Uint4 *>(p.codes->entries[1]);
    for (int i = thread_x(); i < 2048 / 8; i += kWarps * 32)
        reinterpret_cast<Uint4 *>(shared.codes)[i] = load_readonly(table + i);
    if (thread_x() < kMelEnd) shared.mel_entries[thread_x()] = load_readonly(p.codes->mel + thread_x());
    if (thread_x() <= kMostU)
        shared.codes[2048 + thread_x()] =
            static_cast<uint16_t>(uvlc_word(u_pfx_code(thread_x()), u_sfx_code(thread_x())));
}

// Codes a thread-block's blocks, one a warp. index: of the warp's, which may be behind the last one. scan(HtBlock &):
// scans the warp's block, or does nothing. lowest: of the warp. Returns the codeword's bytes, 0 if no sample is
// significant.
template <int kQuads, int kWarps, HtKind kKind, class Scan>
DEVICE uint32_t code_block(const HtInput &p, const HtShared &shared, const CodeBlock &block, uint32_t index,
                           const HtLowest &lowest, const Scan &scan) {
    using Layout = typename HtBlock<kQuads, kKind>::Layout;
    HtBlock<kQuads, kKind> own{.block = block,
                               .coefficients = p.coefficients,
                               .is_short = p.is_short,
                               .lowest = lowest,
                               .all_codes = p.codes,
                               .codes = shared.codes,
                               .uvlc_words = shared.codes + 2048,
                               .memory = shared.memory + warp_id() * Layout::kWords,
                               .room = {reinterpret_cast<uint32_t *>(p.coded.room(min_of(index, p.count - 1))), 0}};
    MelWork *const work = shared.work;
    scan(own);
    const int lane = lane_id();
    if (lane == 0) {
        work[warp_id()].entries = own.any ? own.entries : 0;
        work[warp_id()].pairs = own.any ? own.coded : 0;
    }
    block_sync();
    // Lanes of the warp with the fewest pairs code the events of all, while other warps code their pairs.
    const uint32_t fewest =
        warp_min(lane < kWarps ? work[lane].pairs * kWarps + static_cast<uint32_t>(lane) : ~uint32_t{0});
    if (warp_id() == static_cast<int>(fewest % kWarps) && lane < kWarps) {
        uint32_t *const words = shared.memory + lane * Layout::kWords;
        const uint32_t entries = work[lane].entries;
        work[lane].bits =
            entries ? code_events(words + Layout::kEvents, entries, shared.mel_entries, words + Layout::kMel) : 0;
    }
    warp_sync();
    ByteStream vlc{};
    if (own.any) {
        own.code_pairs();
        own.finish_magsgn();
        vlc = own.stuff_vlc();
    }
    block_sync();
    const uint32_t bytes = own.any ? own.join(vlc, work[warp_id()].bits) : 0;
    warp_sync();  // the memory is free for the next one
    return bytes;
}

}  // namespace cudaenc::j2k
