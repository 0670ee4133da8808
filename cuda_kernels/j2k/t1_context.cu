// Tier-1's context modelling, sample-parallel: who belongs to a pass, its contexts and decisions, by logic on words
// that hold 32 rows of a column (common/j2k/context_planes.h, after Matela et al. 2010); then every lane writes the
// pairs of its column's part of each stripe at a position that scans over the warp give. SPDX-License-Identifier:
// LGPL-2.1-or-later
#include "../../common/j2k/context_planes.h"
#include "../../common/j2k/early_stop.h"

#include "../../common/j2k/mq.h"
#include "../../common/j2k/quantise.h"
#include "../../common/j2k/rate.h"
#include "../../common/j2k/raw.h"
#include "../device.cuh"
#include "t1_planes_params.h"

namespace cudaenc::j2k {

constexpr int kStripes = 8;  // of a word

// Pairs that come before a lane's in each stripe of a pass, and the pass's total.
struct StripePositions {
    uint32_t before[kStripes];
};

// Eight counts, a nibble each, to their sums over the lanes below; `total` over all lanes.
DEVICE void scan_stripes(uint32_t counts, uint32_t (&before)[kStripes], uint32_t (&total)[kStripes]) {
    // Three counts share a word: 32 lanes of at most 11 stay below 2^10.
    CUDAENC_UNROLL
    for (int i = 0; i < 3; i++) {
        const uint32_t c = counts >> (12 * i);
        const uint32_t packed = (c & 0xF) | (c & 0xF0) << 6 | (i < 2 ? (c & 0xF00) << 12 : 0);
        const uint32_t sum = warp_inclusive_add(packed);
        const uint32_t all = warp_shuffle(sum, 31), less = sum - packed;
        CUDAENC_UNROLL
        for (int k = 0; k < (i < 2 ? 3 : 2); k++) {
            before[3 * i + k] = (less >> (10 * k)) & 1023;
            total[3 * i + k] = (all >> (10 * k)) & 1023;
        }
    }
}

// The stripe whose bits a lane has after columns_of_stripe().
DEVICE int stripe_of_lane() { return static_cast<int>(reverse_bits(static_cast<uint32_t>(lane_id()) & 7) >> 29); }

// Adds to `before` what lanes before have in `total`, and makes that the sum, over the lanes that differ in these bits
// of their number, the lowest digit first.
template <int... kBits>
DEVICE void scan_lane_bits(uint32_t &before, uint32_t &total) {
    const auto add = [&](int bit) {
        const uint32_t other = warp_shuffle_xor(total, bit);
        before += lane_id() & bit ? other : 0;
        total += other;
    };
    (add(kBits), ...);
}

// A block of at most 32x32 in one warp.
struct OneTile {
    const uint32_t *planes;  // [plane][lane], of this warp

    DEVICE_MEMBER Around<uint32_t> around(uint32_t word) const {
        const int lane = lane_id();
        const uint32_t up = warp_shuffle_up(word, 1), down = warp_shuffle_down(word, 1);
        const uint32_t w = lane ? up : 0, e = lane < 31 ? down : 0;
        return {w, e, word << 1, word >> 1, w << 1, e << 1, w >> 1, e >> 1};
    }
    DEVICE_MEMBER bool any(bool condition) const { return warp_any(condition); }
    DEVICE_MEMBER void sync() const { warp_sync(); }
    DEVICE_MEMBER bool is_first_warp() const { return true; }
    DEVICE_MEMBER uint32_t plane(int plane) const { return planes[plane * 32 + lane_id()]; }
    DEVICE_MEMBER uint32_t sum(uint32_t count) const { return warp_add(count); }
    // Positions of this lane's pairs, from `base`, which moves on past the pass.
    DEVICE_MEMBER StripePositions positions(uint32_t counts, uint32_t &base) const {
        StripePositions at;
        uint32_t total[kStripes];
        scan_stripes(counts, at.before, total);
        CUDAENC_UNROLL
        for (int s = 0; s < kStripes; s++) {
            at.before[s] += base;
            base += total[s];
        }
        return at;
    }
    // Position of the bits of this lane's eight columns in its stripe (see columns_of_stripe()), from `base`, which
    // moves on past the pass.
    DEVICE_MEMBER uint32_t position(uint32_t count, uint32_t &base) const {
        uint32_t before = base, total = count;
        scan_lane_bits<8, 16, 4, 2, 1>(before, total);
        base += total;
        return before;
    }
};

// A warp's tile of a larger block; the block's tiles are a thread-block's warps, in raster order.
struct ManyTiles {
    const uint32_t *coefficients;  // of the tile's column of this lane, valid rows only
    uint32_t stride;
    int rows;  // valid ones of this lane's column
    int columns_of_tiles, rows_of_tiles;
    uint32_t *words;   // shared: [tile][lane]
    uint32_t *totals;  // shared: [(tile row * kStripes + stripe) * columns + tile column], then their sum

    DEVICE_MEMBER int tile_x() const { return warp_id() % columns_of_tiles; }
    DEVICE_MEMBER int tile_y() const { return warp_id() / columns_of_tiles; }
    // The word of the column `dx` to the right in the tile row `dy` below; 0 outside.
    DEVICE_MEMBER uint32_t word_at(int dx, int dy) const {
        const int lane = lane_id() + dx, tx = tile_x() + (lane < 0 ? -1 : lane > 31 ? 1 : 0), ty = tile_y() + dy;
        if (tx < 0 || tx >= columns_of_tiles || ty < 0 || ty >= rows_of_tiles) return 0;
        return words[(ty * columns_of_tiles + tx) * 32 + (lane & 31)];
    }
    DEVICE_MEMBER Around<uint32_t> around(uint32_t word) const {
        words[thread_x()] = word;
        block_sync();
        uint32_t here[3], above[3], below[3];
        CUDAENC_UNROLL
        for (int dx = -1; dx <= 1; dx++) {
            here[dx + 1] = word_at(dx, 0);
            above[dx + 1] = here[dx + 1] << 1 | word_at(dx, -1) >> 31;
            below[dx + 1] = here[dx + 1] >> 1 | word_at(dx, 1) << 31;
        }
        block_sync();
        return {here[0], here[2], above[1], below[1], above[0], above[2], below[0], below[2]};
    }
    DEVICE_MEMBER bool any(bool condition) const { return block_any(condition); }
    DEVICE_MEMBER void sync() const { block_sync(); }
    DEVICE_MEMBER bool is_first_warp() const { return warp_id() == 0; }
    DEVICE_MEMBER uint32_t plane(int plane) const {
        uint32_t word = 0;
        for (int y = 0; y < rows; y++) word |= ((coefficients[static_cast<uint64_t>(y) * stride] >> plane) & 1) << y;
        return word;
    }
    DEVICE_MEMBER uint32_t sum(uint32_t count) const {
        const uint32_t own = warp_add(count);
        if (lane_id() == 0) totals[warp_id()] = own;
        block_sync();
        const uint32_t all = warp_add(lane_id() < columns_of_tiles * rows_of_tiles ? totals[lane_id()] : 0);
        block_sync();
        return all;
    }
    DEVICE_MEMBER StripePositions positions(uint32_t counts, uint32_t &base) const {
        StripePositions at;
        uint32_t total[kStripes];
        scan_stripes(counts, at.before, total);
        if (lane_id() == 0) {
            CUDAENC_UNROLL
            for (int s = 0; s < kStripes; s++) totals[stripe_index(s)] = total[s];
        }
        scan_totals();
        CUDAENC_UNROLL
        for (int s = 0; s < kStripes; s++) at.before[s] += base + totals[stripe_index(s)];
        base += totals[256];
        block_sync();
        return at;
    }
    DEVICE_MEMBER uint32_t position(uint32_t count, uint32_t &base) const {
        uint32_t before = base, total = count;
        scan_lane_bits<8, 16>(before, total);
        const int index = stripe_index(stripe_of_lane());
        if (lane_id() < 8) totals[index] = total;
        scan_totals();
        before += totals[index];
        base += totals[256];
        block_sync();
        return before;
    }
    DEVICE_MEMBER int stripe_index(int stripe) const {
        return (tile_y() * kStripes + stripe) * columns_of_tiles + tile_x();
    }
    // Sums of the totals before each, and behind them the sum of all.
    DEVICE_MEMBER void scan_totals() const {
        block_sync();
        const int count = columns_of_tiles * rows_of_tiles * kStripes;  // at most 256
        if (warp_id() == 0) {
            uint32_t own[8], sum = 0;
            CUDAENC_UNROLL
            for (int k = 0; k < 8; k++) {
                const int i = lane_id() * 8 + k;
                own[k] = i < count ? totals[i] : 0;
                sum += own[k];
            }
            uint32_t before = warp_inclusive_add(sum) - sum;
            CUDAENC_UNROLL
            for (int k = 0; k < 8; k++) {
                const int i = lane_id() * 8 + k;
                if (i < count) totals[i] = before;
                before += own[k];
            }
            if (lane_id() == 31) totals[256] = before;
        }
        block_sync();
    }
};

// Words of a raw segment, which has at most two bits a sample.
constexpr int kTileRawWords = static_cast<int>(raw_words(2 * 32 * 32)),
              kRawWords = static_cast<int>(raw_words(2 * kMostSamples));

// Where a block's raw segments go.
DEVICE uint8_t *raw_place(const Tier1Buffers &t1, const CodeBlock &b, uint32_t style) {
    return t1.slots + b.slot + slot_layout(b.width, b.height, b.planes, style).raw;
}

// Whether there may be raw passes.
template <Kind kKind>
constexpr bool kHasRaw = kKind == Kind::kBypass || kKind == Kind::kStyled;

struct NoSegments {};
// Raw segments: their bits are gathered in shared memory, and stuffed by a warp.
template <class Tile>
struct RawSegments {
    const Tile &tile;
    uint32_t *words;     // shared, zero before the first pass: kTileRawWords for a block of one tile, else kRawWords
    uint8_t *out;        // the segments' place
    uint32_t bits = 0;   // of the segment so far
    uint32_t bytes = 0;  // of those before it

    // A pass's bits: of `members`, and, where they are `becoming`, signs; counts: of each stripe, a nibble each. Until
    // the segment ends its first bit is the lowest.
    DEVICE_MEMBER void put(uint32_t counts, uint32_t members, uint32_t decisions, uint32_t becoming, uint32_t negative,
                           bool has_signs) {
        // A lane's bits of each stripe, a byte each.
        uint32_t upper, lower;  // four stripes each
        if (has_signs) {
            const auto interleaved = [&](int shift) {
                const auto spread = [shift](uint32_t even, uint32_t odd) {
                    return spread_bits(even >> shift & 0xFFFF) | spread_bits(odd >> shift & 0xFFFF) << 1;
                };
                return compress_fields<8>(spread(decisions, negative), spread(members, becoming));
            };
            upper = interleaved(0);
            lower = interleaved(16);
        } else {
            const uint32_t value = compress_fields<4>(decisions, members);
            upper = spread_nibbles(value & 0xFFFF);
            lower = spread_nibbles(value >> 16);
        }
        uint32_t count;
        const uint64_t value = columns_of_stripe(upper, lower, counts, count);
        const uint32_t to = tile.position(count, bits), low = static_cast<uint32_t>(value),
                       high = static_cast<uint32_t>(value >> 32);
        const uint32_t word[3] = {low << (to % 32), funnel_shift_left(low, high, to % 32),
                                  funnel_shift_left(high, 0, to % 32)};
        CUDAENC_UNROLL
        for (int i = 0; i < 3; i++)
            if (word[i]) atomic_or(&words[to / 32 + static_cast<uint32_t>(i)], word[i]);
    }

    // From each lane's bits of eight stripes, a byte each, to those that eight lanes have of one, the first column's
    // the lowest: lanes 8 i to 8 i + 7 have the stripes of their columns, see stripe_of_lane(). count: of those bits.
    DEVICE_MEMBER static uint64_t columns_of_stripe(uint32_t upper, uint32_t lower, uint32_t counts, uint32_t &count) {
        // Of two lanes, one takes the upper four stripes and one the lower; then two each of those; then one.
        const bool odd = lane_id() & 1, second = lane_id() & 2, fourth = lane_id() & 4;
        const auto exchange = [](bool takes_later, uint32_t earlier, uint32_t later, int distance, uint32_t &left,
                                 uint32_t &right) {
            const uint32_t own = takes_later ? later : earlier,
                           other = warp_shuffle_xor(takes_later ? earlier : later, distance);
            left = takes_later ? other : own;
            right = takes_later ? own : other;
        };
        uint32_t left, right, left_counts, right_counts;
        exchange(odd, upper, lower, 1, left, right);
        exchange(odd, spread_nibbles(counts & 0xFFFF), spread_nibbles(counts >> 16), 1, left_counts, right_counts);
        const auto pair = [&](int k) {
            return (left >> 8 * k & 0xFF) | (right >> 8 * k & 0xFF) << (left_counts >> 8 * k & 0xFF);
        };
        uint32_t sums = left_counts + right_counts;
        exchange(second, pair(0) | pair(1) << 16, pair(2) | pair(3) << 16, 2, left, right);
        exchange(second, sums & 0xFFFF, sums >> 16, 2, left_counts, right_counts);
        const uint32_t first = (left & 0xFFFF) | (right & 0xFFFF) << (left_counts & 0xFF),
                       then = left >> 16 | (right >> 16) << (left_counts >> 8);
        sums = left_counts + right_counts;
        exchange(fourth, first, then, 4, left, right);
        exchange(fourth, sums & 0xFF, sums >> 8, 4, left_counts, right_counts);
        count = left_counts + right_counts;
        return left | static_cast<uint64_t>(right) << left_counts;
    }

    // Ends the segment, whose first pass made `first_bits`. All lanes call it. Returns the bytes up to the end of the
    // first pass, and of the segment, both with those before it; in the first warp only.
    struct Ends {
        uint32_t first_pass, segment;
    };
    DEVICE_MEMBER Ends end(uint32_t first_bits) {
        tile.sync();
        Ends ends{};
        if (tile.is_first_warp()) {
            const uint32_t lane = static_cast<uint32_t>(lane_id()), all = raw_words(bits);
            bool full = false;
            CUDAENC_NO_UNROLL
            for (uint32_t i = lane; 32 * i < bits; i += 32) {
                words[i] = reverse_bits(words[i]);
                full |= full_bytes(words[i]) != 0;
            }
            warp_sync();
            if (lane == 0)
                put_raw_bits(bits, kRawPadding, kRawPaddingBits, [&](uint32_t i, uint32_t word) { words[i] |= word; });
            if (warp_any(full)) stuff(first_bits);
            warp_sync();
            ends = {bytes + (first_bits + 7) / 8, bytes + (bits + 7) / 8};
            CUDAENC_NO_UNROLL
            for (uint32_t i = lane; bytes + i < ends.segment; i += 32)
                out[bytes + i] = static_cast<uint8_t>(words[i / 4] >> (24 - 8 * (i % 4)));
            bytes = ends.segment;
            warp_sync();
            CUDAENC_NO_UNROLL
            for (uint32_t i = lane; i < all; i += 32) words[i] = 0;
        }
        bits = 0;
        tile.sync();
        return ends;
    }

    // Puts a 0 behind each byte 0xFF, one by one, since they are rare: all bits behind it move on by one. The ends, in
    // bits, move as well; they do not lie behind a byte 0xFF without what is stuffed.
    DEVICE_MEMBER void stuff(uint32_t &first_bits) {
        const uint32_t lane = static_cast<uint32_t>(lane_id());
        for (uint32_t from = 0;;) {  // bytes before it are as they stay
            warp_sync();
            uint32_t found = ~0u;
            CUDAENC_NO_UNROLL
            for (uint32_t i = from / 4 + lane; 32 * i < bits && found == ~0u; i += 32) {
                const uint32_t full = full_bytes(words[i]) & (i == from / 4 ? ~0u >> 8 * (from % 4) : ~0u);
                if (full) found = 4 * i + static_cast<uint32_t>(count_leading_zeros(full)) / 8;
            }
            found = warp_min(found);
            if (found == ~0u) return;
            const uint32_t at = 8 * found + 8;  // of the stuffed bit
            // From the last word on, since each takes a bit of the one before.
            CUDAENC_NO_UNROLL
            for (uint32_t end = (bits + kRawPaddingBits) / 32 + 1; end > at / 32;) {
                const uint32_t begin = max_of(end, at / 32 + 32) - 32, i = begin + lane;
                uint32_t word = 0;
                if (i < end) {
                    const uint32_t stays = i == at / 32 ? ~(~0u >> at % 32) : 0;
                    const uint32_t carried = i == at / 32 ? 0 : words[i - 1] << 31;
                    word = (words[i] & stays) | (words[i] & ~stays) >> 1 | carried;
                }
                warp_sync();
                if (i < end) words[i] = word;
                warp_sync();
                end = begin;
            }
            if (8 * found < first_bits) first_bits = max_of(first_bits, at) + 1;
            bits = max_of(bits, at) + 1;
            from = found + 2;
        }
    }
};

// Two counts of at most 4096 share a word.
template <class Tile>
DEVICE uint32_t count_both(const Tile &tile, uint32_t low, uint32_t high) {
    return tile.sum(static_cast<uint32_t>(popcount(low) | popcount(high) << 16));
}
// DecisionCounts, both classes in a word.
struct PackedCounts {
    uint32_t ones, all;
    DEVICE_MEMBER uint32_t found() const { return (ones & 0xFFFF) + (ones >> 16); }
};
// decided, ones: samples of the pass; near: those of the second class.
template <class Tile>
DEVICE PackedCounts count_decisions(const Tile &tile, uint32_t decided, uint32_t ones, uint32_t near) {
    return {count_both(tile, ones & ~near, ones & near), count_both(tile, decided & ~near, decided & near)};
}

// Of the bits below those of a lane's samples that become significant or are refined, in eighths: how much is alike. A
// bit below counts for a one and against a zero: so do those that are alike, less the zeros.
template <class Tile>
DEVICE uint32_t alike_below(const Tile &tile, int plane, uint32_t samples, uint32_t bits) {
    uint32_t alike = 0;
    const int below = min_of(plane, kGainPlanes);
    CUDAENC_UNROLL
    for (int k = 0; k < kGainPlanes; k++)
        if (k < below)
            alike +=
                static_cast<uint32_t>(popcount(samples & ~(tile.plane(plane - 1 - k) ^ bits)) << (kGainPlanes - 1 - k));
    return alike;
}
// What samples of a pass take off the squared error.
DEVICE int32_t gain_of_samples(bool refinement, int ones, int zeros, uint32_t alike, int plane, bool reversible) {
    const GainRounding rounding = gain_rounding(plane, reversible);
    const int eighths = static_cast<int>(alike);
    if (!refinement) return gain_of_found(rounding, ones, eighths);
    return gain_of_refined(rounding, ones, zeros, eighths - zeros * (8 - (8 >> min_of(plane, kGainPlanes))));
}

// Samples that are coded next, over the block: members by a zero coding decision, some with a neighbour; and, if it
// `refines`, others.
template <class Tile>
DEVICE NextSamples<PackedCounts> count_next(const Tile &tile, bool refines, uint32_t refined, uint32_t members,
                                            uint32_t bits, uint32_t near) {
    return {refines ? tile.sum(static_cast<uint32_t>(popcount(refined))) : 0,
            count_decisions(tile, members, members & bits, near)};
}
// What they take off the squared error.
template <class Tile>
DEVICE int32_t gain_of_next(const Tile &tile, bool refines, uint32_t refined, uint32_t members, uint32_t bits,
                            int plane, bool reversible) {
    const auto gain = [&](bool refinement, uint32_t samples) {
        const int ones = popcount(samples & bits);
        return gain_of_samples(refinement, ones, popcount(samples) - ones, alike_below(tile, plane, samples, bits),
                               plane, reversible);
    };
    const int own = gain(false, members & bits) + (refines ? gain(true, refined) : 0);
    return static_cast<int32_t>(tile.sum(static_cast<uint32_t>(own)));
}

// Of a pass, over the block: decisions but signs, and of these ones << 16; see alike_below().
struct PassSums {
    uint32_t decisions, alike;
};

// As EntropyOf, an operand a lane.
struct WarpEntropyOf {
    DEVICE_MEMBER uint32_t operator()(const PackedCounts &c) const {
        const int lane = lane_id();
        const auto own = [lane](uint32_t word) { return word >> 16 * (lane & 1) & 0xFFFF; };
        const uint32_t all = own(c.all), ones = own(c.ones),
                       part = x_log2_x(lane < 2   ? all
                                       : lane < 4 ? ones
                                       : lane < 6 ? all - ones
                                                  : 0);
        return warp_add(lane < 2 ? part : 0 - part);
    }
};

// What was made of a block.
struct Modelled {
    uint32_t pairs;
    int passes;
};

// What of this lane's column the bit-planes above leave: significant samples, and those refined before.
struct ContextState {
    uint32_t significant = 0, refined = 0;
    uint32_t pairs = 0;  // of the block, in its slot
    StopRule stop{};     // read with Kind::kCuttable
    int certain = 0;     // passes that are
    PassSums sums{};     // if passes are measured: of the pass that has this lane's number, from `first` on
};

// Fills pairs up to a multiple of kPassAlignment with some that mean nothing, behind segmentation symbols if there are
// to be. Returns how many there are then.
template <class Tile>
DEVICE uint32_t fill_up(const Tile &tile, uint8_t *pairs, uint32_t count, bool symbols) {
    const uint32_t begin = count + (symbols ? 4 : 0);
    const uint32_t end = (begin + kPassAlignment - 1) / kPassAlignment * kPassAlignment,
                   at = count + static_cast<uint32_t>(lane_id());
    if (tile.is_first_warp() && at < end)
        pairs[at] = static_cast<uint8_t>(at < begin ? kUniform << 1 | (((at - count) & 1) ^ 1) : kNoPair);
    return end;
}

// A block's passes [first, last), which begin and end with a bit-plane. valid: rows of this lane's column that exist;
// negative: their signs. segments: what becomes of raw passes. measured: state.sums is asked for; writes_ends: this
// thread writes pass_ends.
template <Kind kKind, class Tile, class Segments>
DEVICE Modelled model_passes(const Tile &tile, uint32_t valid, uint32_t negative, int planes, const CodeBlock &b,
                             uint32_t style, uint8_t *slot, Segments &segments, uint32_t *pass_ends, bool measured,
                             bool writes_ends, int first, int last, ContextState &state) {
    constexpr bool kStyled = kKind == Kind::kStyled, kRaw = kHasRaw<kKind>, kAligned = kKind != Kind::kPlain;
    [[maybe_unused]] uint8_t *const pairs =
        opaque(kAligned ? slot + slot_layout(b.width, b.height, b.planes, style).pairs : slot);
    [[maybe_unused]] uint32_t propagation_bits = 0;  // of a raw significance propagation
    const auto significant_around = [&](uint32_t word) {
        const Around<uint32_t> all = tile.around(word);
        return kStyled && (style & kVerticallyCausal) ? causal(all) : all;
    };
    const Around<uint32_t> signs = tile.around(negative);
    uint32_t &significant = state.significant, &refined = state.refined;  // before the pass
    uint32_t visited = 0, fresh = 0;  // in this plane's significance propagation: coded, become significant
    uint32_t &base = state.pairs;
    // One body for the three kinds of pass keeps the code small enough for the instruction cache. The first plane has
    // the last kind only.
    const int passes = coding_passes(planes), without_last = max_of(passes - kLastPasses, 0);
    // With so many passes; what is last of a bypass's MQ segment is filled up.
    const auto leave = [&](int count) {
        if (kKind == Kind::kBypass && count && !is_raw(style, count - 1)) {
            base = fill_up(tile, pairs, base, false);
            if (writes_ends) pass_ends[count - 1] = base;
        }
        return Modelled{base, count};
    };
    for (int pass = first; pass < last; pass++) {
        const int kind = pass_kind(pass);
        const bool raw = kRaw && is_raw(style, pass);
        const uint32_t bits = tile.plane(planes - 1 - (pass + 2) / 3);
        const int plane = planes - 1 - (pass + 2) / 3;
        const uint32_t known = significant | fresh;
        const Around<uint32_t> before = significant_around(known);
        bool ends_before = false;  // the block is left, but for the raw segment that the pass would have continued
        const bool is_certain = kKind == Kind::kCuttable && pass < state.certain;
        const bool is_last = pass == without_last && b.lossy,
                   asks = kKind == Kind::kCuttable && state.stop.asks(pass, plane);  // none that is certain
        if (is_last || asks) {
            if (asks && state.stop.leaves(pass, plane)) return leave(pass);
            // What the pass reaches from samples significant before; or all that is left of the plane.
            const bool reaches = kind == kSignificancePropagation, refines = kind == kMagnitudeRefinement;
            const uint32_t next = valid & ~known & (reaches ? before.any() : ~visited);
            const uint32_t near =
                reaches ? before.nearest()
                        : (kStyled ? tile.around(known) : before).any() | reached_in_pass(tile.around(next & bits));
            const NextSamples<PackedCounts> counts = count_next(tile, refines, significant, next, bits, near);
            if (is_last && !worth_coding(counts, WarpEntropyOf{})) {
                ends_before = true;
                if (!(kRaw && pass && is_raw(style, pass - 1) && !ends_segment(style, pass - 1))) return leave(pass);
            }
            if (asks &&
                state.stop.stops(plane, gain_of_next(tile, refines, significant, next, bits, plane, b.reversible),
                                 counts, WarpEntropyOf{}))
                return leave(pass);
        }
        uint32_t members, becoming = 0;         // coded by a zero coding or refinement decision; a sign follows
        uint32_t run = 0;                       // first rows of stripes in run-length mode
        [[maybe_unused]] uint32_t decided = 0;  // members, runs too
        uint32_t counts = 0;
        ContextBits<uint32_t> context{};
        SignBits<uint32_t> sign{};
        if (kind == kMagnitudeRefinement) {
            members = decided = significant;
            context = refinement_planes(before.any(), refined);
            refined |= significant;
        } else {
            Around<uint32_t> in_pass;
            if (kind == kSignificancePropagation) {
                const uint32_t candidates = ~significant & valid, around = before.any();
                visited = candidates & around;
                for (;;) {
                    fresh = visited & bits;
                    in_pass = tile.around(fresh);
                    const uint32_t more = candidates & (around | reached_in_pass(in_pass));
                    const bool changed = more != visited;
                    visited = more;
                    if (!tile.any(changed)) break;
                }
                members = visited;
                becoming = fresh;
            } else {
                members = valid & ~known & ~visited;
                becoming = members & bits;
                in_pass = tile.around(becoming);
            }
            const Around<uint32_t> now = when_visited(before, in_pass);
            decided = members;
            if (kind == kCleanUp) {
                const RunLength<uint32_t> runs = run_length(members, becoming, before, in_pass, now);
                members = runs.members;
                run = runs.columns;
                counts = run + (runs.ended << 1);
                significant |= fresh | becoming;
                visited = 0;
                fresh = 0;
            }
            counts += nibble_sums(becoming);
            if (!raw) {
                context = zero_coding_planes(now, b.orientation);
                sign = sign_coding_planes(now, negative, signs);
            }
        }
        if (kKind != Kind::kPlain && measured && !ends_before && !is_certain) {
            const bool refinement = kind == kMagnitudeRefinement;
            const uint32_t worked_on = refinement ? members : becoming;
            const PassSums sums{count_both(tile, decided, worked_on & bits),
                                tile.sum(alike_below(tile, plane, worked_on, bits))};
            if (lane_id() == pass - first) state.sums = sums;
        }
        counts += nibble_sums(members);
        if constexpr (kRaw) {
            if (raw) {
                if (!ends_before)
                    segments.put(counts, members, bits, becoming, negative, kind == kSignificancePropagation);
                if (kind == kSignificancePropagation) propagation_bits = segments.bits;
                if (ends_before || pass == passes - 1 || ends_segment(style, pass)) {
                    const auto [propagation, all] = segments.end(propagation_bits);
                    const int of = ends_before ? pass - 1 : pass;
                    if (writes_ends && pass_kind(of) == kMagnitudeRefinement && !ends_segment(style, of - 1))
                        pass_ends[of - 1] = propagation;
                    if (writes_ends) pass_ends[of] = all;
                }
                if (ends_before) return leave(pass);
                continue;
            }
        }
        const StripePositions positions = tile.positions(counts, base);
        // Pairs as bytes, for all rows at once: context << 1 | decision; contexts of signs from 9 on.
        uint32_t coded[8] = {bits, context.bit[0], context.bit[1], context.bit[2], context.bit[3], context.bit[4], 0,
                             0};
        uint32_t coded_signs[8] = {sign.decision,
                                   ~sign.bit[0],
                                   sign.bit[0] ^ sign.bit[1],
                                   (sign.bit[0] & sign.bit[1]) | sign.bit[2],
                                   ~0u,
                                   0,
                                   0,
                                   0};
        planes_to_bytes(coded);
        planes_to_bytes(coded_signs);
        // Two stripes a turn, so that the loop is small.
        StripePositions to = positions;
        uint32_t here_on = members, signed_on = becoming, runs_on = run;
        CUDAENC_NO_UNROLL
        for (int turn = 0; turn < kStripes / 2; turn++) {
            CUDAENC_UNROLL
            for (int s = 0; s < 2; s++) {
                const uint32_t here = here_on >> (4 * s), signed_here = signed_on >> (4 * s),
                               runs_here = runs_on >> (4 * s);
                if (!((here | signed_here | runs_here) & 15)) continue;
                uint8_t *at = pairs + to.before[s];
                // No branches: some lane has something to put nearly always.
                const auto put = [&](uint32_t word, int bit, uint32_t pair) {
                    const uint32_t there = word & 1u << bit;
                    if (there) *at = static_cast<uint8_t>(pair);
                    at += there >> bit;
                };
                if (runs_here & 1) {
                    const bool ended = signed_here & 15;
                    put(1, 0, kRunLength << 1 | (ended ? 1 : 0));
                    if (ended) {
                        const int row = find_first_set(signed_here);
                        put(1, 0, kUniform << 1 | row >> 1);
                        put(1, 0, kUniform << 1 | (row & 1));
                    }
                }
                CUDAENC_UNROLL
                for (int row = 0; row < 4; row++) {
                    put(here, row, coded[4 * s + row]);
                    put(signed_here, row, coded_signs[4 * s + row]);
                }
            }
            here_on >>= 8;
            signed_on >>= 8;
            runs_on >>= 8;
            CUDAENC_UNROLL
            for (int i = 0; i < 8; i++) {
                coded[i] >>= 8;
                coded_signs[i] >>= 8;
                if (i < kStripes - 2) to.before[i] = to.before[i + 2];
            }
        }
        const bool ends = kKind == Kind::kBypass ? kind == kCleanUp && pass >= kFirstRawPass - 1
                                                 : !is_certain || pass == state.certain - 1;
        if (kAligned && ends)
            base = fill_up(tile, pairs, base, kStyled && kind == kCleanUp && (style & kSegmentationSymbols));
        if (writes_ends && ends) pass_ends[pass] = base;
    }
    return leave(last);
}

// What a lane's pass takes off the squared error, of passes from `first` on.
DEVICE int32_t gain_of_pass(const PassSums &sums, int planes, bool reversible, int first) {
    const int pass = first + lane_id(), plane = max_of(planes - 1 - (pass + 2) / 3, 0);
    const int ones = static_cast<int>(sums.decisions >> 16), zeros = static_cast<int>(sums.decisions & 0xFFFF) - ones;
    return gain_of_samples(pass_kind(pass) == kMagnitudeRefinement, ones, zeros, sums.alike, plane, reversible);
}

// As model_passes(), and measures the passes if `gains` are asked for, as Tier1Buffers has them, for all passes.
template <Kind kKind, class Tile, class Segments>
DEVICE Modelled model_contexts(const Tile &tile, uint32_t valid, uint32_t negative, int planes, const CodeBlock &b,
                               uint32_t style, uint8_t *slot, Segments &segments, uint32_t *pass_ends, int32_t *gains,
                               bool writes_ends, int first, int last, ContextState &state) {
    for (int from = first;;) {
        // No more passes than lanes, to the end of a plane.
        const int to = gains ? min_of(last, from + (from ? 30 : 31)) : last;
        const Modelled modelled = model_passes<kKind>(tile, valid, negative, planes, b, style, slot, segments,
                                                      pass_ends, gains, writes_ends, from, to, state);
        if (kKind != Kind::kPlain && gains && modelled.passes > max_of(state.certain, from) && tile.is_first_warp()) {
            const int pass = from + lane_id();
            const int32_t gain = gain_of_pass(state.sums, planes, b.reversible, from);
            if (pass >= state.certain && pass < modelled.passes) gains[pass] = gain;
        }
        if (modelled.passes < to || to == last) return modelled;
        from = to;
    }
}

DEVICE void finish_block(const Tier1Buffers &t1, uint32_t block, const Modelled &modelled, int planes,
                         const ContextState &state) {
    t1.pairs[block] = modelled.pairs;
    t1.planes[block] = static_cast<uint8_t>(modelled.passes ? planes : 0);
    t1.passes[block] = static_cast<uint8_t>(modelled.passes);
    if (t1.certain) {
        t1.certain[block] = static_cast<uint8_t>(state.certain);
        t1.guesses[block] = guessed_bytes(modelled.pairs);
    }
    atomic_add(&t1.work_counts[work_class(modelled.pairs)], 1u);
}

// The lowest `rows` bits, of 32 at most.
DEVICE uint32_t first_rows(int rows) { return rows == 32 ? 0xFFFFFFFFu : (1u << rows) - 1; }

// Reads the column of a tile that begins at (x, y) of the block, and its signs, bit i row i. Returns how many magnitude
// bit-planes the tile has.
DEVICE int read_column(const uint32_t *coefficients, const CodeBlock &b, int x, int y, uint32_t (&column)[32],
                       uint32_t &negative) {
    uint32_t all = 0, signs = 0;
    const int rows = x < b.width ? b.height - y : 0;
    const uint32_t *from = coefficients + b.coefficients + static_cast<uint64_t>(y) * b.stride + x;
    const auto read = [&](const auto &has) {
        CUDAENC_UNROLL
        for (uint32_t i = 0; i < 32; i++) {
            column[i] = has(static_cast<int>(i)) ? from[uint64_t{i} * b.stride] : 0;
            signs = funnel_shift_left(column[i], signs, 1);
            all |= column[i];
        }
    };
    if (x - lane_id() + 32 <= b.width && y + 32 <= b.height)
        read([](int) { return true; });
    else
        read([rows](int i) { return i < rows; });
    negative = reverse_bits(signs);
    return bit_width(warp_or(all & ~kSignBit));
}

// Its bit-planes, bit i of a word row i: store(plane, word) for planes below `count`.
template <class Store>
DEVICE void slice_column(const uint32_t (&column)[32], int count, const Store &store) {
    // Eight planes a turn: of each row a byte, rows that are eight apart in a word.
    uint32_t byte = 0x40;  // of one word, and of another
    CUDAENC_NO_UNROLL
    for (int plane = 0; plane < count; plane += 8, byte += 0x11) {
        uint32_t words[8];
        CUDAENC_UNROLL
        for (int i = 0; i < 8; i++)
            words[i] = byte_permute(byte_permute(column[i], column[i + 8], byte),
                                    byte_permute(column[i + 16], column[i + 24], byte), 0x5410);
        planes_to_bytes(words);
        CUDAENC_UNROLL
        for (int i = 0; i < 8; i++)
            if (plane + i < count) store(plane + i, words[i]);
    }
}

template <class P>
DEVICE StopRule stop_of(const P &p, const CodeBlock &b) {
    return p.search ? stop_rule(p.search->stop, p.bands[b.cell].weight) : StopRule();
}

DEVICE int32_t *gains_from(const Tier1Buffers &t1, uint64_t pass) { return t1.gains ? t1.gains + pass : nullptr; }

// Steps of a look at a block with `planes`; a lane's own is the one that has its number. Returns how many.
template <class Tile>
DEVICE int look_at_steps(const Tile &tile, uint32_t valid, uint32_t negative, int planes, const LookRule &rule,
                         LookStep &own_step) {
    const Around<uint32_t> signs = tile.around(negative);
    const auto count = [&](uint32_t all, uint32_t ones) { return count_both(tile, ones, all); };
    uint32_t words[kGainPlanes + 1];  // of the plane and those below
    CUDAENC_UNROLL
    for (int k = 0; k < kGainPlanes; k++) words[k + 1] = k < planes ? tile.plane(planes - 1 - k) : 0;
    uint32_t significant = 0, looked_at = 0;
    int steps = 0;
    CUDAENC_NO_UNROLL
    for (int plane = planes - 1; plane >= 0; plane--) {
        CUDAENC_UNROLL
        for (int k = 0; k < kGainPlanes; k++) words[k] = words[k + 1];
        words[kGainPlanes] = plane >= kGainPlanes ? tile.plane(plane - kGainPlanes) : 0;
        const uint32_t bits = words[0], left = valid & ~significant, found = left & bits;
        const LookPlane<uint32_t> looked =
            look_at_plane(left, tile.around(significant), tile.around(found), negative, signs);
        const auto eighths = [&](uint32_t samples) {  // of alike bits, see alike_below()
            int sum = 0;
            CUDAENC_UNROLL
            for (int k = 1; k <= kGainPlanes; k++) sum += popcount(samples & ~(words[k] ^ bits)) << (kGainPlanes - k);
            return sum;
        };
        const auto take = [&](bool propagation, uint32_t samples) {
            LookStep step = count_step(looked, propagation, samples, found, count);
            int own = 3 * eighths(samples & found);
            if (!propagation) {
                step.refined = count(significant, significant & bits);
                own += eighths(significant);
            }
            const int refined_zeros = static_cast<int>((step.refined >> 16) - (step.refined & 0xFFFF));
            step.eighths = static_cast<int32_t>(tile.sum(static_cast<uint32_t>(own))) - 7 * refined_zeros;
            looked_at += (step.refined >> 16) + kLookBits * step.found();
            if (lane_id() == steps) own_step = step;
            steps++;
        };
        if (steps) take(true, looked.reached);
        take(false, left & ~looked.reached);
        if (rule.ends(steps, looked_at)) break;
        significant |= found;
    }
    return steps;
}

// A look at a block, with `planes`, by slope; for so many blocks of `count`. All but its first warp do nothing in the
// end.
template <class Tile>
DEVICE void look_at_block(const LookBuffers &p, const Tile &tile, uint32_t valid, uint32_t negative, int planes,
                          const CodeBlock &b, uint32_t blocks, uint32_t count) {
    LookStep step{};
    const LookRule rule = look_rule(p.search->budget[p.layers - 1], count, b.width * b.height);
    const int steps = look_at_steps(tile, valid, negative, planes, rule, step);
    if (!tile.is_first_warp()) return;
    // A lane a step.
    const int lane = lane_id(), plane = plane_of_step(planes, lane);
    const bool propagation = is_propagation(lane),
               is_coded = lane < steps && step.is_worth_coding(plane, propagation, b.lossy);
    const uint32_t bytes = estimated_bytes(warp_inclusive_add(is_coded ? step.bits(propagation) : 0));
    const uint32_t before = warp_shuffle_up(bytes, 1), more = lane ? bytes - before : bytes;
    uint32_t lowest = is_coded ? step.bin(lane, plane, p.bands[b.cell].weight, b.reversible) : 0;
    for (int distance = 1; distance < 32; distance <<= 1) {
        const uint32_t earlier = warp_shuffle_up(lowest, distance);
        if (lane >= distance) lowest = min_of(lowest, earlier);
    }
    if (is_coded) atomic_add(&p.table[lowest], uint64_t{more} * blocks);
}

// With a thread-block that has added all it looked at; the last one finds the slope. blocks: of the frame; sums:
// shared, 32; is_last: shared.
DEVICE void finish_look(const LookBuffers &p, uint32_t blocks, uint64_t *sums, uint32_t *is_last) {
    thread_fence();
    block_sync();
    if (thread_x() == 0) is_last[0] = atomic_add(p.done, 1u) + 1 == static_cast<uint32_t>(grid_x());
    block_sync();
    if (!is_last[0]) return;
    thread_fence();
    // A thread has some bins in turn, the first the highest.
    const int each = kStopSlopes / block_threads(), highest = kStopSlopes - 1 - thread_x() * each;
    uint64_t own = 0;
    for (int bin = highest; bin > highest - each; bin--) own += p.table[bin];
    const uint64_t room = look_budget(p.search->budget[p.layers - 1], blocks);
    uint64_t sum = block_inclusive_add<uint64_t>(own, sums) - own;
    for (int bin = highest; bin > highest - each; bin--) {
        const uint64_t bytes = p.table[bin];
        if (sum <= room && sum + bytes > room) p.search->stop.slope = look_slope(bin, bytes, room - sum);
        sum += bytes;
        p.table[bin] = 0;
    }
    if (thread_x() == 0) *p.done = 0;
}

DEVICE uint32_t block_of_warp() { return static_cast<uint32_t>(block_x()) * kContextWarps + warp_id(); }

// A block's, or with Kind::kLook a look's.
template <Kind kKind, class P>
DEVICE const CodeBlock &block_of(const P &p, uint32_t index) {
    if constexpr (kKind == Kind::kLook)
        return p.t1.blocks[p.look.looks[index].block];
    else
        return p.t1.blocks[index];
}

// A warp owns a block, a lane a column of it. block: with Kind::kLook a look; planes: shared, [warp][plane][lane];
// make_segments(tile, block, planes): see model_contexts().
template <Kind kKind, class P, class MakeSegments>
DEVICE void model_small_block(const P &p, uint32_t block, uint32_t style, uint32_t *planes,
                              const MakeSegments &make_segments) {
    if constexpr (kKind == Kind::kLook) {
        if (block >= p.look.count) return;
    } else {
        if (block >= p.t1.count) return;
    }
    const CodeBlock &b = block_of<kKind>(p, block);
    const int lane = lane_id();
    uint32_t column[32], negative;
    const int count = read_column(p.coefficients, b, lane, 0, column, negative);
    ContextState state;
    if constexpr (kKind == Kind::kCuttable) {
        state.stop = stop_of(p, b);
        state.certain = state.stop.certain_passes(count);
        if (!count || state.stop.leaves(0, count - 1)) {
            if (lane == 0) finish_block(p.t1, block, {0, 0}, count, state);
            return;
        }
    }
    uint32_t *own = &planes[warp_id() * kMaxPlanes * 32];
    slice_column(column, count, [&](int plane, uint32_t word) { own[plane * 32 + lane] = word; });
    const uint32_t valid = lane < b.width ? (b.height == 32 ? 0xFFFFFFFFu : (1u << b.height) - 1) : 0;
    warp_sync();
    const OneTile tile{own};
    if constexpr (kKind == Kind::kLook) {
        look_at_block(p.look, tile, valid, negative, count, b, p.look.looks[block].blocks, p.t1.count);
        return;
    }
    auto segments = make_segments(tile, b, count);
    const uint64_t first = static_cast<uint64_t>(block) * p.t1.max_passes;
    const Modelled modelled = model_contexts<kKind>(
        tile, valid, negative, count, b, style, p.t1.slots + b.slot, segments, p.t1.pass_ends + first,
        style & kCuttable ? gains_from(p.t1, first) : nullptr, lane == 0, 0, coding_passes(count), state);
    if (lane == 0) finish_block(p.t1, block, modelled, count, state);
}

KERNEL_BLOCKS(kContextWarps * 32, 9, j2k_t1_context, ContextParams) {
    SHARED(uint32_t, planes, kContextWarps *kMaxPlanes * 32);
    model_small_block<Kind::kPlain>(p, block_of_warp(), 0, planes,
                                    [](const OneTile &, const CodeBlock &, int) { return NoSegments{}; });
}

KERNEL_BLOCKS(kContextWarps * 32, 7, j2k_t1_context_cuttable, CuttableContextParams) {
    SHARED(uint32_t, planes, kContextWarps *kMaxPlanes * 32);
    model_small_block<Kind::kCuttable>(p, block_of_warp(), kCuttable, planes,
                                       [](const OneTile &, const CodeBlock &, int) { return NoSegments{}; });
}

KERNEL_BLOCKS(kContextWarps * 32, 8, j2k_t1_look, LookParams) {
    SHARED(uint32_t, planes, kContextWarps *kMaxPlanes * 32);
    SHARED(uint64_t, sums, 32);
    SHARED(uint32_t, is_last, 1);
    model_small_block<Kind::kLook>(p, block_of_warp(), kCuttable, planes,
                                   [](const OneTile &, const CodeBlock &, int) { return NoSegments{}; });
    finish_look(p.look, p.t1.count, sums, is_last);
}

// words: of raw segments, shared, kTileRawWords a warp.
template <Kind kKind>
DEVICE void model_styled_block(const ContextParams &p, uint32_t style, uint32_t *planes, uint32_t *raw) {
    uint32_t *words = &raw[warp_id() * kTileRawWords];
    const auto make_segments = [&](const OneTile &tile, const CodeBlock &b, int count) {
        if (coding_passes(count) <= kFirstRawPass)
            return RawSegments<OneTile>{tile, words, nullptr};  // of which none are
        for (int i = lane_id(); i < kTileRawWords; i += 32) words[i] = 0;
        warp_sync();
        return RawSegments<OneTile>{tile, words, raw_place(p.t1, b, style)};
    };
    model_small_block<kKind>(p, block_of_warp(), style, planes, make_segments);
}

KERNEL_BLOCKS(kContextWarps * 32, 8, j2k_t1_context_styled, StyledContextParams) {
    SHARED(uint32_t, planes, kContextWarps *kMaxPlanes * 32);
    SHARED(uint32_t, raw, kContextWarps *kTileRawWords);
    model_styled_block<Kind::kStyled>(p, p.style, planes, raw);
}

// For the bypass alone.
KERNEL_BLOCKS(kContextWarps * 32, 8, j2k_t1_context_bypass, BypassContextParams) {
    SHARED(uint32_t, planes, kContextWarps *kMaxPlanes * 32);
    SHARED(uint32_t, raw, kContextWarps *kTileRawWords);
    model_styled_block<Kind::kBypass>(p, kBypass, planes, raw);
}

// A thread-block owns a block, a warp a tile of 32x32 of it. words, totals: see ManyTiles.
template <Kind kKind, class P>
DEVICE void model_large_block(const P &p, uint32_t block, uint32_t style, uint32_t *words, uint32_t *totals,
                              uint32_t *raw_memory) {
    const CodeBlock &b = block_of<kKind>(p, block);
    const int x = warp_id() % p.columns * 32 + lane_id(), y0 = warp_id() / p.columns * 32;
    const int rows = x < b.width ? max_of(min_of(b.height - y0, 32), 0) : 0;
    const uint32_t *column = p.coefficients + b.coefficients + static_cast<uint64_t>(y0) * b.stride + x;
    uint32_t all = 0, negative = 0;
    for (int y = 0; y < rows; y++) {
        const uint32_t c = column[static_cast<uint64_t>(y) * b.stride];
        negative |= c >> 31 << y;
        all |= c & ~kSignBit;
    }
    // The block's planes: every warp's, through the array that serves for neighbours later.
    words[thread_x()] = all;
    if (kHasRaw<kKind>)
        for (int i = thread_x(); i < kRawWords; i += block_threads()) raw_memory[i] = 0;
    block_sync();
    all = 0;
    for (int tile = 0; tile < p.columns * p.rows; tile++) all |= words[tile * 32 + lane_id()];
    block_sync();
    const int count = bit_width(warp_or(all));
    const ManyTiles tile{column, b.stride, rows, p.columns, p.rows, words, totals};
    if constexpr (kKind == Kind::kLook) {
        look_at_block(p.look, tile, first_rows(rows), negative, count, b, p.look.looks[block].blocks, p.t1.count);
        return;
    }
    ContextState state;
    if constexpr (kKind == Kind::kCuttable) {
        state.stop = stop_of(p, b);
        state.certain = state.stop.certain_passes(count);
    }
    const auto model = [&](auto segments) {
        const uint64_t first = static_cast<uint64_t>(block) * p.t1.max_passes;
        return model_contexts<kKind>(tile, first_rows(rows), negative, count, b, style, p.t1.slots + b.slot, segments,
                                     p.t1.pass_ends + first, gains_from(p.t1, first), thread_x() == 0, 0,
                                     coding_passes(count), state);
    };
    Modelled modelled;
    if constexpr (kHasRaw<kKind>)
        modelled = model(RawSegments<ManyTiles>{tile, raw_memory, raw_place(p.t1, b, style)});
    else
        modelled = model(NoSegments{});
    if (thread_x() == 0) finish_block(p.t1, block, modelled, count, state);
}

KERNEL(1024, j2k_t1_context_tiled, ContextTiledParams)
{
    SHARED(uint32_t, words, 1024);
    SHARED(uint32_t, totals, 257);
    model_large_block<Kind::kPlain>(p, static_cast<uint32_t>(block_x()), 0, words, totals, nullptr);
}

KERNEL(1024, j2k_t1_context_tiled_cuttable, CuttableContextTiledParams)
{
    SHARED(uint32_t, words, 1024);
    SHARED(uint32_t, totals, 257);
    model_large_block<Kind::kCuttable>(p, static_cast<uint32_t>(block_x()), kCuttable, words, totals, nullptr);
}

KERNEL(1024, j2k_t1_look_tiled, LookTiledParams)
{
    SHARED(uint32_t, words, 1024);
    SHARED(uint32_t, totals, 257);
    SHARED(uint64_t, sums, 32);
    SHARED(uint32_t, is_last, 1);
    model_large_block<Kind::kLook>(p, static_cast<uint32_t>(block_x()), kCuttable, words, totals, nullptr);
    finish_look(p.look, p.t1.count, sums, is_last);
}

KERNEL(1024, j2k_t1_context_tiled_styled, StyledContextTiledParams)
{
    SHARED(uint32_t, words, 1024);
    SHARED(uint32_t, totals, 257);
    SHARED(uint32_t, raw, kRawWords);
    model_large_block<Kind::kStyled>(p, static_cast<uint32_t>(block_x()), p.style, words, totals, raw);
}

KERNEL(1024, j2k_t1_context_tiled_bypass, BypassContextTiledParams)
{
    SHARED(uint32_t, words, 1024);
    SHARED(uint32_t, totals, 257);
    SHARED(uint32_t, raw, kRawWords);
    model_large_block<Kind::kBypass>(p, static_cast<uint32_t>(block_x()), kBypass, words, totals, raw);
}

// ---- By bit-planes

KERNEL(kContextWarps * 32, j2k_t1_slice, SliceParams)
{
    const PlaneBuffers &k = p.buffers;
    const uint32_t tiles = static_cast<uint32_t>(k.tiles_x * k.tiles_y),
                   index = static_cast<uint32_t>(block_x()) * kContextWarps + warp_id(), block = index / tiles;
    if (block >= k.t1.count) return;
    const CodeBlock &b = k.t1.blocks[block];
    const int tile = static_cast<int>(index % tiles), lane = lane_id();
    uint32_t rows[32], negative;
    const int count =
        read_column(p.coefficients, b, tile % k.tiles_x * 32 + lane, tile / k.tiles_x * 32, rows, negative);
    const uint32_t column = static_cast<uint32_t>(tile * 32 + lane);
    uint32_t *own = k.bits + static_cast<uint64_t>(block) * k.most_planes * k.columns() + column;
    slice_column(rows, b.planes, [&](int plane, uint32_t word) { own[plane * k.columns()] = word; });
    k.negative[static_cast<uint64_t>(block) * k.columns() + column] = negative;
    if (lane == 0) atomic_max(&k.planes[block], static_cast<uint32_t>(count));
    if (tile || lane) return;
    k.stopped[block] = 0;
    k.raw_bytes[block] = 0;
    k.t1.pairs[block] = 0;
    k.t1.planes[block] = 0;
    k.t1.passes[block] = 0;
    k.t1.bytes[block] = 0;
}

// A tile whose bit-planes are in device memory.
template <class Tile>
struct Sliced : Tile {
    const uint32_t *bits;  // of this lane's column, plane 0
    uint32_t columns;
    DEVICE_MEMBER uint32_t plane(int plane) const { return bits[plane * columns]; }
};

// A plane of the active block `index`, whose tiles `tile` is one of. raw_memory: of RawSegments; writes: one thread of
// the block.
template <Kind kKind, class Tile>
DEVICE void model_plane(const PlaneBuffers &k, int plane, uint32_t index, const Tile &tile, uint32_t *raw_memory,
                        bool writes) {
    const uint64_t entry = static_cast<uint64_t>(plane) * k.t1.count + index;
    const uint32_t block = k.active[entry];
    uint32_t pairs = 0;
    if (k.is_active(block, plane)) {
        const CodeBlock &b = k.t1.blocks[block];
        const int planes = static_cast<int>(k.planes[block]), before = planes - 1 - plane,
                  number = warp_id() % (k.tiles_x * k.tiles_y), lane = lane_id();
        const uint32_t column = static_cast<uint32_t>(number * 32 + lane);
        const uint64_t at = static_cast<uint64_t>(block) * k.columns() + column,
                       first = static_cast<uint64_t>(block) * k.t1.max_passes;
        const bool inside = number % k.tiles_x * 32 + lane < b.width;
        const int rows = inside ? max_of(min_of(b.height - number / k.tiles_x * 32, 32), 0) : 0;
        const Sliced<Tile> own{tile, k.bits + static_cast<uint64_t>(block) * k.most_planes * k.columns() + column,
                               k.columns()};
        ContextState state;
        if (before) state = {k.significant[at], k.refined[at], k.t1.pairs[block]};
        pairs = state.pairs;
        const auto model = [&](auto segments) {
            if constexpr (kKind == Kind::kStyled) segments.bytes = k.raw_bytes[block];
            const Modelled modelled =
                model_contexts<kKind>(own, first_rows(rows), k.negative[at], planes, b, k.style, k.t1.slots + b.slot,
                                      segments, k.t1.pass_ends + first, k.t1.gains + first, writes,
                                      coding_passes(before), coding_passes(before + 1), state);
            if constexpr (kKind == Kind::kStyled)
                if (writes) k.raw_bytes[block] = segments.bytes;
            return modelled.pairs;
        };
        uint32_t all;
        if constexpr (kKind == Kind::kStyled)
            all = model(RawSegments<Sliced<Tile>>{own, raw_memory, raw_place(k.t1, b, k.style)});
        else
            all = model(NoSegments{});
        pairs = all - pairs;
        k.significant[at] = state.significant;
        k.refined[at] = state.refined;
        if (writes) k.t1.pairs[block] = all;
    }
    if (!writes) return;
    k.plane_pairs[entry] = pairs;
    atomic_add(&k.t1.work_counts[plane * kWorkClasses + work_class(pairs)], 1u);
}

// A warp owns a block. raw: shared, see RawSegments.
template <Kind kKind>
DEVICE void model_small_plane(const PlaneParams &p, uint32_t *raw) {
    const uint32_t index = static_cast<uint32_t>(block_x()) * kContextWarps + warp_id();
    if (index >= p.buffers.active_counts[p.plane]) return;
    uint32_t *words = kKind == Kind::kStyled ? raw + warp_id() * kTileRawWords : nullptr;
    if (kKind == Kind::kStyled)
        for (int i = lane_id(); i < kTileRawWords; i += 32) words[i] = 0;
    model_plane<kKind>(p.buffers, p.plane, index, OneTile{nullptr}, words, lane_id() == 0);
}

KERNEL(kContextWarps * 32, j2k_t1_context_plane, ContextPlaneParams)
{
    model_small_plane<Kind::kCuttable>(p, nullptr);
}

KERNEL(kContextWarps * 32, j2k_t1_context_plane_styled, StyledContextPlaneParams)
{
    SHARED(uint32_t, raw, kContextWarps *kTileRawWords);
    model_small_plane<Kind::kStyled>(p, raw);
}

// A thread-block owns a block. words, totals: see ManyTiles.
template <Kind kKind>
DEVICE void model_large_plane(const PlaneParams &p, uint32_t *words, uint32_t *totals, uint32_t *raw) {
    const uint32_t index = static_cast<uint32_t>(block_x());
    if (index >= p.buffers.active_counts[p.plane]) return;
    if (kKind == Kind::kStyled) {
        for (int i = thread_x(); i < kRawWords; i += block_threads()) raw[i] = 0;
        block_sync();
    }
    const ManyTiles tile{nullptr, 0, 0, p.buffers.tiles_x, p.buffers.tiles_y, words, totals};
    model_plane<kKind>(p.buffers, p.plane, index, tile, raw, thread_x() == 0);
}

KERNEL(1024, j2k_t1_context_plane_tiled, ContextPlaneTiledParams)
{
    SHARED(uint32_t, words, 1024);
    SHARED(uint32_t, totals, 257);
    model_large_plane<Kind::kCuttable>(p, words, totals, nullptr);
}

KERNEL(1024, j2k_t1_context_plane_tiled_styled, StyledContextPlaneTiledParams)
{
    SHARED(uint32_t, words, 1024);
    SHARED(uint32_t, totals, 257);
    SHARED(uint32_t, raw, kRawWords);
    model_large_plane<Kind::kStyled>(p, words, totals, raw);
}

}  // namespace cudaenc::j2k
